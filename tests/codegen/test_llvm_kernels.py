"""Kernels that LLVM compiles straight from their text: the same bits as through numba, on every kind of kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.fusion import programs
from workbench.codegen.kernel import Kernel, KernelArg
from workbench.codegen.llvm_kernels import kernel_module
from workbench.codegen.scalar_math import all_names, by_name
from workbench.codegen.scalar_math.direct import UnsupportedSourceError
from workbench.codegen.scalar_math.texts import function_text
from workbench.fusion import form_plan
from workbench.runtime.executable import build, plan_kernels
from workbench.runtime.native import kernels, machine_code

from .random_jaxprs import RandomProgram


def both_forms(jaxpr, inputs, monkeypatch):
    """The results with and without numba, and the kernels' sources. No kernel may be left to numba unasked."""
    plan = form_plan(jaxpr)
    placement = plan_kernels(plan, ["C" if x.flags.c_contiguous else "A" for x in inputs])
    results = []
    through_llvm = kernels._through_llvm

    def demanded(kernel, key):
        found = through_llvm(kernel, key)
        assert found is not None, f"numba is needed for\n{kernel.source}"
        return found

    for form in (demanded, lambda kernel, key: None):
        monkeypatch.setattr(kernels, "_through_llvm", form)
        kernels.forget_kernels()
        with wb.config(cache_dir="off"):
            results.append(build(plan, placement, 1).run(*inputs))
    monkeypatch.undo()
    kernels.forget_kernels()
    texts = [k.source for k in placement.values()] + [k.finish.source for k in placement.values() if k.finish]
    return *results, texts


