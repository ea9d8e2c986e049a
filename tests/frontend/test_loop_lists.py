"""Lists of loops that are one equation: what they hold before, meanwhile, and afterwards."""

from __future__ import annotations

import bisect
import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.sources import define

from .test_loops import assert_same, loops_of


def places_and_values(x, level):
    where, what = [], []
    for i in range(len(x)):
        if x[i] > level:
            where.append(i)
            what.append(x[i])
    return where, what, np.array(where), np.array(what)


def of_several_types(x, level):
    found, flags, pairs = [], [], []
    for i in range(len(x)):
        if x[i] > level:
            found.append(float(x[i]))
            flags.append(bool(x[i] > 2 * level))
            pairs.append((i, (x[i], 0.5 * i)))
    return found, flags, pairs


def begun_before(x, level):
    found = [-1]
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
        elif found[-1] > 2 and len(found) > 3:
            found.pop()
    found.append(99)
    return found, found[-1], len(x)


def in_two_loops(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    for i in range(0, len(x), 2):
        if x[i] < level:
            found.append(-i)
    return found


def pairs_in_two_loops(x, level):
    found = [(0, 1.5)]
    for i in range(len(x)):
        if x[i] > level:
            found.append((i, float(x[i])))
    for i in range(0, len(x), 2):
        if x[i] < level:
            found.append((-i, 2.5))
    return found


def read_backwards(x, level):
    path = [(0, len(x))]
    i = 0
    while i < len(x):
        i += 2 if x[i] > level else 1
        path.append((i, len(x) - i))
    return np.array(path[::-1]), path


def levels(x, level):
    depth = np.full(len(x), -1)
    depth[0] = 0
    frontier, n = [0], 0
    while frontier:
        n += 1
        found = []
        for k in frontier:
            for other in (k + 1, 2 * k + 1):
                if other < len(x) and depth[other] < 0 and x[other] > level / 2:
                    depth[other] = n
                    found.append(other)
        frontier = found
    return depth, n


def a_queue(x, level):
    seen = np.zeros(len(x), bool)
    order = []
    queue = deque([(0, 1)])
    while queue:
        i, step = queue.popleft()
        if i >= len(x) or seen[i]:
            continue
        seen[i] = True
        order.append(i)
        queue.append((i + step, step))
        if x[i] > level:
            queue.append((i + step + 1, step + 1))
    return seen, order


def a_heap(x, level):
    heap = [(x[0], 0)]
    out = np.zeros(len(x))
    n = 0
    while heap and n < 40:
        value, i = heapq.heappop(heap)
        out[i] += value
        n += 1
        for j in (i + 1, i + 3):
            if j < len(x) and x[j] > level / 4:
                heapq.heappush(heap, (value + x[j], j))
    return out, n


def what_is_left(x, level):
    stack = [3, 1, 4, 1, 5]
    total = 0.0
    for i in range(len(x)):
        if x[i] > level and stack:
            total += stack.pop() * x[i]
        elif x[i] < level / 3:
            stack.append(i)
    return stack, total


def may_stay_empty(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > 1e9 * level:
            found.append(x[i])
    return found, np.array(found)


def exchanged(x, level):
    now, later = [1, 2], [3]
    for i in range(len(x)):
        if x[i] > level:
            now.append(i)
            now, later = later, now
    return now, later


def one_that_is_known_elsewhere(x, level):
    found = []
    box = {"found": found}
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    return found, box


def given_from_outside(x, level, found):
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    return len(x)


def inside_of_another(x, level):
    total = x * 0.0
    for k in range(12):
        stack = [k]
        while stack:
            j = stack.pop()
            if j + 3 < len(x):
                stack.append(j + 3)
                if x[j] > level:
                    stack.append(j + 4)
            total = total + x[j % len(x)]
    return total


def raises(x, level):
    stack = [0]
    for i in range(len(x)):
        if x[i] > level:
            stack.append(i)
        else:
            stack.pop()
    return stack


ONE_EQUATION = [
    places_and_values, of_several_types, begun_before, in_two_loops, pairs_in_two_loops, read_backwards, levels,
    a_queue, a_heap, what_is_left, may_stay_empty,
]  # fmt: skip
OTHERS = [exchanged, one_that_is_known_elsewhere, inside_of_another]


def assert_equal(found: Any, expected: Any) -> None:
    """Also of the types of all numbers."""
    (mine, tree), (its, other) = (optree.tree_flatten(value, none_is_leaf=True) for value in (found, expected))
    assert tree == other
    for a, b in zip(mine, its, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b, strict=True)


def assert_compiled(program: Callable, x: np.ndarray) -> None:
    """That no call, of many, leaves the compiled program, in which loops are equations."""
    compiled = wb.jit(program)
    for _ in range(6):  # a program whose calls end again and again, and run in NumPy, is given up
        assert_equal(compiled(x, 4.0), program(x, 4.0))
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]
    assert loops_of(compiled)


def assert_runs_in_python(program: Callable, xs: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """That its loops give the same as functions of Python, which run where numba does not take them."""
    asked: list[Any] = []
    monkeypatch.setattr("workbench.runtime.loops.compiled_entry", asked.append)
    compiled = wb.jit(program)
    for x in xs:
        assert_equal(compiled(x, 4.0), program(x, 4.0))
    assert asked
    assert not compiled.fallbacks


def inputs(dtype: str = "float64") -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [(rng.random(n) * 9).astype(dtype) for n in (37, 37, 64, 1)]


@pytest.mark.parametrize("program", [*ONE_EQUATION, *OTHERS])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_as_in_numpy(program: Callable, dtype: str) -> None:
    compiled = wb.jit(program)
    for x in inputs(dtype):
        assert_equal(compiled(x, 4.0), program(x.copy(), 4.0))


@pytest.mark.parametrize("program", ONE_EQUATION)
def test_the_whole_program_is_compiled(program: Callable) -> None:
    assert_compiled(program, inputs()[0])


@pytest.mark.parametrize("program", ONE_EQUATION)
def test_without_machine_code(program: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_runs_in_python(program, inputs()[:3], monkeypatch)


def test_more_than_there_was_room_for() -> None:
    def above(x, level):
        found, n = [], 0
        for i in range(len(x)):
            if x[i] > level:
                found.append((i, x[i]))
                n += 1
        return found, n

    compiled = wb.jit(above)
    x = np.random.default_rng(0).random(60_000)
    for level in (0.999, 0.5, 0.0, 0.999):
        for _ in range(2):
            assert_equal(compiled(x, level), above(x, level))
    assert not compiled.fallbacks
    assert all("8192" not in str(aval) for aval in [v.aval for v in loops_of(compiled)[-1].outvars][:2])


def test_a_list_from_outside() -> None:
    compiled = wb.jit(given_from_outside)
    x = inputs()[0]
    mine, its = [7], [7]
    for _ in range(3):
        assert compiled(x, 4.0, mine) == given_from_outside(x, 4.0, its)
        assert mine == its


@pytest.mark.parametrize("first", [0.0, 9.0])
def test_what_raises(first: float) -> None:
    compiled = wb.jit(raises)
    x = np.full(9, first)
    for _ in range(3):
        if first:
            assert_equal(compiled(x, 4.0), raises(x, 4.0))
        else:
            with pytest.raises(IndexError, match="pop from empty list"):
                compiled(x, 4.0)


def test_a_list_to_which_every_iteration_appends_has_a_known_length() -> None:
    def running(x):
        sums, s = [], 0.0
        for i in range(len(x)):
            s += x[i]
            sums.append(s)
        return np.sqrt(np.array(sums)).sum()

    assert_same(running, np.random.default_rng(1).random(50), rtol=1e-12)
    assert not wb.jit(running).fallbacks


def appended_sums(A, found):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j] * A[i, j]
        found.append(s)
    return np.array(found), found


def appended_pairs(A, found):
    for row in A:
        first = -1
        for j in range(len(row)):
            if row[j] > 0.9:
                first = j
                break
        found.append((first, row[first]))
        found.append((len(row), row[0]))
    return found, [b for _, b in found]


def appended_twice(A, found):
    others = []
    for i, row in enumerate(A):
        n, most = 0, 0.0
        for v in row:
            if v > 0.5:
                n += 1
                most = max(most, v)
        found.append(n)
        others.append(i * 0.5)
    return np.asarray(found) * 2, sum(others), found[3], others[-1], found, others


@pytest.mark.parametrize("program", [appended_sums, appended_pairs, appended_twice])
@pytest.mark.parametrize("n", [2, 5, 100])
def test_lists_that_grow_once_a_turn_are_part_of_the_step(program: Callable, n: int) -> None:
    def function(A):  # noqa: N803 (a matrix)
        return program(A, [])

    matrix = np.random.default_rng(n).random((max(n, 4) if program is appended_twice else n, 12))
    compiled = assert_same(function, matrix)
    assert not compiled.fallbacks
    if n > 4:
        assert [eqn.primitive.name for eqn in compiled.compilations[-1].plan.jaxpr.eqns].count("loop") == 1


def test_a_list_of_someone_elses_grows() -> None:
    @wb.jit
    def function(A):  # noqa: N803 (a matrix)
        found = [0.5]
        both = found, found
        for row in A:
            s = 0.0
            for v in row:
                s += v
            found.append(s)
        return both, len(found)

    matrix = np.random.default_rng(1).random((9, 4))
    (first, second), n = function(matrix)
    assert first is second
    assert n == 10
    np.testing.assert_allclose(first, [0.5, *matrix.sum(axis=1)])


STEPS = st.lists(st.sampled_from(["append", "push_pair", "pop", "peek", "extend", "clear"]), min_size=1, max_size=4)


@settings(max_examples=25)
@given(STEPS, st.lists(st.integers(-3, 9), min_size=2, max_size=20), st.lists(st.integers(0, 5), max_size=3))
def test_random_changes(steps: list[str], values: list[int], begin: list[int]) -> None:
    lines = {
        "append": "stack.append(x[i])", "push_pair": "stack.append(x[i] + 1); stack.append(total)",
        "pop": "total += stack.pop() if stack else 0", "peek": "total += stack[-1] if len(stack) > 1 else 1",
        "extend": "stack.extend((x[i], x[i] - 1))", "clear": "stack.clear()",
    }  # fmt: skip
    body = "\n".join(f"        if x[i] % {k + 2} == 0:\n            {lines[s]}" for k, s in enumerate(steps))
    source = f"def f(x):\n    stack = [np.int64(k) for k in {begin}]\n    total = np.int64(0)\n"
    source += f"    for i in range(len(x)):\n{body}\n    return stack, total\n"
    program = define("import numpy as np\n\n" + source, "f", f"<lists {hash(source)}>")
    x = np.array(values)
    compiled = wb.jit(program)
    for _ in range(2):
        assert_equal(compiled(x), program(x))


def over_what_was_found(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    total = 0.0
    for i in found:
        total += x[i] * 2
    return total, found


def at_what_was_found(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > level:
            found.append((i, x[i]))
    out = np.zeros(len(x))
    for k in range(len(found)):
        i, value = found[k]
        out[i] += value * k
    return out, len(found)


def inside_of_a_loop(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in found:
            if i != j:
                out[i] += x[j] / (i - j)
    return out


def between_neighbours(x, level):
    found = []
    for i in range(len(x)):
        if x[i] > level:
            found.append(i)
    n = 0
    while n < len(found) and x[found[n]] < 8:
        n += 1
    widest = -1
    for i, j in zip(found, found[1:], strict=False):
        widest = max(widest, j - i)
    return n, widest


@pytest.mark.parametrize("program", [over_what_was_found, at_what_was_found, inside_of_a_loop, between_neighbours])
def test_loops_over_what_a_loop_has_found(program: Callable) -> None:
    compiled = wb.jit(program)
    for x in inputs():
        for level in (4.0, 8.5, 20.0):
            found, expected = compiled(x, level), program(x, level)
            for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
                np.testing.assert_array_equal(a, b)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]
    assert len(loops_of(compiled)) > 1


def folds(x, level):
    found, places = [], []
    for i in range(len(x)):
        if not x[i] < level:
            found.append(x[i])
            places.append(i)
    return max(found), min(found), sum(found), max(places) - min(places), sum(places) / len(places)


@pytest.mark.parametrize("special", [[], [np.nan], [5.0, np.nan], [np.inf, -np.inf], [-0.0, 0.0], [0.0, -0.0]])
def test_folds_of_what_was_found(special: list[float]) -> None:
    """In the order of Python, which for NaN and signed zeros decides what the largest is."""
    compiled = wb.jit(folds)
    rng = np.random.default_rng(len(special))
    for n in (6, 7, 30):
        for first in (True, False):
            others = -rng.random(n)
            x = np.array([*special, *others] if first else [*others, *special])
            level = 0.0 if special else -0.5
            found, expected = compiled(x, level), folds(x, level)
            assert_equal(found[:2] + found[3:], expected[:2] + expected[3:])
            assert str(found[0]) == str(expected[0]) and str(found[1]) == str(expected[1])
            np.testing.assert_allclose(found[2], expected[2], rtol=1e-12)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]


def test_a_fold_of_nothing() -> None:
    compiled = wb.jit(folds)
    compiled(np.arange(9.0), 4.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="empty|arg is an"):
            compiled(np.arange(9.0), 40.0)
    assert compiled(np.arange(9.0), 4.0)[0] == 8.0


def test_an_argument_that_is_written_is_as_it_was_where_the_room_does_not_suffice() -> None:
    def lowered(x, level):
        found = []
        for i in range(len(x)):
            if x[i] > level:
                found.append(i)
                x[i] = x[i] - 1.0
        return found

    compiled = wb.jit(lowered)
    for n in (100, 20_000, 20_000, 200_000, 100):
        mine = np.random.default_rng(n).random(n) * 9
        its = mine.copy()
        assert compiled(mine, 0.1) == lowered(its, 0.1)
        np.testing.assert_array_equal(mine, its)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]


def replaced(x, n):
    """A list as long after the loop as before, some items of which it replaces."""
    where = list(range(n))
    best = [0.5] * n
    for k in range(len(x)):
        i = int(np.abs(x[k]) * n) % n
        where[i] = k + n
        best[i] = max(best[i], float(x[k]))
    return where, best, x[np.array(where) % len(x)], len(where), sum(best), where[-1], best[::2]


@pytest.mark.parametrize("n", [1, 3, 16, 17, 40, 64])
def test_a_list_whose_items_are_replaced(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(200)
    compiled = assert_same(replaced, x, n)
    assert not compiled.fallbacks and len(loops_of(compiled)) == 1


def test_a_long_list_whose_items_are_replaced() -> None:
    def reached(x, n):
        ways = [0] * (n + 1)
        ways[0] = 1
        for k in range(len(x)):
            step = int(x[k] * 9) + 1
            for total in range(step, n + 1):
                ways[total] += ways[total - step]
        return ways[n], ways

    x = np.random.default_rng(1).random(12)
    compiled = assert_same(reached, x, 300)
    assert not compiled.fallbacks and len(loops_of(compiled)) == 1


def test_a_long_list_that_is_read() -> None:
    def mapped(x, table):
        codes = [7 * k % 31 for k in range(100)]
        out = np.zeros(len(x))
        for k in range(1, len(x)):
            at = int(x[k] * 100)
            out[k] = out[k - 1] * 0.5 + codes[at] - codes[-at - 1]
        return out, codes

    compiled = assert_same(mapped, np.random.default_rng(1).random(50), None)
    assert not compiled.fallbacks


def test_a_place_outside_of_a_list_whose_items_are_replaced() -> None:
    def program(x):
        found = [0.0] * 20
        for k in range(len(x)):
            found[int(x[k])] = float(k)
        return found

    compiled = wb.jit(program)
    assert compiled(np.arange(20.0)) == program(np.arange(20.0))
    with pytest.raises(IndexError):
        compiled(np.arange(21.0))


def test_other_names_of_a_list_whose_items_are_replaced() -> None:
    def program(x):
        found = [0.0] * 20
        same, rows = found, [found]
        for k in range(len(x)):
            found[int(x[k])] = float(k)
        return found, same, rows[0], rows[0] is found, same is found

    assert_same(program, np.arange(20.0))


def test_a_list_in_a_list_that_a_branch_replaces_items_of() -> None:
    def program(x, level):
        found = [0] * 18
        if x[0] > level:
            for k in range(len(x)):
                found[int(x[k]) % 18] = k
        return found

    for level in (-1.0, 1.0):
        assert_same(program, np.arange(20.0), level)


def test_a_function_that_reads_a_list_whose_items_the_loop_replaces() -> None:
    """It reads what the loop has put there, not what the list held while tracing."""

    def program(x):
        seen = [0] * 9

        def last(i):
            return seen[i]

        total = 0.0
        for k in range(len(x)):
            i = int(x[k])
            seen[i] += 2
            total = total * 0.5 + last(i)
        return seen, total

    assert_same(program, np.random.default_rng(1).integers(0, 9, 50).astype(float))


def increasing(x, y):
    tails = []
    for v in x:
        k = bisect.bisect_left(tails, v)
        if k == len(tails):
            tails.append(v)
        else:
            tails[k] = v
    return len(tails), tails


def medians_so_far(x, y):
    known = []
    out = np.empty(len(x))
    for i in range(len(x)):
        bisect.insort(known, x[i])
        out[i] = known[len(known) // 2]
    return out


def inversions(x, y):
    known, n = [], 0
    for v in x:
        k = bisect.bisect_right(known, v, 0, len(known))
        n += len(known) - k
        known.insert(k, v)
    return n


def classes(x, y):
    edges = np.sort(y[:7])
    counts = np.zeros(8)
    for v in x:
        counts[bisect.bisect(edges, v)] += 1
    return counts


def ascents(x, y):
    lengths, current = [], []
    for v in x:
        if current and v < current[-1]:
            lengths.append(len(current))
            current = []
        current.append(v)
    if current:
        lengths.append(len(current))
    return lengths


def means_of_parts(x, y):
    means, current = [], []
    for v in x:
        if v < -0.5 and len(current) > 0:
            means.append(sum(current) / len(current) + max(current) - min(current))
            current = []
        else:
            current.append(v)
    return means, current


def folds_of_parts(x, y):
    total, current = 0.0, []
    for i in range(len(x)):
        current.append(x[i] * 2)
        if len(current) == 3:
            total += np.mean(current) + np.max(current)
            current = []
    return total, current


@pytest.mark.parametrize(
    "program", [increasing, medians_so_far, inversions, classes, ascents, means_of_parts, folds_of_parts]
)
@pytest.mark.parametrize("n", [7, 60])
def test_places_and_folds_of_lists(program: Callable, n: int) -> None:
    rng = np.random.default_rng(n)
    for x in (rng.normal(size=n), np.zeros(n), np.sort(rng.normal(size=n))[::-1].copy()):
        assert not assert_same(program, x, rng.normal(size=9)).fallbacks


@pytest.mark.parametrize("is_python", [True, False])
def test_sums_of_lists_round_as_pythons(is_python: bool) -> None:
    def of_pythons(x):
        sums, current = [], []
        for v in x:
            current.append(float(v))
            if len(current) == 3:
                sums.append(sum(current))
                current = []
        return sums

    def of_numpys(x):
        sums, current = [], []
        for v in x:
            current.append(v)
            if len(current) == 3:
                sums.append(sum(current))
                current = []
        return sums

    x = np.array(
        [1e16, 1.0, -1e16, 0.1, 0.2, 0.3, np.inf, 1.0, 2.0, -0.0, -0.0, -0.0, np.nan, 1.0, 1.0, 1e308, 1e308, -1e308]
    )
    x = np.concatenate([x, np.random.default_rng(1).normal(size=60)])
    function = of_pythons if is_python else of_numpys
    compiled = wb.jit(function)
    with np.errstate(all="ignore"):
        assert list(map(float.hex, compiled(x))) == list(map(float.hex, function(x)))
    assert loops_of(compiled)


def exchanged(x):
    """Lists that may be one another: their elements are Python's to tell."""
    a, b = [], []
    for v in x:
        a.append(v)
        if v > 0.5:
            a, b = b, a
        elif v < -0.5:
            b = []
    return a, b


def test_lists_that_change_their_names() -> None:
    assert_same(exchanged, np.random.default_rng(1).normal(size=30))


def found_root(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


def test_long_lists_that_functions_change() -> None:
    def merged(a, b, n):
        parent = list(range(n))
        size = [1] * n
        count = n
        for i in range(len(a)):
            u, v = found_root(parent, int(a[i])), found_root(parent, int(b[i]))
            if u != v:
                parent[u] = v
                size[v] += size[u]
                count -= 1
        return count, parent, size

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 60, (2, 80))
    compiled = wb.jit(merged)
    for _ in range(2):
        assert compiled(a, b, 60) == merged(a, b, 60)
    assert not compiled.fallbacks


def rooted(a, b, n):
    parent = list(range(n))

    def root(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    count = n
    for i in range(len(a)):
        u, v = root(int(a[i])), root(int(b[i]))
        if u != v:
            parent[u] = v
            count -= 1
    return count, parent, len(parent)


def kept_in_a_function(x):
    stack = [0.5]

    def top(v):
        return stack[-1] + v

    total = 0.0
    for v in x:
        total += top(v)
        if v > 0:
            stack.append(float(v))
        elif len(stack) > 1:
            stack.pop()
    return total, stack


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_lists_that_functions_see_in_their_closures(device: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 60, (2, 80))
    x = rng.normal(size=50)
    for function, inputs in ((rooted, (a, b, 60)), (rooted, (a % 9, b % 9, 9)), (kept_in_a_function, (x,))):
        compiled = wb.jit(function, device=device)
        for _ in range(2):
            assert compiled(*inputs) == function(*inputs)
        assert not compiled.fallbacks
        assert loops_of(compiled)


def test_a_list_of_a_closure_that_is_known_under_another_name() -> None:
    def shared(x):
        kept = [1, 2, 3]
        other = kept

        def third():
            return kept[2]

        total = 0
        for v in x:
            kept[2] = int(v)
            total += third() + other[2]
        return total, kept, other is kept

    x = np.arange(9)
    assert wb.jit(shared)(x) == shared(x)


def boosted_stumps(X, y, rounds):
    n, d = X.shape
    w = np.full(n, 1 / n)
    model = []
    for _ in range(rounds):
        best = (np.inf, 0, 0.0, 1)
        for j in range(d):
            for level in np.unique(X[:, j]):
                for sign in (1, -1):
                    guess = np.where(sign * (X[:, j] - level) > 0, 1, -1)
                    error = w[guess != y].sum()
                    if error < best[0]:
                        best = (error, j, level, sign)
        error, j, level, sign = best
        a = 0.5 * np.log((1 - error) / max(error, 1e-10))
        w *= np.exp(-a * y * np.where(sign * (X[:, j] - level) > 0, 1, -1))
        w /= w.sum()
        model.append((a, j, level, sign))
    return model


def test_a_list_of_known_length_may_hold_floats_of_python_and_numpy() -> None:
    """`level` is 0.0, a float of Python's, until a stump is better than none."""
    rng = np.random.default_rng(0)
    X, y = np.round(rng.standard_normal((40, 3)), 1), np.sign(rng.standard_normal(40))
    compiled = wb.jit(boosted_stumps)
    for rounds in (4, 7):
        found, expected = compiled(X, y, rounds), boosted_stumps(X, y, rounds)
        assert [len(each) for each in found] == [4] * rounds
        np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=1e-9)
        assert [each[1::2] for each in found] == [each[1::2] for each in expected]
    assert not compiled.fallbacks
    assert loops_of(compiled)


def in_order_of_edges(adjacent):
    n = len(adjacent)
    waits = adjacent.sum(0)
    order = []
    ready = [i for i in range(n) if waits[i] == 0]
    while ready:
        u = ready.pop()
        order.append(u)
        for v in range(n):
            if adjacent[u, v]:
                waits[v] -= 1
                if waits[v] == 0:
                    ready.append(v)
    return order


def in_order_by_loops(adjacent):
    """The list that one loop leaves is changed by the next one."""
    waits = adjacent.sum(0)
    ready, order = [], []
    for i in range(len(adjacent)):
        if waits[i] == 0:
            ready.append(i)
    while len(ready) > 0:
        u = ready.pop()
        order.append(u)
        for v in range(len(adjacent)):
            if adjacent[u, v]:
                waits[v] -= 1
                if waits[v] == 0:
                    ready.append(v)
    return order, ready


def longest_rise(x):
    """Long lists whose items a loop changes are looked at as arrays of a known length."""
    n = len(x)
    lengths, before = [1] * n, [-1] * n
    for i in range(n):
        for j in range(i):
            if x[j] < x[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1
                before[i] = j
    k = int(np.argmax(lengths))
    path = []
    while k != -1:
        path.append(k)
        k = before[k]
    return path[::-1], max(lengths), np.array(lengths)[:3], len(before), np.sum(before)


def two_names(x):
    """Not one that another name knows, too."""
    kept = [v for v in x if v > 0]
    same = kept
    total = 0.0
    while kept:
        total += kept.pop() * 0.5
    return total, len(same)


@pytest.mark.parametrize("function", [in_order_of_edges, in_order_by_loops])
@pytest.mark.parametrize("n", [20, 30])
def test_a_list_of_one_loop_is_changed_by_the_next(function: Any, n: int) -> None:
    adjacent = np.triu(np.random.default_rng(n).random((n, n)) < 0.15, 1).astype(int)
    compiled = wb.jit(function)
    for _ in range(2):
        assert_same(compiled(adjacent), function(adjacent))
    assert not compiled.fallbacks
    assert len(loops_of(compiled)) == 2


@pytest.mark.parametrize("n", [70, 100, 9])
def test_long_lists_of_known_length_are_arrays(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n)
    compiled = wb.jit(longest_rise)
    for _ in range(2):
        assert_same(compiled(x), longest_rise(x))
    assert not compiled.fallbacks


def test_a_list_under_two_names_stays_one() -> None:
    x = np.random.default_rng(3).standard_normal(12)
    assert_same(wb.jit(two_names)(x), two_names(x))


def greatest(x, k):
    best = []
    for i, v in enumerate(x):
        if len(best) < k:
            best.append((v, i))
            best.sort()
        elif v > best[0][0]:
            best[0] = (v, i)
            best.sort()
    return best


def medians_so_far(x):
    seen, out = [], np.zeros(len(x))
    for i in range(len(x)):
        seen.append(x[i])
        seen.sort()
        out[i] = seen[len(seen) // 2]
    return out, seen


@given(st.lists(st.integers(-3, 3), min_size=6, max_size=12))
@settings(max_examples=30)
def test_lists_are_sorted_in_place(values: list[int]) -> None:
    x = np.array(values)
    for compiled, function, more in ((GREATEST, greatest, (3,)), (MEDIANS, medians_so_far, ())):
        assert_same(compiled(x, *more), function(x, *more))
        assert_same(compiled(x * 0.5, *more), function(x * 0.5, *more))
        assert not compiled.fallbacks


def test_a_list_with_nan_is_sorted_by_python() -> None:
    x = np.array([3.0, np.nan, 1.0, 2.0, np.nan, 0.0, 5.0])
    assert_same(MEDIANS(x), medians_so_far(x))


GREATEST, MEDIANS = wb.jit(greatest, static_argnames="k"), wb.jit(medians_so_far)


def words(codes):
    found, word, n = [], 0, 0
    for code in codes:
        if code == 32:
            if n:
                found.append((word, n))
            word, n = 0, 0
        else:
            word = (word * 31 + code) % 1000003
            n += 1
    if n:
        found.append((word, n))
    return found


def test_a_list_may_hold_integers_that_started_as_pythons() -> None:
    rng = np.random.default_rng(1)
    compiled = wb.jit(words)
    for _ in range(3):
        codes = rng.choice([32, 97, 98, 99], 60)
        assert_same(compiled(codes), words(codes))
    assert not compiled.fallbacks


def maxima_sorted_down(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            found.append((x[i], -(i % 3)))
    found.sort(reverse=True)
    return found


def maxima_sorted_by(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            found.append(x[i])
    found.sort(key=lambda v: -v)
    return found


@given(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.0]), min_size=8, max_size=14))
@settings(max_examples=30)
def test_lists_that_a_loop_made_are_sorted_down(values: list[float]) -> None:
    x = np.array(values)
    assert_same(DOWN(x), maxima_sorted_down(x))
    assert not DOWN.fallbacks


DOWN = wb.jit(maxima_sorted_down)


def test_a_key_to_sort_by_is_left_to_python() -> None:
    x = np.sin(np.arange(30.0) ** 2)
    compiled = wb.jit(maxima_sorted_by)
    for _ in range(2):
        assert_same(compiled(x), maxima_sorted_by(x))
    assert [reason.code for reason in compiled.fallbacks] == ["WB110"]
