"""Kernels that run together, some rows at a time: the same bits as one after another, in less memory."""

import numpy as np
import pytest

import workbench as wb
from tests.compare import with_arguments
from tests.runtime.random_stencils import Writer
from tests.sources import define
from workbench.runtime import chains


def weights(rho, dz):
    """A prefix sum along the rows between two formulas, and a reader of neighbours in the row."""
    pressure = 9.81 * np.cumsum(rho * dz, axis=-1)
    return pressure, pressure[..., 1:] - pressure[..., :-1]


def depths(x, y):
    """A scan between formulas that take longer than it does, which are kernels for themselves."""
    return np.exp(-np.cumsum(np.exp(-x * x), axis=-1)) * y


def two_prefixes(x, y):
    """Scans that share their operand, and one of a scan."""
    z = x * y + 1
    a = np.cumsum(z, axis=1)
    b = np.cumprod(z * 0.5, axis=1)
    return np.cumsum(a - b, axis=1) * 2, a


def inner_prefix(x, y):
    """Along the middle axis: blocks of columns."""
    return np.exp(np.cumsum(x - y, axis=1) * 1e-3) + y


def outer_prefix(x, y):
    """Along the first axis, which threads share: the scan is a kernel for itself."""
    return np.cumsum(x + y, axis=0) - x


def backwards(x, y):
    """A suffix sum is a view of a prefix sum of a view."""
    return np.cumsum((x * y)[:, ::-1], axis=1)[:, ::-1] + x


def exclusive(x, y):
    sums = np.cumsum(x * y, axis=1)
    return sums - x * y, sums[:, -1]


def shifted_rows(x, y):
    """The next row of what another kernel makes: not in step."""
    a = np.cumsum(x * y, axis=1)
    return a[1:] - a[:-1], np.cumsum(a * 2, axis=1)


def levels(x, y):
    through, source = np.exp(-np.abs(x)), x * y
    down, up = [np.zeros_like(x[:, 0])], [y[:, -1]]
    for k in range(12):
        down.append(down[-1] * through[:, k] + source[:, k])
        up.append(up[-1] * through[:, -k] + source[:, -k])
    net = np.stack(up, 1) - np.stack(down, 1)
    return net[:, 0], net[:, 1:] - net[:, :-1]


def parts(x, y):
    """Parts that are replaced, in the memory of what was there and aside."""
    a = np.zeros_like(x)
    a[:, 1:-1] = x[:, 2:] - x[:, :-2]
    b = np.cumsum(a, axis=1)
    b[:, 0] = y[:, 0]
    c = b * y
    c[:, ::2] += np.cumsum(b, axis=1)[:, ::2]
    return c, b[:, 3]


def coefficients(x, y):
    """Arrays that begin alike, parts of which are replaced: each is a copy of the same zeros before."""
    a, b, c = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    a[:, 1:-1] = x[:, :-2] * y[:, 2:]
    a[:, -1] = y[:, 0]
    b[:, :-1] = a[:, 1:] - x[:, 1:]
    c[:, ::2] = b[:, ::2] + 1
    return np.cumsum(a + b, axis=1), c


def copies(x, y):
    """What is copied is read otherwise, replaced later, and returned."""
    a = x.copy()
    a[:, 2:] = x[:, :-2] + y[:, 2:]
    b = a * 2
    c = b.copy()
    c[:, 1:] -= b[:, :-1]
    b[:, 0] = c[:, -1]
    d = c.copy()
    d[1:] = c[1:] + 1
    return a, b, np.cumsum(c, axis=1), d


def softmaxes(x, y):
    """Reductions of rows between scans."""
    z = np.cumsum(x - y, axis=1)
    z = z - z.max(axis=1, keepdims=True)
    return np.cumsum(z / (1 + np.abs(z)).max(axis=1, keepdims=True), axis=1), z.min(axis=1)


def argument_is_written(x, y):
    a = np.cumsum(x * y, axis=1)
    x[:, 1:] = a[:, :-1] - x[:, 1:]
    return np.cumsum(a + x, axis=1)


