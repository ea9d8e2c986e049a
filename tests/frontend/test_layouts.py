"""Layouts: the strides that NumPy gives its results, which decide whether a reshape is a view, so what a write changes."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.sources import define

EXPRESSIONS = """
np.where(m, 1.0, 2.0)[None] * 1
np.where(True, v, A)
np.where(m, v, A)
np.where(False, A, v)
np.select([m], [v], 0.0)
np.select([A>3], [v], 0.0)
np.choose(m.astype(int), [v, A])
np.average(A, axis=0, weights=A+1, returned=True)[1]
np.average(A, axis=0, returned=True)[1]
np.average(A, axis=1, weights=v, returned=True)[1]
np.einsum('ij->ji', A)
np.einsum('ij,k->ikj', A, v)
np.einsum('i,j->ij', v, v)
np.clip(A, v, 5)
np.copysign(A, v)
np.tile(v, (3, 1))
np.repeat(A, 2, axis=1)
np.full((3, 4), v)
np.full_like(A, 2.0)
np.full_like(AF, 2.0)
np.zeros_like(AF)
np.ones_like(A.T)
np.empty_like(A.T)*0
np.copy(A.T)
A.T.copy()
np.array(A.T)
np.asarray(A.T)
np.ascontiguousarray(A.T)
np.asfortranarray(A)
A.astype(float)
A.T.astype(np.float32)
np.concatenate([A.T, A.T])
np.concatenate([np.broadcast_to(v, (3, 4))] * 2)
np.concatenate([np.broadcast_to(A, (2, 3, 4))] * 2, axis=1)
np.concatenate([np.broadcast_to(A.T, (2, 4, 3))], axis=-1)
np.concatenate([np.broadcast_to(v, (3, 4)), A.T[:3, :1]], axis=1)
np.stack([np.broadcast_to(A, (2, 3, 4))] * 2, -1)
np.copy(np.broadcast_to(A, (2, 3, 4)))
np.array(np.broadcast_to(v, (3, 4)))
np.broadcast_to(v, (3, 4)).astype(np.float32)
np.zeros_like(np.broadcast_to(A, (2, 3, 4)))
np.sort(np.broadcast_to(A, (2, 3, 4)), axis=1)
np.roll(np.broadcast_to(v, (3, 4)), 1, axis=1)
np.nan_to_num(np.broadcast_to(v, (3, 4)))
np.sin(np.broadcast_to(v, (3, 4)))
np.insert(A[::-1].T, 0, 1.0, axis=0)
np.insert(B.T, 0, 1.0, axis=0)
np.stack([v, v], 1)
np.vstack([v, v])
np.hstack([A.T, A.T])
np.column_stack([v, v])
np.dstack([v, v])
np.block([[A.T, A.T]])
np.append(A.T, A.T, axis=0)
np.insert(A, 1, v, axis=0)
np.delete(A, 1, axis=0)
np.roll(A.T, 1, axis=0)
np.rot90(A)
np.flip(A)
np.pad(A.T, 1)
np.sort(A.T, axis=0)
np.sort(A.T, axis=1)
np.cumsum(A.T, axis=0)
np.cumsum(A, axis=0)
np.diff(A.T, axis=0)
np.take(A, [0, 1], axis=1)
A[:, [0, 1]]
A[[0, 1]]
AF[[0, 1]]
AF[:, [0, 1]]
A.T[[0, 1]]
A.T[:, [0, 1]]
A[:, [1, 0], None]
np.take_along_axis(A, np.argsort(-A, 1), 1)
np.compress([True, False, True], A, axis=0)
np.triu(A)
np.tril(A.T)
np.diag(v)
np.diagflat(v)
np.eye(3, 4)
np.vander(v)
np.outer(v, v)
np.kron(A, A)
A @ A.T
A.T @ A
np.dot(A, v)[None] * 1
np.tensordot(A, A.T, 1)
np.cross(A[:, :3], A[:, 1:4])
np.linalg.inv(np.eye(3)+A[:, :3])
np.linalg.solve(np.eye(3)+A[:, :3], A)
np.linalg.qr(A)[0]
np.linalg.qr(A)[1]
np.linalg.svd(A)[0]
np.linalg.svd(A)[2]
np.linalg.eigh(A@A.T)[1]
np.linalg.cholesky(A@A.T+20*np.eye(3))
np.linalg.matrix_power(A[:, :3], 2)
np.linalg.pinv(A)
np.linalg.lstsq(A.T, v, rcond=None)[0][None] * 1
np.fft.fft(A, axis=0)
np.fft.fft2(A)
np.fft.rfft(A.T, axis=0)
np.fft.fftshift(A, axes=0)
np.gradient(A)[0]
np.gradient(A.T)[1]
np.add.outer(v, v)
np.multiply.outer(v, A)
np.add.accumulate(A.T, axis=1)
np.nan_to_num(A.T)
np.round(A.T)
np.real(A.T+1j)
np.conj(A.T+1j)
np.abs(A.T+1j)
np.angle(A.T+1j)
-A.T
A.T+1
A.T+A.T
A.T+v[:, None]
v[:, None]+A.T
A+AF
AF+A
AF * 1
AF+v
np.sin(AF)
np.maximum(AF, 0)
np.where(AF>3, AF, 0)
np.isnan(AF)
AF>3
np.sum(AF[None], axis=0)
np.mean(np.stack([AF, AF]), axis=0)
np.max(np.moveaxis(np.stack([A, A]), 0, -1), axis=-1)
np.median(np.stack([A, A, A]), axis=0)
np.quantile(np.stack([A, A, A]), 0.5, axis=0)
np.std(np.stack([A, A]), axis=0)
np.argsort(A.T, axis=0)
np.interp(A.T, v, v)
np.searchsorted(v, A.T)
np.digitize(A.T, v)
np.meshgrid(v, v)[1]
np.meshgrid(v, v, indexing='ij')[0]
np.meshgrid(v, v, sparse=True)[0]
np.indices((3, 4))[0]
np.indices((3, 4))
np.mgrid[0:3, 0:4][0]
np.mgrid[0:3, 0:4]
np.broadcast_to(v, (3, 4)).copy()
np.broadcast_arrays(v, A)[1] * 1
np.piecewise(A.T, [A.T>3], [1.0, 2.0])
np.apply_along_axis(np.cumsum, 0, A)
np.resize(A, (4, 4))
np.swapaxes(A, 0, 1) * 1
np.moveaxis(A[None], 0, 2) * 1
np.atleast_3d(A) * 1
np.expand_dims(A.T, 0)+0
np.polyval([1, 2], A.T)
np.unwrap(A, axis=0)
np.convolve(v, v)[None] * 1
np.fromfunction(lambda i, j: i+j, (3, 4))
np.linspace(v, v+1, 3)
np.linspace(v, v+1, 3, axis=-1)
np.logspace(v, v+1, 3)
np.divmod(AF, 2)[0]
np.modf(AF)[1]
np.frexp(AF)[0]
np.ldexp(AF, 2)
np.nansum(np.stack([AF, AF]), axis=0)
np.nancumsum(AF, axis=0)
np.cov(A)
np.corrcoef(A+v**2)
np.histogram2d(v, v, bins=3)[0]
np.lib.stride_tricks.sliding_window_view(v, 2) * 1
np.ravel(AF)[None] * 1
np.reshape(AF, (4, 3))
np.reshape(A.T, (3, 4), order='F')
np.squeeze(AF[None]) * 1
AF.flatten()[None] * 1
np.packbits((A>3), axis=1)
np.unpackbits(np.arange(4, dtype=np.uint8)[:, None], axis=1)
np.bitwise_count(AF.astype(int))
np.trapezoid(np.stack([AF, AF]), axis=0)
np.ediff1d(v)[None] * 1
np.ix_([0, 1], [1, 2])[0] * 1
np.tri(3)
np.identity(3)
np.hanning(5)[None] * 1
np.linalg.multi_dot([A, A.T, A])
np.matmul(AF, AF.T)
np.inner(A, A)
np.inner(AF, AF)
np.nan_to_num(AF)
np.float_power(AF, 2)
AF.astype(np.float32)
AF.astype(int, order='C')
np.array(AF, order='C')
np.array(AF, copy=True)
np.require(AF, requirements='C')
A.copy()
np.fmin(AF, A)
np.hypot(A, AF)
np.arctan2(AF, 1.0)
A.clip(1, 5)
AF.clip(1, 5)
AF.round(1)
AF.cumsum(0)
AF.repeat(2, 1)
AF.take([0, 1], 1)
AF.compress([True, True, False], 0)
(AF > 3).choose([AF, AF])
AF.conj()
AF.real*1
AF.T.dot(AF)
AF.swapaxes(0, 1)+1
AF.__copy__()
AF.max(0)[None] * 1
np.ptp(AF, 0)[None] * 1
B[:, [0, 1]]
B.T[[0, 1]]
B.T[:, [0, 1]]
B.transpose(1, 0, 2)[[0, 1]]
B[[0, 1], :, [1, 2]]
B[:, :, [[0, 1], [1, 2]]]
B[:, ::-1, [0, 1]]
B[..., [0, 1]]
B[0, :, [1, 2]]
np.take(B.T, [0, 1], axis=1)
np.take(B, [0, 1], axis=2)
B.T.take([1, 0])[None] * 1
np.sum(B.T, axis=1)
np.mean(B.T, axis=0)
np.max(B.transpose(1, 0, 2), axis=0)
np.argmax(B.T, axis=0)
np.std(B.T, axis=0)
np.var(B.transpose(2, 0, 1), axis=1)
np.median(B.T, axis=0)
np.percentile(B.T, [10, 90], axis=0)
np.cumsum(B.T, axis=1)
np.sort(B.transpose(1, 2, 0), axis=0)
np.partition(B.T, 1, axis=0)
np.einsum('ijk->kj', B)
np.einsum('ijk,k->ji', B, v)
np.tensordot(B, v, (2, 0))
np.matmul(B, v)
np.matmul(B.T, B.T.transpose(0, 2, 1))
np.matmul(B.transpose(2, 0, 1), B.transpose(2, 1, 0))
np.stack([A, A], axis=1)
np.stack([A.T, A.T], axis=-1)
np.concatenate([B.T, B.T], axis=1)
np.where(B.T > 3, B.T, 0.0)
np.broadcast_to(v, (3, 4)) + 0
np.add(B.T, B.T[:, :1])
v[:, None, None] + B.T
np.expand_dims(A.T, 1) * 1
np.squeeze(B[:1].T) * 1
np.fft.fft(B, axis=1)
np.fft.fftn(B)
np.fft.ifft(B.T, axis=0)
np.fft.rfft(B, axis=1)
np.fft.irfft(B+0j, axis=1)
np.linalg.inv(B[:, :, :3] + np.eye(3))
np.linalg.norm(B, axis=0)
np.linalg.norm(B.T, axis=1)
np.cross(B[..., :3], B[..., 1:4])
np.diff(B.T, axis=1)
np.gradient(B)[1]
np.gradient(B.T, axis=1)
np.roll(B.T, 1)
np.flip(B.T, 0) * 1
np.pad(B, ((0, 1), (1, 0), (1, 1)))
np.tile(A.T, 2)
np.repeat(A.T, 2, axis=0)
np.kron(A.T, A)
np.array([A.T, A.T])
np.array([v, v]).T * 1
np.asarray([A[0], A[1]])
np.nan_to_num(B.T)
np.trapezoid(B, axis=0)
np.interp(B.T, v, v)
np.apply_along_axis(np.sort, 0, B)
np.apply_along_axis(np.sum, 1, B)
np.apply_over_axes(np.sum, B, [0])
np.select([A > 3, A > 1], [A, AF])
np.choose((A > 3).astype(int), [A, AF])
np.piecewise(AF, [AF > 3], [lambda t: t*2, 0.0])
np.clip(AF, A, 7)
np.minimum.outer(v, A)
np.add.outer(A.T, v)
np.multiply.outer(A[:, [0, -1]], B.T)
np.add.reduce(B.T, axis=0)
np.add.accumulate(B, axis=0)
np.logical_and(A, AF)
np.unravel_index(np.arange(4), (2, 2))[0][None] * 1
np.lib.stride_tricks.sliding_window_view(A, (2, 2)) * 1
np.tril(B.T)
np.vecdot(B, v)
np.permute_dims(B, (2, 0, 1)) + 1
np.matrix_transpose(B) + 1
np.unstack(B)[0] + 1
np.count_nonzero(B, axis=0)
np.any(B.T, axis=0)
np.ptp(B.T, axis=0)
np.average(B.T, axis=0)
np.nanmean(B.T, axis=0)
np.nanmax(B.T, axis=1)
np.bincount(np.array([0, 1, 1]))[None] * 1
np.put_along_axis(AF, np.array([[0], [1], [2]]), 9.0, 1) or AF
np.take_along_axis(AF, np.argsort(AF, 1), 1)
np.lexsort((A, AF), axis=0)
np.argsort(AF, axis=0)
np.sort_complex(A.T+0j)
np.real_if_close(A.T) * 1
np.i0(AF)
np.sinc(AF)
np.heaviside(AF, 0.5)
AF.astype(complex).imag * 1
AF.view() * 1
AF ** 2
2 ** AF
AF // 2
AF % v
divmod(AF, 2)[0]
abs(-AF)
AF @ A.T
~(AF > 3)
(AF > 3) & (A > 1)
AF.copy()
AF.copy('K')
AF.copy('F')
AF.flatten('F')[None] * 1
np.array(A, order='F')
np.asarray(A, order='F')
np.zeros((3, 4), order='F')
np.ones_like(A, order='F')
np.full((3, 4), 2.0, order='F')
A.astype(float, order='F')
np.asfortranarray(A) + A
np.eye(3, order='F')
np.copyto(AF, A) or AF
""".strip().split("\n")
DTYPES = (np.float64, np.int64)


def arguments(dtype):
    a = np.arange(12).reshape(3, 4).astype(dtype)
    v = np.arange(4).astype(dtype)
    return {"v": v, "A": a, "m": v > 1, "AF": np.asfortranarray(a), "B": np.arange(24).reshape(2, 3, 4).astype(dtype)}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_have_numpys_strides(expression):
    function = define(f"def f(v, A, m, AF, B):\n    return ({expression}).strides\n", "f", f"<layout {expression}>")
    n_compared = 0
    for dtype in DTYPES:
        given = arguments(dtype)
        try:
            with np.errstate(all="ignore"):
                array = eval(expression, {"np": np, **given})
        except (TypeError, ValueError, np.linalg.LinAlgError):
            continue  # not for integers
        compiled = wb.jit(function)
        found = compiled(**given)
        assert not compiled.fallbacks, compiled.fallbacks
        wide = [axis for axis, n in enumerate(array.shape) if n != 1]  # of others NumPy may say anything
        assert [found[axis] for axis in wide] == [array.strides[axis] for axis in wide], np.dtype(dtype)
        n_compared += 1
    assert n_compared


@pytest.mark.parametrize(
    "making",
    ["A[:, [0, 1]]", "A.T[:, [1, 0, 2]]", "np.meshgrid(v, v)[0]", "np.array(AF, order='C')", "AF.copy('K')",
     "np.isinf(AF.astype(np.int64))", "np.apply_along_axis(np.cumsum, 0, A)"],
)  # fmt: skip
@pytest.mark.parametrize("flat", ["r.reshape(-1)", "r.ravel()", "r.T.reshape(-1)", "r.ravel(order='K')"])
def test_writes_through_a_reshape_reach_what_they_reach_in_numpy(making, flat):
    source = f"def f(v, A, m, AF, B):\n    r = {making}\n    {flat}[1:3] = 1\n    return r\n"
    function = define(source, "f", f"<write {making} {flat}>")
    given = arguments(np.float64)
    compiled = wb.jit(function)
    np.testing.assert_array_equal(compiled(**given), function(**arguments(np.float64)))
    assert not compiled.fallbacks


RETURNED = [
    "AF + 1", "A.T * 2", "AF.copy()", "np.sqrt(B.T)", "np.where(AF > 2, AF, 0)", "(A @ A.T).T",
    "np.swapaxes(B, 0, 2) + 1", "np.moveaxis(B, 0, 1).copy('K')", "np.asfortranarray(A * 2)", "AF.astype(np.float32)",
    "(lambda t: (t, t[1:], t.T))(AF * 2)", "[AF * 2, A * 2]", "(lambda t: (t, t))(AF - 1)", "AF", "AF.T", "v + 1",
    "np.concatenate([AF, AF])", "np.zeros_like(AF)", "(AF * 2)[:, :0]", "np.broadcast_to(v, (3, 4)) * 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", RETURNED)
def test_what_is_returned_lies_in_memory_as_numpys_does(expression):
    function = define(f"def f(v, A, m, AF, B):\n    return {expression}\n", "f", f"<returned {expression}>")
    for dtype in DTYPES:
        compiled = wb.jit(function)
        for _ in range(2):
            found, expected = compiled(**arguments(dtype)), function(**arguments(dtype))
            pairs = zip(*(x if isinstance(x, tuple | list) else [x] for x in (found, expected)), strict=True)
            for k, (ours, numpys) in enumerate(pairs):
                np.testing.assert_array_equal(ours, numpys)
                assert ours.flags.c_contiguous == numpys.flags.c_contiguous or not numpys.flags.forc
                assert ours.flags.f_contiguous == numpys.flags.f_contiguous or not numpys.flags.forc
                ours.T.reshape(-1)[:2] = numpys.T.reshape(-1)[:2] = 70 + k
                ours.reshape(-1)[:1] = numpys.reshape(-1)[:1] = 80 + k
            np.testing.assert_equal(found, expected)  # after writes through what may be views
        assert not compiled.fallbacks


def test_a_function_of_a_function_keeps_layouts():
    inner = wb.jit(lambda x: x * 2)
    outer = wb.jit(lambda x: inner(x).strides)
    assert outer(np.asfortranarray(np.ones((3, 4)))) == (8, 24)


def test_tiles_of_nothing_are_views():
    def program(x):
        tiles = np.tile(x[1:], (2, 1))
        np.negative(tiles, tiles)
        return tiles

    for x in (np.broadcast_to(1.0, (1,)), np.ones(1)):
        outcomes = []
        for f in (program, wb.jit(program)):
            try:
                outcomes.append(f(x).shape)
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
