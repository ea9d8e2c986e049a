"""Tiers: NumPy's result at once, kernels when they are ready, and nothing done twice."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import workbench as wb
from tests.fuzz.differential import Case
from tests.fuzz.programs import random_program
from workbench.errors import BackendError
from workbench.runtime import background, dispatch
from workbench.runtime.specialisation import Specialisation
from workbench.runtime.tiers import Pending

X = np.linspace(0.5, 2.0, 40)
LONG_S = 60.0


@pytest.fixture(autouse=True)
def tiers():
    with wb.config(tiers=True):
        yield


@pytest.fixture
def held(monkeypatch):
    """Compilation waits until `let_go` is set; `begun` says that it has begun."""

    class Held:
        begun, let_go = threading.Event(), threading.Event()

    compile_traced = dispatch.compile_traced

    def slow(*args, **kwargs):
        Held.begun.set()
        assert Held.let_go.wait(LONG_S)
        return compile_traced(*args, **kwargs)

    monkeypatch.setattr(dispatch, "compile_traced", slow)
    yield Held
    Held.let_go.set()


def version(compiled):
    return next(entry for found in compiled._state.specialisations.values() for entry in found)


def settled(compiled):
    """Wait until nothing is compiled any more."""
    for found in compiled._state.specialisations.values():
        for entry in found:
            if isinstance(entry, Pending):
                entry.task.wait()


def wave(x):
    return np.exp(-x * x) * np.sin(3 * x) + 1


def test_the_first_calls_do_not_wait_for_kernels(held):
    compiled = wb.jit(wave)
    np.testing.assert_array_equal(compiled(X), wave(X))
    assert held.begun.wait(LONG_S)
    np.testing.assert_array_equal(compiled(X), wave(X))  # NumPy's bits
    assert compiled.compilations == [] and compiled.n_traces == 1
    held.let_go.set()
    settled(compiled)
    np.testing.assert_allclose(compiled(X), wave(X), rtol=1e-14)
    (compilation,) = compiled.compilations
    assert compilation.kernels and isinstance(version(compiled), Specialisation)
    assert compiled.n_traces == 1


def test_the_caller_may_have_begun_long_before_the_compiler(held):
    """Other shapes are compiled one after another; each of them runs in NumPy until then."""
    compiled = wb.jit(wave)
    for n in (10, 20, 30):
        np.testing.assert_array_equal(compiled(X[:n]), wave(X[:n]))
    held.let_go.set()
    settled(compiled)
    for n in (10, 20, 30):
        np.testing.assert_allclose(compiled(X[:n]), wave(X[:n]), rtol=1e-14)
    assert len(compiled.compilations) == 3


@pytest.mark.parametrize("seed", range(30))
def test_both_tiers_of_a_random_program_do_what_numpy_does(seed):
    case = Case(random_program(seed))
    for _ in range(2):
        for which in range(len(case.program.sizes)):
            case.check(which)
        settled(case.compiled)


def test_arguments_are_written_once_a_call(held):
    def move(x, v):
        x += 0.1 * v
        v *= 0.9
        return x.sum()

    compiled = wb.jit(move)
    ours, numpys = [X.copy(), np.cos(X)], [X.copy(), np.cos(X)]
    for step in range(6):
        if step == 3:
            held.let_go.set()
            settled(compiled)
        np.testing.assert_allclose(compiled(*ours), move(*numpys), rtol=1e-14)
    np.testing.assert_array_equal(ours, numpys)
    assert len(compiled.compilations) == 1


def test_what_has_side_effects_does_them_once_a_call(capsys):
    calls = []

    def spoken(x):
        calls.append(len(x))
        print("called")
        return np.exp(x) * 2

    compiled = wb.jit(spoken)
    for n_calls in (1, 2, 3):
        np.testing.assert_allclose(compiled(X), np.exp(X) * 2, rtol=1e-14)
        assert capsys.readouterr().out.count("called") == 1
        assert len(calls) == n_calls
        settled(compiled)


def test_loops_over_elements_wait_for_their_kernels(held):
    def running(x):
        y = np.zeros(len(x))
        for i in range(1, len(x)):
            y[i] = 0.5 * y[i - 1] + x[i]
        return y

    held.let_go.set()
    compiled = wb.jit(running)
    np.testing.assert_array_equal(compiled(X), running(X))
    assert len(compiled.compilations) == 1


def test_strict_functions_wait_for_their_kernels(held):
    held.let_go.set()
    compiled = wb.jit(wave, strict=True)
    compiled(X)
    assert len(compiled.compilations) == 1


def test_explain_waits_for_the_kernels():
    compiled = wb.jit(wave)
    compiled(X)
    assert wb.explain(compiled)(X).status in ("compiled", "cached")
    assert isinstance(version(compiled), Specialisation)


def test_without_tiers_the_first_call_is_compiled(held):
    held.let_go.set()
    compiled = wb.jit(wave)
    with wb.config(tiers=False):
        compiled(X)
    assert len(compiled.compilations) == 1


def test_settings_of_the_caller_hold_in_the_background(tmp_path, own_cache):
    compiled = wb.jit(lambda x: np.exp(x) - 0.123)
    with wb.config(cache_dir=str(tmp_path), threads=1):
        compiled(X)
    settled(compiled)
    assert list((tmp_path / "kernels").iterdir())
    (compilation,) = compiled.compilations
    assert compilation.threads == 1


# ---- what goes wrong ----


def fails_with(error):
    def compile_traced(*args, **kwargs):
        raise error

    return compile_traced


@pytest.mark.parametrize("error", [BackendError("no kernel"), ZeroDivisionError("in a pass")])
def test_a_failure_of_the_compiler_leaves_the_function_in_numpy(error, monkeypatch, caplog):
    blamed = []

    def blame(self, failure, args, kwargs):
        blamed.append(failure)
        self._fall_back(dispatch.TracingError("WB903  a bug of ours", code="WB903"), args, kwargs)

    monkeypatch.setattr(dispatch.CompiledFunction, "_blame", blame)
    monkeypatch.setattr(dispatch, "compile_traced", fails_with(error))
    compiled = wb.jit(wave)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), wave(X))
        settled(compiled)
    assert blamed == [error]
    (reason,) = compiled.fallbacks
    assert reason.code == "WB903"


def test_want_of_memory_is_raised_and_not_kept(monkeypatch):
    compiled = wb.jit(wave)
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "compile_traced", fails_with(MemoryError()))
        np.testing.assert_array_equal(compiled(X), wave(X))
        settled(compiled)
        with pytest.raises(MemoryError):
            compiled(X)
    compiled(X)
    settled(compiled)
    np.testing.assert_allclose(compiled(X), wave(X), rtol=1e-14)
    assert len(compiled.compilations) == 1


def test_errors_of_the_users_own_are_numpys(held):
    def solve(a, b):
        return np.linalg.solve(a, b) * 2

    compiled = wb.jit(solve)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.zeros((2, 2)), np.ones(2))
        held.let_go.set()
        settled(compiled)
    np.testing.assert_allclose(compiled(np.eye(2), np.ones(2)), [2.0, 2.0])


def test_calls_from_many_threads_compile_once(held):
    compiled = wb.jit(wave)
    results = []

    def call():
        results.extend(compiled(X) for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for i, thread in enumerate(threads):
        thread.start()
        if i == 3:
            held.let_go.set()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_allclose(result, wave(X), rtol=1e-14)
    settled(compiled)
    assert compiled.n_traces == 1 and len(compiled.compilations) == 1


# ---- the background itself ----


def test_tasks_follow_one_another_and_tell_when_they_are_done():
    order = []
    tasks = [background.submit(lambda i=i: order.append(i) or i * i) for i in range(5)]
    told = threading.Event()
    tasks[-1].then(told.set)
    for task in tasks:
        task.wait()
    assert order == [0, 1, 2, 3, 4] and [t.result for t in tasks] == [0, 1, 4, 9, 16]
    assert told.wait(LONG_S)
    again = []
    tasks[0].then(lambda: again.append(1))  # at once
    assert again == [1]


def test_an_error_ends_its_task_and_not_the_thread():
    failed = background.submit(lambda: 1 / 0)
    failed.then(lambda: 1 / 0)
    fine = background.submit(lambda: "fine")
    fine.wait()
    assert isinstance(failed.error, ZeroDivisionError) and fine.result == "fine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_child_compiles_what_its_parent_was_compiling(own_cache):
    compiled = wb.jit(lambda x: np.exp(x) + np.sin(x) / 7)
    compiled(X)
    child = os.fork()
    if child == 0:
        try:
            compiled(X)
            settled(compiled)
            ok = np.allclose(compiled(X), np.exp(X) + np.sin(X) / 7, rtol=1e-14) and len(compiled.compilations) == 1
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    for _ in range(int(LONG_S * 10)):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    settled(compiled)
    np.testing.assert_allclose(compiled(X), np.exp(X) + np.sin(X) / 7, rtol=1e-14)


def test_a_process_may_end_in_the_middle_of_a_compilation(tmp_path):
    program = (
        "import numpy as np, workbench as wb\n"
        "wb.config.tiers = True\n"
        "fs = [wb.jit(lambda x, k=k: np.exp(x * k) + np.sin(x) - k) for k in (0.5, 1.5, 2.5)]\n"
        "print(sum(f(np.ones(3)).sum() for f in fs))\n"
    )
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=LONG_S
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    x = np.ones(3)
    expected = sum((np.exp(x * k) + np.sin(x) - k).sum() for k in (0.5, 1.5, 2.5))
    assert float(done.stdout) == pytest.approx(expected)
