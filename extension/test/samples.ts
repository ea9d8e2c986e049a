/** Reports for the tests and the harness: a photograph's filter with everything in it, and one a status. */
import { CompileReport, EquationRow, parseReport, SourceSpan, Stage } from '../src/report';

const SOURCE = `gray = photo @ np.array([0.2126, 0.7152, 0.0722])
blur = (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]) / 8
edges = np.sqrt((blur[1:, :-1] - blur[:-1, :-1])**2 + (blur[:-1, 1:] - blur[:-1, :-1])**2)
tone = 1 / (1 + np.exp(-8 * (edges / edges.max() - 0.3)))
tone
`;
const LINES = SOURCE.split('\n');

const GRAY = 'f64[427,640]';
const BLUR = 'f64[425,638]';
const EDGES = 'f64[424,637]';

function bytesOf(aval: string): number {
  const sizes = /\[(.*)\]/.exec(aval)?.[1] ?? '';
  const itemsize = Number(/\d+/.exec(aval)?.[0] ?? 64) / 8;
  return sizes
    .split(',')
    .filter(size => size !== '')
    .reduce((n, size) => n * Number(size), itemsize);
}

function spanOf(line: number, part: string, nth = 0): SourceSpan {
  const text = LINES[line - 1] ?? '';
  let col = -1;
  for (let i = 0; i <= nth; i++) {
    col = text.indexOf(part, col + 1);
  }
  if (col < 0) {
    throw new Error(`line ${line} has no ${part}`);
  }
  return { line, col, end_line: line, end_col: col + part.length };
}

type Spec = readonly [
  id: string,
  aval: string,
  computation: string,
  op: string,
  line: number,
  part: string,
  nth?: number
];

const B = '(gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1])';
const E1 = '(blur[1:, :-1] - blur[:-1, :-1])';
const E2 = '(blur[:-1, 1:] - blur[:-1, :-1])';
const T = '(edges / edges.max() - 0.3)';

