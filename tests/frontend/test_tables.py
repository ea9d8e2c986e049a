"""Loops with dictionaries and sets: Python's results, in Python's order and of its types, by compiled loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.runtime.test_whole_loops import as_it_is
from tests.sources import define

from .table_programs import Program, arguments, same
from .test_loops import loops_of

SIZES = (5, 40, 0, 1, 200, 40)
NAMES = {"defaultdict": defaultdict, "Counter": Counter}


def outcome(function: Any, *given: np.ndarray) -> Any:
    """What it returns, or the name of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*(x.copy() for x in given))
    except (LookupError, RuntimeError, ValueError, OverflowError) as error:
        return type(error).__name__


def agree(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, str) or isinstance(found, str) else same(found, expected)


def check(function: Any, *given: np.ndarray) -> Any:
    """The compiled function, which does what the plain one does, and whose loop is one step."""
    compiled = wb.jit(function)
    for _ in range(2):
        expected, found = outcome(function, *given), outcome(compiled, *given)
        assert agree(found, expected), (found, expected)
    assert not compiled.fallbacks
    assert loops_of(compiled)
    return compiled


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    function = define(program.source, "f", f"<tables {seed}>", **NAMES)
    compiled = wb.jit(function)
    rng = np.random.default_rng(seed)
    for n in SIZES:
        given = arguments(rng, n)
        expected, found = outcome(function, *given), outcome(compiled, *given)
        assert agree(found, expected), program.source


@pytest.mark.parametrize("seed", range(60, 100))
def test_random_loops_of_cells(seed: int) -> None:
    """Compiled whole, over what the cell's variables hold: dictionaries and sets stay the objects that they are."""
    program = Program(seed)
    for n in (40, 5, 0, 200):
        given = arguments(np.random.default_rng(seed), n)
        compiled, plain = program.variables(*given), program.variables(*given)
        before = {name: (compiled[name], plain[name]) for name in ("d", "s")}
        error = None
        try:
            exec(program.loop, plain)
        except (LookupError, ValueError) as raised:
            error = raised
        if as_it_is(program.loop, compiled, program.results) is None:
            continue
        assert error is None, program.source
        for name in program.results:
            assert same(compiled[name], plain[name]), program.source
        for name in program.results & before.keys():
            mine, its = before[name]
            assert (compiled[name] is mine) == (plain[name] is its)


def test_many_random_programs_are_compiled() -> None:
    n_steps = n_whole = 0
    for seed in range(24):
        program = Program(seed)
        given = arguments(np.random.default_rng(seed), 40)
        compiled = wb.jit(define(program.source, "f", f"<tables {seed}>", **NAMES))
        n_steps += not isinstance(outcome(compiled, *given), str) and bool(loops_of(compiled))
        n_whole += as_it_is(program.loop, program.variables(*given), program.results) is not None
    assert n_steps >= 6
    assert n_whole >= 6


def counts(x):
    found = {}
    for v in x:
        found[v] = found.get(v, 0) + 1
    return found


COUNTS = wb.jit(counts)


@given(
    st.lists(st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 2**32, 2**40]), max_size=60)
)
@settings(max_examples=60)
def test_whole_numbers_as_keys(values: list[int]) -> None:
    x = np.array(values, np.int64)
    assert same(COUNTS(x), counts(x))


@given(st.lists(st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 2.0**60, 5e-324]), max_size=60))
@settings(max_examples=60)
def test_floats_as_keys(values: list[float]) -> None:
    x = np.array(values)
    assert same(COUNTS(x), counts(x))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint16", "uint32", "float32", "bool"])
def test_keys_keep_their_dtype(dtype: str) -> None:
    check(counts, np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, 500).astype(dtype))


def test_keys_that_no_index_takes_are_left_to_python() -> None:
    for x in (np.array([1.0, np.nan, np.nan, 1.0]), np.array([1, 2**64 - 1, 1], np.uint64), np.array([1j, 2.0, 1j])):
        assert len(wb.jit(counts)(x)) == len(counts(x))


