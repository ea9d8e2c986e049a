"""Loops and branches that a device decides alone: over elements in registers, over small arrays in one block."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.cuda import block_programs
from workbench.fusion import form_plan
from workbench.runtime.cuda.executable import device_kernels
from workbench.runtime.cuda.kernels import kernel_ptx

from .test_ptx import CAPABILITIES, assemble, assembler, why_no_ptx

X = np.linspace(0.1, 1.0, 24).reshape(4, 6)


def mandelbrot(x):
    a, b, n = x * 0.5, x * 0.0, x * 0.0
    for _ in range(12):
        a, b = a * a - b * b + x, 2.0 * a * b
        inside = a * a + b * b < 4.0
        a, b, n = np.where(inside, a, 2.0), np.where(inside, b, 2.0), np.where(inside, n + 1.0, n)
    return n


def newton(x):
    for i in range(6):
        x = x - (x * x - 2.0) / (2.0 * x + i)
    return x


def runge_kutta(y):
    for _ in range(5):
        k1 = -y
        k2 = -(y + 0.05 * k1)
        k3 = -(y + 0.05 * k2)
        y = y + (k1 + 2 * k2 + k3) / 40
    return y


def counted_while(x):
    return wb.lax.while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 1, np.sin(c[1]) + c[0]), (0, x))


def invariants_and_broadcasts(x):
    scale = x.max(axis=0)
    return wb.lax.fori_loop(0, 4, lambda i, v: v * scale + i * 0.5 * x[:, :1], x)


def numbers_alone(x):
    return wb.lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2 + 1, c[1] + 0.5), (1, 0.25))


def trades_places(x):
    return wb.lax.fori_loop(0, 5, lambda i, s: (s[1], s[0] + s[1], s[1]), (x, x * 2, x + 1))


def small_and_boolean(x):
    def body(_, s):
        flag, n, z = s
        return ~flag & (z.real > 0), n + np.int8(100), z * z + 0.25

    return wb.lax.fori_loop(0, 5, body, (x > 0.5, np.int8(3) * (x > 0.2), x + 1j * x))


ELEMENT_LOOPS = (
    mandelbrot, newton, runge_kutta, counted_while, invariants_and_broadcasts, numbers_alone, trades_places,
    small_and_boolean,
)  # fmt: skip


def until_small(x):
    k = 0
    while k < 20 and np.abs(x).max() > 0.01:
        x, k = x * 0.5 - x.mean() * 0.1, k + 1
    return x, k


def jacobi(x):
    def sweep(u):
        u = u.copy()
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    return wb.lax.fori_loop(0, 4, lambda _, u: sweep(u), x)


def power_iteration(x):
    def step(square):
        square = square * 2 + square.T
        return square / np.sqrt((square * square).sum())

    return wb.lax.fori_loop(0, 4, lambda _, square: step(square), x[:, :4])


def rows(x):
    return wb.lax.scan(lambda c, row: (c + row, (c * row).sum()), np.zeros(6), x, reverse=True)


def rows_to_rows(x):
    return wb.lax.scan(lambda c, xs: (c + xs[1], (xs[0] * c, c)), np.float64(0.0), (x, x[:, 0]))


def choose(x):
    return wb.lax.cond(x.sum() > 3.0, lambda v: v * 2 + v.sum(axis=0), lambda v: -v[::-1], x)


def nested(x):
    def body(c):
        i, v = c
        v = wb.lax.fori_loop(0, 3, lambda k, u: u * 0.9 + u.mean(axis=1, keepdims=True), v)
        v = wb.lax.cond(v.max() > 5.0, lambda u: u * 0.5, lambda u: u + 1.0, v)
        return i + 1, v

    return wb.lax.while_loop(lambda c: c[0] < 3, body, (0, x))


def columns(x):
    return wb.lax.while_loop(lambda v: v.max() > 0.8, lambda v: v - v.std(axis=0) * 0.2, x)


def descent(x):
    """Least squares by gradient descent: products of matrices, until the gradient is small."""
    y, w0 = x[:, 0] * 2.0, x[0] * 0.0

    def step(state):
        k, w = state
        return k + 1, w - 0.05 * (x.T @ (x @ w - y))

    return wb.lax.while_loop(lambda s: (s[0] < 5) & (abs(x @ s[1] - y).max() > 1e-6), step, (0, w0))


def products(x):
    def step(_, s):
        a, b = s
        return np.einsum("bij,bjk->bik", a, b) * 0.5, np.swapaxes(a, 1, 2) + np.outer(b[0, 0], b[1, 1])

    return wb.lax.fori_loop(0, 2, step, (x.reshape(2, 2, 6)[:, :, :2] * 1.0, x.reshape(6, 2, 2)[:2]))


BLOCK_PROGRAMS = (
    until_small, jacobi, power_iteration, rows, rows_to_rows, choose, nested, columns, descent, products,
)  # fmt: skip


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def check(function, x, **how):
    compiled, reference = wb.jit(function, device="cuda-sim"), wb.jit(function, device="numpy")
    for mine, theirs in zip(leaves(compiled(x)), leaves(reference(x)), strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, **how)
    assert not compiled.fallbacks
    return compiled.compilations[0]


@pytest.mark.parametrize("function", ELEMENT_LOOPS, ids=lambda f: f.__name__)
def test_a_loop_over_elements_is_one_kernel_that_keeps_them_in_registers(function):
    compilation = check(function, X)
    kernel = compilation.kernels["W0"]
    assert not any(name.startswith("W0_") for name in compilation.kernels)
    lines = kernel.source.splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines]
    (head,) = [k for k, line in enumerate(lines) if "range(n_steps):" in line or "while True:" in line]
    inside = list(itertools.takewhile(lambda k: indents[k] > indents[head], range(head + 1, len(lines))))
    assert inside and not any("_out[" in lines[k] for k in inside)
    assert "syncthreads" not in kernel.source
    assert {c.why for c in compilation.crossings} <= {"input", "result"}


@pytest.mark.parametrize("function", BLOCK_PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_control_flow_over_small_arrays_stays_on_the_device(function, sign):
    compilation = check(function, X * sign, atol=1e-14)
    kernel = next(k for name, k in compilation.kernels.items() if name[0] in "WB")
    assert "@cuda.jit(device=True)" in kernel.source and kernel.geometry.grid == (1, 1)
    assert {c.why for c in compilation.crossings} == {"input", "result"}


def test_what_is_too_large_for_a_block_is_for_the_host_to_decide(monkeypatch):
    monkeypatch.setattr(block_programs, "MOST_ELEMENTS", 20)
    for function in (until_small, nested, choose):
        compilation = check(function, X, atol=1e-14)
        conditions = [c for c in compilation.crossings if c.why == "condition"]
        assert conditions and all(c.seconds > 0 for c in conditions)
        report = wb.explain(wb.jit(function, device="cuda-sim"))(X)
        (row,) = (row for row in report.crossings if row.why == "condition")
        assert row.count == len(conditions) and row.time_ms > 0
        assert "to host: condition" in report.to_text() and "the host waited" in report.to_text()


def test_library_routines_in_a_loop_are_called_from_the_host():
    compilation = check(lambda x: wb.lax.fori_loop(0, 3, lambda _, v: np.sort(v, axis=0) * 0.5, x), X)
    assert "W0" not in compilation.kernels


def test_a_loop_of_many_elements_has_a_grid_of_blocks_and_sizes_as_arguments():
    def kernel(n):
        plan = form_plan(wb.jit(newton, device="numpy").trace((np.ones(n),), {}).jaxpr, in_place=False)
        return device_kernels(plan, "cuda")["W0"]

    small, large = kernel(1000), kernel(1_000_000)
    assert small.source == large.source and large.geometry.grid[0] > small.geometry.grid[0]


def test_loops_of_no_iterations_give_what_they_got():
    for function in (
        lambda x: wb.lax.fori_loop(0, 0, lambda _, v: v * 2, x),
        lambda x: wb.lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] * 2), (0, x)),
        lambda x: wb.lax.while_loop(lambda v: v.max() < 0.0, lambda v: v - v.sum(), x),
    ):
        check(function, X)


def test_the_report_shows_the_loops_kernel():
    report = wb.explain(wb.jit(newton, device="cuda-sim"))(X)
    (row,) = report.kernels
    assert row.id == "W0" and row.name.startswith("loop_") and "for step in range(n_steps)" in row.source
    (node,) = (node for node in report.graph.nodes if node.id == "W0")
    assert node.kind == "kernel" and report.summary.n_kernels == 1


@pytest.mark.parametrize("function", (*ELEMENT_LOOPS, *BLOCK_PROGRAMS), ids=lambda f: f.__name__)
def test_they_are_assembled(function):
    if why_no_ptx():
        pytest.skip(why_no_ptx())
    plan = form_plan(wb.jit(function, device="numpy").trace((X,), {}).jaxpr, in_place=False)
    for kernel in device_kernels(plan, "cuda").values():
        # All take long: each of the others for one of them.
        for capability in (
            CAPABILITIES if function in (mandelbrot, nested) else CAPABILITIES[len(kernel.source) % 3 :][:1]
        ):
            ptx, _, _ = kernel_ptx(kernel, capability)
            # Contracted nowhere, but where the source asks for it.
            asks = ("sin_", "mul_c128", "divide_")
            assert "fma.rn" not in ptx or any(name in kernel.source for name in asks)
            if assembler() is not None:
                cubin, told = assemble(ptx, capability)
                assert cubin.startswith(b"\x7fELF") and "Used" in told