const TRACED: readonly Spec[] = [
  [
    'e0',
    GRAY,
    'dot_general[\n      dimension_numbers=(([2], [0]), ([], []))\n      preferred_element_type=float64\n    ] a b',
    'matmul',
    1,
    'photo @ np.array([0.2126, 0.7152, 0.0722])'
  ],
  [
    'e1',
    BLUR,
    'slice[limit_indices=(425, 639) start_indices=(0, 1) strides=None] $e0',
    'getitem',
    2,
    'gray[:-2, 1:-1]'
  ],
  [
    'e2',
    BLUR,
    'slice[limit_indices=(427, 639) start_indices=(2, 1) strides=None] $e0',
    'getitem',
    2,
    'gray[2:, 1:-1]'
  ],
  ['e3', BLUR, 'add $e1 $e2', 'add', 2, 'gray[:-2, 1:-1] + gray[2:, 1:-1]'],
  [
    'e4',
    BLUR,
    'slice[limit_indices=(426, 638) start_indices=(1, 0) strides=None] $e0',
    'getitem',
    2,
    'gray[1:-1, :-2]'
  ],
  ['e5', BLUR, 'add $e3 $e4', 'add', 2, B.slice(1, B.indexOf(' + gray[1:-1, 2:]'))],
  [
    'e6',
    BLUR,
    'slice[limit_indices=(426, 640) start_indices=(1, 2) strides=None] $e0',
    'getitem',
    2,
    'gray[1:-1, 2:]'
  ],
  ['e7', BLUR, 'add $e5 $e6', 'add', 2, B.slice(1, B.indexOf(' + 4 *'))],
  [
    'e8',
    BLUR,
    'slice[limit_indices=(426, 639) start_indices=(1, 1) strides=None] $e0',
    'getitem',
    2,
    'gray[1:-1, 1:-1]'
  ],
  ['e9', BLUR, 'mul 4.0:f64[] $e8', 'multiply', 2, '4 * gray[1:-1, 1:-1]'],
  ['e10', BLUR, 'add $e7 $e9', 'add', 2, B.slice(1, -1)],
  ['e11', BLUR, 'div $e10 8.0:f64[]', 'true_divide', 2, `${B} / 8`],
  [
    'e12',
    EDGES,
    'slice[limit_indices=(425, 637) start_indices=(1, 0) strides=None] $e11',
    'getitem',
    3,
    'blur[1:, :-1]'
  ],
  [
    'e13',
    EDGES,
    'slice[limit_indices=(424, 637) start_indices=(0, 0) strides=None] $e11',
    'getitem',
    3,
    'blur[:-1, :-1]'
  ],
  ['e14', EDGES, 'sub $e12 $e13', 'subtract', 3, E1.slice(1, -1)],
  ['e15', EDGES, 'integer_pow[y=2] $e14', 'power', 3, `${E1}**2`],
  [
    'e16',
    EDGES,
    'slice[limit_indices=(424, 638) start_indices=(0, 1) strides=None] $e11',
    'getitem',
    3,
    'blur[:-1, 1:]'
  ],
  [
    'e17',
    EDGES,
    'slice[limit_indices=(424, 637) start_indices=(0, 0) strides=None] $e11',
    'getitem',
    3,
    'blur[:-1, :-1]',
    1
  ],
  ['e18', EDGES, 'sub $e16 $e17', 'subtract', 3, E2.slice(1, -1)],
  ['e19', EDGES, 'integer_pow[y=2] $e18', 'power', 3, `${E2}**2`],
  ['e20', EDGES, 'add $e15 $e19', 'add', 3, `${E1}**2 + ${E2}**2`],
  ['e21', EDGES, 'sqrt $e20', 'sqrt', 3, `np.sqrt(${E1}**2 + ${E2}**2)`],
  ['e22', 'f64[]', 'reduce_max[axes=(0, 1)] $e21', 'max', 4, 'edges.max()'],
  ['e23', EDGES, 'div $e21 $e22', 'true_divide', 4, 'edges / edges.max()'],
  ['e24', EDGES, 'sub $e23 0.3:f64[]', 'subtract', 4, T.slice(1, -1)],
  ['e25', EDGES, 'mul -8.0:f64[] $e24', 'multiply', 4, `-8 * ${T}`],
  ['e26', EDGES, 'exp $e25', 'exp', 4, `np.exp(-8 * ${T})`],
  ['e27', EDGES, 'add 1.0:f64[] $e26', 'add', 4, `1 + np.exp(-8 * ${T})`],
  ['e28', EDGES, 'div 1.0:f64[] $e27', 'true_divide', 4, `1 / (1 + np.exp(-8 * ${T}))`]
];

const STEPS: Readonly<Record<string, readonly string[]>> = {
  L0: ['e0'],
  K0: ['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8', 'e9', 'e10', 'e11'],
  K1: ['e12', 'e13', 'e14', 'e15', 'e16', 'e18', 'e19', 'e20', 'e21', 'e22'],
  K2: ['e23', 'e24', 'e25', 'e26', 'e27', 'e28']
};
const STORED: ReadonlySet<string> = new Set(['e0', 'e11', 'e21', 'e22', 'e28']);

function letters(index: number): string {
  const letter = String.fromCharCode(97 + (index % 26));
  return index < 26 ? letter : letters(Math.floor(index / 26) - 1) + letter;
}

function stage(name: string, specs: readonly Spec[], changes: Partial<Stage>, last: boolean): Stage {
  const names = new Map<string, string>();
  const lines = ['{ lambda ; a:f64[427,640,3] b:f64[3]. let'];
  const equations = specs.map(([id, aval, computation, op, line, part, nth], index): EquationRow => {
    const name = letters(index + 2);
    const text_line = lines.length + 1;
    const text = `${name}:${aval} = ${computation.replace(/\$(e\d+)/g, (_, e: string) => names.get(e) ?? e)}`;
    names.set(id, name);
    lines.push(...`    ${text}`.split('\n'));
    const step = last ? (Object.keys(STEPS).find(key => STEPS[key]?.includes(id)) ?? '') : '';
    return {
      id,
      text,
      text_line,
      primitive: /^\w+/.exec(computation)?.[0] ?? '',
      op,
      outputs: [{ name, aval, bytes: bytesOf(aval) }],
      // e13 stands for e17 too, once they are one.
      spans: id === 'e13' && last ? [spanOf(line, part), spanOf(line, part, 1)] : [spanOf(line, part, nth)],
      step,
      in_memory: !last || STORED.has(id)
    };
  });
  const outputs = ['e0', 'e11', 'e21', 'e28'].map(id => names.get(id)).join(', ');
  lines.push(`  in (${outputs}) }`);
  return { name, text: lines.join('\n'), equations, added: 0, removed: 0, time_ms: 0.2, ...changes };
}

