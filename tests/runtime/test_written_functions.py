"""NumPy's functions that loops take as functions written in terms of others: NumPy's results, types and errors."""

from __future__ import annotations

import inspect
import math
import warnings
from functools import partial

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_close
from workbench.frontend.loops.in_numpy import WRITTEN
from workbench.frontend.loops.types import Array, Number, Static, Value, literal

RNG = np.random.default_rng(23)
OF_ROWS = """np.gradient(y) | np.gradient(y, 0.5) | np.trapezoid(y) | np.trapezoid(y, np.sort(y)) | np.trapezoid(y, dx=0.1)
np.trapezoid(y, x=z) | np.ediff1d(y) | np.append(y, 1.5) | np.append(y, z) | np.append(y, [1, 2]) | np.append(y, 7)
np.insert(y, 0, 1.7) | np.insert(y, -1, 2) | np.insert(y, len(y), 3) | np.delete(y, 0) | np.delete(y, -1)
np.setdiff1d(y, z) | np.setdiff1d(y, [1, 2]) | np.intersect1d(y, z) | np.intersect1d(y, y[::-1]) | np.digitize(y, [0, 1, 3])
np.digitize(1.0, np.sort(y)) | np.digitize(y, [3, 1, 0]) | np.cov(y, z) | np.corrcoef(y, z) | np.corrcoef(y, z)[0, 1]
np.average(y, weights=z) | np.average(y, weights=z * z + 1) | np.nanmax(y) | np.nanmin(y) | np.nanmedian(y) | np.nanstd(y)
np.nanvar(y) | np.nanargmax(y) | np.nanargmin(y) | np.nanpercentile(y, 30) | np.nanquantile(y, 0.7) | np.nanprod(y)
np.nancumsum(y) | np.correlate(y, y[:3]) | np.correlate(y, y[:4], 'same') | np.correlate(y, y[:3], mode='full')
np.correlate(y[:2], y) | np.pad(y, 2) | np.pad(y, 2, mode='edge') | np.pad(y, 2, 'reflect') | np.pad(y, 3, mode='symmetric')
np.pad(y, 2, 'wrap') | np.pad(y, 0) | np.pad(y, 40, mode='edge') | np.pad(y, 40, mode='reflect') | np.take(y, k) | np.take(y, -1)
np.take(y, 99) | np.nan_to_num(y) | np.fix(y) | np.float_power(y, 3) | np.float_power(np.abs(y), z) | np.signbit(y)
np.signbit(y[0]) | np.heaviside(y, 0.5) | np.sinc(y) | np.polymul(y, z) | np.polyder(y) | np.vander(y, 3) | np.vander(y, 1)
np.logspace(0, 1, len(y)) | np.logspace(-1, 2.5, 7) | np.triu_indices(len(y), 1)[0] | np.tril_indices(len(y))[1]
np.triu_indices(4, -1)[1] | np.tril_indices(4, -2)[0] | np.allclose(y, z)"""
OF_MATRICES = """np.gradient(m)[0] | np.gradient(m)[1] | np.cov(m) | np.corrcoef(m) | np.pad(m, 2) | np.pad(m, 1, mode='edge')
np.pad(m, 2, mode='reflect') | np.pad(m, 2, 'symmetric') | np.pad(m, 1, mode='wrap') | np.pad(m, 9, mode='reflect')
np.median(m, axis=0) | np.median(m, axis=-1) | np.median(m, 1) | np.percentile(m, 30, axis=0) | np.quantile(m, 0.4, axis=1)
np.take_along_axis(m, np.argsort(m, axis=1), axis=1) | np.take_along_axis(m, np.argsort(m, axis=0), axis=0)
np.kron(m, m[:2]) | np.kron(m[:1], m) | np.fix(m) | np.sinc(m) | np.nan_to_num(m) | np.nanprod(m)
np.linalg.cholesky(m @ m.T + 50 * np.eye(len(m))) | np.linalg.cholesky(m @ m.T - 50 * np.eye(len(m)))
np.linalg.qr(m)[0] | np.linalg.qr(m)[1] | np.linalg.qr(m.T)[0] | np.linalg.qr(m.T)[1] | np.linalg.matrix_power(m[:3, :3], 3)
np.linalg.matrix_power(m[:3, :3], 1) | np.linalg.matrix_power(m, 2) | np.diag(m[0], 1) | np.diag(m[:, 0], -2) | np.diag(m[0], 0)"""
OF_NUMBERS = """math.log(n, 2) | math.log(abs(t) + 0.1, 10) | math.degrees(t) | math.degrees(s) | math.radians(t) | math.gcd(n, 12)
math.gcd(-n, 0) | math.gcd(i, 18) | math.isqrt(n) | math.isqrt(n * n - 1) | math.isqrt(i) | math.isqrt(-n) | math.comb(n, 3)
math.comb(n, n) | math.comb(3, n) | math.comb(100, n + 20) | math.factorial(n) | math.factorial(n + 30) | math.factorial(-n)
pow(3, n, 7) | pow(-3, n, 7) | pow(n, 0, 1) | pow(2, 10**6 + n, 10**9 + 7) | pow(2, -n, 7) | math.isclose(t, t + 1e-12)
math.isclose(s, t) | math.isclose(n, n + 1, abs_tol=2.0) | math.isclose(1.0, float('inf')) | math.erf(t) | math.erfc(s)
round(s, 2) | round(s * 1000, -1) | round(s, n % 3) | math.lgamma(abs(t) + 0.5) | math.lgamma(0.0 * t) | math.asinh(s) | math.acosh(t) | math.atanh(t)"""


