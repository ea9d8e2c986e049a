"""`wb.explain` runs a function several times and reports on it, whatever it does with its arguments."""

from __future__ import annotations

import numpy as np

import workbench as wb


def test_each_run_gets_the_arguments_as_they_were_given():
    def cholesky(a):
        for j in range(len(a)):
            a[j, j] = np.sqrt(a[j, j] - (a[j, :j] ** 2).sum())
            if not a[j, j] > 0:
                raise np.linalg.LinAlgError("not positive definite")
            for i in range(j + 1, len(a)):
                a[i, j] = (a[i, j] - (a[i, :j] * a[j, :j]).sum()) / a[j, j]
        return a

    a = np.eye(9) * 1.5 + 0.25
    before = a.copy()
    report = wb.explain(cholesky)(a)
    assert report.status == "compiled" and len(report.timings.runs_ms) > 1
    assert report.timings.numpy_ms
    np.testing.assert_array_equal(a, before)


def test_a_function_of_which_no_part_was_worth_compiling_has_a_report():
    def residuals(a, b):
        scaled = lambda v: v / np.diag(a)  # noqa: E731  # with one, the function runs in its own frame
        r = scaled(b)
        for k in range(3):
            rhs = np.zeros(int(r[0]) % 2 + k + 2)
            rhs[0] = 1.0
            c = np.union1d(np.linalg.lstsq(a[: len(rhs), : k + 1], rhs, rcond=None)[0], [])
            if np.abs(c).max() < 1e-12:
                break
            r = r + c[0]
        return r

    rng = np.random.default_rng(0)
    report = wb.explain(residuals)(rng.random((8, 8)), rng.random(8))
    assert report.status in ("numpy", "partly")
    assert report.reason or report.fallbacks
