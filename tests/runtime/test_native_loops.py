"""Loops without Python: the bits of the loops that Python runs, and NumPy's values, for every form of body."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

import workbench as wb
from workbench import lax
from workbench.frontend import looping
from workbench.frontend.loops.types import UntranslatableError
from workbench.primitives import numpy_libraries
from workbench.report import build_report
from workbench.runtime.memory.moves import pieces_of
from workbench.runtime.native.kernels import NotNativeError
from workbench.runtime.tapes import native_loops

RNG = np.random.default_rng(7)
A = RNG.normal(size=(7, 7))
X = RNG.normal(size=7)
B, Y = RNG.normal(size=(40, 40)), RNG.normal(size=40)  # beyond what is written out as sums


def refuse(*args, **kwargs):
    raise NotNativeError("the test says so")


def outcomes(function, *args):
    """What the function gives as it is, natively, and with Python in the loop; the arguments are left alone."""
    before = [np.array(a) for a in args]
    native = wb.jit(function)
    found = native(*args)
    (compilation,) = native.compilations
    assert not any(compilation.executable.native.values())
    again = native(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_loops, "NativeLoop", refuse)
        patch.setattr(native_loops, "NativeProgram", refuse)
        driven = wb.jit(function)
        in_python = driven(*args)
        assert all(driven.compilations[0].executable.native.values())
        assert driven.compilations[0].executable.native.keys() >= compilation.executable.native.keys()
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)
    leaves = [[np.asarray(x) for x in (r if isinstance(r, tuple) else (r,))] for r in (found, again, in_python)]
    for a, b, c in zip(*leaves, strict=True):
        assert a.dtype == c.dtype and a.shape == c.shape
        assert a.tobytes() == b.tobytes() == c.tobytes()
    arrays = [a for a in leaves[0] if a.nbytes]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in (*arrays[:i], *args) if b is not a)
    return leaves[0], [np.asarray(x) for x in function(*args)] if isinstance(found, tuple) else [function(*args)]


def check(function, *args, rtol=1e-12):
    for found, expected in zip(*outcomes(function, *args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-300)
        assert found.dtype == np.asarray(expected).dtype


def power(a, v):
    def body(c):
        i, v, value, _ = c
        w = a @ v
        new = np.sqrt(np.sum(w * w))
        return i + 1, w / new, new, np.abs(new - value)

    return lax.while_loop(lambda c: (c[0] < 300) & (c[3] > 1e-10), body, (0, v, 0.0, 1.0))


def fibonacci(x):
    return lax.fori_loop(0, 11, lambda i, c: (c[1], c[0] + np.max(c[1]) * 0.5, c[0]), (x, x * 2.0, x + 1.0))


def doubled_carry(x):
    return lax.fori_loop(0, 5, lambda i, c: (c[1] + np.sum(c[0]), c[1], c[2]), (x, x, x))


def rows(x):
    last, (carried, differences) = lax.scan(
        lambda c, r: (c * 0.5 + np.sum(r), (c, r - c)), np.float64(0.0), x.reshape(7, 1)
    )
    return last, carried, differences


def rows_in_reverse(x):
    return lax.scan(lambda c, r: (c * 0.5 + r, c), np.float64(0.0), x, reverse=True)


def nested(a, x):
    def inner(j, c):
        return c + np.sum(c) * 1e-3 + j

    def body(c):
        i, v, w = c
        u = lax.fori_loop(0, 4, inner, v @ a)
        return i + 1, u / np.max(np.abs(u)), w + v

    return lax.while_loop(lambda c: c[0] < 9, body, (0, x, x * 0.0))


def nested_of_any_length(a, x):
    def body(i, c):
        return lax.fori_loop(0, i, lambda j, v: v * 0.5 + np.sum(v) + j, c) @ a / 9.0

    return (lax.fori_loop(0, 6, body, x),)


def branches(x):
    def body(i, c):
        v = lax.cond(np.sum(c) > 0, lambda c: c - np.max(c), lambda c: c + np.sum(np.abs(c)) / 5, c)
        return lax.switch(i % 3, [lambda v: v * 1.5, lambda v: v, lambda v: v[::-1] + 0.0], v)

    return (lax.fori_loop(0, 20, body, x),)


def branch_hands_on(x):
    def body(i, c):
        a, b = c
        return lax.cond(np.sum(a) > i, lambda a, b: (b, a), lambda a, b: (a + 1.0, a), a, b * 0.5)

    return lax.fori_loop(0, 15, body, (x, x + 3.0))


def updates(a, x):
    def body(i, y):
        y = y.copy()
        y[1:-1] = 0.5 * (y[:-2] + y[2:])
        y[0] = np.sum(a @ y) * 0.1
        return y

    return (lax.fori_loop(0, 30, body, x),)


def interiors(a, x):
    def body(i, c):
        flat, cube = c
        flat, cube = flat.copy(), cube.copy()
        flat[1:-1, 2:-1] = (flat[:-2, 2:-1] + flat[2:, 2:-1]) * 0.5 + np.max(cube)
        cube[1:-1, 1:, 2:-2] = cube[:-2, 1:, 1:-3] * 0.9 + flat[0, 0]
        return flat, cube

    flat, cube = a * 1.0, np.reshape(a.ravel()[:1200] * 1.0, (10, 12, 10))
    return lax.fori_loop(0, 5, body, (flat, cube))


def products(a, x):
    def body(i, c):
        m, v, s = c
        m = (m @ a) * 0.25
        w = a.T @ v
        return m - m.T @ a * 0.5, w / (1.0 + w @ v * (w @ v)) + v @ a, s + v @ w

    return lax.fori_loop(0, 8, body, (a * 0.5, x, x[0] * 0.0))


def parts(a, x):
    def body(i, c):
        table, v, total = c
        v = v * 0.5 + table[i] + np.max(table[:, i + 1])
        table = table.copy()
        table[i, 2] = np.sum(v)
        table[:, 3 - i] = v[i] * np.mean(v)
        table[-i] = v
        return table, v, total + table[i, i] + x[-i]

    return lax.fori_loop(0, 6, body, (a, x, 0.0))


def parts_of_blocks(a, x):
    def body(i, c):
        blocks, v = c
        v = v + np.sum(blocks[:, i - 1]) + blocks[i, 1, 2]
        blocks = blocks.copy()
        blocks[:, i % 3] = np.max(v) + blocks[0, 1]
        blocks[i, 0] = v[:5] * np.mean(v)
        return blocks, v

    return lax.fori_loop(0, 3, body, (np.reshape(a.ravel()[:60] * 1.0, (4, 3, 5)), x))


LOOPS = [
    (power, B @ B.T, Y), (fibonacci, X), (doubled_carry, X), (rows, X), (rows_in_reverse, X), (nested, B, Y),
    (nested_of_any_length, B / 9, Y), (branches, X), (branch_hands_on, X), (updates, A, X),
    (interiors, B, Y), (products, B / 9, Y), (parts, A, X), (parts_of_blocks, B, Y),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "args"), [(f, args) for f, *args in LOOPS], ids=lambda f: getattr(f, "__name__", "")
)
def test_loops_give_the_same_bits(function, args):
    check(function, *args, rtol=1e-9)
    compiled = wb.jit(function)
    compiled(*args)
    assert compiled.compilations[0].executable.native, "no loop of it was tried"


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (0, 4), (1, 1), (5, 1, 3)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i1", "u2", "i4", "u8", "bool"])
def test_shapes_and_dtypes(shape, dtype):
    x = (RNG.normal(size=shape) * 9).astype(dtype)

    def function(x):
        def body(i, c):
            a, b = c
            a, b = a + b, a
            return a * b, np.where(np.sum(np.abs(b)) > 2, b, a) if a.dtype.kind != "c" else b + np.sum(a)

        return lax.fori_loop(0, 6, body, (x, x))

    with np.errstate(all="ignore"):
        check(function, x, rtol=1e-4 if dtype in ("f4", "c8") else 1e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i1", "u2", "i4", "bool"])
def test_columns_of_every_size(dtype):
    x = (RNG.normal(size=(5, 7)) * 9).astype(dtype)

    def function(x):
        def body(i, c):
            table, column = c
            table = table.copy()
            table[:, i + 2] = table[:, -i] * column
            return table, table[:, i] + column

        return lax.fori_loop(0, 5, body, (x, x[:, 0]))

    with np.errstate(all="ignore"):
        check(function, x, rtol=1e-4 if dtype in ("f4", "c8") else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((30, 40), (40,)),
        ((40,), (40, 30)),
        ((50,), (50,)),
        ((1, 60), (60, 30)),
        ((60, 50), (50, 70)),
        ((200, 300), (300,)),
    ],
)
@pytest.mark.parametrize("turned", [(), (0,), (1,)])
def test_products_are_numpys_bits(dtype, left, right, turned):
    """Also where operands are transposed, hold zeros of both signs, infinities and NaN."""
    pair = []
    for k, shape in enumerate((left, right)):
        x = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if dtype[0] == "c" else 0)
        x = np.array(x, dtype)
        x.flat[:: 3 + k] = -0.0
        pair.append(np.ascontiguousarray(x.T) if k in turned else x)

    def function(x, y):
        def body(i, c):
            x, y, _ = c
            x_, y_ = (a.T if k in turned else a for k, a in enumerate((x, y)))
            return x + 1, y * 2, x_ @ y_

        return lax.fori_loop(0, 3, body, (x, y, np.zeros(shape, dtype)))[2]

    shape = (np.zeros(left) @ np.zeros(right)).shape
    (found,), (expected,) = outcomes(function, *pair)
    assert found.tobytes() == np.asarray(expected).tobytes()
    pair[0].flat[1], pair[1].flat[-1] = np.inf, np.nan
    with np.errstate(all="ignore"):
        (found,), (expected,) = outcomes(function, *pair)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [0, 1, 2, 129, 5000])
def test_loops_that_pause_after_each_iteration_go_on(n, monkeypatch):
    monkeypatch.setattr(native_loops, "FIRST_JUMPS", 1)
    monkeypatch.setattr(native_loops.NativeLoop, "_pace", lambda *args: None)

    def function(x, n):
        def body(c):
            i, v = c
            return i + 1, lax.fori_loop(0, i % 3, lambda j, v: v * 0.9 + np.sum(v) * 0.01, v)

        return lax.while_loop(lambda c: c[0] < n, body, (0, x))

    check(function, X, np.int64(n), rtol=1e-9)


def test_an_interrupt_ends_a_long_loop():
    @wb.jit
    def function(x, n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.5 + np.sum(c[1])), (0, x))

    short = function(X, np.int64(3))
    assert not any(function.compilations[0].executable.native.values())
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function(X, np.int64(1 << 50))
    timer.join()
    np.testing.assert_array_equal(function(X, np.int64(3))[1], short[1])


def test_calls_from_several_threads_at_once():
    function = wb.jit(power)
    inputs = [(B @ B.T, RNG.normal(size=40)) for _ in range(4)]
    expected = [function(*args)[1] for args in inputs]
    found: dict[int, list] = {}

    def work(k):
        found[k] = [function(*inputs[k])[1] for _ in range(30)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, results in found.items():
        assert all(r.tobytes() == expected[k].tobytes() for r in results)


def test_operands_in_another_order_and_carried_views():
    def function(a, x):
        return lax.fori_loop(0, 9, lambda i, c: (c[0][::-1] + np.max(c[1]), a @ c[1] / 4), (x, x * 2))

    check(function, np.asfortranarray(A @ A.T), X, rtol=1e-9)
    check(function, (A @ A.T)[::-1, ::-1], X[::-1], rtol=1e-9)


@pytest.mark.parametrize("k", [2, -3])
@pytest.mark.parametrize("writes", [False, True])
def test_an_index_out_of_range_is_numpys_error(k, writes):
    def function(x, k):
        def body(i, c):
            v, total = c
            v = v * 0.5 + np.sum(v)
            if writes:
                v = v.copy()
                v[k * i] = 1.0
                return v, total
            return v, total + v[k * i]

        return lax.fori_loop(0, 50, body, (x, 0.0))

    compiled, x = wb.jit(function), np.ones(60)
    found, expected = compiled(x, np.int64(1)), function(x, 1)
    assert not any(compiled.compilations[0].executable.native.values())
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for _ in range(2):
        with pytest.raises(IndexError) as raised:
            compiled(x, np.int64(k))
        with pytest.raises(IndexError) as wanted:
            function(x, k)
        assert str(raised.value) == str(wanted.value)
        assert (x == 1).all()


def test_without_blas_products_are_numpys_calls(monkeypatch):
    monkeypatch.setattr(numpy_libraries, "blas", lambda name: None)
    compiled = wb.jit(power)
    found = compiled(B @ B.T, Y)
    assert "BLAS" in "".join(compiled.compilations[0].executable.native.values())
    np.testing.assert_allclose(found[1], power(B @ B.T, Y)[1], rtol=1e-9)


def test_every_step_inside_is_timed_and_the_report_says_how_the_loop_runs():
    function = wb.jit(nested)
    function(A, X)
    (compilation,) = function.compilations
    timeline: list = []
    results = compilation.executable.profile(timeline, A, X)
    np.testing.assert_array_equal(results[1], function(A, X)[1])
    counts = {step: (seconds, *n) for step, _, seconds, *n in timeline}
    (loop,) = [step.id for step in compilation.plan.steps if step.id in compilation.executable.native]
    bodies = [n for step, (_, *n) in counts.items() if step.startswith(f"{loop}_")]
    assert [9] in bodies and any(n in ([36], [9 * 4]) for n in bodies)
    inside = [s for step, (s, *_) in counts.items() if step.startswith(f"{loop}_") and step.count("_") == 1]
    assert 0 < sum(inside) <= counts[loop][0] * 1.01
    nodes = {node.id: node for node in build_report(compilation).graph.nodes}
    assert "runs natively" in nodes[loop].reason


# ---- loops of NumPy programs, as they are written ----


def columns_of_a_part(u):
    p = np.zeros(u.shape)
    for _ in range(6):
        p[1:-1, 0] = 0.5
        q = p[1:-1, :] * 0.5 + u[1:-1, :]
        for j in range(1, u.shape[1] - 1):
            p[1:-1, j] = 1.0 / (2.0 + p[1:-1, j - 1] * q[:, j])
    return p


def dominant(a, n):
    v = np.ones(a.shape[0])
    for _ in range(n):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


def recurrent(w, u, x):
    h = np.zeros(w.shape[0])
    for row in x:
        h = np.tanh(w @ h + u @ row)
    return h


def relaxed(u, dx, dt):
    for _ in range(12):
        old = u.copy()
        u[1:-1] = old[1:-1] + dt / dx**2 * (old[2:] - 2 * old[1:-1] + old[:-2])
        u[0] = 0
        u[-1] = 1
    return u


PROGRAMS = {
    "columns of a part of an array": (columns_of_a_part, (RNG.random((9, 12)),)),
    "a vector's product with itself": (dominant, (np.abs(B), 30)),
    "products with rows": (recurrent, (B / 40, B[:, :12] / 12, RNG.random((25, 12)))),
    "divisions of Python's numbers": (relaxed, (RNG.random(30), 0.1, 0.001)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_as_they_are_written(name, monkeypatch):
    def untranslatable(*args, **kwargs):
        raise UntranslatableError("the test wants it traced")

    monkeypatch.setattr(looping, "translate", untranslatable)
    function, args = PROGRAMS[name]
    compiled = wb.jit(function)
    theirs, mine = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
    expected = function(*theirs)
    with wb.config(numpy_trials=False):
        found = compiled(*mine)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    native = [c.executable.native for c in compiled.compilations]
    assert native and all(each and not any(each.values()) for each in native), native


@pytest.mark.parametrize("name", ["a vector's product with itself", "products with rows"])
def test_products_need_no_numba(name):
    function, args = PROGRAMS[name]
    compiled = wb.jit(function)
    compiled(*args)
    assert not any(eqn.primitive.name == "loop" for c in compiled.compilations for eqn in c.plan.jaxpr.eqns)


def test_what_does_not_hold_inside_of_a_loop_is_raised_by_python():
    def work(x, d):
        for k in range(40):
            x = x * 0.5 + 1.0 / (d - k)
        return x

    compiled = wb.jit(work)
    with wb.config(numpy_trials=False):
        np.testing.assert_allclose(compiled(X, 40.5), work(X, 40.5))
        with pytest.raises(ZeroDivisionError):
            compiled(X, 17.0)
        np.testing.assert_allclose(compiled(X, -3.0), work(X, -3.0))


@pytest.mark.parametrize(
    ("shape", "region", "runs"),
    [
        ((3, 4), np.s_[:, :], [(0, 1, 96, 96)]),
        ((3, 4), np.s_[1:, 1:3], [(40, 2, 16, 32)]),
        ((3, 4), np.s_[:, ::2], [(0, 6, 8, 16)]),
        ((3, 5), np.s_[:, ::2], [(0, 3, 8, 16), (40, 3, 8, 16), (80, 3, 8, 16)]),
        ((2, 3, 4), np.s_[:, :, 1:2], [(8, 6, 8, 32)]),
        ((2, 3, 4), np.s_[:, 1:2], [(32, 2, 32, 96)]),
        ((2, 0), np.s_[:, :], []),
        ((), (), [(0, 1, 8, 8)]),
    ],
)
def test_pieces_of_a_region(shape, region, runs):
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    assert pieces_of(x, region) == runs
    places = [at + k * step + j for at, n, n_bytes, step in runs for k in range(n) for j in range(0, n_bytes, 8)]
    np.testing.assert_array_equal(x.reshape(-1)[np.array(places, int) // 8], x[region].reshape(-1))


def lstm_cell(w, h, xs):
    for x in xs:
        h = np.tanh(w @ np.concatenate([h, x]))
    return h


def joined_rows(w, m, n):
    for _ in range(20):
        both = np.concatenate([m, n[:, ::2], m[::-1]], axis=0)
        n = n * 0.5 + np.tanh(w @ both).sum(axis=0)[0] * 0.05  # without which some weights magnify rounding
    return n


def joined_columns(w, m, n):
    for _ in range(20):
        both = np.hstack([m, n[::-1], m[:, :0], n])
        m = np.tanh(both @ w)
    return m


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_joined_arrays(dtype):
    def made(*shape):
        return (RNG.normal(size=shape) * 0.3).astype(dtype)

    for function, args in [
        (lstm_cell, (made(32, 48) * dtype(0.7), made(32), made(70, 16))),
        (joined_rows, (made(30, 90), made(30, 40), made(30, 80))),
        (joined_columns, (made(32, 12), made(40, 12), made(40, 10))),
    ]:
        for found, expected in zip(*outcomes(function, *args), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-3 if dtype is np.float32 else 1e-9)
            assert found.dtype == dtype


def minibatches(x, y, order, w):
    for k in range(40):
        rows = order[k]
        error = x[rows] @ w - y[rows]
        w = w - 0.1 * (x[rows].T @ error) / len(rows)
    return w


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4"])
@pytest.mark.parametrize("shape", [(50, 6), (50,), (50, 2, 3)])
def test_rows_at_indices_are_taken_natively(dtype, shape):
    x = (RNG.normal(size=shape) * 50).astype(dtype)

    def gathered(x, rows):
        return lax.fori_loop(0, 12, lambda i, c: (c[0] + x[rows + i], rows), (x[rows], rows))[0]

    compiled = wb.jit(gathered)
    for rows in (RNG.integers(0, 38, 9), RNG.integers(-50, -20, 9), np.zeros(0, np.int64)):
        for _ in range(2):
            found = compiled(x, rows)
            expected = x[rows]
            for i in range(12):
                expected = expected + x[rows + i]
            np.testing.assert_array_equal(found, expected)
    assert not compiled.fallbacks
    for bad in (RNG.integers(45, 50, 9), np.array([-51] * 9)):
        with pytest.raises(IndexError):
            compiled(x, bad)
    np.testing.assert_array_equal(compiled(x, np.arange(9)).shape, (9, *shape[1:]))


def test_descent_by_minibatches_runs_natively():
    x, y, w = RNG.normal(size=(200, 5)), RNG.normal(size=200), np.zeros(5)
    order = RNG.permutation(200)[:160].reshape(40, 4)
    compiled = wb.jit(minibatches)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x, y, order, w), minibatches(x, y, order, w), rtol=1e-10)
    assert not compiled.fallbacks
