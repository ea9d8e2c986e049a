"""Rows B1, B4, B13, C1 and C2: NumPy as it is written, tiers, kernels for every shape, cells, fusion."""

from __future__ import annotations

import copy
import threading

import numpy as np
import optree
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import workbench as wb
from workbench.runtime import dispatch

# ---- B1: in-place updates, views, out=, mutated arguments, masks ----


def add_to_slice(x, y):
    x[1:-1] += y[2:]
    return x.sum()


def through_a_view(x, y):
    middle = x[1:-1]
    middle *= 2
    middle[0] = y[0]
    return middle


def through_a_transpose(x, y):
    m = x.reshape(2, 3)
    m.T[0] = -1
    return m, m.T


def with_out(x, y):
    np.multiply(x, y, out=x)
    np.exp(x, out=y)
    return x + y


def with_masks(x, y):
    x[x > 2] = 0
    x[y == 1] = 10
    np.putmask(y, y > 3, -y)
    return np.where(x > 0, x, y)


def in_a_loop(x, y):
    for i in range(1, len(x)):
        x[i] += x[i - 1] * 0.5
    return x[-1]


def swapped(x, y):
    x[:3], x[3:] = x[3:].copy(), x[:3].copy()
    x[::-1] = x.copy()


def overlapping_update(x, y):
    x[1:] = x[:-1]
    x[:-1] += x[1:]


def methods_in_place(x, y):
    x.sort()
    y.fill(3)
    x.clip(1, 4, out=x)
    np.copyto(y, x, where=x > 2)


def rebinding_and_mutating(x, y):
    z = x
    z += 1
    x = x * 2
    x -= 1
    return x, z


def through_a_diagonal_and_columns(x, y):
    m = np.outer(x, y)
    np.fill_diagonal(m, 0)
    m[:, 0] += 5
    m[[1, 2]] *= 2
    return m


def scatter(x, y):
    np.add.at(x, [0, 0, 5], 1.5)
    x[[1, 2]] = x[[2, 1]]
    return x


def an_array_of_its_own(x, y):
    total = np.zeros_like(x)
    total[:] = x
    total[2:4] = y[:2] * 3
    alias = total[1:]
    alias -= 1
    return total, alias


def in_a_container(x, y):
    state = {"x": x, "parts": [y, y[1:]]}
    state["x"] += 1
    state["parts"][1][0] = 7
    return state


PROGRAMS = [
    add_to_slice, through_a_view, through_a_transpose, with_out, with_masks, in_a_loop, swapped, overlapping_update,
    methods_in_place, rebinding_and_mutating, through_a_diagonal_and_columns, scatter, an_array_of_its_own,
    in_a_container,
]  # fmt: skip


def sharing(values):
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    return [np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]]


@pytest.mark.parity("B1")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unmodified_programs_that_mutate(program, dtype):
    compiled = wb.jit(program)
    for seed in range(2):
        args = np.random.default_rng(seed).integers(0, 5, (2, 6)).astype(dtype)
        theirs, ours = copy.deepcopy(list(args)), copy.deepcopy(list(args))
        expected, found = program(*theirs), compiled(*ours)
        assert optree.tree_structure(found, none_is_leaf=True) == optree.tree_structure(expected, none_is_leaf=True)
        left = [*optree.tree_leaves(found, none_is_leaf=True), *ours]
        right = [*optree.tree_leaves(expected, none_is_leaf=True), *theirs]
        for a, b in zip(left, right, strict=True):
            assert type(a) is type(b)
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == np.float32 else 1e-13)
        assert sharing(left) == sharing(right)
    assert not compiled.fallbacks


@pytest.mark.parity("B1")
def test_arguments_that_share_memory_keep_numpys_order_of_reads_and_writes():
    @wb.jit
    def f(x, y):
        x += y
        x += y
        return x

    ours, theirs = np.arange(6.0), np.arange(6.0)
    f(ours[1:], ours[:-1])
    f.fn(theirs[1:], theirs[:-1])
    np.testing.assert_array_equal(ours, theirs)
    f(ours, ours)
    f.fn(theirs, theirs)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parity("B1")
def test_a_read_only_argument_refuses_to_be_written():
    x = np.arange(3.0)
    x.flags.writeable = False
    f = wb.jit(lambda x: np.add(x, 1, out=x))
    with pytest.raises(ValueError, match="read-only|not writeable"):
        f(x)
    np.testing.assert_array_equal(x, [0, 1, 2])


