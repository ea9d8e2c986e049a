"""The anywidget classes with a running kernel: they draw, they are linked, and long texts come on demand."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import browser_page, eventually, needs_browser, open_notebook, run_all_cells, running_lab
from tests.report.sample_reports import edge_detection

pytestmark = [*needs_browser, pytest.mark.xdist_group("browser")]

SCREENSHOTS = Path(__file__).parent / "screenshots"

LINKED_VIEWS = """\
import pathlib, traitlets
from workbench.notebook.widgets import ClusterGraph, IRView, Report
from workbench.report.schema import CompileReport

report = CompileReport.from_json(pathlib.Path("report.json").read_text())
report.kernels[0].llvm = {"head": "define void", "n_lines": 2, "sha256": "", "complete": False}
whole = Report(report.to_dict(), texts=lambda kernel, kind: f"the whole {kind} of {kernel}\\nto its end")
code, graph = IRView(report.to_dict()), ClusterGraph(report.to_dict())
traitlets.link((code, "selected"), (graph, "selected"))
display(whole, code, graph)
"""


def run_until_drawn(page, times: int = 4):
    """Run the cell, and again where nothing is drawn: JupyterLab drops what a kernel says of widgets while its own
    widget manager, which a busy machine loads late, is not there yet."""
    from playwright.sync_api import TimeoutError as NotDrawn

    for attempt in range(times):
        run_all_cells(page)
        try:
            page.locator(".wb-canvas").wait_for(timeout=15_000 * (attempt + 1))
            return
        except NotDrawn:
            if attempt == times - 1:
                raise


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("notebooks")
    (root / "report.json").write_text(edge_detection().to_json(), encoding="utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LINKED_VIEWS)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, root / "live.ipynb")
    with running_lab(root, tmp_path_factory.mktemp("lab")) as lab, browser_page(height=1400) as page:
        open_notebook(page, lab, "live.ipynb")
        run_until_drawn(page)
        yield page


def test_what_is_pinned_in_one_view_is_pinned_in_the_linked_one(page):
    code, graph = page.locator(".wb-report").nth(1), page.locator(".wb-report").nth(2)
    code.get_by_text("np.sqrt(").first.click()
    graph.locator(".wb-node.wb-pinned").wait_for()
    eventually(lambda: graph.locator(".wb-node.wb-pinned").get_attribute("data-node"), "K1")
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "widgets.png")
    graph.locator('.wb-node[data-node="K2"] .wb-node-title').click()
    k2 = next(node for node in edge_detection().graph.nodes if node.id == "K2")
    code.locator(f'.wb-listing .wb-pinned[data-equation="{k2.equations[0]}"]').wait_for()
    pinned = code.locator(".wb-listing .wb-pinned[data-equation]")
    eventually(lambda: {row.get_attribute("data-equation") for row in pinned.all()}, set(k2.equations))


def test_the_rest_of_a_long_text_comes_from_the_kernel(page):
    report = page.locator(".wb-report").first
    report.locator(".wb-details").click()
    report.get_by_role("button", name="LLVM").click()
    eventually(report.locator(".wb-listing .wb-text").all_inner_texts, ["define void"])
    report.get_by_role("button", name="fetch the rest").click()
    report.get_by_text("to its end").wait_for()
    eventually(report.locator(".wb-rest").count, 0)
