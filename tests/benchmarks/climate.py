"""Kernels of ocean and atmosphere models, from textbooks: long formulas, staggered slices, columns, advection.

Each is written once for NumPy, the workbench, JAX and torch; `put` writes into slices, in place or by `.at[].set`. The
hand-written numba loops are in `climate_numba.py`. Grids have the longest axes first and levels last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import climate_numba as by_hand
from .harness import Case
from .peers import contestants

SMALL, MIDDLE, LARGE, HUGE = 4_096, 65_536, 1_048_576, 4_194_304


def put(array: Any, index: Any, value: Any) -> Any:
    """`array[index] = value`, in place where arrays allow it."""
    if hasattr(array, "at"):
        return array.at[index].set(value)
    array[index] = value
    return array


def add_to(array: Any, index: Any, value: Any) -> Any:
    if hasattr(array, "at"):
        return array.at[index].add(value)
    array[index] += value
    return array


def copy_of(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def density(xp: Any, s: Any, t: Any, p: Any) -> Any:
    """Density of sea water by the secant bulk modulus (UNESCO 1981; Gill, Atmosphere-Ocean Dynamics, 1982, app. 3).
    s: practical salinity; t: degrees Celsius; p: bar."""
    root = xp.sqrt(s)
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
    k_b = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    modulus = k_surface + p * (k_a + p * k_b)
    return surface / (1.0 - p / modulus)


def enthalpy(xp: Any, s: Any, t: Any, p: Any) -> Any:
    """The integral over pressure of a specific volume (a0 + a1 p + a2 p**2) / (b0 + 2 b1 p + b2 p**2) whose coefficients
    are polynomials of salinity and temperature, in closed form: logarithms of both factors of the denominator."""
    root = xp.sqrt(s)
    a0 = 1.0 + t * (2.8e-3 + t * (-1.5e-5 + t * 3.4e-8)) + s * (1.7e-3 + t * (-6.3e-6 - t * 1.1e-9) + root * 1.5e-6)
    a1 = 5.1e-6 + t * (1.1e-7 - t * 2.2e-10) + s * (1.9e-8 + t * 5e-11)
    a2 = -9.4e-13 * t + 1.2e-12 * s - 3.0e-12
    b0 = 999.8 + t * (7.2 + t * (-3.2e-2 + t * 8.1e-5)) + s * (2.9 + t * (-9.5e-3 + t * 7.0e-5) + root * 1.2e-3)
    b1 = 0.5 * (1.1e-2 + t * t * 1.1e-7 + s * 5.3e-6) + 0.02
    b2 = -2.4e-8 - t * t * 2.2e-12 - 1e-10 * s
    spread = xp.sqrt(b1 * b1 - b0 * b2)
    low, high = b1 - spread, b1 + spread
    n1 = a0 + (b0 / b2) * (2.0 * b1 * (a1 / b2) - a0) * 1e-3
    n0 = a1 + (2.0 * b1 / b2) * (b0 * a1 / b2 - a0) * 1e-6
    part = (n0 * b2 - n1 * b1) / (b2 * (low - high))
    logs = n1 / (2.0 * b2) * xp.log(1.0 + p * (2.0 * b1 + b2 * p) / b0)
    return (
        p * (a1 - 2.0 * a2 * b1 / b2 + 0.5 * a2 * p) / b2
        + logs
        + part * xp.log(xp.abs(1.0 + b2 * p * (high - low) / (low * (high + b2 * p))))
    )


def moist_air(xp: Any, t: Any, q: Any, p: Any) -> Any:
    """Saturation, relative humidity, lifting condensation level and equivalent potential temperature (Bolton, Monthly
    Weather Review 108, 1980). t: K; q: kg/kg; p: Pa."""
    vapour = q * p / (0.622 + 0.378 * q)
    warm = 611.2 * xp.exp(17.67 * (t - 273.15) / (t - 29.65))
    cold = 611.2 * xp.exp(21.87 * (t - 273.16) / (t - 7.66))
    saturated = xp.where(t > 273.16, warm, cold)
    relative = xp.minimum(vapour / saturated, xp.ones_like(vapour))
    condensation = 1.0 / (1.0 / (t - 55.0) - xp.log(relative) / 2840.0) + 55.0
    ratio = q / (1.0 - q)
    theta = t * (1e5 / p) ** (0.2854 * (1.0 - 0.28 * ratio))
    return saturated, relative, theta * xp.exp((3.376 / condensation - 0.00254) * 1e3 * ratio * (1.0 + 0.81 * ratio))


def isoneutral(xp: Any, temp: Any, salt: Any, mask: Any, dx: Any, dz: Any) -> Any:
    """Slopes of neutral surfaces, tapered, and the mixing coefficients that follow, on triads of a C-grid (Griffies,
    Fundamentals of Ocean Climate Models, 2004, ch. 14)."""
    alpha, beta = -0.2 - 0.01 * temp, 0.8 + 0.002 * salt
    t_x, s_x = xp.zeros_like(temp), xp.zeros_like(temp)
    t_y, s_y = xp.zeros_like(temp), xp.zeros_like(temp)
    t_z, s_z = xp.zeros_like(temp), xp.zeros_like(temp)
    east, north, down = mask[1:] * mask[:-1], mask[:, 1:] * mask[:, :-1], mask[:, :, 1:] * mask[:, :, :-1]
    t_x = put(t_x, np.s_[:-1], east * (temp[1:] - temp[:-1]) / dx[:-1, None, None])
    s_x = put(s_x, np.s_[:-1], east * (salt[1:] - salt[:-1]) / dx[:-1, None, None])
    t_y = put(t_y, np.s_[:, :-1], north * (temp[:, 1:] - temp[:, :-1]) / 1.1)
    s_y = put(s_y, np.s_[:, :-1], north * (salt[:, 1:] - salt[:, :-1]) / 1.1)
    t_z = put(t_z, np.s_[:, :, :-1], down * (temp[:, :, 1:] - temp[:, :, :-1]) / dz[:-1])
    s_z = put(s_z, np.s_[:, :, :-1], down * (salt[:, :, 1:] - salt[:, :, :-1]) / dz[:-1])
    k_x, k_y, k_z = xp.zeros_like(temp), xp.zeros_like(temp), xp.zeros_like(temp)
    nz = temp.shape[2]
    for level in (0, 1):  # the upper and the lower triads
        here = np.s_[1:-2, 2:-2, 1:]
        above = slice(0, nz - 1) if level == 0 else slice(1, nz)
        for side in (0, 1):
            cell = (slice(1 + side, side - 2), slice(2, -2))
            rho_x = alpha[(*cell, slice(1, None))] * t_x[here] + beta[(*cell, slice(1, None))] * s_x[here]
            rho_z = (
                alpha[(*cell, slice(1, None))] * t_z[(*cell, above)]
                + beta[(*cell, slice(1, None))] * s_z[(*cell, above)]
            )
            slope = -rho_x / (xp.minimum(rho_z, xp.zeros_like(rho_z)) - 1e-20)
            taper = 0.5 * (1.0 + xp.tanh((4e-3 - xp.abs(slope)) / 1e-3)) * mask[here]
            k_x = add_to(k_x, here, 0.25 * dz[1:] * taper)
            k_z = add_to(k_z, here, 0.25 * taper * slope * slope)
            cell = (slice(2, -2), slice(1 + side, side - 2))
            here_y = np.s_[2:-2, 1:-2, 1:]
            rho_y = alpha[(*cell, slice(1, None))] * t_y[here_y] + beta[(*cell, slice(1, None))] * s_y[here_y]
            rho_z = (
                alpha[(*cell, slice(1, None))] * t_z[(*cell, above)]
                + beta[(*cell, slice(1, None))] * s_z[(*cell, above)]
            )
            slope = -rho_y / (xp.minimum(rho_z, xp.zeros_like(rho_z)) - 1e-20)
            taper = xp.where(xp.abs(slope) > 1e-2, (1e-2 / slope) ** 2, xp.ones_like(slope)) * mask[here_y]
            k_y = add_to(k_y, here_y, 0.25 * dz[1:] * taper)
            k_z = add_to(k_z, here_y, 0.25 * taper * slope * slope)
    return k_x, k_y, k_z


def tridiagonal(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Thomas' algorithm along the last axis."""
    n = a.shape[-1]
    up, right = [c[..., 0] / b[..., 0]], [d[..., 0] / b[..., 0]]
    for k in range(1, n):
        norm = 1.0 / (b[..., k] - a[..., k] * up[-1])
        up.append(c[..., k] * norm)
        right.append((d[..., k] - a[..., k] * right[-1]) * norm)
    x = [right[-1]]
    for k in range(n - 2, -1, -1):
        x.append(right[k] - up[k] * x[-1])
    return xp.stack(x[::-1], -1)


