"""Which dtype an operation computes in and returns: NumPy 2's promotion (NEP 50), asked of NumPy itself.

A Python scalar is weak: it takes part as its Python type, so that `f32_array * 2.0` stays f32. A traced Python scalar
has a weak aval and counts as the same. Resolutions depend on dtypes alone and are cached.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...ir.avals import supported_dtype

PYTHON_SCALARS = (bool, int, float, complex)
WEAK_TYPES = {"i": int, "f": float, "c": complex}
DEFAULT_DTYPES = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})
BOOL = np.dtype(bool)
INT64 = np.dtype(np.int64)
FLOAT64 = np.dtype(np.float64)


def is_python_scalar(x: object) -> bool:
    """A Python number; NumPy scalars (also those that subclass float and complex) are not.

    Asked of the type: a traced scalar poses as what it stands for.
    """
    return issubclass(type(x), PYTHON_SCALARS) and not issubclass(type(x), np.generic)


def dtype_key(x: Any) -> np.dtype | type:
    """What promotion needs to know of an operand: its dtype, or `int`, `float`, `complex` when it is weak."""
    if is_python_scalar(x):
        if isinstance(x, bool):
            return BOOL
        if type(x) not in (int, float, complex):  # what derives from them, as members of an IntEnum do, is not weak
            return np.asarray(x).dtype
        return type(x)
    dtype = x.dtype
    aval = getattr(x, "aval", None)
    if aval is not None and aval.weak_type:
        return WEAK_TYPES.get(dtype.kind, dtype)
    return dtype


def is_mixed(x: Any) -> bool:
    """Whether this may be Python's number or NumPy's: see `Buffer.mixed`."""
    return bool(getattr(getattr(x, "buffer", None), "mixed", ()))


def possible_dtypes(x: Any) -> set[np.dtype]:
    """The dtypes that a traced value may have as an array of its own: several for a number that is `mixed`."""
    kinds = x.buffer.mixed if is_mixed(x) else ()
    return {x.dtype, *(DEFAULT_DTYPES.get(kind, BOOL) for kind in kinds)}


def check_not_mixed(x: Any) -> None:
    """WB181 for a number that as an array of its own has one dtype on one path, and another one on the other."""
    if is_mixed(x) and len(possible_dtypes(x)) > 1:
        raise two_types(x)


def _loop_or_error(ufunc: np.ufunc, keys: tuple, signature: Any, casting: str) -> tuple[np.dtype, ...] | type:
    try:
        return _resolve(ufunc, keys, signature, casting, False)
    except TypeError as error:
        return type(error)


def _all_keys(operands: Sequence[Any], keys: tuple) -> list[tuple]:
    """What promotion may come to know of the operands, for all that mixed ones may be."""
    others = [[BOOL if kind is bool else kind for kind in x.buffer.mixed] if is_mixed(x) else [] for x in operands]
    return list(itertools.product(*[[key, *other] for key, other in zip(keys, others, strict=True)]))


def two_types(x: Any) -> Exception:
    """WB181: a result that would have one dtype on one path, and another one on the other."""
    from ..diagnostics import build
    from ..merging import UnstableLoopError

    return build(
        UnstableLoopError,
        f"{{line}} computes with {{name}}, which is a Python number on one path and np.{x.dtype.name} on another: the "
        "result has two dtypes.",
        "a result has no one dtype", code="WB181", value=x,
        fixes=(f"make it one of them:  np.{x.dtype.name}({{name}})",),
    )  # fmt: skip


def check_dtype(dtype: np.dtype, op: str) -> np.dtype:
    """`dtype` if arrays of it can be compiled; the error says what to do about float16 and longer floats."""
    if supported_dtype(dtype):
        return dtype
    from ..diagnostics import unsupported_dtype

    what = "a result, chosen by NumPy for operands this small," if dtype == np.float16 else "an array"
    raise unsupported_dtype(dtype, f"{op}: {what}" if op else what)


@cache
def _resolve(
    ufunc: np.ufunc, keys: tuple, signature: tuple | str | None, casting: str, reduction: bool
) -> tuple[np.dtype, ...]:
    given = {} if signature is None else {"signature": signature}
    if ufunc in COMPARISONS and keys[:2] == (int, int):
        keys = (INT64, INT64, *keys[2:])  # by their types alone they could be ints of any size
    return ufunc.resolve_dtypes(keys, casting=casting, reduction=reduction, **given)  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does


def resolve_ufunc(
    ufunc: np.ufunc,
    operands: Sequence[Any],
    *,
    out: Sequence[Any] = (),
    dtype: Any = None,
    signature: Any = None,
    casting: str = "same_kind",
) -> tuple[tuple[np.dtype, ...], tuple[np.dtype, ...]]:
    """The dtypes of the loop that NumPy would run: `(in_dtypes, out_dtypes)`. Raises as NumPy does where there is none
    or where `casting` forbids it."""
    keys = tuple(dtype_key(x) for x in operands)
    outs = tuple(None if o is None else o.dtype for o in out) or (None,) * ufunc.nout
    if dtype is not None:
        signature = (None,) * ufunc.nin + (as_dtype(dtype),) * ufunc.nout
    elif isinstance(signature, list | tuple):
        signature = tuple(None if s is None else as_dtype(s) for s in signature)
        if len(signature) == 1 and ufunc.nargs > 1:
            signature = (None,) * ufunc.nin + signature * ufunc.nout
    if any(map(is_mixed, operands)):
        possible = {_loop_or_error(ufunc, k + outs, signature, casting) for k in _all_keys(operands, keys)}
        if len(possible) > 1:
            raise two_types(next(filter(is_mixed, operands)))
    loop = _resolve(ufunc, keys + outs, signature, casting, False)
    for found in loop:
        check_dtype(found, ufunc.__name__)
    return loop[: ufunc.nin], loop[ufunc.nin :]


def reduction_dtype(ufunc: np.ufunc, dtype: np.dtype, requested: Any = None) -> np.dtype:
    """The dtype that `ufunc.reduce` of an array of `dtype` accumulates in."""
    wide = dtype
    if requested is not None:
        wide = as_dtype(requested)
    elif ufunc in (np.add, np.multiply):
        if dtype.kind in "bi":
            wide = np.promote_types(dtype, np.int_)
        elif dtype.kind == "u":
            wide = np.promote_types(dtype, np.uint)
    signature = None if wide == dtype and requested is None else (wide, None, None)
    if ufunc in COMPARISONS or ufunc.signature is not None:
        signature = None
    loop = _resolve(ufunc, (None, dtype, None), signature, "unsafe", True)
    return check_dtype(loop[-1], f"{ufunc.__name__}.reduce")


def as_dtype(dtype: Any) -> np.dtype:
    """`np.dtype(dtype)`, where the DTypes' own classes (`np.dtypes.Float64DType`) are also understood."""
    if isinstance(dtype, type) and issubclass(dtype, np.dtype):
        return dtype()  # pyright: ignore[reportCallIssue]  # NumPy's stubs say less than NumPy does
    return np.dtype(dtype)


