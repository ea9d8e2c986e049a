"""Objects, classes and functions from outside answer as they do in NumPy: what asks them changes nothing, and what is
one object is one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Hashable, Iterable, Sized
from numbers import Number, Real

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.notebook.cells import run_cell

# ---- questions ----

QUESTIONS = [
    lambda x: hasattr(x, "__len__"),
    lambda x: hasattr(x, "__iter__"),
    lambda x: hasattr(x, "shape") and hasattr(x, "dtype"),
    lambda x: hasattr(x, "is_integer"),
    lambda x: getattr(x, "shape", "none"),
    lambda x: getattr(x, "ndim", 7),
    lambda x: isinstance(x, Iterable),
    lambda x: isinstance(x, Sized),
    lambda x: isinstance(x, Hashable),
    lambda x: isinstance(x, Number),
    lambda x: isinstance(x, Real),
    lambda x: isinstance(x, float | np.ndarray),
    lambda x: isinstance(x, (float, (np.floating, int))),
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("x", [1.5, 2, 1j, True, np.float64(1.5), np.float32(2), np.ones(3), np.array(1.0)], ids=repr)
def test_what_a_traced_value_says_of_itself_is_numpys(question, x):
    def program(x):
        return question(x), x * 2

    assert_same(wb.jit(program)(x), program(x))


# ---- what may not be seen ----


class AttrDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Counting:
    def __init__(self, values):
        self.__dict__.update(values=values, asked=[])

    def __getattr__(self, name):
        self.__dict__["asked"].append(name)
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


class Making:
    def __getattr__(self, name):
        self.__dict__[name] = np.zeros(3)
        return self.__dict__[name]


class Answering(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return len(name)


class Answered(metaclass=Answering):
    def __init__(self):
        self.a = np.ones(3)


@pytest.mark.parametrize(
    "make", [lambda: AttrDict(a=np.ones(3)), lambda: Counting({"a": np.ones(3)}), Making, Answered], ids=["dict", "counts", "makes", "class"]
)  # fmt: skip
def test_objects_are_asked_for_nothing_but_what_the_code_asks(make):
    def program(o, x):
        return o.a + x

    mine, its = make(), make()
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(mine, np.ones(3)), program(its, np.ones(3)))
        assert_same(dict(vars(mine)), dict(vars(its)))


# ---- one object or two ----


class Node:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def adds(s, t):
    t.h["n"] += 1
    s.h["n"] += 2
    s.x = s.x + s.h["n"]
    return s.h is t.h


def writes(s, t):
    t.h[0] = t.h[0] + 1
    s.h[0] = s.h[0] * 2
    return s.x + 1


@pytest.mark.parametrize(
    ("program", "make"), [(adds, lambda: {"n": 0}), (writes, lambda: [np.ones(2)])], ids=["dict", "list"]
)
def test_containers_that_come_to_be_one(program, make):
    def states():
        return Node(h=make(), x=np.ones(2)), Node(h=make(), x=np.ones(2))

    (s, t), (p, q) = states(), states()
    compiled = wb.jit(program)
    for k in range(6):
        if k == 2:
            s.h, p.h = t.h, q.h
        if k == 4:
            s.h, p.h = make(), make()
        assert_same(compiled(s, t), program(p, q))
        assert_same([vars(s), vars(t)], [vars(p), vars(q)])
        assert (s.h is t.h) == (p.h is q.h)


class Momentum:
    def __init__(self, parameters):
        self.parameters, self.state = parameters, {}

    def step(self):
        for p in self.parameters:
            if p not in self.state:
                self.state[p] = np.zeros_like(p.v)
            self.state[p] = 0.5 * self.state[p] + p.v
            p.v -= 0.125 * self.state[p]


def test_objects_as_keys_are_the_objects_themselves():
    mine, its = [Momentum([Node(v=np.ones(2)), Node(v=np.ones(3))]) for _ in range(2)]
    step = wb.jit(Momentum.step)
    for _ in range(4):
        step(mine)
        its.step()
        assert [p in mine.state for p in mine.parameters] == [True, True] and len(mine.state) == 2
        assert_same([p.v for p in mine.parameters], [p.v for p in its.parameters])
        assert all(type(value) is np.ndarray for value in mine.state.values())
    found = wb.jit(lambda ps: {p: p.v * 2 for p in ps})(mine.parameters)
    assert list(found) == mine.parameters


# ---- functions that keep results, or choose by type ----

calls: list[int] = []


@functools.cache
def table(n):
    calls.append(n)
    return np.ones(n) * 2


class Scaled:
    def __init__(self):
        self.a = np.ones(3)

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def times(self, k):
        return self.a * k


def from_a_table(x):
    t = table(2)
    t[0] += 1
    return t + x


def of_an_object(o, k):
    found = o.times(k)
    o.a = o.a + 1
    return found


def test_what_a_function_keeps_is_what_it_gives():
    outcomes = []
    for run in (from_a_table, wb.jit(from_a_table)):
        table.cache_clear()
        calls.clear()
        outcomes.append(([run(np.zeros(1)) for _ in range(4)], table(2), list(calls)))
    assert_same(outcomes[1], outcomes[0])
    mine, its, compiled = Scaled(), Scaled(), wb.jit(of_an_object)
    for _ in range(3):
        assert_same(compiled(mine, 2), of_an_object(its, 2))
        assert_same(mine.a, its.a)


@functools.singledispatch
def moved(what, x):
    return x


@moved.register
def _(what: Node, x):
    what.n += 1
    what.v = what.v + x
    return what.v * 2


@moved.register
def _(what: np.ndarray, x):
    return what - x


def test_a_function_chosen_by_type_is_that_of_the_object():
    def program(o, x):
        return moved(o, x) + 1, moved(x, 1.0), moved(2, x)

    mine, its, compiled = Node(n=0, v=np.ones(2)), Node(n=0, v=np.ones(2)), wb.jit(program)
    for _ in range(3):
        assert_same(compiled(mine, np.ones(2)), program(its, np.ones(2)))
        assert_same(vars(mine), vars(its))
    assert not compiled.fallbacks


entered: list[str] = []


@contextlib.contextmanager
def step(name):
    entered.append(name)
    yield len(entered)
    entered.append(f"no longer {name}")


class Timer(contextlib.ContextDecorator):
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1

    def __exit__(self, *exc):
        self.n += 10


timer = Timer()


@timer
def timed(x):
    return x + timer.n


def within_steps(x):
    with step("outer") as k, step("inner") as n:
        x = x * k + n
    return x


def test_what_a_library_calls_for_the_user_is_run_each_time():
    outcomes = []
    for run, measured in ((within_steps, timed), (wb.jit(within_steps), wb.jit(timed))):
        entered.clear()
        timer.n = 0
        results = [f(np.ones(2)) for _ in range(3) for f in (run, measured)]
        outcomes.append((results, list(entered), timer.n))
    assert_same(outcomes[1], outcomes[0])


class Doubled:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, owner, cls=None):
        entered.append("read")
        return getattr(owner, self.name) + len(entered)

    def __set__(self, owner, value):
        entered.append("set")
        setattr(owner, self.name, value * 2)


class Described:
    v = Doubled()

    def __init__(self, v):
        self.v = v


def test_descriptors_run_each_time():
    def program(o, x):
        o.v = o.v + x
        made = Described(x)
        return o.v, made.v

    outcomes = []
    for run in (program, wb.jit(program)):
        entered.clear()
        o = Described(np.ones(2))
        outcomes.append(([run(o, np.arange(2.0)) for _ in range(3)], list(entered), vars(o)))
    assert_same(outcomes[1], outcomes[0])


class Checked:
    def __get__(self, owner, cls=None):
        entered.append("read")
        return owner.__dict__["v"]

    def __set__(self, owner, value):
        entered.append("set")
        owner.__dict__["v"] = value * 2


class UnderItsOwnName:
    v = Checked()

    def __init__(self, v):
        self.v = v


def test_what_a_descriptor_keeps_under_its_own_name_is_set_once():
    def program(o, x):
        o.v = o.v + x
        return o.v

    outcomes = []
    for run in (program, wb.jit(program)):
        entered.clear()
        o = UnderItsOwnName(np.ones(2))
        outcomes.append(([run(o, np.arange(2.0)) for _ in range(3)], list(entered), vars(o)))
    assert_same(outcomes[1], outcomes[0])


class Named:
    def __init__(self, v):
        self.v = v


def test_asking_whether_a_program_fits_runs_no_descriptor():
    source, x = "y = o.v * x", np.arange(2.0)
    space = {"o": Named(np.ones(2)), "x": x, "np": np}
    run_cell(source, space)
    entered.clear()
    space["o"] = Described(np.ones(2))
    run_cell(source, space)
    assert entered == ["set", "read"]
    assert_same(space["y"], x * 4.0)


def test_an_object_that_a_new_class_keeps_works_in_later_cells():
    source = """
reads = []
class Read:
    def __get__(self, owner, cls=None):
        reads.append(1)
        return owner.a
class Holder:
    v = Read()
h = Holder()
h.a = x * 2
y = h.v
"""
    space = {"x": np.ones(2), "__name__": "__main__"}
    run_cell(source, space)
    assert_same((space["y"], space["h"].v, space["reads"]), (np.full(2, 2.0), np.full(2, 2.0), [1, 1]))


class Vector:
    def __init__(self, d):
        self.d = d

    def __bool__(self):
        return bool(self.d.any())


def test_the_truth_of_an_object_is_what_its_class_says():
    def program(v):
        v.d = v.d - 1
        return (v.d * 2 if v else v.d), not v, bool(v)

    mine, its, compiled = Vector(np.full(3, 2.0)), Vector(np.full(3, 2.0)), wb.jit(program)
    for _ in range(4):
        assert_same(compiled(mine), program(its))
    assert not compiled.fallbacks