function value(name: string, aval: string): { name: string; aval: string; bytes: number } {
  return { name, aval, bytes: bytesOf(aval) };
}

const KERNEL_SOURCE = `import numba as nb
from math import sqrt


@nb.njit(nogil=True, error_model="numpy")
def sqrt_max_5e01(start, stop, blur, edges, part, n1):
    best = -math.inf
    for i in range(start, stop):
        for j in range(n1):
            here = blur[i, j]
            down = blur[i + 1, j] - here
            right = blur[i, j + 1] - here
            edge = sqrt(down * down + right * right)
            edges[i, j] = edge
            best = edge if edge > best or edge != edge else best
    part[start // 64] = best
`;

const LLVM_HEAD = `; ModuleID = 'sqrt_max_5e01'
target triple = "x86_64-unknown-linux-gnu"

define i32 @sqrt_max_5e01(ptr noalias nocapture %retptr, i64 %start, i64 %stop) {
entry:
  %cmp = icmp slt i64 %start, %stop
  br i1 %cmp, label %loop, label %exit
loop:
  %x = load double, ptr %p, align 8
  %y = fmul double %x, %x ; down * down
  %z = call double @llvm.sqrt.f64(double %y)
  store double %z, ptr %q, align 8
  br label %loop
`;

const ASM_HEAD = `	.text
	.globl	sqrt_max_5e01
sqrt_max_5e01:
	pushq	%rbp
.LBB0_4:
	vmovupd	(%rax,%rcx,8), %ymm0    # four numbers at once
	vsubpd	8(%rax,%rcx,8), %ymm0, %ymm1
	vmulpd	%ymm1, %ymm1, %ymm1
	vsqrtpd	%ymm1, %ymm1
	addq	$4, %rcx
	jne	.LBB0_4
`;

function spread(median: number, width: number, n: number): number[] {
  return Array.from({ length: n }, (_, i) => median * (1 + width * (((i * 37) % 17) / 17 - 0.35)));
}

