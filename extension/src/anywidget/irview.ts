/** `wb.widgets.IRView`: the user's code beside its IR, kernels and assembly. */
import { CodePanel } from '../views/Panels';
import { widget } from '../widget';

export default widget(CodePanel, state => {
  state.open.value = true;
});
