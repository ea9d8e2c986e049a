"""Ranges of integers: which gathers lose their check, which remainders their division, and that no value changes."""

import numpy as np
import pytest

import workbench as wb
from workbench.ir import eval_jaxpr, parse_jaxpr, same_bits
from workbench.transforms import eliminate_dead_code, simplify


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def traced(function, *arrays):
    return simplify(wb.make_jaxpr(function)(*arrays))


def wrapped(i, n):
    return np.where(i >= n, i - n, i)


def lifted(i):
    return np.where(i < -7, 7 + i, i)


X = np.arange(7.0) * 1.5
WIDE = np.array([-1000, -8, -7, -1, 0, 3, 6, 7, 8, 999])

IN_RANGE = {
    "remainder": lambda x, i: x[i % 7],
    "remainder, next": lambda x, i: x[(i % 7 + 1) % 7],
    "remainder, previous": lambda x, i: x[(i % 7 - 1) % 7],
    "clip": lambda x, i: x[np.clip(i, 0, 6)],
    "clip, neighbour": lambda x, i: x[np.clip(i, 0, 5) + 1],
    "from the end": lambda x, i: x[np.clip(i, -7, -1)],
    "maximum and minimum": lambda x, i: x[np.minimum(np.maximum(i, 0), 6)],
    "mask of bits": lambda x, i: x[i & 3],
    "divided": lambda x, i: x[(i % 70) // 10],
    "wrapped by choice": lambda x, i: x[wrapped(i % 7 + 3, 7)],
    "wrapped below": lambda x, i: x[lifted(np.clip(i, -14, 6))],
    "narrower": lambda x, i: x[(i % 7).astype(np.int8)],
    "comparison": lambda x, i: x[(i > 3).astype(np.int64)],
    "moved": lambda x, i: x[(i % 7)[::-1]][:, None],
    "position of the largest": lambda x, i: x[np.argmax(x)] + 0 * i,
    "absolute": lambda x, i: x[abs(np.clip(i, -6, 6))],
    "two axes": lambda x, i: x.reshape(7, 1)[i % 7, np.clip(i, 0, 0)],
}  # fmt: skip
OUT_OF_RANGE = {
    "any": lambda x, i: x[i],
    "one too far": lambda x, i: x[i % 8],
    "one too far by addition": lambda x, i: x[i % 7 + 1],
    "too far below": lambda x, i: x[-(i % 9)],
    "wraps": lambda x, i: x[(np.clip(i, 0, 100).astype(np.int8) + np.int8(100))],
    "the wrong choice": lambda x, i: x[wrapped(i % 14, 8)],
    "narrowed": lambda x, i: x[np.clip(i, 0, 300).astype(np.int8)],
}


@pytest.mark.parametrize("name", IN_RANGE)
def test_gathers_in_range_are_not_checked_and_give_numpys_values(name):
    function = IN_RANGE[name]
    assert "gather_checked" not in names(traced(function, X, WIDE))
    np.testing.assert_array_equal(wb.jit(function)(X, WIDE), function(X, WIDE))


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_gathers_that_may_be_out_of_range_stay_checked(name):
    function = OUT_OF_RANGE[name]
    assert "gather_checked" in names(traced(function, X, WIDE))
    with pytest.raises(IndexError, match="out of bounds"):
        function(X, WIDE)
    with pytest.raises(IndexError, match="out of bounds"):
        wb.jit(function)(X, WIDE)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_remainders_of_neighbours_divide_once_and_give_numpys_values(dtype, n):
    info = np.iinfo(dtype)
    i = np.unique(np.clip(np.array([-300, -101, -2, -1, 0, 1, 5, 6, 7, 99, 127, 250, 2**40]), info.min, info.max))
    i = np.append(i.astype(dtype), np.array([info.min, info.max], dtype))
    n = i.dtype.type(n)

    def neighbours(i):
        here = i % n
        return here, (here + 1) % n, (here + n - 1) % n, (here - 1) % n, here % n

    jaxpr = eliminate_dead_code(traced(neighbours, i))
    if n in (1, 2):
        assert "mod" not in names(jaxpr)
    elif n == 7:  # 0 - 1 of unsigned numbers is the largest number: its remainder needs a division
        assert names(jaxpr).count("mod") == 1 + (np.dtype(dtype).kind == "u")
    for found, expected in zip(wb.jit(neighbours)(i), neighbours(i), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_a_range_holds_for_the_element_that_was_compared_not_for_its_neighbours():
    def shifted(x, i):
        return x[np.where(i < 7, i[::-1], 0)]

    i = np.array([0, 3, 9])
    assert "gather_checked" in names(traced(shifted, X, i))
    with pytest.raises(IndexError):
        wb.jit(shifted)(X, i)


def test_a_gather_from_nothing_is_still_checked():
    jaxpr = parse_jaxpr(
        "{ lambda ; a:f64[0] i:i64[3]. let b:i64[3] = mod i 7:i64[] c:f64[3] = gather_checked[axes=(0,) position=0] a b in (c,) }"
    )
    assert "gather_checked" in names(simplify(jaxpr))


def test_a_gather_that_is_not_checked_gives_the_same_bits():
    jaxpr = parse_jaxpr(
        "{ lambda ; a:f64[7] i:i64[10]. let b:i64[10] = mod i 7:i64[] c:f64[10] = gather_checked[axes=(0,) position=0] a b in (c,) }"
    )
    (before,), (after,) = eval_jaxpr(jaxpr, X, WIDE), eval_jaxpr(simplify(jaxpr), X, WIDE)
    assert names(simplify(jaxpr)) == ["mod", "gather_nd"]
    assert same_bits(before, after)
