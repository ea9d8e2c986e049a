"""Objects that traced code makes and returns: as Python makes them, at every call."""

from __future__ import annotations

import copy
import functools
from collections import deque
from dataclasses import InitVar, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.reads import instance_attributes
from workbench.notebook.cells import run_cell

T = TypeVar("T")
told: list[str] = []
kept: list[Any] = []


@dataclass
class Result:
    x: Any
    n: int = 0
    tags: list = field(default_factory=list)

    def total(self):
        return self.x.sum()


@dataclass(frozen=True, slots=True)
class Vector:
    x: Any
    scale: float = 2.0

    def __add__(self, other):
        return Vector(self.x + other.x, self.scale)

    def scaled(self):
        return Vector(self.x * self.scale, self.scale)


@dataclass(kw_only=True)
class Fitted:
    a: Any
    factor: InitVar[float] = 3.0
    b: Any = field(init=False)

    def __post_init__(self, factor):
        self.b = self.a * factor


class Base:
    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        return self.x * 2

    @functools.cached_property
    def norm(self):
        return np.sqrt((self.x**2).sum())


class Weighted(Base):
    __slots__ = ("weight",)

    def __init__(self, x, weight):
        super().__init__(x)
        self.weight = weight

    def __call__(self, y):
        return self.x @ y + self.weight


class Node:
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


class Box(Generic[T]):
    def __init__(self, value):
        self.value = value


class Shape:
    def __init_subclass__(cls, kind="", **kwargs):
        super().__init_subclass__(**kwargs)
        cls.kind = kind
        told.append(kind)


class Circle(Shape, kind="circle"):
    def __init__(self, r):
        self.r = r

    def area(self):
        return np.pi * self.r**2


outside = Result(np.ones(2))


