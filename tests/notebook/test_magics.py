"""`%%jit` and `%workbench` in a real shell: values, display, options, errors as Python's own."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import TracingError

PHOTO_CELL = """%%jit
gray = photo @ np.array([0.2126, 0.7152, 0.0722])
blur = (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]) / 8
edges = np.sqrt((blur[1:, :-1] - blur[:-1, :-1])**2 + (blur[:-1, 1:] - blur[:-1, :-1])**2)
tone = 1 / (1 + np.exp(-8 * (edges / edges.max() - 0.3)))
"""


def in_numpy(cell: str, **names):
    names["np"] = np
    exec(cell.partition("\n")[2], names)
    return names


@pytest.fixture
def nothing_compiled_yet(tmp_path):
    with wb.config(cache_dir=str(tmp_path)):
        yield


def test_a_cell_leaves_numpy_arrays_equal_to_numpys(shell, nothing_compiled_yet):
    photo = np.random.default_rng(0).random((40, 50, 3))
    shell.ip.push({"photo": photo})
    shell(PHOTO_CELL)
    assert shell.error is None, shell.text
    expected = in_numpy(PHOTO_CELL, photo=photo)
    for name in ("gray", "blur", "edges", "tone"):
        assert type(shell[name]) is np.ndarray
        np.testing.assert_allclose(shell[name], expected[name], rtol=1e-12)
    assert shell.report.status == "compiled"
    assert shell.report.summary.n_kernels >= 1
    assert shell.report.cell.source.startswith("%%jit\ngray")


def test_the_last_expression_is_shown_before_the_report(shell, nothing_compiled_yet):
    shell("x = np.arange(4.0)")
    shell("%%jit\ny = x * 2\ny.sum()")
    assert shell.result == 12.0
    assert shell.ip.user_ns["_"] == 12.0
    assert "compiled" in shell.io.outputs[0].data["text/plain"]


def test_a_semicolon_hides_the_last_expression(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit\nx.sum();")
    assert shell.result is None and shell.error is None


def test_running_a_cell_again_finds_it_compiled(shell):
    shell("x = np.arange(4.0)")
    cell = "%%jit\ny = np.exp(x) + 1"
    shell(cell)
    shell("x = np.arange(4.0) * 3")
    shell(cell)
    np.testing.assert_allclose(shell["y"], np.exp(np.arange(4.0) * 3) + 1)
    assert shell.report.status == "cached"


def test_temporaries_are_not_kept(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit\n_t = x * 2\ny = _t + 1")
    assert "y" in shell and "_t" not in shell


def test_out_keeps_only_what_is_listed(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --out b,c\na = x + 1\nb = a * 2\nc = b - 3\nd = c * c")
    assert shell.error is None
    assert "b" in shell and "c" in shell and "a" not in shell and "d" not in shell


def test_an_input_may_be_updated_in_place(shell):
    shell("x = np.arange(4.0)\nalias = x")
    shell("%%jit\nx[1:] += 10\ny = x * 2")
    np.testing.assert_array_equal(shell["alias"], [0, 11, 12, 13])
    np.testing.assert_array_equal(shell["y"], [0, 22, 24, 26])
    assert shell["x"] is shell["alias"]


def test_an_array_that_changes_never_gives_a_stale_result(shell):
    shell("x = np.arange(4.0)")
    cell = "%%jit\ny = x * 2"
    shell(cell)
    shell("x[0] = 100")
    shell(cell)
    assert shell["y"][0] == 200


# ---- what cannot be compiled runs in NumPy, with the reason ----


@pytest.mark.parametrize(
    ("cell", "code", "line"),
    [
        ("%%jit\nif x.max() > 2:\n    y = x * 2\nelse:\n    y = x[1:]", "WB181", 2),
        ("%%jit\ny = np.ones(int(x.sum()))", "WB102", 2),
        ("%%jit\ny = np.array(['a', 'b'])\nz = y == 'a'", "", None),
        ("%%jit\ny = x[x > 1]", "WB110", 2),
        ("%%jit\nfor i in range(3):\n    print(*[x[i]])\ny = x", "WB160", 3),
    ],
)
def test_untraceable_cells_run_in_numpy(shell, cell, code, line):
    x = np.arange(4.0)
    shell.ip.push({"x": x})
    shell(cell)
    assert shell.error is None, shell.text
    expected = in_numpy(cell, x=x)
    np.testing.assert_array_equal(shell["y"], expected["y"])
    report = shell.report
    if code:
        assert report.status == ("partly" if code == "WB181" else "numpy")  # the branch that was taken is compiled
        assert report.fallbacks[0].code == code
        assert report.fallbacks[0].span.line == line
        assert report.cell.source.splitlines()[line - 1].strip()


def test_effects_happen_once_a_run(shell):
    shell("x = np.arange(3.0)\nlog, queue = [], [1, 2, 3]")
    cell = "%%jit\nlog.append(x.sum())\nqueue.pop()\ny = x + 1"
    shell(cell)
    shell(cell)
    assert shell["log"] == [3.0, 3.0]
    assert shell["queue"] == [1]
    assert shell.report.status == "partly"
    for _ in range(2):
        shell("%%jit\nlog.append(x.sum())\ny = x + 1")
    assert shell["log"] == [3.0] * 4
    assert shell.report.status == "cached"


@pytest.mark.parametrize("options", ["", "--fast"])
def test_a_sum_of_residuals_is_the_same_result(shell, options):
    """Of which nothing but roundings is left; they are others in another order."""
    shell("m = np.random.default_rng(0).normal(size=(300, 800))\nkeep = m.copy()")
    shell(f"%%jit --verify {options}\nc = m - m.mean(1)[:, None]\nm[0] += 1.0\ns = (c / c.std(1)[:, None]).sum()\ns")
    verification = shell.report.verification
    assert verification.ok and verification.max_ulp < 64
    np.testing.assert_array_equal(shell["m"][1:], shell["keep"][1:])
    assert abs(shell["s"]) < 1e-10


def test_fast_cells_and_exact_ones_are_two(shell):
    shell("import numpy as np\nx = np.linspace(1, 2, 1000)\ny = x * x")
    shell("%%jit\nz = x * x - y")
    assert not shell["z"].any()
    assert shell.report.kernels[0].target == "cpu"
    shell("%%jit --fast\nz = x * x - y")
    assert abs(shell["z"]).max() < 1e-15
    assert shell.report.kernels[0].target == "cpu, fast"
    shell("%%jit\nz = x * x - y")
    assert not shell["z"].any()


def test_strict_raises_instead(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --strict\nif x.max() > 2:\n    y = x * 2")
    assert type(shell.error).__name__ == "TracerBoolConversionError"
    assert "y" not in shell


# ---- errors are Python's and NumPy's own, at the user's line ----


@pytest.mark.parametrize(
    ("body", "error", "line"),
    [
        ("y = x * 2\nz = undefined + 1", NameError, 3),
        ("y = x * 2\nz = y + np.ones(3)", ValueError, 3),
        ("y = x @ np.ones((3, 3))", ValueError, 2),
        ("y = x.sum(axis=4)", np.exceptions.AxisError, 2),
        ("y = 1\nz = x.no_such_method()", AttributeError, 3),
        ("y = 2\nz = x[10]", IndexError, 3),
        ("def f(a):\n    return a + np.ones(7)\ny = f(x)", ValueError, 3),
        ("y = x + 1\nraise RuntimeError('mine')", RuntimeError, 3),
    ],
)
def test_errors_are_numpys_own(shell, body, error, line):
    shell("x = np.arange(4.0)")
    before = dict(shell.ip.user_ns)
    try:
        exec(body, {"np": np, "x": np.arange(4.0)})
    except error as expected:
        message = str(expected)
    shell("%%jit\n" + body)
    assert type(shell.error) is error
    assert str(shell.error) == message
    assert f"line {line}" in shell.text or f"--> {line}" in shell.text
    assert "workbench/" not in shell.text and "run_cell_magic" not in shell.text
    changed = {n for n, v in shell.ip.user_ns.items() if not n.startswith("_") and before.get(n) is not v}
    assert changed <= {"In", "Out"}


def test_a_syntax_error_is_pythons_own(shell):
    shell("x = 1")
    shell("%%jit\ny = x +\nz = 2")
    assert type(shell.error) is SyntaxError
    assert shell.error.lineno == 2
    assert "workbench/" not in shell.text
    assert "y" not in shell and "z" not in shell
    shell("y = )")  # the shell's own way of showing errors is back
    assert type(shell.error) is SyntaxError
    assert not shell.ip.custom_exceptions


def test_an_error_undoes_writes_into_inputs(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit\nx += 1\ny = x + np.ones(3)")
    assert type(shell.error) is ValueError
    np.testing.assert_array_equal(shell["x"], np.arange(4.0))


def test_an_interrupt_leaves_names_and_caches_usable(shell, monkeypatch):
    from workbench.runtime import cells

    shell("x = np.arange(4.0)")
    run = cells.run_cell

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cells, "run_cell", interrupted)
    shell("%%jit\ny = x * 2")
    assert type(shell.error) is KeyboardInterrupt and "y" not in shell
    monkeypatch.setattr(cells, "run_cell", run)
    shell("%%jit\ny = x * 2")
    np.testing.assert_array_equal(shell["y"], np.arange(4.0) * 2)


def test_a_bug_of_ours_does_not_cost_the_result(shell, monkeypatch):
    from workbench.runtime import cells

    def broken(*args, **kwargs):
        raise KeyError("a bug")

    broken.__code__ = broken.__code__.replace(co_filename=cells.__file__)  # as one of ours
    monkeypatch.setattr(cells, "run_cell", broken)
    shell("x = np.arange(4.0)")
    shell("%%jit\ny = x * 2")
    assert shell.error is None
    np.testing.assert_array_equal(shell["y"], np.arange(4.0) * 2)
    assert shell.report.status == "failed" and "KeyError" in shell.report.reason


# ---- the baseline ----


def test_the_baseline_is_the_users_cell_in_numpy(shell):
    shell("x = np.random.default_rng(0).normal(size=100_000)")
    shell("%%jit\ny = np.exp(x) * 2 + x")
    report = shell.report
    assert len(report.timings.numpy_ms) >= 3
    assert report.summary.numpy_ms == pytest.approx(np.median(report.timings.numpy_ms))
    assert report.summary.speedup == pytest.approx(report.summary.numpy_ms / report.summary.time_ms)
    assert report.verification.ok


def test_the_baseline_can_be_switched_off(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --no-compare\ny = x + 1")
    assert shell.report.summary.numpy_ms is None


def test_the_baseline_changes_nothing(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --compare\nx += 1\ny = x.copy()")
    np.testing.assert_array_equal(shell["x"], np.arange(4.0) + 1)


HOLDERS = """
import numpy as np
from collections import namedtuple
class Body:
    drag = np.ones(2)
    def __init__(self, r, v): self.r, self.v = np.array(r, float), np.array(v, float)
