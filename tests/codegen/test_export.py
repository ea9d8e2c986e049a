"""Exported kernels run in a process that has never heard of workbench."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401  (declares the primitives)
from tests.fusion import programs
from workbench.codegen.export import standalone
from workbench.fusion import form_plan
from workbench.ir.evaluate import eval_jaxpr
from workbench.runtime.executable import plan_kernels

CALLER = """
import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
inputs = np.load(sys.argv[2])
np.save(sys.argv[3], kernel.run(*[inputs[name] for name in inputs.files]))
assert not any(name.startswith("workbench") for name in sys.modules)
"""


@pytest.mark.parametrize("program", [programs.softmax, programs.sum_squared_error, programs.stencil])
def test_exported_kernel_runs_alone(program, tmp_path):
    jaxpr = program()
    plan = form_plan(jaxpr)
    (kernel,) = plan_kernels(plan, ["C"] * len(jaxpr.invars)).values()
    (tmp_path / "kernel.py").write_text(standalone(kernel))
    inputs = [np.random.default_rng(0).normal(size=v.aval.shape) for v in jaxpr.invars]
    np.savez(tmp_path / "inputs.npz", **{f"x{i}": x for i, x in enumerate(inputs)})
    files = [str(tmp_path / name) for name in ("kernel.py", "inputs.npz", "result.npy")]
    subprocess.run([sys.executable, "-c", CALLER, *files], check=True, cwd=tmp_path, timeout=120)
    (expected,) = eval_jaxpr(jaxpr, *inputs)
    np.testing.assert_allclose(np.load(tmp_path / "result.npy"), expected, rtol=1e-12)


def test_a_kernel_that_updates_an_array_takes_it_and_gives_it_back():
    def boundary(p):
        p[0, :] = p[1, :]

    compiled = wb.jit(boundary)
    p = np.arange(200.0).reshape(10, 20)
    compiled(p)
    (kernel,) = compiled.compilations[-1].kernels.values()
    scope: dict = {}
    exec(standalone(kernel), scope)
    q = np.arange(200.0).reshape(10, 20)
    result = scope["run"](q)
    assert result is q
    np.testing.assert_array_equal(q, p)
