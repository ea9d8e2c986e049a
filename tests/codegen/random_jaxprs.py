"""Random programs in the IR: every kind of lowering, small odd shapes, several results."""

from __future__ import annotations

import random

import numpy as np

import workbench.primitives  # noqa: F401  (declares the primitives)
from workbench.ir import Jaxpr, Var
from workbench.ir.builder import JaxprBuilder

MOVES = ["transpose", "slice", "rev", "pad", "concatenate", "reshape", "squeeze", "iota", "update_slice"]
SHAPES = [(), (1,), (4,), (7,), (3, 4), (4, 3), (1, 5), (5, 1), (2, 3, 4), (0,), (3, 0), (2, 1, 3), (6, 6)]
UNARY = ["neg", "abs", "exp", "sqrt", "floor", "tanh", "square", "sign"]
BINARY = ["add", "sub", "mul", "div", "max", "min"]
REDUCTIONS = ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"]
SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.25, 1e3, -3e-3, np.inf, -np.inf, np.nan]
DTYPES = ["f64", "f64", "f32", "i32", "i64", "u8"]


class RandomProgram:
    """Grows a program from `seed`; `jaxpr` is the result, `inputs` fits it."""

    def __init__(self, seed: int, n_eqns: int):
        self.rng = random.Random(seed)
        self.builder = JaxprBuilder()
        self.pool: list[Var] = []
        short = self.rng.choice(DTYPES)
        for k in range(self.rng.randint(1, 3)):
            shape = self.rng.choice(SHAPES)
            self.pool.append(self.builder.input(f"{short}[{','.join(map(str, shape))}]", hint="xyz"[k]))
        self.n_inputs = len(self.pool)
        while len(self.pool) < self.n_inputs + n_eqns:
            self.grow()
        made = self.pool[self.n_inputs :]
        outs = self.rng.sample(made, self.rng.randint(1, min(4, len(made))))
        self.jaxpr: Jaxpr = self.builder.build(*outs, made[-1])
        self.inputs = [self._array(v) for v in self.builder.invars]

    def _array(self, var: Var) -> np.ndarray:
        rng = np.random.default_rng(self.rng.randint(0, 2**31))
        shape, dtype = var.aval.shape, var.aval.dtype
        if dtype.kind == "f":
            values = rng.choice(SPECIAL, shape) if rng.random() < 0.3 else rng.normal(size=shape) * 2
        else:
            info = np.iinfo(dtype)
            values = rng.integers(max(info.min, -100), min(info.max, 100), shape, endpoint=True)
        array = np.asarray(values).astype(dtype)
        if array.ndim and rng.random() < 0.3:  # not contiguous
            wide = np.zeros((*shape[:-1], shape[-1] * 2), dtype)
            wide[..., ::2] = array
            array = wide[..., ::2]
        return array

    def emit(self, name: str, *operands, **params) -> None:
        self.pool.append(self.builder.emit(name, *operands, **params))

    def grow(self) -> None:
        kind = self.rng.choice(["unary", "binary", "binary", "move", "move", "reduce", "broadcast", "choose"])
        x = self.rng.choice(self.pool)
        getattr(self, f"grow_{kind}")(x)

    def grow_unary(self, x: Var) -> None:
        name = self.rng.choice(UNARY)
        if x.aval.dtype.kind != "f" and name in ("exp", "sqrt", "floor", "tanh"):
            name = "neg" if x.aval.dtype.kind == "i" else "square"
        if x.aval.dtype.kind == "u" and name == "neg":
            name = "square"
        self.emit(name, x)

    def partner(self, x: Var):
        fits = [v for v in self.pool if v.aval.dtype == x.aval.dtype and v.aval.shape in ((), x.aval.shape)]
        return self.rng.choice(fits)

    def grow_binary(self, x: Var) -> None:
        name = self.rng.choice(BINARY)
        if x.aval.dtype.kind != "f" and name == "div":
            name = "add"
        self.emit(name, x, self.partner(x))

    def grow_choose(self, x: Var) -> None:
        y = self.partner(x)
        which = self.builder.emit("lt", x, y)
        if which.aval.shape == x.aval.shape:
            self.emit("select_n", which, x, y if y.aval.shape == x.aval.shape else x)

    def grow_broadcast(self, x: Var) -> None:
        rng = self.rng
        shape, dims = [], []
        for n in x.aval.shape:
            while rng.random() < 0.25 and len(shape) < 3:
                shape.append(rng.choice([1, 2, 5]))
            dims.append(len(shape))
            shape.append(rng.choice([n, 3]) if n == 1 else n)
        if not shape or rng.random() < 0.4 and len(shape) < 4:
            shape.append(rng.choice([1, 2, 5]))
        self.emit("broadcast_in_dim", x, shape=tuple(shape), broadcast_dimensions=tuple(dims))

    def grow_reduce(self, x: Var) -> None:
        name = self.rng.choice(REDUCTIONS)
        ndim = len(x.aval.shape)
        if ndim == 0:
            return self.grow_unary(x)
        axes = tuple(sorted(self.rng.sample(range(ndim), self.rng.randint(1, ndim))))
        if name.startswith("arg"):
            if x.aval.shape[axes[0]]:
                self.emit(name, x, axes=axes[:1], index_dtype=np.dtype(np.int64))
            return None
        if name != "reduce_sum" and name != "reduce_prod" and 0 in x.aval.shape:
            return None
        self.emit(name, x, axes=axes)
        if self.rng.random() < 0.6:  # back over the rows, as normalisations do
            total = self.pool[-1]
            kept = tuple(d for d in range(ndim) if d not in axes)
            self.emit("broadcast_in_dim", total, shape=x.aval.shape, broadcast_dimensions=kept)
            self.emit(self.rng.choice(["sub", "max", "add"]), x, self.pool[-1])
        return None

    def grow_move(self, x: Var) -> None:
        rng = self.rng
        shape = x.aval.shape
        if not shape:
            return self.grow_unary(x)
        ndim = len(shape)
        match rng.choice(MOVES):
            case "transpose":
                self.emit("transpose", x, permutation=tuple(rng.sample(range(ndim), ndim)))
            case "slice":
                starts = tuple(rng.randint(0, n) for n in shape)
                limits = tuple(rng.randint(s, n) for s, n in zip(starts, shape, strict=True))
                strides = tuple(rng.randint(1, 2) for _ in shape)
                self.emit("slice", x, start_indices=starts, limit_indices=limits, strides=strides)
            case "rev":
                self.emit("rev", x, dimensions=tuple(sorted(rng.sample(range(ndim), rng.randint(1, ndim)))))
            case "pad":
                config = tuple((rng.randint(0, 2), rng.randint(0, 2), rng.randint(0, 1)) for _ in shape)
                self.emit("pad", x, x.aval.dtype.type(2), padding_config=config)
            case "concatenate":
                self.emit("concatenate", x, x, dimension=rng.randrange(ndim))
            case "reshape":
                size = int(np.prod(shape))
                choices = [(size,), (*shape, 1), (1, *shape)] + ([(2, size // 2)] if size % 2 == 0 else [])
                self.emit("reshape", x, new_sizes=rng.choice(choices), dimensions=None)
            case "squeeze":
                ones = tuple(d for d, n in enumerate(shape) if n == 1)
                if ones:
                    self.emit("squeeze", x, dimensions=ones)
            case "iota":
                self.emit("iota", dtype=x.aval.dtype, shape=shape, dimension=rng.randrange(ndim))
            case "update_slice":
                starts = tuple(rng.randint(0, n) for n in shape)
                sizes = tuple(rng.randint(0, n - s) for s, n in zip(starts, shape, strict=True))
                part = self.builder.emit("slice", x, start_indices=(0,) * ndim, limit_indices=sizes, strides=None)
                part = self.builder.emit("mul", part, part)
                self.emit("update_slice", x, part, start_indices=starts, strides=(1,) * ndim)
        return None
