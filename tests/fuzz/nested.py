"""Random programs of nested statements: loops in branches in loops, helpers, `try`, exits, names bound on some paths.

The other generator (`programs`) writes long expressions and compares within what roundings allow. This one writes
control flow over small whole and half numbers, on which arithmetic is exact, and compares bits; calls whose numbers
leave that range are not compared. Programs may raise: then the class of the error and the arguments are compared.
"""

from __future__ import annotations

import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import workbench as wb
from tests.compare import assert_same
from tests.sources import define
from workbench.frontend import comprehensions
from workbench.runtime.parts import comprehensions as written_out

MOST_ELEMENTS = 1 << 16  # of an array: products of products of arrays would fill the memory
DTYPES = ("float64",) * 5 + ("float32",) * 3 + ("int64",) * 4 + ("int32",) * 2 + (
    "bool", "int8", "uint8", "int16", "uint32", "uint64", "complex128",
)  # fmt: skip
KINDS = ("vector",) * 5 + ("matrix",) * 5 + ("square",) * 2 + ("cube", "rank 0", "int", "float", "bool", "empty") + (
    "same", "part", "transposed",
)  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "0.5",
    "1.5",
    "-0.0",
    "True",
    "np.int8(3)",
    "np.float32(0.5)",
    "np.float64(2)",
)

INDICES = (
    "0", "-1", "{i}", "1:", ":-1", ":{i}", "{i}:", "1:3", "::2", "::-1", "::-2", "{i}::-1", "...", "None", "[0, -1]",
    "[0, 0, 1]", "{i}, 0", ":, 0", "1:, ::-1", "max(0, {i} - 1):{i} + 1", "5:1", "{a} > 1",
)  # fmt: skip
ARRAYS = (
    "{a}", "{a}[{r}]", "{a}.T", "{a} + {s}", "{a} * 2", "{a} - {b}", "{a}.copy()", "{a}.ravel()", "{a}.reshape(-1)",
    "np.zeros_like({a})", "{a}.astype(float)", "{a}.astype(np.int8)", "np.arange({i} % 7)", "{a} > 1", "{a}.sum(axis=0)",
    "{a}.max(axis=-1)", "np.sort({a})", "np.roll({a}, {i})", "np.repeat({a}, 2)", "np.concatenate([{a}, {a}])",
    "np.cumsum({a}, axis=0)", "np.where({a} > 1, {a}, {s})", "np.maximum({a}, {b})", "np.stack([x for x in {a}])",
    "np.array([{a}[0], {a}[-1]])", "np.clip({a}, 0, 2)", "np.diff({a})", "np.outer({a}, {a})", "np.diagonal({a})",
    "{a}.swapaxes(0, 1)", "np.flatnonzero({a})", "np.unique({a})", "{a} // 2", "{a} % 3", "{a} ** 2", "({a} == {b})",
    "np.searchsorted(np.sort({a}.ravel()), {s})", "np.add.reduceat({a}, [0, 1])", "np.tile({a}, 2)", "np.tril({a})",
    "np.take({a}, [0, -1], axis=0)", "np.argsort({a}, kind='stable')", "{a} if {c} else {b}", "{a}[::-1] + {b}",
    "np.broadcast_to({a}[0], {a}.shape)", "np.add.accumulate({a})", "np.expand_dims({a}, -1)", "np.squeeze({a})",
)  # fmt: skip
SCALARS = (
    "{s}", "{a}[0]", "{a}[-1]", "{a}[{i}]", "{a}.sum()", "{a}.max()", "{a}.min()", "{a}.flat[0]", "np.count_nonzero({a})",
    "{a}.argmax()", "{a}.any()", "({s} + {s2})", "({s} - {s2})", "({s} * {s2})", "({s} % {s2})", "({s} // {s2})",
    "abs({s})", "-({s})", "max({s}, {s2})", "min({s}, {s2})", "({s} if {c} else {s2})", "np.maximum({s}, {s2})",
    "({s} < {s2})", "({s} / 2)", "int({s})", "float({s})", "{a}.item(0)", "np.floor({s})", "round({s})",
)  # fmt: skip
CONDITIONS = (
    "{s} > {s2}", "{s} <= {s2}", "{s} == {s2}", "{i} % 2 == 0", "{i}", "0 < {s} <= 3", "({a} > 1).any()",
    "np.all({a} < 4)", "{a}.sum() > 2", "{a} is not None", "not {s} > {s2}", "{s} > 1 and {i} < 2", "{s} > 1 or {i} < 2",
)  # fmt: skip
WHOLE = (
    "0",
    "1",
    "2",
    "3",
    "{i}",
    "len({a})",
    "{a}.ndim",
    "{a}.shape[-1]",
    "({i} + 1)",
    "({i} * 2) % 5",
    "-{i}",
    "{i} // 2",
)

