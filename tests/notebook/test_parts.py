"""Cells of which some statements cannot be compiled: these run in NumPy, in order and once, the others compiled."""

from __future__ import annotations

import argparse
import ast
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.notebook.cells import run_cell
from workbench.report import CompileReport
from workbench.report.compact import compact
from workbench.report.model import ReportModel
from workbench.runtime.parts.known import kinds_of
from workbench.runtime.parts.statements import can_be_split, statements_of

MIXED = """%%jit
_d = (x - x.mean()) / x.std()
y = np.exp(-_d * _d)
print("mean", y.mean().round(6))
big = y[y > 0.5]
z = np.sqrt(y) + big.sum()
w = z @ z.T
w[:2, :2]
"""


@pytest.fixture
def x(shell):
    x = np.random.default_rng(0).random((30, 40))
    shell.ip.push({"x": x, "np": np})
    return x


def in_numpy(cell, **names):
    names["np"] = np
    exec(cell.partition("\n")[2], names)
    return names


def test_values_prints_and_the_last_expression(shell, x, capsys):
    shell(MIXED)
    assert shell.error is None, shell.text
    expected = in_numpy(MIXED, x=x.copy())
    assert shell.io.stdout.splitlines()[0] == capsys.readouterr().out.strip()
    for name in ("y", "big", "z", "w"):
        np.testing.assert_allclose(shell[name], expected[name], rtol=1e-12)
    np.testing.assert_allclose(shell.result, expected["w"][:2, :2], rtol=1e-12)
    assert "_d" not in shell
    assert shell.report.status == "partly"
    assert {f.code for f in shell.report.fallbacks} == {"WB160", "WB110"}


def test_the_report_is_one_report(shell, x):
    shell(MIXED)
    report = shell.report
    ids = [node.id for node in report.graph.nodes]
    assert len(set(ids)) == len(ids)
    assert {end for edge in report.graph.edges for end in (edge.source, edge.target)} <= set(ids)
    kernels = [kernel.id for kernel in report.kernels]
    assert len(set(kernels)) == len(kernels) == report.summary.n_kernels >= 2
    assert set(kernels) <= set(ids)
    equations = [row.id for row in report.stages[-1].equations]
    assert len(set(equations)) == len(equations)
    assert {step for row in report.stages[-1].equations if (step := row.step)} <= set(ids)
    for stage in report.stages:
        lines = stage.text.split("\n")
        assert all(row.text.startswith(lines[row.text_line - 1].strip()) for row in stage.equations)
    lines = report.cell.source.splitlines()
    (printed,) = (f for f in report.fallbacks if f.code == "WB160")
    assert "print" in lines[printed.span.line - 1]
    flows = {(edge.source, edge.target, edge.value.name) for edge in report.graph.edges}
    (mask,) = (node.id for node in report.graph.nodes if node.title.startswith("big ="))
    assert any(target == mask and name == "y" for _, target, name in flows)
    assert any(source == mask and name == "big" for source, _, name in flows)
    assert CompileReport.from_dict(compact(report.to_dict())).to_dict() == report.to_dict()
    assert "print(" in report.to_text() and "<svg" in report.to_svg()


def test_every_statement_happens_once(shell, x):
    shell("log = []")
    cell = "%%jit\na = x + 1\nlog.append(a.sum())\nb = a * 2\nlog.append(b.sum())\nc = b - 1"
    for n in (2, 4):
        shell(cell)
        assert len(shell["log"]) == n
    np.testing.assert_allclose(shell["log"][:2], [(x + 1).sum(), ((x + 1) * 2).sum()])
    np.testing.assert_array_equal(shell["c"], (x + 1) * 2 - 1)


def test_an_error_is_pythons_own_and_leaves_the_names(shell, x):
    shell("a = 5")
    shell("%%jit\na = x + 1\nprint(a.shape)\nb = a @ np.ones(7)\nc = 1")
    assert isinstance(shell.error, ValueError)
    assert shell["a"] == 5 and "b" not in shell and "c" not in shell
    assert "np.ones(7)" in shell.text


