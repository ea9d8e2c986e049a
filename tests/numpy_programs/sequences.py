"""Strings, tables, bits and paths: loops over elements, with several conditions, that no array expression can say."""

from __future__ import annotations

import numpy as np

from .registry import program

MATCH, MISMATCH, GAP = 2, -1, -2
POLYNOMIAL = 0xEDB88320
MOD_ADLER = 65521


@program(lambda rng, n: (rng.integers(0, 4, n).astype(np.int8), rng.integers(0, 4, n + 2).astype(np.int8)), 9, 180)
def align_two_strings(a, b):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    score[:, 0] = GAP * np.arange(n + 1)
    score[0, :] = GAP * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diagonal = score[i - 1, j - 1] + (MATCH if a[i - 1] == b[j - 1] else MISMATCH)
            score[i, j] = max(diagonal, score[i - 1, j] + GAP, score[i, j - 1] + GAP)
    path = np.zeros((n + m, 2), dtype=np.int64)
    i, j, length = n, m, 0
    while i > 0 and j > 0:
        if score[i, j] == score[i - 1, j - 1] + (MATCH if a[i - 1] == b[j - 1] else MISMATCH):
            i -= 1
            j -= 1
        elif score[i, j] == score[i - 1, j] + GAP:
            i -= 1
        else:
            j -= 1
        path[length, 0] = i
        path[length, 1] = j
        length += 1
    return score[n, m], path, length


@program(lambda rng, n: (rng.integers(0, 8, n), rng.integers(0, 8, n)), 9, 300)
def longest_common_subsequence(x, y):
    table = np.zeros((len(x) + 1, len(y) + 1), dtype=int)
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] == y[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i + 1][j], table[i][j + 1])
    return table[-1][-1]


@program(lambda rng, n: (rng.random(n), rng.random(n - 2), 20), 12, 200)
def time_warping(s, t, window):
    n, m = len(s), len(t)
    w = max(window, abs(n - m))
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - w), min(m, i + w) + 1):
            distance = abs(s[i - 1] - t[j - 1])
            cost[i, j] = distance + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


