"""The IPython extension: `%load_ext workbench` adds `%%jit` and `%workbench`."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext workbench`."""
    from ..frontend import numpy_api  # noqa: F401  (here, so that the first cell's trace does not wait for it)
    from ..runtime.hooks import on_show_graph
    from .display import show_graph
    from .magics import WorkbenchMagics

    shell.register_magics(WorkbenchMagics)
    on_show_graph(show_graph)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext workbench`: the magics are gone, results and reports stay."""
    from ..runtime.hooks import no_longer_show_graph
    from .display import show_graph

    no_longer_show_graph(show_graph)
    shell.magics_manager.magics["cell"].pop("jit", None)
    shell.magics_manager.magics["line"].pop("workbench", None)
