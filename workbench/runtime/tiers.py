"""Tiers: what runs in NumPy while its kernels are compiled in the background (`config.tiers`).

The program is traced by the call itself, which takes milliseconds and refuses code with effects besides its results:
so the same code may run once more, as plain NumPy, and everything it does happens once. What NumPy would run element by
element, in Python, waits for its kernels: they are ready before it would have got anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..config import config
from ..frontend.trace import Traced
from ..ir import Jaxpr, subjaxprs
from ..primitives.loops import loop_p
from .arguments import input_key
from .background import Task, submit
from .compilation import Compilation


@dataclass(frozen=True, eq=False, slots=True)
class Pending:
    """A traced program whose kernels are being compiled. capture_keys: the types of what it captured."""

    traced: Traced
    capture_keys: tuple[tuple, ...]
    task: Task

    def is_current(self) -> bool:
        return captures_hold(self.traced, self.capture_keys)

    @property
    def compilation(self) -> Compilation | None:
        return self.task.result if self.task.is_done else None


def captures_hold(traced: Traced, capture_keys: tuple[tuple, ...]) -> bool:
    """Whether the values that a trace captured are what they were (arrays: their types)."""
    for guard in traced.guards:
        if not guard.holds():
            return False
    for capture, key in zip(traced.captures, capture_keys, strict=True):
        try:
            present = capture.read()
        except Exception:  # noqa: BLE001  # the name, key or attribute is gone: the trace says what the user's code does
            return False
        if input_key(present) != key:
            return False
    return True


def may_run_in_numpy(jaxpr: Jaxpr, device: str) -> bool:
    """Whether NumPy can stand in for a program's kernels for a while, and the settings want that."""
    return config.tiers and device == "cpu" and bool(jaxpr.eqns) and not _has_loop_over_elements(jaxpr)


def _has_loop_over_elements(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.primitive is loop_p or any(_has_loop_over_elements(inner) for _, inner in subjaxprs(eqn))
        for eqn in jaxpr.eqns
    )


def compile_later(compile_it: Callable[..., Compilation], *args: object, **options: object) -> Task:
    """The compilation as a task of the background; `may_begin` is to be set when NumPy's result is there."""
    return submit(partial(compile_it, *args, **options))