@program(lambda rng, n: (rng.integers(5, 50, n + 1),), 7, 60)
def matrix_chain_order(sizes):
    n = len(sizes) - 1
    m = np.zeros((n, n), dtype=np.int64)
    s = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                q = m[i, k] + m[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if q < m[i, j]:
                    m[i, j] = q
                    s[i, j] = k
    return m[0, n - 1], s


@program(lambda rng, n: (rng.uniform(1, 10, (n, n)),), 7, 70)
def shortest_paths_with_predecessors(weights):
    n = weights.shape[0]
    dist = weights.copy()
    following = np.tile(np.arange(n), (n, 1))
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
                    following[i, j] = following[i, k]
    return dist, following


def make_table():
    table = np.zeros(256, dtype=np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ POLYNOMIAL
            else:
                crc >>= 1
        table[byte] = crc
    return table


@program(lambda rng, n: (rng.integers(0, 256, n).astype(np.uint8),), 30, 50_000)
def crc32_by_table(data):
    table = make_table()
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


@program(lambda rng, n: (rng.integers(0, 256, n).astype(np.uint8),), 30, 100_000)
def adler32_and_fletcher(data):
    a, b = 1, 0
    c0, c1 = np.uint32(0), np.uint32(0)
    for i in range(data.size):
        a = (a + int(data[i])) % MOD_ADLER
        b = (b + a) % MOD_ADLER
        c0 = (c0 + data[i]) % np.uint32(255)
        c1 = (c1 + c0) % np.uint32(255)
    return (b << 16) | a, c1 * np.uint32(256) + c0


@program(lambda rng, n: (rng.standard_normal(n) + 1j * rng.standard_normal(n),), 16, 16_384)
def radix_two_transform(x):
    n = x.shape[0]
    y = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            y[i], y[j] = y[j], y[i]
    size = 2
    while size <= n:
        half = size // 2
        twiddle = np.exp(-2j * np.pi * np.arange(half) / size)
        for start in range(0, n, size):
            even = y[start : start + half].copy()
            odd = y[start + half : start + size] * twiddle
            y[start : start + half] = even + odd
            y[start + half : start + size] = even - odd
        size *= 2
    return y


@program(lambda rng, n: (n, 60), 16, 400)
def julia_with_live_points(n, maxiter):
    y, x = np.ogrid[-1.5 : 1.5 : n * 1j, -1.5 : 1.5 : n * 1j]
    z = x + 1j * y
    counts = np.zeros(z.shape, dtype=np.int64)
    live = np.ones(z.shape, dtype=bool)
    for it in range(maxiter):
        z[live] = z[live] ** 2 + (-0.8 + 0.156j)
        escaped = np.abs(z) > 2.0
        counts[live & escaped] = it
        live &= ~escaped
        if not live.any():
            break
    return counts, live.sum()


@program(lambda rng, n: (n, n + 1, 40, 2.0), 12, 200)
def mandelbrot_of_survivors(xn, yn, maxiter, horizon):
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(-2.25, 0.75, xn)[Xi]
    Y = np.linspace(-1.25, 1.25, yn)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn
    Z = np.zeros(C.shape, np.complex128)
    for i in range(maxiter):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        I = np.abs(Z) > horizon
        N_[Xi[I], Yi[I]] = i + 1
        Z_[Xi[I], Yi[I]] = Z[I]
        np.logical_not(I, I)
        Z = Z[I]
        Xi, Yi = Xi[I], Yi[I]
        C = C[I]
    return Z_.T, N_.T


@program(lambda rng, n: (rng.random(n), 32), 50, 100_000)
def histogram_by_hand(values, bins):
    lo, hi = values.min(), values.max()
    counts = np.zeros(bins, dtype=np.int64)
    edges = np.linspace(lo, hi, bins + 1)
    for x in values.flat:
        b = int(bins * (x - lo) / (hi - lo))
        if b == bins:
            b = bins - 1
        if b >= 0 and b < bins:
            counts[b] += 1
    return counts, edges


@program(lambda rng, n: (rng.random((n, n)) * 10, rng.random((n, n)), 24), 20, 700)
def radial_profile(image, weights, bins):
    rows, columns = np.indices(image.shape)
    radius = np.hypot(rows - image.shape[0] / 2, columns - image.shape[1] / 2)
    total, edges = np.histogram(radius, bins, weights=image * weights)
    norm = np.histogram(radius, bins, weights=weights)[0]
    good = norm > 0
    profile = np.zeros(bins)
    profile[good] = total[good] / norm[good]
    return 0.5 * (edges[1:] + edges[:-1]), profile


@program(lambda rng, n: (rng.random(n) * 64, rng.standard_normal(n), 64, 0.1, 20), 40, 30_000, rtol=1e-7)
def particles_in_cells(x, v, cells, dt, steps):
    """Charge put on a grid, a field from its transform, and a push."""
    energy = np.zeros(steps)
    k = 2 * np.pi * np.fft.rfftfreq(cells)
    k[0] = 1.0
    for step in range(steps):
        left = np.floor(x).astype(int)
        part = x - left
        rho = np.bincount(left % cells, weights=1 - part, minlength=cells)
        rho += np.bincount((left + 1) % cells, weights=part, minlength=cells)
        rho = rho / len(x) * cells - 1.0
        phi = np.fft.rfft(rho) / k**2
        phi[0] = 0
        field = np.fft.irfft(-1j * k * phi, cells)
        v -= dt * ((1 - part) * field[left % cells] + part * field[(left + 1) % cells])
        x += dt * v
        x %= cells
        energy[step] = 0.5 * np.sum(field**2)
    return energy


@program(lambda rng, n: (rng.random((n, 3)), rng.standard_normal((n, 3)) * 0.1, rng.random(n) + 0.5, 0.001, 10), 5, 40,
         rtol=1e-8)  # fmt: skip
def planets(position, velocity, mass, dt, steps):
    """Pairs of bodies, one at a time, with vectors of three."""
    n = len(mass)
    for step in range(steps):
        force = np.zeros((n, 3))
        for i in range(n):
            for j in range(i + 1, n):
                d = position[j] - position[i]
                r = np.sqrt(np.dot(d, d)) + 0.01
                f = mass[i] * mass[j] / r**3 * d
                force[i] += f
                force[j] -= f
        velocity += dt * force / mass[:, np.newaxis]
        position += dt * velocity
    kinetic = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
    return kinetic


@program(
    lambda rng, n: (rng.choice([-1, 1], (n, n)), rng.integers(0, n, (20 * n, 2)), rng.random(20 * n), 0.5), 8, 2000
)
def metropolis_spins(spins, sites, uniform, beta):
    n = spins.shape[0]
    accepted = 0
    for k in range(len(sites)):
        i, j = sites[k]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        change = 2 * spins[i, j] * around
        if change <= 0 or uniform[k] < np.exp(-beta * change):
            spins[i, j] = -spins[i, j]
            accepted += 1
    return accepted, spins.mean()


@program(lambda rng, n: (110, n), 50, 3000)
def elementary_automaton(rule, n):
    table = np.array([(rule >> k) & 1 for k in range(8)], dtype=np.uint8)
    rows = np.zeros((n // 2, n), dtype=np.uint8)
    rows[0, n // 2] = 1
    for t in range(1, n // 2):
        last = rows[t - 1]
        rows[t] = table[4 * np.roll(last, 1) + 2 * last + np.roll(last, -1)]
    return rows


def _graph(rng, n):
    counts = rng.integers(1, 8, n)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return rng.random(indptr[-1]), rng.integers(0, n, indptr[-1]), indptr, rng.random(n), 5


@program(_graph, 10, 6000)
def smoothed_graph(data, indices, indptr, x, sweeps):
    n = len(indptr) - 1
    for sweep in range(sweeps):
        y = np.zeros(n)
        for i in range(n):
            y[i] = data[indptr[i] : indptr[i + 1]] @ x[indices[indptr[i] : indptr[i + 1]]]
        x = y / np.linalg.norm(y)
    return x


@program(lambda rng, n: (rng.random(n).cumsum(), rng.random(n), 0.05), 20, 100_000)
def integrate_until(t, rate, tolerance):
    """A search with several conditions."""
    total = 0.0
    k = 0
    best = -1.0
    while k < len(t) - 1 and total < 1e9 and not (best > 0.999999 and k > 10):
        step = t[k + 1] - t[k]
        if step < tolerance:
            k += 1
            continue
        total += 0.5 * (rate[k] + rate[k + 1]) * step
        best = max(best, rate[k])
        k += 1
    return total, k, best


@program(lambda rng, n: (rng.random((n, n)) < 0.55,), 10, 200)
def label_regions(mask):
    """Connected regions by spreading the smallest label."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    changed = True
    sweeps = 0
    while changed:
        padded = np.pad(labels, 1)
        padded[padded == 0] = mask.size + 1
        smallest = np.minimum.reduce([
            padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]
        ])  # fmt: skip
        spread = np.where(mask, smallest, 0)
        changed = not np.array_equal(spread, labels)
        labels = spread
        sweeps += 1
    return labels, sweeps, len(np.unique(labels)) - 1
