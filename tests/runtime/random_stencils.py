"""Random loops over rows of arrays: what iterations can run together for, and some that they cannot."""

from __future__ import annotations

import random

ARRAYS = ("a", "b", "c")


class Writer:
    """Writes a function of two arrays of a shape, with a loop whose body reads rows around those that it writes."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.shape = self.rng.choice([(150, 40), (200, 33), (97, 64), (600,), (60, 12, 10), (240, 1)])
        self.dtype = self.rng.choice(["float64", "float64", "float32"])

    def part(self, low: int, high: int, shifts: tuple[int, ...]) -> str:
        """What lies so far from the part that keeps `low` and `high` elements apart from the ends of each axis."""
        texts = []
        for length, shift in zip(self.shape, shifts, strict=True):
            if length < low + high + 1:
                texts.append(":")
                continue
            start, stop = low + shift, -high + shift
            texts.append(f"{start}:{stop if stop else ''}")
        return f"[{', '.join(texts)}]"

    def term(self, low: int, high: int) -> str:
        name = self.rng.choice(ARRAYS)
        near = self.rng.random() < 0.3
        shifts = tuple(0 if near else self.rng.randint(-low, high) for _ in self.shape)
        return f"{self.rng.choice([0.5, 0.25, -0.125, 0.1])} * {name}{self.part(low, high, shifts)}"

    def statement(self) -> list[str]:
        rng, target = self.rng, self.rng.choice(ARRAYS)
        kind = rng.random()
        low, high = rng.randint(0, 2), rng.randint(0, 2)
        value = " + ".join(self.term(low, high) for _ in range(rng.randint(1, 4)))
        here = self.part(low, high, (0,) * len(self.shape))
        if kind < 0.35:
            return [f"{target}{here} {rng.choice(['=', '+=', '-='])} {value}"]
        if kind < 0.6:
            return [f"new = {target}.copy()", f"new{here} = {value}", f"{target} = new"]
        if kind < 0.7:
            return [f"{target} = 0.5 * np.tanh({rng.choice(ARRAYS)}) + {rng.choice(ARRAYS)} * 0.25"]
        if kind < 0.8:
            row, other = rng.choice([0, -1, 3]), rng.choice([1, -2, 4])
            return [f"{target}[{row}] = {rng.choice(ARRAYS)}[{other}]"]
        if kind < 0.88 and len(self.shape) > 1:
            return [f"{target}[:, 0] = {rng.choice(ARRAYS)}[:, -1]"]
        if kind < 0.95:
            x, y = rng.sample(ARRAYS, 2)
            return [f"{x}, {y} = {y}, {x}"]
        return [f"{target} = {target} * (0.5 + 0.01 * t)"]

    def straight(self) -> str:
        """The same without a loop: arrays that are made of others' rows around, also shorter ones, and parts of them."""
        lines = ["def f(a, b):", "    a, b = np.tanh(a), np.tanh(b)", "    c = np.tanh(a - b)"]
        for k in range(self.rng.randint(2, 6)):
            lines += [f"    {line}" for line in (self.shorter(k) if self.rng.random() < 0.6 else self.statement())]
        lines.append(f"    return {', '.join(self.rng.sample(ARRAYS, self.rng.randint(1, 2)))}")
        return "\n".join(lines).replace(" * t)", ")") + "\n"

    def shorter(self, k: int) -> list[str]:
        """An array of fewer rows, and a part that is made of its rows around."""
        low, high = self.rng.randint(0, 2), self.rng.randint(0, 2)
        source, target = self.rng.choice(ARRAYS), self.rng.choice(ARRAYS)
        made = " - ".join(self.term(low, high) for _ in range(self.rng.randint(1, 3)))
        far = self.rng.randint(1, 3)
        here = self.part(low, high, (0,) * len(self.shape))
        part = here.replace(f"[{low}:", f"[{low + far}:", 1)
        return [f"d{k} = np.tanh({made})", f"{target}{part} += d{k}[{far}:] - 0.5 * d{k}[:-{far}] * {source}{part}"]

    def source(self) -> str:
        body = [line for _ in range(self.rng.randint(1, 4)) for line in self.statement()]
        lines = ["def f(a, b):", "    c = a - b", f"    for t in range({self.rng.choice([9, 16, 23, 40])}):"]
        lines += [f"        {line}" for line in body]
        lines.append(f"    return {', '.join(self.rng.sample(ARRAYS, self.rng.randint(1, 3)))}")
        return "\n".join(lines) + "\n"