def kinetic_energy(xp: Any, tke: Any, shear: Any, buoyancy: Any, kappa: Any, dz: Any, bottom: Any) -> Any:
    """An implicit step of turbulent kinetic energy in the vertical (Gaspar, Gregoris and Lefevre, Journal of Geophysical
    Research 95, 1990): mixing length, sources, a tridiagonal system in every column."""
    nz, dt = tke.shape[2], 0.5
    zero = xp.zeros_like(tke)
    root = xp.sqrt(xp.maximum(tke, zero))
    length = xp.maximum(1.4142 * root / xp.sqrt(xp.maximum(buoyancy, zero + 1e-12)), zero + 1e-2)
    levels = xp.arange(nz)
    water, edge = levels >= bottom[:, :, None], levels == bottom[:, :, None]
    delta = put(xp.zeros_like(tke), np.s_[:, :, :-1], dt / dz[1:] * 0.5 * (kappa[:, :, :-1] + kappa[:, :, 1:]))
    a, b, c = xp.zeros_like(tke), xp.zeros_like(tke), xp.zeros_like(tke)
    a = put(a, np.s_[:, :, 1:-1], -delta[:, :, :-2] / dz[1:-1])
    a = put(a, np.s_[:, :, -1], -delta[:, :, -2] / (0.5 * dz[-1]))
    b = put(b, np.s_[:, :, 1:-1], 1.0 + (delta[:, :, 1:-1] + delta[:, :, :-2]) / dz[1:-1])
    b = put(b, np.s_[:, :, -1], 1.0 + delta[:, :, -2] / (0.5 * dz[-1]))
    b = b + dt * 0.7 * root / length
    c = put(c, np.s_[:, :, :-1], -delta[:, :, :-1] / dz[:-1])
    d = tke + dt * (shear - kappa * buoyancy)
    a = xp.where(water & ~edge, a, zero)
    b = xp.where(edge, 1.0 + delta / dz + dt * 0.7 * root / length, xp.where(water, b, zero + 1.0))
    c = xp.where(water, c, zero)
    solved = tridiagonal(xp, a, b, c, xp.where(water, d, zero))
    new = xp.where(water, solved, tke)
    return xp.maximum(new, zero), xp.maximum(-new[:, :, -1], zero[:, :, -1]), length


