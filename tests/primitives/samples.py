"""The table of the primitives' tests: for each primitive the dtypes, operands and params to try it with.

A new primitive needs a row here: in `POINTWISE` (one dtype per operand) or in `CASES` (whole operands and params).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.ir import Aval, Jaxpr, Primitive, Var
from workbench.ir.jaxpr import Equation
from workbench.ir.primitive import REGISTRY
from workbench.primitives import add_p
from workbench.primitives.loops import LoopArgument, LoopProgram

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = SIGNED + UNSIGNED
BITS = BOOL + INTS
REALS = INTS + FLOATS
INEXACT = FLOATS + COMPLEX
NUMBERS = REALS + COMPLEX
ALL = BOOL + NUMBERS
EIGHT_BYTES = ("int64", "uint64", "float64")
SHAPES = ((), (0,), (1,), (3,), (2, 0, 3), (2, 3))

NO_PARAMS: tuple[Mapping[str, Any], ...] = ({},)


@dataclass(frozen=True)
class Row:
    """A pointwise primitive: `dtypes` of its operands (one name for all, or one each), and params to try."""

    arity: int
    dtypes: tuple[Any, ...]
    params: tuple[Mapping[str, Any], ...] = NO_PARAMS
    max_ulp: int = 0  # where the text multiplies out what NumPy computes otherwise
    signed_zeros: bool = True  # False where NumPy's own answer depends on the length of the array

    def signatures(self) -> Iterator[tuple[np.dtype, ...]]:
        for entry in self.dtypes:
            names = (entry,) * self.arity if isinstance(entry, str) else entry
            yield tuple(map(np.dtype, names))


def _pairs(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((a, b) for a in first for b in second)


POINTWISE: dict[str, Row] = {
    **{name: Row(1, INEXACT) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logistic", "is_finite", "isnan", "isinf",
    )},
    **{name: Row(1, FLOATS) for name in (
        "floor", "ceil", "trunc", "rint", "cbrt", "spacing", "signbit", "erf", "erfc",
    )},
    **{name: Row(1, NUMBERS) for name in ("neg", "sign", "square", "reciprocal", "conj")},
    "abs": Row(1, ALL),
    "copy": Row(1, ALL),
    "not": Row(1, BITS),
    "population_count": Row(1, INTS),
    "real": Row(1, COMPLEX),
    "imag": Row(1, COMPLEX),
    "integer_pow": Row(1, NUMBERS, tuple({"y": y} for y in (0, 1, 2, 3, 4, 7)), max_ulp=2),
    "convert_element_type": Row(1, ALL, tuple({"new_dtype": np.dtype(d), "weak_type": False} for d in ALL)),
    **{name: Row(2, ALL) for name in ("add", "mul", "eq", "ne", "lt", "le", "gt", "ge")},
    **{name: Row(2, ALL, signed_zeros=False) for name in ("max", "min")},
    "sub": Row(2, NUMBERS),
    "pow": Row(2, NUMBERS),
    "div": Row(2, INEXACT),
    **{name: Row(2, REALS) for name in ("floor_divide", "rem", "mod")},
    **{name: Row(2, INEXACT, signed_zeros=False) for name in ("fmax", "fmin")},
    **{name: Row(2, FLOATS) for name in (
        "atan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside", "complex",
    )},
    "ldexp": Row(2, _pairs(FLOATS, INTS)),
    **{name: Row(2, BITS) for name in ("and", "or", "xor")},
    **{name: Row(2, INTS) for name in ("gcd", "lcm", "shift_left", "shift_right_logical")},
    "shift_right_arithmetic": Row(2, SIGNED),
    "select_n": Row(3, tuple(("bool", d, d) for d in ALL) + tuple(("int32", d, d) for d in ALL)),
    "clamp": Row(3, ALL),
    "fma": Row(3, FLOATS),
    "erf_inv": Row(1, FLOATS),
    "threefry2x32": Row(4, (("uint32",) * 4,), ({"word": 0}, {"word": 1})),
    "bitcast_convert_type": Row(1, EIGHT_BYTES, tuple({"new_dtype": np.dtype(d)} for d in EIGHT_BYTES)),
}  # fmt: skip


def specials(dtype: np.dtype) -> np.ndarray:
    """Values where something happens: zeros, extremes, infinities, NaN, and a few ordinary ones."""
    match dtype.kind:
        case "b":
            return np.array([False, True])
        case "i":
            info = np.iinfo(dtype)
            return np.array([0, 1, -1, 2, 3, -5, 7, 100, info.max, info.min, info.max - 1, info.min + 1], dtype)
        case "u":
            info = np.iinfo(dtype)
            return np.array([0, 1, 2, 3, 7, 100, 200, info.max, info.max - 1, info.max // 2 + 1], dtype)
        case "f":
            info = np.finfo(dtype)
            plain = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, 7.25, -100.0, np.inf, -np.inf, np.nan]
            return np.array([*plain, info.max, info.tiny, info.smallest_subnormal], dtype)
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
    return np.array([complex(a, b) for a in parts for b in parts], dtype)


def random_array(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Special values in random order."""
    return np.asarray(rng.choice(specials(dtype), shape))


