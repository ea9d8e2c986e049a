"""Rows whose elements are taken one by one: rows side by side make vectors, with NumPy's bits."""

import numpy as np
import pytest

import workbench as wb
from tests.codegen.test_llvm_kernels import assert_same_bits, both_forms, traced
from workbench.codegen.llvm_kernels import kernel_module
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native import kernels, machine_code


@pytest.fixture(autouse=True)
def no_kernel_for_any_rows():
    """Where one is compiled, short rows make do with it."""
    kernels.forget_kernels()


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


OF_SHORT_ROWS = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "variance": lambda x: x.var(-1),
    "product": lambda x: x.prod(-1),
    "greatest": lambda x: x.max(-1) - x.min(-1),
    "places": lambda x: (x.argmax(-1), x.argmin(-1)),
    "unit": lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    "centred": lambda x: x - x.mean(-1, keepdims=True),
    "scaled": lambda x: x * x[..., :1] + (1 - x[..., :1]),
    "above": lambda x: ((x > x.mean(-1)[..., None]).sum(-1), (x > 0).any(-1), (x > -1).all(-1)),
    "inner": lambda x: (x[1:] * x[:-1]).sum(-1),
    "in place": lambda x: np.divide(x, np.abs(x).max(-1, keepdims=True), out=x),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
@pytest.mark.parametrize("program", OF_SHORT_ROWS)
def test_short_rows_have_numpys_bits(program, dtype):
    """Sums, too: they are added in the order in which NumPy adds them."""
    function, rng = OF_SHORT_ROWS[program], np.random.default_rng(3)
    for n in (2, 3, 4, 7, 8, 9, 12, 13, 15, 16):
        for rows in ((40,), (3, 21)):
            if dtype[0] == "f":
                x = (rng.standard_normal((*rows, n)) * 3).astype(dtype)
                x[0, ..., 0], x[-1, ..., 1], x[-1, ..., 0] = -0.0, np.nan, np.inf
            elif program in ("unit", "in place"):
                continue
            else:
                x = rng.integers(0, 100, (*rows, n)).astype(dtype)
            if program in ("unit", "centred", "scaled", "in place") and n > 12:
                continue  # a loop of their own
            theirs, mine = x.copy(), x.copy()
            with np.errstate(all="ignore"):
                expected, found = function(theirs), wb.jit(function)(mine)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for a, b in (*pairs, (mine, theirs)):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_array_equal(a, b)


OF_FEW = {
    "components": (lambda x: np.sqrt((x * x).sum(0)), [(3, 50), (2, 7, 40), (16, 33)]),
    "unit components": (lambda x: x / np.sqrt((x * x).sum(0)), [(3, 50), (4, 5, 60)]),
    "middles": (lambda x: x.mean(1), [(40, 3, 3), (40, 3, 60), (50, 5, 2)]),
    "edges": (lambda x: np.sqrt(((x[:, 1:] - x[:, :-1]) ** 2).sum(-1)), [(40, 3, 3), (30, 4, 2)]),
    "matrices": (lambda x: (x * x.transpose(0, 2, 1)).max((1, 2)), [(40, 3, 3), (20, 2, 2)]),
    "stretches": (lambda x: x * x[:, :1, :1] - x[:, 1:, 1:].min(), [(40, 3, 3), (20, 2, 4)]),
    "softmax of channels": (lambda x: (x - x.max(0)) / np.abs(x).sum(0), [(4, 20, 30), (3, 100)]),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("program", OF_FEW)
def test_few_numbers_along_any_axes_have_numpys_bits(program, dtype):
    function, shapes = OF_FEW[program]
    for shape in shapes:
        x = (np.random.default_rng(2).standard_normal(shape) * 9).astype(dtype)
        with np.errstate(all="ignore"):
            expected, found = function(x), wb.jit(function)(x)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)


def test_rows_are_written_out_where_there_are_many_and_they_are_short():
    def text(program, shape):
        compiled = wb.jit(program)
        compiled(np.ones(shape))
        return "\n".join(kernel.source for kernel in compiled.compilations[-1].kernels.values())

    for shape in ((40, 3), (40, 12), (5, 20, 3), (9, 7, 3), (3, 2, 9, 4)):
        assert text(OF_SHORT_ROWS["unit"], shape).count("for i") == 1
    assert text(OF_SHORT_ROWS["unit"], (5, 200, 3)).count("for i") == 2  # long enough by itself
    assert text(OF_SHORT_ROWS["mean"], (40, 16)).count("for i") == 1
    components, matrices = OF_FEW["components"][0], OF_FEW["matrices"][0]
    assert text(components, (3, 50)).count("for i") == text(matrices, (40, 3, 3)).count("for i") == 1
    for program, shape in (("unit", (40, 13)), ("mean", (40, 17)), ("mean", (10, 3))):
        assert text(OF_SHORT_ROWS[program], shape).count("for i") > 1


