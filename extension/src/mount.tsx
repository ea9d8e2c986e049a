/** Puts a report, or one of its views, into an element of any page, and takes it away again. */
import { ComponentType, JSX, render } from 'preact';
import { ReportModel } from './model';
import { parseReport } from './report';
import { Hooks, ReportState } from './state';

export interface Mounted {
  /** null where the data is no report that can be drawn. */
  readonly state: ReportState | null;
  dispose(): void;
}

/** Draw `data`, whatever it is: what cannot be drawn is said in words. */
export function mount(
  element: HTMLElement,
  data: unknown,
  View: ComponentType<{ state: ReportState }>,
  hooks?: Hooks
): Mounted {
  const parsed = parseReport(data);
  let state: ReportState | null = null;
  if (parsed.kind === 'ok') {
    state = new ReportState(new ReportModel(parsed.report), hooks);
    render(<View state={state} />, element);
  } else if (parsed.kind === 'newer') {
    render(
      <Message title="This report was written by a newer workbench.">
        Its schema is {parsed.schema}. Update jit-workbench to read it; the text form below or in the notebook
        stays complete.
      </Message>,
      element
    );
  } else if (parsed.kind === 'empty') {
    render(<Message title="No report yet.">Compile something with %%jit.</Message>, element);
  } else {
    render(<Message title="This report cannot be read:">{parsed.problem}.</Message>, element);
  }
  return {
    state,
    dispose: () => {
      render(null, element);
      state?.dispose();
      state = null;
    }
  };
}

function Message({
  title,
  children
}: {
  title: string;
  children: (string | JSX.Element)[] | string;
}): JSX.Element {
  return (
    <div class="wb-report">
      <p class="wb-message">
        <b>{title}</b> {children}
      </p>
    </div>
  );
}
