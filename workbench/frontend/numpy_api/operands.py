"""Operands: what NumPy's functions accept, turned into traced arrays or scalars, and the smallest steps on them.

An operand is a `Tracer`, a NumPy scalar or a Python scalar. Arrays of the user are lifted to tracers at once, so that
a later change of theirs is seen by the compiled function; lists that hold tracers are stacked.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ... import primitives as _declared  # noqa: F401  (fills the registry)
from ...errors import TracingError, UnsupportedOperationError
from ...ir.primitive import REGISTRY
from .. import diagnostics
from .. import tracer as core
from ..checks import end_unless
from ..growing import columns_of, rows_together
from ..layouts import copied_strides, followed_strides
from .promotion import (
    assigned_scalar,
    check_dtype,
    check_not_mixed,
    is_mixed,
    is_python_scalar,
    possible_dtypes,
    two_types,
    typed_scalar,
    wrapped_scalar,
)

__all__ = [
    "array", "as_array", "as_axes", "as_shape", "bind", "broadcast_operand", "cast", "cast_wrapping",
    "constant_like", "dtype_of", "full", "full_like_operand", "has_tracer", "in_c_order", "is_tracer", "known",
    "laid_out_like", "lifted_target", "ndim_of", "normalize_axis_index", "normalize_axis_tuple", "operand",
    "reshape_to", "shape_of", "static_array", "stored", "target_array", "unsupported", "with_axis",
]  # fmt: skip


def bind(name: str, /, *operands: Any, **params: Any) -> Any:
    """Append one equation of the primitive `name`."""
    return core.emit(REGISTRY[name], *operands, **params)


def is_tracer(x: object) -> bool:
    return type(x) is core.Tracer


def has_tracer(x: object) -> bool:
    """Whether a traced array is in `x` or, at any depth, in the lists and tuples of `x`."""
    if isinstance(x, list | tuple):
        return any(has_tracer(item) for item in x)
    return is_tracer(x)


def operand(x: Any) -> Any:
    """`x` as something that an equation can read: a tracer or a scalar."""
    if is_tracer(x) or is_python_scalar(x):
        return x
    if isinstance(x, np.generic):
        check_dtype(x.dtype, "trace")
        return x
    if isinstance(x, list | tuple) and has_tracer(x):
        return _stack_nested(x)
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise diagnostics.unsupported_dtype(x.dtype)
    return core.lift(x)


def array(x: Any) -> Any:
    """`x` as a tracer, as `np.asarray` sees it: a Python scalar has its full dtype."""
    x = operand(x)
    if not is_tracer(x):
        return core.lift(typed_scalar(x, check_dtype(dtype_of(x), "array")) if is_python_scalar(x) else x)
    if x.aval.weak_type:
        return bind("convert_element_type", x, new_dtype=x.dtype, weak_type=False)
    check_not_mixed(x)
    return x


def as_array(x: Any) -> Any:
    """A result that is an array also for rank 0, where most functions return a scalar."""
    return core.as_array(x) if x.scalar else x


def target_array(x: Any, what: str) -> Any:
    """An array that is about to be changed: a tracer or an array from outside, and no scalar."""
    if not is_tracer(x) and isinstance(x, np.ndarray):
        x = lifted_target(x)
    if not is_tracer(x) or x.scalar:
        raise TypeError(f"{what}: first argument must be an array")
    return x


def lifted_target(x: np.ndarray) -> Any:
    """An array from outside that is written into. One that NumPy made while tracing, of known numbers, is refused: it
    would be written into now, and only once."""
    found = core.lift(x)
    if found.buffer.var_in is None and x.dtype.kind in "biufc":
        raise unsupported(
            "a write into an array that NumPy made of known numbers", fixes=("make it with np.array(...) first",)
        )
    return found


def _stack_nested(items: Sequence[Any], dtype: np.dtype | None = None) -> Any:
    """A list of arrays, scalars and lists, stacked as `np.array` stacks it."""
    together = rows_together(items)
    if together is not None and dtype in (None, together.dtype):
        return together
    stacked = _stack_columns(items, dtype)
    if stacked is not None:
        return stacked
    if dtype is None:
        parts = [operand(item) for item in items]
        dtype = _joint_dtype(parts)
    else:
        parts = [stored(item, dtype) for item in items]
    shapes = {shape_of(p) for p in parts}
    if len(shapes) != 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
            f"dimensions. The detected shape was ({len(parts)},) + inhomogeneous part."
        )
    (shape,) = shapes
    rows = [reshape_to(array(cast(p, dtype)), (1, *shape)) for p in parts]
    return bind("concatenate", *rows, dimension=0) if len(rows) > 1 else rows[0]


def _stack_columns(items: Sequence[Any], dtype: np.dtype | None) -> Any:
    """A list of lists or tuples whose columns are arrays already, as one of them; None elsewhere."""
    columns = columns_of(items)
    parts = [_column(column, dtype) for column in columns or ()]
    if not parts or any(part is None or part.shape != parts[0].shape for part in parts):
        return None
    found = dtype or _joint_dtype(parts)
    if any(part.dtype != found and (part.dtype.kind not in "biuf" or found.kind not in "fc") for part in parts):
        return None  # NumPy also asks whether each number fits
    wide = [reshape_to(array(cast(part, found)), (part.shape[0], 1, *part.shape[1:])) for part in parts]
    return bind("concatenate", *wide, dimension=1) if len(wide) > 1 else wide[0]


def _column(items: Sequence[Any], dtype: np.dtype | None) -> Any:
    return _stack_columns(items, dtype) if type(items[0]) in (list, tuple) else rows_together(items)


def _joint_dtype(items: Sequence[Any]) -> np.dtype:
    """The dtype of `np.array(items)`, with Python scalars of full dtype. WB181 where a mixed one decides."""
    found = np.result_type(*(dtype_of(item) for item in items))
    if any(map(is_mixed, items)):
        every: set[np.dtype] = set()
        for item in items:
            dtypes = possible_dtypes(item) if is_tracer(item) else {dtype_of(item)}
            every = {np.result_type(a, b) for a in every for b in dtypes} if every else dtypes
        if len(every) > 1:
            raise two_types(next(item for item in items if is_mixed(item)))
    return found


def unsupported(message: str, *, fixes: Sequence[str] = (), code: str = "") -> TracingError:
    """The error of an operation that cannot be compiled, with the user's line. Data-dependent shapes are WB110."""
    return diagnostics.build(
        UnsupportedOperationError, f"{{line}} cannot be compiled: {message}.", message, code=code,
        fixes=fixes or ("leave this line outside the compiled code; the rest compiles without it",),
    )  # fmt: skip