def two_stream(xp: Any, tau: Any, temperature: Any) -> Any:
    """Long-wave fluxes of absorbing and emitting layers, down and up (Petty, A First Course in Atmospheric Radiation,
    2006, ch. 8), and the heating of each layer."""
    planck, through = 5.67e-8 * temperature**4, xp.exp(-1.66 * tau)
    source = planck * (1.0 - through)
    n = tau.shape[1]
    down = [xp.zeros_like(tau[:, 0])]
    for k in range(n):
        down.append(down[-1] * through[:, k] + source[:, k])
    up = [planck[:, -1]]
    for k in range(n - 1, -1, -1):
        up.append(up[-1] * through[:, k] + source[:, k])
    net = xp.stack(up[::-1], 1) - xp.stack(down, 1)
    return net[:, 0], net[:, 1:] - net[:, :-1]


def shallow_water(xp: Any, h: Any, u: Any, v: Any) -> Any:
    """A step of the shallow-water equations in vector-invariant form on a C-grid, closed basin (Sadourny, Journal of the
    Atmospheric Sciences 32, 1975)."""
    dt, dx, g, f = 1e-3, 0.5, 9.81, 0.1
    fe, fn = xp.zeros_like(h), xp.zeros_like(h)
    fe = put(fe, np.s_[:-1], 0.5 * (h[1:] + h[:-1]) * u[:-1])
    fn = put(fn, np.s_[:, :-1], 0.5 * (h[:, 1:] + h[:, :-1]) * v[:, :-1])
    h_new = copy_of(h)
    h_new = add_to(
        h_new, np.s_[1:-1, 1:-1],
        -dt / dx * (fe[1:-1, 1:-1] - fe[:-2, 1:-1] + fn[1:-1, 1:-1] - fn[1:-1, :-2]),
    )  # fmt: skip
    q, ke = xp.zeros_like(h), xp.zeros_like(h)
    spin = f + ((v[1:, :-1] - v[:-1, :-1]) - (u[:-1, 1:] - u[:-1, :-1])) / dx
    q = put(q, np.s_[:-1, :-1], spin / (0.25 * (h[:-1, :-1] + h[1:, :-1] + h[:-1, 1:] + h[1:, 1:])))
    ke = put(ke, np.s_[1:, 1:], 0.25 * (u[1:, 1:] ** 2 + u[:-1, 1:] ** 2 + v[1:, 1:] ** 2 + v[1:, :-1] ** 2))
    head = g * h_new + ke
    u_new, v_new = copy_of(u), copy_of(v)
    inner = np.s_[1:-1, 1:-1]
    north = 0.5 * (q[1:-1, 1:-1] * (fn[1:-1, 1:-1] + fn[2:, 1:-1]) + q[1:-1, :-2] * (fn[1:-1, :-2] + fn[2:, :-2]))
    u_new = add_to(u_new, inner, dt * (0.5 * north - (head[2:, 1:-1] - head[1:-1, 1:-1]) / dx))
    east = 0.5 * (q[1:-1, 1:-1] * (fe[1:-1, 1:-1] + fe[1:-1, 2:]) + q[:-2, 1:-1] * (fe[:-2, 1:-1] + fe[:-2, 2:]))
    v_new = add_to(v_new, inner, dt * (-0.5 * east - (head[1:-1, 2:] - head[1:-1, 1:-1]) / dx))
    return h_new, u_new, v_new


