"""Calls of functions that run whole, without what a first call has to look up: arguments are compared with those that
came before, and go to the machine code at once."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...config import config
from ...frontend.loops.likeness import MISSING, ConcreteLoop, Path, is_same
from ...frontend.loops.steps import is_single
from ...frontend.loops.types import Array, Growing, Items, Number, Type
from ...frontend.recording import open_traces
from ..arguments import ALIGNED, C_CONTIGUOUS, STATIC_TYPES, WRITEABLE
from ..fast_path import MISS
from ..loops import RAISED
from ..native.kernels import fits_function
from ..native.machine_code import is_possible
from .whole_loops import PYTHONS_TYPES, known_array


class _SlowError(Exception):
    """Something that takes more than comparing."""


def fast_whole(
    loop: ConcreteLoop, entry: Callable[..., Any], arguments: Mapping[str, Any], n_given: int,
    globals_: Mapping[str, Any], left: Sequence[str], is_tuple: bool, elsewhere: Collection[str], *, is_traced: bool,
    keys: Sequence[Any] = (),
) -> Callable[..., Any] | None:  # fmt: skip
    """`call(*args)`: what the loop leaves for arguments like these, or MISS for others and inside a trace. None where
    more has to be looked at. arguments: by name, in order, of which the caller gave the first `n_given`; left: the
    variables that are the result, of which is_tuple tells whether it is a tuple, and keys whether it is a dictionary;
    elsewhere: what must be empty; is_traced: whether it can be traced, so that it runs where `config.strict` is set,
    too."""
    if not is_possible() or loop.shared or len(loop.results) != len(left):
        return None
    if loop.written and (not loop.quiet or any(not isinstance(r.kind, Number | Array) for r in loop.results)):
        return None  # what it has written might have to be put back
    scope: dict[str, Any] = {
        "open": open_traces(), "elsewhere": elsewhere, "MISS": MISS, "MISSING": MISSING, "RAISED": RAISED,
        "entry": entry, "g": globals_, "same": is_same, "config": config,
    }  # fmt: skip
    given = {name: f"a{i}" for i, name in enumerate([*arguments][:n_given])}
    try:
        tests, outside = _tests(loop, arguments, given, globals_, scope)
        result, names = _result_text(loop, left, is_tuple, keys, scope)
    except _SlowError:
        return None
    passed = ", ".join(f"x{k}" for k in range(len(loop.parameters)))
    first = ["not rest and not named and not open.traces and not elsewhere"] + ["not config.strict"] * (not is_traced)
    lines = [
        f"def call({', '.join([*(f'{a}=MISS' for a in given.values()), '/, ' * bool(given) + '*rest', '**named'])}):",
        f"    if not ({' and '.join(first + tests)}):",
        "        return MISS",
        *(f"    if not ({test}):\n        return MISS" for test in outside),
        "    try:",
        f"        {names}entry({passed})",
        "    except RAISED:",
        "        return MISS",
        f"    return {result}",
    ]
    exec(compile("\n".join(lines), "<workbench: calls of a whole function>", "exec"), scope)  # noqa: S102
    return scope["call"]


def _tests(
    loop: ConcreteLoop, arguments: Mapping[str, Any], given: Mapping[str, str], globals_: Mapping[str, Any],
    scope: dict[str, Any],
) -> tuple[list[str], list[str]]:  # fmt: skip
    """What must hold of the arguments, and then of what is outside. The loop takes the values `x0`, `x1`, ..."""
    tests, then, outside = [], [], []
    of_fits: list[tuple[str, Any, int]] = []
    written: list[int] = []
    for k, p in enumerate(loop.parameters):
        if len(p.path) != 1 or p.given or not isinstance(p.kind, Array | Number):
            raise _SlowError
        (name,) = p.path
        text = f"(x{k} := {_read(name, arguments, given, globals_, scope)})"
        value = arguments[name] if name in arguments else globals_[name]
        if isinstance(p.kind, Array):
            flags = ALIGNED | (C_CONTIGUOUS if p.in_order else 0) | (WRITEABLE if p.name in loop.written else 0)
            if p.name in loop.written:
                written.append(len(of_fits))
            of_fits.append((text, value, flags))
        elif type(value) is float:
            of_fits.append((text, value, 0))
            if p.kind.single:
                scope["is_single"] = is_single
                then.append(f"is_single(x{k})")
        else:
            scope[f"type{k}"] = type(value)
            tests.append(f"type{text} is type{k}")
            if p.number is not None:
                then.append(f"x{k} == {p.number}")
            elif type(value) is int:
                low, high = p.kind.interval
                then.append(f"{low} <= x{k} <= {high}")
    if of_fits:
        texts, values, flags = zip(*of_fits, strict=True)
        arrays = [i for i, value in enumerate(values) if type(value) is np.ndarray]
        apart = [(i, j) for i in written for j in arrays if j > i or j < i and j not in written]
        if apart and not all(values[i].flags.c_contiguous for i in arrays):
            raise _SlowError
        scope["fits"] = fits_function(values, flags, apart)
        tests.append(f"fits({', '.join(texts)})")
    tests += then
    taken = {p.path[0] for p in loop.parameters}
    for n, (path, value) in enumerate(loop.statics):
        name, where, space = path[0], globals_, "g"
        if len(path) > 1:
            found = _globals_read(path, arguments, given, globals_)
            if found is None:
                continue
            name, where, space = path[-1], found, "g" if found is globals_ else f"g{n}"
            scope[space] = found
        elif not isinstance(name, str):
            raise _SlowError
        elif name in arguments:
            if name in given:
                _static(tests, given[name], value, scope)
            continue
        scope[f"static{n}"] = value
        if name in where or not hasattr(builtins, name):
            outside.append(f"((s := {space}.get({name!r}, MISSING)) is static{n} or same(s, static{n}))")
        else:
            outside.append(f"{name!r} not in {space}")
    for name, text in given.items():
        if name not in taken and (name,) not in dict(loop.statics):
            tests.append(f"{text} is not MISS")
    return tests, outside


def _globals_read(
    path: Path, arguments: Mapping[str, Any], given: Mapping[str, str], globals_: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Where functions, the last of which reads the end of the path, look it up; None if what they find stays. Which
    functions they are is another static."""
    first, *steps = path
    if isinstance(first, str):
        if first in given:
            raise _SlowError
        is_fixed = first in arguments
        function = arguments[first] if is_fixed else globals_.get(first)
    else:
        is_fixed, function = True, first
    for k, step in enumerate(steps, start=1):
        if not isinstance(function, FunctionType) or not isinstance(step, str):
            raise _SlowError
        if function.__closure__ and not is_fixed:
            raise _SlowError
        if step in function.__code__.co_freevars:  # of a function beside another one
            cell = function.__closure__[function.__code__.co_freevars.index(step)]  # type: ignore[index]
            function = cell.cell_contents
            if k == len(steps):
                return None
            continue
        if is_fixed and function.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return None  # ours
        if k == len(steps):
            return function.__globals__
        is_fixed, function = False, function.__globals__.get(step)
    raise _SlowError


