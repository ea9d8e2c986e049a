"""Where the coefficients of the elementary functions come from: near-minimax polynomials by Lawson's algorithm.

`minimax(f, low, high, powers)` fits `f` by weighted least squares over Chebyshev points and moves weight to where the
error is large, until it is nearly even (Lawson, 1961). Coefficients are then rounded one after another, lowest power
first, and the rest is fitted again: the rounding of a low coefficient is made good by the higher ones. Run as a script, it
prints the polynomials named on the command line (all of `FITS` by default) with their errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from mpmath import mp, mpf

mp.dps = 50


def _least_squares(rows: list[list[mpf]], right: list[mpf], weights: list[mpf]) -> list[mpf]:
    n = len(rows[0])
    weighted = [[w * x for x in row] for row, w in zip(rows, weights, strict=True)]
    normal = mp.matrix(n, n)
    target = mp.matrix(n, 1)
    for i in range(n):
        for j in range(i, n):
            normal[i, j] = normal[j, i] = mp.fdot(zip((r[i] for r in weighted), (r[j] for r in rows), strict=True))
        target[i] = mp.fdot(zip((r[i] for r in weighted), right, strict=True))
    return list(mp.lu_solve(normal, target))


def minimax(
    f: Callable,
    low: float,
    high: float,
    powers: Sequence[int],
    *,
    weight: Callable | None = None,
    fixed: dict[int, float] | None = None,
    dtype: type = np.float64,
) -> tuple[dict[int, float], float]:
    """The coefficient of each power, rounded to `dtype`, and the largest weighted error (weight: 1 / |f|)."""
    low, high = mpf(low), mpf(high)
    weight = weight or (lambda x: 1 / abs(f(x)))
    known = {p: mpf(c) for p, c in (fixed or {}).items()}
    free = [p for p in powers if p not in known]
    n_points = 12 * len(free) + 1
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + 0.5) / n_points) for k in range(n_points)]
    points = [x for x in points if x]
    scale = [weight(x) for x in points]
    values = [f(x) * w for x, w in zip(points, scale, strict=True)]
    columns = {p: [w * x**p for x, w in zip(points, scale, strict=True)] for p in set(free) | set(known)}
    weights = [mpf(1)] * len(points)
    rounds = 16
    while free:
        right = [
            v - mp.fsum(c * columns[p][k] for p, c in known.items()) for k, v in enumerate(values)
        ]
        rows = [[columns[p][k] for p in free] for k in range(len(points))]
        for _ in range(rounds):
            coefficients = _least_squares(rows, right, weights)
            errors = [abs(mp.fdot(zip(row, coefficients, strict=True)) - y) for row, y in zip(rows, right, strict=True)]
            weights = [w * e for w, e in zip(weights, errors, strict=True)]
            total = mp.fsum(weights)
            weights = [w / total + mpf(10) ** -6 / len(weights) for w in weights]
        rounds = 1  # rounding one coefficient hardly moves the weights
        known[free[0]] = mpf(float(dtype(float(coefficients[0]))))
        free = free[1:]
    grid = [low + (high - low) * (k + mpf(1) / 3) / 1500 for k in range(1500)]
    worst = max(abs(weight(x) * (f(x) - mp.fsum(c * x**p for p, c in known.items()))) for x in grid)
    return {p: float(c) for p, c in sorted(known.items())}, float(worst)


FITS: dict[str, Callable[[], tuple[dict[int, float], float]]] = {}


def fit(name: str) -> Callable:
    def register(make: Callable) -> Callable:
        FITS[name] = make
        return make

    return register


F32 = np.float32
HALF_LN2 = mp.log(2) / 2


@fit("exp_f64")
def exp_f64():
    return minimax(mp.exp, -HALF_LN2 * 1.001, HALF_LN2 * 1.001, range(12), fixed={0: 1, 1: 1})


@fit("exp_f32")
def exp_f32():
    return minimax(mp.exp, -HALF_LN2 * 1.001, HALF_LN2 * 1.001, range(7), fixed={0: 1, 1: 1}, dtype=F32)


@fit("exp2_f64")
def exp2_f64():
    return minimax(lambda x: mpf(2) ** x, -0.5005, 0.5005, range(12), fixed={0: 1})


@fit("exp2_f32")
def exp2_f32():
    return minimax(lambda x: mpf(2) ** x, -0.5005, 0.5005, range(7), fixed={0: 1}, dtype=F32)


def log_rest(z):
    """(log(1 + f) - 2 s) / s as a function of z = s**2, where s = f / (2 + f)."""
    s = mp.sqrt(z)
    return 2 * mp.atanh(s) / s - 2 if s else mpf(0)


@fit("log_f64")
def log_f64():
    # s is at most (sqrt(2) - 1) / (sqrt(2) + 1); the weight makes the error relative to s.
    return minimax(log_rest, mpf(2) ** -40, 0.02944 * 1.002, range(1, 8), weight=lambda z: mpf(1))


@fit("log_f32")
def log_f32():
    return minimax(log_rest, mpf(2) ** -40, 0.02944 * 1.002, range(1, 5), weight=lambda z: mpf(1), dtype=F32)


def sin_rest(z):
    r = mp.sqrt(z)
    return mp.sin(r) / r - 1


@fit("sin_f64")
def sin_f64():
    return minimax(sin_rest, mpf(2) ** -30, 1.575**2, range(1, 11), weight=lambda z: mp.sqrt(z) / mp.sin(mp.sqrt(z)))


@fit("sin_f32")
def sin_f32():
    def weight(z):
        return mp.sqrt(z) / mp.sin(mp.sqrt(z))

    return minimax(sin_rest, mpf(2) ** -30, 1.61**2, range(1, 6), weight=weight, dtype=F32)


def main() -> None:
    for name in sys.argv[1:] or FITS:
        coefficients, worst = FITS[name]()
        print(f"{name}: error 2**{float(mp.log(worst, 2)):.1f}")
        for power, c in coefficients.items():
            print(f"    x**{power}: {c!r}")


if __name__ == "__main__":
    main()