def make_counter():
    counts = np.zeros(3)
    def count(): counts[1:] += 1; return counts
    return count
Pair = namedtuple("Pair", "a b")
bodies = [Body([0, 1], [0, 2]), Body([1, 0], [0, 3])]
sun = bodies[0]
state, scale, count = np.arange(4.0), 2.0, make_counter()
pair, table = Pair(np.zeros(2), np.ones(2)), {"rows": [np.zeros(2), np.ones(2)]}
def advance(by):
    state[:2] += by * scale
    return state.sum()
"""


@pytest.mark.parametrize(
    "cell",
    [
        "for b in bodies:\n    b.v += 0.5\n    b.r += b.v * 0.1",
        "sun.r[0] = 7.0\nBody.drag *= 2\nd = sun.r @ Body.drag",
        "total = advance(3.0) + advance(1.0)",
        "total = advance(3.0)\nscale = scale * 10\nagain = advance(1.0)",
        "c = count() * 2",
        "pair.a[...] = pair.b * 3\ntable['rows'][0] += table['rows'][1]",
        "first = state[:2]\nfirst *= 3\nstate = state + 1",
        "def twice(x):\n    x *= 2\n    return x\nt = twice(state).sum()",
        "old = state\nstate = np.zeros(3)\nold[1] = 5.0\ndel old",
    ],
)
def test_the_baseline_changes_nothing_that_objects_functions_and_containers_hold(shell, cell):
    def held():
        bodies = shell["bodies"]
        arrays = [a for b in bodies for a in (b.r, b.v)] + [bodies[0].drag, shell["state"], shell["pair"].a]
        cell_contents = shell["count"].__closure__[0].cell_contents
        return [*map(np.copy, arrays), np.copy(cell_contents), np.copy(shell["table"]["rows"]), shell["scale"]]

    shell(HOLDERS + cell)
    expected = held()
    shell(HOLDERS)
    owner = shell["bodies"][0].v
    shell("%%jit --compare\n" + cell)
    assert shell.error is None
    assert shell.report.status in ("compiled", "cached")
    assert shell.report.verification.ok and shell.report.verification.results
    assert len(shell.report.timings.numpy_ms) > 1
    for ours, numpys in zip(held(), expected, strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert shell["bodies"][0].v is owner


def test_verify_keeps_numpys_result_where_it_differs(shell, monkeypatch):
    from workbench.runtime import cells

    run = cells.run_cell

    def wrong(*args, **kwargs):
        result = run(*args, **kwargs)
        result.values["y"] = result.values["y"] + 1
        return result

    monkeypatch.setattr(cells, "run_cell", wrong)
    shell("x = np.arange(4.0)")
    shell("%%jit --verify\ny = x * 2")
    np.testing.assert_array_equal(shell["y"], np.arange(4.0) * 2)
    assert not shell.report.verification.ok


# ---- %workbench ----


def test_explain_works_offline(shell):
    shell("%workbench explain WB101")
    assert "np.where" in shell.text
    shell("%workbench explain nonsense")
    assert "no such code" in shell.text and "WB160" in shell.text


def test_reports_can_be_had_again(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --quiet --report r\ny = x + 1")
    assert not shell.io.outputs
    report = shell["r"]
    shell("again = %workbench report")
    assert shell["again"] is report
    shell(f"%workbench report {report.cell.label[3:-1]}")
    assert shell.error is None
    shell("%workbench report 99")
    assert "no report of In[99]" in shell.text


def test_show_prints_a_view(shell):
    shell("x = np.arange(4.0)")
    shell("%%jit --show ir\ny = x + 1")
    assert "lambda" in shell.text


def test_config_is_shown_and_set(shell):
    shell("%workbench config")
    assert "threads" in shell.text
    shell("%workbench config threads=1")
    from workbench.config import config

    assert config.threads == 1
    shell("%workbench config threads=0")
    assert config.threads == 0
    shell("%workbench config nonsense=1")
    assert "nonsense" in shell.text


def test_cache_is_described(shell):
    shell("%workbench cache")
    assert "kernel" in shell.text


def test_unloading_removes_the_magics(shell):
    shell("%unload_ext workbench")
    shell("%%jit\ny = 1")
    assert "not found" in shell.text


LOOPS_OF_CELLS = {
    "a row that stays a view": """