def superbee(xp: Any, tracer: Any, u: Any, v: Any, w: Any) -> Any:
    """Advection of a tracer with Roe's superbee limiter in three directions (LeVeque, Finite Volume Methods for
    Hyperbolic Problems, 2002, ch. 6)."""

    def flux(behind: Any, here: Any, ahead: Any, beyond: Any, speed: Any) -> Any:
        rise = ahead - here
        upwind = xp.where(speed > 0.0, here - behind, beyond - ahead)
        ratio = upwind / xp.where(xp.abs(rise) < 1e-20, xp.full_like(rise, 1e-20), rise)
        zero = xp.zeros_like(ratio)
        limiter = xp.maximum(zero, xp.maximum(xp.minimum(zero + 1.0, 2.0 * ratio), xp.minimum(zero + 2.0, ratio)))
        courant = xp.abs(speed) * 0.1
        return 0.5 * (speed * (here + ahead) - xp.abs(speed) * ((1.0 - limiter) + courant * limiter) * rise)

    c = tracer
    fx, fy, fz = xp.zeros_like(c), xp.zeros_like(c), xp.zeros_like(c)
    fx = put(fx, np.s_[1:-2], flux(c[:-3], c[1:-2], c[2:-1], c[3:], u[1:-2]))
    fy = put(fy, np.s_[:, 1:-2], flux(c[:, :-3], c[:, 1:-2], c[:, 2:-1], c[:, 3:], v[:, 1:-2]))
    fz = put(fz, np.s_[:, :, 1:-2], flux(c[:, :, :-3], c[:, :, 1:-2], c[:, :, 2:-1], c[:, :, 3:], w[:, :, 1:-2]))
    new = copy_of(c)
    inner = np.s_[1:-1, 1:-1, 1:-1]
    return add_to(
        new, inner,
        -0.1 * (
            fx[1:-1, 1:-1, 1:-1] - fx[:-2, 1:-1, 1:-1] + fy[1:-1, 1:-1, 1:-1] - fy[1:-1, :-2, 1:-1]
            + fz[1:-1, 1:-1, 1:-1] - fz[1:-1, 1:-1, :-2]
        ),
    )  # fmt: skip


