"""Whole random NumPy programs: source text, with loops and branches, with inputs, valid in NumPy, to compare a compiler with NumPy.

`programs()` is a Hypothesis strategy, so that failures shrink; `random_program(seed)` draws one without Hypothesis. A
program is built statement by statement: each is run in NumPy as it is drawn and dropped if it raises. Whether a
variable must come out with the same bits is known: what an elementary function, a float sum or a matrix product has
touched is inexact. How far it may differ is found by running the program with small errors put in there; comparisons,
rounding and the like, which would turn a small error into a large one, are never drawn on inexact variables.
"""

from __future__ import annotations

import random
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import hypothesis.strategies as st
import numpy as np

from tests.compare import SUM_EPSILONS, assert_same
from tests.sources import define

MAX_ELEMENTS = 400
MAX_STATEMENTS = 12
ATTEMPTS = 8  # to draw a statement that runs, before the program is left as it is
PERTURBATION = 16  # of an inexact result, in its eps
SUPPORTED = frozenset("?bhilBHILfdFD")
DTYPES = ("float64", "float64", "float32", "int64", "int32", "uint8", "int8", "bool", "complex128", "complex64")


class Choices(Protocol):
    """Where the decisions come from."""

    def integer(self, low: int, high: int) -> int:
        """Both ends included."""
        ...


class Drawn:
    """Decisions of a Hypothesis test."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


class Seeded:
    """Decisions of a random generator."""

    def __init__(self, seed: int | None = None):
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


@dataclass(frozen=True)
class Program:
    """source: statements that assign variables and change arrays in place; inputs: the arrays that it reads.

    tolerances: by how much a variable may differ from NumPy's; a variable that is missing has NumPy's bits; aliases:
    inputs that share another's memory, as expressions of it.
    """

    source: str
    inputs: Mapping[str, np.ndarray]
    outputs: tuple[str, ...]
    tolerances: Mapping[str, float] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def make_inputs(self) -> dict[str, np.ndarray]:
        """Fresh inputs, laid out as the originals."""
        return fresh_inputs(self.inputs, self.aliases)

    @property
    def function_source(self) -> str:
        """`def program(inputs...)` that returns every variable, in a dict."""
        results = ", ".join(f"{name!r}: {name}" for name in self.outputs)
        body = textwrap.indent(self.source, "    ")
        return f"def program({', '.join(self.inputs)}):\n{body}    return {{{results}}}\n"

    def function(self) -> Callable[..., dict[str, Any]]:
        """The program as a function of its inputs. Its source can be found by `inspect` and `linecache`."""
        return define(self.function_source, "program", f"<program {abs(hash(self.source)):x}>")

    def run(self) -> dict[str, Any]:
        """What NumPy makes of it: every variable, and every input as it is left."""
        space: dict[str, Any] = {"np": np, **self.make_inputs()}
        run_quietly(self.source, space)
        return {name: space[name] for name in (*self.inputs, *self.outputs)}

    def check(self, results: Mapping[str, Any], expected: Mapping[str, Any] | None = None) -> None:
        """Raise AssertionError, with the program, unless `results` (variables, inputs) are NumPy's."""
        expected = self.run() if expected is None else expected
        for name, value in results.items():
            scale = None
            if name in self.tolerances:
                scale = self.tolerances[name] / (SUM_EPSILONS * np.finfo(np.asarray(expected[name]).dtype).eps)
            try:
                assert_same(value, expected[name], reduction_scale=scale, where=name)
            except AssertionError as error:
                raise AssertionError(f"{error}\n\n{self}") from None

    def __str__(self) -> str:
        shown = "\n".join(f"# {name} = {x!r}  # strides {x.strides}" for name, x in self.inputs.items())
        return f"{shown}\n{self.source}"


def fresh_inputs(inputs: Mapping[str, np.ndarray], aliases: Mapping[str, str]) -> dict[str, np.ndarray]:
    copies: dict[str, np.ndarray] = {}
    for name, x in inputs.items():
        copies[name] = eval(aliases[name], {}, copies) if name in aliases else copy_layout(x)
    return copies


