"""Interrupts: Ctrl-C at any moment leaves functions and caches usable."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import compilation, dispatch, executable, kernels

X = np.linspace(0.0, 1.0, 30)
PLACES = [
    (dispatch, "trace"), (compilation, "run_pipeline"), (compilation, "form_plan"), (compilation, "plan_kernels"),
    (executable, "compile_kernel"), (kernels, "_compile"), (kernels, "_save"), (kernels, "_load"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name"), PLACES, ids=lambda p: p if isinstance(p, str) else "")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_compilation_can_be_repeated(module, name, after, error, monkeypatch, tmp_path):
    function = getattr(module, name)
    raised = []

    def interrupted(*args, **kwargs):
        result = function(*args, **kwargs) if after else None
        if not raised:
            raised.append(name)
            raise error
        return result if after else function(*args, **kwargs)

    kernels.forget_kernels()
    f = wb.jit(lambda x: np.exp(x) * 3 + np.sort(x) * 0.5)
    with wb.config(cache_dir=str(tmp_path)):
        monkeypatch.setattr(module, name, interrupted)
        with pytest.raises(error):
            f(X)
        for _ in range(2):
            np.testing.assert_allclose(f(X), np.exp(X) * 3 + np.sort(X) * 0.5, rtol=1e-14)
        monkeypatch.undo()
        np.testing.assert_allclose(f(X), np.exp(X) * 3 + np.sort(X) * 0.5, rtol=1e-14)
        left = [p.name for p in (tmp_path / "kernels").iterdir() if len(p.name) != 64]
    assert not left, "a temporary file is left"


def test_an_interrupt_inside_the_users_function_leaves_no_trace_open():
    stop = True

    def f(x):
        y = x * 2
        if stop:
            raise KeyboardInterrupt
        return y

    compiled = wb.jit(f)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)
    with pytest.raises(RuntimeError, match="trace"), wb.jit_scope():
        pass
    stop = False
    np.testing.assert_array_equal(compiled(X), X * 2)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_at_random_moments(tmp_path):
    code = """
        import os, random, signal, sys, threading, time
        import numpy as np, workbench as wb
        x = np.linspace(0, 1, 30)
        done = 0
        random.seed(1)
        for i in range(6):
            f = wb.jit(lambda x: np.tanh(x) * (i + 0.5) + np.sort(x)[::-1] + x.sum())
            timer = threading.Timer(random.uniform(0.0, 0.25), os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                try:
                    f(x)
                    timer.join()
                    time.sleep(0.01)
                finally:
                    timer.join()
                    time.sleep(0.01)
            except KeyboardInterrupt:
                done += 1
            expected = np.tanh(x) * (i + 0.5) + np.sort(x)[::-1] + x.sum()
            assert np.allclose(f(x), expected)
        print("interrupted", done)
    """
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=180, env=environment
    )
    assert done.returncode == 0 and "interrupted" in done.stdout, done.stderr[-2000:]
    assert signal.getsignal(signal.SIGINT) is not None
