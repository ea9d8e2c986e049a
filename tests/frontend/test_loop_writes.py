"""Calls that write into arrays in loops that compile whole cast, and refuse to, as NumPy does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import workbench as wb
from tests.sources import define

WRITES = {
    "copyto": ["np.copyto(a[1], VALUE)", "np.copyto(a, VALUE)"],
    "fill": ["a[1].fill(VALUE)", "a[2][:] = VALUE"],
    "ufunc": ["np.add(a[1], VALUE, a[0])", "a[1] += VALUE"],
    "diagonal": ["np.fill_diagonal(a, VALUE)", "np.add.at(a[0], w % 3, VALUE)"],
}
VALUES = ["1", "-1", "300", "2**40", "0.5", "True", "1j", "np.float32(2)", "np.int8(-3)", "np.uint64(3)", "v", "w"]
DTYPES = ["?", "u1", "i8", "f4", "c16"]


def program(writes: list[str], value: str):
    lines = [f"            {line.replace('VALUE', value)}" for line in writes]
    return define(
        "def changed(a, v, w):\n    for k in range(50):\n        if a[k % 3, 0] != 3:\n" + "\n".join(lines) + "\n"
        "        a[0, 1] = a[0, 0] * a[1, 1]\n    return a[0, 0]\n",
        "changed", f"<writes {value} {writes[0]}>",
    )  # fmt: skip


def outcome(function, dtype):
    a = np.arange(15).reshape(3, 5).astype(dtype)
    with np.errstate(all="ignore"):
        try:
            return repr(function(a, np.arange(5.0), np.arange(5))), repr(a)
        except (TypeError, ValueError, OverflowError) as error:
            return type(error).__mro__[-4:], repr(a)


@pytest.mark.parametrize("name", WRITES)
def test_writes_of_every_type_into_every_other(name) -> None:
    for value, dtype in itertools.product(VALUES, DTYPES):
        function = program(WRITES[name], value)
        compiled = wb.jit(function)
        assert outcome(compiled, dtype) == outcome(function, dtype), (value, dtype)
        assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]
