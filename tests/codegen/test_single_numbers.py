"""Loops that LLVM cannot vectorise call the C library's functions, those that it can keep the others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.loops.single_numbers import FUNCTIONS, with_libm

RNG = np.random.default_rng(5)


def elementwise(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.exp(-x[i]) * np.log(y[i]) if x[i] > 0.5 else x[i] ** y[i]
    return out


def table(x, y):
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            d = x[i] - y[j]
            out[i, j] = np.exp(-d * d)
    return out


def total(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.log(x[i] + y[i])
    return s


def decay(x, y):
    s = 0.5
    for i in range(len(x)):
        if x[i] > 0.2:
            s = np.exp(-s * y[i]) + x[i] ** s
    return s


def first_above(x, y):
    for i in range(len(x)):
        if np.log10(x[i]) > -0.01:
            return np.arcsinh(y[i]) + np.arccosh(1 + y[i]) + np.arcsin(x[i]) + np.arccos(x[i])
    return -1.0


def neighbours(x, y):
    x = x.copy()
    for i in range(len(x) - 1):
        x[i + 1] = np.exp2(-x[i]) + np.log2(y[i] + 1)
    return x


def after_the_loop_inside(x, y):
    out = np.empty(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(5):
            s += (x[i] - y[j]) ** 2
        out[i] = np.exp(-s)
    return out


def until(x, y):
    v, n = x[0] + 2.0, 0
    while v > 1e-3:
        v, n = np.log(1 + v), n + 1
    return v, n


@pytest.mark.parametrize(
    ("function", "one_by_one"),
    [(elementwise, False), (table, False), (total, True), (decay, True), (first_above, True), (neighbours, True),
     (after_the_loop_inside, True), (until, True)],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_who_calls_the_c_library(function, one_by_one):
    x, y = RNG.random(300), RNG.random(300)
    compiled = wb.jit(function)
    for _ in range(2):
        got = compiled(x, y)
        np.testing.assert_allclose(got, function(x, y), rtol=1e-12)
    (program,) = [eqn.params["program"] for eqn in compiled.compilations[-1].plan.jaxpr.eqns if "program" in eqn.params]
    assert ("libm_" in with_libm(program.source)) is one_by_one
    assert "libm_" not in program.source


def test_a_table_of_one_row_and_what_stands_beside_a_loop():
    text = (
        "def loop(x, a):\n"
        "    b = pow_f64(a, 2.5)\n"
        "    for t1_ in range(x.shape[0]):\n"
        "        put_1(x, t1_, log_f64(at_1(x, t1_)))\n"
        "    return (b,)\n"
    )
    assert with_libm(text) == text.replace("pow_f64", "libm_pow")
    assert with_libm("def loop(x):\n    return (sin_f64(x),)\n") == "def loop(x):\n    return (sin_f64(x),)\n"


@pytest.mark.parametrize("special", [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1.0, 1.0, 2.0, 1e308])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_edges_are_numpys(name, special):
    numpys = {"asin": "arcsin", "acos": "arccos", "asinh": "arcsinh", "acosh": "arccosh", "pow": "power"}
    symbol = name.removeprefix("libm_")
    function = getattr(np, numpys.get(symbol, symbol))
    if symbol == "pow":
        others = np.array([0.0, -0.0, 0.5, 1.0, 2.0, -3.0, math.inf, -math.inf, math.nan])

        def powers(special, others):
            n = 0
            while n < len(others):
                others[n] = special ** others[n]
                n += 1
            return others

        arguments = np.float64(special), others
    else:

        def powers(special, others):
            n = 0
            while n < 2:
                others[n] = function(special)
                n += 1
            return others

        arguments = np.float64(special), np.zeros(2)
    with np.errstate(all="ignore"):
        want = powers(arguments[0], arguments[1].copy())
        got = wb.jit(powers)(arguments[0], arguments[1].copy())
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))
    np.testing.assert_allclose(got, want, rtol=1e-15)
