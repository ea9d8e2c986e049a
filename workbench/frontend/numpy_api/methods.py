"""The methods and properties of ndarrays and NumPy scalars, as traced arrays have them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import operators, views
from .. import tracer as core
from ..diagnostics import too_many_items
from ..proxies import unwrap
from . import (
    contractions,
    creation,
    indexing,
    joining,
    masked,
    movement,
    picking,
    reductions,
    selection,
    sorting,
    statistics,
    ufuncs,
)
from .dispatch import apply_ufunc
from .operands import array, bind, dtype_of, is_tracer, ndim_of, reshape_to, shape_of, stored, unsupported
from .promotion import as_dtype, check_cast, check_dtype

METHODS: dict[str, Callable[..., Any]] = {}
PROPERTIES: dict[str, Callable[..., Any]] = {}


def astype(x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    target = check_dtype(as_dtype(dtype), "astype")
    check_cast(x.dtype, target, casting, "array data")
    result = creation.astype(x, target, copy=copy)
    if order in ("C", "F") and result.ndim > 1 and not x.scalar:
        return creation.asfortranarray(result) if order == "F" else creation.ascontiguousarray(result)
    return result


def reshape(x: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return movement.reshape(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def transpose(x: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
        return movement.transpose(x, axes[0])
    return movement.transpose(x, axes or None)


def resize(x: Any, *new_shape: Any, refcheck: bool = True) -> None:
    raise unsupported("ndarray.resize changes the memory of an array", fixes=("np.resize(x, shape)",), code="WB120")


def fill(x: Any, value: Any) -> None:
    if x.scalar:  # NumPy's scalars take the call and stay what they are
        return
    if ndim_of(value):  # NumPy's rule, by its own words
        np.zeros(1, x.dtype).fill(np.zeros(shape_of(value), dtype_of(value)))
    indexing.setitem(x, Ellipsis, value)


def item(x: Any, *args: Any) -> Any:
    """A Python scalar. It stays traced, and promotes as a Python scalar does."""
    if len(args) == 1 and isinstance(args[0], tuple):
        args = args[0]
    if not args:
        if x.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        element = reshape_to(x, ())
    elif len(args) == 1 and x.ndim != 1:
        element = indexing.getitem(views.reshape(x, (x.size,)), operator.index(args[0]))
    else:
        if len(args) != x.ndim:
            raise ValueError("incorrect number of indices for array")
        element = indexing.getitem(x, tuple(operator.index(i) for i in args))
    return as_python_scalar(element)


def as_python_scalar(x: Any) -> Any:
    """The value of a rank-0 tracer as a Python number, which has a weak dtype."""
    kind = x.dtype.kind
    value = core.known_value(x)
    if value is not None:
        return value.item()
    if kind == "b":
        return operators.weaken(bind("copy", x))
    wide = np.dtype({"i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}[kind])
    if x.dtype == np.uint64:
        raise unsupported("item() of a uint64 array is a Python int that may not fit into 64 bits")
    return bind("convert_element_type", x, new_dtype=wide, weak_type=True)


def tolist(x: Any) -> Any:
    """Nested lists of Python scalars, which stay traced."""
    if x.ndim == 0:
        return as_python_scalar(x)
    if x.size > core.MOST_LISTED:
        raise too_many_items(x)
    return [tolist(indexing.getitem(x, i)) for i in range(x.shape[0])]


def view(x: Any, dtype: Any = None, type: Any = None) -> Any:
    """`x.view()` is another view of all of `x`; `x.view(dtype)` reinterprets bytes, which only same parts allow."""
    dtype = unwrap(dtype)
    if dtype is None or (isinstance(dtype, builtin_type) and issubclass(dtype, np.ndarray)):
        if dtype is not None and dtype is not np.ndarray:
            raise unsupported(f"a view as {dtype.__name__}, a class of its own")
        return movement.reshape(x, x.shape) if x.ndim else indexing.getitem(x, Ellipsis)
    target = as_dtype(dtype)
    if target == x.dtype:
        return movement.reshape(x, x.shape) if x.ndim else indexing.getitem(x, Ellipsis)
    raise unsupported(f"a view of {x.dtype} memory as {target} reads its bytes", fixes=(f".astype(np.{target})",))


builtin_type = type


class FlatIterator:
    """`x.flat`: elements in row-major order; assignment writes through."""

    def __init__(self, x: Any):
        self.base = x

    def _flattened(self) -> Any:
        return views.reshape(self.base, (self.base.size,))

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        flattened = self._flattened()
        return (indexing.getitem(flattened, i) for i in range(self.base.size))

    def __getitem__(self, key: Any) -> Any:
        result = indexing.getitem(self._flattened(), key)
        return result if not is_tracer(result) or result.scalar else core.as_array(bind("copy", result))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.base.scalar:
            raise unsupported("the elements of a number are a copy of it")
        flattened = core.as_array(bind("copy", reshape_to(self.base, (self.base.size,))))
        value = array(stored(value, self.base.dtype))
        region = indexing.getitem(flattened, key)
        if value.ndim and not region.ndim:
            raise ValueError("Error setting single item of array.")
        value = reshape_to(value, (value.size,))
        if value.size != region.size and region.size:  # flat repeats what it is given
            value = joining.resize(value, (region.size,))
        if region.size:
            indexing.setitem(flattened, key, reshape_to(value, region.shape))
            views.write(self.base, reshape_to(flattened, self.base.shape))

    def copy(self) -> Any:
        return movement.flatten(self.base)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs = tuple(x._flattened() if isinstance(x, FlatIterator) else x for x in inputs)
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._flattened(), dtype)


def set_flat(x: Any, value: Any) -> None:
    FlatIterator(x)[:] = value


def _as_number(x: Any) -> Any:
    """`x`, or the int that Python's True or False is where a part of it is asked for."""
    return operators.python_int(x) if operators.is_python_bool(x) else x


