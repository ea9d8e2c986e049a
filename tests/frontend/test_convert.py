"""Converted control flow does what Python does, on values that are known and on values that are not."""

from __future__ import annotations

import ast
import copy
import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import workbench as wb
from tests.sources import define
from workbench.errors import CheckFailedError, TracerBoolConversionError, TracingError
from workbench.frontend.cells import trace_cell
from workbench.frontend.convert import converted_code, plain_code
from workbench.frontend.trace import trace
from workbench.ir import check_jaxpr
from workbench.ir.evaluate import eval_jaxpr
from workbench.transforms.pipeline import run_pipeline

from .control_flow_programs import control_flow_program
from .raising_programs import RAISING

X = np.linspace(-1.0, 2.0, 7)


def run_traced(fn: Callable, args: tuple) -> Any:
    """`fn(*args)` by its program, optimised, in the reference evaluator."""
    traced = trace(fn, args, {})
    check_jaxpr(traced.jaxpr)
    inputs = [*traced.flatten(args, {}), *(c.read() for c in traced.captures)]
    with np.errstate(all="ignore"):
        results = eval_jaxpr(run_pipeline(traced.jaxpr, check=True), *map(np.asarray, inputs))
    return traced.rebuild(results, inputs)


def assert_same(fn: Callable, *args: Any) -> None:
    """The results, and what became of the arguments."""
    expected_args, found_args = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        expected = fn(*expected_args)
    found = run_traced(fn, found_args)
    a, b = optree.tree_leaves((expected, expected_args)), optree.tree_leaves((found, found_args))
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=1e-9, atol=1e-11)
        assert np.asarray(x).dtype == np.asarray(y).dtype


def primitives(fn: Callable, *args: Any) -> list[str]:
    return [eqn.primitive.name for eqn in trace(fn, args, {}).jaxpr.eqns]


def helper(v: Any) -> Any:
    if v > 1:
        return v * 2
    return v / 2


def branch(x):
    if x.sum() > 0:
        y = x * 2
    elif x[0] > 0:
        y = x - 1
    else:
        y = -x
    return y + 1


def early_return(x):
    if x[0] > 0:
        return x
    if x[1] < 0:
        return x * 3
    return x - 1


def converge(x):
    err, k = 1.0, 0
    while err > 1e-3:
        new = (x + 1) / 2
        err = np.abs(new - x).max()
        x = new
        k += 1
    return x, err, k


def stencil(u):
    for _ in range(100):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def two_buffers(u):
    v = u.copy()
    for _ in range(33):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u, v


def jumps(x):
    s = 0
    for i in range(70):
        if x[i % 7] > 0.5:
            continue
        s += x[i % 7]
        if s < -8:
            break
    return s, i


def return_from_a_loop(x):
    for i in range(50):
        if x[i % 7] > 1:
            return i, x[i % 7]
    return -1, 0.0


