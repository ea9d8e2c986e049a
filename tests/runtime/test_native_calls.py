"""Calls that one built-in function answers: the same results as the plan's own driver gives, and nothing kept alive."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from functools import partial
from types import BuiltinFunctionType

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.fast_path import SETTLES_AT
from workbench.runtime.native.calls import Form, Look, native_call
from workbench.runtime.native.plans import NativePlan

OFFSET = np.linspace(0.0, 1.0, 30)
FACTOR = 3.0


pytestmark = pytest.mark.usefixtures("no_device_was_chosen")


def one(x, y):
    return x * 2 + y


def scalar(x, y):
    return (x * y).sum()


def several(x, y):
    return x + y, x.max(axis=0), np.mean(x - y)


def with_a_capture(x, y):
    return x + OFFSET - y


def with_a_guard(x, y):
    return x * FACTOR + y


def with_a_builtin(x, y):
    for k in range(3):
        x = x + y * k
    return x


def stages(x, y):
    """Intermediate arrays, partial results, a scan, a reshape, a part that is replaced."""
    z = np.cumsum(x - x.max(axis=1, keepdims=True), axis=1)
    z[:, 1:-1] = z[:, 2:] * y[:, :-2]
    flat = (z / (1 + np.abs(z).max())).reshape(-1)
    return flat[::-1] + flat.sum(), z.argmax(axis=1) * z[:, 0], z.std()


def tables(x, y):
    return np.array([1.0, 5.0, 7.0])[:, None] * x[:3] + y[:3]


def nothing(x, y):
    return np.arange(12) * 2, np.zeros((0, 3))


PROGRAMS = [one, scalar, several, with_a_capture, with_a_guard, with_a_builtin, stages, tables, nothing]


def inputs(shape=(40, 30), dtype=np.float64):
    x, y = np.random.default_rng(0).normal(size=(2, *shape)).astype(dtype)
    return x, y


def settled(program, *args):
    """The program, compiled, when its calls take the fast path."""
    compiled = wb.jit(program)
    for _ in range(SETTLES_AT + 2):
        compiled(*args)
    return compiled


def assert_same(found, expected):
    found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_those_of_numpy(program, dtype):
    x, y = inputs(dtype=dtype)
    compiled = settled(program, x, y)
    for k in range(3):
        assert_same(compiled(x + k, y), program(x + k, y))


@pytest.mark.parametrize(
    "program", [one, scalar, several, with_a_capture, with_a_guard, with_a_builtin, tables, stages]
)
def test_kernels_alone_are_called_without_python(program):
    compiled = settled(program, *inputs())
    assert type(compiled._fast) is BuiltinFunctionType


def test_what_is_not_as_it_was_is_answered_all_the_same():
    x, y = inputs()
    compiled = settled(one, x, y)
    for a, b in [
        (x[:5], y[:5]), (x.astype(np.float32), y), (x[::-1], y), (x.T, y.T), (x, 2.0), (x, np.float64(3)), (1, 2),
        (x.astype(">f8"), y), (np.ma.masked_array(x, x > 0), y), (x, y.tolist()), (x, x), (x[:, :0], y[:, :0]),
    ]:  # fmt: skip
        for _ in range(3):
            np.testing.assert_array_equal(compiled(a, b), one(a, b))
    np.testing.assert_array_equal(compiled(y=y, x=x), one(x, y))
    np.testing.assert_array_equal(compiled(x, y=y), one(x, y))
    for wrong in ((), (x,), (x, y, x)):
        with pytest.raises(TypeError):
            compiled(*wrong)
    with pytest.raises(TypeError):
        compiled(x, y, other=x)
    assert type(compiled(x, y)) is np.ndarray


def test_python_floats_are_arguments():
    def scaled(x, a, b):
        return x * a - b

    x, _ = inputs()
    compiled = settled(scaled, x, 2.0, 0.5)
    assert type(compiled._fast) is BuiltinFunctionType
    for a, b in [(3.0, -0.0), (float("nan"), 1e300), (float("-inf"), 5e-324), (2, 0.5), (True, 1.5)]:
        np.testing.assert_array_equal(compiled(x, a, b), scaled(x, a, b))
    assert compiled.n_traces <= 3


def test_captures_and_guards_are_looked_up_at_each_call(monkeypatch):
    x, y = inputs()
    compiled = settled(with_a_capture, x, y)
    for value in (OFFSET * 2, np.ones(30, np.float32), 4.0, np.ones((40, 30))):
        monkeypatch.setitem(globals(), "OFFSET", value)
        np.testing.assert_array_equal(compiled(x, y), with_a_capture(x, y))
    monkeypatch.delitem(globals(), "OFFSET")
    with pytest.raises(NameError):
        compiled(x, y)
    compiled = settled(with_a_guard, x, y)
    for value in (3.0, 4.0, -0.0, 2):
        monkeypatch.setitem(globals(), "FACTOR", value)
        np.testing.assert_array_equal(compiled(x, y), with_a_guard(x, y))


def test_arrays_in_other_orders():
    x, y = inputs((40, 30))
    large = np.random.default_rng(1).normal(size=(80, 60))
    views = [large[::2, ::2], large[::-2, 30:], large[40:, :30], large.T[:30, :40].T, large[:40, ::-2]]
    views += [np.asfortranarray(x), np.broadcast_to(x[0], x.shape), np.broadcast_to(x[:, :1], x.shape), x]
    for program in (one, scalar, several, stages, with_a_capture):
        for a in views:
            compiled = settled(program, a, y)
            for b in views:
                assert_same(compiled(b, y), program(b, y))
                assert_same(compiled(a, b), program(a, b))
            assert_same(compiled(a, y), program(a, y))
    compiled = settled(one, views[0], views[4])
    assert type(compiled._fast) is BuiltinFunctionType
    np.testing.assert_array_equal(compiled(views[0], views[4]), one(views[0], views[4]))


def prefixes(x, y):
    return np.cumsum(x, axis=1)


def columns(x, y):
    return np.cumprod(1 + x * 1e-3, axis=0) - y


def between(x, y):
    z = np.cumsum(x, axis=1) * y
    return np.cumsum(z, axis=1), z.max(axis=1)


def reduced(x, y):
    return (x * y).sum(axis=0), (x + y).max(), np.exp(x - y).mean(axis=1)


def replaced(x, y):
    z = x.copy()
    z[1:, ::2] = y[:-1, ::2] * 2
    w = np.zeros_like(y)
    w[:, 1:] = z[:, :-1]
    return z, w


LAYOUTS = {
    "C": lambda a: a, "F": np.asfortranarray, "halves": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "columns": lambda a: np.repeat(a, 2, 1)[:, ::2], "upwards": lambda a: a[::-1].copy()[::-1],
    "backwards": lambda a: a[:, ::-1].copy()[:, ::-1], "one row": lambda a: np.broadcast_to(a[0], a.shape),
    "part": lambda a: np.pad(a, 3)[3:-3, 3:-3],
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", [prefixes, columns, between, reduced, replaced], ids=lambda f: f.__name__)
def test_every_kind_of_kernel_takes_arrays_in_every_order(program, layout):
    for shape in ((64, 128), (300, 40)):
        x, y = inputs(shape)
        x = LAYOUTS[layout](x)
        assert_same(settled(program, x, y)(x, y), program(x, y))
        assert_same(settled(program, y, x)(y, x), program(y, x))
        assert_same(settled(program, x, x)(x, x), program(x, x))


def test_builtins_may_be_shadowed_later(monkeypatch):
    x, y = inputs()
    compiled = settled(with_a_builtin, x, y)
    monkeypatch.setitem(globals(), "range", lambda n: (5, 7))
    np.testing.assert_array_equal(compiled(x, y), x + y * 5 + y * 7)
    monkeypatch.delitem(globals(), "range")
    np.testing.assert_array_equal(compiled(x, y), with_a_builtin(x, y))


def test_variables_of_functions_around():
    weights, factor = np.linspace(0, 1, 30), 2.0

    def weighted(x, y):
        return x * weights + y * factor

    def change(new_weights, new_factor):
        nonlocal weights, factor
        weights, factor = new_weights, new_factor

    x, y = inputs()
    compiled = settled(weighted, x, y)
    assert type(compiled._fast) is BuiltinFunctionType
    for values in ((weights + 1, 2.0), (weights, 3.0), (weights[:1], -0.0), (4.0, 5)):
        change(*values)
        np.testing.assert_array_equal(compiled(x, y), weighted(x, y))


def test_a_variable_that_is_deleted():
    def make():
        offset = 2.0

        def shifted(x):
            return x + offset

        def forget():
            nonlocal offset
            del offset

        return shifted, forget

    shifted, forget = make()
    x, _ = inputs()
    compiled = settled(shifted, x)
    forget()
    with pytest.raises(NameError):
        compiled(x)


def test_a_call_inside_of_a_trace_is_traced():
    x, y = inputs()
    inner = settled(one, x, y)

    def outer(a, b):
        return inner(a, b) * inner(x, y)

    for _ in range(3):
        np.testing.assert_array_equal(wb.jit(outer)(y, x), outer(y, x))
    assert [eqn.primitive.name for eqn in wb.make_jaxpr(outer)(y, x).eqns].count("pjit") >= 1


def test_large_results_come_from_the_recycled_memory():
    x, y = inputs((300, 400))
    for program in (one, several, with_a_builtin):
        compiled = settled(program, x, y)
        assert type(compiled._fast) is BuiltinFunctionType
        for k in range(3):
            assert_same(compiled(x + k, y), program(x + k, y))
    first, second = compiled(x, y), compiled(y, x)
    assert not np.shares_memory(first, second)


def test_results_are_new_and_own_their_memory():
    x, y = inputs()
    compiled = settled(several, x, y)
    first = compiled(x, y)
    kept = [np.array(a) for a in first]
    second = compiled(y, x)
    assert_same(first, tuple(k if k.ndim else k[()] for k in kept))
    for a, b in zip(first[:2], second[:2], strict=True):
        assert a.flags.owndata and a.flags.writeable and a.flags.c_contiguous and not np.shares_memory(a, b)


def test_nothing_is_kept_alive_and_nothing_is_freed_too_often():
    x, y = inputs()
    functions = [settled(program, x, y) for program in (one, scalar, several, with_a_capture, with_a_guard)]
    objects = [x, y, x.dtype, OFFSET, FACTOR, None]
    for compiled in functions:
        for _ in range(50):
            compiled(x, y)
    before = [sys.getrefcount(o) for o in objects]
    for compiled in functions:
        result = compiled(x, y)
        for _ in range(2000):
            compiled(x, y)
        alive = weakref.ref(result if type(result) is np.ndarray else compiled)
        del result
        assert (alive() is None) or alive() is compiled
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 100 for a, b in zip(before, after, strict=True))


def test_functions_are_collected():
    x, y = inputs()

    def local(a, b):
        return a - b

    compiled = settled(local, x, y)
    assert type(compiled._fast) is BuiltinFunctionType
    gone = weakref.ref(local)
    del compiled, local
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_several_threads_call_at_once(n_threads):
    x, y = inputs((200, 70))
    with wb.config(threads=n_threads):
        compiled = settled(stages, x, y)
        expected = [compiled(x * k, y) for k in range(1, 5)]
    wrong = []

    def work(k):
        for _ in range(200):
            found = compiled(x * (k + 1), y)
            if not all(np.array_equal(a, b) for a, b in zip(found, expected[k], strict=True)):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


class Stack:
    traces = ()


FAILS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("form", [Form((False,), False), Form((True,), False), Form((False,), True)], ids=str)
def test_a_kernel_without_memory_raises_and_gives_everything_back(form, waits):
    fails = FAILS(lambda start, stop, table: 1)
    plan = NativePlan([(3,)], [np.dtype(float)], 64, [0, 3], [(0, 1, 0)], [], waits, [fails])
    plan.launches.append((ctypes.cast(fails, ctypes.c_void_p).value or 0, 7, 0))
    namespace = {"captured": np.ones(5)}
    look = Look([(namespace, "captured")], [])
    captured = namespace["captured"]
    call = native_call(plan, form, [captured], [0], 0, look, Stack(), None, partial(int, 5))
    assert call is not None
    before = sys.getrefcount(captured), sys.getrefcount(plan.makers[0])
    for _ in range(300):
        with pytest.raises(MemoryError):
            call()
    after = sys.getrefcount(captured), sys.getrefcount(plan.makers[0])
    assert abs(after[0] - before[0]) < 5 and abs(after[1] - before[1]) < 200
    namespace["captured"] = np.ones(6)
    assert call() == 5
    del namespace["captured"]
    assert call() == 5


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("shape", "maker", "error"),
    [((1 << 50,), np.dtype(float), MemoryError), ((1 << 60,), np.dtype(float), ValueError),
     (None, interrupted, KeyboardInterrupt)],
)  # fmt: skip
def test_results_that_cannot_be_allocated_raise(shape, maker, error):
    plan = NativePlan([(3,), shape], [np.dtype(float), maker])
    look = Look([(globals(), "OFFSET")], [])
    call = native_call(plan, Form((False, False), True), [OFFSET], [0], 0, look, Stack(), None, int)
    assert call is not None
    before = sys.getrefcount(OFFSET)
    for _ in range(50):
        with pytest.raises(error):
            call()
    assert abs(sys.getrefcount(OFFSET) - before) < 5


def test_a_trace_that_is_open_is_left_to_python():
    call = native_call(NativePlan(), Form((), True), [], [], 0, Look(), Stack(), None, int)
    assert call is not None and call() == ()
    Stack.traces = (1,)
    try:
        assert call() == 0
    finally:
        Stack.traces = ()
