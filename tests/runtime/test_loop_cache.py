"""Compiled loops are kept on disk, and read back instead of compiled again."""

from __future__ import annotations

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
