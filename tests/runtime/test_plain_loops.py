"""Loops over Python's own numbers: those that take long become parts of their own, compiled whole; `else` and powers of
integers are what they are in Python."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.runtime.test_whole_loops import as_it_is, assert_like_python, assert_same
from workbench.frontend import patience, recording
from workbench.ir import evaluate
from workbench.ir.evaluate import TooManyEquationsError, at_most, eval_jaxpr
from workbench.notebook.cells import run_cell

PROGRAMS = {
    "collatz": """
best, arg, seen = 0, 0, []
for n in range(1, 300):
    m, steps = n, 0
    while m != 1:
        m = m // 2 if m % 2 == 0 else 3 * m + 1
        steps += 1
    if steps > best:
        best, arg = steps, n
        seen.append((n, steps))
""",
    "a function": """
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
count = 0
for i in range(1, 40):
    for j in range(1, 40):
        if gcd(i, j) == 1:
            count += 1
share = count / 39**2
""",
    "primes": """
primes, n = [], 2
while len(primes) < 60:
    for p in primes:
        if p * p > n:
            primes.append(n)
            break
        if n % p == 0:
            break
    else:
        primes.append(n)
    n += 1
""",
    "a series": """
s = 0.0
for k in range(3000):
    s += (-1) ** k / (2 * k + 1)
pi = 4 * s
""",
    "in a branch, before arrays": """
total = 0
if n > 1:
    for i in range(2000):
        total = (total * 31 + i) % 1000003
y = np.sqrt(x + total)
""",
    "integers beyond 64 bits": """
f = 1
for i in range(1, 60):
    f *= i
""",
}


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_cells_do_what_python_does(program, waits, monkeypatch):
    if not waits:
        monkeypatch.setattr(patience, "LONGEST_PLAIN_S", 0.0)
    source = PROGRAMS[program]
    mine, theirs = ({"np": np, "n": 5, "x": np.arange(4.0)} for _ in range(2))
    exec(source, theirs)
    for _ in range(2):
        run_cell(source, mine, filename=f"<cell {program} {waits}>")
    for name, value in theirs.items():
        if name != "__builtins__" and not callable(value):
            assert_same(mine[name], value, name)


def test_long_ones_are_compiled(monkeypatch):
    monkeypatch.setattr(patience, "LONGEST_PLAIN_S", 0.0)
    for program in ("collatz", "primes", "a series"):
        report = run_cell(PROGRAMS[program], {"np": np}, filename=f"<long cell {program}>").report
        assert report.summary.n_loops, program
        assert "WB186" not in report.reason


def test_short_ones_stay_in_the_trace():
    report = run_cell("n = 0\nfor i in range(50):\n    n += i\ny = x + n", {"x": np.ones(3)}).report
    assert report.status in ("compiled", "cached")
    assert not report.summary.n_loops


def scaled_by_a_sum(x: np.ndarray) -> Any:
    total = 0
    for i in range(500):
        total += i
    return x * total


def test_functions_run_them_once_while_they_are_traced(monkeypatch):
    monkeypatch.setattr(patience, "LONGEST_PLAIN_S", 0.0)
    compiled = wb.jit(scaled_by_a_sum)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.ones(3)), np.ones(3) * 124750)
    assert not compiled.fallbacks
    assert len(compiled.compilations) == 1


def test_strict_code_has_no_parts(monkeypatch):
    monkeypatch.setattr(patience, "LONGEST_PLAIN_S", 0.0)
    assert "mul" in str(wb.make_jaxpr(scaled_by_a_sum)(np.ones(3)))
    np.testing.assert_array_equal(wb.jit(scaled_by_a_sum, strict=True)(np.ones(3)), np.ones(3) * 124750)


def test_no_trace_waits_for_a_loop_of_the_program(monkeypatch):
    """What decides a branch may come out of a loop over known numbers, for which the reference evaluator takes long."""
    source = """
best, out = 0, []
for n in range(1, 400):
    m, steps = n, 0
    while m != one:
        m = m // 2 if m % 2 == 0 else 3 * m + 1
        steps += 1
    if steps > best:
        best = steps
        out.append(n)
y = x + best
"""
    n_evaluated = 0
    run = evaluate._run

    def counted(*args: Any) -> Any:
        nonlocal n_evaluated
        n_evaluated += 1
        return run(*args)

    monkeypatch.setattr(evaluate, "_run", counted)
    mine, theirs = ({"np": np, "x": np.ones(3), "one": np.int64(1)} for _ in range(2))
    exec(source, theirs)
    run_cell(source, mine)
    assert n_evaluated < 2 * recording.MAX_EVALUATED  # 180,000 without a limit
    assert (mine["best"], mine["out"]) == (theirs["best"], theirs["out"])
    np.testing.assert_array_equal(mine["y"], theirs["y"])


def test_an_evaluation_may_be_limited():
    def program(x: np.ndarray) -> Any:
        return wb.lax.fori_loop(0, 1000, lambda _, a: a * 0.5 + 1, x)

    jaxpr = wb.make_jaxpr(program)(np.ones(2))
    with pytest.raises(TooManyEquationsError), at_most(500):
        eval_jaxpr(jaxpr, np.ones(2))
    with at_most(100_000):
        np.testing.assert_allclose(eval_jaxpr(jaxpr, np.ones(2))[0], 2.0)
    assert recording.MAX_EVALUATED < 100_000


ELSES = [
    """
for i in range(len(x)):
    for j in range(i + 1, len(x)):
        if x[i] + x[j] == 10:
            pairs.append((i, j))
            break
    else:
        alone.append(i)
""",
    """
