"""Functions of NumPy's that compiled loops ask NumPy for: its bits, types and errors."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_close
from workbench.primitives.numpy_in_loops import CALLED

RNG = np.random.default_rng(31)
# y: a row, m: a matrix, s: a symmetric one, z: a row of complex numbers, k: a row of indices, b: bytes, i: an integer
FORMS = """np.linalg.eigh(s)[0] | np.linalg.eigvalsh(s) | np.linalg.svd(m)[1] | np.linalg.svd(m, full_matrices=False)[2]
np.linalg.svd(m, compute_uv=False) | np.linalg.svdvals(m) | np.linalg.pinv(m) | np.linalg.lstsq(m, m[:, 0], rcond=None)[0]
np.linalg.lstsq(m, m, rcond=None)[2] | np.linalg.qr(m, mode='r') | np.linalg.cholesky(s + 9 * np.eye(4), upper=True)
np.linalg.matrix_rank(m) | np.linalg.cond(m) | np.linalg.norm(m, 2) | np.linalg.norm(m, 'nuc') | np.linalg.norm(y, 3)
np.linalg.slogdet(m)[1] | np.linalg.det(z[:9].reshape(3, 3)) | np.linalg.matrix_norm(m) | np.linalg.vector_norm(y, ord=3)
np.linalg.inv(m) | np.linalg.solve(m, m) | np.linalg.multi_dot([m, m, y[:4]]) | np.linalg.matrix_power(m, 17)
np.linalg.tensorsolve(s, y[:4]) | np.linalg.tensorinv(s, ind=1) | np.linalg.eigvals(np.triu(s + 0j)) | np.linalg.eig(s + 0j)[0]
np.fft.fft(y) | np.fft.ifft(z) | np.fft.rfft(y, 16) | np.fft.irfft(z) | np.fft.irfft(z, n=9) | np.fft.fft2(m) | np.fft.ifft2(m)
np.fft.rfft2(m) | np.fft.irfft2(m + 0j) | np.fft.fftn(m, axes=(0,)) | np.fft.ifftn(m) | np.fft.rfftn(m) | np.fft.irfftn(m + 0j)
np.fft.hfft(z) | np.fft.ihfft(y) | np.fft.fftshift(y) | np.fft.fftshift(m, axes=1) | np.fft.ifftshift(m) | np.fft.fftfreq(9, 0.5)
np.fft.rfftfreq(8) | np.fft.fft(y, norm='ortho') | np.fft.fft(m, axis=0) | np.fft.fft(y[: i + 1], i)
np.argpartition(y, 2) | np.partition(y, 2) | np.argsort(m, axis=None) | np.argsort(y, kind='heapsort') | np.argwhere(m > 0)
np.array_equal(y, y, equal_nan=True) | np.array_equiv(y, y) | np.average(m, axis=0, weights=y[:4]) | np.bartlett(6)
np.bincount(k, minlength=i) | np.block([[m, m], [m, m]]) | np.compress(y > 0, y)
np.convolve(y, y[:3], 'same') | np.corrcoef(m, y[:4]) | np.correlate(y, z) | np.count_nonzero(m, axis=0) | np.cov(m, y[:4], ddof=0)
np.cross(m[:, :3], m[:, 1:]) | np.cumulative_sum(y) | np.cumulative_prod(y) | np.cumprod(m, axis=0) | np.cumsum(m)
np.cumsum(b) | np.delete(y, k) | np.delete(m, 1, axis=0) | np.diff(m, axis=0, prepend=0.0) | np.digitize(y, [0.0, 1.0], right=True)
np.ediff1d(y, to_end=2.5) | np.einsum('ij,kj->ik', m, m) | np.einsum('ij,j->i', m, y[:4]) | np.extract(y > 0, y)
np.flatnonzero(m) | np.gradient(y, y.cumsum()) | np.gradient(m, axis=0) | np.histogram(y, np.array([-9.0, 0.0, 1.0, 9.0]))[0] | np.histogram(y, np.linspace(-9, 9, 4))[1]
np.histogram(y, 5, weights=y)[0] | np.histogram2d(y, y, 3)[0] | np.histogram_bin_edges(y, 4) | np.i0(y) | np.insert(y, k, 1.5)
np.insert(m, 1, 0.0, axis=1) | np.interp(y, [0.0, 1.0], [2.0, 3.0], period=3.0) | np.intersect1d(k, k, return_indices=True)[1]
np.isin(k, k, invert=True) | np.kaiser(5, 2.0) | np.kron(y, m) | np.lexsort((k, k)) | np.lexsort(m) | np.max(y, initial=9.0)
np.min(m, axis=0, initial=-1.0) | np.mean(m, dtype=np.float32) | np.median(m, axis=(0, 1), keepdims=True) | np.nanargmax(m, axis=0)
np.nanargmin(m, axis=1) | np.nancumprod(y) | np.nancumsum(m, axis=0) | np.nanmax(m, axis=0) | np.nanmin(m, axis=1)
np.nanmean(m, axis=0, keepdims=True) | np.nanmedian(m, axis=1) | np.nanpercentile(m, 20, axis=0) | np.nanprod(m, axis=1)
np.nanquantile(m, [0.2, 0.7]) | np.nanstd(m, axis=0, ddof=1) | np.nansum(m, axis=1) | np.nanvar(m, axis=0) | np.nonzero(m)[1]
np.packbits(b) | np.pad(y, (1, 3), constant_values=2.0) | np.pad(m, ((1, 0), (0, 2))) | np.pad(y, 2, mode='linear_ramp')
np.percentile(y, 30, method='lower') | np.percentile(y, [10, 90]) | np.poly(y[:3]) | np.poly(s) | np.polyadd(y, y[:2])
np.polyder(y, 2) | np.polydiv(y, y[:3])[0] | np.polyfit(y, np.column_stack((y, y)), 1)
np.polyint(y) | np.polymul(y, k) | np.polysub(y[:2], y) | np.polyval(k, i) | np.prod(m, axis=0, initial=2.0) | np.ptp(y)
np.ptp(m, axis=1) | np.quantile(m, [0.1, 0.5], axis=1) | np.ravel_multi_index((k, k), (4, 5)) | np.repeat(y[:4], k)
np.roll(m, (1, 2), axis=(0, 1)) | np.roots(y[:4] + 9j) | np.round(y, 2) | np.round(m, decimals=1) | np.searchsorted(np.sort(y), m)
np.searchsorted(y, 0.5, sorter=np.argsort(y)) | np.select([y > 1, y > 0], [y, -y], 7.0) | np.setdiff1d(k, [1, 2], assume_unique=True)
np.setxor1d(k, [1, 2]) | np.sort(m, axis=None) | np.sort(z) | np.std(m, axis=0, where=m > -9) | np.var(m, axis=(0, 1), ddof=1)
np.sum(m, where=m > 0) | np.sum(y, initial=2.0) | np.sum(k, initial=2) | np.sum(k, initial=2.0) | np.prod(y, initial=-0.0) | np.prod(y, initial=0.0) | np.take_along_axis(m, np.argsort(m, axis=0)[:1], axis=0)
np.tensordot(m, m, axes=([0], [1])) | np.tile(m, (2, 1)) | np.trapezoid(m, dx=0.5) | np.unique(m, axis=0)
np.unique(k, return_index=True, return_inverse=True)[2] | np.unpackbits(b) | np.unravel_index(k, (4, 5))[1] | np.unwrap(y)
np.unwrap(y, period=3.0) | np.vdot(z, z) | y.sum(initial=1.0) | m.max(axis=0, initial=0.5) | m.std(axis=0, mean=m.mean(axis=0, keepdims=True))
np.divide(y, y, out=np.zeros(9), where=y > 0) | np.log(y, out=np.full_like(y, 7.0), where=y > 0) | np.add(k, 1, out=np.zeros(4))
np.asarray(k, float) | np.array(y, dtype=np.float32) | np.asarray([1, i], float) | np.asarray(y, float) | np.array(m, np.int64)
m.argsort(axis=None) | y.round(1) | m.cumsum(axis=1, dtype=np.float32) | k.repeat(k) | z.sum(initial=1j)"""


def expressions():
    return [each.strip() for each in FORMS.replace("\n", " | ").split("|")]


def of_text(text, path):
    path.write_text(text)
    namespace = {"np": np}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace["f"]


def is_whole(compiled):
    entries = [entry for found in compiled._state.specialisations.values() for entry in found]
    parts = [getattr(entry, "parts", None) for entry in entries]
    return any(p is not None and p.whole is not None and not p.whole.refused for p in parts)


def arguments():
    m = RNG.normal(size=(4, 4))
    z = RNG.normal(size=10) + 1j * RNG.normal(size=10)
    return RNG.normal(size=9), m, m + m.T, z, np.array([1, 0, 2, 3]), RNG.integers(0, 99, 7, np.uint8), 5


@pytest.mark.parametrize("few", [expressions()[k : k + 5] for k in range(0, len(expressions()), 5)], ids=str)
def test_functions_are_numpys_in_whole_functions(few, tmp_path):
    """Within a function that tracing refuses, since a size depends on data."""
    lines = [f"    r{n} = {each}" for n, each in enumerate(few)]
    left = ", ".join(f"r{n}" for n in range(len(few)))
    head = "def f(x, m, s, z, k, b, i):\n    y = x[x > -100]\n"
    f = of_text("\n".join([head, *lines, f"    return {left}, y\n"]), tmp_path / "f.py")
    args = arguments()
    compiled = wb.jit(f)
    for _ in range(2):
        for found, expected in zip(compiled(*args), f(*args), strict=True):
            assert type(found) is type(expected)
            assert_close(found, expected, rtol=1e-9)
    assert is_whole(compiled)


def test_every_called_function_has_a_case():
    assert {f.__name__ for f in CALLED if f"np.{f.__name__}(" not in FORMS and f".{f.__name__}(" not in FORMS} == set()


def test_places_along_several_axes(tmp_path):
    """`np.add.at` with an index for each axis, where places may repeat, be negative or lie outside."""
    text = """
    def f(x, rows, columns, n):
        y = x[x > -100]
        out, count = np.zeros((n, 4)), np.zeros((3, n, 4), np.int32)
        for k in range(3):
            np.add.at(out, (rows, columns), y[: len(rows)])
            np.subtract.at(out, (rows, k), 0.5)
            np.add.at(count[k], (rows, columns), 1)
        return out, count
    """
    f = of_text(textwrap.dedent(text), tmp_path / "f.py")
    compiled = wb.jit(f)
    for n in (5, 6, 5, 2):
        args = np.arange(20.0), RNG.integers(-3, 3, 9), RNG.integers(0, 4, 9), n
        try:
            expected = f(*args)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(*args)
        else:
            assert_close(compiled(*args), expected, rtol=1e-12)
    assert is_whole(compiled)


def test_loops_ask_numpy(tmp_path):
    """Each turn, with arrays whose sizes change, arrays out of order, and numbers of all kinds."""
    text = """
    def f(x, m, n):
        total, kept = 0j, []
        y = x[x > 0]
        for i in range(2, n):
            w, v = np.linalg.eigh(m[:i, :i].T + m[:i, :i])
            z = np.fft.fft(y[::-2], i)
            total += z[-1] * w[0] + np.linalg.norm(m[:i, :i][::-1], 2)
            if np.linalg.matrix_rank(np.outer(w, w)) == 1 and w[0] < 0:
                kept.append(w[0] + np.interp(float(w[0]), [-9.0, 9.0], [0.0, 1.0], period=7.5))
        return total, np.array(kept), v
    """
    f = of_text(textwrap.dedent(text), tmp_path / "f.py")
    compiled = wb.jit(f)
    for k in range(4):
        args = RNG.normal(size=20), RNG.normal(size=(6, 6)), 5 + k % 2
        assert_close(compiled(*args), f(*args), rtol=1e-12)
    assert is_whole(compiled)


def test_what_numpy_refuses_is_its_own_error_at_the_line(tmp_path):
    f = of_text("def f(x, m):\n    y = x[x > 0]\n    return np.linalg.cholesky(m, upper=True), y\n", tmp_path / "f.py")
    compiled = wb.jit(f)
    x = RNG.normal(size=4)
    for _ in range(3):
        assert_close(compiled(x, np.eye(3)), f(x, np.eye(3)), rtol=0)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(x, -np.eye(3))
    assert caught.traceback[-1].path != __file__ and any(
        e.path.name == "f.py" and e.lineno == 2 for e in caught.traceback
    )
    assert_close(compiled(x, np.eye(3)), f(x, np.eye(3)), rtol=0)


def test_dtypes_that_the_numbers_decide(tmp_path):
    """`eigvals` is real where all are; a loop is compiled for one dtype, and NumPy computes the others."""
    f = of_text("def f(x, m):\n    y = x[x > 0]\n    return np.linalg.eigvals(m), y\n", tmp_path / "f.py")
    compiled = wb.jit(f)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for m in (np.eye(2), np.eye(2), turn, np.eye(2), turn):
        found, expected = compiled(RNG.normal(size=4), m)[0], f(RNG.normal(size=4), m)[0]
        assert found.dtype == expected.dtype
        assert_close(found, expected, rtol=0)


def test_what_always_raises_is_left_to_the_parts(tmp_path):
    text = "def f(x, m):\n    y = x[x > 0]\n    t = 0.0\n    for v in y:\n        t += v\n    return np.linalg.eigvals(m), y, t\n"
    f = of_text(text, tmp_path / "f.py")
    compiled = wb.jit(f)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for _ in range(5):
        x = RNG.normal(size=9)
        assert_close(compiled(x, turn), f(x, turn), rtol=1e-12)
    assert not is_whole(compiled)


def test_views_of_arguments_are_not_taken_for_new_arrays(tmp_path):
    f = of_text(
        "def f(x, m):\n    y = x[x > 0]\n    d = np.einsum('ii->i', m)\n    d[:] = y[0]\n    return m.sum(), y\n",
        tmp_path / "f.py",
    )
    compiled = wb.jit(f)
    for _ in range(3):
        x = np.abs(RNG.normal(size=4))
        a, b = np.zeros((3, 3)), np.zeros((3, 3))
        assert_close(compiled(x, a), f(x, b), rtol=1e-15)
        assert_close(a, b, rtol=0)


def test_turned_arrays_are_views(tmp_path):
    text = """
    def f(x, m, k):
        y = x[x > 0]
        total = 0.0
        for i in range(-5, 6):
            total = total * 0.5 + np.rot90(m, i)[0, 1] + np.rot90(m)[1, 0]
        left = np.rot90(m, k)
        left[0] = y[0]
        return m.sum(), left.copy(), total, y
    """
    f = of_text(textwrap.dedent(text), tmp_path / "f.py")
    compiled = wb.jit(f)
    for k in (0, 1, 2, 3, -1, 7):
        x, m = np.abs(RNG.normal(size=4)), RNG.normal(size=(3, 5))
        a, b = m.copy(), m.copy()
        assert_close(compiled(x, a, k), f(x, b, k), rtol=1e-14)
        assert_close(a, b, rtol=0)
    assert is_whole(compiled)


def test_several_threads_ask_at_once(tmp_path):
    text = "def f(x, n):\n    y = x[x > -100]\n    t = 0.0\n    for i in range(n):\n        t += np.fft.rfft(y)[i % 3].imag\n    return t\n"
    f = of_text(text, tmp_path / "f.py")
    compiled = wb.jit(f)
    rows = [RNG.normal(size=8 + k) for k in range(8)]
    expected = [f(x, 200) for x in rows]
    for _ in range(2):
        compiled(rows[0], 200)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert_close(list(pool.map(lambda x: compiled(x, 200), rows)), expected, rtol=1e-12)


def test_what_is_on_the_disk_asks_in_another_process(tmp_path):
    path = tmp_path / "f.py"
    path.write_text(
        "import numpy as np, workbench as wb\n"
        "@wb.jit\ndef f(x):\n    y = x[x > 0]\n    w, v = np.linalg.eigh(np.outer(y, y))\n    return w, np.fft.rfft(y)\n"
        "x = np.arange(-3.0, 9.0)\n"
        "for _ in range(3):\n    w, z = f(x)\n"
        "assert np.array_equal(z, np.fft.rfft(x[x > 0])) and w.size == 8\n"
    )
    for _ in range(2):
        environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path / "cache")}
        subprocess.run([sys.executable, str(path)], env=environment, check=True, capture_output=True, timeout=300)