def same_objects(a: Any, b: Any, seen: dict[int, int] | None = None) -> None:
    """That `a` is made like `b`: the same classes, the same values, the same objects in the same places."""
    seen = {} if seen is None else seen
    is_value = b is None or isinstance(b, int | float | str | np.generic)
    if not is_value:
        assert (id(a) in seen) == (id(b) in seen)
        if id(b) in seen:
            assert seen[id(a)] == seen[id(b)]
            return
        seen[id(a)] = seen[id(b)] = len(seen)
    assert type(a) is type(b)
    if is_value:
        assert a == b
    elif isinstance(b, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(b, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same_objects(one, other, seen)
    else:
        one, other = (v if isinstance(v, dict) else instance_attributes(v) for v in (a, b))
        assert list(one) == list(other)
        for key in other:
            same_objects(one[key], other[key], seen)


def a_dataclass(x):
    return Result(x * 2, 3)


def sums_of_frozen_ones(x):
    return Vector(x + 1).scaled() + Vector(x)


def what_post_init_sets(x):
    return Fitted(a=x), Fitted(a=x + 1, factor=0.5)


def properties_and_slots(x):
    made = Weighted(x * 3, 1.5)
    made.norm  # noqa: B018 (which is kept in the object)
    return made, made.twice, made(x)


def parents_and_children(x):
    root = Node(x)
    Node(x * 2, Node(x + 1, root))
    return root


def one_in_several_places(x):
    made = Result(x * 2)
    return [made, made, {"a": made}, (made, made.x)]


def one_that_holds_itself(x):
    made = Result(x * 2)
    made.tags.append(made)
    made.me = {"it": made}
    return made


def namespaces(x):
    return SimpleNamespace(a=x * 2, b=SimpleNamespace(c=3, d="text"))


def several(x):
    return [Result(x * i, i) for i in range(3)]


def replaced_fields(x):
    return replace(Vector(x, 3.0), x=x * 5)


def copies(x):
    return copy.copy(Result(x * 2)), copy.deepcopy(Result(x, tags=[x]))


def arguments_and_their_views(x):
    return Result(x, tags=[x, x[1:]])


def what_is_outside(x):
    return Result(outside, outside.n)


def set_in_a_loop(x):
    made = Result(x * 0)
    while made.x.sum() < 10:
        made.x = made.x + x
        made.n += 1
    return made


def of_a_generic_class(x):
    return Box(x * 2)


def of_a_class_that_hears_of_subclasses(x):
    made = Circle(x)
    return made, made.area(), made.kind


def kept_outside(x):
    kept.append(Result(x * 2))
    return x + 1


inner = wb.jit(a_dataclass)


def of_a_compiled_function(x):
    made = inner(x)
    return Result(made.total(), made.n)


@pytest.mark.parametrize("function", [
    a_dataclass, sums_of_frozen_ones, what_post_init_sets, properties_and_slots, parents_and_children,
    one_in_several_places, one_that_holds_itself, namespaces, several, replaced_fields, copies,
    arguments_and_their_views, what_is_outside, set_in_a_loop, of_a_generic_class,
    of_a_class_that_hears_of_subclasses, kept_outside, of_a_compiled_function,
], ids=lambda function: function.__name__)  # fmt: skip
def test_objects_are_made_as_python_makes_them(function):
    compiled = wb.jit(function)
    told.clear()
    for k in range(4):
        x = np.array([1.0, 2.0, 3.0]) + k
        kept.clear()
        expected = function(x), x, outside, list(kept)
        kept.clear()
        same_objects((compiled(x), x, outside, list(kept)), expected)
    assert not compiled.fallbacks and compiled.n_traces == 1
    assert not told


def test_every_call_makes_other_objects():
    compiled = wb.jit(one_in_several_places)
    first, second = compiled(np.ones(3)), compiled(np.ones(3))
    assert first[0] is first[1] is first[2]["a"] is first[3][0]
    assert second[0] is not first[0]
    first[0].x[0] = 7
    assert first[3][1][0] == 7 and second[3][1][0] == 2


def test_a_redefined_class_makes_the_objects():
    names: dict[str, Any] = {"np": np, "__name__": "__main__", "x": np.arange(3.0)}
    define = "class Model:\n    def __init__(self, w):\n        self.w = w\n    def __call__(self):\n        return self.w * 2"
    use = "model = Model(x + 1)\ny = model()"
    for _ in range(3):
        run_cell(define, names)
        assert not run_cell(use, names).report.fallbacks
        assert type(names["model"]) is names["Model"]
        np.testing.assert_array_equal(names["model"]() - names["y"], 0)


def test_objects_of_one_cell_are_used_in_the_next():
    names: dict[str, Any] = {"np": np, "Result": Result, "x": np.arange(3.0)}
    run_cell("a = Result(x * 2)\nb = a\nmany = [Result(x + i, i) for i in range(3)]", names)
    assert names["a"] is names["b"] and type(names["a"]) is Result
    assert not run_cell("a.x = a.x + 1\ns = sum(m.total() for m in many) + b.total()", names).report.fallbacks
    assert names["a"] is names["b"]
    np.testing.assert_array_equal(names["a"].x, [1, 3, 5])
    assert names["s"] == 18 + 9


def test_a_class_made_in_a_cell_tells_of_its_subclass_once():
    names: dict[str, Any] = {"np": np, "x": np.arange(3.0), "Shape": Shape, "__name__": "__main__"}
    cell = (
        "class Square(Shape, kind='square'):\n    def __init__(self, r):\n        self.r = r\ny = Square(x + 1).r * 2"
    )
    told.clear()
    for k in range(1, 4):
        run_cell(cell, names)
        assert told == ["square"] * k and names["Square"].kind == "square"
        np.testing.assert_array_equal(names["y"], [2, 4, 6])


class Closed:
    def __init__(self, x):
        self.x = x

    def __del__(self):
        told.append("closed")


class Rows(list):
    pass


class Recent(deque):
    pass


class Failed(ValueError):
    pass


@pytest.mark.parametrize("make", [
    lambda x: Closed(x * 2).x, lambda x: Rows([x * 2]), lambda x: Recent([x * 2]), lambda x: Failed(2.0).args,
])  # fmt: skip
def test_objects_that_hold_more_than_attributes_are_pythons(make):
    compiled = wb.jit(make)
    for _ in range(3):
        result, expected = compiled(np.ones(2)), make(np.ones(2))
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected)
