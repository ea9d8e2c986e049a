"""Programs in which several habits meet: helpers over arrays of the function around, windows with strides, searches that
call functions that write, solvers that gather rows."""

from __future__ import annotations

import numpy as np

from .registry import program


def givens(a, b):
    if b == 0:
        return 1.0, 0.0
    r = np.hypot(a, b)
    return a / r, -b / r


@program(lambda rng, n: (rng.standard_normal((n + 4, n)),), 6, 70, 1e-8)
def rotations_to_a_triangle(A):
    R = A.copy()
    m, n = R.shape
    Q = np.eye(m)
    for j in range(n):
        for i in range(m - 1, j, -1):
            c, s = givens(R[i - 1, j], R[i, j])
            G = np.array([[c, -s], [s, c]])
            R[i - 1 : i + 1, j:] = G @ R[i - 1 : i + 1, j:]
            Q[:, i - 1 : i + 1] = Q[:, i - 1 : i + 1] @ G.T
    return Q, R


@program(lambda rng, n: (rng.standard_normal((2 * n, n)) + 1j * rng.standard_normal((2 * n, n)),), 6, 110, 1e-8)
def orthonormal_complex_columns(V):
    Q = np.array(V, copy=True)
    n = Q.shape[1]
    R = np.zeros((n, n), dtype=complex)
    for j in range(n):
        for _ in range(2):
            for i in range(j):
                h = np.vdot(Q[:, i], Q[:, j])
                R[i, j] += h
                Q[:, j] -= h * Q[:, i]
        R[j, j] = np.linalg.norm(Q[:, j])
        Q[:, j] /= R[j, j]
    return Q, R


def plu(A):
    A = A.copy()
    n = A.shape[0]
    perm = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if A[p, k] == 0:
            raise ValueError("singular")
        if p != k:
            A[[k, p]] = A[[p, k]]
            perm[[k, p]] = perm[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A, perm


@program(lambda rng, n: (rng.standard_normal((n, n)), rng.standard_normal(n)), 8, 250, 1e-7)
def solve_with_row_swaps(A, b):
    LU, perm = plu(A)
    n = len(b)
    y = b[perm].copy()
    for i in range(1, n):
        y[i] -= LU[i, :i] @ y[:i]
    x = y
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - LU[i, i + 1 :] @ x[i + 1 :]) / LU[i, i]
    det = np.prod(np.sign(np.diag(LU)))
    return x, det


@program(lambda rng, n: (rng.random((n, n, 40)), rng.random((n, n, 41)) - 0.5, 0.1), 5, 70)
def implicit_transport_upwards(phi, w, dt):
    ni, nj, nk = phi.shape
    ccol = np.ndarray((ni, nj, nk))
    dcol = np.ndarray((ni, nj, nk))

    def sweep(k, a, b, c, rhs):
        div = 1.0 / (b - ccol[:, :, k - 1] * a)
        ccol[:, :, k] = c * div
        dcol[:, :, k] = (rhs - dcol[:, :, k - 1] * a) * div

    gcv = 0.25 * w[:, :, 1]
    c = gcv * 0.5
    ccol[:, :, 0] = c / (1 / dt - c)
    dcol[:, :, 0] = (phi[:, :, 0] / dt - c * (phi[:, :, 1] - phi[:, :, 0])) / (1 / dt - c)
    for k in range(1, nk - 1):
        a = -0.125 * w[:, :, k]
        c = 0.125 * w[:, :, k + 1]
        rhs = phi[:, :, k] / dt - a * (phi[:, :, k - 1] - phi[:, :, k]) - c * (phi[:, :, k + 1] - phi[:, :, k])
        sweep(k, a, 1 / dt - a - c, c, rhs)
    k = nk - 1
    a = -0.125 * w[:, :, k]
    sweep(k, a, 1 / dt - a, 0.0, phi[:, :, k] / dt)
    out = np.zeros_like(phi)
    data = dcol[:, :, -1]
    out[..., -1] = data
    for k in range(nk - 2, -1, -1):
        data = dcol[:, :, k] - ccol[:, :, k] * data
        out[..., k] = (data - phi[:, :, k]) / dt
    return out


