"""Kernels of ocean and climate models: equation of state, turbulence closure, isoneutral mixing."""

from __future__ import annotations

import numpy as np

from .registry import program


def _water(rng, n):
    return rng.uniform(20, 40, (n, n, 26)), rng.uniform(-2, 25, (n, n, 26)), rng.uniform(0, 1000, (n, n, 26))


@program(_water, 6, 110)
def density_of_seawater(sa, ct, p):
    """A rational function of salinity, temperature and pressure."""
    t, s, z = ct, sa, p
    root = np.sqrt(np.abs(s))
    top = (
        9.998e2 + t * (2.84 + t * (-2.83e-2 + t * (1.7e-3 - 5.6e-6 * t)))
        + s * (2.43 + t * (-2.2e-3 + t * 8.1e-6) + root * (1.1e-2 + t * (2.3e-4 + t * -1.4e-6)))
        + z * (1.9e-2 + t * t * (1.1e-6 * t) + s * 5.3e-6 + z * (-2.4e-8 + t * 2.2e-11))
    )  # fmt: skip
    bottom = (
        1.0 + t * (2.83e-3 + t * (-1.5e-5 + t * 3.5e-8)) + s * (1.7e-3 + t * (-6.3e-6 + t * -1.1e-9) + root * 1.5e-6)
        + z * (5.1e-6 + z * t**3 * -1.1e-17 + z * z * t * -9.4e-18)
    )  # fmt: skip
    return top / bottom


def solve_tridiag(a, b, c, d):
    """Thomas' algorithm along the last axis."""
    n = a.shape[-1]
    cp = np.zeros_like(a)
    dp = np.zeros_like(a)
    cp[..., 0] = c[..., 0] / b[..., 0]
    dp[..., 0] = d[..., 0] / b[..., 0]
    for i in range(1, n):
        norm = 1.0 / (b[..., i] - a[..., i] * cp[..., i - 1])
        cp[..., i] = c[..., i] * norm
        dp[..., i] = (d[..., i] - a[..., i] * dp[..., i - 1]) * norm
    x = np.zeros_like(a)
    x[..., n - 1] = dp[..., n - 1]
    for i in range(n - 2, -1, -1):
        x[..., i] = dp[..., i] - cp[..., i] * x[..., i + 1]
    return x


def where(mask, a, b):
    return np.where(mask, a, b)


def _turbulence(rng, n):
    shape = (n, n, 20)
    return (
        rng.random(shape), rng.random(shape), rng.random(shape), rng.random((n, n)), rng.random(shape) + 0.5,
        rng.integers(-1, 20, (n, n)), 0.3, rng.random(20) + 1.0,
    )  # fmt: skip


@program(_turbulence, 6, 80)
def turbulent_kinetic_energy(tke, shear, buoyancy, forcing, kappa, kbot, dt, dzw):
    nz = tke.shape[2]
    sqrttke = np.sqrt(np.maximum(0.0, tke))
    mixing_length = np.sqrt(2) * sqrttke / np.sqrt(np.maximum(1e-12, buoyancy))
    for k in range(nz - 2, -1, -1):
        mixing_length[:, :, k] = np.minimum(mixing_length[:, :, k], mixing_length[:, :, k + 1] + dzw[k])
    mixing_length = np.maximum(mixing_length, 1e-2)
    ks = kbot - 1
    land_mask = ks >= 0
    edge_mask = land_mask[..., None] & (np.arange(nz)[None, None, :] == ks[..., None])
    water_mask = land_mask[..., None] & (np.arange(nz)[None, None, :] >= ks[..., None])
    delta = np.zeros_like(tke)
    delta[:, :, :-1] = dt / dzw[1:] * 0.5 * (kappa[:, :, :-1] + kappa[:, :, 1:])
    a, b, c, d = np.zeros_like(tke), np.zeros_like(tke), np.zeros_like(tke), np.zeros_like(tke)
    a[:, :, 1:-1] = -delta[:, :, :-2] / dzw[1:-1]
    a[:, :, -1] = -delta[:, :, -2] / (0.5 * dzw[-1])
    b[:, :, 1:-1] = 1 + (delta[:, :, 1:-1] + delta[:, :, :-2]) / dzw[1:-1] + dt * 0.7 / mixing_length[:, :, 1:-1]
    b[:, :, -1] = 1 + delta[:, :, -2] / (0.5 * dzw[-1])
    c[:, :, :-1] = -delta[:, :, :-1] / dzw[:-1]
    d[...] = tke + dt * (shear - kappa * buoyancy)
    d[:, :, -1] += dt * forcing / (0.5 * dzw[-1])
    a *= water_mask
    a[edge_mask] = 0.0
    b = where(edge_mask, 1 + delta / dzw + dt * 0.7 / mixing_length, where(water_mask, b, 1.0))
    c = where(water_mask, c, 0.0)
    d = where(water_mask, d, 0.0)
    sol = solve_tridiag(a, b + (b == 0), c, d)
    tke[:, :, :] = np.where(water_mask, sol, tke)
    surplus = np.maximum(0.0, -tke[:, :, -1])
    tke[:, :, -1] = np.maximum(0.0, tke[:, :, -1])
    return sqrttke, mixing_length, surplus


