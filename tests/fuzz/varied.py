"""Random programs in which the numbers decide what kind of value a variable has: the nested ones, with more statements.

Variables are None until a branch sets them, words, or numbers; later statements ask what they are, and compute with
them where they may be numbers. What computes with None raises, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .nested import Nested, _is_result, _leaves

SET = (
    "{t} = None\nif {c}:\n    {t} = {s}", "{t} = None\nif {c}:\n    {t} = {e}", "{t} = None if {c} else {e}",
    "{t} = 'a'\nif {c}:\n    {t} = 'b'\nelif {c2}:\n    {t} = None", "{t} = {s} if {c} else 'a' if {c2} else None",
    "{t} = None\nfor {k} in range(9):\n    if {a}[{k} % len({a})] > {s}:\n        {t} = {k}",
    "{t} = None\nfor {k} in range(40):\n    if {t} is None and {a}[{k} % len({a})] * {k} > {s}:\n        {t} = {k}",
    "{t} = None\nfor x in {a}:\n    if {t} is None or x.sum() > {t}:\n        {t} = x.sum()",
    "{t}, {t2} = None, {s} + 0.0\nfor {k} in range(20):\n    {t2} = {t2} * 0.5 + {a}.sum() / 8\n"
    "    if {t2} > {s2}:\n        {t} = {a} + {k}",
    "{t} = 'end'\nfor {k} in range(30):\n    if {a}[{k} % len({a})] == {s}:\n        {t} = 'hit'\n        break",
    "{t} = (None, 0)\nfor {k} in range(12):\n    if {a}[{k} % len({a})] > {s}:\n        {t} = ({a} * {k}, {k})",
    "{t} = None\nk2 = 0\nwhile k2 < 12 and ({t} is None or {t} < 20):\n    k2 += 1\n    if {c}:\n        {t} = k2 * 3",
    "{t} = {o}\nif {c}:\n    {t} = {o2}", "{t} = {o} if {c} else {o2}", "{t} = {o} or {s}", "{t} = {o} and {o2}",
    "def {f}(q):\n    for x in q.ravel():\n        if x > {s}:\n            return x\n    return None\n{t} = {f}({a})",
    "def {f}(q, z=None):\n    if z is None:\n        return q\n    return q + z\n{t} = {f}({a}, {o})",
    "def {f}(q):\n    if {c}:\n        return 'none', q\n    return None, q + 1\n{t}, {t2} = {f}({a})",
)  # fmt: skip
ASK = (
    "if {o} is None:\n    {w} += 1", "if {o} is not None:\n    {w}[0] = 1", "{t} = {o} is None", "{t} = {o} == 'a'",
    "{t} = {o} != 'b' and {o2} is not None", "if {o}:\n    {w} -= 1\nelse:\n    {w} += 2", "{t} = not {o}",
    "{t} = {s} if {o} is None else {s2}", "if {o} in ('a', 'hit', None):\n    {w}[-1] = 3",
    "if {o} is not None and {o} != 'a':\n    {t} = 1\nelse:\n    {t} = 2", "{t} = {s} if isinstance({o}, str) else {s2}",
    "try:\n    {t} = {o} + 1\nexcept TypeError:\n    {t} = {s}", "{t} = [{o}, {o2}]", "{t} = ({o}, {s})",
    "if {o} is None or {o} == 'end':\n    {t} = {e}\nelse:\n    {t} = {e2}",
    "for {k} in range(9):\n    if {o} is None:\n        {w}[0] += {k}\n    {t} = {o2}",
)  # fmt: skip


# Lists and dicts that have two names when a branch or loop binds one of them anew, and numbers that are Python's on one
# path: `{t}` and `{t2}` may be one name.
SHARE = (
    "{t} = [{s}, {s2}]\n{t2} = {t}\nif {c}:\n    {t} = [{s2}, {s}]\n{t}[0] += 1",
    "{t} = [{s}, {s2}]\n{t2} = ({t}, 1)\nif {c}:\n    {t} = [{s2}, {s}]\n{t}[-1] = {s}\n{t2} = {t2}[0][-1]",
    "{t} = {{'x': {s}, 'y': {s2}}}\n{t2} = {t}\nif {c}:\n    {t} = {{'x': {s2}, 'y': {s}}}\n{t2}['y'] -= 1",
    "if {c}:\n    {t} = {t2} = [{s}, 0.5]\nelse:\n    {t} = [{s}, 1.5]\n    {t2} = {t}\n{t}[1] += {s2}",
    "{t} = [{s} + 0.0, 0.5]\n{t2} = {t}\nfor {k} in range({i} % 7):\n    {t} = [{t}[1], {t}[0] * 0.5]\n{t}[0] = {s}",
    "{t} = [{s} + 0.0, 0.5]\n{t2} = {t}\nfor {k} in range(30):\n    {t}[0] = {t}[0] * 0.5\n    if {k} == {s}:\n"
    "        {t} = [{t}[1], {k} * 0.5]",
    "def {f}(q):\n    if {c}:\n        q = [{s}, {s2}]\n    q[0] = {s2}\n    return q\n{t} = [{s}, 1]\n{t2} = {f}({t})",
    "{t} = 0.0\nif {c}:\n    {t} = {a}.sum()\n{t2} = [{t}, {t} + 1, {t} * {s}]",
    "{t} = 0\nif {c}:\n    {t} = {a}.argmax()\n{t2} = ({t} + {s}, -{t}, {t} // 2)",
    "{t} = False\nfor x in {a}.ravel():\n    if x > {s}:\n        {t} = True\nif {t} is True:\n    {w} += 1",
)  # fmt: skip


class Varied(Nested):
    """`Nested`, with variables of several kinds."""

    statements = (*Nested.statements, *SET * 8, *ASK * 12, *SHARE * 12)

    def fillers(self, values: dict[str, Any], depth: int) -> dict[str, Callable[[], str]]:
        inside = super().fillers(values, depth)
        kinds = lambda: self._pick(values, lambda v: v is None or isinstance(v, str | float | int | np.generic))  # noqa: E731
        return {
            **inside, "o": kinds, "o2": kinds, "c2": inside["c"], "e2": inside["e"],
            "f": lambda: f"h{next(self.count)}",
        }  # fmt: skip

    def is_result(self, value: Any) -> bool:
        return all(v is None or isinstance(v, str) or _is_result(v) for v in _leaves(value))
