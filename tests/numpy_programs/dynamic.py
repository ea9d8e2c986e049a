"""Dynamic programming, paths, and other recurrences."""

from __future__ import annotations

import numpy as np

from .registry import program


@program(lambda rng, n: (rng.integers(1, 100, (n, n)),), 8, 250)
def all_shortest_paths(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@program(lambda rng, n: (n, rng.integers(0, 4, n)), 10, 60)
def folding(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@program(lambda rng, n: (rng.integers(0, 4, n), rng.integers(0, 4, n + 3)), 9, 400)
def edit_distance(a, b):
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        current = np.empty_like(previous)
        current[0] = i + 1
        substitution = previous[:-1] + (b != a[i])
        deletion = previous[1:] + 1
        best = np.minimum(substitution, deletion)
        index = np.arange(1, len(b) + 1)
        current[1:] = np.minimum.accumulate(np.concatenate(([i + 1], best - index)))[1:] + index
        previous = current
    return previous[-1]


@program(lambda rng, n: (rng.integers(1, 30, n), rng.integers(1, 100, n), 10 * n), 8, 200)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for w, v in zip(weights, values):
        candidate = np.zeros_like(best)
        candidate[30:] = 0
        shifted = np.full_like(best, -1)
        index = np.arange(capacity + 1) - w
        ok = index >= 0
        shifted = np.where(ok, best[np.maximum(index, 0)] + v, -1)
        best = np.maximum(best, shifted)
    return best[capacity]


@program(lambda rng, n: (rng.random((n, 6)), rng.random((6, 6)), rng.random(6)), 8, 2000)
def viterbi(emission, transition, start):
    T, S = emission.shape
    logp = np.log(start) + np.log(emission[0])
    back = np.zeros((T, S), dtype=np.int64)
    for t in range(1, T):
        scores = logp[:, None] + np.log(transition)
        back[t] = np.argmax(scores, axis=0)
        logp = np.max(scores, axis=0) + np.log(emission[t])
    path = np.zeros(T, dtype=np.int64)
    path[-1] = np.argmax(logp)
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, logp.max()


@program(lambda rng, n: (n,), 50, 200_000)
def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return prime.sum()


@program(lambda rng, n: (rng.random(n), rng.random(n) < 0.3, 0.9), 30, 100_000)
def exponential_average(x, reset, decay):
    out = np.empty_like(x)
    state = 0.0
    for i in range(x.shape[0]):
        if reset[i]:
            state = x[i]
        else:
            state = decay * state + (1 - decay) * x[i]
        out[i] = state
    return out


@program(lambda rng, n: (rng.random((n, n)),), 8, 300)
def cheapest_seam(energy):
    rows, columns = energy.shape
    cost = energy.copy()
    for i in range(1, rows):
        left = np.empty(columns)
        left[0] = np.inf
        left[1:] = cost[i - 1, :-1]
        right = np.empty(columns)
        right[-1] = np.inf
        right[:-1] = cost[i - 1, 1:]
        cost[i] += np.minimum(np.minimum(left, cost[i - 1]), right)
    seam = np.empty(rows, dtype=int)
    seam[-1] = np.argmin(cost[-1])
    for i in range(rows - 2, -1, -1):
        j = seam[i + 1]
        lo = max(j - 1, 0)
        hi = min(j + 2, columns)
        seam[i] = lo + np.argmin(cost[i, lo:hi])
    return seam, cost[-1].min()


@program(lambda rng, n: (rng.random((n, n)) < 0.08, 40), 12, 150)
def page_rank(links, iterations):
    n = len(links)
    outgoing = links.sum(axis=1)
    M = np.zeros((n, n))
    M[:, outgoing > 0] = (links / np.maximum(outgoing, 1)[:, None]).T[:, outgoing > 0]
    M[:, outgoing == 0] = 1.0 / n
    rank = np.full(n, 1.0 / n)
    for _ in range(iterations):
        new = 0.85 * M @ rank + 0.15 / n
        if np.abs(new - rank).sum() < 1e-12:
            break
        rank = new
    return rank, np.argsort(-rank)[:5]


@program(lambda rng, n: (rng.integers(0, 4, n).astype(np.uint8), rng.integers(0, 4, n + 3).astype(np.uint8)), 12, 250)
def local_alignment_and_its_length(a, b, match=2, mismatch=-1, gap=-2):
    score = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    came_from = np.zeros(score.shape, dtype=np.int8)
    best, where = 0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = match if a[i - 1] == b[j - 1] else mismatch
            options = [0, score[i - 1, j - 1] + same, score[i - 1, j] + gap, score[i, j - 1] + gap]
            came_from[i, j] = np.argmax(options)
            score[i, j] = options[came_from[i, j]]
            if score[i, j] > best:
                best, where = score[i, j], (i, j)
    i, j = where
    length = 0
    while came_from[i, j] != 0:
        length += 1
        step = came_from[i, j]
        i -= step != 3
        j -= step != 2
    return score, best, length
