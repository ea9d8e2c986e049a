/**
 * Renders reports in notebooks and files. Safe: it draws data and evaluates nothing, so JupyterLab uses it in untrusted
 * notebooks too, and it needs no kernel.
 */
import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';
import { Mounted, mount } from '../mount';
import { MIME_TYPE } from '../report';
import { Report } from '../views/Report';

export class ReportRenderer extends Widget implements IRenderMime.IRenderer {
  private mounted: Mounted | null = null;

  constructor(private readonly options: IRenderMime.IRendererOptions) {
    super();
    this.addClass('wb-host');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    // A new report in the same output keeps what the reader had opened.
    const before = this.mounted?.state;
    const open = before?.open.value ?? false;
    const tab = before?.tab.value ?? 'code';
    this.mounted?.dispose();
    this.mounted = mount(this.node, model.data[this.options.mimeType], Report);
    if (this.mounted.state !== null) {
      this.mounted.state.open.value = open;
      this.mounted.state.tab.value = tab;
    }
    return Promise.resolve();
  }

  override dispose(): void {
    this.mounted?.dispose();
    this.mounted = null;
    super.dispose();
  }
}

export const rendererFactory: IRenderMime.IRendererFactory = {
  safe: true,
  mimeTypes: [MIME_TYPE],
  // Before ipywidgets' and the HTML renderers, where a bundle holds several forms.
  defaultRank: 0,
  createRenderer: options => new ReportRenderer(options)
};

const extension: IRenderMime.IExtension = {
  id: 'jit-workbench:report',
  description: 'Shows what the workbench compiler did.',
  rendererFactory,
  dataType: 'json'
};

export default extension;
