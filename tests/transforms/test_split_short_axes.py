"""Short last axes written out: the values stay, and what was between two kernels is no array any more."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.codegen.random_jaxprs import RandomProgram
from workbench.fusion import form_plan
from workbench.ir import eval_jaxpr
from workbench.ir.checker import check_jaxpr
from workbench.runtime.cuda.plans import device_plan, moved_bytes
from workbench.transforms import split_short_axes as module
from workbench.transforms.pipeline import PIPELINE, run_pipeline
from workbench.transforms.split_short_axes import split_short_axes


def forces(p):
    d = p[None, :, :] - p[:, None, :]
    r2 = (d * d).sum(axis=2) + 0.01
    return (d / (r2 * np.sqrt(r2))[:, :, None]).sum(axis=1)


def nearest(p):
    d = np.abs(p[None, :, :] - p[:, None, :])
    return d.max(axis=2).min(axis=1), d.min(axis=(0, 2)), d.sum(axis=(1, 2))


def whole(p):
    """The result has the axis, and another reader takes it whole, too."""
    d = p[None, :, :] * 2 - p[:, None, :]
    return d, np.cumsum(d, axis=2)


def centred(p):
    d = p[None, :, :] - p[:, None, :]
    m = d.sum(axis=2, keepdims=True)
    return (np.where(m > 0, d, -d) * np.array([1, 2, 3], p.dtype)).sum(axis=0), m.sum()


PROGRAMS = [forces, nearest, whole, centred]


def program(function, x):
    return run_pipeline(wb.make_jaxpr(function)(x), PIPELINE)


def points(n, dtype, length=3):
    rng = np.random.default_rng(n)
    return rng.integers(-5, 9, (n, length)).astype(dtype) if dtype in ("int8", "int64") else rng.normal(
        size=(n, length)
    ).astype(dtype)  # fmt: skip


CASES = [(f, dtype) for f in PROGRAMS for dtype in ("float64", "float32")]
CASES += [(nearest, "int64"), (whole, "int64"), (centred, "int64"), (forces, "complex64"), (whole, "complex64")]


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_the_values_stay(function, dtype, monkeypatch):
    monkeypatch.setattr(module, "LEAST_GROWTH", 0)
    x = points(25, dtype)
    jaxpr = program(function, x)
    split = split_short_axes(jaxpr)
    assert split is not None and str(split) != str(jaxpr)
    check_jaxpr(split)
    with np.errstate(all="ignore"):
        for mine, theirs in zip(eval_jaxpr(split, x), eval_jaxpr(jaxpr, x), strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol=1e-4 if "32" in dtype or "64" == dtype[-2:] else 0)


def test_not_a_number_and_infinities_stay():
    x = points(25, "float64")
    x[3, 1], x[4, 2], x[5, 0] = np.nan, np.inf, -np.inf
    jaxpr = program(nearest, x)
    with np.errstate(all="ignore"):
        for mine, theirs in zip(eval_jaxpr(split_short_axes(jaxpr), x), eval_jaxpr(jaxpr, x), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_their_values(seed, monkeypatch):
    monkeypatch.setattr(module, "LEAST_GROWTH", 0)
    made = RandomProgram(seed, 4 + seed % 12)
    split = split_short_axes(made.jaxpr)
    if split is None:
        return
    check_jaxpr(split)
    with np.errstate(all="ignore"):
        for mine, theirs in zip(eval_jaxpr(split, *made.inputs), eval_jaxpr(made.jaxpr, *made.inputs), strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_arrays_that_are_no_larger_than_what_comes_in_stay():
    assert split_short_axes(program(lambda p: (p * 2 + 1).sum(axis=1), np.ones((1000, 3)))) is None
    assert split_short_axes(program(forces, np.ones((25, 5)))) is None


def test_a_device_takes_the_plan_that_moves_less(monkeypatch):
    x = np.ones((4096, 3), np.float32)
    jaxpr = program(forces, x)
    plan, is_split = device_plan(jaxpr, split_short_axes(jaxpr))
    assert is_split and moved_bytes(plan) < 10 * x.nbytes
    assert moved_bytes(form_plan(jaxpr, in_place=False)) > 1000 * x.nbytes
    monkeypatch.setattr(module, "LEAST_GROWTH", 0)
    kept = program(whole, np.ones((64, 3)))
    assert split_short_axes(kept) is not None and device_plan(kept, split_short_axes(kept))[1] is False


@pytest.mark.parametrize("n", [9, 40])
def test_forces_are_one_reduction_on_a_device(n):
    x = points(n, "float64")
    f = wb.jit(forces, device="cuda-sim", strict=True)
    np.testing.assert_allclose(f(x), forces(x), rtol=1e-12, atol=1e-13)
    (compilation,) = f.compilations
    if n == 40:
        assert [name for name, *_ in compilation.stages][-1] == "write out short axes"
        assert max(v.aval.size for c in compilation.plan.clusters for v in c.outvars) == x.size
    assert "write out short axes" in wb.explain(f)(x).to_text() or n != 40
