"""The contexts of lowering rules, over plain values: scalar text is evaluated by NumPy, indices are Python ints."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.ir import Aval, Primitive, aval_of
from workbench.ir.primitive import REGISTRY
from workbench.primitives.arithmetic import WHOLE_POWERS
from workbench.primitives.index import Expr, size
from workbench.primitives.lowering import Choose, Compute, Element, Read

# What each scalar function means: our primitive of that name, or NumPy's function where the names differ.
NUMPY_NAMES = {
    "pow_minus_two": lambda x: np.power(x, np.full_like(x, -2)),
    **{name: lambda x, n=n: np.power(x, np.full_like(x, n)) for n, name in WHOLE_POWERS.items()},
    "pow_whole": np.power, "maximum": np.maximum, "minimum": np.minimum,
    "bits": lambda x: x.view(f"i{x.itemsize}"), "from_bits": lambda bits: bits.view(f"f{bits.itemsize}"),
    "threefry2x32_first": functools.partial(REGISTRY["threefry2x32"].impl, word=0),
    "threefry2x32_second": functools.partial(REGISTRY["threefry2x32"].impl, word=1),
}  # fmt: skip


def scalar_reference(name: str, dtype: np.dtype) -> Any:
    """The NumPy function that the device's scalar function `name` stands for."""
    function = NUMPY_NAMES.get(name) or REGISTRY[name].impl

    def reference(*args: Any) -> Any:
        # Of length 1, not rank 0: NumPy's power takes another path for a scalar exponent.
        arrays = [np.asarray(a).reshape(1) for a in args]
        taken = np.dtype(f"i{dtype.itemsize}") if name == "from_bits" else dtype  # it is named by its result
        assert arrays[0].dtype == taken, f"{name} for {dtype} was called with {arrays[0].dtype}"
        return function(*arrays)[0]

    return reference


