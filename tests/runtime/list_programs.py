"""Random loops that change lists: their source, and the values that they work on."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

NAMES = ("a", "b")  # lists of Python's integers


class Maker:
    """Writes one loop."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.lines: list[str] = []
        self.loops = 0

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def number(self) -> str:
        """A Python integer."""
        return self.pick("i", "n", "i + 1", "n - i", "len(a)", "len(q)", "(i * 7) % 5", "-3", "2")

    def condition(self) -> str:
        name = self.pick(*NAMES)
        return self.pick(
            "x[i] > 0.0", "i % 3 == 1", f"len({name}) > 2", name, f"not {name}", "q", f"len(t) < 6 and {name}",
            f"{name} and {name}[-1] > 1", f"{self.number()} in {name}", f"{self.number()} not in {name}",
        )  # fmt: skip

    def take(self, name: str) -> str:
        return self.pick(f"{name}.pop()", f"{name}.pop(i % 2)", f"{name}.pop(-1)")

    def simple(self, depth: int) -> list[str]:
        name, other = self.pick(("a", "b"), ("b", "a"))
        n = self.number()
        return self.pick(
            [f"{name}.append({n})"], ["f.append(x[i])"], ["f.append(x[i] * 2)"], [f"t.append(({n}, x[i]))"],
            [f"if {name}:", f"    n = {self.take(name)}"], [f"if {name}:", f"    {name}[{n} % len({name})] = {n}"],
            ["if q:", "    n = q.popleft()"], [f"q.append({n})"], [f"{name}.insert({n}, {n})"],
            [f"{name}.extend([{n}, n])"], [f"{name} += ({n},)"], [f"{name}.reverse()"], [f"{name}[-1] += {n}"],
            [f"if len({name}) > 3:", f"    del {name}[{n} % 3]"], [f"for v in {name}[:4]:", "    s += x[v % 5] * v"],
            ["if t:", "    n, y = t.pop()", "    s += y"], [f"if {name}:", f"    {other}.append({name}[{n} % len({name})])"],
            ["w = [i]", "w.append(n)", "for v in w:", f"    {name}.append(v)"], [f"x[i] = {name}[{n}]"],
            ["g[i % 2].append(x[i])"], ["g.append([])"], ["s += sum_of(g[0])"], [f"if len({name}) > 40:", f"    {name}.clear()"],
            [f"{name} = {other}[1:]"], [f"{name} = []"], [f"{name} = [n] * 3"], [f"for k, v in enumerate({name}):", "    n += k * v", "    n %= 100"],
            [f"q.append({name}.pop() + {other}.pop())"], ["c = np.array(f)", "s += c[0]"], [f"{name}.pop({n})"],
            [f"y = t[{n}][1]"], ["n = q[0] - q[-1]"], ["hit = not hit"], ["u.append(hit)"], [f"{name}, {other} = {other}, {name}"],
            ["f.append(f[0])"], [f"push({name}, {n})"],
        )  # fmt: skip

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(int(self.rng.integers(1, 4))):
            if depth < 2 and self.rng.random() < 0.45:
                lines.append(f"if {self.condition()}:")
                lines += ["    " + line for line in self.block(depth + 1)]
                if self.rng.random() < 0.4:
                    lines.append("else:")
                    lines += ["    " + line for line in self.block(depth + 1)]
            else:
                lines += self.simple(depth)
        if depth == 1 and self.rng.random() < 0.1:
            lines.append(self.pick("break", "continue"))
        return lines

    def loop(self) -> str:
        head = self.pick(
            "for i in range(len(x)):", "while a and i < 12:", "while q and i < 12:", "for i, y in enumerate(x):"
        )
        body = self.block(0)
        if head.startswith("while"):
            body = ["i += 1", *body]
            body.append("a.pop()" if "a" in head and self.rng.random() < 0.5 else "m = i")
        return "\n".join([head, *("    " + line for line in body)]) + "\n"


def values(rng: np.random.Generator) -> dict[str, Any]:
    """What a loop works on."""
    return {
        "np": np, "x": rng.normal(size=13), "n": 1, "i": 0, "m": 0, "s": np.float64(0.0), "y": np.float64(1.0), "hit": False,
        "a": [int(v) for v in rng.integers(0, 9, int(rng.integers(0, 6)))], "b": [3, 1], "f": list(rng.normal(size=2)),
        "t": [(1, np.float64(0.5))], "q": deque([4, 2]), "g": [[], list(rng.normal(size=1))], "u": [True],
        "sum_of": sum_of, "push": push,
    }  # fmt: skip


def sum_of(row: list) -> float:
    total = 0.0
    for v in row:
        total = total + v
    return total


def push(row: list, v: int) -> None:
    if v != 3:
        row.append(v)
