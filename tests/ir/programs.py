"""Hypothesis strategy for whole programs: every family of primitives, odd shapes, NaN, infinities and signed zeros.

Pointwise float operations are those whose result is determined to the bit (no exp, no max of 0.0 and -0.0), so that
programs can be compared with `same_bits`.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

import workbench.primitives  # noqa: F401  (declares the primitives)
from workbench.ir import Jaxpr, JaxprBuilder, Origin, Scope, Span, Var, literal
from workbench.ir.avals import DTYPES_BY_SHORT_NAME

DTYPES = ("f64", "f64", "f32", "i64", "i32", "u8", "bool", "c128")
SHAPES = st.lists(st.sampled_from([1, 2, 3, 3, 0]), max_size=3).map(tuple)
UNARY = {
    "f": ["neg", "abs", "sign", "floor", "rint", "sqrt", "square", "copy", "reciprocal"],
    "i": ["neg", "abs", "sign", "not", "copy", "square"],
    "u": ["not", "copy", "square", "population_count", "abs"],
    "b": ["not", "copy", "abs"],
    "c": ["neg", "conj", "copy"],
}
BINARY = {
    "f": ["add", "sub", "mul", "div", "lt", "eq", "copysign"],
    "i": ["add", "sub", "mul", "max", "min", "floor_divide", "and", "or", "xor", "shift_left", "le"],
    "u": ["add", "sub", "mul", "max", "min", "and", "or", "xor", "shift_left", "ge"],
    "b": ["and", "or", "xor", "add", "mul", "ne"],
    "c": ["add", "sub", "eq"],
}
NUMBERS = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, 8.0, 3.0, math.inf, -math.inf, math.nan, 5e-324, 1e300],
    "i": [0, 1, -1, 2, 100], "u": [0, 1, 2, 255], "b": [False, True],
    "c": [0j, complex(-0.0, -0.0), 1 + 0j, 2 - 3j, complex(math.nan, 1), complex(0.0, -math.inf)],
}  # fmt: skip
SCOPES = [(), (), (), (Scope("model"),), (Scope("model"), Scope("inner", compile_ops=False))]


class Growth:
    """A program that grows by one random equation at a time."""

    def __init__(self, draw, *, nested: int = 1):
        self.draw = draw
        self.nested = nested
        self.builder = JaxprBuilder()
        self.pool: list[Var] = []
        self.line = 0

    def choose(self, items):
        return self.draw(st.sampled_from(list(items)))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def input(self, text):
        self.pool.append(self.builder.input(text, hint=self.choose(["", "x", "y_1"])))

    def emit(self, name, /, *operands, **params):
        self.line += 1
        origin = Origin((Span("cell", self.line, 0, self.line, 5),), name, self.choose(SCOPES))
        hint = self.choose(["", "", "y", "total"])
        out = self.builder.emit(name, *operands, origin=origin, hint=hint, **params)
        self.pool.extend(out if isinstance(out, tuple) else [out])
        return out

    def scalar(self, dtype):
        with np.errstate(all="ignore"):
            return literal(np.array(self.choose(NUMBERS[dtype.kind])).astype(dtype)[()], dtype)

    def grow(self):
        x = self.choose([*self.pool, *self.pool[-1:] * 3])  # long chains are where passes have something to do
        kind = x.aval.dtype.kind
        match self.choose(["unary", "binary", "literal", "cast", "move", "move", "select", "reduce", "other", "splat"]):
            case "unary":
                self.emit(self.choose(UNARY[kind]), x)
            case "binary":
                others = [v for v in self.pool if v.aval.dtype == x.aval.dtype and v.aval.shape in ((), x.aval.shape)]
                self.emit(self.choose(BINARY[kind]), *self.draw(st.permutations([x, self.choose(others)])))
            case "literal":
                operands = [x, self.scalar(x.aval.dtype)]
                self.emit(self.choose(BINARY[kind]), *self.draw(st.permutations(operands)))
            case "cast":
                # A float beyond an integer's range becomes what the machine likes.
                targets = [t for t in DTYPES if kind not in "fc" or DTYPES_BY_SHORT_NAME[t].kind in "fcb"]
                dtype = DTYPES_BY_SHORT_NAME[self.choose(targets)]
                self.emit("convert_element_type", x, new_dtype=dtype, weak_type=False)
            case "select":
                masks = [v for v in self.pool if v.aval.dtype == bool and v.aval.shape in ((), x.aval.shape)]
                which = self.choose([*masks, literal(self.choose([False, True]))])
                others = [v for v in self.pool if v.aval.dtype == x.aval.dtype and v.aval.shape == x.aval.shape]
                self.emit("select_n", which, x, self.choose([*others, self.scalar(x.aval.dtype)]))
            case "reduce":
                if x.aval.size and kind in "iu":
                    axes = tuple(a for a in range(x.aval.ndim) if self.draw(st.booleans()))
                    self.emit(self.choose(["reduce_sum", "reduce_max", "reduce_min"]), x, axes=axes)
                elif x.aval.ndim and kind == "i":
                    self.emit("cumsum", x, axis=0, reverse=False)
            case "splat":
                shape = self.draw(SHAPES)
                scalar = self.scalar(x.aval.dtype) if x.aval.shape else x
                self.emit("broadcast_in_dim", scalar, shape=shape, broadcast_dimensions=())
            case "move":
                self.move(x)
            case "other":
                self.other(x)

    def move(self, x):
        shape, n = x.aval.shape, x.aval.ndim
        match self.choose(["reshape", "expand", "transpose", "slice", "rev", "pad", "broadcast", "squeeze", "stack"]):
            case "reshape":
                sizes = self.choose([(x.aval.size,), shape[::-1], (*shape, 1), (1, *shape)])
                self.emit("reshape", x, new_sizes=sizes, dimensions=None)
            case "expand":
                at = self.number(0, n)
                sizes = (*shape[:at], 1, *shape[at:])
                axes = tuple(a for a in range(n + 1) if a != at)
                self.emit("broadcast_in_dim", x, shape=sizes, broadcast_dimensions=axes)
            case "transpose":
                self.emit("transpose", x, permutation=tuple(self.draw(st.permutations(range(n)))))
            case "slice":
                starts = tuple(self.number(0, size) for size in shape)
                limits = tuple(self.number(start, size) for start, size in zip(starts, shape, strict=True))
                strides = self.choose([None, (1,) * n, (2,) * n])
                self.emit("slice", x, start_indices=starts, limit_indices=limits, strides=strides)
            case "rev":
                self.emit("rev", x, dimensions=tuple(a for a in range(n) if self.draw(st.booleans())))
            case "pad":
                config = tuple((self.number(0, 1), self.number(0, 1), self.number(0, 1)) for _ in shape)
                self.emit("pad", x, self.scalar(x.aval.dtype), padding_config=config)
            case "broadcast":
                sizes = tuple(self.choose([size, size if size != 1 else 3]) for size in shape)
                at = self.number(0, n)
                sizes = (*sizes[:at], 2, *sizes[at:])
                axes = tuple(a for a in range(n + 1) if a != at)
                self.emit("broadcast_in_dim", x, shape=sizes, broadcast_dimensions=axes)
            case "squeeze":
                dropped = tuple(a for a in range(n) if shape[a] == 1 and self.draw(st.booleans()))
                self.emit("squeeze", x, dimensions=dropped)
            case "stack":
                if n:
                    empty = self.draw(st.booleans())
                    if empty:
                        self.emit("slice", x, start_indices=(0,) * n, limit_indices=(0, *shape[1:]), strides=None)
                    self.emit("concatenate", self.pool[-1] if empty else x, x, dimension=0)

    def other(self, x):
        shape, n, dtype = x.aval.shape, x.aval.ndim, x.aval.dtype
        match self.choose(["call", "iota", "update", "dynamic_slice", "sort", "gather", "power", "parts"]):
            case "call" if self.nested:
                inner = Growth(self.draw, nested=self.nested - 1)
                inner.input(str(x.aval))
                for _ in range(self.number(1, 4)):
                    inner.grow()
                outs = [self.choose(inner.pool) for _ in range(self.number(1, 2))]
                callee = inner.builder.build(*outs)
                for _ in range(self.number(1, 2)):
                    self.emit("pjit", x, name=self.choose(["f", "g", "<lambda>"]), jaxpr=callee)
            case "iota":
                self.emit("iota", dtype=np.dtype(np.int32), shape=(*shape, 3), dimension=n)
            case "update" if n:
                size = tuple(self.number(0, s) for s in shape)
                starts = tuple(self.number(0, s - t) for s, t in zip(shape, size, strict=True))
                update = self.emit("broadcast_in_dim", self.scalar(dtype), shape=size, broadcast_dimensions=())
                self.emit("update_slice", x, update, start_indices=starts, strides=None)
            case "dynamic_slice" if n:
                size = tuple(self.number(0, s) for s in shape)
                starts = [literal(self.number(-1, 3), np.dtype(np.int64)) for _ in shape]
                self.emit("dynamic_slice", x, *starts, slice_sizes=size)
            case "sort" if n and dtype.kind in "iu":
                self.emit("sort", x, dimension=0, is_stable=True, num_keys=1)
            case "gather" if n and shape[0]:
                index = self.emit("iota", dtype=np.dtype(np.int64), shape=(2,), dimension=0)
                self.emit("gather_nd", x, index, axes=(0,), position=0, mode=self.choose(["clip", "wrap"]))
            case "power" if dtype.kind in "fi":
                self.emit("integer_pow", x, y=self.choose([1, 2]))
            case "parts" if dtype == np.float64:
                z = self.emit("complex", x, x)
                self.emit(self.choose(["real", "imag"]), z)


@st.composite
def programs(draw, max_eqns: int = 12) -> Jaxpr:
    """A program with up to `max_eqns` equations, calls included."""
    growth = Growth(draw)
    for _ in range(draw(st.integers(1, 3))):
        growth.input(f"{draw(st.sampled_from(DTYPES))}[{','.join(map(str, draw(SHAPES)))}]")
    for _ in range(draw(st.integers(0, max_eqns))):
        growth.grow()
    outs = [growth.choose(growth.pool) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        outs.append(growth.pool[-1])
    return growth.builder.build(*outs)


def arguments(jaxpr: Jaxpr, seed: int) -> list[np.ndarray]:
    """Arrays for the inputs of `jaxpr`, full of special values."""
    rng = np.random.default_rng(seed)
    arrays = []
    for aval in jaxpr.in_avals:
        choices = np.array(NUMBERS[aval.dtype.kind])
        with np.errstate(all="ignore"):
            arrays.append(np.asarray(rng.choice(choices, aval.shape)).astype(aval.dtype))
    return arrays
