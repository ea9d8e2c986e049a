"""The tutorials run from top to bottom in a fresh kernel, compile what they say they compile, and carry no outputs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
REPORT = "application/vnd.workbench.report.v1+json"
# Cells that are there to show how a fallback looks.
FALLBACKS = {"02-reading-the-report.ipynb": 1}


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """`notebooks/run.py`, which is a script beside the notebooks."""
    spec = importlib.util.spec_from_file_location("notebooks_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, tmp_path)
    n_fallbacks = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        outputs = [o for o in cell.outputs if o.output_type in ("display_data", "execute_result")]
        reports = [o.data[REPORT] for o in outputs if REPORT in o.data]
        if cell.source.startswith("%%jit"):
            assert len(reports) == 1, cell.source
            n_fallbacks += reports[0]["status"] in ("partly", "numpy")
            assert reports[0]["status"] in ("compiled", "cached", "recompiled", "partly", "numpy")
        for output in outputs:
            # What does not know our renderer still has something to show.
            assert "text/plain" in output.data
        assert not [o for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"], cell.source
    assert n_fallbacks == FALLBACKS.get(path.name, 0)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


@pytest.mark.slow
def test_the_runner_prints_a_row_for_each_compiled_cell(runner, tmp_path, capsys):
    cells = [
        nbformat.v4.new_code_cell("import numpy as np\n%load_ext workbench\nx = np.arange(100_000.0)"),
        nbformat.v4.new_code_cell("%%jit\ny = np.sqrt(x) + x\nz = y.sum()"),
    ]
    path = tmp_path / "small.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert runner.main([str(path), "--to", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "In[2]" in printed and "y = np.sqrt(x) + x" in printed and "make lab" in printed
    assert nbformat.read(tmp_path / "out" / "small.ipynb", as_version=4).cells[1].outputs


@pytest.mark.slow
def test_the_runner_fails_where_a_cell_fails(runner, tmp_path, capsys):
    path = tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    assert runner.main([str(path), "--to", str(tmp_path / "out")]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
