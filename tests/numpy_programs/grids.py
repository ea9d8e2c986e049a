"""Grids stepped in time: helpers for each term, work arrays, ghost rows, swapped time levels, convergence loops."""

from __future__ import annotations

import numpy as np

from .registry import program

SPEED = 0.5
DAMPING = 0.01
GRAVITY = np.float64(9.81)


def laplacian(field):
    return field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4.0 * field[1:-1, 1:-1]


@program(lambda rng, n: (rng.random((n, n)), 40), 12, 400)
def membrane(u, nsteps):
    """Three time levels whose names are exchanged."""
    previous = u.copy()
    following = np.zeros_like(u)
    for step in range(nsteps):
        following[1:-1, 1:-1] = (
            2.0 * u[1:-1, 1:-1] - (1.0 - DAMPING) * previous[1:-1, 1:-1] + SPEED**2 * laplacian(u)
        ) / (1.0 + DAMPING)
        following[0, :] = following[1, :]
        following[-1, :] = 0.0
        following[:, 0] = following[:, 1]
        following[:, -1] = 0.0
        previous, u, following = u, following, previous
    return u, np.sqrt(np.mean(u**2))


def update_h(hx, hy, ez, ch):
    hx[:, :-1] = hx[:, :-1] - ch * (ez[:, 1:] - ez[:, :-1])
    hy[:-1, :] = hy[:-1, :] + ch * (ez[1:, :] - ez[:-1, :])


def update_e(ez, hx, hy, ca, cb):
    ez[1:-1, 1:-1] = ca[1:-1, 1:-1] * ez[1:-1, 1:-1] + cb[1:-1, 1:-1] * (
        hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]
    )


