"""Flow of liquids and gases: pressure solvers with boundary rows, lattice Boltzmann, shallow water, Burgers."""

from __future__ import annotations

import numpy as np

from .registry import program


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    pn = p.copy()
    for _ in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


@program(
    lambda rng, n: (n, n, 5, 10, np.zeros((n, n)), np.zeros((n, n)), 0.001, 2 / (n - 1), 2 / (n - 1),
                    np.zeros((n, n)), 1.0, 0.1),
    21, 101,
)  # fmt: skip
def lid_driven_cavity(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    un = np.empty_like(u)
    vn = np.empty_like(v)
    b = np.zeros((ny, nx))
    for _ in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )  # fmt: skip
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )  # fmt: skip
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


@program(
    lambda rng, n: (5, np.zeros((n, n)), np.zeros((n, n)), 0.01, 2 / (n - 1), 2 / (n - 1), np.ones((n, n)), 1.0, 0.1),
    21, 101,
)  # fmt: skip
def periodic_channel(nit, u, v, dt, dx, dy, p, rho, nu):
    udiff = 1
    stepcount = 0
    un = np.empty_like(u)
    while udiff > 0.05 and stepcount < 40:
        un = u.copy()
        for _ in range(nit):
            pn = p.copy()
            p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
                2 * (dx**2 + dy**2)
            )
            p[1:-1, -1] = (
                (pn[1:-1, 0] + pn[1:-1, -2]) * dy**2 + (pn[2:, -1] + pn[0:-2, -1]) * dx**2
            ) / (2 * (dx**2 + dy**2))  # fmt: skip
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + dt + nu * dt * (
            (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2]) / dx**2
            + (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1]) / dy**2
        ) * dx  # fmt: skip
        u[1:-1, -1] = un[1:-1, -1] + dt
        u[1:-1, 0] = un[1:-1, 0] + dt
        u[0, :] = 0
        u[-1, :] = 0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        stepcount += 1
    return stepcount


@program(lambda rng, n: (n, 2 * n, 10), 16, 150)
def lattice_boltzmann(ny, nx, steps):
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    F = np.ones((ny, nx, 9))
    X, Y = np.meshgrid(range(nx), range(ny))
    F[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * X / nx * 4))
    rho = np.sum(F, 2)
    for i in range(9):
        F[:, :, i] *= 100 / rho
    cylinder = (X - nx / 4) ** 2 + (Y - ny / 2) ** 2 < (ny / 4) ** 2
    for _ in range(steps):
        for i, cx, cy in zip(range(9), cxs, cys):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        bndry = F[cylinder, :]
        bndry = bndry[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(range(9), cxs, cys, weights):
            Feq[:, :, i] = rho * w * (
                1 + 3 * (cx * ux + cy * uy) + 9 * (cx * ux + cy * uy) ** 2 / 2 - 3 * (ux**2 + uy**2) / 2
            )  # fmt: skip
        F += -(1.0 / 0.6) * (F - Feq)
        F[cylinder, :] = bndry
    return rho, ux, uy


@program(lambda rng, n: (1 + 0.1 * rng.random((n, n)), np.zeros((n, n)), np.zeros((n, n)), 0.01, 0.1, 12), 16, 500)
def shallow_water(h, u, v, dt, dx, steps):
    g = 9.81
    for _ in range(steps):
        u[:-1, :] -= dt * g * (h[1:, :] - h[:-1, :]) / dx
        v[:, :-1] -= dt * g * (h[:, 1:] - h[:, :-1]) / dx
        u[-1, :] = 0.0
        v[:, -1] = 0.0
        he = np.where(u[:-1, :] > 0, h[:-1, :], h[1:, :])
        hn = np.where(v[:, :-1] > 0, h[:, :-1], h[:, 1:])
        flux_x = np.zeros_like(h)
        flux_y = np.zeros_like(h)
        flux_x[:-1, :] = u[:-1, :] * he
        flux_y[:, :-1] = v[:, :-1] * hn
        h -= dt / dx * flux_x
        h[1:, :] += dt / dx * flux_x[:-1, :]
        h -= dt / dx * flux_y
        h[:, 1:] += dt / dx * flux_y[:, :-1]
    return h.min(), h.max()


@program(lambda rng, n: (np.sin(np.linspace(0, 2 * np.pi, n, endpoint=False)) + 1.5, 0.0005, 200), 64, 20_000)
def burgers_godunov(u, dt, steps):
    dx = 2 * np.pi / u.size
    lam = dt / dx * 0.001
    for _ in range(steps):
        left, right = u, np.roll(u, -1)
        s = 0.5 * (left + right)
        rarefaction = np.where(left > 0, 0.5 * left**2, np.where(right < 0, 0.5 * right**2, 0.0))
        shock = np.where(s > 0, 0.5 * left**2, 0.5 * right**2)
        flux = np.where(left > right, shock, rarefaction)
        u = u - lam * (flux - np.roll(flux, 1))
    return u


@program(lambda rng, n: (1 + 0.2 * (np.arange(n) < n // 2), 100), 50, 20_000)
def sod_shock_tube(rho, steps):
    gamma = 1.4
    n = rho.size
    U = np.zeros((3, n))
    U[0] = rho
    U[2] = np.where(np.arange(n) < n // 2, 1.0, 0.1) / (gamma - 1)
    dx = 1.0 / n
    for _ in range(steps):
        v = U[1] / U[0]
        p = (gamma - 1) * (U[2] - 0.5 * U[0] * v**2)
        c = np.sqrt(gamma * p / U[0])
        dt = 0.4 * dx / np.max(np.abs(v) + c)
        F = np.vstack([U[1], U[1] * v + p, (U[2] + p) * v])
        a = np.maximum(np.abs(v[:-1]) + c[:-1], np.abs(v[1:]) + c[1:])
        flux = 0.5 * (F[:, :-1] + F[:, 1:]) - 0.5 * a * (U[:, 1:] - U[:, :-1])
        U[:, 1:-1] -= dt / dx * (flux[:, 1:] - flux[:, :-1])
    return U
