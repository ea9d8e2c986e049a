"""Rebuilding the user's functions, methods, classes and objects over the traced view of the world.

A function keeps its code, so that positions and tracebacks are the user's own, and gets the overlay as its globals and
new closure cells. `rebuild_code` is the one place where a converted body can be put in. Functions of installed
packages are rebuilt where they are given what is traced (`libraries`); those of the standard library are called as they
are, unless that would be a side effect.
"""

from __future__ import annotations

import abc
import dis
import enum
import functools
import inspect
import operator
import sys
import types
import typing
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedOperationError
from .carried_objects import carry
from .constants import is_constant
from .diagnostics import build, side_effect, unsupported
from .positions import INSTALLED, code_kind, is_traced_code, is_user_code
from .reads import (
    AttributeOf,
    HeldBy,
    ItemOf,
    Itself,
    KeysOf,
    NamesHeldBy,
    Read,
    TypeOf,
    content_of,
    held_in,
    instance_attributes,
    is_slot,
)

if TYPE_CHECKING:
    from .captures import Lifter

NOT_CALLABLE = object()
_LRU_CACHE = type(functools.lru_cache(lambda: None))


def rebuild_code(code: types.CodeType, *, convert: bool, writes_out: bool = False) -> types.CodeType:
    """The code that runs in place of the user's `code` while tracing; with `convert`, its control flow is converted.
    writes_out: as of `Terms`.

    A copy: the interpreter specialises code objects in place, and the user's own must stay tuned to plain globals.
    """
    from .convert import converted_code

    key = (id(code), convert, writes_out)
    found = _copies.get(key)
    if found is None:
        if len(_copies) > 10_000:
            _copies.clear()
        new = converted_code(code, writes_out=writes_out) if convert else None
        found = _copies[key] = (code, new or code.replace())
    return found[1]


# By id: equal codes may stand in different files.
_copies: dict[tuple[int, bool, bool], tuple[types.CodeType, types.CodeType]] = {}


def class_body_names(code: types.CodeType) -> set[str]:
    """The names that bodies of classes inside `code` read; they look globals up in the dict itself."""
    names: set[str] = set()
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if not const.co_flags & inspect.CO_OPTIMIZED:
                names.update(i.argval for i in dis.get_instructions(const) if i.opname == "LOAD_NAME")
            names |= class_body_names(const)
    return names


