"""The passes, in order, from the traced program to the one that fusion takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import Jaxpr, check_jaxpr
from ..ir.allocation import without_collection
from .cse import eliminate_common_subexpressions
from .dce import eliminate_dead_code
from .drop_unread import drop_unread
from .expand_contractions import expand_contractions
from .guard_gathers import guard_gathers
from .hoist_invariants import hoist_invariants
from .inline import inline_calls
from .rewrite import Pass
from .simplify import simplify
from .sink_transposes import sink_transposes

NamedPass = tuple[str, Pass]

PIPELINE: tuple[NamedPass, ...] = (
    # First: the other passes then see through calls (test_constants_meet_across_a_call).
    ("inline calls", inline_calls),
    # Before simplification, which drops the slices and broadcasts that turn out to do nothing.
    ("write out short contractions", expand_contractions),
    ("simplify algebra", simplify),
    # After simplification, which finds indices that need no test.
    ("test indices apart", guard_gathers),
    # After simplification, which drops transposes that undo each other (test_what_is_transposed_twice_is_not_sunk).
    ("sink transposes", sink_transposes),
    # Before sharing: two loops may have computed the same (test_what_two_loops_compute_is_computed_once).
    ("move loop invariants out", hoist_invariants),
    # After simplification, which makes more equations equal (test_simplification_makes_expressions_common).
    ("share common subexpressions", eliminate_common_subexpressions),
    # After sharing: memory is nobody else's. Before dead equations go, of which it makes some.
    ("drop what is written over", drop_unread),
    # Last: the passes before it leave what they replaced behind (test_pipeline_leaves_no_dead_equation).
    ("drop dead equations", eliminate_dead_code),
)


@without_collection
def run_pipeline(
    jaxpr: Jaxpr,
    pipeline: Sequence[NamedPass] = PIPELINE,
    *,
    on_pass: Callable[[str, Jaxpr, Jaxpr], object] | None = None,
    check: bool = False,
) -> Jaxpr:
    """`jaxpr` after all passes. `on_pass(name, before, after)` is called after each; with `check`, each result is
    checked."""
    for name, run in pipeline:
        before, jaxpr = jaxpr, run(jaxpr)
        if check:
            check_jaxpr(jaxpr, after=name)
        if on_pass is not None:
            on_pass(name, before, jaxpr)
    return jaxpr