def calls(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = helper(x[i])
    return out


def plain_numbers_in_while(x):
    total, i = 0.0, 0
    while i < 1000:
        total += np.sin(x).sum() * i
        i += 1
    return total


def loop_else(x):
    for i in range(20):
        for j in range(30):
            x = x + i * j
            if x[0] > 1000:
                break
        else:
            x = x - 1
    return x


def expressions(x):
    return (x[0] if x.sum() > 3 else x[1]), (x[0] > 0 and x[1] > 0), (x[0] < 0 or x[1] > 0), not x[0] > 0, 0 < x[1] < 1


def extremes(x):
    low = min(x[0], x[1], 0.25)
    high = max(np.abs(x).max(), 1e-8, 0) * x[0]  # a float64, whichever of them it is
    return low, high, max(3, 4), min([2, 1]), x / max(x[2], low)


def best(x):
    value, at = x[0], 0
    for i in range(1, len(x)):
        if x[i] > value:
            value, at = x[i], i
    return value, at


def writes_in_branches(x):
    if x[0] > 0:
        x[1] = 5
    else:
        x[2:4] += 1
    x[0] = 9


def lists(x):
    terms = []
    for i in range(10):
        terms.append(x * i)
    return sum(terms)


def plain_python(x):
    s = 0
    for k in range(10):
        s += k
    return x + np.zeros(s // 45 * 7)


def types_of_truth(x):
    return not x[0] > 0, x[0] > 0, not x.any(), [not (x[0] > 0 and x[1] > 0)]


PROGRAMS = [
    branch, early_return, converge, stencil, two_buffers, jumps, return_from_a_loop, calls, plain_numbers_in_while,
    loop_else, expressions, extremes, best, writes_in_branches, lists, plain_python, types_of_truth,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_does_what_python_does(program: Callable) -> None:
    assert_same(program, X.copy())
    assert_same(program, -X)


@pytest.mark.parametrize("program", [branch, converge, two_buffers, jumps], ids=lambda f: f.__name__)
def test_compiles_to_the_same(program: Callable) -> None:
    a, b = X.copy(), X.copy()
    compiled = wb.jit(program)
    expected, found = program(a), compiled(b)
    assert not compiled.fallbacks
    for x, y in zip(optree.tree_leaves((expected, a)), optree.tree_leaves((found, b)), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-12)


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    source = control_flow_program(seed)
    f = define(source, "f", f"<program {seed}>")
    rng = np.random.default_rng(seed)
    try:
        assert_same(f, rng.normal(size=5), rng.normal(size=5), float(rng.normal()))
    except TracingError:  # it runs in NumPy: right by definition
        pass


def test_loops_are_one_equation_whatever_their_length() -> None:
    def power(x, n):
        for _ in range(n):
            x = x * 0.5 + 1
        return x

    assert primitives(power, X, 20) == primitives(power, X, 10_000) == ["scan"]
    assert primitives(power, X, np.int64(7))[-1] == "while"
    assert primitives(power, X, 3) == ["mul", "add"] * 3


def test_strict_tracing_converts_nothing() -> None:
    with pytest.raises(TracerBoolConversionError):
        trace(branch, (X,), {}, strict=True)


def test_positions_are_the_users() -> None:
    traced = trace(branch, (X,), {})
    (cond,) = [eqn for eqn in traced.jaxpr.eqns if eqn.primitive.name == "cond"]
    first = branch.__code__.co_firstlineno
    assert (cond.origin.span.line, cond.origin.span.function) == (first + 1, "branch")
    (double,) = cond.params["branches"][1].eqns
    assert (double.origin.span.line, double.origin.span.function) == (first + 2, "branch")


def test_cells_convert_too() -> None:
    source = "for i in range(30):\n    x = x * 0.5 + i\nif x[0] > 3:\n    y = x\nelse:\n    y = -x\ny"
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    namespace = {"x": X.copy(), "np": np}
    cell = trace_cell(source, namespace, filename="<cell>")
    assert [e.primitive.name for e in cell.jaxpr.eqns if e.primitive.name in ("scan", "cond")] == ["scan", "cond"]
    assert set(cell.outputs) == {"i", "x", "y"}
    results = eval_jaxpr(cell.jaxpr, *[c.read() for c in cell.captures])
    values, _ = cell.rebuild(results, [c.read() for c in cell.captures])
    expected: dict[str, Any] = {"x": X.copy(), "np": np}
    exec(source, expected)
    assert values["i"] == 29
    np.testing.assert_allclose(values["y"], expected["y"])


def test_functions_that_a_cell_keeps_are_the_users_own() -> None:
    source = "def g(v):\n    if v > 0:\n        return v\n    return -v\ny = g(x[0])"
    linecache.cache["<cell g>"] = (len(source), None, source.splitlines(True), "<cell g>")
    cell = trace_cell(source, {"x": X.copy()}, filename="<cell g>")
    values, _ = cell.rebuild(eval_jaxpr(cell.jaxpr, *[c.read() for c in cell.captures]), [X])
    assert "<workbench.frontend.branching>" not in values["g"].__code__.co_names
    assert values["g"].__code__ is plain_code(values["g"].__code__)
    assert not any(hasattr(c, "if_") for c in values["g"].__code__.co_consts)
    assert values["g"](-2) == 2


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x if x.sum() > 0 else x[1:],
        lambda x: (1, 2) if x.sum() > 0 else x,
        lambda x: [x] if x.sum() > 0 else None,
    ],
)
def test_types_that_differ_are_refused(program: Callable) -> None:
    with pytest.raises(TracingError) as caught:
        trace(program, (X,), {})
    assert caught.value.code == "WB181"


def test_lists_in_traced_loops_are_refused_and_left_alone() -> None:
    def record(x):
        steps = []
        while x.sum() < 100:
            x = x * 1.5
            steps.insert(0, 1)
        return x, len(steps)

    with pytest.raises(TracingError, match="WB182"):
        trace(record, (X,), {})
    assert wb.jit(record)(X)[1] == record(X)[1]


@pytest.mark.parametrize("program", RAISING, ids=lambda f: f.__name__)
def test_what_raises_is_checked_when_the_program_runs(program: Callable) -> None:
    compiled = wb.jit(program)
    for x in (X, X + 2, X + 1000, X - 1000, X * np.nan):
        a, b = x.copy(), x.copy()
        expected, found = outcome(program, a), outcome(compiled, b)
        if isinstance(expected, Exception):
            assert type(found) is type(expected) and str(found) == str(expected)
            lines = [traceback.extract_tb(error.__traceback__)[-1].lineno for error in (found, expected)]
            assert lines[0] == lines[1]
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_array_equal(a, b)
    assert len(compiled.compilations) == 1 and not compiled.fallbacks


def outcome(program: Callable, x: np.ndarray) -> Any:
    try:
        return program(x)
    except Exception as error:
        return error


def test_cells_check_too() -> None:
    source = "y = x * 2\nassert y.sum() < 100, 'too much'\nz = y + 1"
    for scale in (1.0, 1000.0, 1.0):
        namespace: dict[str, Any] = {"x": X * scale, "np": np}
        linecache.cache["<cell assert>"] = (len(source), None, source.splitlines(True), "<cell assert>")
        cell = trace_cell(source, namespace, filename="<cell assert>")
        inputs = [capture.read() for capture in cell.captures]
        if scale > 1:
            with pytest.raises(CheckFailedError, match="Line 2") as caught:
                eval_jaxpr(cell.jaxpr, *inputs)
            assert caught.value.line == 2
        else:
            values, _ = cell.rebuild(eval_jaxpr(cell.jaxpr, *inputs), inputs)
            np.testing.assert_array_equal(values["z"], X * scale * 2 + 1)


@pytest.mark.parametrize("x", [X, -X])
def test_not_gives_a_bool_of_python(x: np.ndarray) -> None:
    for found, expected in zip(
        optree.tree_leaves(wb.jit(types_of_truth)(x)), optree.tree_leaves(types_of_truth(x)), strict=True
    ):
        assert type(found) is type(expected) and found == expected


def f(x):
    class Base:
        def f(self, v):
            return v + 1

    class Derived(Base):
        def f(self, v):
            return super().f(v) * 2

    return Derived().f(x)


def test_a_class_inside_may_have_a_method_of_the_functions_name() -> None:
    assert_same(f, X)


def test_nditer_is_left_to_numpy() -> None:
    def walk(x):
        s = 0.0
        for v in np.nditer(x):
            s += v
        return s

    compiled = wb.jit(walk)
    assert compiled(X) == walk(X)
    assert compiled.fallbacks[0].code == "WB160"


def test_writes_through_another_name_are_not_lost() -> None:
    def aliased(x):
        y = x + 1
        z = y
        if x[0] > 0:
            z = x + 2
        z[0] = 50
        return y, z

    for x in (X, -X):
        expected, found = aliased(x), wb.jit(aliased)(x)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


def relaxed(n):
    u = np.zeros((n, n))
    u[0] = 1.0
    steps = 0
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        change = np.abs(new - u).max()
        u, steps = new, steps + 1
        if change < 1e-2 or steps >= 200:
            break
    return u, steps, change


def test_conditions_on_large_known_arrays_are_left_to_the_program():
    """Tracing would compute the loop with NumPy, iteration by iteration, to decide where it ends."""
    compiled = wb.jit(relaxed, static_argnums=0)
    for n in (5, 400):
        for result, expected in zip(compiled(n), relaxed(n), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert not compiled.fallbacks
    large = compiled.compilations[-1].traced.jaxpr
    assert any(e.primitive.name in ("while", "loop") for e in large.eqns), [e.primitive.name for e in large.eqns]
    assert len(large.eqns) < 400


def test_a_function_that_a_cell_defines_below_its_imports_is_converted() -> None:
    """Notebooks compile statement by statement: a call of a name that the same text imports is other code there."""
    text = """import numpy as np
def steps(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1]) + x[i]
    return y
"""
    filename = "<a cell of statements>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), filename, "exec"), names)
    assert converted_code(names["steps"].__code__) is not None
    assert len(wb.make_jaxpr(names["steps"])(np.ones(300)).eqns) < 10


def walrus_of_a_value(s: np.ndarray) -> Any:
    while (m := s.max()) > 3:
        s = s - 1
    return m, s


def walrus_of_an_array(s: np.ndarray) -> Any:
    while (over := s >= 4).any():
        s = s - 1
    return over, s


def walrus_that_counts(s: np.ndarray) -> Any:
    i = 0
    while (i := i + 1) < s[0]:
        if i > 7:
            break
        s = s + 0
    return i, s


def walrus_twice(s: np.ndarray) -> Any:
    n = 0
    while (y := (x := s[n % 2]) * 2) > 3:
        n += 1
        if n % 3 == 0:
            continue
        s[n % 2] -= 1
    return x, y, n, s


@pytest.mark.parametrize("program", [walrus_of_a_value, walrus_of_an_array, walrus_that_counts, walrus_twice])
@pytest.mark.parametrize("start", [[5, 1], [5.5, 40.0], [1, -1]])
def test_names_that_the_test_of_a_while_binds(program: Callable, start: list) -> None:
    compiled = wb.jit(program)
    found, expected = compiled(np.array(start)), program(np.array(start))
    assert not compiled.fallbacks
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("returned", ["True", "(x, True, i)", "{'ok': True, 'i': i}", "(i, 2.5, True)"])
def test_constants_that_an_early_return_gives_are_pythons(returned: str) -> None:
    last = returned.replace("True", "False")
    source = (
        "def program(x):\n    for i in range(50):\n        if x.sum() < 1:\n"
        f"            return {returned}\n        x = x * 0.5\n    return {last}\n"
    )
    program = define(source, "program", f"<early return {returned}>")
    for x in (np.full(20, 0.3), np.full(20, 1e30)):
        found, expected = wb.jit(program)(x), program(x)
        leaves = zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True)
        assert all(type(a) is type(b) and np.array_equal(a, b) for a, b in leaves)


def counted_escapes(z, n):
    escaped = np.zeros(z.shape, np.int32)
    for i in range(n):
        z = z**2 + 0.3
        escaped[abs(z) > 2] = i
        if escaped.all():
            return escaped, i
    return escaped, n


def smoothed(u, tolerance):
    for i in range(1000):
        old = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        if np.abs(u - old).max() < tolerance:
            return {"u": u, "i": i, "ok": True}
    return {"u": u, "i": i, "ok": False}


def filled_until_true(u, n):
    k = 0
    while True:
        u[k] = k
        k += 1
        if k >= len(u) or u[k] > n:
            return u, k


def found_in_a_nest(u, v):
    for i in range(len(u)):
        for j in range(len(v)):
            u[i] += v[j]
            if u[i] > 3:
                return [u, i, j]
    return [u, -1, -1]


def halved_or_doubled(u, n):
    for i in range(6):
        u = u * 0.5
        if u.sum() < n:
            return u, i
    else:
        return u * 2, n


def rebound_by_a_closure(u, n):
    def renew():
        nonlocal u
        u = u * 2
        return n

    for _ in range(5):
        u[0] += 1
        if u[0] > 3:
            return u, renew()
    return u, 0.5


def one_of_two(u, n):
    for i in range(5):
        u[0] += 1
        if u[0] > n:
            return u, i
        if u[1] > 3:
            return i, u
    return u, 0


@pytest.mark.parametrize(
    "program",
    [
        counted_escapes,
        smoothed,
        filled_until_true,
        found_in_a_nest,
        halved_or_doubled,
        rebound_by_a_closure,
        one_of_two,
    ],
)
@pytest.mark.parametrize("last", [1, 3, 8])
def test_arrays_that_an_early_return_gives_back(program: Callable, last: int) -> None:
    second = np.full(3, 0.4) if program is found_in_a_nest else 1e-3 if program is smoothed else last
    start = np.linspace(0.0, 1.5, 50)
    compiled = wb.jit(program)
    for scale in (1.0, 0.01, 3.0):
        mine, its = start * scale, start * scale
        found, expected = compiled(mine, second), program(its, second)
        np.testing.assert_allclose(mine, its, rtol=1e-12)
        for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert not isinstance(b, np.ndarray) or (a is mine) == (b is its)
    if program not in (rebound_by_a_closure, one_of_two):
        assert not compiled.fallbacks


def factors(a):
    for k in range(a.shape[0]):
        if abs(a[k, k]) < 1e-12:
            return None
        a[k + 1 :, k] /= a[k, k]
    return a


def test_a_return_of_none_is_one_of_two_results() -> None:
    compiled = wb.jit(factors)
    good, bad = np.linspace(1, 2, 9).reshape(3, 3), np.zeros((3, 3))
    for a in (good, good, bad, good, bad, *[bad] * 6, good):
        mine, its = a.copy(), a.copy()
        found, expected = compiled(mine), factors(its)
        np.testing.assert_array_equal(mine, its)
        assert (found is None) == (expected is None) and (found is None or found is mine)
    assert not compiled.fallbacks


def labels(image):
    found = np.zeros(image.shape, int)
    n = 0
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            if image[i, j] and found[i, j] == 0 or not (found[i, j] or image[i, j] > 5):
                n += 1
                found[i, j] = n
    return found, n


@pytest.mark.parametrize("shape", [(1, 1), (6, 5)])
def test_operands_of_a_test_may_be_of_several_types(shape: tuple[int, int]) -> None:
    image = np.arange(int(np.prod(shape))).reshape(shape) % 7
    compiled = wb.jit(labels)
    for a, b in zip(compiled(image), labels(image), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not compiled.fallbacks


def test_helpers_have_variables_of_their_own() -> None:
    def advance(u, end):
        def primitive(u):
            rho = u[0]
            return rho, u[1] / rho

        t = 0.0
        while t < end:
            rho, v = primitive(u)
            u[1] = u[1] + 0.1 * v
            t += 1
        return primitive(u)

    compiled = wb.jit(advance)
    mine, its = (1 + np.arange(8.0).reshape(2, 4) for _ in range(2))
    for a, b in zip(compiled(mine, np.float64(5)), advance(its, np.float64(5)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert not compiled.fallbacks


def test_numbers_in_a_dict_that_a_loop_reads() -> None:
    def damped(y, n, limits):
        locked = False
        for _ in range(n):
            if not locked and y[2] > limits["on"]:
                locked = True
            y = y * (0.3 if locked else 1.0)
        return y

    compiled = wb.jit(damped)
    y = np.linspace(0, 1, 4)
    for limit in (0.01, 0.5, 2.0):
        np.testing.assert_allclose(compiled(y, 200, {"on": limit}), damped(y, 200, {"on": limit}), rtol=1e-12)
    assert not compiled.fallbacks


def test_two_functions_of_one_name_are_told_apart() -> None:
    def program(x):
        if x.sum() > 0:

            def f(v):
                return v * 2  # noqa: E704
        else:

            def f(v):
                return v * 3  # noqa: E704

        return f(x)  # fmt: skip

    compiled = wb.jit(program)
    np.testing.assert_array_equal(compiled(X), program(X))
    assert "`f` is another function on each path" in str(compiled.fallbacks[0])


# fmt: off
PAIR = (lambda x: x * 2 if x.sum() > 3 else -x), (lambda x: float(x[0]) if x[1] > 1 else 0.5)
TWINS = (lambda x: 1.0 if x[0] > 1 else 2.0), (lambda x: 1.0 if x[0] > 1 else 2.0)
def made(k): return lambda x: (lambda y: y + k if y[0] > k else y - k)(x) if x[0] < 2 else x  # noqa: E704
# fmt: on


@pytest.mark.parametrize("function", [*PAIR, made(1.5)])
def test_functions_that_stand_in_one_line_are_told_apart(function):
    compiled = wb.jit(function)
    for x in (np.array([1.0, 0.5]), np.array([1.8, 1.5]), np.array([5.0, -1.0])):
        found, expected = compiled(x), function(x)
        assert type(found) is type(expected) and np.array_equal(found, expected)
    assert not compiled.fallbacks


def test_functions_that_nothing_tells_apart():
    for function in TWINS:
        assert wb.jit(lambda x, f=function: f(x))(np.array([3.0])) == 1.0


def test_a_loop_that_a_turn_which_is_written_out_may_leave() -> None:
    """The first turns are Python's, since they change a dict; the others must not run if one of those left the loop."""

    def left_early(x):
        seen, n = {}, 0
        for i in range(len(x)):
            if not seen:
                seen["first"] = x[i] * 2
                if x[i] < x[1]:
                    break
            n += 1
        return n, seen, i

    compiled = wb.jit(left_early)
    for first in (5.0, 0.0):
        x = np.array([first, *range(1, 10)])
        assert compiled(x) == left_early(x)
    assert not compiled.fallbacks
