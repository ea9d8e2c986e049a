"""The report as people see it: in a real JupyterLab, from a saved and untrusted notebook, without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest

from tests.browser.lab import browser_page, eventually, needs_browser, open_notebook, running_lab
from tests.report.sample_reports import edge_detection, hostile
from workbench.report.compact import compact
from workbench.report.schema import MIME_TYPE

pytestmark = [*needs_browser, pytest.mark.xdist_group("browser")]

SCREENSHOTS = Path(__file__).parent / "screenshots"
NOTEBOOK = "saved.ipynb"
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
LEAST_CONTRAST = 4.5  # WCAG 2, level AA


def write_notebook(path: Path) -> None:
    """A notebook as it is saved after its cells ran: nobody signed it, so JupyterLab does not trust it."""
    cells = [nbformat.v4.new_markdown_cell("# Edges of a photograph")]
    saved = [(edge_detection(), compact), (hostile(), dict)]
    for number, (report, form) in enumerate(saved, start=1):
        cell = nbformat.v4.new_code_cell(report.cell.source, execution_count=number)
        data = {MIME_TYPE: form(report.to_dict()), "text/plain": "the report as text"}
        cell.outputs = [nbformat.v4.new_output("display_data", data=json.loads(json.dumps(data)))]
        cells.append(cell)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture(scope="module")
def page(theme, tmp_path_factory):
    """A page with the notebook open, in one of the themes."""
    root = tmp_path_factory.mktemp("notebooks")
    write_notebook(root / NOTEBOOK)
    state = tmp_path_factory.mktemp("lab")
    with running_lab(root, state, theme=theme, kernels=False) as lab, browser_page(theme) as page:
        hosts = set()
        page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        page.on("dialog", lambda dialog: pytest.fail(f"a script of the report ran: {dialog.message}"))
        open_notebook(page, lab, NOTEBOOK)
        page.wait_for_selector(".wb-report")
        yield page
        assert hosts - {"127.0.0.1", "localhost", None, ""} == set(), "the page asked other machines"


@pytest.fixture
def report(page):
    """The first report, opened on its Code view, with nothing selected."""
    report = page.locator(".wb-report").first
    if report.locator(".wb-details").get_attribute("aria-expanded") == "false":
        report.locator(".wb-details").click()
    report.get_by_role("tab", name="Code").click()
    report.get_by_role("button", name="IR", exact=True).click()
    page.keyboard.press("Escape")
    report.scroll_into_view_if_needed()
    return report


def screenshot(page, theme, name):
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{theme}.png")


def linked(report):
    """The equations of the IR that are lit up."""
    return {row.get_attribute("data-equation") for row in report.locator(".wb-listing .wb-linked[data-equation]").all()}


def equations_of(line):
    """The equations that came from a line of the sample's source."""
    sample = edge_detection()
    return {row.id for row in sample.stages[-1].equations for span in row.spans if span.line <= line <= span.end_line}


def line_of(name):
    lines = edge_detection().cell.source.splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.startswith(f"{name} ="))


def test_the_strip_is_quiet_until_asked(page, theme):
    strip = page.locator(".wb-report").first
    assert "compiled" in strip.locator(".wb-status").inner_text()
    assert "NumPy" in strip.inner_text()
    screenshot(page, theme, "strip")


def test_hovering_a_line_lights_its_equations(report, page, theme):
    line = line_of("edges")
    report.locator(f'.wb-source [data-line="{line}"] .wb-lineno').hover()
    report.locator(".wb-listing .wb-linked").first.wait_for()
    eventually(lambda: linked(report), equations_of(line))
    eventually(lambda: page.evaluate(CONTRAST, LEAST_CONTRAST), {})
    screenshot(page, theme, "code")
    report.locator(".wb-strip").hover()
    report.locator(".wb-listing .wb-linked").first.wait_for(state="detached")


def test_hovering_a_sub_expression_lights_only_its_own(report):
    line = report.locator(f'.wb-source [data-line="{line_of("tone")}"]')
    line.get_by_text("edges.max()", exact=True).hover()
    report.locator(".wb-listing .wb-linked").first.wait_for()
    eventually(lambda: len(linked(report)), 1)
    (only,) = linked(report)
    row = report.locator(f'.wb-listing [data-equation="{only}"]')
    assert "reduce_max" in row.inner_text()


