/** What a reader has opened, chosen and typed, for one report on the page. No DOM. */
import { effect, Signal, signal } from '@preact/signals';
import { isUnchanged } from './diff';
import { ReportModel } from './model';
import { TextSource } from './protocol';
import { Ids, Selection } from './selection';

export const TABS = ['code', 'graph', 'kernels', 'timings', 'why'] as const;
export type Tab = (typeof TABS)[number];
export const TAB_TITLES: Readonly<Record<Tab, string>> = {
  code: 'Code',
  graph: 'Graph',
  kernels: 'Kernels',
  timings: 'Timings',
  why: 'Why'
};

export type Pane = 'ir' | 'source' | 'llvm' | 'asm';
export type Overlay = 'none' | 'time' | 'bytes' | 'ops';

export interface Hooks {
  /** Where long texts come from; null without a kernel. */
  readonly texts: TextSource | null;
}

let instances = 0;

export class ReportState {
  /** Distinguishes the ids of several reports on one page. */
  readonly uid = `wb${++instances}`;
  readonly selection = new Selection();
  readonly open = signal(false);
  readonly inside = signal(false);
  readonly help = signal(false);
  readonly tab: Signal<Tab> = signal('code');
  readonly pane: Signal<Pane> = signal('ir');
  readonly stage: Signal<number>;
  readonly kernel: Signal<string>;
  readonly diff = signal(false);
  readonly hideUnchanged = signal(true);
  readonly query = signal('');
  readonly hit = signal(0);
  /** Long texts that the kernel has sent, by `K0.llvm`. */
  readonly fetched: Signal<ReadonlyMap<string, string>> = signal(new Map());
  readonly overlay: Signal<Overlay> = signal('none');
  readonly showRefused = signal(true);
  readonly graphAsList = signal(false);
  /** Said once to screen readers, and shown briefly beside what was pressed. */
  readonly notice = signal('');
  /** For each stage: whether its pass changed nothing. */
  readonly unchanged: readonly boolean[];
  private readonly stopFollowing: () => void;

  constructor(
    readonly model: ReportModel,
    readonly hooks: Hooks = { texts: null }
  ) {
    const { stages, kernels } = model.report;
    this.unchanged = stages.map((stage, index) => isUnchanged(stages[index - 1], stage));
    this.stage = signal(Math.max(0, stages.length - 1));
    this.kernel = signal(kernels[0]?.id ?? '');
    this.stopFollowing = effect(() => this.followPinned(this.selection.pinned.value));
  }

  /** The stages on offer: the first, the last, the chosen one, and whatever changed something. */
  stagesShown(): number[] {
    const { stages } = this.model.report;
    return stages
      .map((_, index) => index)
      .filter(
        index =>
          !this.hideUnchanged.value ||
          !this.unchanged[index] ||
          index === stages.length - 1 ||
          index === this.stage.value
      );
  }

  stepStage(by: 1 | -1): void {
    const shown = this.stagesShown();
    const next = shown[shown.indexOf(this.stage.value) + by];
    if (next !== undefined) {
      this.pane.value = 'ir';
      this.stage.value = next;
    }
  }

  showKernel(id: string, pane: Pane = 'source'): void {
    this.kernel.value = id;
    this.pane.value = pane;
    this.tab.value = 'code';
  }

  /** Show the kernel that computes what was pinned. */
  private followPinned(ids: Ids): void {
    const steps = this.model.stepsOf(ids);
    const kernel = steps.find(step => this.model.kernels.has(step));
    if (kernel !== undefined && !steps.includes(this.kernel.peek())) {
      this.kernel.value = kernel;
    }
  }

  say(notice: string): void {
    this.notice.value = notice;
  }

  dispose(): void {
    this.stopFollowing();
    this.selection.dispose();
  }
}
