"""`trace`: what is an input and what a constant, pytrees, static arguments, nested calls, threads."""

import threading
import types

import numpy as np
import pytest

from workbench.errors import SideEffectError, TracingError, UnexpectedTracerError, UnsupportedOperationError
from workbench.frontend.recording import current_trace
from workbench.frontend.trace import call_traced, trace
from workbench.frontend.tracer import Tracer, emit, known_value, lift
from workbench.ir import REGISTRY, Aval
from workbench.ir.evaluate import eval_jaxpr

X = np.array([1.0, 2.0, 3.0])


def sum_squared_error(a, b):
    return np.sum((a - b) ** 2)


def test_the_program_prints_as_jaxs_does():
    a = np.ones(3, np.float32)
    assert str(trace(sum_squared_error, (a, a), {}).jaxpr) == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n    c:f32[3] = sub a b\n    d:f32[3] = integer_pow[y=2] c\n"
        "    e:f32[] = reduce_sum[axes=(0,)] d\n  in (e,) }"
    )


def test_arrays_and_floats_are_inputs_everything_else_is_constant():
    def f(x, r, n, flag, name, nothing, kind, z, s):
        assert type(n) is int and flag is True and name == "a" and nothing is None and kind is np.float32
        return x * r * n + z.real + s

    args = (X, 0.5, 3, True, "a", None, np.float32, 1 + 2j, np.float64(2.0))
    traced = trace(f, args, {})
    assert [str(v.aval) for v in traced.jaxpr.invars] == ["f64[3]", "f64[]", "c128[]", "f64[]"]
    assert [v.aval.weak_type for v in traced.jaxpr.invars] == [False, True, True, False]
    assert traced.input_names == ("x", "r", "z", "s")
    assert traced.n_arguments == 4


def test_python_scalars_may_stay_concrete():
    def f(x, r):
        return x * 2 if r > 1 else x

    assert len(trace(f, (X, 2.0), {}, keep_python_scalars=True).jaxpr.eqns) == 1
    assert len(trace(f, (X, np.float64(2.0)), {}, keep_python_scalars=True, static_argnums=1).jaxpr.eqns) == 1


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "r"}])
def test_static_arguments(options):
    def f(x, r):
        return x * 2 if r > 1 else x

    kwargs = {"r": 2.0} if "static_argnames" in options else {}
    traced = trace(f, (X,) if kwargs else (X, 2.0), kwargs, **options)
    assert len(traced.jaxpr.invars) == 1


def test_pytrees_go_in_and_come_out(call):
    def f(tree, *, extra):
        return {"sum": tree["a"] + tree["b"][0], "rest": (tree["b"][1], [extra, None, "s"]), "n": 3}

    result = call(f, {"a": X, "b": [X * 2, 7]}, extra=X)
    np.testing.assert_array_equal(result["sum"], X * 3)
    assert result["rest"][0] == 7
    assert result["rest"][1][1:] == [None, "s"]
    assert result["rest"][1][0] is X
    assert result["n"] == 3


def test_kinds_of_results(call):
    def f(x, r):
        return x.sum(), np.array(2.0), r, r * 2, 4.0, x[0], np.float32(1), x[0, ...], ()

    a, b, c, d, e, g, h, i, j = call(f, X, 0.5)
    assert [type(v) for v in (a, b, c, d, e, g, h, i)] == [
        np.float64, np.ndarray, float, float, float, np.float64, np.float32, np.ndarray,
    ]  # fmt: skip
    assert (a, c, d, e, g, h, j) == (6.0, 0.5, 1.0, 4.0, 1.0, 1.0, ())


def test_an_aval_stands_for_an_array():
    traced = trace(sum_squared_error, (Aval((2, 3), np.dtype("f4")), Aval((3,), np.dtype("f8"))), {})
    assert str(traced.jaxpr.outvars[0].aval) == "f64[]"


