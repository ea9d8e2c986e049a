"""Numbers of Python that are stored in arrays: what does not fit raises as in NumPy, and changes as much as there."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

STORES = (
    "a[1:] = c", "a[1] = c", "a[[0, 1]] = c", "a[a > 1] = c", "a[:2] = [c, 1]", "a[0] = -c", "a.fill(c)", "a.flat[1] = c",
    "np.put(a, [0], c)", "np.putmask(a, a > 1, c)", "np.place(a, a > 1, [c])", "np.copyto(a, c, casting='unsafe')",
    "a = np.asarray(c, a.dtype)", "a = np.array([c, c], a.dtype)", "a = np.full(3, c, a.dtype)", "a = np.full_like(a, c)",
    "a = np.where(a > 1, a, c)", "a = np.select([a > 1], [a], c)", "a = np.insert(a, 0, c)", "a = np.append(a, c)",
    "a = np.pad(a, 1, constant_values=c)", "a = a.sum(initial=c)", "a = np.max(a, initial=c)", "a = a + c",
    "a = a < c", "a = np.clip(a, c, 5)", "a[1] = c // 1", "b = np.zeros((3, 3), a.dtype); np.fill_diagonal(b, c); a = b",
)  # fmt: skip
NUMBERS = (-1.5, -0.5, 3.0, 300.7, 1e30, math.nan, math.inf, -1, 3, 300, 2**63, 2**64, -(2**63) - 1, True, 1j)
DTYPES = (np.uint8, np.int8, np.int64, np.uint64, np.float32)


def outcome(function: Any, dtype: Any, number: Any) -> tuple[Any, np.ndarray, bool]:
    """The result or error, the argument afterwards, and whether NumPy warned of a cast that it leaves undefined."""
    a = np.array([0, 1, 2, 1, 5, 0], dtype)
    with np.errstate(all="ignore", invalid="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(a, number)
        except Exception as error:
            result = error
    return result, a, any("in cast" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("store", STORES)
def test_a_number_is_stored_or_refused_as_in_numpy(store):
    """As an argument, which is traced if it is a float, and written out."""
    as_argument = define(f"def stores(a, c):\n    {store}\n    return a\n", "stores", f"<{store}>")
    compiled = wb.jit(as_argument)
    for number in NUMBERS:
        text = repr(number) if np.isfinite(complex(number)) else f"float('{number}')"
        source = f"def stores(a, c):\n    c = {text}\n    {store}\n    return a\n"
        written_out = wb.jit(define(source, "stores", f"<{store} {text}>"))
        for dtype in DTYPES:
            expected, left, is_undefined = outcome(as_argument, dtype, number)
            if is_undefined:
                continue
            for function in (compiled, written_out):
                result, mine, _ = outcome(function, dtype, number)
                assert type(result) is type(expected), (number, dtype, result, expected)
                if not isinstance(expected, Exception):
                    assert_same(result, expected, where=f"{number!r} in {dtype.__name__}")
                assert_same(mine, left, where=f"the argument, {number!r} in {dtype.__name__}")


WRITERS = (
    "a[:2] = {v}", "a[[0, 1]] = {v}", "a[a > 1] = {v}", "a.fill({v})", "np.put(a, [0, 1], {v})", "np.copyto(a, {v})",
    "np.putmask(a, a > 1, {v})", "np.place(a, a > 1, {v})", "np.put_along_axis(a, np.array([0, 1]), {v}, 0)",
    "np.copyto(a, {v}, casting='unsafe')",
)  # fmt: skip
VALUES = (
    "np.uint8(200)", "np.int64(300)", "np.float64(2.7)", "np.array(200, 'u1')", "np.array([200, 201], 'u1')",
    "np.array([1.5 + 2j])",
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("writer", WRITERS)
def test_numpys_numbers_and_arrays_are_cast_or_refused_as_in_numpy(writer, value):
    source = f"def writes(a):\n    {writer.format(v=value)}\n    return a\n"
    plain = define(source, "writes", f"<{writer} {value}>")
    compiled = wb.jit(plain)
    expected, left, is_undefined = outcome(lambda a, _: plain(a), np.int8, 0)
    assert not is_undefined, "NumPy defines these casts"
    result, mine, _ = outcome(lambda a, _: compiled(a), np.int8, 0)
    assert type(result) is type(expected), (result, expected)
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]
    assert_same(mine, left)


SCALAR_WRITERS = (
    "a[0] = x.max()", "a[:2] = x[0]", "a.fill(x[1])", "a[...] = x.sum()", "a[[0, 1]] = x.max()", "a[a > 1] = x.max()",
    "np.copyto(a, x.max(), casting='unsafe')", "np.put(a, [0], x.max())", "np.putmask(a, a > 1, x.max())",
    "a[np.bitwise_count(a[a > 1].size)] = x[0]", "a[...] = np.array(1, a.dtype)[()] + np.int64(-2)",
    "for i in range(len(x)): a[i] = x[i]",
    "for i in range(len(x)):\n        s = x[i] * 1\n        if s > 5: a[i % 6] = s",
    "a[0] = x.item(0)", "a.fill(int(x[1]))", "np.copyto(a, x.item(1))", "np.copyto(a, int(x[0]), casting='no')",
)  # fmt: skip


@pytest.mark.parametrize("writer", SCALAR_WRITERS)
def test_numpys_integers_that_are_stored_must_fit_as_in_numpy(writer):
    plain = define(f"def writes(a, x):\n    {writer}\n    return a\n", "writes", f"<{writer}>")
    compiled = wb.jit(plain)
    for source in ("i8", "u8", "u1", "i4", "f8"):
        for target in ("i1", "u1", "i4", "i8", "u8"):
            for numbers in ([5, 4, 3], [5, 250, 1], [5, 2**40, 1], [2**62, 2, 3], [-7, 4, 1], [2**63 + 5, 1, 2]):
                try:
                    x = np.array(numbers, dtype=source)
                except OverflowError:
                    continue
                expected, left, is_undefined = outcome(lambda a, x: plain(a, x), np.dtype(target), x)
                if is_undefined:
                    continue
                result, mine, _ = outcome(lambda a, x: compiled(a, x), np.dtype(target), x)
                where = f"{numbers} of {source} in {target}"
                assert type(result) is type(expected), (where, result, expected)
                assert_same(mine, left, where=where)
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]
