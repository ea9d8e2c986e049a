"""Lists that hold ints, or Python's floats, to which a loop appends floats: what they held stays as it is."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.runtime.test_whole_loops import as_it_is, assert_like_python, assert_same
from workbench.notebook.cells import run_cell

DT = np.float64(0.25)

LOOPS = [
    ("for k in range(n):\n    x.append(x[-1] + v[-1] * dt)\n    v.append(v[k] - x[k] * dt)\n", {"x": [0], "v": [1.5]}),
    ("for k in range(n):\n    x.append(x[k] * 0.5 + 1)\n", {"x": [0]}),
    ("for k in range(n):\n    x.append(x[-1] * 0.5 + x[-2])\n", {"x": [1, 2.5]}),
    ("for k in range(n):\n    x.append(x[k] / 4 + len(x) * dt)\n", {"x": [3, 1.5, 2.0]}),
    ("for k in range(n):\n    x.append(dt * (x[0] // 2) + x[0] % 3)\n", {"x": [7]}),
    ("total = 0\nfor k in range(n):\n    total = total\n    x.append(float(x[k]) + dt)\n".partition("\n")[2], {"x": [2], "total": 1}),
    ("while x[-1] < 9:\n    x.append(x[-1] * 1.5)\n    steps += 1\n", {"x": [1], "steps": 0}),
]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 12])
@pytest.mark.parametrize("dt", [0.25, DT], ids=["python", "numpy"])
@pytest.mark.parametrize("k", range(len(LOOPS)))
def test_given_items_stay_what_they_are(k, dt, n):
    text, names = LOOPS[k]
    compiled, plain = ({"n": n, "dt": dt, **{m: list(v) if isinstance(v, list) else v for m, v in names.items()}} for _ in range(2))  # fmt: skip
    assert_like_python(text, compiled, plain)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("for k in range(5):\n    x.append(x[-1] + x[0])\n", {"x": [1, 2.5]}),  # the second one is an int
        ("for k in range(5):\n    x.append(x[-1] + dt)\n    x[0] = 2.5\n", {"x": [1]}),
        ("for k in range(5):\n    x.append(dt)\n    y = max(x)\n", {"x": [1]}),
        ("for k in range(5):\n    x.append(dt if k else 1)\n", {"x": [1]}),
        ("for k in range(5):\n    x.append(x[0] * dt)\n", {"x": [2**60]}),
        ("for k in range(5):\n    x.append(x[0] * dt)\n", {"x": [True]}),
    ],
)
def test_what_else_is_done_to_such_lists_is_pythons(text, names):
    mine = {"dt": DT, **{n: list(v) for n, v in names.items()}}
    assert as_it_is(text, mine) is None
    assert mine == {"dt": DT, **names}


def test_two_names_of_one_list():
    x: list[Any] = [1]
    assert as_it_is("for k in range(5):\n    x.append(y[k] * 0.5)\n", {"x": x, "y": x}) is None
    assert x == [1]


def test_an_epidemic_as_teachers_write_it():
    source = """
S, I, R = [999], [1], [0]
t = np.linspace(0, 160, 161)
dt = t[1] - t[0]
for k in range(len(t) - 1):
    new = 0.2 * S[-1] * I[-1] / 1000
    gone = 0.1 * I[-1]
    S.append(S[-1] - new * dt)
    I.append(I[-1] + (new - gone) * dt)
    R.append(R[-1] + gone * dt)
peak = max(I)
"""
    mine, theirs = {"np": np}, {"np": np}
    exec(source, theirs)
    report = run_cell(source, mine).report
    assert report.summary.n_loops == 1
    for name in "SIR":
        assert_same(mine[name], theirs[name], name)
    assert mine["peak"] == theirs["peak"]


@pytest.mark.parametrize("seed", range(8))
def test_random_loops(seed):
    check(seed)


def check(seed: int) -> bool:
    """Whether a random loop ran compiled; then it left what Python leaves, and else nothing."""
    rng = random.Random(seed)
    numbers = [0, 1, 3, -2, 0.5, -1.25, np.float64(2.5)]
    names: dict[str, Any] = {
        n: [rng.choice(numbers[: rng.choice([4, 7])]) for _ in range(rng.randint(1, 3))] for n in "xy"
    }

    def element() -> str:
        return rng.choice(["x[-1]", "y[-1]", "x[k]", "y[0]", "len(x)", "k", "dt", "0.5", "2"])

    def value() -> str:
        a, b, c = element(), element(), element()
        return rng.choice([
            f"{a} * dt + {b}", f"({a} + {b}) * 0.5 - {c}", f"{a} / 2 + {b}", f"dt * ({a} // 2) + {b}", f"{a} + {b}",
            f"dt + max({a}, {b})", f"abs({a}) * 0.25", f"float({a})", f"({a} if {b} < {c} else {c}) * dt",
        ])  # fmt: skip

    lines = [f"{rng.choice('xy')}.append({value()})" for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        lines.insert(rng.randrange(len(lines) + 1), f"s = s + {value()}")
    text = (
        "\n    ".join(
            ["for k in range(min(len(x), len(y)), 9):" if rng.random() < 0.2 else "for k in range(1):", *lines]
        )
        + "\n"
    )
    common = {"dt": rng.choice([0.5, np.float64(0.5)]), "s": rng.choice([0, 0.5])}
    mine, theirs = ({**common, **{n: list(v) for n, v in names.items()}} for _ in range(2))
    before = {n: list(v) if isinstance(v, list) else v for n, v in mine.items()}
    try:
        exec(text, theirs)
    except (IndexError, OverflowError):
        assert as_it_is(text, mine) is None
        assert_same([*mine.values()], [*before.values()], text)
        return False
    if as_it_is(text, mine) is None:
        assert_same([*mine.values()], [*before.values()], text)
        return False
    for name, found in mine.items():
        if name == "s" and type(found) is np.float64:  # where a number may be Python's, NumPy's is one of these, too
            theirs[name] = np.float64(theirs[name])
        assert_same(found, theirs[name], f"{name} of {text}")
    return True
