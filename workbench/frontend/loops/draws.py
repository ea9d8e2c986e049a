"""Random numbers in loops over values that are at hand: methods of `np.random.Generator`, of the old `RandomState` and
of `random.Random`, and the functions of `np.random` and `random`, with the numbers that these would draw.

A number is drawn in front of the statement that uses it, in the order of the calls.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import tuple_of
from .names import local
from .operators import cast, index
from .tables import Tables
from .types import (
    F64,
    I64,
    LEAST,
    MOST,
    Array,
    Growing,
    Items,
    Number,
    RandomSource,
    Static,
    UntranslatableError,
    Value,
    literal,
    weak_int,
)

# What an argument must be; else NumPy raises, or knows an answer that these functions do not.
_ANY, _SCALE, _POSITIVE, _FINITE = "", "positive_zero_or_more", "more_than_zero", "finite"
# method: the function of NumPy's, and its arguments: name, default (None: none) and check.
_FORMS: dict[str, tuple[str, tuple[tuple[str, float | None, str], ...]]] = {
    "random": ("standard_uniform", ()),
    "standard_normal": ("standard_normal", ()),
    "standard_exponential": ("standard_exponential", ()),
    "standard_cauchy": ("standard_cauchy", ()),
    "normal": ("normal", (("loc", 0.0, _ANY), ("scale", 1.0, _SCALE))),
    "exponential": ("exponential", (("scale", 1.0, _SCALE),)),
    "standard_gamma": ("standard_gamma", (("shape", None, _SCALE),)),
    "gamma": ("gamma", (("shape", None, _SCALE), ("scale", 1.0, _SCALE))),
    "beta": ("beta", (("a", None, _POSITIVE), ("b", None, _POSITIVE))),
    "chisquare": ("chisquare", (("df", None, _POSITIVE),)),
    "f": ("f", (("dfnum", None, _POSITIVE), ("dfden", None, _POSITIVE))),
    "pareto": ("pareto", (("a", None, _POSITIVE),)),
    "weibull": ("weibull", (("a", None, _SCALE),)),
    "power": ("power", (("a", None, _POSITIVE),)),
    "laplace": ("laplace", (("loc", 0.0, _ANY), ("scale", 1.0, _SCALE))),
    "gumbel": ("gumbel", (("loc", 0.0, _ANY), ("scale", 1.0, _SCALE))),
    "logistic": ("logistic", (("loc", 0.0, _ANY), ("scale", 1.0, _SCALE))),
    "lognormal": ("lognormal", (("mean", 0.0, _ANY), ("sigma", 1.0, _SCALE))),
    "rayleigh": ("rayleigh", (("scale", 1.0, _SCALE),)),
    "standard_t": ("standard_t", (("df", None, _POSITIVE),)),
    "wald": ("wald", (("mean", None, _POSITIVE), ("scale", None, _POSITIVE))),
    "vonmises": ("vonmises", (("mu", None, _ANY), ("kappa", None, _SCALE))),
    "poisson": ("poisson", (("lam", 1.0, "below_poisson"),)),
    "geometric": ("geometric", (("p", None, "probability"),)),
}
_INTEGERS = frozenset(("poisson", "geometric"))
# Methods of `RandomState` whose numbers are those of a `Generator` with the same bits, or that are written out here.
_OLD = frozenset(("random", "normal", "standard_normal", "exponential", "standard_exponential"))
_OTHER_NAMES = {"random_sample": "random", "ranf": "random", "sample": "random"}

_Drawn = tuple[str, Number]


class Draws(Tables):
    """Calls of a source of random numbers."""

    library: Callable[..., Value]  # of `calls`

    def outside(self, name: str, found: Any) -> Value:
        if not self.module.takes_random or not is_source(found):
            return super().outside(name, found)
        if self.parameter is not None:
            return self.parameter(name, found)
        return self._handed_source(name, found, (*self.path, name))

    def hand_on(self, key: str, found: Any) -> Value:
        if self.parameter is not None or not is_source(found):
            return super().hand_on(key, found)
        return self._source(key, found)

    def source_at(self, found: Any) -> Value:
        """The source of which a method is called that lies in a module, as `np.random.rand` does."""
        return self._handed_source("np_random", found, (found,))

    def _handed_source(self, name: str, found: Any, path: tuple[Any, ...]) -> Value:
        key = self.module.name_of_global(name, found)
        self.module.paths[key] = path
        return self._source(key, found) if self.parameter is None else self.parameter(key, found)

    def _source(self, key: str, found: Any) -> Value:
        kind = RandomSource(type(found))
        self.extras[key] = (found, kind)  # type: ignore[assignment]  # as arrays are handed on
        return Value(local(key), kind)

    def draw(self, source: Value, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        """A call of the method `name`."""
        kind = source.type
        assert isinstance(kind, RandomSource)
        self.facts.draws = self.draws_early = True
        if kind.is_pythons:
            return self._draw_pythons(source, name, args, keywords)
        refusal = UntranslatableError(f"{'np.random.' if kind.is_old else '.'}{name}() with these arguments")
        if kind.is_old:
            name = _OTHER_NAMES.get(name, name)
            if name in ("rand", "randn") and not keywords:
                keywords = {"size": tuple_of(args)} if args else {}
                name, args = "random" if name == "rand" else "standard_normal", []
        handler = {"integers": self._integers, "randint": self._integers, "uniform": self._uniform,
                   "choice": self._choice, "permutation": self._permutation, "shuffle": self._shuffle,
                   "binomial": self._binomial_number, "triangular": self._triangular}.get(name)  # fmt: skip
        if handler is not None:
            if name == ("randint", "integers")[kind.is_old]:
                raise refusal
            if kind.is_old and name in ("binomial", "triangular"):
                raise refusal
            return handler(source, args, keywords, refusal)
        if name not in _FORMS or kind.is_old and name not in _OLD:
            raise refusal
        function, parameters = _FORMS[name]
        names = [p for p, _, _ in parameters]
        given = _bound([*names, "size"], args, keywords, refusal)
        texts = []
        for parameter, default, check in parameters:
            value = given.get(parameter)
            if value is None:
                if default is None:
                    raise refusal
                value = literal(default)
            texts.append(self._checked(value, check, refusal))
        if kind.is_old:
            return self._drawn(self._old_text(source, function, texts), given.get("size"), refusal)
        is_float = function not in _INTEGERS
        form = f"draw_{len(texts)}" if is_float else f"draw_integer_{len(texts)}"
        text = f"{form}({', '.join([source.text, f'word_{function}', *texts])})"
        number = Number(F64, True) if is_float else weak_int(0, MOST)
        return self._drawn((text, number), given.get("size"), refusal)

    @staticmethod
    def _old_text(source: Value, function: str, texts: list[str]) -> _Drawn:
        if function == "standard_uniform":
            return f"draw_0({source.text}, word_{function})", Number(F64, True)
        of = "old_normal" if function.endswith("normal") else "old_exponential"
        text = f"{of}({source.text})"
        if texts:
            *first, scale = texts
            text = f"{scale} * {text}"
            text = f"({first[0]} + {text})" if first else f"({text})"
        return text, Number(F64, True)

    def _draw_pythons(self, source: Value, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Of Python's `random`, whose formulas are computed with the numbers as they are given."""
        refusal = UntranslatableError(f"random.{name}() with these arguments")
        words = source.text
        if keywords or any(isinstance(a.type, Number) and not a.type.weak for a in args):
            raise refusal
        match name, args:
            case "random", []:
                return Value(self.early(f"pythons_random({words})"), Number(F64, True))
            case "uniform", [low, high]:
                first, last = (self._checked(a, _ANY, refusal) for a in (low, high))
                text = f"{first} + ({last} - {first}) * pythons_random({words})"
                return Value(self.early(text), Number(F64, True))
            case "gauss" | "normalvariate", [] | [_, _]:
                mu, sigma = (self._checked(a, _ANY, refusal) for a in args or (literal(0.0), literal(1.0)))
                drawn = "pythons_gauss" if name == "gauss" else "pythons_normal"
                return Value(self.early(f"{mu} + {drawn}({words}) * {sigma}"), Number(F64, True))
            case "expovariate", [rate]:
                text = self._checked(rate, "nonzero", refusal)
                return Value(self.early(f"pythons_exponential({words}) / {text}"), Number(F64, True))
            case "randint" | "randrange", [_] | [_, _] if name == "randrange" or len(args) == 2:
                low, high = args if len(args) == 2 else (literal(0), *args)
                first, behind = self._whole(low, refusal), self._whole(high, refusal)
                n = self.early(f"checked_sub({behind}, {first})")
                n = self.early(f"checked_add({n}, 1)") if name == "randint" else n
                return Value(self.early(f"{first} + pythons_below({words}, {n})"), _between(low, high))
            case "choice", [Value(type=Array(ndim=1)) as items]:
                held = self.named(items)
                text = f"at_1({held.text}, pythons_below({words}, {held.text}.shape[0]))"
                return Value(self.early(text), Number(items.type.dtype))  # type: ignore[union-attr]  # an array's
            case "choice", [Value(type=Growing(item=Number())) as items]:
                place = self.early(f"pythons_below({words}, len({items.text}))")
                return self.element_of(items, place)
        raise refusal

    # ---- what is drawn ----

    def _checked(self, value: Value, check: str, refusal: UntranslatableError) -> str:
        if not isinstance(value.type, Number) or value.type.kind == "c":
            raise refusal
        text = cast(value, F64)
        if value.literal is not None:
            return f"{check}({text})" if check else text
        return self.early(f"{check}({text})" if check else text)

    def _drawn(
        self, drawn: _Drawn, size: Value | None, refusal: UntranslatableError, dtype: np.dtype | None = None
    ) -> Value:
        """One number, or an array of them. drawn: the call that draws one, and what Python gets then; dtype: of the
        array, if it is not told by that."""
        text, number = drawn
        if size is None or not _is_given(size):
            return Value(self.early(text), number)
        made = self._new(size, dtype or (F64 if number.kind == "f" else I64), refusal)
        self.nest_over(made, text)
        return made

    def _new(self, size: Value, dtype: np.dtype, refusal: UntranslatableError) -> Value:
        """A new array that is to be filled."""
        if not isinstance(size.type, Number | Items) or isinstance(size.type, Items) and not size.type.items:
            raise refusal
        if isinstance(size.type, Items):
            size = tuple_of(self.parts_of(size))
        made = self.library(np.empty, [size], {"dtype": Value("", Static(dtype))})
        text = self.early(made.text)
        self.fresh.add(text)
        return Value(text, made.type)

    def nest_over(self, made: Value, text: str) -> None:
        """Fill an array with what `text` gives, element after element."""
        flat = self.early(f"{made.text}.reshape(-1)")
        i = self.temporary()
        self.line(f"for {i} in range({flat}.shape[0]):")
        self.line(f"    put_1({flat}, {i}, {text})")

    def _uniform(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        given = _bound(["low", "high", "size"], args, keywords, refusal)
        low, high = given.get("low", literal(0.0)), given.get("high", literal(1.0))
        first = self._checked(low, _ANY, refusal)
        span = f"({self._checked(high, _ANY, refusal)} - {first})"
        assert isinstance(source.type, RandomSource)
        check = _FINITE if source.type.is_old else f"positive_zero_or_more({_FINITE}"
        text = self.early(f"{check}({span}){')' * check.count('(')}")
        drawn = f"draw_2({source.text}, word_uniform, {first}, {text})"
        return self._drawn((drawn, Number(F64, True)), given.get("size"), refusal)

    def _triangular(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        names = ["left", "mode", "right"]
        given = _bound([*names, "size"], args, keywords, refusal)
        if any(name not in given for name in names):
            raise refusal
        texts = [self._checked(given[name], _ANY, refusal) for name in names]
        self.line(f"in_order_3({', '.join(texts)})")
        drawn = f"draw_3({', '.join([source.text, 'word_triangular', *texts])})"
        return self._drawn((drawn, Number(F64, True)), given.get("size"), refusal)

    def _binomial_number(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        given = _bound(["n", "p", "size"], args, keywords, refusal)
        if "n" not in given or "p" not in given:
            raise refusal
        n = self._whole(given["n"], refusal)
        drawn = f"draw_binomial({source.text}, {n}, {self._checked(given['p'], _ANY, refusal)})"
        return self._drawn((drawn, weak_int(0, MOST)), given.get("size"), refusal)

    def _whole(self, value: Value, refusal: UntranslatableError) -> str:
        if not isinstance(value.type, Number) or value.type.dtype.kind not in "iu" or value.type.dtype == np.uint64:
            raise refusal
        text = index(value)
        return text if value.literal is not None else self.early(f"np.int64({text})")

    def _integers(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        kind = source.type
        assert isinstance(kind, RandomSource)
        names = ["low", "high", "size", "dtype", *([] if kind.is_old else ["endpoint"])]
        given = _bound(names, args, keywords, refusal)
        dtype, endpoint = given.get("dtype"), given.get("endpoint", literal(False))
        wanted = (int if kind.is_old else np.int64) if dtype is None else getattr(dtype.type, "value", None)
        if "low" not in given or wanted not in (int, np.int64) or type(endpoint.literal) is not bool:
            raise refusal
        low, high = given["low"], given.get("high")
        if high is None or not _is_given(high):
            low, high = literal(0), low
        first, behind = self._whole(low, refusal), self._whole(high, refusal)
        if endpoint.literal:
            behind = f"{behind} + 1"
        drawn = f"draw_bounded({source.text}, {first}, {behind}, {kind.is_old})"
        number = _between(low, high) if wanted is int else Number(I64)
        return self._drawn((drawn, number), given.get("size"), refusal, I64)

    # ---- choices and orders ----

    def _choice(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        kind = source.type
        assert isinstance(kind, RandomSource)
        given = _bound(["a", "size", "replace", "p"], args, keywords, refusal)
        of, weights, size = given.get("a"), given.get("p"), given.get("size")
        if of is None or given.get("replace", literal(True)).literal is not True:
            raise refusal
        if isinstance(of.type, Items | Growing):
            of = self.library(np.array, [of], {})
        if isinstance(of.type, Array) and of.type.ndim == 1:
            items = self.named(of)
            n = self.early(f"length({items.text}.shape[0])")
        elif isinstance(of.type, Number):
            items, n = None, self._whole(of, refusal)
        else:
            raise refusal
        if weights is None:
            text = f"draw_bounded({source.text}, 0, {n}, {kind.is_old})"
        else:
            if isinstance(weights.type, Items | Growing):
                weights = self.library(np.array, [weights], {})
            if not isinstance(weights.type, Array) or weights.type.dtype != F64 or weights.type.ndim != 1:
                raise refusal
            shares = self.named(weights).text
            if size is None or not _is_given(size):
                text = f"draw_weighted({source.text}, {n}, {shares})"
            else:
                text = f"draw_below({source.text}, {self.early(f'reached_shares({n}, {shares})')})"
        if items is None:
            return self._drawn((text, weak_int(0, MOST)), size, refusal)
        assert isinstance(items.type, Array)
        dtype = items.type.dtype
        return self._drawn((f"at_1({items.text}, {text})", Number(dtype)), size, refusal, dtype)

    def _permutation(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        given = _bound(["x"], args, keywords, refusal)
        of = given.get("x")
        if of is not None and isinstance(of.type, Items | Growing):
            of = self.library(np.array, [of], {})
        if of is not None and isinstance(of.type, Number):
            n = self._whole(of, refusal)
            text = f"np.arange({n if of.literal is not None else f'length({n})'})"
            kind = Array(I64, (of.known if of.literal is None else of.literal,))
        elif of is not None and isinstance(of.type, Array) and of.type.ndim:
            text, kind = f"{self.named(of).text}.copy()", Array(of.type.dtype, of.type.shape)
        else:
            raise refusal
        made = Value(self.early(text), kind)
        self.fresh.add(made.text)
        return self._in_random_order(source, made)

    def _shuffle(
        self, source: Value, args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
    ) -> Value:
        given = _bound(["x"], args, keywords, refusal)
        of = given.get("x")
        if of is not None and isinstance(of.type, Growing):
            return self._shuffled_list(source, of, refusal)
        if of is None or not isinstance(of.type, Array) or not of.type.ndim:
            raise refusal
        self.module.written |= of.type.origins
        self._in_random_order(source, self.named(of))
        return Value("", Static(None))

    def _shuffled_list(self, source: Value, of: Value, refusal: UntranslatableError) -> Value:
        if of.type.is_queue or of.fresh is not None:  # type: ignore[union-attr]  # a list
            raise refusal
        self.refine(of.source, of.type)
        self._reorder(of)
        self.made_early = True
        self.line(f"put_items_in_random_order({source.text}, {of.text})")
        return Value("", Static(None))

    def _in_random_order(self, source: Value, made: Value) -> Value:
        self.made_early = True
        self.line(f"put_in_random_order({source.text}, {made.text})")
        return made


def _is_given(value: Value | None) -> bool:
    """Whether an argument is there, and not None."""
    return value is not None and not (isinstance(value.type, Static) and value.type.value is None)


def _between(low: Value, high: Value) -> Number:
    """A Python int from one number to another."""
    ends = []
    for value, k in ((low, 0), (high, 1)):
        kind = value.type
        assert isinstance(kind, Number)
        ends.append(kind.interval[k] if kind.weak else (LEAST, MOST)[k])
    return weak_int(*ends)


def _bound(
    names: list[str], args: list[Value], keywords: dict[str, Value], refusal: UntranslatableError
) -> dict[str, Value]:  # fmt: skip
    """The arguments by their names."""
    if len(args) > len(names) or any(name not in names[len(args) :] for name in keywords):
        raise refusal
    return {**dict(zip(names, args, strict=False)), **keywords}


def is_source(found: Any) -> bool:
    """Whether random numbers can be drawn from it. NumPy's sources are not imported before somebody uses them."""
    if type(found) is random.Random:
        return True
    if "numpy.random" not in sys.modules:
        return False
    if type(found) not in (np.random.Generator, np.random.RandomState):
        return False
    bits = found._bit_generator if isinstance(found, np.random.RandomState) else found.bit_generator
    return type(bits).__module__.startswith("numpy.random.")  # others may be written in Python


def source_of(found: Any) -> tuple[Any, str] | None:
    """The source of random numbers whose method this is, as `np.random.rand` and `random.random` are some, and the
    method's name."""
    owner = getattr(found, "__self__", None)
    return (owner, found.__name__) if is_source(owner) else None
