"""Short contractions become sums of products with the same values; long ones stay library calls."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401  (declares the primitives)
from workbench.ir import check_jaxpr
from workbench.ir.builder import JaxprBuilder
from workbench.ir.evaluate import eval_jaxpr
from workbench.transforms.expand_contractions import expand_contractions


def product(left: str, right: str, left_axis: int, right_axis: int):
    b = JaxprBuilder()
    x, y = b.input(left), b.input(right)
    numbers = (((left_axis,), (right_axis,)), ((), ()))
    return b.build(b.emit("dot_general", x, y, dimension_numbers=numbers, preferred_element_type=x.aval.dtype))


def primitives(jaxpr):
    return {eqn.primitive.name for eqn in jaxpr.eqns}


@pytest.mark.parametrize(
    "case",
    [
        ("f64[5,4,3]", "f64[3]", 2, 0),
        ("f32[8]", "f32[8,5]", 0, 0),
        ("f64[5,2]", "f64[2,7]", 1, 0),
        ("c128[3,4]", "c128[3,2]", 0, 0),
        ("i8[6,3]", "i8[3]", 1, 0),
        ("f64[0,3]", "f64[3]", 1, 0),
    ],
)
def test_short_contraction_is_written_out(case):
    jaxpr = product(*case)
    expanded = expand_contractions(jaxpr)
    check_jaxpr(expanded)
    assert "dot_general" not in primitives(expanded)
    rng = np.random.default_rng(0)
    inputs = [(rng.normal(size=v.aval.shape) * 50).astype(v.aval.dtype) for v in jaxpr.invars]
    np.testing.assert_allclose(eval_jaxpr(expanded, *inputs)[0], eval_jaxpr(jaxpr, *inputs)[0], rtol=1e-5)


@pytest.mark.parametrize(
    "case", [("f64[5,9]", "f64[9]", 1, 0), ("f64[5,4]", "f64[4,5]", 1, 0), ("f64[3]", "f64[3]", 0, 0)]
)
def test_other_contractions_stay_library_calls(case):
    assert primitives(expand_contractions(product(*case))) == {"dot_general"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("n_terms", [1, 2, 3])
def test_no_sum_is_a_negative_zero(n_terms, dtype):
    """The library's sums begin with 0.0. (Those of complex numbers do so in most columns: which, depends on the processor.)"""
    left = np.full((4, n_terms), -0.0, dtype)
    for right in (np.ones((n_terms, 5), dtype), np.ones(n_terms, dtype), np.full((n_terms, 2), -0.0, dtype)):
        found, expected = wb.jit(lambda a, b: a @ b)(left, right), left @ right
        assert not np.signbit(found.real).any() and not np.signbit(found.imag).any()
        np.testing.assert_array_equal(found, expected)
        if dtype is not np.complex128:
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


BATCHES = {
    "matrices": (lambda a, b: a @ b, (30, 3, 3), (30, 3, 3)),
    "fours": (lambda a, b: a @ b, (2, 20, 4, 4), (2, 20, 4, 3)),
    "vectors": (lambda a, b: np.einsum("nij,nj->ni", a, b), (30, 8, 7), (30, 7)),
    "turned": (lambda a, b: np.swapaxes(a, 1, 2) @ b, (30, 3, 2), (30, 3, 3)),
    "none": (lambda a, b: a @ b, (0, 3, 3), (0, 3, 3)),
    "thin": (lambda a, b: a @ b, (5, 40, 2), (5, 2, 30)),
    "shared": (lambda a, b: a @ b, (30, 3, 3), (3, 3)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("case", BATCHES)
def test_batches_of_short_contractions_fuse(case, dtype):
    program, left, right = BATCHES[case]
    rng = np.random.default_rng(1)
    a, b = ((rng.standard_normal(shape) * 9).astype(dtype) for shape in (left, right))
    jaxpr = wb.make_jaxpr(program)(a, b)
    expanded = expand_contractions(jaxpr)
    check_jaxpr(expanded)
    assert "dot_general" not in primitives(expanded)
    compiled = wb.jit(lambda a, b: program(a * 2, b) + 1)
    rtol = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(compiled(a, b), program(a * 2, b) + 1, rtol=rtol, atol=rtol)
    plan = compiled.compilations[-1].plan
    assert len(plan.clusters) == len(plan.steps)


@pytest.mark.parametrize(
    ("left", "right"), [((30, 5, 5), (30, 5, 5)), ((5, 40, 4), (5, 4, 40)), ((9, 8, 9), (9, 9, 1))]
)
def test_batches_of_longer_ones_stay_library_calls(left, right):
    jaxpr = wb.make_jaxpr(lambda a, b: a @ b)(np.ones(left), np.ones(right))
    assert "dot_general" in primitives(expand_contractions(jaxpr))
