import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderToString } from 'preact-render-to-string';
import { ReportModel } from '../src/model';
import { CompileReport } from '../src/report';
import { ReportState, TABS } from '../src/state';
import { Report } from '../src/views/Report';
import { Distribution } from '../src/views/charts';
import { fallbackReport, photoReport } from './samples';

function drawn(report: CompileReport): string[] {
  const state = new ReportState(new ReportModel(report));
  state.open.value = true;
  const pages = TABS.map(tab => {
    state.tab.value = tab;
    return renderToString(<Report state={state} />);
  });
  state.dispose();
  return pages;
}

/** Every text of a report replaced by one that would run if it were not escaped; numbers and structure stay. */
function hostile(value: unknown, key = ''): unknown {
  const kept = new Set([
    'id',
    'status',
    'schema',
    'kind',
    'step',
    'producer',
    'consumer',
    'source',
    'target'
  ]);
  if (typeof value === 'string' && !kept.has(key)) {
    return `<img src=x onerror=alert(1)>"'${value}`;
  }
  if (Array.isArray(value)) {
    return value.map(item => hostile(item, key === 'equations' ? 'id' : key));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, hostile(item, name)]));
  }
  return value;
}

test('every view of every sample is drawn', () => {
  for (const report of [photoReport(), fallbackReport()]) {
    for (const page of drawn(report)) {
      assert.match(page, /role="tabpanel"/);
    }
  }
});

test('names, sources and reasons never become markup', () => {
  for (const report of [photoReport(), fallbackReport()]) {
    for (const page of drawn(hostile(report) as CompileReport)) {
      assert.ok(page.includes('&lt;img'));
      assert.ok(!page.includes('<img'));
    }
  }
});

test('the report is one tab stop until one goes in', () => {
  const state = new ReportState(new ReportModel(photoReport()));
  state.open.value = true;
  const stops = (page: string): number => page.match(/tabindex="0"/g)?.length ?? 0;
  assert.equal(stops(renderToString(<Report state={state} />)), 1);
  assert.doesNotMatch(renderToString(<Report state={state} />), /data-lm-suppress-shortcuts/);
  state.inside.value = true;
  assert.ok(stops(renderToString(<Report state={state} />)) > 5);
  assert.match(renderToString(<Report state={state} />), /data-lm-suppress-shortcuts="true"/);
  state.dispose();
});

test('the strip says what happened in words', () => {
  const state = new ReportState(new ReportModel(photoReport()));
  const words = renderToString(<Report state={state} />).replaceAll(/<[^>]*>/g, ' ');
  for (const part of [
    'compiled',
    '3 kernels + 1 library call ← 28 ops',
    '6.4× NumPy',
    'same result (2 ulp)'
  ]) {
    assert.ok(words.includes(part), part);
  }
  state.dispose();
});

test('the strip counts loops, and gives the first line of a reason', () => {
  const report = photoReport();
  const summary = { ...report.summary, n_loops: 2, n_branches: 1 };
  const model = new ReportModel({ ...report, summary, reason: 'Line 2 depends on data.\nfrom u' });
  const state = new ReportState(model);
  const words = renderToString(<Report state={state} />).replaceAll(/<[^>]*>/g, ' ');
  assert.ok(words.includes('3 kernels + 2 loops + 1 branch + 1 library call ← 28 ops'));
  assert.ok(words.includes('Line 2 depends on data.') && !words.includes('from u'));
  state.dispose();
});

test('every one of 2,000 equations is drawn', () => {
  const report = photoReport();
  const [first] = report.stages;
  const sample = first?.equations[1];
  assert.ok(first !== undefined && sample !== undefined);
  const equations = Array.from({ length: 2000 }, (_, i) => ({ ...sample, id: `e${i}`, text_line: i + 2 }));
  const text = ['{ lambda ; a:f64[3]. let', ...equations.map(e => `    ${e.text}`), '  in (a,) }'].join('\n');
  const large = { ...report, stages: [{ ...first, text, equations }] };
  const [page] = drawn(large);
  assert.ok((page?.match(/data-equation=/g)?.length ?? 0) >= 2000);
});

test('transfers say how much went where, why, how often and what the host waited for', () => {
  const crossings = [
    { name: 'x', direction: 'to cuda:0', bytes: 8e6, why: 'an argument', count: 1, time_ms: null },
    { name: '', direction: 'to the host', bytes: 8, why: 'the condition of a loop', count: 12, time_ms: 0.5 }
  ];
  const words = drawn({ ...photoReport(), crossings }).map(page => page.replaceAll(/<[^>]*>/g, ' '));
  const page = words.find(text => text.includes('Copied to the device and back'))?.replaceAll(/\s+/g, ' ');
  assert.match(page ?? '', /8 MB to cuda:0: x, an argument(?!,)/);
  assert.match(page ?? '', /8 B to the host: the condition of a loop, 12 times, the host waited 500 µs/);
});

test('a single run is not drawn as a distribution', () => {
  const limits = { limit: 4, tone: 'ours' } as const;
  const words = (times: number[]): string =>
    renderToString(<Distribution name="workbench" times={times} {...limits} />).replaceAll(/<[^>]*>/g, ' ');
  assert.match(words([2]), /2 ms, one run/);
  assert.match(words([1, 2, 3]), /2 ms ± 500 µs, n = 3/);
  assert.match(words([]), /not timed/);
});
