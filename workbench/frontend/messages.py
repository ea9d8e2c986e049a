"""Warnings and logs as traced code sees them.

Compiled code gives no warnings of its own, so that `with warnings.catch_warnings()` has none to filter, and a log below
its level does nothing. What does say something must do so at every run, which a program cannot. On one side of a traced
branch it ends the call instead, as an error does (`branching`): NumPy makes it then, and says it.
"""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import TracingError
from .captures import Lifter, _Lifted
from .diagnostics import side_effect
from .tracer import require_trace

_LEVELS = {
    "debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "warn": logging.WARNING,
    "error": logging.ERROR, "exception": logging.ERROR, "critical": logging.CRITICAL, "fatal": logging.CRITICAL,
}  # fmt: skip
_WHY = "what it does outside must happen at every run"


def stand_in(value: Any) -> Any:
    """What traced code has for a function that warns, filters warnings or logs; None for anything else."""
    if value is warnings.warn:
        return Warn(value, "warnings.warn")
    if value is warnings.catch_warnings:
        return CatchWarnings(value, "warnings.catch_warnings")
    if value is warnings.simplefilter or value is warnings.filterwarnings:
        return FilterWarnings(value, f"warnings.{value.__name__}")
    owner, name = getattr(value, "__self__", None), getattr(value, "__name__", "")
    if isinstance(owner, logging.Logger) and (name in _LEVELS or name == "log"):
        return Log(value, f"{owner.name}.{name}")
    if getattr(value, "__module__", None) == "logging" and (name in _LEVELS or name == "log"):
        return Log(value, f"logging.{name}")
    return None


def may_end_the_call(error: BaseException) -> bool:
    """Whether a side of a traced branch that cannot be traced for `error` may end the call instead, since all it cannot
    do is to say something."""
    trace = require_trace()
    root = trace
    while root.region and root.parent is not None:
        root = root.parent
    if not isinstance(error, TracingError) or not root.leaves_messages:
        return False
    # What is printed may be how far a loop has come, which parts of the code print as it runs.
    may_end = error.says == "warning" or error.says == "text" and not trace.region and not root.lifter.of_cell
    root.has_left_message |= may_end
    return may_end


class _Message(_Lifted):
    def __init__(self, function: Callable[..., Any], name: str):
        self.__wrapped__ = function
        self.__name__ = name

    def refuse(self) -> TracingError:
        return side_effect(f"calls {self.__name__}", _WHY, says="warning")

    def lifter(self) -> Lifter:
        return require_trace().lifter


class Warn(_Message):
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        contexts = self.lifter().ignores_warnings
        if not contexts or not contexts[-1]:
            raise self.refuse()


class CatchWarnings(_Message):
    def __call__(self, *, record: bool = False, module: Any = None, action: Any = None, **filters: Any) -> Any:
        if record or module is not None or action not in (None, "ignore"):
            raise self.refuse()
        return _Caught(self.lifter(), action == "ignore" and not filters)


class _Caught(_Lifted):
    def __init__(self, lifter: Lifter, ignores: bool):
        self._lifter, self._ignores = lifter, ignores

    def __enter__(self) -> None:
        contexts = self._lifter.ignores_warnings
        contexts.append(self._ignores or bool(contexts) and contexts[-1])  # with the filters of the one around

    def __exit__(self, *_: Any) -> None:
        self._lifter.ignores_warnings.pop()


class FilterWarnings(_Message):
    """Filters are set for as long as `catch_warnings` lasts."""

    def __call__(self, action: str, *args: Any, **kwargs: Any) -> None:
        contexts = self.lifter().ignores_warnings
        if not contexts or action == "error":
            raise self.refuse()
        contexts[-1] = action == "ignore" and not args and not kwargs


class Log(_Message):
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        owner = getattr(self.__wrapped__, "__self__", logging.root)
        name = self.__wrapped__.__name__
        level = _LEVELS.get(name) if name != "log" else args[0] if args else kwargs.get("level")
        sets_up = owner is logging.root and not owner.handlers  # the first call of `logging.info` does
        if sets_up or type(level) is not int or owner.isEnabledFor(level):
            raise self.refuse()
        self.lifter().guard(self.__name__, lambda: owner.isEnabledFor(level), False, operator.is_)
