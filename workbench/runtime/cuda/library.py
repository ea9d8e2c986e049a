"""Library calls on a device: what NumPy's routines are called there, over any module with NumPy's names.

`cupy` is that module on a GPU; the tests take `numpy` itself, whose results must then be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...ir import Equation
from ..views import VIEWS
from .indexed import gather_checked, scatter, takes_scatter


def library_call(xp: Any, eqn: Equation) -> Callable[..., Any] | None:
    """The routine of `xp` that computes `eqn`, or None where it has none for these operands."""
    name, params = eqn.primitive.name, eqn.params
    dtypes = [a.aval.dtype for a in eqn.invars]
    kinds = {dtype.kind for dtype in dtypes}
    if any(0 in a.aval.shape for a in (*eqn.invars, *eqn.outvars)):
        return None  # nothing to compute there, and libraries differ in what they make of it
    if name in ("sort", "partition", "argsort", "searchsorted") and "c" in kinds:
        return None
    if name == "sort" and len(eqn.invars) > 1:
        return None
    if name in ("dot_general", "cumsum", "cumprod") and "b" in kinds:
        return None
    if name == "svd" and params.get("hermitian"):
        return None
    if name == "scatter" and not takes_scatter(dtypes[0], dtypes[-1], params["op"]):
        return None
    return _calls(xp).get(name)


@cache
def _calls(xp: Any) -> dict[str, Callable[..., Any]]:
    """The library calls that `xp` has, by primitive. Others run on the host."""

    def dot_general(x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any = None) -> Any:
        (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
        dtype = x.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
        if dtype != x.dtype and np.can_cast(x.dtype, dtype):
            x, y = x.astype(dtype), y.astype(dtype)
        x_free = [a for a in range(x.ndim) if a not in x_contracted and a not in x_batch]
        y_free = [a for a in range(y.ndim) if a not in y_contracted and a not in y_batch]
        batch = [x.shape[a] for a in x_batch]
        free = [x.shape[a] for a in x_free] + [y.shape[a] for a in y_free]
        k = math.prod(x.shape[a] for a in x_contracted)
        m, n = math.prod(x.shape[a] for a in x_free), math.prod(y.shape[a] for a in y_free)
        left = x.transpose((*x_batch, *x_free, *x_contracted)).reshape((*batch, m, k))
        right = y.transpose((*y_batch, *y_contracted, *y_free)).reshape((*batch, k, n))
        return xp.matmul(left, right).reshape((*batch, *free)).astype(dtype, copy=False)

    def sort(x: Any, *, dimension: int, **_: Any) -> tuple[Any]:
        return (xp.sort(x, axis=dimension),)

    def accumulated(name: str) -> Callable[..., Any]:
        def scan(x: Any, *, axis: int, reverse: bool = False) -> Any:
            forward = xp.flip(x, axis) if reverse else x
            # CuPy has a routine of CUB for arrays of which it need not know the axis, three times as fast as its own.
            out = getattr(xp, name)(forward, axis=None if x.ndim == 1 else axis, dtype=x.dtype)
            return xp.flip(out, axis) if reverse else out

        return scan

    def argsort(x: Any, *, axis: int, kind: str | None = None) -> Any:
        return xp.argsort(x, axis=axis, kind="stable").astype(np.int64, copy=False)

    def searchsorted(a: Any, v: Any, *sorter: Any, side: str = "left") -> Any:
        return xp.searchsorted(a, v, side, *sorter).astype(np.int64, copy=False)

    def irfft(x: Any, n: int, axis: int, norm: str | None) -> Any:
        # NumPy ignores the imaginary parts of the first and, for even lengths, the last term; cuFFT does not.
        n_terms = n // 2 + 1
        front = xp.moveaxis(x, axis, -1)
        terms = xp.zeros((*front.shape[:-1], n_terms), front.dtype)
        kept = min(n_terms, front.shape[-1])
        terms[..., :kept] = front[..., :kept]
        for term in (0, n // 2) if n % 2 == 0 else (0,):
            terms[..., term] = terms[..., term].real
        return xp.moveaxis(xp.fft.irfft(terms, n=n, axis=-1, norm=norm), -1, axis)

    def fft(x: Any, *, fft_type: str, fft_lengths: Sequence[int], axes: Sequence[int], norm: str | None = None) -> Any:
        if fft_type == "IRFFT":
            # Axis by axis, as NumPy does it: cuFFT expects all axes together to be Hermitian.
            *others, last = axes
            if others:
                x = xp.fft.ifftn(x, s=tuple(fft_lengths[:-1]), axes=tuple(others), norm=norm)
            return irfft(x, fft_lengths[-1], last, norm)
        function = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn"}[fft_type]
        return getattr(xp.fft, function)(x, s=tuple(fft_lengths), axes=tuple(axes), norm=norm)

    def cholesky(a: Any, *, upper: bool = False) -> Any:
        # CuPy's has no `upper`, and reads the lower triangle.
        lower = xp.linalg.cholesky(a.swapaxes(-1, -2).conj() if upper else a)
        return lower.swapaxes(-1, -2).conj() if upper else lower

    def solve(a: Any, b: Any) -> Any:
        if b.ndim == 1:
            return xp.linalg.solve(a, xp.broadcast_to(b, a.shape[:-1])[..., None])[..., 0]
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # CuPy's does not broadcast
        return xp.linalg.solve(xp.broadcast_to(a, stack + a.shape[-2:]), xp.broadcast_to(b, stack + b.shape[-2:]))

    def eigh(a: Any, *, uplo: str = "L") -> tuple[Any, ...]:
        return tuple(xp.linalg.eigh(a, uplo))

    def svd(a: Any, *, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> tuple[Any, ...]:
        found = xp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return tuple(found) if compute_uv else (found,)

    def qr(a: Any, *, mode: str = "reduced") -> tuple[Any, ...]:
        found = xp.linalg.qr(a, mode)
        return (found,) if mode == "r" else tuple(found)

    return {
        "dot_general": dot_general,
        "sort": sort,
        "partition": lambda x, *, kth, axis: xp.sort(x, axis=axis),  # which has everything in its place
        "argsort": argsort,
        "searchsorted": searchsorted,
        "scatter": scatter(xp),
        "gather_checked": gather_checked(xp),
        "cumsum": accumulated("cumsum"),
        "cumprod": accumulated("cumprod"),
        "fft": fft,
        "cholesky": cholesky,
        "inv": xp.linalg.inv,
        "solve": solve,
        "det": xp.linalg.det,
        "slogdet": lambda a: tuple(xp.linalg.slogdet(a)),
        "eigh": eigh,
        "svd": svd,
        "qr": qr,
        "broadcast_in_dim": lambda x, *, shape, broadcast_dimensions: xp.broadcast_to(
            x.reshape(tuple(x.shape[broadcast_dimensions.index(d)] if d in broadcast_dimensions else 1
                            for d in range(len(shape)))), shape),
        "concatenate": lambda *xs, dimension: xp.concatenate(xs, axis=dimension),
        "empty": lambda *, shape, dtype: xp.empty(shape, dtype),
        **VIEWS,
    }  # fmt: skip
