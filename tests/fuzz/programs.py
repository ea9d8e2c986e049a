"""Random NumPy programs, as the source text of a function.

A program grows statement by statement and is run by NumPy while it grows, so that every statement is one that NumPy
accepts for these values. `Program.reduced` cuts a failing one down.
"""

from __future__ import annotations

import ast
import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.sources import define

from .inputs import DTYPES, Input, draw_inputs
from .phrases import BINARY, PHRASES, REDUCING, UNARY, Phrase
from .statements import BRANCHES, CONDITIONS, FUNCTIONS, IN_PLACE, LOOPS, MASKED

MAX_BROADCAST = 1 << 26  # elements that a phrase may make of its operands' shapes, where its result is large
MAX_SIZE = 300_000  # elements of one value
_numbers = itertools.count()


@dataclass(frozen=True)
class Program:
    """statements: the body; results: names it returns; inexact: names whose values may differ by rounding."""

    seed: int
    inputs: tuple[Input, ...]
    sizes: tuple[dict[str, int], ...]
    statements: tuple[str, ...]
    results: tuple[str, ...]
    inexact: frozenset[str]

    @property
    def source(self) -> str:
        lines = [f"def program({', '.join(i.name for i in self.inputs)}):"]
        lines += [f"    {line}" for statement in self.statements for line in statement.split("\n")]
        result = self.results[0] if len(self.results) == 1 else f"({', '.join(self.results)})"
        return "\n".join([*lines, f"    return {result}", ""])

    def function(self) -> Callable[..., Any]:
        """The program, with its source where Python looks for it."""
        return define(self.source, "program", f"<program {next(_numbers)}>")

    def arguments(self, which: int) -> list[Any]:
        """Fresh arguments for the set of sizes `which`; the same each time."""
        rng = np.random.default_rng((self.seed, which))
        made: dict[str, Any] = {}
        for entry in self.inputs:
            made[entry.name] = entry.make(self.sizes[which], rng, made)
        return list(made.values())

    def reduced(self) -> Iterator[Program]:
        """Smaller programs to try."""
        for result in self.results:
            if len(self.results) > 1:
                yield replace(self, results=(result,))
        for i in reversed(range(len(self.statements))):
            yield replace(self, statements=(*self.statements[:i], *self.statements[i + 1 :]))
        for i, statement in enumerate(self.statements):
            name = statement.split(" ")[0]
            if name in _first_names(statement) and name not in self.results and i + 1 == len(self.statements):
                yield replace(self, results=(name,))
            for shorter in _shorter(statement):
                yield replace(self, statements=(*self.statements[:i], shorter, *self.statements[i + 1 :]))


def _first_names(statement: str) -> set[str]:
    return {statement.split(" ")[0]} if " = " in statement.split("\n")[0] else set()


def _shorter(statement: str) -> Iterator[str]:
    """A statement of several lines without one of them, or with a block in place of what it stands in."""
    lines = statement.split("\n")
    for i in range(len(lines)) if len(lines) > 1 else ():
        texts = ["\n".join([*lines[:i], *lines[i + 1 :]])]
        if lines[i].endswith(":") and not lines[i].startswith(" "):
            end = next((k for k in range(i + 1, len(lines)) if not lines[k].startswith("    ")), len(lines))
            texts.append("\n".join([*lines[:i], *(line[4:] for line in lines[i + 1 : end]), *lines[end:]]))
        for text in texts:
            try:
                ast.parse(text)
            except SyntaxError:
                continue
            yield text


@dataclass
class Value:
    """An expression and what it evaluates to."""

    text: str
    value: Any
    inexact: bool = False

    @property
    def kind(self) -> str:
        return self.value.dtype.kind if hasattr(self.value, "dtype") else np.asarray(self.value).dtype.kind

    @property
    def ndim(self) -> int:
        return np.ndim(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)


class NoSuchPhraseError(Exception):
    """What was drawn does not fit; draw again."""


