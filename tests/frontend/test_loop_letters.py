"""Loops over the letters of strings, and the functions that such loops call, are one step with Python's results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

from .test_loops import steps


def costs_of_edits(a, b, table):
    for i in range(1, len(a) + 1):
        here = a[i - 1]
        for j in range(1, len(b) + 1):
            diagonal = table[i - 1, j - 1] + (3 if here == b[j - 1] else -3)
            table[i, j] = max(diagonal, table[i - 1, j] - 2, table[i, j - 1] - 2)
            if here != "A" and b[-j] == "T":
                table[i, j] += 1
    return table[-1, -1]


def letter_by_letter(a, b, table):
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (x != y))
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        table[k, 0] += x == y
    return table[-1, -1]


def in_functions(a, b, table):
    weight = 3

    def cost(x, y):
        if x == y:
            return 0
        return weight if x == "é" or y == "A" else 1

    def same(i, j):
        return a[i] == b[j]

    for i in range(len(a)):
        for j in range(len(b)):
            table[i + 1, j + 1] = table[i, j] + cost(a[i], b[j]) - same(i, j)
    return table.sum()


def among_letters(a, b, table):
    n = 0
    for i in range(len(a)):
        if a[i] in "GC😀":
            n += table[i, 0]
        elif a[i] not in ("A", "T") or a[i] == "AC":
            n -= 1
    return n


PROGRAMS = [costs_of_edits, letter_by_letter, in_functions, among_letters]
WORDS = [("ACGTTé😀AC", "GATTACA"), ("TTGCA", "ACGTTGCAT"), ("😀éAAAA", "AAAAAé")]


@pytest.mark.parametrize("program", PROGRAMS)
def test_strings_by_letters(program: Callable[..., Any]) -> None:
    compiled = wb.jit(program)
    for a, b in WORDS:
        table = np.random.default_rng(3).integers(0, 9, (len(a) + 1, len(b) + 1))
        mine, its = table.copy(), table.copy()
        assert_same(compiled(a, b, mine), program(a, b, its))
        assert_same(mine, its)
    assert not compiled.fallbacks and steps(compiled)


def test_a_letter_that_is_not_there() -> None:
    def beyond(a, n, table):
        for i in range(n):
            table[i] += a[i] == "A"

    mine, its = np.zeros(9), np.zeros(9)
    for function, table in ((wb.jit(beyond), mine), (beyond, its)):
        with pytest.raises(IndexError, match="string index out of range"):
            function("ACAA", 7, table)
    assert_same(mine, its)


def test_beside_what_is_not_compiled() -> None:
    def counted(a, b, table):
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                table[i, j] = max(table[i - 1, j - 1] + (3 if a[i - 1] == b[j - 1] else -3), table[i - 1, j] - 2)
        found = {}
        for v in table[-1]:
            found[int(v)] = found.get(int(v), 0) + 1
        return found

    compiled = wb.jit(counted)
    rng = np.random.default_rng(0)
    for _ in range(6):  # until it runs in parts
        a, b = ("".join(rng.choice(list("ACGT"), 40)) for _ in range(2))
        table = rng.integers(0, 5, (41, 41))
        assert compiled(a, b, table.copy()) == counted(a, b, table.copy())


def test_functions_over_constants_need_no_new_program() -> None:
    def program(table, k):
        w = 3

        def cost(i, j):
            return w if i % k == j % 5 else 2

        def total(i, j, x):
            return cost(i, j) + w + x

        for i in range(len(table) - 1):
            for j in range(len(table) - 1):
                table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1, total(i, j, table[i, j]))
        return table

    compiled = wb.jit(program)
    table = np.random.default_rng(1).integers(0, 9, (20, 20))
    for _ in range(4):
        assert_same(compiled(copy.deepcopy(table), 7), program(copy.deepcopy(table), 7))
    assert len(compiled.compilations) == 1 and not compiled.fallbacks


def test_such_a_function_that_is_kept_is_another_one_each_time() -> None:
    def program(table):
        w = 3

        def cost(i, j):
            return w if i == j else 2

        for i in range(1, len(table)):
            for j in range(1, len(table)):
                table[i, j] += table[i - 1, j - 1] // cost(i, j)
        return table, cost

    compiled = wb.jit(program)
    kept = [compiled(np.ones((9, 9), int))[1] for _ in range(3)]
    assert len({*map(id, kept)}) == 3 and [f(1, 1) for f in kept] == [3, 3, 3]
