"""How far two correct implementations of a program may differ: found by running it with its roundings shaken.

NumPy's elementary functions, sums and products of matrices are right to some units in the last place; so are ours, with
other units. A `Shaken` array computes as NumPy does and then moves each inexact result by a few units at random. The
spread of several such runs, through all that follows in the program, is what a result may differ by. Every other run
sums and multiplies in a wider type first, so that what NumPy's own order of summation loses is part of the spread, and
makes NaN of what another order, or another product of complex numbers, would overflow in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

ULPS = 4  # NumPy's SIMD functions stay within 4, ours within 2
RUNS = 4

# Ufuncs whose results have the same bits everywhere, as far as real numbers are concerned.
EXACT = {
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.fmod, np.divmod, np.negative,
    np.positive, np.absolute, np.fabs, np.sign, np.rint, np.floor, np.ceil, np.trunc, np.sqrt, np.square,
    np.reciprocal, np.maximum, np.minimum, np.fmax, np.fmin, np.conjugate, np.copysign, np.nextafter, np.spacing,
    np.modf, np.frexp, np.ldexp, np.heaviside, np.clip,
}  # fmt: skip
SEPARATE = (np.add, np.subtract, np.negative)  # which are exact for the parts of complex numbers, too
# Functions that NumPy dispatches as a whole and whose results round.
INEXACT_FUNCTIONS = {
    np.dot, np.vdot, np.inner, np.tensordot, np.einsum, np.convolve, np.correlate, np.interp, np.trace, np.cross,
    np.linalg.norm, np.linalg.solve, np.linalg.inv, np.linalg.det, np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft,
    np.percentile, np.quantile, np.median, np.linspace, np.sinc, np.unwrap, np.gradient, np.trapezoid, np.polyval,
    np.kron, np.cov, np.corrcoef, np.average, np.nanmean, np.nanvar, np.nanstd,
}  # fmt: skip
SUMMING = {
    np.dot, np.vdot, np.inner, np.tensordot, np.einsum, np.convolve, np.correlate, np.trace, np.cross, np.polyval,
    np.trapezoid, np.cov, np.corrcoef,
}  # fmt: skip


MAKERS = {
    "arange", "array", "asarray", "ascontiguousarray", "eye", "full", "full_like", "identity", "linspace", "ones",
    "ones_like", "zeros", "zeros_like", "empty", "empty_like", "copy",
}  # fmt: skip


WIDER = {"f": np.longdouble, "c": np.clongdouble}
MAX_WIDE = 1 << 24  # multiplications that the wider type, which no library is fast with, is used for


class ShakenNumPy:
    """NumPy, with arrays made from nothing, and ufuncs of Python's numbers, that are Shaken, too."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name in MAKERS:
            return lambda *args, **kwargs: shaken(found(*args, **kwargs))
        return ShakenUfunc(found) if isinstance(found, np.ufunc) and found not in EXACT else found


class ShakenUfunc:
    """A ufunc whose results round, which asks no operand of Python's how it is done."""

    def __init__(self, ufunc: np.ufunc):
        self._ufunc = ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._ufunc(*args, **kwargs)
        return shaken(shake(result)) if all(isinstance(x, int | float | complex) for x in args) else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


class Shaken(np.ndarray):
    """An array whose inexact results are moved by `rng`."""

    rng: np.random.Generator = np.random.default_rng(0)
    separately = False  # complex products by multiplications and additions; NumPy fuses them where the processor does

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            kwargs["out"] = tuple(map(plain, out))
        if "where" in kwargs:
            kwargs["where"] = plain(kwargs["where"])
        before = [plain(x) for x in inputs]
        if method == "at":
            getattr(ufunc, method)(*before, **kwargs)
            return None
        if ufunc in (np.multiply, np.square) and not Shaken.separately:  # fused only where elements are side by side
            before = [x.copy(order="K") if _is_complex(x) and np.ndim(x) else x for x in before]
        result = getattr(ufunc, method)(*before, **kwargs)
        if method == "__call__" and ufunc in (np.power, np.float_power):
            result = _conditioned(ufunc, result, before, kwargs)
        if Shaken.separately and method == "__call__" and ufunc in (np.multiply, np.square) and _is_complex(result):
            result = _overflowing(result, before[0], before[-1], kwargs)
        if method == "reduce" and ufunc is np.multiply and Shaken.separately:
            result = _overflowing_product(result, before[0], kwargs)
        if ufunc is np.matmul or method in ("reduce", "accumulate", "reduceat") and ufunc in (np.add, np.multiply):
            result = _shake_sum(ufunc, method, result, before, kwargs)
        elif ufunc in (np.logaddexp, np.logaddexp2) and method == "__call__":  # terms that may cancel
            with np.errstate(all="ignore"):
                result = shake(
                    result, np.maximum(np.abs(before[0]), np.abs(before[1])), _narrowed(ufunc, before, result)
                )
        elif ufunc not in EXACT or any(map(_is_complex, (result, before[0]))) and ufunc not in SEPARATE:
            result = shake(result, None, _narrowed(ufunc, before, result) if out is not None else 1.0)
        if out is not None:
            return out if len(out) > 1 else out[0]
        return shaken(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.outer and not kwargs and len(args) == 2:  # which takes plain arrays of what it is given
            a, b = (shaken(np.asarray(plain(x))).reshape(-1) for x in args)
            return a[:, None] * b[None, :]
        result = super().__array_function__(func, types, args, kwargs)
        if func in SUMMING and Shaken.separately:
            result = shaken(_computed_wider(func, plain(result), args, kwargs))
        if func in INEXACT_FUNCTIONS:
            scale = None
            if func in SUMMING:
                magnitudes = [np.abs(plain(a)) if isinstance(a, np.ndarray) else a for a in args]
                try:
                    scale = plain(func(*magnitudes, **{k: plain(v) for k, v in kwargs.items()}))
                except (TypeError, ValueError):
                    scale = None
            return shaken(shake(plain(result), scale))
        return shaken(result)

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)


