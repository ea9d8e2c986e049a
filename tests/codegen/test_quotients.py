"""What is divided by the same number in a whole loop is multiplied by its inverse, and has the bits of the division."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.sources import define
from workbench.codegen.kernel import LATE
from workbench.codegen.llvm_kernels import kernel_module
from workbench.runtime.native import machine_code

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -2.2e-308, 1.7976931348623157e308, 2.0**-1022])
ANY = st.floats(width=64)


def numbers(rng, n, *, exponents=(-1074, 1023), special=False):
    """Random mantissas, some of them next to a power of two, and random exponents."""
    mantissas = rng.uniform(1, 2, n)
    mantissas[::5] = 2 - 2.0**-52 * rng.integers(1, 4, len(mantissas[::5]))
    mantissas[1::5] = 1 + 2.0**-52 * rng.integers(0, 4, len(mantissas[1::5]))
    with np.errstate(over="ignore"):
        found = np.ldexp(mantissas * rng.choice([-1, 1], n), rng.integers(*exponents, n))
    if special:
        found[::3] = rng.choice(SPECIAL, len(found[::3]))
    return found


def assert_same_bits(found, expected):
    for mine, numpys in zip(found, expected, strict=True):
        mine, numpys = np.asarray(mine), np.asarray(numpys)
        same = (mine.view(np.int64) == numpys.view(np.int64)) | (np.isnan(mine) & np.isnan(numpys))
        assert same.all(), (mine[~same][:3], numpys[~same][:3])


def kernels_of(function, *arrays):
    compiled = wb.jit(function)
    with np.errstate(all="ignore"):
        compiled(*arrays)
    return list(compiled.compilations[0].kernels.values())


def text_of(function, *arrays):
    return "\n".join(kernel.source for kernel in kernels_of(function, *arrays))


def by_a_number(x, d):
    return x / d, (x + 1) / d


def by_constants(x, d):
    return x / 3.0, x / -0.1, x / 4.0, x / 1e-200, x / 1e200, x / np.pi


def by_layers(x, d):
    return (x[:, 1:] - x[:, :-1]) / d[1:], x[:, 1:] / d[:-1] / d[1:]


def by_columns(x, d):
    return x / d, x * 2 / (d + 1)


def by_rows(x, d):
    return x / d[:, None], (x.T / d).T


def by_totals(x, d):
    return x / np.max(np.abs(x), axis=1, keepdims=True), x / np.max(x * d, axis=1, keepdims=True)


SHAPES = [(1, 1), (3, 2), (9, 5), (40, 8), (17, 10), (30, 17), (8, 33), (100, 64), (5, 1000)]


@pytest.mark.parametrize("special", [False, True], ids=["numbers", "special"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("program", [by_layers, by_columns, by_rows, by_totals])
def test_bits_of_rows(program, shape, special):
    rng = np.random.default_rng(shape[1])
    compiled = wb.jit(program)
    for exponents in ((-3, 4), (-1074, 1023)):
        x = numbers(rng, shape[0] * shape[1], exponents=exponents, special=special).reshape(shape)
        d = numbers(rng, shape[0] if program is by_rows else shape[1], exponents=exponents, special=special)
        with np.errstate(all="ignore"):
            assert_same_bits(compiled(x, d), program(x, d))
    assert compiled.compilations and not compiled.fallbacks


@pytest.mark.parametrize("n", [1, 7, 40, 5000])
@pytest.mark.parametrize("exponents", [(-3, 4), (-400, 400), (-1074, 1023)])
def test_bits_of_numbers(n, exponents):
    rng = np.random.default_rng(n)
    compiled = wb.jit(by_a_number), wb.jit(by_constants)
    for divisor in (*numbers(rng, 6, exponents=exponents), *SPECIAL):
        x = numbers(rng, n, exponents=exponents, special=n == 40)
        with np.errstate(all="ignore"):
            assert_same_bits(compiled[0](x, divisor), by_a_number(x, divisor))
            assert_same_bits(compiled[1](x, divisor), by_constants(x, divisor))
    assert not any(each.fallbacks for each in compiled)


@given(st.lists(ANY, min_size=1, max_size=40), ANY, st.lists(ANY, min_size=3, max_size=3))
def test_bits_of_any_numbers(values, divisor, weights):
    x, d, w = np.array(values), np.float64(divisor), np.array(weights)
    rows = np.multiply.outer(np.resize(x, 9), np.ones(3))
    with np.errstate(all="ignore"):
        assert_same_bits([DIVIDED(x, d)], [x / d])
        assert_same_bits([DIVIDED_BY_LAYERS(rows, w)], [rows / w])
    assert not DIVIDED.fallbacks and not DIVIDED_BY_LAYERS.fallbacks


DIVIDED = wb.jit(lambda x, d: x / d)
DIVIDED_BY_LAYERS = wb.jit(lambda x, w: x / w)


def test_what_is_inverted():
    x, d = np.ones((20, 10)), np.ones(10)
    assert "inverse_table[i1] = inverse_f64(d[i1 + 1])" in text_of(by_layers, x, d)
    assert "d_inverse = inverse_f64(d[i1])" in text_of(by_columns, x, d)
    by_outer = text_of(by_rows, np.ones((10, 20)), d).splitlines()
    (line,) = (line for line in by_outer if "inverse_f64(" in line)
    assert line.startswith(" " * 8) and by_outer[by_outer.index(line) + 1].startswith("        for ")
    assert text_of(by_totals, x, d).count(" = inverse_f64(") == 2
    assert text_of(by_a_number, x, np.float64(3)).count(" = inverse_f64(") == 1
    text = text_of(by_constants, x, d)
    assert "quotient_f64(x[i], 3.0, 0.3333333333333333)" in text and text.count("quotient_f64(") == 3
    # LLVM multiplies by 0.25 itself; with such inverses as of 1e200, quotients might over- or underflow.
    assert "/ 4.0" in text and "/ 1e+200" in text and "/ 1e-200" in text


def test_what_is_not_inverted():
    x, y = np.ones((20, 10)), np.full((20, 10), 2.0)
    assert "quotient" not in text_of(lambda x, y: x / y, x, y)  # a divisor for each element
    assert "quotient" not in text_of(lambda x, y: x / 3 + x / y[0, 0], x.astype("f4"), y.astype("f4"))
    assert "quotient" not in text_of(lambda x, y: x.mean(axis=1) / 1, x, y)


def diffused(x, d):
    up, down = np.zeros_like(x), np.zeros_like(x)
    up[:, :-1] = 0.5 / d[1:] * (x[:, :-1] + x[:, 1:])
    down[:, 1:] = 2.0 / d[:-1] * x[:, :-1]
    return up - down


@pytest.mark.parametrize("shape", [(9, 1), (9, 2), (30, 3), (31, 5), (12, 10), (8, 100)])
def test_tables_of_what_is_not_there_for_all_rows(shape):
    rng = np.random.default_rng(shape[1])
    x, d = rng.normal(size=shape), rng.uniform(1, 2, shape[1])
    compiled = wb.jit(diffused)
    assert_same_bits([compiled(x, d)], [diffused(x, d)])
    assert not compiled.fallbacks


def test_tables_hold_what_rows_share_and_no_more():
    x, d = np.ones((20, 10)), np.linspace(1, 2, 10)
    text = text_of(lambda x, d: (x[:, 1:] + x[:, :-1]) * (0.5 / d[1:] * 0.5), x, d)
    assert text.count("np.empty") == 1 and text.count(" / ") == 1
    # Of what is read under a condition, there are elements where it may hold.
    text = text_of(diffused, x, d)
    assert "for i1 in range(n1 - 1):\n        div = 0.5 / d[i1 + 1]\n        row_table[i1] = div" in text
    assert "for i1 in range(1, n1):\n        div_2 = 2.0 / d[i1 - 1]" in text.replace("uintp(i1 - 1)", "i1 - 1")
    few = text_of(lambda x, d: (x[:, 1:] + x[:, :-1]) * (0.5 / d[1:]), np.ones((2, 10)), d)
    assert "table" not in few


def by_what_no_loop_changes(x, d):
    shift = x[0, 0] * 0.5 + x[1, 1]
    return x[:, 1:] / (d[1:] + shift), np.sqrt(d[1:] * shift) * x[:, :-1], x[:, 1:] / (shift * 2)


def by_divided_columns(x, d):
    return np.abs(x / (d / (d + 1))), x / (d[0] / (d + 1)) / d


def by_several(x, d):
    y = x * x + 1
    return x / y + 2 / y, np.where(x > 0, x / y, -x / y), x / (y * d) - d / (y * d)


@pytest.mark.parametrize("program", [by_what_no_loop_changes, by_divided_columns, by_several])
@pytest.mark.parametrize("shape", [(2, 2), (9, 3), (40, 17), (12, 64)])
def test_bits_of_divisors_that_are_computed(program, shape):
    rng = np.random.default_rng(1)
    x, d = rng.uniform(0.1, 9, shape), rng.uniform(0.5, 2, shape[1])
    compiled = wb.jit(program)
    assert_same_bits(compiled(x, d), program(x, d))
    assert not compiled.fallbacks
    if program is by_several:
        assert text_of(program, x, d).count(" = inverse_f64(") == 2


@pytest.mark.skipif(
    not machine_code.steps_to_invert(),
    reason="this processor has no fused multiply-add: quotients are divisions here",
)
def test_the_slow_path_is_in_the_loop_of_vectors():
    x, d = np.ones((20, 64)), np.linspace(1, 2, 64)
    (kernel,) = kernels_of(lambda x, d: (x[:, 1:] - x[:, :-1]) / d[1:], x, d)
    text = kernel_module(kernel, "workbench_quotients", inverts=math.inf)
    early, _, late = text.partition(LATE)
    assert "define linkonce_odr <8 x double>" in late and "define linkonce_odr" not in early
    llvm = machine_code.compile_assembly(text)[1]
    assert "fdiv <" in llvm and "call <" in llvm
    assert not [line for line in llvm.splitlines() if "call" in line and "quotient_or_slow" in line]
    divides = machine_code.compile_assembly(kernel_module(kernel, "workbench_divisions"))[1]
    assert "fdiv <" in divides and "quotient" not in divides and "llvm.fma" not in divides


def test_beside_other_work_dividing_may_cost_nothing():
    x, d = np.ones((20, 64)), np.linspace(1, 2, 64)
    (bare,) = kernels_of(lambda x, d: (x[:, 1:] - x[:, :-1]) / d[1:], x, d)
    (busy,) = kernels_of(lambda x, d: np.exp((x[:, 1:] - x[:, :-1]) / d[1:]), x, d)
    assert "quotient_f64" in kernel_module(bare, "workbench_bare", inverts=2.0)
    assert "quotient_f64" not in kernel_module(busy, "workbench_busy", inverts=2.0)
    assert "quotient_f64" in kernel_module(busy, "workbench_busy", inverts=math.inf)


def test_fast_kernels_divide_as_they_like():
    x, d = np.ones((20, 64)), np.linspace(1, 2, 64)
    (kernel,) = kernels_of(lambda x, d: (x[:, 1:] - x[:, :-1]) / d[1:], x, d)
    assert "quotient" not in kernel_module(kernel.as_fast(), "workbench_fast", inverts=math.inf)


def test_long_chains_of_what_rows_share():
    x, d = np.linspace(1, 2, 400).reshape(20, 20), np.linspace(1, 2, 19)
    lines = [f"    d = 1.0 / (d + {k}.5)" for k in range(240)]
    text = "\n".join(["def chain(x, d):", *lines, "    return (x[:, 1:] - x[:, :-1]) / d"])
    chain = define(text, "chain", "<long chain>")
    compiled = wb.jit(chain)
    assert_same_bits([compiled(x, d)], [chain(x, d)])
    assert not compiled.fallbacks and len(compiled.compilations[0].kernels) == 1
