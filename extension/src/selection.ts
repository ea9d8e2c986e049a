/**
 * One selection for all views, without DOM: ids of equations that the pointer or the keyboard is on (`hovered`) or that
 * were clicked (`pinned`). Each id has a signal of its own, so that moving through 2,000 rows redraws two of them.
 */
import { computed, effect, ReadonlySignal, Signal, signal } from '@preact/signals';

export type Mark = '' | 'linked' | 'pinned';
export type Ids = readonly string[];

const NONE: Ids = [];

export class Selection {
  readonly hovered = signal<Ids>(NONE);
  readonly pinned = signal<Ids>(NONE);
  /** The view in which the last pin or step of the keyboard was made: the other views scroll to it. */
  readonly revealFrom = signal('');
  /** The view under the pointer, where that view would scroll. */
  hoverFrom = '';
  /** What is under the pointer, otherwise what is pinned. */
  readonly active: ReadonlySignal<Ids> = computed(() =>
    this.hovered.value.length > 0 ? this.hovered.value : this.pinned.value
  );

  private readonly marks = new Map<string, Signal<Mark>>();
  private readonly stop: () => void;

  constructor() {
    let marked = new Map<string, Mark>();
    this.stop = effect(() => {
      const next = new Map<string, Mark>();
      for (const id of this.pinned.value) {
        next.set(id, 'pinned');
      }
      for (const id of this.hovered.value) {
        next.set(id, 'linked');
      }
      for (const id of marked.keys()) {
        if (!next.has(id)) {
          this.markOf(id).value = '';
        }
      }
      for (const [id, mark] of next) {
        this.markOf(id).value = mark;
      }
      marked = next;
    });
  }

  /** How `ids` are marked together: linked before pinned before nothing. Subscribes whoever reads it. */
  mark(ids: Ids): Mark {
    let strongest: Mark = '';
    for (const id of ids) {
      const mark = this.markOf(id).value;
      if (mark === 'linked') {
        strongest = mark;
      } else if (mark === 'pinned' && strongest === '') {
        strongest = mark;
      }
    }
    return strongest;
  }

  hover(ids: Ids, from = ''): void {
    if (!sameIds(this.hovered.peek(), ids)) {
      this.hoverFrom = from;
      this.hovered.value = ids;
    }
  }

  leave(): void {
    this.hover(NONE);
  }

  /** Pin `ids`, or release them if they were pinned alone. */
  toggle(ids: Ids, from: string): void {
    const released = sameIds(this.pinned.peek(), ids);
    this.leave();
    this.pin(released ? NONE : ids, from);
  }

  pin(ids: Ids, from: string): void {
    this.revealFrom.value = from;
    if (!sameIds(this.pinned.peek(), ids)) {
      this.pinned.value = ids;
    }
  }

  dispose(): void {
    this.stop();
  }

  private markOf(id: string): Signal<Mark> {
    let mark = this.marks.get(id);
    if (mark === undefined) {
      mark = signal<Mark>('');
      this.marks.set(id, mark);
    }
    return mark;
  }
}

export function sameIds(a: Ids, b: Ids): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}
