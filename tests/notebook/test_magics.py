"""`%%jit` and `%workbench` in a real shell: values, display, options, errors as Python's own."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

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
        ("%%jit\ny = 1.0\nfor i in range(int(x.sum())):\n    y = y + x[0]", "WB102", 3),
        ("%%jit\ny = np.array(['a', 'b'])\nz = y == 'a'", "", None),
        ("%%jit\ny = x[x > 1]", "WB110", 2),
        ("%%jit\nfor i in range(3):\n    print(x[i])\ny = x", "WB160", 3),
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
        assert report.status == "numpy"
        assert report.fallbacks[0].code == code
        assert report.fallbacks[0].span.line == line
        assert report.cell.source.splitlines()[line - 1].strip()


def test_effects_happen_once_a_run(shell):
    shell("x = np.arange(3.0)\nlog = []")
    cell = "%%jit\nlog.append(x.sum())\ny = x + 1"
    shell(cell)
    shell(cell)
    assert shell["log"] == [3.0, 3.0]
    assert shell.report.status == "partly"


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
