"""Object code that is loaded without LLVM: the same results, a refusal of all that is not as expected."""

import ctypes
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import machine
from workbench.runtime.native import kernels, machine_code, object_code
from workbench.runtime.native.object_code import UnsupportedObjectError, load

needs_elf = pytest.mark.skipif(not object_code.is_possible(), reason="object code is of another format here")

SINE = """
@table = internal constant [2 x i64] [i64 5, i64 7]
declare double @sin(double)
define i64 @element(i64 %k) {
  %at = getelementptr [2 x i64], ptr @table, i64 0, i64 %k
  %x = load i64, ptr %at
  ret i64 %x
}
define double @twice_sine(double %x) {
  %y = call double @sin(double %x)
  %z = fmul double %y, 2.0
  ret double %z
}
"""


@needs_elf
def test_functions_constants_and_calls_of_the_c_library():
    functions = load(machine_code.compile_assembly(SINE)[0])
    element = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(functions["element"])
    twice_sine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(functions["twice_sine"])
    assert [element(0), element(1)] == [5, 7]
    np.testing.assert_allclose(twice_sine(0.5), 2 * np.sin(0.5), rtol=1e-15)


@needs_elf
@pytest.mark.parametrize(
    "text",
    ["@counter = global i64 3\n", "declare void @no_such_function_anywhere()\n"
     "define void @f() {\n  call void @no_such_function_anywhere()\n  ret void\n}\n",
     "@own = thread_local global i64 3\n"],
)  # fmt: skip
def test_what_needs_more_is_left_to_llvm(text):
    code, _ = machine_code.compile_assembly(text)
    before = len(object_code._loaded)
    with pytest.raises(UnsupportedObjectError):
        load(code)
    assert len(object_code._loaded) == before


@needs_elf
def test_damaged_files_are_refused():
    code, _ = machine_code.compile_assembly(SINE)
    for damaged in (
        b"",
        code[:40],
        code[: len(code) // 2],
        b"MZ" + code[2:],
        code[:18] + struct.pack("<H", 183) + code[20:],
    ):
        with pytest.raises(UnsupportedObjectError):
            load(damaged)


def test_kernels_run_where_llvm_must_load_them(monkeypatch):
    def refuse(code):
        raise UnsupportedObjectError("not here")

    x = np.linspace(0, 1, 37)
    expected = wb.jit(lambda x: np.sqrt(x + 0.125) * 3)(x)
    monkeypatch.setattr(machine_code, "load", refuse)
    monkeypatch.setattr(machine_code, "_addresses", {})
    with wb.config(cache_dir="off"):
        kernels.forget_kernels()
        np.testing.assert_array_equal(wb.jit(lambda x: np.sqrt(x + 0.125) * 3)(x), expected)
    kernels.forget_kernels()


PROGRAM = """
import sys
import numpy as np
import workbench as wb
x = np.linspace(0, 1, 1001)
y = wb.jit(lambda x: np.exp(x) * 2 + np.sum(x))(x)
assert np.allclose(y, np.exp(x) * 2 + np.sum(x), rtol=1e-14), y
from workbench.runtime.native import kernels
print(kernels.N_COMPILED, *[name for name in ("llvmlite", "numba", "psutil") if name in sys.modules])
"""


@needs_elf
def test_a_process_that_finds_its_kernels_imports_no_compiler(tmp_path):
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    compiled, again = (run.stdout.split() for run in runs)
    assert int(compiled[0]) > 0 and "llvmlite" in compiled
    assert again == ["0"]


def test_the_machine_is_as_psutil_finds_it():
    import psutil

    assert machine.total_memory() == psutil.virtual_memory().total
    assert machine.physical_cores() == psutil.cpu_count(logical=False)


def test_the_identity_of_a_machine_is_stable_and_names_llvm():
    import llvmlite

    assert machine_code.identity.__wrapped__() == machine_code.identity()
    assert llvmlite.__version__ in machine_code.identity()
