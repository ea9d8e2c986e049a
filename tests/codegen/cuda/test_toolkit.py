"""Where NVIDIA's compiler library is found: in its packages, or in a toolkit that is installed."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench
from workbench.codegen.cuda import toolkit


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A toolkit whose nvcc is on the path, on a machine whose other places for one are hidden."""
    program = tmp_path / "cuda-13.0/bin/nvcc"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return tmp_path / "cuda-13.0"


def test_a_toolkit_is_found_by_its_compiler(installed):
    library = installed / "nvvm/lib64/libnvvm.so.4"
    library.parent.mkdir(parents=True)
    library.write_text("")
    assert toolkit.toolkit_folder() == str(installed.resolve())


def test_a_toolkit_without_libnvvm_is_none(installed):
    assert toolkit.toolkit_folder() != str(installed.resolve())


def test_nvidias_packages_need_no_toolkit(installed, tmp_path, monkeypatch):
    library = tmp_path / "site/nvidia/cu13/nvvm/lib64/libnvvm.so.4"
    library.parent.mkdir(parents=True)
    library.write_text("")
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path / "site/nvidia")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    assert toolkit.toolkit_folder() == ""


def test_one_module_imports_cuda():
    """Its successor is then tried by changing one file."""
    root = Path(workbench.__file__).parent
    importing = re.compile(r"(?:from|import) numba\.cuda|from numba import cuda$|import_module\(\"numba\.cuda", re.M)
    found = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if importing.search(path.read_text())]
    assert found == ["codegen/cuda/toolkit.py"]
