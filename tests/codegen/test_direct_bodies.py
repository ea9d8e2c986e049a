"""Kernels whose bodies are lowered directly: the same bits as through numba alone, on every kernel of the suite."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.fusion import programs
from workbench.codegen.direct_bodies import with_direct_bodies
from workbench.fusion import form_plan
from workbench.runtime import kernels
from workbench.runtime.executable import build, plan_kernels

from .random_jaxprs import RandomProgram


def both_forms(jaxpr, inputs, monkeypatch):
    """The results with and without direct bodies, and how many runs were replaced."""
    replaced = 0

    def counting(kernel, resolve):
        nonlocal replaced
        source, functions = with_direct_bodies(kernel, resolve)
        replaced += len(functions)
        return source, functions

    results = []
    for form in (counting, lambda kernel, resolve: (kernel.source, {})):
        monkeypatch.setattr(kernels, "with_direct_bodies", form)
        kernels.forget_kernels()
        with wb.config(cache_dir="off"):
            plan = form_plan(jaxpr)
            layouts = ["C" if x.flags.c_contiguous else "A" for x in inputs]
            results.append(build(plan, plan_kernels(plan, layouts), 1).run(*inputs))
    kernels.forget_kernels()
    return *results, replaced


def assert_same_bits(direct, plain):
    for a, b in zip(direct, plain, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind in "fc":
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            a, b = np.nan_to_num(a, nan=7), np.nan_to_num(b, nan=7)
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_same_bits(seed, monkeypatch):
    program = RandomProgram(1000 + seed, 4 + seed % 12)
    direct, plain, _ = both_forms(program.jaxpr, program.inputs, monkeypatch)
    assert_same_bits(direct, plain)


@pytest.mark.parametrize("program", [programs.softmax, programs.stencil, programs.column_standard_deviation])
def test_kernels_of_the_suite_have_the_same_bits(program, monkeypatch):
    jaxpr = program()
    inputs = [np.random.default_rng(0).normal(size=v.aval.shape).astype(v.aval.dtype) for v in jaxpr.invars]
    direct, plain, _ = both_forms(jaxpr, inputs, monkeypatch)
    assert_same_bits(direct, plain)


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
    return z, z > y, np.minimum(z, x) << 1, (z * 1.5).astype(np.float32)


def several_uses(x, y):
    a = x * y + 1
    b = np.tanh(a) - x
    c = b * b + a
    return a.sum(axis=1), b, c * a, (c - b).max(axis=1)


DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex128]
KINDS = {mixed: "f", integers: "iu", several_uses: "ifc"}


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
        function = lambda x, y: ((x * y + 1).sum(axis=1), x * y - x, (x - y) * (x + y) / y)  # noqa: E731
    if kind == "f":
        x[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 5e-324, -1]
    with np.errstate(all="ignore"):
        jaxpr = traced(function, x, y)
    direct, plain, replaced = both_forms(jaxpr, [x, y], monkeypatch)
    assert_same_bits(direct, plain)
    assert replaced or kind != "f", "nothing was lowered directly"


def test_long_chains_are_lowered_directly(monkeypatch):
    def chain(x):
        for i in range(40):
            x = np.sqrt(x * 1.25 + i) - 0.5
        return x

    x = np.linspace(1, 2, 50)
    jaxpr = traced(chain, x)
    direct, plain, replaced = both_forms(jaxpr, [x], monkeypatch)
    assert_same_bits(direct, plain)
    assert replaced == len(form_plan(jaxpr).clusters)


def test_the_source_that_is_shown_stays_as_it_is():
    f = wb.jit(lambda x: np.sqrt(x * x + 1) * 3 - x / 2)
    f(np.ones(4))
    (kernel,) = f.compilations[-1].kernels.values()
    assert "sqrt_f64" in kernel.source and "run_" not in kernel.source
