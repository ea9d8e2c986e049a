import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../src/format';

test('numbers have three digits and a unit', () => {
  const times: [number, string][] = [
    [0, '0 ns'],
    [0.000035, '35 ns'],
    [0.0123, '12.3 µs'],
    [1.93, '1.93 ms'],
    [999.7, '1 s'],
    [120, '120 ms'],
    [412, '412 ms'],
    [61_000, '1.02 min']
  ];
  assert.deepEqual(
    times.map(([ms]) => format.time(ms)),
    times.map(([, words]) => words)
  );
  assert.equal(format.bytes(152_000_000), '152 MB');
  assert.equal(format.bytes(8), '8 B');
  assert.equal(format.integer(1234567), '1,234,567');
  assert.equal(format.percent(0.004), '< 1 %');
  assert.equal(format.count(1, 'kernel'), '1 kernel');
  assert.equal(format.count(2, 'boundary', 'boundaries'), '2 boundaries');
});

test('faster and slower are said in words', () => {
  assert.deepEqual(format.speedup(6.42), { sign: '▲', text: '6.4× NumPy', faster: true });
  assert.deepEqual(format.speedup(0.5), { sign: '▼', text: '2.0× slower than NumPy', faster: false });
  assert.equal(format.speedup(1).text, 'level with NumPy');
});

test('differences in units in the last place', () => {
  assert.equal(format.ago(0), '');
  assert.equal(format.ago(1), ' 1 run ago');
  assert.equal(format.ulp(0), 'bit for bit');
  assert.equal(format.ulp(2), '2 ulp');
  assert.equal(format.ulp(null), 'ulp unknown');
});

test('quantiles lie between the runs', () => {
  assert.equal(format.quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(format.quantile([5], 0.75), 5);
});
