"""Dead code."""

import workbench.primitives  # noqa: F401
from workbench.ir import check_jaxpr, jaxprs_equal, parse_jaxpr
from workbench.transforms import eliminate_dead_code


def becomes(before, after):
    result = eliminate_dead_code(parse_jaxpr(before))
    check_jaxpr(result, after="dce")
    assert jaxprs_equal(result, parse_jaxpr(after)), str(result)
    assert eliminate_dead_code(result) is result


def test_unread_equations_go_and_what_only_they_read():
    becomes(
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = exp b; d:f64[] = neg c; e:f64[] = neg a in (e,) }",
        "{ lambda ; a:f64[] b:f64[]. let e:f64[] = neg a in (e,) }",
    )


def test_unread_results_are_dropped():
    result = eliminate_dead_code(
        parse_jaxpr(
            "{ lambda ; a:i8[3]. let b:i8[3] c:i8[3] = sort[dimension=0 is_stable=True num_keys=1] a a in (c,) }"
        )
    )
    assert [type(v).__name__ for v in result.eqns[0].outvars] == ["DropVar", "Var"]


def test_equations_that_may_raise_stay():
    # NumPy raises IndexError or LinAlgError whether or not the result is read.
    text = """\
{ lambda ; a:f64[3,3] i:i64[2]. let
    b:f64[2,3] = gather_checked[axes=(0,) position=0] a i
    c:f64[3,3] = inv a
    d:f64[3,3] = scatter[axes=(0,) mode=raise op=set position=0 unique=False] a i 1.0:f64[]
  in (a,) }"""
    result = eliminate_dead_code(parse_jaxpr(text))
    assert [eqn.primitive.name for eqn in result.eqns] == ["gather_checked", "inv", "scatter"]
    clipped = eliminate_dead_code(parse_jaxpr(text.replace("mode=raise", "mode=clip")))
    assert [eqn.primitive.name for eqn in clipped.eqns] == ["gather_checked", "inv"]


def test_calls_lose_what_is_not_needed():
    becomes(
        """\
let f = { lambda ; a:f64[] b:f64[] c:f64[]. let d:f64[] = neg a; e:f64[] = mul b c in (d, e) } in
{ lambda ; x:f64[] y:f64[]. let
    p:f64[] q:f64[] = pjit[name=f jaxpr=f] x y 1.0:f64[]
    r:f64[] s:f64[] = pjit[name=f jaxpr=f] p y 2.0:f64[]
    t:f64[] u:f64[] = pjit[name=f jaxpr=f] y y 3.0:f64[]
  in (r,) }""",
        """\
let f = { lambda ; a:f64[]. let d:f64[] = neg a in (d,) } in
{ lambda ; x:f64[] y:f64[]. let p:f64[] = pjit[name=f jaxpr=f] x; r:f64[] = pjit[name=f jaxpr=f] p in (r,) }""",
    )


def test_a_program_that_is_called_twice_stays_one():
    result = eliminate_dead_code(
        parse_jaxpr("""\
let f = { lambda ; a:f64[]. let b:f64[] = neg a; c:f64[] = exp a in (b,) } in
{ lambda ; x:f64[]. let p:f64[] = pjit[name=f jaxpr=f] x; q:f64[] = pjit[name=f jaxpr=f] p in (q,) }""")
    )
    first, second = (eqn.params["jaxpr"] for eqn in result.eqns)
    assert first is second and len(first.eqns) == 1
