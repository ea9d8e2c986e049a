"""The array API standard (2024.12), each function called compiled: values, dtypes, shapes and errors are NumPy's.

`WORKBENCH_EXAMPLES=200 pytest tests/frontend/array_api` draws that many calls of each.
"""

from __future__ import annotations

import copy
import operator
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests import strategies
from tests.compare import assert_same

from . import calls

EXAMPLES = int(os.environ.get("WORKBENCH_EXAMPLES", "3"))
FAST = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=True)


def function_of(name: str) -> Callable[..., Any]:
    return operator.attrgetter(name)(np)


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return wb.jit(function)


def outcome(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs), None
        except Exception as error:
            return None, error


LARGEST_TERM = 1e99  # its cube is a float


def magnitude(values: Any) -> float:
    """What sums and products of the numbers among the arguments may reach."""
    numbers = [np.abs(x).astype(float) for x in values if isinstance(x, np.ndarray) and x.size]
    largest = max((float(np.max(x, where=np.isfinite(x), initial=1.0)) for x in numbers), default=1.0)
    return min(largest, LARGEST_TERM) ** 3 * max((x.size for x in numbers), default=1)


def same_call(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], *, scale: float | None, ulp: float = 8,
              values: bool = True) -> None:  # fmt: skip
    """The compiled `function` does what the plain one does, and leaves its arguments as that leaves them."""
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    expected, refusal = outcome(function, theirs, kwargs)
    result, error = outcome(compiled(function), ours, kwargs)
    if refusal is not None:
        assert type(error) is type(refusal), f"NumPy raises {refusal!r}; compiled: {error!r}, {result!r}"
        assert str(error) == str(refusal)
        if "negative integer powers" in str(refusal):
            return  # NumPy leaves in the array written to what a buffer of its own held
    elif error is not None:
        raise error
    elif isinstance(expected, np.finfo | np.iinfo):
        assert str(result) == str(expected)
    elif values:
        assert_same(result, expected, max_ulp=ulp, reduction_scale=scale)
    else:
        assert result.dtype == expected.dtype and result.shape == expected.shape
    assert_same(ours, theirs, max_ulp=ulp, reduction_scale=scale, where="arguments")


def ulps_of_power(operands: tuple) -> float:
    """A complex power is exp(y log x): it loses as much as y log x is large, in NumPy as compiled."""
    return 1024 if any(map(np.iscomplexobj, operands)) else 8


ROUNDED = ("mean", "std", "var", "matmul", "tensordot", "vecdot", "sum", "prod", "cumulative_sum", "cumulative_prod")


@pytest.mark.parametrize("name", calls.FUNCTIONS)
@FAST
@given(data=st.data())
def test_functions(name, data):
    args, kwargs = calls.FUNCTIONS[name](data.draw)
    scale = magnitude(args) if name.startswith(("linalg", "fft")) or name in ROUNDED else None
    if name == "log1p" and np.iscomplexobj(args[0]):
        scale = 1.0  # NumPy's is log(|1 + z|), which loses what one does not hold; ours does not
    ulp = 1024 if name.startswith("linalg") else ulps_of_power(args) if name == "pow" else 8
    same_call(function_of(name), args, kwargs, scale=scale, ulp=ulp, values=not name.startswith("empty"))


@pytest.mark.parametrize("name", calls.SPECIAL_FOLDS)
@FAST
@given(data=st.data())
def test_reductions_of_nan_and_infinity(name, data):
    args, kwargs = calls.SPECIAL_FOLDS[name](data.draw)
    same_call(function_of(name), args, kwargs, scale=magnitude(args))


@pytest.mark.parametrize("name", calls.OPERATORS)
@FAST
@given(data=st.data())
def test_operators(name, data):
    function, drawer = calls.OPERATORS[name]
    args, kwargs = drawer(data.draw)
    ulp = ulps_of_power(args) if "pow" in name else 8
    same_call(function, args, kwargs, scale=magnitude(args) if "matmul" in name else None, ulp=ulp)


SPECIAL = (0.0, 1.0, 0.5, 2.0, 1e30, 1e-40, np.inf, np.nan)
SIGNED = np.array([*SPECIAL, *(-x for x in SPECIAL)])
PARTS = SIGNED[[0, 1, 6, 7, 8, 9, 14]]


def assert_special(name: str, *operands: np.ndarray) -> None:
    """NaN, infinities and zeros, with their signs, are where NumPy has them."""
    function = function_of(name)
    (result, error), (expected, _) = outcome(compiled(function), operands, {}), outcome(function, operands, {})
    assert error is None
    assert_same(result, expected, max_ulp=16 if name != "pow" else 64)
    if expected.dtype.kind == "f" and name not in ("maximum", "minimum"):  # which may pick either of two zeros
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(result)[zeros], np.signbit(expected)[zeros])


