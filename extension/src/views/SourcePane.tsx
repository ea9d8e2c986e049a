/** The user's code with heat and steps in the gutter. Every sub-expression is linked to the equations it became. */
import { useSignal } from '@preact/signals';
import { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import * as format from '../format';
import { Segment, SourceLine } from '../model';
import { Ids } from '../selection';
import { ReportState } from '../state';
import { Coloured, indentOf } from './Coloured';
import { Icon } from './icons';
import { StepTag, tabIndex } from './parts';
import { indicesOf, reveal, useReveal } from './reveal';

export const SOURCE = 'source';

export function SourcePane({ state }: { state: ReportState }): JSX.Element {
  const { lines } = state.model;
  const { selection } = state;
  const body = useRef<HTMLDivElement>(null);
  /** Line, and sub-expression in it (-1: the whole line). */
  const cursor = useSignal<readonly [number, number]>([-1, -1]);
  const hottest = Math.max(0, ...lines.map(line => line.heat ?? 0));
  const measured = lines.some(line => line.heat !== null);
  const nTags = Math.min(2, Math.max(1, ...lines.map(line => line.steps.length)));
  const longest = Math.max(2, ...lines.flatMap(line => line.steps.map(step => step.length)));
  const idOf = (index: number): string => `${state.uid}-line-${index}`;

  useReveal(body, selection, SOURCE, ids => indicesOf(lines, line => line.equations, ids));

  const moveTo = (index: number, part: number): void => {
    const line = lines[index];
    if (line !== undefined) {
      cursor.value = [index, part];
      selection.leave();
      selection.pin(part < 0 ? line.equations : (parts(line)[part] ?? line.equations), SOURCE);
      reveal(body.current, index);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const [index, part] = cursor.value;
    const line = lines[Math.max(0, index)];
    const nParts = line === undefined ? 0 : parts(line).length;
    switch (event.key) {
      case 'ArrowDown':
        moveTo(Math.min(lines.length - 1, index + 1), -1);
        break;
      case 'ArrowUp':
        moveTo(Math.max(0, index - 1), -1);
        break;
      case 'ArrowRight':
        moveTo(Math.max(0, index), Math.min(nParts - 1, part + 1));
        break;
      case 'ArrowLeft':
        moveTo(Math.max(0, index), Math.max(-1, part - 1));
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const idsAt = (event: Event): Ids => {
    const element = event.target instanceof Element ? event.target : null;
    const row = element?.closest<HTMLElement>('[data-row]');
    const line = lines[Number(row?.dataset.row ?? -1)];
    const segment = element?.closest<HTMLElement>('[data-segment]');
    if (line === undefined) {
      return [];
    }
    return segment === null || segment === undefined
      ? line.equations
      : (line.segments[Number(segment.dataset.segment)]?.own ?? []);
  };

  return (
    <div
      ref={body}
      class="wb-source wb-scroll"
      role="listbox"
      aria-label={`Source of ${state.model.report.cell.label}`}
      tabIndex={tabIndex(state)}
      aria-activedescendant={cursor.value[0] >= 0 ? idOf(cursor.value[0]) : undefined}
      onPointerOver={event => {
        // A step's tag marks its own equations.
        if (!(event.target instanceof Element && event.target.closest('.wb-tag'))) {
          selection.hover(idsAt(event), SOURCE);
        }
      }}
      onPointerLeave={() => selection.leave()}
      onClick={event => {
        const ids = idsAt(event);
        if (ids.length > 0 && getSelection()?.isCollapsed !== false) {
          selection.toggle(ids, SOURCE);
        }
      }}
      onKeyDown={onKeyDown}
    >
      <div class="wb-rows" style={{ '--wb-tags-width': `${nTags * (18 + 7 * longest)}px` }}>
        {lines.map((line, index) => (
          <Line
            key={index}
            state={state}
            line={line}
            index={index}
            id={idOf(index)}
            hottest={hottest}
            measured={measured}
          />
        ))}
      </div>
    </div>
  );
}

/** The sub-expressions of a line for the arrow keys: from left to right, each set of equations once. */
function parts(line: SourceLine): Ids[] {
  const seen = new Set<string>();
  return line.segments
    .map(segment => segment.own)
    .filter(ids => {
      const key = ids.join(' ');
      const isNew = key !== '' && !seen.has(key);
      seen.add(key);
      return isNew;
    });
}

function Line(props: {
  state: ReportState;
  line: SourceLine;
  index: number;
  id: string;
  hottest: number;
  measured: boolean;
}): JSX.Element {
  const { state, line } = props;
  const mark = state.selection.mark(line.equations);
  const failing = state.model.report.fallbacks.find(fallback => fallback.span?.line === line.number);
  return (
    <div
      id={props.id}
      class={`wb-row ${mark === '' ? '' : `wb-line-${mark}`}`}
      role="option"
      aria-selected={mark !== ''}
      data-row={props.index}
      data-line={line.number}
    >
      <span class="wb-lineno">{line.number}</span>
      {props.measured && <Heat share={line.heat} hottest={props.hottest} />}
      <span class="wb-gutter-tags">
        {line.steps.map(step => (
          <StepTag key={step} state={state} step={step} />
        ))}
        {failing !== undefined && (
          <span class="wb-tag wb-kind-numpy" title={`Not compiled. ${failing.code}: ${failing.why}`}>
            <Icon name="warning" />
          </span>
        )}
      </span>
      <span class="wb-text" style={{ '--wb-indent': indentOf(line.text) }}>
        {line.segments.map((segment, index) => (
          <SegmentText key={index} state={state} line={line} segment={segment} index={index} />
        ))}
      </span>
    </div>
  );
}

/** One hue; the number stands beside it. */
function Heat({ share, hottest }: { share: number | null; hottest: number }): JSX.Element {
  if (share === null || share === 0) {
    return <span class="wb-heat" />;
  }
  const words =
    `about ${format.percent(share)} of the measured time\n` +
    'each step’s time is spread evenly over its equations';
  return (
    <span class="wb-heat" title={words}>
      <span
        class="wb-heat-bar"
        style={{
          width: `${(share / hottest) * 100}%`,
          '--wb-heat-strength': `${20 + 35 * (share / hottest)}%`
        }}
      />
      <span class="wb-heat-number">{format.percent(share)}</span>
    </span>
  );
}

function SegmentText(props: {
  state: ReportState;
  line: SourceLine;
  segment: Segment;
  index: number;
}): JSX.Element {
  const { state, line, segment } = props;
  const mark = state.selection.mark(segment.covering);
  return (
    <span
      class={`${segment.own.length > 0 ? 'wb-expression' : ''} ${mark === '' ? '' : `wb-${mark}`}`}
      data-segment={props.index}
    >
      <Coloured text={line.text} language="python" start={segment.start} end={segment.end} />
    </span>
  );
}