# ---- B4: the first call runs in NumPy ----
@pytest.mark.parity("B4")
def test_the_first_call_runs_in_numpy_while_kernels_compile(monkeypatch, rng):
    let_go, ready = threading.Event(), threading.Event()
    compile_traced = dispatch.compile_traced

    def held(*args, **kwargs):
        let_go.wait(60)
        try:
            return compile_traced(*args, **kwargs)
        finally:
            ready.set()

    monkeypatch.setattr(dispatch, "compile_traced", held)
    x = rng.random((40, 30))
    expected = softmax(x)
    with wb.config(tiers=True):
        compiled = wb.jit(softmax)
        np.testing.assert_array_equal(compiled(x), expected)
        assert not compiled.compilations, "the call waited for its kernels"
        let_go.set()
        assert ready.wait(60)
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-13)
        assert wb.explain(compiled)(x).summary.n_kernels >= 1
    assert len(compiled.compilations) == 1 and compiled.n_traces == 1


# ---- B13: kernels for every shape ----


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def blur(x):
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + 4 * x[1:-1, 1:-1]) / 8


def pairwise(x):
    return np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1))


def padded(x):
    return np.pad(x, 1)[1:, 1:] + np.roll(x, 1, axis=0).sum() + np.concatenate([x, x], axis=0)[: x.shape[0] + 1, :1]


SHAPE_FREE = [
    softmax, normalise, blur, pairwise,
    lambda x: np.sum(x**2),
    lambda x: np.exp(x).sum(axis=0) + x.T.sum(axis=1),
    lambda x: np.tril(x[: x.shape[1]] if x.shape[0] > x.shape[1] else x) * 2,
    lambda x: x.argmax(axis=1) + x.argmin(axis=1),
    lambda x: np.flip(x, 0) + x[::-1, ::-1],
]  # fmt: skip


@pytest.mark.parity("B13")
@pytest.mark.parametrize("program", SHAPE_FREE)
def test_a_new_shape_compiles_nothing(program, n_compiled, rng):
    f = wb.jit(program)
    f(rng.random((40, 30)))
    n = n_compiled()
    assert f.compilations[-1].kernels
    for shape in ((50, 31), (7, 5), (600, 300), (1000, 6)):
        x = rng.random(shape)
        # x - mean cancels where x is close to the mean, and ours is the more accurate one.
        np.testing.assert_allclose(f(x), program(x), rtol=1e-10, atol=1e-13)
    assert n_compiled() == n, "a new shape compiled a kernel"
    assert f.n_traces == 5


# ---- C1, C2: cells and fusion ----


@pytest.fixture
def shell(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance(config=config)

    def run(cell):
        with capture_output() as shown:
            result = ip.run_cell(cell)
        result.raise_error()
        return result.result, shown

    run("import numpy as np\n%load_ext workbench")
    run.names = ip.user_ns
    yield run
    ip.history_manager.end_session()
    ip.restore_sys_module_state()
    InteractiveShell.clear_instance()


@pytest.mark.parity("C1")
def test_a_cell_reads_and_leaves_names_and_shows_its_last_expression(shell):
    photo = np.random.default_rng(0).random((30, 40, 3))
    shell.names["photo"] = photo
    result, shown = shell(
        "%%jit\ngray = photo @ np.array([0.2126, 0.7152, 0.0722])\nedges = np.abs(gray[1:] - gray[:-1])\nedges.max()"
    )
    gray = photo @ np.array([0.2126, 0.7152, 0.0722])
    edges = np.abs(gray[1:] - gray[:-1])
    assert type(shell.names["gray"]) is np.ndarray
    np.testing.assert_allclose(shell.names["gray"], gray, rtol=1e-14)
    np.testing.assert_allclose(shell.names["edges"], edges, rtol=1e-9, atol=1e-15)
    assert type(result) is np.float64 and np.isclose(result, edges.max())
    assert shown.outputs, "the report is displayed"


@pytest.mark.parity("C2")
def test_chains_and_reductions_fuse_into_few_kernels(rng):
    plans = {
        "chain": (lambda x: np.sqrt(np.exp(-x) + x * 2) / (1 + x), 1),
        "chain and sum": (lambda x: np.sum((x - 1) ** 2), 1),
        "softmax": (softmax, 1),
        "stencil": (blur, 1),
        "two results": (lambda x: (x + 1, x * 2), 1),
        "row normalisation": (lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), 1),
        "library call between": (lambda x: np.exp(np.sort(x + 1, axis=0)), 2),
    }
    x = rng.random((20, 30))
    for name, (program, n_kernels) in plans.items():
        f = wb.jit(program)
        optree.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), f(x), program(x))
        assert len(f.compilations[-1].kernels) == n_kernels, name