@program(lambda rng, n: (rng.integers(0, 4, n), rng.integers(0, 4, n)), 9, 700)
def align_by_antidiagonals(a, b):
    m, n = a.size, b.size
    prev2 = np.full(m + 1, -(10**9))
    prev = np.full(m + 1, -(10**9))
    prev2[0] = 0
    prev[0] = prev[1] = -1
    for d in range(2, m + n + 1):
        lo, hi = max(0, d - n), min(m, d)
        cur = np.full(m + 1, -(10**9))
        i = np.arange(lo, hi + 1)
        j = d - i
        inner = (i > 0) & (j > 0)
        ii, jj = i[inner], j[inner]
        s = np.where(a[ii - 1] == b[jj - 1], 2, -1)
        cur[ii] = np.maximum(prev2[ii - 1] + s, np.maximum(prev[ii - 1], prev[ii]) - 1)
        if lo == 0:
            cur[0] = -d
        if hi == d:
            cur[d] = -d
        prev2, prev = prev, cur
    return prev[m]


@program(lambda rng, n: (np.array([1, 2, 5, 10, 20, 50, 100, 200]), n), 50, 8000)
def ways_to_pay(coins, total):
    ways = np.zeros(total + 1, dtype=np.uint64)
    ways[0] = 1
    for c in coins:
        for t in range(c, total + 1):
            ways[t] += ways[t - c]
    return ways[total], ways


def conv2d(x, w, b, stride=1, pad=0):
    N, C, H, W = x.shape
    F, _, HH, WW = w.shape
    xp = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="constant")
    Ho = 1 + (H + 2 * pad - HH) // stride
    Wo = 1 + (W + 2 * pad - WW) // stride
    out = np.zeros((N, F, Ho, Wo), dtype=x.dtype)
    for i in range(Ho):
        for j in range(Wo):
            patch = xp[:, :, i * stride : i * stride + HH, j * stride : j * stride + WW]
            out[:, :, i, j] = np.tensordot(patch, w, axes=([1, 2, 3], [1, 2, 3]))
    return out + b[None, :, None, None]


