"""`np.fft`: transforms as `fft` primitives over any axes, in the precision of the operand."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import movement, ufuncs
from .creation import constant
from .operands import array, as_array, bind, cast, is_tracer, normalize_axis_index, static_array
from .promotion import result_type
from .reductions import finish

INVERSE_NORMS = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def transform(
    kind: str, a: Any, lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None, out: Any = None
) -> Any:
    """The primitive `fft` of an array of any dtype; `lengths` are the transform's own (of the result for IRFFT)."""
    a = array(a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    needed = result_type(a, np.float32 if a.dtype == np.float32 else 0.0, *(() if kind == "RFFT" else (0j,)))
    if kind == "RFFT" and a.dtype.kind == "c":
        for n in lengths[-1:]:
            check_length(n)
        raise TypeError("ufunc 'rfft_n_even' did not contain a loop with signature matching types "
                        f"{a.dtype!r} -> None")  # fmt: skip
    for n in lengths:
        check_length(n)
    if axes:
        result = bind("fft", cast(a, needed), fft_type=kind, fft_lengths=lengths, axes=axes, norm=norm)
    else:
        result = as_array(a)
    return finish(result, out, "fft", "same_kind")


def check_length(n: int) -> None:
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")


def _one_axis(kind: str) -> Callable[..., Any]:
    def along_axis(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
        a = array(a)
        axis = normalize_axis_index(axis, a.ndim)
        if n is None:
            n = (a.shape[axis] - 1) * 2 if kind == "IRFFT" else a.shape[axis]
        return transform(kind, a, (operator.index(n),), (axis,), norm, out)  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does

    return along_axis


fft = _one_axis("FFT")
ifft = _one_axis("IFFT")
rfft = _one_axis("RFFT")
irfft = _one_axis("IRFFT")


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    a = array(a)
    if n is None:
        n = (a.shape[axis] - 1) * 2
    return irfft(ufuncs.call_ufunc(np.conjugate, a), n, axis, INVERSE_NORMS[norm], out)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return finish(ufuncs.call_ufunc(np.conjugate, rfft(a, n, axis, INVERSE_NORMS[norm])), out, "ihfft")


def _lengths_and_axes(a: Any, s: Any, axes: Any, of_result: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if axes is None:
        axes = tuple(range(-len(s), 0)) if s is not None else tuple(range(a.ndim))
    axes = tuple(normalize_axis_index(operator.index(i), a.ndim) for i in axes)
    if s is None:
        lengths = [a.shape[i] for i in axes]
        if of_result and lengths:
            lengths[-1] = (lengths[-1] - 1) * 2
    else:
        lengths = [operator.index(n) for n in s]
        if len(lengths) != len(axes):
            raise ValueError("Shape and axes have different lengths.")
        lengths = [a.shape[i] if n == -1 else n for n, i in zip(lengths, axes, strict=True)]
    return tuple(lengths), axes


def _several_axes(kind: str, default: tuple[int, ...] | None) -> Callable[..., Any]:
    def over_axes(a: Any, s: Any = None, axes: Any = default, norm: str | None = None, out: Any = None) -> Any:
        a = array(a)
        lengths, along = _lengths_and_axes(a, s, axes, kind == "IRFFT")
        if not along and kind in ("RFFT", "IRFFT"):
            raise IndexError("at least one axis must be given")
        if len(set(along)) == len(along):
            return transform(kind, a, lengths, along, norm, out)
        result = a  # an axis named twice is transformed twice
        for n, axis in zip(lengths[::-1], along[::-1], strict=True):
            result = transform(kind, result, (n,), (axis,), norm)
        return finish(result, out, "fft")

    return over_axes


fftn = _several_axes("FFT", None)
ifftn = _several_axes("IFFT", None)
rfftn = _several_axes("RFFT", None)
irfftn = _several_axes("IRFFT", None)
fft2 = _several_axes("FFT", (-2, -1))
ifft2 = _several_axes("IFFT", (-2, -1))
rfft2 = _several_axes("RFFT", (-2, -1))
irfft2 = _several_axes("IRFFT", (-2, -1))


def _shift(inverse: bool) -> Callable[..., Any]:
    def shift(x: Any, axes: Any = None) -> Any:
        x = array(x)
        along = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
        amounts = [-(x.shape[i] // 2) if inverse else x.shape[i] // 2 for i in along]
        return movement.roll(x, amounts, along)

    return shift


def _frequencies(in_numpy: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """`fftfreq` or `rfftfreq`. n, the window's length, is known; d, the sample spacing, may be traced."""

    def frequencies(n: Any, d: Any = 1.0, device: Any = None) -> Any:
        if is_tracer(n):
            n = static_array(n, in_numpy.__name__).item()
        if not is_tracer(d):
            return constant(in_numpy(n, d))
        multiples = np.rint(in_numpy(n) * n).astype(int)
        return ufuncs.call_ufunc(np.multiply, multiples, 1.0 / (d * n))

    return frequencies


fftfreq, rfftfreq = _frequencies(np.fft.fftfreq), _frequencies(np.fft.rfftfreq)
fftshift = _shift(False)
ifftshift = _shift(True)
