"""Counts of values: `bincount`, and histograms, whose number of bins must be known.

Which of equal bins a number is in is an operation of its own, which fuses with what makes the number; NumPy adds up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.avals import Aval
from .. import tracer as core
from ..layouts import contiguous_strides
from . import library
from .operands import array, as_array, reshape_to, static_array
from .promotion import FLOAT64


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The shape is the largest value plus one, which depends on data. With a `minlength` it is taken to be that: where
    a value is larger, the step raises, and the call runs in NumPy."""
    least = static_array(minlength, "minlength")
    if least.ndim == 0 and least.dtype.kind in "iu" and least > 0:
        operands = [as_array(array(v)) for v in ((x,) if weights is None else (x, weights))]
        if operands[0].ndim == 1 and operands[0].dtype.kind in "biu" and operands[0].dtype != np.uint64:
            n = int(least)
            aval = Aval((n,), np.dtype(np.int64 if weights is None else np.float64))
            return as_array(library.numpy_call("bincount", *operands, avals=(aval,), minlength=n))
    if weights is None:
        return _refused_bincount(x, minlength=minlength)
    return _refused_bincount(x, weights, minlength)


_refused_bincount = library.refused(
    np.bincount, "the length of the result is the largest value plus one, which depends on data",
    fix="np.add.at(np.zeros(n, int), x, 1)",
)  # fmt: skip


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a = array(a)
    settings: dict[str, Any] = {}
    if isinstance(bins, str):
        return _refused_histogram(a, bins, range, density, weights)
    if np.ndim(bins) == 0:
        settings["bins"] = int(static_array(bins, "bins"))
    else:
        settings["bins"] = tuple(static_array(bins, "the edges of the bins").tolist())
    if range is not None:
        settings["range"] = tuple(float(static_array(v, "range")) for v in range)
    operands = [reshape_to(a, (a.size,))]
    if weights is not None:
        weights = array(weights)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        operands.append(reshape_to(weights, (a.size,)))
    is_plain = a.dtype.kind in "iu" or a.dtype in (np.float32, FLOAT64)
    if a.size and is_plain and type(settings["bins"]) is int and (weights is None or weights.dtype == FLOAT64):
        counts, edges = _of_equal_bins(*operands, **settings)
        if not density:
            return counts, edges
        widths: Any = np.diff(edges).astype(FLOAT64)
        return counts / widths / counts.sum(), edges
    if density is not None:
        settings["density"] = bool(density)
    return library.numpy_call("histogram" if weights is None else "weighted_histogram", *operands, **settings)


def _of_equal_bins(x: Any, *weights: Any, bins: int, range: Any = None) -> tuple[Any, Any]:
    """The counts, or sums of weights, and the edges.

    As in NumPy the division is right up to one bin, and the edges decide.
    """
    settings = {} if range is None else {"range": range}
    edges: Any = library.numpy_call("histogram_bin_edges", x, bins=bins, **settings)
    x = x.astype(edges.dtype)
    low, high = edges[0], edges[bins]
    place: Any = ((x - low) / (high - low) * bins).astype(np.int64)
    place = np.clip(place, 0, bins - 1)
    place = place - (x < np.take(edges, place, mode="clip"))
    place = place + ((x >= np.take(edges, place + 1, mode="clip")) & (place < bins - 1))
    if range is not None:
        place = np.where((x >= low) & (x <= high), place, bins)
    return library.numpy_call("sums_in_bins", as_array(place), *weights, bins=bins), edges


_refused_histogram = library.refused(np.histogram, "the number of bins depends on data", code="WB120")


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    if weights is not None:
        return _refused_histogram2d(x, y, bins, range, density, weights)
    count = [static_array(n, "bins") for n in bins] if isinstance(bins, list | tuple) else static_array(bins, "bins")
    if isinstance(count, list):
        settings: dict[str, Any] = {"bins": tuple(int(n) if n.ndim == 0 else tuple(n.tolist()) for n in count)}
    else:
        settings = {"bins": int(count) if count.ndim == 0 else tuple(count.tolist())}
    if range is not None:
        settings["range"] = tuple(map(tuple, static_array(range, "range").tolist()))
    counts, *edges = library.numpy_call("histogram2d", array(x), array(y), density=density, **settings)
    return _inside_outliers(counts) if not density else counts, *edges


def _inside_outliers(counts: Any) -> Any:
    """Counts as NumPy makes them: a view of a table that has a bin more at each end of each axis."""
    return core.lay_out(counts, contiguous_strides(tuple(n + 2 for n in counts.shape), counts.itemsize))


_refused_histogram2d = library.refused(np.histogram2d, "weights cannot be compiled", code="WB120")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = array(a)
    if isinstance(bins, str):
        return _refused_edges(a, bins, range, weights)
    count = static_array(bins, "bins")
    settings: dict[str, Any] = {"bins": int(count) if count.ndim == 0 else tuple(count.tolist())}
    if range is not None:
        settings["range"] = tuple(float(static_array(v, "range")) for v in range)
    return library.numpy_call("histogram_bin_edges", reshape_to(a, (a.size,)), **settings)


_refused_edges = library.refused(np.histogram_bin_edges, "the number of bins depends on data")
