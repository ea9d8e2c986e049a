"""The CUDA benchmark's checks pass in the simulator, and its supervisor survives what a device may do to a process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import cuda, cuda_checks, cuda_families
from tests.benchmarks.cuda_supervisor import supervise
from tests.runtime.cuda import fake_cupy

ROOT = Path(__file__).parents[2]
FAMILIES = cuda_families.FAMILIES
# A worker whose tasks end well, crash, hang, and break the device for those after them.
WORKER = """
import json, os, sys, time
tasks = {tasks}
with open(sys.argv[2], "a") as file:
    def write(record):
        print(json.dumps(record), file=file, flush=True)
    for number in map(int, sys.argv[1].split(",")):
        write({{"begin": number}})
        if tasks[number] == "crash":
            os._exit(11)
        if tasks[number] == "hang":
            time.sleep(60)
        write({{"end": number, "result": tasks[number]}})
        if tasks[number] == "break":
            sys.exit(3)
"""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_passes_its_check(family):
    result, compiled, _ = cuda_checks.check(family, "cuda-sim", np.float32, 120, np.random.default_rng(0))
    assert (result.error <= family.rtol or family.share) and [c.device for c in compiled.compilations] == ["cuda-sim"]


def test_library_calls_pass_their_check():
    cuda_checks.check_library("cuda-sim")


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setattr(cuda, "ROUNDS", 2)
    monkeypatch.setattr(cuda, "SAMPLE_S", 0.0)
    monkeypatch.setattr(cuda, "missing", lambda names: list(names))  # no peers: they need a GPU of their own
    return fake_cupy.install(monkeypatch)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_is_timed(cupy, family):
    result = cuda.timed(family, "cuda:0", np.float32, 90)
    assert set(result.times_us) >= {"workbench", "kernels by events"} and result.gb_per_s > 0


def test_what_only_a_device_can_break_is_checked_and_launches_are_timed(cupy, monkeypatch):
    cuda_checks.check_device_arrays("cuda:0", n=403)
    cuda_checks.check_control("cuda:0", sizes=(99,))
    assert cuda.launch_overhead("cuda:0", n=50)["recorded"] == 1.0
    assert cuda.first_call("cuda:0", n=50)["workbench"] > 0
    assert set(cuda.block_loops("cuda:0", sizes=(8,), steps=3)) == {"one block, 8", "host, 8"}
    for check in ("lazy results", "same bits"):
        cuda_checks.CHECKS[check]("cuda-sim")


def test_it_runs_from_a_source_tree_and_writes_notes(tmp_path):
    notes = tmp_path / "notes.json"
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim", "--elements", "60"]
    done = subprocess.run([*command, "--notes", str(notes)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(notes.read_text())
    assert written["machine"]["device"] == "cuda-sim" and len(written["results"]) == 2 * len(FAMILIES) + 4
    assert not any(r["times_us"] or r["failed"] for r in written["results"])


def test_tasks_go_on_after_one_that_crashes_hangs_or_breaks_the_device(tmp_path):
    tasks = ["fine", "crash", "fine", "break", "hang", "fine"]
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(tasks=tasks))

    def command(numbers, path):
        return [sys.executable, str(script), ",".join(map(str, numbers)), str(path)]

    ended = []
    found = supervise(
        tasks, command, tmp_path, deadline=time.monotonic() + 60, task_s=1.0, on_end=lambda n, record: ended.append(n)
    )
    assert ended == [0, 1, 2, 3, 4, 5]
    assert [found[n].get("result") for n in (0, 2, 3, 5)] == ["fine", "fine", "break", "fine"]
    assert "code 11" in found[1]["failed"] and "longer" in found[4]["failed"]


def test_what_finds_no_time_is_said(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(tasks=["hang", "fine"]))

    def command(numbers, path):
        return [sys.executable, str(script), ",".join(map(str, numbers)), str(path)]

    found = supervise(["hang", "fine"], command, tmp_path, deadline=time.monotonic() + 1.5, task_s=60.0)
    assert "time was up" in found[0]["failed"] and "no time" in found[1]["skipped"]


def test_a_worker_that_does_not_start_ends_it(tmp_path):
    found = supervise(
        ["a", "b"], lambda *_: [sys.executable, "-c", "1/0"], tmp_path, deadline=time.monotonic() + 30, task_s=1.0
    )
    assert all("does not start" in record["failed"] for record in found.values()) and len(found) == 2


def test_the_summary_is_a_dated_block_of_markdown(tmp_path, capsys):
    result = cuda.asdict(
        cuda_checks.Result("chain", "float32", "100", times_us={"workbench": [2.0, 1.0, 3.0]}, gb_per_s=900.0)
    )
    tasks = ["extra/limits/", "time/chain/float32", "time/sum/float32", "check/sort/float32"]
    machine = {"nvidia-smi": "Some GPU", "versions": {"numpy": "2"}}
    found = {
        0: {"extra": {"copy_gb_per_s": 1000.0, "peak_gflops": 1e4, "n_threads": 1}, "machine": machine},
        1: {"result": result},
        2: {"failed": "the process ended with code 11"},
        3: {"skipped": "no time was left"},
    }
    notes = tmp_path / "notes.md"
    assert cuda.summarise("cuda:0", tasks, found, notes) == 1
    text, shown = notes.read_text(), capsys.readouterr().out
    assert text.startswith("## 20") and "Some GPU" in text and "| chain | float32 |" in text and "90%" in text
    assert "FAILED time/sum/float32: the process ended with code 11" in shown
    assert "check/sort/float32" in shown and "1 checks passed, 1 failed" in shown


def test_a_missing_package_is_named_with_the_way_to_bring_it(tmp_path):
    hide = tmp_path / "sitecustomize.py"
    hide.write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name in ('optree', 'platformdirs') else find(name, *rest)\n"
    )
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2 and "optree, platformdirs" in done.stdout and "--wheels" in done.stdout


def test_without_a_gpu_it_says_why(tmp_path):
    from workbench.runtime.devices import accelerator

    if accelerator():
        pytest.skip("this machine has a GPU")
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "Check " in done.stdout and "Traceback" not in done.stderr
