"""Common subexpressions."""

import numpy as np
import pytest

import workbench.primitives  # noqa: F401
from workbench.ir import DropVar, JaxprBuilder, Origin, Scope, Span, check_jaxpr, eval_jaxpr, parse_jaxpr, same_bits
from workbench.transforms import eliminate_common_subexpressions, eliminate_dead_code
from workbench.transforms.cse import frozen


def shared(text):
    before = parse_jaxpr(text)
    after = eliminate_common_subexpressions(before)
    check_jaxpr(after, after="cse")
    return after


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_equal_equations_are_computed_once():
    result = shared(
        "{ lambda ; a:f64[3]. let b:f64[3] = exp a; c:f64[3] = exp a; d:f64[3] = neg b; e:f64[3] = neg c;"
        " f:f64[3] = mul d e in (f,) }"
    )
    assert names(result) == ["exp", "neg", "mul"]


@pytest.mark.parametrize(
    "eqns",
    [
        "b:f64[3] = add a 0.0:f64[]; c:f64[3] = add a -0.0:f64[]",
        "b:f64[3] = add a 1.0:f64[]; c:f64[3] = sub a 1.0:f64[]",
        "b:f64[3] = sub a x; c:f64[3] = sub x a",
        "b:f64[3] = max a x; c:f64[3] = max x a",  # of 0.0 and -0.0 the first may be taken
        "b:f64[3] = integer_pow[y=2] a; c:f64[3] = integer_pow[y=3] a",
        "b:f64[3] = rev[dimensions=()] a; c:f64[3] = rev[dimensions=(0,)] a",
    ],
)
def test_different_equations_stay(eqns):
    text = f"{{ lambda ; a:f64[3] x:f64[3]. let {eqns}; d:f64[3] = mul b c in (d,) }}"
    assert len(shared(text).eqns) == 3


@pytest.mark.parametrize("name", ["add", "mul", "eq", "ne"])
def test_operands_may_be_exchanged(name):
    out = "bool[3]" if name in ("eq", "ne") else "f64[3]"
    join = "and" if out == "bool[3]" else "sub"
    result = shared(
        f"{{ lambda ; a:f64[3] x:f64[3]. let b:{out} = {name} a x; c:{out} = {name} x a;"
        f" d:{out} = {join} b c in (d,) }}"
    )
    assert names(result) == [name, join]


def test_equations_of_different_scopes_stay_apart():
    def program(*scopes):
        b = JaxprBuilder()
        x = b.input("f64[3]")
        y, z = (b.emit("exp", x, origin=Origin((Span("cell", i, 0, i, 3),), scopes=s)) for i, s in enumerate(scopes))
        return b.build(b.emit("mul", y, z))

    inner = (Scope("numpy", compile_ops=False),)
    assert names(eliminate_common_subexpressions(program((), inner))) == ["exp", "exp", "mul"]
    result = eliminate_common_subexpressions(program(inner, (Scope("numpy", compile_ops=False),)))
    assert names(result) == ["exp", "mul"]
    assert result.eqns[0].origin.also == (Span("cell", 1, 0, 1, 3),)


def test_outputs_stay_arrays_of_their_own():
    result = shared("{ lambda ; a:f64[3]. let b:f64[3] = exp a; c:f64[3] = exp a; d:f64[3] = copy a in (b, c, d) }")
    assert names(result) == ["exp", "copy", "copy"]
    outs = eval_jaxpr(result, np.arange(3.0))
    assert len(set(result.outvars)) == 3 and same_bits(outs[0], outs[1])


def test_a_dropped_result_is_not_revived():
    result = shared(
        "{ lambda ; a:i64[3]. let b:i64[3] = neg a in (b,) }".replace(
            "let b:i64[3] = neg a",
            "let b:i64[3] _:i64[3] = sort[dimension=0 is_stable=True num_keys=1] a a; "
            "c:i64[3] d:i64[3] = sort[dimension=0 is_stable=True num_keys=1] a a; "
            "e:i64[3] f:i64[3] = sort[dimension=0 is_stable=True num_keys=1] a a",
        ).replace("in (b,)", "in (b, d, f)")
    )
    assert names(result)[:2] == ["sort", "sort"] and "copy" in names(result)
    assert isinstance(result.eqns[0].outvars[1], DropVar)
    check_jaxpr(eliminate_dead_code(result))


def test_calls_of_one_program_are_shared():
    result = shared(
        "let f = { lambda ; a:f64[]. let b:f64[] = exp a; c:f64[] = exp a; d:f64[] = mul b c in (d,) } in\n"
        "{ lambda ; a:f64[]. let b:f64[] = pjit[name=f jaxpr=f] a; c:f64[] = pjit[name=f jaxpr=f] a;"
        " d:f64[] = add b c in (d,) }"
    )
    assert names(result) == ["pjit", "add"] and names(result.eqns[0].params["jaxpr"]) == ["exp", "mul"]


def test_keys_tell_values_apart_that_python_calls_equal():
    assert len({frozen(v) for v in (1, 1.0, True, np.int64(1))}) == 4
    assert frozen(0.0) != frozen(-0.0) and frozen(float("nan")) == frozen(float("nan"))
    assert frozen({"a": (1, [2])}) == frozen({"a": (1, [2])}) != frozen({"a": [1, [2]]})


def test_params_that_have_no_key_keep_their_equations():
    b = JaxprBuilder()
    x = b.input("f64[3]")
    params = {"name": "flip", "kwargs": (("axis", np.arange(1)),)}
    with pytest.raises(TypeError):
        hash(frozen(params))
    (y,), (z,) = (b.emit("numpy_call", x, avals=(x.aval,), **params) for _ in range(2))
    assert names(eliminate_common_subexpressions(b.build(y, z))) == ["numpy_call", "numpy_call"]