def test_more_entries_than_there_is_room_for() -> None:
    x = np.random.default_rng(0).permutation(60_000)
    compiled = check(counts, x)
    assert same(compiled(x[::-1]), counts(x[::-1]))


def test_many_equal_hashes() -> None:
    """Multiples of powers of two, which a plain index would put into one place."""
    check(counts, np.arange(3000) * 2**20)
    check(counts, np.arange(3000) / 1024)


def test_pairs_as_keys() -> None:
    def pairs(x, y):
        found = {}
        for i in range(len(x)):
            found[(x[i], y[i])] = found.get((x[i], y[i]), 0.0) + y[i]
        total = 0.0
        for (_, b), v in found.items():
            total += b * v
        return found, total

    rng = np.random.default_rng(0)
    check(pairs, rng.integers(0, 9, 500), np.round(rng.random(500), 1))


def test_a_sliding_window_takes_keys_out() -> None:
    def longest(x):
        inside = {}
        left = best = 0
        for right in range(len(x)):
            inside[x[right]] = inside.get(x[right], 0) + 1
            while len(inside) > 6:
                inside[x[left]] -= 1
                if inside[x[left]] == 0:
                    del inside[x[left]]
                left += 1
            best = max(best, right - left + 1)
        return best, inside

    check(longest, np.random.default_rng(0).integers(0, 15, 3000))


def test_keys_that_come_and_go_do_not_fill_the_memory() -> None:
    def queue(x):
        kept = {}
        for i in range(len(x)):
            kept[i] = x[i]
            if i >= 10:
                kept.pop(i - 10)
        return kept, sum(kept.values())

    check(queue, np.random.default_rng(0).random(5000))


def test_what_get_gives_may_be_none() -> None:
    def gaps(x):
        last = {}
        total = 0
        for i in range(len(x)):
            before = last.get(x[i])
            if before is not None:
                total += i - before
            last[x[i]] = i
        return total

    check(gaps, np.random.default_rng(0).integers(0, 50, 1000))


def test_sets_of_rows() -> None:
    def distinct(m):
        out = np.zeros(len(m), np.int64)
        for i in range(len(m)):
            out[i] = len(set(m[i])) * 100 + len(Counter(m[i] % 3))
        return out

    check(distinct, np.random.default_rng(0).integers(0, 30, (50, 20)))


def test_sorted_keys() -> None:
    def ranks(x):
        seen = set()
        for v in x:
            seen.add(v)
        out = np.zeros(len(x))
        n = 0
        for k in range(2):
            for v in sorted(seen):
                out[n] = v + k
                n += 1
        return out

    compiled = wb.jit(ranks)
    x = np.random.default_rng(0).permutation(300)[:150]
    x = np.concatenate([x, x])
    assert same(compiled(x), ranks(x))


def test_an_int_that_stands_for_a_float() -> None:
    def totals(x, w):
        found = defaultdict(int)
        for i in range(len(x)):
            found[x[i]] += w[i]
        return found

    rng = np.random.default_rng(0)
    check(totals, rng.integers(0, 9, 300), rng.random(300))


PRICES = {1: 0.5, 2: 1.25, 3: 2.0}
ALLOWED = {1, 2, 3}


def test_tables_outside_are_looked_into_as_they_are_now() -> None:
    def bill(x):
        total = 0.0
        for v in x:
            if v in PRICES and v in ALLOWED:
                total += PRICES[v]
        return total

    x = np.random.default_rng(0).integers(0, 6, 500)
    compiled = check(bill, x)
    before = dict(PRICES)
    try:
        PRICES[1] = 100.0
        ALLOWED.discard(2)
        assert compiled(x) == bill(x)
    finally:
        PRICES.update(before)
        ALLOWED.add(2)
    assert compiled(x) == bill(x)


