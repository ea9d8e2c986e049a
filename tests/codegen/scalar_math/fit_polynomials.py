"""Where the coefficients of the elementary functions come from: near-minimax polynomials by Lawson's algorithm.

`minimax(f, low, high, powers)` fits `f` by weighted least squares over Chebyshev points and moves weight to where the
error is large, until it is nearly even (Lawson, 1961). Coefficients are then rounded one after another, lowest power
first, and the rest is fitted again: the rounding of a low coefficient is made good by the higher ones. Run as a script,
it prints the polynomials named on the command line (all of `FITS` by default) with their errors.
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
        right = [v - mp.fsum(c * columns[p][k] for p, c in known.items()) for k, v in enumerate(values)]
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


def sin_weight(z):
    return mp.sqrt(z) / mp.sin(mp.sqrt(z))


QUARTER = (mp.pi / 4 * 1.002) ** 2


@fit("sin_quarter_f64")
def sin_quarter_f64():
    return minimax(sin_rest, mpf(2) ** -30, QUARTER, range(1, 7), weight=sin_weight)


@fit("sin_quarter_f32")
def sin_quarter_f32():
    return minimax(sin_rest, mpf(2) ** -30, QUARTER, range(1, 4), weight=sin_weight, dtype=F32)


def cos_rest(z):
    return mp.cos(mp.sqrt(z)) - 1 + z / 2


@fit("cos_quarter_f64")
def cos_quarter_f64():
    return minimax(cos_rest, mpf(2) ** -30, QUARTER, range(2, 8), weight=lambda z: mpf(1))


@fit("cos_quarter_f32")
def cos_quarter_f32():
    return minimax(cos_rest, mpf(2) ** -30, QUARTER, range(2, 5), weight=lambda z: mpf(1), dtype=F32)


def atan_rest(z):
    t = mp.sqrt(z)
    return mp.atan(t) / t - 1


@fit("atan_f64")
def atan_f64():
    return minimax(atan_rest, mpf(2) ** -30, 0.1716 * 1.001, range(1, 13), weight=lambda z: mpf(1))


@fit("atan_f32")
def atan_f32():
    return minimax(atan_rest, mpf(2) ** -30, 0.1716 * 1.001, range(1, 6), weight=lambda z: mpf(1), dtype=F32)


def asin_rest(z):
    s = mp.sqrt(z)
    return mp.asin(s) / s - 1


@fit("asin_f64")
def asin_f64():
    return minimax(asin_rest, mpf(2) ** -30, 0.25, range(1, 13), weight=lambda z: mpf(1))


@fit("asin_f32")
def asin_f32():
    return minimax(asin_rest, mpf(2) ** -30, 0.25, range(1, 6), weight=lambda z: mpf(1), dtype=F32)


@fit("atanh_f64")
def atanh_f64():
    return minimax(lambda z: log_rest(z) / 2, mpf(2) ** -40, 0.0401, range(1, 9), weight=lambda z: mpf(1))


@fit("atanh_f32")
def atanh_f32():
    return minimax(lambda z: log_rest(z) / 2, mpf(2) ** -40, 0.0401, range(1, 5), weight=lambda z: mpf(1), dtype=F32)


def pow_rest(z):
    """What 2 s + 2/3 s**3 leaves of log((1 + s) / (1 - s)), over s**3."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s**3 - mpf(2) / 3


@fit("pow_log_f64")
def pow_log_f64():
    return minimax(pow_rest, mpf(2) ** -40, 0.02944 * 1.002, range(1, 8), weight=lambda z: mpf(1))


@fit("pow_log2_f32")
def pow_log2_f32():
    # log2((1 + s) / (1 - s)) / s, with s in float64 for a float32 result
    def f(z):
        s = mp.sqrt(z)
        return 2 * mp.atanh(s) / s / mp.log(2)

    return minimax(f, mpf(2) ** -40, 0.02944 * 1.002, range(6))


@fit("pow_exp2_f32")
def pow_exp2_f32():
    return minimax(lambda x: mpf(2) ** x, -0.5005, 0.5005, range(7))


@fit("cbrt_f64")
def cbrt_f64():
    # a first guess at x**(-1/3), to be refined
    return minimax(lambda x: x ** (mpf(-1) / 3), 1, 2, range(5))


@fit("erf_f64")
def erf_f64():
    def f(z):
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1

    return minimax(f, mpf(2) ** -40, 1.0, range(13), weight=lambda z: mpf(1))


@fit("erf_f32")
def erf_f32():
    def f(z):
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1

    return minimax(f, mpf(2) ** -40, 1.0, range(7), weight=lambda z: mpf(1), dtype=F32)


def erfc_factor(low: float, high: float, centre: float, degree: int, dtype: type):
    """erfc(x) * exp(x**2) * (x + centre) in powers of t = (x - centre) / (x + centre)."""
    low, high, centre = mpf(low), mpf(high), mpf(centre)

    def f(t):
        x = centre * (1 + t) / (1 - t)
        return mp.erfc(x) * mp.exp(x * x) * (x + centre)

    return minimax(
        f, (low - centre) / (low + centre), (high - centre) / (high + centre), range(degree + 1), dtype=dtype
    )


@fit("erfc_f64")
def erfc_f64():
    return erfc_factor(1, 27.5, 4, 19, np.float64)


@fit("erfc_f32")
def erfc_f32():
    return erfc_factor(1, 10.25, 3, 8, F32)


@fit("erf_far_f64")
def erf_far_f64():
    return erfc_factor(1, 6, 3, 14, np.float64)


@fit("erf_far_f32")
def erf_far_f32():
    return erfc_factor(1, 4, 2, 6, F32)


def main() -> None:
    for name in sys.argv[1:] or FITS:
        coefficients, worst = FITS[name]()
        print(f"{name}: error 2**{float(mp.log(worst, 2)):.1f}")
        for power, c in coefficients.items():
            print(f"    x**{power}: {c!r}")


if __name__ == "__main__":
    main()
