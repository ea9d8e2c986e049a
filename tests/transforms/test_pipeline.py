"""The passes together: the same bits, valid programs, linear time."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench.primitives  # noqa: F401
from workbench.errors import CheckError
from workbench.ir import (
    Jaxpr,
    JaxprBuilder,
    Origin,
    Span,
    Var,
    check_jaxpr,
    eval_jaxpr,
    jaxprs_equal,
    parse_jaxpr,
    same_bits,
)
from workbench.transforms import PIPELINE, fold_constants, run_pipeline

from ..ir.programs import arguments, programs

PASSES = {**dict(PIPELINE), "fold constants": fold_constants}


def assert_same_bits(before: Jaxpr, after: Jaxpr, seed: int) -> None:
    args = arguments(before, seed)
    with np.errstate(all="ignore"):
        for old, new in zip(eval_jaxpr(before, *args), eval_jaxpr(after, *args), strict=True):
            assert same_bits(old, new), f"{before}\n{after}\n{args}: {old} -> {new}"


@settings(max_examples=400)
@given(programs(), st.integers(0, 2**32 - 1))
def test_the_pipeline_changes_no_bit(jaxpr, seed):
    after = run_pipeline(jaxpr, check=True)
    check_jaxpr(after, require_origins=True)
    assert_same_bits(jaxpr, after, seed)


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=100)
@given(jaxpr=programs(), seed=st.integers(0, 2**32 - 1))
def test_each_pass_changes_no_bit(name, jaxpr, seed):
    after = PASSES[name](jaxpr)
    check_jaxpr(after, after=name, require_origins=True)
    assert_same_bits(jaxpr, after, seed)


@settings(max_examples=150)
@given(programs())
def test_outputs_stay_arrays_of_their_own(jaxpr):
    def aliases(p):
        inputs = {*p.invars, *p.constvars}
        variables = [v for v in p.outvars if isinstance(v, Var)]
        return sum(v in inputs for v in variables), len(variables) - len(set(variables))

    flat = PASSES["inline calls"](jaxpr)
    shared_before, repeated_before = aliases(flat)
    shared, repeated = aliases(run_pipeline(flat))
    assert shared <= shared_before and repeated <= repeated_before


@settings(max_examples=100)
@given(programs())
def test_a_second_run_finds_little_more(jaxpr):
    once = run_pipeline(jaxpr)
    twice = run_pipeline(once)
    assert len(twice.eqns) <= len(once.eqns)
    thrice = run_pipeline(twice)
    assert jaxprs_equal(thrice, run_pipeline(thrice)) or len(thrice.eqns) < len(twice.eqns)


GOLDEN_PROGRAM = """\
let smooth = { lambda ; a:f64[10]. let
    b:f64[8] = slice[limit_indices=(8,) start_indices=(0,) strides=None] a
    c:f64[8] = slice[limit_indices=(10,) start_indices=(2,) strides=None] a
    d:f64[8] = add b c
    e:f64[8] = broadcast_in_dim 2.0:f64[]
    f:f64[8] = div d e
  in (f,) } in
{ lambda ; a:f64[10] b:f64[10]. let
    c:f64[8] = pjit[name=smooth jaxpr=smooth] a
    d:f64[8] = pjit[name=smooth jaxpr=smooth] a
    e:f64[8] = pjit[name=smooth jaxpr=smooth] b
    f:f64[8] = sub c e
    g:f64[8] = sub d e
    h:f64[8] = mul f g
    i:f64[8] = exp h
    j:f64[] = reduce_sum[axes=(0,)] h
    k:f64[] = sqrt 64.0:f64[]
    l:f64[] = div j k
  in (l,) }"""


def test_golden_pipeline(golden):
    texts = []
    run_pipeline(
        parse_jaxpr(GOLDEN_PROGRAM), check=True, on_pass=lambda name, _, after: texts.append(f"# {name}\n{after}\n")
    )
    golden.check("\n".join(texts))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_constants_meet_across_a_call():
    text = """\
{ lambda ; a:f64[3]. let
    b:f64[3] = pjit[name=f jaxpr={ lambda ; a:f64[3] b:f64[]. let c:f64[3] = mul a b in (c,) }] a 1.0:f64[]
    c:f64[3] = neg b
  in (c,) }"""
    assert names(run_pipeline(parse_jaxpr(text))) == ["neg"]
    reordered = [*PIPELINE[1:], PIPELINE[0]]
    assert names(run_pipeline(parse_jaxpr(text), reordered)) == ["mul", "neg"]


def test_simplification_makes_expressions_common():
    text = """\
{ lambda ; a:f64[3]. let
    b:f64[3] = mul a 1.0:f64[]
    c:f64[3] = exp a
    d:f64[3] = exp b
    e:f64[3] = mul c d
  in (e,) }"""
    assert names(run_pipeline(parse_jaxpr(text))) == ["exp", "mul"]
    inline, expand, simplify, *_, share, drop = PIPELINE
    assert names(run_pipeline(parse_jaxpr(text), [inline, expand, share, simplify, drop])) == ["exp", "exp", "mul"]


def test_pipeline_leaves_no_dead_equation():
    text = "{ lambda ; a:f64[3]. let b:f64[3] = neg a; c:f64[3] = neg b; d:f64[3] = exp c in (d,) }"
    assert names(run_pipeline(parse_jaxpr(text))) == ["exp"]
    assert len(run_pipeline(parse_jaxpr(text), PIPELINE[:-1]).eqns) == 2


def test_passes_are_reported_and_checked():
    jaxpr = parse_jaxpr("{ lambda ; a:f64[3]. let b:f64[3] = neg a in (b,) }")
    seen = []
    run_pipeline(jaxpr, on_pass=lambda name, before, after: seen.append((name, len(before.eqns), len(after.eqns))))
    assert [name for name, *_ in seen] == [name for name, _ in PIPELINE]
    broken = Jaxpr(jaxpr.invars, (), jaxpr.outvars)
    with pytest.raises(CheckError, match="after 'break it': an output reads"):
        run_pipeline(jaxpr, (("break it", lambda _: broken),), check=True)


# ---- linear time, counted in calls of Python functions rather than in seconds ----


def chain(n):
    """Everything that tempts a pass into quadratic work: long chains of moves, scalars, equal equations, one origin
    that absorbs all others."""
    b = JaxprBuilder()
    x = b.input("f64[4,6]")
    y, u, v, w = x, x, x, x
    for i in range(n):
        origin = Origin((Span("cell", i, 0, i, 9),), scopes=())
        y = b.emit("transpose", y, permutation=(1, 0), origin=origin)
        u = b.emit("neg", u, origin=origin)
        v = b.emit("mul", b.emit("mul", v, 1.0, origin=origin), b.emit("exp", x, origin=origin), origin=origin)
        w = b.emit("add", b.emit("copy", w, origin=origin), -0.0, origin=origin)
        b.emit("cos", b.emit("broadcast_in_dim", float(i), shape=(4, 6), broadcast_dimensions=()), origin=origin)
    return b.build(y, u, v, w)


def calls_in(run, *args):
    count = 0

    def on_event(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        run(*args)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PASSES)
def test_passes_take_linear_time(name):
    small, large = (calls_in(PASSES[name], chain(n)) for n in (100, 400))
    assert large < 4.4 * small


def test_inlining_takes_linear_time():
    def program(n):
        inner = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = neg a; c:f64[] = exp b in (c,) }")
        b = JaxprBuilder()
        x = b.input("f64[]")
        for _ in range(n):
            (x,) = b.emit("pjit", x, name="f", jaxpr=inner)
        return b.build(x)

    small, large = (calls_in(PASSES["inline calls"], program(n)) for n in (100, 400))
    assert large < 4.4 * small


def test_merged_origins_take_linear_time():
    # Each merge copies the spans collected so far: one by one, 400 would cost 80,000 steps.
    merged = run_pipeline(chain(400))
    (exp,) = (eqn for eqn in merged.eqns if eqn.primitive.name == "exp")
    assert len(exp.origin.also) == 399
