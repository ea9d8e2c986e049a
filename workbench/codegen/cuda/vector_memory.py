"""Loads and stores of several elements at once: one instruction of up to 16 bytes a thread.

`load4_f32(x, i)` is a tuple of x[i], ..., x[i+3]; `store4_f32(x, i, a, b, c, d)` writes them. `x` is one axis in memory
order, and the address of x[i] is a multiple of the bytes that are moved: `vectors` sees to that.
"""

# pyright: reportAttributeAccessIssue=false
# (llvmlite's values and types are not declared)

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types

from ...ir.avals import DTYPES_BY_SHORT_NAME, SHORT_NAMES
from .toolkit import array_object, intrinsic

NAME = re.compile(r"\b(load|store)(\d+)_([a-z]+\d*)(?=\()")


def name_of(kind: str, width: int, dtype: np.dtype) -> str:
    """kind: "load" or "store"."""
    return f"{kind}{width}_{SHORT_NAMES[dtype]}"


def vector_functions(source: str, *, simulated: bool) -> dict[str, Callable[..., Any]]:
    """The loads and stores that a kernel's text calls: intrinsics of numba-cuda, or Python for the simulator."""
    make = _simulated if simulated else _intrinsic
    return {m.group(0): make(m.group(1), int(m.group(2)), m.group(3)) for m in NAME.finditer(source)}


@cache
def _simulated(kind: str, width: int, short: str) -> Callable[..., Any]:
    def load(x: Any, i: Any) -> tuple[Any, ...]:
        return tuple(x[int(i) + k] for k in range(width))

    def store(x: Any, i: Any, *values: Any) -> None:
        for k, value in enumerate(values):
            x[int(i) + k] = value

    return load if kind == "load" else store


@cache
def _intrinsic(kind: str, width: int, short: str) -> Callable[..., Any]:
    dtype = DTYPES_BY_SHORT_NAME[short]
    element = from_dtype(dtype)
    n_bytes = width * dtype.itemsize

    def place(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
        """The address of the vector, and how its elements are kept in memory."""
        made = array_object().make_array(array_type)(context, builder, array)
        wide = context.cast(builder, index, index_type, types.uint64)
        address = builder.gep(made.data, [wide])
        model = context.data_model_manager[element]
        vector = ir.VectorType(model.get_data_type(), width)
        return builder.bitcast(address, vector.as_pointer(address.type.addrspace)), model, vector

    def load(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        address, model, _ = place(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        value = builder.load(address)
        value.align = n_bytes
        items = [builder.extract_element(value, ir.Constant(ir.IntType(32), k)) for k in range(width)]
        return context.make_tuple(builder, signature.return_type, [model.from_data(builder, item) for item in items])

    def store(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        address, model, vector = place(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        value: Any = ir.Constant(vector, ir.Undefined)
        for k, (given, of) in enumerate(zip(args[2:], signature.args[2:], strict=True)):
            item = model.as_data(builder, context.cast(builder, given, of, element))
            value = builder.insert_element(value, item, ir.Constant(ir.IntType(32), k))
        builder.store(value, address).align = n_bytes
        return context.get_dummy_value()

    def define_load(typingctx, x, i):
        return types.UniTuple(element, width)(x, types.unliteral(i)), load

    def define_store(typingctx, x, i, *values):
        return types.void(x, types.unliteral(i), *map(types.unliteral, values)), store

    if kind == "load":
        return intrinsic()(define_load)
    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = ("typingctx", "x", "i", *(f"value{k}" for k in range(width)))
    define_store.__signature__ = inspect.Signature([inspect.Parameter(n, position) for n in names])  # type: ignore[attr-defined]
    return intrinsic()(define_store)
