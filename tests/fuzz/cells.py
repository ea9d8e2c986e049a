"""Random programs as `%%jit` cells: afterwards the namespace holds what Python would have left in it."""

from __future__ import annotations

import contextlib
import copy
import io
import types
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import workbench as wb

from .nested import Nested, _judged, _leaves, few_are_many
from .uncommon import (
    Body,
    Colour,
    Pair,
    Phase,
    Uncommon,
    _may_compare,
    _same_memory,
    reads_padding,
    refused_by_lax,
    same,
)

_NOT_COMPARED = (types.FunctionType, types.ModuleType, type, types.GeneratorType, zip, enumerate, map)


def shell() -> InteractiveShell:
    """A shell with the extension, without a history file."""
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance(config=config)
    ip.run_line_magic("load_ext", "workbench")
    return ip


def random_cell(seed: int) -> Nested:
    """Every third one is of the uncommon kind; those that return have no cell, and are left out. So are those that ask
    `.base`: between the parts of a cell it tells of our pool of memory, which NumPy does not have."""
    for attempt in range(1000):
        program = (Nested if seed % 3 else Uncommon)(seed + 1_000_003 * attempt)
        if any(".base is" in line for line in program.lines):
            continue
        with contextlib.suppress(SyntaxError):
            compile("\n".join(program.lines), "<cell>", "exec")
            return program
    raise AssertionError("no program without a return")


def check(program: Nested, ip: InteractiveShell, order: Sequence[int] = (0, 1, 0)) -> None:
    """AssertionError unless the program as a cell does what Python does, over `arguments(which)` in this order."""
    with few_are_many(program.seed):
        _check(program, ip, order)


def _check(program: Nested, ip: InteractiveShell, order: Sequence[int]) -> None:
    text = "\n".join(program.lines)
    if not text.strip() or reads_padding(program):
        return
    code = compile(text, "<cell>", "exec")
    for step, which in enumerate(order):
        mine, theirs = (_names(program, which) for _ in range(2))
        given = set(mine)
        expected, printed, is_undefined = _run(code, theirs)
        if is_undefined:
            return
        for name in ip.user_ns.keys() - given:
            if name not in ip.user_ns_hidden and not name.startswith("_"):
                del ip.user_ns[name]
        ip.user_ns.update(mine)
        known = set(ip.user_ns)
        with capture_output() as captured, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = ip.run_cell(f"%%jit\n{text}")
        found = done.error_before_exec or done.error_in_exec
        where = f"run {step} (arguments {which})"
        if expected is not None:
            kind = next(c for c in type(expected).__mro__ if c.__module__ == "builtins")
            assert isinstance(found, kind), f"{where}: Python raises {expected!r}; the cell: {found!r}"
            added = {name for name in set(ip.user_ns) - known if not name.startswith("_")}
            assert not added, f"{where}: it raised, and left {sorted(added)}"
            continue
        names = [k for k, v in theirs.items() if not k.startswith("__") and not isinstance(v, _NOT_COMPARED)]
        if not all(map(_may_compare, _leaves([theirs[name] for name in names]))):
            return
        if refused_by_lax(program, found):
            return
        if found is not None:
            raise found
        missing = [name for name in names if name not in ip.user_ns]
        assert not missing, f"{where}: {missing} are missing"
        for name in names:
            same(ip.user_ns[name], theirs[name], f"{where}: {name}")
        lists = [[*_leaves([space[name] for name in names])] for space in (ip.user_ns, theirs)]
        _same_memory(*lists, where)
        shown = captured.stdout.partition("%%jit")[0]
        assert shown.startswith(printed), f"{where}: printed {shown!r}, not {printed!r}"


def _names(program: Nested, which: int) -> dict[str, Any]:
    """What the cell finds in the namespace."""
    numbers = np.arange(3.0)
    shared = {"G": numbers, "N": 2, "table": {"k": 1}, "LIST": [1.0, numbers]}
    return {"np": np, "wb": wb, "Body": Body, "Pair": Pair, "Phase": Phase, "Colour": Colour, **copy.deepcopy(shared),
            **dict(zip(program.names, program.arguments(which), strict=True))}  # fmt: skip


def _run(code: types.CodeType, names: dict[str, Any]) -> tuple[Exception | None, str, bool]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result, is_undefined = _judged(lambda: exec(code, names), [])
    return (result if isinstance(result, Exception) else None), printed.getvalue(), is_undefined
