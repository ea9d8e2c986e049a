"""The fast path of a call: it takes exactly the calls that the slow path would answer with the same version."""

from __future__ import annotations

import datetime
import operator
import pickle
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import is_

import numpy as np
import optree
import pytest

import workbench as wb
from workbench.frontend.captures import Capture, Guard
from workbench.frontend.constants import same_constant
from workbench.frontend.reads import place_of
from workbench.runtime.fast_path import MISS, ResultText, fast_call
from workbench.runtime.native.kernels import fits_function

X = np.linspace(0.0, 1.0, 12)
UNALIGNED = np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64)
FIRST = ResultText("r[0]", {})


pytestmark = pytest.mark.usefixtures("no_device_was_chosen")


def test_only_arguments_of_the_same_kind_hit():
    call = fast_call((X, 2.0, 3), {}, lambda *arrays: (arrays,), FIRST, (), floats_are_traced=True)
    assert call is not None
    (x, factor) = call(X, 2.5, 3)
    assert x is X and factor == 2.5 and isinstance(factor, np.ndarray)
    others = [
        (X[:-1], 2.0, 3), (X.astype(np.float32), 2.0, 3), (X.reshape(3, 4), 2.0, 3), (np.repeat(X, 2)[::2], 2.0, 3),
        (X.astype(X.dtype.newbyteorder()), 2.0, 3), (X.view(np.recarray), 2.0, 3), (list(X), 2.0, 3),
        (X, 2, 3), (X, np.float64(2.0), 3), (X, 2.0, 4), (X, 2.0, True), (X, 2.0, 3.0), (X, None, 3),
    ]  # fmt: skip
    for other in others:
        assert call(*other) is MISS


class Derived(np.ndarray):
    pass


def test_what_fits_is_what_python_says():
    one, record = np.arange(24.0), np.zeros(5, [("a", "u1"), ("b", "f8")])
    values = [
        one, one.copy(), one[:12], one[::2], one.reshape(4, 6), one.reshape(4, 6).T, one.reshape(6, 4), one[:, None],
        one[:0], one[:0].reshape(0, 3), one.reshape(2, 3, 4), np.array(1.0), np.array(1), one.astype("f4"),
        one.astype(">f8"), one.view("i8"), one.view("c16"), one.view(Derived), record["b"], one.view("M8[s]"),
        np.float64(1.0), 1.0, 1, True, None, "text", [1.0], object(),
    ]  # fmt: skip
    for flags in (0x1, 0x100, 0x101, 0x501):

        def like(a, b, flags=flags):
            if type(a) is not type(b):
                return False
            if not isinstance(a, np.ndarray):
                return True
            same_strides = flags & 1 or a.strides == b.strides
            return a.dtype is b.dtype and a.shape == b.shape and b.flags.num & flags == flags and bool(same_strides)

        for a in values:
            fits = fits_function([a, 2.0], [flags, flags])
            for b in values:
                assert fits(b, 3.0) is like(a, b)
                assert fits(b, 3) is False and fits(b) is False and fits(b, 3.0, 3.0) is False
            pair = fits_function([one, a], [flags, flags])
            assert pair(one, a) is (like(one, one) and like(a, a))
    assert fits_function([], [])() is True


def test_guards_of_globals_are_looked_up():
    names = {"offset": 1, "zero": 0.0, "function": abs}
    guards = [
        Guard(name, partial(operator.getitem, names, name), value, same)
        for name, value, same in (("offset", 1, same_constant), ("zero", 0.0, same_constant), ("function", abs, is_))
    ]
    assert all(place_of(guard.read) == (names, guard.name) for guard in guards)
    call = fast_call((X,), {}, lambda x: (x,), FIRST, guards, floats_are_traced=True)
    assert call is not None and call(X) is X
    for name, value in (("offset", True), ("offset", 2), ("zero", -0.0), ("function", max), ("zero", None)):
        before, names[name] = names[name], value
        assert call(X) is MISS
        del names[name]
        assert call(X) is MISS
        names[name] = before
        assert call(X) is X