export function photoReport(): CompileReport {
  const kernel = {
    target: 'cpu',
    n_elements: 270_088,
    flops: 1_890_616,
    threads: 2,
    bound: 'memory',
    compile_ms: 96,
    cached: false,
    launch: '',
    line_equations: [] as string[][],
    source: '@nb.njit(nogil=True)\ndef kernel(start, stop, gray, blur, n1):\n    pass\n',
    llvm: null,
    asm: null
  };
  const none: string[] = [];
  const lines: string[][] = [
    ...Array<string[]>(8).fill(none),
    none,
    ['e13'],
    ['e12', 'e14'],
    ['e16', 'e18'],
    ['e15', 'e19', 'e20', 'e21'],
    ['e21'],
    ['e22'],
    ['e22']
  ];
  const beforeCse = TRACED;
  const afterCse = TRACED.filter(([id]) => id !== 'e17').map((spec): Spec =>
    spec[0] === 'e18' ? [spec[0], spec[1], 'sub $e16 $e13', spec[3], spec[4], spec[5]] : spec
  );
  const report: CompileReport = {
    status: 'compiled',
    cell: { label: 'In[7]', source: SOURCE, filename: '<ipython-input-7>' },
    summary: {
      n_kernels: 3,
      n_ops: 28,
      n_library_calls: 1,
      n_numpy_steps: 0,
      n_loops: 0,
      n_branches: 0,
      n_boundaries: 3,
      time_ms: 1.93,
      numpy_ms: 12.4,
      speedup: 6.42,
      bytes_saved: 52_400_000,
      compile_ms: 412,
      pays_off_after: 40
    },
    machine: {
      device: 'cpu',
      description: 'AMD EPYC 7B13',
      threads: 2,
      copy_gb_per_s: 11.2,
      peak_gflops: 74,
      cache_gb_per_s: 180,
      cache_bytes: 33554432,
      versions: { workbench: '0.1.0', numpy: '2.4.0', numba: '0.68.0' }
    },
    stages: [
      stage('trace', beforeCse, { time_ms: 3.1 }, false),
      stage('simplify algebra', beforeCse, { time_ms: 0.4 }, false),
      stage('merge equal equations', afterCse, { removed: 1, time_ms: 0.3 }, false),
      stage('drop dead equations', afterCse, { time_ms: 0.1 }, false),
      stage('form clusters', afterCse, { time_ms: 0.9 }, true)
    ],
    graph: photoGraph(),
    decisions: [
      {
        merged: true,
        producer: 'e1',
        consumer: 'e3',
        value: value('', BLUR),
        code: 'WB300',
        reason: 'a slice is read in place',
        bytes_saved: 4_338_400
      },
      {
        merged: true,
        producer: 'e20',
        consumer: 'e21',
        value: value('', EDGES),
        code: 'WB300',
        reason: 'one loop over the same elements',
        bytes_saved: 4_321_408
      },
      {
        merged: false,
        producer: 'e0',
        consumer: 'e1',
        value: value('gray', GRAY),
        code: 'WB310',
        reason: 'a library call (matmul) is never fused',
        bytes_saved: 2_186_240
      },
      {
        merged: false,
        producer: 'e22',
        consumer: 'e23',
        value: value('', 'f64[]'),
        code: 'WB304',
        reason: 'every element of `edges / edges.max()` needs the maximum over all rows first',
        bytes_saved: 2_160_704
      },
      {
        merged: false,
        producer: 'e11',
        consumer: 'e12',
        value: value('blur', BLUR),
        code: 'WB307',
        reason: '`blur` is read at three shifted places: computing it again would cost more than reading it',
        bytes_saved: 2_169_200
      }
    ],
    kernels: [
      {
        ...kernel,
        id: 'K0',
        name: 'add_mul_div_a3c2',
        inputs: [value('gray', GRAY)],
        outputs: [value('blur', BLUR)],
        bytes_moved: 4_355_440,
        runs_ms: spread(0.52, 0.2, 20),
        median_ms: 0.52,
        iqr_ms: 0.04,
        share: 0.28,
        roof_share: 0.77
      },
      {
        ...kernel,
        id: 'K1',
        name: 'sqrt_max_5e01',
        source: KERNEL_SOURCE,
        line_equations: lines,
        inputs: [value('blur', BLUR)],
        outputs: [value('edges', EDGES), value('', 'f64[]')],
        bytes_moved: 4_329_912,
        runs_ms: spread(0.61, 0.2, 20),
        median_ms: 0.61,
        iqr_ms: 0.05,
        share: 0.33,
        roof_share: 1.12,
        llvm: { head: LLVM_HEAD, n_lines: 812, sha256: '00', complete: false },
        asm: { head: ASM_HEAD, n_lines: 11, sha256: '00', complete: true }
      },
      {
        ...kernel,
        id: 'K2',
        name: 'exp_div_sub_91fe',
        inputs: [value('edges', EDGES), value('', 'f64[]')],
        outputs: [value('tone', EDGES)],
        bytes_moved: 4_321_416,
        runs_ms: [],
        median_ms: 0.49,
        iqr_ms: null,
        share: 0.26,
        roof_share: 0.42,
        bound: 'compute',
        cached: true
      }
    ],
    timings: {
      runs_ms: spread(1.93, 0.25, 30),
      numpy_ms: spread(12.4, 0.12, 12),
      phases: [
        { name: 'trace', time_ms: 3.1 },
        { name: 'simplify algebra', time_ms: 0.4 },
        { name: 'merge equal equations', time_ms: 0.3 },
        { name: 'drop dead equations', time_ms: 0.1 },
        { name: 'form clusters', time_ms: 0.9 },
        { name: 'generate kernels', time_ms: 2.2 },
        { name: 'numba', time_ms: 405 }
      ],
      timeline: [
        { step: 'L0', name: 'matmul', start_ms: 0.01, time_ms: 0.24, lane: 'main' },
        { step: 'K0', name: 'add_mul_div_a3c2', start_ms: 0.27, time_ms: 0.52, lane: 'thread 1' },
        { step: 'K0', name: 'add_mul_div_a3c2', start_ms: 0.27, time_ms: 0.5, lane: 'thread 2' },
        { step: 'K1', name: 'sqrt_max_5e01', start_ms: 0.81, time_ms: 0.61, lane: 'thread 1' },
        { step: 'K1', name: 'sqrt_max_5e01', start_ms: 0.81, time_ms: 0.58, lane: 'thread 2' },
        { step: 'K2', name: 'exp_div_sub_91fe', start_ms: 1.43, time_ms: 0.49, lane: 'thread 1' },
        { step: 'K2', name: 'exp_div_sub_91fe', start_ms: 1.43, time_ms: 0.48, lane: 'thread 2' }
      ]
    },
    fallbacks: [],
    crossings: [],
    kept: [
      { name: 'gray', ...avalOf(GRAY), cost_ms: null },
      { name: 'blur', ...avalOf(BLUR), cost_ms: 0.2 },
      { name: 'edges', ...avalOf(EDGES), cost_ms: 0.2 },
      { name: 'tone', ...avalOf(EDGES), cost_ms: 0.2 }
    ],
    verification: {
      ok: true,
      max_ulp: 2,
      runs_ago: 0,
      results: [
        { name: 'gray', max_ulp: 0, ok: true },
        { name: 'blur', max_ulp: 0, ok: true },
        { name: 'edges', max_ulp: 1, ok: true },
        { name: 'tone', max_ulp: 2, ok: true }
      ]
    },
    changed: '',
    reason: '',
    id: 'r1',
    created: '2026-11-21T12:00:00Z',
    schema: 'workbench.report/1'
  };
  return checked(report);
}

