"""Short innermost loops: what is left over of a vector is computed under a mask, and gives NumPy's bits."""

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.llvm_kernels import SHORT, kernel_module
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native import machine_code


def differences(x, y):
    return x[1:, 1:] - y[:-1, :-1], x[1:, 1:] / (y[1:, :-1] + 1)


def choices(x, y):
    return np.where(x[:, 1:] > y[:, :-1], x[:, 1:] * 2, y[:, :-1]), x[:, 1:] > y[:, 1:]


def updates(x, y):
    out = np.zeros_like(x)
    out[1:-1, 1:-1] = x[1:-1, 1:-1] + y[:-2, 1:-1]
    out[:, :-1] += x[:, 1:] * y[:, :-1]
    y[1:, 1:] = out[1:, 1:] * 2
    return out


def broadcasts(x, y):
    return x[:, :, None] * y[:, None, :] + x[:, None, :]


def integers(x, y):
    i, j = x.astype(np.int64), y.astype(np.int32)
    return (i[1:, 1:] // (j[1:, :-1] + 1), i[1:, 1:] % 7, (i[:-1, 1:] << 2) | 1, j[1:, :-1].astype(np.int8))


def functions(x, y):
    return np.sqrt(np.abs(x[1:, 1:])) + np.floor(y[:-1, 1:]), np.maximum(x[1:, 1:], y[:-1, :-1])


PROGRAMS = [differences, choices, updates, broadcasts, integers, functions]


def arrays(rng, width, dtype):
    x, y = (rng.integers(0, 100, (23, width)).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f":
        x, y = x / 7, y / 3
        x[3, 1], x[5, width - 1], y[2, 0], y[7, 1] = np.nan, np.inf, -np.inf, -0.0
    return x, y


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint16"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_every_width_gives_numpys_bits(program, dtype):
    rng = np.random.default_rng(0)
    for width in (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 40):
        x, y = arrays(rng, width, dtype)
        if program is integers and np.dtype(dtype).kind == "f":
            x, y = (np.nan_to_num(a, nan=3, posinf=8, neginf=-9) for a in (x, y))
        theirs, mine = (x.copy(), y.copy()), (x.copy(), y.copy())
        with np.errstate(all="ignore"):
            expected = program(*theirs)
        found = wb.jit(program)(*mine)
        for a, b in zip((*np.atleast_1d(found), *mine) if isinstance(found, np.ndarray) else (*found, *mine),
                        (*np.atleast_1d(expected), *theirs) if isinstance(expected, np.ndarray)
                        else (*expected, *theirs), strict=True):  # fmt: skip
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def kernels_of(program, width):
    jaxpr = wb.make_jaxpr(program)(np.ones((23, width)), np.ones((23, width)))
    return plan_kernels(form_plan(jaxpr), ["C", "C"]).values()


@pytest.mark.skipif(not machine_code.masked_vectors(), reason="this processor has no masks")
@pytest.mark.parametrize("masked", [(32,), (32, 64)])
def test_one_kernel_has_masks_for_short_rows_and_none_for_long_ones(masked):
    texts = set()
    for width in (6, SHORT + 1, SHORT + 2, 400):
        for kernel in kernels_of(differences, width):
            text = kernel_module(kernel, "workbench_short", masked=masked)
            assert text.count("predicate.enable") == len(masked) and f", {SHORT}" in text
            assert all(f'"llvm.loop.vectorize.width", i32 {n_bytes // 8}' in text for n_bytes in masked)
            assert "predicate.enable" not in kernel_module(kernel, "workbench_plain")
            assert "@llvm.masked.store" in machine_code.compile_assembly(text)[1]
            texts.add(text)
    assert len(texts) == len(kernels_of(differences, 6)), "a length is written into a kernel"
    assert not any(kernel.may_be_short for kernel in kernels_of(lambda x, y: x + y, 6))


def test_memory_that_is_allocated_for_results_needs_no_test_for_overlap():
    jaxpr = wb.make_jaxpr(differences)(np.ones((23, 40)), np.ones((23, 40)))
    for kernel in plan_kernels(form_plan(jaxpr), ["C", "C"]).values():
        text = kernel_module(kernel, "workbench_apart")
        assert "!alias.scope" in text
        assert "!noalias" in text
        assert "conflict" not in machine_code.compile_assembly(text)[1]


def test_results_in_the_memory_of_an_argument_may_overlap_with_others():
    def shifted(x, y):
        x[:, 1:] = y[:, :-1] * 2

    memory = np.arange(12.0 * 23).reshape(23, 12)
    theirs = memory.copy()
    shifted(theirs[:, 1:], theirs[:, :-1])
    wb.jit(shifted)(memory[:, 1:], memory[:, :-1])
    np.testing.assert_array_equal(memory, theirs)
