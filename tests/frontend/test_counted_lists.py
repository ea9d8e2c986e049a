"""Lists to which a loop appends as often as only the run tells."""

from collections.abc import Callable

import numpy as np
import optree
import pytest

import workbench as wb
from workbench.frontend import counted_lists
from workbench.notebook.cells import run_cell

# The loops' lengths depend on data, so that the lists are returned with as many items as NumPy's have.
# fmt: off


def errors_of_a_while(x, limit):
    errors = []
    while x.sum() > limit:
        x = x * 0.5
        errors.append(x.sum())
    return x, errors


def errors_before_a_break(x, limit):
    errors = []
    for i in range(500):  # noqa: B007 (it is returned)
        x = x * 0.7
        error = float(x.sum())
        if error < limit:
            break
        errors.append(error)
    return np.array(errors), i


def begun_before(x, limit):
    history = [np.inf, x.sum()]
    while history[-1] > limit and len(history) < 30:
        x = x * 0.7
        history.append(x.sum())
    return {"history": history, "again": (history, np.array(history)), "n": len(history)}


def numbers_of_two_kinds(x, limit):
    history = [1e9]
    while history[-1] > limit:
        x = x * 0.7
        history.append(x.sum())
    return history


def rows(x, limit):
    path = [x.copy()]
    while x.sum() > limit:
        x = x * 0.7
        path.append(x.copy())
    return np.array(path), path


def the_same_array(x, limit):
    path = []
    while x.sum() > limit:
        x *= 0.7
        path.append(x)
    return path


def written_after_it_was_appended(x, limit):
    path = []
    while x.sum() > limit:
        y = x * 0.7
        path.append(y)
        y += 1
        x = y - 1
    return np.asarray(path)


def several(x, limit):
    sums, counts, pairs = [], [], []
    k = 0
    while x.sum() > limit:
        x = x * 0.7
        k += 1
        sums.append(x.sum())
        sums.append(x.max())
        if k % 3 == 0:
            counts.append(k)
        pairs.append((k, x.sum(), x.sum() > 1))
    return sums, np.array(counts), pairs, np.asarray(pairs), np.array(sums, np.float32)


def nested(x, limit):
    sums = []
    for i in range(100):
        n = 0
        while x.sum() > limit:
            x = x * 0.7
            sums.extend([x.sum(), x.max()])
            n += 1
        x = x + i
        if n > 30:
            break
    return sums, x


def after_the_loop(x, limit):
    sums = []
    while x.sum() > limit:
        x = x * 0.7
        sums.append(x.sum())
    sums.append(x.max())
    return sums


def in_another_container(x, limit):
    sums = []
    result = {"sums": sums}
    while x.sum() > limit:
        x = x * 0.7
        sums.append(x.sum())
    return result


def used(x, limit):
    sums = []
    while x.sum() > limit:
        x = x * 0.7
        sums.append(x.sum())
    return np.cumsum(sums), sum(sums), [2 * s for s in sums], sums + [1.0], sums[::-1]


def collatz(x, limit):
    value, steps = int(limit * 0) + x.size, []
    value = x.astype(int)[0] + value
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps.append(value)
    return steps


def lists_of_numbers(x, limit):
    path, seen, k = [], [], 0
    while x.sum() > limit:
        x = x * 0.5
        k += 1
        path.append([x.sum(), float(x[1]), k])
        if x[1] > 0.1:
            seen.append([x * 2, k])
    return np.array(path), path, seen


def a_list_that_changes_once_it_is_in(x, limit):
    path = []
    while x.sum() > limit:
        x = x * 0.5
        row = [x.sum(), 1.0]
        path.append(row)
        row[0] = 5.0
    return path


def one_list_from_outside(x, limit):
    path, row = [], [1.0, 2.0]
    while x.sum() > limit:
        x = x * 0.5
        path.append(row)
    return path, row


def made_by_a_function(x, limit):
    def made(k):
        row = [k, 1.0]
        kept.append(row)
        return row

    path, kept = [], []
    while x.sum() > limit:
        x = x * 0.5
        path.append(made(x.sum()))
    return path, kept


