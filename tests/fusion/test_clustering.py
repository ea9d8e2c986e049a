"""What fuses, what does not, and the reasons that are given."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401  (declares the primitives)
from tests.codegen.random_jaxprs import RandomProgram
from tests.compare import assert_same
from workbench.fusion import Cluster, LibraryStep, ViewStep, form_plan, step_inputs, step_outputs
from workbench.fusion.reasons import REASONS
from workbench.ir import Literal
from workbench.ir.builder import JaxprBuilder

from . import programs


def steps_of(jaxpr):
    return [type(step).__name__ for step in form_plan(jaxpr).steps]


def refusals(jaxpr):
    return [d.code for d in form_plan(jaxpr).decisions if not d.merged]


def test_softmax_is_one_kernel():
    assert steps_of(programs.softmax()) == ["Cluster"]


def test_full_reduction_fuses_with_its_operand():
    assert steps_of(programs.sum_squared_error()) == ["Cluster"]


def test_column_reductions_in_two_rounds_are_two_kernels_that_store_columns_only():
    plan = form_plan(programs.column_standard_deviation())
    assert [type(s).__name__ for s in plan.steps] == ["Cluster", "Cluster"]
    assert "WB319" in refusals(programs.column_standard_deviation())
    assert all(out.aval.ndim == 1 for cluster in plan.clusters for out in cluster.outvars)


def test_three_rows_are_gone_down_twice_in_one_kernel():
    assert steps_of(programs.column_standard_deviation("f64[3,600]")) == ["Cluster"]


def test_slices_fuse_into_the_stencil_that_reads_them():
    plan = form_plan(programs.stencil())
    assert len(plan.clusters) == 1
    assert len(plan.clusters[0].invars) == 1


def test_reader_of_a_finished_total_is_refused_with_the_reason():
    jaxpr = programs.scaled_by_its_maximum()
    assert steps_of(jaxpr) == ["Cluster", "Cluster"]
    assert set(refusals(jaxpr)) == {"WB313"}


def test_library_call_stands_between_kernels():
    plan = form_plan(programs.matmul_between_chains())
    assert [type(s) for s in plan.steps] == [Cluster, LibraryStep, Cluster]
    assert set(refusals(programs.matmul_between_chains())) == {"WB320"}


def test_transposed_operand_of_a_library_call_is_a_view():
    b = JaxprBuilder()
    x = b.input("f64[4,6]")
    product = b.emit(
        "dot_general", b.emit("transpose", x, permutation=(1, 0)), x,
        dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type=x.aval.dtype,
    )  # fmt: skip
    assert [type(s) for s in form_plan(b.build(product)).steps] == [ViewStep, LibraryStep]


def test_expensive_value_is_not_recomputed_at_shifted_places():
    b = JaxprBuilder()
    x = b.input("f64[100,100]")
    e = b.emit("exp", x)
    shifted = [b.emit("slice", e, start_indices=(i, 0), limit_indices=(98 + i, 100), strides=None) for i in range(3)]
    jaxpr = b.build(b.emit("add", b.emit("add", shifted[0], shifted[1]), shifted[2]))
    assert steps_of(jaxpr) == ["Cluster", "Cluster"]
    assert set(refusals(jaxpr)) == {"WB314"}


@pytest.mark.parametrize(
    ("text", "n_kernels"),
    [
        ("x * np.exp(v)", 2),  # each of 5,000 rows would compute it again
        ("x * np.exp(v)[:, None]", 1),  # a row computes its own once
        ("x * (v + 1)", 1),
        ("x[:3] * np.exp(v)", 1),
        ("x * np.exp(x + v)", 1),
    ],
)
def test_what_is_dear_and_varies_along_rows_is_computed_once(text, n_kernels):
    f = eval(f"lambda x, v: {text}", {"np": np})
    x, v = np.ones((5000, 20)), np.linspace(0.0, 1.0, 5000 if "None" in text else 20)
    compiled = wb.jit(f)
    np.testing.assert_allclose(compiled(x, v), f(x, v), rtol=1e-15)
    (compilation,) = compiled.compilations
    assert len(compilation.plan.clusters) == n_kernels


def test_cheap_value_is_recomputed_rather_than_stored():
    b = JaxprBuilder()
    x = b.input("f64[100,100]")
    y = b.emit("mul", x, 2.0)
    parts = [b.emit("slice", y, start_indices=(i, 0), limit_indices=(98 + i, 100), strides=None) for i in (0, 2)]
    assert steps_of(b.build(b.emit("add", *parts))) == ["Cluster"]


def test_siblings_that_read_one_array_share_a_kernel():
    b = JaxprBuilder()
    x = b.input("f64[1000]")
    assert steps_of(b.build(b.emit("exp", x), b.emit("sin", x))) == ["Cluster"]


def test_a_total_and_those_who_need_it_do_not_merge_as_siblings():
    b = JaxprBuilder()
    x = b.input("f64[1000]")
    total = b.emit("reduce_sum", x, axes=(0,))
    jaxpr = b.build(b.emit("add", b.emit("exp", x), total))
    assert steps_of(jaxpr) == ["Cluster", "Cluster"]
    assert refusals(jaxpr) == ["WB313"]


def test_merge_that_would_make_a_cycle_is_refused():
    b = JaxprBuilder()
    x = b.input("f64[8,8]")
    y = b.emit("mul", x, 2.0)
    (sorted_y,) = b.emit("sort", y, dimension=1, is_stable=True, num_keys=1)
    jaxpr = b.build(b.emit("add", y, sorted_y))
    assert steps_of(jaxpr) == ["Cluster", "LibraryStep", "Cluster"]
    assert "WB316" in refusals(jaxpr)


def test_long_chains_are_cut_where_compilation_would_slow_down():
    b = JaxprBuilder()
    x = b.input("f64[1000]")
    for i in range(1100):
        x = b.emit("add", x, float(i))
    jaxpr = b.build(x)
    assert steps_of(jaxpr) == ["Cluster"] * 3
    assert set(refusals(jaxpr)) == {"WB317"}


@pytest.mark.parametrize(("n_flops", "is_stored"), [(0, False), (200, True)])
def test_cheap_value_of_two_kernels_is_stored_where_these_compute_longer_than_they_read(n_flops, is_stored):
    b = JaxprBuilder()
    x = b.input("f64[1000]")
    square = b.emit("mul", x, x)

    def longer(y):
        for i in range(n_flops // 2):
            y = b.emit("mul", b.emit("add", y, float(i)), square)
        return y

    total = b.emit("reduce_sum", longer(square), axes=(0,))
    first, second = form_plan(b.build(longer(b.emit("sub", square, total)))).clusters
    assert (square in first.outvars) == (square in second.invars) == is_stored


def test_a_group_that_reaches_to_behind_its_readers_makes_no_cycle():
    jaxpr = RandomProgram(187, 31).jaxpr
    made = set(jaxpr.invars)
    for step in form_plan(jaxpr).steps:
        assert set(step_inputs(step)) <= made
        made.update(step_outputs(step))


def test_a_program_has_one_plan_wherever_its_equations_are_in_memory():
    def kernels(seed):
        plan = form_plan(RandomProgram(seed, 4 + seed % 40).jaxpr)
        place = {eqn: k for k, eqn in enumerate(plan.jaxpr.eqns)}
        return [[place[eqn] for eqn in cluster.eqns] for cluster in plan.clusters]

    for seed in range(220, 232):
        first = kernels(seed)
        held = [object() for _ in range(997 * (seed - 219))]  # what comes now has other addresses
        assert kernels(seed) == first
        del held


@pytest.mark.parametrize("seed", range(200))
def test_every_plan_computes_each_result_once_and_in_order(seed):
    jaxpr = RandomProgram(seed, 1 + seed % 25).jaxpr
    plan = form_plan(jaxpr)
    known = {*jaxpr.invars, *jaxpr.constvars}
    for step in plan.steps:
        assert set(step_inputs(step)) <= known
        assert known.isdisjoint(step_outputs(step))
        assert step_outputs(step)
        known.update(step_outputs(step))
    assert {v for v in jaxpr.outvars if not isinstance(v, Literal)} <= known
    for decision in plan.decisions:
        assert decision.reason == REASONS[decision.code]
        assert decision.merged == (decision.code < "WB310")


@pytest.mark.parametrize("n", [4, 12])
def test_choices_that_are_read_in_their_place_and_elsewhere_do_not_multiply(n):
    def extended(x, k):
        a = np.array([1.0])
        for i in range(n):
            a = np.concatenate((a, [0.0]))
            a = a + k[i] * a[::-1]
        return a * x

    compiled = wb.jit(extended)
    args = 2.0, np.random.default_rng(0).random(n)
    assert_same(compiled(*args), extended(*args))
    assert not compiled.fallbacks
    (compilation,) = compiled.compilations
    assert all(len(kernel.source) < 100_000 for kernel in compilation.kernels.values())