def copy_layout(x: np.ndarray) -> np.ndarray:
    """A copy with the same strides."""
    if x.base is None or x.size == 0:
        return x.copy(order="K")
    memory = np.zeros(x.base.shape, x.base.dtype) if isinstance(x.base, np.ndarray) else x.copy()
    offset = x.__array_interface__["data"][0] - x.base.__array_interface__["data"][0]
    view = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)
    view[...] = x
    return view


def run_quietly(source: str, space: dict[str, Any]) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, space)


# ---- expressions ----


@dataclass
class Expression:
    """text; exact: whether its value has NumPy's bits, given exact operands; smooth: small errors in, small out."""

    text: str
    exact: bool = True
    smooth: bool = True
    sums: bool = False  # errors in proportion to the operands, not to the result
    names: tuple[str, ...] = ()


SMOOTH_UNARY = ("-{x}", "abs({x})", "+{x}", "np.square({x})", "{x}.copy()", "np.conj({x})", "np.real({x})",
                "np.imag({x})", "np.sqrt(np.abs({x}))", "np.clip({x}, -2, 3)", "np.nan_to_num({x})")  # fmt: skip
STEP_UNARY = (
    "np.floor({x})", "np.ceil({x})", "np.rint({x})", "np.trunc({x})", "np.sign({x})", "np.isnan({x})",
    "np.isfinite({x})", "~({x} > 0)", "np.signbit({x})", "{x}.astype(bool)", "np.round({x}, 1)", "np.argsort({x})",
    "np.logical_not({x})",
)  # fmt: skip
ELEMENTARY = (
    "np.exp(-np.abs({x}))", "np.sin({x})", "np.cos({x})", "np.tanh({x})", "np.log1p(np.abs({x}))", "np.arctan({x})",
    "np.expm1({x} / 64)", "np.cbrt({x})", "np.log(np.abs({x}) + 1)", "1 / (1 + np.exp(-{x}))", "(np.abs({x}) + 1) ** 1.5",
    "np.exp2(-np.abs({x}))",
)  # fmt: skip
SMOOTH_BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / (np.abs({y}) + 1)", "np.maximum({x}, {y})", "np.minimum({x}, {y})",
    "np.fmax({x}, {y})", "np.add({x}, {y})", "np.multiply({x}, {y}, dtype=np.float64)",
)  # fmt: skip
STEP_BINARY = (
    "{x} < {y}", "{x} >= {y}", "{x} == {y}", "{x} != {y}", "{x} // {y}", "{x} % {y}", "np.fmod({x}, {y})", "{x} & {y}",
    "{x} | {y}", "{x} ^ {y}", "{x} << ({y} & 7)", "np.logical_and({x}, {y})", "np.copysign({x}, {y})",
    "np.isclose({x}, {y})", "np.gcd({x}, {y})", "np.heaviside({x}, {y})",
)  # fmt: skip
ELEMENTARY_BINARY = ("np.hypot({x}, {y})", "np.logaddexp({x}, {y})", "np.arctan2({x}, np.abs({y}) + 1)")
CHOICES = ("np.where({m}, {x}, {y})", "np.select([{m}], [{x}], {y})", "np.where({m}, {x}, 0)")
SUMS = (
    "{x}.sum({axis})", "np.mean({x}, {axis})", "{x}.std({axis})", "np.var({x}, {axis})", "np.cumsum({x}, axis={index})",
    "{x} @ {y}", "{x} @ {y}.T", "np.dot({x}, {y})", "np.einsum('ij,kj->ik', {x}, {y})", "np.tensordot({x}, {y}, 1)",
    "np.inner({x}, {y})", "np.trace({x})", "np.nansum({x}, {axis})", "np.diff({x}, axis={index})",
    "np.average({x}, {axis})", "{x}[{x} > 0].sum()", "np.mean({x}[{x} == {x}])", "np.einsum('...i,...i', {x}, {x})", "np.linalg.norm({x})",
)  # fmt: skip
FOLDS = ("{x}.max({axis})", "{x}[{m}].max()", "np.min({x}[{m}])", "{x}[{m}].any()", "{x}.min({axis})", "np.ptp({x}, {axis})", "np.sort({x}, axis={index})",
         "np.maximum.accumulate({x}, axis={index})", "np.median({x}, {axis})")  # fmt: skip
