"""Simplification: what goes, what stays, and that no bit changes."""

import itertools

import numpy as np
import pytest

import workbench.primitives  # noqa: F401
from workbench.ir import (
    Jaxpr,
    JaxprBuilder,
    Literal,
    Origin,
    Scope,
    Span,
    check_jaxpr,
    eval_jaxpr,
    jaxprs_equal,
    literal,
    parse_jaxpr,
    same_bits,
)
from workbench.transforms import eliminate_dead_code, simplify
from workbench.transforms.simplify_casts import one_cast_does

SPECIALS = {
    "f": [0.0, -0.0, 1.0, -1.5, 3.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 2.2e-308],
    "i": [0, 1, -1, 7, np.iinfo(np.int8).min, 127], "u": [0, 1, 255, 128], "b": [False, True],
    "c": [complex(a, b) for a, b in itertools.product([0.0, -0.0, 1.0, np.inf, np.nan], repeat=2)],
}  # fmt: skip


def specials(aval):
    with np.errstate(all="ignore"):
        return np.resize(np.array(SPECIALS[aval.dtype.kind]).astype(aval.dtype), aval.shape)


def simplified(text: str) -> Jaxpr:
    """The program after simplification and without what that left behind; checked, and equal in every bit."""
    before = parse_jaxpr(text)
    after = simplify(before)
    check_jaxpr(after, after="simplify")
    after = eliminate_dead_code(after)
    args = [specials(aval) for aval in before.in_avals]
    with np.errstate(all="ignore"):
        for old, new in zip(eval_jaxpr(before, *args), eval_jaxpr(after, *args), strict=True):
            assert same_bits(old, new)
    return after


def body(in_types: str, *eqns: str, out: str) -> str:
    return f"{{ lambda ; {in_types}. let\n    " + "\n    ".join(eqns) + f"\n  in ({out},) }}"


def becomes(before: str, after: str) -> None:
    result = simplified(before)
    assert jaxprs_equal(result, parse_jaxpr(after)), str(result)


A, AI, AB, AC = "a:f64[40]", "a:i8[40]", "a:bool[4]", "a:c128[30]"

# One equation on `a` whose result is then negated (or inverted), so that it is no output itself.
VANISHES = [
    ("f64[40]", "add a -0.0:f64[]"), ("f64[40]", "add -0.0:f64[] a"), ("f64[40]", "sub a 0.0:f64[]"),
    ("f64[40]", "mul a 1.0:f64[]"), ("f64[40]", "mul 1.0:f64[] a"), ("f64[40]", "div a 1.0:f64[]"),
    ("f64[40]", "integer_pow[y=1] a"), ("f64[40]", "max a a"), ("f64[40]", "copy a"),
    ("f64[40]", "convert_element_type[new_dtype=float64 weak_type=False] a"), ("f64[40]", "real a"),
    ("i8[40]", "add a 0:i8[]"), ("i8[40]", "sub a 0:i8[]"), ("i8[40]", "mul 1:i8[] a"), ("i8[40]", "and a -1:i8[]"),
    ("i8[40]", "or a 0:i8[]"), ("i8[40]", "xor 0:i8[] a"), ("i8[40]", "shift_left a 0:i8[]"), ("i8[40]", "and a a"),
    ("i8[40]", "floor_divide a 1:i8[]"), ("u8[40]", "and 255:u8[] a"), ("u8[40]", "abs a"),
    ("bool[4]", "and a True:bool[]"), ("bool[4]", "or a False:bool[]"), ("bool[4]", "mul a True:bool[]"),
    ("bool[4]", "add False:bool[] a"),
    ("c128[30]", "add a (-0-0j):c128[]"), ("c128[30]", "sub a 0j:c128[]"),
    ("f64[40]", "reshape[dimensions=None new_sizes=(40,)] a"), ("f64[40]", "transpose[permutation=(0,)] a"),
    ("f64[40]", "squeeze[dimensions=()] a"), ("f64[40]", "rev[dimensions=()] a"),
    ("f64[40]", "slice[limit_indices=(40,) start_indices=(0,) strides=None] a"),
    ("f64[40]", "broadcast_in_dim[broadcast_dimensions=(0,)] a"),
    ("f64[40]", "pad[padding_config=((0, 0, 0),)] a 1.0:f64[]"),
    ("f64[40]", "concatenate[dimension=0] a"), ("f64[40]", "dynamic_slice[slice_sizes=(40,)] a 7:i64[]"),
    ("f64[40]", "select_n True:bool[] 0.0:f64[] a"), ("f64[40]", "select_n 0:i32[] a 0.0:f64[] 1.0:f64[]"),
]  # fmt: skip


