"""Functions that promise NumPy's bits: integers, choices, rounding, remainders, neighbours, complex order, casts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numba import njit

from workbench.codegen.scalar_math import cast, cast_requires, namespace

from .ulps import apply, apply_all, edges, spread

INTEGERS = [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)]
FLOATS = [np.dtype(t) for t in (np.float32, np.float64)]
COMPLEXES = [np.dtype(t) for t in (np.complex64, np.complex128)]
BOOL = np.dtype(bool)


def integers(dtype: np.dtype, n: int = 300, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    anything = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    small = rng.integers(max(info.min, -9), 10, n).astype(dtype)
    ends = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, info.min // 2, info.max // 2], dtype)
    return np.concatenate([anything, small, ends])


def pairs(values: np.ndarray, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    few = values[-40:]
    grid = np.meshgrid(few, few)
    shuffled = np.random.default_rng(seed).permutation(values)
    return np.concatenate([values, grid[0].ravel()]), np.concatenate([shuffled, grid[1].ravel()])


def complexes(dtype: np.dtype, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    few = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], part)
    values = np.concatenate([np.random.default_rng(3).standard_normal(n).astype(part), few, few])
    real, imaginary = pairs(values)
    a = np.empty(real.size, dtype)
    a.real, a.imag = real, imaginary
    return pairs(a)


def assert_same(
    name: str, got: np.ndarray, wanted: np.ndarray, *arguments: np.ndarray, signed_zeros: bool = True
) -> None:
    assert got.dtype == wanted.dtype
    same = (got == wanted) | ((got != got) & (wanted != wanted))
    if signed_zeros and got.dtype.kind == "f":
        same &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(got)
    wrong = np.flatnonzero(~same)
    if wrong.size:
        i = wrong[0]
        raise AssertionError(
            f"{name}({[x[i] for x in arguments]}) = {got[i]!r}, NumPy {wanted[i]!r}; {wrong.size} wrong"
        )


def check(table: dict, *arguments: np.ndarray, signed_zeros: bool = True) -> None:
    """Each function of `table` gives what NumPy's, which stands beside it, gives."""
    with np.errstate(all="ignore"):
        wanted = [reference(*arguments) for reference in table.values()]
    got = apply_all(list(table), *arguments, out_dtypes=[w.dtype for w in wanted])
    for name, mine, theirs in zip(table, got, wanted, strict=True):
        assert_same(name, mine, theirs, *arguments, signed_zeros=signed_zeros)


INTEGER_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_divide": np.floor_divide, "mod": np.remainder,
    "rem": np.fmod, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "gcd": np.gcd,
    "lcm": np.lcm, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
