"""Results that stay on the device until somebody looks at them."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.cuda.results import DeviceResult

from . import fake_cupy

X = np.linspace(0.0, 2.0, 12).reshape(3, 4)


def twice(x):
    return x * 2.0 + 1.0


@pytest.fixture(params=["cuda-sim", "cuda"])
def device(request, monkeypatch):
    if request.param == "cuda":
        fake_cupy.install(monkeypatch)
    with wb.config(lazy_results=True):
        yield request.param


@pytest.fixture
def lazy(device):
    return wb.jit(twice, device=device)


def to_host(compiled):
    return [c for compilation in compiled.compilations for c in compilation.crossings if c.direction == "to host"]


def test_results_are_ndarrays_at_once_unless_asked_otherwise():
    assert type(wb.jit(twice, device="cuda-sim")(X)) is np.ndarray


def test_a_result_crosses_when_it_is_looked_at_and_once(lazy):
    y = lazy(X)
    assert isinstance(y, DeviceResult) and y.is_there and to_host(lazy) == []
    assert (y.shape, y.dtype, y.ndim, y.size, y.nbytes, len(y)) == ((3, 4), np.float64, 2, 12, 96, 3)
    assert y.flags.c_contiguous and y.is_there and to_host(lazy) == []
    np.testing.assert_array_equal(y, twice(X))
    assert not y.is_there and np.asarray(y) is y.look()
    assert [(c.n_bytes, c.why) for c in to_host(lazy)] == [(96, "result")]


@pytest.mark.parametrize(
    "use",
    [
        lambda y: y + 1,
        lambda y: 1 - y,
        lambda y: y @ y.T,
        lambda y: -y,
        lambda y: y > 2,
        lambda y: y[1:, ::2],
        lambda y: y[y > 2],
        lambda y: y.sum(axis=0),
        lambda y: y.T,
        lambda y: np.sin(y),
        lambda y: np.add(y, y, out=np.empty((3, 4))),
        lambda y: np.concatenate([y, y]),
        lambda y: np.linalg.norm(y),
        lambda y: np.array(y, np.float32),
        lambda y: list(map(tuple, y)),
        lambda y: float(y[0, 1]),
        lambda y: pickle.loads(pickle.dumps(y)),
        lambda y: copy.deepcopy(y),
        lambda y: y.reshape(-1).tolist(),
        lambda y: f"{y}" + repr(y),
        lambda y: y.astype(int),
    ],
)
def test_it_does_what_an_ndarray_does(use, lazy):
    found, expected = use(lazy(X)), use(twice(X))
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


def test_what_is_handed_on_stays(lazy, device):
    after = wb.jit(lambda y: np.sqrt(y) - 1.0)  # wherever its argument is
    z = after(lazy(X))
    assert isinstance(z, DeviceResult) and z.device.startswith(device)
    assert [c for c in after.compilations[0].crossings] == [] and to_host(lazy) == []
    np.testing.assert_allclose(z, np.sqrt(twice(X)) - 1.0, rtol=1e-15)


def test_a_function_of_the_host_looks(lazy):
    y = lazy(X)
    for place in ("cpu", "numpy"):
        z = wb.jit(lambda y: y * 3.0, device=place)(y)
        assert type(z) is np.ndarray
        np.testing.assert_array_equal(z, twice(X) * 3.0)


def test_scalars_are_numbers(device):
    total, largest = wb.jit(lambda x: (x.sum(), x.max() * 2), device=device)(X)
    assert type(total) is np.float64 and total == pytest.approx(X.sum()) and largest == 4.0


def test_writing_into_a_result_is_seen_by_the_next_program(lazy, device):
    y = lazy(X)
    y[0] = 5.0

    def add(a):
        a[1:] += 1.0
        return a.sum()

    expected = np.array(y)
    assert wb.jit(add, device=device)(y) == pytest.approx(add(expected))
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(wb.jit(twice, device=device)(y), twice(expected))


def test_a_result_that_the_program_writes_into_is_looked_at_first(lazy, device):
    def add(a):
        a[1:] += 1.0
        return a

    y, expected = lazy(X), twice(X)
    z = wb.jit(add, device=device)(y)
    np.testing.assert_array_equal(z, add(expected))
    np.testing.assert_array_equal(y, expected)


def test_closures_and_cells_take_results(lazy, device):
    y = lazy(X)
    f = wb.jit(lambda x: x + y, device=device)
    for k in (1.0, 2.0):
        y = lazy(X * k)
        np.testing.assert_array_equal(f(X), X + twice(X * k))
    assert f.fallbacks == []
    from workbench.notebook.cells import CellOptions, run_cell

    namespace = {"np": np, "x": X}
    run_cell("y = np.tanh(x) * 2", namespace, options=CellOptions(device=device))
    assert isinstance(namespace["y"], DeviceResult)
    run = run_cell("z = y + 1\nt = z.sum()", namespace, options=CellOptions(device=device))
    assert namespace["y"].is_there and run.report.status in ("compiled", "cached")
    assert [(c.direction, c.why) for c in run.report.crossings] == [("to host", "result")]  # t, a number
    np.testing.assert_allclose(namespace["z"], np.tanh(X) * 2 + 1)
    cell = run_cell("w = y * 1.5", namespace, options=CellOptions(device="cpu"))
    assert cell.report.status in ("compiled", "cached") and type(namespace["w"]) is np.ndarray


def test_results_may_be_looked_at_from_many_threads(lazy):
    y, seen = lazy(X), []
    threads = [threading.Thread(target=lambda: seen.append(y.look())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(array) for array in seen}) == 1 and len(to_host(lazy)) == 1


def test_what_is_also_an_argument_or_a_view_is_its_own(device):
    f = wb.jit(lambda x: (x, x.T.copy(), x[1:], x.reshape(-1)), device=device)
    x = X.copy()
    for mine, theirs in zip(f(x), (x, x.T, x[1:], x.reshape(-1)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_an_array_of_the_device_gives_one_of_the_device(monkeypatch):
    cupy = fake_cupy.install(monkeypatch)
    with wb.config(lazy_results=True):
        assert isinstance(wb.jit(twice)(cupy.asarray(X)), cupy.ndarray)
        y = wb.jit(twice, device="cuda")(X)
    np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(y)), twice(X))
    assert y.is_there  # CuPy took it where it was


def test_another_stream_gets_a_copy(monkeypatch):
    cupy = fake_cupy.install(monkeypatch)
    f, g = wb.jit(twice, device="cuda"), wb.jit(twice, device="cuda")
    copies = []
    monkeypatch.setattr(cupy, "array", lambda x, original=cupy.array: copies.append(x) or original(x))
    with wb.config(lazy_results=True):
        y = f(X)
        g(y)
        assert not copies  # the same stream: its memory is used as it is
        with cupy.cuda.Stream(non_blocking=True):
            np.testing.assert_array_equal(g(y), twice(twice(X)))
    assert len(copies) == 1
