"""Functions that statements in NumPy call: their bodies run compiled where they can, and nothing else changes."""

from __future__ import annotations

import copy
import linecache
import time
import traceback
import types
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.frontend.syntax import syntax_of
from workbench.notebook.cells import run_cell
from workbench.runtime import cells as runtime_cells
from workbench.runtime.parts import driven_functions, driven_loops
from workbench.runtime.parts import statements as parts

# Each: functions, as an earlier cell defines them, and the cell that calls them.
PROGRAMS = {
    "gradient descent": (
        """
def train(x, y, steps=30, lr=0.1, *, tol=1e-14):
    w = np.zeros(x.shape[1])
    history = []
    for step in range(steps):
        r = x @ w - y
        loss = float(np.mean(r * r))
        g = x.T @ r / len(y)
        w = w - lr * g
        history.append(loss)
        if step % 10 == 0:
            print(step, round(loss, 6))
        if len(history) > 2 and abs(history[-2] - loss) < tol:
            return w, history
    return w, history
""",
        "w, history = train(m, x, lr=0.2)\nearly, short = train(m, x, 25, tol=1.0)\n",
    ),
    "clusters": (
        """
def assign(points, centres):
    d = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
    return d.argmin(1), d.min(1).sum()

def kmeans(points, k, rounds=8, seed=0):
    rng = np.random.default_rng(seed)
    centres = points[rng.choice(len(points), k, replace=False)]
    for n in range(rounds):
        labels, inertia = assign(points, centres)
        moved = np.array([points[labels == j].mean(axis=0) if np.any(labels == j) else centres[j] for j in range(k)])
        shift = np.abs(moved - centres).max()
        centres = moved
        print(n, round(float(inertia), 6))
        if shift < 1e-9:
            print("settled")
            break
    return centres, labels
""",
        "centres, labels = kmeans(m, 4)\n",
    ),
    "heat": (
        """
def step(u, k=0.1):
    new = u.copy()
    new[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return new

def heat(n, steps, every):
    u = np.zeros((n, n))
    u[0] = 1.0
    snapshots = []
    for t in range(steps):
        u = step(u)
        if t % every == 0:
            snapshots.append(u.copy())
            print(*["t", t, u.sum().round(9)])
    return u, snapshots
""",
        "u, snapshots = heat(24, 20, 7)\ntotal = u.sum()\n",
    ),
    "monte carlo": (
        """
def simulate(n, rounds, seed):
    rng = np.random.default_rng(seed)
    estimates = []
    for r in range(rounds):
        p = rng.random((n, 2))
        estimates.append(4 * np.mean((p ** 2).sum(axis=1) < 1))
        if r and np.std(estimates) / np.sqrt(r) < 1e-5:
            return estimates
    return estimates
""",
        "found = simulate(200, 12, 3)\n",
    ),
    "a model": (
        """
class Model:
    verbose = True

    def __init__(self, lr=0.05):
        self.lr = lr
        self.w = None
        self.losses_ = []

    def _gradient(self, x, y):
        r = x @ self.w - y
        return x.T @ r / len(y), float(r @ r)

    def fit(self, x, y, epochs=12):
        self.w = np.zeros(x.shape[1])
        best = np.inf
        for epoch in range(epochs):
            g, loss = self._gradient(x, y)
            self.w -= self.lr * g
            self.losses_.append(loss)
            if self.verbose and epoch % 5 == 0:
                print(f"epoch {epoch}: {loss:.6f}")
            if loss > best:
                return self
            best = loss
        return self

    def predict(self, x):
        return x @ self.w


class Loud(Model):
    def fit(self, x, y, epochs=6):
        print("loud")
        for k in range(2):
            x = x * 1.0
            super().fit(x, y, epochs)
        return self
""",
        "model = Model(0.1).fit(m, x)\nweights, losses = model.w, model.losses_\nguess = model.predict(m)\n"
        "other = Loud().fit(m, x)\nlist_of = other.losses_\ndel model, other\n",
    ),
    "attributes": (
        """
class Base:
    scale = 2.0

    @property
    def doubled(self):
        self.asked += 1
        return self.w * 2

    def __init__(self, n):
        self.w, self.b, self.asked, self.k = np.zeros(n), 0.0, 0, 0
        self.log, self.last = [], None


class Net(Base):
    __slots__ = ("extra",)

    def run(self, x, y):
        for k in range(6):
            self.k += 1
            r = x @ self.w + self.b * self.scale - y
            self.last = np.tanh(r) * self.k
            self.w -= 0.1 * (x.T @ r) / len(y)
            self.b = self.b - 0.1 * r.mean()
            self.extra = self.doubled.sum() + self.last.sum()
            self.log.append(float(np.sum(r * r)))
            s = np.cos(self.last) + self.shift(k)
            print(self.k, round(self.log[-1], 6), self.asked, round(float(s.sum()), 6))
            if np.abs(self.last).max() < 1e-3:
                return None
        return self.log

    def shift(self, k):
        self.scale = 2.0 + k
        return np.sqrt(np.abs(self.w)).sum() + self.scale


def outside(net, x):
    for k in range(5):
        net.w *= 0.9
        net.b += net.w.sum()
        t = x * net.b + net.k
        net.log.append(np.sum(t))
        print(k, round(float(net.log[-1]), 6))
    return t
""",
        "net = Net(5)\nlog = net.run(m, x)\nw, b, k, scale = net.w, net.b, net.k, net.scale\nt = outside(net, x)\n"
        "extra, last, asked, b2, w2 = net.extra, net.last, net.asked, net.b, net.w\ndel net\n",
    ),
    "metaclass": (
        """
class Counting(type):
    made = 0

    def __call__(cls, *args):
        made = super().__call__(*args)
        Counting.made += 1
        for k in range(2):
            made.v = made.v * 2
            print("made", k)
        return made


class Thing(metaclass=Counting):
    def __init__(self, v):
        self.v = v

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        print("exit", kind)
        return True

    def work(self):
        with self as t:
            for k in range(3):
                z = np.exp(t.v)
                print(z.sum().round(6))
                t.v = z * 0.1
            raise RuntimeError("left")
        return self.v

    @classmethod
    def make(cls, v):
        for k in range(2):
            v = v + 1
            print(cls.__name__, k)
        return cls(v)
""",
        "t = Thing(x * 0.1)\ny = t.work()\nz = Thing.make(x).v\ncount = Counting.made\ndel t\n",
    ),
    "closures": (
        """
def fit(x, y):
    w = np.zeros(x.shape[1])
    n_calls = 0

    def loss(v):
        nonlocal n_calls
        n_calls += 1
        r = x @ v - y
        return (r * r).mean()

    scale = lambda g: g / (1 + np.abs(g).max())
    for k in range(6):
        g = np.array([(loss(w + e) - loss(w - e)) / 2e-5 for e in 1e-5 * np.eye(len(w))])
        w = w - 0.1 * scale(g)
        now = loss(w)
        print(k, n_calls, round(float(now), 5))
    return w, n_calls

def counter():
    n = 0

    def inc(a):
        nonlocal n
        n += 1
        b = np.cos(a) + n
        print(n)
        return b

    return inc
""",
        "w, calls = fit(m, x)\ninc = counter()\nfor k in range(4):\n    y = inc(x) + k\n    print(y.sum().round(9))\n"
        "del inc\n",
    ),
    "globals": (
        """
count = 0
limits = {"low": -1.0}

def bump(a):
    global count
    count += 1
    return a + count

def run(a):
    global last
    for k in range(5):
        b = bump(a)
        c = count * a + limits["low"]
        a = np.tanh(b + c)
        last = k
        print(count, a.sum().round(9))
    return a
""",
        "y = run(x)\ncount_after = count\n",
    ),
    "leaves": (
        """
def search(a, limit):
    for i in range(10):
        a = np.cos(a) * 1.01
        for j in range(3):
            b = a * j
            print(i, j)
            if b.sum() > limit and i > 2:
                return i, j, b
        else:
            a = a + 0.001
        if i == 7:
            break
    else:
        return None
    return a
""",
        "found = search(x, 10.0)\nnone = search(x, 1e9)\n",
    ),
    "tries": (
        """
def careful(a):
    log = []
    for k in range(5):
        try:
            b = np.exp(-a * a) + k
            if k == 3:
                raise KeyError(k)
            c = b * 2
            log.append(c.sum())
            a = a[: len(a) - k]
            d = a.reshape(-1, 7)
        except KeyError as e:
            print("key", e.args, c.shape)
            continue
        except ValueError:
            print("value", b.sum().round(9), a.shape)
        finally:
            a = a + 0.25
        with np.errstate(all="ignore"):
            u = np.log(a - 1.0)
            u = u + 1
        print(k, len(log))
    return a, log, u
""",
        "y, log, u = careful(x)\n",
    ),
    "recursion": (
        """
def quicksort(a):
    if len(a) <= 1:
        return a
    pivot = a[len(a) // 2]
    left, middle, right = a[a < pivot], a[a == pivot], a[a > pivot]
    return np.concatenate([quicksort(left), middle, quicksort(right)])

def transform(a):
    n = len(a)
    if n == 1:
        return a.astype(complex)
    even, odd = transform(a[::2]), transform(a[1::2])
    factor = np.exp(-2j * np.pi * np.arange(n // 2) / n)
    return np.concatenate([even + factor * odd, even - factor * odd])
""",
        "y = quicksort(x)\nz = transform(x[:64])\n",
    ),
    "arguments": (
        """
def mutate(a, *more, out=None, **names):
    out = np.zeros_like(a) if out is None else out
    for k, b in enumerate(more):
        out += b * names.get("scale", 1.0)
        a[k] = out.sum()
        print(sorted(names), k)
    if not more:
        return
    rows = []
    for row in a.reshape(-1, 10):
        rows.append(float(row.max()))
        a[:3] *= 2
    return out, rows
""",
        "held = np.ones_like(x)\ny = mutate(x, x * 2, x + 1, out=held, scale=0.5, name='n')\nz = mutate(x)\nsame = y[0] is held\n",
    ),
    "decorated": (
        """
import functools

def twice(f):
    @functools.wraps(f)
    def g(*args):
        a = f(*args)
        b = f(*args)
        print(f.__name__, len(args))
        return a + b
    return g

@twice
def waves(a):
    \"\"\"Waves.\"\"\"
    total: np.ndarray = np.zeros_like(a)
    k: int
    for k in range(4):
        total += np.sin(k * a)
        print(k)
    return total

def visited(items):
    for a in items:
        b = np.sqrt(np.abs(a))
        yield b
""",
        "y = waves(x)\nz = sum(b.sum() for b in visited([x, x + 1]))\nname = waves.__name__, waves.__doc__\n",
    ),
}
CELLS = {
    "branches": """
flag = x.sum() > -1e9
if flag and print("in") is None:
    t = np.exp(-x * x)
    for k in range(6):
        t = t * 0.5 + np.cos(t)
        print(k)
    u = t[t > 0.5]
else:
    u = x
""",
    "with": """
with np.errstate(all="ignore"):
    t = np.log(x)
    for k in range(4):
        t = np.where(np.isnan(t), 0.0, t) + k
        print(k)
    s = np.nansum(t)
""",
    "try": """
try:
    t = x * 2
    total = 0.0
    for k in range(5):
        t = np.sin(t)
        total += t.sum()
        print(k, round(float(total), 9))
    t.reshape(-1, 7)
except ValueError as e:
    said = str(e)
finally:
    after = x + 1
""",
}


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {"np": np, "x": rng.normal(size=300), "m": rng.normal(size=(300, 5)), "__name__": "__main__"}


