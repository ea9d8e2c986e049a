"""Compile the NumPy code of a Jupyter cell, and see what the compiler did.

    import workbench as wb

    @wb.jit
    def f(x): ...

In a notebook: `%load_ext workbench`, then `%%jit` above a cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Not on demand, as the rest: importing the module `config` later would put the module where the object belongs.
from .config import config

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import errors, lax, random, report
    from .api import device, djit, explain, jit, jit_scope, make_jaxpr, xpr
    from .notebook import widgets

_HOMES = dict.fromkeys(("device", "djit", "explain", "jit", "jit_scope", "make_jaxpr", "xpr"), "api")
_MODULES = ("errors", "lax", "random", "report", "widgets")

__all__ = [
    "__version__", "config", "device", "djit", "errors", "explain", "jit", "jit_scope", "lax", "make_jaxpr", "random",
    "report", "widgets", "xpr",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the compiler when it is first used: importing the package costs nothing."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name == "widgets":
        return import_module(f"{__name__}.notebook.widgets")
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext workbench`."""
    from .notebook import load_ipython_extension as load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext workbench`."""
    from .notebook import unload_ipython_extension as unload

    unload(ipython)