def test_constants_made_inside_are_copied(run):
    table = None

    def f(x):
        nonlocal_table = np.asarray([1.0, 2.0, 3.0])
        y = x * nonlocal_table
        nonlocal_table[0] = 100.0
        return y, nonlocal_table

    y, t = run(trace(f, (X,), {}), (X,))
    np.testing.assert_array_equal(y, [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(t, [100.0, 2.0, 3.0])
    assert table is None


def test_results_never_share_memory_with_inputs_or_constants(run):
    def f(x):
        return x.copy(), np.array([1.0, 2.0])

    traced = trace(f, (X,), {})
    first, second = run(traced, (X,)), run(traced, (X,))
    assert not np.shares_memory(first[0], X)
    assert not np.shares_memory(first[1], second[1])
    first[1][0] = 5.0
    assert second[1][0] == 1.0


def test_values_known_while_tracing_can_steer_python(call):
    def f(x):
        total = x * 0
        for i in np.arange(3):
            if i != 1:
                total = total + x[i]
        n = np.array(x.shape).prod()
        return total, x.reshape(n, 1), list(range(n)), x[np.array([0, 2])]

    for a, b in zip(call(f, X), f(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_of_the_user_are_pythons_own():
    def f(x):
        return x + np.ones(4)

    with pytest.raises(ValueError, match="operands could not be broadcast together") as caught:
        trace(f, (X,), {})
    assert caught.traceback[-1].path.name == "test_trace.py"


def test_objects_that_hold_arrays_are_refused():
    class Series:
        def __array__(self):
            return X

    with pytest.raises(UnsupportedOperationError, match="only NumPy arrays are traced"):
        trace(lambda s: s, (Series(),), {})


def test_results_that_cannot_be_rebuilt_are_refused():
    with pytest.raises(TracingError, match="zip"):
        trace(lambda x: zip(x, x, strict=True), (X,), {})


def nested(fn, *args):
    return call_traced(fn.__name__, trace(fn, args, {}), args, {})


def test_nested_calls_are_one_pjit(run):
    def inner(x, n):
        return {"y": x * n + X, "n": n}

    def f(x):
        out = nested(inner, x, 2)
        return out["y"].sum() + out["n"]

    ones = np.ones(3)
    traced = trace(f, (ones,), {})
    assert [e.primitive.name for e in traced.jaxpr.eqns] == ["pjit", "reduce_sum", "add"]
    assert "name=inner" in str(traced.jaxpr)
    assert run(traced, (ones,)) == (2 + X).sum() + 2


def test_nested_calls_see_and_mutate_the_outer_traces_arrays(run):
    def f(x):
        y = x * 2

        def inner(v):
            v += y
            return v, v[1:]

        z = x.copy()
        view = z[:1]
        same, part = nested(inner, z)
        assert same is z
        part[0] = 50.0
        return z, view

    z, view = run(trace(f, (X,), {}), (X,))
    np.testing.assert_array_equal(z, [3.0, 50.0, 9.0])
    assert view[0] == 3.0 and np.shares_memory(z, view)


def test_overlapping_arguments_of_a_mutating_inner_function(call):
    def inner(a, b):
        a[:] = 1.0
        return b.sum()

    def f(x):
        x = x.copy()
        return nested(inner, x, x)

    assert call(f, X) == 3.0


def test_a_leaked_tracer_says_where_it_was_made():
    keeper = types.ModuleType("keeper")

    def f(x):
        y = x * 2
        keeper.value = y
        return y

    with pytest.raises(SideEffectError):
        trace(f, (X,), {})
    assert not hasattr(keeper, "value")
    trace(f, (X,), {}, effects_happen=True)  # as in JAX
    with pytest.raises(UnexpectedTracerError, match=r"`x \* 2` at test_trace.py:\d+ while `f` was traced"):
        keeper.value + 1
    with pytest.raises(UnexpectedTracerError, match=r"`x \* 2` at test_trace.py"):
        trace(lambda x: x + keeper.value, (X,), {}, effects_happen=True)


def test_threads_trace_apart():
    results, errors = {}, []

    def f(x, n):
        for _ in range(50):
            x = x + n
        return x

    def work(n):
        try:
            traced = trace(f, (X, float(n)), {})
            results[n] = len(traced.jaxpr.eqns)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert set(results.values()) == {1}, "one loop"
    assert current_trace() is None


def test_emit_takes_tracers_scalars_and_arrays():
    def f(x):
        y = emit(REGISTRY["add"], x, np.float64(2.0))
        z = emit(REGISTRY["mul"], y, lift(np.arange(3.0)))
        assert known_value(lift(np.arange(3.0))).tolist() == [0.0, 1.0, 2.0]
        assert known_value(z) is None
        assert type(z) is Tracer and isinstance(z, np.ndarray)
        return z

    traced = trace(f, (X,), {}, effects_happen=True)
    np.testing.assert_array_equal(eval_jaxpr(traced.jaxpr, X)[0], (X + 2) * np.arange(3.0))
