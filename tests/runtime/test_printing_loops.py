"""Loops that print run compiled, and print what Python prints, in its order, once they have ended."""

from __future__ import annotations

import contextlib
import io
import random
import time
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.notebook.cells import run_cell
from workbench.runtime.parts.printing import MOST_FAILURES

PROGRAMS = {
    "f-strings and an early end": """
x, r = 2.0, 0
for k in range(60):
    step = (x**3 - 2 * x - 5) / (3 * x**2 - 2)
    x -= step
    print(f"{k:2d} {x:.12f} {step:+.3e}", end=";" )
    if abs(step) < 1e-9:
        print("\\nafter", k + 1)
        break
""",
    "percent, format, concatenation, a choice": """
total = 0.0
for i, v in enumerate(data):
    total += v
    if i % 40 == 0:
        print("%d: %.4f" % (i, total), "{:>8.3f}|{name}".format(v, name=label), "i" + str(i) + "!" * 3)
        print("many" if total > 20 else "few", sep="")
""",
    "vectors": """
w = np.zeros(3)
for epoch in range(120):
    w += 0.25 * (data[:3] - w)
    if epoch % 30 == 0:
        print("epoch", epoch, w, w[:2], np.round(w, 2), lr)
""",
    "a matrix and its diagonal": """
for k in range(9):
    A = (A @ A.T) / 4
    if k % 4 == 0:
        print(A)
        print(f"trace {A[0, 0] + A[1, 1]}")
""",
    "a number that a function sets": """
def decay():
    global lr
    lr *= 0.5
for i in range(200):
    decay()
    w = w * 0.5 + lr
    if i % 90 == 0:
        print(i, lr, f"{lr:.3g}", label)
""",
    "nothing is printed": """
n = 0.0
for v in data:
    n += v
    if n < 0:
        print("never", n)
""",
    "a while": """
lo, hi = 0.0, 2.0
while hi - lo > 1e-6:
    mid = (lo + hi) / 2
    print(lo, hi, mid * mid > 2)
    if mid * mid > 2:
        hi = mid
    else:
        lo = mid
else:
    print("found", mid)
""",
    "beside lists that were there before": """
for i in range(300):
    r = A @ w
    w -= 0.01 * r
    losses.append(float(r @ r))
    kept["step"].append(i)
    if i % 125 == 0:
        print(i, round(losses[-1], 6), abs(i - 30), float(r[0]) > 0)
""",
    "loops inside": """
hits = 0
for i in range(30):
    for j in range(i):
        if data[i] * j > 25:
            hits += 1
            print((i, j), [i, 2.5], hits)
    print()
""",
}


def names() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    numbers = {"data": rng.random(200), "A": rng.random((2, 2)), "w": np.ones(2), "lr": 0.25}
    return {"np": np, **numbers, "label": "v", "losses": [1.5], "kept": {"step": []}}