@pytest.mark.parametrize("dtype", calls.FLOATS)
@pytest.mark.parametrize("name", calls.ONE_FLOAT + calls.ONE_REAL)
def test_special_values(name, dtype):
    with np.errstate(all="ignore"):
        assert_special(name, SIGNED.astype(dtype))


@pytest.mark.parametrize("dtype", calls.FLOATS)
@pytest.mark.parametrize("name", calls.TWO_FLOAT + calls.TWO_REAL)
def test_special_values_of_two_operands(name, dtype):
    with np.errstate(all="ignore"):
        x = SIGNED.astype(dtype)
        assert_special(name, np.repeat(x, len(x)), np.tile(x, len(x)))


@pytest.mark.parametrize("dtype", calls.COMPLEX)
@pytest.mark.parametrize("name", calls.ONE_FLOAT)
def test_special_complex_values(name, dtype):
    real, imag = np.repeat(PARTS, len(PARTS)), np.tile(PARTS, len(PARTS))
    z = np.empty(len(real), dtype)
    z.real, z.imag = real, imag
    assert_special(name, z)


# ---- arrays: indices, attributes, conversions ----


def get(x, index):
    return x[index]


def put(x, index, value):
    x[index] = value
    return x


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Every form of the standard: basic, a mask, integer arrays."""
    forms = [strategies.basic_indices(shape), strategies.arrays("bool", shape, contiguous=True)]
    if shape:
        forms.append(strategies.array_indices(shape))
        forms.append(st.integers(-shape[0] - 1, shape[0]))
    return draw(st.one_of(forms))


@FAST
@given(data=st.data())
def test_getitem(data):
    x = data.draw(strategies.arrays(min_dims=0))
    same_call(get, (x, data.draw(indices(x.shape))), {}, scale=None, ulp=0)


@FAST
@given(data=st.data())
def test_setitem(data):
    x = data.draw(strategies.arrays(min_dims=0))
    index = data.draw(indices(x.shape))
    try:
        shape = np.shape(x[index])
    except IndexError:
        shape = ()
    value = data.draw(st.one_of(st.integers(0, 9), strategies.arrays(x.dtype, st.sampled_from([shape, ()]))))
    same_call(put, (x, index, value), {}, scale=None, ulp=0)


NUMBERS = (True, 3, -2, 2.5, np.inf, 1 + 2j)


@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index, len, repr, str, hash])
@pytest.mark.parametrize("number", NUMBERS)
def test_conversions_of_arrays_without_dimensions(convert, number):
    for dtype in calls.ALL:
        if np.can_cast(np.result_type(number), dtype, "same_kind"):
            same_call(convert, (np.array(number, dtype),), {}, scale=None, ulp=0)


ATTRIBUTES = (
    lambda x: x.dtype, lambda x: x.device, lambda x: x.ndim, lambda x: x.shape, lambda x: x.size, lambda x: x.T,
    lambda x: x.mT, lambda x: x.to_device("cpu"), lambda x: x.__array_namespace__().sin(x),
    lambda x: x.__array_namespace__(api_version="2024.12").sum(x), lambda x: x.__dlpack_device__(),
    lambda x: np.from_dlpack(x), lambda x: x.__array_namespace__().asarray(x, copy=True),
    lambda x: [row.sum() for row in x], lambda x: x.__complex__(), lambda x: x.__index__(), lambda x: bool(x),
    lambda x: 3 in x, lambda x: (-x, +x, abs(x)), lambda x: x.to_device("gpu"), lambda x: x.no_such_attribute,
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(ATTRIBUTES)))
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2), (1, 1, 1)])
def test_attributes_and_methods(number, shape):
    same_call(ATTRIBUTES[number], (np.linspace(-1, 2, int(np.prod(shape))).reshape(shape),), {}, scale=8)


def test_the_namespace_says_what_it_is():
    for ask in (
        lambda: np.__array_namespace_info__().capabilities(), lambda: np.__array_namespace_info__().default_device(),
        lambda: np.__array_namespace_info__().default_dtypes(), lambda: np.__array_namespace_info__().devices(),
        lambda: np.__array_namespace_info__().dtypes(kind="real floating"), lambda: (np.e, np.pi, np.inf, np.newaxis),
    ):  # fmt: skip
        assert wb.jit(ask)() == ask()
