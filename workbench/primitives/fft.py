"""Discrete Fourier transforms over any axes, in the operand's precision (NumPy's pocketfft)."""

from __future__ import annotations

import math

import numpy as np

from ..ir import Aval, Primitive
from .lowering import LibraryCall
from .signatures import COMPLEX, FLOATS, check_axes, check_dtype, complex_of, real_part

TRANSFORMS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
NORMS = ("backward", "ortho", "forward")

# ---- fft: fft_lengths are the transform's lengths along `axes`; the operand is cut or zero-padded to them ----
fft_p = Primitive("fft")


@fft_p.def_impl
def fft_impl(
    x: np.ndarray, *, fft_type: str, fft_lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None = None
) -> np.ndarray:
    return TRANSFORMS[fft_type](x, s=tuple(fft_lengths), axes=tuple(axes), norm=norm)


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