@pytest.mark.parametrize("type_, eqn", VANISHES)
def test_equations_that_change_nothing_vanish(type_, eqn):
    undo = "not" if type_[0] == "b" else "neg" if type_[0] != "u" else "square"
    before = body(f"a:{type_}", f"b:{type_} = {eqn}", f"c:{type_} = {undo} b", out="c")
    becomes(before, body(f"a:{type_}", f"c:{type_} = {undo} a", out="c"))


STAYS = [
    ("f64[40]", "add a 0.0:f64[]"), ("f64[40]", "sub a -0.0:f64[]"), ("f64[40]", "sub 0.0:f64[] a"),
    ("f64[40]", "mul a 0.0:f64[]"), ("f64[40]", "div a 3.0:f64[]"), ("f64[40]", "sub a a"), ("f64[40]", "div a a"),
    ("f64[40]", "floor_divide a 1.0:f64[]"), ("f64[40]", "integer_pow[y=2] a"), ("f64[40]", "div a inf:f64[]"),
    ("f64[40]", "div a 0.0:f64[]"), ("f64[40]", "div a 8.98846567431158e+307:f64[]"), ("f64[40]", "div a 5e-324:f64[]"),
    ("c128[30]", "mul a (1+0j):c128[]"), ("c128[30]", "add a 0j:c128[]"), ("c128[30]", "add a (-0+0j):c128[]"),
    ("c128[30]", "integer_pow[y=1] a"), ("i8[40]", "mul a 2:i8[]"), ("bool[4]", "and a False:bool[]"),
    ("f32[40]", "mul a 0.5:f32[]"),
]  # fmt: skip


@pytest.mark.parametrize("type_, eqn", STAYS)
def test_equations_that_change_some_bit_stay(type_, eqn):
    text = body(f"a:{type_}", f"b:{type_} = {eqn}", out="b")
    becomes(text, text)


@pytest.mark.parametrize(
    "name, type_", [("neg", "f64"), ("neg", "i8"), ("not", "i8"), ("not", "bool"), ("conj", "c128")]
)
def test_what_is_undone_vanishes(name, type_):
    chain = [f"{b}:{type_}[6] = {name} {a}" for a, b in itertools.pairwise("abcdef")]
    becomes(body(f"a:{type_}[6]", *chain, out="f"), body(f"a:{type_}[6]", f"b:{type_}[6] = {name} a", out="b"))


def test_absolute_values_forget_signs():
    before = body(A, "b:f64[40] = neg a", "c:f64[40] = abs b", "d:f64[40] = abs c", "e:f64[40] = neg d", out="e")
    becomes(before, body(A, "b:f64[40] = abs a", "c:f64[40] = neg b", out="c"))
    # abs(int8(-128)) is -128, so the absolute value of an absolute value may differ from it in name only
    wraps = body(AI, "b:i8[40] = abs a", "c:i8[40] = abs b", out="c")
    becomes(wraps, wraps)


def test_roundings_happen_once():
    before = body(A, "b:f64[40] = floor a", "c:f64[40] = floor b", "d:f64[40] = neg c", out="d")
    becomes(before, body(A, "b:f64[40] = floor a", "d:f64[40] = neg b", out="d"))


def test_scalars_are_read_instead_of_their_broadcasts():
    becomes(
        body("a:f64[3] b:f64[]", "c:f64[3] = broadcast_in_dim b", "d:f64[3] = mul c a", out="d"),
        body("a:f64[3] b:f64[]", "d:f64[3] = mul b a", out="d"),
    )