def fluxes(x, y):
    """Rows around, of arrays that only the kernels see, one of which is written into by a second kernel."""
    fx, fy = np.zeros_like(x), np.zeros_like(x)
    fx[1:-2] = np.where(y[1:-2] > 0, x[:-3], x[3:]) * (x[2:-1] - x[1:-2])
    fy[:, 1:-2] = np.maximum(x[:, :-3], x[:, 3:]) * (y[:, 2:-1] - x[:, 1:-2])
    new = x.copy()
    new[1:-1, 1:-1] -= fx[1:-1, 1:-1] - fx[:-2, 1:-1] + fy[1:-1, 1:-1] - fy[1:-1, :-2]
    return new


def limited(x, y):
    """Arrays of fewer and fewer rows."""
    lap = 4 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    down = np.exp(-np.abs(lap[1:, 1:-1] / (1 + lap[:-1, 1:-1] ** 2)))
    down = np.where(down * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0, down)
    return x[2:-2, 2:-2] - y[2:-2, 2:-2] * (down[1:] - down[:-1])


def what_is_returned_is_read_around(x, y):
    thick = 0.5 * np.exp(-np.abs(x[1:] + x[:-1])) * y[:-1]
    new = x.copy()
    new[1:-1] -= thick[1:] - thick[:-1]
    head = np.tanh(new * 2 + y * y)
    return new, y[1:-1] - (head[2:] - head[1:-1])


def far_rows(x, y):
    """Sums along the rows, and rows further and further around."""
    a = np.cumsum(x * y, axis=-1)
    b = a[5:] - a[:-5]
    c = np.cumsum(b[:-3] * b[3:], axis=-1)
    return c[1:] + c[:-1], a.max(axis=-1)


def a_row_is_replaced(x, y):
    a = x * y - 1
    a[0] = y[1]
    b = a[1:] + a[:-1]
    b[-1] = 0
    c = b.copy()
    c[2:-2] = b[4:] - b[:-4]
    return c


def written_over(x, y):
    """A memory that is read around before it is written over."""
    a = x - y
    b = a[:-2] + a[2:]
    a *= 2
    c = a[1:-1] + b
    a += y
    return c[1:] - c[:-1], a[0]


PROGRAMS = [
    fluxes, limited, what_is_returned_is_read_around, far_rows, a_row_is_replaced, written_over, weights, depths, two_prefixes, inner_prefix, outer_prefix, backwards, exclusive, shifted_rows, levels, parts, softmaxes,
    argument_is_written, coefficients, copies,
]  # fmt: skip
AROUND = (fluxes, limited, far_rows, a_row_is_replaced, written_over)  # which need some rows and columns
SHAPES = [(125, 32), (4000, 17), (1, 1200), (64, 33, 14), (1, 90, 20), (3, 1, 700), (31, 40, 1), (700, 14), (0, 20)]


def arrays(shape, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)
    for a in (x, y):
        if a.size > 100:
            a.reshape(-1)[[3, 40, 77]] = -0.0, np.nan, np.inf
    return x.astype(dtype), y.astype(dtype)