# Of the inputs of the compiled ones: these raise, or are left to NumPy.
OF_ERRORS = (
    "np.digitize(y, [3, 1, 0])", "np.correlate(y[:2], y)", "np.pad(y, 40, mode='reflect')", "np.take(y, 99)",
    "np.pad(m, 9, mode='reflect')", "np.linalg.cholesky(m @ m.T - 50 * np.eye(len(m)))",
    "np.linalg.matrix_power(m[:3, :3], 1)", "math.isqrt(-n)", "math.factorial(n + 30)", "math.factorial(-n)",
    "pow(2, -n, 7)", "math.lgamma(0.0 * t)", "math.acosh(t)", "np.polymul(y, z)", "math.comb(100, n + 20)",
)  # fmt: skip


def expressions(text):
    return [each.strip() for each in text.replace("\n", " | ").split("|")]


class Substitute:
    """A module, with the functions that are written out in place of its own: as they are, in Python."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if name == "linalg":
            return Substitute(found)
        return partial(first_that_takes, found) if callable(found) and found in WRITTEN else found


def first_that_takes(function, *args, **kwargs):
    for each in WRITTEN[function]:
        try:
            given = inspect.signature(each.function).bind(*args, **kwargs)
        except TypeError:
            continue
        given.apply_defaults()
        if each.takes({name: value_of(x) for name, x in given.arguments.items()}):
            try:
                return each.function(*given.args, **given.kwargs)
            except (ArithmeticError, ValueError, LookupError):
                break  # then NumPy computes
    return function(*args, **kwargs)


def value_of(x):
    if isinstance(x, list):
        x = np.array(x)
    if isinstance(x, np.ndarray) and x.ndim:
        return Value("", Array(x.dtype, (None,) * x.ndim))
    if isinstance(x, bool | int | float):
        return literal(x)
    return Value("", Number(x.dtype) if isinstance(x, np.generic) else Static(x))


def compare(expression, names, rtol):
    """Whether what stands for NumPy's functions gives what these give."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = eval(expression, {"np": np, "math": math, **names})
        except Exception as error:
            with pytest.raises(type(error)):
                eval(
                    expression, {"np": Substitute(np), "math": Substitute(math), "pow": POWER, "round": ROUND, **names}
                )
        else:
            found = eval(
                expression, {"np": Substitute(np), "math": Substitute(math), "pow": POWER, "round": ROUND, **names}
            )
            assert_close(found, expected, rtol=rtol)


POWER, ROUND = partial(first_that_takes, pow), partial(first_that_takes, round)


