"""Subscripts of loops without checks: only where they lie inside, for any sizes; what raises in NumPy raises."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.loops.ranges import without_checks
from workbench.frontend.loops.types import Array, Number, weak_int

from .test_loops import assert_same, outcome, steps

# ---- the text: random loops, run in Python with elements that are looked after ----

ARRAYS = {"a": 1, "b": 1, "t": 2}
I64 = np.dtype(np.int64)


class _Writer:
    """A random loop nest over elements, as the translator writes them."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.names: list[str] = []
        self.n = 0
        self.loops = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def number(self) -> str:
        held = f"b[{self.pick('0', '1', 'n', *self.names)}]"
        base = self.pick("n", "m", "a.shape[0]", "b.shape[0]", "t.shape[0]", "t.shape[1]", held, *self.names * 3)
        return self.pick(base, base, f"({base} + {self.pick(1, 2)})", f"({base} - {self.pick(1, 2, 3)})", "0", "1",
                         f"({base} // {self.pick(2, 3)})", f"({base} % {self.pick('3', 'n', 't.shape[0]')})",
                         f"larger({base}, {self.pick('0', '1', 'm')})", f"smaller({base}, {self.pick('n', 'm')})",
                         f"(2 * {base})", f"checked_add({base}, {self.pick('1', 'm')})",
                         f"({base} - {self.pick('n', 'm', *self.names)})")  # fmt: skip

    def element(self, *names: str) -> str:
        name = self.pick(*(names or ARRAYS))
        return f"{name}[{', '.join(self.number() for _ in range(ARRAYS[name]))}]"

    def test(self, more: int = 2) -> str:
        one = f"({self.number()} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.number()})"
        other = self.test(more - 1) if more else one
        return self.pick(one, one, f"({one} and {other})", f"(not {other})", f"({one} or {other})")

    def block(self, depth: int, indent: str) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, indent)]

    def inside(self, depth: int, indent: str) -> list[str]:
        names = list(self.names)
        lines = self.block(depth, indent + "    ")
        self.names = names
        return lines

    def statement(self, depth: int, indent: str) -> list[str]:
        kind = self.pick(
            "store",
            "store",
            "set",
            "count",
            *["again"] * (2 * bool(self.loops)),
            *(["for", "for", "for", "while", "if"] * (depth > 0)),
        )
        self.n += 1
        if kind == "store":
            return [f"{indent}{self.element('a', 't')} = ({self.element()} + 1)"]
        if kind in ("set", "count", "again") and (kind == "set" or not self.names):
            text = f"{indent}x{self.n} = {self.number()}"
            self.names.append(f"x{self.n}")
            return [text]
        if kind == "count":
            name = self.pick(*self.names)
            return [f"{indent}{name} = checked_{self.pick('add', 'sub')}({name}, {self.pick(1, 2)})"]
        if kind == "again":
            name, other = self.pick(*self.names), self.pick(*self.names, "n", "1")
            size = self.pick("n", "a.shape[0]", "3", "t.shape[1]")
            new = self.pick(f"({name} + {other}) % {size}", f"({name} + {other}) // 2", f"checked_sub({name}, {other})",
                            f"smaller((2 * {name}) + 1, 40)", f"smaller({name} + 1, {size})", other,
                            f"larger(smaller({self.number()}, 40), -40)")  # fmt: skip
            lines = [f"{indent}{name} = {new}"]
            guard = self.pick(f"{name} < 0", f"{name} >= {size}", f"{name} > {other}", "")
            return (
                [*lines, f"{indent}if ({guard}):", f"{indent}    {name} = {self.pick('0', other, size)}"]
                if guard
                else lines
            )
        if kind == "if":
            lines = [f"{indent}if {self.test()}:", *self.inside(depth - 1, indent)]
            if self.pick(True, False):
                lines += [f"{indent}else:", *self.inside(depth - 1, indent)]
            elif self.pick(True, False) and self.loops:
                lines += [f"{indent}    {self.pick('continue', 'break')}"]
            return lines
        name = f"x{self.n}"
        if kind == "while":
            start, step = self.number(), self.pick("add", "sub")
            self.names.append(name)
            limit = self.pick("n", "m", "0", "1", "3")
            test = f"{name} < {limit}" if step == "add" else f"{name} > {limit}"
            lines = [f"{indent}{name} = {start}", f"{indent}while (({test}) and (turns() < 500)):"]
            self.loops += 1
            lines += self.inside(depth - 1, indent)
            self.loops -= 1
            return [*lines, f"{indent}    {name} = checked_{step}({name}, 1)"]
        spans = [self.number()], [self.number(), self.number()], [self.number(), self.number(), self.pick("2", "-1")]
        head = f"{indent}for t{self.n}_ in range({', '.join(self.pick(*spans))}):"
        first = f"{indent}    {name} = t{self.n}_"
        self.names.append(name)
        self.loops += 1
        lines = self.inside(depth - 1, indent)
        self.loops -= 1
        self.names.remove(name)  # a loop may have no iteration
        return [head, first, *lines]


