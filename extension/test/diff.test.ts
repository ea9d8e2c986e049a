import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffStages, isUnchanged } from '../src/diff';
import { EquationRow, Stage } from '../src/report';

function stage(header: string, equations: readonly (readonly [id: string, text: string])[]): Stage {
  const rows = equations.map(([id, text], index): EquationRow => ({
    id,
    text,
    text_line: index + 2,
    primitive: '',
    op: '',
    outputs: [],
    spans: [],
    step: '',
    in_memory: true
  }));
  const text = [`{ lambda ; ${header}. let`, ...rows.map(row => `    ${row.text}`), '  in (z,) }'].join('\n');
  return { name: 'pass', text, equations: rows, added: 0, removed: 0, time_ms: 0 };
}

const changes = (before: Stage, after: Stage): string[] =>
  diffStages(before, after).map(row => `${row.change} ${row.equation.id}`);

test('variables that were only renamed are no change', () => {
  const before = stage('a:f64[3]', [
    ['e0', 'b:f64[3] = exp a'],
    ['e1', 'c:f64[3] = neg a'],
    ['e2', 'd:f64[3] = mul b b']
  ]);
  const after = stage('a:f64[3]', [
    ['e0', 'b:f64[3] = exp a'],
    ['e2', 'c:f64[3] = mul b b']
  ]);
  assert.deepEqual(changes(before, after), ['kept e0', 'removed e1', 'kept e2']);
  assert.equal(isUnchanged(before, after), false);
  assert.equal(isUnchanged(before, before), true);
});

test('another operand is a change, and so is another parameter', () => {
  const before = stage('a:f64[3] b:f64[3]', [
    ['e0', 'c:f64[3] = add a b'],
    ['e1', 'd:f64[3] = integer_pow[y=2] c']
  ]);
  const after = stage('a:f64[3] b:f64[3]', [
    ['e0', 'c:f64[3] = add a a'],
    ['e1', 'd:f64[3] = integer_pow[y=3] c']
  ]);
  assert.deepEqual(changes(before, after), ['changed e0', 'changed e1']);
});

test('a primitive spelt like a variable is not renamed', () => {
  const before = stage('or:bool[3]', [['e0', 'b:bool[3] = or or or']]);
  const after = stage('a:bool[3]', [['e0', 'b:bool[3] = or a a']]);
  assert.deepEqual(changes(before, after), ['kept e0']);
});

test('what is new stands where the program has it', () => {
  const before = stage('a:f64[]', [['e0', 'b:f64[] = exp a']]);
  const after = stage('a:f64[]', [
    ['e9', 'b:f64[] = neg a'],
    ['e0', 'c:f64[] = exp a']
  ]);
  assert.deepEqual(changes(before, after), ['added e9', 'kept e0']);
});
