"""Solvers with explicit loops: polyhedral kernels, triangular slices, implicit schemes, iterations with a tolerance."""

from __future__ import annotations

import numpy as np

from .registry import program


@program(lambda rng, n: (1.5, 1.2, rng.random((n, n)), rng.random((n, n))), 8, 200)
def rank_k_update(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


@program(lambda rng, n: (rng.random((n + 5, n)),), 8, 250)
def covariance_by_rows(data):
    M = data.shape[1]
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = data[:, i] @ data[:, i:M] / (data.shape[0] - 1.0)
        cov[i, i:M] = cov[i:M, i]
    return cov


@program(lambda rng, n: (rng.random((n + 5, n)),), 8, 250)
def correlation_by_rows(data):
    M = data.shape[1]
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float(data.shape[0])) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 : M, i] = corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return corr


def _spd(rng, n):
    A = rng.random((n, n))
    return (A @ A.T + n * np.eye(n),)


@program(_spd, 8, 120, rtol=1e-9)
def cholesky_by_hand(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@program(_spd, 8, 120, rtol=1e-9)
def lu_decomposition(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@program(lambda rng, n: (np.tril(rng.random((n, n))) + n * np.eye(n), np.zeros(n), rng.random(n)), 8, 1000)
def triangular_solve(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


@program(lambda rng, n: (rng.random((n + 4, n)) + np.eye(n + 4, n),), 7, 150, rtol=1e-8)
def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@program(lambda rng, n: (rng.random(n) * 0.5 / n,), 8, 400, rtol=1e-8)
def levinson_durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda rng, n: (4, n, rng.random((n, n))), 12, 100)
def alternating_directions(TSTEPS, N, u):
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    DX = 1.0 / N
    DT = 1.0 / TSTEPS
    mul1 = 2.0 * DT / (DX * DX)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    for _ in range(1, TSTEPS + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -a * u[j, 0 : N - 2] + (1.0 + 2.0 * a) * u[j, 1 : N - 1] - a * u[j, 2:N] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j] + (1.0 + 2.0 * a) * v[1 : N - 1, j] - a * v[2:N, j] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


@program(lambda rng, n: (rng.random(n), 0.4, 20), 16, 2000)
def crank_nicolson(u, r, steps):
    n = u.size
    for _ in range(steps):
        d = u.copy()
        d[1:-1] = r / 2 * u[:-2] + (1 - r) * u[1:-1] + r / 2 * u[2:]
        cp = np.zeros(n)
        dp = np.zeros(n)
        cp[1] = -r / 2 / (1 + r)
        dp[1] = d[1] / (1 + r)
        for i in range(2, n - 1):
            m = 1 + r + r / 2 * cp[i - 1]
            cp[i] = -r / 2 / m
            dp[i] = (d[i] + r / 2 * dp[i - 1]) / m
        u[0] = u[-1] = 0.0
        for i in range(n - 2, 0, -1):
            u[i] = dp[i] - cp[i] * u[i + 1]


@program(lambda rng, n: (*_spd(rng, n), rng.random(n), 1e-10), 10, 800, rtol=1e-7)
def conjugate_gradient(A, b, tol):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < tol:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


@program(lambda rng, n: (*_spd(rng, n), rng.random(n)), 10, 300, rtol=1e-7)
def power_method(A, v):
    value = 0.0
    for iteration in range(500):
        w = A @ v
        new = np.linalg.norm(w)
        v = w / new
        if abs(new - value) <= 1e-11 * new:
            break
        value = new
    return new, v / v[np.argmax(np.abs(v))]


@program(lambda rng, n: (n, rng.random(n), rng.random(n), 0.001, 200), 20, 300)
def lotka_volterra_rk4(n, prey, hunters, dt, steps):
    def f(state):
        x, y = state
        return np.array([1.1 * x - 0.4 * x * y, 0.1 * x * y - 0.4 * y])

    state = np.array([prey, hunters])
    history = np.empty((steps, 2, n))
    for t in range(steps):
        k1 = f(state)
        k2 = f(state + dt / 2 * k1)
        k3 = f(state + dt / 2 * k2)
        k4 = f(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        history[t] = state
    return history


@program(lambda rng, n: (rng.random((n, n)) + n * np.eye(n), rng.random(n), 60), 10, 600)
def jacobi_iteration(A, b, maxiter):
    x = np.zeros(A.shape[0])
    D = np.diag(A)
    R = A - np.diagflat(D)
    for i in range(maxiter):
        x_new = (b - np.dot(R, x)) / D
        if np.allclose(x, x_new, rtol=1e-12, atol=0):
            return x_new, i
        x = x_new
    return x, maxiter


@program(lambda rng, n: (rng.uniform(1, 100, n),), 50, 500_000)
def newton_square_roots(a):
    x = a.copy()
    for _ in range(30):
        new = 0.5 * (x + a / x)
        if np.max(np.abs(new - x)) < 1e-12:
            break
        x = new
    return x