@cache
def _result_type(keys: tuple) -> np.dtype:
    samples = {int: 0, float: 0.0, complex: 0j}
    strong = [k for k in keys if isinstance(k, np.dtype)]
    return np.result_type(*strong, *(samples[k] for k in keys if k in samples and not isinstance(k, np.dtype)))


def result_type(*operands: Any) -> np.dtype:
    """`np.result_type` of traced and concrete operands and of dtypes, Python scalars being weak."""
    keys = tuple(x if isinstance(x, np.dtype) else dtype_key(x) for x in operands)
    found = _result_type(keys)
    if any(map(is_mixed, operands)) and any(_result_type(k) != found for k in _all_keys(operands, keys)):
        raise two_types(next(filter(is_mixed, operands)))
    return found


def inexact_dtype(dtype: np.dtype) -> np.dtype:
    """`dtype` if it is a float or a complex, else float64: what means and most of `np.linalg` compute in."""
    return dtype if dtype.kind in "fc" else FLOAT64


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part."""
    return np.empty(0, dtype).real.dtype  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stubs say less than NumPy does


def check_cast(source: np.dtype, target: np.dtype, casting: str, what: str) -> None:
    """Raise NumPy's TypeError unless `source` may be cast to `target`."""
    if not np.can_cast(source, target, casting):  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does
        raise TypeError(f"Cannot cast {what} from {source!r} to {target!r} according to the rule '{casting}'")


def typed_scalar(value: Any, dtype: np.dtype) -> np.generic:
    """A Python scalar as a NumPy scalar of `dtype`; OverflowError for an int that does not fit, as in NumPy."""
    if isinstance(value, complex) and dtype.kind not in "cb":
        raise TypeError(f"a complex scalar cannot be cast to {dtype}")
    with np.errstate(over="ignore"):
        return dtype.type(value)


def wrapped_scalar(value: Any, dtype: np.dtype) -> np.generic:
    """A Python scalar as an element of `dtype`, modulo its size: what `np.where` and `np.select` do with it."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]  # pyright: ignore[reportReturnType]  # NumPy's stubs say less than NumPy does


def assigned_scalar(value: Any, dtype: np.dtype) -> np.generic:
    """A Python scalar as `x[i] = value` stores it: integers take the integer part, which must fit."""
    if dtype.kind in "iu" and isinstance(value, float):
        value = int(value)
    if isinstance(value, complex) and dtype.kind not in "cb":
        raise TypeError(f"{'int' if dtype.kind in 'iu' else 'float'}() argument must be a string or a real number, "
                        "not 'complex'")  # fmt: skip
    return typed_scalar(value, dtype)


def out_of_bounds(value: Any, dtype: np.dtype) -> int:
    """1 or -1 where a Python int lies above or below what an integer `dtype` can hold, else 0."""
    if dtype.kind not in "iu" or not isinstance(value, int):
        return 0
    info = np.iinfo(dtype)
    return (value > info.max) - (value < info.min)
