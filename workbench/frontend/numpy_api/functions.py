"""The table of NumPy functions: `FUNCTIONS[np.mean]` is called with the arguments that the user gave `np.mean`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tracer import Deferred
from ..views import shares_memory
from . import (
    calculus,
    contractions,
    creation,
    distinct,
    einsum,
    fft,
    histograms,
    joining,
    library,
    linalg,
    masked,
    movement,
    padding,
    picking,
    polynomials,
    reductions,
    selected_calls,  # noqa: F401  (it adds to what selections are passed to)
    selection,
    sorting,
    statistics,
    vectorized,
    windows,
)
from .operands import array, has_tracer, is_tracer, operand, shape_of
from .promotion import DEFAULT_DTYPES, dtype_key

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

# ---- what is known without the numbers ----


def _dtype_of_argument(x: Any) -> Any:
    if is_tracer(x):
        key = dtype_key(x)
        return key if isinstance(key, np.dtype) else DEFAULT_DTYPES[key].type(0).item()
    return x


FUNCTIONS.update({
    np.shape: lambda a: shape_of(operand(a)),
    np.ndim: lambda a: len(shape_of(operand(a))),
    np.size: lambda a, axis=None: array(a).size if axis is None else int(np.size(_stand_in(a), axis)),
    np.iscomplexobj: lambda x: array(x).dtype.kind == "c",
    np.isrealobj: lambda x: array(x).dtype.kind != "c",
    np.result_type: lambda *xs: np.result_type(*map(_dtype_of_argument, xs)),
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(_dtype_of_argument(from_), to, casting),  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does
    np.common_type: lambda *xs: np.common_type(*map(_stand_in, xs)),
    np.min_scalar_type: lambda a: np.min_scalar_type(_stand_in(a)),
    np.may_share_memory: lambda a, b, max_work=None: shares_memory(a, b),
    np.shares_memory: lambda a, b, max_work=None: shares_memory(a, b),
    np.isfortran: lambda a: bool(array(a).flags.fnc),
    np.einsum_path: einsum.einsum_path,
})  # fmt: skip


def _stand_in(x: Any) -> Any:
    """An array of the shape and dtype of `x` that takes no memory."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if is_tracer(x) else x


def _indices_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """`tril_indices_from` and its relatives read a shape only."""

    def create(arr: Any, *args: Any, **kwargs: Any) -> Any:
        return tuple(creation.constant(i) for i in function(_stand_in(array(arr)), *args, **kwargs))

    create.__name__ = function.__name__
    return create


FUNCTIONS.update({f: _indices_from(f) for f in (np.tril_indices_from, np.triu_indices_from, np.diag_indices_from)})

# ---- creation from an array ----
FUNCTIONS.update({
    np.zeros_like: creation.zeros_like, np.ones_like: creation.ones_like, np.empty_like: creation.empty_like,
    np.full_like: creation.full_like, np.copy: creation.copy, np.linspace: creation.linspace,
    np.logspace: creation.logspace, np.geomspace: creation.geomspace, np.meshgrid: creation.meshgrid,
    np.ix_: creation.ix_, np.vander: creation.vander, np.astype: creation.astype, np.full: creation.full,
})  # fmt: skip

# ---- movement ----
FUNCTIONS.update({
    np.reshape: movement.reshape, np.ravel: movement.ravel, np.transpose: movement.transpose,
    np.permute_dims: movement.transpose, np.matrix_transpose: movement.matrix_transpose,
    np.linalg.matrix_transpose: movement.matrix_transpose, np.moveaxis: movement.moveaxis,
    np.rollaxis: movement.rollaxis, np.swapaxes: movement.swapaxes, np.squeeze: movement.squeeze,
    np.expand_dims: movement.expand_dims, np.atleast_1d: movement.atleast_1d, np.atleast_2d: movement.atleast_2d,
    np.atleast_3d: movement.atleast_3d, np.broadcast_to: movement.broadcast_to,
    np.broadcast_arrays: movement.broadcast_arrays, np.flip: movement.flip, np.flipud: movement.flipud,
    np.fliplr: movement.fliplr, np.rot90: movement.rot90, np.roll: movement.roll, np.diagonal: movement.diagonal,
    np.linalg.diagonal: movement.linalg_diagonal, np.diag: movement.diag, np.diagflat: movement.diagflat,
    np.fill_diagonal: movement.fill_diagonal, np.tril: movement.tril, np.triu: movement.triu,
    np.concatenate: joining.concatenate, np.concat: joining.concatenate, np.stack: joining.stack,
    np.vstack: joining.vstack, np.hstack: joining.hstack, np.dstack: joining.dstack,
    np.column_stack: joining.column_stack, np.block: joining.block, np.append: joining.append,
    np.split: joining.split, np.array_split: joining.array_split, np.hsplit: joining.hsplit,
    np.vsplit: joining.vsplit, np.dsplit: joining.dsplit, np.unstack: joining.unstack, np.tile: joining.tile,
    np.repeat: joining.repeat, np.resize: joining.resize, np.delete: joining.delete, np.insert: joining.insert,
    np.pad: padding.pad, np.lib.stride_tricks.sliding_window_view: windows.sliding_window_view,
})  # fmt: skip
if hasattr(np, "row_stack"):
    FUNCTIONS[np.row_stack] = joining.vstack