path = np.zeros((200, 3))
path[0] = start
for i in range(199):
    here = path[i]
    slope = falling(here)
    halfway = falling(here + slope / 2)
    path[i + 1] = here + halfway
""",
    "what only the last iteration leaves": """
total = np.zeros(40)
for i in range(30):
    shifted = np.roll(table, i)
    product = shifted * table
    total += product
    largest = product.max()
""",
    "a global that a function reads before the loop sets it": """
gain = 1.0
seen = np.zeros(50)
for i in range(50):
    seen[i] = gained(table[i % 40])
    gain = i * 0.5
""",
    "a global that a function reads after the loop set it": """
seen = np.zeros(50)
for i in range(50):
    gain = i * 0.5
    seen[i] = gained(table[i % 40])
""",
    "an array that a function reads before the loop replaces it": """
bias = np.ones(40)
for i in range(12):
    table = table + biased(table)
    bias = np.cos(table)
""",
    "a variable that a nested function reads": """
def run(values):
    level = 1.0
    def raised(v): return v * level
    for i in range(len(values)):
        values[i] = raised(values[i])
        level = i * 0.25
    return level
last = run(table)
""",
}


@pytest.mark.parametrize("cell", LOOPS_OF_CELLS.values(), ids=LOOPS_OF_CELLS)
def test_loops_of_cells_leave_what_numpy_leaves(shell, cell):
    def names():
        rng = np.random.default_rng(0)
        given = {"np": np, "start": rng.random(3), "table": rng.random(40), "gain": 7.0, "bias": np.zeros(40)}
        exec("def falling(p): return np.array([p[1], -p[0], p[2] * 0.5])", given)
        exec("def gained(v): return v * gain\ndef biased(v): return v * bias", given)
        return given

    expected = names()
    exec(cell, expected)
    shell.ip.user_ns.update(names())
    for name in ("gained", "biased"):  # they read the names of the notebook
        exec(f"def {name}(v): return v * {'gain' if name == 'gained' else 'bias'}", shell.ip.user_ns)
    shell(f"%%jit\n{cell}")
    assert shell.error is None, shell.text
    is_left = cell == LOOPS_OF_CELLS["a global that a function reads before the loop sets it"]
    assert is_left or shell.report.status in ("compiled", "cached"), shell.text
    for name, value in expected.items():
        if isinstance(value, np.ndarray | np.generic | float | int):
            assert type(shell[name]) is type(value), name
            np.testing.assert_allclose(shell[name], value, rtol=1e-12)


def test_a_row_that_the_last_iteration_took_shares_the_arrays_memory(shell):
    names = {"start": np.ones(3)}
    exec("import numpy as np\ndef falling(p): return np.array([p[1], -p[0], p[2] * 0.5])", names)
    shell.ip.user_ns.update(names)
    shell("%%jit" + LOOPS_OF_CELLS["a row that stays a view"])
    assert shell.report.status in ("compiled", "cached"), shell.text
    shell["here"][:] = 5.0
    np.testing.assert_array_equal(shell["path"][198], 5.0)


@pytest.mark.parametrize("matrix", ["np.zeros((3, 3))", "np.eye(3)"])
def test_code_that_catches_a_singular_matrix_is_no_bug_of_ours(shell, matrix):
    shell(f"A = {matrix}")
    shell(
        "%%jit\ntry:\n    inverse = np.linalg.inv(A)\n"
        "except np.linalg.LinAlgError as error:\n    inverse = np.full((3, 3), np.nan); message = str(error)"
    )
    assert shell.error is None, shell.text
    singular = "zeros" in matrix
    assert ("message" in shell) == singular
    np.testing.assert_array_equal(shell["inverse"], np.full((3, 3), np.nan) if singular else np.eye(3))
    assert shell.report.status in (("numpy",) if singular else ("compiled", "cached"))
    assert "WB903" not in shell.text


def test_what_a_cell_imports_is_the_object_itself(shell):
    shell(
        "%%jit\nimport json\nfrom typing import NamedTuple\nfrom dataclasses import dataclass\n"
        "from collections import Counter, namedtuple\nfrom json import dumps\nx = np.arange(5.0) * 2\n"
    )
    assert shell.error is None and shell.report.kernels
    shell("import typing, dataclasses, collections\nassert NamedTuple is typing.NamedTuple and dumps is json.dumps")
    assert shell.error is None
    shell("assert dataclass is dataclasses.dataclass and namedtuple is collections.namedtuple")
    assert shell.error is None
    shell("assert Counter is collections.Counter\nclass Point(NamedTuple):\n    x: float = 0.0\nPoint(1.0)")
    assert shell.error is None


def test_names_of_numpy_can_be_imported_in_a_cell(shell):
    shell("x = np.arange(20.0)")
    shell("%%jit\nfrom numpy.lib.stride_tricks import sliding_window_view\nfrom numpy import convolve as c\n"
          "means = sliding_window_view(x, 4).mean(axis=-1)")  # fmt: skip
    assert shell.error is None, shell.text
    assert shell.report.status in ("compiled", "cached"), shell.text
    assert shell["c"] is np.convolve and shell["sliding_window_view"] is np.lib.stride_tricks.sliding_window_view
    np.testing.assert_allclose(shell["means"], np.lib.stride_tricks.sliding_window_view(shell["x"], 4).mean(axis=-1))


@pytest.mark.parametrize("cell", LOOPS_OF_CELLS.values(), ids=LOOPS_OF_CELLS)
def test_a_loop_does_not_depend_on_the_names_that_it_left_before(shell, cell):
    shell("import numpy as np\ntable = np.random.default_rng(0).random(40)\nstart = table[:3]\n"
          "def falling(p): return np.array([p[1], -p[0], p[2] * 0.5])\n"
          "def gained(v): return v + 1\ndef biased(v): return v + 2")  # fmt: skip
    for _ in range(2):
        shell(f"%%jit\ntable = table + 0.0{cell}")
        assert shell.error is None, shell.text
    assert shell.report.status == "cached", shell.text


# ---- objects from outside ----


OBJECTS = """
import numpy as np
class Body:
    def __init__(self, r): self.r = np.array(r, float)
    def size(self): return self.r.sum()