def real(x: Any) -> Any:
    return selection.real(_as_number(x))


def imag(x: Any) -> Any:
    return selection.imag(_as_number(x))


def conjugate(x: Any, out: Any = None) -> Any:
    x = _as_number(x)
    if x.dtype.kind != "c" and out is None:  # NumPy returns a real array itself
        return x
    found = ufuncs.call_ufunc(np.conjugate, x, out=out)
    return operators.weaken(found) if x.aval.weak_type else found


def clip(x: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    if min is None and max is None and "dtype" not in kwargs:
        return selection.clip(x, None, None, out, **kwargs)
    return selection.clip(x, min, max, out, **kwargs)


def byteswap(x: Any, inplace: bool = False) -> Any:
    if x.dtype.itemsize != 1:
        raise unsupported("byteswap reads the bytes of an array")
    return x if inplace else bind("copy", x) if x.scalar else core.as_array(bind("copy", x))


def setflags(x: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if write is not None:
        views.Flags(x).writeable = write


def to_device(x: Any, device: str, /, *, stream: Any = None) -> Any:
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device!r}.")
    return x


def is_integer(x: Any) -> Any:
    if not x.scalar or x.dtype.kind in "bc":
        raise AttributeError(f"'{core.type_name(x)}' object has no attribute 'is_integer'")
    if x.dtype.kind in "iu":
        return True
    whole = ufuncs.call_ufunc(np.equal, ufuncs.call_ufunc(np.floor, x), x)
    return operators.weaken(ufuncs.call_ufunc(np.logical_and, whole, ufuncs.call_ufunc(np.isfinite, x)))


def copy_method(x: Any, order: str = "C") -> Any:
    if x.scalar:
        return core.as_scalar(bind("copy", x))
    return creation.copied(x, order)


def needs_numbers(name: str) -> Callable[..., Any]:
    """A method that hands out the numbers themselves, which are not there yet."""

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        value = core.known_value(x)
        if value is None:
            raise unsupported(f"ndarray.{name} is about the numbers themselves, which are not there while tracing")
        found = getattr(value, name)
        return found(*args, **kwargs) if callable(found) else found

    method.__name__ = name
    return method


METHODS.update({
    "all": reductions.all_, "any": reductions.any_, "argmax": reductions.argmax, "argmin": reductions.argmin,
    "argpartition": sorting.argpartition, "argsort": sorting.argsort, "astype": astype, "byteswap": byteswap,
    "choose": selection.choose, "clip": clip, "compress": lambda x, condition, axis=None, out=None:
        selection.compress(condition, x, axis, out),
    "conj": conjugate, "conjugate": conjugate, "copy": copy_method, "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum, "diagonal": movement.diagonal, "dot": contractions.dot, "fill": fill,
    "flatten": movement.flatten, "item": item, "max": reductions.amax, "mean": statistics.mean,
    "min": reductions.amin, "nonzero": masked.nonzero, "partition": sorting.partition_in_place,
    "prod": reductions.prod, "put": picking.put, "ravel": movement.ravel, "repeat": joining.repeat,
    "reshape": reshape, "resize": resize, "round": selection.around, "searchsorted": sorting.searchsorted,
    "setflags": setflags, "sort": sorting.sort_in_place, "squeeze": movement.squeeze,
    "std": statistics.standard_deviation, "sum": reductions.sum_, "swapaxes": movement.swapaxes,
    "take": picking.take, "to_device": to_device, "tolist": tolist, "trace": contractions.trace,
    "transpose": transpose, "var": statistics.variance, "view": view, "is_integer": is_integer,
    **{name: needs_numbers(name) for name in (
        "tobytes", "tofile", "dump", "dumps", "getfield", "setfield", "__dlpack__", "__dlpack_device__",
    )},
})  # fmt: skip
PROPERTIES.update({
    "real": real, "imag": imag, "flat": FlatIterator, "device": lambda x: "cpu",
    "data": needs_numbers("data"), "ctypes": needs_numbers("ctypes"),
})  # fmt: skip
