"""Loops that change lists, compiled whole: values, types, identities and errors are Python's."""

from __future__ import annotations

import ast
import heapq
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.notebook.cells import run_cell
from workbench.runtime.compilation import Source
from workbench.runtime.parts.whole_loops import WholeLoop

from .list_programs import Maker, values


def as_it_is(text: str, namespace: dict[str, Any], later: frozenset[str] | None = None) -> Any:
    """Run one loop compiled; None if it was left to Python."""
    loop = WholeLoop(ast.parse(text).body[0])  # type: ignore[arg-type]  # a loop
    return loop.run(SimpleNamespace(namespace=namespace, whole=Source("loop", text, "<loop>")), later)  # type: ignore[arg-type]


def assert_same(a: Any, b: Any, where: str) -> None:
    assert type(a) is type(b), f"{where}: {type(a)}, not {type(b)}"
    if isinstance(b, list | tuple | deque):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{k}]")
    elif isinstance(b, np.ndarray):
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif not callable(b) and b is not np:
        assert a == b or b != b, where


def assert_like_python(text: str, compiled: dict[str, Any], plain: dict[str, Any]) -> None:
    """Run a loop both ways: names, types, values, and which lists are one object."""
    before = {name: (compiled[name], plain[name]) for name in plain if isinstance(plain[name], list | deque)}
    assert as_it_is(text, compiled, frozenset(plain)) is not None
    exec(text, plain)
    for name in {*plain} - {*compiled}:  # what nobody reads later is not set
        del plain[name]
    assert set(compiled) == set(plain)
    for name, value in plain.items():
        assert_same(compiled[name], value, name)
        for other, (mine, its) in before.items():
            assert (compiled[name] is mine) == (value is its), f"{name} is {other}"
    for name, (mine, its) in before.items():
        assert_same(mine, its, f"the first {name}")


@pytest.mark.parametrize("seed", range(10))
def test_random_loops_do_what_python_does(seed):
    text = Maker(np.random.default_rng(seed)).loop()
    compiled, plain = (values(np.random.default_rng(seed)) for _ in range(2))
    fresh = values(np.random.default_rng(seed))
    try:
        exec(text, plain)
    except Exception:
        assert as_it_is(text, compiled) is None
        assert all(callable(x) or x is np or assert_same(compiled[n], x, n) is None for n, x in fresh.items())
        return
    if as_it_is(text, compiled) is None:
        assert all(callable(x) or x is np or assert_same(compiled[n], x, n) is None for n, x in fresh.items())
        return
    del plain["__builtins__"]
    assert set(compiled) == set(plain)
    for name, value in plain.items():
        assert_same(compiled[name], value, name)


LOOPS = {
    "a condition": "for i in range(len(x)):\n    if x[i] > 0.2:\n        hits.append(i)\n        peaks.append((i, x[i]))\n",
    "a stack": "while stack:\n    i = stack.pop()\n    if i < 40:\n        stack.append(2 * i + 1)\n        stack.append(3 * i + 2)\n    hits.append(i)\n",
    "a queue": "while queue:\n    i = queue.popleft()\n    for j in near[i]:\n        if level[j] < 0:\n            level[j] = level[i] + 1\n            queue.append(j)\n",
    "a list as a queue": "while stack:\n    i = stack.pop(0)\n    hits.append(i)\n    if i < 50:\n        stack.append(i + 7)\n        stack.append(i + 9)\n",
    "levels": "while stack:\n    found = []\n    for i in stack:\n        for j in near[i % 6]:\n            if level[j] < 0:\n                level[j] = n\n                found.append(j)\n    stack = found\n    n += 1\n",
    "a heap": "while heap and n < 30:\n    d, i = heapq.heappop(heap)\n    n += 1\n    for j in near[i % 6]:\n        heapq.heappush(heap, (d + x[j], j))\n    peaks.append((i, d))\n",
    "lists of lists": "for i in range(len(x)):\n    near[i % 6].append(i)\n    near[(i * i) % 6].append(len(near[0]))\n",
    "new lists": "for i in range(len(x)):\n    row = [0] * (i % 4)\n    row.append(i)\n    groups.append(row)\n",
    "growing while it is gone through": "for v in hits:\n    if len(hits) < 20:\n        hits.append(v + 1)\n",
    "arrays of lists": "for i in range(3, len(x)):\n    near_by = []\n    for j in range(i):\n        if abs(x[i] - x[j]) < 1.0:\n            near_by.append(x[j])\n    if len(near_by) > 1:\n        y[i] = np.array(near_by).max()\n",
    "items that are set": "for i in range(len(x)):\n    best[i % 3] = max(best[i % 3], i)\n    best[-1] += 2\n",
    "kinds of numbers": "for i in range(len(x)):\n    hits.append(int(x[i] * 3))\n    flags.append(x[i] > 0)\n    plain.append(float(x[i]))\n    floats.append(x[i])\n    ints.append(k[i])\n",
}  # fmt: skip


