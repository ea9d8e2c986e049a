"""Loops that cannot be compiled: Python runs them, statements of their bodies run compiled, and nothing else changes."""

from __future__ import annotations

import copy
import traceback
import types
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.sources import define
from workbench.notebook.cells import run_cell
from workbench.runtime.parts import driven_loops
from workbench.runtime.parts.driven_loops import Repeated

N = 300

# Loops that print run compiled, and print afterwards; not so where a star says how much is printed.
PROGRAMS = {
    "snapshots": """
t = x.copy()
kept = {}
for n in range(100):
    old = t.copy()
    t[1:-1] = old[1:-1] + 0.1 * (old[2:] - 2 * old[1:-1] + old[:-2])
    if n % 33 == 0:
        kept[n] = t.copy()
last = t.sum()
""",
    "prints": """
w = np.zeros(5)
for step in range(8):
    g = m.T @ (m @ w - x) / len(x)
    w = w - 0.01 * g
    loss = ((m @ w - x) ** 2).mean()
    if step % 4 == 0:
        print(*[f"{step} {loss:.6f}"])
""",
    "leaves": """
t = x * 1.5
found = -1
for n in range(50):
    t = np.cos(t) * 0.9
    if n < 3:
        continue
    t += 0.01
    print(*[n])
    if t.sum() > 0 and n > 6:
        found = n
        break
    t = t * 1.0
else:
    found = 99
""",
    "else runs": """
t = x
for n in range(4):
    t = np.sqrt(np.abs(t)) + n
    print(*[n])
    if t[0] > 1e9:
        break
else:
    t = -t
""",
    "while": """
t, history = x.copy(), []
err, it = 1.0, 0
while err > 1e-3 and it < 40:
    new = 0.5 * (t + np.abs(x) / (t + 3))
    err = np.abs(new - t).max()
    t = new
    it += 1
    history.append(float(err))
    if it % 5 == 0:
        print(*[it, round(float(err), 9)])
""",
    "epochs": """
w, b, losses = np.zeros(5), 0.0, []
rng = np.random.default_rng(1)
for epoch in range(4):
    order = rng.permutation(len(x))
    for start in range(0, len(x), 50):
        part = order[start:start + 50]
        r = m[part] @ w + b - x[part]
        w -= 0.05 * m[part].T @ r / 50
        b -= 0.05 * r.mean()
    losses.append(float(np.mean((m @ w + b - x) ** 2)))
    print(*[epoch, round(losses[-1], 9)])
""",
    "nested": """
total, seen = np.zeros_like(x), []
for i in range(3):
    shifted = np.roll(x, i) * (i + 1)
    for j in range(5):
        total += np.tanh(shifted) / (j + 1)
        if (i + j) % 4 == 0:
            seen.append((i, j, float(total[0])))
        shifted = shifted + 0.5
    print(*[len(seen)])
""",
    "tries": """
t, failures = x.copy(), 0
for n in range(7):
    try:
        t = np.exp(-t * t) + n
        if n == 4:
            raise KeyError(n)
        t = t * 2
    except KeyError as e:
        failures += e.args[0]
        t = t - 1
    finally:
        t = t + 0.25
    with np.errstate(all="ignore"):
        u = np.log(t - 1.0)
        u = u + 1
    print(*[n])
""",
    "counters": """
t, seed, big = np.zeros_like(x), 12345, 1
for k in range(1, 9):
    seed = (1103515245 * seed + 12345) % 2**31
    big = big * 1000003
    t += x**2 / k + seed % 7
    t[k] = k
    u = t[k:] * k
    print(*[seed, big])
""",
    "numbers of numpy": """
t, best = x.copy(), np.inf
for k in range(8):
    i = np.argmax(t)
    t[i] = -k
    t = t + 0.5 * x
    low = t.min()
    if low < best:
        best = low
    print(*[i])
""",
    "rows": """
a, log = m.copy(), []
for row in a:
    row -= row.mean()
    row /= np.abs(row).max() + 1
    if row[0] > 0.5:
        log.append(row)
log = len(log)
""",
    "parameters": """
p = {"w": np.ones(5), "b": np.zeros(1)}
grads = []
for step in range(6):
    r = m @ p["w"] + p["b"] - x
    g = {"w": m.T @ r / len(x), "b": r.mean(keepdims=True)}
    for name in p:
        p[name] = p[name] - 0.1 * g[name]
    grads.append(g)
    print(*[step])
""",
    "changes": """
t = x[:40].astype(np.float32)
for n in range(6):
    t = np.sqrt(np.abs(t)) + 1
    if n == 2:
        t = t.astype(np.float64)
    if n == 4:
        t = np.concatenate([t, t])
    print(*[t.dtype, t.shape])
""",
    "deletes": """
for n in range(6):
    tmp = x * n
    t = tmp.sum() + np.sin(tmp).max()
    print(*[t > 0])
    del tmp
""",
    "aliases": """
a = x.copy()
b = a[::2]
views = []
for n in range(6):
    a += 1.0
    b *= 0.5
    c = a[1:]
    c[0] = n
    views.append(c)
    print(*[n])
same = all(np.shares_memory(v, a) for v in views)
""",
}


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {"np": np, "x": rng.normal(size=N), "m": rng.normal(size=(N, 5))}


def values(namespace: dict[str, Any]) -> dict[str, Any]:
    hidden = ("np", "__builtins__", "rng", "e")
    return {k: v for k, v in namespace.items() if k not in hidden and not isinstance(v, types.ModuleType)}


