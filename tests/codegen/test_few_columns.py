"""Reductions to a few columns that no strips serve: the columns are written out, rows side by side make vectors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.llvm_kernels import kernel_module
from workbench.runtime.native import kernels, machine_code


@pytest.fixture(autouse=True)
def no_kernel_for_any_columns():
    """Where one is compiled, a few columns make do with it."""
    kernels.forget_kernels()


def weighted(x, y, w):
    return (x * w[:, None]).sum(0)


def mean_of_products(x, y, w):
    return (x * w[:, None] + y[:, ::-1]).mean(axis=0, keepdims=True)


def torque(x, y, w):
    return np.cross(x, y).sum(0), np.cross(y, x).mean(0)


def extremes(x, y, w):
    steps = x * y[:, :1]
    return steps.max(0), steps.min(0), (steps > w[:, None]).any(0), (x > w[:, None]).sum(0)


def with_a_map(x, y, w):
    """What is folded is stored, too."""
    steps = x * w[:, None] - y[:, :1]
    return steps, steps.sum(0), np.abs(steps).max(0)


def products(x, y, w):
    return np.prod(1.0 + 1e-6 * x * w[:, None], axis=0)


PROGRAMS = (weighted, mean_of_products, torque, extremes, with_a_map, products)


def kernels_of(program, *arrays):
    compiled = wb.jit(program)
    with np.errstate(all="ignore"):
        compiled(*arrays)
    return [
        k for kernel in compiled.compilations[-1].kernels.values() for k in (kernel, kernel.finish) if k is not None
    ]


ORDERED = (extremes, with_a_map)  # of real numbers alone here


@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        pytest.param(f, d, id=f"{f.__name__}-{d}")
        for f in PROGRAMS
        for d in ("float64", "float32", "int32", *(() if f in ORDERED else ("complex128",)))
    ],
)
def test_few_columns_compute_what_numpy_does(program, dtype):
    rng = np.random.default_rng(0)
    for n, m in ((40, 3), (17, 3), (5000, 3), (3, 3), (0, 3), (1, 3), (300, 2), (300, 12), (70, 13)):
        if (program is torque and m not in (2, 3)) or (n == 0 and program in ORDERED):
            continue
        kernels.forget_kernels()
        x, y = ((rng.standard_normal((n, m)) * 9).astype(dtype) for _ in range(2))
        w = (rng.standard_normal(n) * 9).astype(dtype)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of means of nothing and of products in two dimensions
            expected, found = program(x, y, w), wb.jit(program)(x, y, w)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in pairs:
            assert a.dtype == b.dtype and a.shape == b.shape
            if a.dtype.kind in "fc":
                loose = a.dtype == np.float32
                np.testing.assert_allclose(
                    a, b, rtol=1e-4 if loose else 1e-11, atol=(1e-3 if loose else 1e-10) * max(n, 1)
                )
            else:
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_special_values_stay_in_their_columns(special):
    x, w = np.ones((600, 3)), np.ones(600)
    x[7, 1], x[500, 2] = special, -special
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wb.jit(weighted)(x, x, w), weighted(x, x, w))


def test_columns_are_written_out_where_they_are_few():
    def text(m, n=400):
        return kernels_of(weighted, np.ones((n, m)), np.ones((n, m)), np.ones(n))[0].source

    assert "lanes" not in text(3) and text(3).count("add_reassoc") == 3
    assert text(12).count("add_reassoc") == 12
    assert "lanes" in text(13) and "lanes" in text(3, n=8)
    # Strips serve arrays that are as wide as the rows, for any width.
    (first, *_) = kernels_of(lambda x: (x * x).sum(0), np.ones((400, 3)))
    assert "strip" in first.source


def test_rows_make_the_vectors():
    first, *_ = kernels_of(weighted, np.ones((4000, 3)), np.ones((4000, 3)), np.ones(4000))
    text = machine_code.compile_assembly(kernel_module(first, "workbench_few"))[1]
    assert "fadd reassoc <" in text or "fadd <" in text
    assert {arg.row for arg in first.args if arg.name == "x"} == {3}


def test_strided_points_and_several_folded_axes():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((90, 40, 6))[::2, :, ::2]
    w = rng.standard_normal((45, 40))

    def program(x, w):
        return (x * w[..., None]).sum((0, 1)), (x - w[..., None]).max((0, 1))

    for a, b in zip(wb.jit(program)(x, w), program(x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-9)
    points = np.asfortranarray(x[:, 0])
    np.testing.assert_allclose(
        wb.jit(weighted)(points, points, w[:, 0]), weighted(points, points, w[:, 0]), rtol=1e-11, atol=1e-9
    )


def test_other_numbers_of_rows_find_their_kernels():
    wb.jit(weighted)(np.ones((400, 3)), np.ones((400, 3)), np.ones(400))
    first = wb.jit(weighted)
    x = np.arange(600.0).reshape(200, 3)
    np.testing.assert_allclose(first(x, x, x[:, 0]), weighted(x, x, x[:, 0]))
    texts = {
        kernel_module(k, "workbench_few")
        for n in (400, 500)
        for k in kernels_of(weighted, np.ones((n, 3)), np.ones((n, 3)), np.ones(n))
    }
    assert len(texts) == 2  # that one and what adds up its parts


TALL = {
    "covariance": lambda x, y: (x - x.mean(0)).T @ (x - x.mean(0)),
    "two": lambda x, y: x.T @ y,
    "rows first": lambda x, y: x.T.copy() @ y,
    "turned": lambda x, y: np.einsum("ki,kj->ji", x, y),
    "scaled": lambda x, y: (x * np.abs(y[:, :1])).T @ x / len(x),
    "halves": lambda x, y: x[::2].T @ x[1::2] if len(x) % 2 == 0 else x.T @ x,
    "of one": lambda x, y: x.T @ y[:, :1],
    "solved": lambda x, y: np.linalg.solve(x.T @ x + np.eye(x.shape[1], dtype=x.dtype), x.T @ y),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("program", TALL)
def test_products_of_tall_matrices_are_sums_along_their_rows(program, dtype):
    function, rng = TALL[program], np.random.default_rng(3)
    for n, m in ((512, 3), (5000, 3), (513, 2), (700, 1), (511, 3), (4, 3), (0, 3), (600, 4)):
        x, y = (rng.standard_normal((n, m)).astype(dtype) for _ in range(2))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, found = function(x, y), wb.jit(function)(x, y)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        loose = dtype == "float32"
        scale = np.abs(np.nan_to_num(expected)).max(initial=1)
        np.testing.assert_allclose(
            found, expected, rtol=1e-4 if loose else 1e-10, atol=(1e-4 if loose else 1e-12) * scale
        )


def test_tall_products_become_kernels():
    x = np.random.default_rng(4).standard_normal((1000, 3))

    def names(function, *arrays):
        compiled = wb.jit(function)
        compiled(*arrays)
        return [type(step).__name__ for step in compiled.compilations[-1].plan.steps]

    assert names(lambda x: x.T @ x, x) == ["Cluster"]
    assert names(lambda x: x.T @ x, x[:100]) != ["Cluster"]  # few rows are the library's
    assert names(lambda x: x.T @ x, np.ones((1000, 4))) != ["Cluster"]


def test_products_of_special_values():
    x = np.random.default_rng(5).standard_normal((2000, 3))
    x[5, 1], x[1999, 2] = np.inf, np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wb.jit(lambda x: x.T @ x)(x), x.T @ x, rtol=1e-12)
