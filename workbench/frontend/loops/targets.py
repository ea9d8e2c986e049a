"""Targets of loops that have a name of their own: one that another loop goes over other things with has two types.

for s, t in edges:                     for s, t in edges:
    ...                                    ...
for t in found:                ->      for t_2 in found:
    total += t                             total += t_2
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from ..liveness import captured, live_at_head, live_before_block
from ..syntax import copied, walk

Names = frozenset[str]


def with_targets_apart(loop: ast.For | ast.While, after: Names) -> ast.For | ast.While:
    """The loop; the given one is left as it is. after: the names that are read when it has run."""
    targets = Counter(name for n in walk(loop) if isinstance(n, ast.For) for name in _names_of(n))
    twice = {name for name, n in targets.items() if n > 1}
    if not twice:
        return loop
    loop = copied(loop)
    taken = {n.id for n in walk(loop) if isinstance(n, ast.Name)}
    _Apart(twice - captured([loop]) - after, taken).body_of(loop, after)
    return ast.fix_missing_locations(loop)


def _names_of(loop: ast.For) -> set[str]:
    return {n.id for n in walk(loop.target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


class _Apart:
    def __init__(self, names: set[str], taken: set[str]):
        self.names = names
        self.taken = taken
        self.seen: set[str] = set()

    def body_of(self, loop: ast.For | ast.While, after: Names) -> None:
        if isinstance(loop, ast.For):
            self.seen |= _names_of(loop)
        self.block(loop.body, live_at_head(loop, after))

    def block(self, stmts: Sequence[ast.stmt], after: Names) -> None:
        for k, stmt in enumerate(stmts):
            then = live_before_block(stmts[k + 1 :], after)
            match stmt:
                case ast.For():
                    self.rename(stmt, then)
                    self.body_of(stmt, then)
                    self.block(stmt.orelse, then)
                case ast.While():
                    self.body_of(stmt, then)
                    self.block(stmt.orelse, then)
                case ast.If():
                    self.block(stmt.body, then)
                    self.block(stmt.orelse, then)

    def rename(self, loop: ast.For, after: Names) -> None:
        for name in sorted(_names_of(loop) & self.names & self.seen - after):
            k = 2
            while f"{name}_{k}" in self.taken:
                k += 1
            new = f"{name}_{k}"
            self.taken.add(new)
            for n in (n for each in (loop.target, *loop.body) for n in walk(each)):
                if isinstance(n, ast.Name) and n.id == name:
                    n.id = new
