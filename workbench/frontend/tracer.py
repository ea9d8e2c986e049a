"""The tracer: an ndarray (or NumPy scalar) whose numbers are not known yet, and `emit`, which records operations on it.

A tracer is a view on a `Buffer`. The buffer holds the current value, an atom of the program; slicing or transposing a
tracer gives another view on the same buffer (`frontend.views`), and writing through any view rebinds the buffer to a
pure update. NumPy's protocols, operators, methods and attributes are looked up in the tables of `frontend.numpy_api`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TracingError
from ..ir import NO_ORIGIN, Atom, Aval, Literal, Primitive, Var, aval_of, supported_dtype
from .layouts import Strides, contiguous_strides, layout_of, result_strides
from .recording import Deferred, Trace, current_trace

if TYPE_CHECKING:
    from .aliases import Aliases
    from .places import Places
    from .views import ViewOp

MOST_LISTED = 512  # elements that Python may ask for one by one, each of them an operation: such code runs in NumPy
INT_BITS = 63  # of an int of Python's that may be any that int64 holds


class Buffer:
    """Memory that traced arrays share: `value` is its content now, `version` counts the writes.

    mixed: for a number that is Python's on one path through the program and NumPy's on another, so that it promotes in
    two ways, Python's types; python: for such a one, a traced bool that says whether it is Python's (`number_types`);
    bits: of an int of Python's, how long it may be, without its sign; aval, strides: of the
    whole buffer (strides in bytes; None: C-contiguous); writeable: whether NumPy would let it be written; var_in: the
    program's input that this memory is, if it came from outside; given: the array it was then.
    """

    __slots__ = (
        "aliases", "ambiguous", "aval", "bits", "given", "mixed", "perhaps", "places", "python", "strides", "trace",
        "value", "var_in", "version", "whole", "writeable",
    )  # fmt: skip

    def __init__(self, trace: Trace, value: Atom, strides: Strides | None = None, writeable: bool = True):
        self.trace = trace
        self.value = value
        self.aval = value.aval
        self.strides = strides
        self.writeable = writeable
        self.mixed: tuple[type, ...] = ()
        self.python: Tracer | None = None
        self.bits = INT_BITS
        self.ambiguous = False  # which other arrays share it depends on a traced branch: only reading is safe
        self.aliases: Aliases | None = None  # what such a one may be
        self.perhaps: tuple[tuple[Tracer, Tracer], ...] = ()  # results of a loop that it may be, and whether it is
        self.places: Places | None = None  # of lists, at which it is
        self.version = 0
        self.var_in: Var | None = None
        self.given: Any = None
        self.whole: Tracer | None = None  # the tracer that stands for the input itself

    def require_own(self, what: str) -> None:
        """Refuse `what` of an input, whose memory may be anybody's: each call decides."""
        if self.var_in is not None:
            from .diagnostics import unsupported

            raise unsupported(what, why="of an array from outside, each call decides")