function avalOf(aval: string): { aval: string; bytes: number } {
  return { aval, bytes: bytesOf(aval) };
}

function photoGraph(): CompileReport['graph'] {
  const node = (
    id: string,
    kind: string,
    title: string,
    x: number,
    y: number,
    w: number,
    h: number,
    rest: object = {}
  ): CompileReport['graph']['nodes'][number] => ({
    id,
    kind,
    title,
    x,
    y,
    w,
    h,
    equations: [],
    inputs: [],
    outputs: [],
    scope: '',
    reason: '',
    spans: [],
    ...rest
  });
  const edge = (
    source: string,
    target: string,
    name: string,
    aval: string,
    points: number[][],
    code = '',
    refused = ''
  ): CompileReport['graph']['edges'][number] => ({
    source,
    target,
    value: value(name, aval),
    points,
    label: [],
    code,
    refused
  });
  const library = 'a library call (matmul) is never fused';
  return {
    width: 620,
    height: 640,
    nodes: [
      node('in:photo', 'input', 'photo', 200, 20, 110, 30, { outputs: [value('photo', 'f64[427,640,3]')] }),
      node('L0', 'library', 'matmul', 200, 110, 150, 44, {
        equations: STEPS.L0,
        inputs: [value('photo', 'f64[427,640,3]')],
        outputs: [value('gray', GRAY)]
      }),
      node('K0', 'kernel', 'add_mul_div_a3c2', 200, 220, 180, 48, {
        equations: STEPS.K0,
        inputs: [value('gray', GRAY)],
        outputs: [value('blur', BLUR)]
      }),
      node('K1', 'kernel', 'sqrt_max_5e01', 240, 340, 180, 48, {
        equations: STEPS.K1,
        inputs: [value('blur', BLUR)],
        outputs: [value('edges', EDGES), value('', 'f64[]')]
      }),
      node('K2', 'kernel', 'exp_div_sub_91fe', 240, 470, 180, 48, {
        equations: STEPS.K2,
        inputs: [value('edges', EDGES), value('', 'f64[]')],
        outputs: [value('tone', EDGES)]
      }),
      node('out:gray', 'output', 'gray', 440, 220, 100, 30, { inputs: [value('gray', GRAY)] }),
      node('out:blur', 'output', 'blur', 440, 340, 100, 30, { inputs: [value('blur', BLUR)] }),
      node('out:edges', 'output', 'edges', 480, 470, 100, 30, { inputs: [value('edges', EDGES)] }),
      node('out:tone', 'output', 'tone', 240, 590, 100, 30, { inputs: [value('tone', EDGES)] })
    ],
    edges: [
      edge('in:photo', 'L0', 'photo', 'f64[427,640,3]', [
        [200, 35],
        [200, 88]
      ]),
      edge(
        'L0',
        'K0',
        'gray',
        GRAY,
        [
          [200, 132],
          [200, 196]
        ],
        'WB310',
        library
      ),
      edge('L0', 'out:gray', 'gray', GRAY, [
        [240, 132],
        [440, 180],
        [440, 205]
      ]),
      edge(
        'K0',
        'K1',
        'blur',
        BLUR,
        [
          [200, 244],
          [240, 290],
          [240, 316]
        ],
        'WB307',
        '`blur` is read at three shifted places'
      ),
      edge('K0', 'out:blur', 'blur', BLUR, [
        [250, 244],
        [440, 290],
        [440, 325]
      ]),
      edge(
        'K1',
        'K2',
        '',
        'f64[]',
        [
          [240, 364],
          [240, 446]
        ],
        'WB304',
        'every element needs the maximum over all rows first'
      ),
      edge('K1', 'out:edges', 'edges', EDGES, [
        [300, 364],
        [480, 420],
        [480, 455]
      ]),
      edge('K2', 'out:tone', 'tone', EDGES, [
        [240, 494],
        [240, 575]
      ])
    ]
  };
}

