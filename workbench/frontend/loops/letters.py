"""Strings that a loop reads by letters, `a[i] == b[j]`: an array of codes stands for each, so that the text of the
loop does not depend on the string."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from .operators import compare
from .types import BOOL, Array, Items, Letter, Number, Static, Type, UntranslatableError, Value, literal

CODES = np.dtype(np.int32)
LETTERS = object()  # in the path to a value: the codes of the string there


def codes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), CODES.newbyteorder("<")).astype(CODES)


def is_text(kind: Type) -> bool:
    return isinstance(kind, Static) and type(kind.value) is str


def number_of_text(kind: type[int] | type[float], text: Type) -> Value | None:
    """`float("inf")`, `int("12")`; None where that raises, or is none."""
    try:
        return literal(kind(text.value)) if is_text(text) else None  # type: ignore[union-attr]  # a string's
    except ValueError:
        return None


def whose_ones(node: ast.Call) -> ast.Call | None:
    """`bin(x)` of `bin(x).count("1")`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(), args=[_], keywords=[]) as inner, attr="count"),
            args=[ast.Constant(value="1")],
            keywords=[],
        ):
            return inner
    return None


def letter(found: Value) -> Value:
    """What an element of the codes is."""
    if not isinstance(found.type, Number):
        raise UntranslatableError("a part of a string")
    return Value(found.text, Letter())


def compared(op: ast.cmpop, left: Value, right: Value) -> Value:
    """A comparison of which at least one side is a letter."""
    symbol = {ast.Eq: "==", ast.NotEq: "!="}.get(type(op))
    if isinstance(op, ast.In | ast.NotIn):
        text = f"({' or '.join(compared(ast.Eq(), left, item).text for item in _items(right)) or 'False'})"
        return Value(f"(not {text})" if isinstance(op, ast.NotIn) else text, Number(BOOL, True, (0, 1)))
    if symbol is None:
        raise UntranslatableError("an order of letters")
    sides = _code(left), _code(right)
    if sides[0] is None or sides[1] is None:
        return literal(symbol == "!=")  # with what is no letter
    return replace(compare(symbol, sides[0], sides[1]), type=Number(BOOL, True, (0, 1)))


def _items(value: Value) -> list[Value]:
    """What a letter may be in: the letters of a string, or the items of a tuple."""
    if isinstance(value.type, Static) and type(value.type.value) is str:
        return [Value("", Static(each)) for each in value.type.value]
    if isinstance(value.type, Items) and isinstance(value.literal, tuple):
        return list(value.literal)
    raise UntranslatableError("a letter among objects")


def _code(value: Value) -> Value | None:
    if isinstance(value.type, Letter):
        return Value(value.text, Number(CODES))
    if isinstance(value.type, Static) and type(value.type.value) is str:
        text = value.type.value
        return Value(str(ord(text)), Number(CODES)) if len(text) == 1 else None
    if isinstance(value.type, Array):
        raise UntranslatableError("a comparison of a letter and an array")
    return None


__all__ = ["LETTERS", "codes_of", "compared", "is_text", "letter"]
