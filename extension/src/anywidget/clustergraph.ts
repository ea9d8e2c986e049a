/** `wb.widgets.ClusterGraph`: the graph of clusters, library calls and what flows between them. */
import { GraphPanel } from '../views/Panels';
import { widget } from '../widget';

export default widget(GraphPanel, state => {
  state.open.value = true;
  state.tab.value = 'graph';
});
