"""Objects and functions that are others at every call: a version reads what the present one holds."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

X = np.linspace(-1.0, 2.0, 30)


class Filter:
    def __init__(self, gain: float, n: int = 3):
        self.gain = gain
        self.state = np.full(n, gain)
        self.taps = [1.0, np.ones(2) * gain]

    @property
    def doubled(self) -> float:
        return self.gain * 2

    def respond(self, x):
        return x * self.gain + self.state.sum()


@dataclass(slots=True)
class Settings:
    rate: float
    weights: np.ndarray
    name: str = "sgd"
    inner: Any = None


def filtered(x, f):
    total = 0.0
    for i in range(len(x)):
        f.state[0] = f.state[0] * 0.5 + x[i]
        total += x[i] * f.gain if x[i] > 0 else -f.doubled
    return f.respond(x) + f.taps[1].sum() * f.taps[0], total, f


def stepped(s, x):
    if s.name == "sgd":
        s.weights -= s.rate * x[: len(s.weights)]
    else:
        s.weights[:] = 0
    return s.weights, s.rate


def integrated(f, x):
    return np.trapezoid(f(x), x)


def applied(f, x):
    return f(x)


def summed(values, x):
    return x * sum(values)


def looped(f, x):
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + f(x[i]) if x[i] > 0 else total + f(0.25)
    return total


def line(a, b):
    def f(x):
        return a * x + b

    return f


def with_default(k):
    return lambda x, scale=k, *, shift=k + 1: x * scale + shift


def nested(k):
    inner = line(k, 1.0)

    def f(x):
        return np.sin(inner(x)) * k

    return f


def counter_of(k):
    values = np.array([k, k + 1.0])

    def f(x):
        values[0] += 1
        return x * values.sum()

    return f


CASES: dict[str, tuple[Callable, Callable[[float], tuple]]] = {
    "object": (filtered, lambda k: (X, Filter(k))),
    "dataclass": (stepped, lambda k: (Settings(k, np.ones(4) * k), X)),
    "namespace": (lambda s, x: s.a * x + s.b[0], lambda k: (types.SimpleNamespace(a=k, b=[X * k]), X)),
    "in a list": (lambda fs, x: fs[0].respond(x) - fs[1].gain, lambda k: ([Filter(k), Filter(k + 1)], X)),
    "lambda": (integrated, lambda k: (lambda x: np.exp(-x) * x, X * k)),
    "closure": (integrated, lambda k: (line(k, -k), X)),
    "defaults": (integrated, lambda k: (with_default(k), X)),
    "defaults in a loop": (looped, lambda k: (with_default(k), X)),
    "closure in a loop": (looped, lambda k: (line(k, -k), X)),
    "closure of a closure": (integrated, lambda k: (nested(k), X)),
    "partial": (integrated, lambda k: (partial(lambda c, x: c * x * x, k), X)),
    "bound method": (applied, lambda k: (Filter(k).respond, X)),
    "closure that writes": (applied, lambda k: (counter_of(k), X)),
    "keyword": (lambda x, *, f: f.respond(x), lambda k: (X, Filter(k))),
    "set": (summed, lambda k: ({1, 2, 3}, X)),
}


def call(function: Callable, args: tuple) -> Any:
    if args and isinstance(args[-1], Filter) and function.__code__.co_kwonlyargcount:
        return function(*args[:-1], f=args[-1])
    return function(*args)


@pytest.mark.parametrize("name", CASES)
def test_few_versions_serve_all(name):
    program, make = CASES[name]
    compiled = wb.jit(program)
    shown: Any = compiled
    shown.__code__ = program.__code__
    for k in range(12):
        given, expected = make(k * 0.5), make(k * 0.5)
        for _ in range(2):
            found, wanted = call(compiled, given), call(program, expected)
            if isinstance(found, tuple) and isinstance(found[-1], Filter):
                assert found[-1] is given[-1]
                found, wanted = found[:-1], wanted[:-1]
            assert_same(found, wanted, max_ulp=4, reduction_scale=100.0)
        for mine, theirs in zip(given, expected, strict=True):
            if isinstance(mine, Filter):
                assert_same(mine.state, theirs.state)
            if isinstance(mine, Settings):
                assert_same(mine.weights, theirs.weights)
    assert compiled.n_traces <= 3 and not compiled.fallbacks


def test_one_object_again_is_one_version():
    compiled, f = wb.jit(filtered), Filter(0.5)
    for _ in range(5):
        compiled(X, f)
    assert compiled.n_traces == 1


def test_what_differs_in_the_kinds_of_its_parts_is_another_version():
    compiled = wb.jit(stepped)
    for k in range(3):
        for make in (
            lambda: Settings(0.5, np.ones(4)), lambda: Settings(0.5, np.ones(5)), lambda: Settings(2.5, np.ones(6)[::2]),
            lambda: Settings(0.5, np.ones(4), "none"), lambda: Settings(0.5, np.ones(4, np.float32)),
            lambda: Settings(3, np.ones(4)), lambda: Settings(np.float64(1.5), np.ones(4)),
        ):  # fmt: skip
            mine, theirs = make(), make()
            assert_same(compiled(mine, X * k), stepped(theirs, X * k))
            assert_same(mine.weights, theirs.weights)


def test_attributes_that_come_and_go():
    def total(s, x):
        return x * getattr(s, "extra", 2.0) + s.a

    compiled = wb.jit(total)
    for k in range(6):
        s = types.SimpleNamespace(a=float(k))
        assert_same(compiled(s, X), total(s, X))
        s.extra = k - 0.5
        assert_same(compiled(s, X), total(s, X))
        s.a = X * k
        assert_same(compiled(s, X), total(s, X))


def test_two_arguments_are_told_from_one_twice():
    def both(p, q, x):
        p.state[0] += 1
        return p.state + q.state * (2 if p is q else 1)

    compiled = wb.jit(both)
    for k in range(4):
        p, q = Filter(k + 0.5), Filter(k - 0.5)
        for pair in ((p, q), (q, q), (p, p), (q, p)):
            copies = {id(f): Filter(0.0) for f in pair}
            for f in pair:
                copies[id(f)].state[:] = f.state
            expected = both(*(copies[id(f)] for f in pair), X)
            assert_same(compiled(*pair, X), expected)


def test_arrays_that_objects_share():
    def moved(p, q):
        p.state += 1
        q.state *= 2
        return p.state.sum()

    compiled = wb.jit(moved)
    for k in range(6):
        mine, theirs = (Filter(k), Filter(k + 1)), (Filter(k), Filter(k + 1))
        if k % 2:
            for p, q in (mine, theirs):
                q.state = p.state[::-1]
        assert_same(compiled(*mine), moved(*theirs))
        for f, g in zip(mine, theirs, strict=True):
            assert_same(f.state, g.state)


def test_functions_that_share_a_variable():
    def pair(k):
        value = k

        def get(x):
            return x * value

        def twice(x):
            return 2 * x * value

        return get, twice

    def used(f, g, x):
        return f(x) + g(x)

    compiled = wb.jit(used)
    for k in range(5):
        get, twice = pair(k + 0.5)
        other, _ = pair(k - 0.5)
        for fs in ((get, twice), (other, twice), (get, pair(2.0)[1])):
            assert_same(compiled(*fs, X), used(*fs, X))


def test_objects_that_hold_each_other():
    class Node:
        def __init__(self, value):
            self.value, self.next = value, self

    def walked(node, x):
        for _ in range(5):
            x = x + node.value
            node = node.next
        return x

    compiled = wb.jit(walked)
    for k in range(5):
        a, b = Node(k * 1.5), Node(np.ones(30) * k)
        assert_same(compiled(a, X), walked(a, X))
        a.next, b.next = b, a
        assert_same(compiled(a, X), walked(a, X))
        assert_same(compiled(b, X), walked(b, X))


def test_numbers_that_sizes_depend_on():
    def sampled(s):
        return np.zeros(int(s.gain * 4)) + s.state.sum()

    compiled = wb.jit(sampled)
    for k in range(20):
        assert_same(compiled(Filter(k % 3 + 0.5)), sampled(Filter(k % 3 + 0.5)))


def numbered(k: int) -> types.SimpleNamespace:
    return types.SimpleNamespace(id=k, other=np.int32(k), is_odd=k % 2 == 1, more=(k, [k]))


def test_ints_that_objects_hold_become_inputs():
    def used(s, f, x):
        y = f(x) * s.id + s.more[1][0] if s.is_odd else x - s.more[0]
        return y * s.other, s.id + 1, s.id * s.more[0]

    compiled = wb.jit(used)
    for k in (*range(30), 2**40, -(2**62), 2**70):
        numbers, f = numbered(k % 2**31), line(-3, k)
        assert_same(compiled(numbers, f, X), used(numbers, f, X))
    assert compiled.n_traces < 16


def test_ints_that_objects_hold_and_sizes_depend_on():
    def used(s):
        return np.zeros(s.id % 5) + s.id

    compiled = wb.jit(used)
    for k in range(40):
        assert_same(compiled(numbered(k)), used(numbered(k)))


def test_attributes_that_are_set():
    def advanced(f, x):
        f.gain = f.gain + x.sum()
        return f.respond(x)

    compiled = wb.jit(advanced)
    for k in range(5):
        mine, theirs = Filter(k), Filter(k)
        assert_same(compiled(mine, X), advanced(theirs, X), reduction_scale=100.0)
        assert_same(mine.gain, theirs.gain, reduction_scale=100.0)
    assert not compiled.fallbacks


def test_threads_have_objects_of_their_own():
    compiled = wb.jit(filtered)
    for k in range(3):
        compiled(X, Filter(k))
    wrong = []

    def work(first):
        for k in range(first, first + 60):
            mine, theirs = Filter(k * 0.25), Filter(k * 0.25)
            found, expected = compiled(X, mine), filtered(X, theirs)
            if (
                found[-1] is not mine
                or not np.allclose(found[0], expected[0])
                or not np.allclose(mine.state, theirs.state)
            ):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
