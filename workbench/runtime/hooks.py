"""Hooks: what the front of the house wants to be told, so that nothing here imports upwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compilation import Compilation

_graph_viewers: list[Callable[[Compilation], None]] = []


def on_show_graph(viewer: Callable[[Compilation], None], *, default: bool = False) -> None:
    """Register who shows the graph of a function made with `show_graph=True`; the latest wins over the default."""
    _graph_viewers.insert(0 if default else len(_graph_viewers), viewer)


def no_longer_show_graph(viewer: Callable[[Compilation], None]) -> None:
    """Take a viewer back; the one before it shows again."""
    if viewer in _graph_viewers:
        _graph_viewers.remove(viewer)


def show_graph(compilation: Compilation) -> None:
    if _graph_viewers:
        _graph_viewers[-1](compilation)