@pytest.mark.parametrize("program", OF_SHORT_ROWS)
def test_short_rows_have_the_same_bits_through_numba(program, monkeypatch):
    for n in (3, 11):
        x = np.random.default_rng(n).standard_normal((40, n))
        with np.errstate(all="ignore"):
            assert_same_bits(*both_forms(traced(OF_SHORT_ROWS[program], x), [x], monkeypatch))


@pytest.mark.parametrize("program", OF_SHORT_ROWS)
def test_short_rows_of_strided_and_shared_arrays(program):
    function, base = OF_SHORT_ROWS[program], np.random.default_rng(5).standard_normal((60, 80, 6))
    for view in (base[:, ::2], base[::2, 1], base[..., ::-1], base.T[:, :, :5], base[:, :, ::3], base[1:, 0]):
        theirs, mine = (base.copy() for _ in range(2))
        place = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        found, expected = (
            use(np.ndarray(view.shape, view.dtype, array, place, view.strides))
            for array, use in ((mine, wb.jit(function)), (theirs, function))
        )
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in (*pairs, (mine, theirs)):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("program", [*OF_SHORT_ROWS.values(), lambda x: x[1:] - x[:-1]])
def test_short_rows_after_long_ones_find_their_kernels_compiled(program):
    compiled = wb.jit(program)
    with np.errstate(all="ignore"):
        for shape in ((40, 300), (50, 300)):
            compiled(np.ones(shape))
        before = kernels.N_COMPILED
        for shape in ((40, 3), (60, 10), (30, 16), (20, 2)):
            x = np.random.default_rng(0).standard_normal(shape)
            expected = program(x.copy())
            found = compiled(x)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert kernels.N_COMPILED == before


def levels(x, y, w):
    """Slices of the levels of a grid, one of which counts for all points."""
    steps = (x[..., 1:] - x[..., :-1]) / (1.0 + y[..., 1:] ** 2) * w[1:]
    return np.where(steps > 0, steps, -y[..., :-1]), (x * w).max(-1)


def weighted(x, y, w):
    """Sums of few numbers, whose order is NumPy's where rows lie one behind the other."""
    return (x * w).sum(-1), (x - y).mean(-1)


def shifted(x, y, w):
    """Neighbours tell the rows of a grid apart: their loops stay two."""
    return (x[:, 1:, 1:] - x[:, :-1, 1:]) * w[1:]


def of_points(x, y, w):
    """What is known of each point alone."""
    level = x[..., 0] * y[..., 1]
    return (level[..., None] + x) * w, level.sum()


def by_columns(x, y, w):
    """A number for each row of the grid: not one of all its points."""
    return x * x[:1, :, :1] + y * w


def updated(x, y, w):
    x[..., 1:] += x[..., :-1] * w[1:]
    y[...] = y[..., ::-1] + x
    return (x - y).max(-1)


GRIDS = (levels, weighted, shifted, of_points, by_columns, updated)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("program", GRIDS, ids=lambda f: f.__name__)
def test_points_of_a_grid_with_few_levels_have_numpys_bits(program, dtype):
    rng = np.random.default_rng(4)
    for shape in ((9, 7, 3), (31, 31, 4), (5, 4, 2), (1, 40, 3), (40, 1, 3), (3, 100, 4), (17, 2, 5)):
        kernels.forget_kernels()  # else the one for any rows, which other lengths have made, would do for these
        for layout in ("C",) if program is weighted else ("C", "F", "strided"):
            x, y = (rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype(dtype)[..., : shape[-1]] for _ in range(2))
            if layout != "strided":
                x, y = (np.array(a, order=layout) for a in (x, y))
            w = rng.standard_normal(shape[-1]).astype(dtype)
            theirs, mine = [x.copy(), y.copy(), w], [x, y, w]
            expected, found = program(*theirs), wb.jit(program)(*mine)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for a, b in (*pairs, (x, theirs[0]), (y, theirs[1])):
                if program is of_points and not b.shape:  # of all points, in any order
                    np.testing.assert_allclose(
                        a, b, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-3 * (dtype == "float32")
                    )
                else:
                    np.testing.assert_array_equal(a, b)


