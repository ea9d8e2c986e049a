"""What appears below a cell: its last expression as usual, then the report.

In a notebook the report is shown at once and updated in place when the baseline has been measured; a terminal cannot
take back what it printed, so there the baseline comes first.
"""

from __future__ import annotations

import uuid
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.display import display, update_display

from ..report import build_report
from ..runtime.compilation import Compilation
from .cells import CellRun

SHORT_WAIT_S = 0.05  # the report may come this much later


def show_value(shell: Any, value: Any, body: str) -> None:
    """Show the value of the last expression unless the cell ends in a semicolon."""
    if value is not None and not DisplayHook.semicolon_at_end_of_expression(body):
        shell.displayhook(value)


def show_report(shell: Any, run: CellRun, *, quiet: bool = False) -> None:
    """Show the report of a run, and complete it."""
    if run.compiling is not None:
        _show_while_compiling(shell, run, quiet=quiet)
    elif quiet:
        _finish(run)
    elif run.pending is not None and run.wait_s > SHORT_WAIT_S and can_update(shell):
        display_id = uuid.uuid4().hex
        display(run.report, display_id=display_id)
        _finish(run)
        update_display(run.report, display_id=display_id)
    else:
        _finish(run)
        display(run.report)


def _show_while_compiling(shell: Any, run: CellRun, *, quiet: bool) -> None:
    display_id = uuid.uuid4().hex
    if not quiet:
        display(run.report, display_id=display_id)
    updates = not quiet and can_update(shell)
    run.when_compiled(lambda: update_display(run.report, display_id=display_id) if updates else None)


def show_graph(compilation: Compilation) -> None:
    """Show the report of a function made with `show_graph=True`, when one of its versions is compiled."""
    display(build_report(compilation))


def can_update(shell: Any) -> bool:
    """Whether what was displayed can be replaced: in a front end that is connected to a kernel."""
    return getattr(shell, "kernel", None) is not None


def _finish(run: CellRun) -> None:
    try:
        run.finish()
    except KeyboardInterrupt:
        pass  # the user does not want to wait for a comparison; the cell itself is done
