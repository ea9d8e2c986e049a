/** What the anywidget classes share: redraw on a new report, keep `selected` in step with the selection, clean up. */
import { effect } from '@preact/signals';
import { ComponentType } from 'preact';
import { Mounted, mount } from './mount';
import { Channel, textsOver } from './protocol';
import { Problem, list, text } from './shape';
import { ReportState } from './state';

/** What is used of anywidget's model. */
export interface Model extends Channel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, callback: (content: unknown) => void): void;
  off(event: string, callback: (content: unknown) => void): void;
}

export interface RenderContext {
  readonly model: Model;
  readonly el: HTMLElement;
}

export interface Widget {
  render(context: RenderContext): () => void;
}

/** A widget that draws `View`. `begin` sets what is open at first. */
export function widget(
  View: ComponentType<{ state: ReportState }>,
  begin: (state: ReportState) => void
): Widget {
  return {
    render({ model, el }) {
      const { texts, dispose: disposeTexts } = textsOver(model);
      let mounted: Mounted | null = null;
      let unlink = (): void => undefined;
      const draw = (): void => {
        unlink();
        mounted?.dispose();
        mounted = mount(el, model.get('report'), View, { texts });
        if (mounted.state !== null) {
          begin(mounted.state);
          unlink = linkSelection(model, mounted.state);
        }
      };
      model.on('change:report', draw);
      draw();
      return () => {
        model.off('change:report', draw);
        unlink();
        mounted?.dispose();
        disposeTexts();
      };
    }
  };
}

/** The trait `selected` and the pinned equations are one thing, in both directions. */
function linkSelection(model: Model, state: ReportState): () => void {
  const { selection } = state;
  const fromKernel = (): void => {
    try {
      selection.pin(list(text)(model.get('selected'), 'selected'), '');
    } catch (error) {
      if (!(error instanceof Problem)) {
        throw error;
      }
      console.warn(`workbench: ${error.message}`);
    }
  };
  fromKernel();
  model.on('change:selected', fromKernel);
  const stop = effect(() => {
    const ids = [...selection.pinned.value];
    if (JSON.stringify(ids) !== JSON.stringify(model.get('selected'))) {
      model.set('selected', ids);
      model.save_changes();
    }
  });
  return () => {
    model.off('change:selected', fromKernel);
    stop();
  };
}
