"""Pieces of plans that are replayed as CUDA graphs: what lies between library calls, and what loops of the host repeat."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

from . import fake_cupy


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)  # each step a launch
    return fake_cupy.install(monkeypatch)


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(6, 6))


def settled(x):
    for _ in (0,) * 3:  # written out
        x = (x - x.mean()) / x.std()
    return x


def around_a_product(x, y):
    a = settled(x)
    product = a @ y
    return settled(product), a.T


def between_sorts(x):
    return np.sort(settled(np.sort(x, axis=0)).T[1:], axis=1)


def run_often(f, args, n=5):
    return [f(*(a.copy() for a in args)) for _ in range(n)]


def bits(value):
    return [np.asarray(leaf).tobytes() for leaf in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize(("function", "n_args", "n_pieces"), [(around_a_product, 2, 2), (between_sorts, 1, 1)])
def test_what_lies_between_library_calls_is_replayed(cupy, x, function, n_args, n_pieces):
    f, args = wb.jit(function, device="cuda"), (x, x.T.copy())[:n_args]
    found = run_often(f, args)
    executable = f.compilations[0].executable
    assert executable.recording is None and len(executable.recordings) == n_pieces
    assert all(each.replay is not None for each in executable.recordings)
    assert all(bits(each) == bits(found[0]) for each in found)
    for mine, theirs in zip(np.atleast_1d(found[-1]), np.atleast_1d(function(*args)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    assert all("CUDA graph" in kernel.launch_text for kernel in executable.compiled.values())
    other = tuple(a * 2.0 + 1.0 for a in args)
    for mine, theirs in zip(np.atleast_1d(f(*other)), np.atleast_1d(function(*other)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_the_body_of_a_loop_that_the_host_decides_is_replayed(cupy, x):
    def until_even(x):
        def body(state):
            k, v = state
            return k + 1, settled(v) * 0.5 + v * 0.5

        return wb.lax.while_loop(lambda s: (s[0] < 20) & (np.abs(s[1]).max() < 1e9), body, (0, x))

    found = {}
    for number in (10**9, 16):
        from workbench.runtime.cuda import programs

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(programs, "RUNS_BEFORE_RECORDING_INSIDE", number)
            f = wb.jit(until_even, device="cuda")
            found[number] = f(x)
            recordings = f.compilations[0].executable.recordings
            assert any(each.replay is not None for each in recordings) is (number == 16)
            conditions = [c for c in f.compilations[0].crossings if c.why == "condition"]
            assert len(conditions) == 21
    assert bits(found[16]) == bits(found[10**9])
    np.testing.assert_allclose(found[16][1], until_even(x)[1], rtol=1e-9)


def test_a_whole_recording_has_none_inside(cupy, x):
    f = wb.jit(lambda x: wb.lax.fori_loop(0, 6, lambda i, v: settled(v), x), device="cuda")
    run_often(f, (x,))
    executable = f.compilations[0].executable
    assert executable.recording is not None and executable.recordings == [executable.recording]
    assert executable.recording.replay is not None and executable._program.recordings == []


def test_rows_that_a_recorded_loop_stacks_are_written_by_each_replay(cupy, x):
    def rows(x):
        return wb.lax.scan(lambda c, row: (c * 0.5 + settled(row), (c * row).sum()), x[0], x)

    f = wb.jit(rows, device="cuda")
    for k in range(5):
        for mine, theirs in zip(f(x + k), rows(x + k), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    assert f.compilations[0].executable.recordings[0].replay is not None


def test_a_routine_that_fails_after_a_piece_leaves_all_usable(cupy, x, monkeypatch):
    f = wb.jit(around_a_product, device="cuda")
    expected = run_often(f, (x, x))[0]
    fake_cupy.LIMIT_BYTES[0] = 8
    with pytest.raises(MemoryError, match="WB606"):
        f(x, x)
    fake_cupy.LIMIT_BYTES[0] = 1 << 40
    assert bits(f(x, x)) == bits(expected)
