"""The reference evaluator."""

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench.primitives  # noqa: F401
from workbench.errors import CheckError
from workbench.ir import REGISTRY, JaxprBuilder, Primitive, eval_jaxpr, last_uses, literal, parse_jaxpr, same_bits

from .programs import arguments, programs


def test_a_program_computes_what_numpy_computes():
    p = parse_jaxpr(
        "{ lambda ; a:f64[3] b:f64[3]. let c:f64[3] = sub a b; d:f64[3] = square c in (d, c, 2.0:f32[], a) }"
    )
    a, b = np.array([1.0, 2.0, 4.0]), np.array([0.5, np.nan, -1.0])
    square, difference, two, same = eval_jaxpr(p, a, b)
    assert same_bits(square, np.square(a - b)) and same_bits(difference, a - b)
    assert same_bits(two, np.float32(2)) and same is a


@settings(max_examples=150)
@given(programs(), st.integers(0, 2**32 - 1))
def test_random_programs_run_and_leave_their_arguments_alone(jaxpr, seed):
    args = arguments(jaxpr, seed)
    before = [a.copy() for a in args]
    with np.errstate(all="ignore"):
        outs = eval_jaxpr(jaxpr, *args)
    assert [(o.shape, o.dtype) for o in outs] == [(a.shape, a.dtype) for a in jaxpr.out_avals]
    assert all(map(same_bits, args, before))


def test_constants_and_scalars_are_arrays():
    b = JaxprBuilder()
    x, c = b.input("f32[2]"), b.const(np.float32([1, 2]))
    (out,) = eval_jaxpr(b.build(b.emit("mul", b.emit("add", x, c), 3)), np.float32([1, 1]))
    assert same_bits(out, np.float32([6, 9]))


def test_each_equation_is_reported():
    p = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = neg a; c:f64[] = square b in (c,) }")
    seen = []
    eval_jaxpr(p, np.float64(3.0), on_eqn=lambda eqn, results: seen.append((eqn.primitive.name, float(results[0]))))
    assert seen == [("neg", -3.0), ("square", 9.0)]


def test_values_are_let_go_after_their_last_use():
    p = parse_jaxpr("{ lambda ; a:f64[9]. let b:f64[9] = neg a; c:f64[9] = neg b; d:f64[9] = neg c in (d,) }")
    alive: list[weakref.ref] = []
    counts = []

    def watch(eqn, results):
        counts.append(sum(ref() is not None for ref in alive))
        alive.extend(map(weakref.ref, results))

    eval_jaxpr(p, np.ones(9), on_eqn=watch)
    assert counts == [0, 1, 1]
    assert [[v for v in dead] for dead in last_uses(p)] == [
        [p.invars[0]],
        [p.eqns[0].outvars[0]],
        [p.eqns[1].outvars[0]],
    ]


def test_arguments_must_fit():
    p = parse_jaxpr("{ lambda ; a:f64[3]. let  in (a,) }")
    with pytest.raises(TypeError, match="takes 1 arguments, found 0"):
        eval_jaxpr(p)
    with pytest.raises(TypeError, match=r"argument 0 is float32\[3\], the program takes f64\[3\]"):
        eval_jaxpr(p, np.ones(3, np.float32))
    with pytest.raises(TypeError, match="no values"):
        eval_jaxpr(parse_jaxpr("{ lambda a:f64[]; . let  in (a,) }"))


def test_an_impl_must_keep_its_word():
    liar = Primitive("liar")
    try:
        liar.def_impl(lambda x: x.astype(np.float32))
        liar.def_abstract_eval(lambda x: x)
        b = JaxprBuilder()
        with pytest.raises(CheckError, match=r"the impl of liar gave float32\[\], its type is f64\[\]"):
            eval_jaxpr(b.build(b.emit(liar, b.input("f64[]"))), np.float64(1))
    finally:
        del REGISTRY["liar"]


def test_warnings_follow_the_caller():
    p = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = div a 0.0:f64[] in (b,) }")
    with np.errstate(divide="ignore"):
        assert np.isinf(eval_jaxpr(p, np.float64(1))[0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        eval_jaxpr(p, np.float64(1))


def test_builder_scalars_take_the_dtype_beside_them():
    b = JaxprBuilder()
    x = b.input("f32[3]")
    assert b.emit("add", x, 1.5).aval == x.aval
    assert literal(1).aval.dtype == np.int64 and literal(1, np.dtype("u1")).aval.dtype == np.uint8
    with pytest.raises(TypeError, match="float32 and float64"):
        b.emit("add", x, np.float64(1))
    with pytest.raises(ValueError, match="is not a type such as"):
        b.input("float32[3]")
