"""Mutation through views, compared with NumPy: values, arguments left behind, and what shares memory with what."""

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.layouts import axis_order
from workbench.frontend.trace import trace

A = np.arange(24.0).reshape(4, 6)
B = np.arange(6.0)


def slice_in_place(a):
    a[1:-1, ::2] += 10
    return a


def through_transpose(a, b):
    a.T[0, ::2] = 5.0
    a.T[1:3] = b[:4]
    return a.sum()


def through_reshape(a):
    a.reshape(-1)[7:11] = -1.0
    a.reshape(2, 2, 6)[1, 0] *= 2
    return a


def reshape_of_a_transpose_copies(a):
    flat = a.T.reshape(-1)
    flat[0] = 99.0
    return flat


def reversed_view(a):
    a[::-1, ::-2][0] = np.arange(3.0)
    return a[::-1]


def row_then_element(a):
    row = a[2]
    row[3] = 1.5
    a[2, 4] = row[3] + 1
    return row


def scalar_elements_are_values(a):
    first = a[0, 0]
    a[0, 0] = 7.0
    return first + a[0, 0]


def zero_dim_view_sees_writes(a):
    first = a[0, 0, ...]
    a[0] = 3.0
    return first


def swap(a, b):
    c = a.copy()
    a[0] = b
    b[:] = c[1]
    return a, b


def swap_whole(a):
    other = a[::-1].copy()
    first = a.copy()
    a[:] = other
    other[:] = first
    return other


def returns_its_argument(a):
    return a


def returns_views(a):
    return a[1:], a.T, a[0], a[0, 0]


def results_share_memory(a):
    c = a * 2
    return c, c[1:], c


def two_views_of_one_result(a):
    c = a * 2
    return c[:2], c[1:]


def view_of_local(a):
    c = a * 2
    d = c[1]
    d += 1
    return c


def expand_and_squeeze(a):
    v = a[:, None, 2]
    v[:, 0] = 4.0
    return v


def real_and_imag(z):
    z.real[1:] = 0.0
    z.imag += 1
    return z


def copyto(a, b):
    np.copyto(a, b)
    return a


def out_keyword(a, b):
    np.multiply(a, b, out=a)
    np.add(a[0], 1, out=a[1])
    return a


def aliased_update(a):
    a[1:] = a[:-1]
    a[:, :-1] += a[:, 1:]
    return a


def elementwise_keeps_fortran_order(a):
    c = a.T + 1
    flat = c.reshape(-1)
    flat[0] = 9.0
    return c, flat


def broadcast_fortran(a):
    c = a.T * np.arange(4.0)
    flat = c.reshape(-1)
    flat[1] = 9.0
    return c, flat


def written_after_a_view_was_used(a):
    v = a[1:]
    s = v.sum()
    a[2] = 100.0
    return s, v.sum(), v


def fill_whole(a):
    a[:] = 0.0
    a[...] += 1


def set_shape(a):
    b = a.copy()
    b.shape = (6, 4)
    b[0] = 1.0
    return b


def empty_slice(a):
    a[2:2] = 5.0
    return a[3:3]


UNARY = [
    slice_in_place, through_reshape, reshape_of_a_transpose_copies, reversed_view, row_then_element,
    scalar_elements_are_values, zero_dim_view_sees_writes, swap_whole, returns_its_argument, returns_views,
    results_share_memory, two_views_of_one_result, view_of_local, expand_and_squeeze, aliased_update,
    elementwise_keeps_fortran_order, broadcast_fortran, written_after_a_view_was_used, fill_whole, set_shape,
    empty_slice,
]  # fmt: skip


