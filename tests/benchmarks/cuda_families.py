"""The kernel families that tests/benchmarks/cuda.py checks and times: once for all who take NumPy's names, and by hand
for PyTorch and numba.cuda where they are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Family:
    """A kernel family. function: in the names of NumPy, over a module that has them; inputs: of a scale of elements and
    a random generator; torch: the same in PyTorch's names; numba: makes a call of a hand-written kernel from arrays of
    the device and one for the result; n_bytes: what a run must read and write, of its inputs and results; rtol: of
    float32, in parts of the largest magnitude; share: of the places that may be further off, where rounding decides."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[[int, np.random.Generator], tuple[np.ndarray, ...]]
    n_bytes: Callable[..., int] = lambda *arrays: sum(a.nbytes for a in arrays)
    torch: Callable[..., Any] | None = None
    numba: Callable[..., Callable[[], Any]] | None = None
    rtol: float = 2e-5
    share: float = 0.0


def matrix(n: int, rng: np.random.Generator, columns: int = 4096) -> np.ndarray:
    columns = min(columns, max(1, int(n**0.5)))
    return rng.normal(size=(max(1, n // columns), columns))


# ---- programs ----


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d / xp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.3
    root = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root

    def normal(d: Any) -> Any:  # Abramowitz and Stegun, 26.2.17
        k = 1.0 / (1.0 + 0.2316419 * xp.abs(d))
        tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        p = 0.3989422804 * xp.exp(-0.5 * d * d) * tail
        return xp.where(d > 0, 1.0 - p, p)

    return price * normal(d1) - strike * xp.exp(-rate * years) * normal(d2)


def jacobi(xp: Any, u: Any) -> Any:
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def forces(xp: Any, p: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    r2 = (d * d).sum(axis=2) + 0.01
    return (d / (r2 * xp.sqrt(r2))[:, :, None]).sum(axis=1)


def mandelbrot(xp: Any, x: Any, y: Any) -> Any:
    a, b, n = x * 0.0, y * 0.0, x * 0.0
    for _ in range(30):
        a, b = a * a - b * b + x, 2.0 * a * b + y
        inside = a * a + b * b < 4.0
        a, b, n = xp.where(inside, a, 2.0), xp.where(inside, b, 2.0), xp.where(inside, n + 1.0, n)
    return n


def cube_root(xp: Any, x: Any) -> Any:
    y = x * 0.5 + 0.5
    for _ in range(20):  # Newton
        y = y - (y * y * y - x) / (3.0 * y * y)
    return y


def decay(xp: Any, y: Any) -> Any:
    for _ in range(16):  # Runge and Kutta, for y' = -y + y**2 / 4
        k1 = 0.25 * y * y - y
        a = y + 0.05 * k1
        k2 = 0.25 * a * a - a
        b = y + 0.05 * k2
        k3 = 0.25 * b * b - b
        c = y + 0.1 * k3
        y = y + 0.1 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + (0.25 * c * c - c))
    return y


def histogram(xp: Any, x: Any) -> Any:
    total = xp.zeros(64, x.dtype)
    xp.add.at(total, (xp.abs(x) * 16.0).astype(np.int64) % 64, x)
    return total


# ---- by hand, in numba.cuda ----


def _blocks(n: int) -> int:
    return max(1, min(-(-n // 256), 1 << 16))


def numba_chain(x: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    @cuda.jit
    def kernel(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            out[i] = math.tanh(x[i]) * x[i] + x[i]

    return lambda: kernel[_blocks(x.size), 256](x, out)


def numba_jacobi(u: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    quarter = u.dtype.type(0.25)

    @cuda.jit
    def kernel(u, out):
        j, i = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = quarter * (u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2])

    n, m = out.shape
    return lambda: kernel[(-(-m // 32), -(-n // 8)), (32, 8)](u, out)


def numba_black_scholes(price: Any, strike: Any, years: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    f = price.dtype.type
    rate, volatility, drift, scale = f(0.02), f(0.3), f(0.02 + 0.5 * 0.3 * 0.3), f(0.3989422804)
    one, half, w, zero = f(1), f(0.5), f(0.2316419), f(0)
    c1, c2, c3, c4, c5 = f(0.31938153), f(-0.356563782), f(1.781477937), f(-1.821255978), f(1.330274429)

    @cuda.jit(device=True)
    def normal(d):
        k = one / (one + w * abs(d))
        p = scale * math.exp(-half * d * d) * (k * (c1 + k * (c2 + k * (c3 + k * (c4 + k * c5)))))
        return one - p if d > zero else p

    @cuda.jit
    def kernel(price, strike, years, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            root = volatility * math.sqrt(years[i])
            d1 = (math.log(price[i] / strike[i]) + drift * years[i]) / root
            out[i] = price[i] * normal(d1) - strike[i] * math.exp(-rate * years[i]) * normal(d1 - root)

    return lambda: kernel[_blocks(out.size), 256](price, strike, years, out)


def numba_forces(p: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    f = p.dtype.type
    softening, zero = f(0.01), f(0)

    @cuda.jit
    def kernel(p, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            x, y, z = p[i, 0], p[i, 1], p[i, 2]
            fx, fy, fz = zero, zero, zero
            for j in range(p.shape[0]):
                dx, dy, dz = p[j, 0] - x, p[j, 1] - y, p[j, 2] - z
                r2 = dx * dx + dy * dy + dz * dz + softening
                r3 = r2 * math.sqrt(r2)
                fx += dx / r3
                fy += dy / r3
                fz += dz / r3
            out[i, 0], out[i, 1], out[i, 2] = fx, fy, fz

    return lambda: kernel[-(-out.shape[0] // 64), 64](p, out)


def numba_mandelbrot(x: Any, y: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    f = x.dtype.type
    zero, one, two, four = f(0), f(1), f(2), f(4)

    @cuda.jit
    def kernel(x, y, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            a, b, n = zero, zero, zero
            for _ in range(30):
                a, b = a * a - b * b + x[i], two * a * b + y[i]
                if a * a + b * b < four:
                    n += one
                else:
                    a, b = two, two
            out[i] = n

    return lambda: kernel[_blocks(out.size), 256](x, y, out)


def numba_cube_root(x: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda

    half, three = x.dtype.type(0.5), x.dtype.type(3)

    @cuda.jit
    def kernel(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            given = x[i]
            y = given * half + half
            for _ in range(20):
                y = y - (y * y * y - given) / (three * y * y)
            out[i] = y

    return lambda: kernel[_blocks(x.size), 256](x, out)


# ---- the families ----


def _vector(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (rng.normal(size=n),)


def _matrix(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (matrix(n, rng),)


def _matrix_and_rows(count: int) -> Callable[[int, np.random.Generator], tuple[np.ndarray, ...]]:
    def make(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        x = matrix(n, rng)
        return (x, *(rng.normal(size=x.shape[1]) for _ in range(count)))

    return make


def _options(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return tuple(rng.uniform(low, high, n // 3 + 1) for low, high in ((10, 50), (10, 50), (0.1, 3)))


# From the most telling to the least: what is timed before the time is up is at the top.
FAMILIES = (
    Family("chain", lambda xp, x: xp.tanh(x) * x + x, _vector, torch=lambda t, x: t.tanh(x) * x + x, numba=numba_chain),
    Family("sum", lambda xp, x: x.sum(), lambda n, rng: (rng.normal(size=n) + 1.0,), torch=lambda t, x: x.sum()),
    Family("softmax", softmax, _matrix, torch=lambda t, x: t.softmax(x, 1)),
    Family("layernorm", layernorm, _matrix_and_rows(2), rtol=2e-4,
           torch=lambda t, x, scale, shift: t.nn.functional.layer_norm(x, x.shape[1:], scale, shift)),
    Family("jacobi", jacobi, lambda n, rng: (matrix(n, rng, 1 << 14),), numba=numba_jacobi,
           torch=lambda t, u: 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])),
    Family("n-body", forces, lambda n, rng: (rng.normal(size=(min(8192, max(4, int(n**0.5) // 2)), 3)),), rtol=5e-3,
           numba=numba_forces),
    Family("black-scholes", black_scholes, _options, rtol=2e-3, numba=numba_black_scholes),
    Family("mandelbrot", mandelbrot, lambda n, rng: (rng.uniform(-2, 1, n // 8 + 1), rng.uniform(-1, 1, n // 8 + 1)),
           rtol=0.05, share=0.02, numba=numba_mandelbrot),
    Family("newton", cube_root, lambda n, rng: (rng.uniform(0.2, 3.0, n // 2 + 1),), numba=numba_cube_root,
           torch=cube_root),
    Family("ode steps", decay, lambda n, rng: (rng.uniform(0.1, 2.0, n // 2 + 1),), torch=decay),
    Family("squared error", lambda xp, a, b: ((a - b) ** 2).sum(),
           lambda n, rng: (rng.normal(size=n // 2 + 1), rng.normal(size=n // 2 + 1)),
           torch=lambda t, a, b: ((a - b) ** 2).sum()),
    Family("broadcast", lambda xp, x, y: x * 2.0 + y, _matrix_and_rows(1), torch=lambda t, x, y: x * 2.0 + y),
    Family("transpose", lambda xp, x: x.T * 2.0, _matrix, torch=lambda t, x: (x.T * 2.0).contiguous()),
    Family("row argmax", lambda xp, x: x.argmax(axis=1), _matrix, torch=lambda t, x: x.argmax(1)),
    Family("column deviation", lambda xp, x: x.std(axis=0), lambda n, rng: (matrix(n, rng) + 2.0,), rtol=2e-4),
    Family("cumulative sum", lambda xp, x: xp.cumsum(x * 2.0), lambda n, rng: (rng.normal(size=n // 4 + 1) + 3.0,),
           rtol=1e-3),
    Family("matrix product", lambda xp, x, y: xp.tanh(x @ y), rtol=1e-3,
           inputs=lambda n, rng: tuple(rng.normal(size=(min(4096, int(n**0.5)),) * 2) / 50.0 for _ in range(2)),
           torch=lambda t, x, y: t.tanh(x @ y)),
    Family("sort", lambda xp, x: xp.sort(x * 2.0, axis=-1), lambda n, rng: (matrix(n // 16 + 4, rng),)),
    Family("colliding sums", histogram, lambda n, rng: (rng.normal(size=n // 16 + 4),), rtol=1e-3),
    Family("gather", lambda xp, x: x[(xp.abs(x) * 3.0).astype(np.int64) % 7], lambda n, rng: (rng.normal(size=n // 4 + 7),)),
)  # fmt: skip
