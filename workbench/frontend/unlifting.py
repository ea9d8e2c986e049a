"""What functions and classes that traced code made or changed stand for outside, where a program returns them."""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import optree

from ..errors import TracingError
from .captures import Lifter
from .constants import CONSTANT_TYPES
from .diagnostics import unsupported
from .proxies import unwrap
from .reads import held_in
from .tracer import Tracer


def is_imported(value: Any) -> bool:
    """Whether it is what a module holds under its name, such as a function of NumPy's."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", None)
    return callable(value) and isinstance(name, str) and getattr(module, name, None) is value


def unlift_function(lifter: Lifter, value: Any) -> Any:
    """A function or class that was made while tracing, over the real globals. TracingError if it holds a tracer."""
    if is_imported(value):
        return value
    if isinstance(value, type):
        if id(value) in lifter.originals:
            return lifter.handed_out(value)
        from .functions import copy_class, is_traced_class, told_of_subclasses

        _check_holds_no_tracer(value, set())
        if told_of_subclasses(value):
            raise unsupported(f"`{value.__name__}`, a class with `__init_subclass__`", why="it would hear of copies")
        if is_traced_class(value):
            lifter.must_be_made_anew(value.__name__)
        if not any(isinstance(v, types.FunctionType) or is_traced_class(type(v)) for v in vars(value).values()):
            return value

        return copy_class(
            value,
            bases=tuple(unlift_function(lifter, b) if isinstance(b, type) else b for b in value.__bases__),
            remember=lambda new: lifter.originals.__setitem__(id(value), (value, new)),
            convert=lambda _, v: unlift_static(lifter, v),
        )
    if isinstance(value, types.MethodType):
        return types.MethodType(unlift_static(lifter, value.__func__), unlift_static(lifter, value.__self__))
    if id(value) in lifter.originals:
        return lifter.handed_out(value)
    from .convert import plain_code
    from .overlay import Overlay

    space: Any = value.__globals__
    while isinstance(space, Overlay):
        space = space.source
    cells = tuple([types.CellType() for _ in value.__closure__ or ()])
    new = types.FunctionType(plain_code(value.__code__), space, value.__name__, None, cells or None)
    lifter.originals[id(value)] = (value, new)
    for cell, traced_cell in zip(cells, value.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _held(lifter, traced_cell.cell_contents)
        except ValueError:
            pass
    new.__defaults__ = value.__defaults__ and tuple(_held(lifter, v) for v in value.__defaults__)
    new.__kwdefaults__ = value.__kwdefaults__ and {k: _held(lifter, v) for k, v in value.__kwdefaults__.items()}
    new.__dict__.update({k: _held(lifter, v) for k, v in value.__dict__.items()})
    defaults = (*(new.__defaults__ or ()), *(new.__kwdefaults__ or {}).values())
    if cells or new.__dict__ or not all(isinstance(v, CONSTANT_TYPES) for v in defaults):
        lifter.must_be_made_anew(value.__name__)
    new.__qualname__, new.__doc__ = value.__qualname__, value.__doc__
    new.__module__ = value.__module__ or space.get("__name__")
    new.__annotations__ = value.__annotations__
    return new


def _held(lifter: Lifter, value: Any) -> Any:
    """What a function holds. A container that this code made may be held elsewhere, too, as one and the same."""
    if isinstance(value, list | dict | set | deque) and id(value) not in lifter.originals:
        raise unsupported(f"a function that holds a {type(value).__name__} which is made here", verb="keeps",
                          fixes=("define the function outside the compiled code",))  # fmt: skip
    return unlift_static(lifter, value)


def _check_holds_no_tracer(value: Any, seen: set[int]) -> None:
    """TracingError if a class, or what it holds, keeps an array of this trace."""
    if id(value) in seen:
        return
    seen.add(id(value))
    inner: Iterable[Any] = ()
    if type(value) is Tracer:
        raise _held_in("class", "among its attributes")
    if isinstance(value, list | tuple | set | frozenset | deque):
        inner = value
    elif isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, staticmethod | classmethod):
        inner = (value.__func__,)
    elif isinstance(value, types.FunctionType):
        inner = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values())
    elif isinstance(value, type) and not is_imported(value):
        inner = vars(value).values()
    for each in list(inner):
        _check_holds_no_tracer(each, seen)


def holds_constants_alone(value: Any, around: tuple[Any, ...] = ()) -> bool:
    """Whether it is a function, or a container, that holds constants and such functions and nothing else. (By the types
    themselves: a traced float says that it is a float.)"""
    if issubclass(type(value), CONSTANT_TYPES) or any(value is other for other in around):
        return True
    held: Iterable[Any]
    if type(value) in (list, tuple):
        held = value
    elif type(value) is dict:
        held = value.values()
    elif type(value) is types.FunctionType:
        held = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values(),
                *(held_in(cell) for cell in value.__closure__ or ()))  # fmt: skip
    else:
        return False
    return all(holds_constants_alone(each, (*around, value)) for each in held)


def _held_in(kind: str, where: str) -> TracingError:
    fix = f"define the {kind} outside the compiled code"
    if kind == "function":
        fix += " and pass the array as an argument"
    return TracingError(
        f"WB131  A {kind} that is kept holds an array of this trace {where}.\n"
        f"   Fix  {fix}\n"
        f"   TracingError WB131: a traced array in a {kind} that is kept",
        code="WB131",
        fixes=(fix,),
    )


def unlift_static(lifter: Lifter, value: Any) -> Any:
    """What a value held by a function stands for outside; TracingError for a traced array."""
    if type(value) is Tracer:
        raise _held_in("function", "in its closure or defaults")
    # What is only read during a run may be a copy: one and the same list at each call would be too much to ask.
    if (
        isinstance(value, list | dict)
        and id(value) in lifter.originals
        and not (lifter.hands_nothing_out and type(value) in (list, dict))
    ):
        return lifter.handed_out(value)
    if issubclass(type(value), list | tuple | dict):  # by the type itself: what stands for a list says it is one
        return optree.tree_map(lambda v: unlift_static(lifter, v), value, none_is_leaf=True)  # pyright: ignore[reportArgumentType]  # a pytree of anything
    value = unwrap(value)
    if id(value) in lifter.originals:
        return lifter.handed_out(value)
    if isinstance(value, types.FunctionType | types.MethodType | type):
        return unlift_function(lifter, value)
    if isinstance(value, property):
        return property(*[f and unlift_static(lifter, f) for f in (value.fget, value.fset, value.fdel)])
    from .functions import is_traced_class

    if id(type(value)) in lifter.originals or is_traced_class(type(value)):
        raise unsupported(f"an object of {type(value).__qualname__}, which a function or class keeps",
                          why="its class sees what is outside as traced code does")  # fmt: skip
    return value
