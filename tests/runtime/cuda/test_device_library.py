"""Library calls over a module with NumPy's names: with NumPy itself, they give what the primitives give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.primitives.samples import CASES
from workbench.ir import Aval, Equation, Origin, Var
from workbench.ir.primitive import REGISTRY
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
            np.testing.assert_allclose(mine, reference, rtol=1e-5 if reference.dtype.itemsize < 8 else 1e-12, atol=1e-6)
    assert tried


def test_views_share_memory():
    x = np.arange(24.0).reshape(2, 3, 4)
    for name, params in {
        "reshape": {"new_sizes": (6, 4)}, "transpose": {"permutation": (2, 0, 1)}, "rev": {"dimensions": (0, 2)},
        "slice": {"start_indices": (0, 1, 0), "limit_indices": (2, 3, 4), "strides": (1, 1, 2)},
    }.items():  # fmt: skip
        view = view_of(name)(x, **params)
        assert np.shares_memory(view, x)
