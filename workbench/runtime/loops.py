"""Loops that a plan hands whole to numba: compiled once for each text and types, run on copies of what they write,
unless memory is given to them.

A loop that raises, or whose Python integers leave 64 bits, has changed nothing that anybody looks at:
`LoopAbortedError` tells the caller to run everything again in NumPy, which raises what Python raises and leaves what
NumPy would have left. Memory of arguments is given to loops alone that raise nothing once they write (`placement`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import LoopAbortedError
from ..primitives.loops import LoopProgram, own_array
from .control import in_order
from .log import logger

RAISED = (ArithmeticError, LookupError, ValueError, TypeError, NameError, AssertionError, RuntimeError)
Loop = Callable[..., tuple[np.ndarray, ...]]
_compiled: dict[tuple, Callable[..., Any] | None] = {}
_lock = threading.Lock()
_MISSING: Any = object()


def compile_loop(program: LoopProgram, given: Collection[int] = ()) -> Loop:
    """`call(*operands)` runs the loop. given: the operands whose memory it may write into."""
    if compiled_entry(program) is None:  # numba does not take it: it runs in Python, between the compiled parts
        return partial(_in_python, program, given)
    return _Loop(program, frozenset(given))


class _Loop:
    """A compiled loop. Once its conditions on the arguments did not hold, it checks each index."""

    def __init__(self, program: LoopProgram, given: frozenset[int]):
        self.program = program
        self.given = given
        self.checked: LoopProgram | None = None
        self.run = _direct(program, self.given) or self._taken

    def _taken(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        owned, arguments = self.program.take([in_order(x) for x in operands], self.given)
        entry: Any = compiled_entry(self.program)
        return self.program.give(owned, arguments, entry(*arguments) or ())

    def __call__(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        if self.checked is not None:
            return self._with_checks(self.checked, operands)
        program = self.program
        try:
            return self.run(*operands)
        except RAISED as error:
            if type(error) is not LookupError or not program.careful:
                raise _aborted(program, error) from error
        checked = replace(program, source=program.careful, careful="")
        if compiled_entry(checked) is not None:
            logger.info("the loop `%r` runs with a check of each index", program)
            self.checked = checked
        return self._with_checks(checked, operands)

    def _with_checks(self, program: LoopProgram, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        entry: Any = compiled_entry(program) or program.python
        owned, arguments = program.take([in_order(x) for x in operands])
        try:
            results = program.give(owned, arguments, entry(*arguments) or ())
        except RAISED as error:
            raise _aborted(program, error) from error
        return _handed_over(program, self.given, operands, results)


def _aborted(program: LoopProgram, error: BaseException) -> LoopAbortedError:
    return LoopAbortedError(f"WB350  the loop `{program!r}` raises {type(error).__name__}: it runs in NumPy")


def _direct(program: LoopProgram, given: Collection[int]) -> Loop | None:
    """What `take`, the loop and `give` do one after another, without deciding anything; None for loops with views among
    their arguments."""
    variables = program.results[len(program.written) : len(program.results) - 2 * len(program.places)]
    if any(a.views for a in program.arguments):
        return None
    operands = [f"o{k}" for k in range(1 + max((a.operand for a in program.arguments), default=-1))]
    lines, arguments = [], []
    for argument in program.arguments:
        name = operands[argument.operand]
        if not argument.is_array:
            arguments.append(f"{name}.item()" if argument.weak else f"{name}[()]")
            continue
        copied = argument.operand in program.written and argument.operand not in given
        lines.append(f"    {name} = {f'{name}.copy()' if copied else f'in_order({name})'}")
        arguments.append(name)
    names = [f"v{k}" for k in range(len(variables))]
    targets = f"{', '.join(names)}, = " if names else ""
    results = [operands[k] for k in program.written]
    lines.append(f"    {targets}entry({', '.join(arguments)})")
    everything = (
        f"({''.join(f'{n}, ' for n in names)}), ({''.join(f'{operands[a.operand]}, ' for a in program.arguments)})"
    )
    lines += [f"    code{k}, index{k} = places[{k}].find({everything})" for k in range(len(program.places))]
    taken = [operands[a.operand] for a in program.arguments if a.is_array]
    for k, (name, aval) in enumerate(zip(names, variables, strict=True)):
        if aval.shape:
            lines.append(f"    {name} = own_array({name}, avals[{k}], ({''.join(f'{t}, ' for t in taken)}))")
            taken.append(name)
            results.append(name)
        else:
            results.append(f"asarray({name}, dtypes[{k}])")
    for k in range(len(program.places)):
        code, index = (aval.dtype.name for aval in program.results[len(results) : len(results) + 2])
        results += [f"asarray(code{k}, '{code}')", f"asarray(index{k}, '{index}')"]
    lines.append(f"    return ({''.join(f'{r}, ' for r in results)})")
    text = "\n".join([f"def run({', '.join(operands)}):", *lines])
    scope: dict[str, Any] = {"in_order": in_order, "asarray": np.asarray, "entry": compiled_entry(program)}
    scope |= {
        "own_array": own_array,
        "places": program.places,
        "avals": variables,
        "dtypes": [aval.dtype for aval in variables],
    }
    exec(text, scope)
    return scope["run"]


def _in_python(program: LoopProgram, given: Collection[int], *operands: np.ndarray) -> tuple[np.ndarray, ...]:
    owned, arguments = program.take(operands)
    try:
        results = program.give(owned, arguments, program.python(*arguments))
    except RAISED as error:
        raise _aborted(program, error) from error
    return _handed_over(program, given, operands, results)


def _handed_over(
    program: LoopProgram, given: Collection[int], operands: Sequence[np.ndarray], results: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """The results, those of which memory was given in that memory."""
    made = list(results)
    for position, k in enumerate(program.written):
        if k in given:
            np.copyto(operands[k], made[position])
            made[position] = operands[k]
    return tuple(made)


def compiled_entry(program: LoopProgram) -> Callable[..., Any] | None:
    """What numba made of the loop; None if it does not take it."""
    key = (program.source, tuple((a.dtype, a.ndim, bool(a.views), a.in_order) for a in program.arguments))
    entry = _compiled.get(key, _MISSING)
    if entry is not _MISSING:
        return entry
    with _lock:
        if key not in _compiled:
            from .native.numba_loops import compile_with_numba  # here, since programs without such loops do without

            _compiled[key] = compile_with_numba(program)
        return _compiled[key]


__all__ = ["RAISED", "LoopAbortedError", "compile_loop", "compiled_entry"]
