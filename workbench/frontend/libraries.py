"""Functions of libraries as traced code sees them.

Those of installed packages are traced through, as the user's own are, where they are given what is traced. On numbers,
strings and the like alone they are called as they are, while tracing, and what they give is a constant: filter
coefficients need no kernel. `watched_call` makes sure that such a call only computes. What is written in C, and the
standard library, is always called as it is.
"""

from __future__ import annotations

import contextlib
import random
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import positions
from .captures import _Lifted
from .constants import is_constant
from .diagnostics import RANDOM, as_constants, side_effect
from .functions import rebuild_function
from .reads import Itself
from .tracer import Tracer, known_value

if TYPE_CHECKING:
    from .captures import Lifter


class LibraryFunction(_Lifted):
    """A function that is called as it is. A call whose result is dropped can only be a side effect: it refuses."""

    __slots__ = ("__name__", "__wrapped__")

    def __init__(self, function: Callable):
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if positions.caller_drops_result(2):
            name = f"{self.__wrapped__.__module__}.{self.__name__}"
            raise side_effect(f"calls {name} for what it does", "that must happen at every run")
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method of a user's class, such as the `__repr__` of a dataclass is."""
        is_method = instance is not None and isinstance(self.__wrapped__, types.FunctionType)
        return types.MethodType(self, instance) if is_method else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class InstalledFunction(LibraryFunction):
    """A Python function of an installed package."""

    __slots__ = ("_lifter", "_read", "_traced")

    def __init__(self, lifter: Lifter, function: types.FunctionType, read: Callable[[], Any]):
        super().__init__(function)
        self._lifter = lifter
        self._read = read
        self._traced: types.FunctionType | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not positions.caller_drops_result(2):
            try:
                plain_args, plain_kwargs = _plain(args), _plain(kwargs)
            except _NotPlain:
                return self.traced()(*args, **kwargs)
            result = watched_call(self.__wrapped__, plain_args, plain_kwargs)
            with contextlib.suppress(_NotPlain):
                return as_constants(_plain(result))
        return self.traced()(*args, **kwargs)

    def traced(self) -> types.FunctionType:
        """The function over the traced view of its module."""
        if self._traced is None:
            function, lifter = self.__wrapped__, self._lifter
            self._traced = rebuild_function(lifter, function, self.__name__, Itself(function))
            lifter._remember(function, self, self._read)
        return self._traced


class _NotPlain(Exception):  # noqa: N818 (it is no error)
    """A value that is traced, or holds code of the user's."""


def _plain(value: Any) -> Any:
    """A value as a library sees it outside of a trace, if it holds numbers, strings, arrays and libraries alone."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(map(_plain, value))
    if kind is dict and all(map(is_constant, value)):
        return {key: _plain(item) for key, item in value.items()}
    if kind is Tracer and not value.shape and (known := known_value(value)) is not None and not value.buffer.mixed:
        return known.item() if value.weak_type else known[()] if value.scalar else known.copy()
    if issubclass(kind, _Lifted):
        value = getattr(value, "__wrapped__", value)
        is_plain = isinstance(value, types.ModuleType) and positions.code_kind(value.__file__ or "") != positions.USER
    elif kind is type:
        is_plain = value.__module__ in ("builtins", "numpy")
    else:
        is_plain = kind is np.ndarray and not value.dtype.hasobject or kind is not Tracer and is_constant(value)
    if not is_plain:
        raise _NotPlain
    return value


# ---- calls while tracing ----

_OUTSIDE = "what it does outside must happen at every run"
_ACTING_MODULES = {
    "time": "the clock must be read at every run", **dict.fromkeys(("posix", "nt", "io", "_io", "_socket"), _OUTSIDE)
}  # fmt: skip
_COMPUTING = frozenset((
    "fspath", "text_encoding", "getpid", "cpu_count", "sched_getaffinity", "_path_normpath", "_path_splitroot",
))  # fmt: skip


def watched_call(function: Callable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a library's function gives. SideEffectError, before it acts, if it reads a clock or a file, prints, or draws
    random numbers; the modules that it imports may."""
    acts: list[tuple[str, str]] = []

    def watch(frame: types.FrameType, event: str, called: Any) -> None:
        why = _why_it_acts(called) if event == "c_call" else None
        if why is not None and not _is_importing(frame):
            acts.append((called.__name__, why))
            raise side_effect(f"calls `{function.__name__}`, which calls `{called.__name__}`", why)

    drawn = _drawn_so_far()
    watches = sys.getprofile() is None  # Python's profiler is written in C, and cannot be put back
    if watches:
        sys.setprofile(watch)
    try:
        return function(*args, **kwargs)
    finally:
        if watches:
            sys.setprofile(None)
        if acts:  # also where the library has an `except` for it
            name, why = acts[0]
            raise side_effect(f"calls `{function.__name__}`, which calls `{name}`", why)
        if not _same_draws(drawn, _drawn_so_far()):
            np.random.set_state(drawn)
            raise side_effect(f"calls `{function.__name__}`, which draws random numbers", RANDOM)


def _why_it_acts(called: Any) -> str | None:
    owner, name = getattr(called, "__self__", None), called.__name__
    if isinstance(owner, random.Random) or name == "urandom":
        return RANDOM
    module = owner.__name__ if isinstance(owner, types.ModuleType) else ""
    if module == "builtins" and name in ("print", "input"):
        return _OUTSIDE
    return None if name in _COMPUTING else _ACTING_MODULES.get(module)


def _is_importing(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _drawn_so_far() -> Any:
    """The state of NumPy's global source of random numbers, whose draws no profiler sees."""
    return np.random.get_state(legacy=False)


def _same_draws(a: Any, b: Any) -> bool:
    return a["state"]["pos"] == b["state"]["pos"] and np.array_equal(a["state"]["key"], b["state"]["key"])
