"""`wb.lax`: traced calls give what eager ones give, print as in JAX, and disagreements are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import workbench as wb
from workbench import lax
from workbench.errors import ControlFlowTypeError
from workbench.fusion import BranchStep, LoopStep

X = np.linspace(-1.0, 2.0, 6)
F32 = np.linspace(0.0, 1.0, 5, dtype=np.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple]] = {
    "cond": (lambda p, x: lax.cond(p > 0, lambda x: (x**2, x), lambda x: (x**3, x * 2), x), (2.0, X)),
    "cond of a constant": (lambda x: lax.cond(True, np.sin, np.cos, x), (X,)),
    "cond without operands": (lambda p, x: lax.cond(p > 0, lambda: x, lambda: -x), (-1.0, X)),
    "switch": (lambda i, x: lax.switch(i, [np.sin, np.cos, lambda x: x], x), (np.int64(7), X)),
    "while_loop": (
        lambda x, y: lax.while_loop(lambda c: c[0] < y, lambda c: (c[0] + y / 7, c[1] * 2), (x, y)), (1.0, 2.0)
    ),
    "while_loop that never runs": (lambda x: lax.while_loop(lambda c: False, lambda c: c + 1, x), (X,)),
    "fori_loop": (lambda x: lax.fori_loop(0, 10, lambda i, c: c * 0.5 + i, x), (F32,)),
    "fori_loop to a traced bound": (lambda x, n: lax.fori_loop(1, n, lambda i, c: c * 2 + i, x), (F32, np.int64(4))),
    "fori_loop of nothing": (lambda x: lax.fori_loop(3, 0, lambda i, c: c * 2 + i, x), (X,)),
    "a Python number takes the type of the body": (lambda x: lax.fori_loop(0, 3, lambda i, c: c + x[i], 0), (F32,)),
    "scan": (lambda x, n: lax.scan(lambda c, r: (c + r, {"y": c * n}), 0.0, x), (X, 3.0)),
    "scan in reverse": (lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), np.zeros(2), x, reverse=True),
                        (X.reshape(3, 2),)),
    "scan without inputs": (lambda x: lax.scan(lambda c, _: (c * 2, c), x, length=3), (X,)),
    "map": (lambda x: lax.map(lambda row: row.sum() * row, x), (X.reshape(3, 2),)),
    "nested": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.cond(c.sum() > 1, lambda v: v * 0.5, lambda v: v + 1.0, c), x),
        (X,),
    ),
    "select": (lambda x: lax.select(x > 0, x, -x), (X,)),
    "associative_scan": (lambda x: lax.associative_scan(np.multiply, x), (X,)),
    "associative_scan in reverse": (lambda x: lax.associative_scan(lambda a, b: a + b, x, reverse=True), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_traced_is_eager(name: str) -> None:
    fn, args = PROGRAMS[name]
    expected, found = fn(*args), wb.jit(fn, strict=True)(*args)
    assert optree.tree_structure(expected) == optree.tree_structure(found)
    for a, b in zip(optree.tree_leaves(expected), optree.tree_leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12 if np.asarray(a).dtype == np.float64 else 1e-6)
        assert np.asarray(b).dtype == np.asarray(a).dtype


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 9])
def test_associative_scan_of_any_length(n: int) -> None:
    x = np.arange(1.0, n + 1)
    np.testing.assert_allclose(lax.associative_scan(np.add, x), np.cumsum(x))
    np.testing.assert_allclose(lax.associative_scan(np.add, x, reverse=True), np.cumsum(x[::-1])[::-1])


def test_a_list_of_numbers_is_an_array() -> None:
    np.testing.assert_array_equal(lax.cond(False, lambda x: x**2.0, lambda x: x**3.0, [2.0]), [8.0])


@pytest.mark.parametrize(
    "program",
    [
        lambda lax, p, x: lax.cond(p > 0, lambda x: (x * 2.0, x), lambda x: (x + 1.0, x * 2.0), x),
        lambda lax, p, x: lax.fori_loop(0, 10, lambda i, c: c * 2.0, x),
        lambda lax, p, x: lax.while_loop(lambda c: c[0] < p, lambda c: (c[0] * 2.0, c[1] + c[0]), (p, x)),
        lambda lax, p, x: lax.scan(lambda c, r: (c * r, c), p, x),
        lambda lax, p, x: lax.map(lambda r: r * 2.0, x),
    ],
)
def test_prints_as_in_jax(program: Callable) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        expected = str(jax.make_jaxpr(lambda p, x: program(jax.lax, p, x))(np.float64(2.0), X))
    assert str(wb.xpr(lambda p, x: program(lax, p, x), np.float64(2.0), X)) == expected


def test_branches_and_loops_are_steps_that_hold_plans() -> None:
    fn = wb.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: lax.cond(c.sum() > 1, np.sin, np.cos, c), x), strict=True)
    fn(X)
    plan = fn.compilations[0].plan
    (loop,) = plan.steps
    assert isinstance(loop, LoopStep)
    assert any(isinstance(step, BranchStep) for step in loop.body.steps)
    assert len({step.id for step in plan.all_steps}) == len(plan.all_steps)


def test_bodies_write_to_arrays_outside() -> None:
    def fill(x: np.ndarray, n: int) -> Any:
        view = x[::2]

        def body(i: Any, c: Any) -> Any:
            view[i] = c
            return c + x[0] + view.sum()

        return lax.fori_loop(0, n, body, 1.0)

    a, b = X.copy(), X.copy()
    assert wb.jit(fill, strict=True)(a, 3) == pytest.approx(fill(b, 3))
    np.testing.assert_allclose(a, b)


def test_a_branch_writes_where_it_is_taken() -> None:
    def clear(p: float, x: np.ndarray) -> None:
        def zero() -> None:
            x[1:] = 0.0

        lax.cond(p > 0, zero, lambda: None)

    for p in (1.0, -1.0):
        a, b = X.copy(), X.copy()
        wb.jit(clear, strict=True)(p, a)
        clear(p, b)
        np.testing.assert_array_equal(a, b)


def test_results_own_their_memory() -> None:
    x = X.copy()
    same = wb.jit(lambda p, x: lax.cond(p > 0, lambda: (x, x), lambda: (-x, x)), strict=True)
    first, second = same(1.0, x)
    first[0] = 7.0
    assert x[0] == X[0] and second[0] == X[0]


def test_no_iteration_compiles_anew() -> None:
    from workbench.runtime.native import kernels

    fn = wb.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 0.5 + 1.0, x), strict=True)
    fn(X, np.int64(1))
    before = kernels.N_COMPILED
    fn(X, np.int64(500))
    assert kernels.N_COMPILED == before and fn.n_traces == 1


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: lax.fori_loop(0, 3, lambda i, c: c[1:], x), r"carry is +f64\[6\]\n +but becomes +f64\[5\]"),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: (c, c), x), "must return the structure that it takes"),
        (lambda x: lax.while_loop(lambda c: c, lambda c: c + 1, x), r"must return a scalar, found f64\[6\]"),
        (lambda x: lax.cond(x[0] > 0, lambda: x, lambda: x[1:]), r"(?s)must return the same types.*f64\[5\]"),
        (lambda x: lax.cond(x[0] > 0, lambda: x, lambda: (x, x)), "must return the same structure"),
        (lambda x: lax.scan(lambda c, r: c, 0.0, x), "must return a pair"),
    ],
)
def test_types_that_disagree_are_told(program: Callable, message: str) -> None:
    with pytest.raises(ControlFlowTypeError, match=message):
        wb.jit(program, strict=True)(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.cond(X, np.sin, np.cos, 1.0), r"must be a scalar, found shape \(6,\)"),
        (lambda: lax.cond(True, 1, 2), "must be callable"),
        (lambda: lax.switch(1.0, [np.sin, np.cos], 1.0), "must be an integer"),
        (lambda: lax.select(X > 0, X, X[1:]), "on_false has shape"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0), "`length` must be given"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0, X, length=3), "disagree"),
    ],
)
def test_bad_arguments_are_told(call: Callable, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_an_eager_scan_of_nothing_knows_its_types() -> None:
    carry, ys = lax.scan(lambda c, r: (c + r, (r * 2, c)), 1.0, np.empty((0, 3)))
    assert carry == 1.0 and ys[0].shape == (0, 3) and ys[1].shape == (0, 3) or ys[1].shape == (0,)


def test_the_report_shows_loops_and_branches() -> None:
    start = lambda x: lax.cond(x[0] > 0, lambda: x, lambda: -x)  # noqa: E731
    report = wb.explain(lambda x: lax.fori_loop(0, 3, lambda i, c: np.sin(c), start(x)))(X)
    assert {"loop", "branch"} <= {node.kind for node in report.graph.nodes}


def _kept(x):
    return {
        "cond": wb.lax.cond(True, lambda a: a, lambda a: a + 1, x),
        "switch": wb.lax.switch(np.int64(1), [lambda a: a + 1, lambda a: a.T], x),
        "while_loop": wb.lax.while_loop(lambda a: a.sum() < -1e9, lambda a: a + 1, x),
        "fori_loop": wb.lax.fori_loop(0, 2, lambda _, a: a[::-1], x),
        "scan": wb.lax.scan(lambda carry, row: (row, row), x[0], x)[0],
    }


@pytest.mark.parametrize("run", [_kept, wb.jit(_kept)], ids=["eager", "traced"])
def test_results_are_arrays_of_their_own(run):
    x = np.arange(9.0).reshape(3, 3)
    before = x.copy()
    for result in run(x).values():
        result[...] = -1
        np.testing.assert_array_equal(x, before)
