"""The IPython extension: `%load_ext workbench` adds `%%jit` and `%workbench`."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext workbench`."""
    from .magics import WorkbenchMagics

    shell.register_magics(WorkbenchMagics)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext workbench`: the magics are gone, results and reports stay."""
    shell.magics_manager.magics["cell"].pop("jit", None)
    shell.magics_manager.magics["line"].pop("workbench", None)
