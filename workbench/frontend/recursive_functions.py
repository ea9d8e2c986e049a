"""Functions of the user's that call themselves: a trace of one writes out every call, or never ends; a step is one
function of the machine.

The converted form of such a function begins with a question:

    def sort(a, low, high):
        if step_of_call(<source>, lambda: (sort, a, low, high), "sort"):
            return _wb_result
        ...

It is answered where the first call of a trace asks it: the call becomes a loop of one turn, `_wb_result = sort(a, low,
high)`, which is translated as any other loop is, if it can be.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import FunctionType

from .counted_loops import signals
from .jumps import LoopSource, located
from .liveness import bound, parameters, walk_scope
from .looping import SOURCES, as_step, prefers_step
from .loops.equations import emit_loop
from .loops.step_lists import lists_of_step
from .numba_functions import python_function
from .recording import current_trace
from .syntax import walk
from .value_steps import ONCE, RESULT, single_turn
from .variables import Variables


def question(
    node: ast.FunctionDef, operation: Callable[[str], ast.expr], source: Callable[[LoopSource], list[ast.expr]]
) -> list[ast.stmt]:
    """What the converted form of `node` begins with, nothing if it does not call itself. operation: an operation of
    converted code by its name; source: its operands for a loop."""
    if not _calls_itself(node):
        return []
    values = [n.value for n in walk_scope(node.body) if isinstance(n, ast.Return)]
    gives_value = any(v is not None and not (isinstance(v, ast.Constant) and v.value is None) for v in values)
    args = node.args
    given: list[ast.expr] = [ast.Name(a.arg, ast.Load()) for a in (*args.posonlyargs, *args.args)]
    by_name = [ast.keyword(a.arg, ast.Name(a.arg, ast.Load())) for a in args.kwonlyargs]
    call = ast.Call(ast.Name(node.name, ast.Load()), given, by_name)
    result = ast.Name(RESULT, ast.Store())
    turn = ast.Assign([result], call) if gives_value else ast.Expr(call)
    asked = [*source(single_turn(turn, node, _set_outside(node))), ast.Constant(node.name)]
    test = ast.Call(operation("step_of_call"), asked, [])
    # Which makes the result a variable of this function.
    never = ast.If(ast.Constant(False), [ast.Assign([result], ast.Constant(None))], [])
    answer = ast.Return(ast.Name(RESULT, ast.Load()) if gives_value else None)
    return [located(stmt, node) for stmt in (never, ast.If(test, [answer], []))]


def _calls_itself(node: ast.FunctionDef) -> bool:
    if node.args.vararg or node.args.kwarg or node.name in bound(node.body) | parameters(node):
        return False
    calls = (n.func for n in walk(node) if isinstance(n, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == node.name for called in calls)


def _set_outside(node: ast.FunctionDef) -> frozenset[str]:
    return frozenset(name for n in walk_scope(node.body) if isinstance(n, ast.Nonlocal) for name in n.names)


def step_of_call(source: str, scope: FunctionType, name: str) -> bool:
    """Make the call of the function that asks one step, if that can be; its result is the variable `_wb_result`."""
    trace, code = current_trace(), sys._getframe(1).f_code
    if trace is None or code in trace.asked_recursions:
        return False
    trace.asked_recursions.add(code)
    variables = Variables(scope)
    found = variables.get(name)
    function = python_function(found, trace.lifter) or found
    if type(function) is not FunctionType or function.__code__ is not code:
        return False
    loop = SOURCES[source]
    anew = bound([loop.node])
    live = (anew | loop.set_by_calls) - {ONCE}
    with signals():
        lists = lists_of_step(loop, variables)
        step = as_step(source, variables, tuple(sorted(live)), anew, lists=lists)
        if step is None or not prefers_step(step):
            return False
        emit_loop(step, variables, "for")
    return True
