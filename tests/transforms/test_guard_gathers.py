"""Gathers whose indices are tested apart: the values and the errors of NumPy, in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
import workbench.primitives  # noqa: F401  (declares the primitives)
from workbench.errors import OutOfBoundsError
from workbench.ir import check_jaxpr
from workbench.ir.builder import JaxprBuilder
from workbench.ir.evaluate import eval_jaxpr
from workbench.transforms.guard_gathers import guard_gathers

INT_DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def gather(array: str, *indices: str, axes: tuple[int, ...], position: int = 0):
    b = JaxprBuilder()
    operands = [b.input(text) for text in (array, *indices)]
    return b.build(b.emit("gather_checked", *operands, axes=axes, position=position))


def primitives(jaxpr):
    return {eqn.primitive.name for eqn in jaxpr.eqns}


@pytest.mark.parametrize(
    "case",
    [
        gather("f64[7]", "i64[5]", axes=(0,)),
        gather("f64[7,3]", "i8[2,2]", axes=(0,)),
        gather("f64[3,7]", "u64[4]", axes=(1,), position=1),
        gather("f64[3,7]", "i16[4]", "u8[4]", axes=(0, 1)),
        gather("f64[100]", "i8[4]", axes=(0,)),
    ],
)
def test_indices_in_range_and_outside(case):
    guarded = guard_gathers(case)
    check_jaxpr(guarded)
    assert "check_indices" in primitives(guarded) and "gather_checked" not in primitives(guarded)
    rng = np.random.default_rng(0)
    sizes = [case.invars[0].aval.shape[axis] for axis in case.eqns[0].params["axes"]]
    x = rng.normal(size=case.invars[0].aval.shape)
    avals = [v.aval for v in case.invars[1:]]
    indices = [
        rng.integers(0 if a.dtype.kind == "u" else -n, n, a.shape).astype(a.dtype)
        for a, n in zip(avals, sizes, strict=True)
    ]
    np.testing.assert_array_equal(eval_jaxpr(guarded, x, *indices)[0], eval_jaxpr(case, x, *indices)[0])
    for which, (aval, n) in enumerate(zip(avals, sizes, strict=True)):
        info = np.iinfo(aval.dtype)
        for wrong in (n, -n - 1, info.min, info.max):
            if info.min <= wrong <= info.max and not -n <= wrong < n:
                bad = [i.copy() for i in indices]
                bad[which].flat[-1] = wrong
                with pytest.raises(OutOfBoundsError):
                    eval_jaxpr(guarded, x, *bad)


@pytest.mark.parametrize(
    "case",
    [
        gather("f64[7]", "i64[]", axes=(0,)),  # one element: no loop has to test
        gather("f64[7]", "i64[0]", axes=(0,)),
        gather("f64[0,3]", "i64[2]", axes=(0,)),  # there is no element to read instead
    ],
)
def test_others_stay_as_they_are(case):
    assert primitives(guard_gathers(case)) == {"gather_checked"}


def look_up(x, i):
    return np.sqrt(x[i]) + 1


@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_one_kernel_tests_and_gathers(dtype):
    compiled = wb.jit(look_up)
    x = np.arange(100.0)
    i = np.random.default_rng(1).integers(0 if np.dtype(dtype).kind == "u" else -100, 100, 20_000).astype(dtype)
    np.testing.assert_array_equal(compiled(x, i), look_up(x, i))
    assert len(wb.explain(look_up)(x, i).kernels) == 1
    i[12_345] = 101
    with pytest.raises(IndexError, match="index 101 is out of bounds for axis 0 with size 100"):
        compiled(x, i)


def rows_and_elements(table, rows, columns, out):
    out += table[rows].sum(axis=1)
    out *= table[rows, columns]
    return table[:, columns] * 2


compiled_rows_and_elements = wb.jit(rows_and_elements)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(0, 3), st.randoms(use_true_random=False))
def test_what_numpy_does_also_where_it_raises(n_rows, n_columns, n, n_wrong, random):
    table = np.arange(float(n_rows * n_columns)).reshape(n_rows, n_columns)
    rows, columns = (np.array([random.randrange(-m, m) for _ in range(n)]) for m in (n_rows, n_columns))
    for _ in range(n_wrong // 2):
        random.choice([rows, columns])[random.randrange(n)] = random.choice([n_rows, n_columns, -7, 10**12])
    outcomes = []
    for function in (rows_and_elements, compiled_rows_and_elements):
        out = np.ones(n)
        try:
            result, error = function(table, rows, columns, out), ""
        except IndexError as failure:
            result, error = np.zeros(0), str(failure)
        outcomes.append((result.tobytes(), error, out.tobytes()))
    assert outcomes[0] == outcomes[1]
