"""Kernels that mostly compute ask for the machine's widest vectors, where LLVM would take half of them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.llvm_kernels import kernel_module
from workbench.codegen.widths import WIDE_VECTORS
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native import kernels, machine_code


def gaussian(x, y):
    return np.exp(-0.5 * x * x) * np.sin(y)


def horner(x, y):
    return ((((((x * 0.5 - y) * x + 0.25) * y - 0.125) * x + y) * x - 3.0) * y + 0.75) * x - y


def softmax(x, y):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def triad(x, y):
    return 2.0 * x + y


def ratios(x, y):
    return x / y + y / (x * x + 1.0) + x / (y * y + 2.0) + (x + y) / (x - y)


def distance(x, y):
    return 1 / np.sqrt(x * x + y * y + 0.01)


def modules(program, **given):
    aval = np.ones((40, 50))
    plan = form_plan(wb.make_jaxpr(program)(aval, aval))
    return [kernel_module(kernel, "workbench_width", **given) for kernel in plan_kernels(plan, ["C", "C"]).values()]


@pytest.mark.parametrize("program", [gaussian, horner, softmax])
def test_arithmetic_asks_for_wide_vectors(program):
    texts = modules(program, wide=True)
    assert texts and all(text.count(WIDE_VECTORS) == 1 for text in texts)
    assert not any(WIDE_VECTORS in text for text in modules(program))


@pytest.mark.parametrize("program", [triad, ratios, distance, lambda x, y: x.sum(0) + y, lambda x, y: x[1:] - x[:-1]])
def test_memory_and_divisions_do_not(program):
    texts = modules(program, wide=True)
    assert texts and not any(WIDE_VECTORS in text for text in texts)


@pytest.mark.skipif("+avx512f" not in machine_code.processor()[2].split(","), reason="vectors of 64 bytes are x86's")
@pytest.mark.parametrize("program", [gaussian, horner, softmax])
def test_asking_is_enough(program):
    """Whatever LLVM prefers on this processor."""
    for text in modules(program, wide=True):
        code, llvm = machine_code.compile_assembly(text)
        assert code and "<8 x double>" in llvm


@pytest.mark.parametrize("program", [gaussian, horner, softmax])
@pytest.mark.parametrize("shape", [(3, 1), (5, 7), (1, 64), (40, 67)])
def test_results_depend_on_the_width_by_the_order_of_sums_only(program, shape, monkeypatch):
    x, y = np.random.default_rng(0).normal(size=(2, *shape))
    results = []
    for wide in (False, True):
        monkeypatch.setattr(machine_code, "computes_wide", lambda wide=wide: wide)
        # The width follows from the processor, which the key of a kernel holds: the other one would be found by it.
        monkeypatch.setattr(kernels, "_environment_key", lambda wide=wide: f"{wide} {shape}")
        before = kernels.N_COMPILED
        with wb.config(cache_dir="off"):
            results.append(wb.jit(program)(x, y))
        assert kernels.N_COMPILED > before
    np.testing.assert_allclose(*results, rtol=1e-14 if program is softmax else 0, atol=0)