def test_the_points_of_a_grid_are_one_loop():
    x = np.ones((31, 31, 4))
    compiled = wb.jit(levels)
    compiled(x, x, x[0, 0])
    sources = [kernel.source for kernel in compiled.compilations[-1].kernels.values()]
    assert all(source.count("for i") == 1 and "reshape" in source for source in sources)
    text = "".join(
        machine_code.compile_assembly(kernel_module(kernel, "workbench_grid"))[1]
        for kernel in compiled.compilations[-1].kernels.values()
    )
    assert "fdiv <" in text
    compiled = wb.jit(shifted)
    compiled(x, x, x[0, 0])
    assert max(kernel.source.count("for i") for kernel in compiled.compilations[-1].kernels.values()) > 1


def test_kernels_of_grids_still_run_together():
    def program(x, y, w):
        first, _ = levels(x, y, w)
        return np.cumsum(x * w, 2), first, first.mean(-1) - x[..., 0]

    rng = np.random.default_rng(5)
    x, y, w = rng.standard_normal((60, 50, 4)), rng.standard_normal((60, 50, 4)), rng.standard_normal(4)
    compiled = wb.jit(program)
    for _ in range(3):
        for a, b in zip(compiled(x, y, w), program(x, y, w), strict=True):
            np.testing.assert_array_equal(a, b)
    assert compiled.compilations[-1].executable.chains


def whole(x, y, w):
    steps = (x[..., 1:] - x[..., :-1]) * w[1:]
    return steps.sum(), steps.max(), (steps > 0).any(), (np.abs(steps) + y[..., 1:] ** 2).mean(), steps


def whole_of_neighbours(x, y, w):
    """Colours are told apart by nothing: they and the points of a line are one loop."""
    steps = x[1:] - y[:-1]
    return (steps * steps).mean(), steps.min(), np.abs(steps).max(), np.prod(1 + 0.01 * steps)


def whole_with_a_first_element(x, y, w):
    """What follows from the total reads the array, too."""
    return (x[..., 1:] * y[..., :-1]).sum() + x[0, 0, 0], (x[..., 1:] * w[1:]).sum() * x[-1, -1, -1]


def whole_of_two(x, y, w):
    return (x[..., ::-1] * w).sum(), (y[..., 0] - x[..., -1]).max(), (x[:, :1] * y).sum(dtype=x.dtype)


def whole_in_place(x, y, w):
    x[..., 1:] *= w[1:]
    y -= x[..., ::-1]
    return y.sum(), x.min()


WHOLE = (whole, whole_of_neighbours, whole_with_a_first_element, whole_of_two, whole_in_place)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_totals_of_short_rows(program, dtype):
    rng = np.random.default_rng(6)
    for shape in ((9, 7, 3), (31, 31, 4), (40, 40, 12), (2, 1, 2), (2, 50, 3), (300, 100, 3), (5, 17, 13)):
        kernels.forget_kernels()
        x, y, w = ((rng.standard_normal(n) * 9).astype(dtype) for n in (shape, shape, shape[-1]))
        theirs, mine = [x.copy(), y.copy(), w], [x, y, w]
        with np.errstate(all="ignore"):
            expected, found = program(*theirs), wb.jit(program)(*mine)
        scale = 9.0**2 * x.size
        for a, b in (*zip(found, expected, strict=True), (x, theirs[0]), (y, theirs[1])):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            if np.shape(b) or np.asarray(b).dtype.kind != "f":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(
                    a,
                    b,
                    rtol=1e-4 if dtype == "float32" else 1e-10,
                    atol=scale * 1e-7 * (dtype == "float32") + 1e-12 * scale,
                )


def test_totals_of_short_rows_have_one_loop():
    x = np.ones((60, 50, 4))

    def sources(program):
        compiled = wb.jit(program)
        compiled(x, x, x[0, 0])
        return [kernel.source for kernel in compiled.compilations[-1].kernels.values()]

    (source,) = sources(lambda x, y, w: ((x[..., 1:] - x[..., :-1]) / y[..., 1:]).sum())
    assert source.count("for i") == 1 and source.count("add_reassoc") == 3
    (source,) = sources(lambda x, y, w: (x[1:] - y[:-1]).max())
    assert source.count("for i") == 2 and "reshape" in source  # lines of 200 numbers
