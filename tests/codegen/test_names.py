"""Whatever the user calls a variable, the kernel's own names are others."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

OURS = sorted(
    {
        "i",
        "i0",
        "i1",
        "i2",
        "j",
        "n0",
        "n1",
        "n2",
        "start",
        "stop",
        "part",
        "row",
        "first",
        "last",
        "size",
        "count",
        "np",
    }
    | {"njit", "flat", "uintp", "assume_index", "lane", "state", "total", "exp", "sin", "tanh", "pow", "log1p", "range"}
    | {"min", "max", "sum", "bool", "float", "int", "acc", "size_2", "x", "out", "j_stop", "begin", "value"}
)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 4)], ids=str)
def test_any_name_will_do(shape):
    source = "def work({}):\n".format(", ".join(OURS[::2]))
    for k, name in enumerate(OURS[1::2]):
        source += f"    {name} = {OURS[::2][k % len(OURS[::2])]} * 2.0 + 1.0\n"
    terms = " + ".join(OURS)
    source += f"    a = {terms}\n    i = a.sum(axis=-1)\n    part = numpy.tanh(a - i[..., None]).cumsum(axis=-1)\n"
    source += "    n1 = numpy.exp(-abs(part)); n1[..., 1:] += part[..., :-1]\n    return a, i, part, n1\n"
    scope = {"numpy": np, "__name__": "names"}
    exec(compile(source, "<names>", "exec"), scope)
    work = scope["work"]
    rng = np.random.default_rng(0)
    arguments = [rng.random(shape) for _ in OURS[::2]]
    for mine, theirs in zip(wb.jit(work)(*arguments), work(*arguments), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
