"""The checker accepts what the parser and the passes make, and says what is wrong with the rest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import workbench.primitives  # noqa: F401
from workbench.errors import CheckError
from workbench.ir import (
    REGISTRY,
    DropVar,
    Equation,
    Jaxpr,
    Literal,
    Origin,
    Primitive,
    Span,
    Var,
    check_jaxpr,
    parse_aval,
    parse_jaxpr,
    print_jaxpr,
)

from .programs import programs

F64, F64_3, I64 = parse_aval("f64[]"), parse_aval("f64[3]"), parse_aval("i64[]")


def program(text="{ lambda ; a:f64[3] b:f64[3]. let c:f64[3] = add a b; d:f64[3] = neg c in (d,) }"):
    return parse_jaxpr(text)


@settings(max_examples=100)
@given(programs())
def test_random_programs_pass(jaxpr):
    check_jaxpr(jaxpr, require_origins=True)
    check_jaxpr(parse_jaxpr(print_jaxpr(jaxpr)))


def refused(jaxpr, message, **kwargs):
    with pytest.raises(CheckError) as caught:
        check_jaxpr(jaxpr, **kwargs)
    assert message in str(caught.value)
    return str(caught.value)


def test_a_variable_must_be_bound_before_it_is_read():
    p = program()
    text = refused(replace(p, eqns=p.eqns[::-1]), "operand 0 of neg reads")
    assert "in the equation:" in text and "= neg" in text


def test_an_output_must_be_bound():
    refused(replace(program(), outvars=(Var(F64),)), "an output reads")


def test_a_variable_is_bound_once():
    p = program()
    twice = replace(p.eqns[1], outvars=p.eqns[0].outvars)
    refused(replace(p, eqns=(p.eqns[0], twice), outvars=()), "which is bound already")
    refused(replace(p, invars=(p.invars[0], p.invars[0])), "an input binds")


def test_types_must_agree_with_the_primitive():
    p = program()
    wrong = replace(p.eqns[0], outvars=(Var(F64),))
    message = refused(replace(p, eqns=(wrong,), outvars=()), "add gives (f64[3]) but is bound to (f64[])")
    assert "after" not in message
    refused(replace(p, eqns=(wrong,), outvars=()), "after 'simplify': add gives", after="simplify")


def test_operands_must_suit_the_primitive():
    x, y = Var(F64_3), Var(parse_aval("f64[4]"))
    eqn = Equation(REGISTRY["add"], (x, y), (Var(F64_3),), {})
    refused(Jaxpr((x, y), (eqn,), ()), "add refuses its operands (f64[3], f64[4])")


def test_results_are_as_many_as_the_primitive_gives():
    p = program()
    eqn = replace(p.eqns[0], outvars=(*p.eqns[0].outvars, Var(F64_3)))
    refused(replace(p, eqns=(eqn,), outvars=()), "but is bound to (f64[3], f64[3])")


def test_literals_are_scalars():
    x = Var(F64_3)
    eqn = Equation(REGISTRY["add"], (x, Literal(np.ones(3), F64_3)), (Var(F64_3),), {})
    refused(Jaxpr((x,), (eqn,), ()), "literals are scalars")


def test_dropped_results_are_not_read():
    dropped = DropVar(F64)
    x = Var(F64)
    eqns = (
        Equation(REGISTRY["neg"], (x,), (dropped,), {}),
        Equation(REGISTRY["neg"], (dropped,), (Var(F64),), {}),
    )
    refused(Jaxpr((x,), eqns, ()), "operand 0 of neg reads a dropped result")


def test_primitives_must_be_declared():
    stranger = Primitive("a stranger")
    del REGISTRY["a stranger"]
    refused(Jaxpr((), (Equation(stranger, (), (), {}),), ()), "a stranger is no declared primitive")


def test_origins_are_required_on_request():
    p = program()
    check_jaxpr(p)
    refused(p, "add does not say where it came from", require_origins=True)
    origin = Origin((Span("cell", 1, 0, 1, 5),))
    check_jaxpr(replace(p, eqns=tuple(replace(e, origin=origin) for e in p.eqns)), require_origins=True)


def test_constants_match_their_variables():
    c = Var(F64_3)
    check_jaxpr(Jaxpr((), (), (c,), (c,), (np.ones(3),)))
    refused(Jaxpr((), (), (c,), (c,), (np.ones(4),)), "a constvar of type f64[3] holds")
    refused(Jaxpr((), (), (c,), (c,), (np.ones(3), np.ones(3))), "1 constvars but 2 consts")


def call(inner, operand, result):
    pjit = Equation(REGISTRY["pjit"], (operand,), (result,), {"name": "f", "jaxpr": inner})
    return Jaxpr((operand,), (pjit,), (result,))


def test_programs_inside_are_checked():
    inner = program("{ lambda ; a:f64[]. let b:f64[] = neg a in (b,) }")
    check_jaxpr(call(inner, Var(F64), Var(F64)))
    refused(call(inner, Var(I64), Var(F64)), "the program takes (f64[]) but is given (i64[])")
    broken = replace(inner, outvars=(Var(F64),))
    refused(call(broken, Var(F64), Var(F64)), "an output reads")
    reads_outside = replace(inner, eqns=(replace(inner.eqns[0], invars=(Var(F64, "outer"),)),))
    assert "in pjit" in refused(call(reads_outside, Var(F64), Var(F64)), "which is not bound before it")
