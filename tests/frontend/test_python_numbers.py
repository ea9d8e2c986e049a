"""Traced numbers of Python are Python's: its errors, its types, and what it says of types."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

EXPRESSIONS = (
    "1 / x", "x / x", "2.0 // x", "5 % x", "divmod(1.0, x)", "x ** 1.5", "x ** -1", "x ** 400", "2 ** x", "math.sqrt(x)",
    "math.exp(x * 1e4)", "math.log(x)", "math.log2(x)", "math.asin(x * 3)", "math.sin(x * math.inf)", "math.fmod(1, x)",
    "math.pow(x, 0.5)", "math.atanh(x)", "math.sqrt(x) if x > 0 else 0.0", "a * (1 / x)", "a / x", "np.sqrt(x)",
    "np.float64(1) / x", "x > 1j", "-x", "abs(x)", "x.real", "np.real(x)", "np.imag(x)", "np.squeeze(x)",
    "np.transpose(x)", "x.is_integer()", "math.sqrt(abs(np.float32(2)))", "math.hypot(x, 3)", "type(x) is float",
    "type(a) is np.ndarray", "type(a[0]) is np.float64", "a == None", "a != None", "[type(v).__name__ for v in (a, x)]",
)  # fmt: skip
NUMBERS = (2.0, 0.0, -1.5, -0.0, 1e200, math.inf, math.nan, 0.25)


def outcome(function: Any, number: float) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(np.array([1.0, 0.0, -2.0]), number)
        except Exception as error:
            return error


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_numbers_of_python_behave_as_they_do_there(expression):
    source = f"import math\nimport numpy as np\ndef page(a, x):\n    return {expression}\n"
    plain = define(source, "page", f"<{expression}>")
    compiled = wb.jit(plain)
    for number in NUMBERS:
        for _ in range(2):
            expected, result = outcome(plain, number), outcome(compiled, number)
            assert type(result) is type(expected), (number, result, expected)
            if not isinstance(expected, Exception):
                assert_same(result, expected, max_ulp=2, where=f"{expression} for {number}")


@pytest.mark.parametrize("settings", ["divide='raise'", "all='raise'", "over='raise', under='ignore'"])
def test_floating_point_errors_that_are_asked_for_are_raised(settings):
    source = f"import numpy as np\ndef page(a):\n    with np.errstate(all='ignore'), np.errstate({settings}):\n        return np.exp(a * 1e4) + a / 0\n"
    plain = define(source, "page", f"<errstate {settings}>")
    with pytest.raises(FloatingPointError):
        wb.jit(plain)(np.ones(3))


def test_checks_of_numbers_come_before_what_is_written():
    """A call that ends has changed what NumPy changes before it raises, and nothing else."""

    def scaled(a, b, x):
        a[0] = 7.0
        a *= 2.0
        b += a * (1 / x)
        a[1] = 9.0

    a, b = np.ones(3), np.ones(3)
    with pytest.raises(ZeroDivisionError):
        wb.jit(scaled)(a, b, 0.0)
    assert_same(a, np.array([14.0, 2.0, 2.0]))
    assert_same(b, np.ones(3))


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize(
    "text",
    ["~t", "-t", "+t", "abs(t)", "t + t", "t - t", "t * t", "t ** t", "t << t", "~t & 1", "(-1 - t) & ~t", "True - t"],
)
def test_arithmetic_of_pythons_bools_is_that_of_ints(text):
    function = define(f"def f(b):\n    t = b > 0.5\n    return {text}\n", "f", f"<bools {text}>")
    compiled = wb.jit(function)
    for b in (0.25, 0.75):
        found, expected = compiled(b), function(b)
        assert type(found) is type(expected) and found == expected
    assert not compiled.fallbacks


def test_fill_diagonal_casts_numpys_scalars():
    def fill(x):
        np.fill_diagonal(x, np.uint8(200))
        return x

    compiled = wb.jit(fill)
    assert_same(compiled(np.zeros((3, 4), np.int8)), fill(np.zeros((3, 4), np.int8)))
    assert not compiled.fallbacks


@pytest.mark.parametrize(
    "text", ["1j - s", "1j * s", "1j + s", "2j / s", "s - 1j", "2.0 - s", "(1j * s) * a", "1j - s.astype(np.float32)"]
)
def test_pythons_complex_numbers_take_numpys_floats_for_their_own(text):
    function = define(f"def f(a):\n    s = a.sum()\n    return {text}\n", "f", f"<complex {text}>")
    compiled = wb.jit(function)
    for a in (np.array([0.5, 2.0]), np.array([0.5, 2.0], np.float32), np.zeros(2)):
        expected = function(a) if a.any() or "/" not in text else None
        if expected is None:
            with pytest.raises(ZeroDivisionError):
                compiled(a)
        else:
            assert_same(compiled(a), expected)


@pytest.mark.parametrize("text", ["z + {0}", "z - {0}", "z * {0}", "z / {0}", "z ** {0}", "z == {0}", "x + z * {0}"])
@pytest.mark.parametrize("other", ["a.sum()", "np.float64(2.5)", "a32.sum()", "a.astype(complex).sum()", "2.5"])
def test_a_complex_argument_takes_numpys_floats_for_its_own(text, other):
    function = define(
        f"def f(z, x, a, a32):\n    return {text.format(other)}\n", "f", f"<complex argument {text} {other}>"
    )
    compiled = wb.jit(function)
    given = (2 + 1j, np.ones(3, np.float32), np.array([0.5, 2.0]), np.array([0.5, 2.0], np.float32))
    assert_same(compiled(*given), function(*given), max_ulp=16 if "**" in text else 0)
    assert not compiled.fallbacks


@pytest.mark.parametrize("c", [2.0, 1j, 3, True])
def test_a_python_number_in_another_shape_is_an_array(c):
    def reshaped(c, x):
        t = np.reshape(c, ())
        t[...] = 1
        return t, np.reshape(x.sum(), ()), np.reshape(c, (1,)), np.reshape(c, (), order="F")

    compiled = wb.jit(reshaped)
    assert_same(compiled(c, np.ones(3)), reshaped(c, np.ones(3)))
    assert not compiled.fallbacks


@pytest.mark.parametrize("c", [2.5, 3, True, 1j, np.float64(2.5)], ids=repr)
def test_a_number_that_is_moved_or_repeated_into_no_axes_is_an_array(c):
    def moved(c, x):
        return np.resize(c, ()), np.tile(c, ()), np.moveaxis(c, (), ()), np.resize(x, ()), np.tile(x[0, ...], ())

    compiled = wb.jit(moved)
    found, expected = compiled(c, np.ones(3)), moved(c, np.ones(3))
    assert_same(found, expected)
    assert [type(x) for x in found] == [type(x) for x in expected]
    assert not compiled.fallbacks


@pytest.mark.parametrize("x", [0.5, 2.0, 3.5])
@pytest.mark.parametrize(
    "text", ["max(2, x)", "min(x, 2)", "a + max(2, x)", "np.array(max(2, x))", "max(2, x) // 3", "max(2, x) / 3", "f + max(2, x)"]
)  # fmt: skip
def test_extremes_of_an_int_and_a_traced_float_keep_their_types(text, x):
    function = define(f"def f(x, a, f):\n    return {text}\n", "f", f"<extreme {text}>")
    given = (x, np.arange(3), np.ones(3, np.float32))
    found, expected = wb.jit(function)(*given), function(*given)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", [0.5, 1.0, -0.5, 2.0])
def test_float_power_of_a_traced_exponent_takes_no_root(dtype, exponent):
    x = np.array([-np.inf, -0.0, 4.0, -4.0, np.inf, np.nan], dtype)

    def powers(x, y):
        return np.float_power(x, y), np.float_power(x.reshape(2, 3).T, y), np.float_power(x, np.float64(y))

    with np.errstate(invalid="ignore", divide="ignore"):
        found, expected = wb.jit(powers)(x, exponent), powers(x, exponent)
    assert_same(found, expected, max_ulp=1)
    for ours, numpys in zip(found, expected, strict=True):
        numbers = ~np.isnan(numpys)
        np.testing.assert_array_equal(np.signbit(ours[numbers]), np.signbit(numpys[numbers]))


@pytest.mark.parametrize(
    "statement",
    ["t[...] = k", "t[:] = k", "t.fill(k)", "np.copyto(t, k)", "t = np.full(3, k)", "t = np.full_like(t, k)",
     "t = np.choose([0, 1], [k, k])", "t = np.zeros((), int); t[...] = k", "t = np.broadcast_to(k, (3,))"],
)  # fmt: skip
def test_elements_of_an_array_of_a_python_number_are_numpys(statement):
    source = f"def f(a, x):\n    t = a + 0\n    k = round(x[0])\n    {statement}\n    return t, t.flat[0], t.flat[0] + x[1]\n"
    function = define(source, "f", f"<elements {statement}>")
    given = (np.arange(3), np.array([1.25, 2.0], np.float32))
    compiled = wb.jit(function)
    found, expected = compiled(*given), function(*given)
    assert_same(found, expected)
    assert [type(x) for x in found] == [type(x) for x in expected]
    assert not compiled.fallbacks


@pytest.mark.parametrize("other", ["x", b"x", None, (1, 2), [1.0], {}, object, ..., 1.0, slice(1)])
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_equality_with_what_is_no_number(other, dtype):
    def equal(a):
        return (a[0] == other, a[0] != other, other == a[0], a == other, other != a, a.sum() == other,
                a[0].item() == other, (a[0] > 1) != other)  # fmt: skip

    a = np.array([1, 2], dtype)
    compiled = wb.jit(equal)
    for found, expected in zip(compiled(a), equal(a), strict=True):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]


def test_complex_numbers_are_ordered_by_numpy_alone():
    def orders(a, z):
        return z > np.float64(1.5), a[0] > np.float64(1.5), a[0].item() <= np.maximum(-1, 1.5), np.float64(0.5) < z

    a = np.array([1 + 1j, 2])
    assert wb.jit(orders)(a, 2 + 1j) == orders(a, 2 + 1j)
    for program in (lambda a: a[0].item() > 1.5, lambda a: 1.5 > a[0].item()):
        with pytest.raises(TypeError, match="not supported"):
            wb.jit(program)(a)


@pytest.mark.parametrize("text", ["t.sum()", "t.item(0)", "t.astype(int)", "t.copy()", "t.flat[0]"])
def test_numbers_of_python_have_no_methods_of_arrays(text):
    """They raise as Python's do; programs ask for the methods, to tell arrays from numbers."""
    name = text[2:].partition("(")[0].partition("[")[0]
    source = f"def f(x, k):\n    t = float(x[0]) + k\n    return x if hasattr(t, {name!r}) else x + 1, hasattr(x.sum(), {name!r})\n"
    asks = define(source, "f", f"<asks for {name}>")
    calls = define(f"def f(x, k):\n    t = float(x[0]) + k\n    return {text} + x\n", "f", f"<{text}>")
    x = np.ones(3)
    compiled = wb.jit(asks)
    for _ in range(2):
        assert_same(compiled(x, 2.0), asks(x, 2.0))
        for f in (calls, wb.jit(calls)):
            with pytest.raises(AttributeError, match="'float' object has no attribute"):
                f(x, 2.0)
    assert not compiled.fallbacks