def lift_callable(lifter: Lifter, value: Any, name: str, read: Read) -> Any:
    """A function, method, partial or class as traced code sees it; NOT_CALLABLE for anything else."""
    from .numba_functions import NumbaFunction, is_numbas, is_prange
    from .proxies import CachedFunction, DispatchingFunction, wrap_library

    if isinstance(value, types.FunctionType) and _chooses_by_type(value):
        lifter.guard(name, read, value)
        return lifter._remember(value, DispatchingFunction(lifter, value, name), read)
    if isinstance(value, types.FunctionType):
        is_users = is_user_code(value.__code__)
        # What a function has made inside of it is another one at each run of its statements.
        is_anew = lifter.runs_statements and "<locals>" in value.__qualname__
        if is_users and (lifter.is_by_content or is_anew):
            lifter.guard(name, AttributeOf(read, "__code__"), value.__code__)
            lifter.guard(name, AttributeOf(read, "__globals__"), value.__globals__)
            lifter.guard(name, lambda: _parts_of(read()), _parts_of(value), operator.eq)
            with lifter.by_content():
                return rebuild_function(lifter, value, name, read, by_content=True)
        lifter.guard(name, read, value)
        if is_users:
            return rebuild_function(lifter, value, name, read)
        return _lift_library_function(lifter, value, name, read)
    if isinstance(value, types.MethodType):
        owner = lifter.lift(value.__self__, f"{name}.__self__", AttributeOf(read, "__self__"))
        function = lifter.lift(value.__func__, name, AttributeOf(read, "__func__"))
        if owner is value.__self__ and function is value.__func__:
            return value
        return types.MethodType(function, owner)
    if isinstance(value, functools.partial):
        lifter.guard(name, TypeOf(read), type(value))
        lifted = functools.partial(
            lifter.lift(value.func, f"{name}.func", AttributeOf(read, "func")),
            *lifter.lift(value.args, f"{name}.args", AttributeOf(read, "args")),
            **lifter.lift(value.keywords, f"{name}.keywords", AttributeOf(read, "keywords")),
        )
        return lifter._remember(value, lifted, read)
    if isinstance(value, np.vectorize):
        from .numpy_api.vectorized import Vectorized

        lifter.guard(name, read, value)
        function = lifter.lift(value.pyfunc, f"{name}.pyfunc", AttributeOf(read, "pyfunc"))
        return lifter._remember(value, Vectorized(function, value), read)
    if isinstance(value, _LRU_CACHE):
        lifter.guard(name, read, value)
        return lifter._remember(value, CachedFunction(lifter, value, name), read)
    if isinstance(value, type):
        lifter.guard(name, read, value)
        if is_prange(value):
            return range
        return lift_class(lifter, value, name, read)
    if isinstance(value, types.BuiltinFunctionType | types.MethodDescriptorType | types.WrapperDescriptorType):
        lifter.guard(name, read, value)
        return lifter._remember(value, wrap_library(lifter, value), read)
    if is_numbas(value):  # a function that somebody else compiles: its Python source traces
        lifter.guard(name, read, value)
        function = lifter.lift(value.py_func, name, AttributeOf(read, "py_func"))
        return lifter._remember(value, NumbaFunction(lifter, function), read)
    if isinstance(value, staticmethod | classmethod):
        return type(value)(lifter.lift(value.__func__, name, AttributeOf(read, "__func__")))
    if _is_numpy_callable(value):
        lifter.guard(name, read, value)
        return lifter._remember(value, wrap_library(lifter, value), read)
    return NOT_CALLABLE


def _lift_library_function(lifter: Lifter, fn: types.FunctionType, name: str, read: Read) -> Any:
    """A library's function. The user's functions and objects in its closure are as traced code sees them: what a
    decorator makes, as `contextlib.contextmanager` does, calls them."""
    from .libraries import InstalledFunction, LibraryFunction
    from .proxies import wrap_library

    if is_traced_code(fn.__code__):
        lifted = wrap_library(lifter, fn)
        if lifted is fn or type(lifted) is LibraryFunction:
            lifted = InstalledFunction(lifter, fn, read)
        return lifter._remember(fn, lifted, read)
    originals = [*(fn.__closure__ or ())]
    cells = [types.CellType() if _runs_traced_code(cell, {id(fn)}) else cell for cell in originals]
    new = fn
    if not all(map(operator.is_, cells, originals)):
        new = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells))
        new.__kwdefaults__ = fn.__kwdefaults__
        new.__module__, new.__qualname__, new.__doc__ = fn.__module__, fn.__qualname__, fn.__doc__
        new.__dict__.update({k: v for k, v in fn.__dict__.items() if k != "__wrapped__"})
    lifted = lifter._remember(fn, wrap_library(lifter, new), read)
    for cell, original in zip(cells, originals, strict=True):
        if cell is not original:
            cell.cell_contents = lifter.lift(original.cell_contents, name, content_of(original))
    return lifted


def _runs_traced_code(cell: types.CellType, seen: set[int]) -> bool:
    value = held_in(cell)
    while isinstance(value, types.MethodType | functools.partial | staticmethod | classmethod):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        return is_traced_code(value.__code__) or any(_runs_traced_code(cell, seen) for cell in value.__closure__ or ())
    return _is_traced(value if isinstance(value, type) else type(value))


def _chooses_by_type(value: types.FunctionType) -> bool:
    """Whether it is a `functools.singledispatch`."""
    return value.__code__.co_filename == functools.__file__ and hasattr(value, "registry")


