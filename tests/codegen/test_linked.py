"""Functions that are only linked into others: what they give, what they raise, and that they have no machine code."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from workbench.codegen.loops.linked import linked


@linked(error_model="numpy")
def third_root(x):
    if x < 0:
        raise ValueError
    return x ** (1 / 3)


@linked(error_model="numpy")
def roots(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = third_root(x[i])
    return out


@numba.njit(error_model="numpy")
def total_of_roots(x):
    return roots(x).sum() + third_root(x[0])


def test_what_they_are_linked_into_runs():
    x = np.linspace(0, 5, 20)
    assert total_of_roots(x) == pytest.approx(np.cbrt(x).sum() + np.cbrt(x[0]))
    assert total_of_roots(x.astype(np.float32)) == pytest.approx(np.cbrt(x).sum(), rel=1e-5)


def test_errors_reach_the_caller():
    with pytest.raises(ValueError):
        total_of_roots(np.array([1.0, -2.0]))


def test_they_have_no_machine_code_and_no_wrappers():
    total_of_roots(np.ones(3))
    names = {f.name for result in roots.overloads.values() for f in result.library.get_defined_functions()}
    assert names and not any("cpython" in name or "cfunc" in name for name in names)
    engine = numba.core.registry.cpu_target.target_context.codegen()._engine
    assert not any(engine.is_symbol_defined(r.fndesc.llvm_func_name) for r in third_root.overloads.values())
