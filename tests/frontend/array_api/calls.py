"""How to call each function of the array API standard (2024.12): operands and keywords, drawn by Hypothesis.

`FUNCTIONS` maps a name, as the standard spells it, to a function that draws the arguments of one call. Shapes hold 0
and 1, floats hold NaN, infinities and signed zeros, and dtypes are those that the standard allows, and a few that NumPy
must refuse.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np

from tests import strategies

Draw = Callable[[st.SearchStrategy], Any]
Arguments = tuple[tuple, dict[str, Any]]
Drawer = Callable[[Draw], Arguments]

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INEXACT = (*FLOATS, *COMPLEX)
REAL = (*INTS, *FLOATS)
NUMERIC = (*REAL, *COMPLEX)
BITS = ("bool", *INTS)
ALL = ("bool", *NUMERIC)
WIDE = ("int64", "float64", "float32", "complex128")  # for products: narrow integers wrap


def array(draw: Draw, names: Sequence[str] = ALL, shape: Any = None, **options: Any) -> np.ndarray:
    return draw(strategies.arrays(names=names, shape=shape, **options))


def tame(draw: Draw, names: Sequence[str] = WIDE, shape: Any = None, **options: Any) -> np.ndarray:
    return array(draw, names, shape, tame=True, **options)


def one_of(draw: Draw, *values: Any) -> Any:
    return draw(st.sampled_from(values))


def dtype(draw: Draw, names: Sequence[str] = ALL) -> np.dtype:
    return np.dtype(one_of(draw, *names))


def axis_of(draw: Draw, x: np.ndarray, *, none: bool = True, several: bool = False) -> Any:
    """A valid axis, mostly."""
    if one_of(draw, *range(12)) == 0:
        return x.ndim  # which NumPy refuses
    return draw(strategies.axes(x.ndim, none=none, several=several))


def some(draw: Draw, **choices: st.SearchStrategy | tuple) -> dict[str, Any]:
    """Some of these keywords."""
    found = {}
    for name, values in choices.items():
        if draw(st.booleans()):
            found[name] = draw(values) if isinstance(values, st.SearchStrategy) else one_of(draw, *values)
    return found


# ---- elementwise ----


def unary(names: Sequence[str] = ALL) -> Drawer:
    return lambda draw: ((array(draw, names),), {})


def binary(names: Sequence[str] = ALL) -> Drawer:
    """Two arrays of shapes that broadcast, of dtypes that promote; or a Python number instead of one."""

    def arguments(draw: Draw) -> Arguments:
        left, right = draw(strategies.broadcastable(2))
        x = array(draw, names, left)
        names_2 = (x.dtype.name,) if draw(st.booleans()) else names
        y: Any = array(draw, names_2, right)
        if one_of(draw, *range(5)) == 0:
            y = draw(strategies.python_scalars(tame=True))
        return ((x, y) if draw(st.booleans()) else (y, x)), {}

    return arguments


def shifts(draw: Draw) -> Arguments:
    left, right = draw(strategies.broadcastable(2))
    x = array(draw, INTS, left)
    return (x, np.abs(array(draw, (x.dtype.name,), right, tame=True) % 20)), {}


def powers(draw: Draw) -> Arguments:
    (x, y), _ = binary(NUMERIC)(draw)
    if np.asarray(x).dtype.kind in "iu" and np.asarray(y).dtype.kind == "i" and draw(st.booleans()):
        y = np.abs(y)  # NumPy refuses negative ones
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        large = np.abs(y) > 100  # exp(y log x) has then no digit that is right, nor a sign
        y = np.where(large, np.ones_like(y), y)[()] if np.any(large) else y
    return (x, y), {}


def clips(draw: Draw) -> Arguments:
    shapes = draw(strategies.broadcastable(3))
    x = array(draw, REAL, shapes[0])
    bounds = [
        one_of(draw, None, 1, 0) if draw(st.booleans()) else array(draw, (x.dtype.name,), shape)
        for shape in shapes[1:]
    ]  # fmt: skip
    return (x, *bounds), {}


# ---- creation and dtypes ----


def shape_of(draw: Draw) -> Any:
    return draw(st.one_of(st.integers(0, 5), strategies.shapes()))


def filled(draw: Draw) -> Arguments:
    return (shape_of(draw),), some(draw, dtype=ALL, device=("cpu", None))


def fulls(draw: Draw) -> Arguments:
    return (shape_of(draw), one_of(draw, 1, 2.5, True, -3, 1j)), some(draw, dtype=INEXACT)


def likes(draw: Draw) -> Arguments:
    return (array(draw),), some(draw, dtype=ALL)


def full_likes(draw: Draw) -> Arguments:
    return (array(draw), one_of(draw, 1, True, 0)), some(draw, dtype=ALL)


def nested(draw: Draw) -> Any:
    """Numbers, or lists of lists of numbers."""
    n, m = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    numbers = draw(st.lists(strategies.python_scalars(tame=True), min_size=n * m, max_size=n * m))
    rows = [numbers[i * m : (i + 1) * m] for i in range(n)]
    return one_of(draw, rows, [rows, rows], tuple(numbers), 1, 2.5, True, 1j, [], [[]])


def asarrays(draw: Draw) -> Arguments:
    if draw(st.booleans()):
        return (nested(draw),), some(draw, dtype=("complex128", None))
    return (array(draw),), some(draw, dtype=ALL, copy=(True, None, False))


def aranges(draw: Draw) -> Arguments:
    number = st.one_of(st.integers(-9, 9), st.integers(-9, 9).map(lambda n: n / 4))
    bounds = draw(st.lists(number, min_size=1, max_size=2))
    step = draw(number.filter(bool))
    return (*bounds, *([step] if len(bounds) == 2 else [])), some(draw, dtype=("float64", "float32", None))


def linspaces(draw: Draw) -> Arguments:
    number = st.integers(-9, 9).map(lambda n: n / 4)
    keywords = some(draw, endpoint=(True, False), dtype=("float64", "float32", "complex128"))
    return (draw(number), draw(number), draw(st.integers(0, 6))), keywords


def eyes(draw: Draw) -> Arguments:
    args = (draw(st.integers(0, 4)), *draw(st.sampled_from(((), (3,), (None,), (0,)))))
    return args, some(draw, k=st.integers(-4, 4), dtype=ALL)


def meshgrids(draw: Draw) -> Arguments:
    name = one_of(draw, *NUMERIC)
    arrays = [array(draw, (name,), (draw(st.integers(0, 3)),)) for _ in range(draw(st.integers(1, 3)))]
    return tuple(arrays), some(draw, indexing=("xy", "ij"))


def triangles(draw: Draw) -> Arguments:
    return (array(draw, min_dims=2),), some(draw, k=st.integers(-4, 4))


def astypes(draw: Draw) -> Arguments:
    x = array(draw, tame=True)
    return (np.abs(x) if x.dtype.kind in "if" else x, dtype(draw)), some(draw, copy=(True, False))


def casts(draw: Draw) -> Arguments:
    return (one_of(draw, dtype(draw), np.zeros(2, dtype(draw)).dtype), dtype(draw)), {}


def dtypes_or_arrays(draw: Draw) -> Arguments:
    n = draw(st.integers(1, 3))
    return tuple(one_of(draw, dtype(draw), array(draw), array(draw, shape=()), 1.0) for _ in range(n)), {}


def a_dtype(names: Sequence[str]) -> Drawer:
    return lambda draw: ((one_of(draw, dtype(draw, names), dtype(draw, names).type),), {})


KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")


def kinds(draw: Draw) -> Arguments:
    return (dtype(draw), one_of(draw, *KINDS, np.float32, ("integral", np.float64), "no such kind")), {}


# ---- movement ----


def lists_of_arrays(draw: Draw, *, same: bool) -> tuple[list[np.ndarray], int]:
    shape = list(draw(strategies.shapes(1, 3)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        if not same:
            shape[axis] = draw(st.integers(0, 3))
        found.append(array(draw, shape=tuple(shape)))
    return found, axis


def concats(draw: Draw) -> Arguments:
    found, axis = lists_of_arrays(draw, same=False)
    return (one_of(draw, tuple, list)(found),), {"axis": one_of(draw, axis, axis, None)}


def stacks(draw: Draw) -> Arguments:
    found, axis = lists_of_arrays(draw, same=True)
    return (found,), some(draw, axis=(axis, -1, 0, 1, 7))


def with_axis(names: Sequence[str] = ALL, **keywords: Any) -> Drawer:
    """One array and an axis by keyword, maybe."""

    def arguments(draw: Draw) -> Arguments:
        x = array(draw, names, min_dims=1)
        found = {"axis": axis_of(draw, x, none=False)} if draw(st.booleans()) else {}
        return (x,), found | some(draw, **keywords)

    return arguments


def flips(draw: Draw) -> Arguments:
    x = array(draw)
    return (x,), {"axis": axis_of(draw, x, several=True)} if draw(st.booleans()) else {}


def expands(draw: Draw) -> Arguments:
    x = array(draw)
    return (x,), {"axis": draw(st.integers(-x.ndim - 2, x.ndim + 1))}


def squeezes(draw: Draw) -> Arguments:
    x = array(draw)
    ones = tuple(i for i, n in enumerate(x.shape) if n == 1)
    return (x,), {"axis": one_of(draw, ones, axis_of(draw, x))}


def permutations(draw: Draw) -> Arguments:
    x = array(draw)
    return (x, tuple(draw(st.permutations(range(x.ndim))))), {}


def moveaxes(draw: Draw) -> Arguments:
    x = array(draw, min_dims=1)
    n = draw(st.integers(1, x.ndim))
    source, target = (tuple(draw(st.permutations(range(x.ndim)))[:n]) for _ in range(2))
    return (x, *((source[0], target[0]) if draw(st.booleans()) else (source, target))), {}


def reshapes(draw: Draw) -> Arguments:
    x = array(draw)
    target = list(draw(st.permutations((*x.shape, 1))))
    if draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    return (x, one_of(draw, tuple(target), -1, (x.size,), [x.size, 1])), some(draw, copy=(True, None, False))


def broadcasts(draw: Draw) -> Arguments:
    shapes = draw(strategies.broadcastable(draw(st.integers(1, 3))))
    return tuple(array(draw, shape=shape) for shape in shapes), {}


def broadcast_tos(draw: Draw) -> Arguments:
    left, right = draw(strategies.broadcastable(2))
    return (array(draw, shape=left), np.broadcast_shapes(left, right)), {}


def rolls(draw: Draw) -> Arguments:
    x = array(draw)
    axis = axis_of(draw, x, several=True)
    if isinstance(axis, tuple):
        return (x, tuple(draw(st.integers(-5, 5)) for _ in axis)), {"axis": axis}
    return (x, draw(st.integers(-5, 5))), {"axis": axis}


def repeats(draw: Draw) -> Arguments:
    x = array(draw)
    axis = axis_of(draw, x)
    n = x.size if axis is None or axis == x.ndim else x.shape[axis]
    counts = array(draw, ("int64",), (n,), tame=True)
    return (x, one_of(draw, 2, 0, 3, np.abs(counts), np.array([2]))), {"axis": axis}


def tiles(draw: Draw) -> Arguments:
    return (array(draw), draw(st.one_of(st.integers(0, 3), strategies.shapes(max_side=3)))), {}


# ---- searching, sets, sorting, statistics ----


def folded(names: Sequence[str], *, several: bool = True, **keywords: Any) -> Drawer:
    """A reduction."""

    def arguments(draw: Draw) -> Arguments:
        x = tame(draw, names)
        found: dict[str, Any] = {"axis": axis_of(draw, x, several=several)} if draw(st.booleans()) else {}
        return (x,), found | some(draw, keepdims=(True, False), **keywords)

    return arguments


def special_folded(draw: Draw) -> Arguments:
    """A reduction of NaN and infinities, whose order of evaluation shows nowhere."""
    x = array(draw, FLOATS, min_dims=1)
    return (np.where(np.abs(x) > 1e3, np.inf, np.round(x)),), {"axis": axis_of(draw, x)}


def cumulative(draw: Draw) -> Arguments:
    x = tame(draw, NUMERIC, min_dims=1)
    axis = axis_of(draw, x, none=x.ndim == 1)
    return (x,), {"axis": axis} | some(draw, include_initial=(True, False), dtype=(None, "float64"))


def searchsorteds(draw: Draw) -> Arguments:
    name = one_of(draw, *REAL)
    x = np.sort(array(draw, (name,), (draw(st.integers(0, 6)),)))
    values = array(draw, (name,))
    keywords = some(draw, side=("left", "right"))
    if draw(st.booleans()):
        order = np.array(draw(st.permutations(range(len(x)))), np.int64)
        return (x[np.argsort(order)], values), keywords | {"sorter": order}
    return (x, values), keywords


def wheres(draw: Draw) -> Arguments:
    shapes = draw(strategies.broadcastable(3))
    chosen = [array(draw, shape=shape) for shape in shapes[1:]]
    chosen[0] = one_of(draw, chosen[0], 2, 1.5)
    return (array(draw, ("bool",), shapes[0]), *chosen), {}


def takes(draw: Draw) -> Arguments:
    x = array(draw, min_dims=1)
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    indices = array(draw, ("int64", "int32"), (draw(st.integers(0, 4)) if n else 0,))
    return (x, indices % (2 * n) - n if n else indices), {"axis": axis}


def take_alongs(draw: Draw) -> Arguments:
    x = array(draw, min_dims=1)
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 3)) if n else 0
    indices = array(draw, ("int64",), tuple(shape))
    return (x, indices % (2 * n) - n if n else indices), {"axis": axis}


def sorts(draw: Draw) -> Arguments:
    x = array(draw, REAL, min_dims=1)
    return (x,), {"stable": True} | ({"axis": axis_of(draw, x, none=False)} if draw(st.booleans()) else {})


def diffs(draw: Draw) -> Arguments:
    x = tame(draw, NUMERIC, min_dims=1)
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    keywords: dict[str, Any] = {"axis": axis} | some(draw, n=(0, 1, 2))
    edge = tuple(1 if i == axis % x.ndim else n for i, n in enumerate(x.shape))
    if draw(st.booleans()):
        keywords["prepend"] = tame(draw, (x.dtype.name,), edge)
    if draw(st.booleans()):
        keywords["append"] = tame(draw, (x.dtype.name,), edge)
    return (x,), keywords


# ---- products and linear algebra ----


def matmuls(draw: Draw) -> Arguments:
    n, k, m = (draw(st.integers(0, 3)) for _ in range(3))
    lefts, rights = draw(strategies.broadcastable(2, max_dims=2))
    left, right = one_of(
        draw, ((n, k), (k, m)), ((k,), (k,)), ((k,), (k, m)), ((n, k), (k,)), ((*lefts, n, k), (*rights, k, m))
    )
    return (tame(draw, NUMERIC, left), tame(draw, NUMERIC, right)), {}


def tensordots(draw: Draw) -> Arguments:
    x = tame(draw)
    n = draw(st.integers(0, x.ndim))
    axes = [draw(st.permutations(range(x.ndim)))[:n] for _ in range(1)][0]
    y = tame(draw, shape=tuple(x.shape[a] for a in axes))
    return (x, y), {"axes": (axes, list(range(n)))}


def vecdots(draw: Draw) -> Arguments:
    left, right = draw(strategies.broadcastable(2))
    n = draw(st.integers(0, 3))
    return (tame(draw, shape=(*left, n)), tame(draw, shape=(*right, n))), {}


def square(draw: Draw, names: Sequence[str] = INEXACT) -> np.ndarray:
    """Well-conditioned square matrices, perhaps a stack of them."""
    n = draw(st.integers(0, 3))
    x = tame(draw, names, (*draw(strategies.shapes(0, 1, 2)), n, n))
    return x + (40 * np.eye(n)).astype(x.dtype)


def positive(draw: Draw) -> np.ndarray:
    x = square(draw)
    return x @ np.conj(np.swapaxes(x, -1, -2))


def matrices(draw: Draw) -> np.ndarray:
    return tame(draw, INEXACT, (*draw(strategies.shapes(0, 1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))))


def solves(draw: Draw) -> Arguments:
    a = square(draw)
    return (a, tame(draw, (a.dtype.name,), one_of(draw, a.shape[-1:], (*a.shape[:-1], 2)))), {}


def crosses(draw: Draw) -> Arguments:
    left, right = draw(strategies.broadcastable(2, max_dims=2))
    return (tame(draw, shape=(*left, 3)), tame(draw, shape=(*right, 3))), {}


def norms(draw: Draw) -> Arguments:
    x = tame(draw, INEXACT, min_dims=1)
    orders = (1, 2, 3, 0, np.inf, -np.inf, 1.5)
    return (x,), {"axis": axis_of(draw, x, several=False)} | some(draw, ord=orders, keepdims=(True, False))


def matrix_norms(draw: Draw) -> Arguments:
    return (matrices(draw),), some(draw, ord=("fro", "nuc", 1, -1, 2, -2, np.inf), keepdims=(True, False))


# ---- Fourier transforms ----


def transforms(names: Sequence[str] = INEXACT, *, many: bool = False) -> Drawer:
    def arguments(draw: Draw) -> Arguments:
        x = tame(draw, names, min_dims=1)
        keywords = some(draw, norm=("backward", "ortho", "forward"))
        if many:
            n_axes = draw(st.integers(1, x.ndim))
            axes = tuple(draw(st.permutations(range(x.ndim)))[:n_axes])
            keywords |= {"axes": axes} | some(draw, s=(tuple([3] * n_axes), tuple([4] * n_axes)))
        else:
            keywords |= some(draw, n=(1, 4, 5), axis=(-1, 0))
        if 0 in x.shape:  # padded, NumPy 2.4's irfft of nothing reads memory that is not there
            keywords.pop("n", None)
            keywords.pop("s", None)
        return (x,), keywords

    return arguments


def frequencies(draw: Draw) -> Arguments:
    return (draw(st.integers(1, 6)),), some(draw, d=(0.5, 2.0), device=("cpu",))


def shifted(draw: Draw) -> Arguments:
    x = tame(draw, NUMERIC, min_dims=1)
    return (x,), some(draw, axes=(0, -1, None, (0,)))


def one(make: Callable[[Draw], Any], **keywords: Any) -> Drawer:
    return lambda draw: ((make(draw),), some(draw, **keywords))


BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
COMPARING = ("equal", "not_equal")
ORDERING = ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum")
ARITHMETIC = ("add", "subtract", "multiply")
ELEMENTARY = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p", "log2",
              "log10", "sin", "sinh", "sqrt", "tan", "tanh")  # fmt: skip

FUNCTIONS: dict[str, Drawer] = {
    **dict.fromkeys(ELEMENTARY, unary(INEXACT)),
    **dict.fromkeys(("abs", "negative", "positive", "sign", "square", "real", "imag", "conj"), unary(NUMERIC)),
    **dict.fromkeys(("isfinite", "isinf", "isnan", "logical_not"), unary()),
    **dict.fromkeys(("ceil", "floor", "trunc", "round"), unary(REAL)),
    "reciprocal": unary(INEXACT), "signbit": unary(FLOATS), "bitwise_invert": unary(BITS),
    **dict.fromkeys(ARITHMETIC, binary(NUMERIC)), **dict.fromkeys(BITWISE, binary(BITS)),
    **dict.fromkeys(COMPARING, binary()), **dict.fromkeys(ORDERING, binary(REAL)),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), binary(FLOATS)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), binary(ALL)),
    "divide": binary(INEXACT), "floor_divide": binary(REAL), "remainder": binary(REAL), "pow": powers, "clip": clips,
    "bitwise_left_shift": shifts, "bitwise_right_shift": shifts,
    **dict.fromkeys(("zeros", "ones"), filled), "full": fulls, "empty": filled, "empty_like": likes,
    **dict.fromkeys(("zeros_like", "ones_like"), likes), "full_like": full_likes, "asarray": asarrays,
    "arange": aranges, "linspace": linspaces, "eye": eyes, "meshgrid": meshgrids, "tril": triangles, "triu": triangles,
    "from_dlpack": one(lambda draw: array(draw, contiguous=True)),
    "astype": astypes, "can_cast": casts, "result_type": dtypes_or_arrays, "isdtype": kinds,
    "finfo": a_dtype(INEXACT), "iinfo": a_dtype(INTS),
    "concat": concats, "stack": stacks, "unstack": with_axis(), "flip": flips, "expand_dims": expands,
    "squeeze": squeezes, "permute_dims": permutations, "moveaxis": moveaxes, "reshape": reshapes, "roll": rolls,
    "broadcast_arrays": broadcasts, "broadcast_to": broadcast_tos, "repeat": repeats, "tile": tiles,
    "take": takes, "take_along_axis": take_alongs, "where": wheres, "nonzero": unary(), "searchsorted": searchsorteds,
    **dict.fromkeys(("argmax", "argmin"), folded(REAL, several=False)),
    "count_nonzero": folded(ALL), "all": folded(ALL), "any": folded(ALL),
    **dict.fromkeys(("sum", "prod"), folded(NUMERIC, dtype=(None, "float64", "int64"))),
    **dict.fromkeys(("max", "min"), folded(REAL)), "mean": folded(INEXACT),
    **dict.fromkeys(("std", "var"), folded(FLOATS, correction=(0, 1, 1.5, 0.0))),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), unary()),
    "sort": sorts, "argsort": sorts, "diff": diffs,
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), cumulative),
    "matmul": matmuls, "matrix_transpose": one(lambda draw: array(draw, min_dims=2)),
    "tensordot": tensordots, "vecdot": vecdots,
    **{f"linalg.{name}": drawer for name, drawer in {
        "matmul": matmuls, "matrix_transpose": one(lambda draw: array(draw, min_dims=2)), "tensordot": tensordots,
        "vecdot": vecdots, "cross": crosses, "diagonal": one(matrices, offset=(-1, 0, 1)),
        "outer": lambda draw: ((tame(draw, shape=(2,)), tame(draw, shape=(3,))), {}),
        "trace": one(matrices, offset=(-1, 0, 1)), "cholesky": one(positive, upper=(True, False)),
        "det": one(square), "slogdet": one(square), "inv": one(square), "solve": solves,
        "eigh": one(positive), "eigvalsh": one(positive), "svd": one(matrices, full_matrices=(True, False)),
        "svdvals": one(matrices), "qr": one(matrices, mode=("reduced", "complete")), "pinv": one(matrices),
        "matrix_rank": one(matrices), "matrix_norm": matrix_norms, "vector_norm": norms,
        "matrix_power": lambda draw: ((square(draw, FLOATS), draw(st.integers(-2, 3))), {}),
    }.items()},
    **{f"fft.{name}": drawer for name, drawer in {
        **dict.fromkeys(("fft", "ifft"), transforms(COMPLEX)), **dict.fromkeys(("fftn", "ifftn"), transforms(COMPLEX, many=True)),
        "rfft": transforms(FLOATS), "rfftn": transforms(FLOATS, many=True),
        "irfft": transforms(COMPLEX), "irfftn": transforms(COMPLEX, many=True),
        "hfft": transforms(COMPLEX), "ihfft": transforms(FLOATS),
        "fftfreq": frequencies, "rfftfreq": frequencies, "fftshift": shifted, "ifftshift": shifted,
    }.items()},
}  # fmt: skip

# How many arguments each elementwise function takes; and of floats only, not of complex numbers.
ONE_FLOAT = (*ELEMENTARY, "abs", "negative", "positive", "sign", "square", "isfinite", "isinf", "isnan", "logical_not",
             "reciprocal", "real", "imag", "conj")  # fmt: skip
ONE_REAL = ("ceil", "floor", "trunc", "round", "signbit")
TWO_REAL = ("atan2", "copysign", "hypot", "logaddexp", "nextafter", "floor_divide", "remainder", *ORDERING)
TWO_FLOAT = ("divide", "pow", *ARITHMETIC, *COMPARING, "logical_and", "logical_or", "logical_xor")

SPECIAL_FOLDS: dict[str, Drawer] = dict.fromkeys(
    ("sum", "prod", "max", "min", "mean", "std", "any", "all", "argmax", "argmin", "count_nonzero"), special_folded
)

OPERATORS: dict[str, tuple[Callable, Drawer]] = {
    **{name: (getattr(operator, name), binary(NUMERIC)) for name in ("add", "sub", "mul", "truediv")},
    **{name: (getattr(operator, name), binary(REAL)) for name in ("floordiv", "mod", "lt", "le", "gt", "ge")},
    **{name: (getattr(operator, name), binary()) for name in ("eq", "ne")},
    **{name: (getattr(operator, name), binary(BITS)) for name in ("and_", "or_", "xor")},
    **{name: (getattr(operator, name), shifts) for name in ("lshift", "rshift")},
    **{name: (getattr(operator, name), unary(NUMERIC)) for name in ("neg", "pos", "abs")},
    "invert": (operator.invert, unary(BITS)), "pow": (operator.pow, powers), "matmul": (operator.matmul, matmuls),
    **{name: (getattr(operator, name), binary(NUMERIC)) for name in ("iadd", "isub", "imul", "itruediv")},
    **{name: (getattr(operator, name), binary(REAL)) for name in ("ifloordiv", "imod")},
    **{name: (getattr(operator, name), binary(BITS)) for name in ("iand", "ior", "ixor")},
    "ipow": (operator.ipow, powers), "ilshift": (operator.ilshift, shifts), "imatmul": (operator.imatmul, matmuls),
}  # fmt: skip
