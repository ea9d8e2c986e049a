"""Every ufunc of NumPy, its keywords and its methods, on drawn operands of all dtypes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import strategies

from .differential import check

FAST = settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True)
UFUNCS = sorted(
    {u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None and u is not np.isnat},
    key=lambda u: u.__name__,
)
FOLDS = [u for u in UFUNCS if u.nin == 2 and u.nout == 1]
# One primitive each, or a few exact ones: NumPy's bits. The others are elementary functions.
ELEMENTARY_ULP = 4


def names(ufuncs):
    return [u.__name__ for u in ufuncs]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=names(UFUNCS))
@FAST
@given(data=st.data())
def test_a_call_gives_the_values_dtypes_and_errors_of_numpy(ufunc, data):
    operands = data.draw(strategies.operands(ufunc.nin))
    check(lambda *xs: ufunc(*xs), *operands, max_ulp=ELEMENTARY_ULP)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=names(UFUNCS))
@FAST
@given(data=st.data())
def test_where_and_out_write_through_to_the_argument(ufunc, data):
    operands = data.draw(strategies.operands(ufunc.nin, scalars=False))
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    dtype = data.draw(strategies.dtypes())
    outs = [np.ones(shape, dtype) for _ in range(ufunc.nout)]
    mask = data.draw(strategies.arrays("bool", shape))

    def call(mask, *arrays):
        ufunc(*arrays[: ufunc.nin], out=tuple(arrays[ufunc.nin :]), where=mask, casting="unsafe")

    def plain(*arrays):
        return ufunc(*arrays[: ufunc.nin], out=tuple(arrays[ufunc.nin :]))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        # What is stored is cast: a NaN, or a number that is off by one unit, has no one value as an integer.
        try:
            exact = np.result_type(*np.atleast_1d(ufunc(*operands))).kind in "biu"
        except (TypeError, ValueError):
            exact = True
        if np.dtype(dtype).kind not in "biu" or exact:
            check(call, mask, *operands, *outs, max_ulp=ELEMENTARY_ULP, may_refuse=True)
            check(plain, *operands, *outs, max_ulp=ELEMENTARY_ULP, may_refuse=True)


@pytest.mark.parametrize("ufunc", FOLDS, ids=names(FOLDS))
@FAST
@given(data=st.data())
def test_methods_of_ufuncs(ufunc, data):
    x = data.draw(strategies.arrays(tame=True, min_dims=1))
    axis = data.draw(strategies.axes(x.ndim, none=False))
    tolerance = {"max_ulp": 16, "reduction_scale": 1e4, "may_refuse": True}
    check(lambda x: ufunc.reduce(x, axis=axis), x, **tolerance)
    check(lambda x: ufunc.reduce(x, axis=None, keepdims=True), x, **tolerance)
    check(lambda x: ufunc.accumulate(x, axis=axis), x, **tolerance)
    check(lambda x: ufunc.outer(x, x[:1]), x, max_ulp=ELEMENTARY_ULP, may_refuse=True)
    if x.shape[axis]:
        check(lambda x: ufunc.reduceat(x, [0], axis), x, **tolerance)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.negative])
@FAST
@given(data=st.data())
def test_at_counts_repeated_indices(ufunc, data):
    x = data.draw(strategies.arrays(tame=True, min_dims=1).filter(lambda x: x.size))
    index = data.draw(strategies.arrays("int64", shape=strategies.shapes(1, 2)).map(lambda i: i % x.shape[0]))
    args = (x.dtype.type(2),) if ufunc.nin == 2 else ()
    check(lambda x, i: ufunc.at(x, i, *args), x, index, may_refuse=ufunc.nin == 1)
    check(lambda x: ufunc.at(x, index, *args), x, may_refuse=ufunc.nin == 1)
    check(lambda x: ufunc.at(x, (slice(None), None), *args), x)
    check(lambda x: ufunc.at(x, x > 0, *args), x)


@FAST
@given(data=st.data())
def test_augmented_assignment_casts_as_numpy_does(data):
    x, y = data.draw(strategies.operands(2, scalars=False))

    def augment(x, y):
        x += y
        x *= 2
        x -= y[:1] if y.ndim else y
        return x

    check(augment, x, y, may_refuse=True)


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2, 3, 7, 0.5, 2.0, -1.0, 1.5, np.float32(2), True])
@FAST
@given(data=st.data())
def test_powers_with_a_known_exponent(power, data):
    # NumPy's operator and np.power differ for bools, and for complex numbers that are not finite.
    names = strategies.INTS + strategies.FLOATS
    x = data.draw(st.one_of(strategies.arrays(names=names), strategies.arrays(names=strategies.COMPLEX, tame=True)))
    check(lambda x: x**power, x, max_ulp=ELEMENTARY_ULP)
    check(lambda x: np.power(x, power), x, max_ulp=ELEMENTARY_ULP)
    check(lambda x: np.float_power(x, power), x, max_ulp=ELEMENTARY_ULP)


@FAST
@given(data=st.data())
def test_keywords_dtype_casting_and_signature(data):
    x, y = data.draw(strategies.operands(2, scalars=False, tame=True))
    dtype = data.draw(strategies.dtypes())
    casting = data.draw(st.sampled_from(("no", "safe", "same_kind", "unsafe")))
    if dtype.kind not in "biu" or {x.dtype.kind, y.dtype.kind} <= set("biu"):
        check(lambda x, y: np.add(x, y, dtype=dtype, casting=casting), x, y, may_refuse=True)
        check(lambda x, y: np.multiply(x, y, signature=(None, None, dtype), casting=casting), x, y, may_refuse=True)


def test_matmul_keywords():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 4, 3)
    check(lambda a, b: np.matmul(a, b, out=np.zeros((2, 3, 3))), a, b)
    check(lambda a, b: np.matmul(a[:1], b[0], out=np.zeros((3, 3))), a, b)  # an axis of length 1 that `out` lacks
    check(lambda a, b: np.matmul(a, b, axes=[(0, 2), (1, 2), (0, 1)]), a, b)
    check(lambda a, b: np.matmul(a, b, dtype="f4"), a, b)
    check(lambda a, b: np.vecdot(a, a, axis=1), a, b)
    check(lambda a, b: np.matmul(a, a), a, b)
    check(lambda a, b: np.matmul(a, 2), a, b)


@pytest.mark.parametrize("exponent", [-2, np.int64(-2), np.int8(-1)], ids=repr)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (2,)], ids=str)
def test_negative_powers_of_integers_raise_where_there_are_any(exponent, shape):
    def scaled(x):
        x **= exponent
        return np.power(x, exponent)

    check(scaled, np.ones(shape, np.int64))
