"""Random programs over what programs seldom meet: uncommon arrays, containers, keywords, prints, changing globals.

Arguments are float16 and big-endian arrays, records, objects, dates, subclasses, 0-d arrays, NumPy's scalars, read-only,
overlapping, unaligned and repeated arrays, lists, dicts, tuples and dataclasses of arrays. Whether a program compiles or
runs in NumPy is all the same: its result, what it prints, the class of its error and all that it was given are compared.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import io
import itertools
import re
import warnings
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import workbench as wb
from tests.sources import define
from workbench.errors import ControlFlowTypeError

from . import nested
from .nested import Nested, _is_exact, _laid_out, _leaves, _numbers

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Body:
    """A dataclass of an array and a number."""

    x: Any
    n: int = 2


def line(slope: Any, offset: Any) -> Callable[[Any], Any]:
    """A function that holds what it computes with."""

    def value(q, by=2.0):
        return q * slope + by * offset

    return value


class Phase(enum.IntEnum):
    """Members that are numbers."""

    IDLE = 0
    RUN = 1
    STOP = 2


class Colour(enum.Enum):
    """Members that are none."""

    RED = "r"
    BLUE = "b"


class Tagged(np.ndarray):
    """A subclass that keeps nothing but its class."""


# Each makes an argument of (shape, rng); the first ones are also those that statements write into most.
KINDS: dict[str, Callable[[tuple[int, ...], np.random.Generator], Any]] = {
    "float64": lambda shape, rng: _numbers(shape, np.dtype(np.float64), rng),
    "int64": lambda shape, rng: _numbers(shape, np.dtype(np.int64), rng),
    "complex128": lambda shape, rng: _numbers(shape, np.dtype(np.complex128), rng),
    "bool": lambda shape, rng: _numbers(shape, np.dtype(bool), rng),
    "float16": lambda shape, rng: _numbers(shape, np.dtype(np.float16), rng),
    "longdouble": lambda shape, rng: _numbers(shape, np.dtype(np.longdouble), rng),
    "big-endian floats": lambda shape, rng: _numbers(shape, np.dtype(float), rng).astype(">f8"),
    "big-endian ints": lambda shape, rng: _numbers(shape, np.dtype(int), rng).astype(">i4"),
    "records": lambda shape, rng: np.rec.fromarrays(
        [_numbers(shape, np.dtype(float), rng), _numbers(shape, np.dtype(int), rng)], names="x,y"
    ),
    "structured": lambda shape, rng: np.array(
        [(float(k), k, k % 2 == 0) for k in range(shape[0])], [("x", "f8"), ("y", "i4"), ("z", "?")]
    ),
    "objects": lambda shape, rng: _numbers(shape, np.dtype(int), rng).astype(object),
    "dates": lambda shape, rng: np.datetime64("2024-02-28") + _numbers(shape, np.dtype(np.uint8), rng).astype(int),
    "spans": lambda shape, rng: _numbers(shape, np.dtype(int), rng).astype("m8[h]"),
    "strings": lambda shape, rng: _numbers(shape, np.dtype(int), rng).astype(str),
    "matrix": lambda shape, rng: np.matrix(_numbers(shape[:2], np.dtype(float), rng)),  # type: ignore[attr-defined]
    "masked": lambda shape, rng: np.ma.masked_less(_numbers(shape, np.dtype(float), rng), 0),
    "tagged": lambda shape, rng: _numbers(shape, np.dtype(float), rng).view(Tagged),
    "rank 0": lambda shape, rng: _numbers((), np.dtype(rng.choice(["f8", "i8", "?", "f4"])), rng),
    "scalar": lambda shape, rng: _numbers((), np.dtype(rng.choice(["f8", "i8", "?", "f4", "u1", "c16"])), rng)[()],
    "read-only": lambda shape, rng: _read_only(_numbers(shape, np.dtype(float), rng)),
    "broadcast": lambda shape, rng: np.broadcast_to(_numbers(shape[-1:], np.dtype(float), rng), shape),
    "zero stride": lambda shape, rng: np.lib.stride_tricks.as_strided(
        _numbers(shape[-1:], np.dtype(float), rng), shape, (0,) * (len(shape) - 1) + (8,)
    ),
    "windows": lambda shape, rng: np.lib.stride_tricks.as_strided(
        _numbers((shape[0] + 2,), np.dtype(float), rng), (shape[0], 3), (8, 8)
    ),
    "backwards": lambda shape, rng: _numbers(shape, np.dtype(float), rng)[(slice(None, None, -1),) * len(shape)],
    "unaligned": lambda shape, rng: _unaligned(_numbers(shape, np.dtype(float), rng)),
    "field": lambda shape, rng: KINDS["structured"](shape, rng)["x"],
    "list of arrays": lambda shape, rng: [_numbers(shape, np.dtype(float), rng) for _ in range(2)],
    "tuple of arrays": lambda shape, rng: (
        _numbers(shape, np.dtype(float), rng),
        2,
        _numbers(shape, np.dtype(int), rng),
    ),
    "dict of arrays": lambda shape, rng: {"u": _numbers(shape, np.dtype(float), rng), "v": 3},
    "pair": lambda shape, rng: Pair(_numbers(shape, np.dtype(float), rng), 1.5),
    "body": lambda shape, rng: Body(_numbers(shape, np.dtype(float), rng)),
    "body of parts": lambda shape, rng: Body([_numbers(shape, np.dtype(float), rng), 1.5], int(rng.integers(0, 3))),
    "body in a body": lambda shape, rng: Body(Body(_numbers(shape[-1:], np.dtype(float), rng)), 3),
    "line": lambda shape, rng: line(_numbers(shape[-1:], np.dtype(float), rng), float(rng.integers(-3, 4))),
    "partial": lambda shape, rng: functools.partial(line(1.5, 2), by=float(rng.integers(-3, 4))),
    "list of numbers": lambda shape, rng: [int(v) for v in rng.integers(-4, 5, shape[0])],
    "rows of numbers": lambda shape, rng: rng.integers(-4, 5, (shape[0], 2)).tolist(),
    "text": lambda shape, rng: "abc"[: int(rng.integers(0, 4))],
    "none": lambda shape, rng: None,
    "large int": lambda shape, rng: int(rng.integers(1, 9)) * 2**70,
    "range": lambda shape, rng: range(int(rng.integers(0, 5))),
}
ALIASES = ("same", "part", "reversed part", "transposed", "rows", "real")

PRINTS = (
    "print({a})", "print(f'{{{a}}} {{{s}}}')", "print({s}, {a}.shape)", "print('%s' % {s}, end='')", "print(f'{{{s}:.2f}}')",
    "for k1 in range(3):\n    print(f'{{k1}}: {{{a}[0]}}')", "print(repr({a}), str({s}))", "{t} = f'{{{s}}}'", "print(len({a}))",
    "{t} = str({a})", "{t} = '{{}}'.format({s})", "print(np.array2string({a}))", "{t} = {a}.tolist()", "{t} = {s}.__class__.__name__",
)  # fmt: skip
ERRORS = (
    "if {c}:\n    raise ValueError('as it happens')", "assert {c}, 'not so'", "{t} = {a}[99]", "{t} = 1 // (int({s}) - 1)",
    "{t} = {a}.reshape(7, 11)", "{t} = {a} @ {b}", "{w}[0] = {e}", "{t} = {a}['x']", "{t} = {a}.no_such_thing", "{t} = {a} << {b}",
    "for k1 in range(4):\n    {w}[k1] = {s}", "{w}[...] = 1\n{t} = int({a}.ravel())", "del {t}", "{t} = undefined_name",
    "with np.errstate(all='raise'):\n    {t} = {a} / {s}", "with np.errstate(divide='raise'):\n    {w} /= {s}",
    "with np.errstate(invalid='ignore', over='warn'):\n    {t} = {a} * {s}", "{t} = np.concatenate([{a}, {b}])",
    "try:\n    {w}[...] = 1\n    {w}[99] = 2\nexcept IndexError:\n    {w}[0] = 3", "{t} = np.linalg.inv({a})", "{w} += {b}", "{w}[{i}] += {e}",
    "{w} += 0.5", "{w}[:, 1] = {s}", "{t} = np.stack([{a}, {b}])", "if {a}:\n    {t} = 1", "{t} = float({a})", "{t} = np.sqrt({a} - 1).dtype",
)  # fmt: skip
CONTAINERS = (
    "{l}[0] = {l}[0] + 1", "{l}[0][...] = {s}", "{l}[0] += {s}", "{l}.append({s})", "{l}.append({e})", "{t} = sum({l})", "{t} = {l}[-1]",
    "{l}[:] = {l}[::-1]", "{t} = len({l}) + {s}", "{t} = [x + 1 for x in {l}]", "for k1, x in enumerate({l}):\n    {l}[k1] = x + k1",
    "{l}.pop()", "{t} = {l} + [{s}]", "{t} = {l}.copy()\n{t}[0] = {s}", "{t} = np.array({l})", "{t}, *{t2} = {l}", "{l}.sort()",
    "{t} = zip({l}, {l})\n{t} = [x for x, y in {t}]", "{t} = np.asarray({l}).sum()", "{l}.insert(0, {s})", "{t} = {s} in {l}",
    "{d}['u'] += {s}", "{d}['u'] = {e}", "{d}['w'] = {e}", "{t} = {d}['u'] * {d}['v']", "{t} = {{**{d}, 'z': {s}}}", "{d}.update(u={s})",
    "{t} = {d}.get('q', {s})", "{t} = [k for k in {d}]", "for k1, x in {d}.items():\n    {t} = x", "{t} = {d}.pop('v')", "{d}['v'] += 1",
    "{t} = {{'p': {a}, 'q': ({s}, [{e}])}}", "{t} = ({a}, {{'x': {e}}}, None)", "{t} = 'u' in {d}", "{t} = {d}.setdefault('u', 1)",
    "{o}.x += {s}", "{o}.x[0] = {s}", "{o}.n += 1", "{o}.x = {e}", "{t} = {o}.x * {o}.n", "{t} = Body({e}, {i})", "{t} = dataclasses.replace({o}, n=3)",
    "{t} = Pair({e}, {s})", "{t} = Pair({e}, {s})._replace(second=2)", "{t} = {t2} = [{e}]", "{t} = isinstance({a}, np.ndarray)", "{t} = type({a}) is np.ndarray",
    "{t} = {a}.dtype", "{t} = {a}.flags.writeable", "{t} = {a} is {b}", "{t} = np.may_share_memory({a}, {b})", "{t} = {a}.strides",
)  # fmt: skip
CALLS = (
    "{t} = {f}({a})", "{t} = {f}({s})", "{w}[0] = {f}({s}).max()", "{t} = [{f}(x) for x in ({a}, {s})]", "{t} = {f}({f}({s}))",
    "{t} = {f}({a}).sum() if {c} else {f}({s})", "{t} = {o}.x", "{t} = {f}", "{t} = {o}", "{t} = {o}.n * {s}",
)  # fmt: skip
MEMBERS = (
    "{t} = Phase.RUN if {c} else Phase.STOP", "{t} = Phase.IDLE\nif {c}:\n    {t} = Phase.RUN", "{t} = Phase({i} % 3)", "{t} = {s} + Phase.STOP", "{t} = Phase.RUN * {a}",
    "{t} = Phase.IDLE\nfor x in {a}.ravel():\n    {t} = Phase.RUN if x > 1 else {t}", "{t} = (Phase.STOP if {c} else Phase.IDLE) + {s}", "{t} = [10, 20, 30][Phase.RUN if {c} else Phase.STOP]",
    "{t} = Phase.IDLE\nfor k in range(40):\n    {t} = Phase.STOP if {t} == Phase.RUN else Phase.RUN if k % 3 == {i} else {t}", "{t} = (Phase.RUN if {c} else Phase.STOP) == {s}",
    "{t} = Colour.RED if {c} else Colour.BLUE", "{t} = (Colour.RED if {c} else Colour.BLUE) is Colour.RED", "{t} = (Colour.RED if {c} else Colour.BLUE).value", "{t} = [Phase.RUN, Phase.STOP]",
    "{t} = (Phase.RUN if {c} else Phase.STOP).name", "{t} = int(Phase.RUN if {c} else Phase.STOP)", "{t} = {a}[Phase.RUN if {c} else Phase.IDLE]", "{t} = max(Phase.RUN if {c} else Phase.IDLE, {s})",
    "{t} = 0\nfor x in {a}.ravel():\n    {t} += Phase.RUN if x > 1 else Phase.STOP", "{t} = np.full(3, Phase.RUN if {c} else Phase.STOP)", "{t} = {s} in (Phase.RUN, Phase.STOP)",
)  # fmt: skip
GLOBALS = (
    "{t} = G + {s}", "G[0] = {s}", "{t} = G.sum() + N", "G[...] = G * 2", "{t} = table['k'] + {s}", "table['k'] = {s}", "table['k'] += 1",
    "{t} = G[1:] - G[:-1]", "{t} = helper({a})", "{t} = helper(G, by={s})", "{t} = inner({a})", "inner(G)", "{t} = inner({w})", "{t} = counter({s})",
    "G += {s}", "{t} = N * {a}", "{t} = LIST[0] + {s}", "LIST.append({s})", "LIST[0] = LIST[0] + 1", "{t} = len(LIST)",
    "{t} = wb.lax.cond({c}, lambda q: q + 1, lambda q: q * 2, {a})", "{t} = wb.lax.fori_loop(0, 3, lambda k, q: q + k, {a})",
    "{t} = wb.lax.while_loop(lambda c: (c[0] < 12) & (abs(c[1]).sum() < 9), lambda c: (c[0] + 1, c[1] + 1), (0, {a}))[1]", "{t} = wb.lax.scan(lambda c, q: (c + q, c), {a}[0], {a})",
    "{t} = wb.lax.map(lambda q: q * 2, {a})", "{t} = wb.lax.switch({i}, [lambda q: q, lambda q: q + 1], {a})", "{t} = wb.lax.select({a} > 1, {a}, {a})",
    "{t} = wb.jit(lambda q: q + {s})({a})", "{t} = wb.jit(helper)({a}, by={s})", "with np.printoptions(precision=2):\n    print({a})",
)  # fmt: skip
ODD = (
    "{t} = {a}.astype(np.float16)", "{t} = {a}.astype('>f8') + {s}", "{t} = {a}.byteswap()", "{t} = {a}.newbyteorder('>')", "{t} = {a}.view(np.uint8)",
    "{t} = {a}.view(np.int64)", "{t} = {a}.astype(object) + {s}", "{t} = {a}.astype('m8[s]')", "{t} = {a}['x'] + {s}", "{w}['x'] = {s}", "{w}['y'] += 1",
    "{t} = {a}.x", "{t} = {a}[{a}['x'] > 1]", "{t} = {a} + np.timedelta64(1, 'D')", "{t} = {a} - {a}[0]", "{t} = {a}.max()", "{t} = np.sort({a})",
    "{t} = {a} * {a}", "{t} = {a} ** 2", "{t} = {a}.A", "{t} = {a}.I", "{t} = {a}.filled(0)", "{t} = {a}.mask", "{t} = np.ma.masked_where({a} > 1, {a})",
    "{w}.mask = False", "{t} = {a}.compressed()", "{t} = np.asarray({a})", "{t} = np.asanyarray({a}) + 1", "{t} = np.array({a}, copy=False)", "{t} = {a}.item(0)",
    "{w}.flags.writeable = False", "{w}.shape = (-1,)", "{w}.dtype = np.int64", "{t} = np.array({a}, ndmin=2)", "{t} = np.array({a}, subok=True)", "{t} = {a}[()]",
    "{w}[()] = {s}", "{t} = {w}\n{t} += {s}", "{t} = {s}\n{t} += 1", "{t} = {a}.base is None", "{t} = {a}.real", "{w}.real[...] = {s}", "{w}.imag = {s}", "{t} = {a}.conj()",
    "{t} = np.isnan({a})", "{t} = np.unique({a})", "{t} = np.argsort({a})", "{t} = {a} == {b}", "{t} = {a} == 'x'", "{t} = np.char.add({a}, 'x')", "{t} = {a}.sum(dtype=np.float16)",
    "{t} = np.float16({s}) + {a}", "{t} = np.exp({a})", "{t} = np.add.outer({a}, {b})", "{t} = np.einsum('i,i', {a}, {a})", "{t} = np.dot({a}, {b})", "{t} = np.where({a} > 1, {a}, {b})",
    "{t} = np.bincount({a})", "{t} = np.histogram({a}, 3)", "{t} = np.lib.stride_tricks.sliding_window_view({a}, 2)", "{t} = np.vectorize(lambda q: q + 1)({a})",
    "{t} = np.fromiter((x for x in {a}), float)", "{t} = np.nditer({a})\n{t} = [int(x) for x in {t}]", "{t} = list({a}.flat)", "{t} = dict(enumerate({a}))", "{t} = np.select([{a} > 1], [{a}], 0)",
)  # fmt: skip


class Uncommon(Nested):
    """The program that `seed` writes."""

    statements = (
        *nested.SIMPLE,
        *nested.LONG_LOOPS,
        *nested.COMPREHENSIONS,
        *nested.SIMPLE[::3],
        *PRINTS,
        *ERRORS,
        *CONTAINERS,
        *GLOBALS,
        *CALLS,
        *MEMBERS,
        *ODD,
        *ODD,
    )

    def __init__(self, seed: int, n_statements: int = 5):
        self.inputs: list[tuple[str, str, str]] = []
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super().__init__(seed, n_statements)

    def draw_inputs(self) -> None:
        names = list(KINDS)
        for k, _ in enumerate(self.names):
            kind = self.rng.choice((self.rng.choice(names), self.rng.choice(names[:3]), self.rng.choice(names)))
            if k and self.rng.random() < 0.15:
                kind = self.rng.choice(ALIASES)
            self.inputs.append((kind, self.rng.choice(("C", "C", "F", "step")), ""))
        self.rank = self.rng.choice((1, 1, 2, 2, 3))
        self.default = self.rng.choice(("", "", "e=2", "e=None", "e=1.5", "*, e=3", "*r", "**k"))

    def arguments(self, which: int) -> list[Any]:
        """Fresh arguments. which: 1 differs in numbers, 2 in kinds, 3 in sizes."""
        rng = np.random.default_rng((self.seed, which))
        n, m = (self.n, self.m) if which != 3 else (self.n + 1, self.m + 2)
        shape = (n, m, 2)[: self.rank]
        made: list[Any] = []
        for kind, layout, _ in self.inputs:
            first = next((x for x in made if isinstance(x, np.ndarray) and x.ndim), None)
            if kind in ALIASES and first is not None:
                made.append(_alias(first, kind))
                continue
            if which == 2:  # of a related kind
                kind = {"float64": "int64", "int64": "float64", "float16": "float64", "scalar": "rank 0"}.get(
                    kind, kind
                )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of `np.matrix`
                value = KINDS.get(kind, KINDS["float64"])(shape, rng)
            plain = type(value) is np.ndarray and kind in list(KINDS)[:8]
            made.append(_laid_out(value, layout) if plain else value)
        return made

    def text(self, lines: Sequence[str], result: str) -> str:
        names = [*self.names, self.default] if self.default else list(self.names)
        body = nested._indented([line for text in lines for line in text.split("\n")])
        return "\n".join([f"def nested({', '.join(names)}):", *body, f"    return {result}", ""])

    def keywords(self, which: int) -> dict[str, Any]:
        """What is passed by name."""
        if which % 2 and "e=" in self.default:
            return {"e": which + 1}
        return {"more": 1.5} if which % 2 and self.default == "**k" else {}

    def function(self, text: str | None = None) -> Callable[..., Any]:
        numbers = np.arange(3.0)
        scope = {"G": numbers, "N": 2, "table": {"k": 1}, "LIST": [1.0, numbers], "Body": Body, "Pair": Pair, "wb": wb,
                 "dataclasses": dataclasses, "Phase": Phase, "Colour": Colour}  # fmt: skip
        source = (
            "def helper(q, by=1):\n    return q * by\n\n\n@wb.jit\ndef inner(q):\n    q[0] = 7\n    return q + 1\n\n\n"
            "def counter(q, seen=[]):\n    seen.append(q)\n    return len(seen)\n\n\n"
        ) + (text or self.source)
        return define(source, "nested", f"<uncommon {self.seed} {next(nested._files)}>", **scope)

    def fillers(self, values: dict[str, Any], depth: int) -> dict[str, Callable[[], str]]:
        return {
            **super().fillers(values, depth),
            "l": lambda: self._pick(values, lambda v: isinstance(v, list)),
            "d": lambda: self._pick(values, lambda v: isinstance(v, dict)),
            "o": lambda: self._pick(values, lambda v: isinstance(v, Body)),
            "f": lambda: self._pick(values, callable),
        }


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def _unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
    found = memory.view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def _alias(x: np.ndarray, kind: str) -> Any:
    match kind:
        case "part":
            return x[1:]
        case "reversed part":
            return x[::-1]
        case "transposed":
            return x.T
        case "rows":
            return x[::2]
        case "real" if x.dtype.kind == "c":
            return x.real
    return x


# ---- running and comparing ----


def _run(function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> tuple[Any, str, bool]:
    """The result or the exception, what was printed, and whether a cast was undefined."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result, is_undefined = nested._judged(lambda: function(*args, **keywords), [])
    return result, printed.getvalue(), is_undefined


