"""Products of matrices and vectors, sparse ones by hand, and quantum transport's nested products."""

from __future__ import annotations

import numpy as np

from .registry import program


@program(lambda rng, n: (1.5, 1.2, *[rng.random((n, n)) for _ in range(4)]), 8, 600)
def two_products(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


@program(
    lambda rng, n: (1.5, 1.2, rng.random((n, n)), *[rng.random(n) for _ in range(8)]), 8, 2500,
)  # fmt: skip
def vectors_and_a_matrix(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@program(lambda rng, n: (1.5, 1.2, rng.random((n, n)), rng.random((n, n)), rng.random((n, n))), 8, 150)
def symmetric_product(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


@program(lambda rng, n: (1.5, rng.random((n, n)), rng.random((n, n))), 8, 200)
def triangular_product(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def _csr(rng, n):
    dense = np.where(rng.random((n, n)) < 8 / n, rng.random((n, n)), 0)
    rows, columns = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.uint32)
    return starts, columns.astype(np.uint32), dense[rows, columns], rng.random(n)


@program(_csr, 12, 2000)
def sparse_times_vector(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(lambda rng, n: (rng.integers(0, n, 8 * n), rng.integers(0, n, 8 * n), rng.random(8 * n), rng.random(n)),
         12, 100_000)  # fmt: skip
def sparse_triplets(rows, columns, values, x):
    y = np.zeros_like(x)
    np.add.at(y, rows, values * x[columns])
    degree = np.bincount(rows, minlength=x.size)
    return y, y / np.maximum(degree, 1)


def _transport(rng, n):
    def complex_(*shape):
        return rng.random(shape) + 1j * rng.random(shape)

    na, nb, nk, ne, nw, no = n, 3, 2, 4, 2, 4
    return (rng.integers(0, na, (na, nb)), rng.random((na, nb, 3, no, no)), complex_(nk, ne, na, no, no),
            complex_(2, nw, na, nb, 3, 3), np.zeros((nk, ne, na, no, no), complex))  # fmt: skip


@program(_transport, 2, 6)
def self_energies(neigh_idx, dH, G, D, Sigma):
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    for i in range(D.shape[-2]):
                        for j in range(D.shape[-1]):
                            for a in range(neigh_idx.shape[0]):
                                for b in range(neigh_idx.shape[1]):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD


def _contour(rng, n):
    def complex_(*shape):
        return rng.random(shape) + 1j * rng.random(shape)

    return n, 3, complex_(8) + 0.1, complex_(4, n, n) + np.eye(n), complex_(n, 4)


@program(_contour, 6, 40, rtol=1e-8)
def contour_integral(NR, slab, int_pts, Ham, Y):
    P0 = np.zeros((NR, Y.shape[1]), dtype=np.complex128)
    P1 = np.zeros((NR, Y.shape[1]), dtype=np.complex128)
    for idx in range(int_pts.shape[0]):
        z = int_pts[idx]
        Tz = np.zeros((NR, NR), dtype=np.complex128)
        for n in range(slab + 1):
            zz = np.power(z, slab / 2 - n)
            Tz += zz * Ham[n]
        X = np.linalg.inv(Tz) @ Y
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


@program(lambda rng, n: (rng.random((n, 8)), rng.random((5, 8)), 10), 40, 20_000)
def k_means(points, centres, iterations):
    for _ in range(iterations):
        d2 = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = np.argmin(d2, axis=1)
        for k in range(len(centres)):
            members = labels == k
            if members.any():
                centres[k] = points[members].mean(axis=0)
    return labels, centres


@program(lambda rng, n: (rng.random((n, 3)), rng.random((n + 3, 3))), 10, 1200)
def distance_matrix(a, b):
    squared = np.sum(a**2, 1)[:, np.newaxis] + np.sum(b**2, 1) - 2 * a @ b.T
    d = np.sqrt(np.maximum(squared, 0))
    return d.argmin(axis=1), d.min(1), d


@program(lambda rng, n: (rng.random((n, n)),), 10, 150, rtol=1e-8)
def gauss_jordan_inverse(A):
    n = len(A)
    M = np.hstack([A + n * np.eye(n), np.eye(n)])
    for i in range(n):
        M[i] /= M[i, i]
        factors = M[:, i].copy()
        factors[i] = 0
        M -= np.outer(factors, M[i])
    return M[:, n:]


@program(lambda rng, n: (rng.random((n, n)) + n * np.eye(n), rng.random(n), 20), 24, 300, rtol=1e-8)
def smallest_residual_in_a_krylov_space(A, b, m):
    n = len(b)
    Q = np.zeros((n, m + 1))
    H = np.zeros((m + 1, m))
    beta = np.linalg.norm(b)
    Q[:, 0] = b / beta
    for k in range(m):
        y = A @ Q[:, k]
        for j in range(k + 1):
            H[j, k] = np.dot(Q[:, j], y)
            y = y - H[j, k] * Q[:, j]
        H[k + 1, k] = np.linalg.norm(y)
        if H[k + 1, k] > 1e-12 and k != m - 1:
            Q[:, k + 1] = y / H[k + 1, k]
    right = np.zeros(m + 1)
    right[0] = beta
    return Q[:, :m] @ np.linalg.lstsq(H, right, rcond=None)[0]


@program(lambda rng, n: (rng.standard_normal((n, 2)),), 8, 600, rtol=1e-8)
def track_smoothed_backwards(measured):
    F = np.eye(4) + np.diag([0.1, 0.1], 2)
    H, Q, R = np.eye(2, 4), np.eye(4) * 0.01, np.eye(2) * 0.1
    n = len(measured)
    x, P = np.zeros(4), np.eye(4)
    states, spreads = np.zeros((n, 4)), np.zeros((n, 4, 4))
    expected, expected_spreads = np.zeros((n, 4)), np.zeros((n, 4, 4))
    for t in range(n):
        x = F @ x
        P = F @ P @ F.T + Q
        expected[t], expected_spreads[t] = x, P
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x = x + K @ (measured[t] - H @ x)
        P = (np.eye(4) - K @ H) @ P
        states[t], spreads[t] = x, P
    for t in range(n - 2, -1, -1):
        G = spreads[t] @ F.T @ np.linalg.inv(expected_spreads[t + 1])
        states[t] += G @ (states[t + 1] - expected[t + 1])
        spreads[t] += G @ (spreads[t + 1] - expected_spreads[t + 1]) @ G.T
    return states, spreads
