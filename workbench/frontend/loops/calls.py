"""Calls in a loop: Python's builtins, `math`, NumPy on numbers and small arrays, methods, and the user's functions."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..numba_functions import is_numbas
from .arrays import reduced_dtype, scalar_name, tuple_of
from .compositions import COMPOSITIONS, JOINED
from .contractions import COMBINATIONS
from .creations import CREATIONS, LIKES, Creations
from .draws import source_of
from .expressions import MOST_ITEMS
from .in_numpy import WRITTEN, written_call
from .letters import is_text, number_of_text, whose_ones
from .numpy_functions import (
    ANGLES,
    BINARY,
    COMPARISONS,
    LONG,
    MATH,
    MATH_TESTS,
    OPERATORS,
    REDUCED,
    REDUCTIONS,
    TESTS,
    UNARY,
)
from .operators import (
    as_number,
    binary,
    call,
    cast,
    compare,
    index,
    operand,
    strong,
    truth,
    turned_angle,
    whole_of,
    whole_text,
)  # fmt: skip
from .routines import DESCRIPTIONS, ROUTINES, STACKS
from .types import (
    BOOL,
    C128,
    F64,
    I64,
    LEAST,
    MOST,
    SMALL,
    SUPPORTED,
    Array,
    Growing,
    Items,
    Number,
    RandomSource,
    Static,
    Table,
    Type,
    UntranslatableError,
    Value,
    join,
    literal,
    promote,
    weak_int,
)

# Methods that are NumPy's functions of that name.
AS_FUNCTIONS = frozenset(("argsort", "searchsorted", "diagonal", "trace", "cumsum", "cumprod", "ravel", "clip",
                          "nonzero", "repeat",
                          "reshape", "swapaxes", "round"))  # fmt: skip
# Those whose `reduce` begins with the first element, or with what leaves it as it is.
FOLDED = (np.logaddexp, np.fmax, np.fmin, np.bitwise_xor, np.bitwise_or, np.bitwise_and)
NAMES: dict[Any, str] = {
    **{getattr(builtins, name): name for name in ("len", "abs", "round", "min", "max", "sum", "divmod", "pow",
                                                   "sorted")},
    math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc", np.where: "where", np.flip: "flip",
    np.outer: "outer", np.roll: "roll", np.arange: "arange", np.linspace: "linspace",
    np.transpose: "transpose", np.cumsum: "cumsum", np.cumprod: "cumprod", **ROUTINES, **COMBINATIONS, **COMPOSITIONS,
}  # fmt: skip


def _require_one_dtype(function: np.ufunc, kinds: Sequence[Number]) -> None:
    """UntranslatableError for a float that may be an int of Python's, of which NumPy's result would have another
    dtype."""

    def found(kinds: Sequence[Number]) -> np.dtype | None:
        dtype = promote(*kinds) if len(kinds) == 2 else kinds[0].dtype
        try:
            return function.resolve_dtypes((dtype,) * len(kinds) + (None,) * function.nout)[-1]
        except TypeError:
            return None

    for k, kind in enumerate(kinds):
        if kind.kind == "f" and kind.python and (kind.ints or kind.mixed):
            if found(kinds) != found([*kinds[:k], weak_int(0, 0), *kinds[k + 1 :]]):
                raise UntranslatableError(f"{function.__name__}() whose dtype depends on whether a float is an int")


def name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


class Calls(Creations):
    """Expressions with calls."""

    unpacked: Callable[[Value, int], list[Value]]  # of `statements`

    def _call(self, node: ast.Call) -> Value:
        if any(k.arg is None for k in node.keywords):
            raise UntranslatableError("a call with **")
        if any(isinstance(a, ast.Starred) for a in node.args):
            node = ast.copy_location(ast.Call(node.func, self.one_by_one(node.args), node.keywords), node)
        inner = whose_ones(node)
        if inner is not None and self.static(inner.func) is bin:
            return self._count_ones(self.value(inner.args[0]))
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base.type, Static):
                return self._method(base, node.func.attr, node)
            is_ufunc = isinstance(base.type.value, np.ufunc) and not node.keywords
            if is_ufunc and node.func.attr == "outer" and len(node.args) == 2:
                ufunc = base.type.value
                return self._outer_of(lambda v: self._ufunc(ufunc, v), *(self.value(a) for a in node.args))
            if is_ufunc and node.func.attr == "accumulate" and len(node.args) == 1:
                ufunc = base.type.value
                return self.accumulated(lambda v: self._ufunc(ufunc, v), self.value(node.args[0]))
            if isinstance(base.type.value, np.ufunc) and node.func.attr == "reduce":
                named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
                return self._reduced_by(base.type.value, [self.value(a) for a in node.args], named)
        function = self.static(node.func)
        if self.module.takes_random and (method := source_of(function)) is not None:
            return self._method(self.source_at(method[0]), method[1], node)
        python = self.module.python_function(function) or function
        if isinstance(python, FunctionType | MethodType) and not _is_numpys(python):
            from .functions import user_function

            return user_function(self, python, node, of_numba=is_numbas(function))  # type: ignore[arg-type]  # the translator of statements
        if function is list and self.is_iterator(node):
            return self.list_of_iterator(node.args[0])
        args = [self.gone_through(a) if function is len else self.value(a) for a in node.args]
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if function in (min, max) and not keywords and self._is_stored(node):
            args = self._of_one_type(args)
        return self.library(function, args, keywords)

    def _is_stored(self, node: ast.Call) -> bool:
        """Whether what a call gives goes into elements of arrays, which have a type of their own."""
        if not isinstance(self.now, ast.Assign) or self.now.value is not node:
            return False
        bases = [t.value for t in self.now.targets if isinstance(t, ast.Subscript)]
        kinds = [self.value(b).type if isinstance(b, ast.Name) else None for b in bases]
        return len(kinds) == len(self.now.targets) and all(
            isinstance(kind, Array) and kind.dtype.kind in "if" for kind in kinds
        )

    @staticmethod
    def _of_one_type(args: list[Value]) -> list[Value]:
        """NumPy's numbers, with constants of Python's among them, as the widest of these; others as they are."""
        kinds: list[Any] = [a.type for a in args]
        if len({k.dtype for k in kinds if isinstance(k, Number) and not k.weak}) < 2:
            return args
        if any(not isinstance(k, Number) or k.unsure or k.mixed or k.ints or k.dtype == np.uint64 for k in kinds):
            return args
        are_small = all(abs(a.literal) < 100 for a in args if a.literal is not None)
        are_told = all(not k.weak or a.literal is not None for a, k in zip(args, kinds, strict=True))
        if len({k.kind for k in kinds}) > 1 or kinds[0].kind not in "if" or not (are_small and are_told):
            return args
        wide = I64 if kinds[0].kind == "i" else F64
        return [Value(cast(a, wide), Number(wide)) for a in args]

    def gone_through(self, node: ast.expr) -> Value:
        """What a loop goes through: of a string, its letters."""
        value = self.value(node)
        return self.codes(node, value) if is_text(value.type) else value

    def library(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value:
        """A call of Python's, `math`'s or NumPy's."""
        refusal = UntranslatableError(f"{name_of(function)}()")
        try:
            hash(function)
        except TypeError:
            raise refusal from None
        numpys = isinstance(function, np.ufunc) or (getattr(function, "__module__", "") or "").startswith("numpy")
        if function not in (min, max):
            args = [as_number(a, numpys=numpys) for a in args]
            keywords = {name: as_number(a, numpys=numpys) for name, a in keywords.items()}
        if numpys and (isinstance(function, np.ufunc) or any(function in x for x in (NAMES, REDUCTIONS, WRITTEN))):
            args = self.lists_as_arrays(function, args)
        if function in WRITTEN and (found := written_call(self, function, args, keywords)) is not None:  # type: ignore[arg-type]  # the translator of statements
            return found
        if function in CREATIONS or function in LIKES or function in (np.array, np.asarray, np.copy):
            return self.created(function, args, keywords)
        if function is deque:
            return self.deque_of(args, keywords)
        if not keywords and (found := self.list_call(function, args)) is not None:
            return found
        if function is np.roll and "axis" in keywords and len(args) == 2:
            return self._handled("roll", function, args, keywords)
        if args and (function in REDUCTIONS or function in ROUTINES or function in COMPOSITIONS):
            args = args if function in STACKS or function in JOINED else [self.as_row(args[0]), *args[1:]]
        if function in (np.allclose, np.isclose):
            return self.close(function, args, keywords)
        is_complex = bool(args) and isinstance(args[0].type, Array) and args[0].type.dtype.kind == "c"
        if function is np.linalg.norm and (len(args) > 1 or keywords or is_complex):
            return self._handled("norm_along", function, args, keywords)
        if function in REDUCTIONS:
            return self.reduction(REDUCTIONS[function], args, keywords)
        if function in DESCRIPTIONS and not keywords:
            return self.described(function, args)
        if function in NAMES:
            return self._handled(NAMES[function], function, args, keywords)
        if isinstance(function, np.ufunc) and keywords and keywords.keys() <= {"out", "where"}:
            return self._ufunc_into(function, args, **keywords)
        if keywords:
            raise refusal
        if isinstance(function, type):
            return self._conversion(function, args)
        if function is ord and len(args) == 1 and is_text(args[0].type) and len(args[0].type.value) == 1:  # type: ignore[union-attr]  # a string
            return literal(ord(args[0].type.value))  # type: ignore[union-attr]
        if function in MATH or function in MATH_TESTS:
            return self._math(function, args)
        if isinstance(function, np.ufunc):
            return self._ufunc(function, args)
        raise refusal

    def _handled(self, name: str, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value:
        """What the method for `name` makes of a call of `function`, if it takes these arguments."""
        handler = getattr(self, f"_call_{name}")
        try:
            inspect.signature(handler).bind(*args, **keywords)
        except TypeError:
            raise UntranslatableError(f"{name_of(function)}() with these arguments") from None
        return handler(*args, **keywords)

    # ---- Python ----

    def _conversion(self, kind: type, args: list[Value]) -> Value:
        if kind is complex and len(args) == 2:
            parts = [cast(a, F64) for a in args]
            return Value(f"complex({', '.join(parts)})", Number(C128, True))
        if kind is tuple and len(args) == 1:
            return self._as_tuple(args[0])
        if len(args) != 1 or not isinstance(args[0].type, Number):
            if kind in (int, float) and len(args) == 1 and (made := number_of_text(kind, args[0].type)) is not None:
                return made
            raise UntranslatableError(f"{kind.__name__}()")
        (value,) = args
        source = value.type
        assert isinstance(source, Number)
        if kind is int:
            return self.whole(value)
        if kind is bool:
            return Value(truth(value), Number(BOOL, True, (0, 1)))
        if kind is float:
            return Value(cast(value, F64), Number(F64, True, single=source.single))
        if kind is complex:
            return Value(cast(value, C128), Number(C128, True))
        if issubclass(kind, np.generic) and np.dtype(kind).char in SUPPORTED:
            dtype = np.dtype(kind)
            known = value.literal if type(value.literal) is int and dtype.kind in "iu" else None
            return Value(operand(value, dtype), Number(dtype), known)
        raise UntranslatableError(f"{kind.__name__}()")

    def _as_tuple(self, value: Value) -> Value:
        """`tuple(value)` of few items, the number of which is known."""
        kind = value.type
        if isinstance(kind, Items):
            return self._tuple_of(self.parts_of(value), False)
        if isinstance(kind, Array) and kind.ndim == 1 and kind.shape[0] is not None and kind.shape[0] <= MOST_ITEMS:
            return self._tuple_of(self.unpacked(value, kind.shape[0]), False)
        raise UntranslatableError(f"tuple() of {kind}")

    def whole(self, value: Value) -> Value:
        """`int(value)`."""
        source = value.type
        assert isinstance(source, Number)
        if source.kind == "f":
            return Value(f"whole({cast(value, F64)})", weak_int(LEAST, MOST))
        if source.kind == "c":
            raise UntranslatableError("int() of a complex number")
        if source.weak:
            return Value(cast(value, I64), weak_int(*source.interval), None, value.known)
        if source.dtype == np.uint64:
            return Value(f"below_2_63({value.text})", weak_int(0, MOST))
        if source.dtype == BOOL:
            return Value(f"np.int64({value.text})", weak_int(0, 1))
        info = np.iinfo(source.dtype)
        return Value(f"np.int64({value.text})", weak_int(int(info.min), int(info.max)))

    def _call_len(self, value: Value) -> Value:
        if isinstance(value.type, Items):
            return literal(len(value.type.items))
        if not isinstance(value.type, Array) or not value.type.ndim:
            raise UntranslatableError("len()")
        return Value(f"{self.array(value).text}.shape[0]", weak_int(0, SMALL), None, value.type.shape[0])

    def _call_abs(self, value: Value) -> Value:
        if isinstance(value.type, Number) and value.type.weak:
            if value.type.kind in "bi":
                low, high = value.type.interval
                reach = max(abs(low), abs(high))
                text = f"abs({cast(value, I64)})" if low > LEAST else f"checked_abs({value.text})"
                return Value(text, weak_int(0, reach))
            if value.type.kind == "f":
                return Value(call("fabs", F64, value.text), replace(value.type, single=False), whole=value.whole)
            return Value(f"unless_infinite({call('abs', C128, value.text)}, 0.0)", Number(F64, True))
        if isinstance(value.type, Number) and value.type.ints:
            return Value(call("abs", value.type.dtype, value.text), value.type, whole=value.whole)
        return self._ufunc(np.absolute, [value])

    def _call_round(self, value: Value, digits: Value | None = None) -> Value:
        if digits is not None:
            return self._rounded_to(value, digits)
        if not isinstance(value.type, Number):
            raise UntranslatableError(f"round() of {value.type}")
        if value.type.dtype == BOOL and not value.type.weak:
            raise UntranslatableError("round() of a boolean of NumPy's")
        if value.type.kind in "bi":
            return self.whole(value)
        return self.whole(Value(call("rint", F64, cast(value, F64)), Number(F64, True)))

    def _rounded_to(self, value: Value, digits: Value) -> Value:
        """`round(value, digits)` of Python's numbers."""
        kind = value.type
        if not isinstance(kind, Number) or not kind.weak or kind.ints or kind.mixed or kind.enum:
            raise UntranslatableError("round() to a number of digits")
        if kind.kind in "bi" and type(digits.literal) is int and digits.literal >= 0:
            return self.whole(value)
        if kind.kind != "f":
            raise UntranslatableError("round() to a number of digits")
        return Value(f"round_of_python({value.text}, {index(digits)})", Number(F64, True))

    def _extreme(self, name: str, args: tuple[Value, ...]) -> Value:
        if len(args) == 1 and isinstance(args[0].literal, tuple):
            args = args[0].literal
        if len(args) == 1 and isinstance(args[0].type, Array) and args[0].type.ndim == 1:
            if args[0].type.dtype.kind in "iu":
                return self.reduction(name, list(args), {})
            picked = "larger" if name == "max" else "smaller"
            return self.folded(lambda v: Value(f"{picked}({v[0].text}, {v[1].text})", v[0].type), args[0], None, False)
        if len(args) < 2 or any(not isinstance(a.type, Number) or a.type.kind == "c" for a in args):
            raise UntranslatableError(f"{name}() of these arguments")
        kind: Type = args[0].type
        for other in args[1:]:
            kind = join(kind, other.type)
        assert isinstance(kind, Number)
        if all(type(a.literal) in (int, float) for a in args):
            return literal((max if name == "max" else min)(a.literal for a in args))
        if len({a.type.dtype for a in args}) > 1:  # type: ignore[union-attr]  # numbers
            kind = replace(kind, mixed=True)
        if kind.weak and kind.kind == "i":
            pick = max if name == "max" else min
            interval = weak_int(*(pick(a.type.interval[k] for a in args) for k in (0, 1))).interval  # type: ignore[union-attr]  # numbers
            kind = replace(kind, interval=interval)
        first, *rest = (self.convert(a, kind).text for a in args)
        whole, *wholes = map(whole_text, args) if kind.ints else [""] * len(args)
        for text, other in zip(rest, wholes, strict=True):
            is_other = f"{text} {'>' if name == 'max' else '<'} {first}"
            whole = whole_of([other, whole], f"({{0}} if {is_other} else {{1}})") or min(whole, other)
            first = f"{'larger' if name == 'max' else 'smaller'}({first}, {text})"
        return Value(first, kind, whole=self.told(whole))

    def _call_min(self, *args: Value) -> Value:
        return self._extreme("min", args)

    def _call_max(self, *args: Value) -> Value:
        return self._extreme("max", args)

    def _call_sum(self, values: Value) -> Value:
        """Of the elements of a row, to which the first 0 of Python's gives no other type."""
        kind = values.type
        if not isinstance(kind, Array) or kind.ndim != 1:
            raise UntranslatableError(f"sum() of {kind}")
        values = self.array(values)
        if not kind.shape[0]:
            self.early(f"nonzero({values.text}.shape[0])")
        total = self.reduction("sum", [values], {})
        dtype = I64 if kind.dtype == BOOL else kind.dtype
        return Value(cast(total, dtype), Number(dtype))  # narrow integers wrap, at every step or in the end

    def _call_divmod(self, a: Value, b: Value) -> Value:
        return tuple_of([binary("//", a, b), binary("%", a, b)])

    def _call_pow(self, a: Value, b: Value) -> Value:
        return binary("**", a, b)

    # ---- math ----

    def _math(self, function: Any, args: list[Value]) -> Value:
        if any(not isinstance(a.type, Number) or a.type.kind == "c" for a in args):
            raise UntranslatableError(f"math.{name_of(function)}()")
        texts = [cast(a, F64) for a in args]
        if function in MATH_TESTS:
            return Value(call(MATH_TESTS[function], F64, *texts), Number(BOOL, True, (0, 1)))
        if len(texts) != (2 if MATH[function] in ("atan2", "hypot", "copysign", "fmod") else 1):
            raise UntranslatableError(f"math.{name_of(function)}() of {len(texts)} arguments")
        text = call(MATH[function], F64, *texts)
        if MATH[function] not in ("atan", "tanh", "fabs", "copysign", "atan2"):
            text = f"as_math({text}, {' + '.join(texts)})"
        return Value(text, Number(F64, True))

    def _call_floor(self, value: Value) -> Value:
        return self._rounded("floor", value)

    def _call_ceil(self, value: Value) -> Value:
        return self._rounded("ceil", value)

    def _call_trunc(self, value: Value) -> Value:
        return self._rounded("trunc", value)

    def _rounded(self, name: str, value: Value) -> Value:
        if not isinstance(value.type, Number) or value.type.kind == "c":
            raise UntranslatableError(f"math.{name}()")
        return self.whole(Value(call(name, F64, cast(value, F64)), Number(F64, True)))

    # ---- NumPy on numbers ----

    def _ufunc(self, function: np.ufunc, args: Sequence[Value]) -> Value:
        if any(isinstance(a.type, Array) for a in args):
            if function in LONG:
                args = [self.side_by_side(a) for a in args]
            return self.elementwise(args, lambda v: self._ufunc(function, v))
        if function in OPERATORS and len(args) == 2:
            a, b = (strong(v) if isinstance(v.type, Number) else v for v in args[:2])
            if (
                isinstance(args[0].type, Number)
                and isinstance(args[1].type, Number)
                and args[0].type.weak != args[1].type.weak
            ):
                a, b = args
            return binary(OPERATORS[function], a, b)
        if function in COMPARISONS and len(args) == 2:
            return compare(COMPARISONS[function], *args)
        if any(not isinstance(a.type, Number) for a in args):
            raise UntranslatableError(f"{function.__name__}() of these arguments")
        if function in (np.logical_and, np.logical_or, np.logical_not):
            texts = [truth(a) for a in args]
            word = {np.logical_and: " & ", np.logical_or: " | "}.get(function)
            return Value(f"({word.join(texts)})" if word else f"(not {texts[0]})", Number(BOOL))
        if function in ANGLES:
            return turned_angle(args[0], *ANGLES[function])
        kinds = [a.type for a in args]
        _require_one_dtype(function, kinds)  # type: ignore[arg-type]  # numbers
        dtype = kinds[0].dtype  # type: ignore[union-attr]  # numbers
        if len(kinds) == 2:
            dtype = promote(*kinds)  # type: ignore[arg-type]  # numbers
        elif kinds[0].unsure and dtype != promote(kinds[0], kinds[0]):  # type: ignore[union-attr,arg-type]
            raise UntranslatableError(f"{function.__name__}() whose precision depends on whether a number is Python's")
        try:
            found = function.resolve_dtypes((dtype,) * len(args) + (None,) * function.nout)
        except TypeError:
            raise UntranslatableError(f"{function.__name__}() of {dtype.name}") from None
        given, result = found[0], found[-1]
        if given.char not in SUPPORTED or result.char not in SUPPORTED:
            raise UntranslatableError(f"{function.__name__}() in {given.name}")
        name = UNARY.get(function) or BINARY.get(function) or TESTS.get(function)
        if name is None or given == BOOL and name not in ("abs", "maximum", "minimum"):
            raise UntranslatableError(f"{function.__name__}()")
        return Value(call(name, given, *(operand(a, given) for a in args)), Number(result))

    def _ufunc_into(self, function: np.ufunc, args: list[Value], out: Value, where: Value | None = None) -> Value:
        """`function(*args, out=out, where=where)` into an array that nothing else holds."""
        is_new = out.lazy is None and (out.text in self.fresh or out.text.startswith("np."))  # that is, by a call
        out = self.kept(out)
        kind = out.type
        if not isinstance(kind, Array) or not is_new or kind.origins:
            raise UntranslatableError(f"{function.__name__}() into what has a name")
        made = self._ufunc(function, args)
        if not isinstance(made.type, Array) or made.type.ndim != kind.ndim:
            raise UntranslatableError(f"{function.__name__}() into an array of another shape")
        if not np.can_cast(made.type.dtype, kind.dtype, "same_kind"):
            raise UntranslatableError(f"{function.__name__}() into {kind.dtype}")
        for k, size in enumerate(self.elements(made).sizes):
            self.compare_lengths(size, f"{out.text}.shape[{k}]")
        test = literal(True) if where is None else where

        def stored_there(v: Sequence[Value]) -> Value:
            new = cast(v[1], kind.dtype)
            return Value(f"chosen({truth(v[0])}, {new}, {v[2].text})", Number(kind.dtype))

        return self.elementwise([test, made, out], stored_there)

    def _call_where(self, test: Value, then: Value | None = None, other: Value | None = None) -> Value:
        if then is None or other is None:
            if then is not other:
                raise UntranslatableError("np.where() of two arguments")
            return self._call_nonzero(test)
        if any(isinstance(v.type, Array) for v in (test, then, other)):
            return self.elementwise([test, then, other], lambda v: self._where(v, "chosen({1}, {0}, {2})"))
        found = self._where((test, then, other), "({0} if {1} else {2})")
        assert isinstance(found.type, Number)
        return replace(found, type=replace(found.type, mixed=True))  # NumPy's is an array without axes

    @staticmethod
    def _where(values: Sequence[Value], form: str) -> Value:
        test, then, other = values
        if not isinstance(then.type, Number) or not isinstance(other.type, Number):
            raise UntranslatableError("np.where() of these arguments")
        dtype = promote(then.type, other.type)
        return Value(form.format(operand(then, dtype), truth(test), operand(other, dtype)), Number(dtype))

    # ---- arrays ----

    def _method(self, base: Value, name: str, node: ast.Call) -> Value:
        args = [self.value(a) for a in node.args]
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        kind = base.type
        if isinstance(kind, RandomSource):
            return self.draw(base, name, args, keywords)
        if isinstance(kind, Growing | Table) and not keywords:
            return self.list_method(base, name, args)
        if isinstance(kind, Array):
            if name in AS_FUNCTIONS or name in REDUCTIONS.values() and name != "norm":
                return self.library(getattr(np, name), [base, *args], keywords)
            if not keywords:
                match name, args:
                    case "copy", []:
                        return self.copy(base)
                    case "astype", [Value(type=Static(value=target))]:
                        return self.converted(base, np.dtype(target))
                    case "conj" | "conjugate", [] if kind.dtype.kind != "c":
                        return base  # as NumPy has it, itself
                    case "conj" | "conjugate", []:
                        return self.elementwise([base], lambda v: Value(call("conj", kind.dtype, v[0].text), v[0].type))
                    case "transpose", []:
                        return self.transposed(base)
                    case "tolist", []:
                        return self.list_of_array(base, python=True)
                    case "flatten", []:
                        return self.flattened(base)
                    case "item", [] if kind.ndim == 0:
                        return Value(f"{base.text}[()]", Number(kind.dtype, kind.dtype in (F64, C128)))
        if isinstance(kind, Number) and not args and not keywords:
            if name == "item" and kind.dtype in (F64, C128, BOOL):
                return Value(base.text, Number(kind.dtype, True))
            if name == "item" and kind.kind == "i":
                return self.whole(base)
            if name == "bit_count" and kind.kind == "i":
                return self._count_ones(base)
            if name in ("conjugate", "conj"):
                return Value(call("conj", kind.dtype, base.text), kind)
        raise UntranslatableError(f".{name}()")

    @staticmethod
    def _count_ones(value: Value) -> Value:
        """The ones among the bits of |value|."""
        kind = value.type
        if not isinstance(kind, Number) or kind.kind not in "bi" or not kind.weak and kind.dtype == BOOL:
            raise UntranslatableError("the bits of this")
        dtype = kind.dtype if kind.dtype != BOOL else I64
        return Value(f"np.int64({call('population_count', dtype, cast(value, dtype))})", weak_int(0, 64))

    def reduction(self, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        if name == "dot" and len(args) == 2 and not keywords:
            if all(isinstance(a.type, Number) for a in args):
                return binary("*", *args)
            return self.matmul(*args)
        if "ddof" in keywords and args:
            return self.spread_with_ddof(name, args, dict(keywords))
        axes, keepdims = self._axes(args[1:], dict(keywords), args[0])
        kind = args[0].type
        if not isinstance(kind, Array) or kind.ndim == 0:
            raise UntranslatableError(f"{name}() of {kind}")
        if name == "norm" and (kind.ndim > 2 or kind.dtype.kind != "f" or axes is not None):
            raise UntranslatableError("norm() of this array")
        if kind.dtype.kind == "c" and name not in ("sum", "mean", "prod"):
            raise UntranslatableError(f"{name}() of complex numbers")
        whole = tuple(range(kind.ndim))
        if name in ("argmax", "argmin") and axes is not None and len(axes) > 1:
            raise UntranslatableError(f"{name}() along several axes")
        if keepdims or axes is not None and axes != whole:
            return self.reduce(name, args[0], whole if axes is None else axes, keepdims)
        dtype = reduced_dtype(name, kind.dtype)
        self.facts.count(*kind.shape)
        value = args[0]
        if name in ("mean", "var", "std") and kind.dtype.kind in "biu":
            value = self.elementwise([value], lambda v: Value(cast(v[0], F64), Number(F64)))
        here = self.reduced_here(name, value, dtype)
        if here is not None:
            return here
        value = self.array(value)
        text = value.text if kind.ndim == 1 else f"{value.text}.ravel()"
        scalar = scalar_name(dtype)
        return Value(f"{scalar}(array_{name}({text}, {scalar}(0)))", Number(dtype))

    def _reduced_by(self, ufunc: np.ufunc, args: list[Value], keywords: dict[str, Value]) -> Value:
        """`ufunc.reduce`, whose axis is the first unless it is given."""
        if len(args) == 1:
            keywords.setdefault("axis", literal(0))
        if ufunc in REDUCED:
            return self.reduction(REDUCED[ufunc], args, keywords)
        if ufunc not in FOLDED:
            raise UntranslatableError(f"np.{ufunc.__name__}.reduce()")
        axes, keepdims = self._axes(args[1:], keywords, args[0])
        return self.folded(lambda v: self._ufunc(ufunc, v), args[0], axes, keepdims)

    @staticmethod
    def _axes(args: Sequence[Value], keywords: dict[str, Value], value: Value) -> tuple[tuple[int, ...] | None, bool]:
        """The axes of a reduction, None for all of them, and whether they stay with length 1."""
        axis, keep = keywords.pop("axis", None), keywords.pop("keepdims", None)
        if keywords or len(args) > 1 or args and axis is not None or not isinstance(value.type, Array):
            raise UntranslatableError("a reduction with these arguments")
        axis = args[0] if args else axis
        if keep is not None and not isinstance(keep.literal, bool):
            raise UntranslatableError("keepdims that is not written out")
        keepdims = keep is not None and bool(keep.literal)
        if axis is None or isinstance(axis.type, Static) and axis.type.value is None:
            return None, keepdims
        given = axis.literal if isinstance(axis.literal, tuple) else (axis,)
        n = value.type.ndim
        numbers = [v.literal for v in given]
        if any(type(k) is not int or not -n <= k < n for k in numbers) or len({k % n for k in numbers}) < len(numbers):
            raise UntranslatableError("an axis that is not written out")
        return tuple(sorted(k % n for k in numbers)), keepdims


def _is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] in ("numpy", "math", "workbench")
