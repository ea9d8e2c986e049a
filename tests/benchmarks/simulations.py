"""Simulations: forces of all on all, a stencil that goes round, Mandelbrot's iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np

import workbench as wb

from .harness import BASELINE, Case
from .peers import JAX, OURS, PARALLEL, contestants, jax


def forces(xp: Any, x: Any, y: Any, z: Any, mass: Any) -> Any:
    dx, dy, dz = x[None, :] - x[:, None], y[None, :] - y[:, None], z[None, :] - z[:, None]
    square = dx * dx + dy * dy + dz * dz + 0.01
    pull = mass[None, :] / (square * xp.sqrt(square))
    return xp.sum(dx * pull, 1), xp.sum(dy * pull, 1), xp.sum(dz * pull, 1)


@numba.njit(parallel=True, fastmath=True)
def forces_parallel(x, y, z, mass):
    n = x.size
    fx, fy, fz = np.empty(n), np.empty(n), np.empty(n)
    for i in numba.prange(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz + 0.01
            pull = mass[j] / (square * np.sqrt(square))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        fx[i], fy[i], fz[i] = ax, ay, az
    return fx, fy, fz


STEPS = 100


def _jacobi_step(u: Any) -> Any:
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi_numpy(u: np.ndarray) -> np.ndarray:
    u = u.copy()
    for _ in range(STEPS):
        u[1:-1, 1:-1] = _jacobi_step(u)
    return u


def jacobi_ours(u: Any) -> Any:
    def step(_: Any, u: Any) -> Any:
        u = u.copy()
        u[1:-1, 1:-1] = _jacobi_step(u)
        return u

    return wb.lax.fori_loop(0, STEPS, step, u)


@numba.njit(parallel=True, error_model="numpy")
def jacobi_parallel(u):
    u, v = u.copy(), u.copy()
    for _ in range(STEPS):
        for i in numba.prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    return u


def _in_jax_loop(step: Callable[..., Any], steps: int, *init: Any) -> Callable[[], Any]:
    compiled = jax.jit(lambda *carry: jax.lax.fori_loop(0, steps, lambda _, c: step(c), carry))
    on_device = [jax.numpy.asarray(a) for a in init]
    return lambda: jax.block_until_ready(compiled(*on_device))


def mandelbrot_numpy(c: np.ndarray) -> np.ndarray:
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            z = z * z + c
            count += (z.real * z.real + z.imag * z.imag) < 4.0
    return count


def mandelbrot_ours(c: Any) -> Any:
    def step(_: Any, carry: Any) -> Any:
        z, count = carry
        z = z * z + c
        return z, count + ((z.real * z.real + z.imag * z.imag) < 4.0)

    return wb.lax.fori_loop(0, STEPS, step, (np.zeros_like(c), np.zeros(c.shape, np.int64)))[1]


@numba.njit(parallel=True, error_model="numpy")
def mandelbrot_parallel(c):
    count = np.zeros(c.shape, np.int64)
    for i in numba.prange(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            for _ in range(STEPS):
                z = z * z + c[i, j]
                if not (z.real * z.real + z.imag * z.imag) < 4.0:
                    break
                count[i, j] += 1
    return count


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, y, z, mass = rng.uniform(size=(4, 512))
    yield Case("n-body forces", "512 bodies float64", contestants(forces, x, y, z, mass, parallel=forces_parallel))
    u = rng.uniform(size=(1024, 1024))
    ours = wb.jit(jacobi_ours)
    calls: dict[str, Callable[[], Any]] = {
        BASELINE: lambda: jacobi_numpy(u), OURS: partial(ours, u), PARALLEL: lambda: jacobi_parallel(u)
    }  # fmt: skip
    if jax is not None:
        calls[JAX] = _in_jax_loop(lambda c: (c[0].at[1:-1, 1:-1].set(_jacobi_step(c[0])),), STEPS, u)
    yield Case("Jacobi, 100 steps", "1024x1024 float64", calls)
    grid = np.linspace(-2, 0.6, 512)[None, :] + 1j * np.linspace(-1.3, 1.3, 512)[:, None]
    ours_too = wb.jit(mandelbrot_ours)
    calls = {
        BASELINE: lambda: mandelbrot_numpy(grid), OURS: partial(ours_too, grid),
        PARALLEL: lambda: mandelbrot_parallel(grid),
    }  # fmt: skip
    if jax is not None:
        jnp = jax.numpy

        def step(carry: Any) -> Any:
            z, count = carry
            z = z * z + jnp.asarray(grid)
            return z, count + ((z.real * z.real + z.imag * z.imag) < 4.0)

        looped = _in_jax_loop(step, STEPS, np.zeros_like(grid), np.zeros(grid.shape, np.int64))
        calls[JAX] = lambda: looped()[1]
    yield Case("Mandelbrot, 100 iterations", "512x512 complex128", calls)
