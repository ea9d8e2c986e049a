"""Products over axes, other shapes and what NumPy makes of them, in loops: one step, and NumPy's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.sources import define

from .test_loops import assert_same, loops_of

# Of a window `p` and weights `w`, both of shape (2, 3, 3), and their first matrices `q`, `v`.
EXPRESSIONS = [
    "np.tensordot(p, w, axes=3)",
    "np.tensordot(p, w, axes=([0, 1, 2], [0, 1, 2]))",
    "np.tensordot(p, w, axes=([1, 2], [1, 2]))[1, 0]",
    "np.tensordot(q, v, 1)[2, 0]",
    "np.tensordot(w, q, axes=[(1,), (0,)])[1, 2, 0]",
    "np.einsum('cij,cij->', p, w)",
    "np.einsum('cij,dij->cd', p, w)[1, 0]",
    "np.einsum('cij, dij', p, w)[0, 1]",
    "np.einsum('ii', q) + np.einsum('ij->j', v)[2]",
    "np.einsum('ij,jk,kl->il', q, v, q)[1, 2]",
    "np.einsum('i,j->ij', q[0], v[1])[2, 1]",
    "np.linalg.norm(q, axis=1, keepdims=True)[2, 0]",
    "(v / np.linalg.norm(q, axis=-1, keepdims=True))[1, 1]",
    "np.linalg.norm(q[0], ord=1, keepdims=True)[0]",
    "p.reshape(-1) @ w.reshape(-1)",
    "(p.reshape(2, -1) @ w.reshape((9, 2)))[1, 0]",
    "p.ravel().dot(np.ravel(w))",
    "np.reshape(p, (3, 6))[2, 4] + (p * w).reshape(18)[5]",
    "np.inner(q, v)[2, 1] + np.inner(q[0], v[1])",
    "np.vdot(q, v) + np.vdot(q[1], v[0])",
    "np.matmul(q, v)[0, 1]",
    "q.swapaxes(0, 1)[0, 2] + np.expand_dims(q, 0)[0, 2, 1] + np.flipud(q)[0, 0] - np.fliplr(v)[1, 0]",
    "np.linalg.norm(q[0], 1) + np.linalg.norm(v[:, 1], ord=np.inf)",
]
COMPLEX = ["np.linalg.norm(q[0]) + np.linalg.norm(v[:, 1] * 2)", "np.linalg.norm(q[0], 2)"]
REAL = [
    "np.linalg.norm(q - v, axis=1)[2] + np.linalg.norm(q, 2, axis=0).sum()",
    "np.round(q, 2).sum() + q.round()[1, 1] + np.round(q[0, 0], 1) + np.around(v * 1000, -1)[0, 0]",
    "np.ptp(q)",
    "np.array_equal(q, v) + np.array_equal(q, q)",
    "q[np.unravel_index(np.argmax(q), q.shape)[0], 1] + np.unravel_index(5, (2, 3))[1]",
    "q[0, 0] * (10**9 % 7 + 2**16 - 3**20) + 2**j",
]


def windows(expression: str) -> Any:
    source = f"""
import numpy as np

