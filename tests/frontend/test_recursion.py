"""Functions that call themselves, in loops: NumPy's results, by compiled loops."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

from .test_loops import loops_of

RNG = np.random.default_rng(0)


def fibonacci(n: Any) -> Any:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def of_numbers(x):
    total = 0
    for v in x:
        total += fibonacci(int(v))
    return total


def divisor(a: Any, b: Any) -> Any:
    return a if b == 0 else divisor(b, a % b)


def of_neighbours(x):
    out = np.zeros(len(x) - 1, dtype=int)
    for i in range(len(x) - 1):
        out[i] = divisor(x[i], x[i + 1])
    return out


def power(x: Any, n: Any) -> Any:
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * (x if n % 2 else 1.0)


def of_elements(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = power(x[i], i % 20)
    return out


def sort(a: Any, low: Any, high: Any) -> None:
    if low < high:
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        sort(a, low, i - 1)
        sort(a, i + 1, high)


def of_rows(m):
    for k in range(len(m)):
        sort(m[k], 0, m.shape[1] - 1)
    return m


def root(parent: Any, x: Any) -> Any:
    if parent[x] != x:
        parent[x] = root(parent, parent[x])
    return parent[x]


def of_edges(a, b, n):
    parent = np.arange(n)
    count = n
    for i in range(len(a)):
        u, v = root(parent, a[i]), root(parent, b[i])
        if u != v:
            parent[u] = v
            count -= 1
    return count


def flooded(g: Any, i: Any, j: Any, k: Any) -> Any:
    if i < 0 or j < 0 or i >= g.shape[0] or j >= g.shape[1] or g[i, j] != 1:
        return 0
    g[i, j] = k
    return 1 + flooded(g, i + 1, j, k) + flooded(g, i - 1, j, k) + flooded(g, i, j + 1, k) + flooded(g, i, j - 1, k)


def of_a_grid(g):
    k, largest = 2, 0
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            if g[i, j] == 1:
                largest = max(largest, flooded(g, i, j, k))
                k += 1
    return k - 2, largest, g


def integral(a: Any, b: Any, whole: Any, depth: Any) -> Any:
    m = (a + b) / 2
    left, right = (m - a) * np.exp(-(((a + m) / 2) ** 2)), (b - m) * np.exp(-(((m + b) / 2) ** 2))
    if depth <= 0 or abs(left + right - whole) < 1e-5:
        return left + right
    return integral(a, m, left, depth - 1) + integral(m, b, right, depth - 1)


def of_ends(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = integral(0.0, x[i], x[i] * np.exp(-((x[i] / 2) ** 2)), 12)
    return out


def placed(row: Any, n: Any, columns: Any, up: Any, down: Any) -> Any:
    if row == n:
        return 1
    count = 0
    for c in range(n):
        if not (columns[c] or up[row + c] or down[row - c + n]):
            columns[c] = up[row + c] = down[row - c + n] = True
            count += placed(row + 1, n, columns, up, down)
            columns[c] = up[row + c] = down[row - c + n] = False
    return count


def of_three_sizes(sizes):
    out = np.zeros(len(sizes), dtype=int)
    for k in range(len(sizes)):
        columns, up, down = np.zeros(12, dtype=bool), np.zeros(24, dtype=bool), np.zeros(24, dtype=bool)
        out[k] = placed(0, int(sizes[k]), columns, up, down)
    return out


SCALE = np.array([1.0, 0.5, 0.25])


def scaled(x: Any, depth: Any) -> Any:
    """It reads an array outside, which its callers hand on, and is called for two kinds of numbers."""
    return x if depth == 0 else scaled(x * SCALE[depth % 3], depth - 1) + SCALE[0]


def of_two_kinds(x):
    total = scaled(2.0, 3)
    for v in x:
        total += scaled(v, 4) + scaled(1.5, 2)
    return total


PROGRAMS = [
    (of_numbers, (RNG.integers(5, 12, 40),)), (of_neighbours, (RNG.integers(1, 1000, 60),)), (of_elements, (RNG.random(60),)),
    (of_rows, (RNG.random((8, 20)),)), (of_edges, (RNG.integers(0, 40, 60), RNG.integers(0, 40, 60), 40)),
    (of_a_grid, ((RNG.random((12, 12)) < 0.5).astype(int),)), (of_ends, (2 * RNG.random(12),)),
    (of_three_sizes, (np.array([4, 5, 6]),)), (of_two_kinds, (RNG.random(20),)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_loop_that_calls_it_is_one_step(function: Any, arguments: tuple) -> None:
    def copies() -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]

    compiled = wb.jit(function)
    for _ in range(2):
        assert_same(compiled(*copies()), function(*copies()))
    assert not compiled.fallbacks
    assert loops_of(compiled)


def depth(n: Any) -> Any:
    return 0 if n <= 0 else 1 + depth(n - 1)


def endless(n: Any) -> Any:
    return endless(n + 1) + 1 if n >= 0 else 0


def test_recursion_that_is_too_deep_is_pythons() -> None:
    def depths(x):
        total = 0
        for v in x:
            total += depth(int(v))
        return total

    def ends(x):
        total = 0
        for v in x:
            total += endless(int(v))
        return total

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        x = np.array([5, 900, 5000, 3])
        assert wb.jit(depths)(x) == depths(x)
    finally:
        sys.setrecursionlimit(limit)
    compiled = wb.jit(ends)
    assert compiled(np.array([-1, -2, -3])) == 0
    with pytest.raises(RecursionError):
        compiled(np.array([-1, 0, -3]))
    assert compiled(np.array([-1, -2, -3])) == 0


def is_even(n: Any) -> Any:
    return True if n == 0 else is_odd(n - 1)


def is_odd(n: Any) -> Any:
    return False if n == 0 else is_even(n - 1)


def sliced(x: Any) -> Any:
    return x[0] if len(x) == 1 else sliced(x[: len(x) // 2]) + sliced(x[len(x) // 2 :])


def first_of(n: Any) -> Any:
    if n > 5:
        return None
    return n if n % 2 else first_of(n + 3)


def test_other_recursion_is_left_as_it_is() -> None:
    """By way of another function, over parts of an array, with None."""

    def evens(x):
        n = 0
        for v in x:
            if is_even(int(v)):
                n += 1
        return n

    def sums(m):
        total = 0.0
        for row in m:
            total += sliced(row)
        return total

    def firsts(x):
        n = 0
        for v in x:
            found = first_of(int(v))
            n += 0 if found is None else found
        return n

    x = np.arange(12)
    for function, given in ((evens, x), (sums, RNG.random((5, 6))), (firsts, x)):
        assert_same(wb.jit(function)(given), function(given))


def test_another_process_takes_it_from_the_disk() -> None:
    code = (
        "import numpy as np, workbench as wb\n"
        "from tests.frontend.test_recursion import of_numbers, of_rows\n"
        "x, m = np.arange(12), np.random.default_rng(0).random((5, 9))\n"
        "assert wb.jit(of_numbers)(x) == of_numbers(x)\n"
        "assert (wb.jit(of_rows)(m.copy()) == np.sort(m, 1)).all()\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True)
