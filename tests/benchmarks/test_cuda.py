"""The CUDA benchmark's checks pass in the simulator, so that it is ready where there is a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import cuda

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("family", cuda.FAMILIES, ids=lambda family: family.name)
def test_every_family_passes_its_check(family):
    result, compiled, _ = cuda.check(family, "cuda-sim", np.float32, 120, np.random.default_rng(0))
    assert result.error <= family.rtol and [c.device for c in compiled.compilations] == ["cuda-sim"]


def test_it_runs_from_a_source_tree_and_writes_notes(tmp_path):
    notes = tmp_path / "notes.json"
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim", "--elements", "60"]
    done = subprocess.run([*command, "--notes", str(notes)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(notes.read_text())
    assert written["machine"]["device"] == "cuda-sim" and len(written["results"]) == 2 * len(cuda.FAMILIES) + 2
    assert not any(r["times_us"] or r["failed"] for r in written["results"])


def test_without_a_gpu_it_says_why(tmp_path):
    from workbench.runtime.devices import accelerator

    if accelerator():
        pytest.skip("this machine has a GPU")
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "Check " in done.stdout and "Traceback" not in done.stderr