def assert_same_bits(ours, numbas, texts):
    """`add_reassoc` and `mul_reassoc` leave the order to LLVM, which may choose another one; nothing else does."""
    ordered = not any("_reassoc_" in text for text in texts)
    for a, b in zip(ours, numbas, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind in "fc":
            if not ordered:
                np.testing.assert_allclose(a, b, rtol=64 * np.finfo(a.dtype).eps, atol=0)
                continue
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            a, b = np.nan_to_num(a, nan=7), np.nan_to_num(b, nan=7)
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_same_bits(seed, monkeypatch):
    program = RandomProgram(1000 + seed, 4 + seed % 12)
    assert_same_bits(*both_forms(program.jaxpr, program.inputs, monkeypatch))


@pytest.mark.parametrize("program", [programs.softmax, programs.stencil, programs.column_standard_deviation])
def test_kernels_of_the_suite_have_the_same_bits(program, monkeypatch):
    jaxpr = program()
    inputs = [np.random.default_rng(0).normal(size=v.aval.shape).astype(v.aval.dtype) for v in jaxpr.invars]
    assert_same_bits(*both_forms(jaxpr, inputs, monkeypatch))


def traced(function, *arrays):
    with wb.config(cache_dir="off"):
        f = wb.jit(function)
        f(*arrays)
    return f.compilations[-1].plan.jaxpr


def mixed(x, y):
    wide = np.where(x > y, np.sqrt(np.abs(x)), -np.inf) * y + np.exp(-y) / 3
    return wide, (wide > 1) & (x == x), np.clip(wide, -1, np.nan), x**1.5 + np.floor(y)


def integers(x, y):
    z = (x * 3 - y) // 7 + (x % 5) * (y ^ x)
    return z, z > y, np.minimum(z, x) << 1, (z * 1.5).astype(np.float32), ~z, -z


def several_uses(x, y):
    a = x * y + 1
    b = np.tanh(a) - x
    c = b * b + a
    return a.sum(axis=1), b, c * a, (c - b).max(axis=1)


def moved(x, y):
    z = np.concatenate([x[::-1, 1:], np.pad(y, ((0, 0), (2, 0)))[:, 3:]], axis=1)
    return z + 1, x.T * y.T, np.roll(x, 3, axis=1) - y, x.argmax(axis=1), y.argmin(axis=0), np.cumsum(x, axis=0) * y


def updated(x, y):
    x = x + 1
    x[1:-1, ::2] += y[1:-1, ::2]
    x[0] = y[-1] * 2
    return x, x[np.array([2, 0, 5])] * 3


def truths(x, y):
    both = (x > 2) & ~(y < 3) | (x == y)
    return both, both.any(axis=1), both.all(axis=0), np.where(both, x, y), both.sum()


def large_literals(x, y):
    return (
        x + np.uint64(2**64 - 2),
        np.where(y > 3, np.uint64(2**63 + 1), x) // np.uint64(2**63 - 1),
        x != 0,
        y.astype(bool),
    )


DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex128, np.complex64]
KINDS = {
    mixed: "f",
    integers: "iu",
    several_uses: "ifc",
    moved: "fiu",
    updated: "fi",
    truths: "fiu",
    large_literals: "u",
}


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(f, dtype) for f, kinds in KINDS.items() for dtype in DTYPES if np.dtype(dtype).kind in kinds],
)
def test_programs_of_every_dtype_have_the_same_bits(function, dtype, monkeypatch):
    kind = np.dtype(dtype).kind
    rng = np.random.default_rng(1)
    x, y = (rng.integers(1, 60, (9, 33)).astype(dtype) / (dtype(7) if kind in "fc" else 1) for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    if kind == "c":
        function = lambda x, y: (  # noqa: E731
            (x * y + 1).sum(axis=1), x * y - x, (x - y) * (x + y) / y, abs(-x), x == y, (x - y).astype(bool),
            x.conj() * np.conj(x - y), np.conj(x[:, ::2]),
        )  # fmt: skip
    if kind == "f":
        x[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 5e-324, -1]
    with np.errstate(all="ignore"):
        jaxpr = traced(function, x, y)
        assert_same_bits(*both_forms(jaxpr, [x, y], monkeypatch))


def test_strided_inputs_have_the_same_bits(monkeypatch):
    x = np.random.default_rng(2).normal(size=(24, 31, 5))
    views = [x[::2, :30:3], x.transpose(1, 0, 2)[:12, :10][:, ::-1].copy()[:, ::-1]]
    jaxpr = traced(lambda a, b: (a - b, (a * b).sum(axis=2), a.max(axis=(0, 2))), *views)
    assert_same_bits(*both_forms(jaxpr, views, monkeypatch))


def test_long_chains_have_the_same_bits(monkeypatch):
    def chain(x):
        for i in range(40):
            x = np.sqrt(x * 1.25 + i) - 0.5
        return x

    x = np.linspace(1, 2, 50)
    assert_same_bits(*both_forms(traced(chain, x), [x], monkeypatch))


def kernel(source, *args):
    return Kernel("K0", "f", source, args, 1, 1, 1, 1.0, 1, ())


X, N = KernelArg("x", "in", None, "float64", 1), KernelArg("n", "size")


@pytest.mark.parametrize(
    "statement",
    ["y = np.linalg.norm(x)", "y = [1]", "x[0] = 1j", "for v in x: pass", "y = x[0] ** 2", "n = 3", "x.sort()",
     "y = x[n:]", "unknown(x[0])", "y = x[0] / n", "for i in range(0, n, -1): x[i] = 0.0", "x[0] = n"],
)  # fmt: skip
def test_what_is_not_understood_is_left_to_numba(statement):
    with pytest.raises(UnsupportedSourceError):
        kernel_module(kernel(f"def f(start, stop, x, n):\n    {statement}\n", X, N), "entry")


def test_a_kernel_that_is_left_to_numba_runs_and_is_cached(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "_through_llvm", lambda kernel, key: None)
    kernels.forget_kernels()
    x = np.linspace(0, 1, 20)
    with wb.config(cache_dir=str(tmp_path)):
        np.testing.assert_array_equal(wb.jit(lambda x: np.sqrt(x) * 1.75)(x), np.sqrt(x) * 1.75)
        before = kernels.N_COMPILED
        kernels.forget_kernels()
        np.testing.assert_array_equal(wb.jit(lambda x: np.sqrt(x) * 1.75)(x), np.sqrt(x) * 1.75)
    assert kernels.N_COMPILED == before
    kernels.forget_kernels()


def run_of(made, symbol):
    code, _ = machine_code.compile_assembly(kernel_module(made, symbol))
    return kernels.function_at(machine_code.address(code, symbol), made.args)


@pytest.fixture
def entry():
    """y = x * n for a strided x, as Python calls it."""
    source = "def f(start, stop, x, y, n):\n    for i in range(start, stop):\n        y[i] = x[i] * np.float64(n)\n"
    args = KernelArg("x", "in", None, "float64", 1, "A"), KernelArg("y", "out", None, "float64", 1), N
    symbol = "workbench_test_entry"
    return run_of(kernel(source, *args), symbol)


class Derived(np.ndarray):
    pass


def test_a_kernels_function_takes_arrays_and_sizes(entry):
    x, y = np.arange(10.0)[::-2], np.zeros(5)
    assert entry(1, 4, x, y, 3) is None
    np.testing.assert_array_equal(y, [0, 21, 15, 9, 0])
    entry(0, 5, x.view(Derived), y, -1)
    np.testing.assert_array_equal(y, -x)


@pytest.mark.parametrize(
    "wrong",
    [lambda x, y: (0, 5, x, y), lambda x, y: (0, 5, x, y, 1, 2), lambda x, y: (0, 5, list(x), y, 1),
     lambda x, y: (0, 5, x.astype("f4"), y, 1), lambda x, y: (0, 5, x.astype("i8"), y, 1),
     lambda x, y: (0, 5, x[None], y, 1), lambda x, y: (0, 5, None, y, 1), lambda x, y: (0, "5", x, y, 1),
     lambda x, y: (0, 5, x, y, 1.5), lambda x, y: ()],
)  # fmt: skip
def test_wrong_arguments_are_errors(entry, wrong):
    x, y = np.ones(5), np.zeros(5)
    with pytest.raises(TypeError):
        entry(*wrong(x, y))
    np.testing.assert_array_equal(y, 0)


def test_scratch_that_does_not_fit_in_memory_is_an_error():
    source = "def f(start, stop, x, n):\n    s = np.empty(n, np.float64)\n    t = np.empty(n, np.float64)\n"
    source += "    for i in range(start, stop):\n        s[i] = x[i]\n        t[i] = s[i] + 1.0\n        x[i] = t[i]\n"
    symbol = "workbench_test_memory"
    run, x = run_of(kernel(source, X, N), symbol), np.ones(3)
    with pytest.raises(MemoryError):
        run(0, 3, x, 1 << 58)
    run(0, 3, x, 3)
    np.testing.assert_array_equal(x, 2)


def test_every_scalar_function_is_text():
    arrays = {"flat", "assume_index", "uintp"}  # of arrays and indices, which kernels' texts spell out
    for name in all_names():
        if name not in arrays and not name.startswith("emit_"):
            found = function_text(name)
            assert len(found.parameters) == by_name(name).source.partition("\n    ")[0].rpartition("(")[2].count(
                ","
            ) + (not by_name(name).source.startswith("@intrinsic")), name


def test_a_process_needs_no_numba():
    code = (
        "import sys, numpy as np, workbench as wb\n"
        "x = np.linspace(0, 1, 1000)\n"
        "with wb.config(cache_dir='off', strict=True):\n"
        "    wb.jit(lambda x: (np.exp(x) - x.mean()).sum())(x)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_source_that_is_shown_stays_as_it_is():
    f = wb.jit(lambda x: np.sqrt(x * x + 1) * 3 - x / 2)
    f(np.ones(4))
    (shown,) = f.compilations[-1].kernels.values()
    assert "sqrt_f64" in shown.source
    assert shown.name in f.compilations[-1].get_llvm("K0") and shown.name in f.compilations[-1].get_asm("K0")


def columns(x):
    return np.exp(x[:, 0] * 0.5 + x[:, -1]), (x[:, 0] - x[:, -1]).max()


@pytest.mark.parametrize("shape", [(1000, 6), (1000, 1), (1, 6), (0, 6), (300, 2)])
@pytest.mark.parametrize("strides", [slice(None), slice(None, None, -2), slice(1, None)])
def test_columns_of_rows_give_numpys_values(shape, strides):
    x = np.random.default_rng(0).standard_normal((2 * shape[0] + 1, shape[1] + 2))[strides, 1:-1]
    x = x if x.shape[0] else np.ones((1, shape[1]))
    for given in (x, np.ascontiguousarray(x), x.astype(np.float32), x[:, ::-1]):
        for actual, expected in zip(wb.jit(columns)(given), columns(given), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=4 * np.finfo(given.dtype).eps)


def test_kernels_that_read_columns_use_vectors():
    """LLVM would guess that rows have one element, and leave the loop as it is for all others."""
    if machine_code.processor()[0].partition("-")[0] != "x86_64":
        pytest.skip("whether vectors pay is LLVM's choice")
    compiled = wb.jit(lambda x: np.exp(x[:, 0] * 0.5 + x[:, 1]))
    compiled(np.ones((500, 6)))
    (made,) = compiled.compilations
    (name,) = made.kernels
    text = made.get_llvm(name)
    assert "x double>" in text and not any("icmp" in line and ".n1, 1" in line for line in text.splitlines())


COMPLEX_ROWS = """
import numpy as np
import workbench as wb

@wb.jit
def levels(ks):
    found = np.empty((len(ks), 2))
    for i, k in enumerate(ks):
        found[i] = np.linalg.eigh(np.array([[0, 1j * k], [-1j * k, 0]]))[0]
    return found

print(levels(np.arange(3.0))[:, 1].round(9), levels.fallbacks)
"""


EQUAL_BYTES = """
import numpy as np
import workbench as wb

@wb.jit
def framed(x):
    return np.pad(np.tile(x[::2, ::-1], 2).T, 1, mode="reflect") == 3

print(framed(np.ones((4, 16, 1), np.uint16)).shape, framed.fallbacks)
"""


ZEROS_SIDE_BY_SIDE = """
import numpy as np
import workbench as wb

@wb.jit
def second(c):
    found = np.zeros_like(c)
    found[:, :, 1:-2] = c[:, :, 1:-2] / (c[:, :, 2:-1] - c[:, :, :-3]) * np.maximum(c[:, :, 3:], 0.0) + np.abs(c[:, :, 1:-2])
    return found

print(second(np.arange(1000.0).reshape(10, 25, 4)).shape, second.fallbacks)
"""


COMPLEX_ZEROS = """
import numpy as np
import workbench as wb

@wb.jit
def padded(c):
    return np.pad(np.concatenate([c, c]), ((1, 0), (1, 1)))

print(padded(np.ones((10, 1), complex)).shape, padded.fallbacks)
"""


# Slices beside each other, which are zero outside of what an outer loop decides.
ZEROS_BY_BRANCHES = """
import workbench as wb
from tests.numpy_programs.all import PROGRAMS

program = PROGRAMS["isoneutral_mixing"]
compiled = wb.jit(program.function)
compiled(*program.make(program.small))
print(compiled.fallbacks)
"""

UNIT_MATRICES = """
import numpy as np
import workbench as wb

units = wb.jit(lambda x: (np.array([np.eye(2)] * 2), x + 1.0))
print(units(np.ones(3))[0].shape, units.fallbacks)
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (COMPLEX_ZEROS, "(21, 3) []"),
        (COMPLEX_ROWS, "[0. 1. 2.] []"),
        (EQUAL_BYTES, "(4, 18, 4) []"),
        (ZEROS_SIDE_BY_SIDE, "(10, 25, 4) []"),
        (ZEROS_BY_BRANCHES, "[]"),
        (UNIT_MATRICES, "(2, 2, 2) []"),
    ],
    ids=["complex zeros", "complex", "bytes", "zeros", "branches", "unit matrices"],
)
def test_llvm_says_nothing_of_loops_over_rows_that_it_leaves_alone(tmp_path, program, printed):
    (tmp_path / "rows.py").write_text(program)
    environment = {
        **os.environ,
        "WORKBENCH_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, str(tmp_path / "rows.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed and "remark" not in done.stderr


@pytest.mark.skipif(not machine_code.processor()[0].startswith("x86_64"), reason="RBP is a register of x86")
def test_arrays_are_not_addressed_with_the_register_of_the_frame():
    """Where this is asked for; a program that needs all registers shows that LLVM would."""

    def weighted(*arrays):
        total = arrays[0]
        for k, array in enumerate(arrays[1:]):
            total = total * k + array
        return total

    arrays = [np.ones(1000)] * 20
    plan = form_plan(wb.make_jaxpr(weighted)(*arrays))
    (kernel,) = plan_kernels(plan, ["C"] * len(arrays)).values()
    addressed = {}
    for framed in (False, True):
        _, llvm = machine_code.compile_assembly(kernel_module(kernel, "workbench_framed", framed=framed))
        addressed[framed] = "(%rbp,%r" in machine_code.emit_assembly(llvm).replace(" ", "")
    assert addressed == {False: True, True: False}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "uint32", "int32", "uint64", "int64", "float32"])
def test_constants_wrap_as_elements_do(dtype):
    """Turned around, they are not folded before they reach a kernel's text."""

    def program(x):
        ones, most = np.ones_like(x), np.full_like(x, np.iinfo(dtype).max if dtype[0] in "iu" else 3)
        ones, most = ones[::-2], most[::-2]
        found = [-ones, (-ones).astype(np.float64), 1.0 / (1.0 + (-ones).astype(np.float64)), ones - most - ones]
        found += [(-most).astype(np.float64), (ones + most).astype(np.float64), abs(-ones), (-ones) // most]
        if dtype[0] in "iu":
            found += [
                ~ones,
                (~ones).astype(np.float64),
                (ones << 7).astype(np.float64),
                (-ones >> 1).astype(np.float64),
            ]
        return found

    x = np.zeros((5, 8), dtype)
    with np.errstate(all="ignore"):
        expected, compiled = program(x), wb.jit(program)
        found = compiled(x)
    assert not compiled.fallbacks
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.dtype == b.dtype, k
        np.testing.assert_array_equal(a, b, err_msg=str(k))
