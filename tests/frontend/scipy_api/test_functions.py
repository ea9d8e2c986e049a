"""Transforms, distributions and integrals of SciPy's compile to what SciPy gives."""

import numpy as np
import pytest
import scipy.fft
from scipy import integrate, interpolate, special, stats

import workbench as wb
from tests.compare import assert_close

RNG = np.random.default_rng(3)
X = RNG.normal(size=(6, 10)) * 2


def agrees(function, *args, rtol=1e-11):
    compiled = wb.jit(function)
    for _ in range(2):
        with np.errstate(all="ignore"):
            assert_close(compiled(*args), function(*args), rtol=rtol)
    assert not compiled.fallbacks, compiled.fallbacks


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("settings", [{}, {"n": 7}, {"axis": 0}, {"norm": "ortho"}, {"workers": 2}])
def test_transforms(kind, settings):
    agrees(lambda x: getattr(scipy.fft, kind)(x * 2, **settings), X)


@pytest.mark.parametrize("kind", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("settings", [{}, {"s": (5, 7)}, {"s": (7,), "axes": (0,)}, {"norm": "forward"}])
def test_transforms_over_several_axes(kind, settings):
    agrees(lambda x: getattr(scipy.fft, kind)(x * 2, **settings), X)


def test_transforms_keep_single_precision():
    agrees(lambda x: np.abs(scipy.fft.rfft(x)), X.astype(np.float32), rtol=1e-4)


DISTRIBUTIONS = [
    stats.norm(0.5, 2.0), stats.expon(0.1, 0.7), stats.uniform(-1, 3), stats.logistic(), stats.gamma(2.5), stats.beta(2, 3),
    stats.t(4), stats.cauchy(), stats.lognorm(0.7), stats.laplace(), stats.weibull_min(1.5), stats.chi2(3),
]  # fmt: skip


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d.dist.name)
@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "ppf"])
def test_distributions(distribution, method):
    values = np.concatenate([X.ravel(), [np.nan, np.inf, -np.inf, 0.0, 1.0, 0.5]])
    dist, args, kwds = distribution.dist, distribution.args, distribution.kwds
    compiled = wb.jit(lambda x: getattr(dist, method)(x, *args, **kwds) * 2)
    if method == "ppf":
        values = np.clip(np.abs(values) / 8, 0.01, 0.99)
    for _ in range(2):
        with np.errstate(all="ignore"):
            assert_close(compiled(values), getattr(dist, method)(values, *args, **kwds) * 2, rtol=1e-10)
    if dist.name in ("norm", "expon", "uniform", "logistic") and method in ("pdf", "cdf"):
        assert not compiled.fallbacks, compiled.fallbacks


def test_parameters_of_distributions_may_be_arrays():
    scale = np.array([1.0, -1.0, np.nan, 0.0, 2.0, 3.0])[:, None]
    agrees(lambda x, s: stats.norm.pdf(x, loc=x.mean(), scale=s), X, scale)
    agrees(lambda x: stats.norm.cdf(x), 0.3)


def test_statistics():
    a, b = X.ravel()[:30], X.ravel()[30:] + 1
    agrees(lambda a, b: stats.zscore(a) + stats.gmean(np.abs(b)), a, b)
    agrees(lambda a, b: stats.linregress(a, b).slope * a, a, b, rtol=1e-9)
    agrees(lambda a: (stats.skew(a), stats.kurtosis(a), stats.sem(a)), a)


def test_integrals():
    agrees(lambda x: (integrate.trapezoid(x * 2, dx=0.1), integrate.simpson(x, axis=0)), X)
    agrees(lambda x: integrate.cumulative_trapezoid(x, initial=0), X)


def test_reductions_of_special():
    agrees(lambda x: (special.softmax(x, axis=1), special.logsumexp(x, axis=0), special.log_softmax(x)), X)


def test_linear_interpolation():
    nodes = np.linspace(-10, 10, 50)
    agrees(lambda x: interpolate.interp1d(nodes, np.sin(nodes))(x) + 1, X)