def test_an_error_after_other_parts_is_shown_once(shell, x):
    shell("%%jit\ny = x * 2\nprint(y.sum())\nz = undefined * y\n")
    assert isinstance(shell.error, NameError)
    assert shell.error.__context__ is None and shell.error.__cause__ is None
    assert "y" not in shell


def test_out_names_what_is_kept(shell, x):
    shell("%%jit --out b\na = x + 1\nprint('here')\nb = a * 2")
    assert "a" not in shell
    np.testing.assert_array_equal(shell["b"], (x + 1) * 2)


def test_strict_refuses(shell, x):
    shell("%%jit --strict\na = x + 1\nbig = a[a > 1.5]\nb = a * 2")
    assert type(shell.error).__name__ == "NonConcreteBooleanIndexError"
    assert "a" not in shell


def test_statements_in_numpy_stand_beside_their_lines_with_their_time(shell, x):
    shell(MIXED)
    model = ReportModel(shell.report)
    statements = [node for node in shell.report.graph.nodes if node.kind == "numpy" and not node.equations]
    lines = {step: line for line in model.lines for step in line.steps if step in {n.id for n in statements}}
    assert sorted(lines) == sorted(node.id for node in statements)
    for node in statements:
        assert lines[node.id].text.startswith(node.title.removesuffix("…"))
        assert lines[node.id].heat == model.shares[node.id] and model.times_ms[node.id] > 0
    assert "Python and NumPy" in shell.report.to_svg() and "0 op" not in shell.report.to_svg()


def test_the_steps_of_the_timeline_follow_one_another(shell, x):
    shell(MIXED)
    bars = sorted(shell.report.timings.timeline, key=lambda bar: bar.start_ms)
    assert len(bars) >= 3
    for bar, following in itertools.pairwise(bars):
        assert following.start_ms >= bar.start_ms + bar.time_ms - 1e-9


def test_nothing_to_compile_is_no_partial_success(shell):
    shell("%%jit\nnames = ['a', 'b']\nprint(names)\nnames.append('c')")
    assert shell.report.status == "numpy"
    assert shell["names"] == ["a", "b", "c"]


def test_a_refusal_without_a_place_is_found(shell, x):
    shell("class P:\n    def __init__(self, a): self.a = a\n    def __del__(self): pass\n")
    shell("%%jit\na = x * 2\nb = a + 1\np = P(b)\nq = p.a - 1\nr = q * q")
    assert shell.error is None, shell.text
    np.testing.assert_array_equal(shell["r"], (x * 2 + 1 - 1) ** 2)
    np.testing.assert_array_equal(shell["p"].a, x * 2 + 1)
    assert shell.report.status == "partly"


def test_arrays_and_views_stay_the_same_between_parts(shell, x):
    kept = x.copy()
    shell("%%jit\nrow = x[3]\nx *= 2\nprint(row.shape)\nrow[0] = -1\ny = x + 1")
    kept *= 2
    kept[3, 0] = -1
    np.testing.assert_array_equal(shell["x"], kept)
    np.testing.assert_array_equal(shell["y"], kept + 1)
    assert shell["x"] is x and np.shares_memory(shell["row"], x)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a = 1; b = 2\nc = 3", [(1, 1), (2, 2)]),
        ("@f\n@g\ndef h():\n    pass\nx = 1", [(1, 4), (5, 5)]),
        ("a = (1,\n 2); b = 3\n# note\n\nc = 4", [(1, 2), (5, 5)]),
        ("for i in x:\n    y\nelse:\n    z", [(1, 4)]),
    ],
)
def test_statements_are_whole_lines(source, lines):
    assert [(s.first, s.last) for s in statements_of(ast.parse(source).body)] == lines


def test_a_future_import_keeps_a_cell_whole():
    assert not can_be_split(ast.parse("from __future__ import annotations\na = 1"))
    assert can_be_split(ast.parse("import math\na = 1"))