def _is_numpy_callable(value: Any) -> bool:
    """NumPy's own function objects that are no Python functions (`np.where` and others dispatch in C)."""
    return callable(value) and type(value).__module__.startswith("numpy") and type(value).__name__.endswith("er")


def _parts_of(fn: types.FunctionType) -> tuple[Any, ...]:
    """How much a function holds."""
    are_set = [held_in(cell, NOT_CALLABLE) is not NOT_CALLABLE for cell in fn.__closure__ or ()]
    return len(fn.__defaults__ or ()), tuple(fn.__kwdefaults__ or ()), tuple(fn.__dict__), are_set


def rebuild_function(
    lifter: Lifter, fn: types.FunctionType, name: str, read: Read, *, by_content: bool = False
) -> types.FunctionType:
    """`fn` over the overlay of its globals, with lifted defaults and closure. by_content: `read` may give another one,
    of the same code."""
    originals = fn.__closure__ or ()
    present: Callable[[], types.FunctionType] = read if by_content else Itself(fn)
    closure = AttributeOf(present, "__closure__")
    reads = [ItemOf(closure, i) if by_content else None for i in range(len(originals))]
    # The cells are made first and filled later: a function may be in its own closure.
    cells = tuple([_new_cell(lifter, cell, read_cell) for cell, read_cell in zip(originals, reads, strict=True)])
    code = rebuild_code(fn.__code__, convert=lifter.trace.converts, writes_out=lifter.writes_out)
    overlay = lifter.overlay(fn.__globals__)
    new = types.FunctionType(code, overlay, fn.__name__, None, cells or None)
    new.__qualname__ = fn.__qualname__
    new.__module__ = fn.__module__
    new.__doc__ = fn.__doc__
    lifter._remember(fn, new, read)
    overlay.place(class_body_names(code))  # among them may be `fn` itself
    for variable, original, cell, read_cell in zip(fn.__code__.co_freevars, originals, cells, reads, strict=True):
        _fill_cell(lifter, original, cell, variable, read_cell)
    defaults, keyword_defaults = AttributeOf(present, "__defaults__"), AttributeOf(present, "__kwdefaults__")
    if fn.__defaults__:
        new.__defaults__ = tuple(
            lifter.lift(value, f"{fn.__name__}.__defaults__[{i}]", ItemOf(defaults, i))
            for i, value in enumerate(fn.__defaults__)
        )
    if fn.__kwdefaults__:
        new.__kwdefaults__ = {
            key: lifter.lift(value, f"{fn.__name__}.__kwdefaults__[{key!r}]", ItemOf(keyword_defaults, key))
            for key, value in fn.__kwdefaults__.items()
        }
    if fn.__dict__:
        attributes = {k: v for k, v in fn.__dict__.items() if k != "__wrapped__"}
        new.__dict__.update(
            {k: lifter.lift(v, f"{fn.__name__}.{k}", AttributeOf(present, k)) for k, v in attributes.items()}
        )  # fmt: skip
    lifter.watch_attributes(fn.__name__, new, lambda fn: dict(fn.__dict__))
    return new


def _new_cell(lifter: Lifter, original: types.CellType, read: Read | None) -> types.CellType:
    """Our cell in its place. read: gives the one of another call, if that may be another one."""
    from .captures import _MISSING

    found = lifter.cells.get(id(original))
    if found is None:
        found = lifter.cells[id(original)] = (original, types.CellType(), _MISSING)
        lifter.unfilled.add(id(original))
        if read is not None:
            lifter.cell_reads[id(original)] = read
    elif read is not None or id(original) in lifter.cell_reads:  # functions that share a variable
        first = lifter.cell_reads.get(id(original), lambda: original)
        second = read or (lambda: original)
        lifter.guard("a variable of functions", lambda: first() is second(), True)
    return found[1]


