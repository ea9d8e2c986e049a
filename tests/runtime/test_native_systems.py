"""Linear systems in loops without Python: NumPy's bits, and its errors."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import workbench as wb
from workbench import lax
from workbench.primitives import numpy_libraries

from .test_native_loops import check, outcomes

RNG = np.random.default_rng(11)


def matrices(dtype: str, n: int) -> np.ndarray:
    a = RNG.normal(size=(5, n, n)) + 1j * RNG.normal(size=(5, n, n)) * (np.dtype(dtype).kind == "c")
    return (a if np.dtype(dtype).kind == "c" else a.real).astype(dtype)


def solved(a, b):
    def body(i, total):
        return total + np.linalg.solve(a[i], b)

    return lax.fori_loop(0, 5, body, np.zeros_like(b))


def solved_transposed(a, b):
    def body(i, total):
        return total + np.linalg.solve(a[i].T, total.T).T + b

    return lax.fori_loop(0, 5, body, b)


def inverted(a):
    return lax.fori_loop(0, 5, lambda i, total: total + np.linalg.inv(a[i]), np.zeros_like(a[0]))


def determined(a):
    return lax.scan(lambda c, x: (c, np.linalg.det(x)), 0.0, a)[1]


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_systems_are_numpys_bits(dtype: str, n: int) -> None:
    a = matrices(dtype, n)
    for right in (a[0, 0].copy(), matrices(dtype, n)[0, :, :1].copy(), matrices(dtype, n)[0]):
        found, expected = outcomes(solved, a, right)
        total = np.zeros_like(right)
        for i in range(5):
            total = total + np.linalg.solve(a[i], right)
        assert found[0].tobytes() == total.tobytes() == np.asarray(expected[0]).tobytes()
    check(solved_transposed, a, matrices(dtype, n)[0], rtol=1e-7)
    found, expected = outcomes(inverted, a)
    assert found[0].tobytes() == np.asarray(expected[0]).tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_determinants_are_numpys_bits(n: int) -> None:
    a = matrices("f8", n)
    a[1] = -a[0]
    a[2, 0] = 0  # singular
    found, _ = outcomes(determined, a)
    assert found[0].tobytes() == np.array([np.linalg.det(x) for x in a]).tobytes()
    assert found[0].dtype == a.dtype


def one_by_one(a, b, out):
    n = 0
    for i in range(len(a)):
        out[i] = np.linalg.solve(a[i], b[i])
        n += 1
    return out.sum() / n


def test_a_singular_system_raises_as_in_numpy_and_leaves_what_came_before() -> None:
    a, b = matrices("f8", 3), RNG.normal(size=(5, 3))
    compiled = wb.jit(one_by_one)
    for singular in (None, 3, 0, None):
        systems = a.copy()
        if singular is not None:
            systems[singular, 1] = 0.0
        results = []
        for f in (one_by_one, compiled):
            out = np.full((5, 3), 7.0)
            try:
                raised = None
                f(systems, b, out)
            except np.linalg.LinAlgError as error:
                raised = str(error)
            results.append((raised, out))
        assert results[0][0] == results[1][0]
        np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-12)


def test_what_is_no_plain_system_is_numpys_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def stacks(a, b):
        return lax.fori_loop(0, 2, lambda i, x: np.linalg.solve(a, x), b)

    a, b = matrices("f8", 3), RNG.normal(size=(5, 3, 2))
    compiled = wb.jit(stacks)
    np.testing.assert_allclose(compiled(a, b), np.linalg.solve(a, np.linalg.solve(a, b)), rtol=1e-9)
    assert any(compiled.compilations[0].executable.native.values())
    single = wb.jit(lambda a, b: solved(a, b))
    args = (matrices("f4", 4), RNG.normal(size=4).astype("f4"))
    assert single(*args).tobytes() == np.asarray(solved(*args)).tobytes()
    monkeypatch.setattr(numpy_libraries, "lapack", lambda name: None)
    fresh = wb.jit(lambda a, b: solved(a, b))
    args = (matrices("f8", 4), RNG.normal(size=4))
    np.testing.assert_allclose(fresh(*copy.deepcopy(args)), solved(*args), rtol=1e-12)
    assert any(fresh.compilations[0].executable.native.values())