def test_computations_on_broadcast_scalars_happen_before_the_broadcast():
    becomes(
        body("b:f64[]", "c:f64[3] = broadcast_in_dim b", "d:f64[3] = mul c 2.0:f64[]", "e:f64[3] = sqrt d", out="e"),
        body("b:f64[]", "d:f64[] = mul b 2.0:f64[]", "e:f64[] = sqrt d", "f:f64[3] = broadcast_in_dim e", out="f"),
    )


def test_constants_fold_through_broadcasts_and_casts():
    becomes(
        body(
            A,
            "b:i64[40] = broadcast_in_dim 2:i64[]",
            "c:f64[40] = convert_element_type[new_dtype=float64 weak_type=False] b",
            "d:f64[40] = sqrt c",
            "e:f64[40] = mul a d",
            out="e",
        ),
        body(A, "e:f64[40] = mul a 1.4142135623730951:f64[]", out="e"),
    )


def test_constants_that_raise_are_left_for_the_run():
    text = body("a:i64[]", "b:i64[] = pow 2:i64[] -1:i64[]", "c:i64[] = add a b", out="c")
    assert jaxprs_equal(simplify(parse_jaxpr(text)), parse_jaxpr(text))


def test_selection_with_an_inverted_mask_swaps_the_cases():
    types = "p:bool[4] a:f64[4] b:f64[4]"
    becomes(
        body(types, "q:bool[4] = not p", "c:f64[4] = select_n q a b", out="c"),
        body(types, "c:f64[4] = select_n p b a", out="c"),
    )
    becomes(
        body(types, "c:f64[4] = select_n p a a", "d:f64[4] = neg c", out="d"),
        body(types, "d:f64[4] = neg a", out="d"),
    )
    becomes(
        body(types, "c:f64[4] = select_n False:bool[] 1.0:f64[] a", "d:f64[4] = mul b c", out="d"),
        body(types, "d:f64[4] = mul b 1.0:f64[]", out="d").replace("mul b 1.0:f64[]", "copy b"),
    )


def test_parts_of_complex_numbers_are_what_they_were_made_of():
    before = body(
        "a:f64[5] b:f64[5]", "z:c128[5] = complex a b", "c:f64[5] = real z", "d:f64[5] = imag z", "e:f64[5] = sub d c",
        out="e",
    )  # fmt: skip
    becomes(before, body("a:f64[5] b:f64[5]", "e:f64[5] = sub b a", out="e"))


def broadcast(type_, *dimensions):
    return f"{type_} = broadcast_in_dim[broadcast_dimensions={dimensions}]"


def reshape(type_):
    sizes = tuple(map(int, type_[4:-1].split(",")))
    return f"{type_} = reshape[dimensions=None new_sizes={sizes}]"


def cut(type_, starts, limits, strides=None):
    return f"{type_} = slice[limit_indices={limits} start_indices={starts} strides={strides}]"


MOVES = [
    ("f64[2,3]", [reshape("f64[6]"), reshape("f64[3,2]")], reshape("f64[3,2]")),
    (
        "f64[2,3,4]",
        ["f64[3,4,2] = transpose[permutation=(1, 2, 0)]", "f64[2,4,3] = transpose[permutation=(2, 1, 0)]"],
        "f64[2,4,3] = transpose[permutation=(0, 2, 1)]",
    ),
    ("f64[3]", [reshape("f64[3,1]"), broadcast("f64[3,4]", 0, 1)], broadcast("f64[3,4]", 0)),
    ("f64[3]", [broadcast("f64[1,3]", 1), broadcast("f64[5,1,3]", 1, 2)], broadcast("f64[5,1,3]", 2)),
    ("f64[3]", [broadcast("f64[2,3]", 1), "f64[3,2] = transpose[permutation=(1, 0)]"], broadcast("f64[3,2]", 0)),
    (
        "f64[1,3,1]",
        ["f64[3,1] = squeeze[dimensions=(0,)]", "f64[3] = squeeze[dimensions=(1,)]"],
        "f64[3] = squeeze[dimensions=(0, 2)]",
    ),
    ("f64[3]", [broadcast("f64[1,3,1]", 1), "f64[3,1] = squeeze[dimensions=(0,)]"], broadcast("f64[3,1]", 0)),
    ("f64[6]", [broadcast("f64[6,1]", 0), reshape("f64[2,3]")], reshape("f64[2,3]")),
    ("f64[]", ["f64[6] = broadcast_in_dim", reshape("f64[2,3]")], "f64[2,3] = broadcast_in_dim"),
    ("f64[20]", [cut("f64[9]", (1,), (19,), (2,)), cut("f64[3]", (2,), (9,), (3,))], cut("f64[3]", (5,), (18,), (6,))),
    ("f64[9]", [cut("f64[8]", (1,), (9,)), cut("f64[0]", (8,), (8,))], cut("f64[0]", (9,), (9,))),
    ("f64[4]", [broadcast("f64[3,4]", 1), cut("f64[2,4]", (1, 0), (3, 4))], broadcast("f64[2,4]", 1)),
    (
        "f64[3,4]",
        ["f64[3,4] = rev[dimensions=(0,)]", "f64[3,4] = rev[dimensions=(0, 1)]"],
        "f64[3,4] = rev[dimensions=(1,)]",
    ),
]


