"""The GPU's side of the runtime over a stand-in for CuPy: launches, arrays that stay, graphs, errors, reports.

What only a device can show (that the driver takes the PTX, that streams overlap) is left to tests/benchmarks/cuda.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import DeviceError, DeviceMemoryError
from workbench.fusion import form_plan
from workbench.report.figures import roofline
from workbench.runtime.cuda.cupy_memory import CupyMemory
from workbench.runtime.cuda.lifetimes import peak_bytes

from . import fake_cupy


@pytest.fixture
def cupy(monkeypatch):
    return fake_cupy.install(monkeypatch)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(5, 12))


def test_host_arrays_go_there_and_results_come_back(cupy, x):
    f = wb.jit(softmax, device="cuda")
    y = f(x)
    assert type(y) is np.ndarray and f.compilations[0].device == "cuda:0" and fake_cupy.LAUNCHES
    np.testing.assert_allclose(y, softmax(x), rtol=1e-14)


def test_arrays_of_the_device_stay_there(cupy, x):
    f = wb.jit(softmax)
    y = f(cupy.asarray(x))
    assert isinstance(y, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(y), softmax(x), rtol=1e-14)
    (compilation,) = f.compilations
    assert compilation.device == "cuda:0" and compilation.crossings == ()


def test_arrays_of_others_come_in_without_a_copy(cupy, x):
    class Tensor:  # as PyTorch's and Numba's say where their memory is
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    f = wb.jit(lambda a: a * 2 + 1, device="cuda")
    np.testing.assert_array_equal(cupy.asnumpy(f(Tensor(cupy.asarray(x)))), x * 2 + 1)
    assert f.compilations[0].crossings == ()


def test_views_are_read_where_they_are(cupy):
    a = np.arange(24.0).reshape(4, 6)
    f = wb.jit(lambda a: (np.sort(a.T[::-1], axis=0) + a.T[::-1], a.T @ a), device="cuda")
    for mine, reference in zip(f(a), (np.sort(a.T[::-1], axis=0) + a.T[::-1], a.T @ a), strict=True):
        np.testing.assert_allclose(mine, reference)


def test_what_the_device_has_no_routine_for_crosses_to_the_host(cupy):
    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    f = wb.jit(lambda a, b: np.linalg.lstsq(a * 2.0, b)[0] + 1.0, device="cuda")
    np.testing.assert_allclose(f(a, b), np.linalg.lstsq(a * 2.0, b)[0] + 1.0)
    whys = [(c.direction, c.why) for c in f.compilations[0].crossings]
    assert whys[0] == ("to device", "input") and whys[-1] == ("to host", "result") and len(whys) >= 4


def test_loops_that_only_numba_takes_run_on_the_host_inside_of_a_program_of_the_device(cupy, x):
    def downhill(x):
        x = np.tanh(x) * 2.0
        j, path = int(np.argmin(x[-1])), np.zeros(len(x), np.int64)
        for i in range(len(x) - 2, -1, -1):
            path[i + 1] = j
            if j > 0 and x[i, j - 1] < x[i, j]:
                j -= 1
        path[0] = j
        return path, x.sum(axis=0)

    f = wb.jit(downhill, device="cuda")
    for mine, theirs in zip(f(x), downhill(x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)
    (compilation,) = f.compilations
    assert compilation.device == "cuda:0" and compilation.kernels and not f.fallbacks
    whys = {(c.direction, c.why) for c in compilation.crossings}
    assert {("to device", "input"), ("to host", "for"), ("to device", "for"), ("to host", "result")} == whys
    report = wb.explain(wb.jit(downhill, device="cuda"))(x)
    assert "host" in {bar.lane for bar in report.timings.timeline}
    g = wb.jit(lambda x: np.tanh(downhill(x)[1]))
    assert isinstance(g(cupy.asarray(x)), cupy.ndarray)  # an array of the device in a closure or argument stays one


def test_what_a_routine_refuses_is_for_the_host_to_decide(cupy, monkeypatch):
    def refuse(*args):
        raise RuntimeError("cuSOLVER objects")

    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    monkeypatch.setattr(cupy.linalg, "inv", refuse)
    g = wb.jit(lambda a: np.linalg.inv(a * 2.0), device="cuda")
    np.testing.assert_allclose(g(a), np.linalg.inv(a * 2.0))
    assert {c.why for c in g.compilations[0].crossings} == {"input", "inv", "result"}
    with pytest.raises(np.linalg.LinAlgError):
        g(np.zeros((2, 2)))


def test_results_have_memory_of_their_own(cupy):
    def f(a):
        return a.T.copy(), np.ones(3), a[::2].copy()

    a = cupy.asarray(np.arange(12.0).reshape(4, 3))
    compiled = wb.jit(f, device="cuda")
    for result in (*compiled(a), *compiled(a)):
        result[...] = -1.0
    np.testing.assert_array_equal(cupy.asnumpy(a), np.arange(12.0).reshape(4, 3))
    for mine, reference in zip(compiled(a), f(np.arange(12.0).reshape(4, 3)), strict=True):
        np.testing.assert_array_equal(cupy.asnumpy(mine), reference)


def test_arguments_that_overlap_on_the_device_are_left_to_its_own_numpy(cupy):
    def shift(a, b):
        a[...] = b + 1.0
        a *= 2.0

    compiled = wb.jit(shift, device="cuda")
    whole, expected = cupy.asarray(np.arange(6.0)), np.arange(6.0)
    from workbench.runtime.arguments import overlapping

    assert overlapping([whole[1:], whole[:-1]], [0]) == (0, 1)
    assert overlapping([whole[:3], whole[3:]], [0]) is None
    compiled(whole[:3], whole[3:])
    shift(expected[:3], expected[3:])
    np.testing.assert_array_equal(cupy.asnumpy(whole), expected)


def test_updates_of_the_hosts_arrays_by_the_devices_come_back(cupy):
    def add(a, b):
        a += b
        return a * 2.0

    a, b = np.arange(4.0), cupy.asarray(np.ones(4))
    doubled = wb.jit(add, device="cuda")(a, b)
    np.testing.assert_array_equal(a, [1, 2, 3, 4])
    np.testing.assert_array_equal(cupy.asnumpy(doubled), [2, 4, 6, 8])


def test_a_long_chain_is_one_kernel(cupy):
    def chain(x):
        for k in tuple(range(130)):
            x = np.where(x > k, x * 0.5, x + 0.25)
        return x

    f, x = wb.jit(chain, device="cuda"), np.linspace(0.0, 9.0, 7)
    np.testing.assert_array_equal(f(x), chain(x))
    assert len(f.compilations[0].kernels) == 1


def test_loops_over_small_arrays_stay_on_the_device(cupy):
    def steps(x):
        for _ in range(6):
            x = x - x.sum() * 0.01
        return x

    f, x = wb.jit(steps, device="cuda"), np.arange(20.0)
    np.testing.assert_allclose(f(x), steps(x), rtol=1e-12)
    assert {c.why for c in f.compilations[0].crossings} == {"input", "result"}


def test_loops_of_a_known_length_are_recorded(cupy, monkeypatch):
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)  # each step a launch

    def steps(x):
        return wb.lax.fori_loop(0, 6, lambda i, x: x - x.sum() * 0.01, x)

    f = wb.jit(steps, device="cuda")
    x = np.arange(20.0)
    for number in range(4):
        np.testing.assert_allclose(f(x), steps(x), rtol=1e-12)
        assert (f.compilations[0].executable.recording.replay is not None) == (number >= 2)


def test_updates_reach_arrays_of_the_device(cupy):
    def add(a):
        a[1:] += 2.0
        return a.sum()

    a = cupy.asarray(np.arange(4.0))
    total = wb.jit(add, device="cuda")(a)
    np.testing.assert_array_equal(cupy.asnumpy(a), [0, 3, 4, 5])
    assert float(total) == 12.0


def test_arrays_at_any_address_are_read_and_written(cupy):
    base = np.random.default_rng(2).normal(size=103).astype(np.float32)
    there = cupy.asarray(base)
    f = wb.jit(lambda x: (np.sqrt(x * x + 1), x.sum()), device="cuda")
    for start in range(5):
        root, total = f(there[start : 96 + start])
        x = base[start : 96 + start]
        np.testing.assert_allclose(cupy.asnumpy(root), np.sqrt(x * x + 1), rtol=1e-6)
        np.testing.assert_allclose(float(total), x.sum(), rtol=1e-4, atol=1e-5)


def test_many_launches_become_one_graph(cupy, monkeypatch):
    def chain(x):
        for _ in range(3):
            x = x - x.mean()
            x = x / x.std()
        return x

    f = wb.jit(chain, device="cuda")
    rng = np.random.default_rng(1)
    for number in range(5):
        x = rng.normal(size=50)
        np.testing.assert_allclose(f(x), chain(x), rtol=1e-10)
        replay = f.compilations[0].executable.recording.replay
        assert (replay is not None) == (number >= 2)


def test_launches_that_cannot_be_recorded_go_one_by_one(cupy, monkeypatch):
    def refuse(self):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(fake_cupy.Stream, "begin_capture", refuse)
    f = wb.jit(lambda x: ((x - x.mean()) / x.std()).max() * x, device="cuda")
    x = np.arange(5.0)
    for _ in range(4):
        np.testing.assert_allclose(f(x), ((x - x.mean()) / x.std()).max() * x, rtol=1e-12)
    executable = f.compilations[0].executable
    assert executable.recording.replay is None and executable.recording.is_refused
    assert all("not permitted" in kernel.launch_text for kernel in executable.compiled.values())


def test_a_recording_is_used_only_if_it_gives_the_same_bits(cupy, monkeypatch):
    real = CupyMemory.record

    def forgetful(self, run, inputs):
        replay = real(self, run, inputs)
        return lambda *given: tuple(result * 2.0 for result in replay(*given))

    def steps(x):
        return ((x - x.mean()) / x.std()).max() * x

    x = np.arange(5.0)
    for record, how in ((forgetful, "one by one"), (real, "CUDA graph")):
        monkeypatch.setattr(CupyMemory, "record", record)
        f = wb.jit(steps, device="cuda")
        for _ in range(4):
            np.testing.assert_allclose(f(x), steps(x), rtol=1e-12)
        executable = f.compilations[0].executable
        assert (executable.recording.replay is not None) is (record is real)
        assert all(how in kernel.launch_text for kernel in executable.compiled.values())


def relaxed(x):
    return wb.lax.while_loop(
        lambda s: (s[1].max() > 0.5) & (s[0] < 50), lambda s: (s[0] + 1, s[1] * 0.9 - s[1].mean() * 0.01), (0, x)
    )


def relaxed_by_products(x):
    half = np.eye(12) * 0.5
    return wb.lax.while_loop(lambda v: v.max() > 0.01, lambda v: v @ half, x)


def relaxed_to_a_limit(x):
    def inner(v):
        return wb.lax.while_loop(lambda u: u.max() > v.max() * 0.9, lambda u: u * 0.95, v)

    return wb.lax.while_loop(lambda v: v.max() > 0.5, inner, x)


@pytest.mark.parametrize(
    ("function", "n_more"),
    [(relaxed, 1), (relaxed_by_products, 0), (relaxed_to_a_limit, 0)],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_loops_go_ahead_of_their_condition_where_that_is_safe(cupy, monkeypatch, x, function, n_more):
    """An inner loop might not end for values that the outer one stops at."""
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)
    x, runs = np.abs(x) + 1.0, {}
    for ahead in (0.0, 1e9):
        monkeypatch.setattr("workbench.runtime.cuda.programs.AHEAD_S", ahead)
        f = wb.jit(function, device="cuda")
        fake_cupy.LAUNCHES.clear()
        found = f(x)
        conditions = [c for c in f.compilations[0].crossings if c.why == "condition"]
        runs[ahead] = (
            [np.asarray(leaf).tobytes() for leaf in (found if isinstance(found, tuple) else (found,))],
            len(conditions), fake_cupy.LAUNCHES.copy(),
        )  # fmt: skip
    (alone, n_asked, few), (ahead, n_asked_ahead, many) = runs.values()
    assert alone == ahead and n_asked == n_asked_ahead > 6
    assert (len(many) > len(few)) is bool(n_more)
    for mine, theirs in zip(np.atleast_1d(found[-1]), np.atleast_1d(function(x)[-1]), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_a_loop_that_runs_out_of_memory_ahead_waits_for_its_condition(cupy, monkeypatch, x):
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)
    monkeypatch.setattr("workbench.runtime.cuda.programs.AHEAD_S", 1e9)
    f, expected = wb.jit(relaxed, device="cuda"), relaxed(np.abs(x) + 1.0)
    asking, real_get, real_empty, n_refused = [False], CupyMemory.begin_get, CupyMemory.empty, [0]

    def begin_get(self, array):
        wait = real_get(self, array)
        asking[0] = True

        def wait_for_it():
            asking[0] = False
            return wait()

        return wait_for_it

    def empty(self, shape, dtype):
        if asking[0] and len(shape) == 2:
            n_refused[0] += 1
            raise fake_cupy.OutOfMemoryError("no room for two")
        return real_empty(self, shape, dtype)

    monkeypatch.setattr(CupyMemory, "begin_get", begin_get)
    monkeypatch.setattr(CupyMemory, "empty", empty)
    found = f(np.abs(x) + 1.0)
    assert n_refused[0] == 1 and int(found[0]) == int(expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_out_of_memory_says_what_would_fit_and_leaves_everything(cupy, x):
    f = wb.jit(softmax, device="cuda")
    expected = f(x)
    fake_cupy.LIMIT_BYTES[0] = 100
    with pytest.raises(DeviceMemoryError, match="WB606") as caught:
        f(x)
    assert isinstance(caught.value, MemoryError) and "nvidia-smi" in str(caught.value)
    # Whoever keeps the error (a notebook does) keeps none of the run's arrays.
    assert caught.value.__cause__ is not None
    tb = caught.value.__cause__.__traceback__.tb_next
    while tb is not None:
        assert not tb.tb_frame.f_locals
        tb = tb.tb_next
    fake_cupy.LIMIT_BYTES[0] = 1 << 40
    np.testing.assert_array_equal(f(x), expected)


def test_constants_that_do_not_fit_are_the_same_error(cupy):
    table = np.arange(100.0)
    fake_cupy.LIMIT_BYTES[0] = 100
    with pytest.raises(DeviceMemoryError, match="WB606"):
        wb.jit(lambda x: x + np.asarray(table.tolist()), device="cuda")(np.ones(100))


def test_what_would_fit_counts_what_lives_at_one_time():
    plan = form_plan(wb.jit(lambda x: np.sort(np.sort(np.sort(x)) * 2.0) + 1.0, device="numpy").trace(
        (np.ones(1000),), {}).jaxpr, in_place=False)  # fmt: skip
    assert 2 * 8000 <= peak_bytes(plan) <= 3 * 8000


def test_an_argument_on_another_gpu_is_copied_or_refused(cupy, x, monkeypatch):
    monkeypatch.setattr(CupyMemory, "lies_elsewhere", lambda self, value: hasattr(value, "host"))
    monkeypatch.setattr(CupyMemory, "owns", lambda self, value: False)
    f = wb.jit(softmax, device="cuda")
    there = cupy.asarray(x)
    np.testing.assert_allclose(cupy.asnumpy(f(there)), softmax(x), rtol=1e-14)
    assert [(c.direction, c.n_bytes) for c in f.compilations[0].crossings] == [("between devices", x.nbytes)]

    def add(a):
        a += 1.0

    with pytest.raises(DeviceError, match="WB607"):
        wb.jit(add, device="cuda")(there)
    np.testing.assert_array_equal(cupy.asnumpy(there), x)


def test_programs_run_where_their_arrays_are(cupy, x, monkeypatch):
    there = cupy.asarray(x)
    monkeypatch.setattr(type(there), "device", fake_cupy.Device(1))
    monkeypatch.setattr(CupyMemory, "lies_elsewhere", lambda self, value: False)
    f = wb.jit(softmax)
    f(there)
    assert [c.device for c in f.compilations] == ["cuda:1"]


def test_cells_take_arrays_of_the_device(cupy, x):
    from workbench.notebook.cells import CellOptions, run_cell

    namespace = {"np": np, "x": cupy.asarray(x), "out": cupy.asarray(np.zeros((5, 12)))}
    run = run_cell("y = np.tanh(x) * 2\nout[1:] += y[1:]", namespace, options=CellOptions(device="cuda"))
    assert run.report.status in ("compiled", "cached") and run.report.crossings == []
    np.testing.assert_allclose(cupy.asnumpy(namespace["y"]), np.tanh(x) * 2, rtol=1e-14)
    np.testing.assert_allclose(cupy.asnumpy(namespace["out"])[1:], np.tanh(x)[1:] * 2, rtol=1e-14)


def test_sums_of_colliding_floats_stay_on_the_device(cupy):
    def add(v, i):
        total = np.zeros(5)
        np.add.at(total, i, v)
        return total

    rng = np.random.default_rng(0)
    v, i = rng.normal(size=60), rng.integers(-5, 5, 60)
    f = wb.jit(add, device="cuda")
    np.testing.assert_allclose(f(v, i), add(v, i), rtol=1e-12, atol=1e-12)
    assert {c.why for c in f.compilations[0].crossings} == {"input", "result"}


def test_the_report_shows_ptx_registers_and_crossings(cupy, x, tmp_path):
    with wb.config(cache_dir=str(tmp_path)):
        report = wb.explain(wb.jit(softmax, device="cuda"))(x)
    text = " ".join(report.to_text().split())
    assert (
        "Imagined GPU" in text
        and "40 registers per thread" in text
        and "7 blocks per SM, 88 % occupancy" in text
        and "to device: x, input" in text
    )
    assert report.machine.device == "cuda:0" and ".entry" in str(report.kernels["K0"].asm)
    assert report.crossings[0].bytes == x.nbytes and report.machine.copy_gb_per_s > 0
    limits, *kernels = roofline(report).data
    assert limits.name == "this machine's limits" and kernels
    assert all(bar.time_ms >= 0 for bar in report.timings.timeline)


def test_auto_device_moves_to_the_gpu(cupy, x, monkeypatch):
    monkeypatch.setattr("workbench.runtime.dispatch.accelerator", lambda: "cuda:0")
    monkeypatch.setattr("workbench.runtime.devices.accelerator", lambda: "cuda:0")
    f = wb.jit(softmax)
    f(x)
    assert [c.device for c in f.compilations] == ["cuda:0"]


scale = 2.0


@pytest.mark.parametrize("device", [None, "cuda"])
def test_calls_with_arrays_of_the_device_take_the_short_way(cupy, monkeypatch, device):
    # Where a device was ever chosen, calls that name none ask for it.
    monkeypatch.setattr("workbench.runtime.dispatch.device_choices", set())
    f = wb.jit(lambda x, y: x * scale + y, device=device)
    rng = np.random.default_rng(0)

    def check(shape, dtype=np.float64):
        x, y = (rng.normal(size=shape).astype(dtype) for _ in range(2))
        found = f(cupy.asarray(x), cupy.asarray(y))
        assert isinstance(found, cupy.ndarray) and found.dtype == dtype
        np.testing.assert_array_equal(cupy.asnumpy(found), x * dtype(scale) + y)

    check((4, 5))
    with monkeypatch.context() as patch:
        patch.setattr("workbench.runtime.dispatch.CompiledFunction._call_slowly", None)
        for _ in range(3):
            check((4, 5))
    for shape, dtype in (((5, 4), np.float64), ((4, 5), np.float32), ((4, 5), np.float64)):
        check(shape, dtype)
    monkeypatch.setitem(globals(), "scale", 3.0)
    check((4, 5))
    x = rng.normal(size=(4, 5))
    np.testing.assert_array_equal(f(x, x), x * 3.0 + x)  # of the host: as ever
    with wb.device("cuda-sim"):  # chosen later
        assert type(wb.jit(lambda x: x + 1.0)(x)) is np.ndarray
    check((4, 5))


def test_the_short_way_is_not_for_calls_that_are_traced(cupy):
    inner = wb.jit(lambda x: x * 2.0)
    a = cupy.asarray(np.arange(6.0))
    for _ in range(3):
        inner(a)
    outer = wb.jit(lambda x: inner(x) + inner(x * 3.0))
    for _ in range(3):
        np.testing.assert_array_equal(cupy.asnumpy(outer(a)), np.arange(6.0) * 8.0)
    np.testing.assert_array_equal(cupy.asnumpy(wb.jit(lambda x: inner(x).sum())(a)), 30.0)
