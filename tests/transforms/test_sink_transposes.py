"""Transposes of results: which are computed on the way in, which stay, and that no bit changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.frontend.trace import trace
from workbench.ir import check_jaxpr, eval_jaxpr, parse_jaxpr, same_bits
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


def sunk(text):
    jaxpr = eliminate_dead_code(sink_transposes(parse_jaxpr(text)))
    check_jaxpr(jaxpr)
    return jaxpr


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_a_chain_is_computed_in_the_order_of_its_result():
    jaxpr = sunk("""{ lambda ; a:f64[3,2] b:f64[3,2]. let
        c:f64[3,2] = mul a b
        d:f64[3,2] = sin c
        e:f64[2,3] = transpose[permutation=(1, 0)] d
      in (e,) }""")
    assert names(jaxpr) == ["transpose", "transpose", "mul", "sin"]


def test_what_is_read_in_its_own_order_stays():
    jaxpr = sunk("""{ lambda ; a:f64[3,2] b:f64[3,2]. let
        c:f64[3,2] = mul a b
        d:f64[3,2] = sin c
        e:f64[2,3] = transpose[permutation=(1, 0)] d
        f:f64[3] = reduce_sum[axes=(1,)] c
      in (e, f) }""")
    assert names(jaxpr).index("mul") < names(jaxpr).index("transpose") < names(jaxpr).index("sin")
    text = """{ lambda ; a:f64[3,2]. let
        b:f64[3,2] = sin a
        c:f64[2,3] = transpose[permutation=(1, 0)] b
      in (b, c) }"""
    assert names(sunk(text)) == ["sin", "transpose"]


UNARY = {
    "sin": np.sin, "negated": np.negative, "part": lambda x: x[1:, :-1, ::2], "reversed": lambda x: x[::-1, :, ::-1],
    "padded": lambda x: np.pad(x, ((1, 0), (0, 2), (3, 1))), "scaled": lambda x: x * np.arange(x.shape[2]),
    "planes": lambda x: x + np.arange(x.shape[0])[:, None, None] * np.arange(x.shape[2]),
    "whole": lambda x: x - x.max(), "rows": lambda x: x - x.sum(axis=1, keepdims=True),
}  # fmt: skip


def _replaced(x):
    y = np.zeros_like(x)
    y[1:, ::2] = x[:-1, ::2] * 2
    return y


BINARY = {
    "sum": np.add, "product": np.multiply, "chosen": lambda x, y: np.where(x > y, x, 2 * y),
    "joined": lambda x, y: np.concatenate([x, y], axis=1)[:, : x.shape[1]], "replaced": lambda x, y: _replaced(x) + y,
}  # fmt: skip


@st.composite
def programs(draw):
    steps = draw(
        st.lists(st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 9), st.integers(0, 9)), max_size=6)
    )
    returned = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))

    def program(x, y):
        values = [x, y]
        for name, i, j in steps:
            one, other = values[i % len(values)], values[j % len(values)]
            if name in UNARY:
                made = UNARY[name](one)
                made = made if made.shape == x.shape else np.resize(made, x.shape) if made.size else x
            else:
                made = BINARY[name](one, other)
            values.append(made)
        return tuple(values[-1 - k % len(values)] * 1.0 for k in returned)

    program.__doc__ = f"{steps} {returned}"
    return program


ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0)]


@settings(max_examples=120)
@given(programs(), st.sampled_from(ORDERS), st.sampled_from(ORDERS))
def test_results_are_those_of_numpy_in_its_order(program, order, other):
    rng = np.random.default_rng(0)
    shape = (4, 5, 6)

    def array(order):
        made = np.empty([shape[axis] for axis in order]).transpose(np.argsort(order))
        made[...] = rng.integers(-4, 5, shape)
        return made

    x, y = array(order), array(other)
    compiled = wb.jit(program)
    expected = program(x, y)
    for _ in range(3):
        found = compiled(x, y)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
            assert a.strides == b.strides


@settings(max_examples=60)
@given(programs(), st.sampled_from(ORDERS[1:]))
def test_the_pass_keeps_what_a_program_computes(program, order):
    x, y = np.random.default_rng(0).integers(-4, 5, (2, 4, 5, 6)).astype(float)
    jaxpr = wb.make_jaxpr(lambda x, y: tuple(v.transpose(order).copy() for v in program(x, y)))(x, y)
    moved = sink_transposes(jaxpr)
    check_jaxpr(moved)
    for a, b in zip(eval_jaxpr(moved, x, y), eval_jaxpr(jaxpr, x, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("order", ["F", "C"])
def test_no_array_is_made_only_to_be_turned(order):
    def smooth(a, b):
        c = np.zeros_like(a)
        c[1:-1] = a[2:] - 2 * a[1:-1] + a[:-2]
        return c * b + 1

    a, b = (np.array(x, order=order) for x in np.random.default_rng(0).random((2, 30, 40)))
    compiled = wb.jit(smooth)
    compiled(a, b)
    plan = compiled.compilations[-1].plan
    assert not [step for step in plan.steps if step.id.startswith("V")]
    assert compiled(a, b).strides == smooth(a, b).strides


def test_an_equation_without_results_reads_in_its_own_order():
    def checked(a):
        b = a * 2 + 1
        for i in range(a.shape[0]):
            if b[i, 0] < 0:
                raise ValueError("negative")
        return b

    a = np.ones((30, 20), order="F")
    compiled = wb.jit(checked)
    for _ in range(3):
        assert compiled(a).strides == checked(a).strides
    assert not compiled.fallbacks
    with pytest.raises(ValueError, match="negative"):
        compiled(-a)


def test_transposes_stay_in_the_scopes_of_their_readers():
    def program(a):
        with wb.jit_scope(compile_ops=False):
            b = a * 3
        return b + a

    a = np.asfortranarray(np.random.default_rng(0).random((30, 20)))
    found = wb.jit(program)(a)
    np.testing.assert_array_equal(found, a * 3 + a)
    assert found.strides == a.strides


def test_what_is_computed_in_another_scope_is_not_turned():
    # The transpose cannot meet its inverse across the scope: both would stay.
    def program(a):
        with wb.jit_scope():
            b = a * 3
        return b

    before = trace(program, (F,), {}).jaxpr
    assert [eqn.primitive.name for eqn in run_pipeline(before, check=True).eqns] == ["mul", "transpose"]
