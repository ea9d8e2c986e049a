"""What the README shows runs, and what it points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_it_leads_with_the_two_commands():
    first = re.search(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]


def test_the_script_runs(capsys, tmp_path, monkeypatch):
    (script,) = [block for block in BLOCKS if "import workbench" in block]
    file = tmp_path / "script.py"
    file.write_text(script, encoding="utf-8")
    names: dict = {}
    exec(compile(script, str(file), "exec"), names)
    np.testing.assert_allclose(names["y"].sum(axis=1), 1)
    assert "def " in capsys.readouterr().out


def test_the_cell_is_the_quickstarts():
    (cell,) = [block for block in BLOCKS if block.startswith("%%jit")]
    quickstart = (ROOT / "notebooks" / "01-quickstart.ipynb").read_text(encoding="utf-8")
    for line in cell.splitlines():
        assert line in quickstart


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target