sun, earth = Body([1, 2]), Body([3, 4])
params, names = {"w": np.ones(2), "rate": 0.5}, ["a", "b"]
"""


@pytest.mark.parametrize(
    "cell, same",
    [
        ("bodies = [sun, earth]\ntotal = sun.r + earth.r", "bodies[0] is sun and bodies[1] is earth"),
        ("kept = params\ny = params['w'] * 2", "kept is params and kept['w'] is params['w']"),
        ("best = {'p': params, 'n': [names, names]}", "best['p'] is params and best['n'][0] is best['n'][1] is names"),
        ("size = earth.size\nz = size() * 1", "size() == earth.r.sum() and size.__self__ is earth"),
        ("def first(b=sun): return b\nq = sun.r * 2", "first() is sun"),
        (
            "rows = []\nfor b in (sun, earth):\n    rows.append(b.r * 2)\nalias = rows",
            "alias is rows and len(rows) == 2",
        ),
    ],
)
def test_what_a_cell_keeps_of_objects_is_the_very_object_of_this_run(shell, cell, same):
    for prefix in ("", "%%jit\n"):  # made by plain cells, then by cells of ours; each time anew
        for _ in range(2):
            shell(prefix + OBJECTS)
            shell("%%jit\n" + cell)
            assert shell.error is None
            shell(f"holds = {same}")
            assert shell["holds"] is True


@pytest.mark.parametrize(
    ("definition", "use", "state"),
    [
        ("class Tally:\n    n = 0\n    def add(self):\n        Tally.n += 1", "Tally().add()", "Tally.n"),
        ("class Plain:\n    n = 0", "Plain.n += 1", "Plain.n"),
        ("def keep(v, seen=[]):\n    seen.append(v)\n    return len(seen)", "keep(1)", "keep(2)"),
        ("def make():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n    return inc\n"
         "inc = make()", "inc()", "inc()"),
    ],
)  # fmt: skip
def test_what_a_cell_defines_begins_anew_at_every_run(shell, definition, use, state):
    shell("import numpy as np\nx = np.arange(3.0)")
    found = {}
    for prefix in ("", "%%jit\n"):
        for _ in range(2):
            shell(f"{prefix}{definition}\ny = x * 2")
            shell(use)
            shell(f"state = {state}")
            assert shell.error is None
            found.setdefault(prefix, []).append(shell["state"])
    assert found[""] == found["%%jit\n"]


def test_a_cell_may_define_enumerations(shell):
    shell("import numpy as np\nx = np.arange(3.0)")
    shell("%%jit\nfrom enum import Enum\nclass Mode(Enum):\n    FAST = 2\n    def twice(self): return 2 * self.value\n"
          "y = x * Mode.FAST.value")  # fmt: skip
    assert shell.error is None and shell.report.status != "failed"
    shell("ok = Mode(2) is Mode.FAST and Mode.FAST.twice() == 4 and y[2] == 4.0")
    assert shell["ok"]


COUNTER = """
pos, x, seen = 0, np.arange(6.0), {"n": 0}
def push(v):
    global pos
    pos += 1
    return v * pos
