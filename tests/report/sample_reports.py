"""Sample reports, drawn by hand with plausible numbers: for the tests here and for those of the front end.

`python -m tests.report.sample_reports DIR` writes each as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from tests.report.sketches import Sketch, kernel, machine, n_bytes, spread, value
from workbench.report.schema import (
    Cell,
    CompileReport,
    DecisionRow,
    Fallback,
    SourceSpan,
    Summary,
    Timings,
    Verification,
)

CSE = "share common subexpressions"
LLVM = """; ModuleID = '<string>'
source_filename = "<string>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define i32 @_ZN8sqrt_max_5e01Exx5ArrayIdLi2E1C7mutable7alignedE(ptr noalias nocapture writeonly %retptr, i64 %start) {
entry:
  %.7 = icmp slt i64 %start, %stop
  br i1 %.7, label %B10, label %B80
B10:
  %.45 = getelementptr double, ptr %arg.blur.4, i64 %.31
  %.46 = load <4 x double>, ptr %.45, align 8
  %.52 = fsub <4 x double> %.46, %.48
  %.53 = fmul <4 x double> %.52, %.52
  %.60 = call <4 x double> @llvm.sqrt.v4f64(<4 x double> %.58)
  store <4 x double> %.60, ptr %.71, align 8
"""
ASM = """\t.text
\t.file\t"<string>"
\t.globl\tsqrt_max_5e01
\t.type\tsqrt_max_5e01,@function
sqrt_max_5e01:
\tpushq\t%rbp
\tmovq\t%rsp, %rbp
.LBB0_4:
\tvmovupd\t(%rax,%rcx,8), %ymm0
\tvsubpd\t8(%rax,%rcx,8), %ymm0, %ymm1
\tvmulpd\t%ymm1, %ymm1, %ymm1
\tvfmadd231pd\t%ymm2, %ymm2, %ymm1
\tvsqrtpd\t%ymm1, %ymm1
\tvmovupd\t%ymm1, (%rdx,%rcx,8)
\taddq\t$4, %rcx
\tjne\t.LBB0_4
"""

EDGES = """%%jit
gray = photo @ np.array([0.2126, 0.7152, 0.0722])
blur = (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]) / 8
edges = np.sqrt((blur[1:, :-1] - blur[:-1, :-1])**2 + (blur[:-1, 1:] - blur[:-1, :-1])**2)
tone = 1 / (1 + np.exp(-8 * (edges / edges.max() - 0.3)))
tone
"""
BLUR_KERNEL = """import numpy as np


def add_mul_div_a3c2(start, stop, gray, blur, n1):
    for i in range(start, stop):
        for j in range(n1):
            t = gray[i, j + 1] + gray[i + 2, j + 1]
            t = t + gray[i + 1, j]
            t = t + gray[i + 1, j + 2]
            t = t + 4.0 * gray[i + 1, j + 1]
            blur[i, j] = t / 8.0
"""
EDGES_KERNEL = """import numpy as np


