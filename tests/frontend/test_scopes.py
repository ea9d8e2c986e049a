"""`jit_scope`: rows T1-T4 and T6."""

import numpy as np
import pytest

from workbench.errors import ScopeError
from workbench.frontend.scopes import NodeView, jit_scope
from workbench.frontend.trace import trace

X = np.ones((3, 3))


@pytest.mark.parity("T1")
def test_a_scope_marks_the_equations_inside_it():
    def f(x):
        a = x + 1
        with jit_scope() as scope:
            b = a * 2
        assert scope.compile_ops is True and scope.separate_compiled_gradients is False
        return b - 1

    eqns = trace(f, (X,), {}).jaxpr.eqns
    assert [len(e.origin.scopes) for e in eqns] == [0, 1, 0]


@pytest.mark.parity("T2")
def test_a_predicate_sees_the_operation_as_the_user_knows_it():
    def f(x):
        with jit_scope(compile_ops=lambda node_def: "matmul" in node_def.op.lower()):
            product = x @ x
            return np.tanh(product)

    eqns = trace(f, (X,), {}).jaxpr.eqns
    views = [NodeView(e) for e in eqns]
    decide = eqns[0].origin.scopes[-1].compile_ops
    assert [decide(v) for v in views] == [v.op == "matmul" for v in views]
    first = next(v for v in views if v.primitive == "dot_general")
    assert (first.op, first.name, first.source) == ("matmul", "product", "x @ x")
    assert [str(a) for a in first.inputs] == ["f64[3,3]", "f64[3,3]"]
    assert [str(a) for a in first.outputs] == ["f64[3,3]"]


@pytest.mark.parity("T4")
def test_scopes_nest_and_the_innermost_is_last():
    def f(x):
        with jit_scope(compile_ops=False):
            a = x + 1
            with jit_scope(compile_ops=True):
                b = a * 2
            return b - 1

    eqns = trace(f, (X,), {}).jaxpr.eqns
    assert [[s.compile_ops for s in e.origin.scopes] for e in eqns] == [[False], [False, True], [False]]


def test_a_scope_ends_when_its_block_raises():
    def f(x):
        try:
            with jit_scope(compile_ops=False):
                raise KeyError
        except KeyError:
            return x + 1

    assert trace(f, (X,), {}).jaxpr.eqns[0].origin.scopes == ()


def test_bad_arguments():
    def f(x):
        with jit_scope(compile_ops="yes"):
            return x + 1

    with pytest.raises(TypeError, match="bool or a callable"):
        trace(f, (X,), {})


@pytest.mark.parity("T6")
def test_outside_a_trace_it_says_how_to_use_it():
    with pytest.raises(RuntimeError, match="(?s)@wb.jit.*%%jit") as caught, jit_scope():
        pass
    assert isinstance(caught.value, ScopeError)
