/** Run time against NumPy, then compile time, then one profiled run: three measures that are never mixed. */
import { JSX } from 'preact';
import * as format from '../format';
import { Phase } from '../report';
import { ReportState } from '../state';
import { Distribution, niceLimit, Ruler, TimelineChart } from './charts';
import { Empty, StepTag } from './parts';

export function TimingsView({ state }: { state: ReportState }): JSX.Element {
  const { timings, summary, machine } = state.model.report;
  const { runs_ms, numpy_ms, phases, timeline } = timings;
  if (runs_ms.length + numpy_ms.length + phases.length + timeline.length === 0) {
    return <Empty>Nothing was timed.</Empty>;
  }
  const limit = niceLimit(Math.max(...runs_ms, ...numpy_ms, 0));
  return (
    <div class="wb-timings">
      {runs_ms.length + numpy_ms.length > 0 && (
        <section>
          <h3>
            Runs <span class="wb-dim">without compilation; dots are runs, the bar is the median</span>
          </h3>
          <div class="wb-chart">
            <Distribution name="this cell" times={runs_ms} limit={limit} tone="ours" />
            <Distribution name="NumPy" times={numpy_ms} limit={limit} tone="numpy" />
            <Ruler limit={limit} />
          </div>
        </section>
      )}
      {phases.length > 0 && (
        <section>
          <h3>
            Compilation <span class="wb-dim">{format.time(summary.compile_ms)}, once per signature</span>
          </h3>
          <Phases phases={phases} />
        </section>
      )}
      {timeline.length > 0 && (
        <section>
          <h3>
            One run, step by step{' '}
            <span class="wb-dim">
              {machine.device} · {format.count(machine.threads, 'thread')}
            </span>
          </h3>
          <TimelineChart state={state} bars={timeline} />
          <ol class="wb-steps">
            {[...state.model.stepShares].map(([step, share]) => (
              <li key={step}>
                <StepTag state={state} step={step} /> {state.model.nodes.get(step)?.title ?? ''}{' '}
                <span class="wb-dim">{format.percent(share)}</span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

/** A bar a phase, to one scale: their order is the order of the compiler. */
function Phases({ phases }: { phases: readonly Phase[] }): JSX.Element {
  const longest = Math.max(...phases.map(phase => phase.time_ms)) || 1;
  const total = phases.reduce((sum, phase) => sum + phase.time_ms, 0) || 1;
  return (
    <table class="wb-phases">
      <tbody>
        {phases.map((phase, index) => (
          <tr key={index}>
            <th scope="row">{phase.name}</th>
            <td class="wb-phase-bar">
              <span style={{ width: `${(phase.time_ms / longest) * 100}%` }} />
            </td>
            <td class="wb-number">{format.time(phase.time_ms)}</td>
            <td class="wb-number wb-dim">{format.percent(phase.time_ms / total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
