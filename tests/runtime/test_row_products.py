"""Matrix products among the kernels around them, some rows at a time: NumPy's results, without the large array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.fusion import form_plan
from workbench.ir.builder import JaxprBuilder
from workbench.primitives import numpy_libraries
from workbench.runtime import chains, row_products
from workbench.runtime.executable import build, plan_kernels
from workbench.runtime.memory import buffers
from workbench.runtime.products import can_hold_threads
from workbench.runtime.tapes import products

pytestmark = pytest.mark.skipif(
    numpy_libraries.blas("dgemm") is None or not can_hold_threads(), reason="NumPy's BLAS cannot be called by address"
)


@pytest.fixture(autouse=True)
def _small_arrays(monkeypatch):
    monkeypatch.setattr(row_products, "ROWS", 2)
    monkeypatch.setattr(row_products, "LEAST_ROWS", 1)
    for name in ("ROWS", "LEAST_ROWS"):
        monkeypatch.setattr(chains, name, getattr(row_products, name))
    monkeypatch.setattr(row_products, "SMALL", 0)
    monkeypatch.setattr(chains, "LEAST_BYTES", 1)
    monkeypatch.setattr(chains, "LEAST_BYTES_BESIDE", 1)
    monkeypatch.setattr(chains, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(products, "MOST_WORK", 0)  # loops with products are Python's then, as with large ones


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


def prologue(x, w, b):
    return (x * 2 + 1) @ w


def both_sides(x, w, b):
    y = np.tanh(x - 0.5) @ w - b
    return y / (1 + np.abs(y)).sum(axis=-1, keepdims=True)


def softmax(x, w, b):
    scores = x @ w + b
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True), scores.argmax(axis=-1)


def two_products(x, w, b):
    return np.exp(-np.maximum(x @ w, b)) @ np.swapaxes(w, -1, -2)


def result_is_returned_too(x, w, b):
    y = x @ w
    return y, y * b


def sums_of_rows(x, w, b):
    return np.cumsum(x @ w, axis=-1) - b


def rows_around(x, w, b):
    y = np.exp(-np.abs(x @ w))
    return y[1:] - y[:-1]


PROGRAMS = [layer, prologue, both_sides, softmax, two_products, result_is_returned_too, sums_of_rows, rows_around]  # fmt: skip
SHAPES = [((130, 5), (5, 40)), ((64, 33), (33, 150)), ((3, 65, 20), (3, 20, 200)), ((2, 2, 40, 12), (2, 2, 12, 130)),
          ((700, 40), (40, 2))]  # fmt: skip
TOLERANCE = {"float32": 2e-4, "float64": 1e-11}


def operands(left, right, dtype):
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=shape).astype(dtype) for shape in (left, right, right[-1:]))
    return x, w, b


def has_product(compiled):
    found = compiled.compilations[-1].executable.chains.values()
    return any(chain.has_product for chain in found)


def assert_close(found, expected, dtype):
    found, expected = ((r if isinstance(r, tuple) else (r,)) for r in (found, expected))
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(
            a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * max(1, np.abs(b).max(initial=0))
        )


def assert_same(found, expected):
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_rows_of_products_are_numpys(program, shapes, dtype):
    left, right = shapes
    arrays = operands(left, right, dtype)
    with np.errstate(all="ignore"):
        expected = program(*arrays)
    found = []
    for n_threads in (1, 2):
        with wb.config(threads=n_threads):
            compiled = wb.jit(program)
            found += [compiled(*arrays) for _ in range(2)]
            assert has_product(compiled) or program is rows_around  # whose rows are not each other's
    assert_close(found[0], expected, dtype)
    for again in found[1:]:
        assert_same(again, found[0])


@settings(max_examples=60)
@given(
    rows=st.integers(2, 90), k=st.integers(2, 40), columns=st.integers(2, 90), batch=st.sampled_from([(), (3,), (2, 2)]),
    program=st.sampled_from(PROGRAMS), how=st.sampled_from(["C", "F", "rows", "columns", "backwards"]),
    dtype=st.sampled_from(["float32", "float64"]), block=st.sampled_from([1 << 8, 1 << 12, 1 << 18]),
)  # fmt: skip
def test_operands_in_any_layout(rows, k, columns, batch, program, how, dtype, block):
    x, w, b = operands((*batch, rows, k), (*batch, k, columns), dtype)
    if how == "F":
        x, w = np.asfortranarray(x), np.asfortranarray(w)
    elif how == "rows":
        x, w = np.repeat(x, 2, axis=-2)[..., ::2, :], np.repeat(w, 2, axis=-2)[..., ::2, :]
    elif how == "columns":
        x, w = np.repeat(x, 2, axis=-1)[..., ::2], np.repeat(w, 3, axis=-1)[..., ::3]
    elif how == "backwards":
        x, w = x[..., ::-1, ::-1], w[..., ::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "BLOCK_BYTES", block)
        assert_close(wb.jit(program)(x, w, b), program(x, w, b), dtype)


def logistic(x, w, y):
    p = 1 / (1 + np.exp(-(x @ w)))
    return x.T @ (p - y) / len(x), p


def from_the_left(x, w, y):
    return (np.tanh(x @ w) - y) @ x


def normal_equations(x, w, y):
    return x.T @ (x @ w), x.T @ y


def weighted(x, w, y):
    return (x * w).T @ (x * y[:, None])


def by_einsum(x, w, y):
    return np.einsum("ij,ik->kj", x - 1, x[:, :9] * 2) + w


def descent(x, w, y):
    for _ in range(40):
        w = w - 0.1 * (x.T @ (x @ w - y)) / len(x)
    return w


def until_it_is_flat(x, w, y):
    n_steps = 0
    while n_steps < 60:
        rest = x @ w - y
        slope = x.T @ rest / len(x)
        if np.abs(slope).max() < 1e-2:
            break
        w = w - 0.1 * slope
        n_steps += 1
    return w, n_steps


def several_columns(x, w, y):
    weights = np.outer(w, np.arange(1, 4).astype(w.dtype)) * 0.1
    e = np.exp(x @ weights)
    error = e / e.sum(axis=1, keepdims=True) - y[:, None]
    return weights - 0.1 * (x.T @ error), error.sum(axis=0)


SUMS = [logistic, from_the_left, normal_equations, weighted, by_einsum, descent, until_it_is_flat, several_columns]


def every_chain(compiled):
    executable = compiled.compilations[0].executable
    return [*executable.chains.values(), *executable.inner_chains]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [256, 1025, 5003])
@pytest.mark.parametrize("program", SUMS, ids=lambda f: f.__name__)
def test_sums_over_rows_are_the_same_on_any_threads(program, rows, dtype):
    x, w, y = operands((rows, 20), (20, 2), dtype)
    arrays = x, w[:, 0].copy(), (x[:, 0] > 0).astype(dtype)
    found = []
    for n_threads in (1, 2):
        with wb.config(threads=n_threads):
            compiled = wb.jit(program)
            found.append(compiled(*arrays))
            assert any(chain.n_each for chain in every_chain(compiled)), every_chain(compiled)
    assert_close(found[0], program(*arrays), dtype)
    assert_same(*found)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1]])
@pytest.mark.parametrize("program", SUMS, ids=lambda f: f.__name__)
def test_sums_over_rows_in_another_order(program, layout):
    x, w, _ = operands((700, 20), (20, 2), "float64")
    arrays = layout(x), w[:, 0], (x[:, 0] > 0).astype(float)
    assert_close(wb.jit(program)(*arrays), program(*arrays), "float64")


def test_what_a_product_reads_through_a_view_lives_as_long():
    """The view is made, and used for the last time, before the chain begins."""
    x, w, y = operands((900, 20), (20, 2), "float64")

    def program(x, w, y):
        z = np.sort(x, axis=0)
        turned = z.T
        r = np.sort(y) * 2
        return turned @ (r - z @ w), np.sort(w)

    arrays = x, w[:, 0].copy(), x[:, 1].copy()
    compiled = wb.jit(program)
    for _ in range(2):
        assert_close(compiled(*arrays), program(*arrays), "float64")
    assert any(chain.n_each for chain in every_chain(compiled))


def test_what_a_view_is_a_copy_of_is_not_read_in_its_place():
    """Its memory may have become another array's by then."""
    b = JaxprBuilder()
    x, y = b.input("f64[900,20]"), b.input("f64[900]")
    z = b.emit("add", x, 1.0)
    turned = b.emit("transpose", z, permutation=(1, 0))
    (ordered,) = b.emit("sort", b.emit("mul", z, 2.0), dimension=0, is_stable=True, num_keys=1)
    numbers = (((1,), (0,)), ((), ()))
    error = b.emit("tanh", y)
    total = b.emit("dot_general", turned, error, dimension_numbers=numbers, preferred_element_type=None)
    for results, is_view in (([ordered, total], True), ([turned, ordered, total], False)):
        plan = form_plan(b.build(*results))
        found = build(plan, plan_kernels(plan, ["C", "C"]), 2)
        assert any(chain.has_product for chain in found.chains.values()) == is_view
        a, c = np.random.default_rng(0).normal(size=(900, 20)), np.linspace(-1, 1, 900)
        np.testing.assert_allclose(found.run(a, c)[-1], (a + 1).T @ np.tanh(c), rtol=1e-11, atol=1e-11)


