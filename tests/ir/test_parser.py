"""Reading programs back: print, parse, print again; and what the errors say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import workbench.primitives  # noqa: F401
from workbench.errors import ParseError
from workbench.ir import (
    DropVar,
    Equation,
    Jaxpr,
    JaxprBuilder,
    Literal,
    Primitive,
    Var,
    jaxprs_equal,
    parse_aval,
    parse_jaxpr,
    print_jaxpr,
)
from workbench.ir.primitive import REGISTRY

from .programs import programs


@settings(max_examples=200)
@given(programs())
def test_random_programs_come_back_equal(jaxpr):
    text = print_jaxpr(jaxpr)
    parsed = parse_jaxpr(text)
    assert print_jaxpr(parsed) == text
    assert jaxprs_equal(parsed, jaxpr)
    for width in (20, 200):
        assert jaxprs_equal(parse_jaxpr(print_jaxpr(jaxpr, width=width)), jaxpr)
    hinted = print_jaxpr(jaxpr, hints=True)
    assert jaxprs_equal(parse_jaxpr(hinted), jaxpr)
    assert print_jaxpr(parse_jaxpr(hinted, hints=True), hints=True) == hinted


@pytest.fixture
def anything():
    """A primitive that takes any params, for one test."""
    yield Primitive("takes_anything", multiple_results=True)
    del REGISTRY["takes_anything"]


VALUES = [
    None, True, False, 0, -3, 1.5, -0.0, 1e-300, math.inf, -math.inf, 1 + 2j, -2j, complex(0, math.inf), (), (1,),
    (1, 2.0), ((1, (2,)), ()), [1, [2]], "clip", "a b", "it's", 'say "x"', "new\nline", "\u00e9\u4f60", "", "None",
    "float64", "1", "ij,jk->ik", "nan", "infj", np.dtype("float64"), np.dtype("bool"), (np.dtype("int8"), None),
    frozenset({2, 1}), frozenset(), slice(None, 3, 2), ("x", True, None, math.inf), {"axis": 0, "kind": "linear"},
    Ellipsis, (("axis", (0, 1)), ("mode", "x")),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("key", ["value", "name"])
def test_params_keep_their_types(anything, key, value):
    if key == "name" and not isinstance(value, str):
        return
    jaxpr = Jaxpr((), (Equation(anything, (), (), {key: value, "z": 1}),), ())
    parsed = parse_jaxpr(print_jaxpr(jaxpr))
    assert jaxprs_equal(parsed, jaxpr), print_jaxpr(jaxpr)
    assert repr(parsed.eqns[0].params[key]) == repr(value)


def test_nan_params_come_back(anything):
    jaxpr = Jaxpr((), (Equation(anything, (), (), {"a": math.nan, "b": (math.nan,)}),), ())
    assert jaxprs_equal(parse_jaxpr(print_jaxpr(jaxpr)), jaxpr)


def test_programs_in_params_come_back(anything):
    inner = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }")
    other = parse_jaxpr("{ lambda ; a:f64[]. let  in (a,) }")
    x = Var(parse_aval("f64[]"))
    eqns = (
        Equation(anything, (x,), (), {"branches": (inner, other), "body": inner, "mode": "inner"}),
        Equation(anything, (x,), (), {"branches": (other,), "name": "body"}),
    )
    jaxpr = Jaxpr((x,), eqns, (x,))
    text = print_jaxpr(jaxpr)
    parsed = parse_jaxpr(text)
    assert jaxprs_equal(parsed, jaxpr) and print_jaxpr(parsed) == text
    first, second = parsed.eqns
    assert first.params["branches"][0] is first.params["body"]
    assert first.params["branches"][1] is second.params["branches"][0]


def test_a_string_that_names_a_shared_program_stays_a_string(anything):
    inner = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }")
    params = {"body": inner, "cond": inner, "mode": "clip", "name": "clip"}
    jaxpr = Jaxpr((), (Equation(anything, (), (), params),), ())
    parsed = parse_jaxpr(print_jaxpr(jaxpr))
    assert parsed.eqns[0].params["mode"] == "clip"
    assert jaxprs_equal(parsed, jaxpr)


def test_variables_may_be_called_like_keywords():
    # The 222nd variable is `in`, the 7560th `let`; `inf` and `nan` come too.
    b = JaxprBuilder()
    x = b.input("c128[]")
    for _ in range(9000):
        x = b.emit("neg", x)
    for value in (math.nan, complex(1, 2), complex(0, math.inf)):
        x = b.emit("add", x, value)
        x = b.emit("mul", x, x)
    jaxpr = b.build(x)
    text = print_jaxpr(jaxpr)
    assert all(f"\n    {name}:c128[] = " in text for name in ("in", "inf", "nan", "let"))
    assert jaxprs_equal(parse_jaxpr(text), jaxpr)


def test_a_literal_before_a_variable_of_that_name():
    text = """\
{ lambda ; a:f64[]. let
    b:f64[] = add a nan:f64[]
    nan:f64[] = mul b inf:f64[]
    inf:f64[] = mul nan nan
    in:f64[] = mul inf inf:f64[]
  in (in, nan, nan:f64[]) }"""
    jaxpr = parse_jaxpr(text)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add", "mul", "mul", "mul"]
    assert isinstance(jaxpr.eqns[1].invars[1], Literal) and isinstance(jaxpr.eqns[2].invars[1], Var)
    assert [type(atom) for atom in jaxpr.outvars] == [Var, Var, Literal]


def test_dropped_results_of_calls_are_told_apart():
    text = """\
{ lambda ; a:f64[]. let
    _:f64[] _:f64[] b:f64[] = pjit[
      name=f
      jaxpr={ lambda ; a:f64[]. let
          _:f64[] = sin a
          b:f64[] = exp a
          _:f64[] = cos a
        in (_, _, b) }
    ] a
  in (b,) }"""
    jaxpr = parse_jaxpr(text)
    inner = jaxpr.eqns[0].params["jaxpr"]
    assert [inner.eqns[0].outvars[0], inner.eqns[2].outvars[0], inner.eqns[1].outvars[0]] == list(inner.outvars)
    assert not any(isinstance(v, DropVar) for v in inner.outvars)
    assert print_jaxpr(jaxpr) == text


def test_dropped_results_that_could_not_be_told_apart_get_names():
    inner = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = cos a in (c, b) }")
    x = Var(parse_aval("f64[]"))
    pjit = REGISTRY["pjit"]
    dropped = (DropVar(x.aval), DropVar(x.aval))
    jaxpr = Jaxpr((x,), (Equation(pjit, (x,), dropped, {"name": "f", "jaxpr": inner}),), (x,))
    text = print_jaxpr(jaxpr)
    assert "let b:f64[] = sin a; c:f64[] = cos a in (c, b)" in text
    assert jaxprs_equal(parse_jaxpr(text), jaxpr)


def test_constants_come_back_without_their_values():
    b = JaxprBuilder()
    x, c = b.input("f64[3]"), b.const(np.arange(3.0))
    jaxpr = b.build(b.emit("add", x, c))
    parsed = parse_jaxpr(print_jaxpr(jaxpr))
    assert len(parsed.constvars) == 1 and parsed.consts == ()
    assert jaxprs_equal(parsed, jaxpr)


def test_text_of_jax_is_read_too():
    jaxpr = parse_jaxpr(
        "{ lambda ; a:f32[3,4]. let b:f32[] = reduce_sum[axes=(np.int64(0), 1) out_sharding=None] a\n"
        "    c:f32[] = jit[name=f jaxpr={ lambda ; b:f32[]. let  in (b,) }] b in (c,) } # comment"
    )
    assert jaxpr.eqns[0].params == {"axes": (0, 1)} and type(jaxpr.eqns[0].params["axes"][0]) is int
    assert jaxpr.eqns[1].primitive.name == "pjit"


def test_layout_of_the_text_does_not_matter():
    tidy = parse_jaxpr("{ lambda ; a:f64[3]. let b:f64[3] = add a 1.0:f64[]; c:f64[3] = neg b in (c,) }")
    loose = parse_jaxpr(
        "{lambda;a:f64[ 3 ].let\n  b:f64[3]=add a\n   1.0:f64[]\n  c:f64[3]   = neg b\n\n\nin(c,)}  # the end"
    )
    assert jaxprs_equal(tidy, loose)


BROKEN = {
    "{ lambda ; a:f64[]. let b:f64[] = sine a in (b,) }": "line 1, column 35: no primitive is called 'sine'; did",
    "{ lambda ; a:f64[]. let\n    b:f64[] = sin c\n  in (b,) }": "line 2, column 19: variable 'c' is not bound",
    "{ lambda ; a:f64[]. let b:f64[] = sin b in (b,) }": "variable 'b' is not bound",
    "{ lambda ; a:f64[] a:f64[]. let  in (a,) }": "column 20: variable 'a' is bound twice",
    "{ lambda ; a:f64[]. let a:f64[] = sin a in (a,) }": "variable 'a' is bound twice",
    "{ lambda ; a:g64[]. let  in (a,) }": "no dtype is written 'g64'; the dtypes are bool, i8",
    "{ lambda ; a. let  in (a,) }": "expected a type such as ':f32[3,4]' after the variable 'a', found '.'",
    "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,)": "expected '}' to close the program, found the end",
    "{ lambda ; a:f64[]. let b:f64[] = sin a": "the program ends before its 'in'",
    "{ lambda ; a:f64[]. let  in (a,) } more": "expected the end of the text, found 'more'",
    "{ lambda ; a:f64[]. let b:f64[] = sin a c:f64[] in (b,) }": "expected '=' after the results, found 'in'",
    "{ lambda ; a:f64[]. let b:f64[] = mul a 2 in (b,) }": "expected a type such as ':f32[3,4]' after the literal 2",
    "{ lambda ; a:f64[]. let b:f64[] = mul a 2.0:f64[3] in (b,) }": "a literal is a scalar, found the type f64[3]",
    "{ lambda ; a:i8[]. let b:i8[] = mul a 200:i8[] in (b,) }": "200 is no i8[]",
    "{ lambda ; a:f64[]. let b:f64[] = neg[y 2] a in (b,) }": "expected '=' after the param 'y', found '2'",
    "{ lambda ; a:f64[]. let b:f64[] = neg[y=2 y=3] a in (b,) }": "param 'y' is given twice",
    "{ lambda ; a:f64[]. let b:f64[] = neg[y=(2] a in (b,) }": "expected ',' or ')' after an item, found ']'",
    "{ lambda ; a:f64[]. let b:f64[] = neg[y=open(1)] a in (b,) }": "'open' cannot be read as a value",
    "let f = { lambda ; . let  in () in { lambda ; . let  in () }": "this '{' is never closed",
    "let f = { lambda ; . let  in () } in\nlet f = { lambda ; . let  in () } in\nf": "'f' is defined twice",
    "{ lambda ; . let  in (_,) }": "this '_' was not bound",
    "": "expected '{' to open a program, found the end of the text",
}


@pytest.mark.parametrize("text", BROKEN)
def test_errors_say_where_and_what(text):
    with pytest.raises(ParseError) as caught:
        parse_jaxpr(text)
    assert BROKEN[text] in str(caught.value)
    assert str(caught.value).splitlines()[-1].strip() == "^"


def test_a_definition_that_uses_itself_is_refused():
    loop = "let f = { lambda ; a:f64[]. let b:f64[] = pjit[name=f jaxpr=f] a in (b,) } in\n"
    with pytest.raises(ParseError, match="uses itself"):
        parse_jaxpr(loop + "{ lambda ; a:f64[]. let b:f64[] = pjit[name=f jaxpr=f] a in (b,) }")


@pytest.mark.parametrize(
    "other",
    [
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = sub a b in (c,) }",
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add b a in (c,) }",
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add a b in (a,) }",
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add a b in (c, c) }",
        "{ lambda ; a:f64[] b:f64[] c:f64[]. let d:f64[] = add a b in (d,) }",
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = add a b in (c,) }",
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add a 0.0:f64[] in (c,) }",
        "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add a b; d:f64[] = neg c in (c,) }",
    ],
)
def test_different_programs_are_not_equal(other):
    one = parse_jaxpr("{ lambda ; x:f64[] y:f64[]. let z:f64[] = add x y in (z,) }")
    assert not jaxprs_equal(one, parse_jaxpr(other))


def test_zeros_of_different_sign_are_not_equal():
    text = "{ lambda ; a:f64[]. let b:f64[] = add a 0.0:f64[] in (b,) }"
    assert not jaxprs_equal(parse_jaxpr(text), parse_jaxpr(text.replace("0.0", "-0.0")))
    nan = text.replace("0.0", "nan")
    assert jaxprs_equal(parse_jaxpr(nan), parse_jaxpr(nan))
