"""The worked example of CONTRIBUTING.md, followed word for word on a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(*arguments: str, cwd: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_worked_example_runs(tmp_path):
    blocks = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    additions = [block for block in blocks if block.startswith("# ")]
    (session,) = [block for block in blocks if block.startswith(">>>")]
    assert len(additions) == 3

    ignored = shutil.ignore_patterns("__pycache__", "static", "labextension")
    shutil.copytree(ROOT / "workbench", tmp_path / "workbench", ignore=ignored)
    shutil.copytree(ROOT / "tests" / "primitives", tmp_path / "tests" / "primitives", ignore=ignored)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for addition in additions:
        name, _, text = addition.partition("\n")
        file = tmp_path / name.removeprefix("# ")
        file.write_text(file.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")

    (tmp_path / "session.txt").write_text(session, encoding="utf-8")
    run("-m", "doctest", "session.txt", cwd=tmp_path)
    found = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/primitives", "-k", "sinc", cwd=tmp_path)
    assert "passed" in found and "failed" not in found


def test_every_file_that_it_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+\.(?:py|md))`", text)
    rooms = [ROOT, ROOT / "workbench", *(p for p in (ROOT / "workbench").rglob("*") if p.is_dir())]
    for name in named:
        assert any((room / name).exists() for room in rooms), f"CONTRIBUTING.md names {name}"