@pytest.mark.parametrize("is_global", [True, False])
def test_captured_arrays_are_read_at_every_call(is_global):
    names = {"table": X + 1}
    read = partial(operator.getitem, names, "table") if is_global else lambda: names["table"]
    captures = [Capture("table", read, None)]
    call = fast_call((X,), {}, lambda x, table: (x, table), FIRST, (), captures, floats_are_traced=True)
    run = fast_call((X,), {}, lambda x, table: (table,), FIRST, (), captures, floats_are_traced=True)
    assert call is not None and run is not None and call(X) is X and run(X) is names["table"]
    names["table"] = X + 2
    assert run(X) is names["table"]
    for other in (X[:5], X.astype("f4"), np.repeat(X, 2)[::2], list(X), None):
        names["table"] = other
        assert run(X) is MISS
    del names["table"]
    assert run(X) is MISS


def test_functions_over_captured_arrays_take_the_fast_path():
    table = X + 1

    def inner(x):
        return x * table

    f = wb.jit(inner)
    for _ in range(4):
        np.testing.assert_array_equal(f(X), X * table)
    assert f._fast(X) is not MISS
    for other in (X + 5, X[:1], X + 7):
        table = other
        for _ in range(3):
            np.testing.assert_array_equal(f(X), X * table)
    table[...] = 3.0
    np.testing.assert_array_equal(f(X), X * 3.0)


def test_a_guard_that_fails_misses():
    current = True
    call = fast_call((X,), {}, lambda x: (x,), FIRST, [Guard("current", lambda: current, True)], floats_are_traced=True)
    assert call is not None and call(X) is X
    current = False
    assert call(X) is MISS


@pytest.mark.parametrize("args", [({"a": X, 2: X},), (np.float16(1),), (np.longdouble(1),), (UNALIGNED,)])
def test_other_arguments_have_no_fast_path(args):
    assert fast_call(args, {}, lambda *a: a, FIRST, (), floats_are_traced=True) is None


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, np.bool_, np.complex64, complex])
def test_numbers_of_numpy_hit_as_those_of_their_type(kind):
    f = wb.jit(lambda x, s: x * s)
    for value in (1, 0, 1):
        result = f(X, kind(value))
        np.testing.assert_array_equal(result, X * kind(value))
        assert result.dtype == (X * kind(value)).dtype
    assert f._fast(X, kind(0)) is not MISS
    for other in (np.int32(1), np.float32(1), np.float64(1), True, 1, 1.0):
        if type(other) is not kind:
            assert f._fast(X, other) is MISS
            assert f(X, other).dtype == (X * other).dtype


@pytest.mark.parametrize("dtype", [bool, np.int16, np.uint64, np.float32, float, np.complex64, complex])
def test_arrays_with_dtype_objects_of_their_own_hit(dtype):
    x = np.arange(6).astype(dtype)
    unpickled = pickle.loads(pickle.dumps(x))
    assert unpickled.dtype is not x.dtype
    call = fast_call((x,), {}, lambda x: (x,), FIRST, floats_are_traced=True)
    assert call is not None
    assert call(unpickled) is unpickled
    assert call(x.astype(x.dtype.newbyteorder())) is MISS or x.dtype.itemsize == 1
    other_way = fast_call((unpickled,), {}, lambda x: (x,), FIRST, floats_are_traced=True)
    assert other_way is not None and other_way(x) is x


class Slotted:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 2.5


class Holder:
    offset = 1
    names = {"scale": {"x": 2.0}}

    def __init__(self):
        self.weights, self.bias, self.mode = np.arange(12.0), 0.5, "add"
        self.layers, self.table = [1, 2], [0.25] * 20
        self.inner = Slotted()

    def __call__(self, x):
        y = x * self.weights * self.table[3] + self.bias if self.mode == "add" else x - self.weights
        return (y + sum(self.layers) + self.offset) * self.inner.factor * self.names["scale"]["x"]

    def unused(self, x, table={"many": 1, "others": 2}):  # noqa: B006
        return x