def test_a_sum_that_another_kernel_of_the_chain_reads_ends_the_chain():
    x, w, y = operands((900, 20), (20, 2), "float64")

    def program(x, w):
        total = x.T @ np.tanh(x @ w)
        return (x - total.sum(axis=1)) @ w + total[0]

    compiled = wb.jit(program)
    assert_close(compiled(x, w), program(x, w), "float64")


@pytest.mark.parametrize("program", [layer, softmax, two_products], ids=lambda f: f.__name__)
def test_nan_and_inf_stay_in_their_rows(program):
    x, w, b = operands((200, 8), (8, 30), "float64")
    x[3, 2], x[70, 0], x[199, 7] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        assert_close(wb.jit(program)(x, w, b), program(x, w, b), "float64")


def test_what_is_no_plain_product_runs_by_itself():
    x, w, _ = operands((70, 9), (9, 40), "float64")
    for program, arrays in (
        (lambda x, w: np.abs(x @ w), (x.astype("complex128"), w.astype("complex128"))),
        (lambda x, w: np.abs(np.einsum("ij,jk->ki", x, w)), (x, w)),
        (lambda x, w: np.abs(x.astype(np.int64) @ w.astype(np.int64)), (x, w)),
        (lambda x, w: np.abs(x[:, 0] @ x[:, 1]), (x, w)),
        (lambda x, w: np.abs(x[:, :5] @ w[:5]), (x, w)),
    ):
        compiled = wb.jit(program)
        np.testing.assert_allclose(compiled(*arrays), program(*arrays), rtol=1e-10, atol=1e-10)
        assert not has_product(compiled)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("shape", [(300, 40), (3, 90, 40)])