def _static(tests: list[str], text: str, value: Any, scope: dict[str, Any]) -> None:
    n = len(scope)
    scope[f"value{n}"], scope[f"kind{n}"] = value, type(value)
    if value is not None and type(value) not in STATIC_TYPES:
        raise _SlowError
    tests.append(f"type({text}) is kind{n} and {text} == value{n}")


def _read(
    name: str, arguments: Mapping[str, Any], given: Mapping[str, str], globals_: Mapping[str, Any],
    scope: dict[str, Any],
) -> str:  # fmt: skip
    if name in given:
        return given[name]
    if name in arguments:  # a default
        scope[f"default_{name}"] = arguments[name]
        return f"default_{name}"
    if name not in globals_:
        raise _SlowError
    return f"g.get({name!r}, MISSING)"


def _result_text(
    loop: ConcreteLoop, left: Sequence[str], is_tuple: bool, keys: Sequence[Any], scope: dict[str, Any]
) -> tuple[str, str]:  # fmt: skip
    """The expression of the result, and the targets of what the loop gives."""
    names: list[str] = []

    def value(kind: Type) -> str:
        match kind:
            case Array() if not kind.origins:
                names.append(f"r{len(names)}")
                return names[-1]
            case Number() if not (kind.unsure or kind.mixed or kind.enum):
                names.append(f"r{len(names)}")
                scope[f"as_{names[-1]}"] = PYTHONS_TYPES[kind.kind] if kind.weak else kind.dtype.type
                return f"as_{names[-1]}({names[-1]})"
            case Items():
                items = [value(item) for item in kind.items]
                return f"[{', '.join(items)}]" if kind.is_list else f"({''.join(f'{item}, ' for item in items)})"
            case Growing(item=Number() | Items() as item):
                return listed(item)
        raise _SlowError

    def listed(item: Type) -> str:
        match item:
            case Number() if not (item.unsure or item.mixed or item.enum or item.ints):
                names.append(f"r{len(names)}")
                return f"{names[-1]}.tolist()" if item.weak else f"list({names[-1]})"
            case Items(items=items, is_list=False):
                return f"list(zip({', '.join(map(listed, items))}, strict=True))"
        raise _SlowError

    texts: dict[str, str] = {}
    arrays: list[str] = []
    again: list[str] = []  # which other list a list is
    for r in loop.results:
        if r.in_place or r.tagged or r.optional or r.inside:
            raise _SlowError
        if r.flagged:
            names.append(f"r{len(names)}")  # all are set, since there is but one way through
        if r.others:
            names.append(f"r{len(names)}")
            again.append(names[-1])
        texts[r.name] = value(r.kind)
        if isinstance(r.kind, Array):
            if arrays:  # it may be one of those before
                scope["known_array"] = known_array
                name = texts[r.name]
                texts[r.name] = f"({name} := known_array({name}, ({', '.join(arrays)},)))"
            arrays.append(names[-1])
    held = [texts[name] for name in left]
    result = f"({''.join(f'{text}, ' for text in held)})" if is_tuple else held[0] if held else "None"
    if keys:
        result = f"{{{', '.join(f'{key!r}: {text}' for key, text in zip(keys, held, strict=True))}}}"
    if again:
        result = f"MISS if {' or '.join(again)} else {result}"
    return result, "".join(f"{n}, " for n in names) + ("= " if names else "")