def _change_class(holder):
    Holder.offset = 7


def _shadow_method(holder):
    holder.offset = -0.0


CHANGES = [
    lambda m: setattr(m, "bias", 1), lambda m: setattr(m, "bias", -0.0), lambda m: setattr(m, "mode", "other"),
    lambda m: setattr(m, "weights", m.weights + 1), lambda m: m.weights.__setitem__(3, 9.0),
    lambda m: setattr(m, "weights", m.weights[:1]), lambda m: setattr(m, "weights", m.weights.astype("f4")),
    lambda m: m.layers.append(4), lambda m: m.layers.__setitem__(0, True), lambda m: m.table.__setitem__(3, 4),
    lambda m: m.table.__setitem__(3, -0.25), lambda m: setattr(m.inner, "factor", 3), lambda m: setattr(m, "more", 1),
    lambda m: setattr(m, "inner", Slotted()),
    lambda m: m.names["scale"].__setitem__("x", 3.0), _change_class, _shadow_method,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_objects_hold_is_seen_at_every_call(change, monkeypatch):
    monkeypatch.setattr(Holder, "offset", 1)
    monkeypatch.setattr(Holder, "names", {"scale": {"x": 2.0}})
    holder = Holder()

    @wb.jit
    def f(x):
        return holder(x)

    for _ in range(5):
        np.testing.assert_array_equal(f(X), holder(X))
    assert f._fast(X) is not MISS
    change(holder)
    for _ in range(3):
        result, expected = f(X), holder(X)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
    assert not f.fallbacks


@dataclass(frozen=True)
class Settings:
    factor: float


@pytest.mark.parametrize(
    "make", [lambda: Settings(2.0), lambda: datetime.date(2020, 1, 2), lambda: Fraction(1, 2), lambda: Slotted()]
)
def test_objects_that_are_made_for_each_call_hit(make):
    def f(x, given):
        if isinstance(given, datetime.date):
            return x * given.year
        return x * given.numerator if isinstance(given, Fraction) else x * given.factor

    ours = wb.jit(f)
    for _ in range(12):
        np.testing.assert_array_equal(ours(X, make()), f(X, make()))
    assert ours._fast(X, make()) is not MISS
    for other in (Settings(-0.0), datetime.date(2021, 1, 2), Fraction(3, 2)):
        np.testing.assert_array_equal(ours(X, other), f(X, other))


def test_floats_that_are_constants_hit_with_their_own_value_alone():
    ours = wb.jit(lambda x, n, s: x[: int(n)] * s)
    for _ in range(3):
        for n in (2.0, 3.0):
            np.testing.assert_array_equal(ours(X, n, 0.0), X[: int(n)] * 0.0)
    assert ours._fast(X, 3.0, 0.0) is not MISS
    assert ours._fast(X, 2.0, 0.0) is MISS and ours._fast(X, np.float64(3.0), 0.0) is MISS
    assert np.signbit(ours(X, 3.0, -0.0)).all()


def test_what_is_gone_is_an_error_as_without_it():
    holder = Holder()
    f = wb.jit(lambda x: holder(x))
    for _ in range(4):
        f(X)
    del holder.weights
    with pytest.raises(AttributeError, match="weights"):
        f(X)
    holder.weights = np.ones(12)
    np.testing.assert_array_equal(f(X), holder(X))


def test_what_the_code_does_not_use_of_a_class_is_not_looked_up():
    holder = Holder()
    f = wb.jit(lambda x: holder(x))
    f(X)
    ((entry,),) = f._state.specialisations.values()
    assert not [guard.name for guard in entry.traced.guards if "unused" in guard.name]


def test_shapes_dtypes_and_statics_that_alternate():
    f = wb.jit(lambda x, n, scale: (x * scale).sum() + n)
    calls = [(X, 2, 1.5), (X[:5], 2, 0.5), (X.astype(np.float32), 2, 1.0), (X, 3, 2.0), (X[::2], 2, 1.5), (X, 2, 1.5)]
    for _ in range(5):
        for args in calls:
            expected = f.fn(*args)
            assert np.asarray(f(*args)).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(f(*args), expected, rtol=1e-6)
    assert f.n_traces == 5


def test_a_captured_value_that_changes_is_seen():
    offset = 1
    f = wb.jit(lambda x: x + offset)
    for _ in range(4):
        np.testing.assert_array_equal(f(X), X + 1)
    offset = 5
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X + 5)