INTEGER_UNARY = {
    "neg": np.negative, "abs": np.absolute, "sign": np.sign, "not": np.invert, "square": np.square,
    "population_count": np.bitwise_count, "reciprocal": np.reciprocal, "conj": np.conj, "isnan": np.isnan,
    "isinf": np.isinf, "is_finite": np.isfinite, "logical_not": np.logical_not, "rint": lambda x: x, "floor": np.floor,
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_operations(dtype):
    a, b = pairs(integers(dtype))
    check(INTEGER_UNARY, a)
    check(INTEGER_BINARY, a, b)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_powers_and_shifts(dtype):
    a, b = pairs(integers(dtype))
    unsigned = np.dtype(f"u{dtype.itemsize}")
    check({"pow": np.power}, a, np.maximum(b, dtype.type(0)))
    shifts = {
        "shift_left": np.left_shift,
        "shift_right_arithmetic": np.right_shift,
        "shift_right_logical": lambda a, b: (a.view(unsigned) >> b.view(unsigned)).view(dtype),
    }
    check(shifts, a, b)


FLOAT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fmod": np.fmod, "rem": np.fmod,
    "mod": np.remainder, "floor_divide": np.floor_divide, "copysign": np.copysign, "nextafter": np.nextafter,
    "heaviside": np.heaviside,
}  # fmt: skip
FLOAT_CHOICES = {"maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin}
FLOAT_UNARY = {
    "neg": np.negative, "abs": np.absolute, "sign": np.sign, "square": np.square, "reciprocal": np.reciprocal,
    "sqrt": np.sqrt, "rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "isnan": np.isnan,
    "isinf": np.isinf, "is_finite": np.isfinite, "signbit": np.signbit, "spacing": np.spacing,
    "logical_not": np.logical_not,
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_operations(dtype):
    x = spread(dtype, 200)
    few = edges(dtype)
    grid = np.meshgrid(few, few)
    a = np.concatenate([x, grid[0].ravel()])
    b = np.concatenate([np.random.default_rng(1).permutation(x), grid[1].ravel()])
    check(FLOAT_UNARY, a)
    check(FLOAT_BINARY, a, b)
    check(FLOAT_CHOICES, a, b, signed_zeros=False)  # which of two zeros NumPy takes depends on its vector width


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_ldexp_rounds_once(dtype):
    x = np.repeat(spread(dtype, 20), 9)
    rng = np.random.default_rng(4)
    exponents = rng.integers(-2300, 2300, x.size)
    exponents[: x.size // 2] = rng.integers(-160, 160, x.size // 2)
    check({"ldexp": np.ldexp}, x, exponents)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fused_multiply_add_and_bits(dtype):
    integer = np.dtype(np.int32 if dtype == np.float32 else np.int64)
    x = spread(dtype, 50)
    assert (apply("bits", x, out_dtype=integer) == x.view(integer)).all()
    one = dtype.type(1) + np.finfo(dtype).eps
    (got,) = apply("fma", np.array([one]), np.array([one]), np.array([-one * one]))
    assert got == np.finfo(dtype).eps ** 2


COMPLEX_BINARY = {
    "add": np.add, "sub": np.subtract, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
COMPLEX_UNARY = {
    "neg": np.negative, "conj": np.conj, "isnan": np.isnan, "isinf": np.isinf, "is_finite": np.isfinite,
    "logical_not": np.logical_not, "rint": np.rint, "reciprocal": np.reciprocal,
}  # fmt: skip


@pytest.mark.parametrize("dtype", COMPLEXES, ids=str)
def test_complex_operations(dtype):
    a, b = complexes(dtype)
    check(COMPLEX_UNARY, a)
    check(COMPLEX_BINARY, a, b)
    # Products have NumPy's bits where its loops have fused multiply-add.
    if np._core._multiarray_umath.__cpu_features__.get("FMA3"):
        check({"mul": np.multiply}, a, b)
        check({"square": np.square}, a)


@pytest.mark.parametrize("dtype", COMPLEXES, ids=str)
def test_complex_functions_that_round_as_they_like(dtype):
    a, b = complexes(dtype)
    eps = 4 * np.finfo(dtype).eps
    for name, reference, arguments in (("div", np.divide, (a, b)), ("sign", np.sign, (a,))):
        got = apply(name, *arguments)
        with np.errstate(all="ignore"):
            wanted = reference(*arguments)
            close = (abs(got - wanted) <= eps * abs(wanted)) | (got == wanted)
        for part in ("real", "imag"):
            close |= np.isnan(getattr(got, part)) & np.isnan(getattr(wanted, part))
        wrong = np.flatnonzero(~close)[:3]
        assert close.all(), (name, [x[wrong] for x in arguments], got[wrong], wanted[wrong])


def test_booleans():
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    check({"maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin}, a, b)
    check({"logical_not": np.logical_not, "isnan": np.isnan, "is_finite": np.isfinite}, a)


# ---- casts ----


def values_of(dtype: np.dtype) -> np.ndarray:
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        return integers(dtype, 60)
    if dtype.kind == "f":
        return spread(dtype, 40)
    return complexes(dtype, 40)[0]


@pytest.mark.parametrize("source", [BOOL, *INTEGERS, *FLOATS, *COMPLEXES], ids=str)
def test_casts_to_every_dtype_are_those_of_astype(source):
    x = values_of(source)
    targets = [BOOL, *INTEGERS, *FLOATS, *COMPLEXES]
    stores = [f"        out{i}[j] = {cast('x[j]', source, target)}\n" for i, target in enumerate(targets)]
    outs = ", ".join(f"out{i}" for i in range(len(targets)))
    text = f"def convert(x, {outs}):\n    for j in range(x.size):\n{''.join(stores)}"
    names = [f.name for target in targets for f in cast_requires(source, target)]
    scope = {"np": np, **namespace(names)}
    exec(text, scope)
    results = [np.empty(x.size, target) for target in targets]
    njit(scope["convert"], error_model="numpy")(x, *results)
    for target, got in zip(targets, results, strict=True):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            # one at a time: NumPy's vector loops treat what does not fit in other ways than its scalar ones
            wanted = np.array([v.astype(target) for v in x])
        if source.kind in "fc" and target.kind in "iu":
            part = x.real.astype(np.float64)
            info = np.iinfo(target)
            fits = (part > float(info.min) - 1) & (part < float(info.max) + 1)
            assert_same(f"cast {source} {target}", got[fits], wanted[fits], x[fits])
        else:
            assert_same(f"cast {source} {target}", got, wanted, x)
