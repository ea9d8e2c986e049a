"""Random programs of loops over arrays of a few elements: names for one array, writes, functions, branches.

Numbers stay small and whole, so that sums and products are exact in any order, and all results are compared bit by bit.
"""

from __future__ import annotations

import random

import numpy as np

N_ROWS = 5


class Program:
    """source: of `f(x, v, w, m, n)`, where `x` has rows of `k` numbers, `v` and `w` have `k`, and `m` is square."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.k = self.random.choice([1, 2, 3, 3, 4, 6, 9])
        self.dtype = self.random.choice(["float64", "float64", "float64", "float32", "int64", "complex128"])
        self.vectors = ["v", "a", "b"]
        self.lines: list[str] = []
        self.functions: list[str] = []
        for k in range(self.random.choice([0, 0, 1, 2])):
            self._function(k)
        self.indent = 2
        for _ in range(self.random.randint(2, 7)):
            self._statement(2)
        body = "\n".join(self.lines)
        after = self.random.choice(["", "a[0] = 5", "b += 2", "v[-1] = 3", "w[0] = 4", "out[0] = 1", "a = a + 1"])
        results = ["a", "b", "s", "v", "out", "x"]
        self.random.shuffle(results)
        results = results[: self.random.randint(2, len(results))]
        starts = {
            "a": ["v", "v.copy()", f"np.zeros({self.k}, v.dtype)", "v + w", "x[1]", "w"],
            "b": ["w", "a", f"np.ones({self.k}, v.dtype)", "v - w", "x[0]", "np.empty_like(v); b[:] = 2"],
        }
        a, b = (self.random.choice(starts[name]) for name in "ab")
        functions = "\n\n".join(self.functions)
        self.source = f"""
import numpy as np

{functions}

def f(x, v, w, m, n):
    a = {a}
    b = {b}
    s = v.dtype.type(0)
    out = np.zeros((n, {self.k}), v.dtype)
    for i in range(n):
{body}
        out[i] = {self.random.choice(self.vectors)}
    {after}
    return {", ".join(results)}
"""

    def arguments(self, seed: int) -> tuple:
        rng = np.random.default_rng(seed)
        shapes = [(N_ROWS, self.k), (self.k,), (self.k,), (self.k, self.k)]
        x, v, w, m = ((rng.integers(-3, 4, shape) + 0).astype(self.dtype) for shape in shapes)
        if rng.random() < 0.2:
            v = x[2]
        if rng.random() < 0.15:
            w = v
        if rng.random() < 0.2:
            m = m.T
        return x, v, w, m, int(rng.integers(0, 5))

    # ---- text ----

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def _name(self) -> str:
        return self.random.choice(self.vectors)

    def _vector(self, depth: int = 2) -> str:
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.25:
            return choose([*self.vectors, "w", f"x[i % {N_ROWS}]", f"x[{self.random.randrange(N_ROWS)}]"])
        inner = lambda: self._vector(depth - 1)  # noqa: E731  # short
        forms = [
            lambda: f"({inner()} + {inner()})",
            lambda: f"({inner()} - {inner()})",
            lambda: f"({inner()} * {self._number(depth - 1)})",
            lambda: f"{inner()}.copy()",
            lambda: f"(-{inner()})",
            lambda: f"{inner()}[::-1]",
            lambda: f"(m @ {inner()})",
            lambda: f"np.dot({inner()}, m)",
            lambda: f"np.array([{', '.join(self._number(0) for _ in range(self.k))}], v.dtype)",
        ]
        if self.dtype != "complex128":
            forms.append(lambda: f"np.maximum({inner()}, {inner()})")
            forms.append(lambda: f"np.where({inner()} > {inner()}, {inner()}, {inner()})")
        if self.k == 3:
            forms.append(lambda: f"np.cross({inner()}, {inner()})")
        if self.functions:
            forms.append(lambda: f"g{self.random.randrange(len(self.functions))}({inner()}, {inner()})")
        return choose(forms)()

    def _small(self, text: str) -> str:
        """The same, made small and whole."""
        if self.dtype == "complex128":
            return f"np.round({text} * 0.125)"
        return f"({text}) % 7"

    def _number(self, depth: int = 1) -> str:
        choose = self.random.choice
        forms = ["s", "2", f"{self._name()}[{self.random.randrange(self.k)}]", f"{self._name()}[-1]", "m[0, 0]"]
        if depth:
            v = self._vector(0)
            forms += [f"({v}).sum()", f"np.sum({self._vector(1)})", f"np.dot({v}, {self._vector(0)})"]
            forms += [f"({self._vector(1)} @ {v})"]
            if self.dtype != "complex128":
                forms += [f"{v}.max()", f"np.min({self._vector(1)})"]
        return choose(forms)

    def _statement(self, depth: int) -> None:
        choose = self.random.choice
        name = self._name()
        forms = [
            lambda: self._line(f"{name} = {self._small(self._vector())}"),
            lambda: self._line(f"{name} = {self._small(self._vector())}"),
            lambda: self._line(f"{name} = {self._name()}"),
            lambda: self._line(f"{name} += {self._vector(1)}"),
            lambda: self._line(f"{name}[{self.random.randrange(self.k)}] = {self._number()}"),
            lambda: self._line(f"{name}[:] = {self._small(self._vector(1))}"),
            lambda: self._line(f"{name}, {self._name()} = {self._name()}, {self._small(self._vector(1))}"),
            lambda: self._line(f"x[i % {N_ROWS}] = {self._small(self._vector(1))}"),
            lambda: self._line(f"s = {self._small(self._number())}" if self.dtype != "complex128" else "s = v[0]"),
            lambda: self._new(),
        ]
        if depth:
            forms += [lambda: self._branch(depth - 1), lambda: self._elements()]
        choose(forms)()

    def _new(self) -> None:
        name = f"d{len(self.vectors)}"
        if self.indent > 2:
            return self._line("s = s")
        self._line(
            f"{name} = {self.random.choice([self._small(self._vector()), f'np.zeros({self.k}, v.dtype)', self._name()])}"
        )
        self.vectors.append(name)
        return None

    def _branch(self, depth: int) -> None:
        test = self.random.choice(["i % 2", f"np.real({self._number(0)}) > 1", "i > 1", f"{self._name()}[0] != 0"])
        self._line(f"if {test}:")
        self._block(depth)
        if self.random.random() < 0.4:
            self._line("else:")
            self._block(depth)

    def _elements(self) -> None:
        name = self._name()
        self._line(f"for j in range({self.random.choice([str(self.k), f'len({name})'])}):")
        text = self.random.choice([f"{name}[j] = {self._name()}[j] - {self._name()}[j]", f"s = s + {name}[j]",
                                   f"{name}[j] += j", f"{name}[j] = x[i % {N_ROWS}, j]"])  # fmt: skip
        self.indent += 1
        self._line(text)
        self.indent -= 1

    def _block(self, depth: int) -> None:
        self.indent += 1
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth)
        if self.random.random() < 0.1:
            self._line(self.random.choice(["continue", "break"]))
        self.indent -= 1

    def _function(self, k: int) -> None:
        choose = self.random.choice
        lines = [f"def g{k}(p, q):"]
        lines += choose(
            [[], ["    p = p + q"], ["    c = p[0] + q[-1]", "    q = q - c"], ["    r = p", "    q = r - q"]]
        )
        lines += choose([[], [], ["    if p[0] != q[0]:", "        p = q * 2"]])
        lines.append("    return " + choose(["p + q", "p", "np.zeros(len(p), p.dtype) + q", "p[::-1] * 2 - q"]))
        self.functions.append("\n".join(lines))
