"""Numbers that a loop makes of Python's, or of several types: NumPy's values, signs of zero and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.sources import define
from workbench.codegen.loops.functions import FUNCTIONS
from workbench.frontend.loops.names import local

RNG = np.random.default_rng(5)
SPECIAL = np.array([0.5, -0.0, np.inf, -1.5, 1e30, -1e30, 0.0, np.nan, 3.25, -np.inf, 1e-30, 2.0])


def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


def total_of_squares(a):
    s = 0.0
    for v in a:
        if v > 0:
            s += v * v
    return s / (len(a) or 1)


def total_or_not(a):
    s = 0.0
    for v in a:
        if v > 0:
            s += v * v
    return s


def total_that_starts_again(a):
    s = 0.0
    for v in a:
        s = s + v
        if s > 2.0:
            s = 0.0
        elif s < -3:
            s = 0
    return s


def clamped(a):
    s = 0.5
    for v in a:
        s = s + v
        if s > 1.75:
            s = 1.75
        if s < 0:
            s = 0
    return s


def clamped_by_a_call(a):
    s = 0
    highest = 0
    for v in a:
        s = max(0, s + v)
        highest = max(highest, s)
    return s, highest


def clamped_and_copied(a):
    s = last = 0.25
    out = np.zeros(len(a))
    for i, v in enumerate(a):
        s = s * 0.5 + v
        if s < 0:
            s = 0
        out[i] = -s
        last = s
    return out, last


def signs(a):
    out = np.zeros((7, len(a)), a.dtype)
    for i in range(len(a)):
        s = 0
        if a[i] > 0:
            s = a[i]
        t = max(0, a[i])
        out[0, i] = -s
        out[1, i] = s * -2
        out[2, i] = -max(0, a[i])
        out[3, i] = t - 1
        out[4, i] = -(s if a[i] < 2 else t)
        out[5, i] = -abs(t)
        out[6, i] = -s * t
    return out


def remainders(a):
    out = np.zeros((4, len(a)))
    for i in range(len(a)):
        s = 4
        if a[i] > 1:
            s = a[i]
        out[0, i] = s % -2
        out[1, i] = s // 3
        out[2, i] = (s - 4) // -2
        out[3, i] = s**2
    return out


def of_helpers(a):
    def positive(v):
        return max(0, v)

    def slope(s, v):
        if v > 0:
            s = s + v
        return -s

    out = np.zeros((2, len(a)))
    for i in range(len(a)):
        out[0, i] = positive(a[i]) + 1
        out[1, i] = slope(0.5, a[i])
    return out


PROGRAMS = [
    total, total_of_squares, total_or_not, total_that_starts_again, clamped, clamped_by_a_call, clamped_and_copied,
    signs, remainders, of_helpers,
]  # fmt: skip
INPUTS = {
    "empty": np.zeros(0),
    "special": SPECIAL,
    "finite": np.concatenate([SPECIAL[[0, 1, 3, 6, 8, 11]], np.linspace(-1, 1.5, 40)]),
    "positive": np.linspace(0.25, 3, 40),
    "negative": np.linspace(-0.25, -3, 40),
    "zeros": np.zeros(40),
    "many": RNG.standard_normal(500),
    "ends with a clamp": np.concatenate([RNG.standard_normal(90), [-1e9]]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_of_a_loop_are_numpys(program: Callable[..., Any], dtype: Any) -> None:
    compiled = wb.jit(program)
    for name, values in INPUTS.items():
        a = values.astype(dtype)
        found, expected = compiled(a.copy()), program(a.copy())
        for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
            assert_same(np.asarray(x), np.asarray(y), where=name)  # a float of Python's may be one of NumPy's


@pytest.mark.parametrize("program", [total, total_of_squares, total_or_not], ids=lambda f: f.__name__)
def test_a_float_of_python_becomes_one_of_numpys(program: Callable[..., Any]) -> None:
    a = RNG.standard_normal(3000).astype(np.float32)
    compiled = wb.jit(program)
    found, expected = compiled(a), program(a)
    assert type(found) is type(expected) is np.float32
    assert found == expected
    assert not compiled.fallbacks


@pytest.mark.parametrize("program", [clamped, clamped_and_copied, clamped_by_a_call], ids=lambda f: f.__name__)
def test_an_int_for_a_float_on_some_paths(program: Callable[..., Any]) -> None:
    a = np.concatenate([RNG.standard_normal(400), [100.0]])
    compiled = wb.jit(program)
    found, expected = compiled(a), program(a)
    for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        assert_same(np.asarray(x), np.asarray(y))
    assert not compiled.fallbacks


def test_an_int_in_the_end_stays_one() -> None:
    a = np.array([*RNG.standard_normal(40), -1e9])
    found = wb.jit(clamped)(a)
    assert type(found) is int
    assert found == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int64, np.uint64, np.float32])
@pytest.mark.parametrize("limits", [(0, 255), (0, 100), (-128, 127), (-5, 5.5), (0.0, 99.0), (0, 2**53), (0, 2**70)])
def test_limits_of_python_and_elements_of_numpy(dtype: Any, limits: tuple) -> None:
    low, high = limits

    def clipped(g):
        out = np.zeros(g.shape, dtype)
        for y in range(g.shape[0]):
            for x in range(g.shape[1]):
                out[y, x] = min(high, max(low, g[y, x]))
        return out

    values = RNG.random((20, 9)) * 300 - 60
    values[:3, :3] = [[0.0, -0.0, 255.0], [255.5, -0.5, 254.999], [1e300, -1e300, 127.5]]
    for g in (values, values.astype(np.float32), values[:3, 3:].astype(np.int64), np.zeros((0, 3)), values * np.nan):
        try:
            expected = clipped(g)
        except (OverflowError, ValueError) as error:
            with pytest.raises(type(error)):
                wb.jit(clipped)(g)
            continue
        assert_same(wb.jit(clipped)(g), expected)


def test_limits_compile() -> None:
    def clipped(g):
        out = np.zeros(g.shape, np.uint8)
        for y in range(g.shape[0]):
            for x in range(g.shape[1]):
                out[y, x] = min(255, max(0, g[y, x]))
        return out

    g = RNG.random((30, 20)) * 400 - 70
    compiled = wb.jit(clipped)
    assert_same(compiled(g), clipped(g))
    assert not compiled.fallbacks


def test_the_root_of_a_float_that_may_be_pythons() -> None:
    """Of Python's it is a float64, of a float32 one of its own."""

    def roots(a):
        out = np.zeros(len(a))
        for i in range(len(a)):
            s = 0.5
            if a[i] > 0:
                s = a[i]
            out[i] = np.sqrt(s) + np.maximum(s, np.float32(0.1))
        return out

    for dtype in (np.float32, np.float64):
        a = RNG.standard_normal(300).astype(dtype)
        assert_same(wb.jit(roots)(a), roots(a), max_ulp=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8])
