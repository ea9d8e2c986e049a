"""The calls of a package's functions that its doctests and tests make, with their arguments as they were."""

from __future__ import annotations

import builtins
import contextlib
import doctest
import functools
import importlib
import io
import pickle
import pkgutil
import signal
import time
import types
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_BYTES = 30_000_000
EXAMPLE_S = 8  # that one docstring or test may take
LEFT_OUT = (
    "conftest",
    "plotting",
    ".examples",
    "matplotlib",
    "__main__",
    ".gui",
    ".vis",
    "jax",
    "torch",
    "tensorflow",
    "cupy",
)


@dataclass(frozen=True, slots=True)
class Call:
    """name: `module:function`; given: the pickled arguments."""

    name: str
    given: bytes

    def arguments(self) -> tuple[tuple, dict[str, Any]]:
        """New ones each time: a call may change them."""
        return pickle.loads(self.given)

    def function(self) -> Callable[..., Any]:
        module, _, path = self.name.partition(":")
        return functools.reduce(getattr, path.split("."), importlib.import_module(module))


def calls(package: str, each: int = 2, seconds: float = 60) -> list[Call]:
    """What the doctests of `package`, and the tests that come with it and take no fixtures, call with arrays or floats,
    inside of one another, too. each: calls of one function, with arguments of other types; seconds: to be spent."""
    modules = list(_modules(package))
    tests = list(_modules(package, tests=True))
    found: list[Call] = []
    seen: set[tuple] = set()

    def recorded(function: types.FunctionType) -> Callable[..., Any]:
        name = f"{function.__module__}:{function.__qualname__}"

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            kind = name, *map(_kind, args), *((key, _kind(value)) for key, value in sorted(kwargs.items()))
            if kind not in seen and sum(k[0] == name for k in seen) < each and _has_numbers((*args, *kwargs.values())):
                with contextlib.suppress(Exception):  # what cannot be pickled
                    given = pickle.dumps((args, kwargs))
                    if len(given) < MOST_BYTES:
                        seen.add(kind)
                        found.append(Call(name, given))
            return function(*args, **kwargs)

        return call

    own = {
        value: recorded(value)
        for module in modules
        for value in vars(module).values()
        if isinstance(value, types.FunctionType) and value.__module__.startswith(package)
        and "<" not in value.__qualname__ and not hasattr(value, "__wrapped__")
    }  # fmt: skip
    with _replaced([*modules, *tests], own):
        end = time.monotonic() + seconds
        for run in (*(run for module in tests for run in _tests(module)), *map(_doctest, _doctests(modules))):
            if time.monotonic() < end:
                _run(run)
    return found


def _modules(package: str, tests: bool = False) -> Iterator[types.ModuleType]:
    root = importlib.import_module(package)
    if not tests:
        yield root
    for info in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{package}.", onerror=lambda _: None):
        is_test = ".tests." in info.name or ".test_" in info.name
        if is_test is tests and not any(part in info.name for part in LEFT_OUT):
            with contextlib.suppress(BaseException):  # one that needs what is not installed, or skips itself
                yield importlib.import_module(info.name)


def _tests(module: types.ModuleType) -> Iterator[Callable[[], Any]]:
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            for case in unittest.defaultTestLoader.loadTestsFromTestCase(value):
                yield functools.partial(case.run, unittest.TestResult())
        elif name.startswith("test") and isinstance(value, types.FunctionType) and not value.__code__.co_argcount:
            yield value


def _doctests(modules: list[types.ModuleType]) -> Iterator[doctest.DocTest]:
    for module in modules:
        with contextlib.suppress(Exception):
            yield from doctest.DocTestFinder().find(module, module.__name__)


def _doctest(test: doctest.DocTest) -> Callable[[], Any]:
    def run() -> None:
        missing = object()
        underscore = getattr(builtins, "_", missing)
        try:
            doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
        finally:  # doctest leaves a `_` there, and IPython keeps no results while there is one
            vars(builtins).pop("_", None)
            if underscore is not missing:
                vars(builtins)["_"] = underscore

    return run


@contextlib.contextmanager
def _replaced(modules: list[types.ModuleType], own: dict[types.FunctionType, Callable[..., Any]]) -> Iterator[None]:
    places = [
        (module, name, value)
        for module in modules
        for name, value in list(vars(module).items())
        if isinstance(value, types.FunctionType) and value in own
    ]
    for module, name, value in places:
        setattr(module, name, own[value])
    try:
        yield
    finally:
        for module, name, value in places:
            setattr(module, name, value)


def _run(example: Callable[[], Any]) -> None:
    def out_of_time(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(EXAMPLE_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            example()
    except KeyboardInterrupt:
        raise
    except BaseException:  # what skips itself, too
        pass
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _kind(value: Any) -> Any:
    return (value.dtype.str, value.ndim) if isinstance(value, np.ndarray) else type(value).__name__


def _has_numbers(values: Any, depth: int = 0) -> bool:
    return any(
        isinstance(v, float) or isinstance(v, np.ndarray) and v.size > 0 and v.dtype.kind in "fiucb"
        or isinstance(v, tuple | list) and depth < 2 and _has_numbers(v, depth + 1)
        for v in values
    )  # fmt: skip
