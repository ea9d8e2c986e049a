"""Promotion and its errors: every pair of dtypes and Python scalars, through the operators."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from tests.strategies import ALL
from workbench.errors import UnsupportedOperationError
from workbench.frontend.numpy_api.promotion import result_type
from workbench.frontend.trace import trace

from .differential import check, run_traced

OPERATORS = (operator.add, operator.truediv, operator.floordiv, operator.pow, operator.lt, operator.and_)
SCALARS = (True, 2, 2.0, 2j, np.float32(2), np.int8(2), np.float64(2), np.uint64(2))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_arrays_of_two_dtypes(op):
    for left, right in itertools.product(ALL, ALL):
        x, y = np.array([1, 2, 3]).astype(left), np.array([3, 1, 2]).astype(right)
        check(lambda x, y: op(x, y), x, y, max_ulp=4)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_arrays_with_scalars(op, scalar):
    for name in ALL:
        x = np.array([1, 2, 3]).astype(name)
        if name == "bool" and op is operator.pow and type(scalar) is int:
            continue  # `bools ** 2` is int8 and np.power(bools, 2) is int64; both come to us as np.power
        check(lambda x: op(x, scalar), x, max_ulp=4)
        check(lambda x: op(scalar, x), x, max_ulp=4)
        if not (name == "bool" and op is operator.pow):  # NumPy: an int8, only for bool scalars
            check(lambda x: op(x[0], scalar), x, max_ulp=4)


@pytest.mark.parametrize("op", [operator.add, operator.truediv, operator.lt, operator.mul])
def test_traced_python_floats_are_weak(op):
    for name in ALL:
        x = np.array([1, 2, 3]).astype(name)
        check(lambda x, s: op(x, s), x, 2.5)
        check(lambda x, s: op(s * 2 + 1, x), x, 2.5)
        check(lambda x, s: np.exp(s) * x, x, 2.5, max_ulp=4)  # NumPy's exp returns a float64 that is not weak


@pytest.mark.parametrize("value", [300, -1, 2**40, 2**70, -(2**70)])
def test_python_ints_that_do_not_fit(value):
    for name in ALL:
        x = np.array([1, 2, 3]).astype(name)
        check(lambda x: x + value, x)
        check(lambda x: (x < value, value <= x, x == value, x != value), x)
        check(lambda x: np.where(x > 1, x, value), x)


def test_int64_and_uint64_are_compared_by_value():
    x = np.array([-1, 0, 2**63 - 1, 5], np.int64)
    y = np.array([2**64 - 1, 0, 2**63, 5], np.uint64)
    check(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y, y < x, y >= x), x, y)


def test_result_type_agrees_with_numpy():
    for left, right in itertools.product((*map(np.dtype, ALL), 1, 1.0, 1j, True), repeat=2):
        assert result_type(left, right) == np.result_type(left, right)


def test_half_floats_are_refused_with_a_reason():
    with pytest.raises(UnsupportedOperationError, match="float16"):
        trace(lambda x: np.sqrt(x), (np.arange(3, dtype=np.uint8),), {})


def test_results_of_8_bit_operands_that_are_no_half_floats_compile():
    x = np.arange(-3, 3, dtype=np.int8)
    assert run_traced(lambda x: np.signbit(x), x).tolist() == [True, True, True, False, False, False]
