"""Loops that call scalar functions become vector code, on this processor and on one with AVX2 alone."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import numpy as np
import pytest

from workbench.codegen.scalar_math import scalar_function

from .ulps import BINARY, UNARY, loops

X86 = platform.machine().lower() in ("x86_64", "amd64")
EXACT = ("mod", "floor_divide", "rem", "maximum", "fmax", "heaviside", "nextafter", "copysign")
INTEGER = ("floor_divide", "mod", "rem", "maximum", "shift_left", "shift_right_arithmetic")

# A kernel with many functions in one loop: one scalar call among them would make all of it scalar.
TOGETHER = """
import numpy as np
from numba import njit
from workbench.codegen.scalar_math import namespace
names = ["exp_f64", "log_f64", "sin_f64", "tanh_f64", "pow_f64", "erf_f64", "mod_f64", "atan2_f64", "lgamma_f64"]
source = '''
def kernel(rows, columns, x, y, out):
    for i in range(rows):
        for j in range(columns):
            a, b = x[i, j], y[i, j]
            out[i, j] = (exp_f64(a) + log_f64(b) * sin_f64(a) - tanh_f64(b) + pow_f64(b, a) + erf_f64(a)
                         + mod_f64(a, b) + atan2_f64(a, b) + lgamma_f64(b))
'''
scope = dict(namespace(names))
exec(source, scope)
kernel = njit(scope["kernel"], error_model="numpy")
x = np.linspace(0.1, 3, 600).reshape(6, 100)
kernel(6, 100, x, x + 0.5, np.empty_like(x))
print(kernel.inspect_llvm(kernel.signatures[0]))
"""


def widths(llvm: str, kind: str) -> set[int]:
    """The vector lengths at which the loop itself multiplies (the vector forms of slow paths only call)."""
    return {int(n) for n in re.findall(rf"= fmul <(\d+) x {kind}>", llvm)}


def llvm_of(name: str, dtype: np.dtype, n_arguments: int) -> str:
    compiled = loops([scalar_function(name, dtype).name], n_arguments)
    x = np.ones(4, dtype)
    compiled(*[x] * n_arguments, np.empty_like(x))
    return compiled.inspect_llvm(compiled.signatures[0])


@pytest.mark.parametrize("dtype", [np.dtype(np.float64), np.dtype(np.float32)], ids=str)
def test_float_functions_vectorise(dtype):
    kind = "double" if dtype == np.float64 else "float"
    for name in UNARY + BINARY + EXACT:
        assert scalar_function(name, dtype).vectorises, name
        llvm = llvm_of(name, dtype, 1 if name in UNARY else 2)
        stores = re.findall(rf"store <(\d+) x {kind}>", llvm)
        assert stores, f"{name} for {dtype} stays scalar"


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.uint8)], ids=str)
def test_narrow_integer_division_vectorises(dtype):
    for name in INTEGER:
        llvm = llvm_of(name, dtype, 2)
        assert re.search(rf"store <\d+ x i{8 * dtype.itemsize}>", llvm), f"{name} for {dtype} stays scalar"


@pytest.mark.parametrize("cpu", ["", "haswell"])
def test_many_functions_in_a_nested_loop_vectorise(cpu):
    if cpu and not X86:
        pytest.skip("an x86 processor's name")
    settings = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""} if cpu else {}
    run = subprocess.run(
        [sys.executable, "-c", TOGETHER], env=os.environ | settings, capture_output=True, text=True, check=True
    )
    assert max(widths(run.stdout, "double"), default=0) >= (4 if X86 else 2)
