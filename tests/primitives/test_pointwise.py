"""Pointwise primitives: implementation against abstract evaluation, and the lowering's text against both."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from workbench.ir import Aval, aval_of
from workbench.ir.primitive import REGISTRY

from .contexts import ScalarTestContext
from .samples import POINTWISE, SHAPES, Row, pointwise_operands, specials

ROWS = [pytest.param(name, row, id=name) for name, row in POINTWISE.items()]
QUIET = {"all": "ignore"}  # the samples overflow on purpose


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_impl_gives_the_abstract_result(name: str, row: Row) -> None:
    primitive, rng = REGISTRY[name], np.random.default_rng(0)
    for signature, params, shape in itertools.product(row.signatures(), row.params, SHAPES):
        with_scalar = [shape] * row.arity
        with_scalar[-1] = ()
        for shapes in {(shape,) * row.arity, tuple(with_scalar)}:
            operands = pointwise_operands(name, signature, shapes, rng)
            with np.errstate(**QUIET):
                out = primitive.impl(*operands, **params)
            (aval,) = primitive.abstract_eval(*map(aval_of, operands), **params)
            assert type(out) is np.ndarray
            assert (out.shape, out.dtype) == (aval.shape, aval.dtype)
            assert not any(np.shares_memory(out, x) for x in operands)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_lowering_text_computes_the_impl(name: str, row: Row) -> None:
    primitive = REGISTRY[name]
    for signature, params in itertools.product(row.signatures(), row.params):
        operands = _all_pairs(name, signature)
        with np.errstate(**QUIET):
            expected = primitive.impl(*operands, **params)
            context = ScalarTestContext(expected.dtype, signature, params)
            names = tuple("abcd"[: row.arity])
            text = primitive.lowering.expr(context, *names)
            found = [
                context.evaluate(text, dict(zip(names, scalars, strict=True)))
                for scalars in zip(*operands, strict=True)
            ]
        assert_same(np.array(found, expected.dtype), expected, row, f"{text} for {signature} {dict(params)}")


def _all_pairs(name: str, signature: tuple[np.dtype, ...]) -> tuple[np.ndarray, ...]:
    """Every combination of special values, thinned out where there are more than 400."""
    values = list(itertools.product(*(specials(dtype) for dtype in signature)))
    values = values[:: max(1, len(values) // 400)]
    columns = tuple(np.array(column, dtype) for column, dtype in zip(zip(*values, strict=True), signature, strict=True))
    if name == "pow" and signature[1].kind in "iu":
        columns = (columns[0], np.maximum(columns[1], signature[1].type(0)))
    if name == "select_n" and signature[0].kind == "i":
        columns = (columns[0] % np.int32(2), *columns[1:])
    if name == "convert_element_type":  # a float beyond an integer's range has no defined conversion, in C and in NumPy
        columns = (columns[0][np.isin(columns[0].real, (0, 1, 3, 7.25))] if signature[0].kind in "fc" else columns[0],)
    return columns


def assert_same(found: np.ndarray, expected: np.ndarray, row: Row, what: str) -> None:
    """Equal bits, but for a NaN's payload, as strictly as the row says."""
    if expected.dtype.kind == "c":
        assert_same(found.real, expected.real, row, what)
        assert_same(found.imag, expected.imag, row, what)
    elif expected.dtype.kind == "f" and row.max_ulp:
        close = (np.isnan(found) & np.isnan(expected)) | (found == expected)
        with np.errstate(**QUIET):
            close |= np.abs(found - expected) <= row.max_ulp * np.spacing(np.abs(expected))
        assert close.all(), f"{what}: {found[~close]} for {expected[~close]}"
    else:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        if expected.dtype.kind == "f" and row.signed_zeros:
            signs = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found[signs]), np.signbit(expected[signs]), err_msg=what)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_other_dtypes_are_refused_by_name(name: str, row: Row) -> None:
    accepted = set(row.signatures())
    for dtype in map(np.dtype, ("bool", "int8", "uint64", "float32", "complex128", "float16", "datetime64[s]")):
        signature = (dtype,) * row.arity
        if signature not in accepted:
            with pytest.raises(TypeError, match=name):
                REGISTRY[name].abstract_eval(*(Aval((3,), d) for d in signature), **row.params[0])


