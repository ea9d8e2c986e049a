/** The one line under a cell: what happened, how fast, and the way to the details. */
import { JSX } from 'preact';
import * as format from '../format';
import { CompileReport } from '../report';
import { ReportState } from '../state';
import { Icon, IconName } from './icons';
import { Button, Prose } from './parts';

interface StatusFace {
  word: string;
  icon: IconName;
  tone: 'good' | 'partly' | 'plain' | 'bad';
}

const FACES: Readonly<Record<string, StatusFace>> = {
  compiled: { word: 'compiled', icon: 'check', tone: 'good' },
  cached: { word: 'cached', icon: 'cached', tone: 'good' },
  recompiled: { word: 'recompiled', icon: 'again', tone: 'good' },
  partly: { word: 'partly compiled', icon: 'partly', tone: 'partly' },
  numpy: { word: 'ran in NumPy', icon: 'circle', tone: 'plain' },
  compiling: { word: 'first result from NumPy while kernels compile', icon: 'clock', tone: 'plain' },
  empty: { word: 'no array operation', icon: 'empty', tone: 'plain' },
  failed: { word: 'failed', icon: 'cross', tone: 'bad' }
};

export function statusFace(status: string): StatusFace {
  return FACES[status] ?? { word: status, icon: 'circle', tone: 'plain' };
}

export function Strip({ state }: { state: ReportState }): JSX.Element {
  const { report } = state.model;
  const { summary } = report;
  const face = statusFace(report.status);
  const open = state.open.value;
  return (
    <div class={`wb-strip wb-tone-${face.tone}`}>
      <div class="wb-strip-text">
        <div class="wb-strip-main">
          <span class="wb-status" role="status">
            <Icon name={face.icon} />
            {face.word}
          </span>
          {summary.n_ops > 0 && <span class="wb-fact">{opsInWords(report)}</span>}
          {summary.time_ms !== null && (
            <span class="wb-fact wb-number" title="Median of the measured runs, without compilation">
              {format.time(summary.time_ms)}
            </span>
          )}
          {summary.speedup !== null && <Speedup ratio={summary.speedup} numpyMs={summary.numpy_ms} />}
          {summary.bytes_saved > 0 && (
            <span class="wb-fact" title="Memory traffic that fusion saved, counted exactly">
              {format.bytes(summary.bytes_saved)} less traffic
            </span>
          )}
          <Verified report={report} />
        </div>
        <div class="wb-strip-more">
          {[...secondLine(report)].map(words => (
            <span key={words} class="wb-fact">
              {words}
            </span>
          ))}
          {summary.n_boundaries > 0 && (
            <Button
              state={state}
              class="wb-link"
              hint="Why these were not fused"
              onClick={() => {
                state.open.value = true;
                state.tab.value = 'why';
              }}
            >
              {format.count(summary.n_boundaries, 'boundary', 'boundaries')}
              <Icon name="right" />
            </Button>
          )}
        </div>
        {report.reason !== '' && (
          <div class="wb-strip-reason">
            <Prose text={report.reason.replace(/\n.*/s, '')} />
          </div>
        )}
      </div>
      <button
        type="button"
        class="wb-button wb-details"
        tabIndex={state.inside.value ? 0 : -1}
        aria-expanded={open}
        aria-controls={`${state.uid}-details`}
        title="Source, IR, clusters, kernels and times"
        onClick={() => {
          state.open.value = !open;
        }}
      >
        details
        <span class={open ? 'wb-chevron wb-chevron-open' : 'wb-chevron'}>
          <Icon name="chevron" />
        </span>
      </button>
    </div>
  );
}

function opsInWords({ summary }: CompileReport): string {
  const parts = [
    summary.n_kernels > 0 ? format.count(summary.n_kernels, 'kernel') : '',
    summary.n_loops > 0 ? format.count(summary.n_loops, 'loop') : '',
    summary.n_branches > 0 ? format.count(summary.n_branches, 'branch', 'branches') : '',
    summary.n_library_calls > 0 ? format.count(summary.n_library_calls, 'library call') : '',
    summary.n_numpy_steps > 0 ? format.count(summary.n_numpy_steps, 'NumPy step') : ''
  ].filter(part => part !== '');
  const ops = format.count(summary.n_ops, 'op');
  return parts.length === 0 ? ops : `${parts.join(' + ')} ← ${ops}`;
}

function Speedup({ ratio, numpyMs }: { ratio: number; numpyMs: number | null }): JSX.Element {
  const { sign, text, faster } = format.speedup(ratio);
  const tone = faster === null ? '' : faster ? 'wb-faster' : 'wb-slower';
  return (
    <span
      class={`wb-fact wb-speedup ${tone}`}
      title={numpyMs === null ? undefined : `This cell in NumPy on the same inputs: ${format.time(numpyMs)}`}
    >
      <span aria-hidden="true">{sign}</span> {text}
    </span>
  );
}

function Verified({ report: { verification } }: { report: CompileReport }): JSX.Element | null {
  if (verification === null) {
    return null;
  }
  return verification.ok ? (
    <span class="wb-fact wb-same" title="Compared with NumPy on the same inputs">
      <Icon name="check" />
      same result{format.ago(verification.runs_ago)} ({format.ulp(verification.max_ulp)})
    </span>
  ) : (
    <span class="wb-fact wb-differs">
      <Icon name="warning" />
      differs from NumPy ({format.ulp(verification.max_ulp)})
    </span>
  );
}

function* secondLine({ machine, summary, status, changed }: CompileReport): Generator<string> {
  if (machine.device !== '') {
    yield `${machine.device} · ${format.count(machine.threads, 'thread')}`;
  }
  if (changed !== '') {
    yield `changed: ${changed}`;
  }
  if (summary.compile_ms > 0) {
    const verb = status === 'cached' ? 'loaded' : 'compiled';
    const pays =
      summary.pays_off_after !== null
        ? ` → pays off after ${format.count(summary.pays_off_after, 'run')}`
        : summary.numpy_ms !== null && summary.time_ms !== null
          ? ' → never pays off at this size'
          : '';
    yield `${verb} in ${format.time(summary.compile_ms)}${pays}`;
  }
}
