"""Kernels of `climate.py` as loops written by hand for numba, each serial (`name`) and parallel (`name_parallel`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import prange


def _both(function: Callable[..., Any]) -> tuple[Any, Any]:
    options: dict[str, Any] = {"fastmath": True, "error_model": "numpy", "nogil": True}
    return numba.njit(**options)(function), numba.njit(parallel=True, **options)(function)


def _density(salinity, temperature, pressure):
    out = np.empty_like(salinity)
    for i in prange(salinity.shape[0]):
        for j in range(salinity.shape[1]):
            for k in range(salinity.shape[2]):
                s, t, p = salinity[i, j, k], temperature[i, j, k], pressure[i, j, k]
                root = np.sqrt(s)
                fresh = 999.842594 + t * (
                    6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9)))
                )
                a = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
                b = -5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)
                surface = fresh + s * (a + b * root + 4.8314e-4 * s)
                k_fresh = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
                k_surface = (
                    k_fresh
                    + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5)))
                    + s * root * (7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4))
                )
                k_a = (
                    3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7))
                    + s * (2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6)) + 1.91075e-4 * s * root
                )  # fmt: skip
                k_b = (
                    8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
                )
                out[i, j, k] = surface / (1.0 - p / (k_surface + p * (k_a + p * k_b)))
    return out


density, density_parallel = _both(_density)


def _enthalpy(salinity, temperature, pressure):
    out = np.empty_like(salinity)
    for i in prange(salinity.shape[0]):
        for j in range(salinity.shape[1]):
            for k in range(salinity.shape[2]):
                s, t, p = salinity[i, j, k], temperature[i, j, k], pressure[i, j, k]
                root = np.sqrt(s)
                a0 = (
                    1.0 + t * (2.8e-3 + t * (-1.5e-5 + t * 3.4e-8))
                    + s * (1.7e-3 + t * (-6.3e-6 - t * 1.1e-9) + root * 1.5e-6)
                )  # fmt: skip
                a1 = 5.1e-6 + t * (1.1e-7 - t * 2.2e-10) + s * (1.9e-8 + t * 5e-11)
                a2 = -9.4e-13 * t + 1.2e-12 * s - 3.0e-12
                b0 = (
                    999.8 + t * (7.2 + t * (-3.2e-2 + t * 8.1e-5))
                    + s * (2.9 + t * (-9.5e-3 + t * 7.0e-5) + root * 1.2e-3)
                )  # fmt: skip
                b1 = 0.5 * (1.1e-2 + t * t * 1.1e-7 + s * 5.3e-6) + 0.02
                b2 = -2.4e-8 - t * t * 2.2e-12 - 1e-10 * s
                spread = np.sqrt(b1 * b1 - b0 * b2)
                low, high = b1 - spread, b1 + spread
                n1 = a0 + (b0 / b2) * (2.0 * b1 * (a1 / b2) - a0) * 1e-3
                n0 = a1 + (2.0 * b1 / b2) * (b0 * a1 / b2 - a0) * 1e-6
                part = (n0 * b2 - n1 * b1) / (b2 * (low - high))
                logs = n1 / (2.0 * b2) * np.log(1.0 + p * (2.0 * b1 + b2 * p) / b0)
                out[i, j, k] = (
                    p * (a1 - 2.0 * a2 * b1 / b2 + 0.5 * a2 * p) / b2
                    + logs
                    + part * np.log(np.abs(1.0 + b2 * p * (high - low) / (low * (high + b2 * p))))
                )
    return out


enthalpy, enthalpy_parallel = _both(_enthalpy)


def _moist_air(temperature, humidity, pressure):
    saturated, relative = np.empty_like(humidity), np.empty_like(humidity)
    theta = np.empty_like(humidity)
    for i in prange(temperature.shape[0]):
        for j in range(temperature.shape[1]):
            for k in range(temperature.shape[2]):
                t, q, p = temperature[i, j, k], humidity[i, j, k], pressure[i, j, k]
                vapour = q * p / (0.622 + 0.378 * q)
                if t > 273.16:
                    e = 611.2 * np.exp(17.67 * (t - 273.15) / (t - 29.65))
                else:
                    e = 611.2 * np.exp(21.87 * (t - 273.16) / (t - 7.66))
                rh = min(vapour / e, 1.0)
                condensation = 1.0 / (1.0 / (t - 55.0) - np.log(rh) / 2840.0) + 55.0
                ratio = q / (1.0 - q)
                dry = t * (1e5 / p) ** (0.2854 * (1.0 - 0.28 * ratio))
                saturated[i, j, k], relative[i, j, k] = e, rh
                theta[i, j, k] = dry * np.exp((3.376 / condensation - 0.00254) * 1e3 * ratio * (1.0 + 0.81 * ratio))
    return saturated, relative, theta


moist_air, moist_air_parallel = _both(_moist_air)


def _kinetic_energy(tke, shear, buoyancy, kappa, dz, bottom):
    nx, ny, nz = tke.shape
    dt = 0.5
    new, length, surplus = np.empty_like(tke), np.empty_like(tke), np.empty((nx, ny))
    for i in prange(nx):
        delta, up, right = np.empty(nz), np.empty(nz), np.empty(nz)
        for j in range(ny):
            edge = bottom[i, j]
            for k in range(nz - 1):
                delta[k] = dt / dz[k + 1] * 0.5 * (kappa[i, j, k] + kappa[i, j, k + 1])
            delta[nz - 1] = 0.0
            for k in range(nz):
                root = np.sqrt(max(tke[i, j, k], 0.0))
                length[i, j, k] = max(1.4142 * root / np.sqrt(max(buoyancy[i, j, k], 1e-12)), 1e-2)
                damping = dt * 0.7 * root / length[i, j, k]
                a = c = d = 0.0
                b = 1.0
                if k >= edge:
                    d = tke[i, j, k] + dt * (shear[i, j, k] - kappa[i, j, k] * buoyancy[i, j, k])
                    if k < nz - 1:
                        c = -delta[k] / dz[k]
                    if k == edge:
                        b = 1.0 + delta[k] / dz[k] + damping
                    elif k == nz - 1:
                        a = -delta[k - 1] / (0.5 * dz[k])
                        b = 1.0 + delta[k - 1] / (0.5 * dz[k]) + damping
                    elif k > 0:
                        a = -delta[k - 1] / dz[k]
                        b = 1.0 + (delta[k] + delta[k - 1]) / dz[k] + damping
                if k == 0:
                    up[0], right[0] = c / b, d / b
                else:
                    norm = 1.0 / (b - a * up[k - 1])
                    up[k], right[k] = c * norm, (d - a * right[k - 1]) * norm
            x = 0.0
            for k in range(nz - 1, -1, -1):
                x = right[k] if k == nz - 1 else right[k] - up[k] * x
                value = x if k >= edge else tke[i, j, k]
                new[i, j, k] = max(value, 0.0)
                if k == nz - 1:
                    surplus[i, j] = max(-value, 0.0)
    return new, surplus, length


kinetic_energy, kinetic_energy_parallel = _both(_kinetic_energy)


def _two_stream(tau, temperature):
    columns, n = tau.shape
    top, heating = np.empty(columns), np.empty((columns, n))
    for i in prange(columns):
        through, source, net = np.empty(n), np.empty(n), np.empty(n + 1)
        down = 0.0
        net[0] = 0.0
        for k in range(n):
            through[k] = np.exp(-1.66 * tau[i, k])
            square = temperature[i, k] * temperature[i, k]
            source[k] = 5.67e-8 * square * square * (1.0 - through[k])
            down = down * through[k] + source[k]
            net[k + 1] = -down
        square = temperature[i, n - 1] * temperature[i, n - 1]
        up = 5.67e-8 * square * square
        net[n] += up
        for k in range(n - 1, -1, -1):
            up = up * through[k] + source[k]
            net[k] += up
        top[i] = net[0]
        for k in range(n):
            heating[i, k] = net[k + 1] - net[k]
    return top, heating


two_stream, two_stream_parallel = _both(_two_stream)


def _shallow_water(h, u, v):
    dt, dx, g, f = 1e-3, 0.5, 9.81, 0.1
    n, m = h.shape
    fe, fn, q = np.zeros_like(h), np.zeros_like(h), np.zeros_like(h)
    h_new, head, u_new, v_new = np.empty_like(h), np.empty_like(h), u.copy(), v.copy()
    for i in prange(n):
        for j in range(m):
            if i < n - 1:
                fe[i, j] = 0.5 * (h[i + 1, j] + h[i, j]) * u[i, j]
            if j < m - 1:
                fn[i, j] = 0.5 * (h[i, j + 1] + h[i, j]) * v[i, j]
    for i in prange(n):
        for j in range(m):
            h_new[i, j] = h[i, j]
            if 0 < i < n - 1 and 0 < j < m - 1:
                h_new[i, j] -= dt / dx * (fe[i, j] - fe[i - 1, j] + fn[i, j] - fn[i, j - 1])
            if i < n - 1 and j < m - 1:
                spin = f + ((v[i + 1, j] - v[i, j]) - (u[i, j + 1] - u[i, j])) / dx
                q[i, j] = spin / (0.25 * (h[i, j] + h[i + 1, j] + h[i, j + 1] + h[i + 1, j + 1]))
            head[i, j] = g * h_new[i, j]
            if i > 0 and j > 0:
                head[i, j] += 0.25 * (u[i, j] ** 2 + u[i - 1, j] ** 2 + v[i, j] ** 2 + v[i, j - 1] ** 2)
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            north = 0.5 * (q[i, j] * (fn[i, j] + fn[i + 1, j]) + q[i, j - 1] * (fn[i, j - 1] + fn[i + 1, j - 1]))
            u_new[i, j] += dt * (0.5 * north - (head[i + 1, j] - head[i, j]) / dx)
            east = 0.5 * (q[i, j] * (fe[i, j] + fe[i, j + 1]) + q[i - 1, j] * (fe[i - 1, j] + fe[i - 1, j + 1]))
            v_new[i, j] += dt * (-0.5 * east - (head[i, j + 1] - head[i, j]) / dx)
    return h_new, u_new, v_new


shallow_water, shallow_water_parallel = _both(_shallow_water)


@numba.njit(fastmath=True, error_model="numpy", inline="always")
def _limited_flux(behind, here, ahead, beyond, speed):
    rise = ahead - here
    upwind = here - behind if speed > 0.0 else beyond - ahead
    ratio = upwind / (1e-20 if abs(rise) < 1e-20 else rise)
    limiter = max(0.0, max(min(1.0, 2.0 * ratio), min(2.0, ratio)))
    courant = abs(speed) * 0.1
    return 0.5 * (speed * (here + ahead) - abs(speed) * ((1.0 - limiter) + courant * limiter) * rise)


def _superbee(c, u, v, w):
    nx, ny, nz = c.shape
    fx, fy, fz, new = np.zeros_like(c), np.zeros_like(c), np.zeros_like(c), c.copy()
    for i in prange(nx):
        if 0 < i < nx - 2:
            for j in range(ny):
                for k in range(nz):
                    fx[i, j, k] = _limited_flux(c[i - 1, j, k], c[i, j, k], c[i + 1, j, k], c[i + 2, j, k], u[i, j, k])
        for j in range(1, ny - 2):
            for k in range(nz):
                fy[i, j, k] = _limited_flux(c[i, j - 1, k], c[i, j, k], c[i, j + 1, k], c[i, j + 2, k], v[i, j, k])
        for j in range(ny):
            for k in range(1, nz - 2):
                fz[i, j, k] = _limited_flux(c[i, j, k - 1], c[i, j, k], c[i, j, k + 1], c[i, j, k + 2], w[i, j, k])
    for i in prange(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                new[i, j, k] -= 0.1 * (
                    fx[i, j, k] - fx[i - 1, j, k] + fy[i, j, k] - fy[i, j - 1, k] + fz[i, j, k] - fz[i, j, k - 1]
                )
    return new


superbee, superbee_parallel = _both(_superbee)


def _limited_diffusion(a):
    n, m = a.shape
    lap, new = np.empty_like(a), a.copy()
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            lap[i, j] = 4.0 * a[i, j] - (a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1])
    for i in prange(2, n - 2):
        for j in range(2, m - 2):
            east, west = lap[i + 1, j] - lap[i, j], lap[i, j] - lap[i - 1, j]
            north, south = lap[i, j + 1] - lap[i, j], lap[i, j] - lap[i, j - 1]
            east = 0.0 if east * (a[i + 1, j] - a[i, j]) > 0.0 else east
            west = 0.0 if west * (a[i, j] - a[i - 1, j]) > 0.0 else west
            north = 0.0 if north * (a[i, j + 1] - a[i, j]) > 0.0 else north
            south = 0.0 if south * (a[i, j] - a[i, j - 1]) > 0.0 else south
            new[i, j] = a[i, j] - 0.025 * (east - west + north - south)
    return new


limited_diffusion, limited_diffusion_parallel = _both(_limited_diffusion)


def _semi_lagrangian(c, u, v):
    n, m = c.shape
    out = np.empty_like(c)
    for i in prange(n):
        for j in range(m):
            x, y = i - u[i, j], j - v[i, j]
            fx, fy = np.floor(x), np.floor(y)
            ax, ay = x - fx, y - fy
            i0, j0 = int(fx) % n, int(fy) % m
            i1, j1 = (i0 + 1) % n, (j0 + 1) % m
            out[i, j] = (1.0 - ax) * ((1.0 - ay) * c[i0, j0] + ay * c[i0, j1]) + ax * (
                (1.0 - ay) * c[i1, j0] + ay * c[i1, j1]
            )
    return out


semi_lagrangian, semi_lagrangian_parallel = _both(_semi_lagrangian)


def _hydrostatics(rho, u, v, dz):
    nx, ny, nz = rho.shape
    pressure = np.empty_like(rho)
    viscosity, diffusivity = np.empty((nx, ny, nz - 1)), np.empty((nx, ny, nz - 1))
    for i in prange(nx):
        for j in range(ny):
            weight = 0.0
            for k in range(nz):
                weight += rho[i, j, k] * dz[k]
                pressure[i, j, k] = 9.81 * weight
            for k in range(nz - 1):
                stability = 9.81 / 1025.0 * (rho[i, j, k + 1] - rho[i, j, k]) / dz[k + 1]
                du, dv = (u[i, j, k + 1] - u[i, j, k]) / dz[k + 1], (v[i, j, k + 1] - v[i, j, k]) / dz[k + 1]
                richardson = stability / (du * du + dv * dv + 1e-10) if stability > 0.0 else 0.0
                slowed = 1.0 + 5.0 * richardson
                viscosity[i, j, k] = 1e-2 / (slowed * slowed) + 1e-4
                diffusivity[i, j, k] = viscosity[i, j, k] / slowed + 1e-5 if stability > 0.0 else 0.1
    return pressure, viscosity, diffusivity


hydrostatics, hydrostatics_parallel = _both(_hydrostatics)
