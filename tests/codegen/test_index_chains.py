"""Chains of gathers through gathers: an index is used several times by whoever reads it, and must be written once."""

import numpy as np

from workbench.notebook.cells import CellOptions, run_cell
from workbench.primitives.index import Expr, loop_index, size, where

SIMPLEX = """
S = np.array([[0.0, 0], [1, 0], [0, 1]])
F = np.array([f(s) for s in S])
for _ in range(8):
    o = F.argsort(kind='heapsort')
    S, F = S[o], F[o]
    c = S[:-1].mean(0)
    xr = 2 * c - S[-1]
    fr = f(xr)
    if fr < F[0]:
        xe = 3 * c - 2 * S[-1]
        fe = f(xe)
        S[-1], F[-1] = (xe, fe) if fe < fr else (xr, fr)
    elif fr < F[-2]:
        S[-1], F[-1] = xr, fr
    else:
        xc = 0.5 * (c + S[-1])
        fc = f(xc)
        if fc < F[-1]:
            S[-1], F[-1] = xc, fc
        else:
            S[1:] = 0.5 * (S[1:] + S[0])
            F[1:] = [f(s) for s in S[1:]]
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
    assert 0 < sum(len(kernel.source) for kernel in report.kernels) < 100_000


def test_questions_about_an_index_take_each_part_once():
    index = loop_index(0)
    for _ in range(200):  # three ways through each of them
        index = where(Expr("loaded", ("a[i]", index)) < 0, index + size("n"), index)
    assert index.axes() == {0} and index.loads() and isinstance(hash(index), int)
