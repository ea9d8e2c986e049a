"""Values of Python's that a trace takes as they are: equal ones are the same to the code that reads them."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import math
import pathlib
import re
from typing import Any

import numpy as np

CONSTANT_TYPES = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice, np.dtype,
    np.generic, np.ufunc, np.finfo, np.iinfo, re.Pattern, pathlib.PurePath, datetime.timedelta, datetime.date,
    datetime.time, fractions.Fraction, decimal.Decimal, enum.Enum, type(np.index_exp),
)  # fmt: skip


def is_constant(value: Any) -> bool:
    """Whether it is one, or a tuple or frozenset of them: none that the trace sees a copy of in its place."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_constant, value))
    return isinstance(value, CONSTANT_TYPES)


def computes_as_int(cls: type, operation: str) -> bool:
    """Whether what derives from `int`, as an `IntEnum` does, has `int`'s own operator, "add" or "rshift"."""
    names = (f"__{operation}__", f"__r{operation}__")
    return all(getattr(cls, name, None) is getattr(int, name, None) for name in names)


def same_constant(a: Any, b: Any) -> bool:
    """Equal, of one type, and equal in ways that `==` overlooks (signed zeros, NaN)."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, complex):
        return same_constant(a.real, b.real) and same_constant(a.imag, b.imag)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return bool(a == b)