def sub_sqrt_max_5e01(start, stop, blur, edges, parts, n1, grain):
    best = -np.inf
    for i in range(start, stop):
        for j in range(n1):
            here = blur[i, j]
            down = blur[i + 1, j] - here
            right = blur[i, j + 1] - here
            edge = np.sqrt(down * down + right * right)
            edges[i, j] = edge
            best = edge if edge > best or edge != edge else best
    parts[start // grain] = best
"""
TONE_KERNEL = """import numpy as np


def div_exp_div_91fe(start, stop, edges, top, tone, n1):
    top_0 = top[()]
    for i in range(start, stop):
        for j in range(n1):
            x = edges[i, j] / top_0 - 0.3
            tone[i, j] = 1.0 / (1.0 + exp_f64(-8.0 * x))
"""


def edge_detection() -> CompileReport:
    """The edges of a photograph: a library call, three kernels, three boundaries, each with its reason."""
    s = Sketch("In[7]", EDGES, {"photo": "f64[427,640,3]", "weights": "f64[3]"})
    g, b, e = "f64[427,640]", "f64[425,638]", "f64[424,637]"
    near = "gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]"
    s.eqn(
        "gray", g,
        "dot_general[dimension_numbers=(([2], [0]), ([], [])) preferred_element_type=float64] {photo} {weights}",
        "matmul", 2, "photo @ np.array([0.2126, 0.7152, 0.0722])", step="L0", name="gray",
    )  # fmt: skip

    def part(var: str, aval: str, source: str, of: str, start: str, limit: str, line: int, step: str, **more) -> None:
        text = f"slice[limit_indices={limit} start_indices={start} strides=None] {{{of}}}"
        s.eqn(var, aval, text, "getitem", line, source, step=step, **more)

    part("up", b, "gray[:-2, 1:-1]", "gray", "(0, 1)", "(425, 639)", 3, "K0")
    part("down", b, "gray[2:, 1:-1]", "gray", "(2, 1)", "(427, 639)", 3, "K0")
    s.eqn("s1", b, "add {up} {down}", "add", 3, "gray[:-2, 1:-1] + gray[2:, 1:-1]")
    part("left", b, "gray[1:-1, :-2]", "gray", "(1, 0)", "(426, 638)", 3, "K0")
    s.eqn("s2", b, "add {s1} {left}", "add", 3, near[: near.index(" + gray[1:-1, 2:]")])
    part("right", b, "gray[1:-1, 2:]", "gray", "(1, 2)", "(426, 640)", 3, "K0")
    s.eqn("s3", b, "add {s2} {right}", "add", 3, near[: near.index(" + 4 *")])
    part("mid", b, "gray[1:-1, 1:-1]", "gray", "(1, 1)", "(426, 639)", 3, "K0")
    s.eqn("m4", b, "mul 4.0:f64[] {mid}", "multiply", 3, "4 * gray[1:-1, 1:-1]")
    s.eqn("s4", b, "add {s3} {m4}", "add", 3, near)
    s.eqn("blur", b, "div {s4} 8.0:f64[]", "true_divide", 3, f"({near}) / 8", name="blur")
    part("below", e, "blur[1:, :-1]", "blur", "(1, 0)", "(425, 637)", 4, "K1")
    part("here", e, "blur[:-1, :-1]", "blur", "(0, 0)", "(424, 637)", 4, "K1")
    first, second = "(blur[1:, :-1] - blur[:-1, :-1])", "(blur[:-1, 1:] - blur[:-1, :-1])"
    s.eqn("dy", e, "sub {below} {here}", "subtract", 4, first[1:-1], step="K1")
    s.eqn("dy2", e, "integer_pow[y=2] {dy}", "power", 4, f"{first}**2", step="K1")
    part("beside", e, "blur[:-1, 1:]", "blur", "(0, 1)", "(424, 638)", 4, "K1")
    part("again", e, "blur[:-1, :-1]", "blur", "(0, 0)", "(424, 637)", 4, "K1", nth=1, until=CSE)
    s.eqn("dx", e, "sub {beside} {again}", "subtract", 4, second[1:-1], step="K1", later=(CSE, "sub {beside} {here}"))
    s.lines[13].spans.append(s.span(4, "blur[:-1, :-1]", 1))
    s.eqn("dx2", e, "integer_pow[y=2] {dx}", "power", 4, f"{second}**2", step="K1")
    s.eqn("sum", e, "add {dy2} {dx2}", "add", 4, f"{first}**2 + {second}**2", step="K1")
    s.eqn("edges", e, "sqrt {sum}", "sqrt", 4, f"np.sqrt({first}**2 + {second}**2)", step="K1", name="edges")
    s.eqn("top", "f64[]", "reduce_max[axes=(0, 1)] {edges}", "max", 5, "edges.max()", step="K1", memory=True)
    t = "(edges / edges.max() - 0.3)"
    s.eqn("rel", e, "div {edges} {top}", "true_divide", 5, "edges / edges.max()", step="K2")
    s.eqn("off", e, "sub {rel} 0.3:f64[]", "subtract", 5, t[1:-1], step="K2")
    s.eqn("arg", e, "mul -8.0:f64[] {off}", "multiply", 5, f"-8 * {t}", step="K2")
    s.eqn("ex", e, "exp {arg}", "exp", 5, f"np.exp(-8 * {t})", step="K2")
    s.eqn("one", e, "add 1.0:f64[] {ex}", "add", 5, f"1 + np.exp(-8 * {t})", step="K2")
    s.eqn("tone", e, "div 1.0:f64[] {one}", "true_divide", 5, f"1 / (1 + np.exp(-8 * {t}))", step="K2", name="tone")
    kernels = [
        kernel("K0", "add_mul_div_a3c2", BLUR_KERNEL, n_elements=271_150, flops=1_626_900, median_ms=0.52,
               roof_share=0.75, line_equations=[[]] * 6 + [["e1", "e2", "e3"], ["e4", "e5"], ["e6", "e7"],
                                                          ["e8", "e9", "e10"], ["e11"]]),
        kernel("K1", "sub_sqrt_max_5e01", EDGES_KERNEL, n_elements=270_088, flops=1_890_616, median_ms=0.61,
               roof_share=0.63, line_equations=[[]] * 7 + [["e13"], ["e12", "e14"], ["e16", "e18"],
                                                          ["e15", "e19", "e20", "e21"], ["e21"], ["e22"], ["e22"]],
               llvm=LLVM, asm=ASM),
        kernel("K2", "div_exp_div_91fe", TONE_KERNEL, n_elements=270_088, flops=6_752_200, median_ms=0.49,
               roof_share=0.42, bound="compute", cached=True, compile_ms=0.0,
               line_equations=[[]] * 6 + [["e23", "e24"], ["e25", "e26", "e27", "e28"]]),
    ]  # fmt: skip
    library, total = ("WB320", "a library routine runs between kernels"), (
        "WB313", "the reader needs the finished total before it can start")  # fmt: skip
    shifted = ("WB311", "the reader needs it at a shifted or permuted position, and it must be in memory anyway")
    decisions = [
        DecisionRow(False, "e0", "e1", value("gray", g), *library, n_bytes(g)),
        DecisionRow(True, "e3", "e5", value("", b), "WB300", "fused: the value stays in registers", 2 * n_bytes(b)),
        DecisionRow(True, "e5", "e7", value("", b), "WB300", "fused: the value stays in registers", 2 * n_bytes(b)),
        DecisionRow(False, "e11", "e12", value("blur", b), *shifted, n_bytes(b)),
        DecisionRow(True, "e20", "e21", value("", e), "WB300", "fused: the value stays in registers", 2 * n_bytes(e)),
        DecisionRow(False, "e22", "e23", value("", "f64[]"), *total, n_bytes(e)),
    ]
    report = s.report(
        "compiled", kernels=kernels, titles={"L0": "matmul", "K0": "add_mul_div", "K1": "sub_sqrt_max",
                                             "K2": "div_exp_div"},
        time_ms=1.93, numpy_ms=12.4, compile_ms=412.0, bytes_saved=52_400_000, decisions=decisions,
        refused={("L0", "K0"): library, ("K0", "K1"): shifted, ("K1", "K2"): total},
    )  # fmt: skip
    for kept, cost in zip(report.kept, (None, 0.21, 0.2, None), strict=True):
        kept.cost_ms = cost
    ulps = {"gray": 0.0, "blur": 0.0, "edges": 1.0, "tone": 2.0}
    report.verification = Verification(True, 2.0, [{"name": k, "max_ulp": v, "ok": True} for k, v in ulps.items()])
    return report


SOFTMAX = """%%jit
z = x - x.max(axis=1, keepdims=True)
e = np.exp(z)
p = e / e.sum(axis=1, keepdims=True)
"""
SOFTMAX_KERNEL = """import numpy as np


def max_exp_sum_div_77d0(start, stop, x, p, n1):
    for i in range(start, stop):
        m = -np.inf
        for j in range(n1):
            m = x[i, j] if x[i, j] > m or x[i, j] != x[i, j] else m
        s = 0.0
        for j in range(n1):
            s += exp_f32(x[i, j] - m)
        for j in range(n1):
            p[i, j] = exp_f32(x[i, j] - m) / s
"""


def softmax() -> CompileReport:
    """Row-wise reductions in one kernel, found in the cache after a change of type; not compared with NumPy."""
    s = Sketch("In[12]", SOFTMAX, {"x": "f32[4096,512]"})
    full, row, column = "f32[4096,512]", "f32[4096]", "f32[4096,1]"
    peak, total = "x.max(axis=1, keepdims=True)", "e.sum(axis=1, keepdims=True)"
    s.eqn("m", row, "reduce_max[axes=(1,)] {x}", "max", 2, peak)
    s.eqn("m1", column, "broadcast_in_dim[broadcast_dimensions=(0,) shape=(4096, 1)] {m}", "max", 2, peak)
    s.eqn("mb", full, "broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(4096, 512)] {m1}", "subtract", 2,
          f"x - {peak}")  # fmt: skip
    s.eqn("z", full, "sub {x} {mb}", "subtract", 2, f"x - {peak}")
    s.eqn("e", full, "exp {z}", "exp", 3, "np.exp(z)")
    s.eqn("t", row, "reduce_sum[axes=(1,)] {e}", "sum", 4, total)
    s.eqn("t1", column, "broadcast_in_dim[broadcast_dimensions=(0,) shape=(4096, 1)] {t}", "sum", 4, total)
    s.eqn("tb", full, "broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(4096, 512)] {t1}", "true_divide", 4,
          f"e / {total}")  # fmt: skip
    s.eqn("p", full, "div {e} {tb}", "true_divide", 4, f"e / {total}", name="p")
    lines = [[]] * 5 + [["e0"], ["e0"], ["e0"], ["e5"], ["e5"], ["e3", "e4", "e5"], ["e8"],
                        ["e1", "e2", "e3", "e4", "e6", "e7", "e8"]]  # fmt: skip
    row_kernel = kernel(
        "K0", "max_exp_sum_div_77d0", SOFTMAX_KERNEL, n_elements=2_097_152, flops=46_137_344, median_ms=3.4,
        roof_share=1.12, line_equations=lines, compile_ms=0.0, cached=True,
    )  # fmt: skip
    why = "fused: the value stays in registers"
    report = s.report(
        "recompiled", kernels=[row_kernel], titles={"K0": "max_exp_sum_div"}, time_ms=3.42, numpy_ms=10.1,
        compile_ms=9.8, bytes_saved=n_bytes(full) * 6, number=2, decisions=[
            DecisionRow(True, "e0", "e3", value("", row), "WB300", why, 2 * n_bytes(row)),
            DecisionRow(True, "e3", "e4", value("z", full), "WB300", why, 2 * n_bytes(full)),
            DecisionRow(True, "e4", "e8", value("e", full), "WB301",
                        "fused: recomputed at each place that reads it, cheaper than a trip through memory",
                        2 * n_bytes(full)),
        ],
    )  # fmt: skip
    report.changed = "x f64[4096,512] → f32[4096,512]"
    return report


FALLBACK = """%%jit
r = b - A @ x
err = np.abs(r).max()
if err > tol:
    x = x + 0.1 * r
"""


def fallback() -> CompileReport:
    """A cell that ran in NumPy, and why."""
    span = SourceSpan(4, 3, 4, 12)
    why = "Line 4 must choose a branch, but `err` is only known when the kernel runs."
    return CompileReport(
        "numpy",
        Cell("In[8]", FALLBACK, "<ipython-input>"),
        Summary(n_kernels=0, n_ops=0, n_numpy_steps=1, time_ms=4.8, numpy_ms=4.8),
        machine("numpy"),
        timings=Timings(runs_ms=[4.8]),
        fallbacks=[
            Fallback(span, "err", "WB101", why, "both sides are array formulas:   x = np.where(err > tol, x + 0.1 * r, "
                     "x)\nkeep it a branch:                x = wb.lax.cond(err > tol, lambda: x + 0.1 * r, lambda: x)",
                     cost_ms=4.8)
        ],
        reason=why,
        id="sample-3",
        created="2026-03-14T09:26:53+00:00",
    )  # fmt: skip


def failed() -> CompileReport:
    """A kernel of ours did not compile: NumPy computed the result."""
    source = "%%jit\ny = np.tanh(x) * w\n"
    why = "BackendError: kernel tanh_mul_0c1d does not compile: a bug of ours, not of your code"
    return CompileReport(
        "failed",
        Cell("In[9]", source, "<ipython-input>"),
        Summary(n_kernels=0, n_ops=0, n_numpy_steps=1, time_ms=7.3, numpy_ms=7.3),
        machine("numpy"),
        fallbacks=[Fallback(None, "", "WB901", why, "please report it with the cell's source", 7.3)],
        reason=why,
        id="sample-4",
        created="2026-03-14T09:26:53+00:00",
    )


def empty() -> CompileReport:
    return CompileReport(
        "empty", Cell("In[3]", "%%jit\ntol = 1e-8\n", "<ipython-input>"), Summary(0, 0), machine(), id="sample-5",
        created="2026-03-14T09:26:53+00:00",
    )  # fmt: skip


def hostile() -> CompileReport:
    """Names, strings and reasons that try to be markup, in every place where text of the user's may stand."""
    evil = "<script>alert(1)</script>"
    quote = "\"'><img src=x onerror=alert(2)>&amp;\u202e"
    source = f"%%jit\ny = np.exp(x)  # {evil} {quote}\n"
    s = Sketch(f"In[{evil}]", source, {"x": "f64[1000,1000]"})
    s.eqn("y", "f64[1000,1000]", "exp {x}", f"exp{quote}", 2, "np.exp(x)", name=evil)
    row = kernel(
        "K0", f"exp_{evil}", f"# {evil}\ndef exp_(start, stop):\n    pass  # {quote}\n", n_elements=1_000_000,
        flops=2e7, median_ms=None, llvm=evil, asm=quote, roof_share=None,
    )  # fmt: skip
    report = s.report(
        "partly", kernels=[row], titles={"K0": f"exp {evil}"}, time_ms=8.1, numpy_ms=7.9, compile_ms=180.0,
        bytes_saved=0, number=6, decisions=[DecisionRow(False, "e0", "e0", value(evil, "f64[]"), "WB310", quote, 8)],
        refused={("in:x", "K0"): ("WB310", quote)},
    )  # fmt: skip
    report.fallbacks = [Fallback(s.span(2, "np.exp(x)"), evil, "WB120", quote, evil, None)]
    report.machine.description = f"CPU {evil}"
    report.reason = quote
    report.changed = evil
    report.verification = Verification(False, 3e9, [{"name": evil, "max_ulp": 3e9, "ok": False}])
    return report


LARGE_ROUNDS = 20
LARGE_BODY = (
    ("v{0} = u[1:-1, 1:-1] * {1}", "u"),
    ("w{0} = np.sin(v{0}) + v{0}.mean()", "v"),
    ("u = np.pad(w{0} / (1 + np.abs(w{0})), 1)", "w"),
)


def large(rounds: int = LARGE_ROUNDS) -> CompileReport:
    """A long cell: ten equations a round, so 200 of them with 20 rounds."""
    lines = ["%%jit"]
    for i in range(rounds):
        lines += [text.format(i, f"{1 + i / 8:g}") for text, _ in LARGE_BODY]
    s = Sketch("In[40]", "\n".join(lines) + "\n", {"u": "f64[514,514]"})
    full, inner = "f64[514,514]", "f64[512,512]"
    kernels, decisions = [], []
    why = ("WB313", "the reader needs the finished total before it can start")
    u, refused = "u", {}
    for i in range(rounds):
        factor = f"{1 + i / 8:g}"
        one, two, three = (3 * i + 2, 3 * i + 3, 3 * i + 4)
        a, b = f"K{2 * i}", f"K{2 * i + 1}"
        v, w = f"v{i}", f"w{i}"
        s.eqn(f"{v}s", inner, f"slice[limit_indices=(513, 513) start_indices=(1, 1) strides=None] {{{u}}}", "getitem",
              one, "u[1:-1, 1:-1]", step=a)  # fmt: skip
        s.eqn(v, inner, f"mul {{{v}s}} {float(factor)}:f64[]", "multiply", one, f"u[1:-1, 1:-1] * {factor}", step=a,
              name=v)  # fmt: skip
        s.eqn(f"{v}t", "f64[]", f"reduce_sum[axes=(0, 1)] {{{v}}}", "mean", two, f"{v}.mean()", step=a, memory=True)
        s.eqn(f"{v}m", "f64[]", f"div {{{v}t}} 262144.0:f64[]", "mean", two, f"{v}.mean()", step=b)
        s.eqn(f"{w}s", inner, f"sin {{{v}}}", "sin", two, f"np.sin({v})", step=b)
        s.eqn(w, inner, f"add {{{w}s}} {{{v}m}}", "add", two, f"np.sin({v}) + {v}.mean()", step=b, name=w)
        s.eqn(f"{w}a", inner, f"abs {{{w}}}", "absolute", three, f"np.abs({w})", step=b)
        s.eqn(f"{w}o", inner, f"add 1.0:f64[] {{{w}a}}", "add", three, f"1 + np.abs({w})", step=b)
        s.eqn(f"{w}d", inner, f"div {{{w}}} {{{w}o}}", "true_divide", three, f"{w} / (1 + np.abs({w}))", step=b)
        u = f"u{i}"
        s.eqn(u, full, f"pad[padding_config=((1, 1, 0), (1, 1, 0))] {{{w}d}} 0.0:f64[]", "pad", three,
              f"np.pad({w} / (1 + np.abs({w})), 1)", step=b, memory=True)  # fmt: skip
        first = 10 * i
        for step, ids in ((a, range(first, first + 3)), (b, range(first + 3, first + 10))):
            body = "\n".join(f"        t{n} = t{n - 1} * x[i, j]" for n in ids)
            opening = f"def step_{step}(start, stop, x, y, n1):\n    for i in range(start, stop):"
            text = f"import numpy as np\n\n\n{opening}\n{body}\n"
            at = [[]] * 5 + [[f"e{n}"] for n in ids]
            kernels.append(kernel(step, f"step_{step.lower()}_9a{i:02d}", text, n_elements=262_144, flops=4e6,
                                  median_ms=0.31, line_equations=at, roof_share=0.6, llvm=LLVM, asm=ASM))  # fmt: skip
        refused[a, b] = why
        decisions.append(DecisionRow(False, f"e{first + 2}", f"e{first + 3}", value("", "f64[]"), *why, 8))
        decisions += [
            DecisionRow(True, f"e{first + j}", f"e{first + j + 1}", value("", inner), "WB300",
                        "fused: the value stays in registers", 2 * n_bytes(inner))
            for j in (3, 4, 6, 7, 8)
        ]  # fmt: skip
    s.lines[-1].name = "u"
    s.outputs.append(u)
    titles = {k.id: "slice_mul_sum" if int(k.id[1:]) % 2 == 0 else "sin_add_div_pad" for k in kernels}
    return s.report(
        "compiled", kernels=kernels, titles=titles, time_ms=13.1, numpy_ms=61.0, compile_ms=4100.0,
        bytes_saved=5 * rounds * 2 * n_bytes(inner), decisions=decisions, refused=refused, number=7,
    )  # fmt: skip


def partly() -> CompileReport:
    """One operation ran in NumPy between two kernels, at a price; slower than NumPy at this size."""
    source = "%%jit\na = np.log1p(x * x)\nr = np.unwrap(a)\ny = np.cos(r) * w\n"
    s = Sketch("In[15]", source, {"x": "f64[2000]", "w": "f64[2000]"})
    v = "f64[2000]"
    s.eqn("q", v, "mul {x} {x}", "multiply", 2, "x * x")
    s.eqn("a", v, "log1p {q}", "log1p", 2, "np.log1p(x * x)", name="a")
    s.eqn("r", v, "numpy_call[kwargs=() name=unwrap] {a}", "unwrap", 3, "np.unwrap(a)", step="N0", name="r")
    s.eqn("c", v, "cos {r}", "cos", 4, "np.cos(r)", step="K1")
    s.eqn("y", v, "mul {c} {w}", "multiply", 4, "np.cos(r) * w", step="K1", name="y")
    text = "import numpy as np\n\n\ndef {0}(start, stop, x, y):\n    for i in range(start, stop):\n        y[i] = {1}\n"
    kernels = [
        kernel("K0", "mul_log1p_2b2b", text.format("mul_log1p_2b2b", "log1p_f64(x[i] * x[i])"), n_elements=2000,
               flops=42_000, median_ms=0.021, bound="overhead", roof_share=0.03, threads=1,
               line_equations=[[]] * 5 + [["e0", "e1"]]),
        kernel("K1", "cos_mul_11aa", text.format("cos_mul_11aa", "cos_f64(x[i]) * y[i]"), n_elements=2000,
               flops=42_000, median_ms=0.018, bound="overhead", roof_share=0.03, threads=1,
               line_equations=[[]] * 5 + [["e3", "e4"]]),
    ]  # fmt: skip
    why = ("WB322", "it runs in NumPy, uncompiled")
    report = s.report(
        "partly", kernels=kernels, titles={"K0": "mul_log1p", "N0": "np.unwrap", "K1": "cos_mul"}, time_ms=0.132,
        numpy_ms=0.118, compile_ms=230.0, bytes_saved=16_000, refused={("K0", "N0"): why, ("N0", "K1"): why}, number=8,
        decisions=[
            DecisionRow(True, "e0", "e1", value("", v), "WB300", "fused: the value stays in registers", 32_000),
            DecisionRow(False, "e1", "e2", value("a", v), *why, 16_000),
            DecisionRow(False, "e2", "e3", value("r", v), *why, 16_000),
        ],
    )  # fmt: skip
    report.fallbacks = [
        Fallback(s.span(3, "np.unwrap(a)"), "unwrap", "WB331",
                 "no kernel can be generated for this operation or dtype", "", 0.013)
    ]  # fmt: skip
    for node in report.graph.nodes:
        if node.id == "N0":
            node.reason = "no kernel can be generated for this operation or dtype"
    report.timings.numpy_ms = spread(0.118, 0.1, 15)
    return report


def cached() -> CompileReport:
    report = edge_detection()
    report.status, report.summary.compile_ms, report.id = "cached", 0.0, "sample-9"
    report.summary.pays_off_after = None
    for row in report.kernels:
        row.cached, row.compile_ms = True, 0.0
    report.timings.phases = []
    return report


SAMPLES: dict[str, Callable[[], CompileReport]] = {
    sample.__name__: sample
    for sample in (edge_detection, softmax, cached, partly, fallback, failed, empty, hostile, large)
}


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, sample in SAMPLES.items():
        path = Path(folder, f"{name}.json")
        path.write_text(json.dumps(sample().to_dict(), indent=1))
        print(path)


if __name__ == "__main__":
    main(sys.argv[1])
