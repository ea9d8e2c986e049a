"""Buffers: blocks are used again, and never while anybody can still see them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.memory import buffers

N = 1 << 17  # float64 elements of 1 MiB: well above the size from which blocks are recycled
BYTES = 8 * N


def address(x):
    return x.__array_interface__["data"][0]


@pytest.fixture
def pool(monkeypatch):
    pool = buffers.Pool(64 << 20)
    monkeypatch.setattr(buffers, "pool", pool)
    return pool


def test_a_dead_block_serves_the_next_request(pool):
    x = buffers.allocate((N,), np.dtype(np.float64), BYTES)
    first = address(x)
    del x
    assert pool.kept_bytes >= BYTES
    y = buffers.allocate((N // 2, 4), np.dtype(np.float32), BYTES)
    assert address(y) == first and pool.kept_bytes == 0


def test_a_view_keeps_its_block(pool):
    x = buffers.allocate((N,), np.dtype(np.float64), BYTES)
    x[:] = 7
    views = [x[10:20], x.reshape(2, -1).T[5], x.view(np.uint8)[::8], np.asarray(memoryview(x))[3:4]]
    del x
    for _ in range(len(views)):
        gc.collect()
        other = buffers.allocate((N,), np.dtype(np.float64), BYTES)
        other[:] = -1
        assert all(not np.shares_memory(v, other) for v in views)
        assert views[0][0] == 7 or len(views) < 4
        del other
        views.pop()
    held = buffers.allocate((N,), np.dtype(np.float64), BYTES)
    assert pool.kept_bytes <= BYTES
    assert held.nbytes == BYTES


def test_the_pool_keeps_no_more_than_its_limit():
    pool = buffers.Pool(3 * BYTES)
    blocks = [pool.take(BYTES) for _ in range(5)]
    for block in blocks:
        pool.give(BYTES, block)
    assert pool.kept_bytes == 3 * BYTES
    assert pool.clear() == 3 * BYTES and pool.kept_bytes == 0


def test_an_idle_pool_gives_its_memory_back():
    pool = buffers.Pool(64 << 20, idle_s=0.05)
    for _ in range(2):
        pool.give(BYTES, pool.take(BYTES))
        assert pool.kept_bytes == BYTES
        for _ in range(200):
            if not pool.kept_bytes:
                break
            time.sleep(0.05)
        assert pool.kept_bytes == 0


def test_the_share_of_memory_is_a_setting(pool):
    with wb.config(pool_mb=0):
        pool.give(BYTES, pool.take(BYTES))
        assert pool.kept_bytes == 0
    with wb.config(pool_mb=2):
        blocks = [pool.take(BYTES) for _ in range(4)]
        for block in blocks:
            pool.give(BYTES, block)
        assert pool.kept_bytes == 2 << 20
    with pytest.raises(ValueError, match="pool_mb"):
        wb.config.pool_mb = -2


def test_blocks_of_several_threads_never_overlap(pool):
    failures = []

    def work(number):
        rng = np.random.default_rng(number)
        mine = []
        for _ in range(60):
            x = buffers.allocate((N,), np.dtype(np.float64), BYTES)
            x[:: N // 16] = number
            mine.append(x)
            if rng.random() < 0.6:
                mine.pop(rng.integers(len(mine)))
            if any(not np.all(m[:: N // 16] == number) for m in mine):
                failures.append(number)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_results_that_replace_one_another_alternate_between_two_blocks(pool):
    allocate = buffers.allocator((N,), np.dtype(np.float64), BYTES)
    seen = set()
    x = allocate()
    for _ in range(20):
        x = allocate()
        seen.add(address(x))
    assert len(seen) == 2


def test_more_results_than_a_shelf_holds_have_their_own_memory(pool):
    n_bytes = BYTES // 8
    kept = [buffers.allocate((N // 8,), np.dtype(np.float64), n_bytes) for _ in range(3 * buffers.SHELF_LENGTH)]
    for i, x in enumerate(kept):
        x[:] = i
    assert len({address(x) for x in kept}) == len(kept)
    assert all(np.all(x == i) for i, x in enumerate(kept))
    del kept, x
    assert pool.kept_bytes <= buffers.SHELF_LENGTH * n_bytes


def test_a_call_that_has_many_arrays_finds_the_blocks_of_the_last_one(pool):
    n_bytes = BYTES // 8
    rounds = []
    for _ in range(4):
        arrays = [buffers.allocate((N // 8,), np.dtype(np.float64), n_bytes) for _ in range(20)]
        rounds.append({address(x) for x in arrays})
        del arrays
    assert len(rounds[0]) == 20 and all(later == rounds[0] for later in rounds)


def test_blocks_begin_at_different_places_of_a_page(pool):
    for n_bytes in (BYTES // 8, BYTES, 16 * BYTES):
        arrays = [buffers.allocate((n_bytes,), np.dtype(np.uint8), n_bytes) for _ in range(3)]
        for x in arrays:
            x[-1] = 1
        places = {address(x) % 4096 for x in arrays}
        assert len(places) == len(arrays) and all(place % 64 == 0 for place in places)


def test_shelves_take_their_share_of_the_pool_and_no_more(pool):
    kept = []
    for k in range(1, 60):
        n_bytes = BYTES + k * 4096
        kept.append(buffers.allocate((n_bytes,), np.dtype(np.uint8), n_bytes))
        kept[-1][:] = k
    assert all(np.all(x == k) for k, x in enumerate(kept, start=1))
    del kept
    assert pool.kept_bytes <= pool.limit_bytes
    with wb.config(pool_mb=0):
        x = buffers.allocate((N + 1024,), np.dtype(np.float64), BYTES + 8192)
        del x
        assert pool.kept_bytes <= pool.most_bytes
    assert pool.clear() <= pool.most_bytes and pool.kept_bytes == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
@pytest.mark.parametrize("n", [N, 4 << 20], ids=["shelf", "lease"])
def test_a_child_does_not_write_into_its_parents_arrays(n):
    f = wb.jit(lambda x: x + 1)
    x, y = f(np.zeros(n)), f(np.ones(n))
    del y  # its block is free, in both processes
    child = os.fork()
    if child == 0:
        x += 5
        f(np.full(n, 7.0))[:] = 9
        os._exit(0)
    z = f(np.full(n, 2.0))
    assert os.waitpid(child, 0)[1] == 0
    assert np.all(x == 1) and np.all(z == 3)


def test_a_process_that_ends_says_nothing():
    program = "import numpy as np, workbench as wb\nf = wb.jit(lambda x: x + 1)\ny = f(np.ones(1 << 21))\nprint(y[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0\n", "")


def results_stay(f, make_args, n=12):
    """Call again and again, keep every result, and check that none changes."""
    kept = []
    for i in range(n):
        result = f(*make_args(i))
        parts = result if isinstance(result, tuple) else (result,)
        kept.append((parts, [p.copy() for p in parts]))
        if i % 3 == 2:
            kept.pop(i % 2)
            gc.collect()
    for parts, copies in kept:
        for part, copy in zip(parts, copies, strict=True):
            np.testing.assert_array_equal(part, copy)
    owners = [p for parts, _ in kept for p in parts if isinstance(p, np.ndarray)]
    assert len({address(p) for p in owners}) == len(owners)


def test_results_of_many_calls_are_never_recycled_while_they_live():
    f = wb.jit(lambda x: (np.exp(x * 2) + np.sort(x), x - 1))
    results_stay(f, lambda i: (np.full(N, float(i)),))


def test_a_view_of_a_result_outlives_the_result():
    f = wb.jit(lambda x: (x * 2, x + 1))
    parts = []
    for i in range(6):
        double, _ = f(np.full(N, float(i)))
        parts.append(double[100:200])
        del double
        gc.collect()
    for i, part in enumerate(parts):
        assert np.all(part == 2 * i)


def test_views_that_the_program_returns_keep_their_block():
    @wb.jit
    def f(x):
        y = x * 2
        return y[10:20], y.reshape(2, -1)[1]

    kept = [f(np.full(N, float(i))) for i in range(6)]
    gc.collect()
    for i, (a, b) in enumerate(kept):
        assert np.all(a == 2 * i) and np.all(b == 2 * i)


def test_intermediates_are_used_again_inside_a_call(pool):
    f = wb.jit(lambda x: np.sort(np.sort(np.sort(x + 1) * 2) - 3) * 4)
    x = np.random.default_rng(0).random(N)
    np.testing.assert_array_equal(f(x), np.sort(np.sort(np.sort(x + 1) * 2) - 3) * 4)
    # Three intermediates are written by kernels, and no two of them live at once.
    assert pool.kept_bytes <= 2 * BYTES + (4 << 20)


def test_an_argument_that_is_a_former_result_may_be_passed_on():
    f = wb.jit(lambda x: x * 0.5 + 1)
    x = np.zeros(N)
    for _ in range(20):
        x = f(x)
    np.testing.assert_allclose(x, 2 - 2 * 0.5**20, rtol=1e-12)


def test_results_own_aligned_writeable_memory():
    x = wb.jit(lambda x: x + 1)(np.ones(N))
    assert x.flags.writeable and x.flags.aligned and x.flags.c_contiguous
    assert address(x) % 64 == 0
    x += 1
    assert np.all(x == 3)


def test_results_survive_pickling_copying_and_resizing():
    import copy
    import pickle

    x = wb.jit(lambda x: x + 1)(np.ones(N))
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), np.resize(x, (2, N))[1]):
        assert np.all(y == 2)


def test_without_memory_kept_blocks_are_given_back_and_then_it_is_a_memory_error(pool, monkeypatch):
    pool.give(BYTES, pool.take(BYTES))
    asked = []
    real = buffers.mmap.mmap

    def refusing(fd, n_bytes, **how):
        asked.append(pool.kept_bytes)
        if len(asked) != 2:
            raise OSError(12, "Cannot allocate memory")
        return real(fd, n_bytes, **how)

    monkeypatch.setattr(buffers.mmap, "mmap", refusing)
    assert pool.take(2 * BYTES) is not None and asked == [BYTES, 0]
    with pytest.raises(MemoryError, match="allocate 1 MiB"):
        buffers.allocate((N,), np.dtype(np.float64), BYTES)