def static_array(x: Any, what: str) -> np.ndarray:
    """The numbers of `x`, which must be known while tracing."""
    if not has_tracer(x):
        return np.asarray(x)
    value = core.known_value(operand(x))
    if value is None:
        raise unsupported(
            f"{what} must be known when the code is traced, but it is computed from traced values", code="WB110"
        )
    return value


def known(x: Any) -> np.ndarray | None:
    """The numbers of an operand where they are known while tracing, else None."""
    return core.known_value(x)


# ---- what is known of an operand ----


def shape_of(x: Any) -> tuple[int, ...]:
    return () if is_python_scalar(x) else tuple(x.shape)


def ndim_of(x: Any) -> int:
    return 0 if is_python_scalar(x) else x.ndim


def dtype_of(x: Any) -> np.dtype:
    return np.asarray(x).dtype if is_python_scalar(x) else x.dtype


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape argument: an int or a sequence of them."""
    if is_tracer(shape) and known(shape) is None:
        raise diagnostics.traced_shape(shape)
    if is_tracer(shape) or isinstance(shape, np.ndarray):
        shape = static_array(shape, "a shape").tolist()
    if isinstance(shape, Iterable):
        return tuple(operator.index(n) for n in shape)
    return (operator.index(shape),)


def as_axes(axis: Any, ndim: int, *, lenient: bool = False) -> tuple[int, ...]:
    """An `axis` argument of a reduction: None for all, an int or a tuple; normalised, in the order given.

    lenient: axis 0 of rank 0 is no axis, as the ufuncs' `reduce` has it, but not in a tuple.
    """
    if axis is None:
        return tuple(range(ndim))
    if lenient and ndim == 0 and axis in (0, -1):
        return ()
    return normalize_axis_tuple(axis, ndim)


def with_axis(x: Any, axis: int) -> tuple[Any, int]:
    """A tracer and a normalised axis of it; NumPy lets rank 0 pass as a vector of one element."""
    if x.ndim == 0 and axis in (0, -1):
        return reshape_to(x, (1,)), 0
    return x, normalize_axis_index(axis, x.ndim)


# ---- the smallest steps ----


def cast(x: Any, dtype: np.dtype) -> Any:
    """`x` converted to `dtype` as `astype` does it; itself where it has that dtype."""
    if is_python_scalar(x):
        return typed_scalar(x, dtype)
    if x.dtype == dtype:
        return x
    check_dtype(dtype, "astype")
    if is_tracer(x):
        if x.aval.weak_type:
            _must_fit(x, dtype)
        return bind("convert_element_type", x, new_dtype=dtype, weak_type=False)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def cast_wrapping(x: Any, dtype: np.dtype) -> Any:
    """`x` converted to `dtype`, a Python int modulo its size."""
    if is_python_scalar(x):
        return wrapped_scalar(x, dtype)
    if is_tracer(x) and x.aval.weak_type and x.dtype != dtype:
        return bind("convert_element_type", x, new_dtype=check_dtype(dtype, "astype"), weak_type=False)
    return cast(x, dtype)


def stored(x: Any, dtype: np.dtype) -> Any:
    """`x` as NumPy stores it in an array of `dtype`: a number as `int(x)` or `float(x)`, which must fit; the numbers in
    a list, too; arrays are cast."""
    if isinstance(x, list | tuple):
        if has_tracer(x):
            return _stack_nested(x, dtype)
        return core.as_array(core.lift(np.array(x, dtype)))
    x = operand(x)
    if is_python_scalar(x):
        return assigned_scalar(x, dtype)
    if not is_tracer(x) and x.dtype != dtype:
        return _element_of(x, dtype)
    if is_tracer(x) and x.scalar and not x.aval.weak_type and x.dtype.kind in "iufc":
        _must_fit(x, dtype)
    return cast(x, dtype)


def _element_of(x: Any, dtype: np.dtype) -> np.generic:
    """A number as an element of an array of `dtype`; NumPy decides which of those that do not fit it refuses."""
    element = np.zeros(1, dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        element[0] = x
    return element[0]


def as_cast(x: Any) -> Any:
    """NumPy's scalars as arrays, which are cast, where a scalar that is stored must fit."""
    if is_tracer(x):
        return core.as_array(bind("copy", x)) if x.scalar and not x.aval.weak_type else x
    return np.asarray(x) if isinstance(x, np.generic) else x