def pointwise_operands(
    name: str, signature: tuple[np.dtype, ...], shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Random operands that `name` is defined for: an integer power has an exponent from 0 up."""
    operands = [random_array(dtype, shape, rng) for dtype, shape in zip(signature, shapes, strict=True)]
    if name == "pow" and signature[1].kind in "iu":
        operands[1] = np.asarray(np.maximum(operands[1], signature[1].type(0)))
    if name == "select_n" and signature[0].kind == "i":
        operands[0] = np.asarray(operands[0] % np.int32(2))
    return tuple(operands)


@dataclass(frozen=True)
class Case:
    """One application of a primitive that isn't pointwise."""

    name: str
    operands: tuple[np.ndarray, ...]
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def primitive(self) -> Primitive:
        return REGISTRY[self.name]

    def __repr__(self) -> str:
        shapes = " ".join(f"{x.dtype}{list(x.shape)}" for x in self.operands)
        return f"{self.name} {shapes} {dict(self.params)}"


CASES: dict[str, Callable[[np.random.Generator], Iterator[Case]]] = {}
Cases = Callable[[np.random.Generator], Iterator[Case]]


def cases(*names: str) -> Callable[[Cases], Cases]:
    def register(function: Cases) -> Cases:
        CASES.update(dict.fromkeys(names, function))
        return function

    return register


def numbered(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """0, 1, 2 ...: every element tells where it came from."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def shapes(rng: np.random.Generator, count: int, most: int = 4, axes: int = 4) -> Iterator[tuple[int, ...]]:
    """The shapes of the table and `count` random ones."""
    yield from SHAPES
    for _ in range(count):
        yield tuple(int(n) for n in rng.integers(0, most + 1, rng.integers(0, axes)))


# ---- movement ----
@cases("broadcast_in_dim")
def broadcast_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 20):
        kept = tuple(axis for axis in range(len(shape)) if rng.random() < 0.6)
        own = tuple(1 if rng.random() < 0.3 else shape[axis] for axis in kept)
        yield Case("broadcast_in_dim", (numbered(own),), {"shape": shape, "broadcast_dimensions": kept})


@cases("reshape")
def reshape_cases(rng: np.random.Generator) -> Iterator[Case]:
    factors = (1, 2, 3, 2, 1, 5)
    for _ in range(40):
        old, new = (_grouped(factors[: rng.integers(0, 7)], rng) for _ in range(2))
        if np.prod(old, dtype=int) == np.prod(new, dtype=int):
            yield Case("reshape", (numbered(old),), {"new_sizes": new, "dimensions": None})
    for old, new in (((), (1, 1)), ((4, 6), (6, 4)), ((6, 1, 4, 5), (2, 3, 20)), ((0, 3), (5, 0)), ((2, 3, 4), (24,))):
        yield Case("reshape", (numbered(old),), {"new_sizes": new, "dimensions": None})


def _grouped(factors: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """Neighbouring factors multiplied together at random."""
    sizes: list[int] = []
    for factor in factors:
        if sizes and rng.random() < 0.5:
            sizes[-1] *= factor
        else:
            sizes.append(factor)
    return tuple(sizes)


@cases("transpose")
def transpose_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 10):
        permutation = tuple(int(axis) for axis in rng.permutation(len(shape)))
        yield Case("transpose", (numbered(shape),), {"permutation": permutation})


@cases("squeeze")
def squeeze_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 20, most=2):
        dimensions = tuple(axis for axis, n in enumerate(shape) if n == 1 and rng.random() < 0.7)
        yield Case("squeeze", (numbered(shape),), {"dimensions": dimensions})


@cases("slice")
def slice_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 30, most=9):
        starts = tuple(int(rng.integers(0, n + 1)) for n in shape)
        limits = tuple(int(rng.integers(start, n + 1)) for start, n in zip(starts, shape, strict=True))
        strides = tuple(int(rng.integers(1, 5)) for _ in shape) if rng.random() < 0.7 else None
        params = {"start_indices": starts, "limit_indices": limits, "strides": strides}
        yield Case("slice", (numbered(shape),), params)


@cases("rev")
def rev_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 10):
        dimensions = tuple(axis for axis in range(len(shape)) if rng.random() < 0.5)
        yield Case("rev", (numbered(shape),), {"dimensions": dimensions})


@cases("pad")
def pad_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 200, most=5, axes=3):
        config = tuple(tuple(int(v) for v in (*rng.integers(-6, 4, 2), rng.integers(0, 4))) for _ in shape)
        sizes = [low + n + max(n - 1, 0) * inner + high for n, (low, high, inner) in zip(shape, config, strict=True)]
        if all(size >= 0 for size in sizes):
            yield Case("pad", (numbered(shape), np.asarray(-1.0)), {"padding_config": config})


@cases("concatenate")
def concatenate_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 20):
        if not shape:
            continue
        axis = int(rng.integers(0, len(shape)))
        lengths = rng.integers(0, 4, rng.integers(1, 5))
        operands = tuple(numbered((*shape[:axis], int(n), *shape[axis + 1 :])) + 100 * k for k, n in enumerate(lengths))
        yield Case("concatenate", operands, {"dimension": axis})


@cases("empty")
def empty_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 5):
        yield Case("empty", (), {"shape": shape, "dtype": np.dtype(str(rng.choice(NUMBERS)))})


@cases("iota")
def iota_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 5):
        for axis in range(len(shape)):
            dtype = np.dtype(str(rng.choice(NUMBERS)))
            yield Case("iota", (), {"dtype": dtype, "shape": shape, "dimension": axis})


# ---- indexing and updates ----
def _indexed(rng: np.random.Generator, low: float, high: float, count: int) -> Iterator[Any]:
    """Arrays, index arrays from low * n up to high * n, the axes they index, and where their axes go."""
    for shape in shapes(rng, count):
        if not shape or 0 in shape:
            continue
        axes = tuple(int(a) for a in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
        index_shape = tuple(int(n) for n in rng.integers(0, 4, rng.integers(0, 3)))
        dtype = np.dtype(str(rng.choice(SIGNED)))
        indices = []
        for axis in axes:
            first, last = int(low * shape[axis]), max(int(high * shape[axis]), 1)
            indices.append(np.asarray(rng.integers(first, last, index_shape)).astype(dtype))
        yield numbered(shape), tuple(indices), axes, int(rng.integers(0, len(shape) - len(axes) + 1))


@cases("gather_nd")
def gather_cases(rng: np.random.Generator) -> Iterator[Case]:
    for mode, low, high in (("promise", -1, 1), ("clip", -3, 3), ("wrap", -3, 3)):
        for x, indices, axes, position in _indexed(rng, low, high, 25):
            yield Case("gather_nd", (x, *indices), {"axes": axes, "position": position, "mode": mode})
    unsigned = np.array([2, 0], np.uint8)
    for mode in ("promise", "clip", "wrap"):
        yield Case("gather_nd", (numbered((3,)), unsigned), {"axes": (0,), "position": 0, "mode": mode})


@cases("check")
def check_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("check", (np.array(True),), {"filename": "a.py", "line": 3})


@cases("check_indices")
def check_indices_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("check_indices", (np.array(True),), {})


@cases("gather_checked")
def gather_checked_cases(rng: np.random.Generator) -> Iterator[Case]:
    for x, indices, axes, position in _indexed(rng, -1, 1, 20):
        yield Case("gather_checked", (x, *indices), {"axes": axes, "position": position})


@cases("dynamic_slice")
def dynamic_slice_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 30, most=6):
        sizes = tuple(int(rng.integers(0, n + 1)) for n in shape)
        starts = tuple(np.asarray(rng.integers(-9, 9), np.int64) for _ in shape)
        yield Case("dynamic_slice", (numbered(shape), *starts), {"slice_sizes": sizes})


@cases("update_slice")
def update_slice_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 60, most=8):
        strides = tuple(int(rng.integers(1, 4)) if rng.random() < 0.5 else 1 for _ in shape)
        starts = tuple(int(rng.integers(0, n + 1)) if rng.random() < 0.7 else 0 for n in shape)
        room = (max(0, -((start - n) // step)) for n, start, step in zip(shape, starts, strides, strict=True))
        sizes = tuple(int(rng.integers(0, n + 1)) if rng.random() < 0.5 else n for n in room)
        params = {"start_indices": starts, "strides": strides}
        yield Case("update_slice", (numbered(shape), np.asarray(-1 - numbered(sizes))), params)


@cases("dynamic_update_slice")
def dynamic_update_slice_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in shapes(rng, 30, most=6):
        sizes = tuple(int(rng.integers(0, n + 1)) for n in shape)
        starts = tuple(np.asarray(rng.integers(-9, 9), np.int64) for _ in shape)
        yield Case("dynamic_update_slice", (numbered(shape), np.asarray(-1 - numbered(sizes)), *starts))


@cases("scatter")
def scatter_cases(rng: np.random.Generator) -> Iterator[Case]:
    for op in ("set", "add", "mul", "min", "max"):
        for mode, low, high in (("raise", -1, 1), ("promise", -1, 1), ("clip", -3, 3), ("wrap", -3, 3)):
            for x, indices, axes, position in _indexed(rng, low, high, 5):
                kept = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
                shape = kept[:position] + indices[0].shape + kept[position:]
                update = 100 + numbered(shape if rng.random() < 0.8 else ())
                params = {"axes": axes, "mode": mode, "op": op, "position": position, "unique": False}
                yield Case("scatter", (x, *indices, update), params)


# ---- reductions and scans ----
FOLDS = {
    "reduce_sum": NUMBERS, "reduce_prod": NUMBERS, "reduce_max": ALL, "reduce_min": ALL, "reduce_and": BITS,
    "reduce_or": BITS, "reduce_xor": BITS,
}  # fmt: skip
SCANS = {"cumsum": NUMBERS, "cumprod": NUMBERS, "cummax": ALL, "cummin": ALL}


@cases(*FOLDS)
def fold_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, dtypes in FOLDS.items():
        for dtype in map(np.dtype, dtypes):
            for shape in shapes(rng, 2):
                axes = tuple(axis for axis in range(len(shape)) if rng.random() < 0.6)
                yield Case(name, (random_array(dtype, shape, rng),), {"axes": axes})


@cases("argmax", "argmin")
def arg_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name in ("argmax", "argmin"):
        for dtype in map(np.dtype, ALL):
            for shape in shapes(rng, 4):
                axes = [axis for axis, n in enumerate(shape) if n]
                if axes:
                    axis = int(rng.choice(axes))
                    params = {"axes": (axis,), "index_dtype": np.dtype(np.int64)}
                    yield Case(name, (random_array(dtype, shape, rng),), params)


@cases(*SCANS)
def scan_cases(rng: np.random.Generator) -> Iterator[Case]:
    for name, dtypes in SCANS.items():
        for dtype in map(np.dtype, dtypes):
            for shape in shapes(rng, 2):
                if shape:
                    params = {"axis": int(rng.integers(0, len(shape))), "reverse": bool(rng.integers(0, 2))}
                    yield Case(name, (random_array(dtype, shape, rng),), params)


# ---- library calls ----
@cases("lgamma")
def lgamma_cases(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in map(np.dtype, FLOATS):
        for shape in SHAPES:
            yield Case("lgamma", (random_array(dtype, shape, rng),))


@cases("dot_general")
def dot_cases(rng: np.random.Generator) -> Iterator[Case]:
    for _ in range(60):
        batch, contracted, x_free, y_free = (tuple(rng.integers(0, 4, rng.integers(0, 3))) for _ in range(4))
        x_roles = [*(("b", k) for k in range(len(batch))), *(("k", k) for k in range(len(contracted)))]
        x_axes = [x_roles + [("f", k) for k in range(len(x_free))], x_roles + [("f", k) for k in range(len(y_free))]]
        sizes = [{"b": batch, "k": contracted, "f": x_free}, {"b": batch, "k": contracted, "f": y_free}]
        operands, numbers = [], []
        dtype = np.dtype(str(rng.choice(ALL)))
        for roles, size in zip(x_axes, sizes, strict=True):
            order = [roles[i] for i in rng.permutation(len(roles))]
            shape = tuple(int(size[role][k]) for role, k in order)
            operands.append(np.asarray(rng.integers(0, 3, shape)).astype(dtype))
            numbers.append({role: [order.index((role, k)) for k in range(len(size[role]))] for role in "bk"})
        dimension_numbers = tuple(tuple(tuple(n[role]) for n in numbers) for role in "kb")
        wide = None if rng.random() < 0.6 else np.promote_types(dtype, np.int32)
        yield Case(
            "dot_general", tuple(operands), {"dimension_numbers": dimension_numbers, "preferred_element_type": wide}
        )


@cases("sort", "argsort", "partition", "argpartition")
def sort_cases(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in map(np.dtype, ALL):
        for shape in SHAPES[1:]:
            x, carried = random_array(dtype, shape, rng), numbered(shape)
            axis = int(rng.integers(0, len(shape)))
            yield Case("sort", (x,), {"dimension": axis, "is_stable": bool(rng.integers(0, 2)), "num_keys": 1})
            yield Case("sort", (x, x, carried), {"dimension": axis, "is_stable": True, "num_keys": 2})
            yield Case("argsort", (x,), {"axis": axis, "kind": "stable"})
            for name in ("partition", "argpartition"):
                kth = max(shape[axis] - 1, 0)
                yield Case(name, (x,), {"kth": kth if rng.random() < 0.5 else (0, kth), "axis": axis})


@cases("searchsorted")
def searchsorted_cases(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in map(np.dtype, ALL):
        a, v = random_array(dtype, (7,), rng), random_array(dtype, (2, 3), rng)
        for side in ("left", "right"):
            yield Case("searchsorted", (np.sort(a), v), {"side": side})
            yield Case("searchsorted", (a, v[0, 0, ...], np.argsort(a)), {"side": side})


@cases("fft")
def fft_cases(rng: np.random.Generator) -> Iterator[Case]:
    for kind, dtypes in (("FFT", COMPLEX), ("IFFT", COMPLEX), ("RFFT", FLOATS), ("IRFFT", COMPLEX)):
        for dtype in map(np.dtype, dtypes):
            for axes, lengths in (((0,), (5,)), ((1,), (4,)), ((0, 2), (3, 8)), ((2, 1), (1, 2))):
                x = rng.normal(size=(3, 4, 2)).astype(dtype)
                for norm in (None, "ortho"):
                    yield Case("fft", (x,), {"fft_type": kind, "fft_lengths": lengths, "axes": axes, "norm": norm})


@cases("cholesky", "inv", "solve", "det", "slogdet", "eigh", "eig", "svd", "qr", "lstsq")
def linalg_cases(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in map(np.dtype, INEXACT):
        for stack in ((), (2,), (0,), (2, 1)):
            tall = rng.normal(size=(*stack, 4, 3)).astype(dtype)
            if dtype.kind == "c":
                tall.imag = rng.normal(size=tall.shape)
            square = (np.conj(np.swapaxes(tall, -1, -2)) @ tall + np.eye(3)).astype(dtype)
            for name in ("inv", "det", "slogdet", "eig"):
                yield Case(name, (square,))
            for upper in (False, True):
                yield Case("cholesky", (square,), {"upper": upper})
                yield Case("eigh", (square,), {"uplo": "U" if upper else "L"})
            yield Case("solve", (square, tall[..., :3, :2]))
            yield Case("solve", (square, np.ones(3, dtype)))
            for full_matrices in (False, True):
                for compute_uv in (False, True):
                    params = {"full_matrices": full_matrices, "compute_uv": compute_uv, "hermitian": False}
                    yield Case("svd", (tall,), params)
            for mode in ("reduced", "complete", "r"):
                yield Case("qr", (tall,), {"mode": mode})
        tall = rng.normal(size=(4, 3)).astype(dtype)
        for a in (tall, tall.T, np.ones((4, 3), dtype)):
            yield Case("lstsq", (a, np.ones(a.shape[0], dtype)), {"rcond": None})
            yield Case("lstsq", (a, np.ones((a.shape[0], 2), dtype)), {"rcond": 1e-3})


@cases("numpy_call")
def numpy_call_cases(rng: np.random.Generator) -> Iterator[Case]:
    x = rng.normal(size=(3, 4))
    yield Case("numpy_call", (x,), {"name": "median", "kwargs": (("axis", 0),)})
    yield Case("numpy_call", (x,), {"name": "linalg.pinv", "kwargs": ()})
    yield Case("numpy_call", (x,), {"name": "gradient", "kwargs": ()})
    avals = (Aval((), np.dtype(np.float64)),)
    yield Case("numpy_call", (x,), {"name": "nanmedian", "kwargs": (), "avals": avals})


# ---- structure ----
@cases("pjit")
def pjit_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y, z = (Var(Aval((3,), np.dtype(np.float64))) for _ in range(3))
    program = Jaxpr((x, y), (Equation(add_p, (x, y), (z,), {}),), (z, x))
    yield Case("pjit", (numbered((3,)), numbered((3,))), {"name": "f", "jaxpr": program})


@cases("cond", "while", "scan")
def control_flow_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y, z = (Var(Aval((3,), np.dtype(np.float64))) for _ in range(3))
    add = Jaxpr((x, y), (Equation(add_p, (x, y), (z,), {}),), (z, x))
    keep = Jaxpr((x, y), (), (x, y))
    for index in (0, 1):
        yield Case("cond", (np.array(index, np.int32), numbered((3,)), numbered((3,))), {"branches": (add, keep)})
    n, m, limit = (Var(Aval((), np.dtype(np.float64))) for _ in range(3))
    below = Var(Aval((), np.dtype(bool)))
    more = Jaxpr((limit, n), (Equation(REGISTRY["lt"], (n, limit), (below,), {}),), (below,))
    step = Jaxpr((n,), (Equation(add_p, (n, n), (m,), {}),), (m,))
    params = {"cond_jaxpr": more, "cond_nconsts": 1, "body_jaxpr": step, "body_nconsts": 0}
    yield Case("while", (np.array(100.0), np.array(1.0)), params)
    yield Case("while", (np.array(-1.0), np.array(1.0)), params)
    for reverse in (False, True):
        for length in (0, 4):
            params = {"jaxpr": add, "length": length, "reverse": reverse}
            params |= {"num_consts": 0, "num_carry": 1, "unroll": 1}
            yield Case("scan", (numbered((3,)), numbered((length, 3))), params)
            yield Case("scan", (numbered((3,)), numbered((length, 3))), params | {"num_consts": 1, "num_carry": 0})


@cases("loop")
def loop_cases(rng: np.random.Generator) -> Iterator[Case]:
    def running_sum(x: np.ndarray, start: float) -> tuple[float]:
        for i in range(len(x)):
            start += x[i]
            x[i] = start
        return (start,)

    f64, vector = np.dtype(np.float64), Aval((4,), np.dtype(np.float64))
    arguments = (LoopArgument(0, True, f64, 1), LoopArgument(1, False, f64, weak=True))
    program = LoopProgram(
        "loop", "", arguments, (0,), (vector, Aval((), f64)), running_sum, "", "for i in range(len(x))"
    )
    yield Case("loop", (numbered((4,)), np.array(2.0)), {"program": program})
