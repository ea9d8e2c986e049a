"""Interrupts: Ctrl-C at any moment leaves functions and caches usable."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import compilation, dispatch, executable
from workbench.runtime.native import kernels

X = np.linspace(0.0, 1.0, 30)
PLACES = [
    (dispatch, "trace"), (compilation, "run_pipeline"), (compilation, "form_plan"), (compilation, "plan_kernels"),
    (executable, "compile_kernel"), (kernels, "_compile"), (kernels, "write_payload"), (kernels, "_load"),
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