def assert_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def apart(program, *inputs, monkeypatch):
    """What the same kernels give one after another."""
    with monkeypatch.context() as patch:
        patch.setattr("workbench.runtime.executable.find_chains", lambda *_: {})
        return with_arguments(wb.jit(program), inputs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_chains_give_the_bits_of_their_kernels(program, shape, monkeypatch):
    if len(shape) > 2 and program in (levels, parts, argument_is_written) or shape[-1] < 14 and program is levels:
        shape = (shape[0], 700 // shape[0] + 14)
    if program in AROUND:
        shape = tuple(max(length, 10) for length in shape)
    for dtype in ("float64", "float32"):
        x, y = arrays(shape, dtype)
        expected = apart(program, x.copy(), y.copy(), monkeypatch=monkeypatch)
        for block in (1 << 11, chains.BLOCK_BYTES):
            monkeypatch.setattr(chains, "BLOCK_BYTES", block)
            for n_threads in (1, 2):
                with wb.config(threads=n_threads):
                    assert_bits(with_arguments(wb.jit(program), [x.copy(), y.copy()]), expected)
        exact = program not in (
            depths,
            inner_prefix,
            levels,
            limited,
            what_is_returned_is_read_around,
        )  # which have an `exp`
        numpys = with_arguments(program, [x.copy(), y.copy()])
        if exact:
            assert_bits(expected, numpys)
        else:
            for a, b in zip(expected, numpys, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6)


def test_kernels_that_read_rows_around_run_together():
    x, y = arrays((400, 60), "float64")
    for program, n_hidden in ((fluxes, 2), (limited, 1), (what_is_returned_is_read_around, 2), (far_rows, 2)):
        f = wb.jit(program)
        f(x, y)
        (chain,) = f.compilations[-1].executable.chains.values()
        assert chain.by_rows and chain.around, program
        assert len(chain.hidden) == n_hidden, program


def test_random_stencils(monkeypatch):
    n_by_rows = 0
    for seed in range(60):
        writer = Writer(seed)
        program = define(writer.straight(), "f", f"<straight stencil {seed}>")
        rng = np.random.default_rng(seed)
        x, y = (rng.standard_normal(writer.shape).astype(writer.dtype) for _ in range(2))
        expected = apart(program, x.copy(), y.copy(), monkeypatch=monkeypatch)
        for block, n_threads in ((1 << 11, 2), (1 << 13, 1), (1 << 14, 3)):
            monkeypatch.setattr(chains, "BLOCK_BYTES", block)
            monkeypatch.setattr(chains, "LEAST_WIDTH", 2)
            with wb.config(threads=n_threads):
                f = wb.jit(program)
                assert_bits(with_arguments(f, [x.copy(), y.copy()]), expected)
            n_by_rows += any(chain.by_rows for chain in f.compilations[-1].executable.chains.values())
    assert n_by_rows > 60


def test_strided_and_overlapping_arguments():
    x, y = arrays((90, 64), "float64")
    for a, b in ((x.T, y.T), (x[::2], y[::-2]), (x[:, ::2], y[:, 1::2]), (x[1:], x[:-1]), (x, x)):
        for program in (weights, two_prefixes, exclusive, softmaxes, parts):
            assert_bits(with_arguments(wb.jit(program), [a, b]), with_arguments(program, [a.copy(), b.copy()]))

    def update(a, b):
        c = np.cumsum(a * b, axis=1)
        a[:] = c * 2
        return np.cumsum(b + c, axis=1)

    mine, theirs = x.copy(), x.copy()
    found, expected = (
        with_arguments(wb.jit(update), [mine[1:], mine[:-1]]),
        with_arguments(update, [theirs[1:], theirs[:-1]]),
    )
    assert_bits([found[0], mine], [expected[0], theirs])


def steps_of_chains(program, *inputs):
    f = wb.jit(program)
    f(*inputs)
    executable = f.compilations[-1].executable
    return ids_of_chains(executable), executable.source


def ids_of_chains(executable):
    return [[member.step.id for member in chain.members] for chain in executable.chains.values()]


def test_a_scan_runs_with_what_stands_around_it():
    x = np.ones((400, 60))
    found, source = steps_of_chains(depths, x, np.ones(60))
    assert [len(chain) for chain in found] == [3]
    assert source.count("hidden") == 1  # of some rows of the powers, where their prefix sums lie afterwards
    found, source = steps_of_chains(weights, x, np.ones(60))  # whose prefix sum needs no kernel for itself
    assert [len(chain) for chain in found] == [2]
    assert "hidden" not in source
    assert not steps_of_chains(outer_prefix, x, x)[0]


def test_results_are_not_shared_with_later_calls():
    x, y = arrays((500, 40), "float64")
    f = wb.jit(exclusive)
    first = f(x, y)
    kept = [a.copy() for a in first]
    f(y, x)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_report_says_which_kernels_run_together():
    x, y = np.random.default_rng(3).random((2, 64, 500))
    compiled = wb.jit(exclusive)
    compiled(x, y)
    (chain,) = ids_of_chains(compiled.compilations[-1].executable)
    report = wb.explain(compiled)(x, y)
    for kernel in report.kernels:
        named = [other for other in chain if other != kernel.id and other in kernel.launch]
        assert len(named) == (len(chain) - 1 if kernel.id in chain else 0), kernel.launch
    assert "some rows at a time" in " ".join(report.to_text(only=["kernels"]).split())


def test_copies_before_a_part_is_replaced_are_made_row_by_row():
    x = np.ones((400, 60))
    found, source = steps_of_chains(coefficients, x, x)
    assert len(found) == 1
    assert source.count(" = hidden") == 2  # the zeros, where the sums lie afterwards, and what is made of them
    assert "copy" not in source
