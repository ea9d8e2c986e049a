"""`%%jit` with tiers: NumPy's values at once, and a report that is completed when the kernels are there."""

from __future__ import annotations

import os
import threading

import nbclient
import nbformat
import numpy as np
import pytest

import workbench as wb
from workbench.errors import BackendError
from workbench.notebook import display
from workbench.report.schema import MIME_TYPE
from workbench.report.strip import strip_of
from workbench.runtime import cells

CELL = "%%jit\nd = (x - x.mean()) / x.std()\n_t = np.exp(-d * d)\ny = _t * 2\ny.sum()"
LONG_S = 60.0


@pytest.fixture(autouse=True)
def tiers(tmp_path):
    with wb.config(tiers=True, cache_dir=str(tmp_path / "own")):
        yield


@pytest.fixture
def held(monkeypatch):
    """Compilation waits until `let_go` is set."""

    class Held:
        let_go = threading.Event()
        error: Exception | None = None

    compile_traced = cells.compile_traced

    def slow(*args, **kwargs):
        assert Held.let_go.wait(LONG_S)
        if Held.error is not None:
            raise Held.error
        return compile_traced(*args, **kwargs)

    monkeypatch.setattr(cells, "compile_traced", slow)
    yield Held
    Held.let_go.set()


@pytest.fixture
def updates(monkeypatch):
    """A front end that can replace what it shows; `seen` is set when it did."""

    class Updates:
        seen = threading.Event()
        shown: list = []

    def update(report, display_id):
        Updates.shown.append((display_id, report.status))
        Updates.seen.set()

    monkeypatch.setattr(display, "can_update", lambda shell: True)
    monkeypatch.setattr(display, "update_display", update)
    return Updates


def test_the_result_does_not_wait_and_the_report_is_completed(shell, held, updates):
    x = np.linspace(0.0, 4.0, 50)
    shell.ip.push({"x": x})
    shell(CELL)
    assert shell.error is None, shell.text
    d = (x - x.mean()) / x.std()
    np.testing.assert_array_equal(shell["y"], np.exp(-d * d) * 2)
    assert shell.result == shell["y"].sum() and "_t" not in shell
    report = shell.report
    assert report.status == "compiling" and report.summary.n_ops > 3 and report.summary.n_kernels == 0
    assert "first result from NumPy while kernels compile" in strip_of(report).text
    (shown,) = [o for o in shell.io.outputs if "compile" in o.data["text/plain"]]
    held.let_go.set()
    assert updates.seen.wait(LONG_S)
    assert updates.shown == [(shown.transient["display_id"], "compiled")]
    assert shell.report is report and report.status == "compiled"
    assert report.summary.n_kernels >= 1 and report.cell.source.rstrip() == CELL and report.cell.label.startswith("In[")
    assert report.summary.time_ms is None and report.summary.numpy_ms > 0
    shell(CELL)
    assert shell.report.status == "compiled" and shell.report.summary.time_ms > 0
    np.testing.assert_allclose(shell["y"], np.exp(-d * d) * 2, rtol=1e-13)
    shell(CELL)
    assert shell.report.status == "cached"


def test_a_cell_that_is_run_again_meanwhile_runs_in_numpy_again(shell, held, updates):
    shell.ip.push({"x": np.arange(4.0)})
    for _ in range(3):
        shell("x += 1.0")
        shell("%%jit\nx *= 2\ny = np.sqrt(x)")
        assert shell.report.status == "compiling"
    x = np.arange(4.0)
    for _ in range(3):
        x = (x + 1) * 2
    np.testing.assert_array_equal(shell["x"], x)
    held.let_go.set()
    assert updates.seen.wait(LONG_S)


@pytest.mark.parametrize("option", ["--wait", "--strict", "--verify", "--compare"])
def test_waiting_for_the_kernels(option, shell, held):
    held.let_go.set()
    shell.ip.push({"x": np.arange(4.0)})
    shell(f"%%jit {option}\ny = np.exp(x) + 1")
    assert shell.error is None, shell.text
    assert shell.report.status == "compiled" and shell.report.summary.time_ms > 0
    np.testing.assert_allclose(shell["y"], np.exp(np.arange(4.0)) + 1, rtol=1e-14)


