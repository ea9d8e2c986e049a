/** The user's code at the left, and at the right what it became: IR, kernel source, LLVM or assembly. */
import { useComputed } from '@preact/signals';
import { JSX } from 'preact';
import { copyShown } from '../copy';
import * as format from '../format';
import { Pane, ReportState } from '../state';
import { Shown, shown } from '../texts';
import { Icon } from './icons';
import { Listing } from './Listing';
import { Button, Choice, Empty, StepTag, tabIndex } from './parts';
import { SourcePane } from './SourcePane';
import { Stepper } from './Stepper';

export function CodeView({ state }: { state: ReportState }): JSX.Element {
  const chosen = useComputed(() => shown(state));
  const text = chosen.value;
  const hits = useComputed(() => findHits(chosen.value, state.query.value)).value;
  const hit = hits.length === 0 ? -1 : (hits[state.hit.value % hits.length] ?? -1);
  return (
    <div class="wb-code">
      <div class="wb-panes">
        <section class="wb-pane">
          <header class="wb-pane-head">
            <span class="wb-pane-title">{state.model.report.cell.label}</span>
          </header>
          <SourcePane state={state} />
        </section>
        <section class="wb-pane">
          <header class="wb-pane-head">
            <PaneChoice state={state} />
            <Search state={state} nHits={hits.length} />
            <Button
              state={state}
              class="wb-quiet"
              icon="copy"
              label={`Copy ${text.what}`}
              hint={`Copy ${text.what} (y)\nIn code: ${text.twin}`}
              onClick={() => void copyShown(state)}
            />
          </header>
          {state.pane.value === 'ir' ? <Stepper state={state} /> : <KernelChoice state={state} />}
          {text.missing === undefined ? (
            <Listing
              state={state}
              label={text.what}
              rows={text.rows}
              language={text.language}
              steps={state.pane.value === 'ir'}
              hits={hits}
              current={hit}
            />
          ) : (
            <Empty>{text.missing}</Empty>
          )}
          <Rest state={state} text={text} />
        </section>
      </div>
      <InfoBar state={state} />
    </div>
  );
}

function findHits(text: Shown, query: string): number[] {
  const wanted = query.trim().toLowerCase();
  return wanted === ''
    ? []
    : text.rows.flatMap((row, index) => (row.text.toLowerCase().includes(wanted) ? [index] : []));
}

function PaneChoice({ state }: { state: ReportState }): JSX.Element {
  const kernel = state.model.kernels.get(state.kernel.value);
  const none = kernel === undefined;
  const asm = kernel?.target.startsWith('cuda') === true ? 'PTX' : 'Assembly';
  const options: { id: Pane; title: string; hint?: string; disabled?: boolean }[] = [
    { id: 'ir', title: 'IR', hint: 'The typed program, after every pass' },
    {
      id: 'source',
      title: 'Kernel',
      hint: none ? 'No kernel was compiled' : 'What numba compiles',
      disabled: none
    },
    {
      id: 'llvm',
      title: 'LLVM',
      hint: kernel?.llvm ? 'What LLVM made of it' : 'This report holds no LLVM text',
      disabled: !kernel?.llvm
    },
    {
      id: 'asm',
      title: asm,
      hint: kernel?.asm ? 'What the machine runs' : 'This report holds no assembly text',
      disabled: !kernel?.asm
    }
  ];
  return (
    <Choice
      state={state}
      label="Show beside the source"
      options={options}
      chosen={state.pane.value}
      onChoose={pane => (state.pane.value = pane)}
    />
  );
}

function KernelChoice({ state }: { state: ReportState }): JSX.Element {
  return (
    <div class="wb-pane-bar">
      {state.model.report.kernels.map(kernel => (
        <Button
          key={kernel.id}
          state={state}
          class={
            state.selection.mark(state.model.equationsOf(kernel.id)) === ''
              ? 'wb-chip'
              : 'wb-chip wb-chip-linked'
          }
          pressed={kernel.id === state.kernel.value}
          hint={`In code: report.kernels["${kernel.id}"]`}
          onClick={() => (state.kernel.value = kernel.id)}
        >
          <b>{kernel.id}</b> {kernel.name}
        </Button>
      ))}
    </div>
  );
}

function Search({ state, nHits }: { state: ReportState; nHits: number }): JSX.Element {
  const query = state.query.value;
  const found =
    query.trim() === '' ? '' : nHits === 0 ? 'nothing found' : `${(state.hit.value % nHits) + 1} of ${nHits}`;
  return (
    <label class="wb-search">
      <Icon name="search" />
      <input
        type="search"
        placeholder="search  /"
        aria-label="Search the text that is shown"
        tabIndex={tabIndex(state)}
        value={query}
        onInput={event => {
          state.query.value = event.currentTarget.value;
          state.hit.value = 0;
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && nHits > 0) {
            event.preventDefault();
            state.hit.value = (state.hit.value + (event.shiftKey ? nHits - 1 : 1)) % nHits;
          }
        }}
      />
      <span class="wb-search-found" role="status">
        {found}
      </span>
    </label>
  );
}

/** For a text of which the report holds the head only. */
function Rest({ state, text }: { state: ReportState; text: Shown }): JSX.Element | null {
  const { partial } = text;
  const { texts } = state.hooks;
  const pane = state.pane.value;
  if (partial === undefined || (pane !== 'llvm' && pane !== 'asm')) {
    return null;
  }
  const kernel = state.kernel.value;
  const fetch = async (): Promise<void> => {
    try {
      const whole = await texts?.(kernel, pane);
      if (whole !== undefined) {
        state.fetched.value = new Map(state.fetched.value).set(`${kernel}.${pane}`, whole);
      }
    } catch (error) {
      state.say(
        `The kernel did not send ${text.what}: ${error instanceof Error ? error.message : String(error)}`
      );
    }
  };
  return (
    <p class="wb-rest">
      {format.integer(text.rows.length)} of {format.count(partial.n_lines, 'line')}.{' '}
      {texts === null ? (
        <>
          The rest is in the running kernel: <code>{text.twin}</code>
        </>
      ) : (
        <Button state={state} class="wb-link" onClick={() => void fetch()}>
          fetch the rest
        </Button>
      )}
    </p>
  );
}

/** What is selected, in words. */
function InfoBar({ state }: { state: ReportState }): JSX.Element {
  const ids = state.selection.active.value;
  const first = ids[0] === undefined ? undefined : state.model.equation(ids[0]);
  if (first === undefined) {
    return (
      <div class="wb-info wb-dim">
        Point at code to see what it became; click to keep it marked. ⌀ never reaches memory.
      </div>
    );
  }
  const output = first.outputs[0];
  const steps = state.model.stepsOf(ids);
  return (
    <div class="wb-info">
      <b>{first.op || first.primitive}</b>
      {first.op !== '' && first.op !== first.primitive && <code>{first.primitive}</code>}
      {output !== undefined && (
        <span>
          <code>{output.aval}</code> {format.bytes(output.bytes)}
          {first.step !== '' && (first.in_memory ? ', written to memory' : ', ⌀ never reaches memory')}
        </span>
      )}
      {ids.length > 1 && <span class="wb-dim">and {format.count(ids.length - 1, 'more equation')}</span>}
      <span class="wb-info-steps">
        {steps.map(step => (
          <StepTag key={step} state={state} step={step} />
        ))}
      </span>
    </div>
  );
}
