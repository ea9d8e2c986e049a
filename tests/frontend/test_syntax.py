"""Copies of syntax trees."""

import ast

import numpy as np

import workbench as wb
from workbench.frontend.syntax import copied

SOURCE = '''
@decorate(1)
def f(a, *b, c: int = 2, **d) -> str:
    """Text"""
    global g
    for i, (j, k) in enumerate(a[1:, ::-2]):
        x = [y if y > 2 else -y for y in b if not y and (z := y)]
        x[i] += f"{k!r:>{j}}" @ {**d, "e": {1, 2j}}
    match x:
        case [1, *_] | {"a": q, **r} if q: pass
    try:
        async_ = lambda t, /, u=None: (yield)
    except* (A, B) as error: raise error from None
'''


def test_a_copy_is_the_same_and_shares_no_node():
    tree = ast.parse(SOURCE)
    new = copied(tree)
    assert ast.dump(new, include_attributes=True) == ast.dump(tree, include_attributes=True)
    ours = {id(n) for n in ast.walk(new) if isinstance(n, ast.stmt | ast.expr)}
    assert ours.isdisjoint(id(n) for n in ast.walk(tree))
    assert [type(n) for n in copied(tree.body)] == [ast.FunctionDef]


def test_what_others_hang_on_nodes_is_not_copied():
    """As tools that show tracebacks do, for the one `ast.Load()` of all trees, too."""
    whole = ast.parse("\n".join(f"a{i} = b{i} + 1" for i in range(3000)))
    tree = ast.parse("x + 1").body[0]
    load = tree.value.left.ctx
    for node in ast.walk(whole):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    load.parent = whole
    try:
        new = copied(tree)
        assert not hasattr(new.value, "parent") and new.value.left.ctx is load
        assert wb.jit(_loops)(np.ones((30, 30))).shape == (30, 30)
    finally:
        del load.parent


def _loops(x):
    y = x.copy()
    for i in range(1, len(x)):
        for j in range(i):
            if y[i, j] > 0:
                y[i, j] -= y[j, i] / 2
    return y
