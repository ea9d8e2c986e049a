"""NumPy programs with explicit loops, as people write them: solvers, dynamic programming, sparse products, checksums.

`PROGRAMS` lists each with a function that makes its arguments from a random generator. Nothing in them knows of us.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator
PROGRAMS: list[tuple[Callable[..., Any], Callable[[Rng], tuple[Any, ...]]]] = []


def program(arguments: Callable[[Rng], tuple[Any, ...]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((fn, arguments))
        return fn

    return add


def _positive(rng: Rng, n: int) -> np.ndarray:
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


# ---- solvers ----


@program(lambda rng: (rng.normal(size=(12, 17)), 25))
def gauss_seidel(u, sweeps):
    n, m = u.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


@program(lambda rng: (rng.normal(size=(10, 10)), rng.normal(size=10)))
def gaussian_elimination(A, b):
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n - 1):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= factor * A[k, j]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * x[j]
        x[i] = s / A[i, i]
    return x


@program(lambda rng: (_positive(rng, 14),))
def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            if i == j:
                L[i, j] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L


@program(lambda rng: (_positive(rng, 11),))
def lu_in_place(A):
    n = A.shape[0]
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        for i in range(k + 1, n):
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    return A


@program(lambda rng: (np.tril(rng.normal(size=(13, 13))) + 5 * np.eye(13), rng.normal(size=13)))
def forward_substitution(L, b):
    n = b.size
    y = np.empty(n)
    for i in range(n):
        y[i] = (b[i] - np.dot(L[i, :i], y[:i])) / L[i, i]
    return y


@program(lambda rng: (np.triu(rng.normal(size=(13, 13))) + 5 * np.eye(13), rng.normal(size=13)))
def back_substitution(U, b):
    n = len(b)
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@program(lambda rng: (rng.normal(size=20), 4 + rng.random(21), rng.normal(size=20), rng.normal(size=21)))
def thomas(a, b, c, d):
    n = len(d)
    cp = np.zeros(n - 1)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n - 1):
        m = b[i] - a[i - 1] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i - 1] * dp[i - 1]) / m
    dp[n - 1] = (d[n - 1] - a[n - 2] * dp[n - 2]) / (b[n - 1] - a[n - 2] * cp[n - 2])
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


@program(lambda rng: (_positive(rng, 9), rng.normal(size=9), 60))
def jacobi(A, b, iterations):
    x = np.zeros_like(b)
    D = np.diag(A)
    R = A - np.diag(D)
    for _ in range(iterations):
        x = (b - R @ x) / D
    return x


@program(lambda rng: (_positive(rng, 15), rng.normal(size=15)))
def conjugate_gradient(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(1000):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-9:
            break
        p = r + (new / rs) * p
        rs = new
    return x


@program(lambda rng: (_positive(rng, 8),))
def power_iteration(A):
    v = np.ones(A.shape[0])
    old = 0.0
    for k in range(500):  # noqa: B007
        w = A @ v
        value = np.linalg.norm(w)
        v = w / value
        if abs(value - old) < 1e-10 * value:
            break
        old = value
    return value, k


@program(lambda rng: (rng.normal(size=(9, 6)),))
def gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v = v - R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return Q, R


# ---- dynamic programming ----


@program(lambda rng: (rng.integers(0, 4, 25), rng.integers(0, 4, 31)))
def levenshtein(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m], d


@program(lambda rng: (rng.integers(0, 4, 33).astype(np.uint8), rng.integers(0, 4, 28).astype(np.uint8)))
def smith_waterman(s, t):
    H = np.zeros((s.size + 1, t.size + 1))
    best = 0.0
    for i in range(1, s.size + 1):
        for j in range(1, t.size + 1):
            match = H[i - 1, j - 1] + (2.0 if s[i - 1] == t[j - 1] else -1.0)
            H[i, j] = max(0.0, match, H[i - 1, j] - 1.0, H[i, j - 1] - 1.0)
            if H[i, j] > best:
                best = H[i, j]
    return best, H


@program(lambda rng: (np.where(rng.random((15, 15)) < 0.3, rng.random((15, 15)), np.inf),))
def floyd_warshall(D):
    n = D.shape[0]
    for i in range(n):
        D[i, i] = 0.0
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if D[i, k] + D[k, j] < D[i, j]:
                    D[i, j] = D[i, k] + D[k, j]
    return D


@program(lambda rng: (rng.random((14, 14)),))
def floyd_warshall_by_rows(D):
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[None, k, :])
    return D


@program(lambda rng: (rng.integers(1, 12, 9), rng.integers(1, 50, 9), 40))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


@program(lambda rng: (rng.normal(size=30), rng.normal(size=27)))
def dynamic_time_warping(a, b):
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[-1, -1]


@program(lambda rng: (rng.normal(size=50),))
def largest_subarray(x):
    best = x[0]
    current = x[0]
    for i in range(1, len(x)):
        current = max(x[i], current + x[i])
        best = max(best, current)
    return best


@program(lambda rng: (rng.integers(0, 100, 40),))
def longest_increasing(x):
    length = np.ones(len(x), dtype=int)
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i] and length[j] + 1 > length[i]:
                length[i] = length[j] + 1
    return length.max()


# ---- integers and bytes ----


@program(lambda rng: (rng.integers(1, 500, 12),))
def collatz(starts):
    steps = np.zeros(len(starts), dtype=np.int64)
    for k in range(len(starts)):
        n = starts[k]
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps[k] += 1
    return steps


@program(lambda rng: (300,))
def prime_sieve(n):
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    i = 2
    while i * i <= n:
        if sieve[i]:
            for j in range(i * i, n + 1, i):
                sieve[j] = False
        i += 1
    return sieve


@program(lambda rng: (rng.integers(0, 256, 200).astype(np.uint8),))
def adler32(data):
    a, b = 1, 0
    for i in range(len(data)):
        a = (a + int(data[i])) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


@program(lambda rng: (rng.integers(0, 256, 100).astype(np.uint8),))
def crc32(data):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            if c & np.uint32(1):
                c = np.uint32(0xEDB88320) ^ (c >> np.uint32(1))
            else:
                c = c >> np.uint32(1)
        table[i] = c
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


@program(lambda rng: (rng.integers(0, 10, 300),))
def histogram(values):
    counts = np.zeros(10, dtype=np.int64)
    for v in values:
        counts[v] += 1
    return counts


@program(lambda rng: (rng.random(300), 16))
def histogram_of_floats(x, bins):
    counts = np.zeros(bins, dtype=int)
    for i in range(x.shape[0]):
        k = int(x[i] * bins)
        if 0 <= k < bins:
            counts[k] += 1
    return counts


@program(lambda rng: (rng.integers(0, 1000, 60),))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program(lambda rng: (np.sort(rng.normal(size=100)), rng.normal(size=15)))
def binary_search(table, queries):
    out = np.empty(len(queries), dtype=np.int64)
    for q in range(len(queries)):
        lo, hi = 0, len(table)
        while lo < hi:
            mid = (lo + hi) // 2
            if table[mid] < queries[q]:
                lo = mid + 1
            else:
                hi = mid
        out[q] = lo
    return out


@program(lambda rng: (rng.random((16, 12)) < 0.4, 5))
def game_of_life_by_cells(board, steps):
    n, m = board.shape
    for _ in range(steps):
        new = np.zeros_like(board)
        for i in range(n):
            for j in range(m):
                count = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            count += int(board[(i + di) % n, (j + dj) % m])
                new[i, j] = count == 3 or (board[i, j] and count == 2)
        board = new
    return board


# ---- sparse, signals, physics ----


def _csr(rng: Rng) -> tuple[Any, ...]:
    dense = rng.normal(size=(20, 15)) * (rng.random((20, 15)) < 0.2)
    indptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    rows, columns = np.nonzero(dense)
    return indptr, columns, dense[rows, columns], rng.normal(size=15)


@program(_csr)
def csr_matvec(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


@program(_csr)
def csr_matvec_by_slices(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        start, end = indptr[i], indptr[i + 1]
        y[i] = np.sum(data[start:end] * x[indices[start:end]])
    return y


@program(lambda rng: (rng.normal(size=64) + 1j * rng.normal(size=64),))
def fft_butterflies(x):
    n = len(x)
    levels = int(np.log2(n))
    out = np.empty(n, dtype=complex)
    for i in range(n):
        r = 0
        k = i
        for _ in range(levels):
            r = (r << 1) | (k & 1)
            k >>= 1
        out[r] = x[i]
    size = 2
    while size <= n:
        half = size // 2
        for start in range(0, n, size):
            for k in range(half):
                w = np.exp(-2j * np.pi * k / size)
                a = out[start + k]
                b = out[start + k + half] * w
                out[start + k] = a + b
                out[start + k + half] = a - b
        size *= 2
    return out


@program(lambda rng: (rng.normal(size=(7, 3)), rng.normal(size=(7, 3)), 1 + rng.random(7), 0.01, 20))
def n_body(pos, vel, mass, dt, steps):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                dz = pos[i, 2] - pos[j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                mag = dt / (d2 * math.sqrt(d2))
                vel[i, 0] -= dx * mass[j] * mag
                vel[i, 1] -= dy * mass[j] * mag
                vel[i, 2] -= dz * mass[j] * mag
                vel[j, 0] += dx * mass[i] * mag
                vel[j, 1] += dy * mass[i] * mag
                vel[j, 2] += dz * mass[i] * mag
        for i in range(n):
            for k in range(3):
                pos[i, k] += dt * vel[i, k]
    return pos, vel


@program(lambda rng: (rng.normal(size=(6, 3)), 1 + rng.random(6)))
def accelerations_by_vectors(pos, mass):
    acc = np.zeros_like(pos)
    for i in range(len(mass)):
        for j in range(len(mass)):
            if i != j:
                d = pos[j] - pos[i]
                acc[i] += mass[j] * d / (d @ d + 0.1) ** 1.5
    return acc


@program(lambda rng: (np.linspace(-2, 1, 14), np.linspace(-1, 1, 11), 40))
def mandelbrot(xs, ys, limit):
    counts = np.zeros((len(ys), len(xs)), dtype=np.int32)
    for i in range(len(ys)):
        for j in range(len(xs)):
            c = complex(xs[j], ys[i])
            z = 0j
            n = 0
            while abs(z) <= 2 and n < limit:
                z = z * z + c
                n += 1
            counts[i, j] = n
    return counts


@program(lambda rng: (rng.normal(size=80), 7))
def moving_average(x, w):
    out = np.empty(len(x) - w + 1)
    for i in range(len(out)):
        out[i] = x[i : i + w].mean()
    return out


@program(lambda rng: (rng.normal(size=80), 0.2))
def exponential_smoothing(x, alpha):
    y = np.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = alpha * x[t] + (1 - alpha) * y[t - 1]
    return y


@program(lambda rng: (rng.normal(size=60), rng.normal(size=5)))
def convolution(x, h):
    n = len(x) - len(h) + 1
    out = np.zeros(n)
    for i in range(n):
        for k in range(len(h)):
            out[i] += x[i + k] * h[len(h) - 1 - k]
    return out


@program(lambda rng: (rng.random((14, 14)), 1e-4))
def heat_until_steady(u, tol):
    n = 0
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        diff = np.abs(new - u).max()
        u = new
        n += 1
        if diff < tol or n >= 2000:
            break
    return u, n


@program(lambda rng: (rng.random((12, 12)), 30))
def heat_by_cells(u, steps):
    n, m = u.shape
    for _ in range(steps):
        new = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = u[i, j] + 0.1 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j])
        u = new
    return u


@program(lambda rng: (2.0 + rng.random(), 1e-12))
def newton(a, tol):
    x = a
    for k in range(50):  # noqa: B007
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < tol:
            break
    return x, k


@program(lambda rng: (-1.0, 2.0 + rng.random()))
def bisection(lo, hi):
    n = 0
    while hi - lo > 1e-10:
        mid = (lo + hi) / 2
        if mid**3 - 2 * mid - 1 > 0:
            hi = mid
        else:
            lo = mid
        n += 1
    return lo, n


@program(lambda rng: (rng.normal(size=3), 0.01, 400))
def lorenz(state, dt, n):
    path = np.empty((n, 3))
    x, y, z = state
    for i in range(n):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 8.0 / 3.0 * z
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
        path[i] = x, y, z
    return path


@program(lambda rng: (rng.normal(size=(6, 5)), rng.normal(size=(5, 7))))
def matrix_product(A, B):
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


def _distance(p, q):
    total = 0.0
    for k in range(len(p)):
        total += (p[k] - q[k]) ** 2
    return np.sqrt(total)


@program(lambda rng: (rng.normal(size=(9, 4)),))
def distances_by_a_helper(points):
    n = len(points)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            out[i, j] = out[j, i] = _distance(points[i], points[j])
    return out


@program(lambda rng: (rng.random((9, 8)), rng.random((3, 3))))
def convolve_image(image, kernel):
    h, w = image.shape
    kh, kw = kernel.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + kh, j : j + kw] * kernel)
    return out


@program(lambda rng: (rng.normal(size=(30, 2)), 3, 6))
def k_means(points, k, iterations):
    centres = points[:k].copy()
    labels = np.zeros(len(points), dtype=int)
    for _ in range(iterations):
        for i in range(len(points)):
            best = np.inf
            for c in range(k):
                d = ((points[i] - centres[c]) ** 2).sum()
                if d < best:
                    best = d
                    labels[i] = c
        for c in range(k):
            total = np.zeros(2)
            count = 0
            for i in range(len(points)):
                if labels[i] == c:
                    total += points[i]
                    count += 1
            if count > 0:
                centres[c] = total / count
    return centres, labels


@program(lambda rng: (rng.random((10, 10)) < 0.6,))
def connected_labels(grid):
    n, m = grid.shape
    labels = np.zeros((n, m), dtype=np.int64)
    current = 0
    for i in range(n):
        for j in range(m):
            if grid[i, j] and labels[i, j] == 0:
                current += 1
                labels[i, j] = current
                changed = True
                while changed:
                    changed = False
                    for a in range(n):
                        for b in range(m):
                            if grid[a, b] and labels[a, b] == 0:
                                near = (a > 0 and labels[a - 1, b] == current) or (
                                    b > 0 and labels[a, b - 1] == current
                                )
                                near = near or (a < n - 1 and labels[a + 1, b] == current)
                                if near or (b < m - 1 and labels[a, b + 1] == current):
                                    labels[a, b] = current
                                    changed = True
    return labels, current


@program(lambda rng: (rng.normal(size=200).astype(np.float32),))
def running_sum_in_single(x):
    out = np.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        s = s * 0.9 + x[i]
        out[i] = s
    return out, s


@program(lambda rng: (rng.integers(0, 256, (12, 10)).astype(np.uint8), 100))
def threshold_dither(image, level):
    img = image.astype(np.float64)
    h, w = img.shape
    for y in range(h - 1):
        for x in range(1, w - 1):
            old = img[y, x]
            new = 255.0 if old > level else 0.0
            img[y, x] = new
            err = old - new
            img[y, x + 1] += err * 7 / 16
            img[y + 1, x - 1] += err * 3 / 16
            img[y + 1, x] += err * 5 / 16
            img[y + 1, x + 1] += err * 1 / 16
    return img.astype(np.uint8)


@program(lambda rng: (rng.normal(size=(11, 4)),))
def rows_by_iteration(a):
    total = np.zeros(a.shape[1])
    largest = 0.0
    for row in a:
        total += row
        largest = max(largest, abs(row[0]))
    return total, largest


@program(lambda rng: (np.array([1, 2, 5, 10]), 60))
def ways_to_pay(coins, total):
    ways = np.zeros(total + 1, dtype=np.uint64)
    ways[0] = 1
    for c in coins:  # what the array holds bounds the indices below
        for t in range(c, total + 1):
            ways[t] += ways[t - c]
    return ways


def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@program(lambda rng: (12, rng.integers(0, 12, (30, 2)), rng.random(30)))
def spanning_tree(n, edges, weights):
    parent = np.arange(n)
    total, used = 0.0, 0
    for e in np.argsort(weights):
        a, b = edges[e]
        ra, rb = _root(parent, a), _root(parent, b)
        if ra != rb:
            parent[ra] = rb
            total += weights[e]
            used += 1
            if used == n - 1:
                break
    return parent, total, used


@program(lambda rng: (rng.random((9, 3)), rng.random((9, 3)) + 2))
def sweep_with_a_nested_helper(rhs, diagonal):
    c, d = np.empty_like(rhs), np.empty_like(rhs)

    def eliminate(k, low):
        div = 1 / (diagonal[k] - low * c[k - 1])
        c[k] = 0.5 * div
        d[k] = (rhs[k] - low * d[k - 1]) * div

    def back(k):
        return d[k] - c[k] * d[k + 1]

    c[0], d[0] = 0.5 / diagonal[0], rhs[0] / diagonal[0]
    for k in range(1, len(rhs)):
        eliminate(k, 0.25)
    for k in range(len(rhs) - 2, -1, -1):
        d[k] = back(k)
    return d
