"""Loops over large arrays, several iterations at a time: the same bits as one after another."""

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.tiles import loop as tiles
from workbench.runtime.tiles.loop import TiledLoop


def smoothing(u):
    for _ in range(30):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = v
    return u


def there_and_back(a):
    a = a.copy()
    b = a.copy()
    for _ in range(17):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def staggered(a):
    ex, ey, hz = a.copy(), a * 0.5, a - 1
    for _ in range(25):
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def waves(u):
    before, now = u.copy(), u.copy()
    for _ in range(21):
        after = now.copy()
        after[1:-1, 1:-1] = (
            2 * now[1:-1, 1:-1] - before[1:-1, 1:-1]
            + 0.1 * (now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1])
        )  # fmt: skip
        before, now = now, after
    return now


def three_arrays_in_turn(u):
    a, b, c = u.copy(), u.copy(), u.copy()
    for _ in range(40):
        c[2:-2, :] = b[4:, :] - 0.5 * a[:-4, :] + 0.1 * b[:-4, :]
        a, b, c = b, c, a
    return a, b


def with_a_coefficient(u):
    k = 0.1 + 0.1 * np.abs(np.sin(u))
    row = u[0]
    for _ in range(23):
        flux = k[1:, :] * (u[1:, :] - u[:-1, :])
        v = u.copy()
        v[1:-1, :] += flux[1:, :] - flux[:-1, :] + 0.01 * row
        u = v
    return u


def two_fields(a):
    u, v = a.copy(), 1 - a
    for _ in range(16):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        p, q = u[1:-1, 1:-1], v[1:-1, 1:-1]
        r = p * q * q
        p += 0.16 * lu - r + 0.03 * (1 - p)
        q += 0.08 * lv + r - 0.09 * q
    return u, v


def along_a_line(u):
    x = u.reshape(-1)
    for _ in range(50):
        y = x.copy()
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        x = y
    return x


def rows_relax(u):
    for _ in range(12):
        total = u.sum(axis=1, keepdims=True)
        u = u / (total + 2.0) + 0.5
    return u


def argument_is_written(u):
    for _ in range(20):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])


def shrinking_parts(u):
    a = u.copy()
    for _ in range(14):
        b = a.copy()
        b[2:-2, 2:-2] = a[:-4, 2:-2] + 0.5 * a[4:, 2:-2]
        a = b.copy()
        a[4:-4, 3:-3] = 0.25 * b[4:-4, 3:-3] + 0.1 * b[2:-6, 3:-3]
    return a


def with_boundaries(u):
    for _ in range(30):
        v = u.copy()
        v[1:-1, 1:-1] = 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[1:-1, 1:-1])
        v[0, :] = v[1, :]
        v[-1, :] = 0.5
        v[:, 0] = v[:, 1]
        v[:, -1] = -v[:, -2]
        u = v
    return u


def by_columns(u):
    for _ in range(20):
        u[1:-1, :-1:2] = 0.5 * (u[:-2, 1::2] + u[2:, 1::2])
        u[1:-1, 1::2] = 0.5 * (u[:-2, :-1:2] + u[2:, :-1:2])
    return u


PROGRAMS = [with_boundaries, by_columns, smoothing, there_and_back, staggered, waves, three_arrays_in_turn, with_a_coefficient, two_fields,
            along_a_line, rows_relax, argument_is_written, shrinking_parts]  # fmt: skip
# What runs with several iterations at a time.
TILED = {f.__name__ for f in PROGRAMS}


def arrays(shape, dtype):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def run(program, x, n_threads):
    made = []

    class Noted(TiledLoop):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    x = x.copy()
    with pytest.MonkeyPatch.context() as patch, wb.config(threads=n_threads):
        patch.setattr("workbench.runtime.executable.TiledLoop", Noted)
        f = wb.jit(program)
        results = f(x)
    results = results if isinstance(results, tuple) else (results,)
    return [r for r in results if r is not None] + [x], made


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tiles_give_the_bits_of_single_iterations(program, monkeypatch):
    monkeypatch.setattr("workbench.runtime.tapes.native_loops.MOST_BYTES", 0)
    for shape, dtype in (((220, 90), "float64"), ((300, 37), "float32"), ((260, 130), "float64")):
        x = arrays(shape, dtype)
        with monkeypatch.context() as patch:
            patch.setattr(tiles, "LEAST_BYTES", 1 << 60)
            expected, made = run(program, x, 2)
            assert not made
        for tile_bytes in (1 << 13, 1 << 15, 1 << 17):
            for n_threads in (1, 2, 3):
                with monkeypatch.context() as patch:
                    patch.setattr(tiles, "LEAST_BYTES", 0)
                    patch.setattr(tiles, "TILE_BYTES", tile_bytes)
                    found, made = run(program, x, n_threads)
                print(
                    program.__name__,
                    shape,
                    dtype,
                    tile_bytes,
                    n_threads,
                    len(made),
                    [(m.together, m.block) for m in made],
                )
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(a, b)
