"""Errors of a cell as if the cell had been run by Python itself: the frames of the machinery are cut.

IPython asks an exception for `_render_traceback_` before it formats it, so that what is cut is decided per exception
and no handler stays behind in the shell. Syntax errors are shown by another way, which only a handler reaches: it
removes itself.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from ..config import config
from ..frontend.positions import kept_frames

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
NOTEBOOK = os.path.join(PACKAGE, "notebook", "")


def user_frames(tb: TracebackType | None, filename: str) -> TracebackType | None:
    """The frames from the cell's own on, without those of the workbench, numba and IPython."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    files = [frame.tb_frame.f_code.co_filename for frame in frames]
    # IPython runs the line `%%jit` under the cell's own file name: the cell itself comes after our magic.
    magic = max((i for i, file in enumerate(files) if file.startswith(NOTEBOOK)), default=-1)
    first = next((frames[i] for i in range(magic + 1, len(frames)) if files[i] == filename), None)
    return kept_frames(first, lambda frame: not _is_machinery(frame))


def _is_machinery(tb: TracebackType) -> bool:
    if tb.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return True
    root = tb.tb_frame.f_globals.get("__name__", "").partition(".")[0]
    return root in ("numba", "llvmlite", "IPython", "ipykernel", "optree")


def show_as_users_own(shell: Any, error: BaseException, filename: str) -> None:
    """Let `shell` show `error`, which the caller is about to raise, with the user's frames only (with all of them where
    `config.full_tracebacks` is set)."""
    if config.full_tracebacks:
        return
    chain = error
    while chain is not None:
        if chain is not error:  # caught in a function of another cell, it may come through no frame of this one
            all_frames = chain.__traceback__
            found = user_frames(all_frames, filename)
            chain.__traceback__ = found or kept_frames(all_frames, lambda frame: not _is_machinery(frame))
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    if isinstance(error, SyntaxError):
        _show_next_syntax_error(shell)
        return
    trimmed = user_frames(error.__traceback__, filename)

    def render() -> list[str]:
        return shell.InteractiveTB.structured_traceback(type(error), error, trimmed, tb_offset=0)

    try:
        error._render_traceback_ = render  # type: ignore[attr-defined]  # IPython's protocol
    except AttributeError:  # a class with __slots__: shown with all its frames
        pass


def _show_next_syntax_error(shell: Any) -> None:
    exceptions, handler = shell.custom_exceptions, shell.CustomTB

    def show(shell: Any, etype: type, error: SyntaxError, tb: TracebackType | None, tb_offset: int | None = None):
        shell.custom_exceptions, shell.CustomTB = exceptions, handler
        stb = shell.SyntaxTB.structured_traceback(etype, error, [])
        sys.last_type, sys.last_value, sys.last_traceback = etype, error, tb
        shell._showtraceback(etype, error, stb)
        return stb

    shell.set_custom_exc((SyntaxError,), show)