# ---- reductions and statistics ----
FUNCTIONS.update({
    np.sum: reductions.sum_, np.prod: reductions.prod, np.max: reductions.amax, np.amax: reductions.amax,
    np.min: reductions.amin, np.amin: reductions.amin, np.any: reductions.any_, np.all: reductions.all_,
    np.ptp: reductions.ptp, np.count_nonzero: reductions.count_nonzero, np.argmax: reductions.argmax,
    np.argmin: reductions.argmin, np.cumsum: reductions.cumsum, np.cumprod: reductions.cumprod,
    np.cumulative_sum: reductions.cumulative_sum, np.cumulative_prod: reductions.cumulative_prod,
    np.diff: reductions.diff, np.ediff1d: reductions.ediff1d, np.trapezoid: reductions.trapezoid,
    np.mean: statistics.mean, np.var: statistics.variance, np.std: statistics.standard_deviation,
    np.average: statistics.average, np.median: statistics.median, np.quantile: statistics.quantile,
    np.percentile: statistics.percentile, np.nanquantile: statistics.nanquantile,
    np.nanpercentile: statistics.nanpercentile, np.nanmedian: statistics.nanmedian, np.nansum: statistics.nansum,
    np.nanprod: statistics.nanprod, np.nanmax: statistics.nanmax, np.nanmin: statistics.nanmin,
    np.nanmean: statistics.nanmean, np.nanvar: statistics.nanvar, np.nanstd: statistics.nanstd,
    np.nanargmax: statistics.nanargmax, np.nanargmin: statistics.nanargmin, np.nancumsum: statistics.nancumsum,
    np.nancumprod: statistics.nancumprod, np.cov: statistics.cov, np.corrcoef: statistics.corrcoef,
})  # fmt: skip

# ---- products ----
FUNCTIONS.update({
    np.dot: contractions.dot, np.vdot: contractions.vdot, np.inner: contractions.inner, np.outer: contractions.outer,
    np.tensordot: contractions.tensordot, np.kron: contractions.kron, np.cross: contractions.cross,
    np.trace: contractions.trace, np.einsum: einsum.einsum,
})  # fmt: skip

# ---- linear algebra ----
FUNCTIONS.update({
    np.linalg.solve: linalg.solve, np.linalg.inv: linalg.inv, np.linalg.det: linalg.det,
    np.linalg.slogdet: linalg.slogdet, np.linalg.cholesky: linalg.cholesky, np.linalg.qr: linalg.qr,
    np.linalg.svd: linalg.svd, np.linalg.svdvals: linalg.svdvals, np.linalg.eigh: linalg.eigh,
    np.linalg.eigvalsh: linalg.eigvalsh, np.linalg.eig: linalg.eig, np.linalg.eigvals: linalg.eigvals,
    np.linalg.lstsq: linalg.lstsq, np.linalg.pinv: linalg.pinv, np.linalg.matrix_rank: linalg.matrix_rank,
    np.linalg.tensorsolve: linalg.tensorsolve, np.linalg.tensorinv: linalg.tensorinv, np.linalg.norm: linalg.norm,
    np.linalg.vector_norm: linalg.vector_norm, np.linalg.matrix_norm: linalg.matrix_norm,
    np.linalg.cond: linalg.cond, np.linalg.matrix_power: linalg.matrix_power, np.linalg.multi_dot: linalg.multi_dot,
    np.linalg.trace: contractions.linalg_trace, np.linalg.cross: contractions.linalg_cross,
    np.linalg.outer: contractions.linalg_outer, np.linalg.tensordot: contractions.linalg_tensordot,
    np.linalg.matmul: contractions.linalg_matmul, np.linalg.vecdot: contractions.linalg_vecdot,
})  # fmt: skip

# ---- Fourier transforms ----
FUNCTIONS.update({
    getattr(np.fft, name): getattr(fft, name)
    for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2",
        "irfft2", "fftshift", "ifftshift",
    )
})  # fmt: skip