def limited_diffusion(xp: Any, a: Any) -> Any:
    """Fourth-order horizontal diffusion whose fluxes never go up the gradient (Xue, Monthly Weather Review 128, 2000)."""
    lap = 4.0 * a[1:-1, 1:-1] - (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])
    x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    x = xp.where(x * (a[2:-1, 2:-2] - a[1:-2, 2:-2]) > 0.0, xp.zeros_like(x), x)
    y = lap[1:-1, 1:] - lap[1:-1, :-1]
    y = xp.where(y * (a[2:-2, 2:-1] - a[2:-2, 1:-2]) > 0.0, xp.zeros_like(y), y)
    new = copy_of(a)
    return put(new, np.s_[2:-2, 2:-2], a[2:-2, 2:-2] - 0.025 * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1]))


def vorticity(xp: Any, z: Any, psi: Any) -> Any:
    """Arakawa's Jacobian on a doubly periodic plane (Journal of Computational Physics 1, 1966), with friction."""

    def at(a: Any, i: int, j: int) -> Any:
        return xp.roll(a, (-i, -j), (0, 1))

    first = (at(z, 1, 0) - at(z, -1, 0)) * (at(psi, 0, 1) - at(psi, 0, -1)) - (at(z, 0, 1) - at(z, 0, -1)) * (
        at(psi, 1, 0) - at(psi, -1, 0)
    )
    second = (
        at(z, 1, 0) * (at(psi, 1, 1) - at(psi, 1, -1)) - at(z, -1, 0) * (at(psi, -1, 1) - at(psi, -1, -1))
        - at(z, 0, 1) * (at(psi, 1, 1) - at(psi, -1, 1)) + at(z, 0, -1) * (at(psi, 1, -1) - at(psi, -1, -1))
    )  # fmt: skip
    third = (
        at(z, 1, 1) * (at(psi, 0, 1) - at(psi, 1, 0)) - at(z, -1, -1) * (at(psi, -1, 0) - at(psi, 0, -1))
        - at(z, -1, 1) * (at(psi, 0, 1) - at(psi, -1, 0)) + at(z, 1, -1) * (at(psi, 1, 0) - at(psi, 0, -1))
    )  # fmt: skip
    friction = at(z, 1, 0) + at(z, -1, 0) + at(z, 0, 1) + at(z, 0, -1) - 4.0 * z
    return z + 1e-3 * ((first + second + third) / 12.0 + 0.1 * friction)


def semi_lagrangian(xp: Any, c: Any, u: Any, v: Any) -> Any:
    """Values at the points of departure, bilinear, periodic (Durran, Numerical Methods for Fluid Dynamics, 2010, ch. 7)."""
    n, m = c.shape
    x = xp.arange(n)[:, None] - u
    y = xp.arange(m)[None, :] - v
    fx, fy = xp.floor(x), xp.floor(y)
    ax, ay = x - fx, y - fy
    integer = getattr(xp, "int64", None)
    i = fx.astype(integer) % n if hasattr(fx, "astype") else fx.to(integer) % n
    j = fy.astype(integer) % m if hasattr(fy, "astype") else fy.to(integer) % m
    i1, j1 = (i + 1) % n, (j + 1) % m
    return (1.0 - ax) * ((1.0 - ay) * c[i, j] + ay * c[i, j1]) + ax * ((1.0 - ay) * c[i1, j] + ay * c[i1, j1])


def hydrostatics(xp: Any, rho: Any, u: Any, v: Any, dz: Any) -> Any:
    """Pressure from the weight above, Richardson numbers and the mixing that depends on them (Pacanowski and Philander,
    Journal of Physical Oceanography 11, 1981)."""
    pressure = 9.81 * xp.cumsum(rho * dz, 2)
    stability = 9.81 / 1025.0 * (rho[:, :, 1:] - rho[:, :, :-1]) / dz[1:]
    shear = ((u[:, :, 1:] - u[:, :, :-1]) / dz[1:]) ** 2 + ((v[:, :, 1:] - v[:, :, :-1]) / dz[1:]) ** 2
    richardson = xp.where(stability > 0.0, stability / (shear + 1e-10), xp.zeros_like(shear))
    viscosity = 1e-2 / (1.0 + 5.0 * richardson) ** 2 + 1e-4
    diffusivity = xp.where(stability > 0.0, viscosity / (1.0 + 5.0 * richardson) + 1e-5, xp.full_like(shear, 0.1))
    return pressure, viscosity, diffusivity