@pytest.mark.parametrize("type_, chain, one", MOVES)
def test_chains_of_moves_become_one_move(type_, chain, one):
    names = "abcdefg"
    eqns = [
        f"{new}:{eqn.split(' = ')[0]} = {eqn.split(' = ')[1]} {old}"
        for old, new, eqn in zip(names, names[1:], chain, strict=False)
    ]
    result_type, move = one.split(" = ")
    before = body(f"a:{type_}", *eqns, out=names[len(chain)])
    becomes(before, body(f"a:{type_}", f"b:{result_type} = {move} a", out="b"))


def test_moves_that_undo_each_other_vanish():
    becomes(
        body(
            "a:f64[3,4]",
            "b:f64[4,3] = transpose[permutation=(1, 0)] a",
            "c:f64[4,3] = rev[dimensions=(0,)] b",
            "d:f64[4,3] = rev[dimensions=(0,)] c",
            "e:f64[3,4] = transpose[permutation=(1, 0)] d",
            "f:f64[12] = reshape[dimensions=None new_sizes=(12,)] e",
            "g:f64[3,4] = reshape[dimensions=None new_sizes=(3, 4)] f",
            "h:f64[3,4] = neg g",
            out="h",
        ),
        body("a:f64[3,4]", "h:f64[3,4] = neg a", out="h"),
    )


def test_a_slice_of_what_is_really_there_stays():
    text = body(
        "a:f64[4]",
        "b:f64[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] a",
        "c:f64[3,2] = slice[limit_indices=(3, 3) start_indices=(0, 1) strides=None] b",
        out="c",
    )
    becomes(text, text)


def test_empty_operands_leave_a_concatenation():
    before = body("a:f64[3] b:f64[0]", "c:f64[6] = concatenate[dimension=0] b a b a", out="c")
    becomes(before, body("a:f64[3] b:f64[0]", "c:f64[6] = concatenate[dimension=0] a a", out="c"))


def slice_of(name, start, limit, columns=""):
    first, last = ("0, ", f"{columns}, ") if columns else ("", "")
    return f"slice[limit_indices=({last}{limit},) start_indices=({first}{start},) strides=None] {name}"


def test_slices_side_by_side_are_one():
    parts = [f"b{k}:f64[{n}] = {slice_of('a', k, k + n)}" for k, n in ((1, 1), (2, 2), (4, 1), (6, 3))]
    before = body("a:f64[9]", *parts, "c:f64[7] = concatenate[dimension=0] b1 b2 b4 b6", out="c")
    after = [f"b:f64[4] = {slice_of('a', 1, 5)}", parts[-1], "c:f64[7] = concatenate[dimension=0] b b6"]
    becomes(before, body("a:f64[9]", parts[-1], after[0], after[2], out="c"))


def test_all_slices_of_an_array_are_the_array():
    parts = [f"b{k}:f64[2,1] = {slice_of('a', k, k + 1, '2')}".replace("1,)", "1)") for k in range(3)]
    whole = [*parts, "c:f64[2,3] = concatenate[dimension=1] b0 b1 b2", "d:f64[2,3] = neg c"]
    becomes(body("a:f64[2,3]", *whole, out="d"), body("a:f64[2,3]", "d:f64[2,3] = neg a", out="d"))


