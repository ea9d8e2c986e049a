"""Functions that call themselves, called outside of loops: NumPy's results, by one compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

from .test_loops import loops_of

RNG = np.random.default_rng(0)


def quicksort(a: Any, low: Any, high: Any) -> None:
    if low >= high:
        return
    pivot, i, j = a[(low + high) // 2], low, high
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    quicksort(a, low, j)
    quicksort(a, i, high)


def sorted_copy(a):
    b = a.copy()
    quicksort(b, 0, len(b) - 1)
    return b


def merge_sort(a: Any, room: Any, low: Any, high: Any) -> None:
    if high - low < 2:
        return
    middle = (low + high) // 2
    merge_sort(a, room, low, middle)
    merge_sort(a, room, middle, high)
    i, j = low, middle
    for k in range(low, high):
        if i < middle and (j >= high or a[i] <= a[j]):
            room[k] = a[i]
            i += 1
        else:
            room[k] = a[j]
            j += 1
    a[low:high] = room[low:high]


def merged(a):
    a = a.copy()
    merge_sort(a, np.empty_like(a), 0, len(a))
    return a


def queens(n):
    columns, falling, rising = np.zeros(n, bool), np.zeros(2 * n, bool), np.zeros(2 * n, bool)

    def place(row):
        if row == n:
            return 1
        count = 0
        for k in range(n):
            if not columns[k] and not falling[row + k] and not rising[row - k + n]:
                columns[k] = falling[row + k] = rising[row - k + n] = True
                count += place(row + 1)
                columns[k] = falling[row + k] = rising[row - k + n] = False
        return count

    return place(0)


def filled_in(grid):
    grid = grid.copy()

    def may_stand(r, c, v):
        for k in range(4):
            if grid[r, k] == v or grid[k, c] == v or grid[r // 2 * 2 + k // 2, c // 2 * 2 + k % 2] == v:
                return False
        return True

    def solve(position):
        if position == 16:
            return True
        r, c = position // 4, position % 4
        if grid[r, c] != 0:
            return solve(position + 1)
        for v in range(1, 5):
            if may_stand(r, c, v):
                grid[r, c] = v
                if solve(position + 1):
                    return True
                grid[r, c] = 0
        return False

    solved = solve(0)
    return grid, solved


def towers(n):
    moves, k = np.zeros(2**n - 1, int), np.zeros(1, int)

    def move(n, a, b):
        if n == 0:
            return
        move(n - 1, a, 3 - a - b)
        moves[k[0]] = 3 * a + b
        k[0] += 1
        move(n - 1, 3 - a - b, b)

    move(n, 0, 2)
    return moves


def flooded(image, r, c, new):
    old = image[r, c]

    def fill(i, j):
        if i < 0 or j < 0 or i >= image.shape[0] or j >= image.shape[1]:
            return
        if image[i, j] != old:
            return
        image[i, j] = new
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            fill(i + di, j + dj)

    fill(r, c)
    return image


def best_value(weights, values, room):
    def best(i, left):
        if i == len(weights):
            return 0
        without = best(i + 1, left)
        if weights[i] <= left:
            return max(without, values[i] + best(i + 1, left - weights[i]))
        return without

    return best(0, room)


def place_of(a: Any, x: Any, low: Any, high: Any) -> Any:
    if low > high:
        return -1
    middle = (low + high) // 2
    if a[middle] == x:
        return middle
    return place_of(a, x, low, middle - 1) if a[middle] > x else place_of(a, x, middle + 1, high)


def simpson(a, b):
    f = lambda x: np.sin(10 * x) * np.exp(-x * x)  # noqa: E731

    def refined(a, b, error, whole, depth):
        m = (a + b) / 2
        left = (m - a) / 6 * (f(a) + 4 * f((a + m) / 2) + f(m))
        right = (b - m) / 6 * (f(m) + 4 * f((m + b) / 2) + f(b))
        if depth <= 0 or abs(left + right - whole) < 15 * error:
            return left + right + (left + right - whole) / 15
        return refined(a, m, error / 2, left, depth - 1) + refined(m, b, error / 2, right, depth - 1)

    return refined(a, b, 1e-9, (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b)), 20)


def counted_queens(n):
    columns = np.zeros(n, dtype=np.int64)
    count = 0

    def is_safe(row):
        for k in range(row):
            if columns[k] == columns[row] or abs(columns[k] - columns[row]) == row - k:
                return False
        return True

    def place(row):
        nonlocal count
        if row == n:
            count += 1
            return
        for c in range(n):
            columns[row] = c
            if is_safe(row):
                place(row + 1)

    place(0)
    return count


def shortest_tour(d):
    n = len(d)
    best, seen = 1e30, np.zeros(n, bool)
    path = np.zeros(n, int)
    best_path = path.copy()

    def visit(k, city, length):
        nonlocal best
        if length >= best:
            return
        if k == n:
            if length + d[city, 0] < best:
                best = length + d[city, 0]
                best_path[:] = path
            return
        for c in range(1, n):
            if not seen[c]:
                seen[c] = True
                path[k] = c
                visit(k + 1, c, length + d[city, c])
                seen[c] = False

    visit(1, 0, 0.0)
    return best, best_path


def sums_of_calls(x):
    """In a loop, where the function sets two variables and gives a number, too."""
    total, deepest = 0, 0

    def count(n, depth):
        nonlocal total, deepest
        deepest = max(deepest, depth)
        if n <= 0:
            return 1
        total += n % 3
        return count(n - 1, depth + 1) + count(n - 2, depth + 1)

    calls = 0
    for v in x:
        calls += count(int(v), 0)
    return total, deepest, calls


def labelled(g):
    label, size = np.zeros(g.shape, int), 0

    def fill(i, j, k):
        nonlocal size
        if 0 <= i < g.shape[0] and 0 <= j < g.shape[1] and g[i, j] and label[i, j] == 0:
            label[i, j] = k
            size += 1
            fill(i + 1, j, k)
            fill(i - 1, j, k)
            fill(i, j + 1, k)
            fill(i, j - 1, k)

    k, largest = 0, 0
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            if g[i, j] and label[i, j] == 0:
                k += 1
                size = 0
                fill(i, j, k)
                largest = max(largest, size)
    return label, k, largest


def nearest_sum(w, target):
    best, tried = np.inf, 0

    def take(i, total):
        nonlocal best, tried
        tried += 1
        if abs(total - target) < best:
            best = abs(total - target)
        if i == len(w) or total > target:
            return False
        return take(i + 1, total + w[i]) or take(i + 1, total)

    found = take(0, 0.0)
    return best, tried, found


def way_out(grid):
    grid = grid.copy()
    n, m = grid.shape
    steps = 0

    def walk(i, j):
        nonlocal steps
        if i < 0 or j < 0 or i >= n or j >= m or grid[i, j] != 0:
            return False
        steps += 1
        grid[i, j] = 2
        if i == n - 1 and j == m - 1:
            return True
        found = walk(i + 1, j) or walk(i, j + 1) or walk(i - 1, j) or walk(i, j - 1)
        if found:
            grid[i, j] = 3
        return found

    found = walk(0, 0)
    return found, grid, steps


def is_balanced(tree):
    def depth(i):
        if i >= len(tree) or tree[i] < 0:
            return 0
        left, right = depth(2 * i + 1), depth(2 * i + 2)
        return 1 + max(left, right)

    def balanced(i):
        if i >= len(tree) or tree[i] < 0:
            return True
        return abs(depth(2 * i + 1) - depth(2 * i + 2)) <= 1 and balanced(2 * i + 1) and balanced(2 * i + 2)

    return balanced(0), depth(0)


PUZZLE = np.array([[1, 0, 0, 0], [0, 0, 3, 0], [0, 4, 0, 0], [0, 0, 0, 2]])
PROGRAMS = [
    (sorted_copy, (RNG.standard_normal(120),)),
    (sorted_copy, (RNG.integers(0, 9, 50),)),
    (merged, (RNG.standard_normal(77),)),
    (queens, (6,)),
    (filled_in, (PUZZLE,)),
    (towers, (6,)),
    (flooded, (RNG.integers(0, 2, (12, 9)), 4, 4, 5)),
    (best_value, (RNG.integers(1, 10, 9), RNG.integers(1, 100, 9), np.int64(25))),
    (place_of, (np.arange(0, 200, 2), 78, 0, 99)),
    (place_of, (np.arange(0, 200, 2), 79, 0, 99)),
    (counted_queens, (6,)),
    (shortest_tour, (RNG.random((6, 6)),)),
    (sums_of_calls, (np.arange(8),)),
    (labelled, (RNG.random((9, 11)) < 0.5,)),
    (nearest_sum, (np.array([0.3, 0.9, 0.4, 0.7, 0.2, 0.5]), 1.35)),
    (way_out, (np.array([[0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]),)),
    (way_out, (np.array([[0, 1, 1, 0], [1, 0, 1, 0]]),)),
    (simpson, (np.float64(0.0), np.float64(3.0))),
]


def _copies(arguments: tuple) -> list:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_first_call_is_one_step(function: Any, arguments: tuple) -> None:
    compiled = wb.jit(function)
    for _ in range(2):
        given, its = _copies(arguments), _copies(arguments)
        assert_same(compiled(*given), function(*its), max_ulp=64)
        assert_same(given, its)
    assert not compiled.fallbacks
    assert len(loops_of(compiled)) == 1


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_python_runs_the_step_where_no_machine_code_may(function: Any, arguments: tuple) -> None:
    given, its = _copies(arguments), _copies(arguments)
    assert_same(wb.jit(function, device="numpy")(*given), function(*its), max_ulp=64)
    assert_same(given, its)


def test_two_functions_that_call_themselves_are_two_steps() -> None:
    compiled = wb.jit(is_balanced)
    for tree in (np.where(np.arange(31) < 25, 1, -1), np.array([1, 1, -1, 1, -1, -1, -1])):
        assert_same(compiled(tree), is_balanced(tree))
    assert not compiled.fallbacks
    assert loops_of(compiled)


def test_a_call_whose_results_are_arrays_is_traced() -> None:
    def transform(x):
        n = len(x)
        if n == 1:
            return x
        even, odd = transform(x[::2]), transform(x[1::2])
        odd = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate([even + odd, even - odd])

    x = RNG.standard_normal(16) + 0j
    compiled = wb.jit(transform)
    np.testing.assert_allclose(compiled(x), np.fft.fft(x), rtol=1e-10, atol=1e-12)
    assert not compiled.fallbacks and not loops_of(compiled)


def scale(x: Any, n: Any) -> Any:
    if n == 0 or x[0] < 0:
        return 0.0
    return x[0] + _decorated(x, n - 1)


def _decorated(x: Any, n: Any) -> Any:
    return scale(x, n) + 1.0


def test_what_the_name_stands_for_is_called() -> None:
    def outer(x):
        def total(n):
            return 0.0 if n == 0 else x[n] + total(n - 1)

        first = total
        total = lambda n: 100.0  # noqa: E731
        return first(3), total(3)

    x = np.arange(1.0, 6.0)
    assert_same(wb.jit(outer)(x), outer(x))
    program = lambda x: scale(x, 3)  # noqa: E731
    assert_same(wb.jit(program)(x), program(x))


def test_recursion_that_fails_is_pythons_error() -> None:
    def total(x, n):
        return x[n] + total(x, n + 1) if x[n] >= 0 else 0.0

    x = np.array([1.0, 2.0, -1.0])
    compiled = wb.jit(lambda x: total(x, 0))
    assert compiled(x) == 3.0
    with pytest.raises(IndexError):
        compiled(np.array([1.0, 2.0, 3.0]))
