"""`trace_cell`: a notebook cell in, its program out; nothing outside changes.

The cell's code runs in an overlay of the namespace: arrays and floats that it reads become inputs, the names that it
assigns stay in the overlay and become outputs. Whatever would act on the outside (print, files, random numbers, calls
of libraries for their effect, methods of foreign objects) raises before it acts, so that a cell that cannot be traced
can run in NumPy from its first line without doing anything twice. A mistake in the cell raises Python's or NumPy's own
error at the user's line.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, MutableMapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..errors import TracingError
from ..ir import Jaxpr, Var
from .captures import Capture, Guard, Lifter, Terms, on_its_terms
from .choices import left_under_a_name
from .functions import class_body_names
from .held import UNDEFINED
from .loops.generators import holds_listings, without_listings
from .outputs import OutLeaf
from .overlay import Overlay
from .recording import Trace, current_trace, recording
from .syntax import copied
from .trace import Traced, finish, user_errors
from .tracer import Tracer

_LAST = "__workbench_last_expression__"


@dataclass(frozen=True, eq=False, slots=True)
class TracedCell:
    """A traced cell: `traced` gives `{name: value}` for the names that it keeps, and the last expression's value.

    inputs: names read from the namespace that are inputs of the program; outputs: names that the cell keeps, in order
    of assignment; removed: names that it deletes; has_last: whether it ends with an expression, which is displayed.
    """

    traced: Traced
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    removed: tuple[str, ...]
    has_last: bool

    @property
    def jaxpr(self) -> Jaxpr:
        return self.traced.jaxpr

    @property
    def captures(self) -> tuple[Capture, ...]:
        return self.traced.captures

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.traced.guards

    @property
    def writes(self) -> tuple[tuple[int, int], ...]:
        return self.traced.writes

    @property
    def out_leaves(self) -> tuple[OutLeaf, ...]:
        return self.traced.out_leaves

    @property
    def out_tree(self) -> Any:
        return self.traced.out_tree

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.traced.output_names

    @property
    def last_expression(self) -> int | None:
        """The program's result that the last expression shows, if it is one array."""
        if not self.has_last or not self.out_leaves:
            return None
        kept = self.out_leaves[-1]
        return kept.outvar

    def rebuild(self, results: Sequence[Any], inputs: Sequence[Any]) -> tuple[dict[str, Any], Any]:
        """Write back what was mutated; the values to put in the namespace, and the last expression's value."""
        values, last = self.traced.rebuild(results, inputs)
        pairs = zip(self.outputs, values, strict=True)
        named = {name: value for name, value in pairs if value is not UNDEFINED}
        return named, last[0] if self.has_last else None


def trace_cell(
    source: str | ast.Module, namespace: MutableMapping[str, Any], *, filename: str, out: Collection[str] | None = None,
    strict: bool = False, name: str = "cell", flags: int = 0, temporaries: bool = False,
    on_gpu: bool = False, numbers: Collection[str] = (), later: frozenset[str] | None = None,
) -> TracedCell:  # fmt: skip
    """Trace a cell's source (without magics), or its syntax, in `namespace`, which is not changed.

    Parameters
    ----------
    out : the names to keep; by default all that the cell assigns and that do not begin with `_`.
    flags : of `compile`, for `__future__` statements of earlier cells.
    temporaries : keep the names that begin with `_` too, as for a part of a cell.
    on_gpu : as for `trace`.
    numbers : names whose integers are inputs, as floats are, instead of constants.
    later : the names that are read afterwards: others are not kept. By default, any may be.

    Raises
    ------
    SyntaxError, NameError, ValueError ...
        The user's own errors, as Python and NumPy raise them.
    TracingError
        The cell cannot be traced; nothing has happened yet.
    """
    if current_trace() is not None:
        raise TracingError("a cell cannot be traced from within a trace")
    tree = source
    if isinstance(tree, str):
        tree = compile(tree, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    has_last = _name_last_expression(tree)
    plain = compile(tree, filename, "exec", flags, dont_inherit=True)

    spare = copied(tree) if not strict and holds_listings(tree.body) else tree  # converting changes a tree

    def converted(*, writes_out: bool) -> CodeType:
        from .convert import compile_cell, converted_module

        given = ast.Module(without_listings(spare.body), []) if writes_out else tree
        found = converted_module(given, later)
        return plain if found is given else compile_cell(found, plain, filename, flags)

    first = plain if strict else converted(writes_out=False)

    def attempt(terms: Terms) -> TracedCell:
        record = Trace(name, strict=strict, on_gpu=on_gpu)
        lifter = record.lifter = Lifter(record, trace_floats=True, trace_integers=numbers, terms=terms)
        lifter.runs_statements, lifter.of_cell = temporaries, True
        record.leaves_messages = not strict
        with recording(record):
            from . import numpy_api  # noqa: F401  (the tables must be there before anything is traced)

            code = converted(writes_out=True) if lifter.writes_out and spare is not tree else first
            overlay = lifter.overlay(namespace)  # type: ignore[arg-type]
            overlay.refuses_writes = False
            overlay.place(class_body_names(code))
            record.entry = sys._getframe()
            with user_errors(record):
                exec(code, overlay, overlay)
            last = (dict.pop(overlay, _LAST),) if has_last else ()
            names = _kept(overlay, out, temporaries, later)
            for key in names:
                _name_value(overlay[key], key)
            values = tuple([left_under_a_name(overlay[key]) for key in names])
            traced = finish(record, lifter, (values, last), (), (), flatten=lambda args, kwargs: [])
        inputs = tuple(dict.fromkeys(c.name for c in traced.captures))
        removed = tuple(sorted(n for n in overlay.removed if n in namespace and not dict.__contains__(overlay, n)))
        return TracedCell(traced, inputs, names, removed, has_last)

    return on_its_terms(attempt)


def _name_last_expression(tree: ast.Module) -> bool:
    """Turn a last expression into an assignment to a hidden name."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return False
    last = tree.body[-1]
    target = ast.copy_location(ast.Name(_LAST, ast.Store()), last.value)
    tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return True


def _kept(
    overlay: Overlay, out: Collection[str] | None, temporaries: bool, later: Collection[str] | None
) -> tuple[str, ...]:
    written = [name for name in overlay.written() if not name.startswith("_wb_")]  # of converted control flow
    if later is not None:
        written = [name for name in written if name in later]
    if out is None:
        return tuple(name for name in written if temporaries or not name.startswith("_"))
    missing = [name for name in out if name not in written]
    if missing:
        raise NameError(f"--out names {', '.join(missing)}, which this cell does not assign")
    return tuple(name for name in written if name in out)


def _name_value(value: Any, name: str) -> None:
    if type(value) is Tracer and value.parent is None:
        var = value.buffer.value
        if isinstance(var, Var) and not var.hint:
            var.hint = name
