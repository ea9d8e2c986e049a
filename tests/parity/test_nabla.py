"""Rows N1-N7: `jit`, `djit` and `xpr` as Nabla has them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import workbench as wb


def scaled(x, r):
    return np.tanh(x * r) + 1


X = np.linspace(-2.0, 2.0, 7)


# ---- N1: signature and forms ----


@pytest.mark.parity("N1")
def test_jit_has_the_same_parameters_first():
    parameters = list(inspect.signature(wb.jit).parameters.values())[:4]
    assert [(p.name, p.default) for p in parameters] == [
        ("func", None), ("static", True), ("show_graph", False), ("auto_device", True)
    ]  # fmt: skip


@pytest.mark.parity("N1")
@pytest.mark.parametrize(
    "make",
    [wb.jit, wb.jit(), wb.jit(static=True), lambda f: wb.jit(f, True, False, True), wb.jit(static_argnums=()),
     lambda f: wb.jit(func=f, show_graph=False, auto_device=False)],
)  # fmt: skip
def test_jit_is_a_call_and_a_decorator_with_and_without_arguments(make):
    compiled = make(scaled)
    assert compiled.__name__ == "scaled" and compiled.__wrapped__ is scaled
    np.testing.assert_allclose(compiled(X, 0.5), scaled(X, 0.5), rtol=1e-13)


# ---- N2: compile once, scalars are traced ----


@pytest.mark.parity("N2")
def test_a_compiled_function_is_traced_once_and_floats_are_inputs():
    f = wb.jit(scaled)
    for r in (0.5, 2.0, -1.0, np.pi):
        np.testing.assert_allclose(f(X, r), scaled(X, r), rtol=1e-13)
    assert f.n_traces == 1
    (compilation,) = f.compilations
    assert [v.aval.shape for v in compilation.traced.jaxpr.invars] == [(7,), ()]


@pytest.mark.parity("N2")
def test_the_fast_path_runs_no_python_of_the_function():
    ran = []

    @wb.jit
    def f(x):
        ran.append(len(ran))
        return x + 1

    g = wb.jit(lambda x: np.exp(x) * 2 + x)
    g(X)
    source = g.compilations[-1].executable.source
    assert source.count("\n") < 8, source  # one statement a kernel, not one an equation
    f(X)
    n = len(ran)
    f(X)
    assert len(ran) == n + 1, "a function with effects still runs in Python"


# ---- N3, N4: djit ----


@pytest.mark.parity("N3")
@pytest.mark.parametrize("make", [wb.djit, wb.djit(), wb.jit(static=False), lambda f: wb.jit(f, False)])
def test_static_false_is_djit(make):
    def f(x, r):
        return x * 2 if r > 1 else x - 1

    compiled = make(f)
    for r in (0.5, 2.0, 1, 7):
        np.testing.assert_array_equal(compiled(X, r), f(X, r))
    assert not compiled.fallbacks


@pytest.mark.parity("N4")
def test_djit_has_nablas_signature():
    parameters = list(inspect.signature(wb.djit).parameters.values())
    assert [(p.name, p.default) for p in parameters] == [("func", None), ("show_graph", False), ("auto_device", True)]


@pytest.mark.parity("N4")
def test_djit_retraces_on_every_structural_change_and_reuses_kernels(n_compiled):
    @wb.djit
    def f(values, r):
        return sum(v * r for v in values)

    f([X, X], 2.0)
    n = n_compiled()
    np.testing.assert_array_equal(f([X, X], 2.0), 4 * X)
    assert f.n_traces == 1
    np.testing.assert_array_equal(f([X[:3], X[:3]], 2.0), 4 * X[:3])
    assert f.n_traces == 2 and n_compiled() == n
    np.testing.assert_array_equal(f((X, X, X), 2.0), 6 * X)
    np.testing.assert_array_equal(f({0: X}.values() and [X], 3.0), 3 * X)
    assert f.n_traces == 4


@pytest.mark.parity("N4")
def test_djit_tells_scalars_of_different_types_and_signs_apart():
    @wb.djit
    def f(x, r):
        return x * r, r

    for r in (0.0, -0.0, 1, 1.0, True, float("nan"), 2 + 1j):
        ours, theirs = f(X, r), (X * r, r)
        assert type(ours[1]) is type(r)
        np.testing.assert_array_equal(np.signbit(ours[0].real), np.signbit(theirs[0].real))
        np.testing.assert_array_equal(ours[0], theirs[0], strict=True)


# ---- N5: show_graph ----


@pytest.mark.parity("N5")
def test_show_graph_prints_the_steps_once(capsys):
    f = wb.jit(scaled, show_graph=True)
    assert not capsys.readouterr().out
    f(X, 1.0)
    shown = capsys.readouterr().out
    assert "K0" in shown and "tanh" in shown
    f(X, 2.0)
    assert not capsys.readouterr().out


@pytest.mark.parity("N5")
def test_djit_shows_its_graph_too(capsys):
    wb.djit(scaled, show_graph=True)(X, 1.0)
    assert "tanh" in capsys.readouterr().out


# ---- N6: auto_device ----


@pytest.mark.parity("N6")
@pytest.mark.parametrize("auto_device", [True, False])
def test_without_an_accelerator_inputs_stay_where_they_are(auto_device):
    f = wb.jit(scaled, auto_device=auto_device)
    np.testing.assert_allclose(f(X, 1.0), scaled(X, 1.0), rtol=1e-13)
    assert f.compilations[-1].device == "cpu"


# ---- N7: xpr ----


@pytest.mark.parity("N7")
def test_xpr_prints_the_program_of_any_pytree():
    def f(params, batch):
        return (batch["x"] @ params[0] + params[1]).sum()

    text = wb.xpr(f, [np.ones((3, 2), "f4"), np.ones(2, "f4")], {"x": np.ones((5, 3), "f4")})
    assert isinstance(text, str)
    assert text.startswith("{ lambda ; a:f32[3,2] b:f32[2] c:f32[5,3]. let\n    d:f32[5,2] = dot_general[")
    assert text.endswith("in (g,) }") or " in (" in text


@pytest.mark.parity("N7")
def test_xpr_escapes_in_a_notebook():
    text = wb.xpr(lambda x: x < 1, X)
    assert "&lt;" in text._repr_html_() or "lt" in text._repr_html_()
    assert "<script" not in text._repr_html_()


@pytest.mark.parity("N7")
def test_xpr_of_a_compiled_function_is_that_of_the_plain_one():
    assert wb.xpr(wb.jit(scaled), X, 0.5) == wb.xpr(scaled, X, 0.5)