def same(found: Any, expected: Any, where: str) -> None:
    """AssertionError unless two values are of one type and equal, part by part and to the bit. (Where a number may be
    Python's on one path and NumPy's on another, NumPy's will do.)"""
    if isinstance(found, np.number | np.bool) and isinstance(expected, int | float | complex) and found == expected:
        return
    assert type(found) is type(expected), (
        f"{where}: a {type(found).__name__}, not a {type(expected).__name__}: {found!r}, not {expected!r}"
    )
    if isinstance(expected, dict):
        assert list(found) == list(expected), f"{where}: {list(found)}, not {list(expected)}"
        for key in expected:
            same(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), f"{where}: {len(found)} parts, not {len(expected)}: {found}, not {expected}"
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(expected, Body):
        same([found.x, found.n], [expected.x, expected.n], where)
    elif isinstance(expected, np.ma.MaskedArray):
        same(np.ma.getmaskarray(found), np.ma.getmaskarray(expected), f"{where}.mask")
        same(found.filled(0), expected.filled(0), where)
    elif isinstance(expected, np.ndarray | np.generic):
        assert found.dtype == expected.dtype, f"{where}: dtype {found.dtype}, not {expected.dtype}"
        assert found.shape == expected.shape, f"{where}: shape {found.shape}, not {expected.shape}"
        if isinstance(expected, np.ndarray):
            writes = found.flags.writeable, expected.flags.writeable
            assert writes[0] or not writes[1], f"{where}: read-only"
        assert _equal(found, expected), f"{where}: {found!r}, not {expected!r}"
    elif (
        isinstance(expected, int | float | complex | str | bytes | np.dtype | type | range | Colour) or expected is None
    ):
        assert found == expected or found != found and expected != expected, f"{where}: {found!r}, not {expected!r}"


