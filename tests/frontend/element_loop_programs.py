"""Random loops over single elements: numbers of every dtype beside Python's, recurrences, searches, updates in place."""

from __future__ import annotations

import random

import numpy as np

DTYPES = {"a": np.float64, "b": np.int64, "c": np.uint8, "d": np.float32, "e": np.int32, "m": np.bool_}


class _Writer:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.loops = ["i"]

    def program(self) -> str:
        rng = self.rng
        self.floats, self.ints = ["s", "t"], ["k", "n"]
        lines = ["def f(a, b, c, d, e, m):", f"    s, t = {rng.choice(['0.0', '1', '0.5'])}, a[0]",
                 f"    k, n = {rng.choice(['0', '1', '7'])}, b[1]"]  # fmt: skip
        lines.append(f"    for i in range({rng.choice(['len(a)', '1, len(b)', 'len(c) - 1', '7, 0, -1', '0, 8, 2'])}):")
        lines += self.block(2, 0)
        return "\n".join([*lines, "    return s, t, k, n", ""])

    def index(self) -> str:
        i = self.rng.choice(self.loops)
        return self.rng.choice(
            [i, f"{i} - 1", f"-{i}", f"{i} // 2", f"({i} * 3 + 1) % 8", "0", "-1", "b[" + i + "] % 8"]
        )

    def integer(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or rng.random() < 0.4:
            i = rng.choice(self.loops)
            return rng.choice(["k", "n", i, "3", "2", f"b[{self.index()}]", f"e[{self.index()}]", f"c[{self.index()}]",
                               f"int(a[{i}] * 4)", f"int(c[{i}])", "len(a)"])  # fmt: skip
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        return rng.choice([f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} // {y})", f"({x} % {y})", f"({x} & {y})",
                           f"({x} ^ {y})", f"({x} | {y})", f"abs({x})", f"min({x}, {y})", f"-({x})", f"({x} >> 1)",
                           f"({x} << 2)", f"({x} if {self.test(depth + 1)} else {y})", f"({x}) ** 2",
                           f"(c[{self.index()}] % np.uint8(5))", f"(b[{self.index()}] % 11)",
                           f"(e[{self.index()}] // 3)"])  # fmt: skip

    def real(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or rng.random() < 0.4:
            return rng.choice(["s", "t", "1.5", "0.1", f"a[{self.index()}]", f"d[{self.index()}]", self.integer(3)])
        x, y = self.real(depth + 1), self.real(depth + 1)
        return rng.choice([f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / {y})", f"({x} // {y})", f"({x} % {y})",
                           f"abs({x})", f"max({x}, {y})", f"np.sqrt(abs({x}))", f"np.floor({x})", f"({x}) ** 2",
                           f"np.maximum({x}, {y})", f"float({self.integer(3)})",
                           f"({x} if {self.test(depth + 1)} else {y})"])  # fmt: skip

    def test(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or rng.random() < 0.6:
            return rng.choice([f"{self.real(3)} < {self.real(3)}", f"{self.integer(3)} == {self.integer(3)}",
                               f"m[{self.index()}]", f"{self.integer(3)} >= 3", f"0 < {self.real(3)} <= 2"])  # fmt: skip
        p, q = self.test(depth + 1), self.test(depth + 1)
        return rng.choice([f"({p} and {q})", f"({p} or {q})", f"not {p}"])

    def block(self, indent: int, depth: int) -> list[str]:
        rng, pad = self.rng, "    " * indent
        lines: list[str] = []
        for _ in range(rng.randint(1, 3)):
            r = rng.random()
            if r < 0.2:
                lines.append(f"{pad}{rng.choice('st')} {rng.choice(['=', '+=', '*='])} {self.real()}")
            elif r < 0.4:
                lines.append(f"{pad}{rng.choice('kn')} {rng.choice(['=', '+=', '-='])} {self.integer()}")
            elif r < 0.65:
                name = rng.choice("abcdem")
                value = self.real() if name in "ad" else self.test() if name == "m" else self.integer()
                lines.append(f"{pad}{name}[{self.index()}] {'=' if name == 'm' else rng.choice(['=', '+='])} {value}")
            elif r < 0.8 and depth < 2:
                lines += [f"{pad}if {self.test()}:", *self.block(indent + 1, depth + 1)]
                if rng.random() < 0.5:
                    lines += [f"{pad}else:", *self.block(indent + 1, depth + 1)]
            elif r < 0.9 and depth < 2:
                self.loops.append(f"j{depth}")
                lines += [f"{pad}for j{depth} in range({rng.choice(['i', '3', 'len(d)', 'i, 8'])}):",
                          *self.block(indent + 1, depth + 1)]  # fmt: skip
                self.loops.pop()
            else:
                lines.append(
                    f"{pad}if {self.test()}: {rng.choice(['break', 'continue', 'k += 1', 'return s, t, k, n'])}"
                )
        return lines


def element_loop_program(seed: int) -> str:
    """The source of a function of six vectors of length 8, of the dtypes in `DTYPES`."""
    return _Writer(seed).program()


def arguments(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    found = []
    for dtype in map(np.dtype, DTYPES.values()):
        if dtype.kind == "f":
            found.append(rng.normal(size=8).astype(dtype))
        else:
            found.append(rng.integers(0 if dtype.kind in "ub" else -9, 2 if dtype.kind == "b" else 9, 8).astype(dtype))
    return tuple(found)