@program(lambda rng, n: (n, 60, (1 + 3 * rng.random((n, n))).astype(np.float32)), 14, 300, rtol=1e-4)
def yee_cavity(n, nt, epsilon):
    hx = np.zeros((n, n), dtype=np.float32)
    hy = np.zeros((n, n), dtype=np.float32)
    ez = np.zeros((n, n), dtype=np.float32)
    loss = 0.02 / epsilon
    ca = (1 - loss) / (1 + loss)
    cb = (0.5 / epsilon) / (1 + loss)
    probe = np.zeros(nt)
    for t in range(nt):
        update_h(hx, hy, ez, np.float32(0.5))
        update_e(ez, hx, hy, ca, cb)
        ez[n // 2, n // 2] += np.exp(-((t - 20.0) ** 2) / 50.0)
        probe[t] = ez[n // 4, n // 4]
    return probe, ez


def thomas_inplace(lower, diag, upper, rhs, nlev):
    """Solve along the last axis; `diag` and `rhs` are overwritten."""
    for k in range(1, nlev):
        factor = lower[:, :, k] / diag[:, :, k - 1]
        diag[:, :, k] = diag[:, :, k] - factor * upper[:, :, k - 1]
        rhs[:, :, k] = rhs[:, :, k] - factor * rhs[:, :, k - 1]
    rhs[:, :, nlev - 1] /= diag[:, :, nlev - 1]
    for k in range(nlev - 2, -1, -1):
        rhs[:, :, k] = (rhs[:, :, k] - upper[:, :, k] * rhs[:, :, k + 1]) / diag[:, :, k]


@program(lambda rng, n: (rng.random((n, n, 30)), rng.random((n, n, 31)), rng.random(30) + 0.5, 0.1), 5, 100)
def vertical_diffusion(temperature, diffusivity, thickness, dt):
    ni, nj, nlev = temperature.shape
    lower = np.zeros((ni, nj, nlev))
    upper = np.zeros((ni, nj, nlev))
    diag = np.ones((ni, nj, nlev))
    for k in range(nlev):
        if k > 0:
            lower[:, :, k] = -dt * diffusivity[:, :, k] / thickness[k] ** 2
        if k < nlev - 1:
            upper[:, :, k] = -dt * diffusivity[:, :, k + 1] / thickness[k] ** 2
        diag[:, :, k] -= lower[:, :, k] + upper[:, :, k]
    thomas_inplace(lower, diag, upper, temperature, nlev)


def minmod(a, b):
    return 0.5 * (np.sign(a) + np.sign(b)) * np.minimum(np.abs(a), np.abs(b))


def superbee(r):
    return np.maximum(0.0, np.maximum(np.minimum(1, 2 * r), np.minimum(2, r)))


@program(lambda rng, n: (n, 40, 0.3), 16, 300)
def rotating_cone(n, steps, courant):
    """Advection with slope limits on a grid from mgrid."""
    y, x = np.mgrid[0 : 1 : n * 1j, 0 : 1 : n * 1j]
    q = np.maximum(0.0, 1.0 - 4.0 * np.hypot(x - 0.5, y - 0.25))
    u = -(y - 0.5)
    v = x - 0.5
    dx = x[0, 1] - x[0, 0]
    dt = courant * dx / np.abs(u).max()
    for _ in range(steps):
        padded = np.pad(q, 2, mode="edge")
        slope = minmod(padded[2:-2, 2:] - padded[2:-2, 1:-1], padded[2:-2, 1:-1] - padded[2:-2, :-2])
        left = padded[2:-2, 1:-1] + 0.5 * slope
        right = padded[2:-2, 1:-1] - 0.5 * slope
        face = np.where(u > 0, left[:, :-2], right[:, 1:-1])
        flux = u * face
        q[:, :-1] -= dt / dx * (flux[:, 1:] - flux[:, :-1])
        r = np.gradient(q, axis=0)
        q[1:, :] -= dt / dx * v[1:, :] * (q[1:, :] - q[:-1, :]) * superbee(r[1:, :] * 0 + 0.5)
    return q.sum() * dx**2, q.max(), q


@program(lambda rng, n: (n, 1e-5, 400), 12, 64)
def driven_vorticity(n, tolerance, max_iterations):
    """Stream function and vorticity, until neither moves."""
    psi = np.zeros((n, n))
    omega = np.zeros((n, n))
    h = 1.0 / (n - 1)
    error = 1.0
    iteration = 0
    while error > tolerance and iteration < max_iterations:
        old = omega.copy()
        for _ in range(3):
            psi[1:-1, 1:-1] = 0.25 * (
                psi[1:-1, 2:] + psi[1:-1, :-2] + psi[2:, 1:-1] + psi[:-2, 1:-1] + h * h * omega[1:-1, 1:-1]
            )
        omega[:, 0] = -2.0 * psi[:, 1] / h**2
        omega[:, -1] = -2.0 * psi[:, -2] / h**2
        omega[0, :] = -2.0 * psi[1, :] / h**2
        omega[-1, :] = -2.0 * psi[-2, :] / h**2 - 2.0 / h
        omega[1:-1, 1:-1] += 0.1 * (
            laplacian(old)
            - 0.25 * (psi[2:, 1:-1] - psi[:-2, 1:-1]) * (old[1:-1, 2:] - old[1:-1, :-2])
            + 0.25 * (psi[1:-1, 2:] - psi[1:-1, :-2]) * (old[2:, 1:-1] - old[:-2, 1:-1])
        )
        error = np.max(np.abs(omega - old)) / max(np.max(np.abs(old)), 1.0)
        iteration += 1
    return psi, omega, iteration


def smooth(u, f, h, sweeps):
    for _ in range(sweeps):
        for start in (1, 2):
            u[1:-1:2, start:-1:2] = 0.25 * (
                u[:-2:2, start:-1:2] + u[2::2, start:-1:2] + u[1:-1:2, start - 1 : -2 : 2]
                + u[1:-1:2, start + 1 :: 2] - h * h * f[1:-1:2, start:-1:2]
            )  # fmt: skip
            other = 3 - start
            u[2:-1:2, other:-1:2] = 0.25 * (
                u[1:-2:2, other:-1:2] + u[3::2, other:-1:2] + u[2:-1:2, other - 1 : -2 : 2]
                + u[2:-1:2, other + 1 :: 2] - h * h * f[2:-1:2, other:-1:2]
            )  # fmt: skip


def residual(u, f, h):
    r = np.zeros_like(u)
    r[1:-1, 1:-1] = f[1:-1, 1:-1] - laplacian(u) / (h * h)
    return r


def prolong(coarse, shape):
    fine = np.zeros(shape)
    fine[::2, ::2] = coarse
    fine[1::2, ::2] = 0.5 * (coarse[:-1, :] + coarse[1:, :])
    fine[:, 1::2] = 0.5 * (fine[:, :-1:2] + fine[:, 2::2])
    return fine


@program(lambda rng, n: (rng.random((2 * n + 1, 2 * n + 1)), 10), 8, 256)
def two_grids(f, cycles):
    """Red and black relaxation with one coarse grid."""
    n = f.shape[0]
    h = 1.0 / (n - 1)
    u = np.zeros_like(f)
    norms = np.empty(cycles)
    for cycle in range(cycles):
        smooth(u, f, h, 2)
        r = residual(u, f, h)
        coarse_f = r[::2, ::2].copy()
        correction = np.zeros_like(coarse_f)
        smooth(correction, coarse_f, 2 * h, 6)
        u += prolong(correction, u.shape)
        smooth(u, f, h, 1)
        norms[cycle] = np.linalg.norm(residual(u, f, h))
    return u, norms


@program(lambda rng, n: (rng.random((n, n)), rng.uniform(-2, 2, (n, n)), rng.uniform(-2, 2, (n, n)), 8), 10, 300)
def semi_lagrangian(q, u, v, steps):
    """Values fetched from where the flow came from."""
    ny, nx = q.shape
    jj, ii = np.indices((ny, nx))
    for _ in range(steps):
        xs = np.clip(ii - u, 0, nx - 1.001)
        ys = np.clip(jj - v, 0, ny - 1.001)
        i0 = xs.astype(int)
        j0 = ys.astype(int)
        fx = xs - i0
        fy = ys - j0
        q = (
            (1 - fx) * (1 - fy) * q[j0, i0] + fx * (1 - fy) * q[j0, i0 + 1]
            + (1 - fx) * fy * q[j0 + 1, i0] + fx * fy * q[j0 + 1, i0 + 1]
        )  # fmt: skip
    return q


@program(lambda rng, n: (rng.uniform(-10, 15, (60, n)), rng.exponential(3, (60, n)), 150.0), 20, 30_000)
def snow_and_soil(temperature, precipitation, capacity):
    """Stores that fill, melt and spill over, under masks, day after day."""
    days, cells = temperature.shape
    snow = np.zeros(cells)
    soil = np.full(cells, 0.5 * capacity)
    runoff = np.empty((days, cells))
    for day in range(days):
        t = temperature[day]
        p = precipitation[day]
        frozen = t < 0
        snow[frozen] += p[frozen]
        melt = np.where(frozen, 0.0, np.minimum(snow, 3.0 * t))
        snow -= melt
        water = np.where(frozen, 0.0, p) + melt
        soil += water
        spilled = soil > capacity
        runoff[day] = 0.0
        runoff[day, spilled] = soil[spilled] - capacity
        soil[spilled] = capacity
        soil *= 0.99
    return runoff.sum(axis=1), snow, soil


@program(lambda rng, n: (n, 12, 0.002), 16, 128)
def spectral_turbulence(n, steps, viscosity):
    """Vorticity in Fourier space, with products in real space."""
    k = np.fft.fftfreq(n, 1.0 / n)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    k2 = kx**2 + ky**2
    inverse = np.where(k2 == 0, 0.0, 1.0 / np.where(k2 == 0, 1.0, k2))
    keep = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    w = np.sin(x)[:, None] * np.cos(2 * x)[None, :] + 0.1 * np.cos(3 * x)[:, None]
    wh = np.fft.fft2(w)
    dt = 0.01
    for _ in range(steps):
        psi = wh * inverse
        u = np.real(np.fft.ifft2(1j * ky * psi))
        v = np.real(np.fft.ifft2(-1j * kx * psi))
        wx = np.real(np.fft.ifft2(1j * kx * wh))
        wy = np.real(np.fft.ifft2(1j * ky * wh))
        advection = np.fft.fft2(u * wx + v * wy)
        advection[~keep] = 0
        wh = (wh - dt * advection) / (1.0 + viscosity * dt * k2)
    return np.fft.ifft2(wh).real


@program(lambda rng, n: (rng.random((n + 2, n + 2, n + 2)).astype(np.float32), 6), 6, 90, rtol=1e-4)
def twenty_seven_points(u, steps):
    """Neighbours by distance, in float32."""
    c = np.array([0.5, 0.05, 0.012, 0.007], dtype=np.float32)
    v = np.empty_like(u)
    for _ in range(steps):
        v[:] = u
        acc = c[0] * v[1:-1, 1:-1, 1:-1]
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                for dk in (-1, 0, 1):
                    order = abs(di) + abs(dj) + abs(dk)
                    if order == 0:
                        continue
                    n = u.shape[0]
                    acc = acc + c[order] * v[1 + di : n - 1 + di, 1 + dj : n - 1 + dj, 1 + dk : n - 1 + dk]
        u[1:-1, 1:-1, 1:-1] = acc
