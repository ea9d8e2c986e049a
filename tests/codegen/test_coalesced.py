"""Short last axes that are one with those before them: NumPy's bits, whatever is shifted, padded, joined or updated."""

import random

import numpy as np
import pytest

import workbench as wb
from tests.codegen.test_llvm_kernels import assert_same_bits, both_forms, traced
from tests.compare import check_compiled
from tests.sources import define
from workbench.codegen import export
from workbench.fusion import form_plan
from workbench.runtime.executable import plan_kernels
from workbench.runtime.native import kernels

SHAPES = [
    (40, 30, 3),
    (9, 70, 4),
    (200, 2),
    (5, 6, 7, 3),
    (6, 4, 3, 5),
    (12, 12, 30),
    (33, 1, 5),
    (1, 90, 3),
    (8, 20, 1),
    (2, 3, 2),
]


@pytest.fixture(autouse=True)
def no_kernel_for_any_rows():
    """Where one is compiled, short rows make do with it."""
    kernels.forget_kernels()


class Program:
    """Statements over pictures: parts of any axes, moves, joins and updates, whose results NumPy gives bit by bit.

    `x` and `y` have all axes, `w` has all but the last, `v` has the last alone.
    """

    def __init__(self, seed, n_axes):
        self.random = random.Random(seed)
        self.axes = range(n_axes)
        self.names = ["x", "y"]
        self.lines = [self.statement(f"v{k}") for k in range(self.random.randint(2, 6))]

    def axis(self):
        """An axis, most often not the last."""
        return self.random.choice([*self.axes, *self.axes[:-1], *self.axes[:-1]])

    def part(self, axis, text):
        return f"[{', '.join([':'] * axis + [text])}]"

    def statement(self, new):
        a, b = (self.random.choice(self.names[-3:]) for _ in range(2))
        axis = self.axis()
        after, before, inside = (self.part(axis, text) for text in ("1:", ":-1", "1:-1"))
        widths = [(0, 0)] * len(self.axes)
        widths[axis] = self.random.choice([(1, 1), (0, 2), (1, 0)])
        low, high = widths[axis]
        cut = self.part(axis, f"{low}:{-high or None}")
        forms = {
            f"{new} = {a} {self.random.choice('+-*')} {b}": 2,
            f"{new} = np.zeros_like({a}); {new}{after} = {a}{after} - {b}{before}": 3,
            f"{new} = {a}.copy(); {new}{inside} = {a}{self.part(axis, '2:')} - {b}{self.part(axis, ':-2')}": 3,
            f"{new} = {a}.copy(); {new}{after} += {b}{before}": 2,
            f"{new} = np.pad({a}, {widths}){cut} - {b}": 1,
            f"{new} = np.concatenate([{a}{after}, {b}{self.part(axis, ':1')}], axis={axis}) * 2": 2,
            f"{new} = np.roll({a}, {self.random.choice([1, -2])}, axis={axis}) + {b}": 2,
            f"{new} = {a}{self.part(axis, '::-1')} - {b}": 1,
            f"{new} = {a} * w[..., None] - {b}": 1,
            f"{new} = {a} * v + {b}": 1,
            f"{new} = np.where({a} > {b}, {a}, {b} * 3)": 1,
            f"x{before} = {a}{after} * 2; {new} = x - {b}": 1,
            f"y *= {a}; {new} = y + 1": 1,
        }
        (form,) = self.random.choices(list(forms), list(forms.values()))
        self.names.append(new)
        return form

    @property
    def source(self):
        body = "".join(f"    {line}\n" for line in self.lines)
        axis = self.axis()
        last, before = self.names[-1], self.names[-2]
        ends = [f"{last}{self.part(axis, '1:')} - {before}{self.part(axis, ':-1')}", last]
        if self.random.random() < 0.5:  # what has NumPy's bits in any order, over all axes, the last one, or all others
            axes = self.random.choice(["None", "-1", str(tuple(self.axes)[:-1])])
            ends.append(
                self.random.choice([f"({last} > {before}).sum({axes})", f"np.abs({last} * w[..., None]).max({axes})"])
            )
            ends = self.random.choice([ends, ends[-1:], ends[1:]])
        return f"def f(x, y, w, v):\n{body}    return {', '.join(ends)}\n"


def inputs(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-9, 9, s).astype(dtype) for s in (shape, shape, shape[:-1], shape[-1:])]
    if np.dtype(dtype).kind == "f" and arrays[0].size > 20:
        arrays[0].reshape(-1)[rng.integers(0, arrays[0].size, 3)] = np.nan, np.inf, -0.0
    return arrays