@pytest.mark.parametrize(
    "parts",
    [
        ["slice[limit_indices=(2,) start_indices=(0,) strides=None] a",
         "slice[limit_indices=(4,) start_indices=(2,) strides=None] z"],
        ["slice[limit_indices=(4,) start_indices=(2,) strides=None] a",
         "slice[limit_indices=(2,) start_indices=(0,) strides=None] a"],
        ["slice[limit_indices=(3,) start_indices=(0,) strides=(2,)] a",
         "slice[limit_indices=(6,) start_indices=(3,) strides=(2,)] a"],
    ],
    ids=["of two arrays", "backwards", "with steps"],
)  # fmt: skip
def test_other_slices_stay(parts):
    eqns = [f"{name}:f64[2] = {part}" for name, part in zip("bc", parts, strict=True)]
    text = body("a:f64[9] z:f64[9]", *eqns, "d:f64[4] = concatenate[dimension=0] b c", out="d")
    becomes(text, text)


def test_updates_of_everything_are_the_update():
    types = "a:f64[3] b:f64[3] i:i64[]"
    for eqn in ("update_slice[start_indices=(0,) strides=None] a b", "dynamic_update_slice a b i"):
        becomes(body(types, f"c:f64[3] = {eqn}", "d:f64[3] = neg c", out="d"), body(types, "d:f64[3] = neg b", out="d"))


def test_dynamic_slices_at_known_places_are_slices():
    becomes(
        body("a:f64[9]", "b:f64[4] = dynamic_slice[slice_sizes=(4,)] a 7:i64[]", out="b"),
        body("a:f64[9]", "b:f64[4] = slice[limit_indices=(9,) start_indices=(5,) strides=None] a", out="b"),
    )
    becomes(
        body("a:f64[9] b:f64[2]", "c:f64[9] = dynamic_update_slice a b -3:i64[]", out="c"),
        body("a:f64[9] b:f64[2]", "c:f64[9] = update_slice[start_indices=(0,) strides=None] a b", out="c"),
    )


DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def everything(dtype):
    """Values of `dtype` at every edge: of it and of all other dtypes."""
    if dtype.kind == "b":
        return np.array([False, True])
    edges = [info for d in DTYPES[1:9] for info in (np.iinfo(d).min, np.iinfo(d).max)]
    values = {v + d for v in [*edges, 0, 2**24, 2**53] for d in (-1, 0, 1)}
    if dtype.kind in "iu":
        return np.array([v for v in values if np.iinfo(dtype).min <= v <= np.iinfo(dtype).max], dtype)
    reals = np.array([*map(float, values), 0.1, -0.0, 0.5, 1e-310, 3e38, 1e39, np.inf, -np.inf, np.nan])
    with np.errstate(over="ignore"):
        reals = reals.astype(dtype)
    return reals if dtype.kind == "f" else np.array([complex(a, b) for a in reals for b in (0.0, 2.0)], dtype)


@pytest.mark.parametrize("source", DTYPES)
def test_chains_of_casts_shorten_only_where_no_value_changes(source):
    source = np.dtype(source)
    values = everything(source)

    def cast(x, dtype):
        return (x.real if x.dtype.kind == "c" and dtype.kind not in "bc" else x).astype(dtype)

    with np.errstate(all="ignore"):
        for middle, target in itertools.product(map(np.dtype, DTYPES), repeat=2):
            if one_cast_does(source, middle, target):
                assert same_bits(cast(values, target), cast(cast(values, middle), target)), (source, middle, target)


def test_chains_of_casts_do_shorten():
    assert one_cast_does(*map(np.dtype, ("i4", "f8", "f4")))
    assert one_cast_does(*map(np.dtype, ("i1", "i8", "u1")))
    assert one_cast_does(*map(np.dtype, ("f4", "f8", "f4")))
    assert not one_cast_does(*map(np.dtype, ("i8", "f8", "i8")))
    assert not one_cast_does(*map(np.dtype, ("f8", "f4", "f8")))
    becomes(
        body(
            "a:f32[9]",
            "b:f64[9] = convert_element_type[new_dtype=float64 weak_type=False] a",
            "c:f32[9] = convert_element_type[new_dtype=float32 weak_type=False] b",
            "d:f32[9] = neg c",
            out="d",
        ),
        body("a:f32[9]", "d:f32[9] = neg a", out="d"),
    )


