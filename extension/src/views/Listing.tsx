/** Lines of text with a gutter, linked to the selection: an IR stage, a kernel's source, LLVM, assembly. */
import { useSignal } from '@preact/signals';
import { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Language } from '../highlight';
import { Ids } from '../selection';
import { ReportState } from '../state';
import { Row } from '../texts';
import { Coloured, indentOf } from './Coloured';
import { tabIndex } from './parts';
import { indicesOf, reveal, useReveal } from './reveal';

interface ListingProps {
  state: ReportState;
  label: string;
  rows: readonly Row[];
  language: Language;
  /** For the IR: show steps and `⌀` in the gutter. */
  steps?: boolean;
  /** Rows that the search found, and which of them is the current one. */
  hits?: readonly number[];
  current?: number;
}

export const LISTING = 'listing';

export function Listing(props: ListingProps): JSX.Element {
  const { state, rows } = props;
  const { selection } = state;
  const body = useRef<HTMLDivElement>(null);
  const cursor = useSignal(-1);
  const idOf = (index: number): string => `${state.uid}-row-${index}`;

  const rowsOf = (ids: Ids): number[] => indicesOf(rows, row => row.ids, ids);
  useReveal(body, selection, LISTING, rowsOf);
  // Another text begins at its top, or at what is of interest in it. The element stays, and with it the focus.
  useEffect(() => {
    cursor.value = -1;
    body.current?.scrollTo(0, 0);
    const changed = rows.findIndex(row => row.change !== undefined);
    reveal(body.current, changed >= 0 ? changed : (rowsOf(selection.pinned.peek())[0] ?? -1));
  }, [rows]);
  const current = props.current ?? -1;
  useEffect(() => reveal(body.current, current), [current]);

  const moveTo = (index: number): void => {
    const row = rows[index];
    if (row !== undefined) {
      cursor.value = index;
      selection.leave();
      selection.pin(row.ids, LISTING);
      reveal(body.current, index);
    }
  };
  const rowAt = (event: Event): number => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-row]') : null;
    return element === null ? -1 : Number(element.dataset.row);
  };
  const hits = new Set(props.hits);

  return (
    <div
      ref={body}
      class="wb-listing wb-scroll"
      role="listbox"
      aria-label={props.label}
      tabIndex={tabIndex(state)}
      aria-activedescendant={cursor.value >= 0 ? idOf(cursor.value) : undefined}
      onPointerOver={event => selection.hover(rows[rowAt(event)]?.ids ?? [], LISTING)}
      onPointerLeave={() => selection.leave()}
      onClick={event => {
        const row = rows[rowAt(event)];
        // Whoever drags over text wants to copy it.
        if (row !== undefined && row.ids.length > 0 && getSelection()?.isCollapsed !== false) {
          selection.toggle(row.ids, LISTING);
        }
      }}
      onKeyDown={event => {
        const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
        if (step !== 0) {
          event.preventDefault();
          event.stopPropagation();
          moveTo(Math.min(rows.length - 1, Math.max(0, cursor.value + step)));
        }
      }}
    >
      <div class="wb-rows">
        {rows.map((row, index) => (
          <ListingRow
            key={index}
            state={state}
            row={row}
            index={index}
            id={idOf(index)}
            language={props.language}
            steps={props.steps ?? false}
            hit={hits.has(index) ? (index === current ? 'current' : 'hit') : ''}
          />
        ))}
      </div>
    </div>
  );
}

function ListingRow(props: {
  state: ReportState;
  row: Row;
  index: number;
  id: string;
  language: Language;
  steps: boolean;
  hit: '' | 'hit' | 'current';
}): JSX.Element {
  const { state, row } = props;
  const mark = state.selection.mark(row.ids);
  const step = row.outermost === undefined ? '' : state.model.stepOf(row.outermost);
  const isFirst = row.equation !== undefined && row.equation.id === row.outermost;
  const classes = ['wb-row'];
  if (mark !== '') {
    classes.push(`wb-${mark}`);
  }
  if (row.change !== undefined) {
    classes.push(`wb-${row.change}`);
  }
  if (props.hit !== '') {
    classes.push(`wb-${props.hit}`);
  }
  return (
    <div
      id={props.id}
      class={classes.join(' ')}
      role="option"
      aria-selected={mark !== ''}
      data-row={props.index}
      data-equation={row.equation?.id}
    >
      {row.number !== undefined && <span class="wb-lineno">{row.number}</span>}
      {props.steps && (
        <span class={`wb-gutter-step ${step === '' ? '' : state.model.stepClass(step)}`}>
          {isFirst && step}
        </span>
      )}
      {props.steps && (
        <span class="wb-gutter-memory">
          {isFirst && !row.equation.in_memory && (
            <span title="Never reaches memory: it lives in a register" aria-label="never reaches memory">
              ⌀
            </span>
          )}
        </span>
      )}
      {row.change !== undefined && <span class="wb-change">{row.change === 'added' ? '+' : '−'}</span>}
      <span class="wb-text" style={{ '--wb-indent': indentOf(row.text) }}>
        <Coloured text={row.text} language={props.language} />
      </span>
    </div>
  );
}
