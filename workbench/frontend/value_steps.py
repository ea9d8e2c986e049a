"""Values that a step computes: an expression as a loop of one turn, `for _ in range(1): _wb_result = f(a, b)`, which is
translated as any other loop is."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from types import FunctionType
from typing import Any

from .counted_loops import signals
from .held import UNDEFINED
from .jumps import LoopSource, located
from .looping import SOURCES, as_step, prefers_step
from .loops.equations import Translated, emit_loop
from .loops.step_lists import lists_of_step
from .loops.types import Number
from .recording import current_trace
from .variables import Variables

RESULT = "_wb_result"
ONCE = "_"  # the variable of the loop
_PLACE, _ENUMERATE = "_wb_place", "_wb_enumerate"
HIDDEN = frozenset((RESULT, ONCE, _PLACE, _ENUMERATE))  # names that are no variables of the user's


def single_turn(
    turn: ast.Assign | ast.Expr, like: ast.AST, set_by_calls: frozenset[str] = frozenset()
) -> LoopSource:  # fmt: skip
    """A loop that runs a statement once."""
    text = ast.unparse(ast.fix_missing_locations(turn.value))
    once = ast.Call(ast.Name("range", ast.Load()), [ast.Constant(1)], [])
    loop = located(ast.For(ast.Name(ONCE, ast.Store()), once, [turn], [], None), like)
    return LoopSource(loop, None, None, set_by_calls=set_by_calls, text=text)


def value_as_loop(value: ast.expr) -> LoopSource:
    return single_turn(ast.Assign([ast.Name(RESULT, ast.Store())], value), value)


def listing_as_loop(node: ast.ListComp) -> LoopSource:
    """The comprehension of one loop, as one that appends to the list `_wb_result`."""
    (part,) = node.generators
    method = ast.Attribute(ast.Name(RESULT, ast.Load()), "append", ast.Load())
    loop = ast.For(part.target, part.iter, [ast.Expr(ast.Call(method, [node.elt], []))], [], None)
    return _in_place_of(node, loop)


def filling_as_loop(node: ast.ListComp) -> LoopSource:
    """The same as one that fills the array `_wb_result`."""
    (part,) = node.generators
    target = ast.Tuple([ast.Name(_PLACE, ast.Store()), part.target], ast.Store())
    numbered = ast.Call(ast.Name(_ENUMERATE, ast.Load()), [part.iter], [])
    place = ast.Subscript(ast.Name(RESULT, ast.Load()), ast.Name(_PLACE, ast.Load()), ast.Store())
    loop = ast.For(target, numbered, [ast.Assign([place], node.elt)], [], None)
    return _in_place_of(node, loop)


def _in_place_of(node: ast.ListComp, loop: ast.For) -> LoopSource:
    made = located(ast.fix_missing_locations(ast.copy_location(loop, node)), node)
    return LoopSource(made, None, None, text=ast.unparse(node))


def listing_of_step(source: str, scope: FunctionType, n: int) -> list[Any] | None:
    """The list of `n` numbers that a comprehension makes, computed by a step; None where it cannot be one, or had
    better not be."""
    found = _step_of_listing(source, scope, n)
    if found is None or not prefers_step(found[0], n):
        return None
    step, variables, _ = found
    emit_loop(step, variables, "for")
    return variables.extra[RESULT]


def array_of_step(source: str, filling: str, scope: FunctionType, n: int) -> Any:
    """The array that is made of such a list; None where it cannot be one. filling: the loop that fills it."""
    found = _step_of_listing(source, scope, n, for_array=True)
    if found is None:
        return None
    from .numpy_api.creation import empty

    _, _, kind = found
    variables = Variables(scope)
    made: Any = empty((n,), kind.dtype)
    variables.extra |= {RESULT: made, _ENUMERATE: enumerate}
    with signals():
        step = as_step(filling, variables, (), frozenset((_PLACE,)), lists=lists_of_step(SOURCES[filling], variables))
        if step is None or not prefers_step(step, n):
            return None
        emit_loop(step, variables, "for")
    return made


def _step_of_listing(
    source: str, scope: FunctionType, n: int, *, for_array: bool = False
) -> tuple[Translated, Variables, Number] | None:
    trace = current_trace()
    if trace is None or trace.on_gpu:
        return None
    variables = Variables(scope)
    variables.extra[RESULT] = []
    names = frozenset((RESULT,))
    with signals():
        lists = lists_of_step(SOURCES[source], variables, names, names, n)
        step = as_step(
            source, variables, (RESULT,), lists=replace(lists, for_arrays=names if for_array else frozenset())
        )
    left = None if step is None else step.lists.get(RESULT)
    if step is None or left is None or not isinstance(left.kind.item, Number):
        return None
    return step, variables, left.kind.item


def value_of_step(source: str, scope: FunctionType, *, n: float = math.inf, must: bool = False) -> Any:
    """The value of an expression, computed by a step; `UNDEFINED` where it cannot be one. source: as of `looping`;
    scope: has what it reads in its closure; n: how often its own loop turns; must: whether a step is better than
    anything else."""
    trace = current_trace()
    if trace is None or trace.on_gpu:
        return UNDEFINED
    variables = Variables(scope)
    variables.extra[RESULT] = UNDEFINED
    with signals():
        step = as_step(source, variables, (RESULT,), frozenset((RESULT, ONCE)),
                       lists=lists_of_step(SOURCES[source], variables))  # fmt: skip
        if step is None or _may_be_either(step) or not must and not prefers_step(step, n):
            return UNDEFINED
        emit_loop(step, variables, "for")
    return variables.extra[RESULT]


def _may_be_either(step: Translated) -> bool:
    """Whether a number may be Python's or NumPy's, and what is computed with it has another dtype then."""
    numbers = [kind for _, kind, _ in step.outputs if isinstance(kind, Number)]
    return any(kind.mixed or kind.unsure and kind.dtype.char not in "ld" for kind in numbers)