def test_an_int_for_a_float_beside_elements_that_are_ints(dtype: Any) -> None:
    """Python's int and NumPy's give NumPy's, and a float one of float64."""

    def least(a, n):
        s = 2.0
        for v in a:
            s = min(s * np.float64(1.5), n)
            s = abs(v - s)
        return s

    for a in (np.arange(1, 7), np.array([9, 9, 9]), np.array([1, 100, 3]), np.arange(0)):
        for n in (7, 2, 100):
            a = a.astype(dtype)
            found, expected = wb.jit(least)(a, n), least(a, n)
            assert_same(np.asarray(found), np.asarray(expected))


def test_squares_that_overflow_in_python() -> None:
    def squares(a):
        s = 1.5
        for v in a:
            if v > 0:
                s = -v
            s = s**2
        return s

    for a in (np.full(12, -1.0), np.array([*np.full(3, -1.0), 3.0] * 3)):
        for function in (squares, wb.jit(squares)):
            if a[3] < 0:
                with pytest.raises(OverflowError):
                    function(a)
            else:
                assert_same(np.asarray(function(a)), np.asarray(squares(a)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_int_that_a_loop_returns_early(dtype: Any) -> None:
    def first(a):
        for v in a:
            if v > 3:
                return v
            if v < -3:
                return 0
        return a[0]

    compiled = wb.jit(first)
    for stop in (1, 10):
        a = np.linspace(-1, stop, 50).astype(dtype)
        assert_same(compiled(a), first(a))
    assert not compiled.fallbacks
    a = np.linspace(1, -10, 50).astype(dtype)
    assert_same(compiled(a), first(a))


def total_of_ints(a):
    t = 0
    for v in a:
        v = int(v)
        t += v * 3
    return t


def ones_of_bits(a):
    n = 0
    for v in a:
        v = int(v)
        while v > 0:
            n += v & 1
            v >>= 1
    return n


def made_twice(a):
    t, w = 0, a[0]
    for i in range(len(a)):
        w = a[i]
        if w > 5:
            w += 1
        w = float(w)
        t += w / 3
        w = a[i] * 2
    return t, w


def left_as_found(a):
    t = 0
    for v in a:
        if v > 5:
            break
        v = int(v)
        t += v
    return t, v


def left_to_the_next(a):
    t, w = 0, a[0]
    for i in range(len(a)):
        t += int(w)
        w = a[i]
        if w > 5:
            continue
        w = int(w)
    return t


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("program", [total_of_ints, ones_of_bits, made_twice], ids=lambda f: f.__name__)
def test_a_name_that_is_bound_to_what_python_makes_of_it(program: Callable[..., Any], dtype: Any) -> None:
    compiled = wb.jit(program)
    for values in ([3, 1, 2, 7], [0, 0, 5], [6]):
        assert_same(compiled(np.array(values, dtype)), program(np.array(values, dtype)))
    assert not compiled.fallbacks


@pytest.mark.parametrize("program", [left_as_found, left_to_the_next], ids=lambda f: f.__name__)
def test_a_name_that_is_left_before_python_makes_something_of_it(program: Callable[..., Any]) -> None:
    compiled = wb.jit(program)
    for values in ([3.5, 1, 7, 2], [3.5, 2.25], [6.0]):
        found, expected = compiled(np.array(values)), program(np.array(values))
        np.testing.assert_equal(found, expected)


def labels(grid, found):
    n = 0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if grid[i, j]:
                up = found[i - 1, j] if i else 0
                left = found[i, j - 1] if j else 0
                if up == 0 and left == 0:
                    n += 1
                    found[i, j] = n
                elif up and left:
                    found[i, j] = min(up, left)
                else:
                    found[i, j] = up + left  # of Python's and NumPy's numbers
    return n


def weighed(grid, found):
    most = 0
    for i in range(grid.shape[0]):
        up = found[i - 1, 0] if i > 2 else 1
        down = found[i, 1] if grid[i, 2] else 2
        found[i, 3] = (up * down - 3) * (1 - up)
        found[i, 4] = up - down
        most = max(most, i)
    return most


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("program", [labels, weighed], ids=lambda f: f.__name__)
def test_ints_of_python_on_one_path_and_narrow_ones_on_another(program: Callable[..., Any], dtype: Any) -> None:
    compiled = wb.jit(program)
    for seed, high in ((0, 2), (1, 12), (2, 120)):  # of which the last ones overflow
        grid = np.random.default_rng(seed).random((12, 6)) < 0.6
        mine = np.random.default_rng(seed).integers(0, high, grid.shape).astype(dtype)
        its = mine.copy()
        with np.errstate(over="ignore"):
            assert outcome(compiled, grid, mine) == outcome(program, grid, its)
        np.testing.assert_array_equal(mine, its)
    assert all(reason.code == "WB350" for reason in compiled.fallbacks)


def outcome(program: Callable[..., Any], *args: Any) -> Any:
    try:
        return program(*args)
    except OverflowError as error:
        return str(error)


OF_ROWS = ["sum(row)", "sum(rows)", "sum(row[:0])", "sum(row[1 : k % 3])", "sum(row, 1)", "round(v)", "+row", "+v", "row**2", "sum(row > 1)"]  # fmt: skip


@pytest.mark.parametrize("text", OF_ROWS)
def test_pythons_functions_of_rows_and_numbers_give_pythons_types(text: str) -> None:
    source = f"""def summed(rows):
    count = 0
    for k in range(len(rows)):
        row = rows[k]
        v = row[1]
        found = {text}
        if k % 3 > count:
            count = k - count // 2
    return found, count
"""
    program = define(source, "summed", f"<of rows {text}>")
    for dtype in (bool, np.int8, np.uint16, np.int64, np.float32):
        rows = np.random.default_rng(3).integers(0, 90, (30, 4)).astype(dtype)
        compiled = wb.jit(program)
        with np.errstate(over="ignore"):
            assert repr(raised(compiled, rows)) == repr(raised(program, rows))
        assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]


def raised(program: Callable[..., Any], *args: Any) -> Any:
    try:
        return program(*args)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("expression", [
    "np.maximum(min(0.5, -1), i)", "np.maximum(min(i, 0.5), i)", "np.floor(max(i, 2.5))", "np.abs(min(0.5, -i))",
    "np.sqrt(max(i, 2.5))", "max(2, 0.5, 1)", "np.add(max(2, 0.5), i)",
])  # fmt: skip
def test_functions_of_a_float_that_may_be_an_int(expression: str) -> None:
    """`min` and `max` give one of their arguments as it is, and NumPy looks at its type."""
    source = f"""
import numpy as np

def f(x):
    t = 0
    for i in range(len(x)):
        t = {expression}
        x[i] += t
    return t, x
"""
    program = define(source, "f", f"<number {expression}>")
    compiled = wb.jit(program)
    for n in (2, 5, 9):
        found, expected = compiled(np.ones(n)), program(np.ones(n))
        assert type(found[0]) is type(expected[0])
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_products_of_complex_numbers_have_the_bits_of_numbers_by_themselves(dtype):
    """NumPy multiplies those of arrays with fused steps where the processor has them, and single ones without."""

    def inner(a, n):  # compiled first, with fused steps
        s = 0j
        for i in range(n):
            s += np.dot(a[i:], a[: len(a) - i])
        return s

    wb.jit(inner)(np.ones(9, dtype), 3)

    def f(c, n):
        out = np.zeros((len(c), n), c.dtype)
        for i in range(len(c)):
            z, w, q = 0j, c[i], c[i]
            for k in range(n):
                z = z * z + complex(c[i])
                w = w * w * 0.5 + c[i]
                q = q**2 * 0.5 + c[i]
                out[i, k] = z + w - q * 3
        return out

    rng = np.random.default_rng(0)
    c = (0.3 * (rng.normal(size=50) + 1j * rng.normal(size=50))).astype(dtype)
    compiled = wb.jit(f)
    np.testing.assert_array_equal(compiled(c, 8), f(c, 8))
    assert not compiled.fallbacks


def test_variables_may_have_the_names_of_what_the_text_calls():
    assert [name for name in FUNCTIONS if local(name) == name] == []

    def f(x, n):
        length, lost, close, larger, times, fused = 3.0, 1.0, x[0], 0.0, 1j, 1.0
        for i in range(n):
            v = np.zeros(3)
            v[i % 3] = x[i]
            length = length * 0.5 + v.sum() + np.linalg.norm(x[i : i + 2])
            lost += np.sum(x[:i] * 2.0)
            larger = max(larger, x[i], i)
            close = close + np.isclose(x[i], 1.0)
            times = times * times * 0.1
            fused = fused + v @ v
        return length, lost, larger, close, times, fused

    x = np.random.default_rng(0).random(9)
    compiled = wb.jit(f)
    np.testing.assert_allclose(compiled(x, 9), f(x, 9), rtol=1e-13)
    assert not compiled.fallbacks


def test_the_ones_among_the_bits_of_an_integer() -> None:
    def program(x, small):
        out = np.zeros((len(x), 4), dtype=np.int64)
        state = 0
        for i in range(len(x)):
            state = ((state << 1) | int(x[i])) & 0xFFFF
            out[i, 0] = bin(state & 0x5B).count("1") % 2
            out[i, 1] = bin(x[i]).count("1") + (i - 20).bit_count()
            out[i, 2] = bin(-i).count("1") * state.bit_count()
            out[i, 3] = bin(small[i]).count("1") + small[i].bit_count()
        return out, state

    rng = np.random.default_rng(5)
    edges = [np.iinfo(np.int64).min, np.iinfo(np.int64).max, -1, 0]
    x = np.array([*edges, *rng.integers(-(2**62), 2**62, 40)])
    compiled = wb.jit(program)
    for small in (rng.integers(0, 256, 44).astype(np.uint8), x.astype(np.int8)):
        assert_same(compiled(x, small), program(x, small))
    assert not compiled.fallbacks
