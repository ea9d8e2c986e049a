/** The decisions in words: what was not compiled, what was not fused and why, what was, and what keeping names costs. */
import { useSignal } from '@preact/signals';
import { ComponentChildren, Fragment, JSX } from 'preact';
import * as format from '../format';
import { DecisionRow, Fallback, Verification } from '../report';
import { ReportState } from '../state';
import { Icon } from './icons';
import { Button, Prose, StepTag, ValueChip } from './parts';

export function WhyView({ state }: { state: ReportState }): JSX.Element {
  const { report } = state.model;
  const refused = report.decisions.filter(d => !d.merged).sort((a, b) => b.bytes_saved - a.bytes_saved);
  const merged = report.decisions.filter(d => d.merged);
  const fallbacks = [...report.fallbacks].sort((a, b) => (b.cost_ms ?? 0) - (a.cost_ms ?? 0));
  return (
    <div class="wb-why">
      {fallbacks.length > 0 && (
        <Part title="Not compiled" note="most time first">
          {fallbacks.map((fallback, index) => (
            <FallbackItem key={index} state={state} fallback={fallback} />
          ))}
        </Part>
      )}
      <Part title="Not fused" note={refused.length > 0 ? 'most bytes first' : ''}>
        {refused.length === 0 ? (
          <li class="wb-dim">No fusion was refused.</li>
        ) : (
          refused.map((decision, index) => <DecisionItem key={index} state={state} decision={decision} />)
        )}
      </Part>
      {merged.length > 0 && (
        <Part
          title="Fused"
          note={`${format.bytes(merged.reduce((sum, d) => sum + d.bytes_saved, 0))} of traffic saved`}
        >
          <Merged state={state} decisions={merged} />
        </Part>
      )}
      {report.verification !== null && <Verified verification={report.verification} />}
      {report.kept.length > 0 && (
        <Part title="Names that the cell keeps" note="a leading underscore makes a name temporary">
          {report.kept.map(kept => (
            <li key={kept.name}>
              <ValueChip value={kept} />
              {kept.cost_ms !== null && <span>+{format.time(kept.cost_ms)} a run</span>}
            </li>
          ))}
        </Part>
      )}
      <Crossings state={state} />
      <Machine state={state} />
    </div>
  );
}

function Part(props: { title: string; note?: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3>
        {props.title} <span class="wb-dim">{props.note}</span>
      </h3>
      <ul>{props.children}</ul>
    </section>
  );
}

function FallbackItem({ state, fallback }: { state: ReportState; fallback: Fallback }): JSX.Element {
  const { span } = fallback;
  const line = span === null ? undefined : state.model.lines[span.line - 1];
  return (
    <li class="wb-fallback">
      <div>
        <Icon name="warning" /> <b>{fallback.op}</b> <Prose text={fallback.why} />{' '}
        <code>{fallback.code}</code>
        {fallback.cost_ms !== null && (
          <span class="wb-cost">costs {format.time(fallback.cost_ms)} a run</span>
        )}
      </div>
      {span !== null && line !== undefined && (
        <pre class="wb-excerpt">
          <span class="wb-dim">{span.line} </span>
          {line.text.slice(0, span.col)}
          <mark>{line.text.slice(span.col, span.end_line === span.line ? span.end_col : undefined)}</mark>
          {span.end_line === span.line ? line.text.slice(span.end_col) : ''}
        </pre>
      )}
      {fallback.fix !== '' && (
        <div class="wb-fix">
          Fix <code>{fallback.fix}</code>
        </div>
      )}
    </li>
  );
}

function DecisionItem({ state, decision }: { state: ReportState; decision: DecisionRow }): JSX.Element {
  const { model, selection } = state;
  const ids = [decision.producer, decision.consumer].flatMap(id =>
    model.equation(id) === undefined ? model.equationsOf(id) : [id]
  );
  return (
    <li
      class={decision.merged ? 'wb-decision' : 'wb-decision wb-decision-refused'}
      onPointerEnter={() => selection.hover(ids)}
      onPointerLeave={() => selection.leave()}
    >
      <span class="wb-decision-ends">
        <End state={state} id={decision.producer} /> {decision.merged ? '+' : '✂'}{' '}
        <End state={state} id={decision.consumer} />
      </span>
      <span class="wb-decision-reason">
        <Prose text={decision.reason} /> <code>{decision.code}</code>
      </span>
      <span class="wb-decision-value">
        <ValueChip value={decision.value} />
        {decision.bytes_saved > 0 && (
          <span class="wb-cost">
            {decision.merged ? 'saved' : 'costs'} {format.bytes(decision.bytes_saved)}
          </span>
        )}
      </span>
    </li>
  );
}

