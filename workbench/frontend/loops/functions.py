"""Functions of the user's that a loop calls: each is translated once for arguments of some types."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..constants import CONSTANT_TYPES
from ..liveness import bound as bound_names
from ..liveness import bound_once, live_before_block, walk_scope
from ..syntax import syntax_of, walk
from ..tracer import Tracer
from .arrays import scalar_name, tuple_of
from .connected import calls_apart
from .draws import is_source
from .expressions import is_set, local
from .generators import without_generators
from .list_names import growing_names, queue_names, thinned_names
from .operators import cast
from .optional import may_be_none
from .statements import Translator
from .table_texts import holds_table
from .tuples_of_none import without_tuples_of_none
from .types import (
    PYTHONS,
    WIDE,
    Array,
    Growing,
    Items,
    Number,
    RandomSource,
    Static,
    Type,
    UnknownItemError,
    UntranslatableError,
    Value,
    literal,
)
from .writing import Function, Module

DEPTH = "depth__"  # the parameter of a function that calls itself
MOST_DEEP = 1000
MOST_NESTED = 8  # calls of a function within itself: by then the numbers decide where they end


def user_function(caller: Translator, function: Any, node: ast.Call, *, of_numba: bool = False) -> Value:
    """The call `node` of a function of the user's. of_numba: whether numba compiles it, which gives Python its numbers
    as Python's."""
    from ..convert import plain_code

    if isinstance(function, MethodType):
        raise UntranslatableError(f"the method {function.__name__}()")
    syntax = syntax_of(plain_code(function.__code__))
    if not isinstance(syntax, ast.FunctionDef | ast.Lambda):
        raise UntranslatableError(f"{function.__name__}(), whose source is not at hand")
    try:
        given = inspect.signature(function).bind(
            *(caller.lasting(caller.value(a)) for a in node.args),
            **{k.arg: caller.lasting(caller.value(k.value)) for k in node.keywords if k.arg},
        )
    except TypeError as error:
        raise UntranslatableError(f"{function.__name__}(): {error}") from None
    given.apply_defaults()
    values: dict[str, Value] = {}
    for name, value in given.arguments.items():
        if not isinstance(value, Value):
            if type(value) is Tracer or not isinstance(value, CONSTANT_TYPES):
                raise UntranslatableError(f"the default of {name}")
            value = literal(value) if isinstance(value, bool | int | float | complex) else Value("", Static(value))
        if isinstance(value.type, Growing):
            if value.source is None or value.type.is_queue or value.type.item is None:
                raise UntranslatableError(f"{function.__name__}() of this list")
            caller.changed.add(value.source[0])
            value = replace(value, known=None)
        if holds_table(value.type):
            raise UntranslatableError(f"{function.__name__}() of a dictionary")
        values[name] = value
    set_here = _set_variables(caller, function, syntax, node)
    writes = any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in walk(syntax))
    if writes or any(_may_write(n, set_here) for n in walk(syntax)):
        caller.calls_writer = True
        caller.writer_calls.append(node)
    is_outside = isinstance(node.func, ast.Name) and node.func.id not in caller.statics
    path = (*caller.path, node.func.id) if is_outside else (function,)  # type: ignore[attr-defined]  # a name
    is_from_python = of_numba and not caller.of_numba
    found = translate_function(caller, function, syntax, values, path, node, set_here, of_numba=of_numba)
    return _handed_over(caller, found) if is_from_python else found


def _handed_over(caller: Translator, value: Value) -> Value:
    """What Python gets of a result of numba's."""
    kind = value.type
    if isinstance(kind, Items):
        return tuple_of([_handed_over(caller, part) for part in caller.parts_of(value)])
    if isinstance(kind, Static | Array) or isinstance(kind, Number) and kind.weak:
        return value
    if not isinstance(kind, Number) or kind.dtype == np.uint64:
        raise UntranslatableError(f"what a function of numba's gives, {kind}")
    return Value(cast(value, PYTHONS[kind.kind].dtype), PYTHONS[kind.kind])