def _scope(n_turns: int = 0) -> dict[str, Any]:
    count = [n_turns]

    def turns() -> int:
        count[0] += 1
        if count[0] > 4000:
            raise TimeoutError
        return count[0]

    def looked_at(axes: int) -> tuple[Any, Any]:
        def at(array: np.ndarray, *index: int) -> Any:
            assert len(index) == axes and all(0 <= i < n for i, n in zip(index, array.shape, strict=True))
            return array[index]

        def put(array: np.ndarray, *index_and_value: Any) -> None:
            *index, value = index_and_value
            at(array, *index)
            array[tuple(index)] = value

        return at, put

    def wrapped(i: int, n: int) -> int:
        if not -n <= i < n:
            raise IndexError
        return i % n

    scope: dict[str, Any] = {"np": np, "turns": turns, "wrapped": wrapped, "larger": max, "smaller": min}
    scope |= {"least_of": lambda x: x.min(initial=9), "most_of": lambda x: x.max(initial=-9)}
    scope["ends_of"] = lambda x: (x.min(initial=9), x.max(initial=-9))
    scope |= {"turned": lambda i, n: i + n if i < 0 else i}
    scope |= {"checked_add": lambda a, b: a + b, "checked_sub": lambda a, b: a - b}
    for axes in (1, 2):
        scope[f"at_{axes}"], scope[f"put_{axes}"] = looked_at(axes)
    return scope


def _run(text: str, n: int, m: int, shapes: tuple) -> tuple[Any, dict[str, np.ndarray]]:
    arrays = {k: np.arange(np.prod(s, dtype=int)).reshape(s) for k, s in zip(ARRAYS, shapes, strict=True)}
    arrays["b"] -= n % 3
    scope = _scope()
    exec(text, scope)
    try:
        with np.errstate(all="ignore"):
            return scope["loop"](n, m, **arrays), arrays
    except (IndexError, ZeroDivisionError, LookupError, TimeoutError) as error:
        return type(error), arrays


def unchecked_agrees(seed: int) -> bool:
    """Whether the text without checks did something without refusing these sizes."""
    writer = _Writer(seed)
    body = writer.block(3, "    ")
    text = "\n".join([f"def loop(n, m, {', '.join(ARRAYS)}):", *body, "    return None\n"])
    number = weak_int(-(2**40), 2**40)
    known: dict[str, Any] = {"n": number, "m": Number(I64)}
    known |= {name: Array(I64, (None,) * axes, frozenset((name,))) for name, axes in ARRAYS.items()}
    found = without_checks(text, known, lambda kind: "b" not in kind.origins)
    ran = False
    for _ in range(6):
        n, m = (writer.random.randint(-1, 6) for _ in range(2))
        shapes = tuple(tuple(writer.random.randint(0, 7) for _ in range(axes)) for axes in ARRAYS.values())
        expected, before = _run(text, n, m, shapes)
        actual, after = _run(found.text, n, m, shapes)
        if actual is LookupError:
            fresh = _run("def loop(n, m, a, b, t): pass", n, m, shapes)[1]
            assert all(np.array_equal(fresh[k], after[k]) for k in ARRAYS)
            continue
        ran = True
        both_raise = {actual, expected} == {IndexError, ZeroDivisionError}  # indices are computed before what is stored
        assert actual == expected or both_raise, text
        assert not found.quiet or actual in (None, TimeoutError, ZeroDivisionError)
        assert all(np.array_equal(before[k], after[k]) for k in ARRAYS), text
    return ran


def test_what_is_not_checked_lies_inside() -> None:
    assert sum(unchecked_agrees(seed) for seed in range(300)) > 60


# ---- the loops as people write them: beside NumPy, at the edges ----


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(n):
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            d[i + 1, j + 1] = min(d[i, j + 1] + 1, d[i + 1, j] + 1, d[i, j] + cost)
    return d[-1, -1]