def maxpool(x, size=2):
    N, C, H, W = x.shape
    return x.reshape(N, C, H // size, size, W // size, size).max(axis=(3, 5))


@program(
    lambda rng, n: (
        rng.standard_normal((2, 3, n, n)).astype(np.float32),
        rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        np.zeros(8, np.float32),
        rng.standard_normal((8 * (n // 2) ** 2, 10)).astype(np.float32),
    ),
    8,
    40,
    1e-3,
)
def convolve_pool_and_classify(x, w, b, fc):
    h = np.maximum(conv2d(x, w, b, stride=1, pad=1), 0)
    h = maxpool(h)
    logits = h.reshape(h.shape[0], -1) @ fc
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    return p, p.argmax(axis=1)


def root_of(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@program(lambda rng, n: (n, rng.integers(0, n, (2 * n, 2)), rng.random(2 * n)), 20, 3000)
def lightest_tree(n, edges, weights):
    parent = np.arange(n)
    order = np.argsort(weights, kind="stable")
    total, used = 0.0, 0
    for e in order:
        a, b = edges[e]
        ra, rb = root_of(parent, a), root_of(parent, b)
        if ra != rb:
            parent[ra] = rb
            total += weights[e]
            used += 1
            if used == n - 1:
                break
    return total, used


def _rows(rng, n):
    deg = rng.integers(1, 12, n)
    indptr = np.concatenate(([0], np.cumsum(deg)))
    return indptr, rng.integers(0, n, indptr[-1]), 0.85


@program(_rows, 12, 1500)
def rank_by_gathered_rows(indptr, indices, damping):
    n = len(indptr) - 1
    outdeg = np.bincount(indices, minlength=n)
    rank = np.ones(n) / n
    for it in range(15):
        share = rank / np.maximum(outdeg, 1)
        new = np.empty(n)
        for i in range(n):
            new[i] = share[indices[indptr[i] : indptr[i + 1]]].sum()
        new = (1 - damping) / n + damping * (new + rank[outdeg == 0].sum() / n)
        if np.linalg.norm(new - rank, 1) < 1e-10:
            break
        rank = new
    return rank


def saturation_pressure(T):
    return 611.2 * np.exp(17.67 * (T - 273.15) / (T - 29.65))


@program(
    lambda rng, n: (rng.uniform(250, 300, (n, 40)), rng.uniform(0, 0.02, (n, 40)), np.linspace(1e5, 2e4, 40)), 8, 3000
)
def saturation_adjustment(T, q, p):
    Lv, cp, Rv, eps = 2.5e6, 1004.0, 461.5, 0.622
    Tn = T.copy()
    cloud = np.zeros_like(q)
    for it in range(6):
        es = saturation_pressure(Tn)
        qs = eps * es / (p - (1 - eps) * es)
        dqs = qs * Lv / (Rv * Tn**2)
        delta = (q - cloud - qs) / (1 + Lv / cp * dqs)
        unsat = (delta < 0) & (cloud <= 0)
        delta[unsat] = 0.0
        cloud += delta
        Tn += Lv / cp * delta
        if np.abs(delta).max() < 1e-9:
            break
    np.maximum(cloud, 0, out=cloud)
    return Tn, cloud


@program(lambda rng, n: (n, rng.random(n * n)), 6, 40, 1e-7)
def assemble_and_solve_by_rows(n, b):
    N = n * n
    indptr = np.zeros(N + 1, dtype=np.int64)
    indices = np.zeros(5 * N, dtype=np.int64)
    values = np.zeros(5 * N)
    nnz = 0
    for i in range(n):
        for j in range(n):
            row = i * n + j
            for di, dj, v in ((0, 0, 4.0), (-1, 0, -1.0), (1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0)):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    indices[nnz] = (i + di) * n + j + dj
                    values[nnz] = v
                    nnz += 1
            indptr[row + 1] = nnz

    def matvec(p):
        out = np.zeros(N)
        for r in range(N):
            s, e = indptr[r], indptr[r + 1]
            out[r] = np.dot(values[s:e], p[indices[s:e]])
        return out

    x = np.zeros(N)
    r = b - matvec(x)
    p = r.copy()
    rs = r @ r
    for it in range(25):
        Ap = matvec(p)
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return x, it, nnz


@program(lambda rng, n: (rng.standard_normal(n), 50), 80, 40000)
def moving_mean_and_maximum(x, w):
    c = np.cumsum(np.insert(x, 0, 0.0))
    c2 = np.cumsum(np.insert(x * x, 0, 0.0))
    mean = (c[w:] - c[:-w]) / w
    var = (c2[w:] - c2[:-w]) / w - mean**2
    q = np.zeros(len(x), dtype=int)
    head = tail = 0
    mx = np.empty(len(x) - w + 1)
    for i in range(len(x)):
        while tail > head and x[q[tail - 1]] <= x[i]:
            tail -= 1
        q[tail] = i
        tail += 1
        if q[head] <= i - w:
            head += 1
        if i >= w - 1:
            mx[i - w + 1] = x[q[head]]
    return mean, np.sqrt(np.maximum(var, 0)), mx


@program(lambda rng, n: ((lambda M: M @ M.T + n * np.eye(n))(rng.random((n, n))), rng.random(n)), 7, 60)
def factor_and_solve_by_elements(A, b):
    n = len(b)
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= A[j, k] * A[j, k]
        if s <= 0:
            raise np.linalg.LinAlgError("not positive definite")
        A[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            t = A[i, j]
            for k in range(j):
                t -= A[i, k] * A[j, k]
            A[i, j] = t / A[j, j]
    y = np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - sum(A[i, k] * y[k] for k in range(i))) / A[i, i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - np.dot(A[i + 1 :, i], x[i + 1 :])) / A[i, i]
    return x
