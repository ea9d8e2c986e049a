"""`fast`: kernels whose arithmetic LLVM may contract and reorder."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.fusion import programs
from workbench.codegen.export import standalone
from workbench.codegen.kernel import FAST
from workbench.codegen.llvm_kernels import kernel_module
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native.numba_kernels import compile_with_numba

FLAGS = " ".join(FAST)
RNG = np.random.default_rng(0)


def horner(x):
    return 1.0 + x * (0.5 + x * (0.25 + x / 3.0))


def row_norms(x):
    centred = x - x.mean(1)[:, None]
    return centred / np.sqrt((centred * centred).mean(1) + 1e-5)[:, None]


def both(function, *arguments):
    exact, fast = wb.jit(function), wb.jit(function, fast=True)
    return exact(*arguments), fast(*arguments), exact.compilations[-1], fast.compilations[-1]


@pytest.mark.parametrize("function", [horner, row_norms, lambda x: ((x - 0.3) ** 2).sum(), lambda x: x.prod(0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_results_are_near(function, dtype):
    x = RNG.uniform(0.5, 1.5, (40, 300)).astype(dtype)
    exact, fast, _, _ = both(function, x)
    assert fast.dtype == exact.dtype
    rtol = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(fast, exact, rtol=rtol, atol=rtol * abs(exact).max())


def test_only_fast_kernels_are_contracted():
    """The rounding error of a square, which is 0 where the square is rounded before it is subtracted."""
    x = RNG.uniform(1, 2, 1000)
    exact, fast, one, other = both(lambda x, y: x * x - y, x, x * x)
    assert not exact.any()
    assert "fmul double" in one.get_llvm("K0") or "fmul <" in one.get_llvm("K0")
    assert re.search(f"fmul {FLAGS}", other.get_llvm("K0")) and FLAGS not in one.get_llvm("K0")
    assert abs(fast).max() <= np.finfo(float).eps * 2


def test_folds_take_the_product_before_them():
    compiled = wb.jit(lambda x: (x * x).sum(), fast=True)
    x = RNG.normal(size=10_000)
    assert compiled(x) == pytest.approx(np.sum(x * x), rel=1e-14)
    assert re.search(rf"fadd {FLAGS} ", compiled.compilations[-1].get_llvm("K0"))


def test_nan_and_inf_stay():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1e308, 1.0])
    exact, fast, _, _ = both(lambda x: np.where(np.isnan(x), 5.0, x) * 10.0 - x / 2.0, x)
    np.testing.assert_array_equal(fast, exact)
    np.testing.assert_array_equal(wb.jit(lambda x: x - x, fast=True)(x), [np.nan, np.nan, np.nan, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(wb.jit(lambda x: x != x, fast=True)(x), x != x)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "expm1", "cbrt", "arctan"])
def test_elementary_functions_keep_their_bits(name):
    x = RNG.uniform(0.1, 20, 5000)
    exact, fast, _, _ = both(getattr(np, name), x)
    np.testing.assert_array_equal(fast, exact)


def test_integers_are_exact():
    x = RNG.integers(-(2**62), 2**62, 500)
    exact, fast, _, _ = both(lambda x: (x * 7 + x * x) // 3 % 11, x)
    np.testing.assert_array_equal(fast, exact)


def test_loops_are_fast_too():
    def relaxed(u):
        for _ in range(50):
            u[1:-1] = u[1:-1] + (u[2:] - 2.0 * u[1:-1] + u[:-2]) / 3.7
        return u

    u = RNG.normal(size=400)
    expected, actual = u.copy(), u.copy()
    relaxed(expected)
    compiled = wb.jit(relaxed, fast=True)
    compiled(actual)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)
    kernels = compiled.compilations[-1].kernels.values()
    assert kernels and all(kernel.fast for kernel in kernels)


def test_parts_of_functions_are_fast(capsys):
    def printing(x):
        y = np.exp(x) * 2.0 + x / 3.0
        print("half")
        return y * y + 1.0

    compiled = wb.jit(printing, fast=True)
    x = RNG.normal(size=1000)
    report = wb.explain(compiled)(x)
    assert report.kernels and all(kernel.target == "cpu, fast" for kernel in report.kernels)


@pytest.mark.parametrize("program", [programs.softmax, programs.sum_squared_error, programs.stencil])
def test_numba_may_do_the_same(program):
    jaxpr = program()
    for kernel in plan_kernels(form_plan(jaxpr), ["C"] * len(jaxpr.invars)).values():
        fast = kernel.as_fast()
        assert f"fmul {FLAGS}" in (module := kernel_module(fast, "k")) or f"fadd {FLAGS}" in module
        assert FLAGS not in kernel_module(kernel, "k")
        assert "fmul " not in module or "reassoc" in compile_with_numba(fast)[2]


def test_exported_kernels_say_so():
    compiled = wb.jit(horner, fast=True)
    x = RNG.normal(size=100)
    expected = compiled(x)
    (kernel,) = compiled.compilations[-1].kernels.values()
    text = standalone(kernel)
    assert "fastmath={'reassoc', 'nsz', 'arcp', 'contract'}" in text
    scope: dict = {}
    exec(text, scope)
    # Fused multiply-adds may stand elsewhere, which shows where terms cancel.
    np.testing.assert_allclose(scope["run"](x), expected, rtol=1e-13, atol=1e-14)
