"""The quickstart in a real JupyterLab: run with a kernel, explored, saved, and reopened without one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.browser.lab import browser_page, eventually, needs_browser, open_notebook, run_all_cells, running_lab
from workbench.report.schema import MIME_TYPE

pytestmark = [*needs_browser, pytest.mark.xdist_group("browser")]

SCREENSHOTS = Path(__file__).parent / "screenshots"
QUICKSTART = Path(__file__).parents[2] / "notebooks" / "01-quickstart.ipynb"
IN_SIGHT = """row => {
  const list = row.closest('.wb-listing').getBoundingClientRect(), place = row.getBoundingClientRect();
  return list.top <= place.top && place.bottom <= list.bottom;
}"""
N_COMPILED = 6  # five cells under %%jit, and the explained function


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="module")
def page(theme, folder, tmp_path_factory):
    """The quickstart after "run all cells"."""
    pytest.importorskip("sklearn", reason="the quickstart's data come with scikit-learn")
    shutil.copy(QUICKSTART, folder)
    with running_lab(folder, tmp_path_factory.mktemp("lab"), theme=theme) as lab, browser_page(theme) as page:
        open_notebook(page, lab, QUICKSTART.name)
        run_all_cells(page)
        yield page


def screenshot(page, theme, name):
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"quickstart-{name}-{theme}.png")


def reports_of(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    bundles = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    return [bundle[MIME_TYPE] for bundle in bundles if MIME_TYPE in bundle]


def scroll_to(page, report):
    """Bring a report into view: JupyterLab draws the cells near the window only."""
    page.wait_for_timeout(300)
    report.evaluate("element => { element.scrollIntoView({block: 'start'}); }")


def photo_report(page):
    report = page.locator(".jp-Cell", has_text="edges = np.sqrt(").locator(".wb-report").first
    report.wait_for(state="attached")
    scroll_to(page, report)
    return report


def test_a_run_ends_in_a_strip_that_is_right(page, theme):
    report = photo_report(page)
    eventually(report.locator(".wb-status").inner_text, lambda text: "compiled" in text or "cached" in text)
    eventually(report.inner_text, lambda text: "NumPy" in text and "kernels ←" in text)
    screenshot(page, theme, "strip")


def test_a_line_lights_its_equations(page, theme):
    report = photo_report(page)
    report.locator(".wb-details").click()
    report.locator(".wb-source").get_by_text("blur[1:, :-1]", exact=False).first.wait_for()
    scroll_to(page, report)
    report.locator(".wb-source [data-line]", has_text="tone = ").locator(".wb-lineno").hover()
    lit = report.locator(".wb-listing .wb-linked[data-equation]")
    eventually(lambda: " ".join(lit.all_inner_texts()), lambda text: "exp" in text and "reduce_max" in text)
    eventually(lambda: lit.first.evaluate(IN_SIGHT), True)  # a pointer that rests scrolls to what it lit
    screenshot(page, theme, "code")
    for tab in ("Graph", "Kernels", "Timings", "Why"):
        report.get_by_role("tab", name=tab).click()
        eventually(lambda: report.get_by_role("tabpanel").bounding_box()["height"] > 100, True)
        screenshot(page, theme, tab.lower())
    report.locator(".wb-details").click()


def test_saved_and_reopened_without_a_kernel(page, theme, folder, tmp_path_factory):
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = folder / QUICKSTART.name
    eventually(lambda: len(reports_of(saved)), N_COMPILED)
    assert {report["status"] for report in reports_of(saved)} <= {"compiled", "cached"}
    reopened = tmp_path_factory.mktemp("reopened")
    shutil.copy(saved, reopened)
    state = tmp_path_factory.mktemp("lab")
    with running_lab(reopened, state, theme=theme, kernels=False) as lab:
        open_notebook(page, lab, QUICKSTART.name)
        report = photo_report(page)
        eventually(report.inner_text, lambda text: "kernels ←" in text)
        report.locator(".wb-details").click()
        report.locator(".wb-source [data-line]", has_text="tone = ").locator(".wb-lineno").hover()
        report.locator(".wb-listing .wb-linked[data-equation]").first.wait_for()
        screenshot(page, theme, "reopened")
