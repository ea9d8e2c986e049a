"""Spans: the sub-expression of the user's that an equation computes, in files, cells and text without source."""

import linecache

import numba
import numpy as np
import optree

from workbench.frontend.diagnostics import source_text
from workbench.frontend.positions import INSTALLED, INTERNAL, LIBRARY, USER, assigned_name, code_kind
from workbench.frontend.trace import trace

X = np.ones(3)


def helper(x):
    return np.tanh(x)


def test_spans_are_sub_expressions():
    def f(x, y):
        return (np.exp(x) + y * 2).sum()

    eqns = trace(f, (X, X), {}).jaxpr.eqns
    assert [source_text(e.origin.span) for e in eqns] == [
        "np.exp(x)", "y * 2", "np.exp(x) + y * 2", "(np.exp(x) + y * 2).sum()",
    ]  # fmt: skip
    assert {e.origin.span.function for e in eqns} == {"test_spans_are_sub_expressions.<locals>.f"}
    assert eqns[0].origin.span.filename == __file__


def test_outer_frames_follow():
    def f(x):
        return helper(x + 1)

    tanh = trace(f, (X,), {}).jaxpr.eqns[-1]
    assert [source_text(s) for s in tanh.origin.spans] == ["np.tanh(x)", "helper(x + 1)"]


def test_deep_call_paths_are_cut():
    def down(x, n):
        return x + 1 if n == 0 else down(x, n - 1)

    assert len(trace(lambda x: down(x, 30), (X,), {}).jaxpr.eqns[0].origin.spans) == 8


def test_columns_count_characters():
    def f(x):
        ä = x + 1
        return ä * ä  # noqa: E702

    eqns = trace(f, (X,), {}).jaxpr.eqns
    assert [source_text(e.origin.span) for e in eqns] == ["x + 1", "ä * ä"]
    assert eqns[0].outvars[0].hint == "ä"


def test_names_of_assignments():
    def f(x, z):
        a = x + 1
        b, c = a * 2, (a - 1)
        a += x
        d = e = np.sqrt(a)
        z[0] = d[0]
        if (g := c + 1) is not None:
            pass
        return b, c, d, e, g

    eqns = trace(f, (X, X.copy()), {}).jaxpr.eqns
    names = [e.outvars[0].hint for e in eqns if e.primitive.name in ("add", "mul", "sub", "sqrt")]
    assert names == ["a", "b", "c", "a", "d", "g"]


def test_an_operation_of_several_equations_names_the_last():
    def f(x):
        m = x.mean()
        return m

    eqns = trace(f, (X,), {}).jaxpr.eqns
    assert len(eqns) == 2
    assert [e.outvars[0].hint for e in eqns] == ["", "m"]
    assert {e.origin.op for e in eqns} == {"mean"}


def test_views_read_again_keep_their_own_span():
    def f(x):
        view = x[1:]
        x[0] = 5.0
        return view + 1

    x = X.copy()
    slices = [e for e in trace(f, (x,), {}).jaxpr.eqns if e.primitive.name == "slice"]
    assert {source_text(e.origin.span) for e in slices} == {"x[1:]"}


def test_code_without_source():
    space = {}
    exec(compile("def f(x):\n    y = x + 1\n    return y * 2\n", "<nowhere>", "exec"), space)
    eqns = trace(space["f"], (X,), {}).jaxpr.eqns
    assert [e.origin.span.line for e in eqns] == [2, 3]
    assert eqns[0].origin.name == ""


def test_names_follow_a_cell_that_is_run_again():
    def load(source):
        linecache.cache["<again>"] = (len(source), None, source.splitlines(True), "<again>")
        space = {}
        exec(compile(source, "<again>", "exec"), space)
        return trace(space["f"], (X,), {}).jaxpr.eqns[0].outvars[0].hint

    assert load("def f(x):\n    y = x + 1\n    return y\n") == "y"
    assert load("def f(x):\n    k = x + 1\n    return k\n") == "k"


def test_kinds_of_code():
    assert code_kind(__file__) == USER
    assert code_kind("<cell 3>") == USER
    assert code_kind(optree.__file__) == INSTALLED
    assert code_kind(numba.__file__) == LIBRARY  # a compiler, which is called as it is
    assert code_kind(linecache.__file__) == LIBRARY
    assert code_kind(np.__file__) == INTERNAL


def test_names_by_span():
    eqn = trace(helper, (X,), {}).jaxpr.eqns[0]
    assert assigned_name(eqn.origin.span) == ""
