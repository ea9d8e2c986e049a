"""Reductions and scans: `combine` folded over the elements, from the identity, gives what the implementation gives."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.ir import Aval, aval_of
from workbench.ir.primitive import REGISTRY

from .contexts import ScalarTestContext
from .samples import CASES, FOLDS, SCANS, Case, specials


def combined(case: Case, values: list[np.generic]) -> list[np.generic]:
    """Every prefix of the fold."""
    lowering, dtype = case.primitive.lowering, case.operands[0].dtype
    context = ScalarTestContext(dtype, (dtype, dtype), case.params)
    text = lowering.combine(context, "acc", "x")
    prefixes = []
    acc = dtype.type(lowering.identity(dtype))
    for value in values:
        acc = context.evaluate(text, {"acc": acc, "x": value})
        prefixes.append(acc)
    return prefixes


@pytest.mark.parametrize("name", FOLDS)
def test_combine_from_the_identity_is_the_reduction(name: str) -> None:
    for dtype in map(np.dtype, FOLDS[name]):
        for x in (specials(dtype)[::2], np.ones(3, dtype), np.ones(0, dtype)):
            case = Case(name, (x,), {"axes": (0,)})
            with np.errstate(all="ignore"):
                expected = case.primitive.impl(x, axes=(0,))
                found = combined(case, list(x))
            if found:
                np.testing.assert_allclose(found[-1], expected, rtol=1e-6)
            else:
                assert expected == dtype.type(case.primitive.lowering.identity(dtype))


@pytest.mark.parametrize("name", SCANS)
def test_combine_gives_every_prefix_of_the_scan(name: str) -> None:
    for dtype in map(np.dtype, SCANS[name]):
        x = specials(dtype)[:12]
        with np.errstate(all="ignore"):
            expected = REGISTRY[name].impl(x, axis=0, reverse=False)
            found = combined(Case(name, (x,), {"axis": 0, "reverse": False}), list(x))
        np.testing.assert_array_equal(np.array(found, dtype), expected)
        with np.errstate(all="ignore"):
            backwards = REGISTRY[name].impl(x[::-1], axis=0, reverse=True)
        np.testing.assert_array_equal(backwards[::-1], expected)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_combine_of_an_arg_reduction_says_what_replaces_the_best(name: str) -> None:
    for case in CASES[name](np.random.default_rng(2)):
        (x,), lowering = case.operands, case.primitive.lowering
        if case.name != name or x.ndim != 1:
            continue
        context = ScalarTestContext(np.dtype(np.int64), (x.dtype, x.dtype), case.params)
        text = lowering.combine(context, "acc", "x")
        best = 0
        for position in range(1, len(x)):
            with np.errstate(invalid="ignore"):
                replaced = eval(text, {"call": _call}, {"acc": x[best], "x": x[position]})
            best = position if replaced else best
        assert best == case.primitive.impl(x, **case.params), repr(case)


def _call(name: str, dtype: str):
    return {"gt": np.greater, "lt": np.less, "isnan": np.isnan}[name]


@pytest.mark.parametrize("name", [*FOLDS, "argmax", "argmin", *SCANS])
def test_impl_gives_the_abstract_result(name: str) -> None:
    for case in CASES[name](np.random.default_rng(3)):
        if case.name == name:
            with np.errstate(all="ignore"):
                out = case.primitive.impl(*case.operands, **case.params)
            (aval,) = case.primitive.abstract_eval(*map(aval_of, case.operands), **case.params)
            assert type(out) is np.ndarray
            assert (out.shape, out.dtype) == (aval.shape, aval.dtype), repr(case)


def test_axes_are_read_from_the_params() -> None:
    assert REGISTRY["reduce_sum"].lowering.axes({"axes": (0, 2)}) == (0, 2)
    assert REGISTRY["cumsum"].lowering.axes({"axis": 1, "reverse": False}) == (1,)


def test_bad_reductions_are_refused() -> None:
    x, empty = Aval((2, 3), np.dtype(float)), Aval((0,), np.dtype(float))
    index_dtype = np.dtype(np.int64)
    with pytest.raises(TypeError, match="reduce_sum: no meaning for dtype bool"):
        REGISTRY["reduce_sum"].abstract_eval(Aval((3,), np.dtype(bool)), axes=(0,))
    with pytest.raises(ValueError, match="axes"):
        REGISTRY["reduce_max"].abstract_eval(x, axes=(2,))
    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        REGISTRY["argmax"].abstract_eval(empty, axes=(0,), index_dtype=index_dtype)
    with pytest.raises(ValueError, match="one axis"):
        REGISTRY["argmin"].abstract_eval(x, axes=(0, 1), index_dtype=index_dtype)


def test_sum_of_negative_zeros_keeps_the_sign_as_numpy_does() -> None:
    zeros = np.array([-0.0, -0.0])
    found = REGISTRY["reduce_sum"].impl(zeros, axes=(0,))
    assert np.signbit(found) == np.signbit(zeros.sum())