def check(got: Any, expected: Any, where: str) -> None:
    assert type(got) is type(expected), where
    if isinstance(expected, dict):
        assert list(got) == list(expected), where
        for key in expected:
            check(got[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected), where
        for i, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
            check(mine, theirs, f"{where}[{i}]")
    elif isinstance(expected, float | np.floating):
        np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=where)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype and got.shape == expected.shape, where
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13, err_msg=where)
    else:
        assert got == expected, where


@pytest.fixture(params=[0.0, None], ids=["driven", "as it is"])
def worth(request, monkeypatch):
    """With pieces that are compiled however short they are, and kept so; and as users have it."""
    if request.param is not None:
        monkeypatch.setattr(driven_loops, "WORTH_S", request.param)
        monkeypatch.setattr(driven_loops, "WAIT_S", request.param)
        monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
    return request.param


def same_prints(capsys) -> list[str]:
    return capsys.readouterr().out.split("\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_cells_do_what_python_does(name, worth, capsys):
    source = PROGRAMS[name]
    plain, mine = inputs(), inputs()
    for _ in range(2):  # on its own results the second time
        exec(compile(source, "<plain>", "exec"), plain)
        expected = same_prints(capsys)
        run_cell(source, mine, filename=f"<cell {name}>")
        assert same_prints(capsys) == expected
        check(values(mine), values(plain), name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_do_what_python_does(name, worth, capsys):
    names = "(" + ", ".join(sorted(set(_assigned(PROGRAMS[name])))) + ",)"
    body = "".join(f"    {line}\n" for line in PROGRAMS[name].strip().split("\n"))
    source = f"import numpy as np\ndef program(x, m):\n{body}    return {names}\n"
    plain = define(source, "program", f"<function {name}>")
    compiled = wb.jit(plain)
    capsys.readouterr()
    for _ in range(5):
        given = inputs()
        mine = copy.deepcopy({k: given[k] for k in "xm"})
        expected = plain(given["x"], given["m"])
        said = same_prints(capsys)
        result = compiled(**mine)
        assert same_prints(capsys) == said
        check(list(result), list(expected), name)
        check(mine, {k: given[k] for k in "xm"}, name)


def _assigned(source: str) -> list[str]:
    namespace = inputs()
    exec(source, namespace)
    return [name for name in values(namespace) if name not in ("x", "m")]


@pytest.mark.parametrize("name", ["snapshots", "prints", "leaves", "while", "epochs", "nested", "numbers of numpy"])
def test_statements_of_the_body_run_compiled(name, monkeypatch):
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
    kept: list[Any] = []
    run = driven_loops.DrivenStatement.run
    monkeypatch.setattr(
        driven_loops.DrivenStatement, "run", lambda self, around: kept.append(run(self, around)) or kept[-1]
    )
    report = run_cell(PROGRAMS[name], inputs(), filename=f"<cell {name}>").report
    repeated = [each for parts in kept for each in parts]
    assert repeated and all(isinstance(each, Repeated) and each.total_ms > 0 for each in repeated)
    assert report.status == "partly"
    assert max(each.runs for each in repeated) > 1
    assert any("×" in bar.name.rpartition(" ")[2] for bar in report.timings.timeline)
    assert sum(row.share or 0.0 for row in report.kernels) <= 1.0
    report.to_text()


def test_an_error_is_at_its_line_and_changes_what_it_does_in_python(worth):
    source = (
        "a = x.copy()\nfor n in range(6):\n    a += 1.0\n    b = a * 2\n    print(n)\n    x[n] = a[n * 100] + b[0]\n"
    )
    plain, mine = inputs(), inputs()
    with pytest.raises(IndexError) as expected:
        exec(compile(source, "<plain>", "exec"), plain)
    with pytest.raises(IndexError) as caught:
        run_cell(source, mine, filename="<cell error>")
    assert str(caught.value) == str(expected.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == "<cell error>"]
    assert lines == [6]
    assert_same(mine["x"], plain["x"])
    assert set(mine) - {"__builtins__"} == {"np", "x", "m"}


def test_what_every_iteration_changes_stays_with_numpy(monkeypatch):
    """Also where it does so after a while: each new shape would be traced."""
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    monkeypatch.setattr(driven_loops, "TRIED_RUNS", 100)
    loops: list[Any] = []
    run = driven_loops.DrivenStatement.run
    monkeypatch.setattr(
        driven_loops.DrivenStatement, "run", lambda self, around: loops.append(self) or run(self, around)
    )
    source = (
        "rows = []\nfor n in range(60):\n    if n > 30:\n        x = np.append(x, n)\n"
        "    rows.append(np.tanh(x).sum())\n    print(*[n])\n    y = np.cos(x) + 1\n    continue\n"
    )
    namespace, plain = inputs(), inputs()
    run_cell(source, namespace, filename="<cell changing>")
    exec(source, plain)
    check(values(namespace), values(plain), "changing")
    loop = loops[0]  # the others are the `if`
    assert all(piece.in_numpy and 20 < piece._n_runs < 40 for piece in loop.pieces), loop.pieces


def test_a_cell_that_is_one_loop_has_parts(monkeypatch):
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    namespace = inputs()
    report = run_cell("for n in range(6):\n    x = np.sin(x) * 2\n    print(n)\n", namespace, filename="<one>").report
    assert report.status == "partly" and report.kernels