def rows(dtype):
    for n in (9, 4, 1, 0):
        x = (RNG.normal(size=n) * 3).astype(dtype)
        yield x, np.sort(RNG.permutation(x)), RNG.integers(0, max(n, 1), 3)
    special = np.array([1.0, np.nan, -np.inf, -0.0, 5.0, np.inf, 2.5]) if np.dtype(dtype).kind == "f" else np.arange(7)
    yield special.astype(dtype), special[::-1].astype(dtype), np.arange(3)
    wide = (RNG.normal(size=(6, 3)) * 3).astype(dtype)
    yield wide[:, 1], wide[::-1, 0], np.arange(-3, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_functions_of_rows(dtype):
    for x, z, k in rows(dtype):
        for expression in expressions(OF_ROWS):
            compare(expression, {"x": x, "y": x, "z": z, "k": k}, 1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_functions_of_matrices(dtype):
    shapes = [(5, 7), (7, 5), (4, 4), (3, 1), (1, 1), (0, 3)]
    matrices = [(RNG.normal(size=shape) * 4).astype(dtype) for shape in shapes]
    matrices += [np.asfortranarray(matrices[0]), matrices[0][::2, ::-1]]
    for m in matrices:
        for expression in expressions(OF_MATRICES):
            compare(expression, {"m": m}, 1e-9 if dtype == np.float64 else 1e-3)


@pytest.mark.parametrize("t", [0.0, -0.3, 0.99, 1.5, math.inf, math.nan])
def test_functions_of_numbers(t):
    for n in (0, 1, 2, 13, 49, 2**30):
        for expression in expressions(OF_NUMBERS):
            if n < 100 or "factorial" not in expression and "comb" not in expression:
                compare(expression, {"n": n, "t": t, "s": np.float64(t), "i": np.int64(n)}, 1e-12)


def few_together(text, n=6):
    found = [e for e in expressions(text) if not any(e == each for each in OF_ERRORS)]
    return [found[k : k + n] for k in range(0, len(found), n)]


@pytest.mark.parametrize(
    "few", [*few_together(OF_ROWS), *few_together(OF_MATRICES), *few_together(OF_NUMBERS)], ids=str
)
def test_they_are_compiled(few, tmp_path):
    """Within a function that tracing refuses, since a size depends on data."""
    path = tmp_path / "f.py"
    path.write_text(
        "def f(x, z, k, m, t, i):\n    n = int((x > 0).sum()) + 1\n    y = x[x > -100]\n    s = y[0]\n"
        f"    return {', '.join(few)}\n"
    )
    namespace = {"np": np, "math": math}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    x = RNG.normal(size=9)
    args = (x, np.sort(x), np.arange(3), RNG.normal(size=(5, 5)), 0.5, np.int64(5))
    compiled = wb.jit(namespace["f"])
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert_close(compiled(*args), namespace["f"](*args), rtol=1e-9)
    entries = [entry for found in compiled._state.specialisations.values() for entry in found]
    parts = [getattr(entry, "parts", None) for entry in entries]
    assert not compiled.fallbacks or any(p is not None and p.whole is not None and not p.whole.refused for p in parts)


def test_every_written_function_has_a_case():
    texts = OF_ROWS + OF_MATRICES + OF_NUMBERS
    for function in WRITTEN:
        assert f"{function.__name__}(" in texts


def test_tuples_with_names_stay_numpys():
    def decomposed(x, m):
        y = x[x > -100]
        found = np.linalg.qr(m)
        return found, y

    def taken_apart(x, m):
        y = x[x > -100]
        q, r = np.linalg.qr(m)
        return q @ r, y

    x, m = RNG.normal(size=4), RNG.normal(size=(4, 3))
    for function in (decomposed, taken_apart):
        compiled = wb.jit(function)
        for _ in range(3):
            found, expected = compiled(x, m), function(x, m)
            assert type(found[0]) is type(expected[0])
            assert_close(found[1], expected[1], rtol=0)
            assert_close(tuple(found[0]), tuple(expected[0]), rtol=1e-12)