def test_pythons_errors() -> None:
    def missing(x):
        found = {}
        n = 0
        for i in range(len(x)):
            found[x[i]] = i
            n += found[x[len(x) - 1 - i]]
        return n

    def grows(x):
        found = {}
        for v in x:
            found[v] = 1
            for k in found:
                found[k + 100] = 2
        return len(found)

    x = np.arange(10)
    with pytest.raises(KeyError, match="9"):
        wb.jit(missing)(x)
    with pytest.raises(RuntimeError, match="changed size"):
        wb.jit(grows)(x)


def test_what_a_statement_changes_is_not_looked_at_too_late() -> None:
    def sizes(x):
        found = defaultdict(int)
        n = 0
        for v in x:
            n += len(found) * 10 + found[v]
            found[v] = len(found)
        return n, found

    def taken(x):
        found = {}
        n = 0
        for v in x:
            found[v] = len(found)
            n += (v in found) * 7 + found.pop(v)
        return n, len(found)

    x = np.random.default_rng(0).integers(0, 9, 200)
    for function in (sizes, taken):
        assert same(wb.jit(function)(x), function(x))


def test_one_dictionary_of_two_names() -> None:
    def shared(x):
        found = {}
        other = found
        for v in x:
            found[v] = 1
        return len(other), other is found

    x = np.arange(10)
    assert same(wb.jit(shared)(x), shared(x))


def test_results_are_new_and_one_object_where_they_are() -> None:
    def twice(x):
        found, seen = {}, set()
        for v in x:
            found[v] = 1
            seen.add(v)
        return found, [found], seen

    compiled = check(twice, np.arange(10))
    first, (inside,), seen = compiled(np.arange(10))
    assert inside is first
    assert compiled(np.arange(10))[0] is not first
    first.clear()
    seen.clear()
    assert len(compiled(np.arange(10))[2]) == 10


def test_what_stays_empty() -> None:
    def nothing(x):
        found, seen, tally = {}, set(), Counter()
        for v in x:
            if v > 100:
                found[v] = 1
                seen.add(v)
                tally[v] += 1
        return found, seen, tally

    compiled = check(nothing, np.arange(10))
    assert same(compiled(np.arange(0)), nothing(np.arange(0)))
    compiled(np.arange(0))[1].add(3)
    assert same(compiled(np.arange(0)), nothing(np.arange(0)))


def test_looked_up_after_the_loop() -> None:
    def squares(x):
        found = {}
        for v in x:
            found[v] = v * v
        return found[3], 4 in found, x[0] in found, 44 in found, len(found), sum(found.values()), max(found.keys())

    check(squares, np.arange(10))


@pytest.mark.parametrize("device", ["numpy", "cuda-sim"])
def test_other_devices(device: str) -> None:
    def both(x):
        found, seen = {}, set()
        n = 0
        for i in range(len(x)):
            n += found.get(x[i], 0)
            found[x[i]] = i
            seen.add(x[i] % 3)
        return found, seen, n

    x = np.random.default_rng(0).integers(0, 9, 50)
    found = wb.jit(both, device=device)(x)
    assert same(found, both(x))


def test_groups_as_lists_in_a_cell() -> None:
    text = "for i in range(len(x)):\n    groups[x[i]].append(w[i])\n"
    x, w = arguments(np.random.default_rng(0), 100)
    compiled = {"x": x, "w": w, "groups": defaultdict(list)}
    plain = {"x": x, "w": w, "groups": defaultdict(list)}
    first = compiled["groups"]
    for _ in range(2):  # to groups that there are, too
        rows = dict(first)
        assert as_it_is(text, compiled, frozenset(("groups",))) is not None
        exec(text, plain)
        assert compiled["groups"] is first
        assert all(first[key] is row for key, row in rows.items())
        assert same(first, plain["groups"])


