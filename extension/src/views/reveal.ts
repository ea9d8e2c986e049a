/** Scrolling a list to what was selected elsewhere. */
import { useSignalEffect } from '@preact/signals';
import { RefObject } from 'preact';
import { Ids, Selection } from '../selection';

const HOVER_DELAY_MS = 250; // long enough that a pointer on its way over lines scrolls nothing

/** Scrolls the list, and never the page, until the row can be seen. */
export function reveal(list: HTMLElement | null, index: number): void {
  const row = rowOf(list, index);
  if (list !== null && row !== null && !isSeen(list, row)) {
    const offset = row.getBoundingClientRect().top - list.getBoundingClientRect().top;
    list.scrollTop += offset - list.clientHeight / 3;
  }
}

function rowOf(list: HTMLElement | null, index: number): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-row="${index}"]`) ?? null;
}

function isSeen(list: HTMLElement, row: HTMLElement): boolean {
  const [listBox, rowBox] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
  return rowBox.top >= listBox.top && rowBox.bottom <= listBox.bottom;
}

/**
 * Keeps `list`, which is called `name`, at what the other views select: at once where it was pinned or reached by keys,
 * after a moment where the pointer rests on it. rowsOf: the rows of some equations.
 */
export function useReveal(
  list: RefObject<HTMLElement | null>,
  selection: Selection,
  name: string,
  rowsOf: (ids: Ids) => readonly number[]
): void {
  useSignalEffect(() => {
    if (selection.revealFrom.value !== name) {
      reveal(list.current, rowsOf(selection.pinned.value)[0] ?? -1);
    }
  });
  useSignalEffect(() => {
    const hovered = selection.hovered.value;
    if (hovered.length === 0 || selection.hoverFrom === name) {
      return;
    }
    const timer = setTimeout(() => {
      const rows = rowsOf(hovered);
      const element = list.current;
      const seen = rows.some(index => {
        const row = rowOf(element, index);
        return element !== null && row !== null && isSeen(element, row);
      });
      if (!seen) {
        reveal(element, rows[0] ?? -1);
      }
    }, HOVER_DELAY_MS);
    return () => clearTimeout(timer);
  });
}

export function indicesOf<T>(items: readonly T[], idsOf: (item: T) => Ids, ids: Ids): number[] {
  const wanted = new Set(ids);
  return items.flatMap((item, index) => (idsOf(item).some(id => wanted.has(id)) ? [index] : []));
}
