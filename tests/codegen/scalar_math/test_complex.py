"""Complex functions: close to the exact value, and NumPy's values at zeros and infinities."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from .ulps import apply

UNARY = {
    "abs": np.absolute, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sign": np.sign, "reciprocal": np.reciprocal,
}  # fmt: skip
EXACT = {
    "abs": abs, "exp2": lambda z: mpmath.mpf(2) ** z, "expm1": lambda z: mpmath.exp(z) - 1,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2), "log1p": lambda z: mpmath.log(1 + z),
    "sign": lambda z: z / abs(z), "reciprocal": lambda z: 1 / z,
}  # fmt: skip
DTYPES = [np.dtype(np.complex128), np.dtype(np.complex64)]


def plane(dtype: np.dtype, scales: tuple[float, ...], n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([(rng.standard_normal(2 * n) * s).view(complex).astype(dtype) for s in scales])


def units(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The distance in units of the last place of the modulus."""
    eps = np.finfo(got.dtype).eps
    return np.abs(got.astype(np.complex128) - wanted) / (np.abs(wanted) * eps)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions_of_finite_numbers(dtype):
    z = plane(dtype, (1e-3, 0.1, 0.5, 1.0, 2.0, 8.0, 30.0))
    part = np.dtype(np.float64 if dtype == np.complex128 else np.float32)
    for name in UNARY:
        with mpmath.workprec(150):
            reference = EXACT.get(name) or getattr(mpmath, name)
            wanted = np.array([complex(reference(mpmath.mpc(complex(v)))) for v in z])
        got = apply(name, z, out_dtype=part if name == "abs" else dtype)
        # 2**z is exp(z log 2): the rounding of the exponent grows with it
        bound = 4 + (np.abs(z) if name == "exp2" else 0)
        far = np.flatnonzero(units(got, wanted) > bound)[:3]
        assert far.size == 0, (name, z[far], got[far], wanted[far])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_zeros_infinities_and_extremes_as_in_numpy(dtype):
    part = np.float64 if dtype == np.complex128 else np.float32
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e-12, 1e12, -60.0, 1e30, 1e-30, np.inf, -np.inf], part)
    real, imag = (axis.ravel() for axis in np.meshgrid(values, values))
    z = np.empty(real.size, dtype)
    z.real, z.imag = real, imag
    tolerance = 32 * np.finfo(part).eps
    for name, reference in UNARY.items():
        with np.errstate(all="ignore"):
            wanted = reference(z)
            got = apply(name, z, out_dtype=wanted.dtype)
            close = abs(got - wanted) <= tolerance * abs(wanted)
            same = np.logical_and.reduce(
                [
                    (abs(m - t) <= tolerance * abs(t)) | (m == t) | (np.isnan(m) & np.isnan(t))
                    for m, t in ((got.real, wanted.real), (got.imag, wanted.imag))
                ]
            )
        if name == "log1p":  # NumPy's loses small arguments
            same |= np.abs(z) < 1e-6
        wrong = np.flatnonzero(~(close | same))[:4]
        assert wrong.size == 0, (name, z[wrong], got[wrong], wanted[wrong])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers(dtype):
    z = plane(dtype, (0.5, 1.0, 2.0), 100)
    for exponent in (0, 1, 2, 3, -1, -2, 7, 0.5, -0.5 + 1j, 2.5):
        w = np.full(z.shape, exponent, dtype)
        np.testing.assert_allclose(apply("pow", z, w), z**w, rtol=40 * np.finfo(dtype).eps)
    zero = np.zeros(3, dtype)
    got = apply("pow", zero, np.array([0, 2, -1], dtype))
    assert got[0] == 1 and got[1] == 0 and np.isnan(got[2])
