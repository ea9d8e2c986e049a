"""Random loops over places on a grid: tuples that are carried, taken apart, compared, kept in lists, and used as
indices."""

from __future__ import annotations

import random

import numpy as np

N = 6


class _Writer:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.places = ["p", "q"]
        self.loops = ["i"]

    def program(self) -> str:
        rng = self.rng
        lines = [
            f"MOVES = [(0, 1), (1, 0), (0, {rng.choice([-1, 2])}), (-1, 0)]", "",
            "def moved(p, d):", f"    return ((p[0] + d[0]) % {N}, (p[1] + d[1]) % {N})", "", "",
            "def f(g, h, moves, k):", f"    p, q = ({rng.randint(0, 5)}, 1), (2, {rng.randint(0, 5)})",
            "    s, n = 0.0, 0", "    pos = np.array([1, 2])", "    path = [p]",
        ]  # fmt: skip
        head = rng.choice([f"for i in range({N}):", "for i in range(len(moves)):", f"for i in range({N} - 1, 0, -1):"])
        lines += [f"    {head}", *self.block(2, 0)]
        return "\n".join([*lines, "    return p, q, s, n, pos, path", ""])

    def number(self) -> str:
        i = self.rng.choice(self.loops)
        return self.rng.choice(
            [i, "k", "n % 5", "p[0]", "q[1]", "pos[0]", f"moves[{i} % 4, 0]", "1", "-1", f"{i} // 2"]
        )

    def place(self, depth: int = 0) -> str:
        rng = self.rng
        one = rng.choice(self.places)
        i = rng.choice(self.loops)
        if depth > 1 or rng.random() < 0.4:
            return rng.choice([one, one, f"({self.number()}, {self.number()})"])
        return rng.choice([
            f"moved({self.place(depth + 1)}, MOVES[{i} % 4])", f"moved({one}, (1, {self.number()}))", f"{one}[::-1]",
            f"({one}[0], {self.number()})", f"(({self.number()}) % {N}, ({self.number()}) % {N})", "tuple(pos)",
            f"({self.place(2)} if p[0] < q[0] else {self.place(2)})", "path[-1]", f"tuple(moves[{i} % 4])",
            f"({one}[1],) + ({self.number()},)",
        ])  # fmt: skip

    def element(self) -> str:
        rng = self.rng
        return rng.choice([f"g[{self.place()}]", f"g[{self.place()}]", f"h[{self.place()}]",
                           f"g[{self.number()}, {self.number()}]", f"g[p[0]][{self.number()}]", "g[q[0], :].sum()",
                           f"h[{self.number()}, p[1]]"])  # fmt: skip

    def test(self) -> str:
        rng = self.rng
        return rng.choice([f"{self.element()} > 0", "p == q", "p != q", "p[0] < q[0]", f"n > {rng.randint(0, 4)}",
                           "p[0] == q[1]", f"0 <= p[0] + p[1] < {N}", f"h[{rng.choice(self.places)}] % 2 == 0"])  # fmt: skip

    def block(self, indent: int, depth: int) -> list[str]:
        rng, pad = self.rng, "    " * indent
        lines: list[str] = []
        for _ in range(rng.randint(1, 3)):
            r = rng.random()
            if r < 0.2:
                lines.append(f"{pad}{rng.choice(self.places)} = {self.place()}")
            elif r < 0.35:
                lines.append(f"{pad}g[{self.place()}] {rng.choice(['=', '+=', '*='])} {self.element()}")
            elif r < 0.45:
                lines.append(f"{pad}h[{self.place()}] {rng.choice(['=', '+=', '-='])} {self.number()}")
            elif r < 0.55:
                lines.append(f"{pad}s += {self.element()}")
            elif r < 0.6:
                others = ["y, x = p", "p, q = q, p", "n += 1", "path.append(p)", "path.append(q)"]
                lines.append(f"{pad}{rng.choice(others)}")
            elif r < 0.66:
                lines.append(f"{pad}pos = (pos + moves[{rng.choice(self.loops)} % 4]) % {N}")
            elif r < 0.82 and depth < 2:
                lines += [f"{pad}if {self.test()}:", *self.block(indent + 1, depth + 1)]
                if rng.random() < 0.4:
                    lines += [f"{pad}else:", *self.block(indent + 1, depth + 1)]
            elif r < 0.92 and depth < 2:
                d = f"d{depth}"
                self.places.append(d)
                lines += [f"{pad}for {d} in MOVES:", *self.block(indent + 1, depth + 1)]
                self.places.pop()
            else:
                lines.append(f"{pad}if {self.test()}: {rng.choice(['break', 'continue', 'n += 2'])}")
        return lines


def place_loop_program(seed: int) -> str:
    """The source of a function `f` of a float grid, an integer one, four moves and a number."""
    return _Writer(seed).program()


def arguments(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, N)), rng.integers(-9, 9, (N, N)), rng.integers(-1, 2, (4, 2)), int(rng.integers(0, 4))
