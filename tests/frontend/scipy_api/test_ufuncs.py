"""Ufuncs of `scipy.special`: formulas within a few units in the last place of SciPy's, others called as they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special

import workbench as wb
from tests.compare import assert_same
from workbench.frontend.scipy_api.ufuncs import FORMULAS, name_of

SPECIALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    1e-300,
    1e300,
    -1e300,
    0.3,
    0.65,
    709.0,
    -745.0,
]
NAMES = sorted(name.partition(":")[2] for name in FORMULAS)
compiled = {name: wb.jit(lambda *args, ufunc=getattr(special, name): ufunc(*args)) for name in NAMES}
# What is a difference, or a tail that SciPy itself rounds, is compared with the size of the operands, or more loosely.
DIFFERENCES, TAILS = {"logit", "log_expit", "kl_div", "pseudo_huber", "rel_entr"}, {"erfc", "ndtr"}


def check(name, *operands):
    ufunc = getattr(special, name)
    with np.errstate(all="ignore"):
        expected, result = ufunc(*operands), compiled[name](*operands)
        assert result.dtype == expected.dtype
        units = 8 if name not in TAILS else 2e3
        scale = abs(expected)
        if name in DIFFERENCES:
            scale = scale + 1 + sum(abs(x.astype(expected.dtype)) for x in operands)
        error = abs(result - expected)
        fine = (result == expected) | (np.isnan(result) & np.isnan(expected))
        fine |= error <= units * np.finfo(expected.dtype).eps * scale + np.finfo(expected.dtype).tiny
        fine &= np.isfinite(result) == np.isfinite(expected)
    wrong = np.flatnonzero(~fine)[:3]
    assert fine.all(), (name, [x[wrong] for x in operands], result[wrong], expected[wrong])
    assert not compiled[name].fallbacks, compiled[name].fallbacks


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_formulas_at_special_values(name, dtype):
    with np.errstate(all="ignore"):
        values = np.array(SPECIALS).astype(dtype)
    grid = np.meshgrid(*[values] * getattr(special, name).nin)
    check(name, *[np.ascontiguousarray(g.ravel()) for g in grid])


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=25)
def test_formulas(name, data):
    floats = st.floats(-40, 40, width=64) | st.floats(-1, 1, width=64) | st.sampled_from(SPECIALS)
    check(name, *[data.draw(arrays(np.float64, 12, elements=floats)) for _ in range(getattr(special, name).nin)])


@pytest.mark.parametrize("name", NAMES)
def test_formulas_of_integers(name):
    check(name, *[np.arange(-3, 9)] * getattr(special, name).nin)


def test_what_has_no_formula_is_called_between_kernels():
    def program(x, n):
        sine, cosine, *_ = special.sici(x)
        return special.gamma(x) + special.jv(n, x) * 2 + sine, cosine - special.i0(x[:1]), special.erf(x + 1j * x)

    x, n = np.linspace(0.5, 4, 30), np.arange(30) % 3
    jitted = wb.jit(program)
    for _ in range(2):
        assert_same(jitted(x, n), program(x, n), max_ulp=2)
    assert not jitted.fallbacks
    called = {
        dict(e.params)["name"] for e in jitted.compilations[0].traced.jaxpr.eqns if e.primitive.name == "numpy_call"
    }
    assert called == {f"scipy.special:{name}" for name in ("gamma", "jv", "sici", "i0", "erf")}


def test_keywords_of_ufuncs():
    def program(x, out):
        special.expit(x, out=out)
        special.gamma(x, out=out, where=x > 2)
        return special.xlogy(x, 2.0, dtype=np.float32, casting="same_kind"), special.xlogy.outer(x[:2], x)

    x = np.linspace(0.5, 4, 30)
    mine, its = np.zeros(30), np.zeros(30)
    jitted = wb.jit(program)
    assert_same(jitted(x, mine), program(x, its), max_ulp=4)
    assert_same(mine, its, max_ulp=4)


def test_ufuncs_of_python_functions_run_in_numpy():
    doubled = np.frompyfunc(lambda v: v * 2, 1, 1)
    program = wb.jit(lambda x: doubled(x).astype(float) + 1)
    assert_same(program(np.arange(3.0)), np.arange(3.0) * 2 + 1)


def test_names():
    assert name_of(special.gamma) == "scipy.special:gamma"
    assert name_of(np.frompyfunc(abs, 1, 1)) == ""