def test_hovering_an_equation_lights_the_source(report):
    row = report.locator(".wb-listing [data-equation]", has_text="sqrt").first
    row.scroll_into_view_if_needed()
    row.hover()
    report.locator(".wb-source .wb-expression.wb-linked").first.wait_for()
    words = report.locator(".wb-source .wb-expression.wb-linked")
    eventually(lambda: "".join(words.all_inner_texts()), lambda text: text.startswith("np.sqrt("))


def test_a_click_keeps_the_link_and_shows_its_kernel(report, page, theme):
    report.locator(f'.wb-source [data-line="{line_of("edges")}"]').get_by_text("np.sqrt(").click()
    report.get_by_role("button", name="Kernel", exact=True).click()
    report.locator(".wb-listing .wb-pinned").first.wait_for()
    eventually(
        lambda: " ".join(report.locator(".wb-listing .wb-pinned").all_inner_texts()), lambda text: "sqrt" in text
    )
    screenshot(page, theme, "kernel")


INSIDE = "e => e.contains(document.activeElement) && e.dataset.lmSuppressShortcuts === 'true'"


def go_inside(report, page):
    """Enter the report by the keyboard, once JupyterLab has left the focus alone: it moves it to a cell that was
    clicked, when it finds the time."""
    for _ in range(20):
        page.wait_for_timeout(500)
        report.focus()
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
        if report.evaluate(INSIDE):
            return
    raise AssertionError("the focus does not stay in the report")


def test_keys_work_inside_and_leave_the_notebook_alone(report, page):
    n_cells = page.locator(".jp-Cell").count()
    go_inside(report, page)
    page.keyboard.press("2")
    eventually(lambda: report.get_by_role("tab", name="Graph").get_attribute("aria-selected"), "true")
    page.keyboard.press("1")
    report.locator(".wb-source").focus()
    for _ in range(line_of("edges")):
        page.keyboard.press("ArrowDown")
    report.locator(".wb-listing .wb-pinned").first.wait_for()
    # In JupyterLab's command mode these would make a cell, delete it and stop the kernel.
    for key in ("j", "k", "d", "d", "b", "a", "x"):
        page.keyboard.press(key)
    assert page.locator(".jp-Cell").count() == n_cells
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement.type === 'search'")
    page.keyboard.type("sqrt")
    eventually(report.locator(".wb-search-found").inner_text, lambda text: "1 of" in text)
    for _ in range(2):
        page.keyboard.press("Escape")
    page.wait_for_selector('.wb-report[data-lm-suppress-shortcuts="true"]', state="detached")
    eventually(lambda: report.evaluate("element => element === document.activeElement"), True)


@pytest.mark.parametrize("tab", ["Graph", "Kernels", "Timings", "Why"])
def test_every_view_is_drawn_whole(report, page, theme, tab):
    report.get_by_role("tab", name=tab).click()
    panel = report.get_by_role("tabpanel")
    panel.wait_for()
    eventually(panel.bounding_box, lambda box: box["height"] > 100)
    eventually(lambda: page.evaluate(CONTRAST, LEAST_CONTRAST), {})
    # Nothing reaches over the report's right edge.
    eventually(lambda: report.evaluate("element => element.scrollWidth <= element.clientWidth + 1"), True)
    screenshot(page, theme, tab.lower())


def test_a_box_of_the_graph_opens_to_its_equations(report):
    report.get_by_role("tab", name="Graph").click()
    report.locator('.wb-node[data-node="K1"] .wb-node-toggle').click()
    n_equations = next(len(node.equations) for node in edge_detection().graph.nodes if node.id == "K1")
    eventually(report.locator('.wb-node[data-node="K1"] .wb-node-equation').count, n_equations)


def test_hostile_names_stay_text(page):
    report = page.locator(".wb-report").nth(1)
    report.locator(".wb-details").click()
    for tab in ("Code", "Graph", "Kernels", "Timings", "Why"):
        report.get_by_role("tab", name=tab).click()
        assert report.locator("img, script, iframe, object").count() == 0
    eventually(report.inner_text, lambda text: "<" in text)
    report.locator(".wb-details").click()
