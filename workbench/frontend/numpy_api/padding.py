"""`np.pad`: the modes that copy elements are index maps or gathers, those that compute them are joined from parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import views
from . import library, reductions, statistics, ufuncs
from .operands import (
    array,
    as_array,
    bind,
    broadcast_operand,
    cast,
    has_tracer,
    in_c_order,
    is_tracer,
    laid_out_like,
    operand,
    static_array,
    stored,
    unsupported,
)
from .reductions import part

GATHERED = ("edge", "reflect", "symmetric", "wrap")
STATISTICS: dict[str, str] = {"maximum": "amax", "mean": "mean", "median": "median", "minimum": "amin"}


def pad_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """(before, after) for every axis."""
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pair = np.broadcast_to(static_array(width, "pad_width"), (2,))
            widths[axis] = (int(pair[0]), int(pair[1]))
        return widths
    given = static_array(pad_width, "pad_width")
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if given.size and given.min() < 0:
        raise ValueError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in np.broadcast_to(given, (ndim, 2))]


def pad(array_: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    x = array(array_)
    result = as_array(_pad(x, pad_width, mode, kwargs))
    return laid_out_like(result, x) if views.Flags(x).fnc else in_c_order(result)


def _pad(x: Any, pad_width: Any, mode: Any, kwargs: dict[str, Any]) -> Any:
    widths = pad_widths(pad_width, x.ndim) if x.ndim or isinstance(pad_width, dict) else []
    if callable(mode):
        raise unsupported("pad with a function as mode changes its vectors in place and cannot be compiled")
    if mode == "constant":
        _check_keywords(mode, kwargs, ("constant_values",))
        return _pad_constant(x, widths, kwargs.get("constant_values", 0))
    if mode == "empty":
        _check_keywords(mode, kwargs, ())
        return _pad_constant(x, widths, 0)
    if mode in GATHERED:
        _check_keywords(mode, kwargs, ("reflect_type",) if mode in ("reflect", "symmetric") else ())
        if kwargs.get("reflect_type", "even") == "odd":
            return _by_numpy(x, widths, mode, kwargs)
        return _pad_gathered(x, widths, mode)
    if mode == "linear_ramp":
        _check_keywords(mode, kwargs, ("end_values",))
        return _by_numpy(x, widths, mode, kwargs)
    if mode in STATISTICS:
        _check_keywords(mode, kwargs, ("stat_length",))
        if kwargs.get("stat_length") is not None or mode == "median":
            return _by_numpy(x, widths, mode, kwargs)
        return _pad_statistic(x, widths, mode)
    raise ValueError(f"mode '{mode}' is not supported")


def _check_keywords(mode: str, kwargs: dict[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = set(kwargs) - set(allowed)
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")


def _by_numpy(x: Any, widths: list[tuple[int, int]], mode: str, kwargs: dict[str, Any]) -> Any:
    if x.ndim == 0:
        return bind("copy", x)
    settings = {k: library.static_setting(v, f"pad: {k}=") for k, v in kwargs.items()}
    settings = {k: tuple(map(tuple, v)) if isinstance(v, list) and v and isinstance(v[0], list) else v
                for k, v in settings.items()}  # fmt: skip
    return library.numpy_call("pad", x, pad_width=tuple(widths), mode=mode, **settings)


def _pad_constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    if is_tracer(values) or not has_tracer(values):
        values = operand(values) if is_tracer(values) else np.asarray(values)
        if values.ndim == 0:
            fill = stored(values if is_tracer(values) else values[()], x.dtype)
            config = tuple((before, after, 0) for before, after in widths)
            return bind("pad", x, fill, padding_config=config) if any(map(any, widths)) else bind("copy", x)
        if is_tracer(values):
            raise unsupported("pad: an array of traced constant_values cannot be compiled")
    table = np.broadcast_to(np.asarray(values), (x.ndim, 2))
    result = x
    for axis, (before, after) in enumerate(widths):
        for amount, value, first in ((before, table[axis, 0], True), (after, table[axis, 1], False)):
            if amount:
                config = tuple(
                    ((amount, 0, 0) if first else (0, amount, 0)) if i == axis else (0, 0, 0) for i in range(x.ndim)
                )
                result = bind("pad", result, value.astype(x.dtype), padding_config=config)
    return bind("copy", x) if result is x else result


def _pad_gathered(x: Any, widths: list[tuple[int, int]], mode: str) -> Any:
    """Axis by axis: which element of the axis stands at every place, as NumPy pads a vector of positions."""
    result = x
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        n = x.shape[axis]
        if n == 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        source = np.pad(np.arange(n), (before, after), mode=mode)  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy's stubs say less than NumPy does
        result = _taken(result, source, axis, before, after, n)
    return bind("copy", x) if result is x else result


def _taken(x: Any, source: np.ndarray, axis: int, before: int, after: int, n: int) -> Any:
    """The parts in front and behind as slices (reversed where they run backwards), so that they join a kernel."""
    pieces = []
    for run in (source[:before], None, source[before + n :]):
        if run is None:
            pieces.append(x)
        elif len(run):
            pieces.extend(_run(x, run, axis))
    return bind("concatenate", *pieces, dimension=axis)


def _run(x: Any, source: np.ndarray, axis: int) -> list[Any]:
    """`x` at the positions `source` of an axis, cut where the positions stop to rise, fall or stay."""
    pieces, start = [], 0
    while start < len(source):
        stop = start + 1
        step = int(source[stop] - source[start]) if stop < len(source) else 0
        while stop < len(source) and source[stop] - source[stop - 1] == step and abs(step) <= 1:
            stop += 1
        low, high = int(source[start:stop].min()), int(source[start:stop].max())
        piece = part(x, axis, low, high + 1)
        if stop - start > 1 and step == -1:
            piece = bind("rev", piece, dimensions=(axis,))
        elif stop - start > 1 and step == 0:
            shape = tuple(stop - start if i == axis else m for i, m in enumerate(piece.shape))
            piece = broadcast_operand(piece, shape)
        pieces.append(piece)
        start = stop
    return pieces


def _pad_statistic(x: Any, widths: list[tuple[int, int]], mode: str) -> Any:
    reducer: Callable[..., Any] = statistics.mean if mode == "mean" else getattr(reductions, STATISTICS[mode])
    result = x
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        if x.shape[axis] == 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        value = reducer(result, axis=axis, keepdims=True)
        if x.dtype.kind in "iu" and mode == "mean":
            value = ufuncs.call_ufunc(np.rint, value)
        value = cast(value, x.dtype)
        pieces = [result]
        for amount, first in ((before, True), (after, False)):
            if amount:
                shape = tuple(amount if i == axis else m for i, m in enumerate(result.shape))
                piece = broadcast_operand(value, shape)
                pieces = [piece, *pieces] if first else [*pieces, piece]
        result = bind("concatenate", *pieces, dimension=axis)
    return bind("copy", x) if result is x else result
