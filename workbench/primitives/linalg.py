"""Linear algebra by LAPACK: the functions of `np.linalg` whose results have a shape and dtype known beforehand.

Operands are stacks of matrices (..., m, n). A singular matrix raises NumPy's LinAlgError when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as Choice

import numpy as np

from ..ir import Aval, Primitive
from .lowering import LibraryCall
from .signatures import INEXACT, check_dtype, check_same_dtype, complex_of, real_part


def check_matrix(name: str, a: Aval, *, square: bool) -> tuple[tuple[int, ...], int, int]:
    """The stack's shape, m and n."""
    check_dtype(name, a, INEXACT)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    *stack, m, n = a.shape
    if square and m != n:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return tuple(stack), m, n


def cubic(factor: float) -> Callable[..., float]:
    """A flop count of `factor` * m * n * min(m, n) per matrix."""

    def flops(a: Aval, *_: Aval, **__: object) -> float:
        return factor * a.size * min(a.shape[-2:]) * (4 if a.dtype.kind == "c" else 1)

    return flops


# ---- cholesky ----
cholesky_p = Primitive("cholesky")
cholesky_p.def_impl(lambda a, *, upper=False: np.linalg.cholesky(a, upper=upper))


@cholesky_p.def_abstract_eval
def cholesky_aval(a: Aval, *, upper: bool = False) -> Aval:
    check_matrix("cholesky", a, square=True)
    return Aval(a.shape, a.dtype)


cholesky_p.def_lowering(LibraryCall(cholesky_p.impl, library="LAPACK", flops=cubic(1 / 3)))

# ---- inv ----
inv_p = Primitive("inv")
inv_p.def_impl(np.linalg.inv)


@inv_p.def_abstract_eval
def inv_aval(a: Aval) -> Aval:
    check_matrix("inv", a, square=True)
    return Aval(a.shape, a.dtype)


inv_p.def_lowering(LibraryCall(np.linalg.inv, library="LAPACK", flops=cubic(2)))

# ---- solve: b is one vector (n,), or a stack of matrices (..., n, k) ----
solve_p = Primitive("solve")
solve_p.def_impl(np.linalg.solve)


@solve_p.def_abstract_eval
def solve_aval(a: Aval, b: Aval) -> Aval:
    stack, n, _ = check_matrix("solve", a, square=True)
    dtype = check_same_dtype("solve", (a, b))
    rows = b.shape[0] if b.ndim == 1 else b.shape[-2] if b.ndim else None
    if rows != n:
        raise ValueError(f"solve: {n} equations {a.shape}, but the right-hand side has shape {b.shape}")
    if b.ndim == 1:
        return Aval((*stack, n), dtype)
    return Aval((*np.broadcast_shapes(stack, b.shape[:-2]), n, b.shape[-1]), dtype)


solve_p.def_lowering(LibraryCall(np.linalg.solve, library="LAPACK", flops=cubic(2 / 3)))

# ---- det ----
det_p = Primitive("det")
det_p.def_impl(lambda a: np.asarray(np.linalg.det(a)))


@det_p.def_abstract_eval
def det_aval(a: Aval) -> Aval:
    return Aval(check_matrix("det", a, square=True)[0], a.dtype)


det_p.def_lowering(LibraryCall(det_p.impl, library="LAPACK", flops=cubic(2 / 3)))

# ---- slogdet: the sign, and the logarithm of the absolute value ----
slogdet_p = Primitive("slogdet", multiple_results=True)
slogdet_p.def_impl(lambda a: tuple(map(np.asarray, np.linalg.slogdet(a))))


@slogdet_p.def_abstract_eval
def slogdet_aval(a: Aval) -> tuple[Aval, Aval]:
    stack, _, _ = check_matrix("slogdet", a, square=True)
    return Aval(stack, a.dtype), Aval(stack, real_part(a.dtype))


slogdet_p.def_lowering(LibraryCall(slogdet_p.impl, library="LAPACK", flops=cubic(2 / 3)))

# ---- eigh: eigenvalues, ascending, and eigenvectors of a Hermitian matrix, of which one triangle is read ----
eigh_p = Primitive("eigh", multiple_results=True)
Triangle = Choice["L", "U"]


@eigh_p.def_impl
def eigh_impl(a: np.ndarray, *, uplo: Triangle = "L") -> tuple[np.ndarray, ...]:
    return tuple(np.linalg.eigh(a, uplo))


