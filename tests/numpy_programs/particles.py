"""Bodies, walkers and agents."""

from __future__ import annotations

import numpy as np

from .registry import program


def acceleration(pos, mass, G, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energy(pos, vel, mass, G):
    KE = 0.5 * np.sum(mass * vel**2)
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    I = inv_r > 0
    inv_r[I] = 1.0 / inv_r[I]
    PE = G * np.sum(np.triu(-(mass * mass.T) * inv_r, 1))
    return KE, PE


@program(lambda rng, n: (20.0 * np.ones((n, 1)) / n, rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), 6, 0.01,
                         1.0, 0.1), 8, 150, rtol=1e-8)  # fmt: skip
def n_body(mass, pos, vel, Nt, dt, G, softening):
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    KE = np.ndarray(Nt + 1, dtype=np.float64)
    PE = np.ndarray(Nt + 1, dtype=np.float64)
    KE[0], PE[0] = energy(pos, vel, mass, G)
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = energy(pos, vel, mass, G)
    return KE, PE


@program(lambda rng, n: (rng.random((n, 2)) * 10, rng.standard_normal((n, 2)), 10.0, 0.05, 5), 12, 400)
def flocking(position, velocity, box, dt, steps):
    for _ in range(steps):
        delta = position[:, None, :] - position[None, :, :]
        delta -= box * np.round(delta / box)
        distance = np.hypot(delta[..., 0], delta[..., 1])
        near = (distance > 0) & (distance < 2.5)
        count = np.maximum(near.sum(axis=1), 1).reshape(-1, 1)
        target = np.dot(near, velocity) / count
        alignment = (target - velocity) * 0.1
        cohesion = -(delta * near[..., None]).sum(axis=1) / count * 0.05
        velocity += alignment + cohesion
        speed = np.sqrt((velocity**2).sum(axis=1, keepdims=True))
        np.divide(velocity, speed, out=velocity, where=speed > 2)
        position += velocity * dt
        position %= box
    return position, velocity


@program(lambda rng, n: (rng.random((n, 3)) * 5, 5.0), 15, 500)
def lennard_jones(pos, box):
    n = len(pos)
    forces = np.zeros_like(pos)
    potential = 0.0
    for i in range(n - 1):
        rij = pos[i + 1 :] - pos[i]
        rij -= box * np.rint(rij / box)
        r2 = np.sum(rij * rij, axis=1) + 0.25
        sr6 = (1.0 / r2) ** 3
        potential += np.sum(4 * (sr6**2 - sr6))
        f = (24 * (2 * sr6**2 - sr6) / r2)[:, None] * rij
        forces[i] -= f.sum(axis=0)
        forces[i + 1 :] += f
    return forces, potential


@program(lambda rng, n: (rng.integers(0, 2, (n, n)) * 2 - 1, rng.random((6, n, n)), 0.4), 12, 300)
def ising_checkerboard(spins, uniform, beta):
    rows, columns = np.indices(spins.shape)
    for u in uniform:
        for colour in (0, 1):
            neighbours = (
                np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            )  # fmt: skip
            dE = 2 * spins * neighbours
            flip = ((rows + columns) % 2 == colour) & (u < np.exp(-beta * dE))
            spins[flip] *= -1
    return spins.mean()


@program(lambda rng, n: (rng.standard_normal((50, n)), 100.0, 0.2, 0.05, 105.0), 40, 20_000)
def asian_option(noise, s0, sigma, rate, strike):
    steps, n = noise.shape
    dt = 1.0 / steps
    increments = (rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * noise
    paths = s0 * np.exp(np.cumsum(increments, axis=0))
    payoff = np.maximum(paths.mean(axis=0) - strike, 0.0)
    price = np.exp(-rate) * payoff.mean()
    knocked = np.any(paths < 0.8 * s0, axis=0)
    payoff[knocked] = 0
    return price, np.exp(-rate) * payoff.mean(), payoff.std() / np.sqrt(n)


@program(lambda rng, n: (rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n), 0.1, 0.2),
         20, 400_000)  # fmt: skip
def black_scholes(price, strike, t, rate, vol):
    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1.0 - 1.0 / np.sqrt(2 * np.pi) * np.exp(-x * x / 2) * poly
        return np.where(x < 0, 1.0 - w, w)

    a = np.log(price / strike)
    b = t * -rate
    z = t * vol * vol * 2
    c = 0.25 * z
    y = 1.0 / np.sqrt(z)
    d1 = cdf((a - b + c) * y)
    d2 = cdf((a - b - c) * y)
    Se = np.exp(b) * strike
    call = price * d1 - Se * d2
    return call, call - price + Se


@program(lambda rng, n: (rng.random((n, 2)) * 20, rng.standard_normal((n, 2)), 20.0, 2.5, 3), 24, 150)
def linked_cells(pos, vel, box, cutoff, steps):
    n = len(pos)
    n_cells = int(box // cutoff)
    width = box / n_cells
    dt = 0.0005

    def forces(pos):
        force = np.zeros_like(pos)
        energy = 0.0
        head = -np.ones((n_cells, n_cells), dtype=int)
        following = -np.ones(n, dtype=int)
        for i in range(n):
            cx, cy = int(pos[i, 0] / width) % n_cells, int(pos[i, 1] / width) % n_cells
            following[i] = head[cx, cy]
            head[cx, cy] = i
        for i in range(n):
            cx, cy = int(pos[i, 0] / width) % n_cells, int(pos[i, 1] / width) % n_cells
            for ax in (-1, 0, 1):
                for ay in (-1, 0, 1):
                    j = head[(cx + ax) % n_cells, (cy + ay) % n_cells]
                    while j != -1:
                        if j > i:
                            d = pos[i] - pos[j]
                            d -= box * np.round(d / box)
                            r2 = np.dot(d, d)
                            if r2 < cutoff * cutoff:
                                i6 = 1.0 / max(r2, 0.5) ** 3
                                f = 24 * (2 * i6 * i6 - i6) / max(r2, 0.5)
                                force[i] += f * d
                                force[j] -= f * d
                                energy += 4 * (i6 * i6 - i6)
                        j = following[j]
        return force, energy

    force, energy = forces(pos)
    energies = []
    for _ in range(steps):
        vel += 0.5 * dt * force
        pos += dt * vel
        pos %= box
        force, energy = forces(pos)
        vel += 0.5 * dt * force
        energies.append(energy + 0.5 * np.sum(vel**2))
    return energies


@program(lambda rng, n: (100.0, 0.05, 0.2, 1.0, rng.standard_normal((n, 50))), 10, 10_000)
def knocked_out_paths(spot, rate, sigma, years, noise):
    n, steps = noise.shape
    dt = years / steps
    price = np.full(n, spot)
    alive = np.ones(n, dtype=bool)
    for t in range(steps):
        price *= np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * noise[:, t])
        alive &= price < 130.0
    payoff = np.where(alive, np.maximum(price - spot, 0), 0.0)
    return np.exp(-rate * years) * payoff.mean(), payoff.std(ddof=1) / np.sqrt(n)
