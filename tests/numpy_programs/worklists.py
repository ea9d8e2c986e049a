"""Programs whose loops keep lists: stacks, queues, levels, and what is found on a condition."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np

from .registry import program


@program(lambda rng, n: (rng.random((n, n)) < 0.6,), 12, 160)
def islands_by_stack(land):
    rows, columns = land.shape
    labels = np.zeros((rows, columns), dtype=np.int64)
    sizes = []
    for i in range(rows):
        for j in range(columns):
            if not land[i, j] or labels[i, j] > 0:
                continue
            size = 0
            stack = [(i, j)]
            labels[i, j] = len(sizes) + 1
            while stack:
                y, x = stack.pop()
                size += 1
                for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    v, u = y + dy, x + dx
                    if 0 <= v < rows and 0 <= u < columns and land[v, u] and labels[v, u] == 0:
                        labels[v, u] = len(sizes) + 1
                        stack.append((v, u))
            sizes.append(size)
    return labels, np.array(sizes)


@program(lambda rng, n: (rng.normal(size=n).cumsum(), 0.5), 40, 30_000)
def peaks_above_a_level(x, level):
    where, heights = [], []
    for i in range(1, len(x) - 1):
        if x[i] > level and x[i] > x[i - 1] and x[i] >= x[i + 1]:
            where.append(i)
            heights.append(x[i])
    return np.array(where), np.array(heights)


@program(lambda rng, n: (rng.random((n, n)) < 0.75, 0), 12, 200)
def steps_by_queue(is_open, start):
    n = is_open.shape[0]
    steps = np.full((n, n), -1)
    steps[start, start] = 0
    queue = deque([(start, start)])
    while queue:
        i, j = queue.popleft()
        for di, dj in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < n and is_open[a, b] and steps[a, b] < 0:
                steps[a, b] = steps[i, j] + 1
                queue.append((a, b))
    return steps


@program(lambda rng, n: (rng.integers(0, n, (n, 4)),), 20, 8000)
def levels_of_a_graph(neighbours):
    level = np.full(len(neighbours), -1)
    level[0] = 0
    frontier = [0]
    depth = 0
    while frontier:
        depth += 1
        found = []
        for node in frontier:
            for k in range(neighbours.shape[1]):
                other = int(neighbours[node, k])
                if level[other] < 0:
                    level[other] = depth
                    found.append(other)
        frontier = found
    return level, depth


@program(lambda rng, n: (rng.random((n, n)) + 0.1,), 10, 90)
def cheapest_way_by_heap(cost):
    n = cost.shape[0]
    total = np.full((n, n), np.inf)
    total[0, 0] = cost[0, 0]
    heap = [(cost[0, 0], 0, 0)]
    while heap:
        c, i, j = heapq.heappop(heap)
        if c > total[i, j]:
            continue
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < n and c + cost[a, b] < total[a, b]:
                total[a, b] = c + cost[a, b]
                heapq.heappush(heap, (c + cost[a, b], a, b))
    return total


@program(lambda rng, n: (rng.random((n, n)),), 12, 900)
def way_back_along_a_ridge(height):
    i, j = height.shape[0] - 1, height.shape[1] // 2
    path = [(i, j)]
    while i > 0:
        best = j
        for k in range(max(j - 1, 0), min(j + 2, height.shape[1])):
            if height[i - 1, k] > height[i - 1, best]:
                best = k
        i, j = i - 1, best
        path.append((i, j))
    return np.array(path[::-1])


@program(lambda rng, n: (rng.standard_normal((n, 2)), 0.4), 25, 300)
def clusters_that_grow(points, reach):
    n = len(points)
    labels = np.full(n, -1)
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    count = 0
    for i in range(n):
        if labels[i] != -1:
            continue
        near = np.where(distance[i] <= reach)[0]
        if len(near) < 4:
            labels[i] = -2
            continue
        labels[i] = count
        seeds = list(near)
        k = 0
        while k < len(seeds):
            j = seeds[k]
            if labels[j] == -2:
                labels[j] = count
            elif labels[j] == -1:
                labels[j] = count
                further = np.where(distance[j] <= reach)[0]
                if len(further) >= 4:
                    seeds.extend(further)
            k += 1
        count += 1
    return labels, count


@program(lambda rng, n: (rng.random((n, n)) < 4.0 / n, 0), 20, 1200)
def levels_by_rows_of_neighbours(adjacent, source):
    level = -np.ones(adjacent.shape[0], dtype=np.int64)
    level[source] = 0
    front = np.array([source])
    depth = 0
    while front.size > 0:
        depth += 1
        reached = adjacent[front].any(axis=0)
        reached &= level < 0
        front = np.flatnonzero(reached)
        level[front] = depth
    return level
