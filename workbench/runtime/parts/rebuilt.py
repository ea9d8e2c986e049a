"""Functions made anew of a changed syntax, which see what the first ones see."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from ...frontend.syntax import FUTURE_FLAGS, note_syntax

_AROUND = "around"


def rebuilt(
    fn: FunctionType, node: ast.FunctionDef, beside: Mapping[str, ast.FunctionDef] | None = None
) -> FunctionType:
    """`fn` with the body of `node`, which is changed. beside: functions that it calls by these names."""
    beside = beside or {}
    node.decorator_list, node.returns = [], None
    outer_names = [*beside, *fn.__code__.co_freevars]
    around = ast.FunctionDef(_AROUND, ast.arguments([], [], None, [], [], None, []), [], [], None)
    if outer_names:
        around.body.append(ast.Assign([ast.Name(name, ast.Store()) for name in outer_names], ast.Constant(None)))
    around.body += [*beside.values(), node]
    if hasattr(around, "type_params"):
        around.type_params = []  # pyright: ignore[reportAttributeAccessIssue]  # from Python 3.12 on
    ast.copy_location(around, node)
    module = ast.fix_missing_locations(ast.Module([around], []))
    flags = fn.__code__.co_flags & FUTURE_FLAGS
    compiled = compile(module, fn.__code__.co_filename, "exec", flags, dont_inherit=True)
    (outer,) = [c for c in compiled.co_consts if isinstance(c, CodeType) and c.co_name == _AROUND]
    codes = {c.co_name: c for c in outer.co_consts if isinstance(c, CodeType)}
    cells = {name: CellType() for name in beside} | dict(
        zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    )
    for name, each in beside.items():
        cells[name].cell_contents = _function(codes[name], each, fn, cells, _defaults(each))
    found = _function(codes[node.name], node, fn, cells, fn.__defaults__)
    found.__kwdefaults__ = fn.__kwdefaults__
    return found


def _defaults(node: ast.FunctionDef) -> tuple[Any, ...]:
    return tuple(d.value for d in node.args.defaults if isinstance(d, ast.Constant))


def _function(
    code: CodeType, node: ast.FunctionDef, like: FunctionType, cells: Mapping[str, CellType],
    defaults: Sequence[Any] | None,
) -> FunctionType:  # fmt: skip
    note_syntax(code, node)
    made = FunctionType(
        code, like.__globals__, code.co_name, tuple(defaults or ()) or None, tuple(cells[n] for n in code.co_freevars)
    )
    made.__kwdefaults__ = {
        argument.arg: default.value
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if isinstance(default, ast.Constant)
    }
    return made


__all__ = ["rebuilt"]
