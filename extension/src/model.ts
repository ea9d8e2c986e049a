/**
 * A report with its links worked out once: equation <-> source span <-> step <-> kernel line. No DOM, no state: what is
 * open, hovered or searched lives in `ReportState`.
 */
import { CompileReport, EquationRow, GraphEdge, KernelRow, SourceSpan, Stage, StepNode } from './report';
import { Ids } from './selection';

/** A stretch of one source line in which the same equations are at hand. `own` are those of the innermost span. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly covering: Ids;
  readonly own: Ids;
}

export interface SourceLine {
  readonly number: number;
  readonly text: string;
  readonly segments: readonly Segment[];
  /** All equations that begin in this line. */
  readonly equations: Ids;
  /** The steps that compute them, in order. */
  readonly steps: Ids;
  /** Estimated share of the measured time, 0..1: each step's time, spread evenly over its equations. */
  readonly heat: number | null;
}

export const N_HUES = 4;
export const N_PATTERNS = 3;

export class ReportModel {
  readonly lines: readonly SourceLine[];
  readonly lastStage: Stage | undefined;
  /** Share of the measured time for each step, 0..1; empty where nothing was measured. */
  readonly stepShares: ReadonlyMap<string, number>;
  readonly nodes: ReadonlyMap<string, StepNode>;
  readonly kernels: ReadonlyMap<string, KernelRow>;
  readonly refused: readonly GraphEdge[];
  private readonly equations = new Map<string, EquationRow>();
  private readonly stepOfEquation = new Map<string, string>();
  private readonly stepOrder = new Map<string, number>();

  constructor(readonly report: CompileReport) {
    this.lastStage = report.stages.at(-1);
    this.nodes = new Map(report.graph.nodes.map(node => [node.id, node]));
    this.kernels = new Map(report.kernels.map(kernel => [kernel.id, kernel]));
    this.refused = report.graph.edges.filter(edge => edge.refused !== '');
    for (const stage of report.stages) {
      for (const equation of stage.equations) {
        this.equations.set(equation.id, equation); // the last stage that has it wins: it knows the step
        if (equation.step !== '') {
          this.stepOfEquation.set(equation.id, equation.step);
        }
      }
    }
    for (const node of report.graph.nodes) {
      for (const id of node.equations) {
        this.stepOfEquation.set(id, node.id);
      }
    }
    for (const id of [...report.kernels.map(k => k.id), ...report.graph.nodes.map(n => n.id)]) {
      if (!this.stepOrder.has(id)) {
        this.stepOrder.set(id, this.stepOrder.size);
      }
    }
    this.stepShares = stepShares(report);
    this.lines = this.sourceLines();
  }

  equation(id: string): EquationRow | undefined {
    return this.equations.get(id);
  }

  stepOf(equationId: string): string {
    return this.stepOfEquation.get(equationId) ?? '';
  }

  equationsOf(stepId: string): Ids {
    const node = this.nodes.get(stepId);
    if (node !== undefined && node.equations.length > 0) {
      return node.equations;
    }
    return [...this.stepOfEquation].filter(([, step]) => step === stepId).map(([id]) => id);
  }

  /** What a step takes: a kernel's median, else its part of the profiled run. */
  timeOf(stepId: string): number | undefined {
    const bars = this.report.timings.timeline.filter(bar => bar.step === stepId);
    const profiled = bars.length > 0 ? bars.reduce((sum, bar) => sum + bar.time_ms, 0) : undefined;
    return this.kernels.get(stepId)?.median_ms ?? profiled;
  }

  /** The steps that compute these equations, in the order of the plan. */
  stepsOf(ids: Ids): Ids {
    return this.inOrder(ids.map(id => this.stepOf(id)).filter(step => step !== ''));
  }

  private inOrder(steps: Ids): Ids {
    return [...new Set(steps)].sort((a, b) => (this.stepOrder.get(a) ?? 0) - (this.stepOrder.get(b) ?? 0));
  }

  /** A class that gives a step its hue and its border pattern; steps that are not kernels stay neutral. */
  stepClass(stepId: string): string {
    const kind = this.nodes.get(stepId)?.kind ?? (this.kernels.has(stepId) ? 'kernel' : '');
    if (kind !== 'kernel') {
      return `wb-kind-${kind || 'none'}`;
    }
    const index = this.report.kernels.findIndex(kernel => kernel.id === stepId);
    const order = index >= 0 ? index : (this.stepOrder.get(stepId) ?? 0);
    return `wb-kind-kernel wb-hue-${order % N_HUES} wb-pattern-${Math.floor(order / N_HUES) % N_PATTERNS}`;
  }

