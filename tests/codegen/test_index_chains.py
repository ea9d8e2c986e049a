"""Chains of gathers through gathers: an index is used several times by whoever reads it, and must be written once."""

import numpy as np

from workbench.notebook.cells import CellOptions, run_cell
from workbench.primitives.index import Expr, loop_index, size, where

SIMPLEX = """
S = np.array([[0.0, 0], [1, 0], [0, 1]])
F = np.array([f(s) for s in S])
for _ in range(14):
    o = F.argsort()
    S, F = S[o], F[o]
    c = S[:-1].mean(0)
    x = 2 * c - S[-1]
    if f(x) < F[-2]:
        S[-1], F[-1] = x, f(x)
    else:
        x = 0.5 * (c + S[-1])
        S[-1], F[-1] = x, f(x)
best = F.min()
"""


def test_the_text_of_a_chain_grows_with_its_length():
    def f(v):
        return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2

    plain, ours = {"np": np, "f": f}, {"np": np, "f": f}
    exec(SIMPLEX, plain)
    options = CellOptions(compare=False)
    report = run_cell(SIMPLEX, ours, options=options).report
    np.testing.assert_allclose(ours["best"], plain["best"], rtol=1e-9)
    np.testing.assert_allclose(ours["S"], plain["S"], rtol=1e-9)
    assert report.status in ("compiled", "cached")
    assert 0 < sum(len(kernel.source) for kernel in report.kernels) < 200_000


def test_questions_about_an_index_take_each_part_once():
    index = loop_index(0)
    for _ in range(200):  # three ways through each of them
        index = where(Expr("loaded", ("a[i]", index)) < 0, index + size("n"), index)
    assert index.axes() == {0} and index.loads() and isinstance(hash(index), int)
