"""Loops as people write them give NumPy's results and mutations, compiled whole or traced; what raises, raises."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import workbench as wb
from tests.sources import define
from workbench.frontend.cells import trace_cell
from workbench.frontend.trace import trace
from workbench.ir import check_jaxpr
from workbench.ir.evaluate import eval_jaxpr
from workbench.runtime.loops import compiled_entry
from workbench.transforms.pipeline import run_pipeline

from .array_loop_programs import arguments as array_arguments
from .array_loop_programs import array_loop_program
from .element_loop_programs import arguments, element_loop_program
from .loop_programs import PROGRAMS


def outcome(fn: Callable[..., Any], args: tuple) -> tuple[Any, Any]:
    """The result, or the class of what is raised, and the arguments afterwards."""
    args = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        try:
            return fn(*args), args
        except Exception as error:  # noqa: BLE001
            return type(error), args


def assert_same(fn: Callable[..., Any], *args: Any, rtol: float = 1e-10) -> Any:
    """The compiled function does what the plain one does, twice over."""
    expected = outcome(fn, args)
    compiled = wb.jit(fn)
    for _ in range(2):
        found = outcome(compiled, args)
        a, b = optree.tree_leaves(expected), optree.tree_leaves(found)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            if isinstance(x, type | int):  # what is raised, or a number of any size
                assert x == y
                continue
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=rtol, atol=1e-12)
    return compiled


def steps(compiled: Any) -> list[str]:
    """The primitives of the steps that are no kernels."""
    return [step.eqn.primitive.name for c in compiled.compilations for step in c.plan.steps if hasattr(step, "eqn")]


def loops_of(compiled: Any) -> list[Any]:
    """The equations of loops that were compiled whole."""
    plans = [step for c in compiled.compilations for step in c.plan.all_steps if hasattr(step, "eqn")]
    return [step.eqn for step in plans if step.eqn.primitive.name == "loop"]


@pytest.mark.parametrize(
    ("program", "arguments"), PROGRAMS, ids=lambda f: f.__name__ if f.__name__ != "<lambda>" else ""
)
def test_programs_with_loops(program: Callable[..., Any], arguments: Callable[..., tuple]) -> None:
    for seed in (3, 4):
        compiled = assert_same(program, *arguments(np.random.default_rng(seed)))
        assert not compiled.fallbacks
        for eqn in loops_of(compiled):
            assert compiled_entry(eqn.params["program"]) is not None


@pytest.mark.parametrize(
    ("program", "arguments"), PROGRAMS, ids=lambda f: f.__name__ if f.__name__ != "<lambda>" else ""
)
def test_their_equations_mean_the_same(program: Callable[..., Any], arguments: Callable[..., tuple]) -> None:
    args = arguments(np.random.default_rng(5))
    traced = trace(program, args, {})
    check_jaxpr(traced.jaxpr)
    given = copy.deepcopy(args)
    inputs = [*traced.flatten(given, {}), *(c.read() for c in traced.captures)]
    with np.errstate(all="ignore"):
        results = eval_jaxpr(run_pipeline(traced.jaxpr, check=True), *map(np.asarray, inputs))
        expected = outcome(program, args)
    for x, y in zip(
        optree.tree_leaves(expected), optree.tree_leaves((traced.rebuild(results, inputs), given)), strict=True
    ):
        np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_over_elements(seed: int) -> None:
    source = element_loop_program(seed)
    f = define(source, "f", f"<loop program {seed}>")
    assert_same(f, *arguments(seed))


# ---- constants ----

SEVEN = 7


def divided_by_constants(x, y, out):
    rest = np.uint32(1)
    for i in range(len(x)):
        out[i] = x[i] // 3 + x[i] % 5 + x[i] % SEVEN + y[i] // SEVEN
        rest = (rest + x[i].astype(np.uint32)) % np.uint32(251) + np.uint32(y[i] % np.int8(11))
    return rest, (rest + 3) % SEVEN


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_quotients_and_remainders_of_constants(dtype) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    x = rng.integers(info.min, info.max, 44, dtype, endpoint=True)
    x[:4] = info.min, info.max, 0, 1
    y = np.arange(-20, 24, dtype=np.int8)
    assert_same(divided_by_constants, x, y, np.zeros(len(x), np.float64))


def powers(x):
    s, t = x[0], x[1]
    for i in range(len(x)):
        s = s + x[i] ** 3 * x[i]
        t = t + (x[i] - s) ** 4
    return s, t


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_powers_are_products(dtype) -> None:
    x = np.random.default_rng(0).standard_normal(12).astype(dtype)
    with np.errstate(all="ignore"):
        s, t = wb.jit(powers)(x)
        expected = powers(x)
    np.testing.assert_allclose((s, t), expected, rtol=40 * np.finfo(dtype).eps)


# ---- Python's numbers and NumPy's ----


def fibonacci(x):
    a, b = 0, 1
    for i in range(100):
        a, b = b, a + b
        x[i % 3] += 1
    return a


def wrapping(x):
    s = np.int64(1)
    for i in range(len(x)):
        s = s * x[i] + x[i]
    return s


def bytes_wrap(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[i] + x[i]
    return s


def divides_by_zero(x):
    total = 0.0
    for i in range(len(x)):
        total += 1.0 / x[i]
    return total


def python_division(x, n):
    for i in range(len(x)):
        x[i] = i / n
    return x


def integer_division(x):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        out[i] = 7 // x[i] + 9 % x[i]
    return out


def out_of_bounds(x):
    for i in range(len(x) + 1):
        x[i] = i
    return x


def negative_indices(x):
    s = 0.0
    for i in range(len(x)):
        s += x[-i] * x[i - 1]
    return s


def asserts(x):
    for i in range(len(x)):
        assert x[i] < 1.5
        x[i] += 1
    return x


def math_domain(x):
    import math

    s = 0.0
    for i in range(len(x)):
        s += math.sqrt(x[i])
    return s


def float_powers(x):
    s = 0.0
    for i in range(len(x)):
        s += abs(x[i]) ** 0.5 + x[i] ** 2 + x[i] ** 3
    return s


def truncates(x):
    out = np.zeros(len(x), dtype=np.int32)
    for i in range(len(x)):
        out[i] = x[i] * 10
        out[i] += int(x[i] * 3)
    return out


def single_precision(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.1 + x[i] * 3.3
    return s


def writes_through_views(x):
    y = x[::2]
    z = x[1:]
    for i in range(len(y)):
        y[i] = z[i] + 1
        z[i] *= 2
    return y


def exchanges(x):
    y = x.copy()
    for _ in range(5):
        for i in range(1, len(x) - 1):
            y[i] = 0.5 * (x[i - 1] + x[i + 1])
        x, y = y, x
    return x


def leaves_by_return(x):
    for i in range(len(x)):
        for j in range(i):
            if x[i] + x[j] > 2.5:
                return i, j, x[i]
    return -1, -1, 0.0


def else_of_a_loop(x):
    found = 0
    for i in range(len(x)):
        if x[i] > 1.9:
            break
        found += 1
    else:
        found = -1
    return found


def never_runs(x):
    last = 5
    for i in range(len(x), 3):
        last = x[i]
    return last


def python_lists(x):
    seen = []
    for i in range(len(x)):
        if x[i] > 0:
            seen.append(i)
    return len(seen)


def unset_afterwards(x):
    for i in range(len(x)):
        if x[i] > 100:
            where = i
    return where


def reads_after(x):
    for i in range(len(x)):
        last = x[i] * 2
    return i, last


def tuples_of_numbers(x):
    best = (x[0], 0)
    for i in range(1, len(x)):
        if x[i] > best[0]:
            best = (x[i], i)
    return best


def chained(x):
    n = 0
    for i in range(len(x)):
        if 0 < x[i] <= 1 or not x[i] < 1.5:
            n += 1
    return n


def enumerates(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v
    return s


def zips(x):
    s = 0.0
    for a, b in zip(x[1:], x):  # noqa: B905
        s += a * b
    return s


X = np.linspace(-1.0, 2.0, 7)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (fibonacci, (np.zeros(3),)), (wrapping, (np.arange(40) + 2**40,)),
        (bytes_wrap, (np.arange(9, dtype=np.uint8) + 30,)), (divides_by_zero, (np.array([1.0, 0.0, -0.0, 2.0, 5.0]),)),
        (python_division, (X, 3)), (python_division, (X, 0)), (integer_division, (np.array([3, -2, 5, -7, 1]),)),
        (integer_division, (np.array([3, 0, 5, -7, 1]),)), (out_of_bounds, (X,)), (negative_indices, (X,)),
        (asserts, (X,)), (asserts, (X - 1,)), (math_domain, (X,)), (math_domain, (X + 1,)), (float_powers, (X,)),
        (truncates, (X,)), (single_precision, (X.astype(np.float32),)), (writes_through_views, (X,)), (exchanges, (X,)),
        (leaves_by_return, (X,)), (leaves_by_return, (X - 2,)), (else_of_a_loop, (X,)), (else_of_a_loop, (X - 1,)),
        (never_runs, (X,)), (python_lists, (X,)), (unset_afterwards, (X,)), (unset_afterwards, (X * 99,)),
        (reads_after, (X,)), (tuples_of_numbers, (X,)), (chained, (X,)), (enumerates, (X,)), (zips, (X,)),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)  # fmt: skip
def test_numbers_and_errors_are_pythons(program: Callable[..., Any], args: tuple) -> None:
    assert_same(program, *args)


def test_a_nest_is_one_step_of_the_plan() -> None:
    (program, arguments) = next(p for p in PROGRAMS if p[0].__name__ == "gauss_seidel")
    compiled = wb.jit(program)
    compiled(*arguments(np.random.default_rng(0)))
    assert steps(compiled) == ["loop"]


def test_calls_that_write_one_after_another_are_in_one_step() -> None:
    (program, arguments) = next(p for p in PROGRAMS if p[0].__name__ == "spanning_tree")
    compiled = wb.jit(program)
    compiled(*arguments(np.random.default_rng(0)))
    assert "for" in str(loops_of(compiled)[0].params["program"])
    assert len(loops_of(compiled)) == 1


def test_a_new_length_compiles_nothing() -> None:
    from workbench.runtime import loops

    def recurrence(x):
        for i in range(1, len(x)):
            x[i] += 0.5 * x[i - 1]
        return x

    compiled = wb.jit(recurrence)
    compiled(np.ones(10))
    n = len(loops._compiled)
    for size in (11, 500, 10_000):
        np.testing.assert_allclose(compiled(np.ones(size)), recurrence(np.ones(size)))
    assert len(loops._compiled) == n


def test_what_numba_refuses_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.runtime import loops
    from workbench.runtime.native import numba_loops

    def recurrence(x, k):
        for i in range(k, len(x)):
            x[i] = x[i] - 0.25 * x[i - k]
        return x

    monkeypatch.setattr(numba_loops, "compile_with_numba", lambda program: None)
    monkeypatch.setattr(loops, "_compiled", {})
    assert_same(recurrence, np.arange(20.0), 2)


def test_loops_in_cells() -> None:
    source = "s = 0.0\nfor i in range(len(x)):\n    s = s * 0.5 + x[i]\n    x[i] = s"
    namespace = {"x": X.copy(), "np": np}
    cell = trace_cell(source, namespace, filename="<cell of loops>")
    assert "loop" in [e.primitive.name for e in cell.jaxpr.eqns]
    inputs = [c.read() for c in cell.captures]
    values, _ = cell.rebuild(eval_jaxpr(cell.jaxpr, *inputs), inputs)
    expected: dict[str, Any] = {"x": X.copy(), "np": np}
    exec(source, expected)
    assert values["i"] == len(X) - 1
    np.testing.assert_allclose(values["s"], expected["s"])
    np.testing.assert_allclose(namespace["x"], expected["x"])


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_over_rows(seed: int) -> None:
    source = array_loop_program(seed)
    f = define(source, "f", f"<rows {seed}>")
    assert_same(f, *array_arguments(seed), rtol=1e-9)


def test_a_list_that_a_loop_leaves_is_a_list():
    def given_names(a):
        t = 0.5
        for _ in a:
            for _ in a:
                u = t
            t = [-1, 2]
        return u, t

    def made(a):
        for _ in a:
            t = [-1, 2]
            u = (1, 2)
            v = t
        return u, v

    for function in (given_names, made):
        compiled = wb.jit(function)
        found, expected = compiled(np.arange(4.0)), function(np.arange(4.0))
        assert repr(found) == repr(expected)


def test_flags_that_a_loop_might_change():
    def locked(a, b):
        t = a + 1
        while np.all(b < 4):
            t.flags.writeable = False
            b = b + 1
        t[0] = 3
        return t

    compiled = wb.jit(locked)
    np.testing.assert_array_equal(compiled(np.ones(3), np.full(3, 9.0)), [3, 2, 2])
    with pytest.raises(ValueError, match="read-only"):
        compiled(np.ones(3), np.zeros(3))
    assert all(reason.code != "WB903" for reason in compiled.fallbacks)


def test_putting_into_a_number_changes_nothing():
    def put(a):
        for x in a:
            np.put(x, [0, -1], 7)
        return x

    compiled = wb.jit(put)
    assert compiled(np.arange(4.0)) == 3
    assert all(reason.code != "WB903" for reason in compiled.fallbacks)


def test_elements_of_a_number_are_a_copy():
    def written(a):
        for x in a:
            x.flat[-1] = 7
        return x

    compiled = wb.jit(written)
    assert compiled(np.arange(4.0)) == 3


def test_a_negative_int_and_an_unsigned_number_on_two_paths():
    def either(a, b):
        b[-1] = -1 if np.all(a < 4) else b[0]
        return b

    compiled = wb.jit(either)
    for a in (np.arange(3.0), np.arange(6.0)):
        try:
            expected = repr(either(a, np.arange(1, 4, dtype=np.uint32)))
        except OverflowError:
            with pytest.raises(OverflowError):
                compiled(a, np.arange(1, 4, dtype=np.uint32))
        else:
            assert repr(compiled(a, np.arange(1, 4, dtype=np.uint32))) == expected
    assert all(reason.code != "WB903" for reason in compiled.fallbacks)


def test_a_short_loop_inside_of_a_traced_one_is_traced() -> None:
    def joined(u, v):  # a list of arrays, of which data decide how long it is, is no result of a step
        parent = np.arange(len(u))

        def root(x):
            while parent[x] != x:
                parent[x] = parent[parent[x]]
                x = parent[x]
            return x

        edges = []
        for e in range(len(u)):
            a, b = root(u[e]), root(v[e])
            for k in range(5):
                a = min(a, root(u[(e + k) % 3]))
            if a != b:
                parent[b] = a
                edges.append(u[:2] + e)
        return parent, edges

    compiled = wb.jit(joined)
    rng = np.random.default_rng(5)
    for _ in range(2):
        u, v = rng.integers(0, 90, (2, 90))
        found, expected = compiled(u, v), joined(u, v)
        assert_same(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1], strict=True)
    assert not compiled.fallbacks
    assert "= loop[" not in str(wb.make_jaxpr(joined)(u, v))


def test_arrays_made_of_outer_scalars_belong_to_the_loop():
    def roots(values, offsets):
        found = []
        for value, offset in zip(values, offsets, strict=True):
            guess, n = value / 2, 0
            made = np.asanyarray(guess * guess)
            while True:
                guess = guess + (value - made) / (2 * guess)
                shift = np.asanyarray(offset) * 2 - 15
                made = np.asarray(guess * guess)
                made += shift / (1 + shift) * 1e-3
                n += 1
                if (abs(made - value) > 1e-6) and (n < 40):
                    pass
                else:
                    break
            found.append(guess)
        return np.array(found)

    values, offsets = np.array([25.0, 4, 9, 40]), np.array([0.0, 9, 3, 4])
    ours = wb.jit(roots)
    for _ in range(2):
        np.testing.assert_allclose(ours(values, offsets), roots(values, offsets), rtol=1e-12)
    assert not ours.fallbacks
