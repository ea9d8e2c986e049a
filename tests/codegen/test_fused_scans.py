"""Running sums and products as equations of a kernel, between what they read and what reads them: NumPy's bits."""

import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import workbench as wb
from tests.codegen.test_llvm_kernels import assert_same_bits, both_forms, traced
from tests.compare import check_compiled
from tests.sources import define
from workbench.fusion import Cluster, LibraryStep, form_plan

X = np.ones((40, 60))


class Program:
    """Statements that NumPy computes exactly as we do: arithmetic, choices and scans, of rows, parts and views of
    arrays of one shape, some of which are written into."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["x", "y"]
        self.lines = [self.statement(k) for k in range(self.random.randint(3, 8))]

    def pick(self):
        return self.random.choice(self.names[-4:])

    def scan(self, of):
        function = self.random.choice(["cumsum", "cumsum", "cumprod"])
        axis = self.random.choice(["-1", "-1", "-1", "0", "a.ndim - 1"]).replace("a", self.pick())
        return f"np.{function}({of}, axis={axis}, dtype={of if of.isidentifier() else self.pick()}.dtype)"

    def statement(self, k):
        a, b, new = self.pick(), self.pick(), f"v{k}"
        forms = {
            f"{new} = {a} {self.random.choice('+-*')} {b}": 3,
            f"{new} = np.where({a} > {b}, {b}, {a} * 2)": 1,
            f"{new} = np.abs({a}) - {b}": 1,
            f"{new} = {self.scan(a)}": 4,
            f"{new} = {self.scan(a)} * {b} + {a}": 3,
            f"{new} = {self.scan(f'({a} - {b})')}": 3,
            f"{new} = {self.scan(a + '[..., ::-1]')}[..., ::-1]": 1,
            f"{new} = {a} - {b}[..., :1]": 1,
            f"{new} = {a} - {self.scan(b)}[..., -1:]": 1,
            f"{new} = {a}.copy(); {new}[..., 1:] = {self.scan(b)}[..., :-1]": 2,
            f"{new} = {a}.copy(); {new}[..., 1:] -= {b}[..., :-1]": 1,
            f"{new} = {a}.copy(); {new}[:-1] = {b}[1:]": 1,
            f"{new} = {b}.T.copy().T; {new} *= {a}": 1,
            f"{new} = {a}.max(axis=-1, keepdims=True, initial=1) + {b}": 1,
            f"x[...] = {self.scan(a)}; {new} = x + {b}": 1,
            f"np.cumsum({a}, axis=-1, dtype=y.dtype, out=y); {new} = y * {b}": 1,
        }
        (form,) = self.random.choices(list(forms), list(forms.values()))
        self.names.append(new)
        return form

    @property
    def source(self):
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f(x, y):\n{body}    return {', '.join(self.names[-3:])}, {self.names[2]}\n"


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return [rng.integers(info.min, info.max, shape, dtype, endpoint=True) for _ in range(2)]
    arrays = [rng.uniform(-1.5, 1.5, shape).astype(dtype) for _ in range(2)]
    for a in arrays:
        if a.size > 20:
            a.reshape(-1)[rng.integers(0, a.size, 4)] = -0.0, np.nan, np.inf, -0.0
        if a.size and rng.random() < 0.3:
            a[:1] = -0.0
    return arrays


def test_random_programs():
    shapes = [(40, 9), (3, 60), (70,), (5, 4, 30), (1, 50), (50, 1), (30, 40, 1), (6, 1, 44), (0, 7), (7, 0), (90, 17)]
    n_fused = 0
    for seed in range(150):
        program = Program(seed)
        f = define(program.source, "f", f"<scans {seed}>")
        dtype = random.Random(seed).choice(["float64", "float64", "float32", "int64", "int32", "uint8"])
        arrays = numbers(shapes[seed % len(shapes)], dtype, seed)
        with wb.config(threads=1 + seed % 2):
            n_fused += any(len(c.eqns) > 1 and scans(c) for c in check_compiled(f, arrays).plan.clusters)
    assert n_fused > 60


def scans(cluster):
    return [eqn for eqn in cluster.eqns if eqn.primitive.name in ("cumsum", "cumprod")]


def weighted(x, y):
    return np.cumsum(x * y, axis=-1, dtype=x.dtype) * 2, np.cumprod(x + y, axis=-1, dtype=x.dtype)


@given(st.data())
def test_any_shape_layout_and_number(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int64", "uint32", "int16", "complex128"]))
    some = st.sampled_from([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 1e300, 5e-324])
    with np.errstate(all="ignore"):
        arrays = [
            np.array(data.draw(st.lists(some, min_size=n, max_size=n))).reshape(shape).astype(dtype)
            for n in [int(np.prod(shape))] * 2
        ]
    layout = data.draw(st.sampled_from([lambda a: a, np.transpose, lambda a: a[..., ::-1], lambda a: a[::2]]))
    check_compiled(weighted, [layout(a) for a in arrays])


def test_what_is_cheap_runs_in_the_kernel_of_the_scan():
    plan = form_plan(traced(lambda x, y: 9.81 * np.cumsum(x * y, axis=1), X, X))
    (cluster,) = plan.steps
    assert isinstance(cluster, Cluster)
    assert len(cluster.eqns) == 3


def test_scans_of_scans_are_one_kernel():
    def twice(x):
        a = np.cumsum(x, axis=1)
        return np.cumsum(a, axis=1) - a

    assert len(form_plan(traced(twice, X)).steps) == 1


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (lambda x: np.cumsum(x % 0.7, axis=1), "WB327"),
        (lambda x: np.cumsum(((((x * 2 + 1) * x + 2) * x + 3) * x + 4) * x, axis=1), "WB327"),
        (lambda x: np.cumsum(x * 2, axis=1)[1:] * x[1:], "WB312"),
        (lambda x: np.cumsum(x * 2, axis=1)[:, 1:] - np.cumsum(x * 2, axis=1)[:, :-1], "WB312"),
        (lambda x: np.cumsum(x * 2, axis=1).max(axis=1), "WB313"),
        (lambda x: np.cumsum(x - x.min(axis=1, keepdims=True), axis=1), "WB313"),
        (lambda x: np.cumsum(x * 2, axis=1)[:, ::-1] - x, "WB312"),
    ],
)
def test_what_does_not_is_told(program, code):
    plan = form_plan(traced(program, X))
    assert code in [decision.code for decision in plan.decisions if not decision.merged]
    assert len(plan.steps) == 2
    check_compiled(program, numbers((40, 60), "float64")[:1])


def test_a_scan_of_what_is_in_memory_has_a_kernel_of_its_own():
    for program in (lambda x: np.cumsum(x, axis=1), lambda x: np.cumsum(np.sin(x), axis=1)):
        assert isinstance(form_plan(traced(program, X)).steps[-1], LibraryStep)


@pytest.mark.parametrize("shape", [(40, 9), (300,), (5, 1, 60), (3, 40, 1)])
def test_the_same_bits_through_numba(shape, monkeypatch):
    arrays = numbers(shape, "float64")
    with np.errstate(all="ignore"):
        assert_same_bits(*both_forms(traced(weighted, *arrays), arrays, monkeypatch))


def test_devices_leave_them_to_kernels_of_one_thread_a_row():
    arrays = numbers((8, 40), "int64")
    for a, b in zip(wb.jit(weighted, device="cuda-sim")(*arrays), weighted(*arrays), strict=True):
        np.testing.assert_array_equal(a, b)