def test_parts_leave_no_names_of_their_own(shell, x):
    shell(
        "%%jit\nprint(1)\nw, big = x * 0, 0\nfor i in range(0, 3000):\n    w[i % 30] += x[i % 30] * i\n"
        "    if w[0, 0] > 5:\n        big += 1\nprint(2)\n"
    )
    assert shell.error is None and shell.report.kernels
    assert not [name for name in shell.ip.user_ns if name.startswith(("_wb", "__workbench"))]


def test_objects_of_libraries_keep_what_is_set_on_them():
    """They were compiled without it: a view of the object took the value."""
    w = np.arange(3.0)
    options = argparse.Namespace(a=w.copy(), n=2)
    same = argparse.Namespace(**vars(options))
    namespace = {"np": np, "options": options, "same": same, "__name__": "__main__"}
    source = "options.b = options.a * options.n\noptions.n = 3\nif options == same:\n    y = options.a + 1\nelse:\n    y = 0\n"
    run_cell(source, namespace, filename="<cell options>")
    np.testing.assert_array_equal(options.b, w * 2)
    assert options.n == 3
    assert isinstance(namespace["y"], int)
    run_cell("del options.b\nz = options.a * 2\n", namespace, filename="<cell deletes>")
    assert not hasattr(options, "b")


def test_reasons_in_a_function_of_another_cell_name_that_cell(shell, x):
    shell("%%jit\ndef train(w):\n    for k in range(3):\n        w = w * 0.5\n        print(k)\n    return w\n")
    defined = f"In[{shell.ip.execution_count - 1}]"
    shell("%%jit\ny = train(x)\n")
    assert shell.error is None, shell.text
    reasons = [f.why for f in shell.report.fallbacks]
    assert any(why.startswith(f"Line 5 of {defined} ") for why in reasons), reasons


@pytest.mark.parametrize("statement", ["a[...] = a.sum()", "a.fill(a.sum())", "a += a.sum()", "a *= 3"])
def test_what_a_cell_writes_is_written_once(shell, statement):
    """Also where running it again, as for its timings, would raise: the numbers would no longer fit."""
    cell = f"%%jit\n{statement}\nif (a > 1).any():\n    t = a + 1\nu = t * 2\n"
    for _ in range(2):
        shell.ip.push({"np": np, "a": np.arange(16, dtype=np.int16).reshape(4, 4) % 5})
        shell(cell)
        assert shell.error is None
        expected = in_numpy(cell, a=np.arange(16, dtype=np.int16).reshape(4, 4) % 5)
        for name in ("a", "t", "u"):
            np.testing.assert_array_equal(shell[name], expected[name])


def test_warming_up_begins_where_the_cell_began(shell):
    """The loop ends for what it was given, and never for what it leaves."""
    shell.ip.push({"np": np, "a": np.array([3.0, 4.0])})
    shell("%%jit\nwhile a.sum() != 0:\n    a -= np.array([1.5, 2.0])\na += 0.25\n")
    assert shell.error is None
    assert shell["a"].tolist() == [0.25, 0.25]


OBJECTS = """
for value in x:
    state.place = (state.place + 1) % 4
    total[state.place] += value
    if total[state.place] > 2:
        state.place = 0
"""
HELPED = """
def step(value):
    state.place = (state.place + 1) % 4
    total[state.place] += value
for value in x:
    step(value)
    if total[state.place] > 2:
        state.place = 0
"""


@pytest.mark.parametrize("text", [OBJECTS, HELPED])
@pytest.mark.parametrize("n", [3, 60])
def test_what_an_iteration_changes_and_a_branch_puts_back_is_seen(text, n):
    """Each iteration starts where the one before has left the object; traced, the branch undoes its change."""
    x = np.linspace(0.1, 0.9, n)
    mine, theirs = ({"x": x, "total": np.zeros(4), "state": SimpleNamespace(place=0)} for _ in range(2))
    exec(text, theirs)
    run_cell(text, mine)
    np.testing.assert_array_equal(mine["total"], theirs["total"])
    assert mine["state"].place == theirs["state"].place


