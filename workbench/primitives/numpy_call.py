"""Calls of pure functions of NumPy, or of another package's ufuncs, that have no better lowering: they run as they are,
between kernels."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ..errors import LoopAbortedError
from ..ir import Aval, Primitive, supported_dtype
from .lowering import LibraryCall

Kwargs = tuple[tuple[str, Any], ...]

# ---- numpy_call: np.<name>(*operands, **kwargs); `avals` are its results', one or several ----
numpy_call_p = Primitive("numpy_call", multiple_results=True)


def numpy_function(name: str) -> Callable[..., Any]:
    """`np.linalg.pinv` for "linalg.pinv"; of another package `scipy.special.gamma` for "scipy.special:gamma", and for
    "scipy.signal:lfilter(b, a, x)" one that takes the operands as these arguments. "selected:median(a[0])" takes an
    array and a mask for what it selects from axis 0 on."""
    if name in _OURS:
        return _OURS[name]
    if ":" not in name:
        return reduce(getattr, name.split("."), np)
    module, _, path = name.partition(":")
    path, _, parameters = path.rstrip(")").partition("(")
    if module == "selected":
        return partial(_called_of_selected, numpy_function(path), parameters.split(", "))
    function = getattr(importlib.import_module(module), path)
    return partial(_called_by_name, function, parameters.split(", ")) if parameters else function


def _called_by_name(function: Callable[..., Any], names: Sequence[str], *operands: np.ndarray, **settings: Any) -> Any:
    # Some compiled functions ask for arrays that may be written to, and do not write to them.
    arrays = [x if x.flags.writeable else x.copy() for x in map(np.asarray, operands)]
    return function(**dict(zip(names, arrays, strict=True)), **settings)


def _called_of_selected(
    function: Callable[..., Any], parameters: Sequence[str], *operands: np.ndarray, **settings: Any
) -> Any:
    given, rest = {}, iter(operands)
    for parameter in parameters:
        key, _, axis = parameter.rstrip("]").partition("[")
        array = next(rest)
        given[key] = array[(*(slice(None),) * int(axis), next(rest))] if axis else array
    return function(**given, **settings)


def _spelled(name: str) -> str:
    return name.replace(":", ".") if ":" in name else f"numpy.{name}"


def _weighted_histogram(a: np.ndarray, weights: np.ndarray, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.histogram(a, weights=weights, **settings)


def _sums_in_bins(places: np.ndarray, weights: np.ndarray | None = None, *, bins: int) -> np.ndarray:
    """How often each bin is in `places`, or the sum of its weights; in the order in which np.histogram adds. What lies
    outside is in the place `bins`."""
    found = np.zeros(bins, np.int64 if weights is None else np.float64)
    for first in range(0, len(places), _BLOCK):
        block = slice(first, first + _BLOCK)
        mine = None if weights is None else weights[block]
        found += np.bincount(places[block], mine, bins + 1)[:bins]
    return found


_BLOCK = 65536  # elements that np.histogram adds up at a time
_OURS = {"weighted_histogram": _weighted_histogram, "sums_in_bins": _sums_in_bins}


def _example(aval: Aval) -> np.ndarray:
    """Ones; matrices have other ones on their diagonal, and so full rank."""
    example = np.ones(aval.shape, aval.dtype)
    if aval.ndim > 1 and aval.dtype.kind in "fc":
        example += np.eye(*aval.shape[-2:], dtype=aval.dtype)
    return example


def numpy_result_avals(name: str, avals: tuple[Aval, ...], kwargs: Kwargs | Mapping[str, Any] = ()) -> tuple[Aval, ...]:
    """The results' avals, found by running the function once: only for functions whose result has a shape and a dtype
    that depend on nothing but the operands' shapes and dtypes."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the example
        found = numpy_function(name)(*map(_example, avals), **dict(kwargs))
    results = found if isinstance(found, tuple | list) else (found,)
    return tuple(_aval_of_result(result) for result in results)


def _aval_of_result(result: Any) -> Aval:
    array = np.asarray(result)
    return Aval(array.shape, array.dtype, weak_type=type(result) in (bool, int, float, complex))


@numpy_call_p.def_impl
def numpy_call_impl(
    *operands: np.ndarray,
    name: str,
    kwargs: Kwargs | Mapping[str, Any] = (),
    avals: tuple[Aval, ...] | None = None,
) -> tuple[np.ndarray, ...]:
    found = numpy_function(name)(*operands, **dict(kwargs))
    arrays = tuple(map(np.asarray, found)) if isinstance(found, tuple | list) else (np.asarray(found),)
    for array, aval in zip(arrays, avals or (), strict=False):
        if array.shape != aval.shape or array.dtype != aval.dtype:
            found_now = f"{array.dtype}{list(array.shape)}"
            raise LoopAbortedError(f"WB350  {_spelled(name)}: the result is {found_now}, not {aval} as was traced")
    return arrays


@numpy_call_p.def_abstract_eval
def numpy_call_aval(
    *operands: Aval,
    name: str,
    kwargs: Kwargs | Mapping[str, Any] = (),
    avals: tuple[Aval, ...] | None = None,
) -> tuple[Aval, ...]:
    results = numpy_result_avals(name, operands, kwargs) if avals is None else tuple(avals)
    for aval in results:
        if not supported_dtype(aval.dtype):
            raise TypeError(f"{_spelled(name)}: arrays of dtype {aval.dtype} can't be compiled")
    return results


numpy_call_p.def_lowering(LibraryCall(numpy_call_impl, library="NumPy"))