def items_at_indices(x, limit):
    sums, k = [x[0], 1.0], 0
    while x.sum() > limit:
        x = x * 0.75
        sums.append(sums[k] * 0.5 + sums[k // 2] + sums[-1] * 0.25 + x.max())
        k += 1
    return sums, np.array(sums)


def rows_at_indices(x, limit):
    path, k = [x], 0
    while x.sum() > limit:
        x = x * 0.75
        path.append(x + path[k // 2] * 0.5 + path[-1])
        k += 1
    return path[-1], path


def rows_that_are_written_to(x, limit):
    path, k = [x * 1.0], 0
    while x.sum() > limit:
        x = x * 0.75
        path[k // 2] += 1.0
        path.append(x + path[0])
        k += 1
    return path


def an_index_that_is_not_there(x, limit):
    path, k = [x[0]], 0
    try:
        while x.sum() > limit:
            x = x * 0.75
            path.append(path[k + 1] if k == 2 else path[k] + 1)
            k += 1
    except IndexError:
        k = -k
    return path, k


def backwards(x, limit):
    sums, pairs = [x.sum()], []
    while x.sum() > limit:
        x = x * 0.7
        sums.append(x.sum())
        pairs.append((x[0], float(x[-1])))
    last_first = sums[::-1]
    sums.append(2.0 * x[-1])
    pairs.reverse()
    pairs.append((x[1], 3.0))
    return sums, last_first, np.array(last_first[::-1]), pairs


def rows_backwards(x, limit):
    path = []
    while x.sum() > limit:
        x = x * 0.7
        path.append(x)
    path.reverse()
    return path


def some_of_few_rows(x, limit):
    found = []
    for row in x[:12].reshape(3, 4):
        if row.sum() > limit:
            found.append((row.sum(), row.max()))
    return found


# fmt: on
COMPILED = [
    some_of_few_rows,
    items_at_indices,
    rows_at_indices,
    an_index_that_is_not_there,
    lists_of_numbers,
    errors_of_a_while,
    errors_before_a_break,
    begun_before,
    numbers_of_two_kinds,
    rows,
    several,
    nested,
    after_the_loop,
    collatz,
    backwards,
]  # fmt: skip
IN_NUMPY = [
    the_same_array, written_after_it_was_appended, in_another_container, used, a_list_that_changes_once_it_is_in,
    one_list_from_outside, made_by_a_function, rows_that_are_written_to, rows_backwards,
]  # fmt: skip


def same(found: object, expected: object) -> None:
    found, expected = (optree.tree_flatten(value, none_is_leaf=True) for value in (found, expected))
    assert found[1] == expected[1]
    for a, b in zip(found[0], expected[0], strict=True):
        assert type(a) is type(b), (type(a), type(b))
        assert not isinstance(b, np.ndarray) or a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("program", [*COMPILED, *IN_NUMPY])
@pytest.mark.parametrize("limit", [1e-3, 1.5])
def test_as_in_numpy(program: Callable, limit: float) -> None:
    compiled = wb.jit(program)
    for x in (np.linspace(0, 1, 50), np.linspace(0, 9, 50), np.linspace(0, 0.01, 50)):
        mine, its = x.copy(), x.copy()
        same(compiled(mine, limit), program(its, limit))
        np.testing.assert_allclose(mine, its, rtol=1e-12)
    refused = [f for f in compiled.fallbacks if f.code != "WB500"]
    assert bool(refused) == (program in IN_NUMPY), compiled.fallbacks


def test_items_are_lists_of_their_own() -> None:
    compiled = wb.jit(lists_of_numbers)
    found = [row for _ in range(2) for row in compiled(np.ones(5), 1e-2)[1]]
    assert len({id(row) for row in found}) == len(found)


def test_items_are_arrays_of_their_own() -> None:
    _, path = wb.jit(rows)(np.ones(5), 1e-2)
    path[1][:] = 7.0
    assert not (path[2] == 7).any() and path[1].base is None


def test_one_list_in_two_places_is_one() -> None:
    result = wb.jit(begun_before)(np.ones(5), 1e-2)
    assert result["history"] is result["again"][0]


def test_more_items_than_there_is_room_for() -> None:
    def counts(x):
        found, k = [], 0
        while k < x[0]:
            k += 1
            found.append(x[1] * k)
        return found

    compiled = wb.jit(counts)
    for n in (10, 3 * counted_lists.MOST_ITEMS, 20, 20 * counted_lists.MOST_ITEMS, counted_lists.MOST_BYTES // 4):
        x = np.array([n, 0.5])
        assert compiled(x) == counts(x)
    assert not compiled.fallbacks


def test_the_message_names_the_list() -> None:
    compiled = wb.jit(used)
    compiled(np.ones(5), 1e-2)
    (reason,) = compiled.fallbacks
    assert "`sums`" in str(reason) and "return the list" in str(reason)


def moments(x, limit):
    found = []
    for v in x:
        if v > limit:
            found.append(v)
    values = np.array(found)
    return (
        np.mean(found),
        np.std(values),
        values.sum(),
        (values * 2 - 1 / values).sum(),
        len(values),
        values.size,
        values,
    )


def picked(x, limit):
    places = []
    for i in range(len(x)):
        if x[i] > limit:
            places.append(i)
    places = np.array(places)
    return x[places].sum(), x[places] @ x[places], places.max() - places.min(), places


def converted(x, limit):
    found = []
    for i in range(len(x)):
        if x[i] > limit:
            found.append(i)
    return np.asarray(found, dtype=np.float64).mean() if len(found) > 1 else -1.0


def appended_later(x, limit):
    found = []
    for v in x:
        if v > limit:
            found.append(v)
    before = np.array(found)
    found.append(limit)
    for v in x:
        if v < 0:
            found.append(-v)
    return before, before.sum(), np.array(found), np.sum(found)


@pytest.mark.filterwarnings("ignore")  # the mean of nothing
@pytest.mark.parametrize("program", [moments, picked, converted, appended_later])
@pytest.mark.parametrize("limit", [0.0, 0.8, 1.9, 9.0])
def test_arrays_of_lists_are_computed_with(program: Callable, limit: float) -> None:
    compiled = wb.jit(program)
    with np.errstate(all="ignore"):
        for seed in range(2):
            x = np.random.default_rng(seed).normal(size=60)
            try:
                expected = program(x, limit)
            except (ValueError, IndexError) as error:  # of nothing
                with pytest.raises(type(error)):
                    compiled(x, limit)
                continue
            found = compiled(x, limit)
            for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
                assert np.asarray(a).dtype == np.asarray(b).dtype
                np.testing.assert_allclose(a, b, rtol=1e-13)
    assert not compiled.fallbacks or limit == 9.0


def test_lists_of_calls_that_are_traced() -> None:
    @wb.jit
    def outer(x):
        y, errors = wb.jit(errors_of_a_while)(x, 1e-3)
        errors.append(y.max())
        return errors, np.array(errors), y

    def plain(x):
        y, errors = errors_of_a_while(x, 1e-3)
        errors.append(y.max())
        return errors, np.array(errors), y

    x = np.linspace(0, 1, 50)
    same(outer(x), plain(x))


CELL = """
history = []
error = 1.0
while error > 1e-3:
    old = u.copy()
    u[1:-1] = 0.5 * (u[2:] + u[:-2])
    error = np.abs(u - old).max()
    history.append(error)
n = len(history)
"""


def test_lists_of_cells() -> None:
    """The first iteration runs while the cell is traced: `error` is known."""
    mine, its = ({"np": np, "u": np.linspace(0, 1, 40) ** 2} for _ in range(2))
    report = run_cell(CELL, mine, filename="<cell with a history>").report
    assert report.status in ("compiled", "cached")
    exec(CELL, its)
    same(
        [mine[name] for name in ("u", "history", "error", "n")], [its[name] for name in ("u", "history", "error", "n")]
    )


# ---- what only some iterations append ----


def accepted_steps(x, n):
    t, h = 0.0, 0.125
    ts, xs = [t], [x]
    k = 0
    while t < 3 and k < n:
        k += 1
        new = x + h * (1 - x)
        error = np.abs(h * (1 - x)).max()
        if error < 0.25:
            t += h
            x = new
            ts.append(t)
            xs.append(x)
        h *= min(2.0, max(0.25, 0.5 / (error + 0.5)))
    return np.array(ts), xs, x


def best_so_far(x, n):
    kept, least = [], np.inf
    for k in range(n):
        x = x * 0.75 + 0.25 * (k % 3)
        size = (x**2).sum()
        if size < least:
            least = size
            kept.append(x)
    return kept


def python_and_numpy_floats(x, n):
    found, k = [], 0
    while k < n:
        k += 1
        if x[k % len(x)] > 1:
            found.append(0.5)
        else:
            found.append(x[k % len(x)])
    return found


@pytest.mark.parametrize("program", [accepted_steps, best_so_far, python_and_numpy_floats])
def test_what_some_iterations_append(program):
    compiled = wb.jit(program)
    for n in (0, 1, 3, 60):
        for x in (np.array([0.5, 2.0, -1.0]), np.zeros(3), np.array([8.0, 1.0, 0.25])):
            found, expected = compiled(x.copy(), n), program(x.copy(), n)
            for mine, its in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, its)
    assert not compiled.fallbacks


def test_an_array_that_was_there_before_is_not_appended_again_and_again():
    def program(x, n):
        kept = []
        for k in range(n):
            if x[k % 3] > 0:
                kept.append(x)
        return kept

    compiled, x = wb.jit(program), np.array([1.0, -1.0, 2.0])
    assert all(item is x for item in compiled(x, 40)) and len(compiled(x, 40)) == 27
