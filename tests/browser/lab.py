"""A real JupyterLab and a headless Chromium for tests: private folders, a free loopback port, a token."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

import pytest

import workbench

PACKAGE = Path(workbench.__file__).parent
LABEXTENSION = PACKAGE / "labextension"
EXTENSION_NAME = "jit-workbench"
START_TIMEOUT_S = 60
START_ATTEMPTS = 3
STOP_TIMEOUT_S = 10
SETTLE_TIMEOUT_S = 15

T = TypeVar("T")

Theme = Literal["light", "dark"]
THEMES: dict[Theme, str] = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def chromium() -> str | None:
    """The browser: WORKBENCH_CHROMIUM, or the first on the PATH."""
    candidates = [os.environ.get("WORKBENCH_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def eventually(read: Callable[[], T], expected: T | Callable[[T], bool], within_s: float = SETTLE_TIMEOUT_S) -> None:
    """Assert that what `read` returns becomes `expected` (a value, or a condition on it): a page draws when it can."""
    from playwright.sync_api import Error

    deadline = time.monotonic() + within_s
    while True:
        try:
            value: T | Error = read()
            if expected(value) if callable(expected) else value == expected:
                return
        except Error as error:  # an element that the page is just replacing
            value = error
        assert time.monotonic() < deadline, f"{value!r} did not become {expected!r}"
        time.sleep(0.05)


def why_not() -> str:
    """Why no browser test can run here, or ""."""
    if chromium() is None:
        return "no Chromium: install one or set WORKBENCH_CHROMIUM"
    if not installed_labextension():
        return "the front end is not built: `npm ci && npm run build` in extension/"
    for module in ("jupyterlab", "playwright"):
        if shutil.which("jupyter-lab", path=_path()) is None and module == "jupyterlab":
            return "no JupyterLab"
        try:
            __import__(module)
        except ImportError:
            return f"no {module}"
    return ""


def installed_labextension() -> Path | None:
    """The built extension: in a source checkout, or where the wheel put it."""
    places = [LABEXTENSION, Path(sys.prefix) / "share" / "jupyter" / "labextensions" / EXTENSION_NAME]
    return next((place for place in places if (place / "package.json").exists()), None)


def _path() -> str:
    # The environment's scripts first: it need not be activated.
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


@dataclass(frozen=True)
class Lab:
    """A running server. root: the folder whose notebooks it shows; kernels: whether it can run them."""

    url: str
    token: str
    root: Path
    kernels: bool = True

    def notebook(self, name: str) -> str:
        """The address of a notebook, in the simple interface: one document, no side bars."""
        return f"{self.url}doc/tree/{quote(name)}?token={self.token}"

    def workspace(self, name: str = "") -> str:
        """The address of the full JupyterLab, with a notebook open."""
        return f"{self.url}lab/tree/{quote(name)}?token={self.token}&reset"


@contextmanager
def running_lab(
    root: Path, state: Path, *, theme: Theme = "light", kernels: bool = True, options: Sequence[str] = ()
) -> Iterator[Lab]:
    """Start JupyterLab on `root`, and stop it. state: an empty folder for its settings, which are nobody else's.

    kernels=False: there is nothing that could run a cell, so what is seen comes from the notebook's file alone.
    """
    folders = {
        "JUPYTER_CONFIG_DIR": state / "config",
        "JUPYTER_DATA_DIR": state / "data",
        "JUPYTER_RUNTIME_DIR": state / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": state / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": state / "workspaces",
        "IPYTHONDIR": state / "ipython",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    _write_settings(folders["JUPYTERLAB_SETTINGS_DIR"], theme)
    extensions = state / "labextensions"
    extensions.mkdir()
    built = installed_labextension()
    if built is not None:
        (extensions / EXTENSION_NAME).symlink_to(built, target_is_directory=True)

    token = secrets.token_hex(16)
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}",
        f"--LabServerApp.extra_labextensions_path={extensions}",
        "--LabApp.expose_app_in_browser=True",  # for `run_all_cells`
        # Errors of its own update check would be noise: the tests stay on this machine.
        "--LabApp.news_url=",
        *([] if kernels else ["--KernelSpecManager.allowed_kernelspecs=none", *NO_NATIVE_KERNEL]),
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        *options,
    ]
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}, "PATH": _path()}
    process, url = _start(command, environment, root, state / "jupyterlab.log", token)
    try:
        yield Lab(url, token, root, kernels)
    finally:
        _stop(process)


NO_NATIVE_KERNEL = ["--KernelSpecManager.ensure_native_kernel=False"]


def _write_settings(folder: Path, theme: Theme) -> None:
    settings = {
        "apputils-extension/themes": {"theme": THEMES[theme], "adaptive-theme": False},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    for name, values in settings.items():
        path = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _start(
    command: list[str], environment: dict[str, str], root: Path, log: Path, token: str
) -> tuple[subprocess.Popen, str]:
    """The process of a server that answers, and its address. It finds a free port and may lose it before it listens."""
    for _ in range(START_ATTEMPTS):
        with open(log, "w") as file:
            process = subprocess.Popen(
                command, cwd=root, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            url = _wait_for_answer(process, Path(environment["JUPYTER_RUNTIME_DIR"]), log, token)
        except BaseException:
            _stop(process)
            raise
        if url is not None:
            return process, url
    raise RuntimeError(f"JupyterLab ended at once:\n{log.read_text()[-2000:]}")


def _wait_for_answer(process: subprocess.Popen, runtime: Path, log: Path, token: str) -> str | None:
    """The address at which the server answers, or None where it ended."""
    deadline = time.monotonic() + START_TIMEOUT_S
    info = runtime / f"jpserver-{process.pid}.json"
    direct = build_opener(ProxyHandler({}))
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return None
        try:
            url = json.loads(info.read_text())["url"]  # written before the server listens
            with direct.open(f"{url}api/status?token={token}", timeout=5):
                return url
        except (OSError, ValueError, KeyError):  # no file, half of one, nobody listening
            time.sleep(0.1)
    raise TimeoutError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def _stop(process: subprocess.Popen) -> None:
    """End the server with its kernels: they share its session."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, kind)
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                continue
    process.wait(STOP_TIMEOUT_S)