SIMPLE = (
    *("{t} = {e}",) * 6, *("{t} = {s}",) * 3, *("{t} = {i}",) * 2, *("{w}[{r}] = {s}",) * 2, *("{w}[{r}] = {e}",) * 2,
    "{w}[{r}] += {s}", "{w}[{r}] -= {e}", "{w}[{r}] *= 2", "{w} += {s}", "{w} -= {e}", "{w} //= 2", "{w} += {w}.T",
    "{w} %= 3", "{w}[1:] = {w}[:-1]", "{w}[::-1] += {w}", "{w}.T[0] = {s}", "{w}.reshape(-1)[:2] = {s}",
    "{w}.ravel()[0] = {s}", "{w}.flat[-1] = {s}", "{w}.sort()", "{w}.fill({s})", "np.copyto({w}, {s})",
    "np.add.at({w}, [0, 0, -1], {s})", "np.put({w}, [0, -1], {s})", "np.putmask({w}, {w} > 1, {s})",
    "np.add({w}, {s}, out={w})", "np.multiply({w}, 2, out={w}, where={w} > 0)", "np.cumsum({w}, axis=0, out={w})",
    "np.add.accumulate({w}, out={w})", "np.negative({w}.copy(), out={w})", "np.fill_diagonal({w}, {s})",
    "np.maximum({w}, {w}[0], out={w})", "{w}[0], {w}[-1] = {w}[-1], {w}[0]", "{w}[[0, -1]] = {w}[[-1, 0]]",
    "{t} = {t2} = {e}", "{t}, {t2} = {e}, {s}", "{a}, {b} = {b}, {a}", "{a} = {b}", "{t} = [{s} for i in range(3)]",
    "{t} = sum({s} for i in range({i} % 7))", "{t} = np.array([{s} for i in range(3)])", "{t} = [x for x in range(5) if x > {i}]",
    "{t} = {{'x': {a}, 'y': {s}}}", "{t} = [{a}, {s}]", "{t} = ({t2} := {s}) > 1", "*{t}, {t2} = {a}",
    "{t} = (lambda q, k={s}: q + k)({a})",
)  # fmt: skip
COMPREHENSIONS = (
    "{t} = [x + {s} for x in {a}]", "{t} = np.array([x * 2 - {s} for x in {a}.ravel()])", "{t} = sum(x for x in {a})",
    "{t} = sum(x for x in {a}.ravel() if x > {s})", "{t} = max(x for x in {a}.ravel() if x > {s})",
    "{t} = any(x > {s} for x in {a}.ravel())", "{t} = all(x < {s} for x in {a}.ravel() if x)",
    "{t} = [x - y for x, y in zip({a}, {b})]", "{t} = [({k}, x) for {k}, x in enumerate({a})]",
    "{t} = sum(int(x) for x in {a}.ravel())", "{t} = min([float(x) for x in {a}.ravel()])",
    "{t} = [{a}[{k}] + {k} for {k} in range(len({a}))]", "{t} = tuple(x.max() for x in {a})",
    "{t} = sum({s} + {k} for {k} in range(40))", "{t} = [{w}[0] + {k} for {k} in range(40)]",
    "{t} = [{w}[{k} % 2] for {k} in range(9)]\n{w} += 1", "{t} = sum([x * {s} for x in {a}])",
    "{t} = [x if {c} else {s} for x in {a}.ravel()]", "{t} = [[y + x for y in {a}.ravel()] for x in {a}.ravel()]",
    "{t} = [{w}.sort() or x for x in {a}]", "{t} = [x for x in {a}]\n{t}[-1] = {s}", "{t} = max(x.sum() for x in {a})",
    "{t} = np.array([{a}[{k}:{k} + 2].sum() for {k} in range(len({a}))])", "{t} = [x for x in {a}.ravel() if x > {s}]",
    "{t} = np.array([x + {k} for {k}, x in enumerate({a}.ravel()) if {k} % 2])", "{t} = [{w}]\n{t2} = [{t}, {t}]",
    "{t} = [x * y for x in {a}.ravel() for y in {b}.ravel() if x > y]", "{t} = len([x for x in {a}.ravel() if x < {s}])",
    "{t} = np.sum([x + {s} for x in {a}.ravel() for {k} in range(3) if {k} != x])", "{t} = np.array([x for x in {a} if {c}])",
    "{t} = [max(x for x in {w}[:{k}].ravel()) for {k} in range(1, len({w}))]",
)  # fmt: skip
# Arrays whose contents are known before a loop writes into them, in loops that are too long to be written out.
LONG_LOOPS = (
    "{t} = np.ones({w}.shape, bool)\nfor {k} in range(40):\n    {w}[{t}] += {s}\n    {t} &= {w} < {s2}",
    "{t} = np.zeros({w}.shape, bool)\nfor {k} in range(40):\n    {t}[0] = {w}[0] > {s}\n    {w}[~{t}] = {s2}",
    "{t} = np.arange(len({w}))\nfor {k} in range(40):\n    {w}[{t}] -= {s}\n    {t}[0] = {k} % len({w})",
    "{t} = np.zeros(4)\nfor {k} in range(40):\n    if {t}[{k} % 4] > {s}:\n        break\n    {t}[{k} % 3] += 1",
    "{t} = np.array(True)\nfor {k} in range(40):\n    if {t}:\n        {w} += 1\n    {t}[...] = {c}",
    "{t} = np.ones(({i}) % 5 + 2, int)\nwhile {t}.sum() < 50:\n    {w}[0] += {t}[-1]\n    {t}[1:] += {t}[:-1]",
    "{t} = []\n{t2} = {s} + 0.0\nfor k in range(80):\n    if {t2} > 50 or {t2} < -50 or {t2} != {t2}:\n        break\n"
    "    {t2} = {t2} * 1.5 + 1\n    {t}.append({t2})\n{t} = np.array({t})",
    "{t} = [{s}]\n{t2} = {a} + 0.0\nfor k in range(70):\n    {t2} = {t2} * 0.5\n    {t}.append({t2}.sum())\n"
    "    if abs({t}[-1]) < 0.5 or {t}[-1] != {t}[-1]:\n        break\n{t} = np.array({t})",
)  # fmt: skip
LOOPS = (
    "for {k} in range({i} % 7):", "for {k} in range(3):", "for {k} in range(len({a})):", "for {k} in range(1, {i} % 7):",
    "for {k} in range(len({a}) - 1, -1, -2):", "for {k} in range(0):", "for {k} in range({i} % 7, 4):", "for x in {a}:",
    "for {k}, x in enumerate({a}):", "for x, y in zip({a}, {b}[::-1]):", "for x in {a}.T:", "for x in {a}.ravel():",
    "for x in {a}[1:]:", "for x in reversed({a}):", "for x in {a}.tolist():", "for {k} in np.ndindex({a}.shape):",
)  # fmt: skip
HELPERS = (
    "def {f}(q, w=1):\n{body}\n    q[...] = q + w\n{f}({w})\n{t} = {f}({w}[1:], 2)",
    "def {f}(q, w):\n{body}\n    return q, w\n{t}, {t2} = {f}({a}, {s})",
    "def {f}(q, w=3):\n    for x in q:\n        if {c}:\n            return w\n        w = w + 1\n    return q\n{t} = {f}({a})",
    "def {f}(q, n):\n    return q if n <= 0 else {f}(q + n, n - 1)\n{t} = {f}({a}, 3)",
    "def {f}(q):\n    for x in q:\n        yield x + 1\n{t} = sum({f}({a}))",
    "def {f}(*r, **k):\n    return [x + len(k) for x in r][::-1]\n{t}, {t2} = {f}({a}, {s}, z=1)",
)  # fmt: skip