@dataclass
class Grower:
    """Grows one program from `seed`."""

    seed: int
    max_statements: int = 8
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.inputs, self.sizes = draw_inputs(self.rng)
        self.statements: list[str] = []
        self.inexact: set[str] = set()
        self.grows = False
        blank = Program(
            self.seed, tuple(self.inputs), tuple(self.sizes), ("pass",), (self.inputs[0].name,), frozenset()
        )
        self.env: dict[str, Any] = dict(zip((i.name for i in self.inputs), blank.arguments(0), strict=True))
        self.scope = {"np": np}

    def program(self) -> Program:
        wanted = self.rng.randint(2, self.max_statements)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(20 * wanted):
                if len(self.statements) >= wanted:
                    break
                try:
                    self.grow()
                except NoSuchPhraseError:
                    continue
        if not self.statements:
            self.statements.append("t0 = a")
            self.env["t0"] = self.env["a"]
        made = [name for name in self.env if name.startswith("t")] or ["a"]
        results = dict.fromkeys([*self.rng.sample(made, self.rng.randint(1, min(3, len(made)))), made[-1]])
        inexact = frozenset(self.inexact)
        if self.grows:  # with these sizes nobody has tried it
            self.sizes[1] = {d: min(n, 9) for d, n in self.sizes[1].items()}
        return Program(
            self.seed, tuple(self.inputs), tuple(self.sizes), tuple(self.statements), tuple(results), inexact
        )

    # ---- statements ----

    def grow(self) -> None:
        kind = self.rng.choice(
            ("assign",) * 10 + ("augment", "augment", "store", "store", "masked", "out", "method") + ("statement",) * 8
        )
        getattr(self, f"_{kind}")()

    def _assign(self) -> None:
        found = self.expression(self.rng.choice((1, 2, 2, 3)))
        if isinstance(found.value, tuple | list | type(None) | str):
            raise NoSuchPhraseError
        name = f"t{len(self.statements)}"
        self._run(f"{name} = {found.text}", name, found.inexact)

    def _target(self) -> Value:
        """An array that can be written into."""
        names = [n for n, v in self.env.items() if isinstance(v, np.ndarray) and v.flags.writeable]
        if not names:
            raise NoSuchPhraseError
        made = [n for n in names if n.startswith("t")]
        name = self.rng.choice(made if made and self.rng.random() < 0.7 else names)
        return Value(name, self.env[name], name in self.inexact)

    def _augment(self) -> None:
        target = self._target()
        if target.ndim and self.rng.random() < 0.5:
            target = self.indexed(target)
        other = self.fitting(target)
        operator = self.rng.choice(("+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="))
        discontinuous = operator in ("//=", "%=")
        if discontinuous and (target.inexact or other.inexact):
            raise NoSuchPhraseError
        inexact = (
            other.inexact or target.inexact or operator == "**=" or target.kind == "c" and operator in ("*=", "/=")
        )
        self._write(f"{target.text} {operator} {other.text}", target, inexact)

    def _store(self) -> None:
        target = self._target()
        region = self.indexed(target) if target.ndim else Value(f"{target.text}[()]", target.value)
        other = self.fitting(region)
        self._write(f"{region.text} = {other.text}", target, other.inexact or target.inexact)

    def _masked(self) -> None:
        target = self._target()
        condition = self.condition(target)
        other = self.fitting(Value("", target.value.dtype.type(0)))
        operator = self.rng.choice(("=", "=", "+=", "*="))
        text = self.rng.choice(
            (
                f"{target.text}[{condition.text}] {operator} {other.text}",
                f"np.putmask({target.text}, {condition.text}, {other.text})",
                f"np.copyto({target.text}, {other.text}, where={condition.text}, casting='unsafe')",
            )
        )
        if other.ndim and "[" in text:
            raise NoSuchPhraseError
        self._write(text, target, other.inexact or target.inexact)

    def _out(self) -> None:
        target = self._target()
        x, y = self.fitting(target), self.fitting(target)
        name = self.rng.choice(("add", "subtract", "multiply", "maximum", "minimum", "divide", "hypot", "equal"))
        if name == "equal" and (x.inexact or y.inexact):
            raise NoSuchPhraseError
        inexact = x.inexact or y.inexact or name == "hypot" or "c" in (x.kind, y.kind)
        where = ""
        # NumPy itself crashes where it compares -1 with unsigned numbers under a mask (`np.equal(-1, u, out=u, where=m)`).
        if self.rng.random() < 0.3 and name != "equal":
            where = f", where={self.condition(target).text}"
            inexact = inexact or target.inexact
        self._write(f"np.{name}({x.text}, {y.text}, out={target.text}{where})", target, inexact)

    def _method(self) -> None:
        target = self._target()
        text = self.rng.choice(("{x}.fill(3)", "{x}.sort()", "{x}.sort(axis=0)", "{x}.T[...] = {x}.T[...] + {x}.T[...]",
                                "np.clip({x}, 0, 2, out={x})", "{x}[...] = 1", "{x}.flat[0] = 2",
                                "np.fill_diagonal({x}, 1)", "np.add.at({x}, [0, 0], 1)", "np.negative({x}.copy(), {x})",
                                "np.place({x}, {x} > 1, [0])", "{x}.partition(0)"))  # fmt: skip
        self._write(text.format(x=target.text), target, target.inexact)

    def _statement(self) -> None:
        """A loop, a branch, an update through a view or a mask, a helper function."""
        rng = self.rng
        kind = rng.choice(rng.choice((IN_PLACE, IN_PLACE, MASKED, LOOPS, LOOPS, BRANCHES, BRANCHES, FUNCTIONS)))
        target = self._target()
        if target.ndim < kind.min_ndim or kind.steps and target.inexact:
            raise NoSuchPhraseError
        parts = {"v": target.text, "n": str(rng.choice((0, 1, 2, 7, 40)))}
        operands = [target]
        for letter, draw in (
            ("e", lambda: self.fitting(target)), ("s", self.scalar),
            ("w", lambda: self.variable(lambda v: isinstance(v, np.ndarray) and v.shape == target.shape)),
        ):  # fmt: skip
            if "{" + letter + "}" in kind.text:
                operands.append(draw())
                parts[letter] = operands[-1].text
        if "{r}" in kind.text:
            parts["r"] = self.indexed(target).text[len(target.text) + 1 : -1] if target.ndim else "..."
        if "{m}" in kind.text:
            parts["m"] = f"({self.condition(target).text})"
        for letter in ("c", "c2"):
            if "{" + letter + "}" in kind.text:
                parts[letter] = self.test()
        if kind.makes:
            parts["t"] = f"t{len(self.statements)}"
        rounded = kind.rounds or any(o.inexact for o in operands) or any(o.kind == "c" for o in operands)
        self._compound(kind.text.format(**parts), parts.get("t", ""), rounded)

    def test(self) -> str:
        """A condition that is one bool, and does not hang on a rounding."""
        found = self.variable(lambda v: isinstance(v, np.ndarray))
        if found.inexact:
            raise NoSuchPhraseError
        text = self.rng.choice(CONDITIONS).format(x=found.text, s=self.rng.choice(("0", "1", "4")))
        return self._checked(Value(text, None)).text

    def _compound(self, text: str, made: str, inexact: bool) -> None:
        """Run statements that may bind and write to several variables; take back what they did if they fail."""
        before = dict(self.env)
        saved = {n: v.copy() for n, v in before.items() if isinstance(v, np.ndarray)}
        try:
            space = {**self.scope, **self.env}
            exec(text, space)
            values = {n: v for n, v in space.items() if n in before or n == made}
            if not all(map(_is_number, values.values())):
                raise NoSuchPhraseError
        except Exception:
            for n, v in saved.items():
                if before[n].flags.writeable and before[n].shape == v.shape:
                    np.copyto(before[n], v)
            raise NoSuchPhraseError from None
        self.env.update(values)
        self.statements.append(text)
        if inexact:
            changed = [n for n, v in saved.items() if v.tobytes() != before[n].tobytes()]
            rebound = [n for n, v in values.items() if v is not before.get(n)]
            self.inexact.update(changed, rebound)

    def _write(self, text: str, target: Value, inexact: bool) -> None:
        name = target.text.split("[")[0].split(".")[0]
        memory = _owner(self.env[name])
        saved = {n: v.copy() for n, v in self.env.items() if isinstance(v, np.ndarray) and _owner(v) is memory}
        try:
            exec(text, self.scope, self.env)
        except Exception:
            for n, v in saved.items():
                if self.env[n].flags.writeable and self.env[n].shape == v.shape:
                    np.copyto(self.env[n], v)
            raise NoSuchPhraseError from None
        self.statements.append(text)
        if inexact:
            self.inexact.update(saved)

    def _run(self, text: str, name: str, inexact: bool) -> None:
        try:
            exec(text, self.scope, self.env)
        except Exception:
            raise NoSuchPhraseError from None
        value = self.env[name]
        if not _is_number(value):
            del self.env[name]
            raise NoSuchPhraseError
        self.statements.append(text)
        if inexact:
            self.inexact.add(name)

    # ---- expressions ----

    def variable(self, wanted: Callable[[Any], bool] = lambda v: True) -> Value:
        """A name, the latest ones more often."""
        names = [n for n, v in self.env.items() if wanted(v)]
        if not names:
            raise NoSuchPhraseError
        name = names[-1] if self.rng.random() < 0.35 else self.rng.choice(names)
        return Value(name, self.env[name], name in self.inexact)

    def scalar(self) -> Value:
        text = self.rng.choice(("2", "1", "0", "3", "-1", "0.5", "2.0", "-0.0", "1.5", "1e-3", "True", "np.float32(0.1)",
                                "np.int8(3)", "np.float64(2.5)", "np.uint8(200)", "np.pi", "7", "1j", "np.int64(-2)",
                                "np.nan", "np.inf"))  # fmt: skip
        return Value(text, eval(text))

    def expression(self, depth: int) -> Value:
        if depth == 0:
            return self.variable()
        for _ in range(30):
            try:
                family = self.rng.choice(
                    (UNARY,) * 3 + (BINARY,) * 5 + (PHRASES,) * 4 + (REDUCING,) * 2 + ("index",) * 2
                )
                if family == "index":
                    return self._checked(self.indexed(self.variable(lambda v: np.ndim(v) > 0)))
                return self._phrase(self.rng.choice(family), depth)
            except NoSuchPhraseError:
                continue
        raise NoSuchPhraseError

    def _phrase(self, phrase: Phrase, depth: int) -> Value:
        inexact = phrase.inexact
        x = self.expression(depth - 1)
        if x.kind not in phrase.kinds or x.ndim < phrase.min_ndim or isinstance(x.value, tuple):
            raise NoSuchPhraseError
        parts = {"x": _bracketed(x)}
        operands = [x]
        if "{y}" in phrase.text:
            operands.append(self.fitting(x) if phrase.broadcasts else self.variable())
            parts["y"] = _bracketed(operands[-1])
        if "{z}" in phrase.text:
            operands.append(self.fitting(x))
            parts["z"] = _bracketed(operands[-1])
        if "{cond}" in phrase.text:
            parts["cond"] = self.condition(x).text
        if any(o.kind not in phrase.kinds for o in operands):
            raise NoSuchPhraseError
        if phrase.discontinuous and any(o.inexact for o in operands):
            raise NoSuchPhraseError
        if phrase.grows:
            sizes = [float(max(np.size(o.value), 1)) for o in operands]
            if np.prod(sizes) * (sizes[0] if len(sizes) == 1 else 1) > MAX_SIZE:
                raise NoSuchPhraseError
            self.grows = True
        if _broadcast_size(operands) > MAX_BROADCAST:
            raise NoSuchPhraseError
        text = self._filled(phrase.text, x, parts)
        inexact = inexact or any(o.inexact for o in operands) or phrase.inexact_complex and any(
            o.kind == "c" for o in operands
        )  # fmt: skip
        return self._checked(Value(text, None, inexact))

    def _filled(self, text: str, x: Value, parts: dict[str, str]) -> str:
        rng, ndim = self.rng, x.ndim
        makers: dict[str, Callable[[], Any]] = {
            "axis": lambda: rng.randrange(-ndim, ndim) if ndim else None,
            "axis2": lambda: rng.randrange(-ndim, ndim) if ndim else None,
            "axes": lambda: rng.choice((None, rng.randrange(-ndim, ndim), tuple(range(ndim)), tuple(rng.sample(range(ndim), rng.randint(1, ndim))))) if ndim else None,
            "keepdims": lambda: rng.random() < 0.4,
            "perm": lambda: tuple(rng.sample(range(ndim), ndim)),
            "dtype": lambda: f"np.{rng.choice(DTYPES)}".replace("np.bool", "np.bool_"),
            "n": lambda: rng.choice((-2, -1, 1, 2, 3)),
            "small": lambda: rng.choice((0, 1, 2, 3)),
            "steps": lambda: rng.choice((1, 2, 5)),
            "shape": lambda: self._reshaping(x),
            "indices": lambda: [rng.randrange(-x.shape[0], x.shape[0]) for _ in range(rng.randint(1, 5))] if ndim and x.shape[0] else [],
            "scalar": lambda: self.scalar().text,
        }  # fmt: skip
        for name, make in makers.items():
            if "{" + name + "}" in text:
                parts[name] = str(make())
        return text.format(**parts)

    def _reshaping(self, x: Value) -> str:
        size = int(np.prod(x.shape))
        choices = ["-1", "(-1,)", "(1, -1)", "(-1, 1)", f"{x.shape[::-1]}"]
        choices += [f"(-1, {d})" for d in (2, 3, 4) if size % d == 0 and size]
        if x.ndim > 1:
            choices.append("({0}.shape[0], -1)" if size else "-1")
        return self.rng.choice(choices).replace("{0}", _bracketed(x))

    def fitting(self, x: Value) -> Value:
        """Something that broadcasts with `x`."""
        if self.rng.random() < 0.3:
            return self.scalar()
        found = self.variable(lambda v: _broadcasts(np.shape(v), x.shape))
        if found.ndim == 2 and x.ndim == 2 and self.rng.random() < 0.1:
            return self._checked(Value(f"{found.text}.T", found.value.T, found.inexact))
        return found

    def condition(self, x: Value) -> Value:
        """A mask for `x` whose value does not hang on a rounding."""
        found = self.variable(lambda v: np.shape(v) == x.shape)
        if found.inexact:
            raise NoSuchPhraseError
        text = self.rng.choice(("{0} > 0", "{0} <= 1", "{0} == {0}", "{0} != 0", "np.isfinite({0})", "{0} % 2 == 0"))
        return self._checked(Value(text.format(found.text), None))

    def indexed(self, x: Value) -> Value:
        """A basic index of a variable; slices are written so that other sizes fit, too."""
        rng = self.rng
        parts: list[str] = []
        for _ in range(rng.randint(1, x.ndim) if x.ndim else 0):
            choice = rng.random()
            n = x.shape[len([p for p in parts if p not in ("None", "...")])]
            if choice < 0.25 and n:
                parts.append(str(rng.choice((0, -1, n // 2))))
            elif choice < 0.9:
                step = rng.choice(("", "", "", ":2", ":-1", ":3", ":-2"))
                low = "" if step.startswith(":-") else rng.choice(("", "", "1", "2", f"{n // 2}", "-3"))
                high = "" if step.startswith(":-") else rng.choice(("", "", "-1", "-2", f"{n // 2 + 1}", "3"))
                parts.append(f"{low}:{high}{step}")
            else:
                parts.append(":")
        if rng.random() < 0.08:
            parts.insert(rng.randrange(len(parts) + 1), "None")
        if rng.random() < 0.08:
            parts.append("...")
        return self._checked(Value(f"{x.text}[{', '.join(parts) or '...'}]", None, x.inexact))

    def _checked(self, x: Value) -> Value:
        """`x` with its value; refuses what NumPy refuses, and what is too large or not numbers."""
        try:
            value = eval(x.text, self.scope, dict(self.env))
        except Exception:
            raise NoSuchPhraseError from None
        if not _is_number(value):
            raise NoSuchPhraseError
        return Value(x.text, value, x.inexact)


def _broadcast_size(operands: list[Value]) -> int:
    """How many elements the operands have together; 0 if they do not fit."""
    try:
        return math.prod(np.broadcast_shapes(*(np.shape(o.value) for o in operands)))
    except ValueError:
        return 0


def _owner(array: Any) -> Any:
    """The array whose memory this one shows; also of empty ones, which share no memory but will at other sizes."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | int | float | complex):
        return True
    if not isinstance(value, np.ndarray | np.generic) or value.size > MAX_SIZE or value.ndim > 5:
        return False
    return value.dtype.kind in "biufc" and value.dtype not in (np.float16, np.longdouble, np.clongdouble)


def _bracketed(x: Value) -> str:
    return (
        x.text
        if x.text.isidentifier() or x.text.endswith(")") and x.text.startswith("np.") and x.text.count("(") == 1
        else f"({x.text})"
    )


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return len(np.broadcast_shapes(a, b)) < 5
    except ValueError:
        return False


def random_program(seed: int, max_statements: int = 8) -> Program:
    """The program that `seed` grows."""
    return Grower(seed, max_statements).program()
