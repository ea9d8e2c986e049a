"""Rows whose elements are taken one by one: rows side by side make vectors, with NumPy's bits."""

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.llvm_kernels import kernel_module
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native import machine_code


def tridiagonal(a, b, c, d):
    n = a.shape[-1]
    up, right = [c[..., 0] / b[..., 0]], [d[..., 0] / b[..., 0]]
    for k in range(1, n):
        norm = 1.0 / (b[..., k] - a[..., k] * up[-1])
        up.append(c[..., k] * norm)
        right.append((d[..., k] - a[..., k] * right[-1]) * norm)
    x = [right[-1]]
    for k in range(n - 2, -1, -1):
        x.append(right[k] - up[k] * x[-1])
    return np.stack(x[::-1], -1)


def lengths(a, b, c, d):
    return np.sqrt(a[..., 0] ** 2 + a[..., 1] ** 2 + b[..., 2] * c[..., 1])


def running(a, b, c, d):
    level = a[..., 0]
    levels = [level]
    for k in range(1, a.shape[-1]):
        level = level * b[..., k] + c[..., k - 1]
        levels.append(level)
    return np.stack(levels, -1), level


def in_place(a, b, c, d):
    a[..., 0] = b[..., 1] / c[..., 2]
    a[..., 1] += a[..., 0] * d[..., 0]
    a[..., 2] = a[..., 1] / b[..., 0]
    return a + d


def kernels_of(program, shape):
    arrays = [np.ones(shape)] * 4
    return list(plan_kernels(form_plan(wb.make_jaxpr(program)(*arrays)), ["C"] * 4).values())


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
@pytest.mark.parametrize("program", [tridiagonal, lengths, running, in_place], ids=lambda f: f.__name__)
def test_rows_side_by_side_have_numpys_bits(program, dtype):
    rng = np.random.default_rng(0)
    for shape in ((1, 3), (40, 4), (3, 29, 5)) + (((2, 70, 18),) if dtype == "float64" else ()):
        arrays = [rng.uniform(1, 100, shape).astype(dtype) for _ in range(4)]
        if program is in_place and dtype == "int32":
            arrays = [array.astype("float64") for array in arrays]
        theirs, mine = ([array.copy() for array in arrays] for _ in range(2))
        with np.errstate(all="ignore"):
            expected = program(*theirs)
        found = wb.jit(program)(*mine)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in (*pairs, *zip(mine, theirs, strict=True)):
            assert a.dtype == b.dtype
            if np.dtype(dtype).kind == "c":  # products of complex numbers are within their bound
                np.testing.assert_allclose(a, b, rtol=1e-12)
            else:
                np.testing.assert_array_equal(a, b)


def test_rows_of_strided_arrays_have_numpys_bits():
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(1, 2, (9, 60, 12))[:, ::2, ::2] for _ in range(4)]
    np.testing.assert_array_equal(wb.jit(tridiagonal)(*arrays), tridiagonal(*arrays))
    turned = [array.T for array in arrays]
    np.testing.assert_array_equal(wb.jit(tridiagonal)(*turned), tridiagonal(*turned))


@pytest.mark.parametrize("n_levels", [4, 10, 25])
def test_a_tridiagonal_system_is_solved_in_vectors(n_levels):
    (kernel,) = [k for k in kernels_of(tridiagonal, (5, 64, n_levels)) if "norm" in k.source]
    assert {arg.row for arg in kernel.args if arg.kind == "in"} == {n_levels}
    text = machine_code.compile_assembly(kernel_module(kernel, "workbench_columns"))[1]
    assert "fdiv <" in text


def test_only_a_length_that_the_text_depends_on_is_written_into_it():
    def ends(a, b, c, d):
        return a[..., 0] * b[..., 1] + a[..., 1]

    (kernel,) = kernels_of(ends, (40, 4))
    assert {arg.name: arg.row for arg in kernel.args if arg.ndim == 2} == {"a": 4, "b": 0}
    for kernel in (*kernels_of(ends, (40, 400)), *kernels_of(lambda a, b, c, d: a[:, 1:] / b[:, :-1], (40, 9))):
        assert not any(arg.row for arg in kernel.args)


def test_other_numbers_of_rows_find_their_kernels_compiled():
    texts = {
        kernel_module(kernel, "workbench_rows")
        for n in (8, 30, 64)
        for kernel in kernels_of(tridiagonal, (n, 2 * n, 6))
    }  # fmt: skip
    assert len(texts) == len(kernels_of(tridiagonal, (8, 16, 6)))