def values(namespace: dict[str, Any]) -> dict[str, Any]:
    return {
        k: v
        for k, v in namespace.items()
        if not k.startswith("__") and not isinstance(v, types.ModuleType | types.FunctionType | type)
    }


def check(got: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert list(got) == list(expected) if "[" in where else set(got) == set(expected), where
        for key in expected:
            check(got[key], expected[key], f"{where}[{key}]")
    elif isinstance(expected, list | tuple):
        assert type(got) is type(expected) and len(got) == len(expected), where
        for i, (one, other) in enumerate(zip(got, expected, strict=True)):
            check(one, other, f"{where}[{i}]")
    elif isinstance(expected, np.ndarray):
        assert type(got) is np.ndarray and (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=where)
    else:
        assert type(got) is type(expected), (where, type(got), type(expected))
        assert got == expected or np.allclose(got, expected, rtol=1e-9, equal_nan=True), (where, got, expected)


@pytest.fixture(params=["as measured", "at once", "always in parts"])
def worth(request, monkeypatch):
    if request.param != "as measured":
        monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
        monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    if request.param == "always in parts":
        monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
        monkeypatch.setattr(driven_loops, "MOST_CHANGES", 10**6)
    monkeypatch.setattr(driven_functions, "_functions", {})
    return request.param


def defined(source: str, filename: str) -> dict[str, Any]:
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = inputs()
    exec(compile(source, filename, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", PROGRAMS)
def test_cells_that_call_functions(name, worth, capsys):
    functions, cell = PROGRAMS[name]
    filename = f"<functions {name} {worth}>"
    plain, mine = defined(functions, filename), defined(functions, filename)
    for run in range(3):
        capsys.readouterr()
        exec(compile(cell, "<plain>", "exec"), plain)
        said = capsys.readouterr().out
        run_cell(cell, mine, filename=f"<cell {name}>")
        assert capsys.readouterr().out == said
        check(values(mine), values(plain), f"{name}, run {run}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_defined_in_the_same_cell(name, worth, capsys):
    source = "".join(PROGRAMS[name])
    filename = f"<same cell {name} {worth}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    plain, mine = inputs(), inputs()
    for _ in range(2):
        capsys.readouterr()
        exec(compile(source, "<plain>", "exec"), plain)
        said = capsys.readouterr().out
        run_cell(source, mine, filename=filename)
        assert capsys.readouterr().out == said
        check(values(mine), values(plain), name)


@pytest.mark.parametrize("name", CELLS)
def test_blocks_of_cells(name, worth, capsys):
    source = CELLS[name]
    plain, mine = inputs(), inputs()
    for _ in range(3):
        capsys.readouterr()
        exec(compile(source, "<plain>", "exec"), plain)
        said = capsys.readouterr().out
        run_cell(source, mine, filename=f"<block {name}>")
        assert capsys.readouterr().out == said
        check(values(mine), values(plain), name)


CALLS = {
    "gradient descent": ("train", lambda g: (g["m"], g["x"]), {"lr": 0.2}),
    "clusters": ("kmeans", lambda g: (g["m"], 4), {}),
    "heat": ("heat", lambda g: (24, 20, 7), {}),
    "closures": ("fit", lambda g: (g["m"], g["x"]), {}),
    "globals": ("run", lambda g: (g["x"],), {}),
    "leaves": ("search", lambda g: (g["x"], 10.0), {}),
    "tries": ("careful", lambda g: (g["x"],), {}),
    "recursion": ("quicksort", lambda g: (g["x"],), {}),
    "arguments": ("mutate", lambda g: (g["x"], g["x"] * 2, g["x"] + 1), {"scale": 0.5}),
    "decorated": ("waves", lambda g: (g["x"],), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_compiled_functions_run_in_their_own_frames(name, worth, capsys):
    function, arguments, names = CALLS[name]
    filename = f"<compiled {name} {worth}>"
    plain, mine = (defined(PROGRAMS[name][0], filename) for _ in range(2))
    compiled = wb.jit(mine[function])
    for run in range(7):
        theirs, ours = arguments(plain), arguments(mine)
        capsys.readouterr()
        expected = plain[function](*theirs, **names)
        said = capsys.readouterr().out
        got = compiled(*ours, **names)
        assert capsys.readouterr().out == said
        check(got, expected, f"{name}, call {run}")
        check(ours, theirs, name)
        check(values(mine), values(plain), name)


def test_the_hot_statements_of_a_function_run_compiled(monkeypatch):
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
    for name in ("gradient descent", "heat", "a model", "attributes", "leaves"):
        functions, cell = PROGRAMS[name]
        report = run_cell(cell, defined(functions, f"<hot {name}>"), filename=f"<hot cell {name}>").report
        assert report.status == "partly", name
        assert report.kernels and any("×" in bar.name for bar in report.timings.timeline), name
        assert sum(row.share or 0.0 for row in report.kernels) <= 1.0
        report.to_text()
        report.to_html()


RAISES = """
def outer(a):
    b = a * 2
    for k in range(4):
        b = np.sin(b)
        print(k)
        inner(b, k)
    return b

def inner(b, k):
    c = b + 1
    for j in range(3):
        c = c * 1.5
        print(j)
        if k == 2:
            c[k * 1000] = 1.0
            d = unset + 1
    return c
"""


def test_errors_have_the_users_frames_once(worth, capsys):
    plain, mine = defined(RAISES, f"<raises {worth}>"), defined(RAISES, f"<raises {worth}>")
    cell = "x += 1\ny = outer(x)\n"
    with pytest.raises(IndexError) as expected:
        exec(compile(cell, "<cell raises>", "exec"), plain)
    with pytest.raises(IndexError) as caught:
        run_cell(cell, mine, filename="<cell raises>")
    assert str(caught.value) == str(expected.value)
    assert frames_of(caught.value) == frames_of(expected.value)
    assert_same(mine["x"], plain["x"])
    assert set(values(mine)) == {"x", "m"}


def frames_of(error: BaseException) -> list[tuple[str, int | None, str]]:
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.filename, f.lineno, f.name) for f in frames if f.filename.startswith("<")]


UNSET = """
other = 1.0

def reads(a, set_it):
    for k in range(3):
        b = np.cos(a)
        if set_it:
            other = 2.0
        print(k)
        c = b + other
    return c
"""


def test_an_unset_variable_is_no_global(worth):
    plain, mine = defined(UNSET, f"<unset {worth}>"), defined(UNSET, f"<unset {worth}>")
    for _ in range(2):
        with pytest.raises(UnboundLocalError) as expected:
            exec("y = reads(x, False)", plain)
        with pytest.raises(UnboundLocalError) as caught:
            run_cell("y = reads(x, False)\n", mine, filename="<cell unset>")
        assert str(caught.value) == str(expected.value)
    run_cell("y = reads(x, True)\n", mine, filename="<cell set>")
    exec("y = reads(x, True)", plain)
    check(mine["y"], plain["y"], "y")


def test_functions_of_the_user_are_left_as_they_are(worth):
    functions, cell = PROGRAMS["a model"]
    mine = defined(functions, f"<left {worth}>")
    codes = {k: v.__code__ for k, v in vars(mine["Model"]).items() if isinstance(v, types.FunctionType)}
    before = copy.copy(codes)
    run_cell(cell, mine, filename="<cell left>")
    assert all(vars(mine["Model"])[k].__code__ is code for k, code in before.items())


def traces_of(monkeypatch) -> list[str]:
    """The places of pieces, and `cell` for cells, that are traced from now on."""
    traced: list[str] = []
    for module in (runtime_cells, parts):
        original = module.trace_cell

        def counted(*args, original=original, **kwargs):
            traced.append("cell" if isinstance(args[0], str) else "part")
            return original(*args, **kwargs)

        monkeypatch.setattr(module, "trace_cell", counted)
    return traced


NESTED = """
def smoothed(x, span):
    factor, shift = 2 / (span + 1), [1.0, 2.0]

    def smooth(y, k=3.0):
        out = np.empty_like(y)
        out[0] = y[0]
        for i in range(1, len(y)):
            out[i] = factor * y[i] + (1 - factor) * out[i - 1] + shift[1] * k
        return out

    y = smooth(x) - smooth(x * 2)
    y = y + smooth(y)
    print(y.shape)
    return y

def counted(x, start):
    def add(v):
        nonlocal start
        start = start + v
        return start * x
    y = add(1.5) + add(2.0)
    print(y.shape)
    z = add(3.0)
    return y, z, start

def chosen(x, k):
    def first(y):
        return y * k
    def second(y):
        return y - k
    f = g = first if k > 4 else second
    y = f(x) + g(x)
    print(y.shape)
    z = g(y) * 2
    return y, z, f is g
"""


@pytest.mark.parametrize("name", ["smoothed", "counted", "chosen"])
@pytest.mark.parametrize("worth", ["always in parts"], indirect=True)
def test_functions_that_a_function_makes_anew_are_known_by_their_code(name, worth, monkeypatch, capsys):
    mine, theirs = defined(NESTED, f"<nested {name}>"), defined(NESTED, f"<nested {name} in numpy>")
    x = np.random.default_rng(0).random(500)
    traced, counts = traces_of(monkeypatch), []
    for k in (3, 3, 3, 3, 5.0, 5.0, 5.0, 5.0):
        mine |= {"given": x, "k": k}
        run_cell(f"result = {name}(given, k)\nprint(k)\n", mine, filename=f"<cell of {name}>")
        assert_same(mine["result"], theirs[name](x, k))
        counts.append(len(traced))
    assert counts[2] == counts[3] and counts[6] == counts[7]


def test_loops_of_functions_within_are_one_equation(monkeypatch, capsys):
    monkeypatch.setattr(driven_functions, "_functions", {})
    namespace = defined("import numpy as np\n" + NESTED, "<nested loops>")
    how = driven_functions.driven_function(namespace["smoothed"])
    within = [code for code in how.code.co_consts if isinstance(code, types.CodeType)]
    assert [code for code in within if code in namespace["smoothed"].__code__.co_consts and syntax_of(code)]


def test_a_cell_that_runs_again_is_not_traced_again(monkeypatch, capsys):
    source = (
        "y = np.exp(-x * x) + helper(x)\nprint(y.sum().round(6))\nz = np.sqrt(y) + 1\nk = z[z > 1.5]\n"
        "for i in range(3):\n    z = z * 0.5\n    print(i)\nlast = (z + 1).sum()\n"
    )
    namespace = defined("def helper(a):\n    return a.clip(0, 1)\n", "<helper>")
    traced = traces_of(monkeypatch)
    counts = []
    for _ in range(3):
        run_cell(source, namespace, filename="<cell again>")
        counts.append(len(traced))
        traced.clear()
    assert counts[0] > 2 and counts[1:] == [0, 0]
    namespace["x"] = namespace["x"].astype(np.float32)
    run_cell(source, namespace, filename="<cell again>")
    assert traced
    namespace["x"] = namespace["x"].astype(np.float64)
    traced.clear()
    exec(compile("def helper(a):\n    return a.clip(0, 2)\n", "<other helper>", "exec"), namespace)
    report = run_cell(source, namespace, filename="<cell again>").report
    assert traced and report.status == "partly"
    plain = dict(namespace)
    exec(source, plain)
    check(values(namespace), values(plain), "again")


def test_another_function_under_the_name_that_a_function_calls(monkeypatch, capsys):
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
    functions = (
        "def step(a):\n    print('step')\n    return np.cos(a)\n\n"
        "def run(a):\n    for k in range(6):\n        a = step(a) * 0.5\n        print(k)\n    return a\n"
    )
    mine, plain = defined(functions, "<steps>"), defined(functions, "<steps>")
    other = "def step(a):\n    return np.sin(a) + 1\n"
    linecache.cache["<other steps>"] = (len(other), None, other.splitlines(keepends=True), "<other steps>")
    run_cell("y = run(x)\n", mine, filename="<cell steps>")
    for namespace in (mine, plain):
        exec(compile(other, "<other steps>", "exec"), namespace)
    report = run_cell("y = run(x)\n", mine, filename="<cell steps>").report
    exec("y = run(x)\n", plain)
    check(mine["y"], plain["y"], "y")
    assert any("sin" in kernel.name for kernel in report.kernels)


def test_the_report_shows_pieces_where_they_stand(monkeypatch, capsys):
    monkeypatch.setattr(driven_loops, "WORTH_S", 0.0)
    monkeypatch.setattr(driven_loops, "WAIT_S", 0.0)
    monkeypatch.setattr(driven_loops, "TRIED_RUNS", 10**6)
    functions = "def f(a):\n    for k in range(5):\n        a = np.tanh(a) + 1\n        print(k)\n    return a\n"
    elsewhere = run_cell("z = 1\ny = f(x)\n", defined(functions, "<defined before>"), filename="<call>").report
    source = functions + "y = f(x)\n"
    here = run_cell(source, inputs(), filename=cached("<defined here>", source)).report
    for report, line in ((elsewhere, 2), (here, 3)):
        (step,) = {row.step for row in report.stages[-1].equations if row.primitive == "tanh"}
        spans = [s.line for row in report.stages[-1].equations if row.step == step for s in row.spans]
        assert spans and set(spans) == {line}


def cached(filename: str, source: str) -> str:
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return filename


def test_attributes_that_a_loop_in_a_method_sets_and_reads():
    class Clusters:
        def fit(self, x):
            assert time.time() > 0  # runs in NumPy
            for turn in range(5):
                self.labels = x[:, 0] > turn
                self.sums = [x[self.labels].sum() for _ in range(2)]

    x, ours, theirs = np.arange(18.0).reshape(9, 2) / 3, Clusters(), Clusters()
    namespace = {"np": np, "__name__": "__main__", "clusters": ours, "x": x}
    for _ in range(3):
        run_cell("clusters.fit(x)", namespace, filename="<clusters>")
        theirs.fit(x)
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        assert ours.sums == theirs.sums