STEP_FOLDS = ("np.argmax({x}, axis={index})", "np.argmin({x})", "np.any({x}, {axis})", "np.all({x}, {axis})",
              "np.count_nonzero({x}, {axis})")  # fmt: skip
MOVEMENT = (
    "{x}.T", "{x}[::-1]", "{x}[1:]", "{x}[:, ::2]", "{x}[..., 0]", "{x}[:-1, 1:]", "{x}[None]", "{x}[0]",
    "{x}[-1:]", "{x}.reshape(-1)", "{x}.reshape({x}.shape[::-1])", "{x}.ravel()", "np.flip({x}, {index})",
    "np.roll({x}, 2, axis={index})", "np.concatenate([{x}, {y}], axis={index})", "np.stack([{x}, {y}])",
    "np.vstack([{x}, {y}])", "np.tile({x}, 2)", "np.repeat({x}, 2, axis={index})", "np.pad({x}, 1)",
    "np.pad({x}, 1, mode='edge')", "np.pad({x}, 1, mode='reflect')", "np.broadcast_to({x}, (2, *{x}.shape))",
    "np.squeeze({x})", "np.expand_dims({x}, {index})", "np.transpose({x})", "np.swapaxes({x}, 0, -1)",
    "np.take({x}, [0, -1, 0], axis={index})", "{x}[[0, -1]]", "np.tril({x})", "np.triu({x}, 1)", "np.diag({x})",
    "np.outer({x}, {y})", "np.diagonal({x})", "np.split({x}, [1])[1]", "np.rot90({x})", "np.hstack([{x}, {y}])",
    "np.kron({x}, {y})", "np.meshgrid({x}, {x})[1]", "np.full_like({x}, 3)", "np.zeros_like({x})",
    "np.moveaxis({x}, 0, -1)", "np.array([{x}, {y}])", "np.arange({x}.size) * 2", "np.eye(3) * {x}.size",
    "np.linspace(0, 1, {x}.size)", "np.atleast_2d({x})", "{x}.astype(np.float32)", "{x}.astype(np.complex128)",
    "np.append({x}, {y})",
)  # fmt: skip
STEP_MOVEMENT = ("{x}.astype(np.int64)", "{x}.astype(np.int32)", "{x}.astype(np.uint8)")
SCALARS = ("2", "3", "-1", "0.5", "1.25", "-2.0", "True", "1", "np.float32(1.5)", "np.int64(3)", "0")
REGIONS = ("...", "0", "1:", "::2", "-1", "::-1", ":, 0", "1:-1", ":, ::-1", "[0]", "[0, -1]", "..., -1", "None, 1:")
IN_PLACE = (
    "{v}[{region}] = {e}", "{v}[{region}] += {e}", "{v} += {e}", "{v} *= {e}", "{v} -= {e}",
    "{v}.T[{region}] = {e}", "{v}.reshape(-1)[1:3] = {e}", "np.add({v}, {e}, out={v})", "{v}[{m}] = {s}",
    "np.copyto({v}, {e}, where={m})", "{v}.fill({s})", "np.add.at({v}, [0, 0, -1], {s})", "{v}.sort(axis=0)",
    "{v}[{m}] += {s}", "{v}.flat[1] = {s}", "np.putmask({v}, {m}, {s})", "{v}[::2], {v}[1::2] = {s}, {e}",
    "np.multiply({v}, {e}, out={v}, where={m})",
)  # fmt: skip
MASKED = (
    "{v}[{m}] *= {s}", "{v}[{m}] = {v}[{m}] * {s} + 1", "{v}[{m}] = {w}[{m}]", "{v}[{m}] -= {w}[{m}]",
    "{v}[np.where({m})] = {s}", "{v}[{m}] = np.maximum({v}[{m}], {s})",
)  # fmt: skip
LOOPS = (
    "for i in range({k}):\n    {v}[{region}] += {e}",
    "for i in range({v}.shape[0]):\n    {v}[i] = {v}[i] + i",
    "for i in range({v}.shape[0]):\n    {v}[i] += {v}[i - 1]",
    "for i in range(1, {v}.shape[0]):\n    {v}[:i] += {v}[i]",
    "for i in range({k}):\n    {v}[{m}] += {s}",
    "for i in range({k}):\n    if i % 2:\n        continue\n    {v} += {s}\n    if i > 3:\n        break",
    "for i in range({v}.shape[0]):\n    if {c}:\n        {v}[i] = {s}\n    else:\n        {v}[i] += 1",
    "i = 0\nwhile i < 4 and {c}:\n    {v} += {s}\n    i += 1",
    "for i in range({v}.shape[0]):\n    for k in range(2):\n        {v}[i] = {v}[i] + k",
)
BRANCHES = (
    "if {c}:\n    {v} += {e}\nelse:\n    {v}[{region}] = {s}",
    "if {c}:\n    {v}[{region}] = {e}",
    "{v} += {s} if {c} else 1",
    "if {c}:\n    {v} *= {s}\nelif {c}:\n    {v} -= {s}\nelse:\n    {v}[{m}] = {s}",
    "if not ({c}) or {c}:\n    {v} -= {e}",
)
CONDITIONS = (
    "{x}.max() > {s}",
    "({x} > {s}).any()",
    "{x}.size > 3",
    "0 < np.count_nonzero({x}) <= 3",
    "({x} == {x}).all()",
)
COUNTERS = frozenset({"i", "k"})
ALIASES = ("{base}", "{base}[::-1]", "{base}[1:]", "{base}.T", "{base}[..., :1]")
STEP_IN_PLACE = ("{v}.sort", "//=", "%=")


