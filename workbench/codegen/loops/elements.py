"""Elements of arrays in translated loops, whose indices are known to lie inside, and how the indices get there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.cgutils import get_item_pointer2, unpack_tuple
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import load_item, make_array, store_item

from .linked import linked, linked_in

MAX_AXES = 8


@linked(error_model="numpy", forceinline=True)
def wrapped(i, n):
    if i < 0:
        i += n
    if i < 0 or i >= n:
        raise IndexError
    return i


@linked(error_model="numpy", forceinline=True)
def turned(i, n):
    """An index that is not below -n."""
    return i + n if i < 0 else i


@linked(error_model="numpy", forceinline=True)
def first_of(i, n):
    """The first index of a slice `i:`."""
    if i < 0:
        i += n
    return 0 if i < 0 else n if i > n else i


@linked(error_model="numpy", forceinline=True)
def count_between(first, i, n):
    """The length of a slice `first:i`."""
    if i < 0:
        i += n
    if i > n:
        i = n
    return i - first if i > first else 0


@linked(error_model="numpy", forceinline=True)
def apart(i, j):
    if i == j:
        raise ValueError


@linked(error_model="numpy")
def in_room(x, n):
    """`x` at the beginning of a new array of `n` elements."""
    if x.shape[0] > n:
        raise LookupError()
    room = np.empty(n, x.dtype)
    room[: x.shape[0]] = x
    room[x.shape[0] :] = 0
    return room


@linked(error_model="numpy", forceinline=True)
def rolled(shift, n):
    """Where the first element of an array that is rolled by `shift` comes from."""
    return (-shift) % n if n > 0 else 0


@linked(error_model="numpy", forceinline=True)
def around(i, n):
    return i if i < n else i - n


_READERS = {None: "at", 1: "unit", -1: "back"}


def _reader(ndim: int, step: int | None = None) -> Any:
    """Reads an element. step: how many elements the last axis is known to step over, whatever the array's type says."""

    def typed(typing_context: Any, *types_: Any) -> Any:
        array = types_[0]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, signature, arguments, step)
            return load_item(context, builder, array, pointer)

        return array.dtype(array, *[types.intp] * ndim), generate

    return _intrinsic(typed, f"{_READERS[step]}_{ndim}", ndim, ())


def _writer(ndim: int, step: int | None = None) -> Any:
    def typed(typing_context: Any, *types_: Any) -> Any:
        array, value = types_[0], types_[-1]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, signature, arguments[:-1], step)
            item = context.cast(builder, arguments[-1], value, array.dtype)
            store_item(context, builder, array, item, pointer)

        return types.void(array, *[types.intp] * ndim, value), generate

    return _intrinsic(typed, f"{'put_unit' if step else 'put'}_{ndim}", ndim, ("value",))


def _intrinsic(typed: Any, name: str, ndim: int, more: tuple[str, ...]) -> Any:
    """An intrinsic of numba's wants parameters with names."""
    parameters = ", ".join(["array", *(f"i{k}" for k in range(ndim)), *more])
    scope = {"typed": typed}
    exec(f"def {name}(context, {parameters}):\n    return typed(context, {parameters})\n", scope)
    return intrinsic(scope[name])


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, step: int | None = None) -> Any:
    array = signature.args[0]
    found = context.make_array(array)(context, builder, arguments[0])
    strides = unpack_tuple(builder, found.strides, count=array.ndim)
    if step or array.layout == "C":
        size = context.get_abi_sizeof(context.get_data_type(array.dtype))
        strides[-1] = context.get_constant(types.intp, (step or 1) * size)
    return get_item_pointer2(
        context, builder, found.data, unpack_tuple(builder, found.shape, count=array.ndim), strides, "A",
        list(arguments[1:]), wraparound=False, boundscheck=False,
    )  # fmt: skip


def _loose(typing_context: Any, array: Any) -> Any:
    """The array as one of no particular order, so that a function is compiled once for all orders."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(layout="A")(array), generate


def _lent(typing_context: Any, array: Any) -> Any:
    """`loose`, and without an owner whose references are counted: for a function's own parameters, which its caller
    keeps, and nothing that it makes or returns."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = make_array(signature.return_type)(context, builder, value=arguments[0])
        found.meminfo, found.parent = (context.get_constant_null(kind) for kind in (types.voidptr, types.pyobject))
        return found._getvalue()

    return array.copy(layout="A")(array), generate


lent: Any = intrinsic(_lent)
loose: Any = intrinsic(_loose)

at_1, unit_1, back_1 = _reader(1), _reader(1, 1), _reader(1, -1)
at_2, unit_2 = _reader(2), _reader(2, 1)
put_1, put_unit_1, put_unit_2 = _writer(1), _writer(1, 1), _writer(2, 1)


@linked(error_model="numpy")
def _any_outside(a, n):
    outside = False
    if a.strides[0] == a.itemsize:
        for i in range(a.size):
            outside |= (unit_1(a, i) < -n) | (unit_1(a, i) >= n)
    else:
        for i in range(a.size):
            outside |= (at_1(a, i) < -n) | (at_1(a, i) >= n)
    return outside


@linked(error_model="numpy", forceinline=True)
def all_inside(places, n):
    """Indices into an axis of length n, which may be counted from its end: whether they lie inside is tested before
    they are used, since a loop that may end early is not done in vectors."""
    if places.ndim > 1:
        if _any_outside(places.ravel(), n):
            raise IndexError
    elif _any_outside(lent(places), n):
        raise IndexError


FUNCTIONS = linked_in(globals())
FUNCTIONS |= {"loose": loose}
FUNCTIONS |= {f"at_{n}": _reader(n) for n in range(1, MAX_AXES + 1)}
FUNCTIONS |= {"unit_1": unit_1, "unit_2": unit_2}
FUNCTIONS |= {f"put_{n}": _writer(n) for n in range(1, MAX_AXES + 1)}