def test_random_programs():
    n_coalesced = 0
    for seed in range(120):
        shape = SHAPES[seed % len(SHAPES)]
        program = define(Program(seed, len(shape)).source, "f", f"<pictures {seed}>")
        dtype = random.Random(seed).choice(["float64", "float64", "float32", "int32", "uint8"])
        with wb.config(threads=1 + seed % 2):
            made = check_compiled(program, inputs(shape, dtype, seed))
        n_coalesced += any(".reshape(" in kernel.source for kernel in made.kernels.values())
    assert n_coalesced > 25


def edges(x, y, w, v):
    across, down = np.zeros_like(x), np.zeros_like(x)
    across[:, 1:-1] = x[:, 2:] - x[:, :-2]
    down[1:-1] = x[2:] - x[:-2]
    return np.sqrt(across * across + down * down)


def only_kernel(program, *arrays):
    (kernel,) = plan_kernels(form_plan(traced(program, *arrays)), ["C"] * len(arrays)).values()
    return kernel


def test_the_colours_of_a_row_are_one_loop():
    text = only_kernel(edges, *inputs((40, 50, 3), "float64")).source
    assert "x = x.reshape(x.shape[0], x.shape[1] * x.shape[2], 1)" in text
    assert "i2" not in text
    assert "reshape" not in only_kernel(edges, *inputs((40, 50, 300), "float64")).source  # rows that are long enough


def test_more_than_two_axes_become_one():
    def steps(x):
        return x[1:] - x[:-1]

    text = only_kernel(steps, np.ones((9, 4, 3, 2))).source
    assert "x = x.reshape(x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3], 1, 1, 1)" in text
    check_compiled(steps, [np.random.default_rng(0).random((9, 4, 3, 2))])


@pytest.mark.parametrize(
    "program",
    [
        lambda x, y, w, v: x[:, 1:] * v,  # another number for each colour
        lambda x, y, w, v: x[:, 1:] * w[:, 1:, None],  # the same number for all colours of a point
        lambda x, y, w, v: x[:, 1:, ::-1] - x[:, 1:],
        lambda x, y, w, v: x[:, 1:, 1:] - x[:, :-1, :-1],
        lambda x, y, w, v: x[:, ::2] + 1,
    ],
)
def test_what_tells_colours_apart_has_its_own_loop(program):
    arrays = inputs((40, 50, 3), "float64")
    assert "reshape" not in only_kernel(program, *arrays).source
    check_compiled(program, arrays)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 200])
def test_few_and_many_points(n):
    def path(x, y):
        d = np.zeros_like(x)
        d[1:] = x[1:] - y[:-1]
        return d, d[:-1] * x[1:]

    for k in (2, 3, 9):
        check_compiled(path, list(np.random.default_rng(n).random((2, n, k))))


def test_strided_pictures():
    x, y, w, v = inputs((40, 60, 3), "float64")
    for view in (lambda a: a[:, ::2], lambda a: a[..., ::-1], lambda a: a.transpose(1, 0, 2), np.asfortranarray):
        check_compiled(edges, [view(x), view(y), w, v])


def test_kernels_of_points_still_run_together():
    def program(x):
        a = np.exp(x[1:]) - x[:-1]
        d = np.zeros_like(a)
        d[1:-1] = np.exp(-np.abs(a[2:] - a[:-2]))
        return np.sqrt(d[1:]) * d[:-1]

    x = np.random.default_rng(0).random((5000, 3))
    for n_threads in (1, 2):
        with wb.config(threads=n_threads):
            compiled = wb.jit(program)
            np.testing.assert_allclose(compiled(x), program(x), rtol=1e-12, atol=1e-14)
        made = compiled.compilations[-1]
        (chain,) = made.executable.chains.values()
        assert len(chain.members) == 3 and chain.n == 4999  # points, not numbers
        assert all(kernel.row_steps == 3 for kernel in made.kernels.values())


def test_the_same_bits_through_numba(monkeypatch):
    for shape in ((12, 20, 3), (30, 2), (3, 4, 5, 2)):
        for seed in range(4):
            program = define(Program(seed, len(shape)).source, "f", f"<pictures {seed}>")
            arrays = inputs(shape, "float64", seed)
            with np.errstate(all="ignore"):
                assert_same_bits(*both_forms(traced(program, *(a.copy() for a in arrays)), arrays, monkeypatch))


def test_exported_modules_compute_the_same(tmp_path):
    arrays = inputs((12, 20, 3), "float64")
    namespace = {}
    exec(compile(export.standalone(only_kernel(edges, *arrays)), str(tmp_path / "edges.py"), "exec"), namespace)
    np.testing.assert_array_equal(namespace["run"](arrays[0]), edges(*arrays))
