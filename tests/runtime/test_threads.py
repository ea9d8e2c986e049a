"""Threads: one function called by many, errors that stay with their caller, children of a fork."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from llvmlite import binding

import workbench as wb
from workbench.codegen import llvm_pool
from workbench.runtime.native import cores, threads

N_CALLERS = 8


def launch(*args):
    """In several threads, even if launches before lost by it."""
    threads._pool().words[llvm_pool.ALONE] = 0
    threads.launch(*args)


def together(work, n=N_CALLERS):
    """Run `work(i)` in `n` threads that start at once; the results, in order."""
    barrier = threading.Barrier(n)

    def run(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))


def test_the_first_call_by_many_threads_compiles_once():
    f = wb.jit(lambda x: np.exp(-x) + x)
    arrays = [np.full(100, float(i)) for i in range(N_CALLERS)]
    for x, result in zip(arrays, together(lambda i: f(arrays[i])), strict=True):
        np.testing.assert_allclose(result, np.exp(-x) + x, rtol=1e-14)
    assert f.n_traces == 1


def test_many_threads_with_many_shapes(rng):
    f = wb.jit(lambda x, w: (np.tanh(x @ w).sum(axis=1), x - x.mean(axis=0)))
    cases = [(rng.random((5 + i, 4)), rng.random((4, 3))) for i in range(N_CALLERS)]

    def work(i):
        for k in range(20):
            x, w = cases[(i + k) % N_CALLERS]
            for a, b in zip(f(x, w), f.fn(x, w), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)

    together(work)
    assert f.n_traces == N_CALLERS


def test_large_arrays_run_in_parallel_from_parallel_callers(rng):
    f = wb.jit(lambda x: (np.sqrt(x) * 2, x.sum(), x.max(axis=0)))
    arrays = [rng.random((700, 800)) for _ in range(3)]
    with wb.config(threads=2):
        f(arrays[0])

    def work(i):
        x = arrays[i % 3]
        for _ in range(10):
            root, total, largest = f(x)
            np.testing.assert_array_equal(root, np.sqrt(x) * 2)
            np.testing.assert_allclose(total, x.sum(), rtol=1e-13)
            np.testing.assert_array_equal(largest, x.max(axis=0))

    together(work, 4)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_results_do_not_depend_on_the_number_of_threads(n_threads, rng):
    x = rng.random((999, 301))
    results = []
    for n in (1, n_threads):
        with wb.config(threads=n):
            f = wb.jit(lambda x: (np.exp(x).sum(), x.sum(axis=0), x.argmin(), np.cumsum(x, axis=1)))
            results.append(f(x))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_ranges_cover_everything_once():
    for extent in (1, 2, 9, 100, 1001):
        for grain in (1, 3, 50):
            seen = np.zeros(extent, int)

            def kernel(start, stop, counts):
                counts[start:stop] += 1

            launch(kernel, extent, grain, 4, (seen,))
            assert seen.tolist() == [1] * extent


@pytest.mark.parametrize("extent", [1001, 9000, 9216, 100_000, 3_000_001])
def test_ranges_become_shorter_and_long_ones_begin_at_lines_of_the_cache(extent):
    seen = []
    launch(lambda start, stop: seen.append((start, stop)), extent, 1, 2, ())
    seen.sort()
    assert all(stop == start for (_, stop), (start, _) in pairwise(seen))
    sizes = [stop - start for start, stop in seen]
    is_long = extent >= llvm_pool.ALIGNED * (2 * threads.RANGES_PER_THREAD) ** 2
    slack = llvm_pool.ALIGNED if is_long else 2
    assert all(after <= before + slack for before, after in pairwise(sizes))
    assert sizes[-1] < extent / 50
    assert any(start % llvm_pool.ALIGNED for start, _ in seen) != is_long


def test_an_error_in_one_range_reaches_the_caller_and_the_workers_live_on():
    def kernel(start, stop):
        if start:
            raise ZeroDivisionError("in a worker")

    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="in a worker"):
            launch(kernel, 100, 1, 4, ())
    seen = []
    launch(lambda start, stop: seen.append(stop - start), 100, 1, 4, ())
    assert sum(seen) == 100


def test_a_kernel_that_launches_kernels_does_not_wait_for_itself():
    seen = []

    def inner(start, stop):
        seen.append(stop - start)

    outer = []

    def kernel(start, stop):
        outer.append(stop - start)
        threads.launch(inner, 10, 1, 4, ())

    launch(kernel, 20, 1, 4, ())
    assert sum(outer) == 20 and sum(seen) == 10 * len(outer) > 10


def test_settings_of_one_thread_do_not_reach_another():
    def work(i):
        with wb.config(strict=bool(i % 2)):
            f = wb.jit(lambda x: np.union1d(x, x)[0])
            if i % 2:
                with pytest.raises(wb.errors.TracingError):
                    f(np.ones(3))
            else:
                assert f(np.ones(3)) == 1

    together(work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_fork_computes_on():
    f = wb.jit(lambda x: np.exp(x).sum(axis=0) * 2)
    x = np.random.default_rng(0).random((800, 900))
    expected = f(x)  # the workers are running now
    child = os.fork()
    if child == 0:
        status = 1
        try:
            new = wb.jit(lambda x: np.sqrt(x) + 3)
            same = np.array_equal(f(x), expected) and np.allclose(new(x), np.sqrt(x) + 3)
            status = 0 if same else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(f(x), expected)


def test_a_call_while_the_interpreter_exits_does_not_hang(tmp_path):
    import subprocess

    code = (
        "import atexit, numpy as np, workbench as wb\n"
        "f = wb.jit(lambda x: np.exp(x) + 1)\n"
        "x = np.ones((1000, 1000)); f(x)\n"
        "atexit.register(lambda: print(f(x)[0, 0]))\n"
    )
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path), "WORKBENCH_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0 and done.stdout.startswith("3.718"), done.stderr


class Pace:
    """Whether the workers of a pool of its own would be woken."""

    def __init__(self):
        self.words = np.zeros(llvm_pool.n_words(0), np.int64)
        self.words[llvm_pool.LOST] = 1

    def record(self, elapsed_ns, alone_ns):
        threads._pool().record(self.words.ctypes.data, elapsed_ns, alone_ns)

    def skipped(self):
        alone, self.words[llvm_pool.ALONE] = int(self.words[llvm_pool.ALONE]), 0
        return alone


def test_launches_that_lose_by_their_workers_do_without_for_longer_each_time():
    pace = Pace()
    alone = []
    for _ in range(10):
        pace.record(2000, 1000)
        alone.append(pace.skipped())
    assert alone[:3] == [2, 4, 8] and alone[-1] == llvm_pool.MOST_ALONE
    pace.record(1000, 2000)
    assert not pace.skipped(), "a launch that gained is followed by another one"
    pace.record(3000, 1000)
    assert pace.skipped() == llvm_pool.MOST_ALONE, "half as many as before, twice: the loss was the next one"


def test_a_small_loss_among_gains_keeps_the_workers():
    pace = Pace()
    for _ in range(50):
        for elapsed_ns in (600, 600, 1400, 600):
            pace.record(elapsed_ns, 1000)
            assert not pace.skipped()


def test_launches_without_workers_are_one_range_and_are_counted():
    words, seen = threads._pool().words, []

    def kernel(start, stop):
        seen.append((start, stop))

    words[llvm_pool.ALONE] = 2
    for left in (1, 0):
        threads.launch(kernel, 1000, 100, 3, ())
        assert seen == [(0, 1000)] and words[llvm_pool.ALONE] == left
        seen.clear()
    launch(kernel, 1000, 100, 3, ())
    assert len(seen) == 3 * threads.RANGES_PER_THREAD
    assert sorted(seen)[0][0] == 0 and sorted(seen)[-1][1] == 1000


def program_of(size, kernel):
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(kernel)
    _, program = threads.share(ctypes.c_void_p.from_buffer(function).value, 1000, 600, 3)
    assert program[llvm_pool.SIZE] == llvm_pool.UNTIMED
    program[llvm_pool.SIZE] = size
    return function, program


def run_program(program):
    table = (ctypes.c_int64 * 2)(program.ctypes.data, len(program))
    return threads._pool().share(0, 1000, ctypes.addressof(table))


needs_clock = pytest.mark.skipif(not threads.clock_address(), reason="no clock to time kernels with")


@needs_clock
@pytest.mark.parametrize(("seconds", "size"), [(0.0, llvm_pool.TINY), (3e-5, llvm_pool.SMALL), (2e-3, llvm_pool.LARGE)])
def test_work_of_unknown_size_is_timed(seconds, size):
    seen = []

    def kernel(start, stop, _):
        seen.append((start, stop))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return 0

    function, program = program_of(llvm_pool.UNTIMED, kernel)
    for _ in range(llvm_pool.TIMED_RUNS):
        assert program[llvm_pool.SIZE] == llvm_pool.UNTIMED
        run_program(program)
    assert seen == [(0, 1000)] * llvm_pool.TIMED_RUNS
    least_ns = program[llvm_pool.LEAST_NS]
    assert least_ns >= seconds * 1e9
    # How long it took depends on the machine; what follows from it does not.
    expected = (
        llvm_pool.LARGE if least_ns >= llvm_pool.LARGE_NS
        else llvm_pool.SMALL if least_ns >= llvm_pool.SMALL_NS
        else llvm_pool.TINY
    )  # fmt: skip
    assert program[llvm_pool.SIZE] == expected
    assert expected == size or seconds < 1e-3
    assert 0 <= program[llvm_pool.N_THREADS] <= 3 and program[llvm_pool.N_RANGES] <= least_ns / llvm_pool.RANGE_NS
    del function


@pytest.mark.parametrize("status", [0, 1, 7])
@pytest.mark.parametrize("size", [llvm_pool.LARGE, llvm_pool.SMALL, llvm_pool.UNTIMED, llvm_pool.TINY])
def test_every_size_runs_all_ranges_once_and_hands_on_the_status(size, status):
    counts = np.zeros(1000, int)

    def kernel(start, stop, _):
        counts[start:stop] += 1
        return status

    function, program = program_of(size, kernel)
    for k in range(1, 30):
        threads._pool().words[llvm_pool.ALONE] = k % 2
        assert run_program(program) == status
        assert status or (counts == k).all()
    del function


@needs_clock
def test_small_work_is_shared_only_soon_after_other_work():
    words, seen = threads._pool().words, []

    def kernel(start, stop, _):
        seen.append(stop - start)
        return 0

    function, program = program_of(llvm_pool.SMALL, kernel)
    words[llvm_pool.ALONE] = words[llvm_pool.ENDED] = 0
    run_program(program)
    assert seen == [1000] and words[llvm_pool.ENDED] > 0
    words[llvm_pool.ENDED] = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 10**9  # as if it were just now
    seen.clear()
    run_program(program)
    assert sum(seen) == 1000 and len(seen) == program[llvm_pool.N_RANGES] > 1
    del function


def test_callers_at_the_same_time_each_get_all_of_their_ranges():
    def work(i):
        counts = np.zeros(500, int)

        def kernel(start, stop):
            counts[start:stop] += 1

        for k in range(1, 40):
            launch(kernel, 500, 5, 3, ())
            assert (counts == k).all()

    together(work)


def test_native_kernels_from_many_threads_at_once(rng):
    """Launch after launch, sleeping and watching workers: no range is lost or done twice."""
    x = rng.random(400_000)
    with wb.config(threads=3):
        f = wb.jit(lambda x: np.sqrt(x) + x)
        expected = f(x)

        def work(i):
            for k in range(200):
                if k % 50 == 0:
                    time.sleep(0.002)
                np.testing.assert_array_equal(f(x), expected)

        together(work, 3)


def test_workers_sleep_when_there_is_nothing_to_do(rng):
    x = rng.random(1_000_000)
    with wb.config(threads=3):
        f = wb.jit(lambda x: np.sqrt(x) + x)
        f(x)
        f(x)
    time.sleep(0.01)
    begin = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - begin < 0.25, "two workers that went on looking would take twice the time that passed"


def test_loops_over_arrays_large_enough_for_threads_run_without_python(rng):
    x = rng.random((300, 300))

    def step(_, x):
        return np.exp(-x) + x.mean() / 2

    with wb.config(threads=2):
        jitted = wb.jit(lambda x: wb.lax.fori_loop(0, 100, step, x))
        np.testing.assert_allclose(jitted(x), wb.lax.fori_loop(0, 100, step, x), rtol=1e-13)
    native = jitted.compilations[0].executable.native
    assert native and not any(native.values()), "the reasons why Python runs a loop"


def test_a_finished_launch_keeps_no_arrays():
    x = np.zeros(1000)
    before = sys.getrefcount(x)
    for _ in range(20):
        launch(lambda start, stop, x: None, 1000, 10, 4, (x,))
    assert sys.getrefcount(x) == before


needs_cores = pytest.mark.skipif(
    cores.current_core is None or len(cores.usable_cores()) < 2, reason="the system does not say which core runs what"
)


@needs_cores
def test_workers_keep_off_the_core_of_the_caller():
    homes = cores.usable_cores()
    seen = []

    def kernel(start, stop):
        seen.append((threading.get_ident(), os.sched_getaffinity(0)))
        time.sleep(0.001)  # long enough for a worker to come

    def call(core):
        os.sched_setaffinity(0, {core})
        seen.clear()
        launch(kernel, 64, 1, 2, ())
        others = [where for thread, where in seen if thread != threading.get_ident()]
        assert others and all(where and core not in where and where <= homes for where in others)

    while not threads._pool().homes:  # the first worker starts, and says who it is
        launch(kernel, 64, 1, 2, ())
    with ThreadPoolExecutor(1) as pool:  # whose thread may stay on one core
        for core in sorted(homes):
            pool.submit(call, core).result()


@needs_cores
def test_a_caller_may_do_without_affinity():
    """As on systems that have none."""
    words = threads._pool().words
    core_of, words[llvm_pool.CORE_OF] = words[llvm_pool.CORE_OF], 0
    seen = []
    launch(lambda start, stop: seen.append(stop - start), 64, 1, 2, ())
    words[llvm_pool.CORE_OF] = core_of
    assert sum(seen) == 64


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() not in cores._SETATTR_CALLS, reason="Linux only")
def test_a_thread_may_ask_for_short_slices():
    with ThreadPoolExecutor(1) as pool:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        assert pool.submit(cores.ask_for_short_slices).result()
        assert pool.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == nice


def test_restricting_a_thread_that_has_ended_is_no_error():
    with ThreadPoolExecutor(1) as pool:
        gone = pool.submit(threading.get_native_id).result()
    cores.restrict(gone, {0})


@pytest.mark.parametrize("architecture", ["x86_64", "AMD64", "aarch64", "arm64", "ppc64le"])
def test_the_machine_is_sound_for_every_architecture(architecture):
    binding.parse_assembly(llvm_pool.machine(architecture)).verify()
