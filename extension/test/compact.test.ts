import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReport } from '../src/report';
import { photoReport } from './samples';

const HEADER = '{ lambda ; a:f64[3]. let';
const VALUE = ['b', 'f64[3]', 24];

// Two stages and a third that is like the second; e1 is gone after the first.
const STAGES = [
  [
    'trace',
    `${HEADER}\n    b:f64[3] = exp a\n    c:f64[3] = neg a\n  in (b,) }`,
    [
      ['e0', 1, 2],
      ['e1', 1, 3, 'neg', 'negative', [['c', 'f64[3]', 24]], [[1, 9, 1, 11]]]
    ],
    0,
    0,
    3.1
  ],
  [
    'drop dead equations',
    `${HEADER}\n    b:f64[3] = exp a\n  in (b,) }`,
    [['e0', 1, 2, 'exp', 'exp', [VALUE], [[1, 4, 1, 8]], 'K0', false]],
    0,
    1,
    0.2
  ],
  ['form clusters', null, null]
];

function unpack(extra: object = {}): ReturnType<typeof parseReport> {
  const { cell, summary, machine } = photoReport();
  const report = { compact: 1, schema: 'workbench.report/1', status: 'compiled', cell, summary, machine };
  return parseReport({ ...report, stages: STAGES, ...extra });
}

test('the compact form says the same', () => {
  const parsed = unpack();
  assert.ok(parsed.kind === 'ok', JSON.stringify(parsed));
  const [trace, drop, clusters] = parsed.report.stages;
  assert.deepEqual(trace?.equations[0], {
    id: 'e0',
    text: 'b:f64[3] = exp a',
    text_line: 2,
    primitive: 'exp',
    op: 'exp',
    outputs: [{ name: 'b', aval: 'f64[3]', bytes: 24 }],
    spans: [{ line: 1, col: 4, end_line: 1, end_col: 8 }],
    step: '',
    in_memory: true
  });
  assert.equal(trace.equations[1]?.text, 'c:f64[3] = neg a');
  assert.equal(drop?.equations[0]?.step, 'K0');
  assert.equal(clusters?.text, drop.text);
  assert.equal(clusters.equations, drop.equations);
  assert.equal(clusters.time_ms, 0);
});

test('records in lists may be lists of their fields', () => {
  const parsed = unpack({
    kept: [
      ['y', 'f64[3]', 24, 0.5],
      ['z', 'f64[]', 8]
    ]
  });
  assert.ok(parsed.kind === 'ok');
  assert.deepEqual(parsed.report.kept, [
    { name: 'y', aval: 'f64[3]', bytes: 24, cost_ms: 0.5 },
    { name: 'z', aval: 'f64[]', bytes: 8, cost_ms: null }
  ]);
});

test('another compact form is newer; a broken one names its place', () => {
  assert.equal(unpack({ compact: 2 }).kind, 'newer');
  const broken = unpack({ stages: [['trace', 'text', [['e0', 1, 'two']]]] });
  assert.match(broken.kind === 'invalid' ? broken.problem : '', /^stages\[0\]\.equations\[0\]/);
});