def printed(run: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run()
    return out.getvalue()


def check(source: str) -> Any:
    """The report of the source as a cell, which does what Python does."""
    mine, theirs = names(), names()
    expected = printed(lambda: exec(source, theirs))
    report: Any = None

    def run() -> None:
        nonlocal report
        report = run_cell(source, mine, filename="<cell that prints>").report

    assert printed(run) == expected
    assert mine.keys() - {"__builtins__"} == theirs.keys() - {"__builtins__"}
    for name, value in mine.items():
        if name not in ("np", "__builtins__") and not callable(value):
            assert_same(value, theirs[name], max_ulp=256, where=name)
    return report


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_prints_what_python_prints(program):
    report = check(PROGRAMS[program])
    if "global" in PROGRAMS[program]:  # the loop is Python's: what matters is what was printed
        return
    assert "once the compiled loop has ended" in report.reason
    assert report.summary.n_loops


def test_the_report_names_the_lines_and_what_became_of_them():
    report = check(PROGRAMS["percent, format, concatenation, a choice"])
    assert report.reason == "Lines 6 and 7 print once the compiled loop has ended."
    (left,) = report.fallbacks
    assert left.code == "WB161"


LEFT_TO_PYTHON = {
    "another print": "def print(*a):\n    shown.append(a)\nshown = []\nfor i in range(5):\n    print(i)\n",
    "to a file": "import sys\nfor i in range(5):\n    print(i, file=sys.stdout)\n",
    "what is set where it is printed": "for i in range(5):\n    print(t := i * 2)\n",
    "several at once": "for i in range(5):\n    print(*data[:3], i)\n",
    "objects": "for i in range(5):\n    print(i, type(i), {'i': i})\n",
    "it is called in an expression": "for i in range(5):\n    found = print(i)\n",
}


@pytest.mark.parametrize("program", LEFT_TO_PYTHON)
def test_what_cannot_wait_is_printed_by_python(program):
    mine, theirs = names(), names()
    source = LEFT_TO_PYTHON[program]
    expected = printed(lambda: exec(source, theirs))
    assert printed(lambda: run_cell(source, mine)) == expected
    assert mine.get("shown") == theirs.get("shown")


def test_what_was_printed_before_an_error_is_printed():
    source = "for i in range(300):\n    total = data[i] * 2\n    if i % 50 == 0:\n        print(i, total)\n"
    mine, theirs = names(), names()
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(IndexError):
        exec(source, theirs)
    for _ in range(MOST_FAILURES + 2):
        found = io.StringIO()
        with contextlib.redirect_stdout(found), pytest.raises(IndexError):
            run_cell(source, mine)
        assert found.getvalue() == out.getvalue()
        assert not [name for name in mine if name.startswith("printed")]


def test_names_of_the_user_are_left_alone():
    source = "printed_1 = 5\nfor i in range(40):\n    printed_2 = i * printed_1\n    print(printed_2)\n"
    check(source)


def test_in_a_function():
    def train(x: np.ndarray, verbose: bool) -> Any:
        w, losses = np.zeros(x.shape[1]), []
        for epoch in range(50):
            w = w + 0.1 * (x.mean(0) - w)
            losses.append(float(((x - w) ** 2).sum()))
            if verbose and epoch % 10 == 0:
                print(f"epoch {epoch} loss {losses[-1]:.4f}")
        return w, losses

    x = np.random.default_rng(0).random((20, 3))
    compiled = wb.jit(train)
    for verbose in (True, False, True):
        for _ in range(2):
            found: list[Any] = []
            text = printed(lambda v=verbose, found=found: found.append(compiled(x, v)))
            assert text == printed(lambda v=verbose: train(x, v))
            expected = train(x, False)
            np.testing.assert_allclose(found[0][0], expected[0], rtol=1e-12)
            np.testing.assert_allclose(found[0][1], expected[1], rtol=1e-12)


class Printing:
    """A random loop over numbers and a small vector, which prints."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.source = "\n".join([*self.setup(), *self.loop("i", 1)])

    def setup(self) -> list[str]:
        return ["a, b, n = 0.5, 2.0, 3", "v = data[:4].copy()"]

    def number(self) -> str:
        return self.rng.choice(["a", "b", "n", "i", "v[1]", "a + b", "n * i", "a < b", "i % 3", "n // 2", "v[i % 4]"])

    def statement(self, depth: int) -> list[str]:
        kind = self.rng.randrange(8 if depth < 3 else 6)
        if kind < 2:
            value = self.rng.choice(["a * 0.5 + b", "b - a", "a + 0.25", "b * 0.75"])
            return [f"{self.rng.choice('ab')} = {value}"]
        if kind == 2:
            return [self.rng.choice(["n += i % 3", "v[i % 4] += a", "v = v * 0.5", "n = n % 17 + 1"])]
        if kind < 6:
            return [self.printing()]
        if kind == 6:
            return self.loop("ijk"[depth], depth + 1)
        return [f"if {self.rng.choice(['i % 2 == 0', 'a < b', 'n > 4'])}:", *indented(self.body(depth + 1))]

    def printing(self) -> str:
        x, y = self.number(), self.number()
        return self.rng.choice([
            f"print({x}, {y})", f"print(f'{{{x}}}:{{{y}!r}}')", f"print('%s %s' % ({x}, {y}), sep='')", "print(v)",
            f"print('{{}} {{}}'.format({x}, label), end='; ')", f"print('x' + str({x}))", "print()", f"print(v[:2], {x})",
            f"print(({x}, {y}), [{x}])", f"print('yes' if {x} > 1 else 'no', lr)",
        ])  # fmt: skip

    def body(self, depth: int) -> list[str]:
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(depth)]

    def loop(self, name: str, depth: int) -> list[str]:
        leaves = ["if n > 30:", "    break"] if self.rng.random() < 0.3 else []
        return [f"for {name} in range({self.rng.randint(0, 7)}):", *indented([*self.body(depth), *leaves])]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@pytest.mark.parametrize("seed", range(10))
def test_random_loops(seed):
    check(Printing(seed).source)


def test_while_kernels_are_compiled_python_prints():
    source = PROGRAMS["vectors"]
    mine = names()
    expected = printed(lambda: exec(source, names()))
    with wb.config(tiers=True):
        for _ in range(40):
            for name, value in names().items():
                mine[name] = value
            reports: list[Any] = []
            found = printed(lambda reports=reports: reports.append(run_cell(source, mine, filename="<tiers>").report))
            assert found == expected
            if reports[0].summary.n_loops:
                break
            time.sleep(0.25)
    assert reports[0].summary.n_loops