# ---- selection and elementwise functions ----
FUNCTIONS.update({
    np.where: selection.where, np.select: selection.select, np.piecewise: selection.piecewise,
    np.choose: selection.choose, np.clip: selection.clip, np.isclose: selection.isclose,
    np.allclose: selection.allclose, np.array_equal: selection.array_equal, np.array_equiv: selection.array_equiv,
    np.round: selection.around, np.around: selection.around, np.fix: selection.fix, np.real: selection.real,
    np.imag: selection.imag, np.real_if_close: selection.real_if_close, np.angle: selection.angle,
    np.iscomplex: selection.iscomplex, np.isreal: selection.isreal, np.isposinf: selection.isposinf,
    np.isneginf: selection.isneginf, np.nan_to_num: selection.nan_to_num, np.sinc: selection.sinc,
    np.i0: selection.i0, np.unwrap: selection.unwrap, np.compress: selection.compress, np.extract: selection.extract,
    np.interp: calculus.interp, np.gradient: calculus.gradient, np.convolve: calculus.convolve,
    np.correlate: calculus.correlate, np.apply_along_axis: calculus.apply_along_axis,
    np.apply_over_axes: calculus.apply_over_axes,
})  # fmt: skip

# ---- picking and placing ----
FUNCTIONS.update({
    np.take: picking.take, np.take_along_axis: picking.take_along_axis, np.put: picking.put,
    np.put_along_axis: picking.put_along_axis, np.putmask: picking.putmask, np.place: picking.place,
    np.copyto: picking.copyto, np.nonzero: masked.nonzero, np.flatnonzero: masked.flatnonzero,
    np.argwhere: masked.argwhere,
})  # fmt: skip

# ---- sorting and counting ----
FUNCTIONS.update({
    np.sort: sorting.sort, np.argsort: sorting.argsort, np.sort_complex: sorting.sort_complex,
    np.partition: sorting.partition, np.argpartition: sorting.argpartition, np.lexsort: sorting.lexsort,
    np.searchsorted: sorting.searchsorted, np.digitize: sorting.digitize, np.isin: sorting.isin,
    np.bincount: histograms.bincount, np.histogram: histograms.histogram, np.histogram2d: histograms.histogram2d,
    np.histogram_bin_edges: histograms.histogram_bin_edges, np.packbits: sorting.packbits,
    np.unpackbits: sorting.unpackbits, np.ravel_multi_index: sorting.ravel_multi_index,
    np.unravel_index: sorting.unravel_index,
})  # fmt: skip

# ---- polynomials ----
FUNCTIONS.update({
    np.polyval: polynomials.polyval, np.polyadd: polynomials.polyadd, np.polysub: polynomials.polysub,
    np.polymul: polynomials.polymul, np.polyder: polynomials.polyder, np.polyint: polynomials.polyint,
    np.poly: polynomials.poly, np.polyfit: polynomials.polyfit,
})  # fmt: skip

# ---- refused, unless the operands are known while tracing ----
_DISTINCT = distinct.WHY
REFUSED = {
    np.unique_all: _DISTINCT, np.unique_counts: _DISTINCT, np.unique_inverse: _DISTINCT,
    np.unique_values: _DISTINCT, np.union1d: _DISTINCT, np.intersect1d: _DISTINCT, np.setdiff1d: _DISTINCT,
    np.setxor1d: _DISTINCT, np.trim_zeros: "how many zeros there are to trim depends on data",
    np.roots: "leading and trailing zeros are cut off, so that the shape of the result depends on data",
    np.polydiv: "leading zeros of the remainder are cut off, so that its shape depends on data",
    np.histogramdd: "it returns a list of edges within a tuple, which no program does",
}  # fmt: skip
FUNCTIONS.update({function: library.refused(function, why) for function, why in REFUSED.items()})
FUNCTIONS[np.unique] = distinct.unique


# ---- lists of traced values, on which NumPy does not dispatch ----


def _of_lists(function: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    """`np.max([a, b])` of traced scalars: NumPy looks for overrides in arguments, not in lists."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(issubclass(type(x), Deferred) for x in args):  # it has its own handlers
            return function(*args, **kwargs)
        if any(map(has_tracer, args)) or any(map(has_tracer, kwargs.values())):
            return handler(*args, **kwargs)
        return function(*args, **kwargs)

    call.__name__ = function.__name__
    return call


creation.CREATION[np.lib.stride_tricks.as_strided] = windows.as_strided
creation.CREATION[np.vectorize] = vectorized.vectorize
creation.CREATION.update({np.fft.fftfreq: fft.fftfreq, np.fft.rfftfreq: fft.rfftfreq})
creation.CREATION.update({f: _of_lists(f, handler) for f, handler in FUNCTIONS.items() if f not in creation.CREATION})
