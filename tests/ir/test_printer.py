"""The printed form. The texts are JAX 0.10.2's, recorded, with `pjit` for `jit` and without `out_sharding`."""

import numpy as np
import pytest

import workbench.primitives  # noqa: F401
from workbench.ir import (
    Equation,
    JaxprBuilder,
    Literal,
    Origin,
    Span,
    Var,
    equation_lines,
    parse_aval,
    parse_jaxpr,
    print_eqn,
    print_jaxpr,
    printed,
)
from workbench.ir.layout import Break, Group, Nest, Noted, joined, lay_out
from workbench.ir.printer import alphabetic_name, literal_text

RECORDED = {
    "sum of squared errors": """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sub a b
    d:f32[3] = integer_pow[y=2] c
    e:f32[] = reduce_sum[axes=(0,)] d
  in (e,) }""",
    "nothing": "{ lambda ; . let  in () }",
    "a literal": "{ lambda ; . let  in (3:i64[],) }",
    "an input twice": "{ lambda ; a:f64[]. let  in (a, a) }",
    "a constant": "{ lambda a:f64[20]; b:f64[20]. let c:f64[20] = add b a in (c,) }",
    "params that fit and params that do not": """\
{ lambda ; a:f64[3,3]. let
    b:f64[3,3] = transpose[permutation=(1, 0)] a
    c:f64[3,3] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float64
    ] a b
    d:f64[3,3] = dot_general[dimension_numbers=(([0], [0]), ([], []))] a a
    e:f64[9] = reshape[dimensions=None new_sizes=(9,)] c
    f:f64[3,4,3] = broadcast_in_dim[broadcast_dimensions=(0, 2)] a
    g:f64[1,2] = slice[limit_indices=(2, 3) start_indices=(1, 0) strides=(1, 2)] a
    h:bool[3,3] = gt a 0.0:f64[]
    i:i32[3] = iota[dimension=0 dtype=int32 shape=(3,)]\x20
  in (e, d, f, g, h, i) }""",
    "literals": """\
{ lambda ; a:f64[2] b:c128[2]. let
    c:f64[2] = mul a nan:f64[]
    d:f64[2] = sub c -inf:f64[]
    e:f64[2] = mul d 1e+300:f64[]
    f:f64[2] = add e -0.0:f64[]
    g:c128[2] = mul b (1+2j):c128[]
  in (f, g, inf:f64[], True:bool[]) }""",
    "a call": """\
{ lambda ; a:f64[]. let
    b:f64[] _:f64[] = pjit[
      name=g
      jaxpr={ lambda ; a:f64[]. let b:f64[] = sin a; _:f64[] = cos a in (b, _) }
    ] a
  in (b,) }""",
    "a shared program": """\
let g = { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = cos a in (b, c) } in
{ lambda ; d:f64[]. let
    _:f64[] _:f64[] = pjit[name=g jaxpr=g] d
    e:f64[] f:f64[] = pjit[name=g jaxpr=g] d
    h:f64[] _:f64[] = pjit[name=g jaxpr=g] f
  in (e, h) }""",
    "shared programs that use each other": """\
let lambda = { lambda ; a:f64[]. let b:f64[] = mul a 2.0:f64[] in (b,) } in
let sum = { lambda ; c:f64[]. let
    d:f64[] = pjit[name=<lambda> jaxpr=lambda] c
    e:f64[] = pjit[name=<lambda> jaxpr=lambda] c
    f:f64[] = pjit[name=<lambda> jaxpr=lambda] e
    g:f64[] = add d f
  in (g, c) } in
{ lambda ; h:f64[]. let
    i:f64[] = pjit[name=<lambda> jaxpr=lambda] h
    j:f64[] k:f64[] = pjit[name=sum jaxpr=sum] i
    l:f64[] m:f64[] = pjit[name=sum jaxpr=sum] i
  in (j, k, l, m) }""",
    "a long program inside": """\
let g = { lambda ; a:f64[]. let
    b:f64[] = sin a
    c:f64[] = mul b a
    d:f64[] = sin c
    e:f64[] = mul d c
    f:f64[] = sin e
    h:f64[] = mul f e
    i:f64[] = sin h
    j:f64[] = mul i h
    k:f64[] = sin j
    l:f64[] = mul k j
    m:f64[] = sin l
    n:f64[] = mul m l
  in (n,) } in
{ lambda ; o:f64[]. let p:f64[] = pjit[name=g jaxpr=g] o in (p,) }""",
    "many operands": """\
{ lambda ; a:f64[100,100]. let
    b:f64[6000,100] = concatenate[dimension=0] a a a a a a a a a a a a a a a a a
      a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a
      a a a a a
  in (b,) }""",
    "many results": """\
{ lambda ; a:f64[100,100]. let
    b:f64[100,100] c:f64[100,100] d:f64[100,100] e:f64[100,100] f:f64[100,100] g:f64[100,100]
      h:f64[100,100] i:f64[100,100] = sort[
      dimension=1
      is_stable=True
      num_keys=1
    ] a a a a a a a a
  in (b, c, d, e, f, g, h, i) }""",
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_texts_are_reproduced(name):
    assert print_jaxpr(parse_jaxpr(RECORDED[name])) == RECORDED[name]


def test_a_program_built_by_hand_prints_as_recorded():
    b = JaxprBuilder()
    x, y = b.input("f32[3]"), b.input("f32[3]")
    out = b.emit("reduce_sum", b.emit("integer_pow", b.emit("sub", x, y), y=2), axes=(0,))
    assert str(b.build(out)) == RECORDED["sum of squared errors"]


def test_names_count_in_base_26():
    assert [alphabetic_name(n) for n in (0, 25, 26, 27, 26 * 26 - 1, 26 * 26)] == ["a", "z", "ba", "bb", "zz", "baa"]


@pytest.mark.parametrize(
    "value, text",
    [
        (np.float32(0.1), "0.10000000149011612"),
        (-0.0, "-0.0"),
        (np.complex64(complex(0, float("nan"))), "nanj"),
        (complex(-0.0, 2), "(-0+2j)"),
        (np.uint8(3), "3"),
        (np.True_, "True"),
    ],
)
def test_literals_print_as_python_prints_them(value, text):
    assert literal_text(value) == text


def test_lines_of_equations_are_found_in_the_text():
    jaxpr = parse_jaxpr(RECORDED["a call"])
    text, lines = equation_lines(jaxpr)
    rows = text.split("\n")
    assert [(eqn.primitive.name, first, n) for eqn, first, n in lines] == [("pjit", 2, 4), ("sin", 4, 1), ("cos", 4, 1)]
    for eqn, first, _ in lines:
        assert eqn.primitive.name in rows[first - 1]


def test_lines_of_shared_programs_are_found_where_they_are_printed():
    jaxpr = parse_jaxpr(RECORDED["a long program inside"])
    text, lines = equation_lines(jaxpr)
    assert [first for _, first, _ in lines] == [*range(2, 14), 15]


def test_hints_become_names():
    b = JaxprBuilder()
    x = b.input("f64[3]", "x")
    y = b.emit("sin", x, hint="x")
    z = b.emit("sin", y)
    out = b.emit("mul", y, z, hint="self.loss")
    text = print_jaxpr(b.build(out), hints=True)
    assert text == (
        "{ lambda ; x:f64[3]. let\n    x_1:f64[3] = sin x\n    a:f64[3] = sin x_1\n    self_loss:f64[3] = mul x_1 a\n"
        "  in (self_loss,) }"
    )
    assert print_jaxpr(parse_jaxpr(text, hints=True), hints=True) == text


def test_source_positions_stand_to_the_right():
    b = JaxprBuilder()
    x = b.input("f64[3]")
    y = b.emit("sin", x, origin=Origin((Span("cell", 3, 4, 3, 9, "f"),)))
    z = b.emit("broadcast_in_dim", y, shape=(3, 4), broadcast_dimensions=(0,))
    text = print_jaxpr(b.build(z), source_info=True)
    assert text == (
        "{ lambda ; a:f64[3]. let\n"
        "    b:f64[3] = sin a                                         # cell:3:4 (f)\n"
        "    c:f64[3,4] = broadcast_in_dim[broadcast_dimensions=(0,)] b\n"
        "  in (c,) }"
    ).replace("sin a                                         #", "sin a" + " " * 42 + " #")
    parse_jaxpr(text)


def test_one_equation_prints_with_the_names_of_its_program():
    jaxpr = parse_jaxpr(RECORDED["sum of squared errors"])
    names = printed(jaxpr).names
    assert print_eqn(jaxpr.eqns[1], names) == "d:f32[3] = integer_pow[y=2] c"
    assert print_eqn(jaxpr.eqns[1]) == "a:f32[3] = integer_pow[y=2] b"


def test_strings_that_look_like_something_else_keep_their_quotes():
    from workbench.ir.shown_params import value_text

    assert value_text("mode", "clip") == "clip"
    assert [value_text("mode", s) for s in ("None", "float64", "1", "a b", "")] == [
        "'None'", "'float64'", "'1'", "'a b'", "''"
    ]  # fmt: skip
    assert value_text("mode", "g", frozenset({"g"})) == "'g'"
    assert value_text("name", "<lambda>") == "<lambda>"


def test_numpy_scalars_in_params_print_as_numbers():
    b = JaxprBuilder()
    x = b.input("f64[3]")
    assert "axes=(0,)" in str(b.build(b.emit("reduce_sum", x, axes=(np.int64(0),))))


def test_a_broken_program_prints_all_the_same():
    var = Var(parse_aval("f64[]"))
    sin = parse_jaxpr("{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }").eqns[0].primitive
    eqn = Equation(sin, (Var(parse_aval("f64[]")), Literal(1.0, parse_aval("f64[]"))), (var,), {})
    assert print_eqn(eqn) == "a:f64[] = sin b 1.0:f64[]"


def test_a_group_breaks_when_it_alone_does_not_fit():
    doc = Group(["(", Nest(2, [Break(""), *joined(Break(", "), ["one", "two"])]), Break(""), ")"])
    assert lay_out(doc, 10).text == "(one, two)"
    assert lay_out(doc, 9).text == "(\n  one\n  two\n)"
    assert lay_out([Group(["a", Break()]), "beyond"], 3).text == "a beyond"  # what follows is not looked at


def test_notes_share_a_column():
    text = lay_out([Noted("a", "first"), Break(), "long line", Break(), Noted("b", "x"), Noted("c", "y")]).text
    assert text == "a         # first\nlong line\nbc        # x\n          # y"
