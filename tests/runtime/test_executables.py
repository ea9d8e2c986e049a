"""Executables: plans as straight-line code, run and profiled."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.fusion import form_plan
from workbench.ir.evaluate import eval_jaxpr
from workbench.ir.parser import parse_jaxpr
from workbench.runtime.executable import build, plan_kernels

PROGRAM = """
{ lambda ; x:f64[4,6] w:f64[6]. let
    a:f64[4,6] = exp x
    b:f64[6,4] = transpose[permutation=(1, 0)] a
    c:f64[4,6] = sort[dimension=1 is_stable=True num_keys=1] a
    d:f64[4] = reduce_sum[axes=(1,)] c
    e:f64[24] = reshape[dimensions=None new_sizes=(24,)] c
    f:f64[4] = mul d 2.0:f64[]
  in (b, f, e, x, 3.0:f64[], f) }
"""


def executable_of(text, layouts=None):
    jaxpr = parse_jaxpr(text)
    plan = form_plan(jaxpr)
    return jaxpr, build(plan, plan_kernels(plan, layouts or ["C"] * len(jaxpr.invars)), 2)


def test_run_and_profile_agree_with_the_reference(rng):
    jaxpr, executable = executable_of(PROGRAM)
    x, w = rng.random((4, 6)), rng.random(6)
    expected = eval_jaxpr(jaxpr, x, w)
    timeline: list[tuple[str, float, float]] = []
    for results in (executable.run(x, w), executable.profile(timeline, x, w)):
        for mine, reference in zip(results, expected, strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-14)
    assert [step for step, *_ in timeline] == [step.id for step in executable.plan.steps]
    assert all(duration >= 0 for _, _, duration in timeline)
    starts = [start for _, start, _ in timeline]
    assert starts == sorted(starts)


def test_an_input_is_handed_through_and_a_constant_is_new_each_time(rng):
    _, executable = executable_of(PROGRAM)
    x, w = rng.random((4, 6)), rng.random(6)
    first, second = executable.run(x, w), executable.run(x, w)
    assert first[3] is x
    assert first[4] is not second[4]


@pytest.mark.parametrize("layout", ["F", "strided", "reversed"])
def test_layouts_of_inputs(layout, rng):
    _, executable = executable_of(PROGRAM, ["A", "A"])
    x, w = rng.random((4, 6)), rng.random(6)
    made = {
        "F": np.asfortranarray(x), "strided": np.repeat(x, 2, axis=1)[:, ::2], "reversed": x[::-1].copy()[::-1]
    }[layout]  # fmt: skip
    _, reference = executable_of(PROGRAM)
    for a, b in zip(executable.run(made, w), reference.run(x, w), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_driver_has_one_statement_a_step():
    f = wb.jit(lambda x: np.sort(np.exp(x) + 1) * 2 - x)
    f(np.ones(5))
    executable = f.compilations[-1].executable
    body = executable.source.splitlines()[1:]
    assert sum("_run(" in line for line in body) == 2
    assert len(body) <= 4 * len(executable.plan.steps) + 1


def test_compiled_kernels_show_their_llvm_and_assembly():
    f = wb.jit(lambda x: np.sqrt(x) + 1)
    f(np.ones(5))
    compilation = f.compilations[-1]
    (name,) = compilation.kernels
    assert "sqrt" in compilation.get_llvm(name) and "ret" in compilation.get_asm(name)
    assert compilation.kernels[name].source.startswith(f"def {compilation.kernels[name].name}(start, stop, ")
