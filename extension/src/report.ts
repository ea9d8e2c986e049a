/**
 * The compile report: its types, and the check that what arrived is one. Mirrors workbench/report/schema.py field for
 * field (tests/notebook/test_widgets.py compares the names). Ids are strings: equations `e0`, clusters and kernels
 * `K0`, library calls `L0`, NumPy steps `N0`, inputs `in:NAME`, outputs `out:NAME`. Times are milliseconds, sizes
 * bytes, lines count from 1 within `cell.source`, columns from 0.
 */
import { FORM, unpackStages } from './compact';
import { bool, Infer, list, maybe, num, pairs, Problem, record, strings, text, withDefault } from './shape';

export const SCHEMA = 'workbench.report/1';
export const MIME_TYPE = 'application/vnd.workbench.report.v1+json';

export const SourceSpan = record({ line: num, col: num, end_line: num, end_col: num });
export type SourceSpan = Infer<typeof SourceSpan>;

export const Cell = record({ label: text, source: text, filename: withDefault(text, '') });
export type Cell = Infer<typeof Cell>;

export const Value = record({ name: text, aval: text, bytes: num });
export type Value = Infer<typeof Value>;

export const EquationRow = record({
  id: text,
  text: text,
  text_line: num,
  primitive: text,
  op: text,
  outputs: list(Value),
  spans: list(SourceSpan),
  step: withDefault(text, ''),
  in_memory: withDefault(bool, true)
});
export type EquationRow = Infer<typeof EquationRow>;

export const Stage = record({
  name: text,
  text: text,
  equations: list(EquationRow),
  added: withDefault(num, 0),
  removed: withDefault(num, 0),
  time_ms: withDefault(num, 0)
});
export type Stage = Infer<typeof Stage>;

export const StepNode = record({
  id: text,
  kind: text,
  title: text,
  equations: withDefault(list(text), []),
  inputs: withDefault(list(Value), []),
  outputs: withDefault(list(Value), []),
  scope: withDefault(text, ''),
  reason: withDefault(text, ''),
  x: withDefault(num, 0),
  y: withDefault(num, 0),
  w: withDefault(num, 0),
  h: withDefault(num, 0),
  spans: withDefault(list(SourceSpan), [])
});
export type StepNode = Infer<typeof StepNode>;

export const GraphEdge = record({
  source: text,
  target: text,
  value: Value,
  code: withDefault(text, ''),
  refused: withDefault(text, ''),
  points: withDefault(list(list(num)), []),
  label: withDefault(list(num), [])
});
export type GraphEdge = Infer<typeof GraphEdge>;

export const Graph = record({
  nodes: list(StepNode),
  edges: list(GraphEdge),
  width: withDefault(num, 0),
  height: withDefault(num, 0)
});
export type Graph = Infer<typeof Graph>;

export const DecisionRow = record({
  merged: bool,
  producer: text,
  consumer: text,
  value: Value,
  code: text,
  reason: text,
  bytes_saved: num
});
export type DecisionRow = Infer<typeof DecisionRow>;

export const Text = record({ head: text, n_lines: num, sha256: text, complete: bool });
export type Text = Infer<typeof Text>;

export const KernelRow = record({
  id: text,
  name: text,
  target: text,
  source: text,
  line_equations: list(list(text)),
  inputs: list(Value),
  outputs: list(Value),
  n_elements: num,
  flops: num,
  bytes_moved: num,
  threads: num,
  runs_ms: withDefault(list(num), []),
  median_ms: maybe(num),
  iqr_ms: maybe(num),
  share: maybe(num),
  roof_share: maybe(num),
  bound: withDefault(text, ''),
  compile_ms: withDefault(num, 0),
  cached: withDefault(bool, false),
  launch: withDefault(text, ''),
  llvm: maybe(Text),
  asm: maybe(Text)
});
export type KernelRow = Infer<typeof KernelRow>;

export const Phase = record({ name: text, time_ms: num });
export type Phase = Infer<typeof Phase>;

export const TimelineBar = record({
  step: text,
  name: text,
  start_ms: num,
  time_ms: num,
  lane: withDefault(text, 'main')
});
export type TimelineBar = Infer<typeof TimelineBar>;

export const Timings = record({
  runs_ms: withDefault(list(num), []),
  numpy_ms: withDefault(list(num), []),
  phases: withDefault(list(Phase), []),
  timeline: withDefault(list(TimelineBar), [])
});
export type Timings = Infer<typeof Timings>;