def dm_taper(sx):
    return 0.5 * (1.0 + np.tanh((-np.abs(sx) + 4e-3) / 1e-3))


def _isoneutral(rng, n):
    shape = (n, n, 20)
    mask = (rng.random(shape) > 0.2).astype("f8")
    return rng.random(shape), rng.random(shape), mask, rng.random(n) + 1, rng.random(n) + 1, rng.random(20) + 1


@program(_isoneutral, 8, 80)
def isoneutral_mixing(temp, salt, mask, dxt, dyt, dzw):
    epsln = 1e-20
    drdT, drdS = -0.2 - 0.01 * temp, 0.8 + 0.005 * salt
    K_11 = np.zeros_like(temp)
    K_22 = np.zeros_like(temp)
    K_33 = np.zeros_like(temp)
    Ai_ez = np.zeros((*temp.shape, 2, 2))
    ddzt = np.zeros_like(temp)
    ddxt = np.zeros_like(temp)
    ddzt[:, :, :-1] = mask[:, :, 1:] * (temp[:, :, 1:] - temp[:, :, :-1]) / dzw[:-1]
    ddxt[:-1, :, :] = mask[:-1, :, :] * mask[1:, :, :] * (temp[1:, :, :] - temp[:-1, :, :]) / dxt[:-1, None, None]
    ddzs = np.zeros_like(temp)
    ddxs = np.zeros_like(temp)
    ddzs[:, :, :-1] = mask[:, :, 1:] * (salt[:, :, 1:] - salt[:, :, :-1]) / dzw[:-1]
    ddxs[:-1] = mask[:-1] * mask[1:] * (salt[1:] - salt[:-1]) / dxt[:-1, np.newaxis, np.newaxis]
    for kr in range(2):
        ki = 0 if kr == 1 else 1
        sumz = np.zeros((temp.shape[0] - 3, temp.shape[1] - 4, temp.shape[2] - ki))
        for ip in range(2):
            drodxe = (
                drdT[1 + ip : -2 + ip, 2:-2, ki:] * ddxt[1:-2, 2:-2, ki:]
                + drdS[1 + ip : -2 + ip, 2:-2, ki:] * ddxs[1:-2, 2:-2, ki:]
            )
            drodze = (
                drdT[1 + ip : -2 + ip, 2:-2, ki:] * ddzt[1 + ip : -2 + ip, 2:-2, : -1 + kr or None]
                + drdS[1 + ip : -2 + ip, 2:-2, ki:] * ddzs[1 + ip : -2 + ip, 2:-2, : -1 + kr or None]
            )
            sxe = -drodxe / (np.minimum(0.0, drodze) - epsln)
            taper = dm_taper(sxe)
            sumz[:, :, :] += dzw[: temp.shape[2] - ki] * np.maximum(1e-3, mask[1:-2, 2:-2, ki:] * taper)
            Ai_ez[1:-2, 2:-2, ki:, ip, kr] = taper * sxe * mask[1:-2, 2:-2, ki:]
        K_11[1:-2, 2:-2, ki:] += sumz / (4.0 * dzw[: temp.shape[2] - ki])
    K_22[2:-2, 1:-2, :] = np.cumsum(np.where(mask > 0, K_11, 0.0), axis=2)[2:-2, 1:-2, :] * dyt[1:-2, None]
    sumx = np.sum(np.sum(Ai_ez**2, axis=-1), axis=-1)
    K_33[1:-1, 1:-1, :-1] = mask[1:-1, 1:-1, :-1] * 0.25 * (sumx[1:-1, 1:-1, :-1] + sumx[:-2, 1:-1, :-1])
    K_33[:, :, -1] = 0.0
    return K_11, K_22, K_33, Ai_ez


@program(lambda rng, n: (rng.uniform(0, 1, (n, 40)), rng.uniform(200, 300, (n, 41)), 5.67e-8), 10, 20_000)
def two_stream_radiation(tau, temperature, sigma):
    n, nlev = tau.shape
    up = np.empty((n, nlev + 1))
    down = np.empty((n, nlev + 1))
    planck = sigma * temperature**4
    transmission = np.exp(-tau)
    down[:, 0] = 0.0
    for k in range(nlev):
        down[:, k + 1] = down[:, k] * transmission[:, k] + planck[:, k] * (1 - transmission[:, k])
    up[:, nlev] = planck[:, nlev]
    for k in range(nlev - 1, -1, -1):
        up[:, k] = up[:, k + 1] * transmission[:, k] + planck[:, k] * (1 - transmission[:, k])
    heating = np.diff(up - down, axis=1)
    return up[:, 0].mean(), heating
