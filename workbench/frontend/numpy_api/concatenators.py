"""Objects with brackets (numpy.lib.index_tricks): `np.r_` and `np.c_`, which join arrays, slices and numbers along an
axis, and `np.mgrid` and `np.ogrid`, which make grids of slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .creation import arange, constant, linspace
from .joining import concatenate
from .operands import array, bind, broadcast_operand, cast, is_python_scalar, is_tracer, reshape_to, unsupported
from .promotion import result_type

Concatenator = type(np.r_).__mro__[1]
Grid = type(np.mgrid).__mro__[1]
INDEX_OBJECTS = (Concatenator, Grid)


def take_item(index_object: Any, key: Any) -> Any:
    """`index_object[key]`, of NumPy's objects with brackets."""
    return _grid(index_object, key) if isinstance(index_object, Grid) else _joined(index_object, key)


def _grid(grid: Any, key: Any) -> Any:
    """`np.mgrid[key]` or `np.ogrid[key]`: NumPy makes the vectors, the program makes grids of them."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(is_tracer(x) for part in parts for x in (part.start, part.stop, part.step)):
        raise unsupported("a grid whose size depends on traced values")
    if not isinstance(key, tuple) or not key:
        return constant(grid[key])
    thin = np.ogrid[key]
    if grid.sparse:
        return tuple(constant(x) for x in thin)
    shape = tuple(x.shape[k] for k, x in enumerate(thin))
    bounds = [(part.start or 0, part.stop, 1 if part.step is None else part.step) for part in key]
    dtype = np.result_type(0, *[abs(x) if isinstance(x, complex | np.complexfloating) else x
                                for three in bounds for x in three])  # fmt: skip
    grids = [broadcast_operand(constant(x.astype(dtype)), shape) for x in thin]
    grids = [reshape_to(x, (1, *shape)) for x in grids]
    return bind("concatenate", *grids, dimension=0) if len(grids) > 1 else grids[0]


def _joined(concatenator: Any, key: Any) -> Any:
    """`np.r_[key]`. A text in front says along which axis, and to which rank to bring what has fewer axes."""
    parts = key if isinstance(key, tuple) else (key,)
    axis, rank, place = concatenator.axis, concatenator.ndmin, concatenator.trans1d
    if parts and isinstance(parts[0], str):
        axis, rank, place = _directive(parts[0], axis, rank, place)
        parts = parts[1:]
    if any(isinstance(part, str) for part in parts):
        raise ValueError("special directives must be the first entry.")
    items = [_slice(part) if isinstance(part, slice) else part for part in parts]
    if not items:
        raise ValueError("need at least one array to concatenate")
    dtype = result_type(*(x if _is_number(x) else array(x).dtype for x in items))
    arrays = [cast(_with_rank(array(x), rank, -1 if _is_number(x) else place), dtype) for x in items]
    return concatenate(arrays, axis)


def _directive(text: str, axis: int, rank: int, place: int) -> tuple[int, int, int]:
    if text in ("r", "c"):
        raise unsupported(f"np.r_[{text!r}, ...] makes a matrix")
    fields = text.split(",")
    try:
        numbers = [int(field) for field in fields[:3]]
    except ValueError as error:
        what = f"unknown special directive {text!r}" if len(fields) > 1 else "unknown special directive"
        raise ValueError(what) from error
    return (*numbers, *(axis, rank, place)[len(numbers) :])  # type: ignore[return-value]  # three in all


def _slice(part: slice) -> Any:
    start, step = part.start if part.start is not None else 0, part.step if part.step is not None else 1
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


def _is_number(x: Any) -> bool:
    return is_python_scalar(x) or isinstance(x, np.generic) or (is_tracer(x) and x.scalar)


def _with_rank(x: Any, rank: int, place: int) -> Any:
    """`x` with axes of length 1 in front; its own axes begin at `place` among them, where that is not -1."""
    missing = rank - x.ndim
    if missing <= 0:
        return x
    begin = missing if place == -1 else place if place >= 0 else place + missing + 1
    return reshape_to(x, ((1,) * rank)[:begin] + x.shape + (1,) * (missing - begin))