def _equal(a: Any, b: Any) -> bool:
    if b.dtype.names:
        return all(_equal(a[name], b[name]) for name in b.dtype.names)
    if b.dtype.kind == "O":
        return list(map(_text, a.flat)) == list(map(_text, b.flat))  # of which some may be arrays
    if b.dtype.kind in "fc" and b.dtype.itemsize <= 16:
        return np.array_equal(a, b, equal_nan=True) and np.array_equal(_signs(a), _signs(b))
    return np.array_equal(a, b, equal_nan=b.dtype.kind in "fcmM")


def _text(x: Any) -> str:
    return hex(x) if type(x) is int else repr(x)  # ints may have too many digits for `repr`


def _signs(x: Any) -> Any:
    x = np.asarray(x)
    x = x[x == x]
    return np.signbit([x.real, x.imag] if x.dtype.kind == "c" else x)


def reads_padding(program: Nested) -> bool:
    """Whether it may look at bytes of long doubles that hold nothing."""
    return "longdouble" in str(program.inputs) and re.search(r"dtype = |view\(|byteswap", program.source) is not None


def refused_by_lax(program: Nested, found: Any) -> bool:
    """Whether a loop of `wb.lax` changes the type of what it carries, which only compiled code refuses."""
    return isinstance(found, ControlFlowTypeError) and "wb.lax." in program.source