@pytest.mark.parametrize(("name", "row"), [p for p in ROWS if p.values[1].arity > 1])
def test_shapes_must_agree_unless_one_has_rank_0(name: str, row: Row) -> None:
    signature = next(row.signatures())
    shapes = [(2, 3)] * row.arity
    shapes[-1] = (3,)
    with pytest.raises(TypeError, match=r"shapes \(2, 3\) and \(3,\) differ"):
        REGISTRY[name].abstract_eval(*map(Aval, shapes, signature), **row.params[0])
    shapes[-1] = ()
    assert REGISTRY[name].abstract_eval(*map(Aval, shapes, signature), **row.params[0])[0].shape == (2, 3)


def test_a_result_is_weak_only_if_every_operand_is() -> None:
    weak, strong = Aval((), np.dtype(float), weak_type=True), Aval((3,), np.dtype(float))
    add, gt = REGISTRY["add"], REGISTRY["gt"]
    assert add.abstract_eval(weak, weak)[0].weak_type
    assert not add.abstract_eval(weak, strong)[0].weak_type
    assert not gt.abstract_eval(weak, weak)[0].weak_type


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", (np.array([127], np.int8), np.array([1], np.int8)), [-128]),
        ("floor_divide", (np.array([7, -7, -128], np.int8), np.array([0, 2, -1], np.int8)), [0, -4, -128]),
        ("mod", (np.array([7, -7, 7], np.int8), np.array([0, 2, -2], np.int8)), [0, 1, -1]),
        ("rem", (np.array([7, -7, 7], np.int8), np.array([0, 2, -2], np.int8)), [0, -1, 1]),
        ("abs", (np.array([-128], np.int8),), [-128]),
        ("max", (np.array([np.nan, 1.0]), np.array([1.0, np.nan])), [np.nan, np.nan]),
        ("fmax", (np.array([np.nan, 1.0]), np.array([1.0, np.nan])), [1.0, 1.0]),
        ("max", (np.array([1 + 2j, 2 + 1j]), np.array([1 + 3j, 1 + 9j])), [1 + 3j, 2 + 1j]),
        ("shift_left", (np.array([1, 1], np.int32), np.array([31, 32], np.int32)), [-(2**31), 0]),
        ("shift_right_arithmetic", (np.array([-8, -8], np.int8), np.array([1, 99], np.int8)), [-4, -1]),
        ("shift_right_logical", (np.array([-8, -8], np.int8), np.array([1, 99], np.int8)), [124, 0]),
        ("population_count", (np.array([-1, -128, 127], np.int8),), [1, 1, 7]),
        ("add", (np.array([True, False]), np.array([True, False])), [True, False]),
        ("clamp", (np.asarray(0.0), np.array([-1.0, np.nan, 9.0]), np.asarray(1.0)), [0.0, np.nan, 1.0]),
        ("select_n", (np.array([0, 1, 2], np.int32), *(np.full(3, k) for k in (5, 6, 7))), [5, 6, 7]),
        ("erfc", (np.array([0.0, 27.0]),), [1.0, 5.237048923789256e-319]),
    ],
)
def test_corner_cases(name: str, operands: tuple[np.ndarray, ...], expected: list[Any]) -> None:
    with np.errstate(**QUIET):
        found = REGISTRY[name].impl(*operands)
    np.testing.assert_array_equal(found, expected)


def test_what_numpy_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        REGISTRY["integer_pow"].abstract_eval(Aval((3,), np.dtype(int)), y=-1)
    with pytest.raises(TypeError, match="float32 and float64; convert"):
        REGISTRY["add"].abstract_eval(Aval((), np.dtype("f4")), Aval((), np.dtype("f8")))
    with pytest.raises(TypeError, match="sub: no meaning for dtype bool"):
        REGISTRY["sub"].abstract_eval(Aval((), np.dtype(bool)), Aval((), np.dtype(bool)))
