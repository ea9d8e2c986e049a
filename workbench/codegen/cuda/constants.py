"""Constants of a program as arguments of its kernels: programs that differ in numbers alone share what is compiled.

A kernel reads an argument as fast as a number in its text. Powers of two (and 0) stay: by them the compiler divides
exactly with a multiplication, and they tell one kind of program from another anyway.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..kernel import KernelArg
from ..names import Namer

MOST = 48  # of 8 bytes each, of the 4 KiB that a kernel's parameters may take
_NUMBER = r"\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+"
_SINGLE = re.compile(rf"np\.float32\((-?(?:{_NUMBER}))\)")
# As `scalars.literal` writes them: no other number has a point.
_DOUBLE = re.compile(rf"(?<![\w.)\]])-?(?:{_NUMBER})(?![\w.])")

Line = tuple[str, tuple[int, ...]]


def hoisted(body: Sequence[Line], namer: Namer) -> tuple[list[Line], list[KernelArg]]:
    """The lines of a kernel with names for its constants, and the arguments of these names."""
    found: dict[tuple[str, str], KernelArg] = {}

    def named(text: str, number: str, dtype: str) -> str:
        value = float(number)
        if not math.isfinite(value) or abs(math.frexp(value)[0]) in (0.0, 0.5):
            return text
        key = dtype, number
        if key not in found:
            if len(found) == MOST:
                return text
            found[key] = KernelArg(namer.fresh("constant"), "size", dtype=dtype, value=value)
        return found[key].name

    lines: list[Line] = []
    for text, eqns in body:
        text = _SINGLE.sub(lambda m: named(m[0], m[1], "float32"), text)
        if "complex" not in text and "np.float" not in text:
            text = _DOUBLE.sub(lambda m: named(m[0], m[0], "float64"), text)
        lines.append((text, eqns))
    return lines, list(found.values())