def test_outputs_stay_arrays_of_their_own():
    # NumPy gives `x * 1` a new array: the caller may write to it without changing `x`, or the other outputs.
    result = simplified(
        "{ lambda ; a:f64[3]. let b:f64[3] = mul a 1.0:f64[]; c:f64[3] = exp a; d:f64[3] = copy c in (b, c, d) }"
    )
    assert [eqn.primitive.name for eqn in result.eqns] == ["copy", "exp", "copy"]
    # An array that only the program knew may become an output itself.
    result = simplified("{ lambda ; a:f64[3]. let b:f64[3] = exp a; c:f64[3] = copy b in (c,) }")
    assert [eqn.primitive.name for eqn in result.eqns] == ["exp"]
    result = simplified("{ lambda ; a:f64[3]. let b:f64[3] = exp a; c:f64[3] = copy b; d:f64[3] = copy b in (c, d) }")
    assert [eqn.primitive.name for eqn in result.eqns] == ["exp", "copy"]
    assert len(set(result.outvars)) == 2


def test_an_output_may_become_a_constant():
    result = simplified("{ lambda ; . let b:f64[] = sqrt 4.0:f64[] in (b,) }")
    assert isinstance(result.outvars[0], Literal) and result.eqns == ()


def span(line):
    return Span("cell", line, 0, line, 9)


def test_what_replaces_an_equation_answers_for_it():
    b = JaxprBuilder()
    x = b.input("f64[2,3]")
    y = b.emit("exp", x, origin=Origin((span(1),), "exp"))
    t = b.emit("transpose", y, permutation=(1, 0), origin=Origin((span(2),), "T"))
    u = b.emit("transpose", t, permutation=(1, 0), origin=Origin((span(3),), "T", name="u"), hint="u")
    v = b.emit("transpose", b.emit("neg", u, origin=Origin((span(4),))), permutation=(1, 0), origin=Origin((span(5),)))
    w = b.emit("reshape", v, new_sizes=(6,), dimensions=None, origin=Origin((span(6),)))
    z = b.emit("reshape", w, new_sizes=(2, 3), dimensions=None, origin=Origin((span(7),)))
    result = eliminate_dead_code(simplify(b.build(z)))
    exp, neg, transpose, reshape = result.eqns
    assert exp.origin.spans == (span(1),) and exp.origin.also == (span(3),) and exp.origin.name == "u"
    assert exp.outvars[0].hint == "u"
    assert reshape.origin.span == span(7) and reshape.origin.also == (span(6),)


def test_operations_do_not_leave_their_scope():
    b = JaxprBuilder()
    x = b.input("f64[2,3]")
    plain, scoped = Origin((span(1),)), Origin((span(2),), scopes=(Scope("numpy", compile_ops=False),))
    y = b.emit("transpose", x, permutation=(1, 0), origin=scoped)
    z = b.emit("reshape", b.emit("transpose", y, permutation=(1, 0), origin=plain), new_sizes=(6,), dimensions=None)
    assert [eqn.primitive.name for eqn in simplify(b.build(z)).eqns] == ["transpose", "transpose", "reshape"]


def test_programs_inside_are_simplified_once():
    text = """\
let f = { lambda ; a:f64[]. let b:f64[] = mul a 1.0:f64[]; c:f64[] = neg b in (c,) } in
{ lambda ; a:f64[]. let b:f64[] = pjit[name=f jaxpr=f] a; c:f64[] = pjit[name=f jaxpr=f] b in (c,) }"""
    result = simplify(parse_jaxpr(text))
    first, second = (eqn.params["jaxpr"] for eqn in result.eqns)
    assert first is second and first.eqns[-1].primitive.name == "neg" and first.eqns[-1].invars == first.invars


def test_literals_of_any_kind_are_matched():
    b = JaxprBuilder()
    x = b.input("f32[3]")
    y = b.emit("neg", b.emit("mul", x, literal(1, np.dtype(np.float32))))
    assert [eqn.primitive.name for eqn in eliminate_dead_code(simplify(b.build(y))).eqns] == ["neg"]