@eigh_p.def_abstract_eval
def eigh_aval(a: Aval, *, uplo: Triangle = "L") -> tuple[Aval, Aval]:
    stack, n, _ = check_matrix("eigh", a, square=True)
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return Aval((*stack, n), real_part(a.dtype)), Aval(a.shape, a.dtype)


eigh_p.def_lowering(LibraryCall(eigh_p.impl, library="LAPACK", flops=cubic(9)))

# ---- eig: complex always. NumPy drops imaginary parts that are all 0, which cannot be known beforehand ----
eig_p = Primitive("eig", multiple_results=True)
eig_p.def_impl(lambda a: tuple(x.astype(complex_of(a.dtype), copy=False) for x in np.linalg.eig(a)))


@eig_p.def_abstract_eval
def eig_aval(a: Aval) -> tuple[Aval, Aval]:
    stack, n, _ = check_matrix("eig", a, square=True)
    dtype = complex_of(a.dtype)
    return Aval((*stack, n), dtype), Aval(a.shape, dtype)


eig_p.def_lowering(LibraryCall(eig_p.impl, library="LAPACK", flops=cubic(25)))

# ---- svd: (u, s, vh), or (s,) without compute_uv ----
svd_p = Primitive("svd", multiple_results=True)


@svd_p.def_impl
def svd_impl(
    a: np.ndarray, *, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> tuple[np.ndarray, ...]:
    if not compute_uv:
        return (np.linalg.svd(a, full_matrices, compute_uv=False, hermitian=hermitian),)
    return tuple(np.linalg.svd(a, full_matrices, hermitian=hermitian))


@svd_p.def_abstract_eval
def svd_aval(
    a: Aval, *, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> tuple[Aval, ...]:
    stack, m, n = check_matrix("svd", a, square=hermitian)
    rank = min(m, n)
    s = Aval((*stack, rank), real_part(a.dtype))
    if not compute_uv:
        return (s,)
    rows, columns = (m, n) if full_matrices else (rank, rank)
    return Aval((*stack, m, rows), a.dtype), s, Aval((*stack, columns, n), a.dtype)


svd_p.def_lowering(LibraryCall(svd_impl, library="LAPACK", flops=cubic(12)))

# ---- qr: (q, r), or (r,) with mode "r" ----
qr_p = Primitive("qr", multiple_results=True)
QrMode = Choice["reduced", "complete", "r"]


@qr_p.def_impl
def qr_impl(a: np.ndarray, *, mode: QrMode = "reduced") -> tuple[np.ndarray, ...]:
    if mode == "r":
        return (np.asarray(np.linalg.qr(a, "r")),)
    return tuple(np.linalg.qr(a, mode))


@qr_p.def_abstract_eval
def qr_aval(a: Aval, *, mode: QrMode = "reduced") -> tuple[Aval, ...]:
    stack, m, n = check_matrix("qr", a, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode {mode!r} is none of 'reduced', 'complete', 'r'")
    inner = m if mode == "complete" else min(m, n)
    r = Aval((*stack, inner, n), a.dtype)
    return (r,) if mode == "r" else (Aval((*stack, m, inner), a.dtype), r)


qr_p.def_lowering(LibraryCall(qr_impl, library="LAPACK", flops=cubic(4)))

# ---- lstsq: (x, residuals, rank, s). Where a has not full rank, NumPy's residuals are empty; here they are NaN ----
lstsq_p = Primitive("lstsq", multiple_results=True)


@lstsq_p.def_impl
def lstsq_impl(a: np.ndarray, b: np.ndarray, *, rcond: float | None = None) -> tuple[np.ndarray, ...]:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    (m, n), k = a.shape, b.shape[1] if b.ndim == 2 else 1
    if m > n and residuals.size != k:
        residuals = np.full(k, np.nan, residuals.dtype)
    return x, residuals, np.asarray(rank, np.int64), s


@lstsq_p.def_abstract_eval
def lstsq_aval(a: Aval, b: Aval, *, rcond: float | None = None) -> tuple[Aval, ...]:
    _, m, n = check_matrix("lstsq", a, square=False)
    dtype = check_same_dtype("lstsq", (a, b))
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(f"lstsq: takes one matrix and one right-hand side, got {a} and {b}")
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    real = real_part(dtype)
    k = b.shape[1] if b.ndim == 2 else 1
    residuals = Aval((k,) if m > n else (0,), real)
    return Aval((n, *b.shape[1:]), dtype), residuals, Aval((), np.dtype(np.int64)), Aval((min(m, n),), real)


lstsq_p.def_lowering(LibraryCall(lstsq_impl, library="LAPACK", flops=cubic(4)))
