"""The kernel cache on disk: it survives damage, crashes and company, and believes nobody but its owner."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.native import kernels

X = np.linspace(0.0, 1.0, 50)


@pytest.fixture
def folder(tmp_path):
    with wb.config(cache_dir=str(tmp_path)):
        yield tmp_path / "kernels"
    kernels.forget_kernels()


def run(shift):
    """Compile and run a function afresh, as a new process would; how many kernels numba compiled for it."""
    kernels.forget_kernels()
    before = kernels.N_COMPILED
    f = wb.jit(lambda x: np.exp(x) * 1.5 + shift)
    np.testing.assert_allclose(f(X), np.exp(X) * 1.5 + shift, rtol=1e-14)
    return kernels.N_COMPILED - before


def test_a_kernel_is_compiled_once_a_machine(folder):
    assert run(0.25) == 1
    (file,) = folder.iterdir()
    assert run(0.25) == 0
    assert list(folder.iterdir()) == [file]


def test_files_and_folder_are_the_users_alone(folder):
    run(0.5)
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: data + b"more",
        lambda data: data[: len(data) // 2] + bytes(64) + data[len(data) // 2 + 64 :],
        lambda data: os.urandom(len(data)),
        lambda data: bytes(32) + data[32:],
    ],
    ids=["empty", "cut short", "one byte short", "too long", "a hole", "noise", "another checksum"],
)
def test_damaged_files_are_replaced(folder, damage):
    run(0.75)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert run(0.75) == 1
    assert run(0.75) == 0, "the file is whole again"


def test_an_intact_file_that_holds_something_else_is_replaced(folder):
    import hashlib

    run(1.25)
    (file,) = folder.iterdir()
    for payload in (pickle.dumps({"not": "a kernel"}), pickle.dumps((1, 2, 3)), b"not a pickle"):
        file.write_bytes(hashlib.sha256(payload).digest() + payload)
        assert run(1.25) == 1
    assert run(1.25) == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners on this system")
def test_a_file_of_another_user_is_not_read(folder, monkeypatch):
    run(1.75)
    assert run(1.75) == 0
    monkeypatch.setattr(os, "getuid", lambda: 12345678)
    assert run(1.75) == 1


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("in the way")
    with wb.config(cache_dir=str(occupied)):
        assert run(2.25) == 1
        assert run(2.25) == 1


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="permissions do not bind this user")
def test_a_read_only_folder(folder):
    run(2.5)
    folder.chmod(0o500)
    try:
        assert run(2.5) == 0
        assert run(2.75) == 1
    finally:
        folder.chmod(0o700)


def test_off_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with wb.config(cache_dir="off"):
        assert run(3.25) == 1 and run(3.25) == 1
    assert not list(tmp_path.iterdir())


PROGRAM = """
import sys, numpy as np, workbench as wb
from workbench.runtime.native import kernels
x = np.linspace(0.0, 1.0, 50)
for shift in (0.125, 0.375, 0.625):
    f = wb.jit(lambda x: np.tanh(x) * 2.5 + shift)
    assert np.allclose(f(x), np.tanh(x) * 2.5 + shift)
print(kernels.N_COMPILED)
"""


def start(folder):
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment)


def test_many_processes_write_at_once(tmp_path):
    writers = [start(tmp_path) for _ in range(3)]
    for writer in writers:
        output, _ = writer.communicate(timeout=180)
        assert writer.returncode == 0 and output.strip().isdigit()
    files = list((tmp_path / "kernels").iterdir())
    assert files and all(len(f.name) == 64 for f in files), "no temporary file is left"
    reader = start(tmp_path)
    output, _ = reader.communicate(timeout=180)
    assert output.strip() == "0"


def test_a_process_killed_while_it_writes_leaves_a_usable_cache(tmp_path):
    code = (
        "import os, tempfile, numpy as np, workbench as wb\n"
        "from workbench.runtime.native import kernels\n"
        "kernels.os.replace = lambda *_: os._exit(9)\n"
        "wb.jit(lambda x: np.tanh(x) * 2.5 + 0.125)(np.ones(3))\n"
    )
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 9
    reader = start(tmp_path)
    output, _ = reader.communicate(timeout=180)
    assert reader.returncode == 0 and int(output) >= 1


def test_kernels_of_one_text_but_other_types_are_different_files(folder):
    kernels.forget_kernels()
    f = wb.jit(lambda x: x + x)
    for dtype in ("f8", "f4", "i8", "i4", "c16"):
        x = np.arange(4).astype(dtype)
        np.testing.assert_array_equal(f(x), x + x, strict=True)
    for x in (np.ones((4, 4)), np.ones((4, 4)).T, np.ones((4, 8))[:, ::2]):
        np.testing.assert_array_equal(f(x), x + x)
    n_files = len(list(folder.iterdir()))
    assert n_files >= 6


def test_kernels_of_another_state_of_the_compiler_are_not_found(tmp_path, monkeypatch):
    native = tmp_path / "workbench" / "runtime" / "native"
    for folder in (native, tmp_path / "workbench" / "codegen" / "scalar_math"):
        folder.mkdir(parents=True)
    file = tmp_path / "workbench" / "codegen" / "lower.py"
    file.write_text("x = 1\n")
    monkeypatch.setattr(kernels, "__file__", str(native / "kernels.py"))
    keys = []
    for text in ("x = 1\n", "x = 22\n"):
        file.write_text(text)
        kernels._environment_key.cache_clear()
        keys.append(kernels._environment_key())
    monkeypatch.undo()
    kernels._environment_key.cache_clear()
    assert keys[0] != keys[1] != kernels._environment_key()
