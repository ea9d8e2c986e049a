"""Complex zeros, infinities and NaN: each part of each result is what NumPy makes it, signs included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 3.3, np.inf, -np.inf, np.nan)
UNARY = (
    np.sqrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.sinh, np.cosh,
    np.tanh, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.reciprocal, np.square, np.sign,
    np.absolute, np.negative, np.conjugate,
)  # fmt: skip
POWERS = (-1, 0, 1, 2, 3, 4, -2, 7, 0.5, -0.5, 2.0, -1.0, 2.5, 99, 100, 1j, 1 + 0j, np.inf)


def numbers(dtype: type) -> np.ndarray:
    return np.array([complex(x, y) for x, y in itertools.product(PARTS, PARTS)]).astype(dtype)


def kinds(z: np.ndarray) -> np.ndarray:
    """NaN, or the sign, and zero, finite or infinite, of each part."""
    parts = np.stack([z.real, z.imag])
    sizes = np.where(parts == 0, 0, np.where(np.isinf(parts), 2, 1)) * np.where(np.signbit(parts), -1, 1)
    return np.where(np.isnan(parts), 3, sizes + 10 * np.signbit(parts))


def assert_same_kinds(found: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    wrong = np.flatnonzero((kinds(found) != kinds(expected)).any(0))[:5]
    assert not wrong.size, ([x[wrong] for x in operands], found[wrong], expected[wrong])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_number(function, dtype):
    z = numbers(dtype)
    with np.errstate(all="ignore"):
        assert_same_kinds(wb.jit(lambda a: function(a))(z), function(z), z)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_powers(dtype):
    z = numbers(dtype)
    a, b = np.repeat(z, z.size), np.tile(z, z.size)
    with np.errstate(all="ignore"):
        for function in (np.power, np.float_power):
            expected = function(a, b)
            # The direction of what overflows by far hangs on the last bit of a logarithm.
            near = ~(np.isinf(expected.real) & np.isinf(expected.imag))
            assert_same_kinds(wb.jit(lambda a, b, f=function: f(a, b))(a, b)[near], expected[near], a[near], b[near])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("exponent", POWERS, ids=repr)
def test_powers_to_a_number(exponent, dtype):
    z = numbers(dtype)

    def in_place(a):
        a **= exponent
        return a

    with np.errstate(all="ignore"):
        for function in (lambda a: a**exponent, lambda a: np.power(a, exponent), in_place):
            assert_same_kinds(wb.jit(function)(z.copy()), function(z.copy()), z)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_products_have_numpys_bits(dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=4002).view(np.complex128).astype(dtype) for _ in range(2))
    a[:3], b[:3] = [-1e30 - 1e30j, 1e-30 + 1e-30j, 3e19 + 3e19j], [1e30 + 1e30j, 1e-30 + 1e-30j, 3e19 + 3e19j]
    with np.errstate(all="ignore"):
        for function in (
            lambda a, b: a * b,
            lambda a, b: a**2,
            lambda a, b: np.square(a) - a * b[0],
            lambda a, b: a / b,
        ):
            assert_same(wb.jit(function)(a, b), function(a, b))


def test_the_square_root_of_minus_infinity_as_a_power():
    x = np.array([-np.inf, -0.0, np.inf, 4.0])

    def powers(x, y):
        return x**y, np.power(x, y), x ** np.full(4, 0.5)

    with np.errstate(all="ignore"):
        assert_same(wb.jit(powers)(x, 0.5), powers(x, 0.5))
        assert_same(wb.jit(powers)(x, np.float32(0.5)), powers(x, np.float32(0.5)))
