"""Random programs of loops with dictionaries and sets."""

from __future__ import annotations

import random
import textwrap
from collections import Counter, defaultdict
from typing import Any

import numpy as np

INDENT = "    "
RESULTS = frozenset(("n", "t", "out", "d", "s"))
KEYS = {
    "k": ("k", "k", "x[i]", "k + 1", "x[len(x) - 1 - i]"), "int": ("int(k)", "i % 5", "int(k) // 2", "n % 3"),
    "float": ("v", "v * 2.0", "-v", "abs(v)"), "pair": ("(k, i % 2)", "(k, 1)", "(x[i - 1], 0)"),
    "bools": ("(v > 0, v > 0.5)", "(v < 0.5, True)"),
}  # fmt: skip
VALUES = {"count": ("1", "n", "i", "len(d)", "d.get({k}, 0) + 1"), "sum": ("v", "v * 0.5", "d.get({k}, 0.0) + v"),
          "pair": ("(i, v)", "(n, v + 1.0)")}  # fmt: skip
STARTS = {"count": ("{}", "dict()", "defaultdict(int)", "Counter()"), "sum": ("{}", "{}", "defaultdict(float)"),
          "pair": ("{}",)}  # fmt: skip
TESTS = ("{k} in d", "{k} not in d", "{k} in s", "{k} not in s", "d", "not s", "len(d) > 3", "v > 0.5", "i % 3 == 1",
         "v > 0.2 and {k} in s", "{k} in s or {k} in d", "n > 4")  # fmt: skip
OF_ALL = ("d[{k}] = {v}", "d[{k}] = {v}", "s.add({k})", "s.add({k})", "n += 1", "n += len(d)", "n += len(s)", "t += v",
          "d.setdefault({k}, {v})", "out[i] = len(s)", "s = set()", "s.clear()", "d.clear()")  # fmt: skip
OF_COUNTS = ("d[{k}] += 1", "d[{k}] += i", "n += d.get({k}, 0)", "n += d[{k}]", "n += max(d.values()) if d else 0",
             "out[i] = d.get({k}, -1)", "n += sum(d.values()) % 7", "n += d.get({k}, 2) if v > 0.5 else 1",
             "for j in d.values(): n += j % 3", "for a, b in d.items(): n += b % 5", "for a in d: n += 1",
             "for a in list(d): d[a] = d[a] + 1", "for a in d: d[a] += 1", "d.pop({k}, 0)", "n += d.pop({k}, 3)")  # fmt: skip
OF_SUMS = ("d[{k}] += v", "t += d.get({k}, 0.0)", "t += d[{k}]", "out[i] = d.get({k}, 0.5)", "d[{k}] *= 0.5",
           "for b in d.values(): t += b", "t += min(d.values()) if d else 0.0", "d.pop({k}, 0.0)")  # fmt: skip
OF_PAIRS = ("n += d[{k}][0]", "t += d[{k}][1]", "for a, b in d.items(): t += b[1]")
REMOVING = ("del d[{k}]", "d.pop({k})", "s.discard({k})", "s.remove({k})")


class Program:
    """`source` defines `f(x, w)`."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        pick = self.random.choice
        self.key, self.value = pick(tuple(KEYS)), pick(("count", "count", "sum", "pair"))
        self.may_remove = self.random.random() < 0.4
        self.simple = {"count": OF_COUNTS, "sum": OF_SUMS, "pair": OF_PAIRS}[self.value]
        if not self.may_remove:
            self.simple = tuple(each for each in self.simple if "pop" not in each)
        head = [f"    d = {pick(STARTS[self.value])}", "    s = set()", "    n = 0", "    t = 0.0",
                "    out = np.zeros(len(x))"]  # fmt: skip
        loop = ["    for i in range(len(x)):", "        k, v = x[i], w[i]"]
        loop += [self.names(f"        {line}") for line in ("d[{k}] = {v}", "s.add({k})") if self.random.random() < 0.8]
        loop += self.block(2, 1, self.random.randint(2, 5))
        results = ["n", "t", "out", "len(d)", "len(s)"]
        results += [pick(("d", "d", "d", "d", "list(d.items())", "sorted(d)", "0"))]
        results += ["0"] if self.may_remove else [pick(("s", "s", "s", "sorted(s)", "0"))]
        self.source = "\n".join(["def f(x, w):", *head, *loop, f"    return {', '.join(results)}"]) + "\n"
        self.head, self.loop = (textwrap.dedent("\n".join(part)) + "\n" for part in (head, loop))
        self.results = RESULTS - {"s"} if self.may_remove else RESULTS

    def variables(self, x: np.ndarray, w: np.ndarray) -> dict[str, Any]:
        """What the loop begins with."""
        names: dict[str, Any] = {"np": np, "x": x.copy(), "w": w.copy(), "defaultdict": defaultdict, "Counter": Counter}
        exec(self.head, names)
        del names["__builtins__"]
        return names

    def names(self, text: str) -> str:
        pick = self.random.choice
        return text.replace("{v}", pick(VALUES[self.value])).replace("{k}", pick(KEYS[self.key]))

    def block(self, indent: int, depth: int, n: int) -> list[str]:
        return [line for _ in range(n) for line in self.statement(indent, depth)]

    def statement(self, indent: int, depth: int) -> list[str]:
        space, kind = INDENT * indent, self.random.random()
        if kind < 0.35 and depth < 4:
            lines = [f"{space}if {self.names(self.random.choice(TESTS))}:"]
            lines += self.block(indent + 1, depth + 1, self.random.randint(1, 2))
            if self.random.random() < 0.5:
                lines += [f"{space}else:", *self.block(indent + 1, depth + 1, self.random.randint(1, 2))]
            return lines
        if kind < 0.4 and depth > 1:
            return [f"{space}{self.random.choice(('continue', 'continue', 'break'))}"]
        if kind < 0.5 and self.may_remove:
            key = self.random.choice(KEYS[self.key])
            line = self.random.choice(REMOVING).replace("{k}", key)
            return [f"{space}if {key} in {line.removeprefix('del ')[0]}:", f"{space}{INDENT}{line}"]
        return [space + self.names(self.random.choice(OF_ALL if kind < 0.75 else self.simple))]


def arguments(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.integers(-3, 12, n)
    x[rng.random(n) < 0.1] = 2**40
    w = np.round(rng.standard_normal(n), 1)
    w[rng.random(n) < 0.05] = -0.0
    return x, w


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, with what they hold in the same order and of the same types; floats of Python's and NumPy's aside."""
    if isinstance(a, dict):
        default = getattr(a, "default_factory", None)
        return (
            type(a) is type(b)
            and default is getattr(b, "default_factory", None)
            and same(list(a.items()), list(b.items()))
        )
    if isinstance(a, set):
        return type(a) is type(b) and same(list(a), list(b))
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return isinstance(b, float) and (np.float64(a).tobytes() == np.float64(b).tobytes() or a != a and b != b)
    return type(a) is type(b) and bool(a == b)
