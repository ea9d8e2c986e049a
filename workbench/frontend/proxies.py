"""Stand-ins for modules, library functions and builtins inside traced code.

NumPy's module gets creation functions that return tracers (nothing would dispatch `np.zeros(3)` to us otherwise);
`math` accepts traced scalars; what prints, reads files or clocks, or draws random numbers refuses before it acts, since
tracing runs once what must happen at every run. Everything else passes through.
"""

from __future__ import annotations

import cmath
import logging
import math
import operator
import random
import sys
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..ir import REGISTRY
from . import messages, positions
from .captures import Lifter, _Lifted
from .checks import end_unless_finite
from .choices import Choice, as_numpys, settled
from .constants import CONSTANT_TYPES, is_constant
from .diagnostics import RANDOM, side_effect, unsupported
from .functions import NOT_CALLABLE
from .libraries import LibraryFunction
from .library_places import stays
from .operators import weaken
from .reads import AttributeOf, Itself, Read
from .recording import Trace, current_trace
from .tracer import Tracer, _api, emit, known_value, method

IMPURE_MODULES: dict[str, str] = {
    "numpy.random": RANDOM,
    "random": RANDOM,
    "secrets": RANDOM,
    "uuid": "a new id must be made at every run",
    "time": "the clock must be read at every run",
    "datetime": "the clock must be read at every run",
    **dict.fromkeys(
        (
            "os", "posix", "nt", "sys", "io", "shutil", "subprocess", "socket", "requests", "urllib", "http", "logging",
            "tempfile", "pickle", "csv", "sqlite3", "threading", "multiprocessing", "asyncio", "concurrent", "signal",
            "warnings", "gc", "matplotlib", "seaborn", "plotly", "bokeh", "altair", "IPython", "ipywidgets", "tqdm",
            "joblib", "PIL", "cv2", "imageio", "builtins.open",
        ),
        "what it does outside must happen at every run",
    ),
}  # fmt: skip
IMPURE_NUMPY = frozenset((
    "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "seterr",
    "seterrcall", "setbufsize", "set_printoptions", "from_dlpack",
))  # fmt: skip
# Modules of which every function only computes, so that a call whose result is dropped is harmless.
PURE_MODULES = frozenset((
    "numpy", "workbench", "math", "cmath", "operator", "itertools", "functools", "collections", "typing", "types",
    "abc", "dataclasses", "contextlib", "copy", "enum", "fractions", "decimal", "numbers", "statistics", "string", "re",
    "bisect", "heapq", "builtins", "_operator", "_functools", "_collections", "_bisect", "_heapq",
))  # fmt: skip
IMPURE_BUILTINS = {
    "print": "prints", "input": "asks for input", "open": "opens a file", "exec": "runs a string of code",
    "eval": "runs a string of code", "breakpoint": "enters the debugger", "globals": "reads the namespace as a dict",
    "exit": "ends the session", "quit": "ends the session", "help": "opens the help",
    "id": "asks where an object is",
}  # fmt: skip


def _primitive(name: str) -> Callable[[Any], Any]:
    return lambda x: emit(REGISTRY[name], x)