def longest_common_subsequence(a, b):
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            if a[i] == b[j]:
                table[i, j] = table[i + 1, j + 1] + 1
            else:
                table[i, j] = max(table[i + 1, j], table[i, j + 1])
    picked = np.zeros(min(n, m), dtype=np.int64)
    i = j = k = 0
    while i < n and j < m:
        if a[i] == b[j]:
            picked[k] = i
            i, j, k = i + 1, j + 1, k + 1
        elif table[i + 1, j] >= table[i, j + 1]:
            i += 1
        else:
            j += 1
    return table, picked, k


def affine_gaps(a, b):
    n, m = len(a), len(b)
    best = np.full((n + 1, m + 1), -1e9)
    gap_a = np.full((n + 1, m + 1), -1e9)
    gap_b = np.full((n + 1, m + 1), -1e9)
    best[0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            if i > 0:
                gap_a[i, j] = max(best[i - 1, j] - 3.0, gap_a[i - 1, j] - 0.5)
            if j > 0:
                gap_b[i, j] = max(best[i, j - 1] - 3.0, gap_b[i, j - 1] - 0.5)
            if i and j:
                best[i, j] = best[i - 1, j - 1] + (2.0 if a[i - 1] == b[j - 1] else -1.0)
            best[i, j] = max(best[i, j], gap_a[i, j], gap_b[i, j])
    return best


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for k in range(len(weights)):
        for c in range(capacity, weights[k] - 1, -1):
            best[c] = max(best[c], best[c - weights[k]] + values[k])
    return best


def most_likely_states(log_start, log_step, log_seen, seen):
    n, k = len(seen), len(log_start)
    score = np.zeros((n, k))
    back = np.zeros((n, k), dtype=np.int64)
    for s in range(k):
        score[0, s] = log_start[s] + log_seen[s, seen[0]]
    for t in range(1, n):
        for s in range(k):
            top = score[t - 1, 0] + log_step[0, s]
            for r in range(1, k):
                if score[t - 1, r] + log_step[r, s] > top:
                    top = score[t - 1, r] + log_step[r, s]
                    back[t, s] = r
            score[t, s] = top + log_seen[s, seen[t]]
    path = np.zeros(n, dtype=np.int64)
    for t in range(n - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return score, path


def back_substitution(u, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = b[i]
        for j in range(i + 1, n):
            x[i] -= u[i, j] * x[j]
        x[i] /= u[i, i]
    return x


def seidel(a, steps):
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def periodic_smoothing(a, out):
    n = len(a)
    for i in range(n):
        out[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[(i + 1) % n]


def letters(R):
    return R.integers(0, 4, 14).astype(np.int8), R.integers(0, 4, 11).astype(np.int8)


R = np.random.default_rng(1)
LOOPS = [
    (edit_distance, letters(R)),
    (longest_common_subsequence, letters(R)),
    (affine_gaps, letters(R)),
    (knapsack, (np.array([3, 4, 2]), np.array([5, 6, 3]), 9)),
    (back_substitution, (np.triu(R.random((6, 6))) + np.eye(6), R.random(6))),
    (seidel, (R.random((7, 6)), 3)),
    (periodic_smoothing, (R.random(9), np.zeros(9))),
    (most_likely_states, (R.random(3), R.random((3, 3)), R.random((3, 4)), R.integers(0, 4, 8))),
]


@pytest.mark.parametrize(("loop", "arguments"), LOOPS, ids=lambda x: x.__name__ if callable(x) else "")
def test_loops_over_elements_do_what_numpy_does(loop: Any, arguments: tuple) -> None:
    compiled = assert_same(loop, *arguments)
    assert "loop" in steps(compiled)
    sources = [s.eqn.params["program"].source for s in compiled.compilations[0].plan.all_steps if _is_loop(s)]
    assert any("at_" in text for text in sources)


def _is_loop(step: Any) -> bool:
    return hasattr(step, "eqn") and step.eqn.primitive.name == "loop"


def shifted(a, b, n, k):
    for i in range(n):
        a[i] = b[i + k] + a[i]


def counted_down(a, i):
    total = 0.0
    while i >= 0:
        total += a[i]
        a[i] = total
        i -= 1
    return total


def flat_histogram(img, counts):
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            counts[img[i, j]] += 1


@pytest.mark.parametrize(("n", "k"), [(5, 0), (5, 2), (4, -1), (5, -3), (6, 0), (5, 3), (0, 9), (7, -9), (-2, 5)])
def test_indices_that_leave_the_array_wrap_or_raise_as_in_numpy(n: int, k: int) -> None:
    compiled = assert_same(shifted, np.arange(5.0), np.arange(7.0), n, k)
    for more in ((5, 2), (5, 3), (n, k)):  # the same function, with other numbers
        expected, found = (outcome(f, (np.arange(5.0), np.arange(7.0), *more)) for f in (shifted, compiled))
        assert expected[0] == found[0]
        np.testing.assert_array_equal(expected[1][0], found[1][0])


@pytest.mark.parametrize("i", [-1, 0, 4, 5, -6])
def test_a_variable_that_counts_down_may_begin_outside(i: int) -> None:
    assert_same(counted_down, np.arange(5.0), i)


@pytest.mark.parametrize("n_counts", [256, 255, 10, 0])
@pytest.mark.parametrize("shape", [(4, 6), (0, 3), (3, 0)])
def test_small_integers_are_indices_of_a_table_that_is_long_enough(n_counts: int, shape: tuple[int, int]) -> None:
    image = np.random.default_rng(2).integers(0, 256, shape).astype(np.uint8)
    assert_same(flat_histogram, image, np.zeros(n_counts, np.int64))


def test_a_loop_whose_indices_are_only_checked_one_by_one_still_runs_compiled() -> None:
    """Conditions that do not hold are no error: the loop runs with a check of each index."""

    def middle(a, first, n):
        total = 0.0
        for i in range(first, n):
            if i * i >= 1 and i > first:
                total += a[i - 1]
        return total

    compiled = assert_same(middle, np.arange(4.0), -3, 4)
    assert not compiled.fallbacks


def test_empty_arrays_and_loops_without_iterations() -> None:
    empty = np.zeros(0, np.int8)
    assert_same(edit_distance, empty, np.ones(3, np.int8))
    assert_same(longest_common_subsequence, empty, empty)
    assert_same(seidel, np.zeros((2, 1)), 3)
    assert_same(periodic_smoothing, np.zeros(0), np.zeros(0))
    assert_same(periodic_smoothing, np.arange(3.0), np.zeros(2))


def test_counters_keep_to_python_integers() -> None:
    def count(a, start):
        n = start
        for i in range(len(a)):
            if a[i] > 0:
                n += 1
        return n

    for start in (0, 5, 2**62, 2**63 - 2, -(2**63)):
        assert wb.jit(count)(np.ones(4), start) == start + 4


def carried_over(a, b, n):
    for i in range(n):
        b[i] = 2.0 * a[i] + b[i - 1]
    for i in range(n):
        a[i] -= b[i]


@pytest.mark.parametrize("n", [0, 5, 6, 7])
def test_loops_write_into_arguments_as_numpy_does_when_they_share_memory_or_raise(n: int) -> None:
    def made(kind: str) -> tuple[np.ndarray, np.ndarray]:
        memory = np.arange(20.0)
        return {
            "apart": (memory[:6], memory[10:16]),
            "same": (memory[:6], memory[:6]),
            "overlapping": (memory[:6], memory[2:8]),
            "strided": (memory[:12:2], memory[19:13:-1]),
        }[kind]

    compiled = wb.jit(carried_over)
    for kind in ("apart", "same", "overlapping", "strided", "apart"):
        results = []
        for f in (carried_over, compiled):
            a, b = made(kind)
            try:
                f(a, b, n)
                raised = None
            except IndexError as error:
                raised = str(error)
            results.append((raised, a, b))
        assert results[0][0] == results[1][0]
        for x, y in zip(results[0][1:], results[1][1:], strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_loop_that_cannot_raise_writes_where_its_argument_lies() -> None:
    a = np.random.default_rng(0).random((40, 30))
    compiled = wb.jit(seidel)
    compiled(a, 2)
    (loop,) = [s for s in compiled.compilations[0].plan.all_steps if _is_loop(s)]
    assert loop.eqn.params["program"].quiet
    placement = compiled.compilations[0].executable.kernels
    assert placement.written and placement.takes


def sparse_product(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


def chained(a, order, pairs):
    for k in range(len(order)):
        a[order[k]] = a[order[k] - 1] + k
    for k in range(len(pairs)):
        i, j = pairs[k]
        a[i], a[j] = a[j], a[i]
    k = 0
    k, j = pairs[k]
    return a[k] + j


def renumbered(order, n):
    for k in range(n):
        order[k] = order[order[k]]


def test_indices_that_arrays_hold() -> None:
    indptr, indices = np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3])
    compiled = assert_same(sparse_product, indptr, indices, np.arange(5.0), np.arange(4.0))
    (loop,) = [s for s in compiled.compilations[0].plan.all_steps if _is_loop(s)]
    assert loop.eqn.params["program"].quiet
    for change in (np.array([0, 3, 1, 2, 4]), np.array([0, -4, -1, 2, 3]), np.array([0, -5, 1, 2, 3])):
        assert_same(sparse_product, indptr, change, np.arange(5.0), np.arange(4.0))
    assert_same(sparse_product, np.array([0, 2, 9]), indices, np.arange(5.0), np.arange(4.0))
    assert_same(sparse_product, np.zeros(1, np.int64), indices[:0], np.zeros(0), np.zeros(0))
    pairs = np.array([[0, 4], [3, 2], [1, 1]])
    for order in ([0, 1, 4], [-1, -5, 2], [5, 0], [-6, 0], []):
        assert_same(chained, np.arange(5.0), np.array(order, np.int64), pairs)
    for wrong in (np.array([[0, 5]]), np.array([[0, -1, 2]]), np.array([[0], [1]]), np.zeros((0, 2), np.int64)):
        assert_same(chained, np.arange(5.0), np.array([1]), wrong)
    assert_same(renumbered, np.array([3, 0, 1, 2]), 4)
    assert_same(renumbered, np.array([3, 0, 9, 2]), 4)
    memory = np.array([1, 2, 0, 3, 1])
    expected, found = memory.copy(), memory.copy()
    chained(expected, expected[1:4], pairs[:, ::-1])  # the indices change while they are read
    wb.jit(chained)(found, found[1:4], pairs[:, ::-1])
    np.testing.assert_array_equal(found, expected)


# ---- masks ----


def hashed(keys, slots):
    for key in keys:
        k = (key * np.uint32(2654435761)) & np.uint32(63)
        slots[k] += 1
    return slots


def masked_by_ints(keys, slots):
    total = 0
    for i in range(keys.shape[0]):
        total += slots[(keys[i] ^ i) & 63] + slots[63 & keys[i]]
    return total


@pytest.mark.parametrize("n_slots", [64, 100, 63, 7])
@pytest.mark.parametrize(("function", "dtype"), [(hashed, "u4"), (masked_by_ints, "i8"), (masked_by_ints, "i2")])
def test_masked_indices(function, dtype, n_slots):
    """They lie inside, or the loop runs with checks and raises what NumPy raises."""
    keys = np.random.default_rng(5).integers(0, 30_000, 300).astype(dtype)
    if dtype != "u4":
        keys[::2] *= -1
    compiled = assert_same(function, keys, np.arange(n_slots))
    if n_slots >= 64:
        assert not compiled.fallbacks
        texts = [eqn.params["program"].source for c in compiled.compilations for eqn in c.plan.jaxpr.eqns
                 if eqn.primitive.name == "loop"]  # fmt: skip
        assert texts and all("at_1(slots" in text for text in texts)


BELOW_THE_COUNTER = """def loop(n, m, a, b, t):
    x = 0
    for t1_ in range(n - 1, -1, -1):
        i = t1_
        a[x] = 1
        if x < i:
            x = checked_add(x, 2)
    return x
"""
BELOW_ANOTHER = """def loop(n, m, a, b, t):
    x = 0
    y = n
    for t1_ in range(0, n):
        a[x] = 1
        if x < y:
            x = checked_add(x, 3)
        y = checked_sub(y, 2)
    return x
"""
AROUND_A_RING = """def loop(n, m, a, b, t):
    x = m
    for t1_ in range(0, 9):
        a[x] = (a[x] + 1)
        x = (x + 2) % n
    return x
"""
BACK_BY_A_GAP = """def loop(n, m, a, b, t):
    x = (a.shape[0] - 1)
    while x >= n and a[x - n] >= 0:
        a[x] = a[x - n]
        x = checked_sub(x, n)
        if x == m:
            break
    a[x] = 7
    return x
"""


@pytest.mark.parametrize("text", [BELOW_THE_COUNTER, BELOW_ANOTHER, AROUND_A_RING, BACK_BY_A_GAP])
def test_what_a_turn_sets_anew_is_bounded_by_what_stays(text: str) -> None:
    number = weak_int(-(2**40), 2**40)
    known: dict[str, Any] = {"n": weak_int(1, 2**40), "m": number}
    known |= {name: Array(I64, (None,) * axes, frozenset((name,))) for name, axes in ARRAYS.items()}
    found = without_checks(text, known, lambda kind: True)
    assert ("a[" not in found.text) == (text in (AROUND_A_RING, BACK_BY_A_GAP))
    for n in range(1, 7):
        for m in range(-2, 7):
            for size in range(7):
                shapes = ((size,), (2,), (1, 1))
                expected, before = _run(text, n, m, shapes)
                actual, after = _run(found.text, n, m, shapes)
                if actual is not LookupError:
                    assert actual == expected and np.array_equal(before["a"], after["a"])
