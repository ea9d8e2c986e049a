"""Matrix products: on the threads of BLAS, or on our own, whichever is faster at the time.

On a free machine the threads of BLAS do best. But they spin at barriers: where another program has a core, a product of
0.1 ms takes 12 ms. The other way is to hold BLAS to one thread and to let it compute blocks of the result, which are
taken as chunks of any other kernel are (`threads.launch`). Both ways are timed for each shape; the faster one is used,
and the other one tried again, less and less often while it loses. Where the BLAS cannot be held (none that
threadpoolctl knows), it is called as it is.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from ..ir import Equation
from ..primitives.contractions import matrix_form
from .memory.buffers import allocate
from .native.threads import launch

# Multiply-adds up to which BLAS libraries do not wake threads themselves.
SMALL = 1 << 18
# A block should take about as long as the grain of other kernels, counting a core of 20 Gflop/s, and have so many rows
# (or columns) that packing the other operand for each block costs little.
BLOCK_FLOPS = 8e5
BLOCK_ROWS = 64
# Products of each way, in turn, before one is preferred: a first run may find caches cold and cores taken.
FIRST_RUNS = 3
# Products after which the slower way is tried again: soon at first, for it may have lost a core for a moment only, then
# less and less often.
FIRST_TRIAL = 2
RAREST_TRIAL = 1024
MOST_PRODUCTS = 1024


class _OneThread:
    """Holds NumPy's BLAS, or all that it may be, to one thread while anybody is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: list[tuple[Callable[[], int], Callable[[int], object]]] | None = None  # get and set
        self._before: list[int] = []

    @property
    def is_possible(self) -> bool:
        if self._libraries is None:
            from threadpoolctl import ThreadpoolController

            every = list(ThreadpoolController().select(user_api="blas").lib_controllers)
            # NumPy's wheels bring one of their own, which no other package calls.
            own = [a for a in every if any(part in a.filepath for part in ("numpy.libs", "numpy/.dylibs"))]
            self._libraries = list(map(_threads_of, own or every))
        return bool(self._libraries)

    @contextmanager
    def held(self) -> Iterator[None]:
        libraries = self._libraries or []
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = [get() for get, _ in libraries]
                for _, set_threads in libraries:
                    set_threads(1)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    for (_, set_threads), n_threads in zip(libraries, self._before, strict=True):
                        set_threads(n_threads)


def _threads_of(library: Any) -> tuple[Callable[[], int], Callable[[int], object]]:
    """What gets and what sets the number of threads of a library that threadpoolctl has found. It lets one thread of
    Python alone set those of an OpenBLAS, as long as that thread lives; here the last one to leave sets them back,
    whichever it is, so that OpenBLAS is asked itself."""
    if library.internal_api == "openblas" and library.threading_layer == "pthreads":
        functions = ctypes.CDLL(library.filepath)
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            names = (f"{prefix}openblas_{what}_num_threads{suffix}" for what in ("get", "set"))
            get, set_threads = (getattr(functions, name, None) for name in names)
            if get is not None and set_threads is not None:
                return get, set_threads
    return library.get_num_threads, library.set_num_threads


_one_thread = _OneThread()


def can_hold_threads() -> bool:
    """Whether the BLAS can be told to leave threads to others."""
    return _one_thread.is_possible


def one_thread() -> AbstractContextManager[None]:
    """Inside, the BLAS uses the thread that calls it and no other."""
    return _one_thread.held()


class Choice:
    """Which of two ways computes products of one shape: the threads of BLAS (0) or ours (1)."""

    __slots__ = ("first_runs", "seconds", "trial_in", "trial_interval")

    def __init__(self) -> None:
        self.first_runs = 2 * FIRST_RUNS  # to come
        # Of late: a faster run counts whole, a slower one half, and not at all among the first ones.
        self.seconds: list[float | None] = [None, None]
        self.trial_in = self.trial_interval = FIRST_TRIAL

    def take(self) -> int:
        if self.first_runs > 0:  # several threads count it down
            self.first_runs -= 1
            return 1 - self.first_runs % 2
        better = self._better() or 0
        self.trial_in -= 1
        if self.trial_in > 0:
            return better
        self.trial_interval = self.trial_in = min(2 * self.trial_interval, RAREST_TRIAL)
        return 1 - better

    def record(self, way: int, elapsed_s: float) -> None:
        before = self.seconds[way]
        was_better = self._better()
        if before is None or elapsed_s < before:
            self.seconds[way] = elapsed_s
        elif self.first_runs <= 0:
            self.seconds[way] = (before + elapsed_s) / 2
        if self._better() != was_better:
            self.trial_in = self.trial_interval = FIRST_TRIAL

    def _better(self) -> int | None:
        theirs, ours = self.seconds
        return None if theirs is None or ours is None else int(ours < theirs)


