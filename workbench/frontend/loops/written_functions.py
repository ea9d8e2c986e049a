"""Functions of NumPy's and Python's that loops take for functions of the user's: `in_numpy` writes them out."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..syntax import syntax_of, walk
from .types import F64, Array, Number, Static, Value, literal

if TYPE_CHECKING:
    from .statements import Translator

NUMBER = 0  # instead of a number of axes: a number


@dataclass(frozen=True, slots=True)
class Written:
    """function: takes what NumPy's would take; forms: of its parameters, the numbers of axes that they may have."""

    function: Any
    forms: Mapping[str, tuple[int, ...]]
    kinds: str  # of the dtypes that the arrays among them may have
    double: bool  # whether floats among them have 64 bits
    numbers: str  # the kinds that numbers may have; "p": they must be Python's; "n": the first one must be NumPy's
    named: bool  # whether the result is a tuple with names, which loops do not have: they only take it apart

    def takes(self, given: Mapping[str, Value]) -> bool:
        """Whether arguments are of these forms. Parameters without a form are None or words."""
        for name, value in given.items():
            kind, axes = value.type, self.forms.get(name)
            if axes is None or isinstance(kind, Static):
                if not isinstance(kind, Static):
                    return False
            elif isinstance(kind, Array):
                if kind.ndim not in axes or not kind.ndim or kind.dtype.kind not in self.kinds:
                    return False
                if self.double and kind.dtype.kind == "f" and kind.dtype != F64:
                    return False
            elif not isinstance(kind, Number) or NUMBER not in axes or kind.kind not in self.numbers:
                return False
            elif "p" in self.numbers and not kind.weak:
                return False
            elif "n" in self.numbers and value is next(iter(given.values())) and (kind.python or kind.kind != "f"):
                return False
        return True


WRITTEN: dict[Any, list[Written]] = {}


def stands_for(
    function: Any,
    kinds: str = "iuf",
    *,
    double: bool = False,
    numbers: str = "if",
    named: bool = False,
    **forms: int | Sequence[int],
) -> Callable[[FunctionType], FunctionType]:
    """Let calls of `function` be calls of the decorated one, where arguments have these numbers of axes, and dtypes of
    these kinds. double: the floats among them of 64 bits; numbers: the kinds of single numbers;
    named: of the result (`Written`)."""
    given = {name: (axes,) if isinstance(axes, int) else tuple(axes) for name, axes in forms.items()}

    def register(written: Any) -> FunctionType:
        WRITTEN.setdefault(function, []).append(Written(written, given, kinds, double, numbers, named))
        return written

    return register


def written_call(caller: Translator, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value | None:
    """The call of NumPy's `function`; None if none of `WRITTEN` takes the arguments."""
    from .functions import translate_function

    args = [caller.as_row(a) for a in args]
    for each in WRITTEN[function]:
        try:
            given = inspect.signature(each.function).bind(*args, **keywords)
        except TypeError:
            continue
        given.apply_defaults()
        values = {name: v if isinstance(v, Value) else _constant(v) for name, v in given.arguments.items()}
        if each.takes(values) and (not each.named or is_taken_apart(caller.now, function)):
            values = {name: caller.lasting(v) for name, v in values.items()}
            syntax = syntax_of(each.function.__code__)
            assert syntax is not None
            return translate_function(caller, each.function, syntax, values, (each.function,), None)
    return None


def is_taken_apart(statement: ast.stmt | None, function: Any) -> bool:
    """Whether a statement only wants the items of what `function` gives."""
    apart: set[ast.expr] = set()
    calls: list[ast.expr] = []
    for node in walk(statement) if statement is not None else ():
        match node:
            case ast.Assign(targets=[ast.Tuple()], value=ast.Call() as call) | ast.Subscript(value=ast.Call() as call):
                apart.add(call)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(function.__name__):
            calls.append(node)
    return bool(calls) and apart.issuperset(calls)


def _constant(value: Any) -> Value:
    return literal(value) if isinstance(value, bool | int | float) else Value("", Static(value))


__all__ = ["NUMBER", "WRITTEN", "is_taken_apart", "stands_for", "written_call"]