def mark(v):
    seen["n"] += 1
    return v * seen["n"]
class Log:
    def add(self, v):
        seen["n"] += 1
        return push(v)
log = Log()
y = x * 0
"""


@pytest.mark.parametrize(
    "body",
    [
        "for k in range(5):\n    y = y + push(x)",
        "for k in range(70):\n    y = y + push(x * k)",
        "for k in range(30):\n    y = y + mark(x)",
        "for k in range(30):\n    y = y + log.add(x)",
        "while y.sum() < 900:\n    y = y + push(x)",
        "if x.sum() > 3:\n    y = push(x)\nelse:\n    y = push(x) + push(x)",
        "y = push(x) if x.sum() > 3 else mark(x)",
        "def twice(v):\n    return push(push(v))\nfor row in np.ones((40, 6)):\n    y += twice(row)",
    ],
)
def test_what_functions_do_to_variables_happens_as_often_as_in_python(shell, body):
    shell("import numpy as np" + COUNTER + body)
    expected = shell["y"].copy(), shell["pos"], shell["seen"]["n"]
    shell("%%jit" + COUNTER + body)
    assert shell.error is None
    np.testing.assert_array_equal(shell["y"], expected[0])
    assert (shell["pos"], shell["seen"]["n"]) == expected[1:]


def test_an_error_in_a_cell_that_reads_a_read_only_array_is_the_users_own(shell):
    shell("import numpy as np\na = np.ones(3)\nb = np.broadcast_to(np.arange(3.0), (2, 3))")
    shell("%%jit\na += 1\nc = a + b\nd = c @ missing\n")
    assert isinstance(shell.error, NameError) and shell.error.__context__ is None
    assert shell["a"].tolist() == [1, 1, 1] and "c" not in shell


def test_functions_of_compiled_cells_are_converted_like_others(shell):
    """Their file's text begins with the magic."""
    shell("%%jit\nimport numpy as np\ndef fill(x):\n    y = np.empty(len(x))\n    for i in range(len(x)):\n"
          "        y[i] = 1 / x[i]\n    return y\nclass Filler:\n    def run(self, x):\n        return fill(x) + 1\n"
          "x = np.arange(1.0, 400.0)")  # fmt: skip
    for cell in ("%%jit\ny = fill(x)", "%%jit\ny = Filler().run(x)"):
        shell(cell)
        assert shell.error is None and shell.report.status in ("compiled", "cached") and shell.report.summary.n_ops < 10
    np.testing.assert_array_equal(shell["y"], 1 / shell["x"] + 1)