def test_an_error_in_a_part_of_numpys_is_shown_as_python_shows_it(shell, x, capsys):
    """Who formats tracebacks hashes the code of their frames."""
    shell("%%jit\nprint('here')\nassert x.sum() < 0, 'a reason'")
    assert isinstance(shell.error, AssertionError)
    shown = capsys.readouterr().out + shell.text
    assert "a reason" in shown and "Unexpected exception" not in shown and "unhashable" not in shown
    traceback = shell.error.__traceback__
    while traceback is not None:
        hash(traceback.tb_frame.f_code)
        traceback = traceback.tb_next


def test_chained_errors_keep_their_frames(shell):
    shell("%%jit\ndef load(d):\n    try:\n        return d['k']\n    except KeyError as error:\n"
          "        raise ValueError('missing') from error")  # fmt: skip
    shell("%%jit\nload({})")
    assert isinstance(shell.error, ValueError)
    inner = shell.error.__cause__.__traceback__
    assert inner is not None and inner.tb_frame.f_code.co_name == "load"


def test_warnings_that_a_statement_collects(shell, x):
    cell = """%%jit
y = x * 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    z = np.log(y - y) / np.zeros(3)[0]
n = [w.category.__name__ for w in caught]
"""
    shell("import warnings")
    for _ in range(3):
        shell(cell)
        assert shell.error is None and shell["n"][0] == "RuntimeWarning" and shell["z"][0, 0] == -np.inf


RECURSION = {
    "itself": ("@wb.jit\ndef fact(n): return 1 if n <= 1 else n * fact(n - 1)\nresult = fact(np.int64(6))\n", 720),
    "one another": (
        "@wb.jit\ndef even(n): return True if n == 0 else odd(n - 1)\n"
        "@wb.jit\ndef odd(n): return False if n == 0 else even(n - 1)\nresult = even(np.int64(4))\n", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURSION)
def test_recursion_of_compiled_functions_that_numbers_end(shell, name):
    text, expected = RECURSION[name]
    shell("import workbench as wb")
    for _ in range(2):
        shell("%%jit\n" + text)
        assert shell.error is None and shell["result"] == expected
        assert "WB903" not in shell.text
    assert shell.report.fallbacks[0].code == "WB185"


def test_cells_of_definitions_are_pythons(shell, x):
    cell = "%%jit\nimport math\ndef halved(v):\n    return v / 2\nclass Scale:\n    table = np.ones(2)\n"
    shell(cell)
    first = shell["halved"]
    assert shell.report.status == "empty" and shell["math"].pi > 3 and type(shell["Scale"].table) is np.ndarray
    shell("%%jit\ny = halved(x) + Scale.table.sum()\n")
    np.testing.assert_array_equal(shell["y"], x / 2 + 2)
    assert shell.report.kernels
    shell(cell)
    assert shell["halved"] is not first


def test_variables_that_other_cells_loop_over_are_no_inputs(shell):
    cell = """%%jit
n = 3
found = [np.zeros(3)]
for step in range(25):
    new = found[-1].copy()
    for i in range(n):
        new[i] = new[i - 1] * 0.5 + i
    found.append(new)
"""
    statuses = []
    for k in range(3):
        shell(cell)
        statuses.append(shell.report.status)
        shell(f"i = {k + 5}")
    assert statuses[0] in ("compiled", "cached") and statuses[1:] == ["cached", "cached"]


def test_a_class_that_a_cell_defines_anew_is_known_again(shell):
    cell = """%%jit
class Line:
    def __init__(self, k):
        self.k = k
    def __call__(self, x):
        return x * self.k
    def twice(self):
        return Line(self.k * 2)
line = Line(2.0)
y = line.twice()(np.arange(3.0))
"""
    before = []
    for _ in range(3):
        shell(cell)
        np.testing.assert_array_equal(shell["y"], [0.0, 4.0, 8.0])
        before.append(kinds_of(["Line"], {"Line": shell["Line"]}))
    assert before[0] == before[1] == before[2]
    shell(cell.replace("x * self.k", "x - self.k"))
    assert kinds_of(["Line"], {"Line": shell["Line"]}) != before[0]
    np.testing.assert_array_equal(shell["y"], [-4.0, -3.0, -2.0])
