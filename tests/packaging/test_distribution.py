"""What is installed: the wheel carries the built front end, the sdist builds without a network for npm."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parent.parent.parent
LABEXTENSION = "share/jupyter/labextensions/jit-workbench"
BUILT = ROOT / "workbench" / "labextension" / "package.json"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not BUILT.exists():
        pytest.skip("the front end is not built: `npm ci && npm run build` in extension/")
    for module in ("build", "hatchling", "hatch_jupyter_builder"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    env = {**os.environ, "HATCH_JUPYTER_BUILDER_SKIP_NPM": "1"}  # the outputs are there: what counts is their packing
    done = subprocess.run([*command, str(ROOT)], env=env, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


@pytest.mark.slow
def test_the_wheel_carries_everything_built(distributions):
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert f"Version: {workbench.__version__}" in metadata and "Name: jit-workbench" in metadata
    for name in ("report.js", "irview.js", "clustergraph.js", "timings.js", "report.css"):
        assert f"workbench/notebook/static/{name}" in names
    for name in ("package.json", "install.json"):
        assert any(n.endswith(f"{LABEXTENSION}/{name}") for n in names)
    assert any(f"{LABEXTENSION}/static/remoteEntry" in n for n in names)
    assert not [n for n in names if n.startswith(("tests/", "extension/", "workbench/labextension/"))]


@pytest.mark.slow
def test_the_sdist_carries_sources_and_front_end(distributions):
    with tarfile.open(distributions["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for name in ("workbench/labextension/package.json", "extension/package-lock.json", "tests/conftest.py", "LICENSE"):
        assert name in names
    assert not [name for name in names if "node_modules" in name]


def test_one_version_everywhere():
    package = (ROOT / "extension" / "package.json").read_text(encoding="utf-8")
    assert f'"version": "{workbench.__version__}"' in package
    assert f"## {workbench.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# Installed with a declared dependency, which cannot do without it.
BROUGHT = {"llvmlite": "numba", "traitlets": "ipython"}
OPTIONAL = {"cupy", "dask", "distributed", "jax", "torch"}


def test_everything_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w-]", d)[0].lower() for d in project["dependencies"]}
    imported = set()
    for file in (ROOT / "workbench").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    for name in imported - set(sys.stdlib_module_names) - {"workbench"} - OPTIONAL:
        assert BROUGHT.get(name, name.lower()) in declared, name
