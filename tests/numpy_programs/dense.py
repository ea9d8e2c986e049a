"""Dense matrices by hand: factorisations in the styles of textbooks, small products in nests of loops, solves on a contour."""

from __future__ import annotations

import numpy as np

from .registry import program


def _dominant(rng, n):
    return (rng.random((n, n)) + n * np.eye(n),)


def _definite(rng, n):
    A = rng.random((n, n))
    return (A @ A.T + n * np.eye(n),)


@program(_definite, 8, 300)
def cholesky_by_columns(A):
    n = A.shape[0]
    for j in range(n):
        A[j, j] = np.sqrt(A[j, j] - np.dot(A[j, :j], A[j, :j]))
        A[j + 1 :, j] = (A[j + 1 :, j] - A[j + 1 :, :j] @ A[j, :j]) / A[j, j]
    for i in range(n):
        A[i, i + 1 :] = 0.0


@program(_dominant, 8, 300)
def lu_right_looking(A):
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


@program(lambda rng, n: (rng.random((n, n)), rng.random(n)), 7, 200, rtol=1e-7)
def gaussian_elimination_with_pivots(A, b):
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@program(lambda rng, n: (rng.random((n + 5, n)),), 7, 120, rtol=1e-8)
def householder(A):
    R = A.copy()
    m, n = R.shape
    Q = np.eye(m)
    for k in range(n):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v = v / np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, np.triu(R)


@program(lambda rng, n: (rng.random((n, n)), 30), 6, 40, rtol=1e-6)
def jacobi_rotations(S, sweeps):
    """Eigenvalues of a symmetric matrix by plane rotations."""
    A = S + S.T
    n = A.shape[0]
    for sweep in range(sweeps):
        off = np.sqrt(np.sum(A**2) - np.sum(np.diag(A) ** 2))
        if off < 1e-12:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-15:
                    continue
                theta = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
                c, s = np.cos(theta), np.sin(theta)
                row_p = c * A[p, :] - s * A[q, :]
                row_q = s * A[p, :] + c * A[q, :]
                A[p, :] = row_p
                A[q, :] = row_q
                col_p = c * A[:, p] - s * A[:, q]
                col_q = s * A[:, p] + c * A[:, q]
                A[:, p] = col_p
                A[:, q] = col_q
    return np.sort(np.diag(A))


@program(lambda rng, n: (rng.random(n) * 0.5 / n,), 8, 1500, rtol=1e-8)
def toeplitz_solver(r):
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta = (1 - alpha**2) * beta
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] = y[:k] + alpha * y[:k][::-1]
        y[k] = alpha
    return y


@program(lambda rng, n: (n, n - 2, n + 1, rng.random((n, n - 2, n + 1)), rng.random((n + 1, n + 1))), 5, 70)
def fibres_times_matrix(nr, nq, np_, A, C4):
    for r in range(nr):
        for q in range(nq):
            total = np.zeros(np_)
            for p in range(np_):
                total[p] = A[r, q, :] @ C4[:, p]
            A[r, q, :] = total


@program(lambda rng, n: (rng.random((n, n)), rng.random((n, n)), 1.5, 0.5), 7, 100)
def general_products_by_loops(A, B, alpha, beta):
    n = A.shape[0]
    C = np.zeros((n, n))
    for i in range(n):
        C[i, :] *= beta
        for k in range(n):
            C[i, :] += alpha * A[i, k] * B[k, :]
    trace = 0.0
    for i in range(n):
        trace += np.tanh(C[i, i])
    return C + trace


@program(lambda rng, n: (rng.random((n + 3, n)),), 8, 200, rtol=1e-8)
def correlation_by_pairs(data):
    m, n = data.shape
    mean = data.mean(axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(m) * stddev
    corr = np.eye(n)
    for i in range(n - 1):
        corr[i + 1 : n, i] = corr[i, i + 1 : n] = data[:, i] @ data[:, i + 1 : n]
    return corr


def _complex(rng, *shape):
    return rng.random(shape) + 1j * rng.random(shape)


@program(lambda rng, n: (_complex(rng, n, 4, 4), _complex(rng, n, 4, 4), rng.integers(0, n, (n, 3)),
                         _complex(rng, 6, n, 3), 6), 4, 60)  # fmt: skip
def scattering_rates(green, coupling, neighbours, phonon, n_energies):
    n = green.shape[0]
    sigma = np.zeros((n_energies, n, 4, 4), dtype=np.complex128)
    for energy in range(n_energies):
        for shift in range(energy + 1):
            for a in range(n):
                for b in range(neighbours.shape[1]):
                    hop = coupling[a] @ green[neighbours[a, b]] @ coupling[a].conj().T
                    sigma[energy, a] += phonon[energy - shift, a, b] * hop
    return sigma


@program(lambda rng, n: (rng.random((n, n)) + 1j * rng.random((n, n)), rng.random((n, 3)), 16), 6, 100, rtol=1e-8)
def resolvent_on_a_circle(H, Y, points):
    P = np.zeros((H.shape[0], 3), dtype=np.complex128)
    for k in range(points):
        theta = 2 * np.pi * (k + 0.5) / points
        z = 2.0 * np.exp(1j * theta)
        A = z * np.eye(H.shape[0]) - H
        X = np.linalg.solve(A, Y.astype(np.complex128))
        if abs(z.imag) < 1e-12:
            X = X.real
        P += z * X / points
    return P


def _kalman(rng, n):
    F = np.eye(4) + np.diag([0.1, 0.1], 2)
    H = np.eye(2, 4)
    return rng.standard_normal((n, 2)).cumsum(axis=0), F, H, 0.01 * np.eye(4), 0.5 * np.eye(2)


@program(_kalman, 12, 5000, rtol=1e-8)
def kalman_filter(measured, F, H, Q, R):
    x = np.zeros(4)
    P = np.eye(4)
    filtered = np.empty((len(measured), 4))
    for t, z in enumerate(measured):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (np.eye(4) - K @ H) @ P
        filtered[t] = x
    return filtered, P


@program(lambda rng, n: (rng.random((n, n)), rng.random((n, n)), rng.random(n), rng.random(n)), 8, 1200)
def products_with_one_matrix(A, B, x, y):
    s = x @ A
    q = A @ y
    x1 = x + A @ y
    x2 = y + x @ A
    return s, q, x1, x2, (A @ x) @ A, 1.5 * A @ x + 1.2 * B @ x
