"""Polynomials by their coefficients, highest power first: `polyval` and its family."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import calculus, library, ufuncs
from .operands import array, as_array, bind, cast, full, laid_out_like, reshape_to, unsupported
from .promotion import FLOAT64, result_type
from .reductions import part

call = ufuncs.call_ufunc


def _coefficients(p: Any) -> Any:
    p = array(p)
    return reshape_to(p, (1,)) if p.ndim == 0 else p


def polyval(p: Any, x: Any) -> Any:
    """Horner's rule."""
    p, x = array(p), array(x)
    if p.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    y = as_array(laid_out_like(full(x.shape, x.dtype.type(0)), x))
    for i in range(p.shape[0]):
        y = call(np.add, call(np.multiply, y, x), reshape_to(part(p, 0, i, i + 1), p.shape[1:]))
    return y


def _joined(a: Any, b: Any) -> tuple[Any, Any]:
    """Two polynomials with as many coefficients: zeros in front of the shorter one."""
    a, b = _coefficients(a), _coefficients(b)
    n = max(a.shape[0], b.shape[0])

    def widen(p: Any) -> Any:
        missing = n - p.shape[0]
        return bind("pad", p, p.dtype.type(0), padding_config=((missing, 0, 0),)) if missing else p

    return widen(a), widen(b)


def polyadd(a1: Any, a2: Any) -> Any:
    return call(np.add, *_joined(a1, a2))


def polysub(a1: Any, a2: Any) -> Any:
    return call(np.subtract, *_joined(a1, a2))


polymul = library.refused(
    np.polymul, "leading zeros are cut off, so that the shape of the result depends on data", fix="np.convolve(a1, a2)"
)


def polyder(p: Any, m: int = 1) -> Any:
    p, m = array(p), operator.index(m)
    if p.ndim == 0:
        raise TypeError("len() of unsized object")
    if p.ndim > 1:
        raise unsupported("polyder takes one polynomial, in one dimension")
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        n = p.shape[0] - 1
        powers = np.arange(n, 0, -1)
        p = call(np.multiply, part(p, 0, 0, max(n, 0)), powers)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = array(p)
    if p.ndim == 0:
        raise TypeError("len() of unsized object")
    constants = full((m,), np.float64(0)) if k is None else _coefficients(k)
    if constants.shape[0] == 1 and m > 1:
        constants = bind("broadcast_in_dim", constants, shape=(m,), broadcast_dimensions=(0,))
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        n = p.shape[0]
        y = call(np.divide, p, np.arange(n, 0, -1))
        constant = part(constants, 0, i, i + 1)
        dtype = result_type(y, constant)
        p = bind("concatenate", cast(y, dtype), cast(constant, dtype), dimension=0)
    return p


def poly(seq_of_zeros: Any) -> Any:
    """The product of `x - z`; roots of a real polynomial that come in conjugate pairs cannot be told beforehand."""
    zeros = array(seq_of_zeros)
    if zeros.ndim > 1:
        return _refused_poly(seq_of_zeros)
    zeros = _coefficients(cast(zeros, _inexact(zeros)))
    if zeros.dtype.kind == "c":
        return _refused_poly(seq_of_zeros)
    if zeros.shape[0] == 0:
        return 1.0
    one = full((1,), zeros.dtype.type(1))
    a = one
    for i in range(zeros.shape[0]):
        factor = bind("concatenate", one, call(np.negative, part(zeros, 0, i, i + 1)), dimension=0)
        a = calculus.convolve(a, factor)
    return a


_refused_poly = library.refused(np.poly, "whether the coefficients are real or complex depends on data")


def polyfit(
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Least squares by NumPy between kernels; with `full` or `cov` the residuals' shape depends on the rank."""
    x, y = cast(array(x), _inexact(x)), cast(array(y), _inexact(y))
    if full or cov:
        return _refused_polyfit(x, y, deg, rcond, full, w, cov)
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    settings: dict[str, Any] = {"deg": tuple(deg) if isinstance(deg, list) else operator.index(deg)}
    if rcond is not None:
        settings["rcond"] = rcond
    return library.numpy_call("polyfit", x, y, **settings) if w is None else _refused_polyfit(x, y, deg, w=w)


_refused_polyfit = library.refused(
    np.polyfit, "full=, cov= and traced weights cannot be compiled", fix="np.linalg.lstsq", code="WB120"
)


def _inexact(x: Any) -> np.dtype:
    dtype = array(x).dtype
    return dtype if dtype.kind in "fc" else FLOAT64
