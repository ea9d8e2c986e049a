"""What cells and functions do to attributes of classes, slots and functions happens as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.notebook.cells import run_cell

OUTSIDE = """
class Account:
    fee, seen = 0.5, []
    def __init__(self, balance):
        self.balance = balance
    def apply(self, amounts):
        for amount in amounts:
            self.balance += amount - self.fee
        return self
    def note(self, value):
        self.seen.append(value)
    @classmethod
    def raise_fee(cls, by):
        cls.fee += by

class Point:
    __slots__ = ("x", "y")
    def __init__(self):
        self.x, self.y = 1.0, 2.0

def tagged(v):
    tagged.last = 3
    return v * 2

account, point = Account(10.0), Point()
a = np.arange(5.0)
"""

CELLS = {
    "Account.fee = 1.5\nz = Account(10.0).apply(a).balance": "(Account.fee, float(z))",
    "setattr(Account, 'fee', 1.5)\nz = a * Account.fee": "(Account.fee, z.tolist())",
    "Account.fee = a[1] * 3\nz = a * Account.fee": "(float(Account.fee), z.tolist())",
    "Account.raise_fee(1.0)\nz = a * Account.fee": "(Account.fee, z.tolist())",
    "account.fee = 4.0\nz = account.apply(a).balance": "(Account.fee, account.fee, float(z))",
    "account.note(7)\nz = a * 2": "(Account.seen, account.seen)",
    "del Account.fee\nz = a * 2": "hasattr(Account, 'fee')",
    "point.x = a.sum()\nz = a * point.x": "(float(point.x), z.tolist())",
    "del point.y\nz = a * point.x": "hasattr(point, 'y')",
    "z = tagged(a)": "(tagged.last, z.tolist())",
}

LOOPS = {
    "a method counts": """
class Counted:
    count = 0
    @staticmethod
    def twice(v):
        Counted.count += 1
        return v * 2
s = 0.0
for i in range(300):
    s += Counted.twice(a[i % 5])
found = (Counted.count, float(s))
""",
    "a branch counts": """
class Counted:
    count, seen = 0, []
for i in range(40):
    if a[i % 5] > 2:
        Counted.count += 1
        Counted.seen.append(i)
found = (Counted.count, Counted.seen)
""",
    "a method's class counts": """
class Counted:
    count = 0
    def bump(self, v):
        type(self).count += 1
        return v + 1
c, s = Counted(), 0.0
for i in range(40):
    if a[i % 5] > 2:
        s = c.bump(s)
found = (Counted.count, float(s))
""",
    "a function counts": """
def f(v):
    f.calls += 1
    return v * 2
f.calls = 0
for i in range(60):
    if a[i % 5] > 2:
        f(a[0])
found = f.calls
""",
}


def namespace() -> dict[str, Any]:
    return {"np": np, "__name__": "__main__"}


@pytest.mark.parametrize("cell", CELLS)
def test_attributes_of_what_earlier_cells_made(cell: str) -> None:
    mine, theirs = namespace(), namespace()
    run_cell(OUTSIDE, mine, filename="<outside>")
    exec(OUTSIDE, theirs)
    for _ in range(1 if cell.startswith("del") else 3):
        run_cell(cell, mine, filename="<cell>")
        exec(cell, theirs)
        assert eval(CELLS[cell], mine) == eval(CELLS[cell], theirs)


@pytest.mark.parametrize("name", LOOPS)
def test_attributes_that_traced_loops_change(name: str) -> None:
    mine, theirs = namespace() | {"a": np.arange(5.0)}, namespace() | {"a": np.arange(5.0)}
    for _ in range(2):
        run_cell(LOOPS[name], mine, filename="<cell>")
        exec(LOOPS[name], theirs)
        assert mine["found"] == theirs["found"]


def test_attributes_of_a_class_that_a_compiled_function_changes() -> None:
    class Counted:
        count = 0

    def run(x: Any) -> Any:
        Counted.count += 1
        return x * Counted.count

    compiled = wb.jit(run)
    assert [float(compiled(np.ones(2))[0]) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert Counted.count == 3
