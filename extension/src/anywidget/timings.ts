/** `wb.widgets.Timings`: runs against NumPy, phases of compilation, one run step by step. */
import { TimingsPanel } from '../views/Panels';
import { widget } from '../widget';

export default widget(TimingsPanel, state => {
  state.open.value = true;
  state.tab.value = 'timings';
});
