"""Programs in other people's habits: numbers of Python's out of arrays, lists that grow, grids by slices, bytes, closures."""

from __future__ import annotations

import math

import numpy as np

from .registry import program


@program(lambda rng, n: (n, 6), 16, 200)
def pulse_on_a_grid(n, steps):
    y, x = np.mgrid[0:n, 0:n]
    r = np.hypot(x - n / 2, y - n / 2)
    u = np.exp(-(r**2) / 20.0)
    mask = r > n / 3
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[mask] = 0
    return u


@program(lambda rng, n: (n, 15), 10, 150)
def julia_on_open_grids(n, maxiter):
    y, x = np.ogrid[-1.4 : 1.4 : n * 1j, -1.4 : 1.4 : n * 1j]
    z = x + 1j * y
    c = -0.65 + 0.44j
    count = np.full(z.shape, maxiter, dtype=np.int32)
    for i in range(maxiter):
        z = z * z + c
        diverge = z * np.conj(z) > 4
        now = diverge & (count == maxiter)
        count[now] = i
        z[diverge] = 2
    return count


@program(lambda rng, n: (bytes(rng.bytes(n)),), 40, 5000)
def checksum_of_a_message(message):
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
    for byte in np.frombuffer(message, dtype=np.uint8):
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


@program(lambda rng, n: (rng.random(n),), 16, 2000)
def count_in_a_closure(values):
    calls = 0
    best = -np.inf

    def visit(v):
        nonlocal calls, best
        calls += 1
        if v > best:
            best = v

    for v in values:
        visit(v)
    return calls, best


@program(lambda rng, n: (rng.random((n, 3)), rng.integers(0, 3, 3).astype(np.int64) * 0 + 1), 20, 500)
def clusters_by_density(points, dummy):
    eps, min_pts = 0.2, 4
    n = len(points)
    labels = np.full(n, -1, dtype=np.int64)
    d = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    neighbours = d <= eps
    core = neighbours.sum(axis=1) >= min_pts
    cluster = 0
    for i in range(n):
        if labels[i] != -1 or not core[i]:
            continue
        stack = [i]
        labels[i] = cluster
        while stack:
            p = stack.pop()
            for q in np.flatnonzero(neighbours[p]):
                if labels[q] == -1:
                    labels[q] = cluster
                    if core[q]:
                        stack.append(q)
        cluster += 1
    return labels, cluster


@program(lambda rng, n: (rng.integers(0, 2, (n, n), dtype=np.uint8), 6), 9, 128)
def counted_life(world, steps):
    N = np.zeros(world.shape, dtype=int)
    for _ in range(steps):
        N[...] = 0
        N[1:-1, 1:-1] += (
            world[:-2, :-2]
            + world[:-2, 1:-1]
            + world[:-2, 2:]
            + world[1:-1, :-2]
            + world[1:-1, 2:]
            + world[2:, :-2]
            + world[2:, 1:-1]
            + world[2:, 2:]
        )
        birth = (N == 3)[1:-1, 1:-1] & (world[1:-1, 1:-1] == 0)
        survive = ((N == 2) | (N == 3))[1:-1, 1:-1] & (world[1:-1, 1:-1] == 1)
        world[...] = 0
        world[1:-1, 1:-1][birth | survive] = 1
    return int(world.sum())