def test_wait_also_waits_for_what_is_being_compiled(shell, held):
    shell.ip.push({"x": np.arange(4.0)})
    shell("%%jit\ny = np.exp(x) + 3")
    assert shell.report.status == "compiling"
    held.let_go.set()
    shell("%%jit --wait\ny = np.exp(x) + 3")
    assert shell.report.status == "compiled" and shell.report.summary.time_ms > 0


def test_a_failure_of_the_compiler_is_reported_and_numpys_result_stays(shell, held, updates):
    held.error = BackendError("kernel K0 does not compile")
    shell.ip.push({"x": np.arange(4.0)})
    shell("%%jit\ny = np.exp(x) + 1")
    held.let_go.set()
    assert updates.seen.wait(LONG_S)
    assert shell.report.status == "failed" and "does not compile" in shell.report.reason
    np.testing.assert_array_equal(shell["y"], np.exp(np.arange(4.0)) + 1)
    shell("%%jit\ny = np.exp(x) + 1")  # said once more where it is run once more
    assert shell.error is None


def test_errors_are_pythons_own_and_leave_the_names_alone(shell, held):
    shell.ip.push({"a": np.zeros((2, 2)), "b": np.ones(2)})
    shell("%%jit\nb += 1\nc = np.linalg.solve(a, b)")
    assert isinstance(shell.error, np.linalg.LinAlgError)
    np.testing.assert_array_equal(shell["b"], np.ones(2))
    assert "c" not in shell


def test_a_terminal_shows_what_it_knows(shell, held):
    shell.ip.push({"x": np.arange(4.0)})
    shell("%%jit\ny = np.exp(x) + 1")
    (shown,) = shell.io.outputs
    assert "first result from NumPy while kernels compile" in shown.data["text/plain"]


def test_the_parts_of_a_cell_do_not_wait_either(shell, held):
    x = np.arange(4.0)
    shell.ip.push({"x": x})
    cell = "%%jit\ny = np.exp(x) + 1\nprint('half')\nx += 1\nz = np.sqrt(y) * 2"
    shell(cell)
    assert shell.error is None and shell.text.count("half") == 1, shell.text
    np.testing.assert_array_equal(shell["z"], np.sqrt(np.exp(np.arange(4.0)) + 1) * 2)
    np.testing.assert_array_equal(x, np.arange(4.0) + 1)
    assert shell.report.status == "numpy" and "WB501" in {f.code for f in shell.report.fallbacks}
    held.let_go.set()
    shell(cell.replace("%%jit", "%%jit --wait"))
    assert shell.error is None and shell.text.count("half") == 1, shell.text
    assert shell.report.status == "partly" and shell.report.summary.n_kernels >= 2
    np.testing.assert_allclose(shell["z"], np.sqrt(np.exp(np.arange(4.0) + 1) + 1) * 2, rtol=1e-14)
    np.testing.assert_array_equal(x, np.arange(4.0) + 2)


def test_the_setting_is_spelled_as_the_others(shell):
    shell("%workbench config tiers")
    assert shell.text.strip() == "tiers = True"
    shell("%workbench config tiers=maybe")
    assert "must be of type bool" in shell.text


def test_a_real_kernel_replaces_what_it_showed(tmp_path):
    """The report is shown by the cell and replaced from the background, while another cell runs."""
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source)
            for source in (
                "import numpy as np, threading, workbench as wb\nfrom workbench.notebook import display\n"
                "%load_ext workbench\nwb.config.tiers = True\nx = np.ones(9)\n"
                "replaced, update = threading.Event(), display.update_display\n"
                "display.update_display = lambda *args, **how: (update(*args, **how), replaced.set())",
                "%%jit --report shown\ny = np.exp(x) * 3 + np.sin(x)",
                f"replaced.wait({LONG_S}), shown.status",
                "%%jit\ny = np.exp(x) * 3 + np.sin(x)",
            )
        ]
    )
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    client = nbclient.NotebookClient(notebook, timeout=LONG_S, kernel_name="python3")
    client.execute(env=environment)
    _, first, statuses, again = notebook.cells
    assert statuses.outputs[0].data["text/plain"] == "(True, 'compiled')"
    for cell in (first, again):
        (output,) = [o for o in cell.outputs if MIME_TYPE in o.get("data", {})]
        assert "compiled" in output.data["text/plain"] and "1 kernel" in output.data["text/plain"]
