"""The CUDA benchmark's checks pass in the simulator, and its supervisor survives what a device may do to a process."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import optree
import pytest

from tests.benchmarks import cuda, cuda_checks, cuda_families, cuda_stand_ins
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
    assert set(result.times_us) >= {"workbench", "steps by events"} and result.gb_per_s > 0


def test_what_only_a_device_can_break_is_checked_and_launches_are_timed(cupy, monkeypatch):
    cuda_checks.check_device_arrays("cuda:0", n=403)
    cuda_checks.check_control("cuda:0", sizes=(99,))
    assert cuda.launch_overhead("cuda:0", n=50)["recorded"] == 1.0
    assert cuda.first_call("cuda:0", n=50)["workbench"] > 0
    assert set(cuda.block_loops("cuda:0", sizes=(8,), steps=3)) == {"one block, 8", "host, 8"}
    with monkeypatch.context() as patch:
        patch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)
        cuda_checks.check_pieces("cuda:0", n=6)
    for check in ("lazy results", "same bits"):
        cuda_checks.CHECKS[check]("cuda-sim")


def test_programs_are_run_in_the_time_that_is_left(cupy):
    from tests.numpy_programs.all import PROGRAMS

    tasks = cuda.tasks_of("cuda:0")
    assert set(cuda.PROGRAMS) <= set(PROGRAMS) and tasks[-1] == f"program/{cuda.PROGRAMS[-1]}/"
    record = cuda.perform("program/game_of_life/", "cuda:0", 50)
    assert not record["result"]["failed"]


def test_it_runs_from_a_source_tree_and_writes_notes(tmp_path):
    notes = tmp_path / "notes.json"
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim", "--elements", "60"]
    done = subprocess.run([*command, "--notes", str(notes)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(notes.read_text())
    assert written["machine"]["device"] == "cuda-sim" and len(written["results"]) == 2 * len(FAMILIES) + 5
    assert not any(r["times_us"] or r["failed"] for r in written["results"])


def test_tasks_go_on_after_one_that_crashes_hangs_or_breaks_the_device(tmp_path):
    tasks = ["fine", "crash", "fine", "break", "hang", "fine"]
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(tasks=tasks))

    def command(numbers, path):
        return [sys.executable, str(script), ",".join(map(str, numbers)), str(path)]

    ended = []
    found = supervise(
        range(len(tasks)),
        command,
        tmp_path,
        deadline=time.monotonic() + 60,
        task_s=1.0,
        on_end=lambda n, record: ended.append(n),
    )
    assert ended == [0, 1, 2, 3, 4, 5]
    assert [found[n].get("result") for n in (0, 2, 3, 5)] == ["fine", "fine", "break", "fine"]
    assert "code 11" in found[1]["failed"] and "longer" in found[4]["failed"]


def test_what_finds_no_time_is_said(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(tasks=["hang", "fine"]))

    def command(numbers, path):
        return [sys.executable, str(script), ",".join(map(str, numbers)), str(path)]

    found = supervise([0, 1], command, tmp_path, deadline=time.monotonic() + 1.5, task_s=60.0)
    assert "time was up" in found[0]["failed"] and "no time" in found[1]["skipped"]


def test_a_worker_that_does_not_start_ends_it(tmp_path):
    found = supervise(
        [0, 1], lambda *_: [sys.executable, "-c", "1/0"], tmp_path, deadline=time.monotonic() + 30, task_s=1.0
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


def hidden(folder: Path, *names: str) -> dict[str, str]:
    """The environment of a process in which these packages are not installed."""
    (folder / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nfind = u.find_spec\n"
        f"names = {names}\n"
        "u.find_spec = lambda name, *rest: None if name in names and name not in sys.modules else find(name, *rest)\n"
        "class Finder:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name in names:\n            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_a_missing_package_is_named_with_the_way_to_bring_it(tmp_path):
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim"]
    done = subprocess.run(command, capture_output=True, text=True, env=hidden(tmp_path, "psutil"))
    assert done.returncode == 2 and "psutil" in done.stdout and "--python-version" in done.stdout


def test_stand_ins_take_the_place_of_small_packages(tmp_path):
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py"), "--device", "cuda-sim", "--elements", "40"]
    done = subprocess.run(command, capture_output=True, text=True, env=hidden(tmp_path, "optree", "platformdirs"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "replaced by stand-ins: optree, platformdirs" in done.stdout and " 0 failed" in done.stdout


class Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize("none_is_leaf", [False, True])
@pytest.mark.parametrize(
    "value",
    [1, None, (), [], {}, (1, [2, None], {"b": 3, "a": (4,)}), Pair(1, [2, Pair(3, None)]), {2: 1, "x": 2}, [[], (None,)]],
    ids=str,
)  # fmt: skip
def test_the_stand_in_of_optree_gives_what_optree_gives(value, none_is_leaf):
    for name in ("tree_leaves", "tree_paths"):
        mine = getattr(cuda_stand_ins, name)(value, none_is_leaf=none_is_leaf)
        assert mine == getattr(optree, name)(value, none_is_leaf=none_is_leaf)
    leaves, tree = cuda_stand_ins.tree_flatten(value, none_is_leaf=none_is_leaf)
    theirs = optree.tree_structure(value, none_is_leaf=none_is_leaf)
    assert (tree.num_nodes, tree.num_children) == (theirs.num_nodes, theirs.num_children)
    assert tree.num_leaves == theirs.num_leaves and cuda_stand_ins.tree_unflatten(tree, leaves) == value
    assert tree == cuda_stand_ins.tree_flatten(value, none_is_leaf=none_is_leaf)[1] and hash(tree) is not None
    doubled = cuda_stand_ins.tree_map(lambda x: [x, x], value, none_is_leaf=none_is_leaf)
    assert doubled == optree.tree_map(lambda x: [x, x], value, none_is_leaf=none_is_leaf)
    with pytest.raises(ValueError, match="Too many"):
        cuda_stand_ins.tree_unflatten(tree, [*leaves, 0])


def test_packages_of_wheels_are_taken_with_their_pth_files(tmp_path, monkeypatch):
    wheels, folder = tmp_path / "wheels", tmp_path / "unpacked"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "a-1-py3-none-any.whl", "w") as archive:
        archive.writestr("brought_by_a_wheel.py", "answer = 42\n")
        archive.writestr("a.pth", "import sys; sys.brought_by_pth = True\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("WORKBENCH_UNPACKED", "")
    cuda.unpack(wheels, folder)
    assert importlib.import_module("brought_by_a_wheel").answer == 42
    assert sys.__dict__.pop("brought_by_pth") and os.environ["WORKBENCH_UNPACKED"] == str(folder)


def test_without_a_gpu_it_says_why(tmp_path):
    from workbench.runtime.devices import accelerator

    if accelerator():
        pytest.skip("this machine has a GPU")
    command = [sys.executable, str(ROOT / "tests/benchmarks/cuda.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "Check " in done.stdout and "Traceback" not in done.stderr
