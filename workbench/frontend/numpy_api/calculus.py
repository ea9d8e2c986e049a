"""Along axes: interpolation, gradients, convolutions, and functions applied to vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tracer as core
from ..layouts import followed_strides
from . import indexing, library, reductions, selection, ufuncs
from .operands import (
    array,
    as_array,
    bind,
    cast,
    in_c_order,
    known,
    laid_out_like,
    ndim_of,
    normalize_axis_index,
    normalize_axis_tuple,
    operand,
    reshape_to,
    shape_of,
)
from .promotion import FLOAT64
from .reductions import part

call = ufuncs.call_ufunc


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """NumPy's piecewise linear interpolation, between kernels."""
    x, xp, fp = (array(v) for v in (x, xp, fp))
    settings = {"left": left, "right": right, "period": period}
    settings = {k: library.static_setting(v, f"interp: {k}=") for k, v in settings.items() if v is not None}
    return library.numpy_call("interp", x, xp, fp, **settings)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = array(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    n = len(varargs)
    spacings: list[Any]
    if n == 0:
        spacings = [1.0] * len(axes)
    elif n == 1 and ndim_of(operand(varargs[0])) == 0:
        spacings = list(varargs) * len(axes)
    elif n == len(axes):
        spacings = [operand(v) for v in varargs]
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    for i, spacing in zip(axes, spacings, strict=True):
        if ndim_of(spacing) > 1:
            raise ValueError("distances must be either scalars or 1d")
        if ndim_of(spacing) == 1 and shape_of(spacing)[0] != f.shape[i]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    wide = f if f.dtype.kind in "fcb" else cast(f, FLOAT64)
    results = [
        laid_out_like(_gradient_along(wide, i, spacing, edge_order), f)
        for i, spacing in zip(axes, spacings, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _gradient_along(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
    uniform: Any = None  # whether coordinates that are traced lie evenly
    steps = None
    if ndim_of(spacing) == 1:
        steps = reductions.diff(spacing)
        steps = cast(steps, FLOAT64) if steps.dtype.kind in "iu" else steps
        numbers = known(steps)
        if numbers is None:
            spacing = reshape_to(part(steps, 0, 0, 1), ())
            uniform = reductions.all_(call(np.equal, steps, spacing))
        elif (numbers == numbers[0]).all():
            spacing, steps = numbers[0], None
    pieces = _gradient_pieces(f, axis, spacing, steps, edge_order)
    if uniform is not None:
        even = _gradient_pieces(f, axis, spacing, None, edge_order)
        pieces = [selection.where(uniform, x, y) for x, y in zip(even, pieces, strict=True)]
    dtype = FLOAT64 if f.dtype.kind == "b" else f.dtype
    return bind("concatenate", *(cast(piece, dtype) for piece in pieces), dimension=axis)


def _gradient_pieces(f: Any, axis: int, spacing: Any, steps: Any, edge_order: int) -> list[Any]:
    """The first row, those inside and the last one. steps: distances that differ, or None, where all are `spacing`."""
    n = f.shape[axis]

    def at(start: int, stop: int) -> Any:
        return part(f, axis, start % (n + 1), stop % (n + 1))

    def along(v: Any) -> Any:
        return reshape_to(v, tuple(v.shape[0] if i == axis else 1 for i in range(f.ndim)))

    if steps is None:
        inner = call(np.divide, call(np.subtract, at(2, -1), at(0, -3)), call(np.multiply, 2.0, spacing))
    else:
        m = n - 1
        d1, d2 = part(steps, 0, 0, m - 1), part(steps, 0, 1, m)
        total = call(np.add, d1, d2)
        a = along(call(np.divide, call(np.negative, d2), call(np.multiply, d1, total)))
        b = along(call(np.divide, call(np.subtract, d2, d1), call(np.multiply, d1, d2)))
        c = along(call(np.divide, d1, call(np.multiply, d2, total)))
        inner = call(np.add, call(np.add, call(np.multiply, a, at(0, -3)), call(np.multiply, b, at(1, -2))),
                     call(np.multiply, c, at(2, -1)))  # fmt: skip
    first, last = _gradient_ends(f, axis, n, spacing, steps, edge_order)
    return [first, inner, last]


def _gradient_ends(f: Any, axis: int, n: int, spacing: Any, steps: Any, edge_order: int) -> tuple[Any, Any]:
    def row(i: int) -> Any:
        return part(f, axis, i % n, i % n + 1)

    def step(i: int) -> Any:
        return spacing if steps is None else reshape_to(part(steps, 0, i % (n - 1), i % (n - 1) + 1), ())

    mul, div, sub, add = np.multiply, np.divide, np.subtract, np.add
    if edge_order == 1:
        return (
            call(div, call(sub, row(1), row(0)), step(0)),
            call(div, call(sub, row(-1), row(-2)), step(-1)),
        )
    if steps is None:
        a, b, c = call(div, -1.5, spacing), call(div, 2.0, spacing), call(div, -0.5, spacing)
        weights = (a, b, c), (call(div, 0.5, spacing), call(div, -2.0, spacing), call(div, 1.5, spacing))
    else:
        d1, d2 = step(0), step(1)
        total = call(add, d1, d2)
        low = (
            call(div, call(np.negative, call(add, call(mul, 2.0, d1), d2)), call(mul, d1, total)),
            call(div, total, call(mul, d1, d2)),
            call(div, call(np.negative, d1), call(mul, d2, total)),
        )
        d1, d2 = step(-2), step(-1)
        total = call(add, d1, d2)
        high = (
            call(div, d2, call(mul, d1, total)),
            call(div, call(np.negative, total), call(mul, d1, d2)),
            call(div, call(add, call(mul, 2.0, d2), d1), call(mul, d2, total)),
        )
        weights = low, high

    def combine(weights: tuple[Any, ...], rows: tuple[int, ...]) -> Any:
        terms = [call(mul, w, row(i)) for w, i in zip(weights, rows, strict=True)]
        return call(add, call(add, terms[0], terms[1]), terms[2])

    return combine(weights[0], (0, 1, 2)), combine(weights[1], (-3, -2, -1))


def _slide(name: str) -> Any:
    def slide(a: Any, v: Any, mode: str = "full" if name == "convolve" else "valid") -> Any:
        a, v = array(a), array(v)
        a, v = (reshape_to(x, (1,)) if x.ndim == 0 else x for x in (a, v))
        if a.shape[0] == 0:
            raise ValueError(f"{'a' if name == 'convolve' else 'first array argument'} cannot be empty")
        if v.shape[0] == 0:
            raise ValueError(f"{'v' if name == 'convolve' else 'second array argument'} cannot be empty")
        return library.numpy_call(name, a, v, mode=mode)

    slide.__name__ = name
    return slide


convolve = _slide("convolve")
correlate = _slide("correlate")


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d` is traced once for every vector along the axis."""
    arr = array(arr)
    axis = normalize_axis_index(axis, arr.ndim)
    rest = [n for i, n in enumerate(arr.shape) if i != axis]
    if 0 in rest:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    last = bind("transpose", arr, permutation=(*(i for i in range(arr.ndim) if i != axis), axis))
    flat = reshape_to(last, (int(np.prod(rest)), arr.shape[axis]))
    rows = [array(func1d(indexing.getitem(flat, i), *args, **kwargs)) for i in range(flat.shape[0])]
    shape = rows[0].shape
    dtype = rows[0].dtype
    stacked = [reshape_to(cast(r, dtype), (1, *shape)) for r in rows]
    table = bind("concatenate", *stacked, dimension=0) if len(stacked) > 1 else stacked[0]
    table = in_c_order(reshape_to(table, (*rest, *shape)))
    order = [*range(axis), *range(len(rest), len(rest) + len(shape)), *range(axis, len(rest))]
    if len(order) < 2:
        return as_array(table)
    result = bind("transpose", table, permutation=tuple(order))
    return core.lay_out(result, followed_strides([tuple(table.strides[i] for i in order)], result.aval))


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    value = array(a)
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        axis = int(axis) if value.ndim == 0 else normalize_axis_index(int(axis), value.ndim)
        result = func(value, axis)
        value = result if result.ndim == value.ndim else reshape_to(
            result, (*result.shape[:axis], 1, *result.shape[axis:])
        )  # fmt: skip
    return value
