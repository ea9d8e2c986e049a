/** `wb.widgets.Report`: the strip, and on demand all views. */
import { Report } from '../views/Report';
import { widget } from '../widget';

export default widget(Report, () => undefined);