def test_comprehensions_over_what_the_run_tells_the_length_of() -> None:
    function = define(
        "def shares(x):\n    found, kept = {}, []\n    for v in x:\n        found[v] = found.get(v, 0) + 1\n"
        "        if v > 3:\n            kept.append(v * 0.5)\n"
        "    return ({k: n / len(x) for k, n in found.items() if n > 1}, [n + 1 for n in found.values()], [k for k in found],\n"
        "            [i * v for i, v in enumerate(kept)], {v * 2 for v in kept})\n",
        "shares", "<shares>",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    compiled = check(function, rng.integers(0, 9, 200))
    for n in (1, 2, 50):
        x = rng.integers(0, 9, n)
        assert same(compiled(x), function(x))


def test_sets_of_rows_in_a_comprehension() -> None:
    function = define("def f(m):\n    return [len(set(row)) for row in m]\n", "f", "<sets of rows>")
    check(function, np.random.default_rng(0).integers(0, 9, (40, 12)))


def test_in_order() -> None:
    source = """
def f(x):
    found, kept, pairs, seen = {}, [], [], set()
    for i in range(len(x)):
        found[x[i]] = found.get(x[i], 0) + 1
        seen.add(x[i] % 7)
        if x[i] > 3:
            kept.append(x[i])
            pairs.append((x[i], i))
    other = list(kept)
    kept.sort()
    return sorted(found), list(found), list(found.items()), sorted(found.items()), sorted(seen), kept, other, sorted(pairs)
"""
    compiled = check(define(source, "f", "<in order>"), np.random.default_rng(0).integers(-20, 20, 300))
    for n in (1, 2, 3, 64):
        x = np.random.default_rng(n).integers(-20, 20, n)
        assert same(compiled(x), define(source, "f", "<in order>")(x))


@given(st.lists(st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0]), max_size=40))
@settings(max_examples=40, deadline=None)
def test_order_of_floats(values: list[float]) -> None:
    x = np.array(values)
    assert same(ORDERED(x), ordered(x))


def ordered(x):
    kept = []
    for v in x:
        if v != 1.0:
            kept.append(v)
    return sorted(kept)


ORDERED = wb.jit(ordered)


def test_keys_by_their_values() -> None:
    def extremes(x):
        found, pairs = {}, {}
        for a, b in zip(x[:-1], x[1:], strict=True):
            found[a] = found.get(a, 0) + 1
            pairs[(a, b)] = pairs.get((a, b), 0.0) + b
        return max(found, key=found.get), min(found, key=found.get), max(pairs, key=pairs.get), max([3, -4], key=abs)

    check(extremes, np.random.default_rng(0).integers(0, 9, 300))


def test_tables_that_are_made_in_the_loop() -> None:
    def per_row(m):
        out = np.zeros(len(m))
        for i in range(len(m)):
            counts = {}
            first = {0: -1}
            for j in range(m.shape[1]):
                counts[m[i, j]] = counts.get(m[i, j], 0) + 1
                if int(m[i, j]) not in first:
                    first[int(m[i, j])] = j
            most = 0
            for k, n in counts.items():
                if n > most:
                    most, out[i] = n, k * 100 + first[int(k)]
        return out

    check(per_row, np.random.default_rng(0).integers(0, 9, (30, 20)))


def test_views_of_dictionaries_are_no_lists() -> None:
    def views(x):
        found = {}
        n = 0
        for v in x:
            found[v] = found.get(v, 0) + 1
            held = found.values()
            n += len(held) + (v in found.keys())
        return n, type(held).__name__, found

    def together(x):
        found = {}
        total = 0.0
        for v in x:
            found[v] = found.get(v, 0) + 1
            for k, n in zip(found.keys(), found.values(), strict=True):
                total += k * n
            for i, k in enumerate(found):
                total += i * k
            total += sum(found.values()) + max(found.keys()) + len(found.items()) + len(found.values())
        return total

    x = np.random.default_rng(0).integers(0, 9, 60)
    assert same(wb.jit(views)(x), views(x))
    check(together, x)


def test_an_update_whose_value_changes_the_dictionary() -> None:
    def updated(x):
        found = {0: 1}
        for v in x:
            found[0] += found.setdefault(v, 2)
            found.pop(v - 1, 0)
            if 0 not in found:
                found[0] = 3
        return found

    x = np.random.default_rng(0).integers(0, 30, 300)
    assert same(wb.jit(updated)(x), updated(x))