class Nested:
    """The program that `seed` writes. source: its text; arguments: makes what it is called with."""

    statements: Sequence[str] = (*SIMPLE, *LONG_LOOPS, *COMPREHENSIONS)

    def __init__(self, seed: int, n_statements: int = 6):
        self.seed = seed
        self.rng = random.Random(seed)
        self.n, self.m = self.rng.choice((3, 4, 5, 6)), self.rng.choice((2, 3, 4, 5))
        self.names = "abcd"[: self.rng.choice((1, 2, 2, 3, 4))]
        self.draw_inputs()
        self.count = itertools.count()
        self.lines: list[str] = []
        self.result = "a"
        self._write(self.rng.randint(2, n_statements))

    # ---- arguments ----

    def draw_inputs(self) -> None:
        """Decide what the arguments are."""
        base = self.rng.choice(DTYPES)
        self.inputs = [
            (self.rng.choice(KINDS[:12] if name == "a" else KINDS), base if self.rng.random() < 0.6 else self.rng.choice(DTYPES),
             self.rng.choice(("C", "C", "C", "F", "step", "reverse")))
            for name in self.names
        ]  # fmt: skip

    def arguments(self, which: int) -> list[Any]:
        """Fresh arguments. which: 0 and 1 differ in numbers, 2 in dtypes, 3 in sizes, 4 in layouts."""
        rng = np.random.default_rng((self.seed, which))
        n, m = (self.n, self.m) if which != 3 else (self.n + 1, self.m + 2)
        shapes = {"matrix": (n, m), "square": (n, n), "cube": (2, n, m), "rank 0": (), "empty": (0, m)}
        made: list[Any] = []
        for kind, name, layout in self.inputs:
            dtype = np.dtype(name)
            if which == 2:
                swapped = {"float64": "float32", "float32": "float64", "int64": "int32", "int32": "int64"}
                dtype = np.dtype(swapped.get(name, name))
            if which == 4:
                layout = "F" if layout == "C" else "step"
            first = next((x for x in made if isinstance(x, np.ndarray) and x.ndim), None)
            value: Any
            match kind:
                case "int":
                    value = int(rng.integers(0, 5))
                case "float":
                    value = float(rng.integers(-3, 4)) / 2
                case "bool":
                    value = bool(rng.integers(2))
                case "same" | "part" | "transposed" if first is not None:
                    value = {"same": first, "part": first[1:], "transposed": first.T}[kind]
                case _:
                    value = _laid_out(_numbers(shapes.get(kind, (n,)), dtype, rng), layout)
            made.append(value)
        return made

    # ---- text ----

    @property
    def source(self) -> str:
        return self.text(self.lines, self.result)

    def text(self, lines: Sequence[str], result: str) -> str:
        return "\n".join([f"def nested({', '.join(self.names)}):", *_indented(lines), f"    return {result}", ""])

    def function(self, text: str | None = None) -> Callable[..., Any]:
        return define(text or self.source, "nested", f"<nested {self.seed} {next(_files)}>")

    def _write(self, wanted: int) -> None:
        """Statements that NumPy runs; a few that raise."""
        values = dict(zip(self.names, self.arguments(0), strict=True))
        for _ in range(8 * wanted):
            if wanted == 0 or len(self.lines) > 40:
                break
            try:
                new = self._statement(values, 2)
                found = _quietly(self.function(self.text([*self.lines, *new], "locals()")), self.arguments(0))
            except (NothingFitsError, SyntaxError):
                continue
            if isinstance(found, Exception) and self.rng.random() < 0.98:
                continue
            if isinstance(found, dict) and not _may_be_compared(found):
                continue
            self.lines += new
            wanted -= 1
            if not isinstance(found, dict) or "a" not in found:
                break
            values = found
            if any(isinstance(v, np.ndarray) and v.size > 2000 for v in values.values()):
                break
        kept = [k for k, v in values.items() if k[0] in "tkxy" and self.is_result(v)]
        names = self.rng.sample(kept, min(len(kept), 4)) or ["a"]
        form = self.rng.choice(("({})", "({})", "[{}]", "{{'r': ({})}}"))
        self.result = names[0] if len(names) == 1 else form.format(", ".join(names))

    def is_result(self, value: Any) -> bool:
        """Whether the program may return it."""
        return _is_result(value)

    def _pick(self, values: dict[str, Any], wanted: Callable[[Any], bool]) -> str:
        names = [k for k, v in values.items() if wanted(v) and k[0] != "f"]
        if not names:
            raise NothingFitsError
        return self.rng.choice(names)

    def _filled(self, template: str, values: dict[str, Any], depth: int) -> str:
        """`template` with what stands for its letters: see `SIMPLE`."""
        makers = self.fillers(values, depth)
        used = {name: make() for name, make in makers.items() if "{" + name + "}" in template}
        return template.format(**used)

    def fillers(self, values: dict[str, Any], depth: int) -> dict[str, Callable[[], str]]:
        """What stands for the letters of templates, made when it is asked for."""
        rng = self.rng
        return {
            "a": lambda: self._pick(values, _is_array),
            "b": lambda: self._pick(values, _is_array),
            "w": lambda: self._pick(values, lambda v: _is_array(v) and v.flags.writeable),
            "t": lambda: self._target(values),
            "t2": lambda: self._target(values),
            "k": lambda: rng.choice(("k1", "k2", "k3")),
            "r": lambda: self._filled(rng.choice(INDICES), values, depth - 1),
            "e": lambda: self._filled(rng.choice(ARRAYS), values, depth - 1),
            "i": lambda: self._whole(values, depth),
            "s": lambda: self._scalar(values, depth),
            "s2": lambda: self._scalar(values, depth),
            "c": lambda: self._filled(rng.choice(CONDITIONS), values, depth - 1),
        }

    def _whole(self, values: dict[str, Any], depth: int) -> str:
        names = [k for k, v in values.items() if type(v) is int and k[0] != "f"]
        if depth <= 0 or self.rng.random() < 0.4:
            return self.rng.choice((*names, *names, "0", "1", "2", "3"))
        return self._filled(self.rng.choice(WHOLE), values, depth - 1)

    def _scalar(self, values: dict[str, Any], depth: int) -> str:
        names = [k for k, v in values.items() if isinstance(v, int | float | complex | np.generic) and k[0] != "f"]
        if depth <= 0 or self.rng.random() < 0.35:
            return self.rng.choice((*names, *names, *self.rng.sample(NUMBERS, 3)))
        return self._filled(self.rng.choice(SCALARS), values, depth - 1)

    def _target(self, values: dict[str, Any]) -> str:
        known = [k for k in values if k.startswith("t")]
        return self.rng.choice(known) if known and self.rng.random() < 0.35 else f"t{next(self.count)}"

    def _statement(self, values: dict[str, Any], depth: int, *, in_loop: bool = False) -> list[str]:
        rng = self.rng
        kinds = ["simple"] * 9
        if depth:
            kinds += ["for"] * 5 + ["if"] * 3 + ["while"] * 2 + ["helper", "helper", "try"]
        if in_loop:
            kinds += ["exit", "exit"]
        kind = rng.choice(kinds)
        block = lambda **new: _indented(self._block({**values, **new}, depth - 1, in_loop=in_loop))  # noqa: E731
        match kind:
            case "for":
                head = self._filled(rng.choice(LOOPS), values, 1)
                row = next((v[0] for v in values.values() if _is_array(v) and len(v)), 1)
                in_loop = True
                lines = [head, *block(k1=1, k2=0, x=row)]
                in_loop = False
                return lines + (["else:", *block()] if rng.random() < 0.15 else [])
            case "while":
                fuel = f"f{next(self.count)}"
                head = [
                    f"{fuel} = 0",
                    f"while {fuel} < {rng.choice((2, 3, 5))} and ({self._filled('{c}', values, 1)}):",
                ]
                in_loop = True
                return [*head, f"    {fuel} += 1", *block()]
            case "if":
                lines = [f"if {self._filled('{c}', values, 2)}:", *block()]
                if rng.random() < 0.3:
                    lines += [f"elif {self._filled('{c}', values, 1)}:", *block()]
                return lines + (["else:", *block()] if rng.random() < 0.5 else [])
            case "helper":
                name = f"h{next(self.count)}"
                argument = values[self._pick(values, _is_array)]
                body = "\n".join(_indented(self._block({"q": argument, "w": 2}, depth - 1, in_loop=False)))
                template = (
                    rng.choice(HELPERS)
                    .replace("{f}", name)
                    .replace("{body}", body.replace("{", "{{").replace("}", "}}"))
                )
                return self._filled(template, values, 1).split("\n")
            case "try":
                errors = rng.choice(("IndexError", "ValueError", "Exception", "(TypeError, ZeroDivisionError)"))
                return ["try:", *block(), f"except {errors}:", *block()]
            case "exit":
                array = self._pick(values, _is_array)
                returns = (array, f"{array}, {self._filled('{s}', values, 1)}", f"{array}, 2.5, True")
                done = rng.choice(("break", "continue", "return " + rng.choice(returns)))
                return [f"if {self._filled('{c}', values, 1)}:", f"    {done}"]
        return self._filled(rng.choice(self.statements), values, 2).split("\n")

    def _block(self, values: dict[str, Any], depth: int, *, in_loop: bool) -> list[str]:
        """One to three statements, each tried where `values` are."""
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            for _ in range(6):
                try:
                    new = self._statement(values, depth, in_loop=in_loop)
                except NothingFitsError:
                    continue
                if not any(line.strip().split(" ")[0] in ("break", "continue", "return", "yield") for line in new):
                    space = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}
                    try:
                        with np.errstate(all="ignore"), warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            exec("\n".join(new), {"np": np}, space)
                    except Exception:
                        continue
                    if not _may_be_compared(space):
                        continue
                    values.update(space)
                lines += new
                break
        return lines or ["pass"]


