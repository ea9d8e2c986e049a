"""Reading and assigning `x[...]`: drawn indices of every kind, known and traced, in views and in copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import strategies
from workbench.errors import NonConcreteBooleanIndexError
from workbench.frontend.trace import trace

from .differential import check

FAST = settings(max_examples=100, suppress_health_check=list(HealthCheck), derandomize=True)


def with_arrays(key, arrays):
    """The index with its arrays replaced, in order, by traced ones."""
    pending = iter(arrays)
    return tuple(next(pending) if isinstance(item, np.ndarray) else item for item in key)


@FAST
@given(data=st.data())
def test_basic_indices_take_views(data):
    x = data.draw(strategies.arrays())
    i = data.draw(strategies.basic_indices(x.shape))

    def read(x):
        return x[i]

    def assign(x):
        x[i] = 7
        return x[i]

    def augment(x):
        x[i] += x.dtype.type(1)
        return x

    def through_the_view(x):
        part = x[i]
        if isinstance(part, np.ndarray):
            part[...] = 1
        return x, part

    for call in (read, assign, augment, through_the_view):
        check(call, x)


@FAST
@given(data=st.data())
def test_chains_of_views(data):
    x = data.draw(strategies.arrays(min_dims=1))

    def write(x):
        flipped = x.T[::-1]
        i = (Ellipsis, slice(None, None, -2))
        flipped[i] = flipped[i] * 2
        x.reshape(-1)[1:3] = 5
        x.ravel()[-1:] = 6
        return x, flipped.sum(), x.T

    check(write, x, reduction_scale=1e6, max_ulp=4) if x.dtype.kind in "biu" else check(write, np.zeros(x.shape))


@FAST
@given(data=st.data())
def test_integer_arrays_among_slices(data):
    x = data.draw(strategies.arrays(min_dims=1, max_dims=4, max_side=3))
    key = data.draw(strategies.array_indices(x.shape))
    indices = [item for item in key if isinstance(item, np.ndarray)]

    def read(x, *indices):
        return x[with_arrays(key, indices)]

    def assign(x, *indices):
        x[with_arrays(key, indices)] = 5

    def augment(x, *indices):
        at = with_arrays(key, indices)
        x[at] = x[at] * x.dtype.type(2)
        np.add.at(x, at, x.dtype.type(1))
        return x

    for call in (read, assign, augment):
        for known in (indices, [i.tolist() for i in indices], [_tuples(i.tolist()) for i in indices]):
            check(lambda x, call=call, known=known: call(x, *known), x)  # known while tracing
        check(call, x, *indices)  # traced


def _tuples(items):
    return tuple(map(_tuples, items)) if isinstance(items, list) else items


@FAST
@given(data=st.data())
def test_masks(data):
    x = data.draw(strategies.arrays(min_dims=1, tame=True))
    k = data.draw(st.integers(1, x.ndim))
    front = data.draw(strategies.arrays("bool", x.shape[:k]))
    back = data.draw(strategies.arrays("bool", x.shape[-k:]))

    def constant(x, mask):
        x[mask] = 3
        return x

    def row(x, mask):
        x[mask] = x[0, ..., :1]

    def augment(x, mask):
        x[mask] *= x.dtype.type(2)

    def at_the_back(x, mask):
        x[..., mask] = 3

    def positive(x):
        x[x > 0] = 0
        x[~(x > 0)] = 1
        return x

    def known(x):
        x[front] = 3
        return x[front]

    check(constant, x, front)
    check(row, x, front, may_refuse=True)
    check(augment, x, front, may_refuse=True)
    check(at_the_back, x, back)
    check(positive, x)
    check(known, x, may_refuse=True)


@FAST
@given(data=st.data())
def test_casting_and_broadcasting_of_what_is_assigned(data):
    x = data.draw(strategies.arrays(min_dims=1, tame=True))
    value = data.draw(st.one_of(strategies.arrays(tame=True, max_dims=2), strategies.python_scalars(tame=True)))

    def assign(x, value):
        x[...] = value

    def assign_part(x, value):
        x[:2] = value

    if isinstance(value, np.ndarray):
        check(assign, x, value)
        check(assign_part, x, value)
    else:  # known: whether a Python number fits depends on its value
        check(lambda x: assign(x, value), x)
        check(lambda x: assign_part(x, value), x)


def test_errors_are_numpys():
    x = np.arange(12.0).reshape(3, 4)
    for key in (
        5, (0, 0, 0), (slice(None), 4), "name", 1.5, (Ellipsis, Ellipsis), np.array([3]), ([0, 1], [0, 1, 2]),
        np.array([1.0]), np.zeros((4, 3), bool), -4, (None, 3),
    ):  # fmt: skip
        check(lambda x, key=key: x[key], x)
        check(lambda x, key=key: x.__setitem__(key, 1), x)
    check(lambda x: x.__setitem__(0, np.ones(3)), x)
    check(lambda x: np.broadcast_to(x, (2, 3, 4)).__setitem__(0, 1), x)
    check(lambda x: np.diagonal(x).__setitem__(0, 1), x)

    def assign_to_a_scalar(x):
        element = x[0, 0]
        element[()] = 1

    check(assign_to_a_scalar, x)
    check(lambda x, i: x[i], x, np.array([5]))
    check(lambda x, i: np.add.at(x, i, 1), x, np.array([5]))


def test_an_index_that_is_computed():
    x = np.arange(12.0).reshape(3, 4)

    def best_row(x):
        i = np.argmax(x.sum(axis=1))
        row = x[i]
        row *= 2
        x[i, 0] = -1
        return row, x[i, 1], x[:, i]

    check(best_row, x)


def test_scalars_are_values_and_rank_0_arrays_are_memory():
    x = np.arange(4.0)

    def f(x):
        element, view = x[0], x[0, ...]
        x[0] = 9
        return element, view

    check(f, x)


def test_a_mask_that_is_read_is_refused_with_a_fix():
    with pytest.raises(NonConcreteBooleanIndexError, match="where"):
        trace(lambda x: x[x > 0], (np.arange(3.0),), {})


def test_flat():
    x = np.arange(6.0).reshape(2, 3).T

    def f(x):
        x.flat[1:3] = [7, 8]
        x.flat[[0, 5]] = 1
        x.flat = x.flat[::-1]
        return x.flat[2], len(x.flat)

    check(f, x, may_refuse=True)


@pytest.mark.parametrize("value", [np.ones(1), np.ones((1, 1)), np.ones(0), [1.0], np.float64(2), 3])
@pytest.mark.parametrize("key", [0, (0,), np.int64(1), np.array(1), (0, Ellipsis), (None, 0)])
def test_an_element_takes_no_array_unless_numpy_lets_it(key, value):
    def put(x, value):
        x[key] = value
        return x

    check(put, np.zeros(3), value)


@pytest.mark.parametrize("value", [np.ones(1), np.float64(2)])
def test_an_element_at_a_traced_index_takes_no_array_unless_numpy_lets_it(value):
    def put(x, i, value):
        x[i] = value
        return x

    check(put, np.zeros(3), np.int64(1), value)


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
@pytest.mark.parametrize(
    "key",
    [[0, -1], [-1, 0], [2], [3, 1], [0, 2, 4], [4, 2, 0], [1, 1], [0, 1, 3], (slice(1, 4), [0, -1]), ([1, 3], 2),
     ([0, 4], None), (None, [0, 4]), (Ellipsis, [3, 0]), ([0, 2], slice(None, None, -1)), []],
    ids=str,
)  # fmt: skip
def test_evenly_spaced_indices_copy_as_others_do(key, dtype):
    def read(x):
        found = x[key]
        found += 1
        return x, found

    def put(x, value):
        x[key] = value
        return x

    def put_itself(x):
        x[key] = x[key][::-1] * 2
        x[key] += x.dtype.type(1)
        return x

    x = np.arange(25).reshape(5, 5).astype(dtype)
    check(read, x)
    check(put, x, 3.7)
    check(put, x, np.float64(300.0))
    check(put, x, np.arange(float(np.size(x[key]))).reshape(np.shape(x[key])))
    check(put, x, np.ones(7), may_refuse=True)
    check(put_itself, x)
    as_slices = key not in ([1, 1], [0, 1, 3], [], ([1, 3], 2))
    assert as_slices is ("update_slice" in str(trace(put, (x, 3.7), {}).jaxpr))


def test_ranges_are_lists_of_indices():
    x = np.arange(20.0).reshape(4, 5)
    labels = np.array([4, 0, 2, 2])

    def read(x, labels):
        return x[range(len(x)), labels], x[range(3, 0, -2)], x[1, range(0)], x[range(2), 1:]

    def write(x, labels):
        x[range(len(x)), labels] -= 1.0
        x[range(1, 3)] = labels[:2, None]

    def beyond(x, labels):
        return x[range(5)]

    for call in (read, write, beyond):
        check(call, x, labels)