@pytest.mark.parametrize("fn", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_writes_through_views_are_as_in_numpy(fn, layout, assert_as_numpy):
    a = {"C": A, "F": np.asfortranarray(A), "strided": np.repeat(A, 2, axis=1)[:, ::2]}[layout]
    # deepcopy keeps C and F order; a strided argument becomes C-contiguous there, so it goes through `call` below.
    assert_as_numpy(fn, a)


@pytest.mark.parametrize("fn", UNARY, ids=lambda f: f.__name__)
def test_writes_to_strided_arguments(fn, call):
    ours, theirs = np.repeat(A, 2, axis=1), np.repeat(A, 2, axis=1)
    call(fn, ours[:, ::2])
    fn(theirs[:, ::2])
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("fn", [through_transpose, swap, copyto, out_keyword], ids=lambda f: f.__name__)
def test_writes_with_two_arguments(fn, assert_as_numpy):
    assert_as_numpy(fn, A, B)


def test_real_and_imaginary_parts_are_views(assert_as_numpy):
    assert_as_numpy(real_and_imag, A[0] + 1j * A[1])


def test_the_returned_argument_is_the_same_object(call):
    a = A.copy()
    assert call(returns_its_argument, a) is a
    assert call(slice_in_place, a) is a
    row = a[0]
    turned = call(lambda x: x.T, row)
    assert turned is not row and np.shares_memory(turned, row)


def test_in_place_operators_keep_numpys_casting_rules(call):
    def f(n):
        n += 0.5

    with pytest.raises(TypeError, match=r"Cannot cast ufunc 'add' output from dtype\('float64'\) to dtype\('int64'\)"):
        call(f, np.arange(3))


def test_read_only_arrays_and_broadcast_views_refuse_writes(call):
    fixed = np.arange(3.0)
    fixed.flags.writeable = False

    def write(a):
        a[0] = 1.0

    def write_broadcast(a):
        np.broadcast_to(a, (2, 3))[0] = 1.0

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        call(write, fixed)
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        call(write_broadcast, np.arange(3.0))


def test_writing_a_whole_axis_reads_nothing():
    def f(a):
        a[:] = 1.0

    traced = trace(f, (np.zeros(3),), {})
    assert not any(traced.jaxpr.invars[0] in eqn.invars for eqn in traced.jaxpr.eqns)
    assert traced.writes == ((0, 0),)


def test_a_view_is_read_once_between_writes():
    def f(a):
        v = a[1:]
        return v + v, v * v

    names = [eqn.primitive.name for eqn in trace(f, (np.zeros(3),), {}).jaxpr.eqns]
    assert names.count("slice") == 1


@pytest.mark.parametrize("seed", range(40))
def test_axis_order_is_that_of_numpys_iterator(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, size=rng.integers(2, 5)))
    operands = []
    for _ in range(rng.integers(1, 4)):
        perm = rng.permutation(len(shape))
        a = np.zeros([shape[i] for i in perm]).transpose(np.argsort(perm))
        axis = int(rng.integers(len(shape)))
        operands.append(np.broadcast_to(a.take([0], axis), shape) if rng.random() < 0.3 else a)
    found = axis_order([a.strides for a in operands], len(shape))
    result = np.nditer([*operands, None], order="K").operands[-1]
    assert [result.strides[i] for i in found] == sorted(result.strides, reverse=True)


def _zeroed_diagonal(a):
    np.einsum("ii->i", a)[...] = 0
    return a


def _shifted_diagonals(a):
    b = a * 2.0
    d = np.einsum("iji->ji", np.stack([b, b.T], axis=2)[:, :, [0, 1, 0]][:3, :2])
    d += 1
    return b, d


def _turned(a):
    t = np.einsum("ij->ji", a)
    t[0] = 5
    return a, t


def _returned_diagonal(a):
    return np.einsum("ii->i", a)


@pytest.mark.parametrize("program", [_zeroed_diagonal, _shifted_diagonals, _turned, _returned_diagonal])
def test_einsum_without_sums_gives_views_that_may_be_written(program):
    for order in "CF":
        mine, theirs = (np.array(np.arange(9.0).reshape(3, 3), order=order) for _ in range(2))
        found, expected = wb.jit(program)(mine), program(theirs)
        found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.shares_memory(a, mine) == np.shares_memory(b, theirs)
            assert a.flags.writeable == b.flags.writeable
        np.testing.assert_array_equal(mine, theirs)