@dataclass
class ScalarTestContext:
    """A `ScalarContext`. `calls` records the scalar functions asked for, `casts` the pairs of dtypes."""

    dtype: np.dtype
    in_dtypes: tuple[np.dtype, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    calls: set[tuple[str, np.dtype]] = field(default_factory=set)
    casts: set[tuple[np.dtype, np.dtype]] = field(default_factory=set)

    def const(self, value: Any, dtype: np.dtype | None = None) -> str:
        return f"np.dtype('{dtype or self.dtype}').type({value!r})"

    def call(self, name: str, *args: str, dtype: np.dtype | None = None) -> str:
        dtype = np.dtype(dtype or self.in_dtypes[0])
        self.calls.add((name, dtype))
        return f"call({name!r}, '{dtype}')({', '.join(args)})"

    def constant(self, expr: str) -> Any:
        return None

    def shared(self, expr: str) -> bool:
        return False

    def choose(self, condition: str, then: str, otherwise: str) -> str:
        return f"({then} if {condition} else {otherwise})"

    def cast(self, expr: str, source: np.dtype, target: np.dtype) -> str:
        self.casts.add((np.dtype(source), np.dtype(target)))
        return f"cast({expr}, '{source}', '{target}')"

    def evaluate(self, text: str, operands: Mapping[str, Any]) -> Any:
        """The scalar that `text` computes, in the context's dtype."""
        names = {"np": np, "call": lambda name, dtype: scalar_reference(name, np.dtype(dtype)), "cast": _cast}
        found = eval(text, names, dict(operands))
        # The code generator casts integers and bools; a Python complex comes of `complex(re, im)`.
        assert np.asarray(found).dtype == self.dtype or self.dtype.kind in "biuc", text
        return np.asarray(found).astype(self.dtype)[()]


def _cast(value: Any, source: str, target: str) -> Any:
    value = np.asarray(value)
    assert value.dtype == np.dtype(source)
    return REGISTRY["convert_element_type"].impl(value, new_dtype=np.dtype(target))[()]


class IndexTestContext:
    """An `IndexContext` whose indices and sizes are ints."""

    def __init__(self, operands: Iterable[np.ndarray], out: Aval, params: Mapping[str, Any]):
        self.operands = tuple(operands)
        self.in_avals = tuple(map(aval_of, self.operands))
        self.out_aval = out
        self.out_dtype = out.dtype
        self.params = params
        self.in_shapes: Any = tuple(aval.shape for aval in self.in_avals)
        self.out_shape: Any = out.shape

    def runtime(self, value: int) -> Any:
        return value

    def load(self, operand: int, index: tuple[Any, ...]) -> Any:
        return int(self.read(operand, index))

    def value(self, index: Any) -> str:
        return str(index)

    def read(self, operand: int, index: tuple[Any, ...]) -> Any:
        """An element; like compiled code, it knows no negative indices."""
        array = self.operands[operand]
        assert len(index) == array.ndim
        assert all(0 <= i < n for i, n in zip(index, array.shape, strict=True)), f"{index} is outside {array.shape}"
        return array[tuple(index)]

    def result(self, primitive: Primitive) -> np.ndarray:
        """The whole result, element by element."""
        out = np.empty(self.out_aval.shape, self.out_dtype)
        for index in itertools.product(*map(range, out.shape)):
            out[index] = self.pick(primitive.lowering.element(self, index))
        return out

    def pick(self, element: Element) -> Any:
        match element:
            case Read(operand, index):
                return self.read(operand, index)
            case Choose(condition, then, otherwise):
                return self.pick(then if condition else otherwise)
            case Compute(expr):
                return eval(expr)
        raise AssertionError(element)


class SymbolicContext(IndexTestContext):
    """An `IndexContext` of expressions, as the code generator has. `values` holds what each symbol stands for."""

    def __init__(self, operands: Iterable[np.ndarray], out: Aval, params: Mapping[str, Any]):
        super().__init__(operands, out, params)
        self.values: dict[str, int] = {}
        self.in_shapes = tuple(
            tuple(self._symbol(f"x{k}_size{d}", n) for d, n in enumerate(aval.shape))
            for k, aval in enumerate(self.in_avals)
        )
        self.out_shape = tuple(self._symbol(f"out_size{d}", n) for d, n in enumerate(out.shape))
        self.index = tuple(Expr("sym", (f"i{d}",), d) for d in range(out.ndim))

    def _symbol(self, name: str, value: int) -> Expr:
        self.values[name] = value
        return size(name)

    def runtime(self, value: int) -> Any:
        return Expr("const", (value,)) if 0 <= value <= 2 else self._symbol(f"given{len(self.values)}", value)

    def load(self, operand: int, index: tuple[Any, ...]) -> Any:
        return Expr("loaded", (f"load({operand}, ({''.join(f'{i}, ' for i in index)}))", *index))

    def result(self, primitive: Primitive) -> np.ndarray:
        """The whole result, by evaluating the printed expressions at every index."""
        element = primitive.lowering.element(self, self.index)
        out = np.empty(self.out_aval.shape, self.out_dtype)
        for index in itertools.product(*map(range, out.shape)):
            names = self.values | {f"i{d}": i for d, i in enumerate(index)} | {"load": super().load}
            out[index] = self._pick(element, names)
        return out

    def _pick(self, element: Element, names: dict[str, Any]) -> Any:
        match element:
            case Read(operand, index):
                return self.read(operand, tuple(eval(str(i), names) for i in index))
            case Choose(condition, then, otherwise):
                return self._pick(then if eval(str(condition), names) else otherwise, names)
            case Compute(expr):
                return eval(expr, names)
        raise AssertionError(element)

    def text(self, primitive: Primitive) -> str:
        """The rule's outcome as text."""
        return _text(primitive.lowering.element(self, self.index))


def _text(element: Element) -> str:
    match element:
        case Read(operand, index):
            return f"x{operand}[{', '.join(map(str, index))}]"
        case Choose(condition, then, otherwise):
            return f"({_text(then)} if {condition} else {_text(otherwise)})"
        case Compute(expr):
            return expr
    raise AssertionError(element)
