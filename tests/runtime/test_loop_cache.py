"""Compiled loops are kept on disk, and read back instead of compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import loops
from workbench.runtime.native import numba_loops


def recurrence(x: np.ndarray) -> np.ndarray:
    y = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        y[i] = 0.5 * y[i - 1] + np.sum(x[i:]) + 1e-3 * np.sum(x[:i] * y[:i])
    return y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(loops, "_compiled", {})
    return tmp_path


def test_a_loop_is_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.0, 1.0, 300)
    with wb.config(cache_dir=str(folder)):
        np.testing.assert_allclose(wb.jit(recurrence)(x), recurrence(x), rtol=1e-12)
        loops._compiled.clear()

        def refuse(*_: Any) -> None:
            raise AssertionError("compiled again")

        monkeypatch.setattr(numba_loops, "_compile", refuse)
        np.testing.assert_allclose(wb.jit(recurrence)(x), recurrence(x), rtol=1e-12)


def test_a_damaged_file_is_compiled_again(folder: Path) -> None:
    x = np.linspace(0.0, 1.0, 30)
    with wb.config(cache_dir=str(folder)):
        wb.jit(recurrence)(x)
        for path in (folder / "kernels").iterdir():
            path.write_bytes(path.read_bytes()[:-3])
        loops._compiled.clear()
        np.testing.assert_allclose(wb.jit(recurrence)(x), recurrence(x), rtol=1e-12)


LOOPS = """
import sys, numpy as np, workbench as wb

def floats(x):
    y = np.zeros(4)
    for i in range(1, len(x)):
        y = np.zeros(4)
        y[i % 4] = x[i] + np.sum(x[i:])
    return y

def integers(x):
    y = np.zeros(4, np.int32)
    for i in range(1, len(x)):
        y = np.zeros(4, np.int32)
        y[i % 4] = int(x[i]) + i
    return y

x = np.arange(300.0)
for name in sys.argv[1:]:
    found, expected = wb.jit(globals()[name])(x), globals()[name](x)
    assert found.dtype == expected.dtype and np.array_equal(found, expected)
"""


def test_loops_that_several_processes_have_compiled_meet_in_one(folder: Path) -> None:
    """numba numbers what it compiles anew in each process: what has one number there must not have one name here."""
    script = folder / "loop.py"
    script.write_text(LOOPS)
    for names in (["floats"], ["integers"], ["floats", "integers"], ["integers", "floats"]):
        done = subprocess.run(
            [sys.executable, str(script), *names], env={**os.environ, "WORKBENCH_CACHE_DIR": str(folder)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