def f(a, w, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            p = a[:, i : i + 3, j : j + 3]
            q, v = p[0], w[1]
            out[i, j] = {expression}
    return out
"""
    return define(source, "f", f"<windows {expression}>")


def arrays(dtype: Any, n: int = 7) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    found = [rng.normal(size=s) * 4 for s in ((2, n + 2, n + 2), (2, 3, 3), (n, n))]
    if np.dtype(dtype).kind == "c":
        found = [x + 1j * rng.normal(size=x.shape) for x in found]
    return tuple(x.astype(dtype) for x in found)


CASES = [(e, t) for e in EXPRESSIONS for t in (np.float64, np.complex128)]
CASES += [(e, np.float64) for e in REAL] + [(e, t) for e in EXPRESSIONS[:3] for t in (np.float32, np.int64)]
CASES += [(e, t) for e in COMPLEX for t in (np.complex128, np.complex64)]
CASES += [("np.average(q, weights=np.abs(v)) + np.average(q)", np.float64)]


@pytest.mark.parametrize(("expression", "dtype"), CASES, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_windows(expression: str, dtype: Any) -> None:
    f = windows(expression)
    compiled = assert_same(f, *arrays(dtype), rtol=1e-4 if dtype in (np.float32, np.complex64) else 1e-10)
    assert len(loops_of(compiled)) == 1 and not compiled.fallbacks


@pytest.mark.parametrize(
    "lines",
    [
        "v = x[i].ravel(); v[0] += 1; out[i] = v @ v",
        "x[i].reshape(-1)[1] = i; out[i] = x[i, 0, 1]",
        "v = x[i].reshape(4); x[i, 0, 0] = 7.0; out[i] = v[0]",
        "v, u = x[i].ravel(), x[i - 1].ravel(); v[2] = 5.0; out[i] = u[0] + x[i, 1, 0]",
        "x[i].ravel()[:2] += 1; out[i] = x[i].sum()",
        "for y in x[i].ravel(): x[i, 1, 1] += y; out[i] += y",
        "out[i] = raised(x[i].ravel()) + x[i, 0, 0]",
        "x[i] = x[i].T.reshape(2, 2) * 2; out[i] = x[i, 0, 1]",
        "x[i, 0] = x[i].reshape(4)[1:3]; out[i] = x[i, 0, 0]",
        "v = x[i].ravel()[:2]; v[0] = 9.0; out[i] = x[i].sum()",
        "v = x[i].reshape(4).reshape(2, 2); v[0, 1] = 9.0; out[i] = x[i].sum()",
        "v = x[i].reshape(2, 2).T; v[0, 1] = 9.0; out[i] = x[i, 1, 0]",
        "v = np.flipud(x[i].reshape(2, 2)); v[0, 1] = 9.0; out[i] = x[i, 1, 1]",
        "v = np.expand_dims(x[i].ravel(), 0); v[0, 1] = 9.0; out[i] = x[i, 0, 1]",
        "v = np.einsum('ij->ji', x[i]); v[0, 1] = 9.0; out[i] = x[i, 1, 0] + np.einsum('ii->i', x[i]) @ x[i, 0]",
    ],
)
def test_other_shapes_of_what_is_in_memory_are_views(lines: str) -> None:
    for_lines, _, rest = lines.partition(": ")
    body = f"{for_lines}:\n            {rest}" if lines.startswith("for") else lines
    source = f"""
import numpy as np

def raised(v):
    v[0] += 3
    return v[1]

def f(x, out):
    for i in range(len(x)):
        {body}
    return out
"""
    f = define(source, "f", f"<views {lines}>")
    assert_same(f, np.arange(24.0).reshape(6, 2, 2), np.zeros(6))


def test_what_does_not_fit_raises() -> None:
    def f(x, out, n):
        for i in range(len(out)):
            out[i] = x[i].reshape(n, -1)[0, 0] + np.einsum("ij,ij->", x[i], x[i, :, :n])
        return out

    assert_same(f, np.ones((4, 2, 2)), np.zeros(4), 3)
    assert_same(f, np.ones((4, 2, 2)), np.zeros(4), 2)


def test_convolutions_of_any_size_are_one_step() -> None:
    def convolved(x, w, stride=1):
        n = (x.shape[2] - w.shape[2]) // stride + 1
        out = np.zeros((x.shape[0], w.shape[0], n, n), dtype=x.dtype)
        for i in range(n):
            for j in range(n):
                part = x[:, :, i * stride : i * stride + w.shape[2], j * stride : j * stride + w.shape[3]]
                out[:, :, i, j] = np.tensordot(part, w, axes=([1, 2, 3], [1, 2, 3]))
        return out

    rng = np.random.default_rng(0)
    for stride in (1, 2):
        x, w = rng.normal(size=(2, 3, 21, 21)), rng.normal(size=(4, 3, 3, 3))
        compiled = wb.jit(convolved)
        np.testing.assert_allclose(compiled(x, w, stride), convolved(x, w, stride), rtol=1e-11, atol=1e-12)
        assert len(loops_of(compiled)) == 1