def _fill_cell(lifter: Lifter, original: types.CellType, cell: types.CellType, name: str, read: Read | None) -> None:
    from .captures import _MISSING

    if id(original) not in lifter.unfilled:
        return
    lifter.unfilled.discard(id(original))
    value = held_in(original, _MISSING)
    if value is not _MISSING:
        content = content_of(original) if read is None else AttributeOf(read, "cell_contents")
        cell.cell_contents = lifted = lifter.lift(value, name, content)
        lifter.cells[id(original)] = (original, cell, lifted)


# ---- classes and their objects ----


def is_traced_class(cls: type) -> bool:
    """Whether `cls` is in traced code, the user's or an installed package's, in a way that a copy of it behaves the
    same."""
    if type(cls) not in (type, abc.ABCMeta) or issubclass(cls, enum.Enum | BaseException | tuple):
        return False
    if not _is_traced(cls):
        return False
    # Classes that do something when they are subclassed would do it to the copy, unless they are copies, too.
    return all(
        _is_traced(base) or base is typing.Generic for base in cls.__mro__[:-1] if "__init_subclass__" in vars(base)
    )


def told_of_subclasses(cls: type) -> list[type]:
    """The classes whose `__init_subclass__` runs where a subclass of `cls` is made."""
    return [base for base in cls.__mro__[:-1] if "__init_subclass__" in vars(base) and base is not typing.Generic]


def _is_traced(cls: type) -> bool:
    """Whether the module of `cls` is traced code."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return cls.__module__ == "__main__" or file is not None and code_kind(file) <= INSTALLED


def lift_class(lifter: Lifter, cls: type, name: str, read: Read) -> Any:
    """A class of the user's with rebuilt methods; other classes as they are."""
    from .proxies import wrap_library

    if not is_traced_class(cls):
        if _is_traced(type(cls)):  # it makes objects by code that is not traced, which would run while tracing
            raise unsupported(f"`{name}`, a class with a metaclass", why="a copy of it would be another class")
        return lifter._remember(cls, wrap_library(lifter, cls), read)

    def lifted(key: str, value: Any) -> Any:
        with lifter.by_content(False):
            return lifter.lift(value, f"{cls.__name__}.{key}", _class_attribute(cls, key))

    def convert(key: str, value: Any) -> Any:
        waits = isinstance(value, _LIFTED_LATER) and key != "__new__"
        return LiftedLater(functools.partial(lifted, key, value)) if waits else lifted(key, value)

    with lifter.whole_or_not(cls), lifter.by_content(False):
        new = copy_class(
            cls,
            bases=tuple(lifter.lift(base, f"{name}.__bases__", Itself(base)) for base in cls.__bases__),
            remember=lambda new: lifter._remember(cls, new, read),
            convert=convert,
        )
    lifter.classes.append(new)
    if lifter.carries is not None and lifter.carries(new) and carry(new):
        lifter.carried.append(new)
    lifter.watch_attributes(cls.__qualname__, new, class_attributes)
    return new


_LIFTED_LATER = (types.FunctionType, _LRU_CACHE, dict, list, tuple, set)