def around() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        "np": np, "heapq": heapq, "x": rng.normal(size=60), "y": np.zeros(60), "k": np.arange(60, dtype=np.int32),
        "hits": [4], "peaks": [], "stack": [1], "queue": deque([0]), "level": np.full(6, -1), "n": 0,
        "near": [[1, 2], [3], [3, 4], [5], [5, 0], []], "heap": [(np.float64(0.5), 1)], "groups": [], "best": [0, 1, 2],
        "flags": [], "plain": [0.5], "floats": [], "ints": [],
    }  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_lists_do_what_python_does(name):
    text = LOOPS[name].replace("plain.append", "plain_.append")
    compiled, plain = around(), around()
    for namespace in (compiled, plain):
        namespace["plain_"] = namespace.pop("plain")
    assert_like_python(text, compiled, plain)


REFUSED = {
    "a list of ints and floats": "for i in range(9):\n    hits.append(i)\n    hits.append(0.5)\n",
    "an escape": "for i in range(9):\n    hits.append(i)\n    keep['it'] = hits\n",
    "an unknown function": "for i in range(9):\n    hits.append(i)\n    print(hits)\n",
    "one list of two names": "for i in range(9):\n    hits.append(i)\n    same.append(i + 1)\n",
    "arrays in lists": "for i in range(9):\n    hits.append(x)\n",
    "a list that is no deque": "while hits:\n    n = hits.popleft()\n",
    "a deque that is no list": "while line:\n    n = line.pop(0)\n",
    "a list in a list, and by its own name": "for i in range(9):\n    nest[0].append(i)\n    inner.append(i)\n",
    "a look at what is taken": "while hits:\n    n = hits[-1] + hits.pop()\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_left_to_python(name):
    hits = [3]
    inner = [1]
    namespace = {"hits": hits, "same": hits, "keep": {}, "x": np.ones(3), "n": 0, "line": deque([1, 2]), "inner": inner}
    namespace["nest"] = [inner, [2]]
    assert as_it_is(REFUSED[name], namespace) is None
    assert hits == [3] and inner == [1] and namespace["hits"] is hits and namespace["n"] == 0
    assert namespace["line"] == deque([1, 2])


def test_other_kinds_of_values_under_the_names_are_left_to_python():
    loop = WholeLoop(ast.parse("for i in range(5):\n    hits.append(i)\n").body[0])  # type: ignore[arg-type]  # a loop
    for given in ([], [1, 2], None, (1,), np.ones(3), deque([1]), [0.5], [True], ["a"], 7):
        namespace = {"hits": given, "i": 0}
        ran = loop.run(SimpleNamespace(namespace=namespace, whole=Source("loop", "for", "<loop>")), None)  # type: ignore[arg-type]
        if ran is None:
            assert namespace["hits"] is given and namespace["i"] == 0
        else:
            assert list(given)[-5:] == [0, 1, 2, 3, 4] and all(type(v) is int for v in given)


def test_a_loop_that_raises_has_changed_nothing():
    x, hits = np.zeros(9), [1, 2]
    text = "for i in range(9):\n    x[i] = 1.0\n    hits.pop()\n"
    assert as_it_is(text, {"x": x, "hits": hits, "i": 0}) is None
    assert not x.any() and hits == [1, 2]


def flood(height: np.ndarray, start: tuple[int, int], limit: float) -> tuple[np.ndarray, list]:
    seen = np.zeros(height.shape, dtype=bool)
    stack = [start]
    order = []
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= height.shape[0] or j >= height.shape[1]:
            continue
        if seen[i, j] or height[i, j] > limit:
            continue
        seen[i, j] = True
        order.append(height[i, j])
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.append((i, j + 1))
        stack.append((i, j - 1))
    return seen, order


def test_a_function_with_a_stack_runs_compiled():
    height = np.random.default_rng(0).random((80, 90))
    expected = flood(height, (40, 40), 1.0)
    compiled = wb.jit(flood)
    for _ in range(3):
        seen, order = compiled(height, (40, 40), 1.0)
        np.testing.assert_array_equal(seen, expected[0])
        assert_same(order, expected[1], "order")
    assert not compiled.fallbacks


def distances(weights: np.ndarray, start: int) -> np.ndarray:
    n = len(weights)
    found = [float("inf")] * n  # of Python's floats, of which those that change become NumPy's
    found[start] = 0.0
    done = [False] * n
    heap = [(0.0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if done[u]:
            continue
        done[u] = True
        for v in range(n):
            if weights[u, v] > 0 and d + weights[u, v] < found[v]:
                found[v] = d + weights[u, v]
                heapq.heappush(heap, (found[v], v))
    return np.array(found)


def kept_elsewhere(weights: np.ndarray, start: int) -> Any:
    found = [0.5] * len(weights)
    again = [found]
    for i in range(len(weights)):
        for j in range(len(weights)):
            if weights[i, j] > found[j]:
                found[j] = weights[i, j] + found[start]
    return again, np.array(found)


@pytest.mark.parametrize(("program", "runs"), [(distances, True), (kept_elsewhere, False)])
def test_the_types_of_what_a_list_holds_matter_where_it_is_read(program, runs, monkeypatch):
    ran = []
    run = WholeLoop.run
    monkeypatch.setattr(WholeLoop, "run", lambda self, *a: ran.append(run(self, *a)) or ran[-1])
    rng = np.random.default_rng(0)
    weights = rng.random((90, 90)) * (rng.random((90, 90)) < 0.3)
    compiled = wb.jit(program)
    for _ in range(3):
        assert_same(compiled(weights, 3), program(weights, 3), "the result")
    assert any(found is not None for found in ran) == runs


def test_a_cell_reports_the_loop_as_compiled():
    source = """hits, stack = [], [3]
while stack:
    i = stack.pop()
    if x[i] > 0.0:
        hits.append(i)
    if i + 2 < len(x):
        stack.append(i + 2)
"""
    namespace = {"np": np, "x": np.random.default_rng(0).normal(size=5000)}
    report = run_cell(source, namespace, filename="<cell of a stack>").report
    assert namespace["hits"] == [i for i in range(3, 5000, 2) if namespace["x"][i] > 0.0]
    assert any("while" in row.op for stage in report.stages for row in stage.equations)
    assert not any(each.span and each.span.line >= 2 for each in report.fallbacks)
    assert "while" in report.to_text()


@pytest.mark.parametrize("before", [{}, {"_": "text", "i": None, "y": {}}, {"_": 2.5, "i": [1], "y": np.ones(2)}])
def test_what_the_loop_sets_before_it_reads_it_may_have_been_anything(before):
    text = "for _ in range(n):\n    i = len(hits)\n    y = i * 0.5\n    if y < 2:\n        hits.append(y)\n"
    for n in (0, 7):
        compiled, plain = ({**before, "n": n, "hits": []} for _ in range(2))
        assert_like_python(text, compiled, plain)


@pytest.mark.parametrize("text", [
    "for w in range(n):\n    row = [0]\n    for s in range(w):\n        row.append(row[-1] + s)\n    rows.append(row)\n",
    "for w in range(n):\n    row = [w]\n    row.append(1)\n    rows.append(row)\n    row = [5]\n    row.append(2)\n",
    "for w in range(n):\n    row = [w]\n    if w % 2:\n        rows.append(row)\n        row.append(7)\n",
    "for w in range(n):\n    row = rows[w // 2]\n    row.append(w)\n",
])  # fmt: skip
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_last_row_is_the_one_in_the_list(text, n):
    compiled, plain = ({"n": n, "rows": [[3], [4], [5]], "row": [9]} for _ in range(2))
    first = {id(each): k for k, each in enumerate(compiled["rows"])}
    assert as_it_is(text, compiled) is not None
    exec(text, plain)
    assert_same(compiled["rows"], plain["rows"], "rows")
    assert_same(compiled["row"], plain["row"], "row")
    assert [first.get(id(each)) for each in compiled["rows"][:3]] == [0, 1, 2]
    assert [each is compiled["row"] for each in compiled["rows"]] == [each is plain["row"] for each in plain["rows"]]


def test_what_a_loop_goes_over_may_be_a_name_that_it_sets():
    text = "for x in range(x):\n    hits.append(x)\n    x = x * 2\n"
    compiled, plain = ({"x": 4, "hits": [9]} for _ in range(2))
    assert_like_python(text, compiled, plain)


def test_an_error_is_pythons_at_its_line():
    def drain(x: np.ndarray) -> list:
        stack = [0]
        for i in range(len(x)):
            if x[i] < 0.9:
                stack.append(i)
            if x[i] > 0.5:
                stack.pop()
                stack.pop()
        return stack

    x = np.random.default_rng(0).random(20_000)
    compiled = wb.jit(drain)
    for _ in range(3):
        with pytest.raises(IndexError, match="pop from empty list") as caught:
            compiled(x)
        line = caught.traceback[-1]
        assert "stack.pop()" in str(line.statement)


def test_a_list_of_the_callers_is_changed_in_place():
    def collect(x: np.ndarray, into: list) -> int:
        for i in range(len(x)):
            if x[i] > 0.5:
                into.append(i)
        return len(into)

    x = np.random.default_rng(0).random(20_000)
    compiled = wb.jit(collect)
    for _ in range(4):
        mine, its = [7], [7]
        assert compiled(x, mine) == collect(x, its)
        assert_same(mine, its, "the list")


def test_a_function_that_changes_a_list_around_it_is_pythons():
    calls, weights = [0], np.ones(50)

    def update(i: int) -> float:
        calls[0] += 1
        weights[i] *= 0.5
        return weights.sum()

    namespace = {"n": 300, "update": update}
    assert as_it_is("for i in range(n):\n    update(i % 50)\n", namespace) is None
    assert calls == [0] and weights.sum() == 50


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for i in range(9):\n    if i % 2:\n        found.append(i)", "its lists change their length"),
        ("for i in range(9):\n    x[i] = s\n    s = s * 0.5 + 1", "it computes one element at a time"),
    ],
    ids=["lists", "elements"],
)
def test_a_loop_says_why_it_is_compiled_by_itself(text, reason):
    result = as_it_is(text, {"found": [], "x": np.ones(9), "s": 1.0, "np": np})
    (step,) = result.compilation.plan.steps
    assert step.eqn.params["program"].reason == reason


def test_a_loop_whose_arrays_change_their_length():
    """Kernels are for arrays of one length; here each iteration would need others."""
    text = "for k in range(n):\n    prices = prices[:-1] * 0.99\n    values = np.maximum(0.5 * (values[:-1] + values[1:]), 95.0 - prices)\n"
    for n in (1, 7, 600):
        rng = np.random.default_rng(n)
        compiled = {"np": np, "n": n, "prices": 80 + 40 * rng.random(700), "values": rng.random(700)}
        assert_like_python(text, compiled, dict(compiled))
