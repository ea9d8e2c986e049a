"""Syntax trees: those that code was compiled from, and copies."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import operator
import os
from functools import reduce
from types import CodeType
from typing import Any, TypeVar

from .positions import INSTALLED, code_kind, python_source

FUTURE_FLAGS = reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
MAX_FILES = 500
T = TypeVar("T")
_modules: dict[str, tuple[list[str], dict[tuple[str, int], list[tuple[CodeType, ast.AST]]]]] = {}
_PLAIN = (int, str, bool, type(None))


_made: dict[int, tuple[CodeType, ast.AST]] = {}  # by the ids of codes, which stay


def note_syntax(code: CodeType, node: ast.AST) -> None:
    """Have `code`, which no file says, be of this syntax."""
    _made[id(code)] = code, node


def syntax_of(code: CodeType) -> ast.AST | None:
    """The syntax of `code`, if its file still says what was compiled."""
    made = _made.get(id(code))
    if made is not None:
        return made[1]
    lines = linecache.getlines(code.co_filename)
    if not lines or code.co_name.startswith("<") and code.co_name != "<lambda>":
        return None
    if code_kind(code.co_filename) == INSTALLED and code.co_name != "<lambda>":
        return _installed(code, lines)
    entry = _modules.get(code.co_filename)
    if entry is None or entry[0] is not lines and entry[0] != lines:
        if len(_modules) > MAX_FILES:
            _modules.clear()
        entry = _modules[code.co_filename] = (lines, _functions(python_source(lines), code))
    candidates = [node for found, node in entry[1].get((code.co_name, code.co_firstlineno), ()) if found == code]
    return candidates[0] if len(candidates) == 1 else None


def _installed(code: CodeType, lines: list[str]) -> ast.AST | None:
    """The same of an installed package, whose files are long and stay as they are: the rest of the file is not read."""
    first = code.co_firstlineno
    try:
        block = inspect.getblock(lines[first - 1 :])
        is_indented = block[0][:1].isspace()
        tree = ast.parse("".join(["if True:\n", *block] if is_indented else block))
    except (SyntaxError, ValueError, RecursionError):
        return None
    ast.increment_lineno(tree, first - 1 - is_indented)
    statement = tree.body[0]
    node = statement.body[0] if isinstance(statement, ast.If) else statement
    return node if getattr(node, "name", "") == code.co_name else None


def _functions(source: str, like: CodeType) -> dict[tuple[str, int], list[tuple[CodeType, ast.AST]]]:
    """Every function in a file: its code and its syntax, by name and first line."""
    flags = like.co_flags & FUTURE_FLAGS
    try:
        tree = ast.parse(source)
        modules = [compile(tree, like.co_filename, "exec", flags, dont_inherit=True)]
        if not os.path.exists(like.co_filename):
            # Statement by statement, as notebooks compile cells: calls through a name that is imported elsewhere are
            # other instructions than those through one that the same text imports.
            parts = [ast.Module([stmt], []) for stmt in tree.body]
            modules += [compile(part, like.co_filename, "exec", flags, dont_inherit=True) for part in parts]
    except (SyntaxError, ValueError, RecursionError):
        return {}
    nodes: dict[tuple[str, int], list[ast.AST]] = {}
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            nodes.setdefault((node.name, first), []).append(node)
        elif isinstance(node, ast.Lambda):
            nodes.setdefault(("<lambda>", node.lineno), []).append(node)
    found: dict[tuple[str, int], list[tuple[CodeType, ast.AST]]] = {}
    for module in modules:
        codes: dict[tuple[str, int], list[CodeType]] = {}
        for code in nested_code(module):
            codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        for key, group in codes.items():
            matching, known = nodes.get(key, []), found.setdefault(key, [])
            for code in group:
                node = matching[0] if len(group) == len(matching) == 1 else _node_of(code, matching)
                if node is not None and all(code != other for other, _ in known):
                    known.append((code, node))
    return found


def _node_of(code: CodeType, nodes: list[ast.AST]) -> ast.AST | None:
    """Among functions that begin in one line, the innermost one around all that the code does."""
    positions = [place for place in code.co_positions() if None not in place and place[3] != place[2]]
    if not positions:
        return None
    first = min((line, column) for line, _, column, _ in positions)
    last = max((line, column) for _, line, _, column in positions)
    around = [n for n in nodes if _begin(n) <= first and last <= (n.end_lineno, n.end_col_offset)]  # type: ignore[attr-defined, operator]
    return max(around, key=_begin, default=None)


def _begin(node: ast.AST) -> tuple[int, int]:
    """Where the body of a function begins."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]  # type: ignore[attr-defined]
    return body.lineno, body.col_offset


def nested_code(code: CodeType) -> list[CodeType]:
    """`code`, and that of the functions and classes inside of it."""
    found = [code]
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found += nested_code(const)
    return found


# ---- nodes ----


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes right below `node`, without the contexts (`ast.Load`) that Python's own function gives, too."""
    found: list[ast.AST] = []
    held = node.__dict__
    for name in node._fields:
        value = held.get(name)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """`node` and all nodes below it, level by level: `ast.walk`, four times as fast."""
    found = [node]
    for each in found:
        found += child_nodes(each)
    return found


# ---- copies ----


def copied(tree: T) -> T:
    """A copy of a node, or of a list of nodes, with what is inside of them.

    `copy.deepcopy` would follow whatever else nodes hold. Tools that show tracebacks give each node its parent, and
    `ast.Load()` is one object for all trees: a copy of `x + 1` would hold a whole module.
    """
    return _copied(tree)


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if not isinstance(value, ast.AST) or isinstance(value, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop):
        return value
    new = type(value).__new__(type(value))  # without the checks of a call
    fields = value._fields
    for name, held in vars(value).items():
        if name in fields:
            setattr(new, name, _copied(held))
        elif isinstance(held, _PLAIN):
            setattr(new, name, held)
    return new
