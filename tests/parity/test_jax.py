"""Rows J1-J12: `jit`, `make_jaxpr` and what they ask of a function, as in JAX."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import workbench as wb
from workbench.errors import NonHashableStaticArgumentError

A = np.arange(3, dtype="f4")
B = np.ones(3, "f4")


def sum_squared_error(a, b):
    return np.sum((a - b) ** 2)


# ---- J1 ----


@pytest.mark.parity("J1")
def test_jit_of_a_plain_numpy_function():
    @wb.jit
    def f(a, b):
        return sum_squared_error(a, b)

    for result in (wb.jit(sum_squared_error)(A, B), f(A, B)):
        assert type(result) is np.float32 and result == 2.0


# ---- J2: the printed program ----

PROGRAM = """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sub a b
    d:f32[3] = integer_pow[y=2] c
    e:f32[] = reduce_sum[axes=(0,)] d
  in (e,) }"""


@pytest.mark.parity("J2")
def test_the_program_is_printed_as_jax_prints_it():
    assert str(wb.make_jaxpr(sum_squared_error)(A, B)) == PROGRAM
    assert wb.xpr(sum_squared_error, A, B) == PROGRAM


def layer(w, b, x):
    return np.tanh(x @ w + b)


SAME_PROGRAMS = {
    "sum_squared_error": (sum_squared_error, (A, B)),
    "one equation": (lambda a: -a, (A,)),
    "chain": (lambda a, b: np.exp(-a) * b / (a + b), (A, B)),
    "maximum": (lambda a, b: np.maximum(a, b) - np.minimum(a, b), (A, B)),
    "compare": (lambda a, b: (a < b) & (a != b), (A, B)),
    "matmul": (lambda x, y: x @ y, (np.ones((2, 3), "f4"), np.ones((3, 4), "f4"))),
    "transpose": (lambda x: x.T, (np.ones((2, 3), "f4"),)),
    "reductions": (lambda x: (x.max(axis=0), x.min(), x.prod(axis=1)), (np.ones((2, 3), "f4"),)),
    "argmax": (lambda x: np.argmax(x, axis=1), (np.ones((2, 3), "f8"),)),
    "integers": (lambda a: (a & 3) | 4, (np.arange(4, dtype="i4"),)),
    "cast": (lambda a: a.astype(np.float32), (np.arange(4, dtype="i4"),)),
    "pytree": (lambda t: t["a"] * t["b"][0], ({"a": A, "b": [B]},)),
    "nothing": (lambda a: a, (A,)),
    "twice": (lambda a: (a * a, a * a), (A,)),
    "reshape": (lambda a: a.reshape(3, 1), (A,)),
}


def jax_program(name):
    jax = pytest.importorskip("jax", minversion="0.10.2")
    from jax import numpy as jnp

    function, args = SAME_PROGRAMS[name]
    code = function.__code__
    import types

    twin = types.FunctionType(code, {"np": jnp}, function.__name__, function.__defaults__)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        return str(jax.make_jaxpr(twin)(*args))


@pytest.mark.parity("J2")
@pytest.mark.parametrize("name", SAME_PROGRAMS)
def test_programs_of_the_same_primitives_print_alike(name):
    expected = jax_program(name).replace(" out_sharding=None", "").replace("out_sharding=None ", "")
    expected = expected.replace(" sharding=None", "").replace("sharding=None", "")
    function, args = SAME_PROGRAMS[name]
    assert str(wb.make_jaxpr(function)(*args)) == expected


# ---- J3: a compiled function inside a trace ----


@pytest.mark.parity("J3")
def test_a_nested_call_is_one_pjit_equation():
    inner = wb.jit(sum_squared_error)
    program = wb.make_jaxpr(lambda a, b: inner(a, b) * 2)(A, B)
    assert [e.primitive.name for e in program.eqns] == ["pjit", "mul"]
    assert program.eqns[0].params["name"] == "sum_squared_error"
    assert (
        str(program)
        == """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[] = pjit[
      name=sum_squared_error
      jaxpr={ lambda ; a:f32[3] b:f32[3]. let
          d:f32[3] = sub a b
          e:f32[3] = integer_pow[y=2] d
          c:f32[] = reduce_sum[axes=(0,)] e
        in (c,) }
    ] a b
    f:f32[] = mul c 2.0:f32[]
  in (f,) }"""
    )


@pytest.mark.parity("J3")
def test_a_nested_call_is_inlined_before_fusion():
    inner = wb.jit(lambda x: np.exp(x) + 1)
    outer = wb.jit(lambda x: inner(x * 2) - 3)
    np.testing.assert_allclose(outer(A), np.exp(A * 2) + 1 - 3, rtol=1e-6)
    assert len(outer.compilations[-1].kernels) == 1


# ---- J5, J6: static arguments ----


def power(x, n, mode="plain"):
    result = x
    for _ in range(n - 1):
        result = result * x
    return result if mode == "plain" else -result


@pytest.mark.parity("J5")
@pytest.mark.parametrize(
    "options",
    [{"static_argnums": 1}, {"static_argnums": (1, 2)}, {"static_argnums": [1, 2]}, {"static_argnums": (-2, -1)},
     {"static_argnames": ("n", "mode")}, {"static_argnames": "n"}, {"static_argnums": {1}, "static_argnames": {"mode"}}],
)  # fmt: skip
def test_static_arguments_are_compile_time_constants(options):
    f = wb.jit(power, **options)
    x = np.arange(4.0)
    np.testing.assert_array_equal(f(x, 3), x**3)
    np.testing.assert_array_equal(f(x, 2, "negative"), -(x**2))
    np.testing.assert_array_equal(f(x, n=2), x**2)
    np.testing.assert_array_equal(f(x, 3), x**3)
    assert f.n_traces == 3 or f.n_traces == 2


@pytest.mark.parity("J5")
@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "sizes"}])
def test_unhashable_static_values_are_refused(options):
    f = wb.jit(lambda x, sizes: x.reshape(sizes), **options)
    with pytest.raises(ValueError, match="hashable") as caught:
        f(np.ones(4), [2, 2]) if "static_argnums" in options else f(np.ones(4), sizes=[2, 2])
    assert isinstance(caught.value, NonHashableStaticArgumentError)
    assert f(np.ones(4), (2, 2)).shape == (2, 2)


@pytest.mark.parity("J5")
def test_static_arguments_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="out of range"):
        wb.jit(power, static_argnums=5)
    with pytest.raises(ValueError, match="'q'"):
        wb.jit(power, static_argnames="q")


@pytest.mark.parity("J6")
def test_partial_application_as_a_decorator():
    @partial(wb.jit, static_argnums=(0,))
    def f(n, x):
        return x * n if n > 1 else x

    @partial(wb.jit, static_argnames=["n"])
    def g(x, n):
        return x * n if n > 1 else x

    for n in (1, 2, 3):
        np.testing.assert_array_equal(f(n, A), A * n)
        np.testing.assert_array_equal(g(A, n=n), A * n)


# ---- J9: shapes ----


@pytest.mark.parity("J9")
def test_a_size_computed_from_the_shape_is_static():
    @wb.jit
    def f(x):
        return x.reshape(np.prod(x.shape))

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(x), x.ravel())
    assert not f.fallbacks


@pytest.mark.parity("J9")
def test_a_traced_shape_says_so_and_shows_the_cure():
    def f(x):
        return x.reshape((x * 0 + 6).sum().astype(int))

    with pytest.raises(TypeError, match=r"(?s)shape.*x\.shape") as caught:
        wb.jit(f, strict=True)(np.ones(6))
    assert "np.prod(x.shape)" in str(caught.value) or "static" in str(caught.value)


# ---- J11, J12 ----


@pytest.mark.parity("J11")
def test_compiled_once_per_shape_and_dtype(n_compiled, rng):
    f = wb.jit(sum_squared_error)
    n = n_compiled()
    for _ in range(3):
        a, b = rng.random((2, 40, 50))
        np.testing.assert_allclose(f(a, b), np.sum((a - b) ** 2), rtol=1e-13)
    assert f.n_traces == 1
    once = n_compiled() - n
    assert once >= 1
    f(*rng.random((2, 7, 9)))
    assert f.n_traces == 2 and n_compiled() == n + once, "a new shape traces again and compiles nothing"
    f(*rng.random((2, 40, 50), dtype="f4"))
    assert f.n_traces == 3 and n_compiled() > n + once


@pytest.mark.parity("J12")
def test_sum_squared_error_of_500_by_500(rng):
    a, b = rng.random((2, 500, 500))
    f = wb.jit(sum_squared_error)
    np.testing.assert_allclose(f(a, b), np.sum((a - b) ** 2), rtol=1e-14)
    (compilation,) = f.compilations
    assert len(compilation.kernels) == 1 and len(compilation.plan.steps) == 1


@pytest.mark.parity("B2")
def test_the_printed_program_has_the_converted_branch():
    def halve_or_negate(x):
        if x.sum() > 0:
            return x / 2
        return -x

    printed = wb.xpr(halve_or_negate, np.ones(3))
    assert "cond[" in printed and "neg" in printed and "div" in printed
    with pytest.raises(wb.errors.TracerBoolConversionError), wb.config(strict=True):
        wb.xpr(halve_or_negate, np.ones(3))
