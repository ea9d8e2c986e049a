"""Random programs with branches and loops on traced values, in-place writes and arrays under several names."""

from __future__ import annotations

import random

ARRAYS = ("x", "y", "z")


class _Writer:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def program(self) -> str:
        head = ["def f(x, y, a):", "    s = 0.5", "    k = 1", "    z = x.copy()"]
        results = self.rng.choice(["s, z", "x, s", "(z, k)", "x + y, s", "z, x"])
        return "\n".join([*head, *self.block(1, 0, False), *self.block(1, 0, False), f"    return {results}\n"])

    def scalar(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.4:
            return self.rng.choice(["s", "a", "x[0]", "y[2]", "z[1]", "1.5", "0.25"])
        a, b = self.scalar(depth + 1), self.scalar(depth + 1)
        choice = f"({a} if {self.condition(depth + 1)} else {b})"
        return self.rng.choice([f"({a} + {b})", f"({a} * 0.5)", f"abs({a} - {b})", f"np.sin({a})", choice, "z.mean()"])

    def array(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.4:
            return self.rng.choice(ARRAYS)
        a, b = self.array(depth + 1), self.array(depth + 1)
        return self.rng.choice(
            [f"({a} * 0.5 + {b} * 0.25)", f"np.tanh({a})", f"({a} + {self.scalar(depth + 1)})", f"{a}[::-1]",
             "np.where(x > 0, y, z)"]
        )  # fmt: skip

    def condition(self, depth: int = 0) -> str:
        a, b = self.scalar(depth + 1), self.scalar(depth + 1)
        if depth > 2 or self.rng.random() < 0.5:
            return f"{a} {self.rng.choice(['<', '>', '<=', '>='])} {b}"
        p, q = self.condition(depth + 1), self.condition(depth + 1)
        return self.rng.choice([f"({p} and {q})", f"({p} or {q})", f"not {p}", f"0.1 < {a} < 1.5", "k > 3"])

    def block(self, indent: int, depth: int, in_loop: bool) -> list[str]:
        rng, pad = self.rng, "    " * indent
        lines: list[str] = []
        for _ in range(rng.randint(1, 3)):
            r, name = rng.random(), rng.choice(ARRAYS)
            if r < 0.2:
                lines.append(f"{pad}s = {self.scalar()}")
            elif r < 0.3:
                lines.append(f"{pad}s += {self.scalar()} * 0.1")
            elif r < 0.4:
                lines.append(f"{pad}{name} = {self.array()}{rng.choice(['', ' + 0.0', '.copy()'])}")
            elif r < 0.5:
                lines.append(f"{pad}{name}[{rng.choice(['1:3', '0', '::2', '-1'])}] = {self.scalar()}")
            elif r < 0.55:
                lines.append(f"{pad}{name} *= 0.5")
            elif r < 0.6:
                lines.append(f"{pad}k += 1")
            elif r < 0.63:
                lines.append(f"{pad}x, y = y, x")
            elif r < 0.8 and depth < 3:
                lines += [f"{pad}if {self.condition()}:", *self.block(indent + 1, depth + 1, in_loop)]
                if rng.random() < 0.5:
                    lines += [f"{pad}else:", *self.block(indent + 1, depth + 1, in_loop)]
            elif r < 0.9 and depth < 2:
                head = f"{pad}for {rng.choice('ij')} in range({rng.choice(['3', '7', '40', 'len(x)'])}):"
                lines += [head, *self.block(indent + 1, depth + 1, True)]
            elif r < 0.94 and depth < 2:
                count = f"c{rng.randint(0, 999)}"
                lines += [f"{pad}{count} = 0", f"{pad}while {count} < {rng.choice(['6', '20'])} and {self.condition()}:",
                          f"{pad}    {count} += 1", *self.block(indent + 1, depth + 1, True)]  # fmt: skip
            elif r < 0.97 and in_loop:
                lines.append(f"{pad}if {self.condition()}: {rng.choice(['break', 'continue'])}")
            elif r < 0.98:
                lines.append(f"{pad}if {self.condition()}: return s, z")
            else:
                lines += [f"{pad}t = {self.array()}", f"{pad}z = t + 1.0"]
        return lines


def control_flow_program(seed: int) -> str:
    """The source of a function `f(x, y, a)` of two vectors of length 5 and a float."""
    return _Writer(seed).program()
