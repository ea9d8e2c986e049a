"""Discrete Fourier transforms over any axes, in the operand's precision (NumPy's pocketfft)."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Aval, Primitive
from .lowering import LibraryCall
from .signatures import COMPLEX, FLOATS, check_axes, check_dtype, complex_of, real_part

TRANSFORMS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
NORMS = ("backward", "ortho", "forward")


@functools.cache
def _routines() -> dict[tuple[str, bool], Callable[..., Any]]:
    """NumPy's loops over rows, by the transform and whether its length is odd: what its functions come to, after three
    times as long for short rows. Empty where they go by other names."""
    try:
        found = importlib.import_module("numpy.fft._pocketfft_umath")
        each = {"FFT": (found.fft,) * 2, "IFFT": (found.ifft,) * 2, "IRFFT": (found.irfft,) * 2}
        each["RFFT"] = (found.rfft_n_even, found.rfft_n_odd)
    except (ImportError, AttributeError):
        return {}
    return {(name, bool(k)): ufunc for name, ufuncs in each.items() for k, ufunc in enumerate(ufuncs)}


@functools.cache
def _factor(length: int, norm: str | None, dtype: np.dtype, forward: bool) -> Any:
    """What NumPy multiplies a transform by."""
    if norm == "ortho":
        return np.reciprocal(np.sqrt(length, dtype=dtype))
    return np.reciprocal(length, dtype=dtype) if forward is (norm == "forward") else 1


def _along(x: np.ndarray, fft_type: str, length: int, axis: int, norm: str | None) -> np.ndarray:
    """The transform along one axis."""
    dtype = real_part(x.dtype)
    shape = list(x.shape)
    shape[axis] = length // 2 + 1 if fft_type == "RFFT" else length
    out_dtype = dtype if fft_type == "IRFFT" else complex_of(x.dtype)
    in_order = x.flags.c_contiguous
    out = np.empty(shape, out_dtype) if in_order else np.empty_like(x, shape=tuple(shape), dtype=out_dtype)
    factor = _factor(length, norm, dtype, fft_type in ("FFT", "RFFT"))
    return _routines()[fft_type, bool(length % 2)](x, factor, axes=[(axis,), (), (axis,)], out=out)


# ---- fft: fft_lengths are the transform's lengths along `axes`; the operand is cut or zero-padded to them ----
fft_p = Primitive("fft")


@fft_p.def_impl
def fft_impl(
    x: np.ndarray, *, fft_type: str, fft_lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None = None
) -> np.ndarray:
    if not _routines() or not x.size:
        return TRANSFORMS[fft_type](x, s=tuple(fft_lengths), axes=tuple(axes), norm=norm)
    pairs = list(zip(fft_lengths, axes, strict=True))
    last = pairs.pop()  # which alone is between real and complex numbers
    inner = "IFFT" if fft_type in ("IFFT", "IRFFT") else "FFT"
    if fft_type == "IRFFT":
        for length, axis in pairs:
            x = _along(x, inner, length, axis, norm)
        return _along(x, fft_type, *last, norm)
    x = _along(x, fft_type, *last, norm)
    for length, axis in reversed(pairs):
        x = _along(x, inner, length, axis, norm)
    return x


@fft_p.def_abstract_eval
def fft_aval(
    x: Aval, *, fft_type: str, fft_lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None = None
) -> Aval:
    if fft_type not in TRANSFORMS or norm not in (None, *NORMS):
        raise ValueError(f"fft: fft_type {fft_type!r} of {tuple(TRANSFORMS)}, norm {norm!r} of {NORMS}")
    check_dtype("fft", x, FLOATS if fft_type == "RFFT" else COMPLEX)
    check_axes("fft", axes, x.ndim)
    if len(fft_lengths) != len(axes) or not axes:
        raise ValueError(f"fft: lengths {tuple(fft_lengths)} for axes {tuple(axes)}")
    for length in fft_lengths:
        if length < 1:
            raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
    shape = list(x.shape)
    for axis, length in zip(axes, fft_lengths, strict=True):
        shape[axis] = length
    if fft_type == "RFFT":
        shape[axes[-1]] = fft_lengths[-1] // 2 + 1
    return Aval(tuple(shape), real_part(x.dtype) if fft_type == "IRFFT" else complex_of(x.dtype))


def _fft_flops(x: Aval, *, fft_type: str, fft_lengths: tuple[int, ...], **_: object) -> float:
    # 5 n log2 n: the usual count for a complex transform, half of it for a real one.
    flops = 5.0 * x.size * max(math.log2(max(math.prod(fft_lengths), 2)), 1.0)
    return flops / 2 if fft_type in ("RFFT", "IRFFT") else flops


fft_p.def_lowering(LibraryCall(fft_impl, library="pocketfft", flops=_fft_flops))
