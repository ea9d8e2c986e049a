/** Small charts. Horizontal positions are percentages, so that they need no measuring and no redrawing. */
import { JSX } from 'preact';
import * as format from '../format';
import { TimelineBar } from '../report';
import { ReportState } from '../state';

/** The next round number at or above `ms`. */
export function niceLimit(ms: number): number {
  if (ms <= 0) {
    return 1;
  }
  const unit = 10 ** Math.floor(Math.log10(ms));
  return unit * ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(step => ms <= step * unit) ?? 10);
}

/** Each run a dot over the middle half as a box, with the median; from zero, so that lengths can be compared. */
export function Distribution(props: {
  name: string;
  times: readonly number[];
  limit: number;
  tone: 'ours' | 'numpy';
}): JSX.Element {
  const sorted = [...props.times].sort((a, b) => a - b);
  const at = (ms: number): string => `${(ms / props.limit) * 100}%`;
  const [q1, median, q3] = [0.25, 0.5, 0.75].map(q => format.quantile(sorted, q)) as [number, number, number];
  const words =
    sorted.length === 0
      ? 'not timed'
      : sorted.length === 1
        ? `${format.time(median)}, one run`
        : `${format.time(median)} ± ${format.time((q3 - q1) / 2)}, n = ${sorted.length}`;
  return (
    <div class={`wb-distribution wb-tone-${props.tone}`}>
      <div class="wb-distribution-name">
        {props.name}
        <span class="wb-dim wb-number">{words}</span>
      </div>
      <svg width="100%" height="34" role="img" aria-label={`${props.name}: ${words}`}>
        <line class="wb-axis" x1="0" x2="100%" y1="17" y2="17" />
        {sorted.length > 0 && (
          <>
            <rect class="wb-median-run" x="0" y="13" width={at(median)} height="8" />
            <rect class="wb-box" x={at(q1)} y="6" width={at(q3 - q1)} height="22" rx="2" />
            {props.times.map((ms, index) => (
              <circle key={index} class="wb-run" cx={at(ms)} cy={17 + jitter(index)} r="2.5" />
            ))}
            <line class="wb-median" x1={at(median)} x2={at(median)} y1="3" y2="31" />
          </>
        )}
      </svg>
    </div>
  );
}

/** Dots apart from each other, the same on every drawing. */
function jitter(index: number): number {
  return ((index * 7) % 11) - 5;
}

export function Ruler({ limit, parts = 4 }: { limit: number; parts?: number }): JSX.Element {
  return (
    <div class="wb-ruler" aria-hidden="true">
      {Array.from({ length: parts + 1 }, (_, index) => (
        <span key={index} style={{ left: `${(index / parts) * 100}%` }}>
          {index === 0 ? '0' : format.time((limit * index) / parts)}
        </span>
      ))}
    </div>
  );
}

export function TimelineChart({
  state,
  bars
}: {
  state: ReportState;
  bars: readonly TimelineBar[];
}): JSX.Element {
  const lanes = [...new Set(bars.map(bar => bar.lane))];
  const end = Math.max(...bars.map(bar => bar.start_ms + bar.time_ms)) || 1;
  return (
    <div class="wb-timeline">
      {lanes.map(lane => (
        <div key={lane} class="wb-lane">
          <span class="wb-lane-name">{lane}</span>
          <div class="wb-lane-bars">
            {bars
              .filter(bar => bar.lane === lane)
              .map((bar, index) => (
                <Bar key={index} state={state} bar={bar} end={end} />
              ))}
          </div>
        </div>
      ))}
      <div class="wb-lane">
        <span class="wb-lane-name" />
        <div class="wb-lane-ruler">
          <Ruler limit={end} />
        </div>
      </div>
    </div>
  );
}

function Bar({ state, bar, end }: { state: ReportState; bar: TimelineBar; end: number }): JSX.Element {
  const ids = state.model.equationsOf(bar.step);
  const mark = state.selection.mark(ids);
  const share = bar.time_ms / end;
  return (
    <span
      class={`wb-bar ${state.model.stepClass(bar.step)} ${mark === '' ? '' : `wb-${mark}`}`}
      style={{ left: `${(bar.start_ms / end) * 100}%`, width: `${share * 100}%` }}
      title={`${bar.step} ${bar.name}\n${format.time(bar.time_ms)}, from ${format.time(bar.start_ms)}`}
      onPointerEnter={() => state.selection.hover(ids)}
      onPointerLeave={() => state.selection.leave()}
      onClick={() => state.selection.toggle(ids, 'timeline')}
    >
      {share > 0.05 && bar.step}
    </span>
  );
}