class Tracer:
    """One traced array. `scalar` tracers stand for NumPy or Python scalars: values, which nothing can write to.

    parent, op: the view that this one is taken from and how; None for the whole buffer.
    """

    __slots__ = (
        "__weakref__", "_atom", "_strides", "_version", "aval", "buffer", "op", "origin", "parent", "scalar",
        "writeable",
    )  # fmt: skip
    __array_priority__ = 1000

    def __init__(
        self, buffer: Buffer, aval: Aval, parent: Tracer | None = None, op: ViewOp | None = None, *,
        scalar: bool = False, strides: Strides | None = None, writeable: bool = True,
    ):  # fmt: skip
        self.buffer = buffer
        self.aval = aval
        self.parent = parent
        self.op = op
        self.scalar = scalar
        self.writeable = writeable
        self.origin = NO_ORIGIN  # of the view
        self._strides = strides
        self._version = -1
        self._atom: Atom | None = None

    # ---- the value ----

    @property
    def current(self) -> Atom:
        """The atom that holds this array's present value."""
        buffer = self.buffer
        if self.parent is None:
            return buffer.value
        if self._version != buffer.version:
            from .views import read

            read(self)
        assert self._atom is not None
        return self._atom

    # ---- what NumPy programs ask of an array ----

    @property
    def __class__(self) -> type:
        """What NumPy would have made here, so that `isinstance(x, np.ndarray)` holds in the user's code."""
        if not self.scalar:
            return np.ndarray
        if self.aval.weak_type:
            return PYTHONS[self.aval.dtype.kind]
        return self.aval.dtype.type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        from .views import set_shape

        set_shape(self, value)

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        from .diagnostics import unsupported

        raise unsupported("an array's dtype", value=self, verb="sets")

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.nbytes

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def strides(self) -> Strides:
        return self._strides if self._strides is not None else contiguous_strides(self.shape, self.itemsize)

    @strides.setter
    def strides(self, value: Any) -> None:
        from .diagnostics import unsupported

        raise unsupported("an array's strides", value=self, verb="sets")

    @property
    def base(self) -> Tracer | None:
        self.buffer.require_own("ndarray.base")
        return None if self.parent is None else self.buffer.whole

    @property
    def flags(self) -> Any:
        from .views import Flags

        return Flags(self)

    @property
    def T(self) -> Tracer:  # noqa: N802 (NumPy's name)
        from .views import transpose

        self._check_attribute("T")
        return self if self.scalar else _operation("transpose", transpose, self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tracer:  # noqa: N802 (NumPy's name)
        from .views import transpose

        self._check_attribute("mT")
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        axes = (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)
        return _operation("matrix_transpose", transpose, self, axes)

    @property
    def real(self) -> Tracer:
        return _operation("real", _api().PROPERTIES["real"], self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Tracer:
        return _operation("imag", _api().PROPERTIES["imag"], self)

    @imag.setter
    def imag(self, value: Any) -> None:
        _operation("imag", _set_imag, self, value)

    @property
    def flat(self) -> Any:
        self._check_attribute("flat")
        return _operation("flat", _api().PROPERTIES["flat"], self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    def _check_attribute(self, name: str) -> None:
        """Python's numbers have no methods of arrays."""
        if self.scalar and self.aval.weak_type and not self.buffer.mixed and not hasattr(self.__class__, name):
            from .diagnostics import unknown_attribute

            raise unknown_attribute(self, name)
        if self.buffer.mixed and not all(hasattr(kind, name) for kind in self.buffer.mixed):
            from .number_types import end_if_python

            end_if_python(self)

    def __getattr__(self, name: str) -> Any:
        self._check_attribute(name)
        api = _api()
        if name in api.PROPERTIES:
            return _operation(name, api.PROPERTIES[name], self)
        if name in api.METHODS:
            return _BoundMethod(name, api.METHODS[name], self)
        from .diagnostics import unknown_attribute

        raise unknown_attribute(self, name)

    # ---- NumPy's protocols ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(type(x) is not Tracer and issubclass(type(x), Deferred) for x in inputs):
            return NotImplemented
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if len(types) > 1 and any(issubclass(t, Deferred) for t in types):
            return NotImplemented
        handler = _api().FUNCTIONS.get(func)
        if handler is None:
            from .diagnostics import untraceable_function

            return untraceable_function(func, args, kwargs)
        return _operation(func.__name__, handler, *args, **kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .proxies import numpy_proxy

        return numpy_proxy(require_trace())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        from .diagnostics import array_value

        value = array_value(self)
        return np.array(value, dtype=dtype)

    # ---- Python asks for the value ----

    def __bool__(self) -> bool:
        from .diagnostics import bool_value

        return bool_value(self)

    def __int__(self) -> int:
        from .diagnostics import scalar_value

        return int(scalar_value(self, "int"))

    def __index__(self) -> int:
        from .diagnostics import scalar_value

        return operator.index(scalar_value(self, "index"))

    def __float__(self) -> float:
        from .diagnostics import scalar_value

        return float(scalar_value(self, "float"))

    def __complex__(self) -> complex:
        from .diagnostics import scalar_value

        return complex(scalar_value(self, "complex"))

    def __hash__(self) -> int:
        from .diagnostics import hash_value

        return hash_value(self)

    def __len__(self) -> int:
        if not self.shape:
            kind = type_name(self)
            raise TypeError("len() of unsized object" if not self.scalar else f"object of type '{kind}' has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.shape:
            what = f"'{type_name(self)}' object is not iterable" if self.scalar else "iteration over a 0-d array"
            raise TypeError(what)
        return self._items()

    def _items(self) -> Iterator[Tracer]:
        """One by one: who asks may have enough of them."""
        for i in range(self.shape[0]):
            if i == MOST_LISTED:
                from .diagnostics import too_many_items

                raise too_many_items(self)
            yield self[i]

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def describe(self) -> str:
        """What it is, for what prints while it is traced, as in JAX, and for the messages of leaked tracers."""
        hint = getattr(self._atom if self.parent is not None else self.buffer.value, "hint", "")
        return f"Tracer<{hint + ':' if hint else ''}{self.aval}>"

    def __repr__(self) -> str:
        return self._text(repr)

    def __str__(self) -> str:
        return self._text(str)

    def _text(self, form: Callable[[Any], str]) -> str:
        """Text that the user's code asks for may end in a result: only the numbers' own will do."""
        trace = current_trace()
        if trace is None or (trace.effects_happen and known_value(self) is None):
            return self.describe()
        from .diagnostics import printed_value

        return form(printed_value(self))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        from .diagnostics import printed_value

        return format(printed_value(self), spec)

    def __copy__(self) -> Tracer:
        return method(self, "copy", "K")

    def __deepcopy__(self, memo: dict) -> Tracer:
        return method(self, "copy", "K")

    # ---- indexing ----

    def __getitem__(self, index: Any) -> Any:
        return _operation("getitem", _api().indexing.getitem, self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _operation("setitem", _api().indexing.setitem, self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")


class _BoundMethod:
    """`x.mean`, before the call."""

    __slots__ = ("__name__", "__self__", "_fn")

    def __init__(self, name: str, fn: Callable, tracer: Tracer):
        self.__name__ = name
        self.__self__ = tracer
        self._fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _operation(self.__name__, self._fn, self.__self__, *args, **kwargs)


def _set_imag(x: Tracer, value: Any) -> None:
    if x.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    x.imag[...] = value


def require_trace(*values: Any) -> Trace:
    """The innermost trace; outside every trace, the tracer among `values` has leaked."""
    trace = current_trace()
    if trace is None:
        from .diagnostics import leaked

        raise leaked(next((x for x in values if type(x) is Tracer), None))
    return trace


def _operation(name: str, fn: Callable, *args: Any, **kwargs: Any) -> Any:
    return (current_trace() or require_trace(*args)).operation(name, fn, args, kwargs)


_loaded: Any = None


def _api() -> Any:
    global _loaded
    if _loaded is None:
        from . import numpy_api

        _loaded = numpy_api
    return _loaded


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """`ufunc.method(*inputs, **kwargs)` on tracers."""
    handler = _api().ufunc_handler(ufunc)
    if handler is None:
        from .diagnostics import untraceable_function

        return untraceable_function(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)
    trace = current_trace() or require_trace(*inputs)
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return trace.operation(name, handler, (method, *inputs), kwargs)


# ---- recording ----

_SCALARS = (float, int, complex, bool, np.generic)  # made once: a union of types is built anew at every `isinstance`


PYTHONS = {"f": float, "c": complex, "i": int, "u": int, "b": bool}  # types of numbers, by the kind of their dtype
_PYTHONS_BOOL = Aval((), np.dtype(bool), weak_type=True)  # a result that may be one is a bool, no np.bool


def type_name(x: Tracer) -> str:
    kind = x.__class__
    return kind.__name__ if kind in (float, int, complex, bool) else f"numpy.{kind.__name__}"


def emit(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """Append `primitive[params] operands` to the current trace; the result, a tuple of them with several results.

    Operands are tracers, Python or NumPy scalars (which become literals, of their own dtype) and concrete ndarrays
    (captured, if the trace knows where they come from, else copied as constants). Operand shapes and dtypes must be
    what the primitive takes: `frontend.numpy_api` broadcasts and promotes. A result of rank 0 is a NumPy scalar; see
    `as_array`.
    """
    trace = current_trace() or require_trace()
    strided = False
    atoms = []
    for x in operands:
        if type(x) is Tracer:
            if x.buffer.trace is not trace:
                x = adopt(trace, x)
            if x._strides is not None:
                strided = True
            atoms.append(x.current if x.parent is not None else x.buffer.value)
        else:
            atoms.append(_atom_of(trace, x))
    outvars = trace.record(primitive, tuple(atoms), params)
    if primitive.multiple_results:
        return tuple([from_atom(trace, var) for var in outvars])
    aval = outvars[0].aval
    if aval.weak_type and aval.shape:  # the elements of an array are NumPy's, whatever it was made of
        outvars[0].aval = Aval(aval.shape, aval.dtype)
    result = from_atom(trace, outvars[0])
    if len(result.aval.shape) > 1 and (strided or primitive.name == "broadcast_in_dim"):
        inputs = [x for x in operands if type(x) is Tracer]
        lay_out(result, result_strides(primitive, inputs, result.aval, params))
    return result


def lay_out(x: Tracer, strides: Strides | None) -> Tracer:
    """A fresh array, with the strides that NumPy would give it (None: C order): its views depend on them."""
    x._strides = x.buffer.strides = strides
    return x


def from_atom(trace: Trace, atom: Atom) -> Tracer:
    """A fresh array (or scalar, for rank 0) whose value is `atom`."""
    aval = atom.aval
    buffer = Buffer(trace, atom)
    buffer.whole = tracer = Tracer(buffer, aval, None, None, scalar=not aval.shape)
    return tracer


def _atom_of(trace: Trace, value: Any) -> Atom:
    if isinstance(value, _SCALARS):
        return Literal(value, aval_of(value))
    return lift(value).current


def method(x: Tracer, name: str, *args: Any) -> Any:
    """`x.name(*args)` as of an array, also where `x` stands for Python's number."""
    return _operation(name, _api().METHODS[name], x, *args)


def lift(value: Any) -> Tracer:
    """`value` as a tracer of the current trace: tracers, Python and NumPy scalars, ndarrays, nested sequences."""
    trace = require_trace()
    if type(value) is Tracer:
        return value if value.buffer.trace is trace else adopt(trace, value)
    if issubclass(type(value), Deferred) and (numpys := getattr(type(value), "numpys", None)) is not None:
        return lift(numpys(value))
    if isinstance(value, _SCALARS):
        if isinstance(value, np.generic) and not supported_dtype(value.dtype):
            from .diagnostics import unsupported_dtype

            raise unsupported_dtype(value.dtype)
        aval = _PYTHONS_BOOL if value is True or value is False else aval_of(value)
        return from_atom(trace, Literal(value, aval))
    if isinstance(value, np.ndarray):
        if not supported_dtype(value.dtype):
            from .diagnostics import unsupported_dtype

            raise unsupported_dtype(value.dtype)
        owner = trace
        while owner.region and owner.parent is not None and owner.announced(value) is None:
            owner = owner.parent
        entry = owner.announced(value)
        if entry is not None:
            found = from_outside(owner, entry.value, entry.name, entry.read)
            return found if owner is trace else adopt(trace, found)
        return as_array(from_atom(trace, trace.add_constant(value)))
    if isinstance(value, list | tuple):
        creation = _api().CREATION.get(np.array)
        return creation(value) if creation is not None else lift(np.array(value))
    raise TypeError(f"cannot trace a value of type {type(value).__name__}")


def as_array(x: Tracer) -> Tracer:
    """A rank-0 result as NumPy's 0-d array instead of its scalar."""
    x.scalar = False
    return x


def as_scalar(x: Tracer) -> Tracer:
    """The value of a rank-0 tracer as a NumPy scalar: it shares no memory."""
    return x if x.scalar else from_atom(require_trace(), lift(x).current)


def from_outside(trace: Trace, value: Any, name: str, read: Callable[[], Any]) -> Tracer:
    """The tracer of an array (or a tracer of an enclosing trace) that the traced code reads from outside."""
    entry = trace.capture(value, name, read)
    if entry.tracer is None:
        assert entry.var is not None
        entry.tracer = input_tracer(trace, entry.var, value)
    return entry.tracer


def input_tracer(trace: Trace, var: Var, value: Any) -> Tracer:
    """The tracer of an input: `value` is the array, scalar or aval it was traced with."""
    strides, writeable, mixed, bits = None, True, (), INT_BITS
    if type(value) is Tracer:
        strides, writeable, scalar, mixed = value._strides, value.writeable, value.scalar, value.buffer.mixed
        bits = value.buffer.bits
    elif isinstance(value, np.ndarray):
        strides, writeable, scalar = layout_of(value), value.flags.writeable, False
    else:
        scalar = not isinstance(value, Aval)
    trace.given[var] = value
    buffer = Buffer(trace, var, strides, writeable)
    buffer.var_in, buffer.given, buffer.mixed, buffer.bits = var, value, mixed, bits
    buffer.python = value.buffer.python if type(value) is Tracer else None
    buffer.whole = tracer = Tracer(buffer, var.aval, scalar=scalar, strides=strides, writeable=writeable)
    return tracer


def adopt(trace: Trace, x: Tracer) -> Tracer:
    """A tracer of an enclosing trace as an input of this one; anything else has leaked."""
    if not x.buffer.trace.live:
        from .diagnostics import leaked

        raise leaked(x)
    outer = trace.parent
    while outer is not None and outer is not x.buffer.trace:
        outer = outer.parent
    if outer is None:
        raise TracingError("an array of an inner trace was used in the trace around it")
    if trace.region:
        from .regions import adopt_buffer

        return adopt_buffer(trace, x)
    hint = getattr(x.buffer.value, "hint", "") or "array"
    return from_outside(trace, x, hint, lambda: x)


def known_value(x: Any) -> np.ndarray | None:
    """The numbers of `x` where they are known while tracing (they depend on no input), else None. Read-only."""
    if type(x) is not Tracer:
        return np.asarray(x)
    x = in_region(x)
    return x.buffer.trace.known(x.current)


def in_region(x: Tracer) -> Tracer:
    """`x` as the region that is being traced sees it, which may write into it later on: it notes what it has asked."""
    trace = current_trace()
    return lift(x) if trace is not None and trace.region and x.buffer.trace is not trace else x
