"""Searches for the best: simplexes, descent by coordinates and by examples, populations, prices by rollback."""

from __future__ import annotations

import numpy as np

from .registry import program


@program(lambda rng, n: (rng.normal(size=3), n), 20, 90, rtol=1e-5)
def downhill_simplex(start, n_steps):
    def valley(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    n = len(start)
    corners = [start]
    for i in range(n):
        corner = start.copy()
        corner[i] += 0.5
        corners.append(corner)
    corners = np.array(corners)
    heights = np.array([valley(c) for c in corners])
    for _ in range(n_steps):
        order = np.argsort(heights)
        corners, heights = corners[order], heights[order]
        middle = corners[:-1].mean(axis=0)
        reflected = 2 * middle - corners[-1]
        height = valley(reflected)
        if height < heights[0]:
            further = 3 * middle - 2 * corners[-1]
            if valley(further) < height:
                reflected, height = further, valley(further)
            corners[-1], heights[-1] = reflected, height
        elif height < heights[-2]:
            corners[-1], heights[-1] = reflected, height
        else:
            nearer = 0.5 * (middle + corners[-1])
            height = valley(nearer)
            if height < heights[-1]:
                corners[-1], heights[-1] = nearer, height
            else:
                for i in range(1, n + 1):
                    corners[i] = corners[0] + 0.5 * (corners[i] - corners[0])
                    heights[i] = valley(corners[i])
    return corners[0], heights[0]


@program(lambda rng, n: (rng.random((n, n + 5)), rng.random(n) * 10 + 1, rng.random(n + 5)), 6, 40)
def simplex_tableau(A, b, c):
    m, n = A.shape
    T = np.zeros((m + 1, n + m + 1))
    T[:m, :n] = A
    T[:m, n : n + m] = np.eye(m)
    T[:m, -1] = b
    T[-1, :n] = -c
    basis = list(range(n, n + m))
    pivots = 0
    while True:
        j = int(np.argmin(T[-1, :-1]))
        if T[-1, j] >= -1e-9:
            break
        column = T[:m, j]
        ratios = np.where(column > 1e-9, T[:m, -1] / np.where(column > 1e-9, column, 1), np.inf)
        i = int(np.argmin(ratios))
        if not np.isfinite(ratios[i]):
            raise ValueError("unbounded")
        T[i] /= T[i, j]
        for r in range(m + 1):
            if r != i:
                T[r] -= T[r, j] * T[i]
        basis[i] = j
        pivots += 1
    x = np.zeros(n + m)
    x[basis] = T[:m, -1]
    return x[:n], T[-1, -1], pivots


@program(lambda rng, n: (rng.normal(size=(n, 10)), np.sign(rng.normal(size=n)), rng.integers(0, n, 5 * n)), 20, 400)
def largest_margin(X, y, order, lam=0.01):
    w = np.zeros(X.shape[1])
    for t, i in enumerate(order, start=1):
        eta = 1 / (lam * t)
        if y[i] * np.dot(w, X[i]) < 1:
            w = (1 - eta * lam) * w + eta * y[i] * X[i]
        else:
            w = (1 - eta * lam) * w
    return w


@program(lambda rng, n: (rng.normal(size=(3 * n, n)), rng.normal(size=3 * n)), 6, 60)
def lasso_by_coordinates(X, y, lam=5.0, sweeps=20):
    w = np.zeros(X.shape[1])
    squares = (X**2).sum(axis=0)
    rest = y - X @ w
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            rho = X[:, j] @ rest + squares[j] * w[j]
            new = np.sign(rho) * max(abs(rho) - lam, 0) / squares[j]
            rest += X[:, j] * (w[j] - new)
            w[j] = new
    return w


@program(lambda rng, n: (rng.random((n, 3)) * 10 - 5,), 6, 60, rtol=1e-6)
def swarm_of_a_seed(x):
    rng = np.random.RandomState(0)

    def heights(x):
        return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10, axis=-1)

    v = np.zeros_like(x)
    mine, best = x.copy(), heights(x)
    leader = mine[best.argmin()].copy()
    for _ in range(30):
        r1, r2 = rng.rand(*x.shape), rng.rand(*x.shape)
        v = 0.7 * v + 1.5 * r1 * (mine - x) + 1.5 * r2 * (leader - x)
        x = x + v
        found = heights(x)
        better = found < best
        mine[better] = x[better]
        best[better] = found[better]
        leader = mine[best.argmin()].copy()
    return leader, best.min()


@program(lambda rng, n: (100.0 * rng.uniform(0.9, 1.1), 105.0, 0.05, 0.2, 1.0, n), 10, 600)
def american_put_by_rollback(price, strike, rate, volatility, years, n):
    dt = years / n
    up = np.exp(volatility * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    prices = price * up ** np.arange(n, -1, -1) * down ** np.arange(0, n + 1)
    values = np.maximum(strike - prices, 0)
    for _ in range(n - 1, -1, -1):
        prices = prices[:-1] * down
        values = discount * (p * values[:-1] + (1 - p) * values[1:])
        values = np.maximum(values, strike - prices)
    return values[0]


@program(lambda rng, n: (rng.random((n, n, 3)), n // 2), 8, 30, rtol=1e-9)
def hanging_cloth(position, steps):
    before = position.copy()
    gravity = np.array([0, 0, -9.81])
    dt, rest = 0.005, 1 / (len(position) - 1)
    for _ in range(steps):
        position, before = 2 * position - before + gravity * dt * dt, position
        for _ in range(4):
            d = position[1:] - position[:-1]
            length = np.linalg.norm(d, axis=-1, keepdims=True)
            c = d * (0.5 * (length - rest) / length)
            position[:-1] += c * 0.5
            position[1:] -= c * 0.5
            position[0, 0] = [0, 0, 0]
            position[0, -1] = [0, 1, 0]
    return position