_GLOBALS = ("G", "N", "table", "LIST")


def check(program: Uncommon, order: Sequence[int] = (0, 0, 1, 2, 3, 0)) -> None:
    """AssertionError unless the compiled program does what NumPy does, called with `arguments(which)` in this order."""
    if not reads_padding(program):
        with nested.few_are_many(program.seed):
            _check(program, order)


def _check(program: Uncommon, order: Sequence[int]) -> None:
    theirs = program.function()
    mine = program.function()
    compiled = wb.jit(mine)
    for step, which in enumerate(order):
        for function in (mine, theirs):
            numbers = np.arange(3.0) + step
            function.__globals__.update(G=numbers, N=2 + step // 3, table={"k": step}, LIST=[1.0, numbers])
            function.__globals__["counter"].__defaults__[0].clear()
        args = [program.arguments(which), program.arguments(which)]
        expected, printed, is_undefined = _run(theirs, args[1], program.keywords(which))
        before = copy.deepcopy(args[0]) if isinstance(expected, Exception) else None
        found, written, _ = _run(compiled, args[0], program.keywords(which))
        where = f"call {step} (arguments {which})"
        changed = [theirs.__globals__[name] for name in _GLOBALS]
        exact = [*args[1], *changed, *([] if isinstance(expected, Exception) else [expected])]
        if is_undefined or not all(map(_may_compare, _leaves(exact))):
            return
        if isinstance(expected, Exception):
            kind = next(c for c in type(expected).__mro__ if c.__module__ == "builtins")
            assert isinstance(found, kind), f"{where}: NumPy raises {expected!r}; compiled: {found!r} (given {before})"
        else:
            if refused_by_lax(program, found):
                return
            if isinstance(found, Exception):
                raise found
            same(found, expected, f"{where}: result")
        same(args[0], args[1], f"{where}: arguments")
        same([mine.__globals__[name] for name in _GLOBALS], changed, f"{where}: globals")
        assert written == printed, f"{where}: printed {written!r}, not {printed!r}"
        _same_memory([*_leaves([found, args[0]])], [*_leaves([expected, args[1]])], where)
    for reason in compiled.fallbacks:
        assert reason.code != "WB903", str(reason)


def _may_compare(leaf: Any) -> bool:
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    return (
        kind in "OMmSUVb" or isinstance(leaf, str | bytes | type | np.dtype | None | Body | Colour) or _is_exact(leaf)
    )


def _same_memory(found: list[Any], expected: list[Any], where: str) -> None:
    arrays = [(a, b) for a, b in zip(found, expected, strict=True) if isinstance(a, np.ndarray)]
    for (a, c), (b, d) in itertools.combinations(arrays, 2):
        if np.may_share_memory(a, b) and np.shares_memory(a, b):
            assert np.shares_memory(c, d), f"{where}: two arrays share memory that NumPy's do not"