def test_products_of_a_matrix_with_itself_are_symmetric(shape, n_threads):
    x = np.random.default_rng(0).normal(size=shape)

    def distances(x):
        squares = (x * x).sum(axis=-1)
        return squares[..., :, None] + squares[..., None, :] - 2 * (x @ np.swapaxes(x, -1, -2))

    def moments(x):
        y = x * 2 - 1
        return np.swapaxes(y, -1, -2) @ y

    with wb.config(threads=n_threads):
        for program in (distances, moments):
            compiled = wb.jit(program)
            for _ in range(8):  # blocks of the result and the whole of it take turns
                found = compiled(x)
                assert_close(found, program(x), "float64")
                np.testing.assert_array_equal(found, np.swapaxes(found, -1, -2))


def test_threads_of_blas_are_as_before():
    from threadpoolctl import threadpool_info

    def n_threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = n_threads()
    arrays = operands((300, 4), (4, 70), "float64")
    compiled = wb.jit(layer)
    compiled(*arrays)
    assert has_product(compiled) and n_threads() == before


def test_small_arrays_beside_other_products_are_left_to_blas(monkeypatch):
    """Its threads still watch for the next product then."""
    monkeypatch.setattr(chains, "LEAST_BYTES_BESIDE", 1 << 40)

    def step(x, w, b):
        backwards = x[::-1]
        return softmax(x, w, b)[0], backwards.T @ backwards

    for program, expected in ((step, False), (softmax, True)):
        arrays = operands((900, 30), (30, 20), "float64")
        compiled = wb.jit(program)
        assert_close(compiled(*arrays), program(*arrays), "float64")
        assert has_product(compiled) == expected


def test_scores_of_attention_are_no_array():
    q, k, v = (np.random.default_rng(0).normal(size=(1500, 16)) for _ in range(3))

    def attention(q, k, v):
        scores = q @ k.T / 4.0
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) @ v

    compiled = wb.jit(attention)
    assert_close(compiled(q, k, v), attention(q, k, v), "float64")
    (chain,) = compiled.compilations[-1].executable.chains.values()
    assert [member.product is not None for member in chain.members] == [True, False, True]
    assert len(chain.hidden) == 2
    buffers.pool.clear()
    compiled(q, k, v)
    assert buffers.pool.kept_bytes < 1 << 20  # 18 MB of scores would have come from there


def test_report_tells_what_runs_together_and_what_is_never_made():
    report = wb.explain(softmax)(*operands((400, 6), (6, 80), "float64"))
    (kernel,) = report.kernels
    assert "run it together with L0" in kernel.launch
    (refused,) = [d for d in report.decisions if not d.merged]
    assert refused.code == "WB320" and "never made" in refused.reason and not refused.bytes_saved
