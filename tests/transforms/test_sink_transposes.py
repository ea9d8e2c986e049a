"""Transposes of results: which are computed on the way in, which stay, and that no bit changes."""

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.trace import trace
from workbench.ir import check_jaxpr, eval_jaxpr, same_bits
from workbench.transforms import eliminate_dead_code, run_pipeline
from workbench.transforms.sink_transposes import sink_transposes

F = np.asfortranarray(np.linspace(-3, 4, 48).reshape(6, 8))


def primitives(function, *arrays):
    """The names of the operations that remain, in order."""
    before = trace(function, arrays, {}).jaxpr
    after = eliminate_dead_code(sink_transposes(before))
    for program in (after, run_pipeline(before, check=True)):
        check_jaxpr(program)
        for a, b in zip(eval_jaxpr(before, *arrays), eval_jaxpr(program, *arrays), strict=True):
            assert same_bits(a, b)
    return [eqn.primitive.name for eqn in after.eqns]


def test_what_results_are_computed_from_is_transposed():
    assert primitives(lambda x: x * 2 + 1, F) == ["transpose", "mul", "add"]
    assert primitives(lambda x: x + x, F) == ["transpose", "add"]
    assert primitives(lambda x: np.where(x > 0, x, 0.5), F).count("transpose") == 1


def test_slices_and_broadcasts_go_along():
    assert primitives(lambda x: x[1:-1] - x[:-2], F) == ["transpose", "slice", "slice", "sub"]
    names = primitives(lambda x, v: x * v, F, np.arange(8.0))
    assert sorted(names) == ["broadcast_in_dim", "mul", "transpose"]


def test_what_is_read_otherwise_is_not_computed_twice():
    names = primitives(lambda x: (y := x * 2, y.sum()), F)
    assert names.count("mul") == 1


def test_several_arrays_of_the_program_are_not_transposed_for_one():
    names = primitives(lambda x: np.cumsum(x, axis=0) + np.sort(x, axis=1), F)
    assert names[-2:] == ["add", "transpose"]


def test_what_is_transposed_twice_is_not_sunk():
    jaxpr = run_pipeline(trace(lambda x: (x * 2).T, (np.ones((6, 8)),), {}).jaxpr, check=True)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_axes_in_any_order(order):
    x = np.arange(60.0).reshape(3, 4, 5).transpose(order)
    v = np.arange(float(x.shape[1]))[:, None]

    def function(x, v):
        return (x[:, 1:] * v[1:] + x[:, :1]) ** 2, x * 2

    compiled = wb.jit(function)
    for found, expected in zip(compiled(x, v), function(x, v), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides
    assert not compiled.fallbacks
