"""The builtins of traced code: what acts on the outside refuses, what asks about traced values gets NumPy's answers."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .captures import _Lifted
from .choices import Choice, settled
from .diagnostics import side_effect, unsupported
from .number_types import end_if_python
from .proxies import IMPURE_BUILTINS, CreationType, ObjectView, numpy_proxy, unwrap
from .recording import current_trace
from .tracer import Tracer

if TYPE_CHECKING:
    from .captures import Lifter


def traced_builtins(lifter: Lifter, source: MutableMapping[str, Any]) -> dict[str, Any]:
    """The builtins of traced code: those that act on the outside refuse; `import` gives wrapped modules."""
    names = dict(vars(builtins))
    if not lifter.trace.effects_happen:
        for name, action in IMPURE_BUILTINS.items():
            if name in names:
                names[name] = _RefusedBuiltin(names[name], name, action)

    def import_module(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        known = {} if globals is None else globals
        plain = {key: known[key] for key in ("__name__", "__package__", "__spec__") if key in known}
        module = importlib.__import__(name, plain, None, fromlist, level)
        if fromlist and "*" in fromlist:
            return module
        return lifter.lift(module, module.__name__, lambda: module)

    names["__import__"] = import_module
    if not lifter.trace.effects_happen:
        names["type"] = _TypeOf(type, type)
        names["isinstance"] = _IsInstance(isinstance)
        names["issubclass"] = _IsSubclass(issubclass)
        names["hasattr"] = _Has(hasattr)
        names["getattr"] = _Get(getattr)
        names["vars"] = _Variables(vars)
        names["pow"] = _Power(pow)
        names["dir"] = _Directory(dir, "dir", "lists the names of the namespace")
    return names


class _TypeOf(CreationType):
    """`type`, which says of a traced array what NumPy would have made."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if len(args) != 1 or trace is None:
            return self.__wrapped__(*args, **kwargs)
        if type(args[0]) is Choice:
            raise args[0].error()
        if type(args[0]) is not Tracer:
            original = getattr(trace.lifter, "originals", {}).get(id(args[0]))
            if original is None:
                return self.__wrapped__(*args, **kwargs)
            found = type(original[1])
            return trace.lifter.lift(found, found.__qualname__, lambda: found)
        if args[0].buffer.mixed:
            end_if_python(args[0])
        found = args[0].__class__
        return getattr(numpy_proxy(trace), found.__name__) if issubclass(found, np.generic | np.ndarray) else found

    def __getitem__(self, key: Any) -> Any:
        return self.__wrapped__[key]  # type: ignore[index]  # type[int] in an annotation


class _Power(_Lifted):
    """`pow`, which arrays have not got with a modulus."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable[..., Any]):
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        if len(given) > 2 and any(type(x) is Tracer for x in given):
            raise unsupported("pow() with a modulus")
        return self.__wrapped__(*args, **kwargs)


class _IsInstance(_Lifted):
    """`isinstance`, which the numbers decide of a value of several kinds."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable):
        self.__wrapped__ = function

    def __call__(self, value: Any, classes: Any, /) -> Any:
        if type(value) is Choice:
            return value.is_instance(_plain_classes(classes))
        if type(value) is Tracer:  # which has what any number or array may have
            plain = _plain_classes(classes)
            _tell_apart(value, lambda kind: issubclass(kind, plain))
            return issubclass(value.__class__, plain)
        return self.__wrapped__(unwrap(value), _plain_classes(classes))


class _IsSubclass(_Lifted):
    """`issubclass`, also of what stands for `np.ndarray` or a scalar's class."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable):
        self.__wrapped__ = function

    def __call__(self, cls: Any, classes: Any, /) -> bool:
        return self.__wrapped__(unwrap(cls), _plain_classes(classes))


def _tell_apart(value: Tracer, ask: Callable[[type], bool]) -> None:
    """Have the call end where a number is Python's, if the answer is another one for those."""
    if any(ask(kind) is not ask(value.__class__) for kind in value.buffer.mixed):
        end_if_python(value)


def _plain_classes(classes: Any) -> Any:
    return tuple(map(_plain_classes, classes)) if isinstance(classes, tuple) else unwrap(classes)


class _Has(_Lifted):
    """`hasattr`, which says of a traced value what it says of the number or array."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable):
        self.__wrapped__ = function

    def __call__(self, value: Any, name: str, /) -> bool:
        value = settled(value)
        if type(value) is Tracer:
            _tell_apart(value, lambda kind: hasattr(kind, name))
        return self.__wrapped__(value.__class__ if type(value) is Tracer else value, name)


class _Get(_Has):
    """`getattr`."""

    __slots__ = ()

    def __call__(self, value: Any, name: str, /, *default: Any) -> Any:
        value = settled(value)
        if default and type(value) is Tracer:
            _tell_apart(value, lambda kind: hasattr(kind, name))
        if default and type(value) is Tracer and not hasattr(value.__class__, name):
            return default[0]
        return self.__wrapped__(value, name, *default)


class _RefusedBuiltin(_Lifted):
    __slots__ = ("__name__", "__wrapped__", "_action")

    def __init__(self, function: Callable, name: str, action: str):
        self.__wrapped__ = function
        self.__name__ = name
        self._action = action

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return self.__wrapped__(*args, **kwargs)
        says = "text" if self.__wrapped__ is print else ""
        raise side_effect(self._action, "that must happen at every run", says=says)


class _Directory(_RefusedBuiltin):
    """`dir`, which without an object lists the namespace."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*map(unwrap, args)) if args else super().__call__()


class _Variables(_Lifted):
    """`vars`, which of an object from outside would show our view of it."""

    __slots__ = ("__wrapped__",)

    def __init__(self, function: Callable):
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        if not args:
            raise side_effect("lists the names of the namespace", "that must happen at every run")
        if type(args[0]) is ObjectView:
            raise unsupported("vars() of an object from outside", why="what it holds is only known at each run")
        return self.__wrapped__(*args)