def plain(x: Any) -> Any:
    if isinstance(x, Shaken):
        return x.view(np.ndarray)
    if isinstance(x, tuple | list):
        return type(x)(map(plain, x)) if type(x) in (tuple, list) else x
    return x


def shaken(x: Any) -> Any:
    """`x`, or what it contains, as Shaken arrays (NumPy's scalars too: their dtype stays)."""
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc":
        return np.asarray(x).view(Shaken)
    if type(x) in (tuple, list):
        return type(x)(map(shaken, x))
    return x


def _conditioned(ufunc: np.ufunc, result: Any, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
    """The `result` of a power from moved operands: exp(y log x) in its place multiplies their roundings. Of complex
    numbers that are not finite, C libraries make now NaN, now infinity."""
    if getattr(result, "dtype", np.dtype(int)).kind not in "fc":
        return result
    with np.errstate(all="ignore"):
        operands = [shake(np.array(x, result.dtype)) for x in inputs]
        moved = np.asarray(ufunc(*operands, **{k: v for k, v in kwargs.items() if k == "where"}))
        if _is_complex(result) and Shaken.separately:
            doubtful = ~(np.isfinite(operands[0]) & np.isfinite(operands[1]) & np.isfinite(result))
            moved = np.where(doubtful, np.nan, moved).astype(result.dtype)
    where = kwargs.get("where", True)
    if isinstance(result, np.ndarray):
        usable = True if Shaken.separately and _is_complex(result) else np.isfinite(moved) == np.isfinite(result)
        np.copyto(result, moved, where=where & np.asarray(usable))
        return result
    return moved[()]


def _wide(x: Any) -> Any:
    """`x`, or the arrays in it, in the widest type of its kind."""
    x = plain(x)
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in WIDER:
        return x.astype(WIDER[x.dtype.kind])
    return type(x)(map(_wide, x)) if type(x) in (tuple, list) else x


def _computed_wider(func: Any, result: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The `result` of a sum of products, from the same operands in a wider type. Of complex numbers infinity and NaN are
    one: libraries multiply by 1 + 0j, or do not."""
    if getattr(result, "dtype", np.dtype(int)).kind not in WIDER or kwargs.get("out") is not None:
        return result
    sizes = [np.size(x) for x in args if isinstance(x, np.ndarray)]
    with np.errstate(all="ignore"):
        if math.prod(sizes) <= MAX_WIDE * max(*sizes, 1, 1):
            try:
                result = np.asarray(func(*map(_wide, args), **{k: _wide(v) for k, v in kwargs.items()})).astype(
                    result.dtype
                )[()]
            except (TypeError, ValueError):
                pass
        if _is_complex(result):
            return np.where(np.isfinite(result), result, _anything(np.shape(result))).astype(result.dtype)[()]
    return result


def _anything(shape: tuple[int, ...]) -> np.ndarray:
    """Complex numbers, or what multiplications of infinite ones by zeros make of them."""
    parts = Shaken.rng.choice((np.nan, np.inf, -np.inf, 1.0), (*shape, 2))
    return parts.view(np.complex128)[..., 0]


def _overflowing_product(result: Any, x: Any, kwargs: dict[str, Any]) -> Any:
    """The `result` of a product of many, as NaN where another order might overflow or underflow on the way."""
    if getattr(result, "dtype", np.dtype(int)).kind not in WIDER or not isinstance(x, np.ndarray):
        return result
    info = np.finfo(result.dtype)
    kwargs = {k: v for k, v in kwargs.items() if k in ("axis", "keepdims", "where")}
    with np.errstate(all="ignore"):
        sizes = np.log2(np.abs(x).astype(np.float64))
        sizes = np.where(np.isfinite(sizes), sizes, 0)
        above, below = (np.add.reduce(part, **kwargs) for part in (np.maximum(sizes, 0), np.minimum(sizes, 0)))
        doubtful = (above > info.maxexp - 2) & (below < -2) | (below < info.minexp) & (above > 2)
        lost = np.nan
        if _is_complex(result):
            doubtful |= ~np.isfinite(result) | (above > info.maxexp - 2)
            lost = _anything(np.shape(result))
        return np.where(doubtful, lost, result).astype(result.dtype)[()]


def _overflowing(product: Any, a: Any, b: Any, kwargs: dict[str, Any]) -> Any:
    """The complex `product` of a and b, as NaN in the parts where two separate products overflow."""
    a, b = (np.asarray(x, product.dtype) for x in (a, b))
    with np.errstate(all="ignore"):
        real, imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    for part, separate in ((np.asarray(product).real, real), (np.asarray(product).imag, imag)):
        lost = np.isnan(separate)
        if kwargs.get("where", True) is not True:
            lost &= kwargs["where"]
        if np.any(lost) and np.ndim(product):
            part[lost] = np.nan
        elif np.any(lost):
            return np.full((), complex(*(np.nan if np.isnan(x) else x for x in (real, imag))), product.dtype)[()]
    return product


def _is_complex(x: Any) -> bool:
    return getattr(x, "dtype", np.dtype(int)).kind == "c"


def _signs(shape: tuple[int, ...]) -> Any:
    """How far to move, of `ULPS`: by each number of units, of which the tangent of a large number may show any."""
    return Shaken.rng.choice((-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0), shape)


def _narrowed(ufunc: np.ufunc, inputs: Sequence[Any], result: Any) -> float:
    """How much coarser the ufunc computed than `result`, which may be a wider array that was given, is."""
    if ufunc.nout > 1 or getattr(result, "dtype", np.dtype(int)).kind not in "fc":
        return 1.0
    with np.errstate(all="ignore"):
        computed = ufunc(*[np.ones(1, x.dtype) if isinstance(x, np.ndarray | np.generic) else x for x in inputs]).dtype
    return float(np.finfo(computed).eps / np.finfo(result.dtype).eps) if computed.kind in "fc" else 1.0


def shake(x: Any, scale: Any = None, times: float = 1.0) -> Any:
    """`x` with its elements moved, in place where it is an array. scale: the magnitude they were computed from; times:
    by how much more."""
    if type(x) in (tuple, list):
        return type(x)(map(shake, x))
    if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind not in "fc":
        return x
    array = np.asarray(x)
    with np.errstate(all="ignore"):
        magnitude = np.abs(array)
        step = ULPS * np.spacing(magnitude)
        if scale is not None:
            step = np.maximum(step, ULPS * np.finfo(array.dtype).eps * np.abs(scale))
        step = step * max(times, 1.0)
        step = np.where(np.isfinite(step), step, 0)
        moved = array.real + _signs(array.shape) * step
        if array.dtype.kind == "c":
            moved = np.asarray(moved + 0j)
            moved.imag = array.imag + _signs(array.shape) * step
    finite = np.isfinite(array)
    if not array.flags.writeable:
        array = array.copy()
    np.copyto(array, moved.astype(array.dtype), where=finite)
    return array if isinstance(x, np.ndarray) else array[()]


def _shake_sum(ufunc: Any, method: str, result: Any, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
    magnitudes = [np.abs(x) if isinstance(x, np.ndarray) else x for x in inputs]
    kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    if getattr(result, "dtype", np.dtype(int)).kind not in "fc":
        return result
    if Shaken.separately and ufunc is not np.multiply:
        function = ufunc if ufunc is np.matmul else getattr(ufunc, method)
        wider = _computed_wider(function, result, inputs, {k: v for k, v in kwargs.items() if k != "dtype"})
        if isinstance(result, np.ndarray):
            np.copyto(result, wider)  # which may be memory that was given
        else:
            result = wider
    if kwargs.get("dtype") is not None:
        kwargs["dtype"] = np.float64
    with np.errstate(all="ignore"):
        scale = ufunc(*magnitudes, **kwargs) if ufunc is np.matmul else getattr(ufunc, method)(*magnitudes, **kwargs)
    return shake(result, 4 * np.asarray(scale))
