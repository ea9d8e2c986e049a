/** Numbers as people read them: three digits and a unit. */

function threeDigits(x: number): string {
  if (x === 0) {
    return '0';
  }
  const digits = Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2;
  const written = x.toFixed(digits);
  return digits > 0 ? written.replace(/\.?0+$/, '') : written;
}

function scaled(x: number, units: readonly (readonly [number, string])[]): string {
  // The margin keeps 999.6 from being written "1000 kB".
  const unit = units.find(([size]) => Math.abs(x) >= size * 0.9995) ?? units[units.length - 1];
  return unit === undefined ? threeDigits(x) : `${threeDigits(x / unit[0])} ${unit[1]}`;
}

export function time(ms: number): string {
  return scaled(ms, [
    [60_000, 'min'],
    [1_000, 's'],
    [1, 'ms'],
    [1e-3, 'µs'],
    [1e-6, 'ns']
  ]);
}

export function bytes(n: number): string {
  return scaled(n, [
    [1e12, 'TB'],
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
    [1, 'B']
  ]);
}

export function flops(n: number): string {
  return scaled(n, [
    [1e12, 'Tflop'],
    [1e9, 'Gflop'],
    [1e6, 'Mflop'],
    [1e3, 'kflop'],
    [1, 'flop']
  ]);
}

export function integer(n: number): string {
  return n.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function percent(share: number): string {
  return share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`;
}

/** `1 kernel`, `2 kernels`. */
/** ` 2 runs ago`; nothing for the run itself. */
export function ago(runs: number): string {
  return runs > 0 ? ` ${count(runs, 'run')} ago` : '';
}

export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${integer(n)} ${n === 1 ? noun : plural}`;
}

/** How much faster than NumPy, in words and with a sign that is not a colour. */
export function speedup(ratio: number): { sign: '▲' | '▼' | '='; text: string; faster: boolean | null } {
  if (ratio >= 1.05) {
    return { sign: '▲', text: `${twoDigits(ratio)}× NumPy`, faster: true };
  }
  if (ratio > 0 && ratio <= 0.95) {
    return { sign: '▼', text: `${twoDigits(1 / ratio)}× slower than NumPy`, faster: false };
  }
  return { sign: '=', text: 'level with NumPy', faster: null };
}

function twoDigits(x: number): string {
  return x.toFixed(x < 10 ? 1 : 0);
}

export function ulp(max: number | null): string {
  return max === null
    ? 'ulp unknown'
    : max === 0
      ? 'bit for bit'
      : `${max < 10_000 ? threeDigits(max) : max.toExponential(0)} ulp`;
}

export function quantile(sorted: readonly number[], q: number): number {
  const position = (sorted.length - 1) * q;
  const low = sorted[Math.floor(position)] ?? 0;
  const high = sorted[Math.ceil(position)] ?? low;
  return low + (high - low) * (position - Math.floor(position));
}