def found_above(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append(v)
    return found


RESULTS = {
    "a number": lambda x: x.sum(),
    "a Python number": lambda x: x.sum().item() if isinstance(x, float) else len(x) * 2,
    "an array of rank 0": lambda x: np.asarray(x.sum()),
    "a pair": lambda x: (x + 1, x.max()),
    "a list": lambda x: [x + 1, None, "text", x.argmin(), 3],
    "a dict": lambda x: {"b": x * 2, "a": (x.mean(), [x > 0])},
    "one": lambda x: (x - 1,),
    "none": lambda x: None,
    "an empty tuple": lambda x: (),
    "twice the same": lambda x: (y := x + 1, y),
    "equal ones": lambda x: (x + 1, x + 1),
    "a view of a result": lambda x: (y := x + 1, y[2:]),
    "an argument": lambda x: (x, x + 1),
    "a view of an argument": lambda x: (x[1:], x.sum()),
    "a constant": lambda x: (np.arange(3), x * 1),
    "a list of what is found": found_above,
    "one of two arrays": lambda x: (x if x.sum() > 1 else x + 1, x.max()),
    "a list twice": lambda x: (y := [x + 1], y),
}


@pytest.mark.parametrize("f", RESULTS.values(), ids=RESULTS)
def test_results_of_all_kinds_are_those_of_the_first_call(f):
    def facts(result):
        leaves, tree = optree.tree_flatten(result, none_is_leaf=True)
        shared = [np.may_share_memory(a, b) for a in leaves for b in (X, *leaves) if isinstance(a, np.ndarray)]
        same = [a is b for a in leaves for b in leaves if isinstance(a, np.ndarray)]
        return tree, [type(x) for x in leaves], [getattr(x, "flags", None) and x.flags.writeable for x in leaves], \
            shared, same  # fmt: skip

    compiled = wb.jit(f)
    expected = f(X)
    for _ in range(4):
        found = compiled(X)
        assert facts(found) == facts(expected)
        np.testing.assert_equal(found, expected)
    assert compiled._fast(X) is not MISS


def test_lists_among_the_arguments_that_are_returned():
    def f(items, x):
        return items, x[1:], x + items[0]

    compiled = wb.jit(f)
    for _ in range(4):
        items = [1, 2]
        found = compiled(items, X)
        assert found[0] is items and np.shares_memory(found[1], X)
        np.testing.assert_array_equal(found[2], X + 1)


def test_results_are_fresh_arrays():
    f = wb.jit(lambda x: x + 1)
    results = [f(X) for _ in range(5)]
    results[0][:] = -1
    for result in results[1:]:
        np.testing.assert_array_equal(result, X + 1)


def test_inside_another_trace_the_program_is_inlined():
    inner = wb.jit(lambda x: np.sqrt(x) + 1)
    for _ in range(3):
        inner(X)
    outer = wb.jit(lambda x: inner(x) * 2 + inner(X))
    np.testing.assert_allclose(outer(X), 2 * (np.sqrt(X) + 1) + np.sqrt(X) + 1, rtol=1e-15)
    assert "sqrt" in str(wb.make_jaxpr(lambda x: inner(x))(X))


def test_arguments_that_are_left_out_or_too_many_miss():
    call = fast_call((X, 2), {}, lambda x: (x,), FIRST, (), floats_are_traced=True)
    assert call is not None and call(X, 2) is X
    assert call(X) is MISS and call() is MISS and call(X, 2, None) is MISS


def test_read_only_arguments_hit():
    frozen = X.copy()
    frozen.flags.writeable = False
    for first in (X, frozen):  # programs that write have no fast path
        call = fast_call((first,), {}, lambda x: (x,), FIRST, (), floats_are_traced=True)
        assert call is not None and call(frozen) is frozen and call(X) is X
    f = wb.jit(lambda x: x * 2)
    for x in (X, frozen, X, frozen, np.broadcast_to(X, (2, 12))[1]):
        np.testing.assert_array_equal(f(x), X * 2)


def test_a_chosen_device_is_asked_from_then_on():
    chosen = set()
    call = fast_call((X,), {}, lambda x: (x,), FIRST, (), floats_are_traced=True, elsewhere=chosen)
    assert call is not None and call(X) is X
    chosen.add("cuda:0")
    assert call(X) is MISS


def test_defaults_of_the_function_are_its_own():
    f = wb.jit(lambda x, n=None, scale=2.0: x * scale if n is None else x * n)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X * 2)
        np.testing.assert_array_equal(f(X, None), X * 2)
        np.testing.assert_array_equal(f(X, 3), X * 3)
        np.testing.assert_array_equal(f(X, None, 5.0), X * 5)