/** What ran in NumPy, and why. */
export function fallbackReport(): CompileReport {
  const report = photoReport();
  const source = 'err = np.abs(r).max()\nif err > tol:\n    x = x + <img src=x onerror=alert(1)>\n';
  return checked({
    ...report,
    status: 'numpy',
    cell: { label: 'In[8]', source, filename: '' },
    summary: {
      ...report.summary,
      n_kernels: 0,
      n_ops: 0,
      n_library_calls: 0,
      n_boundaries: 0,
      time_ms: null,
      speedup: null,
      bytes_saved: 0,
      compile_ms: 0,
      pays_off_after: null
    },
    stages: [],
    graph: { nodes: [], edges: [], width: 0, height: 0 },
    decisions: [],
    kernels: [],
    timings: { runs_ms: [], numpy_ms: [], phases: [], timeline: [] },
    kept: [],
    crossings: [],
    verification: null,
    reason: 'WB101 Line 2 must choose a branch, but `err` is only known when the kernel runs.',
    fallbacks: [
      {
        span: { line: 2, col: 3, end_line: 2, end_col: 12 },
        op: 'bool',
        code: 'WB101',
        why: 'A branch needs the value of `err > tol` while the cell is traced.',
        fix: 'x = np.where(err > tol, x_new, x)',
        cost_ms: 3.4
      }
    ]
  });
}

/** A report as other statuses have it. */
export function withStatus(status: string): CompileReport {
  return checked({
    ...photoReport(),
    status,
    changed: status === 'recompiled' ? 'photo f64[427,640,3] → f32[427,640,3]' : ''
  });
}

function checked(report: CompileReport): CompileReport {
  const parsed = parseReport(JSON.parse(JSON.stringify(report)));
  if (parsed.kind !== 'ok') {
    throw new Error(parsed.kind === 'invalid' ? parsed.problem : parsed.kind);
  }
  return parsed.report;
}