def anomalies(xp: Any, field: Any, weights: Any) -> Any:
    """Departures from the climatology of each month, standardised, and their mean over the globe by area.
    field: (12 * years, points)."""
    months = field.reshape(-1, 12, field.shape[1])
    mean = months.mean(0)
    rest = months - mean
    spread = xp.sqrt((rest * rest).mean(0) + 1e-12)
    scores = (rest / spread).reshape(field.shape)
    return scores, (scores * weights).sum(1) / weights.sum()


def _contestants(function: Callable[..., Any], *arrays: Any) -> Any:
    name = function.__name__
    serial, parallel = getattr(by_hand, name, None), getattr(by_hand, f"{name}_parallel", None)
    return contestants(function, *arrays, by_hand=serial, parallel=parallel)


def ocean(n: int) -> tuple[int, int, int]:
    """A shape of about n elements: eight times as long and wide as deep."""
    edge = n ** (1 / 3)
    return max(int(2 * edge), 6), max(int(2 * edge), 6), max(int(edge / 4), 4)


def square(n: int) -> tuple[int, int]:
    return int(n**0.5), int(n**0.5)


def columns(n: int) -> tuple[int, int]:
    return n // 32, 32


def _inputs(function: Callable[..., Any], n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    field = rng.uniform
    match function.__name__:
        case "density" | "enthalpy":
            shape = ocean(n)
            return field(20, 40, shape), field(-2, 25, shape), field(0, 500, shape)
        case "moist_air":
            shape = ocean(n)
            return field(220, 310, shape), field(1e-4, 0.02, shape), field(2e4, 1e5, shape)
        case "isoneutral":
            shape = ocean(n)
            mask = (field(size=shape) > 0.2).astype(float)
            return field(size=shape), field(size=shape), mask, field(1, 2, shape[0]), field(1, 2, shape[2])
        case "kinetic_energy":
            shape = ocean(n)
            bottom = rng.integers(0, 3, shape[:2])
            return (*(field(0.1, 1, (4, *shape))), field(1, 2, shape[2]), bottom)
        case "two_stream":
            return field(0, 1, columns(n)), field(200, 300, columns(n))
        case "shallow_water":
            shape = square(n)
            return field(10, 11, shape), field(-1, 1, shape), field(-1, 1, shape)
        case "superbee":
            return tuple(field(-1, 1, (4, *ocean(n))))
        case "limited_diffusion":
            return (field(size=square(n)),)
        case "vorticity":
            return field(size=square(n)), field(size=square(n))
        case "semi_lagrangian":
            return tuple(field(-2, 2, (3, *square(n))))
        case "hydrostatics":
            shape = ocean(n)
            return field(1020, 1030, shape), field(-1, 1, shape), field(-1, 1, shape), field(1, 2, shape[2])
        case "anomalies":
            return field(250, 300, (120, n // 120)), field(0.1, 1, n // 120)
    raise ValueError(function.__name__)


KERNELS: dict[Callable[..., Any], tuple[int, ...]] = {
    density: (SMALL, MIDDLE, LARGE, HUGE),
    enthalpy: (SMALL, MIDDLE, LARGE),
    moist_air: (SMALL, MIDDLE, LARGE),
    isoneutral: (SMALL, MIDDLE, LARGE, HUGE),
    kinetic_energy: (SMALL, MIDDLE, LARGE),
    two_stream: (SMALL, MIDDLE, LARGE),
    shallow_water: (SMALL, MIDDLE, LARGE),
    superbee: (SMALL, MIDDLE, LARGE),
    limited_diffusion: (SMALL, MIDDLE, LARGE),
    vorticity: (SMALL, MIDDLE, LARGE),
    semi_lagrangian: (SMALL, MIDDLE, LARGE),
    hydrostatics: (SMALL, MIDDLE, LARGE),
    anomalies: (SMALL, MIDDLE, LARGE),
}


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for function, sizes in KERNELS.items():
        for n in sizes:
            arrays = _inputs(function, n, rng)
            yield Case(function.__name__.replace("_", " "), f"{n:.0e}", _contestants(function, *arrays), rtol=1e-8)