def _set_variables(caller: Translator, function: FunctionType, syntax: ast.AST, node: ast.Call) -> tuple[str, ...]:
    """The variables of the loop that a function sets."""
    body = getattr(syntax, "body", ())
    declared = {name for n in walk_scope(body if isinstance(body, list) else ()) if isinstance(n, ast.Nonlocal)
                for name in n.names}  # fmt: skip
    if not declared:
        return ()
    module = caller.module
    for name in declared:
        is_mine = caller.parameter is not None and module.changes(function, name)
        is_mine |= caller.own_function is function and name in caller.handed_back
        kind = caller.types.get(name)
        if not is_mine or not isinstance(kind, Number) or kind.ints or kind.mixed:
            raise UntranslatableError(f"{function.__name__}(), which sets `{name}`, no number of the loop's")
    if not isinstance(node.func, ast.Name) or module.setters.setdefault(node.func.id, function) is not function:
        raise UntranslatableError(f"{function.__name__}(), which is no function by one name")
    return tuple(sorted(declared))


def _may_write(node: ast.AST, set_here: tuple[str, ...]) -> bool:
    """Whether a statement may write into an array, as far as its form tells."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name not in set_here
        case ast.AugAssign() | ast.Expr():
            return True
    return False


def translate_function(
    caller: Translator, function: FunctionType, syntax: ast.AST, values: dict[str, Value], path: tuple,
    node: ast.Call | None, set_here: tuple[str, ...] = (), *, of_numba: bool = False,
) -> Value:  # fmt: skip
    """The call `node` of `function` with arguments `values`, by the parameters' names. path: by which it is found;
    set_here: the variables of the loop that it sets."""
    values = {**values, **{name: Value(local(name), caller.types[name]) for name in set_here}}
    module = caller.module
    statics = tuple((n, v.type) for n, v in values.items() if isinstance(v.type, Static))
    cells = (*map(id, function.__closure__ or ()), *(t for t in module.lists.values() if isinstance(t, Growing)))
    if _names_itself(function, syntax):
        values = {n: replace(v, type=_of_any_size(v.type)) for n, v in values.items()}
    kinds = ((n, v.type) for n, v in values.items())
    key = (function.__code__, id(function.__globals__), of_numba or caller.of_numba, cells, *kinds)
    if key in module.pending and module.pending[key] is caller:
        return _call_of_itself(caller, values)
    if key in module.pending or sum(code is function.__code__ for code, *_ in module.pending) > MOST_NESTED:
        raise UntranslatableError(f"{function.__name__}(), which calls itself")
    found = module.functions.get(key)
    given = {n: v.type for n, v in values.items() if not isinstance(v.type, Static)}
    if found is None:
        number = len(module.functions) + len(module.pending)
        name = f"{local(function.__name__) if function.__name__.isidentifier() else 'function'}_{number}"
        outer = _names_of(module, function, dict(statics), path)
        body: list[ast.stmt] = (
            [ast.Return(syntax.body)] if isinstance(syntax, ast.Lambda) else syntax.body  # type: ignore[attr-defined]  # a function
        )
        body = calls_apart(body, function.__name__)
        written = bound_names(body)
        is_builtin: Callable[[str], bool] = lambda name: _is_builtin(function, name) and name not in written  # noqa: E731
        body = without_generators(body, is_builtin, listings=key in module.listed)
        body = without_tuples_of_none(body, {*given, *set_here, *dict(statics)})
        names = bound_names(body) | frozenset(given)
        scope = Translator(module, outer, names, given, None)
        scope.growing, scope.queues, scope.thinned = growing_names(body), queue_names(body), thinned_names(body)
        scope.bound_once, scope.rebound = bound_once(body), bound_names(body)
        scope.fixed, scope.path, scope.handed_back = frozenset(given), path, set_here
        scope.statics = frozenset(n for n, _ in statics)
        scope.look_for_none(body, but=frozenset(values))
        unset = (live_before_block(body, frozenset()) & bound_names(body)) - frozenset(values) - scope.optional
        scope.flagged = scope.checked = unset
        falls_through = not body or not isinstance(body[-1], ast.Return | ast.Raise) and not _always_returns(body[-1])
        scope.gives_none = not set_here and _gives_none(body, falls_through, scope.optional)

        def run() -> None:
            for stmt in body:
                scope.statement(stmt)
            if falls_through:
                scope.statement(ast.Return())

        scope.own_name, scope.own_function = name, function
        scope.of_numba = of_numba or caller.of_numba
        module.pending[key] = scope
        try:
            scope.settle(run)
        except UnknownItemError:
            raise
        except UntranslatableError:
            if key in module.listed or not module.takes_random:
                raise
            if without_generators(body, is_builtin, listings=True) is body:
                raise
            module.listed.add(key)  # comprehensions over what is not written out: as loops
            del module.pending[key]
            return translate_function(caller, function, syntax, values, path, node, set_here, of_numba=of_numba)
        if scope.calls_itself and scope.extras:  # of which its calls of itself knew nothing yet
            scope.settle(run)
        parameters = ", ".join([*map(local, (*given, *scope.extras)), *[DEPTH] * scope.calls_itself])
        head = [*(f"{is_set(n)} = False" for n in sorted(unset)), *scope.none_lines(), *scope.flags_at_first(given)]
        lines = ["    " + line for line in head] + scope.lines
        if scope.calls_itself:  # Python raises at some depth, the machine would end
            lines = [f"    if {DEPTH} > {MOST_DEEP}:", "        raise RuntimeError()", *lines]
        text = f"def {name}({parameters}):\n" + "\n".join(lines or ["    pass"])
        assert scope.result is not None
        extras = {n: found for n, (found, _) in scope.extras.items()}
        handed_back = {n: scope.types[n] for n in set_here}
        for n, kind in handed_back.items():
            before = given[n]
            assert isinstance(before, Number)
            if not isinstance(kind, Number) or kind.dtype != before.dtype or kind.ints or kind.mixed:
                raise UntranslatableError(f"{function.__name__}(), which gives `{n}` another type")
        taken = {local(n): kind for n, kind in given.items()}
        found = module.functions[key] = Function(
            name, text, taken, scope.result, extras, handed_back, scope.gives_none, scope.calls_itself,
            scope.gives_own_lists(),
        )  # fmt: skip
        del module.pending[key]
    arguments = [Translator.convert(values[n], t).text for n, t in given.items()]
    if found.calls_itself:  # numba would compile it for the constants among them
        arguments = [
            f"{scalar_name(t.dtype)}({text})" if isinstance(t, Number) else text
            for text, t in zip(arguments, given.values(), strict=True)
        ]
    arguments += [caller.hand_on(n, x).text for n, x in found.extras.items()]
    arguments += ["np.int64(0)"] * found.calls_itself
    call = f"{found.name}({', '.join(arguments)})"
    if not found.handed_back:
        draws = any(isinstance(t, RandomSource) for t in given.values()) or any(map(is_source, found.extras.values()))
        if draws:
            caller.draws_early = True
        if found.gives_none:
            assert node is not None
            return caller.given_by_call(node, call, found.result)
        return Value(caller.early(call) if draws else call, found.result, own=found.own)
    return _with_handed_back(caller, call, found.result, found.handed_back)


def _with_handed_back(caller: Translator, call: str, result: Type, handed_back: Mapping[str, Type]) -> Value:
    """The result of a call that gives it in a tuple with the variables which it sets."""
    made = caller.early(call)
    first = 0 if isinstance(result, Static) else 1
    caller.never_certain |= handed_back.keys()
    for k, (name, kind) in enumerate(handed_back.items(), start=first):
        caller.bind(name, Value(f"{made}[{k}]", kind))
    caller.set_by_call |= handed_back.keys()
    return Value(f"{made}[0]" if first else made, result)


def _names_itself(function: FunctionType, syntax: ast.AST) -> bool:
    """Whether a function may call itself, as far as its text tells."""
    calls = (n.func for n in walk(syntax) if isinstance(n, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == function.__name__ for called in calls)


def _of_any_size(kind: Type) -> Type:
    """The type of an argument that another call may give, too."""
    if isinstance(kind, Number) and kind.weak and not kind.enum:
        return replace(kind, interval=WIDE if kind.kind == "i" else kind.interval, single=False)
    return kind


def _call_of_itself(caller: Translator, values: dict[str, Value]) -> Value:
    """A call of the function that is being translated."""
    if caller.gives_none:
        raise UntranslatableError(f"{caller.own_name}(), which calls itself, and may give None")
    caller.calls_itself = True
    if caller.result is None:
        raise UnknownItemError("what a function gives that calls itself")
    arguments = []
    for name, value in values.items():
        kind = value.type
        if isinstance(kind, Number):
            arguments.append(f"{scalar_name(kind.dtype)}({value.text})")
        elif value.text == local(name) and name not in caller.rebound:
            arguments.append(value.text)
        elif not isinstance(kind, Static):
            raise UntranslatableError(f"{caller.own_name}(), which calls itself with another {kind}")
    arguments += [*map(local, caller.extras), f"{DEPTH} + 1"]
    result = caller.result
    if not isinstance(result, Number) and not isinstance(result, Static):
        raise UntranslatableError(f"{caller.own_name}(), which calls itself, and gives {result}")
    examples = [f"{scalar_name(result.dtype)}(0)"] if isinstance(result, Number) else []
    if not caller.handed_back:
        return Value(f"itself({', '.join(examples) or None}, ({', '.join(arguments)}))", result)
    handed_back = {name: caller.types[name] for name in caller.handed_back}
    examples += [f"{scalar_name(kind.dtype)}(0)" for kind in handed_back.values() if isinstance(kind, Number)]
    call = f"itself(({', '.join(examples)},), ({', '.join(arguments)}))"
    return _with_handed_back(caller, call, result, handed_back)


def _gives_none(body: list[ast.stmt], falls_through: bool, optional: frozenset[str]) -> bool:
    """Whether a function gives None at some of its ends, and something else at others. optional: the variables that may
    be None."""
    values = [n.value for n in walk_scope(body) if isinstance(n, ast.Return)]
    nones = [v is None or isinstance(v, ast.Constant) and v.value is None for v in values]
    may_be = any(v is None or may_be_none(v, optional) for v in values)
    return not all(nones) and (falls_through or may_be)


def _always_returns(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.If) and stmt.orelse:
        return all(
            isinstance(b[-1], ast.Return | ast.Raise) or _always_returns(b[-1]) for b in (stmt.body, stmt.orelse)
        )
    return False


def _names_of(module: Module, function: FunctionType, statics: dict[str, Any], path: tuple) -> Callable[[str], Any]:
    find = function_outer(function)

    def outer(name: str) -> Any:
        if name in statics:
            return statics[name].value
        if module.changes(function, name):
            raise UntranslatableError(f"{function.__name__}(), which reads `{name}`, which the loop changes")
        found = find(name)
        module.note((*path, name), found)
        return found

    return outer


def function_outer(function: FunctionType) -> Callable[[str], Any]:
    """What a function sees outside under a name; KeyError without."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def outer(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        try:
            return function.__globals__[name]
        except KeyError:
            return getattr(builtins, name) if hasattr(builtins, name) else _missing(name)

    return outer


def _is_builtin(function: FunctionType, name: str) -> bool:
    return name not in function.__globals__ and name not in function.__code__.co_freevars


def _missing(name: str) -> Any:
    raise KeyError(name)