def _must_fit(x: Any, dtype: np.dtype) -> None:
    """End the call where Python's number `x` (or a NumPy scalar that is stored) is none of `dtype`: NumPy raises."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise unsupported(f"a complex number for {dtype}, which NumPy takes in some places only")
    if dtype.kind not in "iu" or x.dtype.kind not in "iuf":
        return
    number = known(x)
    if number is not None:
        if x.aval.weak_type:
            assigned_scalar(number.item(), dtype)
        else:
            _element_of(number[()], dtype)
        return
    info = np.iinfo(dtype)
    if x.dtype.kind == "f":
        wide = bind("convert_element_type", x, new_dtype=np.dtype(np.float64), weak_type=False)
        # float64 has the neighbours of the bounds of 32 bits; at 64 bits it has the lower bound and its like above.
        above = (
            bind("gt", wide, np.float64(info.min) - 1)
            if info.min > -(2**63)
            else bind("ge", wide, np.float64(info.min))
        )
        fits = bind("and", above, bind("lt", wide, np.float64(info.max + 1)))
    else:
        held = np.iinfo(x.dtype)
        fits = None
        if held.min < info.min:
            fits = bind("ge", x, x.dtype.type(info.min))
        if held.max > info.max:
            below = bind("le", x, x.dtype.type(info.max))
            fits = below if fits is None else bind("and", fits, below)
    if fits is not None:
        end_unless(reshape_to(fits, ()))


def full(shape: tuple[int, ...], value: Any, dtype: np.dtype | None = None) -> Any:
    """An array of `shape` filled with a rank-0 `value`."""
    if dtype is not None:
        value = cast(value, dtype)
    elif is_python_scalar(value):
        value = typed_scalar(value, dtype_of(value))
    check_dtype(value.dtype, "full")
    return bind("broadcast_in_dim", value, shape=tuple(shape), broadcast_dimensions=())


def constant_like(x: Any, value: Any) -> np.generic:
    """A scalar constant of the dtype of `x`."""
    return dtype_of(x).type(value)


def full_like_operand(x: Any, value: np.generic) -> Any:
    """An array of the shape of `x`, laid out as it is, filled with a NumPy scalar."""
    filled = full(shape_of(x), value)
    return laid_out_like(filled, x) if is_tracer(x) and is_tracer(filled) and x.ndim > 1 else filled


def laid_out_like(x: Any, *models: Any) -> Any:
    """A fresh result, laid out in memory as NumPy lays out what it makes `like` the models: only views can tell."""
    strides = [m.strides for m in models if m.ndim == x.ndim]
    return core.lay_out(
        x, copied_strides(strides[0], x.aval) if len(strides) == 1 else followed_strides(strides, x.aval)
    )


def in_c_order(x: Any) -> Any:
    """A fresh result that NumPy lays out in C order whatever its operands are."""
    return core.lay_out(x, None)


def reshape_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The elements of `x` in row-major order in another shape, as a new value (no view)."""
    return x if shape_of(x) == tuple(shape) else bind("reshape", x, new_sizes=tuple(shape), dimensions=None)


def broadcast_operand(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape`, as a new value (no view)."""
    have = shape_of(x)
    if have == tuple(shape):
        return x
    dims = tuple(range(len(shape) - len(have), len(shape)))
    return bind("broadcast_in_dim", x, shape=tuple(shape), broadcast_dimensions=dims)
