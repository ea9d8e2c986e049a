"""Devices: who decides where a program runs, and that it computes the same everywhere."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import workbench as wb
from tests.fuzz.differential import Case
from tests.fuzz.programs import random_program
from workbench.errors import DeviceError
from workbench.notebook.cells import CellOptions, run_cell
from workbench.runtime import devices

HERE = ("cpu", "cuda-sim", "numpy")  # what every machine has


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def places(f):
    return [c.device for c in f.compilations]


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(6, 20))


@pytest.mark.parametrize("device", HERE)
def test_each_device_gives_what_numpy_gives(device, x):
    f = wb.jit(softmax, device=device)
    np.testing.assert_allclose(f(x), softmax(x), rtol=1e-14)
    assert places(f) == [device] and type(f(x)) is np.ndarray


def test_the_innermost_choice_decides(x):
    f = wb.jit(softmax, auto_device=False)
    f(x)
    with wb.device("numpy") as name:
        assert name == "numpy"
        f(x)
        with wb.device("cuda-sim"):
            f(x)
        f(x)
    f(x)
    assert places(f) == ["cpu", "numpy", "cuda-sim"]
    with wb.config(device="cuda-sim"):
        fixed = wb.jit(softmax, device="numpy")
        fixed(x)
    assert places(fixed) == ["numpy"]


def test_config_sets_the_default(x):
    f = wb.jit(softmax)
    with wb.config(device="numpy"):
        f(x)
    assert places(f) == ["numpy"]


def test_a_block_is_the_threads_own(x):
    f = wb.jit(softmax, auto_device=False)
    with wb.device("numpy"):
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        thread.join()
    assert places(f) == ["cpu"]


def test_a_compiled_function_is_inlined_where_its_caller_runs(x):
    inner = wb.jit(softmax, device="cuda-sim")
    outer = wb.jit(lambda x: inner(x) * 2, device="numpy")
    np.testing.assert_allclose(outer(x), softmax(x) * 2, rtol=1e-14)
    assert places(outer) == ["numpy"] and places(inner) == []


@pytest.mark.parametrize("device", HERE)
def test_updates_reach_the_callers_array(device):
    def shifted(x, n):
        x[1:] += n
        return x.sum(), x[::2]

    mine, numpys = np.arange(5.0), np.arange(5.0)
    total, view = wb.jit(shifted, device=device)(mine, 2)
    expected = shifted(numpys, 2)
    np.testing.assert_array_equal(mine, numpys)
    assert total == expected[0] and np.shares_memory(view, mine)
    np.testing.assert_array_equal(view, expected[1])


@pytest.mark.parametrize("device", HERE)
def test_updates_reach_arrays_at_any_address(device):
    memory = np.zeros(8 * 12 + 1, np.uint8)
    x = memory[1:].view(np.float64).reshape(4, 3)  # aligned nowhere
    x[...] = np.arange(12.0).reshape(4, 3)

    def largest(x):
        np.maximum(x, x[1], out=x)
        return x

    expected = largest(x.copy())
    assert wb.jit(largest, device=device)(x) is x
    np.testing.assert_array_equal(x, expected)
    run_cell("x += 1.0", {"np": np, "x": x}, options=CellOptions(device=device))
    np.testing.assert_array_equal(x, expected + 1.0)


@pytest.mark.parametrize("device", HERE)
def test_a_result_is_the_callers_own(device):
    x = np.arange(6.0)
    for f in (
        lambda x: x,
        lambda x: x.reshape(2, 3).T.copy(),
        lambda x: wb.lax.cond(True, lambda v: v, lambda v: -v, x),
    ):
        y = wb.jit(f, device=device)(x)
        if f(x) is not x:
            assert not np.shares_memory(y, x)


@pytest.mark.parametrize("device", HERE)
def test_control_flow_and_library_calls_run(device):
    def f(a, b):
        product = a @ b
        rows = wb.lax.scan(lambda c, row: (c + row, c.sum()), np.zeros(3), product)
        small = wb.lax.while_loop(lambda v: v.max() > 1.0, lambda v: v / 2, product)
        picked = wb.lax.cond(a[0, 0] > 0, lambda v: np.sort(v, axis=0), lambda v: -v, product)
        return rows, small, picked, np.cumsum(a, axis=1), np.linalg.inv(product)

    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 3))
    found, expected = wb.jit(f, device=device)(a, b), wb.jit(f, device="cpu")(a, b)
    for mine, reference in zip(*(wb_leaves(v) for v in (found, expected)), strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-12)


@pytest.mark.parametrize("device", HERE)
def test_branches_take_elements_of_arrays(device):
    """Views of one element each, which are in any order."""

    def either(x):
        return wb.lax.cond(
            x[0] > 0.0, lambda a, b: (a - b, np.sort(np.ones(3) * a)), lambda a, b: (a + b, np.ones(3)), x[1], x[2]
        )

    f = wb.jit(either, device=device, strict=True)
    for first in (1.0, -1.0):
        x = np.array([first, 2.0, 4.0])
        for mine, numpys in zip(f(x), either(x), strict=True):
            np.testing.assert_array_equal(mine, numpys)
    assert places(f) == [device] and f.fallbacks == []


def test_what_runs_in_numpy_instead_of_on_a_device_is_said():
    f = wb.jit(lambda x: np.unique(np.sqrt(x)), device="cuda-sim")
    np.testing.assert_array_equal(f(np.array([1.0, 4.0, 1.0])), [1.0, 2.0])
    (reason,) = f.fallbacks
    assert reason.code == "WB110"


def wb_leaves(value):
    return [leaf for part in value for leaf in (wb_leaves(part) if isinstance(part, tuple) else [part])]


def test_random_numbers_are_the_same_everywhere():
    def draw(seed):
        return wb.random.normal(wb.random.key(seed), (7, 3)), wb.random.bits(wb.random.key(seed), (5,))

    results = [wb.jit(draw, device=device)(3) for device in HERE]
    for normal, bits in results[1:]:
        np.testing.assert_array_equal(bits, results[0][1])
        np.testing.assert_allclose(normal, results[0][0], rtol=1e-12)


@pytest.mark.parametrize("device", HERE)
def test_empty_arrays_are_no_exception(device):
    f = wb.jit(lambda x: (x * 2 + 1, x.sum(axis=0), x.sum(axis=1)), device=device, strict=True)
    for shape in ((0, 3), (3, 0)):
        x = np.zeros(shape)
        for mine, numpys in zip(f(x), (x * 2 + 1, x.sum(axis=0), x.sum(axis=1)), strict=True):
            np.testing.assert_array_equal(mine, numpys)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_do_what_numpy_does(seed):
    program = random_program(seed, 6)
    with wb.config(device="cuda-sim"):
        for which in range(len(program.sizes)):
            Case(program).check(which)


def test_crossings_are_counted(x):
    f = wb.jit(softmax, device="cuda-sim")
    f(x)
    (compilation,) = f.compilations
    assert [(c.name, c.direction, c.n_bytes, c.why) for c in compilation.crossings] == [
        ("x", "to device", x.nbytes, "input"),
        ("", "to host", x.nbytes, "result"),
    ]


def test_a_loop_that_the_host_decides_counts_its_conditions(monkeypatch):
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)  # no array is small enough
    f = wb.jit(lambda x: wb.lax.while_loop(lambda v: v.max() > 1.0, lambda v: v / 2, x), device="cuda-sim")
    f(np.full(3, 5.0))
    (compilation,) = f.compilations
    assert sum(c.why == "condition" for c in compilation.crossings) == 4


def test_cells_run_on_their_device(x):
    namespace = {"np": np, "x": x}
    for device in HERE:
        run = run_cell("y = np.tanh(x).sum(axis=0)", namespace, options=CellOptions(device=device))
        assert run.report.machine.device == device and run.report.status in ("compiled", "cached", "numpy")
        np.testing.assert_allclose(namespace["y"], np.tanh(x).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "", "CPU"])
def test_a_device_that_there_is_not_is_named(name):
    with pytest.raises(DeviceError, match="WB600"):
        devices.canonical(name)


def test_a_gpu_that_is_not_there_is_an_error_with_a_check(x):
    if devices.accelerator():
        pytest.skip("this machine has a GPU")
    for attempt in (lambda: wb.device("cuda"), lambda: wb.jit(softmax, device="cuda:0")(x)):
        with pytest.raises(DeviceError, match="Check ") as caught:
            attempt()
        assert caught.value.code in ("WB601", "WB602", "WB603", "WB604", "WB605") and caught.value.fixes


def test_without_a_gpu_auto_device_stays_on_the_cpu(x):
    if devices.accelerator():
        pytest.skip("this machine has a GPU")
    f = wb.jit(softmax, auto_device=True)
    f(x)
    assert places(f) == ["cpu"]


def test_auto_device_takes_the_gpu_and_false_leaves_it(x, monkeypatch):
    # The simulator stands in for the GPU that this machine may not have.
    monkeypatch.setattr("workbench.runtime.dispatch.accelerator", lambda: "cuda-sim")
    monkeypatch.setattr(devices, "accelerator", lambda: "cuda-sim")
    moved, stayed = wb.jit(softmax), wb.jit(softmax, auto_device=False)
    moved(x), stayed(x)
    assert places(moved) == ["cuda-sim"] and places(stayed) == ["cpu"]
    assert moved.compilations[0].crossings[0].direction == "to device"


def test_a_gpu_that_nobody_asked_for_does_not_break_a_program(x, monkeypatch):
    def refuse(device):
        raise DeviceError("WB603  too old", code="WB603")

    monkeypatch.setattr("workbench.runtime.dispatch.accelerator", lambda: "cuda-sim")
    monkeypatch.setattr(devices, "accelerator", lambda: "cuda-sim")
    monkeypatch.setattr("workbench.runtime.cuda.memory.memory_of", refuse)
    f = wb.jit(softmax)
    np.testing.assert_allclose(f(x), softmax(x), rtol=1e-14)
    np.testing.assert_allclose(f(x), softmax(x), rtol=1e-14)
    assert places(f) == ["cpu"]
    with pytest.raises(DeviceError, match="WB603"):
        wb.jit(softmax, device="cuda-sim")(x)


@pytest.mark.parametrize("breaks", ["start", "memory"])
def test_a_gpu_that_nobody_asked_for_does_not_break_a_cell(x, monkeypatch, breaks):
    def refuse(*args):
        raise MemoryError if breaks == "memory" else DeviceError("WB603  too old", code="WB603")

    monkeypatch.setattr(devices, "accelerator", lambda: "cuda-sim")
    place = "SimulatedMemory.empty" if breaks == "memory" else "memory_of"
    namespace, source = {"np": np, "x": x}, f"y = np.tanh(x) * 2 + {len(breaks)}"
    with monkeypatch.context() as patch:
        patch.setattr(f"workbench.runtime.cuda.memory.{place}", refuse)
        for _ in range(2):
            report = run_cell(source, namespace, options=CellOptions()).report
            assert report.machine.device == "cpu" and report.status in ("compiled", "cached")
        with pytest.raises(DeviceError if breaks == "start" else MemoryError, match="WB60"):
            run_cell(source, namespace, options=CellOptions(device="cuda-sim"))
    np.testing.assert_allclose(namespace["y"], np.tanh(x) * 2 + len(breaks), rtol=1e-14)
    assert run_cell(source, namespace, options=CellOptions()).report.machine.device == "cpu"  # once for all
    assert run_cell(source + " ", namespace, options=CellOptions()).report.machine.device == "cuda-sim"


def test_the_users_own_errors_stay_theirs_on_a_gpu_that_nobody_asked_for(x, monkeypatch):
    monkeypatch.setattr(devices, "accelerator", lambda: "cuda-sim")
    with pytest.raises(ValueError, match="cannot reshape"):
        run_cell("y = np.tanh(x).reshape(7, 7)", {"np": np, "x": x}, options=CellOptions())