@contextmanager
def browser_page(theme: Theme = "light", *, width: int = 1280, height: int = 900):
    """A page of a fresh headless Chromium. Errors of the page's scripts fail the test that opened it."""
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as in most containers.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        try:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.on("pageerror", lambda error: errors.append(str(error)))
            yield page
        finally:
            browser.close()
    assert [error for error in errors if "workbench" in error.lower() or "wb-" in error] == []


def open_notebook(page, lab: Lab, name: str, *, full: bool = False) -> None:
    """Open a notebook and wait until its cells are there."""
    page.goto(lab.workspace(name) if full else lab.notebook(name))
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=START_TIMEOUT_S * 1000)
    if not lab.kernels:
        page.get_by_role("dialog").get_by_role("button", name="No Kernel").click()
        page.wait_for_selector(".jp-Dialog", state="detached")


RUN_ALL = """async timeout_ms => {
  const { commands, shell } = window.jupyterapp;
  const { sessionContext } = shell.currentWidget;
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("still running")), timeout_ms));
  const run = async () => {
    await sessionContext.ready;
    await sessionContext.session.kernel.info;
    return commands.execute("notebook:run-all-cells");
  };
  await Promise.race([run(), late]);
}"""


def run_all_cells(page, *, timeout_s: float = 120) -> None:
    """Run the open notebook from top to bottom, and wait until its last cell is done."""
    page.evaluate(RUN_ALL, timeout_s * 1000)


needs_browser = [pytest.mark.browser, pytest.mark.skipif(bool(why_not()), reason=why_not() or "runs")]
