"""What no iteration of a loop changes is computed before it; what is cheaper to compute than to read stays."""

import numpy as np
import pytest

import workbench as wb
import workbench.primitives  # noqa: F401
from workbench.ir import Jaxpr, check_jaxpr, eval_jaxpr, parse_jaxpr, same_bits, subjaxprs
from workbench.transforms import eliminate_dead_code, hoist_invariants, run_pipeline

LOOP = """{ lambda ; a:f64[3,3] b:f64[3] c:i64[]. let
    d:f64[3] e:i64[] = while[
      body_jaxpr={ lambda ; f:f64[3,3] g:f64[3] h:f64[3] i:i64[]. let
          BODY
          k:i64[] = sub i 1:i64[]
        in (j, k) }
      body_nconsts=2
      cond_jaxpr={ lambda ; l:f64[3] m:i64[]. let n:bool[] = gt m 0:i64[] in (n,) }
      cond_nconsts=0
    ] a b b c
  in (d, e) }"""
DOT = "dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float64]"
SUM = "reduce_sum[axes=(0,)]"
BODIES = {
    "product": (f"o:f64[3] = {DOT} f g; j:f64[3] = add h o", ["dot_general"]),
    "chain": (f"p:f64[3] = exp g; q:f64[3] = neg g; o:f64[3] = mul p q; r:f64[3] = {SUM} f; s:f64[3] = add o r; "
              "j:f64[3] = add h s", ["exp", "neg", "mul", "reduce_sum", "add"]),
    "shared": (f"q:f64[3] = neg g; o:f64[3] = {DOT} f q; s:f64[3] = add h q; j:f64[3] = add s o",
               ["neg", "dot_general"]),
    "one of two results": ("o:f64[] r:f64[] = slogdet f; t:f64[3] = broadcast_in_dim[broadcast_dimensions=() "
                           "shape=(3,)] r; j:f64[3] = add h t", ["slogdet"]),
    "cheap": (f"q:f64[3] = neg g; s:f64[3] = add h q; o:f64[] = {SUM} s; t:f64[3] = "
              "broadcast_in_dim[broadcast_dimensions=() shape=(3,)] o; j:f64[3] = add s t", []),
    "elementwise": ("o:f64[3] = exp g; j:f64[3] = add h o", []),
    "raises": ("o:f64[3,3] = inv f; p:f64[3] = reduce_sum[axes=(0,)] o; j:f64[3] = add h p", []),
    "returned": (f"j:f64[3] = {DOT} f g", []),
    "changes": (f"o:f64[3] = {DOT} f h; j:f64[3] = add g o", []),
}  # fmt: skip


def names(jaxpr: Jaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_what_is_moved_and_what_stays(name: str, n: int) -> None:
    body, moved = BODIES[name]
    before = parse_jaxpr(LOOP.replace("BODY", body.replace("; ", "\n          ")))
    after = eliminate_dead_code(hoist_invariants(before))
    check_jaxpr(after, after="hoist invariants")
    assert names(after) == [*moved, "while"]
    rng = np.random.default_rng(0)
    args = rng.normal(size=(3, 3)), rng.normal(size=3), np.int64(n)
    for old, new in zip(eval_jaxpr(before, *args), eval_jaxpr(after, *args), strict=True):
        assert same_bits(old, new)


def test_what_is_cheap_is_computed_again_where_it_is_read() -> None:
    text = LOOP.replace("BODY", BODIES["shared"][0].replace("; ", "\n          "))
    after = eliminate_dead_code(hoist_invariants(parse_jaxpr(text)))
    (body,) = (inner for name, inner in subjaxprs(after.eqns[-1]) if name == "body_jaxpr")
    assert names(body) == ["neg", "add", "add", "sub"]


def test_what_has_no_result_stays() -> None:
    body = f"o:f64[3] = {DOT} f g; j:f64[3] = add h o; p:bool[] = gt i 2:i64[]; "
    body += "_:bool[] = check[filename='a.py' line=3] p"
    after = eliminate_dead_code(hoist_invariants(parse_jaxpr(LOOP.replace("BODY", body.replace("; ", "\n          ")))))
    check_jaxpr(after, after="hoist invariants")
    (inner,) = (program for name, program in subjaxprs(after.eqns[-1]) if name == "body_jaxpr")
    assert "check" in names(inner) and "dot_general" not in names(inner)


def test_an_error_beside_an_invariant_is_still_raised() -> None:
    def program(a, x, most):
        for _ in range(40):
            x = x * 0.5 + (a @ a)[0]
            if x.sum() > most:
                raise ValueError("too much")
        return x

    a, x = np.ones((20, 20)), np.ones(20)
    for function in (program, wb.jit(program)):
        assert function(a, x, 1e3).sum() < 1e3
        with pytest.raises(ValueError, match="too much"):
            function(a, x, 500.0)


def nested(a, x, n):
    for _ in range(n):
        for row in range(len(a)):
            x = x * 0.5 + a[row] * np.sum(a**2, axis=1) / (1 + np.abs(np.fft.fft(a[0])).max())
    return x


def never_run(a, x, n):
    while x[0] < n:
        x = x + np.log(a + 1.0).sum() / a.mean()
    return x


def in_a_branch(a, x, n):
    for k in range(n):
        if x[k % len(x)] > 0:
            x = x - 0.25 * (a @ a.T).sum(axis=0)
        else:
            x = x + np.sort(a[0]) * np.prod(a)
    return x


@pytest.mark.parametrize("program", [nested, never_run, in_a_branch])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_loops_give_what_numpy_gives(program, n) -> None:
    rng = np.random.default_rng(n)
    a, x = rng.random((20, 20)) + 0.5, rng.random(20)
    compiled = wb.jit(program)
    for _ in range(2):
        np.testing.assert_allclose(compiled(a, x, n), program(a, x, n), rtol=1e-9)


def test_inner_loops_pass_on_what_outer_ones_do_not_change_either() -> None:
    a = np.random.default_rng(0).random((20, 20)) + 0.5
    (jaxpr,) = (program for name, program in passes(nested, a, a[0], 40) if name == "move loop invariants out")
    assert "reduce_sum" in names(jaxpr) and "fft" in names(jaxpr)


def test_what_two_loops_compute_is_computed_once() -> None:
    def twice(a, x):
        for _ in range(40):
            x = x * 0.5 + (a @ a).sum(axis=0)
        for _ in range(50):
            x = x - (a @ a).sum(axis=0) * x.mean()
        return x

    a = np.random.default_rng(0).random((20, 20))
    _, final = passes(twice, a, a[0])[-1]
    assert names(final).count("dot_general") == 1


def passes(program, *args):
    found = []
    run_pipeline(wb.make_jaxpr(program)(*args), on_pass=lambda name, _, after: found.append((name, after)))
    return found