def scale_in_place(x, y):
    x *= y


def both(x, y):
    x += y
    y *= 2.0
    return y, x


def first_item(items):
    items[0] += 1.0
    return items[0].sum()


def of_options(x, *, options):
    x *= options["scale"]
    return x + options["arrays"][1], len(options["arrays"])


WRITES = {
    "one": (scale_in_place, lambda: (X.copy(), X + 1), {}),
    "a number": (scale_in_place, lambda: (X.copy(), 2.5), {}),
    "both": (both, lambda: (X.copy(), X + 1), {}),
    "a list": (first_item, lambda: ([X.copy(), 3],), {}),
    "keywords": (of_options, lambda: (X.copy(),), {"options": {"scale": 3.0, "arrays": (1, X + 2)}}),
}


@pytest.mark.parametrize(("function", "arguments", "options"), WRITES.values(), ids=WRITES)
def test_calls_that_write_take_the_fast_path(function, arguments, options):
    f = wb.jit(function)
    for _ in range(5):
        found, expected = arguments(), arguments()
        np.testing.assert_equal(f(*found, **options), function(*expected, **options))
        np.testing.assert_equal(found, expected)
    assert f._fast(*arguments(), **options) is not MISS


def test_written_arguments_that_overlap_or_are_read_only_miss():
    f = wb.jit(both)
    for _ in range(3):
        f(X.copy(), X + 1)
    frozen, memory = X + 1, np.arange(30.0)
    frozen.flags.writeable = False
    assert f._fast(X.copy(), frozen) is MISS and f._fast(frozen, X.copy()) is MISS
    assert f._fast(memory[:12], memory[11:23]) is MISS and f._fast(memory[11:23], memory[:12]) is MISS
    assert f._fast(memory[:12], memory[:12]) is MISS
    for i, j in ((0, 0), (0, 5), (5, 0), (0, 12), (12, 0)):
        found, expected = np.arange(30.0), np.arange(30.0)
        np.testing.assert_equal(
            f(found[i : i + 12], found[j : j + 12]), both(expected[i : i + 12], expected[j : j + 12])
        )
        np.testing.assert_array_equal(found, expected)
    assert f._fast(memory[:12], memory[12:24]) is not MISS


def test_an_argument_that_is_written_and_returned_is_the_argument():
    f = wb.jit(lambda x, y: (np.multiply(x, y, out=x), y))
    for _ in range(4):
        x, y = X.copy(), X + 1
        first, second = f(x, y)
        assert first is x and second is y
        np.testing.assert_array_equal(x, X * y)


