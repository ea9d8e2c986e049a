"""Views: how a tracer that shares another's buffer is read from it and written back to it.

A `ViewOp` says how its elements are read from the parent (index-map equations), how the parent looks after the view
has been written (a pure update), and how to take the same view of a real ndarray. Views nest: `a.T[0, ::2]` is a slice
of a transposition of a buffer. A view's value is kept until its buffer is written to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..ir import REGISTRY, Aval
from .layouts import Strides, contiguous_strides
from .recording import current_trace, resumed
from .tracer import Tracer, emit, from_atom, require_trace


class ViewOp(Protocol):
    """One step from an array to a view on it.

    applies: whether `apply` works on real arrays (not where the view depends on traced values).
    """

    applies: bool

    def read(self, parent: Tracer) -> Tracer:
        """The view's elements."""
        ...

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        """The parent after `update` was written to the view."""
        ...

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The same view of a real array."""
        ...


def _emit(name: str, *operands: Any, **params: Any) -> Any:
    return emit(REGISTRY[name], *operands, **params)


@dataclass(frozen=True, slots=True)
class Slice:
    """`x[start:limit:stride, ...]` with positive strides, every axis."""

    applies = True
    starts: tuple[int, ...]
    limits: tuple[int, ...]
    strides: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        plain = self.strides.count(1) == len(self.strides)
        if plain and self.limits == parent.aval.shape and not any(self.starts):
            return parent
        return _emit(
            "slice", parent, start_indices=self.starts, limit_indices=self.limits,
            strides=None if plain else self.strides,
        )  # fmt: skip

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        if update.aval.shape == parent.aval.shape:
            return update
        if 0 in update.aval.shape:
            return parent
        return _emit("update_slice", parent, update, start_indices=self.starts, strides=self.strides)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return array[tuple(slice(*s) for s in zip(self.starts, self.limits, self.strides, strict=True))]


@dataclass(frozen=True, slots=True)
class Rev:
    """`x` with some axes reversed."""

    applies = True
    dimensions: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        return _emit("rev", parent, dimensions=self.dimensions)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit("rev", update, dimensions=self.dimensions)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return np.flip(array, self.dimensions)


@dataclass(frozen=True, slots=True)
class Transpose:
    applies = True
    permutation: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        return _emit("transpose", parent, permutation=self.permutation)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit("transpose", update, permutation=tuple(int(i) for i in np.argsort(self.permutation)))

    def apply(self, array: np.ndarray) -> np.ndarray:
        return array.transpose(self.permutation)


@dataclass(frozen=True, slots=True)
class Reshape:
    applies = True
    shape: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        return _emit("reshape", parent, new_sizes=self.shape, dimensions=None)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit("reshape", update, new_sizes=parent.shape, dimensions=None)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Squeeze:
    """`x` without some axes of length 1."""

    applies = True
    dimensions: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        return _emit("squeeze", parent, dimensions=self.dimensions)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        kept = tuple(i for i in range(parent.ndim) if i not in self.dimensions)
        return _emit("broadcast_in_dim", update, shape=parent.shape, broadcast_dimensions=kept)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return np.squeeze(array, self.dimensions)


@dataclass(frozen=True, slots=True)
class ExpandDims:
    """`x` with new axes of length 1 at `dimensions` of the result."""

    applies = True
    dimensions: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        ndim = parent.ndim + len(self.dimensions)
        kept = tuple(i for i in range(ndim) if i not in self.dimensions)
        sizes = iter(parent.shape)
        shape = tuple(1 if i in self.dimensions else next(sizes) for i in range(ndim))
        return _emit("broadcast_in_dim", parent, shape=shape, broadcast_dimensions=kept)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit("squeeze", update, dimensions=self.dimensions)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return np.expand_dims(array, self.dimensions)


@dataclass(frozen=True, slots=True)
class Broadcast:
    """`np.broadcast_to(x, shape)`: read-only, since its elements share memory."""

    applies = True
    shape: tuple[int, ...]
    broadcast_dimensions: tuple[int, ...]

    def read(self, parent: Tracer) -> Tracer:
        return _emit(
            "broadcast_in_dim", parent, shape=self.shape, broadcast_dimensions=self.broadcast_dimensions
        )  # fmt: skip

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        raise ValueError("assignment destination is read-only")

    def apply(self, array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(array, self.shape)


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """The whole array, not to be written to."""

    applies = True

    def read(self, parent: Tracer) -> Tracer:
        return parent

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        raise ValueError("assignment destination is read-only")

    def apply(self, array: np.ndarray) -> np.ndarray:
        if type(array) is Tracer:
            return make_view(array, self, array.shape, array.strides, writeable=False)
        if isinstance(array, np.ndarray):  # a device's arrays have no such flag
            array = array.view()
            array.flags.writeable = False
        return array


@dataclass(frozen=True, slots=True)
class Part:
    """`x.real` or `x.imag` of a complex array."""

    applies = True
    name: str

    def read(self, parent: Tracer) -> Tracer:
        return _emit(self.name, parent)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        if self.name == "real":
            return _emit("complex", update, _emit("imag", parent))
        return _emit("complex", _emit("real", parent), update)

    def apply(self, array: np.ndarray) -> np.ndarray:
        return getattr(array, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class TakeView:
    """`x[i]` for integers that are known only when the program runs: a view in NumPy, so one here."""

    applies = False
    axes: tuple[int, ...]
    indices: tuple[Tracer, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TakeView) or self.axes != other.axes:
            return False
        return all(a.current is b.current for a, b in zip(self.indices, other.indices, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def read(self, parent: Tracer) -> Tracer:
        return _emit("gather_checked", parent, *self.indices, axes=self.axes, position=0)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit(
            "scatter", parent, *self.indices, update, axes=self.axes, mode="raise", op="set", position=0, unique=True
        )

    def apply(self, array: np.ndarray) -> np.ndarray:
        raise AssertionError("the index is known when the program has run (`outputs.Picked`)")


@dataclass(frozen=True, slots=True, eq=False)
class WindowView(TakeView):
    """`x[i : i + length]` for an integer that is known only when the program runs, and surely inside."""

    length: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WindowView) and self.length == other.length and TakeView.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def _starts(self, parent: Tracer) -> list[Any]:
        starts: list[Any] = [np.int64(0)] * len(parent.shape)
        (starts[self.axes[0]],) = self.indices
        return starts

    def read(self, parent: Tracer) -> Tracer:
        (axis,) = self.axes
        sizes = (*parent.shape[:axis], self.length, *parent.shape[axis + 1 :])
        return _emit("dynamic_slice", parent, *self._starts(parent), slice_sizes=sizes)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        return _emit("dynamic_update_slice", parent, update, *self._starts(parent))


# ---- reading and writing ----


def make_view(
    parent: Tracer, op: ViewOp, shape: tuple[int, ...], strides: Strides, *, dtype: np.dtype | None = None,
    writeable: bool = True, lazy: bool = False,
) -> Tracer:  # fmt: skip
    """The view `op` of `parent`. lazy: do not read it yet (a target of an assignment)."""
    trace = current_trace() or require_trace(parent)
    if parent.buffer.trace is not trace:
        from .tracer import adopt

        parent = adopt(trace, parent)
    aval = Aval(shape, dtype or parent.aval.dtype)
    layout = None if strides == contiguous_strides(shape, aval.dtype.itemsize) else strides
    view = Tracer(parent.buffer, aval, parent, op, strides=layout, writeable=writeable and parent.writeable)
    view.origin = trace.origin()
    if not lazy:
        read(view)
    return view


def element_along(x: Tracer, axis: int, index: Tracer) -> Tracer:
    """The element of `x` along `axis` at an integer that is known only when the program runs; it is not read yet."""
    kept = [i for i in range(x.ndim) if i != axis]
    shape, strides = tuple(x.shape[i] for i in kept), tuple(x.strides[i] for i in kept)
    return make_view(x, TakeView((axis,), (index,)), shape, strides, lazy=True)


def read(view: Tracer) -> None:
    """Bring the value that `view` keeps up to date with its buffer."""
    assert view.parent is not None and view.op is not None
    trace = view.buffer.trace
    parent = view.parent
    # A later read belongs to the expression that took the view, not to the one that happens to need it.
    if current_trace() is not trace:  # read in the body of a branch or loop, before which the buffer was written
        with resumed(trace), trace.at(view.origin):
            atom = view.op.read(parent).current
    elif view.origin is trace._origin:
        atom = view.op.read(parent).current
    else:
        with trace.at(view.origin):
            atom = view.op.read(parent).current
    view._atom, view._version = atom, view.buffer.version


def write(target: Tracer, value: Tracer) -> None:
    """`target[...] = value`: rebind the buffer. Shapes and dtypes are equal already (see `numpy_api`).

    ValueError, as in NumPy, if the target is read-only.
    """
    if not target.writeable or not target.buffer.writeable:
        raise ValueError("assignment destination is read-only")
    running = require_trace()
    if target.buffer.trace is not running or value.buffer.trace is not running:
        from .tracer import lift

        target, value = lift(target), lift(value)
    if same_memory(target, value):
        return
    if running.conditions and target.buffer.var_in is not None:
        from .checks import test_conditions

        test_conditions(running)
    if target.buffer.ambiguous:
        from .diagnostics import unsupported

        raise unsupported(
            "an array of which a traced branch or loop decides what else shares its memory", verb="writes to"
        )
    if value.aval.shape != target.aval.shape or value.aval.dtype != target.aval.dtype:
        raise AssertionError(f"write of {value.aval} to {target.aval}")
    if value.aval.weak_type:  # an array's number is NumPy's
        value = _emit("convert_element_type", value, new_dtype=value.aval.dtype, weak_type=False)
    buffer, trace = target.buffer, target.buffer.trace
    atom = value.current
    node, written = target, [(target, atom)]
    while node.parent is not None:
        assert node.op is not None
        parent = node.parent
        atom = node.op.write(parent, from_atom(trace, atom)).current  # reads `parent` only where it must
        node = parent
        written.append((node, atom))
    buffer.value = atom
    buffer.version += 1
    trace.n_writes += 1
    for node, atom in written:
        node._atom, node._version = atom, buffer.version


def same_memory(a: Tracer, b: Tracer) -> bool:
    """Whether two tracers are the same view of the same buffer (`x[i] += y` ends with such an assignment)."""
    while a is not b:
        if a.buffer is not b.buffer or a.parent is None or b.parent is None or a.op != b.op:
            return False
        a, b = a.parent, b.parent
    return True


def shares_memory(a: Any, b: Any) -> bool:
    """Whether two values are views of one buffer. Of two inputs only a call can tell."""
    if type(a) is not Tracer or type(b) is not Tracer or a.scalar or b.scalar:
        return False
    if a.buffer is not b.buffer and a.buffer.var_in is not None and b.buffer.var_in is not None:
        from .diagnostics import unsupported

        raise unsupported("np.shares_memory", why="of two arrays from outside, each call decides", code="WB120")
    return a.buffer is b.buffer


# ---- views that NumPy programs take ----


def slice_view(
    x: Tracer, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int], *, lazy: bool = False
) -> Tracer:
    """`x[start:limit:step, ...]` with positive steps on every axis; starts and limits lie within the axis."""
    starts, limits, steps = tuple(starts), tuple(limits), tuple(steps)
    strides = x.strides
    if steps.count(1) == len(steps):
        shape = tuple([max(0, limit - start) for start, limit in zip(starts, limits, strict=True)])
    else:
        shape = tuple([max(0, -(-(b - a) // step)) for a, b, step in zip(starts, limits, steps, strict=True)])
        strides = tuple([s * step for s, step in zip(strides, steps, strict=True)])
    return make_view(x, Slice(starts, limits, steps), shape, strides, lazy=lazy)


def rev_view(x: Tracer, dimensions: Sequence[int], *, lazy: bool = False) -> Tracer:
    """`x` with the axes `dimensions` reversed."""
    strides = tuple(-s if i in dimensions else s for i, s in enumerate(x.strides))
    return make_view(x, Rev(tuple(dimensions)), x.shape, strides, lazy=lazy)


def transpose(x: Tracer, permutation: Sequence[int], *, lazy: bool = False) -> Tracer:
    """`x` with its axes permuted (every axis named, none negative)."""
    shape, strides = tuple(x.shape[i] for i in permutation), tuple(x.strides[i] for i in permutation)
    return make_view(x, Transpose(tuple(permutation)), shape, strides, lazy=lazy)


def squeeze(x: Tracer, dimensions: Sequence[int], *, lazy: bool = False) -> Tracer:
    """`x` without the axes `dimensions`, all of length 1."""
    kept = [i for i in range(x.ndim) if i not in dimensions]
    shape, strides = tuple(x.shape[i] for i in kept), tuple(x.strides[i] for i in kept)
    return make_view(x, Squeeze(tuple(dimensions)), shape, strides, lazy=lazy)


def expand_dims(x: Tracer, dimensions: Sequence[int], *, lazy: bool = False) -> Tracer:
    """`x` with axes of length 1 inserted at `dimensions` of the result (ascending, none negative)."""
    shape, strides = list(x.shape), list(x.strides)
    for i in dimensions:
        shape.insert(i, 1)
        strides.insert(i, 0)
    return make_view(x, ExpandDims(tuple(dimensions)), tuple(shape), tuple(strides), lazy=lazy)


def broadcast_view(x: Tracer, shape: Sequence[int]) -> Tracer:
    """`np.broadcast_to(x, shape)`: a read-only view."""
    offset = len(shape) - x.ndim
    strides = (0,) * offset + tuple(
        s if n == m else 0 for s, n, m in zip(x.strides, x.shape, shape[offset:], strict=True)
    )
    op = Broadcast(tuple(shape), tuple(range(offset, len(shape))))
    return make_view(x, op, tuple(shape), strides, writeable=False)


def part_view(x: Tracer, name: str) -> Tracer:
    """`x.real` or `x.imag` of a complex array, a view in every second float."""
    dtype = np.dtype(np.float32 if x.dtype == np.complex64 else np.float64)
    return make_view(x, Part(name), x.shape, x.strides, dtype=dtype)


def reshape(x: Tracer, shape: Sequence[int], *, copy: bool | None = None) -> Tracer:
    """`x` with another shape (sizes known, none -1): a view where NumPy's is one, else a copy.

    copy=False raises ValueError where a copy is needed, as NumPy does.
    """
    shape = tuple(shape)
    strides = contiguous_strides(shape, x.itemsize) if x._strides is None else view_strides(x.shape, x.strides, shape)
    if strides is None and copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if strides is not None and not copy and not x.scalar:
        return make_view(x, Reshape(shape), shape, strides)
    result = _emit("reshape", x, new_sizes=shape, dimensions=None)
    result.scalar = False
    return result


def view_strides(shape: tuple[int, ...], strides: Strides, new_shape: tuple[int, ...]) -> Strides | None:
    """The strides of a reshape without copy, or None where there is none (NumPy's own rule, asked of NumPy)."""
    probe = np.lib.stride_tricks.as_strided(np.empty(1, "i1"), shape, strides)
    try:
        return np.reshape(probe, new_shape, copy=False).strides
    except ValueError:
        return None


def ravel(x: Tracer) -> Tracer:
    """`x` in one dimension: a view where NumPy's `ravel` is one (C-contiguous input), else a copy."""
    return reshape(x, (math.prod(x.shape),), copy=None if Flags(x).c_contiguous else True)


def set_shape(x: Tracer, shape: Any) -> None:
    """`x.shape = shape`: the same object becomes a view of its old self."""
    if x.buffer.whole is x and isinstance(x.buffer.given, np.ndarray):
        from .diagnostics import unsupported

        raise unsupported("the shape of an array that lives outside", verb="sets", fixes=("x = x.reshape(shape)",))
    if x.buffer.trace.region or current_trace() is not x.buffer.trace:
        from .diagnostics import unsupported

        raise unsupported(
            "the shape of an array in a traced branch or loop", verb="sets", fixes=("x = x.reshape(shape)",)
        )
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if -1 in sizes:
        rest = math.prod(n for n in sizes if n != -1)
        sizes = tuple(x.size // rest if n == -1 else n for n in sizes)
    if math.prod(sizes) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {sizes}")
    strides = view_strides(x.shape, x.strides, sizes)
    if strides is None:
        raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy.")
    old = Tracer(x.buffer, x.aval, x.parent, x.op, strides=x._strides, writeable=x.writeable)
    old.origin, old._atom, old._version = x.origin, x._atom, x._version
    if x.buffer.whole is x:
        x.buffer.whole = old
    trace = require_trace()
    x.parent, x.op, x.aval, x.origin = old, Reshape(sizes), Aval(sizes, x.dtype), trace.origin()
    x._strides = None if strides == contiguous_strides(sizes, x.itemsize) else strides
    x._version = -1


class Flags:
    """`ndarray.flags` of a tracer."""

    def __init__(self, x: Tracer):
        self._x = x

    def _contiguous(self, shape: tuple[int, ...], strides: Strides) -> bool:
        step = self._x.itemsize
        if 0 in shape:
            return True
        for n, s in zip(reversed(shape), reversed(strides), strict=True):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    @property
    def c_contiguous(self) -> bool:
        return self._contiguous(self._x.shape, self._x.strides)

    @property
    def f_contiguous(self) -> bool:
        return self._contiguous(self._x.shape[::-1], self._x.strides[::-1])

    contiguous, fortran = c_contiguous, f_contiguous
    carray = property(lambda self: self.behaved and self.c_contiguous)
    farray = property(lambda self: self.behaved and self.fnc)
    behaved = property(lambda self: self.writeable)
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)
    aligned = True
    writebackifcopy = False

    @property
    def owndata(self) -> bool:
        if self._x.parent is None:
            self._x.buffer.require_own("ndarray.flags.owndata")
        return self._x.parent is None

    @property
    def writeable(self) -> bool:
        return self._x.writeable and self._x.buffer.writeable and not self._x.scalar

    @writeable.setter
    def writeable(self, value: bool) -> None:
        if value and not self._x.buffer.writeable:
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        if self._x is self._x.buffer.whole and self._x.buffer.var_in is not None and bool(value) != self.writeable:
            from .diagnostics import unsupported

            raise unsupported("a flag of an array that was given", value=self._x, verb="sets")
        if current_trace() is not self._x.buffer.trace or self._x.buffer.trace.region:
            from .diagnostics import unsupported

            raise unsupported("a flag of an array in a traced branch or loop", value=self._x, verb="sets")
        self._x.writeable = bool(value)

    def __getitem__(self, key: str) -> bool:
        names = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned"}
        name = names.get(key, key.lower())
        if not hasattr(self, name):
            raise KeyError("Unknown flag")
        return getattr(self, name)
