"""Calls of every NumPy function and method with one drawn array `x`, for the differential tests.

A key is the function as NumPy spells it. Where a call makes no sense for an array, NumPy raises, and so must tracing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Call = Callable[[np.ndarray], object]
L = np.linalg


def written(x: np.ndarray) -> np.ndarray:
    """A C-ordered copy for functions that change their argument."""
    return x.copy()


def square(x: np.ndarray) -> np.ndarray:
    """The largest square at the corner. (NumPy takes the diagonal of a (0, 1) array in some calls, in others not.)"""
    return x[: min(x.shape), : min(x.shape)] if x.ndim == 2 else x


def spd(x: np.ndarray) -> np.ndarray:
    """A well-conditioned square matrix of the numbers in `x`."""
    flat = np.resize(np.where(np.isfinite(x), x, 1), (3, 3))
    return flat @ np.conj(flat.T) + 60 * np.eye(3, dtype=flat.dtype)


MOVEMENT: dict[str, tuple[Call, ...]] = {
    "reshape": (
        lambda x: np.reshape(x, -1), lambda x: x.reshape(-1, 2), lambda x: np.reshape(x, (-1, 1), order="F"),
        lambda x: x.reshape(*x.shape[::-1]), lambda x: np.reshape(x, 7), lambda x: x.T.reshape(x.size, order="A"),
    ),
    "ravel": (lambda x: np.ravel(x), lambda x: x.ravel("F"), lambda x: x.T.ravel("K"), lambda x: x.ravel("A")),
    "flatten": (lambda x: x.flatten(), lambda x: x.flatten("F")),
    "transpose": (
        lambda x: np.transpose(x), lambda x: x.T, lambda x: x.transpose(1, 0), lambda x: np.transpose(x, (0, -1, 1)),
    ),
    "permute_dims": (lambda x: np.permute_dims(x, (1, 0)),),
    "matrix_transpose": (lambda x: np.matrix_transpose(x), lambda x: x.mT),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, (0, 1), (1, 0))),
    "rollaxis": (lambda x: np.rollaxis(x, 1), lambda x: np.rollaxis(x, 0, 2)),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda x: np.swapaxes(x, 0, 1)),
    "squeeze": (lambda x: np.squeeze(x), lambda x: x.squeeze(0), lambda x: np.squeeze(x, (0, -1))),
    "expand_dims": (lambda x: np.expand_dims(x, 0), lambda x: np.expand_dims(x, (0, -1))),
    "atleast_1d": (lambda x: np.atleast_1d(x, 3),),
    "atleast_2d": (lambda x: np.atleast_2d(x),),
    "atleast_3d": (lambda x: np.atleast_3d(x),),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x, (2, *x.shape))),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, x[None]), lambda x: np.broadcast_arrays(x, x[..., :1])),
    "flip": (lambda x: np.flip(x), lambda x: np.flip(x, 0), lambda x: np.flip(x, (0, -1))),
    "flipud": (lambda x: np.flipud(x),),
    "fliplr": (lambda x: np.fliplr(x),),
    "rot90": tuple(lambda x, k=k: np.rot90(x, k) for k in range(-1, 4)),
    "roll": (lambda x: np.roll(x, 2), lambda x: np.roll(x, (1, -1), (0, 1)), lambda x: np.roll(x, -7, axis=-1)),
    "diagonal": (lambda x: np.diagonal(x), lambda x: x.diagonal(-1, 1, 0), lambda x: np.diagonal(x, 1, -2, -1)),
    "diag": (lambda x: np.diag(x), lambda x: np.diag(x, 1), lambda x: np.diag(x, -2)),
    "diagflat": (lambda x: np.diagflat(x), lambda x: np.diagflat(x, -1)),
    "tril": (lambda x: np.tril(x), lambda x: np.tril(x, 1)),
    "triu": (lambda x: np.triu(x), lambda x: np.triu(x, -1)),
    "concatenate": (
        lambda x: np.concatenate([x, x]), lambda x: np.concatenate([x, x[..., :1]], -1),
        lambda x: np.concatenate((x, x * 2.5), axis=None), lambda x: np.concatenate([x, x], dtype="f8"),
        lambda x: np.concatenate([x, x], dtype="i4", casting="unsafe") if x.dtype.kind in "biu" else None,
    ),
    "concat": (lambda x: np.concat([x, np.ones(x.shape, "i4")], 0),),
    "stack": (lambda x: np.stack([x, x]), lambda x: np.stack([x, x], -1), lambda x: np.stack(list(x))),
    "vstack": (lambda x: np.vstack([x, x]),),
    "row_stack": (lambda x: np.vstack((x, x)),),
    "hstack": (lambda x: np.hstack([x, x]),),
    "dstack": (lambda x: np.dstack([x, x]),),
    "column_stack": (lambda x: np.column_stack([x, x]),),
    "block": (lambda x: np.block([[x, x], [x, x]]), lambda x: np.block([x, 1])),
    "append": (lambda x: np.append(x, [1, 2]), lambda x: np.append(x, x, axis=0)),
    "split": (lambda x: np.split(x, 2), lambda x: np.split(x, [1, 2]), lambda x: np.split(x, [3, 1], axis=-1)),
    "array_split": (lambda x: np.array_split(x, 3, axis=-1),),
    "hsplit": (lambda x: np.hsplit(x, 2),),
    "vsplit": (lambda x: np.vsplit(x, [1]),),
    "dsplit": (lambda x: np.dsplit(x, 2),),
    "unstack": (lambda x: np.unstack(x), lambda x: np.unstack(x, axis=-1)),
    "tile": (lambda x: np.tile(x, 2), lambda x: np.tile(x, (2, 1, 3)), lambda x: np.tile(x, 0)),
    "repeat": (
        lambda x: np.repeat(x, 2), lambda x: np.repeat(x, [1, 2, 0], axis=0), lambda x: x.repeat(3, axis=-1),
    ),
    "resize": (lambda x: np.resize(x, (3, 5)), lambda x: np.resize(x, 2)),
    "delete": (lambda x: np.delete(x, [0, 1]), lambda x: np.delete(x, 1, axis=0), lambda x: np.delete(x, slice(2))),
    "insert": (
        lambda x: np.insert(x, 1, 5), lambda x: np.insert(x, [0, 2], [1, 2], axis=-1),
        lambda x: np.insert(x, 1, x[0], axis=0), lambda x: np.insert(x, [1], x[:1], axis=0),
        lambda x: np.insert(x, [0, 0, 1], 7, axis=0),
    ),
    "pad": (
        lambda x: np.pad(x, 1), lambda x: np.pad(x, (1, 2), constant_values=3),
        lambda x: np.pad(x, (1, 0), constant_values=(1, 2)), lambda x: np.pad(x, (2, 3), mode="edge"),
        lambda x: np.pad(x, (2, 7), mode="reflect"), lambda x: np.pad(x, 5, mode="symmetric"),
        lambda x: np.pad(x, (3, 9), mode="wrap"), lambda x: np.pad(x, 2, mode="linear_ramp", end_values=5),
        lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd"), lambda x: np.pad(x, 1, mode="maximum"),
        lambda x: np.pad(x, 1, mode="minimum", stat_length=2), lambda x: np.pad(x, {0: 2}),
        lambda x: np.pad(x, 1, mode="nonsense"),
    ),
    "meshgrid": (lambda x: np.meshgrid(x, [1, 2]), lambda x: np.meshgrid(x, x, indexing="ij", sparse=True)),
    "take": (
        lambda x: np.take(x, [0, -1]), lambda x: x.take([[0, 1]], axis=-1), lambda x: np.take(x, 0, axis=0),
        lambda x: np.take(x, [-5, 9], mode="clip"), lambda x: np.take(x, [-5, 9], axis=0, mode="wrap"),
        lambda x: np.take(x, np.abs(x.ravel() % 3).astype(int)) if x.dtype.kind in "iu" else None,
    ),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), -1),),
    "compress": (lambda x: np.compress([True, False, True], x, axis=0), lambda x: x.compress([False, True])),
    "extract": (lambda x: np.extract(np.arange(x.size) % 2 == 0, x),),
    "unravel_index": (lambda x: np.unravel_index(np.argmax(x), x.shape),),
    "ravel_multi_index": (
        lambda x: np.ravel_multi_index((np.argmax(x, 0), np.argmax(x, 0)), (3, 9), mode="clip"),
        lambda x: np.ravel_multi_index((np.argmax(x, 0), np.argmax(x, 0)), (2, 2), mode="wrap", order="F"),
    ),
    "apply_along_axis": (lambda x: np.apply_along_axis(np.flip, 0, x),),
    "real": (lambda x: np.real(x), lambda x: x.real),
    "imag": (lambda x: np.imag(x), lambda x: x.imag),
    "copy": (lambda x: np.copy(x), lambda x: x.copy()),
    "shape": (lambda x: (np.shape(x), x.shape), lambda x: len(x)),
    "ndim": (lambda x: (np.ndim(x), x.ndim),),
    "size": (lambda x: (np.size(x), x.size, x.nbytes, x.itemsize), lambda x: np.size(x, 0)),
    "iscomplexobj": (lambda x: np.iscomplexobj(x),),
    "isrealobj": (lambda x: np.isrealobj(x),),
    "result_type": (lambda x: str(np.result_type(x, 1.0)),),
    "can_cast": (lambda x: np.can_cast(x.dtype, "f4"),),
    "common_type": (lambda x: np.common_type(x) is np.float64,),
    "min_scalar_type": (lambda x: str(np.min_scalar_type(x)) if x.ndim else None,),
    "may_share_memory": (lambda x: np.may_share_memory(x, x) if x.size else None,),
    "shares_memory": (lambda x: np.shares_memory(x, x.copy()),),
    "isfortran": (lambda x: np.isfortran(np.copy(x, order="C")),),
    "einsum_path": (lambda x: np.einsum_path("...->...", x)[0],),
    "zeros_like": (lambda x: np.zeros_like(x), lambda x: np.zeros_like(x, shape=(2,), dtype="i4")),
    "ones_like": (lambda x: np.ones_like(x, dtype="f4"),),
    "empty_like": (lambda x: np.empty_like(x).shape,),
    "full_like": (lambda x: np.full_like(x, 3), lambda x: np.full_like(x, x[:1])),
    "full": (lambda x: np.full((2, 3), x[..., :1].sum()),),
    "astype": (
        lambda x: x.astype("f4"), lambda x: x.astype(bool), lambda x: x.astype(complex), lambda x: np.astype(x, "f8"),
        lambda x: x.astype("i4", casting="safe"), lambda x: x.astype("i1") if x.dtype.kind in "biu" else None,
    ),
    "ix_": (lambda x: np.multiply.outer(x, x)[np.ix_([0, 1], [1, 0])] if x.ndim == 1 else None,),
    "tril_indices_from": (lambda x: x[np.tril_indices_from(x)],),
    "triu_indices_from": (lambda x: x[np.triu_indices_from(x)],),
    "diag_indices_from": (lambda x: x[np.diag_indices_from(x)],),
    "sort": (
        lambda x: np.sort(x), lambda x: np.sort(x, axis=None), lambda x: written(x).sort(0),
        lambda x: np.sort(x, 0, stable=True),
    ),
    "argsort": (lambda x: np.argsort(x, kind="stable"), lambda x: x.argsort(axis=None, kind="stable")),
    "partition": (lambda x: np.partition(x, 1)[..., 1],),
    "argpartition": (lambda x: np.take_along_axis(x, np.argpartition(x, 1), -1)[..., 1],),
    "sort_complex": (lambda x: np.sort_complex(x),),
    "lexsort": (lambda x: np.lexsort((x.ravel(), x.ravel()[::-1])),),
    "searchsorted": (
        lambda x: np.searchsorted([0, 1, 2, 3], x), lambda x: np.sort(x).searchsorted(1, side="right"),
    ),
    "digitize": (
        lambda x: np.digitize(x, np.array([0, 1.0, 2])), lambda x: np.digitize(x, [5, 3, 1], right=True),
        lambda x: np.digitize(x, [5, 3, 1]),
    ),
    "isin": (lambda x: np.isin(x, [1, 2]), lambda x: np.isin(x, x[:1], invert=True)),
    "packbits": (lambda x: np.packbits(x), lambda x: np.packbits(x, axis=0)),
    "unpackbits": (lambda x: np.unpackbits(x),),
    "count_nonzero": (lambda x: np.count_nonzero(x), lambda x: np.count_nonzero(x, axis=0, keepdims=True)),
    "array_equal": (lambda x: np.array_equal(x, x), lambda x: np.array_equal(x, x.copy(), equal_nan=True)),
    "array_equiv": (lambda x: np.array_equiv(x, x[:1]),),
    "choose": (
        lambda x: np.choose(np.array([0, 1, 1, 0]), [x, x * 2]), lambda x: np.choose(2, [x, 1], mode="wrap"),
        lambda x: np.choose((x > 0).astype(int), [x, 7]), lambda x: (x > 0).astype(int).choose([1, 2], mode="clip"),
    ),
    "where": (lambda x: np.where(x > 0, x, 0), lambda x: np.where(x, 1.5, x), lambda x: np.where(True, x, 1)),
    "select": (lambda x: np.select([x > 2, x > 0], [x, 1.5], 7), lambda x: np.select([x > 2], [x])),
    "piecewise": (
        lambda x: np.piecewise(x, [x < 0, x >= 2], [lambda v: v * 2, lambda v: v + 1, 7]),
        lambda x: np.piecewise(x, [x > 0], [1, 2]),
    ),
    "clip": (
        lambda x: np.clip(x, -1, 2), lambda x: x.clip(0), lambda x: np.clip(x, None, 1.5), lambda x: x.clip(max=3),
        lambda x: np.clip(x, x[:1], None), lambda x: np.clip(x, 1, 300, out=written(x)), lambda x: np.clip(x, min=1),
    ),
    "fix": (lambda x: np.fix(x),),
    "round": (lambda x: np.round(x), lambda x: np.round(x, 1), lambda x: x.round(-1)),
    "around": (lambda x: np.around(x, 2),),
    "isclose": (lambda x: np.isclose(x, 1.0), lambda x: np.isclose(x, x, equal_nan=True)),
    "allclose": (lambda x: np.allclose(x, x), lambda x: np.allclose(x, x, equal_nan=True)),
    "iscomplex": (lambda x: np.iscomplex(x),),
    "isreal": (lambda x: np.isreal(x),),
    "isposinf": (lambda x: np.isposinf(x),),
    "isneginf": (lambda x: np.isneginf(x),),
    "nan_to_num": (
        lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x, nan=1, posinf=5, neginf=-5),
        lambda x: np.nan_to_num(written(x), copy=False),
    ),
    "copyto": (lambda x: np.copyto(x, 1), lambda x: np.copyto(x, x[:1], where=x > 0), lambda x: np.copyto(x, 1.5)),
    "fill_diagonal": (lambda x: np.fill_diagonal(x, 5), lambda x: np.fill_diagonal(x, [1, 2], wrap=True)),
    "putmask": (lambda x: np.putmask(x, x > 0, [5, 6]), lambda x: np.putmask(x, x > 0, x * 2)),
    "place": (lambda x: np.place(x, x > 0, [5, 6, 7]),),
    "put": (lambda x: np.put(x, [0, -1], [3, 4, 5]), lambda x: np.put(x, [9, -9], 3, mode="clip")),
    "put_along_axis": (
        lambda x: np.put_along_axis(x, np.argmax(x, axis=-1, keepdims=True), 9, -1) if x.ndim else None,
    ),
    "sliding_window_view": (
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, x.shape),
    ),
    "nonzero": (lambda x: np.nonzero(np.arange(5) % 2),),
    "flatnonzero": (lambda x: np.flatnonzero(np.eye(2)),),
    "argwhere": (lambda x: np.argwhere(np.eye(2)),),
}  # fmt: skip


def folds(f: Callable) -> tuple[Call, ...]:
    return (
        lambda x: f(x), lambda x: f(x, axis=0, keepdims=True), lambda x: f(x, axis=-1), lambda x: f(x, axis=(0, 1)),
        lambda x: f(x, axis=()),
    )  # fmt: skip


def spreads(f: Callable) -> tuple[Call, ...]:
    return lambda x: f(x), lambda x: f(x, axis=0, ddof=1), lambda x: f(x, axis=(0, -1), keepdims=True)


def positions(f: Callable) -> tuple[Call, ...]:
    return lambda x: f(x), lambda x: f(x, axis=0), lambda x: f(x, axis=-1, keepdims=True)


def scans(f: Callable) -> tuple[Call, ...]:
    return lambda x: f(x), lambda x: f(x, axis=-1), lambda x: f(x, axis=0, dtype="f8")


def transforms(f: Callable) -> tuple[Call, ...]:
    return lambda x: f(x), lambda x: f(x, 6, 0), lambda x: f(x, norm="ortho")


def transforms_over_axes(f: Callable) -> tuple[Call, ...]:
    return (
        lambda x: f(x), lambda x: f(x, axes=(0, 1)), lambda x: f(x, s=(3, 4), axes=(0, 1), norm="forward"),
    )  # fmt: skip


REDUCTIONS: dict[str, tuple[Call, ...]] = {
    **{name: folds(getattr(np, name)) for name in (
        "sum", "prod", "max", "amax", "min", "amin", "any", "all", "mean", "ptp", "nansum", "nanprod", "nanmax",
        "nanmin", "nanmean",
    )},
    **{name: spreads(getattr(np, name)) for name in ("var", "std", "nanvar", "nanstd")},
    **{name: positions(getattr(np, name)) for name in (
        "argmax", "argmin", "nanargmax", "nanargmin", "median", "nanmedian",
    )},
    **{name: scans(getattr(np, name)) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")},
    "sum ": (
        lambda x: x.sum(dtype="f4"), lambda x: x.sum(0, initial=1), lambda x: x.sum(-1, where=x > 0),
        lambda x: np.sum(x, 0, out=np.zeros(x.shape[1:])), lambda x: x.sum(dtype=np.int8),
    ),
    "prod ": (lambda x: x.prod(0, initial=2, where=x != 0),),
    "max ": (lambda x: x.max(0, initial=1), lambda x: x.max(-1, initial=1, where=x > 0), lambda x: x.max(where=x > 0)),
    "min ": (lambda x: x.min(0, initial=1),),
    "mean ": (lambda x: x.mean(0, where=x > 0), lambda x: x.mean(dtype="f4")),
    "var ": (lambda x: x.var(0, where=x > 0), lambda x: np.var(x, correction=1), lambda x: x.var(mean=x.mean())),
    "any ": (lambda x: x.any(0, where=x > 0),),
    "cumulative_sum": (
        lambda x: np.cumulative_sum(x, axis=0, include_initial=True), lambda x: np.cumulative_sum(x),
    ),
    "cumulative_prod": (lambda x: np.cumulative_prod(x, axis=-1),),
    "average": (
        lambda x: np.average(x), lambda x: np.average(x, axis=0, weights=np.arange(1, 1 + x.shape[0])),
        lambda x: np.average(x, returned=True), lambda x: np.average(x, weights=np.ones(x.shape)),
    ),
    "quantile": (lambda x: np.quantile(x, [0.25, 0.5], axis=0), lambda x: np.quantile(x, 0.3, method="nearest")),
    "percentile": (lambda x: np.percentile(x, 30),),
    "nanquantile": (lambda x: np.nanquantile(x, 0.5),),
    "nanpercentile": (lambda x: np.nanpercentile(x, 50, axis=0),),
    "diff": (
        lambda x: np.diff(x), lambda x: np.diff(x, 2, axis=0), lambda x: np.diff(x, prepend=0, append=x),
    ),
    "ediff1d": (lambda x: np.ediff1d(x), lambda x: np.ediff1d(x, to_end=x[:1], to_begin=0)),
    "trapezoid": (lambda x: np.trapezoid(x), lambda x: np.trapezoid(x, dx=2, axis=0), lambda x: np.trapezoid(x, x)),
    "gradient": (
        lambda x: np.gradient(x), lambda x: np.gradient(x, 2.0, edge_order=2),
        lambda x: np.gradient(x, np.array([0, 1, 3.0]), axis=0),
        lambda x: np.gradient(x, np.array([0, 1, 3.0]), axis=0, edge_order=2),
        lambda x: np.gradient(x, (x[:, 0] == 0) + np.arange(3.0) ** 2, axis=0),
        lambda x: np.gradient(x, (x[:, 0] == x[:, 0]) * 2 + np.arange(3), axis=0, edge_order=2),
    ),
    "unique": (
        lambda x: np.unique(x).size if x.size and x.dtype.kind != "c" else None,
        lambda x: np.unique(x, return_counts=True)[1].max() if x.size and x.dtype.kind != "c" else None,
    ),
    "cov": (lambda x: np.cov(x), lambda x: np.cov(x, bias=True, rowvar=False)),
    "corrcoef": (lambda x: np.corrcoef(x) if x.size > 2 else None,),
    "dot": (lambda x: np.dot(x, x.T), lambda x: np.dot(x, 2), lambda x: x.dot(x)),
    "vdot": (lambda x: np.vdot(x, x),),
    "inner": (lambda x: np.inner(x, x),),
    "outer": (lambda x: np.outer(x, x),),
    "tensordot": (lambda x: np.tensordot(x, x.T, 1), lambda x: np.tensordot(x, x, axes=([0, 1], [0, 1]))),
    "kron": (lambda x: np.kron(x, np.array([1, 2])), lambda x: np.kron(x, x)),
    "cross": (lambda x: np.cross(x, x[..., ::-1]), lambda x: np.cross(x, x[::-1], axis=0)),
    "trace": (lambda x: np.trace(x), lambda x: x.trace(1, 1, 0), lambda x: np.trace(x, dtype="f4")),
    "matmul": (
        lambda x: x @ x.T, lambda x: np.matmul(x, x[0]), lambda x: x @ x, lambda x: x[None] @ x.swapaxes(-1, -2),
    ),
    "vecdot": (lambda x: np.vecdot(x, x), lambda x: np.vecdot(x, x, axis=0)),
    "matvec": (lambda x: np.matvec(x, x[0]),),
    "vecmat": (lambda x: np.vecmat(x[..., 0], x),),
    "einsum": (
        lambda x: np.einsum("ij->ji", x), lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.einsum("...i->...", x),
        lambda x: np.einsum("ij,jk,kl->il", x, x.T, x), lambda x: np.einsum("i,j->ij", x, x),
        lambda x: np.einsum(x, [0, 1], x, [0, 1], [1]), lambda x: np.einsum("i...,i...", x, x),
        lambda x: np.einsum("ii", square(x)), lambda x: np.einsum("ii->i", square(x)),
        lambda x: np.einsum("bij,bjk->bik", x, x),
        lambda x: np.einsum("ij,ij->", x, x), lambda x: np.einsum("ij,ij->i", x, x, optimize=True),
        lambda x: np.einsum("i->", x), lambda x: np.einsum("ijk->kji", x), lambda x: np.einsum("ij,k", x, x[0]),
    ),
    "convolve": (lambda x: np.convolve(x.ravel(), [1, 2, 3]), lambda x: np.convolve(x, x, "same")),
    "correlate": (lambda x: np.correlate(x.ravel(), [1, 2.0]),),
    "interp": (lambda x: np.interp(x, [0.0, 1, 2], [3.0, 4, 9]), lambda x: np.interp(x, [0.0, 1], [1.0, 2], left=-1)),
    "histogram": (
        lambda x: np.histogram(x, bins=5, range=(0, 4)), lambda x: np.histogram(x, [0, 1, 2.5]),
        lambda x: np.histogram(x, 4, weights=x * 2)[0],
    ),
    "bincount": (
        lambda x: np.bincount((np.abs(x) % 4).astype(int).ravel(), minlength=4),
        lambda x: np.bincount((np.abs(x) % 4).astype(int).ravel(), np.abs(x).ravel(), 4),
    ),
    "histogram2d": (lambda x: np.histogram2d(x, x, 3, [[0, 1], [0, 1]]),),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 4, (0, 1)),),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, -1]),),
    "polyval": (lambda x: np.polyval([1, 2, 3], x), lambda x: np.polyval(x, 2.0)),
    "polyadd": (lambda x: np.polyadd(x, [1, 2]),),
    "polysub": (lambda x: np.polysub([1, 2], x),),
    "polyder": (lambda x: np.polyder(x.ravel()), lambda x: np.polyder(x.ravel(), 2)),
    "polyint": (lambda x: np.polyint(x), lambda x: np.polyint(x, 2, k=[1, 2])),
    "poly": (lambda x: np.poly(x.ravel()[:4]) if x.dtype.kind != "c" else None,),
    "vander": (lambda x: np.vander(x), lambda x: np.vander(x, 3, increasing=True)),
    "linspace": (
        lambda x: np.linspace(x, x * 2, 5), lambda x: np.linspace(0, x, 4, endpoint=False, axis=-1),
        lambda x: np.linspace(x.sum(), 3, num=4, retstep=True), lambda x: np.linspace(x, 5, 1),
    ),
    "logspace": (lambda x: np.logspace(x * 0.125, 1, 3),),
    "geomspace": (lambda x: np.geomspace(1, 100, 3) + x.sum(),),
    "angle": (lambda x: np.angle(x), lambda x: np.angle(x, deg=True)),
    "sinc": (lambda x: np.sinc(x),),
    "i0": (lambda x: np.i0(x),),
    "unwrap": (lambda x: np.unwrap(x), lambda x: np.unwrap(x, period=4, axis=0)),
}  # fmt: skip

FFT: dict[str, tuple[Call, ...]] = {
    **{name: transforms(getattr(np.fft, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: transforms_over_axes(getattr(np.fft, name)) for name in (
        "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
    )},
    "fftshift": (lambda x: np.fft.fftshift(x) if x.ndim else None, lambda x: np.fft.fftshift(x, 0)),
    "ifftshift": (lambda x: np.fft.ifftshift(x, (0,)),),
}  # fmt: skip

LINALG: dict[str, tuple[Call, ...]] = {
    "solve": (lambda x: L.solve(spd(x), spd(x)[0]), lambda x: L.solve(spd(x), spd(x))),
    "inv": (lambda x: L.inv(spd(x)), lambda x: L.inv(x[..., :1])),
    "det": (lambda x: L.det(spd(x)), lambda x: L.det(np.stack([spd(x), spd(x)]))),
    "slogdet": (lambda x: tuple(L.slogdet(spd(x))),),
    "cholesky": (lambda x: L.cholesky(spd(x)), lambda x: L.cholesky(spd(x), upper=True)),
    "qr": (lambda x: tuple(L.qr(spd(x)[:, :2])), lambda x: L.qr(spd(x), mode="r")),
    "svd": (lambda x: L.svd(spd(x), compute_uv=False), lambda x: L.svd(spd(x)[:, :2], full_matrices=False).S),
    "svdvals": (lambda x: L.svdvals(spd(x)),),
    "eigh": (lambda x: L.eigh(spd(x)).eigenvalues, lambda x: L.eigh(spd(x), "U")[0]),
    "eigvalsh": (lambda x: L.eigvalsh(spd(x)),),
    "eig": (lambda x: np.sort(L.eig(spd(x).astype(complex)).eigenvalues.real),),
    "eigvals": (lambda x: np.sort(L.eigvals(spd(x).astype(complex)).real),),
    "pinv": (lambda x: L.pinv(spd(x)[:, :2]),),
    "lstsq": (lambda x: L.lstsq(spd(x)[:, :2], spd(x)[2])[0],),
    "matrix_rank": (lambda x: L.matrix_rank(spd(x)), lambda x: L.matrix_rank(np.zeros((2, 2)))),
    "tensorsolve": (lambda x: L.tensorsolve(spd(x).reshape(3, 1, 3), spd(x)[0].reshape(3, 1)),),
    "tensorinv": (lambda x: L.tensorinv(spd(x), ind=1),),
    "norm": tuple(
        lambda x, o=o: L.norm(spd(x), o) for o in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, "bad")
    ) + tuple(
        lambda x, o=o: L.norm(spd(x), o, axis=-1, keepdims=True) for o in (None, 0, 1, 2, 3, np.inf, -np.inf, 0.5)
    ),
    "vector_norm": (lambda x: L.vector_norm(spd(x), axis=(0, 1), keepdims=True, ord=1), lambda x: L.vector_norm(x)),
    "matrix_norm": (lambda x: L.matrix_norm(spd(x), ord=1, keepdims=True),),
    "cond": (lambda x: L.cond(spd(x)), lambda x: L.cond(spd(x), 1)),
    "matrix_power": tuple(lambda x, n=n: L.matrix_power(spd(x), n) for n in (0, 1, 2, 3, -1)),
    "multi_dot": (lambda x: L.multi_dot([spd(x), spd(x)[:, :2], spd(x)[:2], spd(x)[0]]),),
    "trace": (lambda x: L.trace(spd(x)),),
    "cross": (lambda x: L.cross(spd(x), spd(x)[::-1]),),
    "outer": (lambda x: L.outer(x, x),),
    "diagonal": (lambda x: L.diagonal(x),),
    "matrix_transpose": (lambda x: L.matrix_transpose(x),),
    "tensordot": (lambda x: L.tensordot(spd(x), spd(x), axes=1),),
    "matmul": (lambda x: L.matmul(spd(x), spd(x)),),
    "vecdot": (lambda x: L.vecdot(spd(x), spd(x)),),
    "polyfit": (lambda x: np.polyfit(np.arange(4.0), np.resize(spd(x), 4), 2),),
}  # fmt: skip

METHODS: dict[str, tuple[Call, ...]] = {
    **{name: (lambda x, f=name: getattr(x, f)(),) for name in (
        "all", "any", "argmax", "argmin", "argsort", "conj", "conjugate", "copy", "cumprod", "cumsum", "flatten",
        "max", "mean", "min", "prod", "ravel", "round", "squeeze", "std", "sum", "tolist", "transpose", "var", "view",
        "trace", "diagonal",
    )},
    "item": (lambda x: x.item(), lambda x: x.item(0), lambda x: x[:1].item()),
    "fill": (lambda x: x.fill(2) if x.ndim else None,),
    "swapaxes": (lambda x: x.swapaxes(0, 1),),
    "to_device": (lambda x: x.to_device("cpu"),),
    "is_integer": (lambda x: x.dtype.kind,),
    "flat": (lambda x: x.flat[1:3], lambda x: [e for e in x.flat][:2], lambda x: x.flat[0]),
    "device": (lambda x: x.device,),
    "byteswap": (lambda x: x.byteswap() if x.itemsize == 1 and x.ndim else None,),
    "setflags": (lambda x: x.copy().setflags(write=False),),
}  # fmt: skip