class LiftedLater:
    """An attribute of a class that is lifted when the code first asks for it: what it holds is guarded only then."""

    __slots__ = ("_binds", "_lift", "_lifted")

    def __init__(self, lift: Callable[[], Any], binds: bool = True):
        self._lift: Callable[[], Any] | None = lift
        self._binds = binds

    def unbound(self) -> LiftedLater:
        """The same as a static method."""
        return LiftedLater(self.lifted, binds=False)

    def lifted(self) -> Any:
        if self._lift is not None:
            self._lifted, self._lift = self._lift(), None
        return self._lifted

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = self.lifted()
        bind = getattr(type(value), "__get__", None) if self._binds else None
        return value if bind is None else bind(value, instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # what a property or a class method holds
        return self.lifted()(*args, **kwargs)


def class_attributes(cls: type) -> dict[str, Any]:
    """What a class holds of its own, without what Python adds when it is asked."""
    added = ("__annotations__", "__slotnames__")
    return {k: v for k, v in vars(cls).items() if k not in added and not k.startswith("_abc_")}


def _class_attribute(cls: type, path: str) -> Read:
    key, _, part = path.partition(".")
    read = ItemOf(AttributeOf(Itself(cls), "__dict__"), key)
    return AttributeOf(read, part) if part else read


_CLASS_INTERNALS = frozenset(
    ("__dict__", "__weakref__", "__slots__", "__slotnames__", "__doc__", "__module__", "__name__", "__qualname__")
)


def copy_class(
    cls: type, bases: tuple[type, ...], remember: Callable[[type], Any], convert: Callable[[str, Any], Any]
) -> type:
    """A copy of `cls` whose attributes went through `convert(path, value)`, path as in `norm` or `norm.fget`.

    `remember` sees the copy before they do: methods refer to it. UnsupportedOperationError for classes whose metaclass
    may do anything with their attributes, as that of enumerations does.
    """
    if type(cls) not in (type, abc.ABCMeta):
        raise build(
            UnsupportedOperationError,
            f"{{line}} uses {cls.__qualname__}, a class whose metaclass {type(cls).__qualname__} may change it.",
            "a class with a metaclass",
            fixes=("define it, and what needs it, outside the compiled code",),
        )
    namespace: dict[str, Any] = {
        "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
    }  # fmt: skip
    if "__orig_bases__" in vars(cls):  # for which `Generic` looks at once
        namespace["__orig_bases__"] = vars(cls)["__orig_bases__"]
    if "__name__" in vars(cls):  # of the instances: setting it later would name the class
        namespace["__name__"] = vars(cls)["__name__"]
    slots = cls.__dict__.get("__slots__")
    if slots is not None:
        namespace["__slots__"] = slots
    token = _copying.set(True)
    try:
        new = type(cls)(cls.__name__, types.resolve_bases(bases), namespace)
    finally:
        _copying.reset(token)
    remember(new)
    skipped = _CLASS_INTERNALS | {slots} if isinstance(slots, str) else _CLASS_INTERNALS | set(slots or ())
    for key, value in list(vars(cls).items()):
        if key in skipped or key.startswith("_abc_") or isinstance(value, types.MemberDescriptorType):
            continue
        if isinstance(value, property):
            value = property(*[f and convert(f"{key}.{part}", f) if f else None
                               for part, f in zip(("fget", "fset", "fdel"), (value.fget, value.fset, value.fdel),
                                                  strict=True)])  # fmt: skip
        elif isinstance(value, functools.cached_property):
            value = functools.cached_property(convert(f"{key}.func", value.func))
            value.__set_name__(new, key)
        elif isinstance(value, staticmethod | classmethod):
            function = convert(f"{key}.__func__", value.__func__)
            is_later = type(function) is LiftedLater and isinstance(value, staticmethod)
            value = function.unbound() if is_later else type(value)(function)
            if key == "__init_subclass__" and isinstance(value, classmethod):
                value = _not_for_copies(value)
        elif isinstance(value, functools.partialmethod):
            value = functools.partialmethod(convert(f"{key}.func", value.func), *value.args, **value.keywords)
        elif (
            isinstance(value, types.FunctionType | _LRU_CACHE)
            or not hasattr(type(value), "__get__")
            or is_traced_class(type(value))
        ):
            value = convert(key, value) if not key.startswith(_OF_ANNOTATIONS) else value
        setattr(new, key, value)
    return new


_OF_ANNOTATIONS = ("__dataclass", "__annot", "__orig_bases__", "__parameters__")
_copying: ContextVar[bool] = ContextVar("workbench_copying", default=False)


def _not_for_copies(hook: classmethod) -> classmethod:
    """`__init_subclass__` of a class: the original has told of its subclasses, whose copies are nothing new."""

    def told(cls: type, **kwargs: Any) -> None:
        if not _copying.get():
            hook.__get__(None, cls)(**kwargs)

    return classmethod(told)


def lift_instance(lifter: Lifter, value: Any, name: str, read: Read) -> Any:
    """An object: of a user's class, a copy with lifted attributes; of another class, a view that refuses to act."""
    from .proxies import wrap_object

    cls = type(value)
    if not is_traced_class(cls) and cls is not types.SimpleNamespace:
        lifter.guard(name, read, value)
        return lifter._remember(value, wrap_object(lifter, value, name, read), read)
    lifter.guard(name, TypeOf(read), cls)
    lifted_cls = lifter.lift(cls, cls.__qualname__, Itself(cls))
    known = lifter.known(value)
    if known is not None:  # its class holds it
        return known
    if cls.__new__ is not object.__new__ and issubclass(cls, list | dict | set | str | int | float | bytes):
        raise unsupported(f"`{name}`, a {cls.__name__}", why="its class derives from a builtin one")
    new = cls() if cls is types.SimpleNamespace else object.__new__(lifted_cls)
    lifter._remember(value, new, read)
    lifter.instances.append(read)
    attributes = instance_attributes(value)
    lifter.guard(name, NamesHeldBy(read), list(attributes), operator.eq)
    with lifter.whole_or_not(value):
        for key, item in attributes.items():
            lifted = lifter.lift(item, f"{name}.{key}", HeldBy(read, key))
            set_attribute(new, key, lifted)
    lifter.watch_attributes(name, new, instance_attributes)
    return new


# What tells what is in a dict, and what changes it.
_DICT_READS = frozenset(("__new__", "__getitem__", "__iter__", "__len__", "__contains__", "keys", "values", "items",
                          "get"))  # fmt: skip
_DICT_CHANGES = (
    "__setitem__", "__delitem__", "__ior__", "__setattr__", "__delattr__", "update", "pop", "popitem", "clear",
    "setdefault",
)  # fmt: skip


def lift_dict_object(lifter: Lifter, value: Any, name: str, read: Read) -> Any:
    """A dict of a class of the user's, such as those whose keys are attributes, too: one that does not change."""
    cls = type(value)
    own = {key for base in cls.__mro__[: cls.__mro__.index(dict)] for key in vars(base)}
    if own & _DICT_READS or not all(map(is_constant, value)):
        raise unsupported(f"`{name}`, a {cls.__name__}", why="it is a dict with code of its own")
    lifter.guard(name, KeysOf(read), (cls, list(value)), operator.eq)
    lifted_cls = lifter.lift(cls, cls.__qualname__, Itself(cls))
    refuses = dict.fromkeys(_DICT_CHANGES, functools.partialmethod(_refuse_change, name))
    new = dict.__new__(type(cls.__name__, (lifted_cls,), {**refuses, "__module__": cls.__module__}))
    lifter._remember(value, new, read)
    held = getattr(value, "__dict__", None)
    with lifter.whole_or_not(value):
        for key, item in value.items():
            dict.__setitem__(new, key, lifter.lift(item, f"{name}[{key!r}]", ItemOf(read, key)))
        if held is value:
            object.__setattr__(new, "__dict__", new)
        elif held is not None:
            lifter.guard(name, NamesHeldBy(read), list(instance_attributes(value)), operator.eq)
            for key, item in held.items():
                new.__dict__[key] = lifter.lift(item, f"{name}.{key}", HeldBy(read, key))
    return new


def _refuse_change(_: Any, name: str, *__: Any, **___: Any) -> None:
    raise side_effect(f"changes `{name}`", "it must change at every run")


def set_attribute(holder: Any, name: str, value: Any) -> None:
    """Let an object hold `value`, past what its class may do where one of its attributes is set."""
    if is_slot(type(holder), name):
        object.__setattr__(holder, name, value)
    else:
        holder.__dict__[name] = value
