import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompileReport, parseReport, ParsedReport } from '../src/report';
import { photoReport } from './samples';

const json = (): Record<string, unknown> =>
  JSON.parse(JSON.stringify(photoReport())) as Record<string, unknown>;

function problem(parsed: ParsedReport): string {
  assert.ok(parsed.kind === 'invalid');
  return parsed.problem;
}

test('a report is read back as it was written', () => {
  const parsed = parseReport(json());
  assert.ok(parsed.kind === 'ok');
  assert.deepEqual(parsed.report, photoReport());
});

test('a newer schema is named, not read', () => {
  assert.deepEqual(parseReport({ schema: 'workbench.report/2', status: {} }), {
    kind: 'newer',
    schema: 'workbench.report/2'
  });
});

test('fields of a later minor version are ignored, missing ones get their default', () => {
  const parsed = parseReport({ ...json(), later: 1, changed: undefined, stages: undefined });
  assert.ok(parsed.kind === 'ok');
  const report: CompileReport = parsed.report;
  assert.equal('later' in report, false);
  assert.equal(report.changed, '');
  assert.deepEqual(report.stages, []);
});

test('a problem names its place', () => {
  assert.match(problem(parseReport({ ...json(), status: 1 })), /^status should be text and is a number$/);
  assert.match(problem(parseReport({ ...json(), kernels: [{ id: 1 }] })), /^kernels\[0\]\.id should be text/);
  assert.match(problem(parseReport({ ...json(), stages: {} })), /^stages should be a list/);
  assert.match(problem(parseReport({ schema: 'something/1' })), /schema/);
  assert.match(problem(parseReport(null)), /record/);
  assert.match(problem(parseReport('text')), /record/);
});

test('names of Object.prototype are not fields', () => {
  const data = json();
  delete data.status;
  assert.match(problem(parseReport(Object.assign(Object.create({ status: 'compiled' }), data))), /^status/);
  assert.equal(parseReport({}).kind, 'empty');
});
