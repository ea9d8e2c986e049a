"""Dictionaries and sets whose keys the numbers decide: counts, groups, what has been seen, sparse matrices, windows."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .registry import program


@program(lambda rng, n: (rng.integers(0, 8, n), rng.integers(0, 8, n)), 60, 4000)
def mutual_information(a, b):
    n = len(a)
    of_a, of_b, of_both = {}, {}, {}
    for i in range(n):
        of_a[a[i]] = of_a.get(a[i], 0) + 1
        of_b[b[i]] = of_b.get(b[i], 0) + 1
        of_both[(a[i], b[i])] = of_both.get((a[i], b[i]), 0) + 1
    total = 0.0
    for (u, v), count in of_both.items():
        total += count / n * np.log(count * n / (of_a[u] * of_b[v]))
    return total


@program(lambda rng, n: (rng.integers(0, 40, n), rng.random(n)), 60, 4000)
def means_by_group(groups, values):
    sums, counts = defaultdict(float), defaultdict(int)
    for g, v in zip(groups, values):
        sums[g] += v
        counts[g] += 1
    return {g: sums[g] / counts[g] for g in sums}


@program(lambda rng, n: (rng.integers(0, 12, n), 5), 80, 4000)
def longest_window_of_few_kinds(x, n_kinds):
    inside = {}
    left = longest = 0
    for right in range(len(x)):
        inside[x[right]] = inside.get(x[right], 0) + 1
        while len(inside) > n_kinds:
            inside[x[left]] -= 1
            if inside[x[left]] == 0:
                del inside[x[left]]
            left += 1
        longest = max(longest, right - left + 1)
    return longest


@program(lambda rng, n: (*rng.integers(0, n // 4, (2, n)), rng.random(n), rng.random(n // 4)), 80, 3000)
def sparse_product_by_keys(rows, columns, values, x):
    entries = {}
    for i, j, v in zip(rows, columns, values):
        entries[(i, j)] = entries.get((i, j), 0.0) + v
    y = np.zeros(len(x))
    for (i, j), v in entries.items():
        y[i] += v * x[j]
    return y


@program(lambda rng, n: (rng.integers(0, 500, n), 250), 60, 4000)
def pairs_with_a_sum(x, wanted):
    seen = {}
    n_pairs = 0
    for v in x:
        if wanted - v in seen:
            n_pairs += seen[wanted - v]
        seen[v] = seen.get(v, 0) + 1
    return n_pairs


@program(lambda rng, n: (rng.random(n),), 40, 1500)
def permutation_entropy(x):
    counts = {}
    for i in range(len(x) - 2):
        pattern = tuple(np.argsort(x[i : i + 3]))
        counts[pattern] = counts.get(pattern, 0) + 1
    total = sum(counts.values())
    entropy = 0.0
    for count in counts.values():
        entropy -= count / total * np.log2(count / total)
    return entropy


@program(lambda rng, n: (rng.choice([-1, 1], n),), 60, 4000)
def mean_time_of_return(steps):
    last = {0: 0}
    total = n_returns = position = 0
    for k in range(len(steps)):
        position += int(steps[k])
        if position in last:
            total += k + 1 - last[position]
            n_returns += 1
        last[position] = k + 1
    return total / n_returns if n_returns else 0.0


@program(lambda rng, n: (rng.integers(0, 4, n),), 60, 4000)
def sites_that_a_walk_visits(steps):
    visited = set()
    x = y = 0
    visited.add((x, y))
    for step in steps:
        if step == 0:
            x += 1
        elif step == 1:
            x -= 1
        elif step == 2:
            y += 1
        else:
            y -= 1
        visited.add((x, y))
    return len(visited)


@program(lambda rng, n: (*rng.integers(0, n, (2, n)), n), 60, 1500)
def components_by_parents(a, b, n):
    parent = {}
    for i in range(n):
        parent[i] = i
    count = n
    for i in range(len(a)):
        u, v = int(a[i]), int(b[i])
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        if u != v:
            parent[u] = v
            count -= 1
    return count


@program(lambda rng, n: (rng.random((n, n)) * (rng.random((n, n)) < 0.2),), 12, 80)
def shortest_ways_by_names(weights):
    n = len(weights)
    distance = {0: np.float64(0.0)}
    done = set()
    while len(done) < n:
        nearest, least = -1, np.inf
        for node, d in distance.items():
            if node not in done and d < least:
                nearest, least = node, d
        if nearest < 0:
            break
        done.add(nearest)
        for node in range(n):
            w = weights[nearest, node]
            if w > 0 and least + w < distance.get(node, np.inf):
                distance[node] = least + w
    return distance


@program(lambda rng, n: (rng.random((n, 2)), 0.1), 30, 400)
def neighbours_by_cells(points, reach):
    cells = {}
    for i in range(len(points)):
        key = (int(points[i, 0] // reach), int(points[i, 1] // reach))
        if key not in cells:
            cells[key] = []
        cells[key].append(i)
    n_pairs = 0
    for i in range(len(points)):
        a, b = int(points[i, 0] // reach), int(points[i, 1] // reach)
        for da in (-1, 0, 1):
            for db in (-1, 0, 1):
                if (a + da, b + db) in cells:
                    for j in cells[(a + da, b + db)]:
                        apart = (points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2
                        if j > i and apart < reach * reach:
                            n_pairs += 1
    return n_pairs


@program(lambda rng, n: (n,), 60, 400)
def happy_numbers(n):
    count = 0
    for k in range(1, n):
        seen = set()
        x = k
        while x != 1 and x not in seen:
            seen.add(x)
            total = 0
            while x > 0:
                total += (x % 10) ** 2
                x //= 10
            x = total
        if x == 1:
            count += 1
    return count


@program(lambda rng, n: (rng.integers(0, 9, n), {1: 0.5, 2: 1.25, 3: 2.0, 7: 9.5}), 60, 4000)
def prices_from_a_table(codes, prices):
    total = 0.0
    for code in codes:
        if code in prices:
            total += prices[code]
    return total


@program(lambda rng, n: (np.sort(rng.integers(0, 30, (n, 6)), axis=1),), 10, 300)
def pairs_in_baskets(baskets):
    counts = defaultdict(int)
    for basket in baskets:
        for i in range(len(basket)):
            for j in range(i + 1, len(basket)):
                counts[(basket[i], basket[j])] += 1
    return max(counts.values()), len(counts)
