"""What the stand-in has, the real CuPy has, too, under the same names: checked where that is installed, without a GPU."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from workbench.runtime.cuda.library import _calls

from . import fake_cupy

# Attributes that CuPy's objects have and their classes do not show.
OF_OBJECTS = {"cuda.Stream.ptr", "cuda.Event.time", "ndarray.host"}


@pytest.fixture
def cupy():
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy is not installed (package cupy-cuda13x or cupy-cuda12x); it needs no GPU for this")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it finds on this machine
        return importlib.import_module("cupy")


def names(thing: Any, path: str = "") -> list[str]:
    """The dotted names of a module's or namespace's parts, and of the public attributes of its classes."""
    found = []
    for name, part in vars(thing).items():
        if name.startswith("_") or isinstance(thing, type) and name in ("kernel", "launch"):
            continue
        found.append(f"{path}{name}")
        if isinstance(part, SimpleNamespace | ModuleType) and name not in ("fft", "linalg") or isinstance(part, type):
            found += names(part, f"{path}{name}.")
    return found


def test_the_stand_in_has_only_what_cupy_has(cupy, monkeypatch):
    asked = names(fake_cupy.install(monkeypatch))
    assert {"cuda.Stream.begin_capture", "cuda.driver.funcGetAttribute", "ndarray.get"} <= set(asked)
    for path in set(asked) - OF_OBJECTS:
        part = cupy
        for name in path.split("."):
            assert hasattr(part, name), path
            part = getattr(part, name)
    for name in ("empty_pinned", "errstate"):
        assert hasattr(importlib.import_module("cupyx"), name)


def test_the_routines_that_are_called_are_there(cupy):
    assert "cholesky" in _calls(cupy)
    for name in ("solve", "inv", "det", "slogdet", "eigh", "svd", "qr", "cholesky"):
        assert callable(getattr(cupy.linalg, name))
    for name in ("fftn", "ifftn", "rfftn", "irfft"):
        assert callable(getattr(cupy.fft, name))