def counted(x):
    n = 0
    for v in x:
        if v > 2:
            n += 1
    return (n + 5) ** 40


def left_by_break(x):
    for i in range(len(x)):
        if x[i] > 1:
            break
    return (i + 5) ** 40


def largest_product(x):
    s = 0
    for i in range(len(x)):
        s = max(s, i * 2**62)
    return s


def hashed(x):
    h = 0
    for v in x.tolist():
        h = h * 1_000_000_007 + v
    return h


def chosen(x):
    n = 3
    if x[0] > 1:
        n = 7
    return n * 2**62


def hashed_with_a_long_prime(x):
    h = 14695981039346656037
    for v in x:
        h = ((h ^ int(v)) * 1099511628211) % (1 << 64)
    return h


@pytest.mark.parametrize(
    "program",
    [
        counted, left_by_break, largest_product, hashed, chosen, hashed_with_a_long_prime,
        lambda x: (4 if x[0] > 1 else 6) * 2**62, lambda x: max(int(x[0]), int(x[1])) * 2**62,
        lambda x: abs(int(x[0])) ** 60, lambda x: len(x[x > 1]) * 2**62, lambda x: x.item(0) ** 60,
        lambda x: x.max().item() * 2**62, lambda x: x.item(0) << 70, lambda x: sum(x.tolist()) * 2**61,
        lambda x: x.tolist()[0] ** -2, lambda x: max(int(v) for v in x) ** 60,
    ],
)  # fmt: skip
def test_ints_have_no_end(program):
    x = np.array([3, 2, 1, 2, 3])
    compiled = wb.jit(program)
    assert compiled(x) == program(x)
    assert not any(reason.code == "WB903" for reason in compiled.fallbacks)