class NothingFitsError(Exception):
    """There is no value of the kind that a statement needs."""


_files = itertools.count()


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _may_be_compared(values: dict[str, Any]) -> bool:
    """Whether arrays are small, and no container holds itself."""
    try:
        return not any(_is_array(leaf) and leaf.size > MOST_ELEMENTS for leaf in _leaves(values))
    except RecursionError:
        return False


def _is_result(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_result, value))
    if isinstance(value, dict):
        return all(map(_is_result, value.values()))
    return isinstance(value, bool | int | float | complex | np.ndarray | np.generic)


def _numbers(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    values = rng.integers(0 if dtype.kind in "ub" else -4, 6, shape)
    if dtype.kind == "b":
        values = values % 2
    if dtype.kind in "fc":
        values = values + rng.integers(0, 2, shape) * 0.5
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-2, 3, shape)
    return np.asarray(values).astype(dtype)


def _laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "step" and x.ndim:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    return x[::-1].copy()[::-1] if layout == "reverse" and x.ndim else x


# ---- running and comparing ----


def _quietly(function: Callable[..., Any], args: list[Any]) -> Any:
    return _judged(function, args)[0]


def _judged(function: Callable[..., Any], args: list[Any]) -> tuple[Any, bool]:
    """The result or the exception; whether a number was cast to integers that do not hold it, of which NumPy makes now
    one thing, now another, or memory ran out."""
    with np.errstate(all="ignore", invalid="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = error
    return result, isinstance(result, MemoryError) or any("in cast" in str(warning.message) for warning in caught)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _is_exact(value: Any) -> bool:
    """Whether all numbers are so coarse and so small that sums of them in any order are equal."""
    for leaf in _leaves(value):
        if leaf is None or isinstance(leaf, str):
            continue
        x = np.asarray(leaf)
        if x.dtype.kind == "O" or type(leaf) is int and abs(leaf) > 2**60:
            return False
        if x.dtype.kind in "fc":
            limit = 2.0**9 if x.dtype.itemsize // (1 + (x.dtype.kind == "c")) < 8 else 2.0**20
            for part in (x.real, x.imag):
                numbers = part[np.isfinite(part)].astype(np.float64)
                if np.any(np.abs(numbers) > limit) or np.any(numbers * limit != np.floor(numbers * limit)):
                    return False
    return True


def _numpys(value: Any) -> Any:
    """Numbers as NumPy's: whether a result is Python's 1 or NumPy's may hang on a path, and either will do."""
    if isinstance(value, list | tuple):
        return type(value)(map(_numpys, value))
    if isinstance(value, dict):
        return {key: _numpys(item) for key, item in value.items()}
    return np.asarray(value)[()] if isinstance(value, bool | int | float | complex) else value


def _alike(found: Any, expected: Any) -> tuple[Any, Any]:
    """Two values with NumPy's numbers in place of Python's: of whatever type is found, where they are equal."""
    if isinstance(expected, list | tuple) and type(found) is type(expected) and len(found) == len(expected):
        pairs = [_alike(a, b) for a, b in zip(found, expected, strict=True)]
        return type(expected)(a for a, _ in pairs), type(expected)(b for _, b in pairs)
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        both = {key: _alike(found[key], expected[key]) for key in expected}
        return {key: a for key, (a, _) in both.items()}, {key: b for key, (_, b) in both.items()}
    if type(expected) in (bool, int, float, complex) and isinstance(found, np.generic) and found == expected:
        return found, found.dtype.type(expected)
    return found, _numpys(expected)


def ulps_between(program: Nested) -> float:
    """What floats may differ by, see `assert_same`: where a program takes extremes, zeros by their sign. Which of two
    zeros is the larger one depends on vector widths and strides in NumPy."""
    return 1e-9 if re.search("max|min|clip|sort|partition|ptp", program.source) else 0


@contextmanager
def few_are_many(seed: int) -> Iterator[None]:
    """Have comprehensions of a few elements become equations, or loops that are compiled whole, as otherwise those of
    many do, for every other seed."""
    saved = comprehensions.MAX_UNROLLED_EQNS, written_out.LEAST_ITEMS
    if seed % 2:
        comprehensions.MAX_UNROLLED_EQNS, written_out.LEAST_ITEMS = 0, 1
    try:
        yield
    finally:
        comprehensions.MAX_UNROLLED_EQNS, written_out.LEAST_ITEMS = saved


def check(program: Nested, order: Sequence[int] = (0, 0, 1, 2, 3, 0, 4)) -> None:
    """AssertionError unless the compiled program does what NumPy does, called with `arguments(which)` in this order."""
    with few_are_many(program.seed):
        _check(program, order)


def _check(program: Nested, order: Sequence[int]) -> None:
    plain, ulps = program.function(), ulps_between(program)
    compiled = wb.jit(plain)
    for which in order:
        mine, theirs = program.arguments(which), program.arguments(which)
        (expected, is_undefined), found = _judged(plain, theirs), _quietly(compiled, mine)
        if is_undefined or not _is_exact(theirs) or not isinstance(expected, Exception) and not _is_exact(expected):
            continue
        if isinstance(expected, Exception):
            kind = next(c for c in type(expected).__mro__ if c.__module__ == "builtins")
            assert isinstance(found, kind), f"call {which}: NumPy raises {expected!r}; compiled: {found!r}"
        else:
            if isinstance(found, Exception):
                raise found
            assert_same(*_alike(_numpys(found), expected), max_ulp=ulps, where=f"call {which}: result")
            _assert_same_memory([*_leaves(found), *mine], [*_leaves(expected), *theirs])
        assert_same(mine, theirs, max_ulp=ulps, where=f"call {which}: arguments")
    for reason in compiled.fallbacks:
        assert reason.code != "WB903", str(reason)


def _assert_same_memory(found: list[Any], expected: list[Any]) -> None:
    """What shares memory does so in NumPy. (A view that a loop took may be a copy.)"""
    for (a, b), (c, d) in zip(itertools.combinations(found, 2), itertools.combinations(expected, 2), strict=True):
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b):
            assert np.shares_memory(c, d), "two results, or a result and an argument, share memory that NumPy's do not"


def cut_down(program: Nested, check: Callable[..., None] = check) -> str:
    """The text of a failing program with as few lines as still fail."""

    def fails(lines: list[str]) -> bool:
        program.lines = lines
        try:
            check(program)
        except SyntaxError:
            return False
        except Exception:
            return True
        return False

    lines, shorter = program.lines, True
    while shorter:
        shorter = False
        for candidate in _shorter(lines):
            if fails(candidate):
                lines, shorter = candidate, True
                break
    program.lines = lines
    return program.source


def _shorter(lines: list[str]) -> Iterator[list[str]]:
    """Without a statement and its block; or with the block in its place."""
    depths = [len(line) - len(line.lstrip()) for line in lines]
    for i in reversed(range(len(lines))):
        if re.match(r" *f\d+ \+?= ", lines[i]):  # what ends a `while`
            continue
        end = next((k for k in range(i + 1, len(lines)) if depths[k] <= depths[i]), len(lines))
        yield lines[:i] + lines[end:]
        if end > i + 1:
            yield lines[:i] + [line[4:] for line in lines[i + 1 : end]] + lines[end:]