@program(lambda rng, n: (np.ascontiguousarray(rng.standard_normal((n, 2))),), 40, 3000)
def kalman_track(z):
    F = np.array([[1.0, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    H = np.zeros((2, 4))
    H[0, 0] = H[1, 2] = 1.0
    Q = 0.01 * np.eye(4)
    R = 0.5 * np.eye(2)
    x = np.zeros(4)
    P = np.eye(4)
    out = []
    for obs in z:
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (obs - H @ x)
        P = (np.eye(4) - K @ H) @ P
        out.append(x)
    return np.array(out)


@program(lambda rng, n: (rng.standard_normal(n), 0.3), 30, 20000)
def biquad_filter(x, w0, q=0.707):
    alpha = math.sin(w0) / (2 * q)
    b0 = (1 - math.cos(w0)) / 2
    b1 = 1 - math.cos(w0)
    b2 = b0
    a0 = 1 + alpha
    a1 = -2 * math.cos(w0)
    a2 = 1 - alpha
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        y[i] = (b0 * x[i] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2) / a0
        x2, x1 = x1, x[i]
        y2, y1 = y1, y[i]
    return y


@program(lambda rng, n: (rng.integers(0, 255, (n, n)).astype(np.uint8),), 12, 200)
def otsu_threshold(img):
    hist = np.bincount(img.ravel(), minlength=256)
    total = img.size
    sum_all = np.dot(np.arange(256), hist)
    best, thr = 0.0, 0
    wb = 0
    sb = 0
    for t in range(256):
        wb += hist[t]
        if wb == 0:
            continue
        wf = total - wb
        if wf == 0:
            break
        sb += t * hist[t]
        mb = sb / wb
        mf = (sum_all - sb) / wf
        between = wb * wf * (mb - mf) ** 2
        if between > best:
            best = between
            thr = t
    return thr, (img > thr).astype(np.uint8) * 255


@program(lambda rng, n: (rng.random((n, 4)), rng.random((3, 4)), 5), 20, 2000)
def k_means_with_empty_clusters(X, C, iters):
    C = C.copy()
    for _ in range(iters):
        d = np.linalg.norm(X[:, None, :] - C[None, :, :], axis=2)
        lab = d.argmin(axis=1)
        for k in range(len(C)):
            members = X[lab == k]
            if len(members) > 0:
                C[k] = members.mean(axis=0)
    return C, lab


@program(
    lambda rng, n: (rng.random((5, n)), rng.random((5, 5)) / 5, rng.random(5) / 5, rng.integers(0, n, 4 * n)), 6, 800
)
def most_likely_path(emit, trans, start, obs):
    with np.errstate(divide="ignore"):
        le, lt, ls = np.log(emit), np.log(trans), np.log(start)
    T, K = len(obs), len(ls)
    delta = np.empty((T, K))
    psi = np.zeros((T, K), dtype=np.intp)
    delta[0] = ls + le[:, obs[0]]
    for t in range(1, T):
        scores = delta[t - 1][:, None] + lt
        psi[t] = scores.argmax(axis=0)
        delta[t] = scores.max(axis=0) + le[:, obs[t]]
    path = np.zeros(T, dtype=np.intp)
    path[-1] = delta[-1].argmax()
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return path, float(delta[-1].max())


@program(lambda rng, n: (rng.random(n) + 1j * rng.random(n),), 16, 512, rtol=1e-9)
def transform_in_place(x):
    n = len(x)
    a = np.array(x, dtype=np.complex128)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        ang = -2 * np.pi / length
        wlen = complex(math.cos(ang), math.sin(ang))
        for i in range(0, n, length):
            w = 1 + 0j
            for k in range(i, i + length // 2):
                u = a[k]
                v = a[k + length // 2] * w
                a[k] = u + v
                a[k + length // 2] = u - v
                w *= wlen
        length <<= 1
    return a


@program(lambda rng, n: (rng.random((n, n)).astype(np.float32), 4), 12, 128, rtol=1e-4)
def image_pyramid(img, levels):
    k = np.array([1, 4, 6, 4, 1], np.float32) / np.float32(16)
    out = [img]
    for _ in range(levels - 1):
        cur = out[-1]
        if min(cur.shape) < 5:
            break
        p = np.pad(cur, 2, mode="reflect")
        tmp = sum(k[i] * p[:, i : i + cur.shape[1]] for i in range(5))
        sm = sum(k[i] * tmp[i : i + cur.shape[0], :] for i in range(5))
        out.append(sm[::2, ::2])
    return out


@program(lambda rng, n: (np.linspace(-3, 3, n), 60), 9, 300)
def newton_fractal(axis, iterations):
    z = axis[None, :] + 1j * axis[:, None] + 1e-9
    for _ in range(iterations):
        dz = (z**3 - 1) / (3 * z**2)
        z -= dz
        if np.max(np.abs(dz)) < 1e-12:
            break
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    return np.argmin(np.abs(z[..., None] - roots), axis=-1)


@program(lambda rng, n: (rng.random((n, 3, 3)) + 2 * np.eye(3), rng.random((n, 3))), 5, 3000, rtol=1e-8)
def systems_one_by_one(A, b):
    out = np.empty_like(b)
    dets = []
    for i in range(len(A)):
        out[i] = np.linalg.solve(A[i], b[i])
        dets.append(np.linalg.det(A[i]))
    return out, np.array(dets)


@program(lambda rng, n: (rng.random((n, 2)),), 10, 300)
def hull_by_cross_products(points):
    pts = points[np.lexsort((points[:, 1], points[:, 0]))]
    hull = []
    for p in pts:
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) <= 0:
                hull.pop()
            else:
                break
        hull.append(p)
    return np.array(hull)
