"""Large products and batches on tapes: NumPy's values in either way of threads; whole programs without Python."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import lax
from workbench.primitives import numpy_libraries
from workbench.runtime import products as choices
from workbench.runtime.products import can_hold_threads
from workbench.runtime.tapes import native_loops, products

pytestmark = pytest.mark.skipif(
    numpy_libraries.blas("dgemm") is None or not can_hold_threads(), reason="NumPy's BLAS cannot be called by address"
)
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _the_same_numbers():
    """Whichever tests have run before."""
    global RNG
    RNG = np.random.default_rng(11)


@pytest.fixture(params=["BLAS's threads", "our threads", "one thread"])
def way(request, monkeypatch):
    """Lets every product be a large one, which is computed in one way or in the other."""
    monkeypatch.setattr(products, "SMALL", 0)
    monkeypatch.setattr(choices.Choice, "take", lambda self: int(request.param != "BLAS's threads"))
    monkeypatch.setattr(products, "BLOCK_ROWS", 16)
    monkeypatch.setattr(products, "BLOCK_FLOPS", 1.0)
    with wb.config(threads=1 if request.param == "one thread" else 3):
        yield request.param


def numbers(shape, dtype):
    """Whole ones, of which sums are the same in any order."""
    x = np.round(RNG.normal(size=shape) * 4)
    return (x + 1j * np.round(RNG.normal(size=shape) * 4) if dtype[0] == "c" else x).astype(dtype)


def in_a_loop(function, *operands):
    """What a compiled loop gives whose body computes `function` of values that it changes; and what NumPy gives."""
    shape, dtype = function(*operands).shape, operands[0].dtype

    def looped(x, y):
        def body(i, c):
            x, y, _ = c
            return x + 1, y * 2, function(x, y)

        return lax.fori_loop(0, 3, body, (x, y, np.zeros(shape, dtype)))[2]

    compiled = wb.jit(looped)
    found = [compiled(*operands) for _ in range(3)]
    (compilation,) = compiled.compilations
    assert not compiled.fallbacks and not any(compilation.executable.native.values())
    x, y = operands
    for result in found:
        np.testing.assert_array_equal(result, function(x + 2, y * 4))
        assert result.dtype == dtype


SHAPES = [((75, 40), (40,)), ((40,), (40, 75)), ((75, 40), (40, 33)), ((33, 40), (40, 75)), ((50,), (50,))]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("turned", [(), (0,), (1,), (0, 1)])
def test_large_products_in_loops(way, dtype, left, right, turned):
    pair = [numbers(shape, dtype) for shape in (left, right)]
    pair = [np.ascontiguousarray(a.T) if k in turned else a for k, a in enumerate(pair)]
    in_a_loop(lambda x, y: (x.T if 0 in turned else x) @ (y.T if 1 in turned else y), *pair)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("formula", ["bij,bjk->bik", "bji,bjk->bik", "bij,bkj->bik", "bji,bkj->bik"])
@pytest.mark.parametrize("n", [1, 5])
def test_batches_in_loops(way, dtype, formula, n):
    sizes = {"b": n, "i": 20, "j": 30, "k": 25}
    pair = [numbers([sizes[axis] for axis in axes], dtype) for axes in formula.split("->")[0].split(",")]
    in_a_loop(lambda x, y: np.einsum(formula, x, y), *pair)


@pytest.mark.parametrize("formula", ["bij,bj->bi", "bij,bjk->bk", "abij,abjk->abik", "ij,ajk->aik", "aij,jk->aik"])
def test_other_products_in_loops(way, formula):
    """Some are no routine of BLAS's for each pair: these stay with Python, with the same values."""
    sizes = dict(zip("abijk", (2, 3, 20, 30, 25), strict=True))
    x, y = (numbers([sizes[axis] for axis in axes], "f8") for axes in formula.split("->")[0].split(","))

    def looped(x, y):
        return lax.fori_loop(0, 3, lambda i, c: (c[0] + np.einsum(formula, x, y) + i,), (zero,))

    zero = np.zeros(np.einsum(formula, x, y).shape)
    compiled = wb.jit(looped)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, y)[0], 3 * np.einsum(formula, x, y) + 3)
    assert compiled.compilations and not compiled.fallbacks


def test_a_matrix_with_itself(way):
    a = numbers((40, 40), "f8")
    in_a_loop(lambda x, y: x @ x - y @ y, a, a + 1)
    compiled = wb.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: (c[0] + 1, c[0] @ c[0].T), (x, x)))
    found = compiled(a)[1]
    np.testing.assert_array_equal(found, (a + 1) @ (a + 1).T)
    np.testing.assert_array_equal(found, found.T)


def conjugate_gradient(a, b):
    x, r = np.zeros_like(b), b - a @ np.zeros_like(b)
    p, rs = r.copy(), r @ r
    for _ in range(len(b)):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        if np.sqrt(new) < 1e-9:
            break
        p = r + new / rs * p
        rs = new
    return x


