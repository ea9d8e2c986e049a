"""Expressions of a loop: names, subscripts, attributes, operators and branches, as text with types.

`Scope` holds what the names mean. Calls are in `calls`; what is no expression of numbers, arrays and tuples is refused.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ...ir.avals import SHORT_NAMES
from ...primitives import numpy_libraries
from ..constants import same_constant
from ..proxies import unwrap
from ..recording import Deferred
from ..tracer import Tracer
from .arrays import Arrays, Compute, tuple_of
from .few_elements import added_products, is_few
from .letters import is_text, letter
from .names import is_set, is_whole, local
from .operators import SYMBOLS, as_type, binary, call, cast, index
from .types import (
    BOOL,
    C128,
    F32,
    F64,
    LAZY,
    MOST,
    SMALL,
    SUPPORTED,
    Array,
    Box,
    Items,
    Lazy,
    Number,
    Static,
    Type,
    UntranslatableError,
    Value,
    join,
    literal,
    number_of,
    weak_int,
)
from .writing import INDENT, Facts, Module

_COMPUTED_AGAIN = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, ast.UnaryOp, ast.unaryop,
    ast.expr_context,
)  # fmt: skip
MOST_ITEMS = 16  # of a tuple or list that is written out
MULTIPLICATIONS_WRITTEN_OUT = 150  # of a product; LLVM takes seconds for a few hundred


class Known(ast.expr):
    """An expression that is translated already."""

    def __init__(self, value: Value):
        super().__init__()
        self.value = value


class Scope(Arrays):
    """One function, or the loop itself. outer: the object that a name means outside, KeyError without; given: what a
    name is at first that the code also binds; bound: the names that it binds; parameter: makes one of an outer
    number or array."""

    def __init__(
        self, module: Module, outer: Callable[[str], Any], bound: frozenset[str], given: dict[str, Type],
        parameter: Callable[[str, Any], Value] | None,
    ):  # fmt: skip
        super().__init__(module)
        self.outer = outer
        self.bound = bound
        self.parameter = parameter
        self.given = given
        self.skipped = False  # something, since nothing was known yet of a list, or of what may be None
        self.checked: frozenset[str] = frozenset()  # variables that may be read before they are set: their flags tell
        self.conditions = 0  # of the expression that is being translated, inside the statement
        self.types: dict[str, Type] = dict(given)  # of variables, as far as they are known
        self.numpys: dict[str, np.dtype] = {}  # variables that hold numbers of NumPy's here (`certain`)
        self.never_certain: set[str] = set()  # variables that functions set
        self.extras: dict[str, tuple[Any, Array | Number]] = {}  # what is outside and callers hand on
        self.statics: frozenset[str] = frozenset()  # parameters of a function that are no numbers or arrays
        self.path: tuple[Any, ...] = ()  # of a function: the names by which it is found, beginning outside the loop
        self.bound_once: frozenset[str] = frozenset()  # by an assignment of their own
        self.rebound: frozenset[str] = frozenset()  # all that are bound, parameters aside
        self.now: ast.stmt | None = None  # the statement that is being translated
        self.boxes: dict[str, Box] = {}  # where the elements of such a name lie, below the statement that binds it

    # ---- names ----

    def value(self, node: ast.expr) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")
        return method(node)

    def _constant(self, node: ast.Constant) -> Value:
        if node.value is None or isinstance(node.value, str) or node.value is Ellipsis:
            return Value("", Static(node.value))
        return literal(node.value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.bound:
            if name not in self.types:
                raise UntranslatableError(f"`{name}`, which is read before it is set")
            kind = self.types[name]
            if name in self.checked:
                self.made_early = True
                self.line(f"if not {is_set(name)}:")
                self.line(f"{INDENT}raise NameError()")
            if isinstance(kind, Number):
                kind = self.certainly(name, kind)
            whole = is_whole(name) if isinstance(kind, Number) and kind.ints else ""
            return Value(local(name), kind, whole=whole, box=self.boxes.get(name))
        try:
            found = unwrap(self.outer(name))
        except KeyError:
            raise UntranslatableError(f"`{name}`, which is not defined") from None
        return self.outside(name, found)

    def certainly(self, name: str, kind: Number) -> Number:
        """The type of what a variable holds here, where that is surely one of NumPy's numbers."""
        if not kind.unsure or name not in self.numpys or self.numpys[name] != kind.dtype:
            return kind
        return replace(kind, unsure=False, mixed=False, ints=False)

    def outside(self, name: str, found: Any) -> Value:
        """A value from outside the loop."""
        if type(found) is Tracer or isinstance(found, np.ndarray | np.generic):
            if self.parameter is None:
                if type(found) is not Tracer and isinstance(found, np.generic) and found.dtype.char in SUPPORTED:
                    return Value(f"np.{found.dtype.name}({found.item()!r})", Number(found.dtype))
                return self.handed(name, found)
            return self.parameter(name, found)
        if isinstance(found, bool | int | float | complex):
            return literal(found) if self.parameter is None else self.parameter(name, found)
        if issubclass(type(found), Deferred):
            raise UntranslatableError(f"`{name}`, which depends on the run")
        if isinstance(found, tuple | list):
            # What a list holds while tracing is what it holds: nothing that is translated changes any other list.
            if id(found) in self.module.given_lists:
                raise UntranslatableError(f"`{name}`, a list of the loop's that a function reads")
            if len(found) > MOST_ITEMS:
                raise UntranslatableError(f"`{name}`, a long {type(found).__name__}")
            made = tuple_of([self.outside(f"{name}_{k}", unwrap(v)) for k, v in enumerate(found)])
            return replace(made, type=replace(made.type, is_list=isinstance(found, list)))  # type: ignore[type-var]  # a tuple's
        return Value("", Static(found))

    def handed(self, name: str, found: Any) -> Value:
        """An array or traced number outside that a function of the user's reads: its callers hand it on, as one
        parameter more."""
        is_array = isinstance(found, Tracer | np.ndarray) and bool(found.shape)
        is_number = type(found) is Tracer and found.scalar
        if not (is_array or is_number) or found.dtype.char not in SUPPORTED:
            raise UntranslatableError(f"`{name}`, of a function that the loop calls")
        key = self.module.name_of_global(name, found)
        self.module.paths[key] = (*self.path, name)
        if isinstance(found, Tracer):
            self.module.buffers[key] = id(found.buffer)
        return self._handed(key, found)

    def _handed(self, key: str, found: Any) -> Value:
        is_array = bool(found.shape)
        kind = Array(found.dtype, found.shape, frozenset((key,))) if is_array else number_of(found)
        self.extras[key] = (found, kind)
        return Value(local(key), kind)

    def hand_on(self, key: str, found: Any) -> Value:
        """An array or traced number outside that a function called here reads."""
        return self._handed(key, found) if self.parameter is None else self.parameter(key, found)

    def static(self, node: ast.expr) -> Any:
        """What a name or attribute is, if it exists while translating; `UntranslatableError` otherwise."""
        value = self.value(node)
        if not isinstance(value.type, Static):
            raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")
        return value.type.value

    def _known(self, node: Known) -> Value:
        return node.value

    # ---- composition ----

    def _tuple(self, node: ast.Tuple | ast.List) -> Value:
        return tuple_of([self.value(e) for e in self.one_by_one(node.elts)])

    _list = _tuple

    def one_by_one(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Arguments or items, with those that one with a star stands for in its place."""
        found: list[ast.expr] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(node)
            elif isinstance(node.value, ast.Tuple | ast.List):
                found += self.one_by_one(node.value.elts)
            else:
                found += self._parts_with_star(node.value)
        return found

    def _parts_with_star(self, node: ast.expr) -> list[ast.expr]:
        value = self.value(node)
        kind = value.type
        n = len(kind.items) if isinstance(kind, Items) else kind.shape[0] if isinstance(kind, Array) else None
        if n is None or n > MOST_ITEMS:
            raise UntranslatableError("a starred expression")
        if not all(isinstance(each, _COMPUTED_AGAIN) for each in ast.walk(node)):
            node = ast.copy_location(Known(self.kept(value)), node)  # not once more for each part
        parts = [ast.Subscript(node, ast.Constant(k), ast.Load()) for k in range(n)]
        return [ast.fix_missing_locations(ast.copy_location(part, node)) for part in parts]

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        kind, name = base.type, node.attr
        if isinstance(kind, Static):
            if not isinstance(kind.value, ModuleType | type | np.dtype | np.finfo | np.iinfo):
                raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")
            try:
                found = getattr(kind.value, name)
            except AttributeError:
                raise UntranslatableError(f"`{ast.unparse(node)[:60]}`") from None
            if isinstance(found, int | float | complex) and not isinstance(found, np.generic):
                return literal(found)
            return Value("", Static(found))
        if isinstance(kind, Array) and name in ("real", "imag"):
            if name == "real" and kind.dtype.kind != "c":
                return base
            part = self.elementwise([base], lambda v: self.part(v[0], name))
            if part.lazy is not None and base.lazy is None and kind.dtype.kind == "c":  # a view of what is in memory
                return replace(part, lazy=replace(part.lazy, shares=True))
            return part
        if isinstance(kind, Array):
            base = self.lasting(base) if name == "T" else self.array(base)
            kind = base.type
            assert isinstance(kind, Array)
            match name:
                case "shape":
                    sizes = [
                        Value(f"{base.text}.shape[{k}]", weak_int(0, SMALL), None, n) for k, n in enumerate(kind.shape)
                    ]
                    return Value(f"{base.text}.shape", Items(tuple(v.type for v in sizes)), tuple(sizes))
                case "size":
                    return Value(f"{base.text}.size", weak_int(0, SMALL))
                case "ndim":
                    return literal(kind.ndim)
                case "dtype":
                    return Value("", Static(kind.dtype))
                case "T":
                    return Value(f"{base.text}.T", Array(kind.dtype, kind.shape[::-1], kind.origins))
        if name == "dtype" and isinstance(kind, Number):
            return Value("", Static(kind.dtype))
        if name in ("real", "imag") and isinstance(kind, Number):
            return self.part(base, name)
        raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")

    def part(self, value: Value, name: str) -> Value:
        """The real or imaginary part of a number."""
        kind = value.type
        assert isinstance(kind, Number)
        if kind.weak and kind.dtype == BOOL:
            raise UntranslatableError("a part of Python's True or False, which is an int")
        if kind.kind == "c":
            return Value(f"{value.text}.{name}", Number(F64 if kind.dtype == C128 else F32, kind.weak))
        return value if name == "real" else self.convert(literal(0), Number(kind.dtype, kind.weak))

    @staticmethod
    def convert(value: Value, target: Type) -> Value:
        """`value` as a variable's type."""
        if isinstance(target, Number) and isinstance(value.type, Number):
            return Value(as_type(value, target), target)
        if isinstance(target, Items) and isinstance(value.type, Items) and value.type != target:
            parts = value.literal
            if not isinstance(parts, tuple) or len(parts) != len(target.items):
                if _dtypes(value.type) == _dtypes(target):
                    return Value(value.text, target)
                raise UntranslatableError(f"{value.type} as {target}")
            made = [Scope.convert(p, t) for p, t in zip(parts, target.items, strict=True)]
            return Value(f"({''.join(f'{v.text}, ' for v in made)})", target, tuple(made))
        return Value(value.text, target)

    # ---- operators ----

    def _binop(self, node: ast.BinOp) -> Value:
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def operate(self, op: ast.operator, left: Value, right: Value) -> Value:
        symbol = SYMBOLS[type(op)]
        if symbol == "@":
            return self.matmul(left, right)
        if symbol == "+" and isinstance(left.type, Items) and isinstance(right.type, Items):
            if left.type.is_list != right.type.is_list:
                raise UntranslatableError("a sum of a tuple and a list")
            return self._tuple_of([*self.parts_of(left), *self.parts_of(right)], left.type.is_list)
        if symbol == "**" and isinstance(left.type, Array) and left.type.dtype == BOOL and type(right.literal) is int:
            raise UntranslatableError("a power of an array of booleans")  # of which the square is of int8
        if isinstance(left.type, Number) and isinstance(right.type, Number):
            return binary(symbol, left, right, alone=True)
        return self.elementwise([left, right], lambda v: binary(symbol, *v))

    def pointwise(self, compute: Compute, *operands: Value) -> Value:
        """`compute` of numbers, or of the elements of arrays."""
        if any(isinstance(v.type, Array) for v in operands):
            return self.elementwise(operands, compute)
        return compute(operands)

    def note(self, value: Value) -> Value:
        """Remember that an array was computed."""
        if isinstance(value.type, Array):
            self.facts.count(*value.type.shape)
        return value

    def matmul(self, a: Value, b: Value) -> Value:
        x, y = a.type, b.type
        if not isinstance(x, Array) or not isinstance(y, Array) or not 1 <= x.ndim <= 2 or not 1 <= y.ndim <= 2:
            raise UntranslatableError("a product of these operands")
        dtype = np.result_type(x.dtype, y.dtype)
        if dtype not in (F64, C128, np.float32, np.complex64, np.dtype(np.int64)):
            raise UntranslatableError(f"a product of arrays of {dtype.name}")
        self.facts.arrays = True
        self.facts.routines = self.facts.routines or dtype.kind == "i"  # NumPy has no BLAS for it
        sizes = (*x.shape, *(y.shape[1:] if y.ndim == 2 else ()))
        product = math.prod(n or 0 for n in sizes) if None not in sizes else math.inf
        if x.ndim == y.ndim == 2:
            self.facts.product = max(self.facts.product, product)
        else:
            self.facts.matrix = max(self.facts.matrix, product)
        if x.ndim == y.ndim == 1 and x.dtype == y.dtype and dtype.kind == "f" and (1,) not in (x.shape, y.shape):
            made = self.added_up(a, b, dtype)
            if made is not None:
                return made
        if self._is_product_of_few(x, y):
            return self._product_of_few(a, b, dtype)
        a, b = self.array(a), self.array(b)
        left, right = (v.text if v.type.dtype == dtype else f"{v.text}.astype(np.{dtype.name})" for v in (a, b))  # type: ignore[union-attr]  # arrays
        if x.ndim == y.ndim == 1:
            return Value(f"dot({left}, {right})", Number(dtype))
        shape = (*x.shape[:-1], *(y.shape[1:] if y.ndim == 2 else ()))
        name = f"dot_{x.ndim}{y.ndim}"
        if x.ndim == y.ndim == 2 and dtype.kind == "f" and numpy_libraries.gemm(dtype) is not None:
            name = f"numpys_product_{SHORT_NAMES[dtype]}"
        return Value(f"{name}(loose({left}), loose({right}))", Array(dtype, shape))

    @staticmethod
    def _is_product_of_few(x: Array, y: Array) -> bool:
        """Whether the elements of a product with a matrix are few, and each of them a sum of few."""
        few = is_few((*x.shape[:-1], *y.shape[1:])) and is_few(x.shape[-1:]) and y.shape[0] == x.shape[-1]
        return few and math.prod((*x.shape, *y.shape[1:])) <= MULTIPLICATIONS_WRITTEN_OUT  # type: ignore[arg-type]  # no None

    def _product_of_few(self, a: Value, b: Value, dtype: np.dtype) -> Value:
        """The same, written out."""
        x, y = a.type, b.type
        assert isinstance(x, Array) and isinstance(y, Array)
        if dtype.kind != "f":
            left, right = "ij"[2 - x.ndim :], "jk"[: y.ndim]
            return self.contract([a, b], [left, right], (left + right).replace("j", ""))  # type: ignore[attr-defined]
        shape = (*x.shape[:-1], *y.shape[1:])
        before, behind = (self.elements(self.array(v)) for v in (a, b))
        self.compare_lengths(before.sizes[-1], behind.sizes[0])

        def element(i: Sequence[str]) -> Value:
            row, column = i[: x.ndim - 1], i[x.ndim - 1 :]
            pairs = [
                (cast(before.at([*row, str(k)]), dtype), cast(behind.at([str(k), *column]), dtype))
                for k in range(x.shape[-1] or 0)
            ]
            return Value(added_products(pairs, in_rows=y.ndim == 1 and x.shape[0] != 1), Number(dtype))

        self.facts.count(*shape)
        sizes = (*before.sizes[:-1], *behind.sizes[1:])
        return self.array(Value(LAZY, Array(dtype, shape), lazy=Lazy(sizes, element, ())))

    # ---- subscripts ----

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base.type, Static) and type(base.type.value) is dict:
            return self._entry(ast.unparse(node.value), base.type.value, node.slice)
        if isinstance(base.type, Items):
            if isinstance(node.slice, ast.Slice):
                return self._items_between(base, node.slice)
            return self._item(base, self.value(node.slice))
        if is_text(base.type):
            return letter(self.subscript(self.codes(node.value, base), node.slice))
        if not isinstance(base.type, Array):
            raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")
        found = self.subscript(self.array(base), node.slice)
        if base.lazy is not None and base.lazy.shares and isinstance(found.type, Array):
            raise UntranslatableError("a part of what may be a view")
        return found

    def codes(self, node: ast.expr, base: Value) -> Value:
        """Of a string outside, the array of its letters."""
        if not isinstance(node, ast.Name) or node.id in self.statics:
            raise UntranslatableError("letters of a string without a name")
        key, found = self.module.codes(base.type.value, (*self.path, node.id))  # type: ignore[union-attr]  # a string's
        made = self.outside(key, found)
        self.module.spelled.add(made.text)
        return made

    def subscript(self, base: Value, node: ast.expr) -> Value:
        """`base[node]` of an array in memory."""
        return self.element(base, *self.index(base, node))

    def _entry(self, name: str, found: dict, node: ast.expr) -> Value:
        """What a dictionary holds while tracing under a key that is written out."""
        if not name.isidentifier() or not isinstance(node, ast.Constant) or node.value not in found:
            raise UntranslatableError(f"`{name}[{ast.unparse(node)[:40]}]`")
        key = re.sub(r"\W", "_", str(node.value))
        return self.outside(f"{name}_{key}", unwrap(found[node.value]))

    def _item(self, base: Value, position: Value) -> Value:
        assert isinstance(base.type, Items)
        k = position.literal
        if not isinstance(k, int):
            whole = self.alike(base)
            return Value(f"{whole.text}[{index(position)}]", whole.type.items[0])  # type: ignore[union-attr]  # a tuple's
        if not -len(base.type.items) <= k < len(base.type.items):
            raise UntranslatableError("an index into a tuple that it does not have")
        if isinstance(base.literal, tuple):
            return base.literal[k]
        return Value(f"{base.text}[{k}]", base.type.items[k])

    def alike(self, base: Value) -> Value:
        """A tuple whose items have one type, in a variable, so that any of them can be picked."""
        assert isinstance(base.type, Items)
        kinds = base.type.items
        if not kinds:
            raise UntranslatableError("an item of no items")
        kind = kinds[0]
        for other in kinds[1:]:
            kind = join(kind, other)
        if not _is_certain(kind) or any(_dtypes(k) != _dtypes(kind) for k in kinds):
            raise UntranslatableError(f"one of several items of {base.type}")
        whole = self.convert(base, Items((kind,) * len(kinds)))
        text = whole.text if whole.text.isidentifier() else self.early(whole.text)
        return Value(text, whole.type)

    def _items_between(self, base: Value, node: ast.Slice) -> Value:
        """A part of a tuple or list."""
        assert isinstance(base.type, Items)
        bounds = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        if any(bound is not None and type(bound.literal) is not int for bound in bounds):
            raise UntranslatableError("a slice of a tuple that is not written out")
        numbers = [None if bound is None else bound.literal for bound in bounds]
        if numbers[2] == 0:
            raise UntranslatableError("a slice with step 0")
        return self._tuple_of(self.parts_of(base)[slice(*numbers)], base.type.is_list)

    def parts_of(self, value: Value) -> list[Value]:
        """The items of a tuple or list, each of which can be used again."""
        assert isinstance(value.type, Items)
        kept = self.kept(value)
        if isinstance(kept.literal, tuple):
            return list(kept.literal)
        return [Value(f"{kept.text}[{k}]", kind) for k, kind in enumerate(value.type.items)]

    @staticmethod
    def _tuple_of(parts: list[Value], is_list: bool) -> Value:
        if not 1 <= len(parts) <= MOST_ITEMS:
            raise UntranslatableError("a tuple of none or many items")
        made = tuple_of(parts)
        return replace(made, type=replace(made.type, is_list=is_list))  # type: ignore[type-var]  # a tuple's

    def element(
        self, base: Value, text: str, shape: tuple[int | None, ...] | None,
        parts: tuple[tuple[str, ...] | None, ...] | None = None,
    ) -> Value:  # fmt: skip
        assert isinstance(base.type, Array)
        if shape is None:
            self.facts.elements = True
            return Value(f"{base.text}[{text}]", Number(base.type.dtype))
        box = Box(base.text, parts) if parts is not None and base.text.isidentifier() else None
        return Value(f"{base.text}[{text}]", Array(base.type.dtype, shape, base.type.origins), box=box)

    def index(
        self, base: Value, node: ast.expr
    ) -> tuple[str, tuple[int | None, ...] | None, tuple[tuple[str, ...] | None, ...] | None]:
        """The text of an index into an array, the shape of what it picks (None: one element), and its parts by axis, if
        these are single indices and slices without steps."""
        assert isinstance(base.type, Array)
        nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
        if not nodes:  # x[()]
            if not base.type.ndim:
                raise UntranslatableError("an index of no axes")
            nodes = [ast.Constant(...)]
        used = sum(not is_newaxis_or_dots(self, n) for n in nodes)
        if used > base.type.ndim:
            raise UntranslatableError("too many indices")
        texts: list[str] = []
        shape: list[int | None] = []
        parts: list[tuple[str, ...] | None] = []
        axis, has_steps, varies = 0, False, False
        for n in nodes:
            if isinstance(n, ast.Constant) and n.value is Ellipsis:
                rest = base.type.ndim - used
                texts.extend([":"] * rest)
                parts.extend([("", "")] * rest)
                shape.extend(base.type.shape[axis : axis + rest])
                axis += rest
                continue
            if isinstance(n, ast.Slice):
                (low, high, step), length = self._slice_parts(base, n, axis)
                texts.append(f"{low}:{high}:{step}" if step else f"{low}:{high}")
                has_steps = has_steps or bool(step)
                parts.append((low, high))
                shape.append(length)
                axis += 1
                continue
            value = self.value(n)
            if isinstance(value.type, Static) and value.type.value is None:
                texts.append("np.newaxis")
                parts.append(None)
                shape.append(1)
                continue
            if isinstance(value.type, Array | Items):
                raise UntranslatableError("an index that is an array or a tuple")
            texts.append(index(value))
            parts.append((texts[-1],))
            varies = varies or value.literal is None
            axis += 1
        parts.extend([("", "")] * (base.type.ndim - axis))
        shape.extend(base.type.shape[axis:])
        text = ", ".join(texts)
        self.facts.rows = self.facts.rows or varies and bool(shape)
        return text, tuple(shape) or None, None if has_steps else tuple(parts)

    def _slice_parts(self, base: Value, node: ast.Slice, axis: int) -> tuple[list[str], int | None]:
        assert isinstance(base.type, Array)
        parts: list[str] = []
        numbers: list[int | None] = []
        for part in (node.lower, node.upper, node.step):
            value = None if part is None else self.value(part)
            if value is None or isinstance(value.type, Static) and value.type.value is None:
                parts.append("")
                numbers.append(None)
                continue
            parts.append(index(value))
            # What is only known of this call must not decide about the text, but may about shapes.
            numbers.append(value.literal if value.literal is not None else value.known)
            if numbers[-1] is None:
                self.facts.partial = True
                numbers[-1] = MOST
        if node.step is not None and node.step is not None and not isinstance(numbers[2], int):
            raise UntranslatableError("a slice with a step that is not written out")
        size = base.type.shape[axis]
        if size is None or MOST in numbers:
            low, high, step = parts
            if low and not step and high.startswith(f"({low} + ") and high[len(low) + 4 : -1].isdigit():
                return parts, self._window(f"{base.text}.shape[{axis}]", low, high, high[len(low) + 4 : -1])
            return parts, None if parts != ["", "", ""] else size
        return parts, len(range(*slice(*numbers).indices(size)))

    def _window(self, size: str, low: str, high: str, length: str) -> int | None:
        """The length of `i:i + length`, which is compared, since the slice need not lie in the array."""
        if self.conditions:
            return None
        first = self.early(f"first_of({low}, {size})")
        self.compare_lengths(self.early(f"count_between({first}, {high}, {size})"), length)
        return int(length)

    # ---- conversions of names ----

    def same_static(self, a: Any, b: Any) -> bool:
        return a is b or same_constant(a, b)


def is_newaxis_or_dots(scope: Scope, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is Ellipsis
    return isinstance(node, ast.Attribute) and node.attr == "newaxis"


def _is_certain(kind: Type) -> bool:
    """Whether the type says of all numbers in it what they are; a number itself may be Python's or NumPy's."""
    if isinstance(kind, Items):
        return all(_is_certain(k) and not (isinstance(k, Number) and k.unsure) for k in kind.items)
    return isinstance(kind, Number) and not (kind.mixed or kind.ints)


def _dtypes(kind: Type) -> Any:
    return tuple(map(_dtypes, kind.items)) if isinstance(kind, Items) else _dtype(kind)


def _dtype(kind: Type) -> Any:
    return kind.dtype if isinstance(kind, Number) else kind


__all__ = ["Facts", "FunctionType", "Module", "Scope", "call", "is_set", "is_whole", "local"]
