"""Random loops over rows, columns and slices of small arrays, as source."""

from __future__ import annotations

import numpy as np

ROWS, COLUMNS = 7, 6


class _Writer:
    """A: (ROWS, COLUMNS) floats; B: its transpose's shape; K: (ROWS, COLUMNS) integers; v: (COLUMNS,); w: (ROWS,)."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices: str) -> str:
        return str(self.rng.choice(choices))

    def row(self, depth: int) -> str:
        """An array of COLUMNS elements."""
        if depth == 0:
            return self.pick(
                "A[i]", "A[i - 1]", "A[i, :]", "A[-1]", "A[0, ::-1]", "v", "B[:, i]", "B[:, i - 1]", "t", "K[i]",
                "np.flip(v)", "np.arange(6)", "A[i][::-1]", "np.roll(v, i)", "B.T[i]",
            )  # fmt: skip
        a, b = self.row(depth - 1), self.row(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} - {b} * 0.5)", f"({a} * {self.number(depth - 1)})", f"np.maximum({a}, {b})",
            f"np.where({a} > {b}, {a}, {self.pick(b, '0.25')})", f"np.abs({a})", f"np.sqrt(np.abs({a}) + 1.0)",
            f"(-{a})", f"np.minimum({a}, 2)", f"np.exp(-np.abs({a}))", f"np.sum(A * {b}, axis=0)",
            f"np.max(A + {a}, axis=0)", "np.mean(A, axis=0)", f"({a})[::-1]", f"np.clip({a}, -1.0, 1.0)",
            f"np.sum(np.outer(w, {a}), axis=0)", f"np.roll({a}, 1)", f"({a} / (1.0 + np.abs({b})))",
            f"np.argmax(np.outer({a}, {b}), axis={self.pick('0', '1', '-1')})", f"np.logical_and({a} > 0, {b} > 0)",
            f"np.concatenate(({a}[:3], {b}[3:]))" if depth > 2 else f"({a} ** 2)",
        )  # fmt: skip

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("0.5", "A[i, 2]", "v[0]", "i", "s", "w[i]", "2", "K[i, 1]")
        a = self.row(depth - 1)
        return self.pick(
            f"np.sum({a})", f"np.max({a})", f"np.mean({a} * {self.row(depth - 1)})", f"np.dot(v, v + {a})", f"{a}.min()",
            f"({self.number(depth - 1)} + 1)", f"np.argmin({a})", f"len({a})",
        )  # fmt: skip

    def part(self, depth: int) -> tuple[str, str]:
        """Two arrays of equal length, the first of which can be written into."""
        a, b = self.row(depth), self.row(depth)
        low, high = self.pick("1:", "1:-1", ":i", "i - 1:", "2:5", "::2"), ""
        forms = [
            (f"A[i, {low}]", f"({a})[{low}]"), (f"v[{low}]", f"(v + {b})[{low}]"), (f"v[{low}]", f"v[{low}] * 0.5"),
            ("v[1:]", "v[:-1] * 0.5"), ("v[:-1]", f"({a})[1:]"), ("A[i, 1:]", "A[i, :-1] + A[i - 1, 1:] * 0.25"),
            ("A[1:, 2]", "A[:-1, 2] * 0.5 + A[1:, 3]"), ("A[i, :i]", f"({a})[:i] + A[i, :i]"), ("B[:, i]", a),
            ("A[:, 0]", "w * 0.5"), ("A[:, :]", f"A * 0.5 + {a}"), ("A[1:-1, 1:-1]", "A[:-2, 1:-1] * 0.5 + A[2:, 2:]"),
            ("A[i]", a), ("A[i][:]", b), ("A[:, i - 1]", "np.sum(A, axis=1)"), ("K[i]", a),
            ("A[:, 1:3]", "A[:, 1:3].mean(axis=1, keepdims=True)"), ("w[:]", "A @ v"), ("v[:]", "w @ A * 0.1"),
            ("A[-1]", f"A[-1, ::-1] + {high or 'v'}"), ("B[...]", "A.T * 0.5"),
        ]  # fmt: skip
        return forms[int(self.rng.integers(len(forms)))]

    def statement(self, indent: str, depth: int) -> list[str]:
        kind = self.pick("part", "part", "part", "name", "number", "augmented", "if", "loop")
        match kind:
            case "name":
                return [f"{indent}t = 1.0 * {self.row(depth)}"]
            case "number":
                return [f"{indent}s = s * 0.5 + {self.number(depth)}"]
            case "augmented":
                target, value = self.part(depth)
                return [f"{indent}{target} {self.pick('+=', '-=', '*=')} {value}"]
            case "if":
                test = f"{self.number(depth)} > {self.number(0)}"
                return [f"{indent}if {test}:", *self.statement(indent + "    ", depth - 1 if depth > 1 else 1)]
            case "loop":
                return [f"{indent}for j in range(2):", *self.statement(indent + "    ", 1)]
        target, value = self.part(depth)
        return [f"{indent}{target} = {value}"]


def array_loop_program(seed: int) -> str:
    writer = _Writer(seed)
    lines = ["def f(A, B, K, v, w, s):", "    t = np.zeros(6)", "    for i in range(1, 6):"]
    for _ in range(int(writer.rng.integers(1, 5))):
        lines += writer.statement("        ", int(writer.rng.integers(1, 3)))
    return "\n".join([*lines, "    return t, s", ""])


def arguments(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(COLUMNS, ROWS)), rng.integers(-3, 4, (ROWS, COLUMNS)),
        rng.normal(size=COLUMNS), rng.normal(size=ROWS), float(rng.normal()),
    )  # fmt: skip