def test_a_cell_that_runs_again_in_a_terminal_is_known_and_shown_under_its_new_number(shell):
    shell.ip.push({"np": np, "x": np.ones(5), "n": 2})
    cell = "%%jit\nprint(n)\ny = x[:n] / n\nassert n, 'none'"
    names = []
    for k, n in enumerate((2, 2, 0), start=1):
        shell.ip.execution_count = k
        shell.ip.push({"n": n})
        ran = shell.ip.run_cell(cell, store_history=True)
        names.append(shell.report.cell.filename)
    assert len(set(names)) == 1
    assert isinstance(ran.error_in_exec, AssertionError)
    label, name = shell.ip.compile.format_code_name(names[0])
    assert (label, name) == ("Cell", "In[3]")


def test_an_error_that_only_the_trace_raises_is_no_failure_of_the_workbench(shell):
    """NumPy goes into the `except`, of which tracing knows nothing."""
    shell("import numpy as np")
    shell("%%jit\ntry:\n    v = np.linalg.inv(np.zeros((2, 2)))\nexcept np.linalg.LinAlgError as error:\n"
          "    why = str(error)\nlast = why")  # fmt: skip
    assert shell.error is None and shell["last"] == "Singular matrix"
    assert shell.report.status == "numpy"
    assert "Line 6 raises NameError" in shell.report.reason and "while it is traced" in shell.report.reason


