"""Inputs of random programs: arrays of all dtypes and layouts, with the values that break things."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("float64",) * 6 + ("float32",) * 4 + ("int64",) * 3 + ("int32",) * 2 + ("bool",) * 2 + INTS + (
    "complex128", "complex128", "complex64",
)  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, -1e-45, 1e30, -1e300, np.inf, -np.inf, np.nan)
LAYOUTS = ("C",) * 8 + ("F", "F", "step", "step", "reverse", "offset", "broadcast", "swap")


@dataclass(frozen=True)
class Input:
    """One argument. dims: names of sizes, or numbers; kind: "array", "float", "int", "complex", "bool" or "numpy";
    overlaps: the argument that it shares memory with."""

    name: str
    kind: str
    dtype: np.dtype
    dims: tuple[str | int, ...]
    layout: str
    wild: float
    overlaps: str = ""

    def make(self, sizes: dict[str, int], rng: np.random.Generator, others: dict[str, Any]) -> Any:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in self.dims)
        if self.kind == "float":
            return float(rng.choice([-1.5, 0.25, 3.0, 1e-3, 7.0]))
        if self.kind == "complex":
            return complex(rng.normal(), rng.normal())
        if self.kind == "int":
            return int(rng.integers(1, 5))
        if self.kind == "bool":
            return bool(rng.integers(2))
        if self.kind == "numpy":
            return self._values((), rng)[()]
        if self.overlaps and isinstance(others.get(self.overlaps), np.ndarray):
            other = others[self.overlaps]
            if other.ndim:
                return other[::-1]
        return self._laid_out(shape, rng)

    def _values(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        dtype = self.dtype
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            values = np.asarray(rng.integers(max(info.min, -9), 10, shape, dtype=np.int64)).astype(dtype)
            if self.wild:
                extremes = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
                corners = rng.choice(np.array([info.min, info.max, info.max - 1], dtype), shape)
                values = np.where(
                    rng.random(shape) < self.wild, np.where(rng.random(shape) < 0.5, extremes, corners), values
                )
            return np.asarray(values, dtype)
        values = np.asarray(rng.normal(size=shape) * 2)
        if rng.random() < 0.3:
            values = np.round(values)
        if dtype.kind == "c":
            values = values + 1j * rng.normal(size=shape)
        with np.errstate(all="ignore"):
            if self.wild:
                special = rng.choice(SPECIAL, shape)
                if dtype.kind == "c":
                    special = special + 1j * rng.choice(SPECIAL, shape)
                values = np.where(rng.random(shape) < self.wild, special, values)
            return np.asarray(values).astype(dtype)

    def _laid_out(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        if not shape:
            return self._values(shape, rng)
        match self.layout:
            case "F":
                return np.asfortranarray(self._values(shape, rng))
            case "step":
                return self._values((*shape[:-1], 2 * shape[-1]), rng)[..., ::2]
            case "reverse":
                return self._values(shape, rng)[::-1]
            case "offset":
                return self._values(tuple(n + 2 for n in shape), rng)[tuple(slice(1, -1) for _ in shape)]
            case "broadcast":
                return np.broadcast_to(self._values((*shape[:-1], 1), rng), shape)
            case "swap" if len(shape) > 1:
                return self._values((shape[1], shape[0], *shape[2:]), rng).swapaxes(0, 1)
        return self._values(shape, rng)


def draw_inputs(rng: random.Random) -> tuple[list[Input], list[dict[str, int]]]:
    """Arguments, and two sets of sizes to call the program with."""
    base = np.dtype(rng.choice(DTYPES))
    wild = rng.choice((0.0, 0.0, 0.1, 0.4))
    rank = rng.choice((1, 1, 2, 2, 2, 3))
    dims = ("n", "m", "k")[:rank]
    inputs: list[Input] = []
    for name in ("a", "b", "c", "d")[: rng.choice((1, 2, 2, 3, 3, 4))]:
        kind = (
            "array"
            if not inputs
            else rng.choice(("array",) * 12 + ("float", "float", "int", "numpy", "complex", "bool"))
        )
        dtype = base if rng.random() < 0.6 else np.dtype(rng.choice(DTYPES))
        mine: tuple[str | int, ...] = dims
        match rng.choice(("full",) * 5 + ("less", "less", "ones", "square", "scalar")) if inputs else "full":
            case "less":
                mine = dims[rng.randrange(1, len(dims) + 1) :]
            case "ones":
                mine = tuple(1 if rng.random() < 0.5 else d for d in dims)
            case "square":
                mine = (dims[-1], dims[-1])
            case "scalar":
                mine = ()
        overlaps = inputs[0].name if inputs and rng.random() < 0.05 else ""
        if overlaps:
            dtype, mine = inputs[0].dtype, inputs[0].dims
        inputs.append(Input(name, kind, dtype, mine, rng.choice(LAYOUTS), wild, overlaps))
    squares = any(len(set(entry.dims)) < len(entry.dims) for entry in inputs)
    longest = 400 if squares or len(dims) > 1 else 50_000
    return inputs, [draw_sizes(rng, dims, longest), draw_sizes(rng, dims, longest)]


def draw_sizes(rng: random.Random, dims: tuple[str, ...], longest: int) -> dict[str, int]:
    """A size for each dimension. longest: of those of a big program."""
    small = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17)
    sizes = {d: rng.choice(small) for d in dims}
    match rng.choice(("small",) * 6 + ("zero", "ones", "long", "long", "big")):
        case "zero":
            sizes[rng.choice(dims)] = 0
        case "ones":
            sizes[rng.choice(dims)] = 1
        case "long":
            sizes[rng.choice(dims)] = rng.choice((100, 255, 257, 300, 513, 600, 1030))
        case "big":
            sizes.update((d, rng.randint(longest // 2, longest)) for d in dims[:2])
            if len(dims) == 3:
                sizes[dims[2]] = rng.choice((1, 2, 3))
    return sizes
