"""Kernels write over arrays that nothing needs any more, where each element keeps to itself."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.fusion import LoopStep, form_plan
from workbench.runtime.cuda.executable import device_kernels
from workbench.runtime.cuda.lifetimes import peak_bytes, taken_over

from . import fake_cupy

X = np.random.default_rng(0).normal(size=(6, 10))


def chain(x):
    for _ in (0,) * 4:  # written out: each needs the total of the one before
        x = np.tanh(x) - x.sum() * 0.01
    return x


def sorted_between(x):
    a = np.tanh(x) - x.mean()
    b = np.sort(a, axis=1)
    c = a * a.sum() + 1.0
    return b, c - c.sum()


def neighbours(x):
    a = np.tanh(x) - x.sum() * 0.1
    return a[1:] - a[:-1] + a.sum()


def turned(x):
    square = (x @ x.T) * 0.1
    a = np.tanh(square) - square.sum()
    return a.T * 2.0 + a.max(), a.sum()


def planned(function):
    plan = form_plan(wb.jit(function, device="numpy").trace((X,), {}).jaxpr, in_place=False)
    kernels = device_kernels(plan, "cuda")
    return plan, {name for name, kernel in kernels.items() if kernel.geometry.in_step}


def scaled(x):
    """A sum with what makes its elements, then a map of them."""
    a = np.tanh(x) * 2.0
    return a - a.sum() * 0.01


def test_a_map_needs_no_array_of_its_own():
    plan, in_step = planned(scaled)
    ((out, dead),) = taken_over(plan, in_step).items()
    assert out in plan.outvars and dead not in plan.jaxpr.invars
    # The input, which is the caller's, and one array, beside some numbers.
    assert 2 * X.nbytes <= peak_bytes(plan, in_step) < 2 * X.nbytes + 100 < peak_bytes(plan)


@pytest.mark.parametrize("function", [sorted_between, neighbours, turned])
def test_what_is_read_elsewhere_is_left_alone(function):
    plan, in_step = planned(function)
    for out, dead in taken_over(plan, in_step).items():
        assert out.aval.shape == dead.aval.shape and function is not neighbours
        readers = [
            step
            for step in plan.steps
            if dead in getattr(step, "invars", ()) or dead in getattr(getattr(step, "eqn", None), "invars", ())
        ]
        assert all(hasattr(step, "space") for step in readers)


@pytest.mark.parametrize("device", ["cuda-sim", "cuda"])
@pytest.mark.parametrize("function", [scaled, chain, sorted_between, neighbours, turned])
def test_results_are_numpys(function, device, monkeypatch):
    if device == "cuda":
        fake_cupy.install(monkeypatch)
    f = wb.jit(function, device=device)
    for _ in range(4):  # a recording, too
        x = X.copy()
        found, expected = f(x), function(X)
        for mine, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(x, X)


def test_memory_is_taken_while_a_program_runs(monkeypatch):
    cupy = fake_cupy.install(monkeypatch)
    x, sizes = cupy.asarray(X), []
    real = fake_cupy.empty
    monkeypatch.setattr(cupy, "empty", lambda shape, dtype: sizes.append(shape) or real(shape, dtype))
    f = wb.jit(scaled, device="cuda")
    np.testing.assert_allclose(cupy.asnumpy(f(x)), scaled(X), rtol=1e-12)
    assert sizes.count(X.shape) == 1
    np.testing.assert_array_equal(cupy.asnumpy(x), X)


def test_loops_of_the_host_keep_what_they_carry(monkeypatch):
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)

    def steps(x):
        first = np.tanh(x) * 2.0
        return wb.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, chain(s[1]) + first), (0, first))[1], first

    f = wb.jit(steps, device="cuda-sim")
    for mine, theirs in zip(f(X), steps(X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    (loop,) = (step for step in f.compilations[0].plan.steps if isinstance(step, LoopStep))
    assert taken_over(loop.body, f.compilations[0].executable.in_step)