def test_a_name_to_keep_that_the_cell_does_not_assign(shell):
    from IPython.core.error import UsageError

    shell("import numpy as np")
    shell("%%jit --out y,nosuch\nx = np.ones(3)\ny = x + 1")
    assert isinstance(shell.error, UsageError) and "nosuch" in str(shell.error)
    assert "y" not in shell


@pytest.mark.parametrize("line", ["print('once')", "s = str(x)", "s = f'{x.sum()}'", "t = random.random()"])
def test_a_strict_cell_does_nothing_that_must_happen_at_every_run(shell, line):
    shell("import numpy as np, random\nx = np.ones(3)")
    for _ in range(2):
        shell(f"%%jit --strict -q\n{line}\ny = x * 2")
        assert isinstance(shell.error, TracingError) and shell.error.span.line == 2
        assert not shell.io.stdout.startswith("once") and not {"s", "t", "y"} & set(shell.ip.user_ns)


@pytest.mark.parametrize("prints", ["", "print(end='')\n", "print(end='', flush=True); s = str(x)\n"])
def test_the_names_that_a_cell_leaves_do_not_depend_on_how_it_ran(shell, prints):
    shell("import numpy as np\nx, w = np.ones(3), 1")
    lines = f"import os\ndef f(a): return a + 1\nw, _t, _a = 3, 3, x * 3\nv = f(x)\n{prints}y = v + 1"
    names = {"os", "f", "v", "y", "_t", "_a"}
    shell(f"%%jit -q --out y\n{lines}")
    assert names & set(shell.ip.user_ns) == {"y"} and shell.ip.user_ns["w"] == 1
    shell(f"%%jit -q\n{lines}")
    assert names & set(shell.ip.user_ns) == {"os", "f", "v", "y"} and shell.ip.user_ns["w"] == 3
    np.testing.assert_array_equal(shell.ip.user_ns["y"], np.full(3, 3.0))


