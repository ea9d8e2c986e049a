"""Scalar functions on a device: every one can be made, and the simulator's agree with the primitives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit, vectorize

from tests.primitives.samples import POINTWISE, Row
from workbench.codegen.cuda.functions import LIBDEVICE_ULP, simulated_functions, simulated_numpy, uses_libdevice
from workbench.codegen.scalar_math import all_names, by_name
from workbench.codegen.scalar_math.registry import definitions
from workbench.codegen.scalars import PointwiseContext, settle
from workbench.ir import Aval
from workbench.ir.primitive import REGISTRY

NOT_SCALAR = {"flat", "assume_index", "uintp", "emit_slow_path", "emit_library_call"}


def test_every_function_can_be_simulated():
    names = [name for name in all_names() if name not in NOT_SCALAR]
    assert all(callable(f) for f in simulated_functions(names).values())


def test_libdevice_serves_where_it_keeps_the_stated_bound():
    assert uses_libdevice("exp_f64") and uses_libdevice("sin_f32") and uses_libdevice("tanh_f32")
    assert not uses_libdevice("tan_f32")  # 4 ULP there, 2 here
    for stem, bounds in LIBDEVICE_ULP.items():
        for short, bound in zip(("f64", "f32"), bounds, strict=True):
            name = f"{stem}_{short}"
            assert not uses_libdevice(name) or bound <= by_name(name).max_ulp


@pytest.mark.parametrize(("name", "row"), POINTWISE.items(), ids=POINTWISE)
def test_pointwise_text_computes_the_impl(name: str, row: Row):
    """As the test of the same name for the CPU, on a few values of each dtype."""
    primitive = REGISTRY[name]
    for signature in row.signatures():
        for params in row.params:
            columns = [_values(dtype, k) for k, dtype in enumerate(signature)]
            n = min(map(len, columns))
            operands = [column[:n] for column in columns]
            if name == "pow" and signature[1].kind in "iu":  # NumPy refuses negative exponents
                operands[1] = np.maximum(operands[1], signature[1].type(0))
            out = primitive.abstract_eval(*(Aval((len(operands[0]),), d) for d in signature), **params)
            (out,) = out if isinstance(out, tuple | list) else (out,)
            with np.errstate(all="ignore"):
                expected = np.asarray(primitive.impl(*operands, **params))
            called: dict = {}
            context = PointwiseContext(out.dtype, signature, params, called)
            names = [f"x{k}" for k in range(len(signature))]
            text = settle(primitive.lowering.expr(context, *names), out.dtype)
            scope = {"np": simulated_numpy(), **simulated_functions(called)}
            for i in range(len(operands[0])):
                with np.errstate(all="ignore"):
                    found = eval(text, scope, {n: x[i] for n, x in zip(names, operands, strict=True)})
                _assert_close(
                    np.asarray(found, out.dtype), expected[i], f"{name} of {[x[i] for x in operands]}: {text}"
                )


def _values(dtype: np.dtype, k: int) -> np.ndarray:
    if dtype.kind == "b":
        return np.array([False, True, k == 0, k == 1])
    if dtype.kind in "iu":
        values = [3, 5 - k, 0 if k == 0 else 2, 7]
        return np.array(values if dtype.kind == "u" else [-3, *values[1:]]).astype(dtype)
    real = np.array([0.25, -1.5, 2.0 + k, 0.0, np.inf, np.nan])
    return (
        (real + 1j * np.array([0.5, 0.25, -1, 1, 0, 0]))[:4].astype(dtype) if dtype.kind == "c" else real.astype(dtype)
    )


def _assert_close(found: np.ndarray, expected: np.ndarray, where: str) -> None:
    if found.dtype.kind in "fc":
        eps = np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=16 * eps, atol=eps, err_msg=where)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=where)


def floats(rng, n, dtype, exponents):
    """Random mantissas, some next to a power of two, and random exponents; every seventh is special."""
    info = np.finfo(dtype)
    mantissas = rng.integers(0, 2**info.nmant, n)
    mantissas[::5], mantissas[1::5] = 2**info.nmant - 1 - mantissas[::5] % 4, mantissas[1::5] % 4
    with np.errstate(over="ignore"):
        found = np.ldexp(1 + mantissas / 2.0**info.nmant, rng.integers(*exponents, n)) * rng.choice([-1, 1], n)
        found = found.astype(dtype)
    special = (0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, info.tiny, info.max)
    found[::7] = rng.choice(np.array(special, dtype), len(found[::7]))
    return found


GUESSES = ("guess", "nextafter(guess, T(0.0))", "nextafter(guess, 2 * guess)")


# A float32's guess has all its bits but the last, a float64's twenty.
@pytest.mark.parametrize(
    ("dtype", "off"), [*((np.float32, g) for g in GUESSES), *((np.float64, g) for g in (*GUESSES, "rounded(guess)"))]
)
def test_divisions_of_a_gpu_have_numpys_bits(dtype, off):
    """Whatever the hardware's guess of the reciprocal is, as long as it has the bits that are documented."""
    short = f"f{8 * np.dtype(dtype).itemsize}"
    text = definitions([f"divide_{short}"])
    own = next(line for line in text.splitlines() if line.startswith("    return ") and line.endswith(" / d"))
    flushed = f"    if abs(guess) < TINY:\n        guess *= T(0.0)\n    return {off}\n"
    text = text.replace(f"{own}\n", f"    guess ={own.removeprefix('    return')}\n{flushed}", 1)
    scope = {"T": dtype, "TINY": np.finfo(dtype).tiny}
    exec(text, scope)  # it imports what it needs

    @njit(inline="always")
    def rounded(guess):
        """With 20 bits of its mantissa, as a float64's guess has."""
        mantissa, exponent = math.frexp(guess)
        return dtype(math.ldexp(np.rint(mantissa * 2**22) / 2**22, exponent))

    scope |= {"nextafter": njit(lambda a, b: dtype(np.nextafter(a, b))), "rounded": rounded}
    of_scalars, name = scope[f"divide_{short}"], np.dtype(dtype).name
    divide = vectorize([f"{name}({name}, {name})"])(lambda x, d: of_scalars(x, d))
    rng = np.random.default_rng(0)
    near, far = (-70, 70), (-149, 127) if dtype == np.float32 else (-1074, 1023)
    for exponents, n in ((near, 30_000), (far, 30_000), ((0, 1), 30_000)):
        x, d = (floats(rng, n, dtype, exponents) for _ in range(2))
        with np.errstate(all="ignore"):
            expected, found = x / d, divide(x, d)
        same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
        assert same.all(), (x[~same][:3], d[~same][:3], found[~same][:3], expected[~same][:3])
