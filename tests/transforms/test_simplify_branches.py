"""Branches that only choose numbers become `select_n`; others stay."""

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401
from workbench.ir import check_jaxpr, eval_jaxpr, parse_jaxpr, same_bits
from workbench.transforms import eliminate_dead_code, simplify

CHOICE = """{ lambda ; a:f64[] b:i32[] c:i64[]. let
    d:f64[] e:i64[] = cond[
      branches=(
        { lambda ; f:f64[] g:i64[]. let in (f, g) }
        { lambda ; f:f64[] g:i64[]. let h:i64[] = add g 1:i64[] in (nan:f64[], h) }
      )
    ] b a c
  in (d, e) }"""


def names(jaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("value", [0.0, -0.0, np.nan, np.inf])
def test_numbers_are_chosen_bit_by_bit(index: int, value: float) -> None:
    before = parse_jaxpr(CHOICE)
    after = eliminate_dead_code(simplify(before))
    check_jaxpr(after, after="simplify")
    assert names(after) == ["add", "select_n", "select_n"]
    args = np.float64(value), np.int32(index), np.int64(7)
    for old, new in zip(eval_jaxpr(before, *args), eval_jaxpr(after, *args), strict=True):
        assert same_bits(old, new)


KEPT = {
    "array": CHOICE.replace("f64[]", "f64[3]").replace("nan:f64[3]", "f"),
    "dear": CHOICE.replace("h:i64[] = add g 1:i64[]", "h:i64[] = integer_pow[y=9] g"),
    "many": CHOICE.replace("let h:i64[] = add g 1:i64[] in", """let
            i:i64[] = add g 1:i64[]
            j:i64[] = add i 2:i64[]
            k:i64[] = mul j i
            l:i64[] = mul k i
            h:i64[] = sub l k
          in"""),
}  # fmt: skip


@pytest.mark.parametrize("kind", KEPT)
def test_what_moves_or_computes_more_stays_a_branch(kind: str) -> None:
    assert names(simplify(parse_jaxpr(KEPT[kind]))) == ["cond"]


def test_flags_of_a_search_are_one_kernel_with_it() -> None:
    def first_below(x, limit):
        found, at = False, -1
        for i in range(60):
            x = x * 0.5
            if x.sum() < limit:
                found, at = True, i
                break
        return x, found, at

    x = np.full(5000, 3.0)
    report = wb.explain(first_below)(x.copy(), 1.0)
    assert report.summary.n_branches == 0
    compiled = wb.jit(first_below)
    for limit in (1.0, 1e-300):
        found, expected = compiled(x, limit), first_below(x, limit)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1:] == expected[1:]
