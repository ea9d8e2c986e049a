/** The whole report: the strip, and on demand the five views as tabs. Keys work once one has gone in with Enter. */
import { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { copyShown } from '../copy';
import { ReportState, Tab, TAB_TITLES, TABS } from '../state';
import { CodeView } from './CodeView';
import { GraphView } from './GraphView';
import { Help } from './Help';
import { KernelsView } from './KernelsView';
import { Button, tabIndex } from './parts';
import { statusFace, Strip } from './Strip';
import { TimingsView } from './TimingsView';
import { WhyView } from './WhyView';

export function Report({ state }: { state: ReportState }): JSX.Element {
  return (
    <Frame state={state} onEnter={() => (state.open.value = true)}>
      <Strip state={state} />
      {state.open.value && (
        <div class="wb-details-panel" id={`${state.uid}-details`}>
          <TabBar state={state} />
          {state.help.value && <Help state={state} />}
          <div
            class="wb-tabpanel"
            role="tabpanel"
            id={`${state.uid}-panel`}
            aria-labelledby={`${state.uid}-tab-${state.tab.value}`}
          >
            <TabContent state={state} tab={state.tab.value} />
          </div>
        </div>
      )}
    </Frame>
  );
}

const SUPPRESS = 'data-lm-suppress-shortcuts';

/** The root element of every view: one tab stop, and the keyboard. */
export function Frame(props: {
  state: ReportState;
  onEnter?: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const { state } = props;
  const { report } = state.model;
  const root = useRef<HTMLDivElement>(null);

  const onKeyDown = (event: KeyboardEvent): void => {
    const outside = event.target === root.current;
    if (outside && event.key === 'Enter') {
      props.onEnter?.();
      state.inside.value = true;
      // After the next drawing, when what can be focused is there.
      requestAnimationFrame(() =>
        root.current?.querySelector<HTMLElement>('[tabindex="0"][data-first]')?.focus()
      );
    } else if (outside || !onKey(event, state, root.current)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={root}
      class="wb-report"
      role="region"
      tabIndex={0}
      aria-label={`Compile report of ${report.cell.label}: ${statusFace(report.status).word}. Enter to look inside, Escape to leave.`}
      data-lm-suppress-shortcuts={state.inside.value ? 'true' : undefined}
      onKeyDown={onKeyDown}
      onFocusIn={event => {
        state.inside.value = event.target !== root.current;
        if (state.inside.value && event.target instanceof Element) {
          // JupyterLab binds keys to whatever has the focus in a notebook, so it asks that element, too.
          event.target.setAttribute(SUPPRESS, 'true');
        }
      }}
      onFocusOut={event => {
        if (event.target instanceof Element && event.target !== root.current) {
          event.target.removeAttribute(SUPPRESS);
        }
        if (!(event.relatedTarget instanceof Node && root.current?.contains(event.relatedTarget))) {
          state.inside.value = false;
        }
      }}
    >
      {props.children}
      <div class="wb-notice" role="status" aria-live="polite">
        {state.notice.value}
      </div>
    </div>
  );
}

/** Handles a key pressed inside the report; false lets it go on. */
function onKey(event: KeyboardEvent, state: ReportState, root: HTMLElement | null): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return false;
  }
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === 'Escape') {
    if (state.help.value) {
      state.help.value = false;
    } else if (typing && state.query.value !== '') {
      state.query.value = '';
    } else {
      state.selection.pin([], '');
      root?.focus();
    }
    return true;
  }
  if (typing || !state.open.value) {
    return false;
  }
  const tab = TABS[Number(event.key) - 1];
  if (tab !== undefined) {
    state.tab.value = tab;
    return true;
  }
  switch (event.key) {
    case '/':
      state.tab.value = 'code';
      requestAnimationFrame(() => root?.querySelector<HTMLElement>('.wb-search input')?.focus());
      return true;
    case 'j':
      state.stepStage(1);
      return true;
    case 'k':
      state.stepStage(-1);
      return true;
    case 'd':
      state.pane.value = 'ir';
      state.diff.value = !state.diff.value;
      return true;
    case 'y':
      void copyShown(state);
      return true;
    case '?':
      state.help.value = true;
      return true;
    default:
      return false;
  }
}

function TabBar({ state }: { state: ReportState }): JSX.Element {
  const choose = (tab: Tab, list: HTMLElement): void => {
    state.tab.value = tab;
    list.querySelector<HTMLElement>(`#${state.uid}-tab-${tab}`)?.focus();
  };
  return (
    <div class="wb-tabbar">
      <div
        class="wb-tabs"
        role="tablist"
        aria-label="Views of the report"
        onKeyDown={event => {
          const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
          const tab = TABS[(TABS.indexOf(state.tab.value) + step + TABS.length) % TABS.length];
          if (step !== 0 && tab !== undefined) {
            event.preventDefault();
            event.stopPropagation();
            choose(tab, event.currentTarget);
          }
        }}
      >
        {TABS.map((tab, index) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`${state.uid}-tab-${tab}`}
            class="wb-tab"
            aria-selected={state.tab.value === tab}
            aria-controls={`${state.uid}-panel`}
            tabIndex={state.tab.value === tab ? tabIndex(state) : -1}
            data-first={state.tab.value === tab ? '' : undefined}
            title={`Key ${index + 1}`}
            onClick={() => (state.tab.value = tab)}
          >
            {TAB_TITLES[tab]}
            {tab === 'why' && <WhyCount state={state} />}
          </button>
        ))}
      </div>
      <Button
        state={state}
        class="wb-quiet"
        label="Keyboard help"
        hint="Keyboard help (?)"
        onClick={() => (state.help.value = !state.help.value)}
      >
        ?
      </Button>
    </div>
  );
}

function WhyCount({ state }: { state: ReportState }): JSX.Element | null {
  const n = state.model.report.fallbacks.length;
  return n === 0 ? null : (
    <span class="wb-badge" title={`${n} not compiled`}>
      {n}
    </span>
  );
}

function TabContent({ state, tab }: { state: ReportState; tab: Tab }): JSX.Element {
  switch (tab) {
    case 'code':
      return <CodeView state={state} />;
    case 'graph':
      return <GraphView state={state} />;
    case 'kernels':
      return <KernelsView state={state} />;
    case 'timings':
      return <TimingsView state={state} />;
    case 'why':
      return <WhyView state={state} />;
  }
}
