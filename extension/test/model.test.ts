import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReportModel } from '../src/model';
import { EquationRow, StepNode } from '../src/report';
import { ReportState } from '../src/state';
import { diffRows, kernelRows, shown, shownText, stageRows } from '../src/texts';
import { fallbackReport, photoReport } from './samples';

const model = new ReportModel(photoReport());

function segmentAt(line: number, part: string): readonly string[] {
  const found = model.lines[line - 1];
  const col = found?.text.indexOf(part) ?? -1;
  return found?.segments.find(segment => segment.start <= col && col < segment.end)?.own ?? [];
}

test('a sub-expression leads to the equations of its innermost span', () => {
  assert.deepEqual(segmentAt(4, 'np.exp'), ['e26']);
  assert.deepEqual(segmentAt(4, 'edges.max'), ['e22']);
  assert.deepEqual(segmentAt(1, 'photo'), ['e0']);
  assert.deepEqual(segmentAt(4, 'tone'), []);
});

test('an equation that replaced another is linked to the places of both', () => {
  const line = model.lines[2];
  const segments = line?.segments.filter(segment => segment.covering.includes('e13')) ?? [];
  assert.ok(new Set(segments.map(segment => segment.start)).size >= 2);
});

test('lines know their steps in the order of the plan', () => {
  assert.deepEqual(
    model.lines.map(line => line.steps.join(' ')),
    ['L0', 'K0', 'K1', 'K1 K2', '']
  );
});

test('the heat of all lines is the whole measured time', () => {
  const heat = model.lines.reduce((sum, line) => sum + (line.heat ?? 0), 0);
  assert.ok(Math.abs(heat - 1) < 1e-9, String(heat));
});

test('without measurements there is no heat', () => {
  const cold = new ReportModel(fallbackReport());
  assert.ok(cold.lines.every(line => line.heat === null));
});

test('a line of the IR belongs to the equation above it until the next begins', () => {
  const stage = photoReport().stages[0];
  assert.ok(stage !== undefined);
  const rows = stageRows(stage);
  assert.deepEqual(rows[0]?.ids, []);
  const first = rows.filter(row => row.ids[0] === 'e0');
  assert.equal(first.length, 4);
  assert.equal(first.filter(row => row.equation !== undefined).length, 1);
  assert.match(first.at(-1)?.text ?? '', /^\s*\] a b$/);
  assert.deepEqual(rows.at(-1)?.ids, []);
});

test('a line of a nested program belongs to its own equation, what follows to the outer one again', () => {
  const row = (id: string, text_line: number): EquationRow => ({
    id,
    text: '',
    text_line,
    primitive: '',
    op: '',
    outputs: [],
    spans: [],
    step: '',
    in_memory: true
  });
  const text = `{ lambda ; a:f64[]. let
    b:f64[] = scan[
      jaxpr={ lambda ; c:f64[]. let
          d:f64[] = sin c
        in (d,) }
      length=5
    ] a
    e:f64[] = neg b
  in (e,) }`;
  const equations = [row('e0', 2), row('e1', 4), row('e2', 8)];
  const rows = stageRows({ name: '', text, equations, added: 0, removed: 0, time_ms: 0 });
  assert.deepEqual(
    rows.map(({ ids, outermost }) => [ids[0], outermost]),
    [
      [undefined, undefined],
      ['e0', 'e0'],
      ['e0', 'e0'],
      ['e1', 'e0'],
      ['e0', 'e0'],
      ['e0', 'e0'],
      ['e0', 'e0'],
      ['e2', 'e2'],
      [undefined, undefined]
    ]
  );
});

test('a kernel line knows its equations', () => {
  const kernel = model.kernels.get('K1');
  assert.ok(kernel !== undefined);
  assert.deepEqual(kernelRows(kernel)[9]?.ids, ['e13']);
  assert.equal(kernelRows(kernel)[9]?.number, 10);
});

test('the difference of two stages shows what is gone and what replaced it', () => {
  const [, before, after] = photoReport().stages;
  assert.ok(before !== undefined && after !== undefined);
  const changed = diffRows(before, after).filter(row => row.change !== undefined);
  assert.deepEqual(
    changed.map(row => [row.change, row.ids[0]]),
    [
      ['removed', 'e17'],
      ['removed', 'e18'],
      ['added', 'e18']
    ]
  );
});

test('the stepper hides what changed nothing, and never the last stage', () => {
  const state = new ReportState(model);
  assert.deepEqual(state.stagesShown(), [0, 2, 4]);
  state.hideUnchanged.value = false;
  assert.deepEqual(state.stagesShown(), [0, 1, 2, 3, 4]);
  state.hideUnchanged.value = true;
  state.stepStage(-1);
  assert.equal(state.stage.value, 2);
  state.stepStage(1);
  state.stepStage(1);
  assert.equal(state.stage.value, 4);
  state.dispose();
});

test('pinning code shows the kernel that computes it', () => {
  const state = new ReportState(model);
  assert.equal(state.kernel.value, 'K0');
  state.selection.pin(['e26'], 'source');
  assert.equal(state.kernel.value, 'K2');
  state.selection.pin(['e0'], 'source'); // a library call has no kernel
  assert.equal(state.kernel.value, 'K2');
  state.dispose();
});

test('what is shown can be copied, and says how to get it in Python', () => {
  const state = new ReportState(model);
  assert.equal(shownText(state).text, model.report.stages[4]?.text);
  state.showKernel('K1');
  assert.equal(shown(state).twin, 'report.kernels["K1"].source');
  state.pane.value = 'llvm';
  assert.equal(shown(state).partial?.n_lines, 812);
  state.fetched.value = new Map([['K1.llvm', 'whole\n']]);
  assert.deepEqual(
    shown(state).rows.map(row => row.text),
    ['whole']
  );
  assert.equal(shown(state).partial, undefined);
  state.dispose();
});

test('statements that ran as they are have their step, heat and time in their lines', () => {
  const report = photoReport();
  const statement: StepNode = {
    ...(report.graph.nodes[0] ?? assert.fail()),
    id: 'N0',
    kind: 'numpy',
    equations: [],
    spans: [{ line: 5, col: 0, end_line: 5, end_col: 10 }]
  };
  const elapsed = report.timings.timeline.reduce((sum, bar) => sum + bar.time_ms, 0);
  const bar = { step: 'N0', name: 'found', start_ms: elapsed, time_ms: elapsed, lane: 'main' };
  const partly = new ReportModel({
    ...report,
    graph: { ...report.graph, nodes: [...report.graph.nodes, statement] },
    timings: { ...report.timings, timeline: [...report.timings.timeline, bar] }
  });
  const line = partly.lines[4] ?? assert.fail();
  assert.deepEqual(line.steps, ['N0']);
  assert.ok(Math.abs((line.heat ?? 0) - 0.5) < 1e-9, String(line.heat));
  assert.equal(partly.timeOf('N0'), elapsed);
});