  /** What an id means, in words: `mean (K0)`, `x`, `K1 dot`. Ids of equations, steps, inputs and outputs. */
  describe(id: string): string {
    const equation = this.equations.get(id);
    if (equation !== undefined) {
      const step = this.stepOf(id);
      const name = equation.op || equation.primitive;
      return step === '' ? name : `${name} (${step})`;
    }
    const node = this.nodes.get(id);
    if (node !== undefined) {
      return node.kind === 'input' || node.kind === 'output' ? node.title : `${node.id} ${node.title}`;
    }
    return id;
  }

  private sourceLines(): SourceLine[] {
    const texts = this.report.cell.source.replace(/\n$/, '').split('\n');
    const placed: { id: string; span: SourceSpan }[] = [];
    for (const [id, equation] of this.equations) {
      for (const span of equation.spans) {
        placed.push({ id, span });
      }
    }
    const starts = new Map<number, Ids>();
    for (const { id, span } of placed) {
      const ids = starts.get(span.line) ?? [];
      if (!ids.includes(id)) {
        starts.set(span.line, [...ids, id]);
      }
    }
    return texts.map((text, index) => {
      const number = index + 1;
      const here = placed.filter(({ span }) => span.line <= number && number <= span.end_line);
      const equations = starts.get(number) ?? [];
      const statements = this.report.graph.nodes.filter(node => linesOf(node).has(number));
      return {
        number,
        text,
        segments: segments(text, number, here),
        equations,
        steps: this.inOrder([...this.stepsOf(equations), ...statements.map(node => node.id)]),
        heat: this.heatOf(equations, statements)
      };
    });
  }

  private heatOf(equations: Ids, statements: readonly StepNode[]): number | null {
    const final = new Set(this.lastStage?.equations.map(e => e.id) ?? []);
    if (this.stepShares.size === 0) {
      return null;
    }
    let heat = 0;
    for (const id of equations) {
      const step = this.stepOf(id);
      const share = this.stepShares.get(step);
      if (share !== undefined && final.has(id)) {
        // An equation with spans in several lines counts in each with its part.
        const nLines = new Set(this.equations.get(id)?.spans.map(span => span.line)).size || 1;
        heat += share / (this.equationsOf(step).length || 1) / nLines;
      }
    }
    for (const node of statements) {
      heat += (this.stepShares.get(node.id) ?? 0) / linesOf(node).size;
    }
    return heat;
  }
}

/** The lines of the statements that a step runs as they are; none for steps made of equations. */
function linesOf(node: StepNode): ReadonlySet<number> {
  return new Set(node.spans.map(span => span.line));
}

const IN_LOOPS = 'loops';

function stepShares(report: CompileReport): Map<string, number> {
  const times = new Map<string, number>();
  for (const bar of report.timings.timeline) {
    times.set(bar.step, (times.get(bar.step) ?? 0) + bar.time_ms);
  }
  // What runs inside of a loop is in the loop's own time.
  const total = report.timings.timeline.reduce(
    (sum, bar) => (bar.lane === IN_LOOPS ? sum : sum + bar.time_ms),
    0
  );
  if (total > 0) {
    return new Map([...times].map(([step, ms]) => [step, ms / total]));
  }
  return new Map(
    report.kernels.flatMap(({ id, share }): [string, number][] => (share === null ? [] : [[id, share]]))
  );
}

function segments(
  text: string,
  line: number,
  placed: readonly { id: string; span: SourceSpan }[]
): Segment[] {
  const inLine = placed.map(({ id, span }) => ({
    id,
    start: span.line === line ? span.col : 0,
    end: span.end_line === line ? span.end_col : text.length,
    size: (span.end_line - span.line) * 10_000 + span.end_col - span.col
  }));
  const cuts = new Set([0, text.length]);
  for (const { start, end } of inLine) {
    cuts.add(Math.min(start, text.length));
    cuts.add(Math.min(end, text.length));
  }
  const bounds = [...cuts].sort((a, b) => a - b);
  return bounds.slice(1).map((end, index) => {
    const start = bounds[index] ?? 0;
    const over = inLine.filter(span => span.start <= start && end <= span.end);
    const smallest = Math.min(...over.map(span => span.size));
    return {
      start,
      end,
      covering: [...new Set(over.map(span => span.id))],
      own: [...new Set(over.filter(span => span.size === smallest).map(span => span.id))]
    };
  });
}