/** Merges by kernel: each is good news of the same kind, so they are counted, and listed on demand. */
function Merged({
  state,
  decisions
}: {
  state: ReportState;
  decisions: readonly DecisionRow[];
}): JSX.Element {
  const listed = useSignal<ReadonlySet<string>>(new Set());
  const byStep = new Map<string, DecisionRow[]>();
  for (const decision of decisions) {
    const step = stepOf(state, decision.consumer);
    byStep.set(step, [...(byStep.get(step) ?? []), decision]);
  }
  const toggle = (step: string): void => {
    const next = new Set(listed.value);
    if (!next.delete(step)) {
      next.add(step);
    }
    listed.value = next;
  };
  return (
    <>
      {[...byStep].map(([step, inStep]) => (
        <Fragment key={step}>
          <li class="wb-decision">
            <span>
              <StepTag state={state} step={step} /> <b>{state.model.nodes.get(step)?.title ?? ''}</b>
            </span>
            <span>
              {format.count(inStep.length, 'fusion')}{' '}
              <Button state={state} class="wb-link" onClick={() => toggle(step)}>
                {listed.value.has(step) ? 'hide' : 'show each'}
              </Button>
            </span>
            <span class="wb-decision-value">
              saved {format.bytes(inStep.reduce((sum, decision) => sum + decision.bytes_saved, 0))}
            </span>
          </li>
          {listed.value.has(step) &&
            inStep.map((decision, index) => <DecisionItem key={index} state={state} decision={decision} />)}
        </Fragment>
      ))}
    </>
  );
}

/** The step of an equation, or the id itself where it is one of a step. */
function stepOf(state: ReportState, id: string): string {
  return state.model.equation(id) === undefined ? id : state.model.stepOf(id);
}

function End({ state, id }: { state: ReportState; id: string }): JSX.Element {
  const equation = state.model.equation(id);
  return (
    <span>
      <b>
        {equation === undefined
          ? (state.model.nodes.get(id)?.title ?? id)
          : equation.op || equation.primitive}
      </b>{' '}
      <StepTag state={state} step={stepOf(state, id)} />
    </span>
  );
}

function Verified({ verification }: { verification: Verification }): JSX.Element {
  // Notebooks are saved with their keys sorted; the name comes first all the same.
  const names = [...new Set(['name', ...verification.results.flatMap(result => Object.keys(result))])];
  return (
    <section>
      <h3>
        Compared with NumPy{format.ago(verification.runs_ago)}{' '}
        <span class="wb-dim">
          {verification.ok ? 'same result' : 'different results'}, at most {format.ulp(verification.max_ulp)}
        </span>
      </h3>
      {verification.results.length > 0 && (
        <table class="wb-results">
          <thead>
            <tr>
              {names.map(name => (
                <th key={name} scope="col">
                  {name.replaceAll('_', ' ')}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {verification.results.map((result, index) => (
              <tr key={index}>
                {names.map(name => (
                  <td key={name}>{inWords(result[name])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function inWords(value: unknown): string {
  switch (typeof value) {
    case 'boolean':
      return value ? 'yes' : 'no';
    case 'number':
      return Number.isInteger(value) ? String(value) : value.toPrecision(3);
    case 'string':
      return value;
    default:
      return value === null || value === undefined ? '–' : JSON.stringify(value);
  }
}

function Crossings({ state }: { state: ReportState }): JSX.Element | null {
  const { crossings } = state.model.report;
  if (crossings.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>Copied to the device and back</h3>
      <ul>
        {crossings.map((crossing, index) => (
          <li key={index}>
            {format.bytes(crossing.bytes)} {crossing.direction}:{' '}
            {crossing.name === '' ? '' : `${crossing.name}, `}
            {crossing.why}
            {crossing.count > 1 ? `, ${format.count(crossing.count, 'time')}` : ''}
            {crossing.time_ms === null || crossing.time_ms === 0
              ? ''
              : `, the host waited ${format.time(crossing.time_ms)}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Machine({ state }: { state: ReportState }): JSX.Element {
  const { machine, created } = state.model.report;
  const facts = [
    machine.description,
    format.count(machine.threads, 'thread'),
    machine.copy_gb_per_s === null ? '' : `copies ${machine.copy_gb_per_s.toFixed(1)} GB/s`,
    machine.cache_gb_per_s === null ? '' : `${machine.cache_gb_per_s.toFixed(0)} GB/s in caches`,
    machine.peak_gflops === null ? '' : `at most ${machine.peak_gflops.toFixed(0)} Gflop/s`,
    ...Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`),
    created.replace(/^(\d+-\d+-\d+)T(\d+:\d+).*$/, '$1 $2 UTC')
  ];
  return (
    <section>
      <h3>Measured on</h3>
      <p class="wb-machine">
        {facts
          .filter(fact => fact !== '')
          .map((fact, index) => (
            <span key={index}>{fact}</span>
          ))}
      </p>
    </section>
  );
}