class _Product:
    """Products of operands of one shape and layout. shape: of the result; axis: of it, that is cut into blocks; work:
    multiply-adds; is_plain: whether `np.matmul` is all there is to it."""

    __slots__ = ("axis", "choice", "is_plain", "shape", "work")

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        self.shape, self.axis = _result_shape(left, right), _blocked_axis(left, right)
        self.work = left.shape[-1] * math.prod(self.shape)
        self.is_plain = self.work <= SMALL or left.dtype.kind not in "fc" or not _one_thread.is_possible
        self.choice = Choice()


_products: dict[tuple, _Product] = {}


def _product(left: np.ndarray, right: np.ndarray) -> _Product:
    key = (left.shape, left.strides, right.shape, right.strides, left.dtype, right.dtype)
    found = _products.get(key)
    if found is None:
        if len(_products) >= MOST_PRODUCTS:
            _products.clear()
        found = _products[key] = _Product(left, right)
    return found


def product_text(eqn: Equation, left: str, right: str) -> tuple[str, int]:
    """The arguments of the `matmul` that computes the `dot_general` equation `eqn` of the variables `left` and `right`,
    in parentheses, and what is done to its result; and how many multiply-adds that are."""
    x, y = (atom.aval.shape for atom in eqn.invars)
    form = matrix_form(x, y, eqn.params["dimension_numbers"])
    left += _moved(x, form.left_axes, form.left_shape)
    right += _moved(y, form.right_axes, form.right_shape)
    reshaped = "" if form.shape == form.product_shape else f".reshape({form.shape})"
    return f"({left}, {right}){reshaped}", form.left_shape[-1] * math.prod(form.product_shape)


def _moved(shape: tuple[int, ...], axes: tuple[int, ...], target: tuple[int, ...]) -> str:
    text = "" if axes == tuple(range(len(axes))) else f".transpose({axes})"
    return text if tuple(shape[axis] for axis in axes) == target else f"{text}.reshape({target})"


def matmul_on(n_threads: int, work: int | None = None, dtype: np.dtype | None = None) -> Callable[..., np.ndarray]:
    """`matmul(left, right, out=None)`, as NumPy's, on at most `n_threads` threads of our own where that is faster.
    work, dtype: the multiply-adds and the dtype, where these are known beforehand."""
    if dtype is not None and work is not None and (work <= SMALL or dtype.kind not in "fc"):
        return np.matmul

    def matmul(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        product = _product(left, right)
        if product.is_plain or _is_transposed(left, right):  # for which NumPy has a routine with symmetric results
            return np.matmul(left, right) if out is None else np.matmul(left, right, out=out)
        if n_threads > 1:
            way = product.choice.take()
            begin = perf_counter()
            result = np.matmul(left, right, out=out) if way == 0 else in_blocks(left, right, out, product)
            product.choice.record(way, perf_counter() - begin)
            return result
        return in_blocks(left, right, out, product)

    def in_blocks(left: np.ndarray, right: np.ndarray, out: np.ndarray | None, product: _Product) -> np.ndarray:
        shape, axis, work = product.shape, product.axis, product.work
        with _one_thread.held():
            if axis is None:
                return np.matmul(left, right) if out is None else np.matmul(left, right, out=out)
            if out is None:
                dtype = np.result_type(left, right)
                out = allocate(shape, dtype, math.prod(shape) * dtype.itemsize)
            if n_threads < 2:
                return np.matmul(left, right, out=out)
            extent = shape[axis]
            flops = 2.0 * work / extent * (4 if left.dtype.kind == "c" else 1)
            grain = max(1 if len(shape) > 2 else BLOCK_ROWS, math.ceil(BLOCK_FLOPS / flops))
            launch(_block(left, right, out, axis), extent, grain, n_threads, ())
        return out

    return matmul


def _is_transposed(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether `right` is `left.T`."""
    own, other = left if left.base is None else left.base, right if right.base is None else right.base
    return (
        own is other and left.ndim == 2 and left.shape == right.shape[::-1] and left.strides == right.strides[::-1]
        and left.__array_interface__["data"] == right.__array_interface__["data"]
    )  # fmt: skip


def _result_shape(left: np.ndarray, right: np.ndarray) -> tuple[int, ...]:
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    return batch + (left.shape[-2:-1] if left.ndim > 1 else ()) + (right.shape[-1:] if right.ndim > 1 else ())


def _blocked_axis(left: np.ndarray, right: np.ndarray) -> int | None:
    """The axis of the result that is cut into blocks: the batch, or the longer one of rows and columns."""
    if left.ndim > 2 and left.shape[:-2] == right.shape[:-2]:
        return 0
    if left.ndim == right.ndim == 2:
        return 0 if left.shape[0] >= right.shape[1] else 1
    if left.ndim == 2 and right.ndim == 1:
        return 0
    return None


def _block(left: np.ndarray, right: np.ndarray, out: np.ndarray, axis: int) -> Callable[[int, int], object]:
    if axis == 1:
        return lambda start, stop: np.matmul(left, right[:, start:stop], out=out[:, start:stop])
    if left.ndim > 2:
        return lambda start, stop: np.matmul(left[start:stop], right[start:stop], out=out[start:stop])
    return lambda start, stop: np.matmul(left[start:stop], right, out=out[start:stop])
