"""Programs that draw random numbers in their loops: samplers, walks, queues, populations."""

from __future__ import annotations

import random

import numpy as np

from .registry import program


@program(lambda rng, n: (n, 3), 60, 5000)
def metropolis_sampler(n, seed):
    rng = np.random.default_rng(seed)
    x, accepted = 0.0, 0
    samples = np.empty(n)
    for i in range(n):
        y = x + rng.uniform(-1.0, 1.0)
        if np.log(rng.random()) < 0.5 * (x * x - y * y):
            x = y
            accepted += 1
        samples[i] = x
    return samples, accepted / n


@program(lambda rng, n: (n, 20 * n * n, 0.44, 5), 5, 24)
def ising_by_single_flips(n, steps, beta, seed):
    rng = np.random.default_rng(seed)
    s = rng.choice([-1, 1], size=(n, n))
    for _ in range(steps):
        i, j = rng.integers(0, n), rng.integers(n)
        e = 2 * s[i, j] * (s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % n] + s[i, j - 1])
        if e <= 0 or rng.random() < np.exp(-beta * e):
            s[i, j] *= -1
    return s, s.mean()


@program(lambda rng, n: (n, 7), 100, 100_000)
def darts_for_pi(n, seed):
    random.seed(seed)
    inside = 0
    for _ in range(n):
        x = random.random()
        y = random.random()
        if x**2 + y**2 < 1.0:
            inside += 1
    return 4.0 * inside / n


@program(lambda rng, n: (50, 10, 1.0, 0.05, 0.5, n, 9), 80, 8000)
def predators_by_gillespie(prey, hunters, a, b, c, steps, seed):
    rng = np.random.default_rng(seed)
    t = 0.0
    times, states = np.zeros(steps), np.zeros((steps, 2), dtype=np.int64)
    for k in range(steps):
        born, eaten, dying = a * prey, b * prey * hunters, c * hunters
        total = born + eaten + dying
        if total == 0:
            break
        t += rng.exponential(1 / total)
        which = rng.random() * total
        if which < born:
            prey += 1
        elif which < born + eaten:
            prey -= 1
            hunters += 1
        else:
            hunters -= 1
        times[k] = t
        states[k] = prey, hunters
    return times, states


@program(lambda rng, n: (rng.normal(size=30), n, 4), 20, 400)
def bootstrap_of_the_mean(data, repeats, seed):
    rng = np.random.default_rng(seed)
    means = np.empty(repeats)
    for r in range(repeats):
        total = 0.0
        for _ in range(len(data)):
            total += data[rng.integers(0, len(data))]
        means[r] = total / len(data)
    return means.mean(), means.std()


@program(lambda rng, n: (0.8, 1.0, n, 2), 100, 10_000)
def one_queue(arrivals, service, customers, seed):
    rng = np.random.RandomState(seed)
    t, free_at, waited, longest = 0.0, 0.0, 0.0, 0.0
    for _ in range(customers):
        t += rng.exponential(1 / arrivals)
        begin = max(t, free_at)
        waited += begin - t
        longest = max(longest, begin - t)
        free_at = begin + rng.exponential(1 / service)
    return waited / customers, longest


@program(lambda rng, n: (n, 40, 6), 10, 300)
def genetic_drift(populations, size, seed):
    rng = np.random.default_rng(seed)
    fixed, generations = 0, np.zeros(populations, dtype=np.int64)
    for p in range(populations):
        k = size // 2
        while 0 < k < size:
            k = rng.binomial(size, k / size)
            generations[p] += 1
        fixed += k == size
    return fixed / populations, generations


@program(lambda rng, n: (n, 11), 12, 60)
def percolation(n, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n * n)
    parent = np.arange(n * n + 2)
    is_open = np.zeros(n * n, dtype=bool)
    opened = 0
    for site in order:
        is_open[site] = True
        opened += 1
        i, j = site // n, site % n
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            y, x = i + di, j + dj
            other = site
            if y < 0:
                other = n * n
            elif y >= n:
                other = n * n + 1
            elif 0 <= x < n and is_open[y * n + x]:
                other = y * n + x
            a, b = site, other
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            parent[a] = b
        a, b = n * n, n * n + 1
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a == b:
            break
    return opened / (n * n)


@program(lambda rng, n: (n, 0.9, 3), 60, 5000)
def gibbs_sampler(n, rho, seed):
    rng = np.random.default_rng(seed)
    x = y = 0.0
    spread = np.sqrt(1 - rho * rho)
    found = np.empty((n, 2))
    for k in range(n):
        x = rng.normal(rho * y, spread)
        y = rng.normal(rho * x, spread)
        found[k, 0], found[k, 1] = x, y
    return found, (found[:, 0] * found[:, 1]).mean()


@program(lambda rng, n: (21, n, 8), 20, 600)
def self_avoiding_walks(size, tries, seed):
    rng = np.random.default_rng(seed)
    lengths = np.zeros(tries, dtype=np.int64)
    for t in range(tries):
        seen = np.zeros((size, size), dtype=np.bool_)
        at = (size // 2, size // 2)
        seen[at] = True
        while True:
            k = rng.integers(4)
            step = (0, 1) if k == 0 else (1, 0) if k == 1 else (0, -1) if k == 2 else (-1, 0)
            at = (at[0] + step[0], at[1] + step[1])
            if not (0 <= at[0] < size and 0 <= at[1] < size) or seen[at]:
                break
            seen[at] = True
            lengths[t] += 1
    return lengths, lengths.mean()
