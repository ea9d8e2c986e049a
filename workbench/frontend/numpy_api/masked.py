"""`x[mask]` before it is needed: the elements of an array where a mask is True, kept in the array's own shape.

How many they are depends on data. What reduces them, computes with them element by element, or assigns them back under
the same mask needs no array of them: it becomes a select. Anything else raises WB110, at the line that selected them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import TracingError
from .. import diagnostics, operators, views
from .. import tracer as core
from ..checks import end_unless
from ..recording import current_trace
from . import creation, indexing, movement, reductions, selection, statistics, stretches, ufuncs
from .elementwise import truth
from .operands import array, as_axes, bind, cast, is_tracer, known, ndim_of, operand, reshape_to, shape_of
from .promotion import BOOL, INT64, as_dtype, check_cast
from .reductions import NOVALUE
from .same_masks import same_mask

_FINDERS = frozenset(("nonzero", "flatnonzero", "argwhere", "where"))
OPERATORS = {**operators.BINARY_OPERATORS, **operators.COMPARISONS}


class Selection(core.Deferred):
    """`array[..., mask, ...]`, one axis in place of the mask's.

    array: (*lead, *mask.shape, *rest), its own buffer; axis: of the selected elements, len(lead); positions_of: for
    what `np.nonzero(mask)` gives, the dimension of the mask whose positions these are; stretch: of a slice of unknown
    length, where it is.
    """

    stretch: stretches.Stretch | None = None
    what = "an array indexed with a mask"  # for messages

    def __init__(self, values: Any, mask: Any, axis: int, positions_of: int | None = None, origin: Any = None):
        self.values = values
        self.mask = mask
        self.axis = axis
        self.positions_of = positions_of
        self.origin = origin or core.require_trace(mask).origin()

    # ---- what it looks like ----

    @property
    def array(self) -> Any:
        if self.stretch is not None and not self.stretch.is_current:
            view = self.stretch.view
            self.values = _own(view)
            self.stretch = dataclasses.replace(self.stretch, version=view.buffer.version)
        return self.values

    @property
    def ndim(self) -> int:
        return self.values.ndim - self.mask.ndim + 1

    @property
    def rest(self) -> tuple[int, ...]:
        return self.values.shape[self.axis + self.mask.ndim :]

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def shape(self) -> tuple[Any, ...]:
        return (*self.values.shape[: self.axis], self._count(), *self.rest)

    @property
    def size(self) -> Any:
        count: Any = self._count()
        for n in (*self.values.shape[: self.axis], *self.rest):
            count = count * n
        return count

    def _count(self) -> Any:
        return core._operation("size", lambda: _python_int(reductions.count_nonzero(self.mask)))

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return np.ndarray

    def __repr__(self) -> str:
        trace = current_trace()
        if trace is not None and not trace.effects_happen:  # text of it may end in a result
            raise self.error()
        return f"Selection<{self.dtype}, {self.ndim} dimensions>"

    def error(self, what: str = "") -> TracingError:
        """WB110, at the line that selected the elements; of a list's, at the line that needs them."""
        _, counted = core.require_trace(self.mask).lists_of_masks.get(id(self.mask.buffer), (None, None))
        if counted is not None:
            return counted.error()
        if self.stretch is not None and self.what is Selection.what:
            what = what or "a slice whose bounds are traced"
        if self.origin.op in _FINDERS:
            what = what or f"the positions that np.{self.origin.op} finds"
        what = what or self.what
        return diagnostics.data_dependent_shape(self.mask, what, span=next(iter(self.origin.spans), None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise self.error()

    def _needs_numbers(self, *_: Any) -> Any:
        raise self.error()

    __len__ = __bool__ = __iter__ = __float__ = __int__ = __index__ = __complex__ = __contains__ = _needs_numbers
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        method = METHODS.get(name)
        if method is None:
            raise self.error(f"an array indexed with a mask (.{name} is asked of it)")

        def call(*args: Any, **kwargs: Any) -> Any:
            return core._operation(name, method, self, *args, **kwargs)

        return call() if name in PROPERTIES else call

    # ---- NumPy's protocols ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and inputs[0] is self:
            return core._operation(f"{ufunc.__name__}.reduce", reduce_ufunc, ufunc, *inputs, **kwargs)
        if method != "__call__":
            raise self.error()
        return core._operation(ufunc.__name__, call_ufunc, ufunc, inputs, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        handler = FUNCTIONS.get(func)
        if handler is None:
            raise self.error()
        return core._operation(func.__name__, handler, *args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return core._operation("getitem", getitem, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        core._operation("setitem", setitem, self, key, value)


def _python_int(x: Any) -> Any:
    return bind("convert_element_type", x, new_dtype=INT64, weak_type=True) if is_tracer(x) else int(x)


def _operator_methods(ufunc: np.ufunc) -> tuple[Callable, Callable, Callable]:
    def forward(self: Selection, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, other)

    def reflected(self: Selection, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", other, self)

    def in_place(self: Selection, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, other, out=(self,))

    return forward, reflected, in_place


for _name, _ufunc in OPERATORS.items():
    _forward, _reflected, _in_place = _operator_methods(_ufunc)
    setattr(Selection, f"__{_name}__", _forward)
    if _name in operators.BINARY_OPERATORS:
        setattr(Selection, f"__r{_name}__", _reflected)
        setattr(Selection, f"__i{_name}__", _in_place)
for _name, _ufunc in operators.UNARY_OPERATORS.items():
    setattr(Selection, f"__{_name}__", lambda self, ufunc=_ufunc: self.__array_ufunc__(ufunc, "__call__", self))


def find(values: Any) -> Selection | None:
    """The first selection among `values` and in the lists and tuples there."""
    for value in values:
        if type(value) is Selection:
            return value
        if type(value) in (list, tuple):
            found = find(value)
            if found is not None:
                return found
    return None


# ---- selecting ----


def select(x: Any, mask: Any, axis: int) -> Selection:
    """`x[mask]`, a copy as NumPy's is."""
    x, mask = core.lift(x), core.lift(mask)  # of the trace that runs, which may be a loop's body
    return Selection(_own(x), mask, axis)


def _own(x: Any) -> Any:
    """The values of `x` now, in an array that nobody writes to."""
    own = core.from_atom(core.require_trace(), x.current)
    own.scalar = False
    return own


def nonzero(a: Any) -> tuple[Selection, ...]:
    """`np.nonzero(mask)`: positions along each dimension, of every True."""
    numbers = known(a) if is_tracer(a) else np.asarray(a)
    if numbers is not None:
        return tuple(core.lift(i) for i in np.nonzero(numbers))  # type: ignore[return-value]  # plain positions
    mask = truth(array(a))
    if mask.ndim == 0:
        np.nonzero(np.zeros((), mask.dtype))  # NumPy's own error
    grids = [core.as_array(bind("iota", dtype=INT64, shape=mask.shape, dimension=d)) for d in range(mask.ndim)]
    return tuple(Selection(grid, mask, 0, positions_of=d) for d, grid in enumerate(grids))


def flatnonzero(a: Any) -> Selection:
    a = array(a)
    return nonzero(reshape_to(a, (a.size,)))[0]


def argwhere(a: Any) -> Any:
    """The positions as rows."""
    a = array(a)
    found = nonzero(reshape_to(a, (1,)))[:0] if a.ndim == 0 else nonzero(a)
    if not found or type(found[0]) is not Selection:
        return np.transpose(found) if found else _no_dimensions(a)
    rows = [reshape_to(s.array, (*s.array.shape, 1)) for s in found]
    grid = bind("concatenate", *rows, dimension=a.ndim) if len(rows) > 1 else rows[0]
    return Selection(core.as_array(grid), found[0].mask, 0)


def _no_dimensions(a: Any) -> Selection:
    mask = reshape_to(truth(a), (1,))
    return Selection(core.as_array(bind("iota", dtype=INT64, shape=(1, 0), dimension=0)), mask, 0)


def extract(condition: Any, arr: Any) -> Selection:
    condition, arr = truth(array(condition)), array(arr)
    if condition.size != arr.size:
        raise diagnostics.data_dependent_shape(condition, "an array of the elements where a condition holds")
    return select(reshape_to(arr, (arr.size,)), reshape_to(condition, (condition.size,)), 0)


def matches(a: Selection, b: Selection) -> bool:
    return a.axis == b.axis and same_mask(a.mask, b.mask)


# ---- element by element ----


def aligned(model: Selection, value: Any) -> Any:
    """`value` in the shape of the whole array, so that elements meet as they would after selecting."""
    if type(value) is Selection:
        fits = value is model or (matches(model, value) and len(value.rest) == len(model.rest))
        if not fits:
            raise model.error()
        return value.array
    value = operand(value)
    if ndim_of(value) == len(model.rest) + 1 and shape_of(value)[0] == 1:  # one for all elements
        return reshape_to(array(value), shape_of(value)[1:])
    if ndim_of(value) > len(model.rest):
        raise model.error()
    return value


def call_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    model = find(inputs)
    if model is None or kwargs.get("where", True) is not True:  # a selection is the output alone
        raise next(s for s in (model, find(_outs(kwargs)), find(kwargs.values())) if s is not None).error()
    if ufunc in (np.matmul, np.vecdot) and len(inputs) == 2 and kwargs.get("out") is None:
        return dot(*inputs)
    if ufunc.signature is not None or len(inputs) > ufunc.nin:
        raise model.error()
    outs = _outs(kwargs)
    if any(o is not None for o in outs):
        if any(type(o) is not Selection or not matches(model, o) or o.rest != model.rest for o in outs):
            raise model.error()
        for o in outs:
            stretches.check_is_writeable(o)
        kwargs = {**kwargs, "out": tuple(o.array for o in outs)}
    results = ufuncs.call_ufunc(ufunc, *[aligned(model, x) for x in inputs], **kwargs)
    if any(o is not None for o in outs):
        for o in outs:
            stretches.written_back(o)
        return outs if len(outs) > 1 else outs[0]  # pyright: ignore[reportGeneralTypeIssues]  # there is one
    return _wrapped(model, results)


def _outs(kwargs: dict[str, Any]) -> tuple:
    out = kwargs.get("out")
    return () if out is None else out if isinstance(out, tuple) else (out,)


def _wrapped(model: Selection, results: Any) -> Any:
    if isinstance(results, tuple):
        return tuple(_wrapped(model, r) for r in results)
    if results.ndim < model.axis + model.mask.ndim:  # it did not depend on the elements
        raise model.error()
    return _like(model, core.as_array(results) if results.scalar else results)


def _like(model: Selection, values: Any) -> Selection:
    """What was computed from a selection."""
    found = Selection(values, model.mask, model.axis, origin=model.origin)
    if model.stretch is not None:
        found.stretch = stretches.Stretch(model.stretch.start, model.stretch.stop)
    return found


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is no ufunc, but works element by element on all its array arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        model = find((*args, *kwargs.values()))
        assert model is not None
        if kwargs.get("out") is not None:
            raise model.error()
        arrays = [x if x is None or isinstance(x, str) else aligned(model, x) for x in args]
        named = {k: aligned(model, v) if type(v) is Selection else v for k, v in kwargs.items()}
        return _wrapped(model, function(*arrays, **named))

    return call


# ---- reductions ----


def _reducer(handler: Callable[..., Any], takes_dtype: bool = True) -> Callable[..., Any]:
    def call(x: Selection, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = ("dtype", "out") if takes_dtype else ("out",)
        kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
        if type(x) is not Selection or kwargs.pop("out", None) is not None or len(args) > len(names):
            raise (find((x, axis, *args, *kwargs.values())) or x).error()
        return reduce(handler, x, axis, **kwargs)

    return call


def reduce(handler: Callable[..., Any], x: Selection, axis: Any, keepdims: Any = False, **kwargs: Any) -> Any:
    """A reduction that takes `where=`, over axes of the selection."""
    if kwargs.pop("where", True) is not True:
        raise x.error()
    axes = as_axes(axis, x.ndim)
    n_mask = x.mask.ndim
    inside: list[int] = []
    for a in axes:
        inside += range(a, a + n_mask) if a == x.axis else [a if a < x.axis else a + n_mask - 1]
    keep = keepdims is not NOVALUE and bool(keepdims)
    if x.axis not in axes:
        before = 0 if keep else sum(a < x.axis for a in axes)
        return Selection(handler(x.array, axis=tuple(inside), keepdims=keep, **kwargs), x.mask, x.axis - before)
    mask = indexing.over(x.mask, x.axis, x.array.shape)
    result = handler(x.array, axis=tuple(inside), where=mask, **kwargs)
    if not keep:
        return result
    kept = iter(result.shape)
    shape = [*x.array.shape[: x.axis], 0, *x.rest]
    return reshape_to(result, tuple(1 if i in axes else next(kept) for i in range(len(shape))))


def _extreme(ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    def handler(values: Any, axis: tuple[int, ...], where: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
        if where is None:
            return reductions.reduce_ufunc(ufunc, values, axis, None, None, keepdims, **kwargs)
        initial = kwargs.pop("initial", NOVALUE)
        if values.dtype.kind == "c" or kwargs:
            raise diagnostics.data_dependent_shape(where, "an array indexed with a mask")
        if initial is not NOVALUE:
            return reductions.reduce_ufunc(ufunc, values, axis, None, None, False, initial, where)
        chosen = bind("select_n", where, values.dtype.type(_worst(values.dtype, name)), values)
        result = reductions.reduce_ufunc(ufunc, chosen, axis, None, None, False)
        return unless_empty(result, where)

    return handler


def _worst(dtype: np.dtype, name: str) -> Any:
    """What no maximum (or minimum) can be changed by."""
    if dtype == BOOL:
        return name == "min"
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    info = np.iinfo(dtype)
    return info.min if name == "max" else info.max


def unless_empty(result: Any, mask: Any) -> Any:
    """`result`; the program raises when it runs and nothing is True, as the maximum of an empty array does."""
    empty = cast(bind("not", reductions.any_(mask)), INT64)
    shape = result.shape
    rows = reshape_to(result, (1, *shape))
    return bind("gather_checked", rows, reshape_to(empty, ()), axes=(0,), position=0)


def ptp(x: Selection, axis: Any = None, **kwargs: Any) -> Any:
    return amax(x, axis, **kwargs) - amin(x, axis, **kwargs)


def count_nonzero(x: Selection, axis: Any = None, *, keepdims: Any = False) -> Any:
    nonzeros = Selection(truth(x.array), x.mask, x.axis, origin=x.origin)
    return reduce(reductions.sum_, nonzeros, axis, keepdims)


def _place_of(name: str) -> Callable[..., Any]:
    """`argmax` or `argmin`: the first place of the extreme among what is selected."""
    place_of, extreme_of = (reductions.argmax, np.maximum) if name == "max" else (reductions.argmin, np.minimum)

    def call(x: Selection, axis: Any = None, out: Any = None, *, keepdims: Any = NOVALUE) -> Any:
        if type(x) is not Selection or x.ndim != 1 or x.mask.ndim != 1 or axis not in (None, 0, -1) or out is not None:
            raise (find((x, axis, out)) or x).error()
        if keepdims is not NOVALUE or x.dtype.kind == "c":
            raise x.error()
        worst = x.dtype.type(_worst(x.dtype, name))
        chosen = bind("select_n", x.mask, worst, x.array)
        extreme = reductions.reduce_ufunc(extreme_of, chosen, None, None, None, False)
        first = reductions.argmax(x.mask) if x.stretch is None else x.stretch.start
        # What is as extreme as what was left out may be found there.
        place = selection.where(ufuncs.call_ufunc(np.equal, extreme, worst), first, place_of(chosen))
        if x.stretch is not None:
            end_unless(ufuncs.call_ufunc(np.less, first, x.stretch.stop))
            return ufuncs.call_ufunc(np.subtract, place, first)
        end_unless(reductions.any_(x.mask))
        before = ufuncs.call_ufunc(np.less, bind("iota", dtype=INT64, shape=x.mask.shape, dimension=0), place)
        return reductions.count_nonzero(ufuncs.call_ufunc(np.logical_and, x.mask, before))

    return call


def cumsum(x: Selection, axis: Any = None, dtype: Any = None, out: Any = None) -> Selection:
    if type(x) is not Selection or x.ndim != 1 or x.mask.ndim != 1 or axis not in (None, 0, -1) or out is not None:
        raise (find((x, axis, dtype, out)) or x).error()
    present = bind("select_n", x.mask, x.dtype.type(0), x.array)
    return _wrapped(x, reductions.cumsum(present, 0, dtype))


def reduce_ufunc(ufunc: np.ufunc, x: Selection, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
    handler = REDUCERS.get(ufunc)
    if handler is None or args:
        raise x.error()
    return handler(x, axis, **kwargs)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The inner product of two selections under one mask."""
    model = find((a, b))
    assert model is not None
    both = type(a) is Selection and type(b) is Selection and a.ndim == b.ndim == 1
    dtype = np.result_type(a.dtype, b.dtype) if both else BOOL
    if not both or out is not None or dtype == BOOL or not matches(a, b):
        raise model.error()
    products = ufuncs.call_ufunc(np.multiply, cast(a.array, dtype), cast(b.array, dtype))
    return reduce(reductions.sum_, Selection(products, model.mask, model.axis), None, dtype=dtype)


def norm(x: Selection, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2) or x.ndim != 1 or axis not in (None, 0) or keepdims:
        raise x.error()
    squares = ufuncs.call_ufunc(np.square, ufuncs.call_ufunc(np.absolute, x.array))
    squares = cast(squares, np.result_type(squares.dtype, np.float32 if squares.dtype.kind == "f" else np.float64))
    return ufuncs.call_ufunc(np.sqrt, reduce(reductions.sum_, Selection(squares, x.mask, x.axis), None))


def _without_nan(handler: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Selection, axis: Any = None, **kwargs: Any) -> Any:
        if x.ndim != 1 or kwargs.get("keepdims"):
            raise x.error()
        there = bind("not", ufuncs.call_ufunc(np.isnan, x.array))
        both = bind("and", indexing.over(x.mask, x.axis, x.array.shape), there)
        return handler(Selection(x.array, both, 0, origin=x.origin), axis, **kwargs)

    return call


sum_, prod, mean = _reducer(reductions.sum_), _reducer(reductions.prod), _reducer(statistics.mean)
any_, all_ = _reducer(reductions.any_, False), _reducer(reductions.all_, False)
variance, standard_deviation = _reducer(statistics.variance), _reducer(statistics.standard_deviation)
amax = _reducer(_extreme(np.maximum, "max"), False)
amin = _reducer(_extreme(np.minimum, "min"), False)
argmax, argmin = _place_of("max"), _place_of("min")
REDUCERS = {
    np.add: sum_, np.multiply: prod, np.maximum: amax, np.minimum: amin, np.logical_or: any_, np.logical_and: all_,
}  # fmt: skip


# ---- indexing ----


def getitem(x: Any, key: Any) -> Any:
    """`x[key]` where either is, or holds, a selection."""
    found = _as_mask(x, key)
    if found is not None:
        return indexing.getitem(x, found)
    if type(x) is Selection:
        return _of_selection(x, key)
    return _gathered(x, key)


def _as_mask(x: Any, key: Any) -> Any:
    """The mask that all positions of `np.nonzero(mask)` in an index stand for."""
    items = key if isinstance(key, tuple) else (key,)
    if type(x) is Selection or not all(type(i) is Selection and i.positions_of == d for d, i in enumerate(items)):
        return None
    mask = items[0].mask
    fits = len(items) == mask.ndim <= x.ndim and mask.shape == x.shape[: mask.ndim]
    return mask if fits and all(i.mask is mask for i in items) else None


def _of_selection(x: Selection, key: Any) -> Any:
    items = key if isinstance(key, tuple) else (key,)
    if x.axis == 0 and len(items) == 1 and type(items[0]) is Selection:
        inner = items[0]
        if inner.dtype == BOOL and inner.ndim == 1 and matches(x, inner):  # x[a][b]
            return select(x.array, bind("and", x.mask, inner.array), 0)
    item = stretches.item_of(x, items) if find(items) is None and not any(i is Ellipsis for i in items) else None
    if item is not None:
        return item
    whole = slice(None)
    head = items[: x.axis + 1]
    if find(items) is not None or len(head) <= x.axis or any(not _is_whole(i) for i in head):
        raise x.error()
    inside = (*(whole,) * (x.axis + x.mask.ndim), *items[x.axis + 1 :])
    view = indexing.getitem(x.array, inside)
    return Selection(view, x.mask, x.axis, origin=x.origin)


def _is_whole(item: Any) -> bool:
    return isinstance(item, slice) and item == slice(None)


def _gathered(x: Any, key: Any) -> Selection:
    """`x[indices]` with selected indices, of the first axis."""
    items = key if isinstance(key, tuple) else (key,)
    model = find(items)
    assert model is not None
    plain = model.dtype.kind in "iu" and model.ndim == 1 and is_tracer(x) and not x.scalar and x.ndim >= len(items)
    if not plain or any(type(i) is not Selection or not matches(model, i) or i.ndim != 1 for i in items):
        raise model.error()
    if any(i.dtype.kind not in "iu" for i in items):
        raise model.error()
    # What is not selected may be out of range: it reads the first element instead.
    indices = tuple(bind("select_n", model.mask, i.dtype.type(0), i.array) for i in items)
    found = bind("gather_checked", x, *indices, axes=tuple(range(len(items))), position=0)
    return Selection(core.as_array(found), model.mask, 0, origin=model.origin)


def setitem(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value` where one of them is, or holds, a selection."""
    if type(x) is not Selection:
        mask = _as_mask(x, key)
        if mask is None and find(key if isinstance(key, tuple) else (key,)) is not None:
            raise find(key if isinstance(key, tuple) else (key,)).error()  # type: ignore[union-attr]
        indexing.setitem(x, key if mask is None else mask, value)
        return
    stretches.check_is_writeable(x)
    items = key if isinstance(key, tuple) else (key,)
    if stretches.put_item(x, items, value):
        stretches.written_back(x)
        return
    inner = items[0]
    if len(items) == 1 and type(inner) is Selection and inner.dtype == BOOL and inner.ndim == 1 and matches(x, inner):
        assign(x.array, bind("and", x.mask, inner.array), 0, value)
        stretches.written_back(x)
        return
    target = x if items == (Ellipsis,) or x.stretch is not None and items == (slice(None),) else _of_selection(x, key)
    if target is not x and x.stretch is not None:
        raise x.error()
    views.write(target.array, indexing.as_assigned(aligned(target, value), target.dtype, target.array.shape))
    stretches.written_back(x)


def assign(x: Any, mask: Any, axis: int, value: Selection) -> None:
    """`x[mask] = value`, selected under the same mask: a select."""
    if type(value) is not Selection:
        indexing.assign_masked(x, mask, axis, value)
        return
    target = Selection(x, mask, axis, origin=value.origin)
    if value.axis != axis or not same_mask(mask, value.mask) or len(value.rest) > len(target.rest):
        raise value.error("as many values as another mask has True elements")
    if len(value.rest) != len(target.rest) and value.rest:
        raise value.error()
    new = indexing.as_assigned(value.array, x.dtype, x.shape) if value.rest or not target.rest else None
    if new is None:
        raise value.error()
    views.write(x, bind("select_n", indexing.over(mask, axis, x.shape), x, new))


# ---- methods and functions ----


def astype(x: Selection, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
           copy: bool = True) -> Selection:  # fmt: skip
    target = as_dtype(dtype)
    check_cast(x.dtype, target, casting, "array data")
    return _like(x, creation.astype(x.array, target, copy=True))


def copied(x: Selection, *_: Any, **__: Any) -> Selection:
    found = _like(x, core.as_array(bind("copy", x.array)))
    found.positions_of = x.positions_of
    return found


def raveled(x: Selection, order: str = "C") -> Selection:
    if x.ndim != 1:
        raise x.error()
    return Selection(x.array, x.mask, x.axis, origin=x.origin)


def reshaped(x: Selection, *shape: Any) -> Selection:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if tuple(sizes) != (-1,):
        raise x.error()
    return raveled(x)


def fill(x: Selection, value: Any) -> None:
    setitem(x, Ellipsis, value)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`arr[mask] = vals`: there are as many values as places."""
    if not is_tracer(arr) or find((arr, mask)) is not None:
        raise vals.error()
    mask = truth(array(mask))
    flat = reshape_to(mask, (mask.size,))
    indexing.setitem(arr if arr.ndim == 1 else movement.reshape(arr, (-1,)), flat, vals)


METHODS: dict[str, Callable[..., Any]] = {
    "sum": sum_, "prod": prod, "mean": mean, "any": any_, "all": all_, "max": amax, "min": amin, "var": variance,
    "std": standard_deviation, "ptp": ptp, "argmax": argmax, "argmin": argmin,
    "cumsum": cumsum, "astype": astype, "copy": copied, "flatten": copied, "ravel": raveled,
    "reshape": reshaped, "dot": dot, "fill": fill, "round": _elementwise(selection.around),
    "clip": _elementwise(selection.clip), "conj": _elementwise(np.conjugate), "conjugate": _elementwise(np.conjugate),
    "real": _elementwise(selection.real), "imag": _elementwise(selection.imag), "T": raveled,
}  # fmt: skip
PROPERTIES = frozenset({"real", "imag", "T"})
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sum: sum_, np.prod: prod, np.mean: mean, np.any: any_, np.all: all_, np.max: amax, np.amax: amax, np.min: amin,
    np.amin: amin, np.argmax: argmax, np.argmin: argmin, np.cumsum: cumsum,
    np.diff: stretches.diff, np.sort: stretches.sort, np.var: variance,
    np.std: standard_deviation, np.ptp: ptp, np.count_nonzero: count_nonzero,
    np.dot: dot, np.inner: dot, np.linalg.norm: norm, np.nansum: _without_nan(sum_), np.nanmean: _without_nan(mean),
    np.nanstd: _without_nan(standard_deviation), np.nanvar: _without_nan(variance), np.ravel: raveled,
    np.copy: copied, np.astype: astype, np.ndim: lambda a: a.ndim, np.place: place,
    np.size: lambda a, axis=None: a.size,
    **{f: _elementwise(g) for f, g in (
        (np.where, selection.where), (np.clip, selection.clip), (np.isclose, selection.isclose),
        (np.round, selection.around), (np.around, selection.around), (np.nan_to_num, selection.nan_to_num),
        (np.real, selection.real), (np.imag, selection.imag), (np.angle, selection.angle), (np.sinc, selection.sinc),
        (np.i0, selection.i0), (np.fix, selection.fix),
    )},
}  # fmt: skip
