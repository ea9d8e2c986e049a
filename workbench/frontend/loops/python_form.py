"""A loop that became a step, as a function of Python: for those who run it without its machine code.

The user's functions that it calls are those of the trace over the real globals. Where one holds a traced array in its
closure, that is a parameter of the loop, and each call makes the function anew around the array that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from types import CellType, FunctionType
from typing import Any

import optree

from ..reads import held_in
from ..tracer import Tracer
from ..unlifting import unlift_static
from .types import UntranslatableError

Spread = Callable[[Any], Sequence[Any]] | None
Names = Mapping[int, str]  # id of a traced array -> the parameter that stands for it
Made = dict[FunctionType, FunctionType]  # a function of the trace -> what a run calls
Make = Callable[[Mapping[str, Any], Made], Any]  # a value for a run, from its arguments by their names


def python_form(
    loop: FunctionType, names: Sequence[str], arrays: Names, statics: Mapping[str, Any], lifter: Any,
    spread: Sequence[Spread],
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    """`loop` over `statics`, the values that it reads beside its parameters `names`. spread: for each variable that it
    leaves, what makes several results of it, None if it is one."""
    space: dict[str, Any] = {}
    made_anew: dict[str, Make] = {}
    with lifter.handing_nothing_out():
        for name, value in statics.items():
            if isinstance(value, FunctionType) and _holds_arrays(value):
                made_anew[name] = _maker(value, arrays, lifter)
            elif isinstance(value, list | tuple | dict) and any(
                type(x) is Tracer
                for x in optree.tree_leaves(value, none_is_leaf=True)  # type: ignore[arg-type]  # any container
            ):
                made_anew[name] = _filler(value, arrays, lifter)
            else:
                space[name] = unlift_static(lifter, value)
    loop.__globals__.update(space)

    def run(*arguments: Any) -> tuple[Any, ...]:
        function = loop
        if made_anew:
            given = dict(zip(names, arguments, strict=True))
            filled = {name: make(given, {}) for name, make in made_anew.items()}
            function = FunctionType(loop.__code__, {**loop.__globals__, **filled}, loop.__name__)
        found: list[Any] = []
        for value, parts in zip(function(*arguments), spread, strict=True):
            found += [value] if parts is None else parts(value)
        return tuple(found)

    return run


def setter(function: FunctionType, sharing: FunctionType) -> FunctionType:
    """`function` over the variables that `sharing` has in its closure; what calls itself calls that."""
    cells = dict(zip(sharing.__code__.co_freevars, sharing.__closure__ or (), strict=True))
    own = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    again = [name for name, cell in own if name not in cells and held_in(cell) is function]
    cells |= {name: CellType() for name in again}
    closure = (cells.get(name, cell) for name, cell in
               zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))  # fmt: skip
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(closure)
    )
    made.__kwdefaults__ = function.__kwdefaults__
    for name in again:
        cells[name].cell_contents = made
    return made


def without_cells(function: FunctionType, names: Set[str]) -> FunctionType:
    """`function` without what some of the variables in its closure hold: `setter` gives it others."""
    if names.isdisjoint(function.__code__.co_freevars):
        return function
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(None) if name in names else cell for name, cell in cells)
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _filler(container: Any, arrays: Names, lifter: Any) -> Make:
    """What makes a container of the numbers and arrays that a run is given, by the names of its parameters."""
    leaves, tree = optree.tree_flatten(container, none_is_leaf=True)
    names = [arrays.get(id(leaf)) for leaf in leaves]
    if any(type(leaf) is Tracer and name is None for leaf, name in zip(leaves, names, strict=True)):
        raise UntranslatableError("a container with an array that the loop does not read")
    items = [None if type(leaf) is Tracer else unlift_static(lifter, leaf) for leaf in leaves]

    def fill(given: Mapping[str, Any], _: Made) -> Any:
        return optree.tree_unflatten(tree, [item if name is None else given[name]
                                            for item, name in zip(items, names, strict=True)])  # fmt: skip

    return fill


def _holds_arrays(function: FunctionType, around: tuple[FunctionType, ...] = ()) -> bool:
    """Whether a traced array is in its closure, or in that of a function there."""
    if function in around:
        return False
    held = [c for cell in function.__closure__ or () if (c := held_in(cell)) is not None]
    return any(type(c) is Tracer or isinstance(c, FunctionType) and _holds_arrays(c, (*around, function)) for c in held)


def _maker(function: FunctionType, arrays: Names, lifter: Any, around: tuple[FunctionType, ...] = ()) -> Make:
    """What makes `function` over the arrays that stand for the traced ones. around: the functions whose closures it was
    found in, which it may call."""
    from ..convert import plain_code
    from ..overlay import Overlay

    inside = (*around, function)
    cells: list[Make] = []
    for cell in function.__closure__ or ():
        content = held_in(cell)
        if type(content) is Tracer:
            if id(content) not in arrays:
                raise UntranslatableError(f"{function.__name__}(), which holds an array that the loop does not read")
            parameter = arrays[id(content)]
            cells.append(lambda given, _, name=parameter: given[name])
        elif isinstance(content, FunctionType) and content in inside:
            cells.append(lambda _, made, name=content: made[name])
        elif isinstance(content, FunctionType) and _holds_arrays(content, around):
            cells.append(_maker(content, arrays, lifter, inside))
        else:
            value = unlift_static(lifter, content)
            cells.append(lambda *_, value=value: value)
    space: Any = function.__globals__
    while isinstance(space, Overlay):
        space = space.source
    code, defaults = plain_code(function.__code__), unlift_static(lifter, function.__defaults__)
    keywords = unlift_static(lifter, function.__kwdefaults__)

    def make(given: Mapping[str, Any], made: Made) -> FunctionType:
        closure = tuple(CellType() for _ in cells)
        new = FunctionType(code, space, function.__name__, defaults, closure)
        new.__kwdefaults__ = keywords
        made = {**made, function: new}
        for cell, content in zip(closure, cells, strict=True):
            cell.cell_contents = content(given, made)
        return new

    return make
