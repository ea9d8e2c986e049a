"""Functions of SciPy's that a program calls between kernels: with SciPy's results, types, errors and warnings."""

import importlib
import inspect
import warnings

import numpy as np
import pytest
from scipy import fft, linalg, ndimage, signal
from scipy.spatial import distance

import workbench as wb
from tests.compare import assert_close
from workbench.frontend.scipy_api.calls import CALLS

RNG = np.random.default_rng(0)
A, LONG, IMAGE = RNG.normal(size=(5, 5)), RNG.normal(size=60), RNG.normal(size=(9, 8))
S, B = A @ A.T + np.eye(5), RNG.normal(size=5)
PROGRAMS = {
    "solve": lambda: linalg.solve(A * 1.0, B + 1), "inv": lambda: linalg.inv(A * 2), "det": lambda: linalg.det(A * 2),
    "pinv": lambda: linalg.pinv(IMAGE * 2), "solve_triangular": lambda: linalg.solve_triangular(S * 1, B, lower=True),
    "lstsq": lambda: linalg.lstsq(IMAGE * 1, IMAGE[:, 0] * 2), "eigh": lambda: linalg.eigh(S * 1)[0],
    "eigvalsh": lambda: linalg.eigvalsh(S * 1), "svd": lambda: linalg.svd(IMAGE * 1)[1],
    "svdvals": lambda: linalg.svdvals(IMAGE * 1), "cholesky": lambda: linalg.cholesky(S * 1, lower=True),
    "qr": lambda: linalg.qr(IMAGE * 1, mode="economic"), "lu": lambda: linalg.lu(A * 1), "expm": lambda: linalg.expm(A * 0.1),
    "lfilter": lambda: signal.lfilter([1.0, 2.0], [1, 0.5], LONG * 2),
    "lfilter from a state": lambda: signal.lfilter([1.0, 2.0], [1, 0.5], LONG * 2, zi=LONG[:1] + 1),
    "filtfilt": lambda: signal.filtfilt(*signal.butter(3, 0.2), LONG * 2),
    "sosfilt": lambda: signal.sosfilt(signal.butter(3, 0.2, output="sos"), LONG * 2),
    "convolve2d": lambda: signal.convolve2d(IMAGE * 1, np.ones((3, 3)), mode="same"), "medfilt": lambda: signal.medfilt(LONG * 1, 5),
    "cdist": lambda: distance.cdist(IMAGE * 1, IMAGE + 1), "minkowski": lambda: distance.cdist(IMAGE * 1, IMAGE + 1, "minkowski", p=3),
    "pdist": lambda: distance.squareform(distance.pdist(IMAGE * 1)), "zoom": lambda: ndimage.zoom(IMAGE * 1, 2),
    "rotate": lambda: ndimage.rotate(IMAGE * 1, 30, reshape=False), "median": lambda: ndimage.median_filter(IMAGE * 1, size=3),
    "uniform": lambda: ndimage.uniform_filter(IMAGE * 1, 3), "maximum": lambda: ndimage.maximum_filter(IMAGE * 1, size=3),
    "dilation": lambda: ndimage.binary_dilation((IMAGE * 1) > 0.3), "edt": lambda: ndimage.distance_transform_edt((IMAGE * 1) > 0),
    "label": lambda: ndimage.label(IMAGE * 1 > 0), "map": lambda: ndimage.map_coordinates(IMAGE * 1, np.array([[1.5, 2.5], [0.5, 1.0]])),
    "dct": lambda: fft.dct(LONG * 1), "idct": lambda: fft.idct(LONG * 1, norm="ortho"), "dctn": lambda: fft.dctn(IMAGE * 1),
    "welch": lambda: signal.welch(LONG * 1, nperseg=32)[1], "hilbert": lambda: np.abs(signal.hilbert(LONG * 1)),
    "detrend": lambda: signal.detrend(LONG * 1), "savgol": lambda: signal.savgol_filter(LONG * 1, 7, 2),
    "resample": lambda: signal.resample(LONG * 1, 30),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = PROGRAMS[name]
    compiled = wb.jit(program)
    for _ in range(2):
        assert_close(compiled(), program(), rtol=1e-9)
    assert not compiled.fallbacks, compiled.fallbacks


@pytest.mark.parametrize("module", CALLS)
def test_the_table_names_what_there_is(module):
    for traced, names in CALLS[module].items():
        for name in names:
            function = getattr(importlib.import_module(module), name)
            parameters = inspect.signature(function).parameters
            assert (function.__module__, function.__name__) == (module, name)
            assert set(traced) <= set(parameters) or traced[-1] not in parameters, name


def test_errors_are_scipys():
    compiled = wb.jit(lambda a, b: linalg.solve(a * 2, b))
    compiled(A, B)
    for _ in range(2):
        with pytest.raises(linalg.LinAlgError):
            compiled(np.zeros((5, 5)), B)
        with pytest.raises(ValueError, match="infs or NaNs"):
            compiled(np.full((5, 5), np.nan), B)


def test_warnings_are_scipys():
    nearly_singular = np.eye(5)
    nearly_singular[0, 0] = 1e-18
    compiled = wb.jit(lambda a, b: linalg.solve(a * 2, b))
    compiled(A, B)
    with pytest.warns(linalg.LinAlgWarning):
        compiled(nearly_singular, B)


def test_another_rank_than_was_traced():
    compiled = wb.jit(lambda a, b: linalg.lstsq(a * 1, b))
    for a in (IMAGE, np.ones((9, 8)), IMAGE, np.zeros((9, 8))):
        assert_close(compiled(a, IMAGE[:, 1]), linalg.lstsq(a, IMAGE[:, 1]), rtol=1e-9)


def test_operands_are_not_overwritten():
    a = A.copy()
    compiled = wb.jit(lambda a, b: linalg.solve(a, b, overwrite_a=True) + a[0])
    assert_close(compiled(a, B), linalg.solve(A, B) + A[0], rtol=1e-9)
    assert_close(a, A, rtol=0)


def test_on_plain_numbers_they_give_constants():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = wb.jit(lambda x: linalg.inv([[2.0, 0.0], [0.0, 4.0]]) @ x)
        assert_close(compiled(np.ones(2)), np.array([0.5, 0.25]), rtol=1e-12)