def test_the_least_int_has_no_negative_in_64_bits():
    program = lambda x: (-int(x[0]), abs(int(x[0])))  # noqa: E731
    compiled = wb.jit(program)
    for x in (np.array([5]), np.array([np.iinfo(np.int64).min])):
        assert compiled(x) == program(x)


def test_ints_that_surely_fit_are_not_checked():
    def program(x):
        total = 0.0
        for i in range(1, len(x)):
            total += x[(i * 7 + 3) % len(x)] * (i // 2) * (i & 255)
        return total, len(x[x > 1]) * 3

    assert not any(eqn.primitive.name == "check" for eqn in wb.make_jaxpr(program)(np.arange(90.0)).eqns)


def test_a_number_that_a_loop_may_leave_pythons_decides_no_dtype():
    def program(x):
        n = 0
        for v in x:
            if v > 2:
                n = v
        return np.ones(2, np.int8) + n

    compiled = wb.jit(program)
    for x in (np.arange(2), np.arange(9)):
        assert_same(compiled(x), program(x))


def test_a_mixed_number_that_is_copied_is_numpys_to_cast():
    def program(a, b):
        np.copyto(b, max(a.min(), 0))
        return b

    compiled = wb.jit(program)
    for low in (-3, 2):
        a = np.arange(low, low + 5, dtype=np.int32)
        try:
            expected = program(a, np.ones(4, np.uint32))
        except TypeError:
            with pytest.raises(TypeError):
                compiled(a, np.ones(4, np.uint32))
        else:
            assert_same(compiled(a, np.ones(4, np.uint32)), expected)
    assert [reason.code for reason in compiled.fallbacks] == ["WB181"]


@pytest.mark.parametrize(
    "x", [np.array([2, 3]), np.array([2.5, 3]), np.array([True, False]), np.array([3, 2], np.uint8)]
)
@pytest.mark.parametrize("function", [
    lambda x: (1, 2) * x[0], lambda x: x.sum() * [1, 2], lambda x: (1, 2) * x.item(0), lambda x: x[0] + [1, 2, 3],
    lambda x: [0, x[1]] * int(x[0]), lambda x: x.item(0) + [1, 2], lambda x: [x[0]] * x[1],
])  # fmt: skip
def test_numbers_repeat_lists_as_pythons_do(function, x):
    def outcome(f):
        try:
            return repr(f(x))
        except Exception as error:
            return type(error)

    compiled = wb.jit(function)
    assert outcome(compiled) == outcome(compiled) == outcome(function)


class Label(enum.IntEnum):
    EDGE = 1
    SKY = 200


class Metres(float):
    pass


def labelled(x):
    total = 0
    for v in x:
        total += v * Label.SKY
    return total


@pytest.mark.parametrize("x", [np.array([1, 2, 250], np.uint8), np.array([0.1, 7], np.float32), np.array([1, 2])])
@pytest.mark.parametrize("function", [
    labelled, lambda x: x * Label.SKY, lambda x: Label.EDGE - x[0], lambda x: np.where(x == Label.EDGE, Label.SKY, x),
    lambda x: x + Metres(0.1), lambda x: np.maximum(x, Metres(1e-3)), lambda x: [v + Label.SKY for v in x],
])  # fmt: skip
def test_what_derives_from_pythons_numbers_is_not_weak(function, x):
    compiled = wb.jit(function)
    assert_same(compiled(x), function(x))
    assert not compiled.fallbacks


def test_pythons_truth_is_an_int_where_a_part_or_an_index_is_asked_for() -> None:
    def program(x):
        p = x.sum().item() > 2
        return p.real, p.conjugate(), p.imag

    def index(x):
        p = x.sum().item() > 2
        return x[p:], [10, 20][p], range(p)

    for x in (np.arange(5.0), np.zeros(5)):
        for function in (program, index):
            compiled = wb.jit(function)
            assert repr(compiled(x)) == repr(function(x))
            assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]
