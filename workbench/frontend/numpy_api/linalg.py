"""`np.linalg`: decompositions and solvers are library calls (LAPACK); norms and powers are composed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.avals import Aval
from . import contractions, library, movement, reductions, ufuncs
from .operands import (
    array,
    bind,
    cast,
    normalize_axis_index,
    normalize_axis_tuple,
    operand,
    reshape_to,
    unsupported,
)
from .promotion import FLOAT64, INT64, real_dtype
from .reductions import part

LinAlgError = np.linalg.LinAlgError
call = ufuncs.call_ufunc


def inexact(*xs: Any) -> list[Any]:
    """The operands in the one float or complex dtype that LAPACK is called with."""
    arrays = [array(x) for x in xs]
    dtype = np.result_type(*(a.dtype if a.dtype.kind in "fc" else FLOAT64 for a in arrays))
    return [cast(a, dtype) for a in arrays]


def check_square(a: Any) -> None:
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def check_stacked(a: Any) -> None:
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")


def _result_class(name: str) -> Any:
    return getattr(np.linalg._linalg, name)


# ---- solving ----


def solve(a: Any, b: Any) -> Any:
    a, b = inexact(a, b)
    check_square(a)
    return bind("solve", a, b)


def inv(a: Any) -> Any:
    (a,) = inexact(a)
    check_square(a)
    return bind("inv", a)


def det(a: Any) -> Any:
    (a,) = inexact(a)
    check_square(a)
    return bind("det", a)


def slogdet(a: Any) -> Any:
    (a,) = inexact(a)
    check_square(a)
    return _result_class("SlogdetResult")(*bind("slogdet", a))


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    (a,) = inexact(a)
    check_square(a)
    return bind("cholesky", a, upper=bool(upper))


def qr(a: Any, mode: str = "reduced") -> Any:
    (a,) = inexact(a)
    check_stacked(a)
    if mode in ("f", "full", "e", "economic", "raw"):
        raise unsupported(f"qr: mode {mode!r} cannot be compiled; 'reduced', 'complete' and 'r' can")
    results = bind("qr", a, mode=mode)
    return results[0] if mode == "r" else _result_class("QRResult")(*results)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    (a,) = inexact(a)
    check_stacked(a)
    results = bind("svd", a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian))
    return _result_class("SVDResult")(*results) if compute_uv else results[0]


def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    (a,) = inexact(a)
    check_square(a)
    return _result_class("EighResult")(*bind("eigh", a, uplo=UPLO.upper()))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    (a,) = inexact(a)
    check_square(a)
    return library.numpy_call("linalg.eigvalsh", a, avals=[Aval(a.shape[:-1], real_dtype(a.dtype))], UPLO=UPLO.upper())


def _eigen(name: str) -> Callable[..., Any]:
    """General eigenvalues: NumPy returns real ones where all imaginary parts are 0, so the dtype depends on data."""

    def decompose(a: Any) -> Any:
        (a,) = inexact(a)
        check_square(a)
        if a.dtype.kind != "c":
            raise unsupported(
                f"{name}: whether the eigenvalues of a real matrix are real or complex depends on data",
                code=library.DATA_DEPENDENT,
                fixes=(f"np.linalg.{name}(a.astype(complex))", f"np.linalg.{name}h(a)"),
            )
        if name == "eig":
            return _result_class("EigResult")(*bind("eig", a))
        return library.numpy_call("linalg.eigvals", a, avals=[Aval(a.shape[:-1], a.dtype)])

    decompose.__name__ = name
    return decompose


eig = _eigen("eig")
eigvals = _eigen("eigvals")


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """As in NumPy, except that the residuals of a matrix without full rank are NaN where NumPy's are empty."""
    a, b = inexact(a, b)
    if a.ndim != 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    x, residuals, rank, s = bind("lstsq", a, b, rcond=None if rcond is None else float(rcond))
    return x, residuals, cast(rank, np.dtype(np.int32)), s


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    (a,) = inexact(a)
    check_stacked(a)
    settings: dict[str, Any] = {"hermitian": bool(hermitian)}
    if rcond is not None:
        settings["rcond"] = library.static_setting(rcond, "pinv: rcond=")
    if rtol is not np._NoValue:
        settings["rtol"] = library.static_setting(rtol, "pinv: rtol=")
    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    return library.numpy_call("linalg.pinv", a, avals=[Aval(shape, a.dtype)], **settings)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    a = array(A)
    if a.ndim < 2:
        return call(np.logical_not, reductions.all_(call(np.equal, a, 0))).astype(INT64)
    s = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps
        tol = call(np.multiply, reductions.amax(s, axis=-1, keepdims=True), rtol)
    else:
        tol = operand(tol)
    return reductions.count_nonzero(call(np.greater, s, tol), axis=-1)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = array(a), array(b)
    if axes is not None:
        order = [i for i in range(a.ndim) if i not in axes] + list(axes)
        a = contractions.transpose_to(a, order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = int(np.prod(shape))
    if a.size != n * n:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return reshape_to(solve(reshape_to(a, (n, n)), reshape_to(b, (b.size,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    a = array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape[ind:] + a.shape[:ind]
    n = int(np.prod(a.shape[ind:]))
    return reshape_to(inv(reshape_to(a, (a.size // n, n))), shape)


# ---- norms ----


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    (x,) = inexact(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            flat = reshape_to(x, (x.size,))
            if x.dtype.kind == "c":
                re, im = bind("real", flat), bind("imag", flat)
                total = call(np.add, contractions.dot(re, re), contractions.dot(im, im))
            else:
                total = contractions.dot(flat, flat)
            result = call(np.sqrt, total)
            return reshape_to(result, (1,) * x.ndim) if keepdims else result
        axes: tuple[int, ...] = tuple(range(x.ndim))
    elif isinstance(axis, tuple):
        axes = axis
    else:
        try:
            axes = (operator.index(axis),)
        except TypeError:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from None
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, normalize_axis_tuple(axes, x.ndim), keepdims)  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does
    raise ValueError("Improper number of dimensions to norm.")


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    if ord == np.inf:
        return reductions.amax(call(np.absolute, x), axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return reductions.amin(call(np.absolute, x), axes, keepdims=keepdims)
    if ord == 0:
        nonzero = cast(call(np.not_equal, x, 0), real_dtype(x.dtype))
        return reductions.sum_(nonzero, axes, keepdims=keepdims)
    if ord == 1:
        return reductions.sum_(call(np.absolute, x), axes, keepdims=keepdims)
    if ord is None or ord == 2:
        return call(np.sqrt, reductions.sum_(_squares(x), axes, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    powers = call(np.power, call(np.absolute, x), ord)
    return call(np.power, reductions.sum_(powers, axes, keepdims=keepdims), 1.0 / ord)


def _squares(x: Any) -> Any:
    if x.dtype.kind == "c":
        return bind("real", call(np.multiply, call(np.conjugate, x), x))
    return call(np.multiply, x, x)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "f", "fro"):
        result = call(np.sqrt, reductions.sum_(_squares(x), axes))
    elif ord in (2, -2, "nuc"):
        order = [i for i in range(x.ndim) if i not in axes] + [rows, columns]
        s = svd(contractions.transpose_to(x, order), compute_uv=False)
        if ord == "nuc":
            result = reductions.sum_(s, -1)
        else:
            result = reductions.amax(s, -1, initial=0) if ord == 2 else reductions.amin(s, -1)
    elif ord in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = reductions.sum_(call(np.absolute, x), first)
        second -= second > first
        result = reductions.amax(sums, second, initial=0) if ord > 0 else reductions.amin(sums, second)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        result = reshape_to(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    return result


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = array(x)
    shape = x.shape
    if axis is None:
        result = norm(reshape_to(x, (x.size,)), ord, 0)
        return reshape_to(result, (1,) * len(shape)) if keepdims else result
    if isinstance(axis, tuple):
        axes = normalize_axis_tuple(axis, x.ndim)
        rest = [i for i in range(x.ndim) if i not in axes]
        moved = contractions.transpose_to(x, [*axes, *rest])
        length = int(np.prod([shape[i] for i in axes]))
        result = norm(reshape_to(moved, (length, *(shape[i] for i in rest))), ord, 0)
    else:
        axes = (normalize_axis_index(axis, x.ndim),)
        result = norm(x, ord, axes[0])
    if keepdims:
        result = reshape_to(result, tuple(1 if i in axes else n for i, n in enumerate(shape)))
    return result


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Any, p: Any = None) -> Any:
    (x,) = inexact(x)
    if x.size == 0 and x.ndim >= 2 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        last = s.ndim - 1
        high = reshape_to(part(s, last, 0, 1), s.shape[:-1])
        low = reshape_to(part(s, last, s.shape[-1] - 1, s.shape[-1]), s.shape[:-1])
        result = call(np.divide, low, high) if p == -2 else call(np.divide, high, low)
    else:
        check_square(x)
        result = call(np.multiply, norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1)))
    # NaN only where the input has one: a singular matrix has an infinite condition.
    nan_in = reductions.any_(call(np.isnan, x), (-2, -1))
    spurious = call(np.logical_and, call(np.isnan, result), call(np.logical_not, nan_in))
    return bind("select_n", spurious, result, result.dtype.type(np.inf))


# ---- products ----


def matrix_power(a: Any, n: Any) -> Any:
    a = array(a)
    check_square(a)
    n = operator.index(n)
    if n == 0:
        size = a.shape[-1]
        one = cast(movement.triangle_mask(size, size, 0), a.dtype)
        eye = movement.tril(movement.triu(one))
        return bind("broadcast_in_dim", eye, shape=a.shape, broadcast_dimensions=(a.ndim - 2, a.ndim - 1))
    if n < 0:
        a, n = inv(a), -n
    if n == 1:
        return a
    if n == 2:
        return contractions.matmul(a, a)
    if n == 3:
        return contractions.matmul(contractions.matmul(a, a), a)
    power = result = None
    while n > 0:
        power = a if power is None else contractions.matmul(power, power)
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else contractions.matmul(result, power)
    return result


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The chain in the order with the fewest multiplications."""
    chain = [array(x) for x in arrays]
    if len(chain) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(chain) == 2:
        return contractions.dot(chain[0], chain[1], out)
    first_vector, last_vector = chain[0].ndim == 1, chain[-1].ndim == 1
    if first_vector:
        chain[0] = reshape_to(chain[0], (1, *chain[0].shape))
    if last_vector:
        chain[-1] = reshape_to(chain[-1], (*chain[-1].shape, 1))
    for x in chain:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    result = _multiply_chain(chain, _best_split([x.shape[0] for x in chain] + [chain[-1].shape[1]]), 0, len(chain) - 1)
    if first_vector and last_vector:
        result = reshape_to(result, ())
    elif first_vector or last_vector:
        result = reshape_to(result, (result.size,))
    return reductions.finish(result, out, "multi_dot", "no")


def _best_split(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut every stretch of the chain (Cormen et al., ch. 15.2)."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best = min(range(i, j), key=lambda k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1])
            cut[i, j] = best
            cost[i, j] = cost[i, best] + cost[best + 1, j] + sizes[i] * sizes[best + 1] * sizes[j + 1]
    return cut


def _multiply_chain(chain: list[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = cut[i, j]
    return contractions.dot(_multiply_chain(chain, cut, i, k), _multiply_chain(chain, cut, k + 1, j))