def test_containers_and_keywords_hit_only_where_they_are_alike():
    tree = {"w": [X, (X + 1, 2)], "b": 1.5}
    call = fast_call((tree,), {"n": 3}, lambda *arrays: arrays, ResultText("r", {}), floats_are_traced=True)
    assert call is not None
    b, w, v = call(tree, n=3)
    assert b == 1.5 and w is X and v is tree["w"][1][0]
    others = [
        {"b": 1.5, "w": [X, (X + 1, 2)]}, {"w": [X, (X + 1, 3)], "b": 1.5}, {"w": [X, [X + 1, 2]], "b": 1.5},
        {"w": (X, (X + 1, 2)), "b": 1.5}, {"w": [X, (X + 1, 2), 4], "b": 1.5}, {"w": [X, (X + 1, 2)], "b": 1},
        {"w": [X, (X + 1, 2)]}, {"w": [X, (X + 1, 2)], "b": 1.5, "c": 1}, [X], None, optree,
        {"w": [X[1:], (X + 1, 2)], "b": 1.5}, {"w": [X, (None, 2)], "b": 1.5},
    ]  # fmt: skip
    for other in others:
        assert call(other, n=3) is MISS
    assert call(tree) is MISS and call(tree, 3) is MISS and call(tree, n=4) is MISS and call(tree, n=3, m=1) is MISS
    assert call(n=3) is MISS


def test_names_of_keywords_may_be_any():
    def f(x, *, run=2.0, fits=1, open=None, call=None, a0=3.0, x0=4.0, x1=5.0, r=6.0, now=7.0, rest=8.0, named=9.0):
        return x * run + a0 * x0 - x1 + fits, r * now + rest * named

    g = wb.jit(f)
    for options in (
        {}, {"run": 5.0}, {"fits": 2, "a0": 1.0}, {"x0": X + 1}, {"x0": X + 1, "x1": X * 3}, {"x1": X + 5, "a0": X - 1},
        {"open": None, "r": X + 2, "now": 3.0}, {"rest": X, "named": X + 1}, {"call": 3, "x1": 1.0},
    ):  # fmt: skip
        for turned in (options, dict(reversed(options.items()))):
            for _ in range(4):
                for found, expected in zip(g(X, **turned), f(X, **turned), strict=True):
                    np.testing.assert_allclose(found, expected, rtol=1e-15)
            assert g._fast(X, **turned) is not MISS


class Model:
    def __init__(self):
        self.w, self.scale = X + 1, 2.0

    @wb.jit
    def forward(self, x):
        return x * self.w * self.scale


def test_methods_see_what_their_object_is_now():
    model, other = Model(), Model()
    other.w = X + 7
    for _ in range(4):
        np.testing.assert_array_equal(model.forward(X), X * model.w * model.scale)
        np.testing.assert_array_equal(other.forward(X), X * other.w * other.scale)
    model.w = X + 3
    np.testing.assert_array_equal(model.forward(X), X * (X + 3) * 2.0)
    model.scale = 5.0
    np.testing.assert_array_equal(model.forward(X), X * (X + 3) * 5.0)
    del model.scale
    with pytest.raises(AttributeError, match="scale"):
        model.forward(X)


def test_functions_that_are_never_traced_cost_little():
    def f(x, log):
        log.append(np.union1d(x, x).sum())
        return x * 2

    ours, log, theirs = wb.jit(f), [], []
    for _ in range(30):
        np.testing.assert_array_equal(ours(X, log), f(X, theirs))
    assert log == theirs and ours._fits_numpy(X, log) is not MISS
    n_traces = ours.n_traces
    assert ours(X[:3], log).shape == (3,) and ours.n_traces == n_traces
    with wb.config(strict=True), pytest.raises(wb.errors.TracingError):
        ours(X, log)
    inlined = wb.jit(lambda x: ours(x, []) + 1)
    np.testing.assert_array_equal(inlined(X), X * 2 + 1)