@pytest.mark.parametrize("line", ["x[3:].mean()", "np.mean(x[3:])", "x[:1].var(ddof=2)", "np.std(x[3:])"])
def test_warnings_of_a_trace_are_at_the_users_line(shell, line):
    shell("import numpy as np\nx = np.ones(3)")
    with pytest.warns(RuntimeWarning, match="Mean of empty|Degrees of freedom") as caught:
        shell(f"%%jit -q --no-compare\n\na = 1\nb = {line}\ny = x + b")
    assert {w.lineno for w in caught} == {3} and not any("workbench" in w.filename for w in caught)


def test_a_cached_cell_is_compared_again_when_its_runs_may_differ(shell, monkeypatch):
    from workbench.notebook import baseline

    measured = []
    plain = baseline.measure
    monkeypatch.setattr(baseline, "measure", lambda *args, **kwargs: (measured.append(1), plain(*args, **kwargs))[1])
    monkeypatch.setattr("workbench.notebook.cells.LIKE_MS", 1e6)  # however long they take here
    shell("import numpy as np\nx, k = np.ones(30), 0.5")
    cell = "\ny = np.exp(x) * k"
    for n in range(3):
        shell(f"%%jit{cell}")
        assert len(measured) == 1 and shell.report.verification.runs_ago == n
    ago = "2 runs ago"
    assert f"✓ same result {ago}" in shell.report.to_text() and "NumPy" in shell.report.to_text()
    assert (
        f"compared with NumPy {ago}" in shell.report.to_text()
        and f"Compared with NumPy {ago}" in shell.report.to_html()
    )
    assert shell.report.summary.numpy_ms is not None and shell.report.verification.ok
    shell(f"%%jit --no-compare{cell}")
    assert len(measured) == 1 and shell.report.verification.runs_ago == 3
    shell("k = 0.5")
    monkeypatch.setattr(baseline, "LIMIT_S", 0.0)
    shell(f"%%jit{cell}")
    assert len(measured) == 1 and shell.report.verification.runs_ago == 4
    shell("k = 0.25")
    shell(f"%%jit --no-compare{cell}")
    assert len(measured) == 1 and shell.report.verification is None
    monkeypatch.setattr(baseline, "LIMIT_S", 2.0)
    shell(f"%%jit{cell}")
    assert len(measured) == 2 and shell.report.verification.runs_ago == 0
    for option in ("--compare", "--verify"):
        before = len(measured)
        shell(f"%%jit {option}{cell}")
        shell(f"%%jit {option}{cell}")
        assert len(measured) == before + 2 and shell.report.verification.runs_ago == 0
    monkeypatch.setattr("workbench.notebook.cells.LIKE_MS", -1e6)
    before = len(measured)
    shell(f"%%jit{cell}")
    assert len(measured) == before + 1


def test_a_wrong_result_is_told_at_every_run(shell, monkeypatch):
    monkeypatch.setattr("workbench.notebook.cells.compare", lambda *args: (False, float("inf"), []))
    shell("import numpy as np\nx = np.ones(30)")
    for _ in range(3):
        shell("%%jit\ny = x * 2")
        assert "⚠ differs from NumPy" in shell.report.to_text() and shell.report.verification.runs_ago == 0
