"""Generated kernels: their text, their values, and that a new shape needs no new code."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401  (declares the primitives)
from tests.fusion import programs
from workbench.fusion import form_plan
from workbench.ir.evaluate import eval_jaxpr
from workbench.runtime.executable import build, plan_kernels

from .random_jaxprs import RandomProgram

PROGRAMS = {
    "softmax": programs.softmax,
    "sum_squared_error": programs.sum_squared_error,
    "scaled_by_its_maximum": programs.scaled_by_its_maximum,
    "column_standard_deviation": programs.column_standard_deviation,
    "stencil": programs.stencil,
}
RTOL = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-11}


def kernels_of(jaxpr, layouts=None):
    return plan_kernels(form_plan(jaxpr), layouts or ["C"] * len(jaxpr.invars))


def assert_same_values(jaxpr, inputs, n_threads=2):
    layouts = ["C" if x.flags.c_contiguous else "A" for x in inputs]
    plan = form_plan(jaxpr)
    got = build(plan, plan_kernels(plan, layouts), n_threads).run(*inputs)
    with np.errstate(all="ignore"):
        expected = eval_jaxpr(jaxpr, *inputs)
    for mine, reference in zip(got, expected, strict=True):
        assert (mine.shape, mine.dtype) == (reference.shape, reference.dtype)
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, reference, rtol=RTOL[mine.dtype], atol=1e-12)
        else:
            np.testing.assert_array_equal(mine, reference)


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernel_reads_like_this(name, golden):
    texts = []
    for kernel in kernels_of(PROGRAMS[name]()).values():
        texts += [kernel.source] + ([kernel.finish.source] if kernel.finish else [])
    assert "\n".join(texts) == golden


@pytest.mark.parametrize("name", PROGRAMS)
def test_new_shape_has_the_same_source(name):
    first = kernels_of(PROGRAMS[name]("f64[8,128]" if name == "softmax" else "f64[40,50]" * 1))
    second = kernels_of(PROGRAMS[name]("f64[31,70]"))
    texts = [[k.source.replace("40.0", "31.0") for k in ks.values()] for ks in (first, second)]
    if name != "column_standard_deviation":  # the number of rows is a literal in that program
        assert texts[0] == texts[1]


SHAPES = ["f64[300,400]", "f32[33,1]", "f64[1,9]", "f64[3,3]"]
NEEDS_THREE_POINTS = {"stencil"}  # along each axis


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in PROGRAMS
        for shape in SHAPES
        if name not in NEEDS_THREE_POINTS or "1" not in re.findall(r"\d+", shape)
    ],
)
def test_kernel_computes_the_program(name, shape):
    jaxpr = PROGRAMS[name](shape)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=v.aval.shape).astype(v.aval.dtype) for v in jaxpr.invars]
    assert_same_values(jaxpr, inputs)


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_compute_what_numpy_does(seed):
    program = RandomProgram(seed, 1 + seed % 12)
    assert_same_values(program.jaxpr, program.inputs)


def test_long_sums_are_as_accurate_as_pairwise():
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        x = (rng.normal(size=1_000_003) * 10.0 ** rng.integers(-6, 6, 1_000_003)).astype(dtype)
        jaxpr = programs.sum_squared_error(f"f{x.itemsize * 8}[{x.size}]")
        plan = form_plan(jaxpr)
        (total,) = build(plan, plan_kernels(plan, ["C", "C"]), 2).run(x, np.zeros_like(x))
        square = (x * x).astype(np.longdouble)
        exact = square.sum()
        assert abs(total - exact) <= abs(np.sum(x * x) - exact) + np.spacing(dtype(exact))


def test_each_line_of_a_kernel_knows_its_equations():
    for kernel in kernels_of(programs.softmax()).values():
        lines = kernel.source.splitlines()
        assert len(kernel.line_eqns) == len(lines)
        exp_line = next(i for i, line in enumerate(lines) if "exp_f64" in line)
        assert kernel.line_eqns[exp_line]


def test_result_does_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 700, 800))
    jaxpr = programs.sum_squared_error("f64[700,800]")
    plan = form_plan(jaxpr)
    kernels = plan_kernels(plan, ["C", "C"])
    results = {build(plan, kernels, n).run(x, y)[0].tobytes() for n in (1, 2, 3, 4)}
    assert len(results) == 1


def test_what_leaves_a_branch_is_computed_in_front_of_it():
    def scaled_differences(x, widths):
        out = np.zeros_like(x)
        out[:, :-1] = (x[:, 1:] - x[:, :-1]) / widths[:-1]
        out[:, 1:] += x[:, :-1] * widths[1:]
        return out

    x, widths = np.random.default_rng(0).random((5, 7)), np.arange(1.0, 8.0)
    np.testing.assert_array_equal(wb.jit(scaled_differences)(x, widths), scaled_differences(x, widths))


def test_a_kernel_without_arrays_knows_its_size():
    def maximum_of_zeros(a, c):
        t = np.imag(c)
        return t.max(axis=None), c - np.where(t > 1, 3, a)

    a, c = np.arange(9, dtype=np.int8).reshape(3, 3), np.arange(9, dtype=np.uint8).reshape(3, 3)
    found, expected = wb.jit(maximum_of_zeros)(a, c), maximum_of_zeros(a, c)
    assert found[0] == expected[0] == 0
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint64"])
def test_a_nan_in_the_source_is_cast_as_one_in_the_data(source, target):
    def written(x):
        return np.where(x > 2, x, x.dtype.type(np.nan)).astype(target), (x * x.dtype.type(np.nan)).astype(target)

    x = np.arange(6, dtype=source)
    with np.errstate(invalid="ignore"):
        expected = written(x)
    for mine, numpys in zip(wb.jit(written)(x), expected, strict=True):
        np.testing.assert_array_equal(mine, numpys)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (1, 3), (3, 1), (2, 3)])
def test_sums_begin_with_zero(shape, dtype):
    x = np.full(shape, -0.0 if np.dtype(dtype).kind == "f" else complex(-0.0, -0.0), dtype)

    def sums(x):
        return (
            np.sum(x),
            np.sum(x, axis=tuple(range(x.ndim))[:1]),
            np.add.reduce(x, axis=()),
            np.exp(x.sum(-1) if x.ndim else x),
        )

    compiled = wb.jit(sums)
    for found, expected in zip(compiled(x), sums(x), strict=True):
        for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    assert not compiled.fallbacks


LONG_CHAIN = """
def chain(x, y):
    total = y.mean()
    for k in range(480):
        total = np.abs(total - x[k % 5])
    return total
"""


def test_a_long_chain_of_numbers_after_a_reduction():
    """Each number asks for its operands: in their order, or Python would be too deep in calls."""
    scope = {"np": np}
    exec(LONG_CHAIN, scope)  # without its source, so that the loop is written out
    x, y = np.arange(5.0), np.arange(50.0)
    compiled = wb.jit(scope["chain"])
    assert compiled(x, y) == scope["chain"](x, y)
    assert not compiled.fallbacks
