"""Lists and tables of whole functions that hold arrays, and give them away: no memory is given back twice.

Whether it is shows in what the arrays hold, and as a crash of the process.
"""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_close
from tests.runtime.test_numpy_in_loops import is_whole


def popped(x, n):
    y = x[x > -100]
    rows, kept = [y * 1, y * 2, y * 3], 0.0
    for i in range(n):
        row = rows.pop(i % len(rows))
        rows.append(row + y[0])
        rows.append(y[:3] * i)
        if len(rows) > 9:
            del rows[i % 5]
            rows.insert(2, x + i)
            kept += rows.pop(-4).sum()
    return kept, len(rows), np.concatenate(rows)


def queued(x, n):
    y = x[x > -100]
    rows, total = [y], 0.0
    for i in range(n):
        rows.append(y[: 1 + i % 5] + i)
        rows.append(y + i)
        total += rows.pop(0).sum()
    while len(rows) > 5:
        total += rows.pop(0)[0]
    for i in range(40):
        rows.append(y * i)
    while len(rows) > 0:
        total += rows.pop(0)[-1]
    return total


def cleared(x, n):
    y = x[x > -100]
    rows, total = [y], 0.0
    for i in range(n):
        rows.append(y + i)
        if len(rows) > 7:
            total += rows[i % 7].sum()
            rows.clear()
            rows.append(y * i)
    return total, np.concatenate(rows)


def boxes(x, n):
    pixels = np.column_stack((x[x > -100], x[x > -100] ** 2))
    held = [pixels]
    while len(held) < n % 50:
        spread = [np.ptp(b, axis=0).max() * (len(b) > 1) for b in held]
        i = int(np.argmax(spread))
        if spread[i] == 0:
            break
        b = held.pop(i)
        b = b[np.argsort(b[:, np.ptp(b, axis=0).argmax()], kind="stable")]
        held += [b[: len(b) // 2], b[len(b) // 2 :]]
    return np.array([b.mean(axis=0) for b in held])


def tables(x, n):
    y = x[x > -100]
    found, total = {}, 0.0
    for i in range(n):
        found[i % 37] = y + i
        if i % 3 == 0 and len(found) > 5:
            total += found[i % 37].sum()
            del found[i % 37]
        if i % 100 == 99:
            found.clear()
            found[5] = y * 2
        found[i + 1000] = y * i
        if i - 30 + 1000 in found:
            del found[i - 30 + 1000]
    for k in found:
        total += found[k][0] * k
    return total, len(found)


@pytest.mark.parametrize("function", [popped, queued, cleared, boxes, tables])
def test_memory_is_given_back_once(function):
    compiled = wb.jit(function)
    x = np.random.default_rng(5).normal(size=60) + 3
    for n in (9000, 30, 9007, 8):
        assert_close(compiled(x, n), function(x, n), rtol=1e-12)
    assert is_whole(compiled)
