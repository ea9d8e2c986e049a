"""Hypothesis strategies: arrays and scalars as NumPy programs meet them.

Shapes with 0 and 1, NaN, infinities and signed zeros, extreme integers, transposed and strided arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np

BOOL = ("bool",)
INTS = ("int8", "int32", "int64", "uint8", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REALS = BOOL + INTS + FLOATS
ALL = REALS + COMPLEX
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan)


def dtypes(names: Sequence[str] = ALL) -> st.SearchStrategy[np.dtype]:
    return st.sampled_from([np.dtype(name) for name in names])


def shapes(min_dims: int = 0, max_dims: int = 3, max_side: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Small shapes, with sides of 0 and 1."""
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=0, max_side=max_side)


def elements(dtype: np.dtype, *, tame: bool = False) -> st.SearchStrategy[Any]:
    """Numbers of `dtype`. tame: small, finite and normal, so that sums and products stay accurate."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = st.integers(max(info.min, -9), 9)
        return small if tame else st.one_of(small, st.integers(int(info.min), int(info.max)))
    width = dtype.itemsize * 8 // (2 if dtype.kind == "c" else 1)
    steps = st.integers(-64, 64).map(lambda n: n / 8)
    if tame:
        real = steps
    else:
        real = st.one_of(steps, st.sampled_from(SPECIAL), st.floats(width=width))
    return st.builds(complex, real, real) if dtype.kind == "c" else real


@st.composite
def arrays(
    draw: st.DrawFn,
    dtype: Any = None,
    shape: Any = None,
    *,
    names: Sequence[str] = ALL,
    min_dims: int = 0,
    max_dims: int = 3,
    max_side: int = 4,
    tame: bool = False,
    contiguous: bool = False,
) -> np.ndarray:
    """An ndarray. dtype and shape are drawn unless given (values or strategies); some are transposed or strided."""
    if dtype is None:
        dtype = dtypes(names)
    dtype = np.dtype(draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype)
    if shape is None:
        shape = shapes(min_dims, max_dims, max_side)
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    shape = tuple(shape)
    layout = "C" if contiguous or not shape else draw(st.sampled_from(("C", "C", "C", "T", "step", "reverse")))
    size = int(np.prod(shape))
    drawn = draw(st.lists(elements(dtype, tame=tame), min_size=size, max_size=size)) if size else []
    with np.errstate(over="ignore"):
        x = np.array(drawn, dtype).reshape(shape)
    if layout == "T":
        return x.T.copy().T
    if layout == "step":
        wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return x[::-1].copy()[::-1] if layout == "reverse" else x


@st.composite
def broadcastable(draw: st.DrawFn, n: int, *, max_dims: int = 3, max_side: int = 4) -> list[tuple[int, ...]]:
    """`n` shapes that broadcast."""
    return list(draw(hnp.mutually_broadcastable_shapes(
        num_shapes=n, max_dims=max_dims, min_side=0, max_side=max_side
    )).input_shapes)  # fmt: skip


@st.composite
def operands(draw: st.DrawFn, n: int, *, names: Sequence[str] = ALL, tame: bool = False, scalars: bool = True) -> list:
    """`n` operands that broadcast: arrays, and sometimes Python or NumPy scalars. At least one is an array."""
    found: list[Any] = []
    for shape in draw(broadcastable(n)):
        kind = draw(st.sampled_from(("array", "array", "array", "python", "numpy"))) if scalars else "array"
        if kind == "python":
            found.append(draw(python_scalars(tame=tame)))
        elif kind == "numpy":
            found.append(draw(arrays(names=names, shape=(), tame=tame))[()])
        else:
            found.append(draw(arrays(names=names, shape=shape, tame=tame)))
    if not any(isinstance(x, np.ndarray) for x in found):
        found[0] = draw(arrays(names=names, tame=tame))
    return found


def python_scalars(*, tame: bool = False) -> st.SearchStrategy[Any]:
    small = st.integers(-9, 9)
    fractions = small.map(lambda n: n / 4)
    return st.one_of(st.booleans(), small, fractions) if tame else st.one_of(
        st.booleans(), small, fractions, st.sampled_from((300, -1, 2.5, 1e30, 2 + 1j))
    )  # fmt: skip


def axes(ndim: int, *, none: bool = True, several: bool = False) -> st.SearchStrategy[Any]:
    """An `axis` argument for an array of `ndim` dimensions."""
    if ndim == 0:
        return st.none() if none else st.just(())
    single = st.integers(-ndim, ndim - 1)
    choices: list[st.SearchStrategy[Any]] = [single]
    if none:
        choices.append(st.none())
    if several:
        choices.append(st.permutations(range(ndim)).flatmap(
            lambda order: st.integers(0, ndim).map(lambda n: tuple(order[:n]))
        ))  # fmt: skip
    return st.one_of(*choices)


@st.composite
def basic_indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Integers, slices with any steps, `...` and `None`."""
    return draw(hnp.basic_indices(shape, allow_ellipsis=True, allow_newaxis=True))


@st.composite
def array_indices(draw: st.DrawFn, shape: tuple[int, ...], *, max_entries: int = 3) -> tuple[Any, ...]:
    """Integer arrays that broadcast, in places among integers, slices, `None` and `...`."""
    n_axes = draw(st.integers(1, min(len(shape), max_entries)))
    index_shapes = draw(broadcastable(n_axes, max_dims=2, max_side=3))
    chosen = set(draw(st.permutations(range(len(shape))))[:n_axes])
    found: list[Any] = []
    pending = iter(index_shapes)
    for axis, n in enumerate(shape):
        if draw(st.booleans()) and draw(st.booleans()):
            found.append(None)
        if axis in chosen:
            index_shape = next(pending)
            if n == 0:
                index_shape = (0,)
            found.append(draw(arrays("int64", index_shape).map(lambda x, n=n: np.abs(x % max(2 * n, 1)) - n)))
        else:
            found.append(draw(st.one_of(st.just(slice(None)), st.slices(n))))
    return tuple(found)
