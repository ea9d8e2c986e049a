"""Numbers that are surely NumPy's where they are read, though their variable also holds one of Python's elsewhere.

s = 0.0                       # Python's
for j in range(A.shape[1]):   # 50, say
    s += A[i, j]
out.append(s)                 # surely NumPy's
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..jumps import jumps
from ..liveness import bound
from ..syntax import walk
from .types import Array, Number, UntranslatableError, Value
from .unrolled import Unrolled

_PLAIN = frozenset(("range", "len", "enumerate", "zip", "reversed"))  # what does nothing but to look at its arguments
Dtypes = dict[str, np.dtype]  # by the names of variables


class Certain(Unrolled):
    """What `numpys`, of `Scope`, holds after each statement."""

    def certain_at_first(self) -> Dtypes:
        kinds = ((name, kind) for name, kind in self.given.items() if isinstance(kind, Number))
        found = {name: kind.dtype for name, kind in kinds if not kind.python and not kind.mixed}
        return _without(found, self.never_certain)

    def note_kind(self, name: str, value: Value) -> None:
        """`name = value`."""
        kind = value.type
        is_number = isinstance(kind, Number) and not kind.python and not kind.mixed
        if is_number and name not in self.never_certain:
            self.numpys[name] = kind.dtype  # type: ignore[union-attr]  # a number
        else:
            self.numpys.pop(name, None)

    def after_branches(self, branches: Sequence[Callable[[], Any]]) -> None:
        """Run what translates the branches, of which one will be gone through."""
        before, ends = self.numpys, []
        for branch in branches:
            self.numpys = dict(before)
            branch()
            ends.append(self.numpys)
        first, *others = (end.items() for end in ends)
        self.numpys = dict(first if not others else set(first).intersection(*others))

    def after_turns(self, stmt: ast.For | ast.While, translate: Callable[[], Any]) -> None:
        """Run what translates a loop."""
        runs = isinstance(stmt, ast.For) and not jumps(stmt.body, True) and self._has_turns(stmt.iter)
        names = bound([stmt])
        before = _without(self.numpys, names)
        self.numpys = dict(before)
        translate()
        if not runs:
            self.numpys = before

    def _has_turns(self, node: ast.expr) -> bool:
        """Whether a loop over `node` surely has a turn."""
        calls = [n.func for n in walk(node) if isinstance(n, ast.Call)]
        if not all(isinstance(function, ast.Name) and function.id in _PLAIN for function in calls):
            return False
        lines = len(self.lines)
        try:
            return self._least_turns(node) > 0 and len(self.lines) == lines
        except UntranslatableError:
            return False
        finally:
            del self.lines[lines:]

    def _least_turns(self, node: ast.expr) -> int:
        function = self._iterator(node)
        if function is None:
            kind = self._type_of(node)
            return kind.shape[0] or 0 if isinstance(kind, Array) and kind.ndim else 0
        assert isinstance(node, ast.Call)
        if function is range:
            numbers = [n for a in node.args if (n := _known(self.value(a))) is not None]
            return len(range(*numbers)) if len(numbers) == len(node.args) and numbers[2:3] != [0] else 0
        return min(map(self._least_turns, node.args if function is zip else node.args[:1]))


def _known(value: Value) -> int | None:
    number = value.literal if value.literal is not None else value.known
    return number if type(number) is int else None


def _without(dtypes: Mapping[str, np.dtype], names: Collection[str]) -> Dtypes:
    return {name: dtype for name, dtype in dtypes.items() if name not in names}