export const Fallback = record({
  span: maybe(SourceSpan),
  op: text,
  code: text,
  why: text,
  fix: withDefault(text, ''),
  cost_ms: maybe(num)
});
export type Fallback = Infer<typeof Fallback>;

export const Kept = record({ name: text, aval: text, bytes: num, cost_ms: maybe(num) });
export type Kept = Infer<typeof Kept>;

export const Verification = record({
  ok: bool,
  max_ulp: maybe(num),
  results: withDefault(list(pairs), []),
  runs_ago: withDefault(num, 0)
});
export type Verification = Infer<typeof Verification>;

export const Machine = record({
  device: text,
  description: text,
  threads: num,
  copy_gb_per_s: maybe(num),
  peak_gflops: maybe(num),
  versions: withDefault(strings, {}),
  cache_gb_per_s: maybe(num),
  cache_bytes: withDefault(num, 0)
});
export type Machine = Infer<typeof Machine>;

export const Crossing = record({
  name: text,
  direction: text,
  bytes: num,
  why: text,
  count: withDefault(num, 1),
  time_ms: maybe(num)
});
export type Crossing = Infer<typeof Crossing>;

export const Summary = record({
  n_kernels: num,
  n_ops: num,
  n_library_calls: withDefault(num, 0),
  n_numpy_steps: withDefault(num, 0),
  n_loops: withDefault(num, 0),
  n_branches: withDefault(num, 0),
  n_boundaries: withDefault(num, 0),
  time_ms: maybe(num),
  numpy_ms: maybe(num),
  speedup: maybe(num),
  bytes_saved: withDefault(num, 0),
  compile_ms: withDefault(num, 0),
  pays_off_after: maybe(num)
});
export type Summary = Infer<typeof Summary>;

export const CompileReport = record({
  status: text,
  cell: Cell,
  summary: Summary,
  machine: Machine,
  stages: withDefault(list(Stage), []),
  graph: withDefault(Graph, { nodes: [], edges: [], width: 0, height: 0 }),
  decisions: withDefault(list(DecisionRow), []),
  kernels: withDefault(list(KernelRow), []),
  timings: withDefault(Timings, { runs_ms: [], numpy_ms: [], phases: [], timeline: [] }),
  fallbacks: withDefault(list(Fallback), []),
  kept: withDefault(list(Kept), []),
  crossings: withDefault(list(Crossing), []),
  verification: maybe(Verification),
  changed: withDefault(text, ''),
  reason: withDefault(text, ''),
  id: withDefault(text, ''),
  created: withDefault(text, ''),
  schema: withDefault(text, SCHEMA)
});
export type CompileReport = Infer<typeof CompileReport>;

export type ParsedReport =
  | { kind: 'ok'; report: CompileReport }
  | { kind: 'newer'; schema: string }
  | { kind: 'empty' }
  | { kind: 'invalid'; problem: string };

const SCHEMA_FORM = /^workbench\.report\/(\d+)$/;

/** Check a report that came from a notebook, a file or a kernel. Fields that this version does not know are ignored. */
export function parseReport(data: unknown): ParsedReport {
  if (typeof data !== 'object' || data === null) {
    return { kind: 'invalid', problem: 'it is not a record' };
  }
  if (Object.keys(data).length === 0) {
    return { kind: 'empty' };
  }
  const schema: unknown = 'schema' in data ? data.schema : SCHEMA;
  const version = typeof schema === 'string' ? SCHEMA_FORM.exec(schema)?.[1] : undefined;
  if (version === undefined) {
    return { kind: 'invalid', problem: 'its schema is not one of the workbench' };
  }
  if (Number(version) > 1) {
    return { kind: 'newer', schema: String(schema) };
  }
  try {
    if (!('compact' in data)) {
      return { kind: 'ok', report: CompileReport(data, '') };
    }
    if (data.compact !== FORM) {
      return { kind: 'newer', schema: `${String(schema)}, compact form ${String(data.compact)}` };
    }
    const stages = unpackStages('stages' in data ? data.stages : [], 'stages');
    return { kind: 'ok', report: { ...CompileReport({ ...data, stages: [] }, ''), stages } };
  } catch (error) {
    if (error instanceof Problem) {
      return { kind: 'invalid', problem: error.message };
    }
    throw error;
  }
}
