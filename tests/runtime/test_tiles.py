"""Loops over large arrays, several iterations at a time: the same bits as one after another."""

import numpy as np
import pytest

import workbench as wb
from tests.runtime.random_stencils import Writer
from tests.sources import define
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


def with_a_source(u):
    pulse = np.sin(0.3 * np.arange(33))
    for t in range(33):
        u[0, :] = pulse[t]
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.cos(0.1 * t)
    return u


def fibonacci_weights(u):
    a, b = 1.0, 1.0
    for _ in range(25):
        v = u.copy()
        v[1:-1] = u[1:-1] + (u[2:] - u[:-2]) * a / (a + b)
        u = v
        a, b = b, a + b
    return u, a


PROGRAMS = [with_a_source, fibonacci_weights, with_boundaries, by_columns, smoothing, there_and_back, staggered, waves, three_arrays_in_turn, with_a_coefficient, two_fields,
            along_a_line, rows_relax, argument_is_written, shrinking_parts]  # fmt: skip


def arrays(shape, dtype):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def run(program, x, n_threads):
    """The results and arguments of a call, and the loops that run by tiles."""
    made = []

    class Noted(TiledLoop):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    inputs = [each.copy() for each in (x if isinstance(x, tuple) else (x,))]
    with pytest.MonkeyPatch.context() as patch, wb.config(threads=n_threads), np.errstate(all="ignore"):
        patch.setattr("workbench.runtime.executable.TiledLoop", Noted)
        results = wb.jit(program)(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return [r for r in results if r is not None] + inputs, made


@pytest.fixture
def by_tiles(monkeypatch):
    """All loops that can run by tiles of time do, however small their arrays are."""
    monkeypatch.setattr("workbench.frontend.loops.worth.MANY_IN_ROWS", 0)
    monkeypatch.setattr("workbench.frontend.loops.writing.MANY_ELEMENTS", 0)
    monkeypatch.setattr("workbench.runtime.tapes.native_loops.MOST_BYTES", 0)
    monkeypatch.setattr(tiles, "LEAST_BYTES", 0)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 17)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tiles_give_the_bits_of_single_iterations(program, by_tiles, monkeypatch):
    for shape, dtype in (((220, 90), "float64"), ((300, 37), "float32"), ((260, 130), "float64")):
        x = arrays(shape, dtype)
        with monkeypatch.context() as patch:
            patch.setattr(tiles, "LEAST_BYTES", 1 << 60)
            expected, made = run(program, x, 2)
            assert not made
        for tile_bytes in (1 << 13, 1 << 15, 1 << 17):
            monkeypatch.setattr(tiles, "TILE_BYTES", tile_bytes)
            for n_threads in (1, 2, 3):
                found, made = run(program, x, n_threads)
                assert made or tile_bytes < 1 << 17
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(a, b)


def gives_the_whole(u):
    for _ in range(20):
        u = u / u.max()
    return u


def turned(u):
    for _ in range(20):
        u = u[:90, :90].T + np.ones(u.shape)[:90, :90]
    return u


def wrapped(u):
    for _ in range(20):
        u = 0.5 * (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0))
    return u


def a_column_of_sums(u):
    for _ in range(20):
        u = u + u.sum(axis=0)
    return u


@pytest.mark.parametrize("program", [gives_the_whole, turned, wrapped, a_column_of_sums], ids=lambda f: f.__name__)
def test_iterations_that_need_all_rows_wait_for_each_other(program, by_tiles):
    x = arrays((220, 90), "float64") if program is not turned else arrays((90, 90), "float64")
    found, made = run(program, x, 2)
    assert not made
    np.testing.assert_allclose(found[0], program(x.copy()), rtol=1e-12)


@pytest.mark.parametrize("n", [8, 9, 30, 31, 100])
def test_numbers_of_iterations(n, by_tiles):
    def smooth(u):
        for _ in range(n):
            v = u.copy()
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u = v
        return u

    x = arrays((300, 40), "float64")
    (found, _), made = run(smooth, x, 2)
    assert made
    np.testing.assert_array_equal(found, smooth(x))


def test_arguments_are_not_changed_nor_shared_with_results(by_tiles):
    def apart(u, v):
        for _ in range(20):
            w = u.copy()
            w[1:-1] = 0.5 * (v[2:] + u[:-2])
            u, v = v, w
        return u, v

    x, y = arrays((300, 40), "float64"), arrays((300, 40), "float64") + 1
    kept = x.copy(), y.copy()
    f = wb.jit(apart)
    first = f(x, y)
    saved = [a.copy() for a in first]
    second = f(y, x)
    assert f.compilations[-1].executable.together
    for a, b in zip((x, y), kept, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(first, saved, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip((*first, *second), (*apart(x, y), *apart(y, x)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_wrong_indices_in_an_iteration_raise_as_in_numpy(by_tiles):
    def pulses(u, at):
        for t in range(20):
            u[0, :] = at[t]
            u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    x, short = arrays((220, 90), "float64"), np.arange(15.0)
    with pytest.raises(IndexError):
        wb.jit(pulses)(x.copy(), short)
    np.testing.assert_array_equal(wb.jit(pulses)(x.copy(), np.arange(20.0)), pulses(x.copy(), np.arange(20.0)))


def test_a_report_says_how_many_iterations_run_together(by_tiles):
    x = arrays((220, 90), "float64")
    compiled = wb.jit(with_boundaries)
    report = wb.explain(compiled)(x)
    together = compiled.compilations[-1].executable.together
    (loop,) = (node for node in report.graph.nodes if node.id == "W0")
    assert f"{together['W0']} iterations at a time" in loop.reason
    kernels = {kernel.id: kernel for kernel in report.kernels}
    assert kernels.keys() == together.keys() - {"W0"}
    assert all("iterations of its loop" in kernel.launch and kernel.runs_ms for kernel in kernels.values())
    times = {bar.step: bar.time_ms for bar in report.timings.timeline}
    assert sum(times[kernel] for kernel in kernels) <= times["W0"]
    assert sum(kernel.share for kernel in kernels.values()) <= 1.0 + 1e-9


def test_random_stencils(by_tiles, monkeypatch):
    n_tiled = 0
    for seed in range(30):
        writer = Writer(seed)
        program = define(writer.source(), "f", f"<stencil {seed}>")
        rng = np.random.default_rng(seed)
        x, y = (rng.standard_normal(writer.shape).astype(writer.dtype) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(tiles, "LEAST_BYTES", 1 << 60)
            expected, _ = run(program, (x, y), 1)
        for tile_bytes, n_threads in ((1 << 14, 2), (1 << 16, 1), (1 << 16, 3)):
            monkeypatch.setattr(tiles, "TILE_BYTES", tile_bytes)
            found, made = run(program, (x, y), n_threads)
            n_tiled += bool(made)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=writer.source())
    assert n_tiled > 20