def test_a_solver_runs_without_python(way):
    a = RNG.normal(size=(60, 60))
    a, b = a @ a.T + 60 * np.eye(60), RNG.normal(size=60)
    compiled = wb.jit(conjugate_gradient)
    for _ in range(3):
        np.testing.assert_allclose(compiled(a, b), np.linalg.solve(a, b), rtol=1e-6, atol=1e-9)
    (compilation,) = compiled.compilations
    assert isinstance(compilation.executable.run, native_loops.NativeProgram)


# ---- whole programs ----


def program(a, v):
    w = a @ v
    n = np.sqrt(np.sum(w * w))
    if n > 1:
        w = w / n
    return np.linalg.solve(a, w), n, w[::-1], v


def compiled_program(function, *args):
    with wb.config(numpy_trials=False):
        compiled = wb.jit(function)
        compiled(*args)
    (compilation,) = compiled.compilations
    return compiled, compilation.executable


def test_programs_of_products_systems_and_branches():
    a, v = RNG.normal(size=(12, 12)) + 12 * np.eye(12), RNG.normal(size=12)
    compiled, executable = compiled_program(program, a, v)
    assert isinstance(executable.run, native_loops.NativeProgram)
    for scale in (1.0, 1e-3):
        before = a.copy(), v.copy()
        found = compiled(a, v * scale)
        for x, y in zip(found, program(a, v * scale), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
            assert type(x) is type(y) and x.dtype == y.dtype
        assert (a == before[0]).all() and (v == before[1]).all()
    results = [compiled(a, v)[0] for _ in range(2)]
    assert not np.shares_memory(*results)


def test_what_a_program_raises_is_numpys():
    a, v = np.zeros((5, 5)), np.ones(5)
    compiled, executable = compiled_program(lambda a, v: np.linalg.solve(a + 1.0 * np.eye(5), v) @ a, a, v)
    assert isinstance(executable.run, native_loops.NativeProgram)
    np.testing.assert_array_equal(compiled(a, v), np.zeros(5))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        compiled(-np.eye(5), v)
    np.testing.assert_array_equal(compiled(a, v), np.zeros(5))


def test_arguments_in_another_order_are_taken_by_python_or_a_program_of_their_own():
    a, v = RNG.normal(size=(12, 12)) + 12 * np.eye(12), RNG.normal(size=12)
    compiled, _ = compiled_program(program, a, v)
    for x, y in ((np.asfortranarray(a), v), (a, np.repeat(v, 2)[::2]), (a[::-1], v[::-1])):
        for found, expected in zip(compiled(x, y), program(x, y), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_programs_that_write_into_arguments_are_pythons():
    def scaled(a, v):
        w = a @ v
        v += 1
        return w @ a, v[0] * 2

    a, v = RNG.normal(size=(12, 12)) + 12 * np.eye(12), RNG.normal(size=12)
    compiled, executable = compiled_program(scaled, a, v.copy())
    assert not isinstance(executable.run, native_loops.NativeProgram)
    mine, theirs = v.copy(), v.copy()
    for x, y in zip(compiled(a, mine), scaled(a, theirs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_large_arrays_stay_with_chains():
    def layers(x, w):
        return np.tanh(np.tanh(x @ w) @ w)

    x, w = RNG.normal(size=(3000, 60)), RNG.normal(size=(60, 60)) / 8
    compiled, executable = compiled_program(layers, x, w)
    assert not isinstance(executable.run, native_loops.NativeProgram)
    np.testing.assert_allclose(compiled(x, w), layers(x, w), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    "formula", ["x.T @ x", "x @ x.T", "x[:, 1:].T @ x[:, 1:]", "np.dot(x, x.T)", "x[::2].T @ x[::2]"]
)
def test_small_products_of_a_matrix_with_itself(dtype, formula):
    """By the routine that NumPy calls: the same bits, and symmetric. Very small ones are sums, written out."""
    function = eval(f"lambda x, y: {formula}", {"np": np})
    for shape in ((40, 12), (17, 21), (40, 5), (7, 12), (3, 3), (1, 4)):
        x = (RNG.normal(size=shape) + 1j * RNG.normal(size=shape) * (dtype[0] == "c")).real.astype(dtype)
        if dtype[0] == "c":
            x += 1j * RNG.normal(size=shape).astype(x.real.dtype)
        compiled = wb.jit(
            lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] * 2, function(c[0], 0)), (x, function(x, 0)))
        )
        for _ in range(2):
            found, expected = compiled(x)[1], function(x * 4, 0)
            np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype in ("f4", "c8") else 1e-12)
            if min(shape) >= 12:
                np.testing.assert_array_equal(found, expected)
                np.testing.assert_array_equal(found, found.T)
        (compilation,) = compiled.compilations
        assert not compiled.fallbacks and not any(compilation.executable.native.values())
