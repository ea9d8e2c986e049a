"""Random programs of loops whose variables are a number or None."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import numpy as np

RESULTS = ("a", "b", "c", "n", "t", "out", "kept")
INDENT = "    "
TESTS = (
    "{f} is None", "{f} is not None", "{f} is None or v < {f}", "{f} is not None and {f} > v", "not {f}", "{f}",
    "{f} == {g}", "{f} != v", "{f} == None", "None != {f}", "c == i - 1", "c is None", "v > 0.5", "i % 3 == 1",
    "not ({f} is None or {g} is None)", "{f} is not None and {g} is not None and {f} < {g}", "v < t",
)  # fmt: skip
GUARDED = ("t += {f}", "t = t * 0.5 + {f}", "out[i] = {f}", "{g} = {f} * 2.0", "{f} += v", "{f} = min({f}, v)")
SIMPLE = (
    "{f} = v", "{f} = None", "{f} = {g}", "{f} = v * 0.5 + t", "c = i", "c = None", "n += 1", "t += v",
    "{f} = v if v > 0.4 else None", "{f} = {g} if {f} is None else {f}", "{f}, {g} = {g}, v", "{f}, {g} = v, v + 1.0",
    "{f} = {g} = None", "{f}, c = None, i", "t += {f} if {f} is not None else 0.25", "out[i] = -1.0 if c is None else c",
    "t += v - {f} if {f} is not None and {f} < v else 0.0", "n += 0 if {f} is None else 1", "{f} = v if {f} is None else min({f}, v)",
    "kept.append(t)", "kept.append(n)",
)  # fmt: skip
STARTS = ("None", "None", "x[0] if len(x) else 0.5", "0.5")


class Program:
    """`source` defines `f(x)`; loop: the text of its loop. risky: whether what may be None is computed with where nothing has asked."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.risky = self.random.random() < 0.25
        self.kept = self.random.choice(("kept.append(t)", "kept.append(n)"))
        pick = self.random.choice
        head = [f"    a = {pick(STARTS)}", f"    b = {pick(STARTS)}", f"    c = {pick(('None', 'None', '3'))}",
                 "    n = 0", "    t = 0.0", "    out = np.zeros(len(x))", "    kept = []"]  # fmt: skip
        loop = [pick(("    for i, v in enumerate(x):", "    for i in range(len(x)):"))]
        if "range" in loop[0]:
            loop.append("        v = x[i]")
        loop += self.block(2, 1, self.random.randint(2, 4))
        end = ["    if a is not None:", "        t = t + a"] * self.random.randint(0, 1)
        lines = ["def f(x):", *head, *loop, *end, f"    return {', '.join(RESULTS)}"]
        self.source = "\n".join(lines) + "\n"
        self.head, self.loop = (textwrap.dedent("\n".join(part)) + "\n" for part in (head, loop))

    def variables(self, x: np.ndarray) -> dict[str, Any]:
        """What the loop begins with."""
        names: dict[str, Any] = {"np": np, "x": x.copy()}
        exec(self.head, names)
        del names["__builtins__"]
        return names

    def names(self, text: str) -> str:
        f, g = self.random.choice((("a", "b"), ("b", "a")))
        return text.format(f=f, g=g)

    def block(self, indent: int, depth: int, n: int) -> list[str]:
        return [line for _ in range(n) for line in self.statement(indent, depth)]

    def statement(self, indent: int, depth: int) -> list[str]:
        space, kind = INDENT * indent, self.random.random()
        if kind < 0.4 and depth < 4:
            lines = [f"{space}if {self.names(self.random.choice(TESTS))}:"]
            lines += self.block(indent + 1, depth + 1, self.random.randint(1, 2))
            if self.random.random() < 0.5:
                lines += [f"{space}else:", *self.block(indent + 1, depth + 1, self.random.randint(1, 2))]
            return lines
        if kind < 0.46 and depth > 1:
            return [f"{space}{self.random.choice(('continue', 'continue', 'break'))}"]
        if kind < 0.6:
            line = self.names(self.random.choice(GUARDED))
            if self.risky and self.random.random() < 0.3:
                return [space + line]
            names = sorted(
                {w for w in ("a", "b") if f" {w}" in f" {line.split('=', 1)[-1]} " or line.startswith(f"{w} +=")}
            )
            test = " and ".join(f"{w} is not None" for w in names)
            return [f"{space}if {test or 'v > 0'}:", f"{space}{INDENT}{line}"]
        line = self.names(self.random.choice(SIMPLE))
        return [space + (self.kept if line.startswith("kept") else line)]
