"""Library calls over a module with NumPy's names: with NumPy itself, they give what the primitives give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.primitives.samples import CASES
from workbench.ir import Aval, Equation, Origin, Var
from workbench.ir.primitive import REGISTRY
from workbench.runtime.cuda.indexed import FUNCTIONS, scatter, takes_scatter
from workbench.runtime.cuda.library import _calls, library_call
from workbench.runtime.views import view_of

HERE = sorted(set(_calls(np)) & set(CASES))


def test_the_calls_that_a_gpu_has_are_tested():
    assert {"dot_general", "fft", "cholesky", "cumsum", "sort"} <= set(HERE)


@pytest.mark.parametrize("name", HERE)
def test_each_gives_what_the_primitive_gives(name):
    primitive, tried = REGISTRY[name], 0
    for case in CASES[name](np.random.default_rng(0)):
        if case.name != name:
            continue
        operands = case.operands
        avals = [Aval(x.shape, x.dtype) for x in operands]
        outs = tuple(map(Var, primitive.abstract_eval(*avals, **case.params)))
        call = library_call(np, Equation(primitive, tuple(map(Var, avals)), outs, dict(case.params), Origin()))
        if call is None:
            continue
        tried += 1
        with np.errstate(all="ignore"):
            expected = primitive.impl(*operands, **case.params)
            found = call(*operands, **case.params)
        found = np.asarray(found) if primitive.name in ("dot_general", "det") else found
        pairs = zip(found, expected, strict=True) if primitive.multiple_results else [(found, expected)]
        for mine, reference in pairs:
            assert (np.shape(mine), mine.dtype) == (reference.shape, reference.dtype)
            if name == "empty":  # which holds anything
                continue
            np.testing.assert_allclose(mine, reference, rtol=1e-5 if reference.dtype.itemsize < 8 else 1e-12, atol=1e-6)
    assert tried


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i1", "u4", "i8"])
@pytest.mark.parametrize("op", ["add", "mul", "min", "max"])
def test_colliding_updates_are_combined_in_a_fixed_order(op, dtype):
    dtype = np.dtype(dtype)
    if not takes_scatter(dtype, dtype, op):
        assert dtype.kind == "c"
        return
    rng = np.random.default_rng(4)
    for n_updates, n_places in ((0, 3), (1, 1), (500, 4), (1000, 700)):
        rows = rng.integers(-3, 4, (n_places, 2)).astype(dtype)
        place = rng.integers(0, n_places, n_updates)
        update = (rng.normal(size=(n_updates, 2)) * (1 if op != "mul" else 1.2)).astype(dtype)
        if dtype.kind == "f" and n_updates > 100 and op != "mul":
            update[7] = np.nan, -0.0
        expected = rows.copy()
        with np.errstate(all="ignore"):
            getattr(np, FUNCTIONS[op]).at(expected, place, update)
            found = [scatter(np)(rows, place, update, axes=(0,), mode="raise", op=op, position=0) for _ in range(2)]
        assert found[0].tobytes() == found[1].tobytes()
        rtol = {"f": 1e-4 if dtype.itemsize == 4 else 1e-11, "c": 1e-11}.get(dtype.kind, 0.0)
        np.testing.assert_allclose(found[0], expected, rtol=rtol, atol=rtol)


def test_a_sum_of_many_updates_is_at_least_as_accurate_as_numpys():
    rng = np.random.default_rng(5)
    update, place = rng.normal(size=(100_000, 1)).astype(np.float32) + 1, np.zeros(100_000, np.int64)
    (mine,) = scatter(np)(np.zeros((1, 1), np.float32), place, update, axes=(0,), mode="raise", op="add", position=0)
    numpys = np.zeros((1, 1), np.float32)
    np.add.at(numpys, place, update)
    exact = update.astype(np.float64).sum()
    assert abs(mine[0] - exact) <= abs(numpys[0, 0] - exact)


def test_views_share_memory():
    x = np.arange(24.0).reshape(2, 3, 4)
    for name, params in {
        "reshape": {"new_sizes": (6, 4)}, "transpose": {"permutation": (2, 0, 1)}, "rev": {"dimensions": (0, 2)},
        "slice": {"start_indices": (0, 1, 0), "limit_indices": (2, 3, 4), "strides": (1, 1, 2)},
    }.items():  # fmt: skip
        view = view_of(name)(x, **params)
        assert np.shares_memory(view, x)