MATH_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(math, name): getattr(np, numpy_name)
    for name, numpy_name in {
        "sqrt": "sqrt",
        "exp": "exp",
        "exp2": "exp2",
        "expm1": "expm1",
        "log2": "log2",
        "log10": "log10",
        "log1p": "log1p",
        "sin": "sin",
        "cos": "cos",
        "tan": "tan",
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "atan2": "arctan2",
        "sinh": "sinh",
        "cosh": "cosh",
        "tanh": "tanh",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "fabs": "fabs",
        "copysign": "copysign",
        "fmod": "fmod",
        "hypot": "hypot",
        "isnan": "isnan",
        "isinf": "isinf",
        "isfinite": "isfinite",
        "cbrt": "cbrt",
        "degrees": "degrees",
        "radians": "radians",
        "nextafter": "nextafter",
        "pow": "power",
        "log": "log",
    }.items()
    if hasattr(math, name)
} | {getattr(cmath, name): getattr(np, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh")}
MATH_FUNCTIONS |= {getattr(math, name): _primitive(name) for name in ("erf", "erfc", "lgamma")}  # NumPy has none


def top_level(module: str) -> str:
    return module.partition(".")[0]


def _impurity(module: str) -> str | None:
    return IMPURE_MODULES.get(module) or (
        IMPURE_MODULES.get(top_level(module)) if top_level(module) != "numpy" else None
    )  # fmt: skip


# ---- what refuses ----


class Refused(_Lifted):
    """Something whose use is a side effect: it can be named and looked into, but not called."""

    def __init__(self, value: Any, name: str, why: str):
        self.__value = value
        self.__name = name
        self.__why = why

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__value, name)
        if isinstance(value, CONSTANT_TYPES) or isinstance(value, type) and issubclass(value, BaseException):
            return value
        known = messages.stand_in(value)
        if known is not None:
            return known
        return Refused(value, f"{self.__name}.{name}", self.__why)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise side_effect(f"calls {self.__name}", self.__why)

    def __getitem__(self, key: Any) -> Any:
        raise side_effect(f"reads {self.__name}", self.__why)

    def __iter__(self) -> Any:
        raise side_effect(f"reads {self.__name}", self.__why)

    def __enter__(self) -> Any:
        raise side_effect(f"enters {self.__name}", self.__why)

    def __exit__(self, *exc: Any) -> None: ...

    def __copy__(self) -> Any:
        raise side_effect(f"copies {self.__name}", self.__why)

    def __deepcopy__(self, memo: Any) -> Any:
        raise side_effect(f"copies {self.__name}", self.__why)

    def __str__(self) -> str:
        return str(self.__value)

    def __format__(self, spec: str) -> str:
        return format(self.__value, spec)

    @property
    def __wrapped__(self) -> Any:
        return self.__value


def _is_random(value: Any) -> bool:
    """Whether a value is a source of random numbers. NumPy's are not imported before somebody uses them."""
    if isinstance(value, random.Random):
        return True
    if "numpy.random" not in sys.modules:
        return False
    return isinstance(value, (np.random.Generator, np.random.RandomState, np.random.BitGenerator))


def is_impure(value: Any) -> bool:
    return isinstance(value, logging.Logger) or _is_random(value)


def refuse(value: Any, name: str) -> Refused:
    why = IMPURE_MODULES["random" if _is_random(value) else "logging"]
    return Refused(value, name, why)


# ---- modules ----


class ModuleView(_Lifted):
    """A module as traced code sees it: attributes are lifted when they are first read."""

    def __init__(self, lifter: Lifter, module: types.ModuleType):
        self.__dict__["_ModuleView__lifter"] = lifter
        self.__dict__["__wrapped__"] = module
        self.__dict__["__name__"] = module.__name__

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["__wrapped__"]
        value = self.__dict__[name] = _lift_attribute(self.__lifter, module, name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise side_effect(f"assigns {self.__dict__['__name__']}.{name}", "it must be assigned at every run")

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped__"])

    def __repr__(self) -> str:
        return repr(self.__dict__["__wrapped__"])


def _lift_attribute(lifter: Lifter, module: types.ModuleType, name: str) -> Any:
    value = getattr(module, name)
    package = top_level(module.__name__)
    path = f"{module.__name__}.{name}"
    if package == "numpy":
        path = f"np{path[5:]}"
    if isinstance(value, types.ModuleType):
        return wrap_module(lifter, value)
    if package in sys.stdlib_module_names or package == "numpy":  # nobody assigns these: no guards
        if name in IMPURE_NUMPY and package == "numpy":
            return Refused(value, path, "what it does outside must happen at every run")
        if name in ("nditer", "nested_iters", "fromiter") and package == "numpy":
            return Refused(value, path, "it walks over the memory of arrays, or over an iterator")
        if name == "errstate" and package == "numpy":
            return ErrorState(value)
        return wrap_library(lifter, value) if callable(value) else wrap_index_object(value)
    return lifter.lift(value, path, AttributeOf(Itself(module), name))


def wrap_module(lifter: Lifter, module: types.ModuleType) -> Any:
    """A stand-in for `module` in traced code."""
    file = getattr(module, "__file__", None)
    is_traced = file is not None and positions.code_kind(file) <= positions.INSTALLED
    if lifter.trace.effects_happen and not is_traced and top_level(module.__name__) != "numpy":
        return module
    why = _impurity(module.__name__)
    if module is sys and why is not None:
        return SystemView(lifter, why)
    if why is not None:
        return Refused(module, module.__name__.replace("numpy", "np"), why)
    if is_traced:
        return TracedModuleView(lifter, module)
    if top_level(module.__name__) == "workbench":
        return module
    return ModuleView(lifter, module)


class SystemView(Refused):
    """`sys`, of which code asks what is imported."""

    def __init__(self, lifter: Lifter, why: str):
        super().__init__(sys, "sys", why)
        self.modules = LoadedModules(lifter)


class LoadedModules(_Lifted):
    """`sys.modules`: which modules there are is guarded, as far as the code asks."""

    def __init__(self, lifter: Lifter):
        self._lifter = lifter

    def __contains__(self, name: str) -> bool:
        is_there = name in sys.modules
        self._lifter.guard(f"{name!r} in sys.modules", partial(operator.contains, sys.modules, name), is_there)
        return is_there

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._lifter.lift(sys.modules[name], name, partial(operator.getitem, sys.modules, name))

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __getattr__(self, name: str) -> Any:
        raise side_effect(f"uses sys.modules.{name}", "which modules there are is another thing at every run")

    def __iter__(self) -> Any:
        raise side_effect("reads sys.modules", "which modules there are is another thing at every run")


class TracedModuleView(ModuleView):
    """A module whose functions are traced through: its globals are seen as its functions see them."""

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["__wrapped__"]
        overlay = self._ModuleView__lifter.overlay(vars(module))  # type: ignore[attr-defined]
        try:
            return overlay[name]
        except KeyError:
            return getattr(module, name)  # Python's own error, or the module's __getattr__


# ---- functions ----


class Creation(_Lifted):
    """A function in whose place the trace has one of its own: those of NumPy that make arrays (`np.zeros`), and SciPy's
    of `frontend.scipy_api`."""

    __slots__ = ("__name__", "__wrapped__", "_handler")

    def __init__(self, function: Callable, handler: Callable):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self._handler = handler

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is None:  # kept beyond the trace, in a closure
            return self.__wrapped__(*args, **kwargs)
        args, kwargs = tuple(map(as_numpys, args)), {key: as_numpys(value) for key, value in kwargs.items()}
        return trace.operation(self.__name__, self._handler, args, kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class _OfFunctools(_Lifted):
    """What `functools` made of a function of the user's."""

    __slots__ = ("__name__", "__wrapped__", "_lifter")

    def __init__(self, lifter: Lifter, function: Any, name: str):
        self.__wrapped__ = function
        self.__name__ = name
        self._lifter = lifter


class CachedFunction(_OfFunctools):
    """A `functools.lru_cache`: it gives what it keeps, the same object at each call, which others may change."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = tuple(map(self._outside, args))
        named = {key: self._outside(value) for key, value in kwargs.items()}
        read = lambda: self.__wrapped__(*given, **named)  # noqa: E731
        result = read()
        function = getattr(self.__wrapped__, "__wrapped__", None)
        if is_constant(result) and stays(Itself(function), function):
            return result
        return self._lifter.lift(result, f"{self.__name__}(...)", read)

    def _outside(self, value: Any) -> Any:
        """What it is asked about outside of a trace: a constant, a class or a module."""
        original = self._lifter.originals.get(id(value), (value, value))[1]
        if original is value and isinstance(value, _Lifted):
            original = getattr(value, "__wrapped__", value)
        if not (is_constant(original) or isinstance(original, type | types.ModuleType)):
            raise unsupported(f"`{self.__name__}`, which keeps its results, of what is no constant", verb="calls")
        return original

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)


class DispatchingFunction(_OfFunctools):
    """A `functools.singledispatch`: objects are of the classes that they stand for."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args or type(args[0]) is Choice:
            raise unsupported(f"`{self.__name__}` of what has no one type", verb="calls")
        kind = args[0].__class__
        kind = self._lifter.originals.get(id(kind), (kind, kind))[1]
        read = lambda: self.__wrapped__.dispatch(kind)  # noqa: E731
        return self._lifter.lift(read(), f"{self.__name__}.dispatch({kind.__name__})", read)(*args, **kwargs)


class ErrorState(_Lifted):
    """`np.errstate`: kernels ignore floating-point errors, so that one that asks to hear of them is refused."""

    def __init__(self, value: Any):
        self.__wrapped__ = value

    def __call__(self, **settings: Any) -> Any:
        heard = [f"{name}='{what}'" for name, what in settings.items() if what not in (None, "ignore", "warn")]
        if heard:
            raise unsupported(f"np.errstate({', '.join(heard)})", why="kernels do not report floating-point errors")
        return self.__wrapped__(**settings)


class CreationType(Creation):
    """`np.ndarray`, which is called as a function and named as a class."""

    __slots__ = ()

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self.__wrapped__)  # type: ignore[arg-type]  # a class here

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self.__wrapped__)  # type: ignore[arg-type]  # a class here

    def __mro_entries__(self, bases: tuple) -> tuple:
        return (self.__wrapped__,)

    def __or__(self, other: Any) -> Any:
        return self.__wrapped__ | unwrap(other)

    def __ror__(self, other: Any) -> Any:
        return unwrap(other) | self.__wrapped__

    def __eq__(self, other: Any) -> bool:
        return unwrap(other) is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


def wrap_index_object(value: Any) -> Any:
    """`np.r_`, `np.mgrid` and the like as traced code sees them; other objects as they are."""
    return IndexObject(value, _api().take_item) if isinstance(value, _api().INDEX_OBJECTS) else value


class IndexObject(_Lifted):
    """An object of NumPy that makes arrays of what stands in its brackets."""

    __slots__ = ("__wrapped__", "_handler")

    def __init__(self, value: Any, handler: Callable):
        self.__wrapped__ = value
        self._handler = handler

    def __getitem__(self, key: Any) -> Any:
        trace = current_trace()
        if trace is None:
            return self.__wrapped__[key]
        return trace.operation("concatenate", self._handler, (self.__wrapped__, key), {})

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class MathFunction(_Lifted):
    """A function of `math` that accepts traced scalars; their result is a Python number again."""

    __slots__ = ("__name__", "__wrapped__", "_ufunc")

    def __init__(self, function: Callable, ufunc: Callable[..., Any]):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self._ufunc = ufunc

    def __call__(self, *args: Any) -> Any:
        args = tuple(map(settled, args))
        if not any(type(x) is Tracer for x in args):
            return self.__wrapped__(*args)
        if all(known_value(x) is not None for x in args if type(x) is Tracer):
            return self.__wrapped__(*[method(x, "item") if type(x) is Tracer else x for x in args])
        if any(type(x) is Tracer and x.shape for x in args):
            return self.__wrapped__(*args)  # Python's own error
        if self.__wrapped__.__module__ == "cmath":
            numbers = [np.complex128(x) if type(x) is not Tracer else method(x, "astype", np.complex128) for x in args]
        elif any(isinstance(x, complex) for x in args):
            raise unsupported(f"math.{self.__name__} of a complex number")
        else:
            numbers = [method(x, "astype", np.float64) if type(x) is Tracer else float(x) for x in args]
        if self._ufunc is np.log and len(numbers) == 2:
            result = np.log(numbers[0]) / np.log(numbers[1])
        else:
            result = self._ufunc(*numbers)
        end_unless_finite(numbers, result)
        return weaken(result)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def wrap_library(lifter: Lifter, value: Any) -> Any:
    """A function or class that is not the user's, as traced code sees it."""
    try:
        handler = _api().CREATION.get(value)
    except TypeError:  # unhashable
        handler = None
    if handler is not None:
        return (CreationType if isinstance(value, type) else Creation)(value, handler)
    if isinstance(value, types.BuiltinFunctionType) and value in MATH_FUNCTIONS:
        return MathFunction(value, MATH_FUNCTIONS[value])
    module = getattr(value, "__module__", None) or "builtins"
    name = getattr(value, "__name__", "")
    if lifter.trace.effects_happen:
        return value
    if module == "builtins" or module == "_io":
        action = IMPURE_BUILTINS.get(name)
        return Refused(value, f"{name}()", "that must happen at every run") if action else value
    if module.startswith("numpy") and name in IMPURE_NUMPY:
        return Refused(value, f"np.{name}", "what it does outside must happen at every run")
    known = messages.stand_in(value)
    if known is not None:
        return known
    bound_to = getattr(value, "__self__", None)  # `random.random` is a method of a hidden generator
    why = IMPURE_MODULES["random"] if _is_random(bound_to) else _impurity(module)
    if why is not None and not (isinstance(value, type) and module == "datetime"):
        return Refused(value, f"{module}.{name}", why)
    if top_level(module) in PURE_MODULES or isinstance(value, type):
        return value
    return LibraryFunction(value)


# ---- objects of other people's classes ----


class ObjectView(_Lifted):
    """An object of a library's class: its data can be read, its methods refuse (they may do anything)."""

    def __init__(self, lifter: Lifter, value: Any, name: str, read: Read):
        self.__lifter = lifter
        self.__value = value
        self.__name = name
        self.__read = read
        self.__seen: dict[str, Any] = {}

    @property
    def __class__(self) -> type:
        return type(self.__value)

    @property
    def __wrapped__(self) -> Any:
        return self.__value

    def __getattr__(self, name: str) -> Any:
        if name in self.__seen:
            return self.__seen[name]
        value = getattr(self.__value, name)
        path, read = f"{self.__name}.{name}", self.__read
        if callable(value):
            cls = type(self.__value)
            raise unsupported(f"`{path}`, a method of {cls.__module__}.{cls.__qualname__}",
                              why="it runs code that is not traced")  # fmt: skip
        lifted = self.__seen[name] = self.__lifter.lift(value, path, AttributeOf(read, name))
        return lifted

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_ObjectView__"):
            raise side_effect(f"sets `{self.__name}.{name}`", "that must happen at every run")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise side_effect(f"deletes `{self.__name}.{name}`", "that must happen at every run")

    def __copy__(self) -> Any:
        raise unsupported(f"a copy of `{self.__name}`", why="it is an object from outside")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __repr__(self) -> str:
        raise unsupported(f"the text of `{self.__name}`", why="what it holds is only known at each run")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise side_effect(f"writes into `{self.__name}`", "that must happen at every run")

    def __delitem__(self, key: Any) -> None:
        raise side_effect(f"deletes from `{self.__name}`", "that must happen at every run")

    def __eq__(self, other: object) -> bool:
        if type(self.__value).__eq__ is not object.__eq__:
            raise unsupported(f"a comparison with `{self.__name}`", why="it runs code that is not traced")
        return self is other

    def __hash__(self) -> int:
        return hash(self.__value)

    def __bool__(self) -> bool:
        cls = type(self.__value)
        if hasattr(cls, "__bool__") or hasattr(cls, "__len__"):
            raise unsupported(f"the truth of `{self.__name}`", why="it runs code that is not traced")
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise unsupported(f"`{self.__name}`", why="it runs code that is not traced")

    def __getitem__(self, key: Any) -> Any:
        raise unsupported(f"`{self.__name}[...]`", why="it runs code that is not traced")

    def __iter__(self) -> Any:
        raise unsupported(f"iteration over `{self.__name}`", why="it runs code that is not traced")

    def __enter__(self) -> Any:
        raise side_effect(f"enters `{self.__name}`", "that must happen at every run")

    def __exit__(self, *exc: Any) -> None: ...


def wrap_object(lifter: Lifter, value: Any, name: str, read: Read) -> Any:
    """An object of a class that is not the user's, as traced code sees it."""
    package = top_level(type(value).__module__)
    if lifter.trace.effects_happen or package in ("workbench", "typing"):
        return value
    if (package in PURE_MODULES or package == "__future__") and not getattr(value, "__dict__", None):
        return value
    return ObjectView(lifter, value, name, read)


def numpy_proxy(trace: Trace) -> Any:
    """NumPy's module as the code of `trace` sees it."""
    return trace.lifter.lift(np, "np", lambda: np)


def unwrap(value: Any) -> Any:
    """What a stand-in stands for; other values as they are."""
    return getattr(value, "__wrapped__", value) if isinstance(type(value), type) and issubclass(
        type(value), _Lifted
    ) else value  # fmt: skip


__all__ = [
    "NOT_CALLABLE", "Creation", "ModuleView", "Refused", "is_impure", "numpy_proxy", "refuse",
    "unwrap", "wrap_library", "wrap_module", "wrap_object",
]  # fmt: skip