for i in range(len(x)):
    k = 0
    while k < x[i]:
        k += 1
        if k * k == x[i]:
            break
        if k > 5:
            continue
        for m in range(2):
            if m == 1:
                break
    else:
        alone.append(k)
        if len(alone) > 3:
            break
    pairs.append((i, k))
else:
    alone.append(-1)
""",
    """
for i in range(len(x)):
    for j in range(2):
        pairs.append((i, j))
    else:
        alone.append(i)
else:
    alone.append(100)
""",
    """
for i in range(len(x)):
    if x[i] == 7:
        at = i
        break
else:
    at = -1
""",
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", ELSES)
def test_else_runs_where_no_break_did(text, seed):
    x = np.random.default_rng(seed).integers(0, 12, 9)
    compiled, plain = ({"np": np, "x": x, "pairs": [], "alone": [0], "at": 0} for _ in range(2))
    assert_like_python(text, compiled, plain)


def test_else_beside_return():
    def first_without(x: np.ndarray, y: np.ndarray) -> Any:
        n = 0
        for i in range(len(x)):
            for j in range(len(y)):
                if x[i] == y[j]:
                    break
                if y[j] > 10:
                    return -i
            else:
                n += 1
                if n == 2:
                    return i
        return n * 100

    compiled = wb.jit(first_without)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 8, 6), rng.integers(0, 12, 5)
        assert compiled(x, y) == first_without(x, y)
    assert not compiled.fallbacks


POWERS = ["(-1) ** k", "2 ** k", "3 ** k", "k ** k", "k ** j", "(k - j) ** 9", "j ** 12", "10 ** -(k + 1)", "b ** k", "0 ** k",
          "(-b) ** k", "k ** 2 - j ** 3", "(k % 2) ** 40"]  # fmt: skip


@pytest.mark.parametrize("power", POWERS)
def test_powers_of_integers(power):
    text = f"for k in range(n):\n    for j in range(4):\n        out.append({power})\n"
    compiled, plain = ({"n": 9, "b": 7, "out": []} for _ in range(2))
    assert_like_python(text, compiled, plain)


@pytest.mark.parametrize("power", ["3 ** k", "(-7) ** k", "k ** 15", "10 ** (3 - k)", "0 ** (2 - k)"])
def test_powers_that_64_bits_do_not_hold_are_pythons(power):
    text = f"for k in range(n):\n    out.append({power})\n"
    mine = {"n": 60, "out": [1]}
    assert as_it_is(text, mine) is None
    assert mine == {"n": 60, "out": [1]}


class Numbers:
    """A random cell that computes with ints and floats of Python's, in loops with branches, `else` and lists."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        lines = [
            f"a, b, c = {self.rng.randint(-9, 9)}, {self.rng.randint(1, 50)}, {self.rng.random():.3f}",
            "found = []",
        ]
        self.source = "\n".join([*lines, *self.loop(0), "y = x * c"])

    def integer(self) -> str:
        return self.rng.choice(["a", "b", "i", "(a + i)", "(b * 3)", "(a - b)", "a // 3", "b % 7", "(i * i)", "abs(a)", "len(found)",
                                "(-1) ** b", "max(a, i)", "int(c)", "2 ** (b % 9)"])  # fmt: skip

    def test(self) -> str:
        x, y = self.integer(), self.integer()
        return self.rng.choice([f"{x} > {y}", f"{x} % 3 == 0", f"c < {y}", f"{x} != {y} and c > 0", f"not {x} < {y}"])

    def statements(self, depth: int) -> list[str]:
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kind = self.rng.randrange(9 if depth < 2 else 6)
        if kind < 2:
            return [f"{self.rng.choice('ab')} = ({self.integer()} + {self.integer()}) % {self.rng.randint(2, 999)}"]
        if kind == 2:
            return [self.rng.choice(["c = c * 0.5 + a", "c += 1 / (1 + abs(b))", "c = math.sqrt(abs(c))", "c -= i"])]
        if kind == 3:
            return [f"found.append({self.rng.choice('iab')})"]
        if kind < 6:
            rest = ["else:", *_indented(self.statements(depth + 1))] if self.rng.random() < 0.4 else []
            return [f"if {self.test()}:", *_indented(self.statements(depth + 1)), *rest]
        return self.loop(depth)

    def loop(self, depth: int) -> list[str]:
        name = "ijk"[depth]
        leaves = [f"if {self.test()}:", "    break"] if self.rng.random() < 0.5 else []
        body = [*self.statements(depth + 1), *leaves, *self.statements(depth + 1)]
        rest = ["else:", *_indented(self.statements(depth + 1))] if self.rng.random() < 0.4 else []
        return [f"for {name} in range({self.rng.randint(0, 12)}):", *_indented(body), *rest]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def check(seed: int) -> bool:
    """Whether a loop of the random cell ran compiled. AssertionError unless it leaves what Python leaves."""
    source = Numbers(seed).source
    mine, theirs = ({"np": np, "math": math, "x": np.arange(3.0), "i": 1} for _ in range(2))
    try:
        exec(source, theirs)
    except ArithmeticError as error:
        with pytest.raises(type(error)):
            run_cell(source, mine)
        return False
    report = run_cell(source, mine).report
    for name, value in theirs.items():
        if name != "__builtins__" and not callable(value) and value is not math:
            assert_same(mine[name], value, f"{name} of {source}")
    return report.summary.n_loops > 0


@pytest.mark.parametrize("seed", range(8))
def test_random_cells_of_numbers(seed, monkeypatch):
    monkeypatch.setattr(patience, "LONGEST_PLAIN_S", 0.0)
    check(seed)
