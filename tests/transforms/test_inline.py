"""Inlining of nested calls."""

import numpy as np

import workbench.primitives  # noqa: F401
from workbench.ir import JaxprBuilder, Origin, Scope, Span, check_jaxpr, eval_jaxpr, jaxprs_equal, parse_jaxpr
from workbench.transforms import inline_calls


def span(line, name="<module>"):
    return Span("cell", line, 0, line, 9, name)


def inlined(text):
    result = inline_calls(parse_jaxpr(text))
    check_jaxpr(result, after="inline")
    return result


def test_calls_become_their_equations_at_any_depth():
    text = """\
let f = { lambda ; a:f64[] b:f64[]. let c:f64[] = sub a b; d:f64[] = neg c in (d, a) } in
let g = { lambda ; a:f64[]. let
    b:f64[] c:f64[] = pjit[name=f jaxpr=f] a 2.0:f64[]
    d:f64[] e:f64[] = pjit[name=f jaxpr=f] b c
  in (d, 1.0:f64[]) } in
{ lambda ; a:f64[]. let b:f64[] c:f64[] = pjit[name=g jaxpr=g] a; d:f64[] = add b c in (d, c, a) }"""
    after = """\
{ lambda ; a:f64[]. let
    b:f64[] = sub a 2.0:f64[]
    c:f64[] = neg b
    d:f64[] = sub c a
    e:f64[] = neg d
    f:f64[] = add e 1.0:f64[]
  in (f, 1.0:f64[], a) }"""
    result = inlined(text)
    assert jaxprs_equal(result, parse_jaxpr(after)), str(result)


def test_programs_without_calls_stay_as_they_are():
    jaxpr = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = neg a in (b,) }")
    assert inline_calls(jaxpr) is jaxpr


def test_spans_and_scopes_of_the_call_surround_those_of_the_callee():
    inner = JaxprBuilder()
    x = inner.input("f64[]")
    y = inner.emit("exp", x, origin=Origin((span(1, "f"),), "exp", (Scope("inside"),)), hint="result")
    callee = inner.build(y)
    outer = JaxprBuilder()
    x = outer.input("f64[]")
    call = Origin((span(9), span(20)), "f", (Scope("outside"),))
    (y,) = outer.emit("pjit", x, name="f", jaxpr=callee, origin=call)
    (z,) = outer.emit("pjit", y, name="f", jaxpr=callee, origin=Origin((span(10),)), hint="z")
    first, second = inline_calls(outer.build(z)).eqns
    assert first.origin.spans == (span(1, "f"), span(9), span(20))
    assert [s.name for s in first.origin.scopes] == ["outside", "inside"]
    assert second.origin.spans == (span(1, "f"), span(10)) and [s.name for s in second.origin.scopes] == ["inside"]
    assert first.outvars[0].hint == "result" and second.outvars[0].hint == "z"


def test_frames_that_were_recorded_already_are_not_repeated():
    inner = JaxprBuilder()
    x = inner.input("f64[]")
    scope = Scope("model")
    callee = inner.build(inner.emit("exp", x, origin=Origin((span(1, "f"), span(9)), "exp", (scope,))))
    outer = JaxprBuilder()
    x = outer.input("f64[]")
    (y,) = outer.emit("pjit", x, name="f", jaxpr=callee, origin=Origin((span(9),), scopes=(scope,)))
    (eqn,) = inline_calls(outer.build(y)).eqns
    assert eqn.origin.spans == (span(1, "f"), span(9)) and eqn.origin.scopes == (scope,)


def test_constants_of_callees_move_out_once():
    inner = JaxprBuilder()
    x, c = inner.input("f64[2]"), inner.const(np.array([1.0, 2.0]))
    callee = inner.build(inner.emit("add", x, c))
    outer = JaxprBuilder()
    x, k = outer.input("f64[2]"), outer.const(np.array([10.0, 20.0]))
    (y,) = outer.emit("pjit", x, name="f", jaxpr=callee)
    (z,) = outer.emit("pjit", y, name="f", jaxpr=callee)
    result = inline_calls(outer.build(outer.emit("mul", z, k)))
    check_jaxpr(result)
    assert len(result.constvars) == 2
    np.testing.assert_array_equal(eval_jaxpr(result, np.zeros(2))[0], [20.0, 80.0])


def test_dropped_results_stay_dropped():
    result = inlined(
        """\
{ lambda ; a:f64[]. let
    b:f64[] = pjit[
      name=f
      jaxpr={ lambda ; a:f64[]. let
          _:i64[1] b:f64[1] = sort[dimension=0 is_stable=True num_keys=1] a
          c:f64[] = neg a
        in (c,) }
    ] a
  in (b,) }""".replace("_:i64[1] b:f64[1] = sort[dimension=0 is_stable=True num_keys=1] a", "_:f64[] = exp a")
    )
    assert [type(eqn.outvars[0]).__name__ for eqn in result.eqns] == ["DropVar", "Var"]