class Builder:
    """Draws statements, runs them, and keeps track of which variables are exact."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.inputs: dict[str, np.ndarray] = {}
        self.statements: list[tuple[str, tuple[str, ...], bool, bool]] = []  # text, targets, exact, sums
        self.exact: dict[str, bool] = {}
        self.space: dict[str, Any] = {}
        self.tolerances: dict[str, float] = {}
        self.aliases: dict[str, str] = {}

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.choices.integer(0, len(items) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.choices.integer(1, one_in) == one_in

    # ---- inputs ----

    def draw_inputs(self) -> None:
        n, m = self.choices.integer(1, 5), self.choices.integer(1, 5)
        if self.chance(8):
            m = 0
        shapes = ((n,), (n, m), (n, m), (m,), (m, n), (n, 1), (1, m), (), (2, n, m), (n, n))
        for name in ("a", "b", "c")[: self.choices.integer(1, 3)]:
            self.inputs[name] = self.draw_array(self.pick(shapes), np.dtype(self.pick(DTYPES)))
        if self.chance(12):
            try:
                self.aliases["d"] = self.pick(ALIASES).format(base=self.pick(list(self.inputs)))
                self.inputs = fresh_inputs({**self.inputs, "d": np.zeros(())}, self.aliases)
            except (IndexError, TypeError):  # rank 0 has no such view
                self.aliases = {}
        self.restart()

    def draw_array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        seed = self.choices.integer(0, 2**16)
        rng = np.random.default_rng(seed)
        x = rng.integers(-32, 33, shape) / (1 if dtype.kind in "biu" else 8)
        x = np.asarray(x + 1j * rng.integers(-9, 9, shape) if dtype.kind == "c" else x)
        if dtype.kind == "u":
            x = np.abs(x)
        x = np.asarray(x > 0 if dtype.kind == "b" else x.astype(dtype))
        if dtype.kind == "f" and x.size and self.chance(3):
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
            x.reshape(-1)[seed % x.size] = special[seed % 5]
        layout = self.choices.integer(0, 5)
        if layout == 1 and x.ndim > 1:
            return np.asarray(x.T.copy().T)
        if layout == 2 and x.ndim:
            wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype)
            wide[..., ::2] = x
            return wide[..., ::2]
        return x[::-1].copy()[::-1] if layout == 3 and x.ndim else x

    def restart(self) -> None:
        """Run what there is from the beginning."""
        self.space = {"np": np, **fresh_inputs(self.inputs, self.aliases)}
        for text, *_ in self.statements:
            run_quietly(text, self.space)

    # ---- expressions ----

    @property
    def variables(self) -> list[str]:
        return [n for n in self.space if n != "np" and n not in COUNTERS and not n.startswith("__")]

    def operand(self, *, steps: bool = False) -> Expression:
        """A variable, a part of one, or a number. steps: exact ones only."""
        names = [n for n in self.variables if self.exact.get(n, True) or not steps]
        if self.chance(5) or not names:
            return Expression(self.pick(SCALARS))
        name = self.pick(names[::-1])
        return Expression(name, exact=self.exact.get(name, True), names=(name,))

    def array_operand(self, *, steps: bool = False) -> Expression:
        names = [
            n for n in self.variables
            if (self.exact.get(n, True) or not steps) and isinstance(self.space[n], np.ndarray)
        ]  # fmt: skip
        if not names:
            return Expression("np.ones((2, 3))")
        name = self.pick(names[::-1])
        return Expression(name, exact=self.exact.get(name, True), names=(name,))

    def expression(self, depth: int = 0) -> Expression:
        kinds: tuple[tuple[Callable[[], Expression], int], ...] = (
            (lambda: self.fill(SMOOTH_BINARY, depth=depth), 6),
            (lambda: self.fill(SMOOTH_UNARY, depth=depth), 2),
            (lambda: self.fill(STEP_BINARY, steps=True), 3),
            (lambda: self.fill(STEP_UNARY, steps=True), 2),
            (lambda: self.fill(ELEMENTARY, exact=False, depth=depth), 2),
            (lambda: self.fill(ELEMENTARY_BINARY, exact=False), 1),
            (lambda: self.fill(CHOICES, depth=depth), 3),
            (lambda: self.fill(SUMS, exact=False, sums=True, arrays=True), 4),
            (lambda: self.fill(FOLDS, arrays=True), 2),
            (lambda: self.fill(STEP_FOLDS, steps=True, arrays=True), 1),
            (lambda: self.fill(MOVEMENT, arrays=True), 6),
            (lambda: self.fill(STEP_MOVEMENT, steps=True, arrays=True), 1),
        )
        return self.pick([kind for kind, weight in kinds for _ in range(weight)])()

    def fill(
        self, templates: Sequence[str], *, exact: bool = True, steps: bool = False, sums: bool = False,
        arrays: bool = False, depth: int = 0,
    ) -> Expression:  # fmt: skip
        template = self.pick(templates)
        draw = self.array_operand if arrays else self.operand
        x = self.expression(depth + 1) if depth < 2 and not arrays and self.chance(4) else draw(steps=steps)
        y = draw(steps=steps) if "{y}" in template else Expression("")
        m = self.mask() if "{m}" in template else Expression("")
        axis = self.pick(("axis=0", "axis=-1", "axis=None", "axis=0, keepdims=True", "axis=-1, keepdims=True"))
        text = template.format(
            x=_parenthesised(x.text), y=_parenthesised(y.text), m=m.text, axis=axis, index=self.pick((0, -1))
        )
        names = (*x.names, *y.names, *m.names)
        if templates is not MOVEMENT and ("complex" in text or any(self.is_complex(n) for n in names)):
            exact = False  # products and absolute values of complex numbers are rounded in more than one way
        return Expression(text, exact and x.exact and y.exact, not steps, sums or x.sums, names)

    def is_complex(self, name: str) -> bool:
        return self.space[name].dtype.kind == "c"

    def mask(self) -> Expression:
        x = self.array_operand(steps=True)
        if x.names and not self.space[x.names[0]].ndim:
            x = Expression("np.ones((2, 3))")
        return Expression(f"({x.text} {self.pick(('>', '<=', '!='))} {self.pick(('0', '1', '0.5'))})", names=x.names)

    def condition(self) -> str:
        """A comparison of exact values that is one bool."""
        return self.pick(CONDITIONS).format(x=self.array_operand(steps=True).text, s=self.pick(("0", "1", "4")))

    # ---- statements ----

    def draw_statement(self) -> bool:
        """One more statement; False if none was found that runs."""
        for _ in range(ATTEMPTS):
            drawn = self.in_place() if self.chance(4) else self.assignment()
            if drawn is not None and self.accept(*drawn):
                return True
        return False

    def assignment(self) -> tuple[str, tuple[str, ...], bool, bool]:
        e = self.expression()
        name = self.pick(self.variables) if self.chance(6) else f"t{len(self.statements)}"
        return f"{name} = {e.text}", (name,), e.exact, e.sums

    def in_place(self) -> tuple[str, tuple[str, ...], bool, bool] | None:
        template = self.pick(self.pick((IN_PLACE, IN_PLACE, IN_PLACE, MASKED, MASKED, LOOPS, BRANCHES)))
        targets = [n for n in self.variables if isinstance(self.space[n], np.ndarray)]
        if any(step in template for step in STEP_IN_PLACE):
            targets = [n for n in targets if self.exact.get(n, True)]
        if ".at(" in template:  # which NumPy also does to read-only arrays
            targets = [n for n in targets if self.space[n].flags.writeable]
        if not targets:
            return None
        name = self.pick(targets[::-1])
        e = self.expression() if self.chance(2) else self.operand()
        if self.space[name].dtype.kind in "biu" and not e.exact:
            return None  # storing cuts off fractions
        m = self.mask()
        other = self.array_operand()
        if "{w}" in template:
            e = other
        text = template.format(
            v=name, e=e.text, m=m.text, s=self.pick(SCALARS), region=self.pick(REGIONS), w=other.text,
            k=self.pick((0, 1, 2, 7, 40)), c=self.condition() if "{c}" in template else "",
        )  # fmt: skip
        exact = e.exact and self.exact.get(name, True) and not (self.is_complex(name) and "=" in text and "*" in text)
        return text, (name,), exact, e.sums

    def accept(self, text: str, targets: tuple[str, ...], exact: bool, sums: bool) -> bool:
        """Run the statement; keep it if what it makes can be compiled and compared."""
        before = dict(self.exact)
        self.statements.append((text, targets, exact, sums))
        try:
            run_quietly(text, self.space)
            kept = all(self.acceptable(self.space[name], exact) for name in targets)
        except Exception:  # NumPy says no: another statement is drawn
            kept = False
        if kept:
            self.mark(targets, exact)
            kept = self.measure()
        if not kept:
            self.statements.pop()
            self.exact = before
            self.restart()
        return kept

    def acceptable(self, value: Any, exact: bool) -> bool:
        if not isinstance(value, np.ndarray | np.generic):
            return False
        if value.dtype.char not in SUPPORTED or value.size > MAX_ELEMENTS:
            return False
        if value.dtype.kind == "c" and not exact and not np.all(np.isfinite(value)):
            return False  # what a product with an infinite complex number is depends on how it is computed
        if value.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                magnitudes = np.abs(value[np.isfinite(value)]) if value.ndim else np.abs(value)
            return not np.any(np.isfinite(magnitudes) & (magnitudes > 1e12))
        return True

    def mark(self, targets: tuple[str, ...], exact: bool) -> None:
        """Integers and bools are exact always; memory is as exact as what was last written to any part of it."""
        for target in targets:
            value = self.space[target]
            is_exact = exact or value.dtype.kind in "biu"
            self.exact[target] = is_exact
            if not is_exact and isinstance(value, np.ndarray):
                for name in self.variables:
                    other = self.space[name]
                    if isinstance(other, np.ndarray) and np.shares_memory(value, other):
                        self.exact[name] = False

    def measure(self) -> bool:
        """Find the tolerances by running with errors put in; False if a small error became a large one."""
        if all(self.exact.get(n, True) for n in self.variables):
            self.tolerances = {}
            return True
        # Errors put in may cancel in all runs: no tolerance is less than the errors of one statement.
        inexact = [n for n in self.variables if not self.exact.get(n, True)]
        tolerances = {n: 4 * _roundings(self.space[n]) for n in inexact}
        for seed in range(3):
            space = self.run_perturbed(seed)
            for name in self.variables:
                deviation = _deviation(self.space[name], space[name])
                if name in tolerances:
                    tolerances[name] = max(tolerances[name], 4 * deviation)
                elif deviation != 0:
                    return False
        if any(t >= 1e-2 * (1 + _largest(self.space[n])) for n, t in tolerances.items()):
            return False
        self.tolerances = tolerances
        return True

    def run_perturbed(self, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        space: dict[str, Any] = {"np": np, **fresh_inputs(self.inputs, self.aliases)}
        for text, targets, exact, sums in self.statements:
            run_quietly(text, space)
            if exact:
                continue
            scale = max((_largest(space[n]) for n in self.variables if n in space), default=1.0)
            for name in targets:
                space[name] = _perturbed(space[name], scale * MAX_ELEMENTS**0.5 if sums else 0.0, rng)
        return space

    def build(self) -> Program:
        self.draw_inputs()
        for _ in range(self.choices.integer(1, MAX_STATEMENTS)):
            if not self.draw_statement():
                break
        if not self.statements:
            self.accept("t0 = a + 1", ("t0",), True, False)
        outputs = tuple(n for n in self.variables if n not in self.inputs or self.rebinds(n))
        source = "".join(f"{text}\n" for text, *_ in self.statements)
        return Program(source, dict(self.inputs), outputs, dict(self.tolerances), dict(self.aliases))

    def rebinds(self, name: str) -> bool:
        return any(text.startswith(f"{name} = ") for text, *_ in self.statements)


def _parenthesised(text: str) -> str:
    return text if not text or text.isidentifier() or text.replace(".", "").isdigit() else f"({text})"


def _largest(value: Any) -> float:
    x = np.asarray(value)
    if x.dtype.kind not in "fc" or not x.size:
        return 1.0
    with np.errstate(all="ignore"):
        magnitudes = np.abs(x)
    return float(np.max(magnitudes, where=np.isfinite(magnitudes), initial=0.0))


def _roundings(value: Any) -> float:
    """The error that is put into a variable, at its largest element."""
    return PERTURBATION * float(np.finfo(value.dtype).eps) * _largest(value) if value.dtype.kind in "fc" else 0.0


def _perturbed(value: Any, scale: float, rng: np.random.Generator) -> Any:
    """`value` with errors of some eps, in place where it is memory."""
    x = np.asarray(value)
    if x.dtype.kind not in "fc":
        return value
    eps = PERTURBATION * np.finfo(x.dtype).eps
    with np.errstate(all="ignore"):
        noisy = x * (1 + eps * rng.choice((-1.0, 1.0), x.shape)) + eps * scale * rng.choice((-1.0, 1.0), x.shape)
        noisy = np.where(np.isfinite(x), noisy, x).astype(x.dtype)
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = noisy
        return value
    return noisy if isinstance(value, np.ndarray) else noisy[()]


def _deviation(value: Any, other: Any) -> float:
    """The largest difference; inf where one is NaN or infinite and the other is not."""
    a, b = np.asarray(value), np.asarray(other)
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.inf
    if not a.size:
        return 0.0
    if a.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, b) else np.inf
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = np.where(same, 0.0, np.abs(a - b).astype(np.float64))
    return float(np.max(np.where(np.isnan(difference), np.inf, difference)))


def random_program(seed: int | None = None) -> Program:
    """A program drawn with a random generator, for long runs without Hypothesis."""
    return Builder(Seeded(seed)).build()


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs as a Hypothesis strategy; a failing one shrinks to few statements and small inputs."""
    return Builder(Drawn(draw)).build()
