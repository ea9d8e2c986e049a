"""`jit_scope`: marks the operations traced inside it for the fusion engine, as TensorFlow's scope of that name does.

A scope is a hint. Scopes nest and the innermost decides. `compile_ops` may be a predicate on a `NodeView`, which shows
one equation as the user knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

from ..errors import ScopeError
from ..ir import Aval, Equation, Scope
from .diagnostics import source_text
from .recording import current_trace

_numbers = count()
unmarked: ContextVar[bool] = ContextVar("workbench_unmarked", default=False)  # see `running_in_numpy`


class running_in_numpy:  # noqa: N801 (used as a function)
    """Let `jit_scope` pass without a trace: NumPy stands in for the compiled form of the code in this `with` block."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = unmarked.set(True)

    def __exit__(self, *_: object) -> None:
        unmarked.reset(self._token)


class NodeView:
    """One equation, as a `compile_ops` predicate sees it.

    op: the operation as NumPy spells it (`matmul`); name: the user's variable, or the primitive's name; primitive: the
    primitive's name; inputs, outputs: avals; source: the user's sub-expression.
    """

    __slots__ = ("_eqn",)

    def __init__(self, eqn: Equation):
        self._eqn = eqn

    @property
    def op(self) -> str:
        return self._eqn.origin.op or self._eqn.primitive.name

    @property
    def name(self) -> str:
        return self._eqn.origin.name or self._eqn.primitive.name

    @property
    def primitive(self) -> str:
        return self._eqn.primitive.name

    @property
    def inputs(self) -> tuple[Aval, ...]:
        return tuple(a.aval for a in self._eqn.invars)

    @property
    def outputs(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self._eqn.outvars)

    @property
    def source(self) -> str:
        return source_text(self._eqn.origin.span)

    def __repr__(self) -> str:
        return f"NodeView(op={self.op!r}, name={self.name!r}, primitive={self.primitive!r})"


@contextmanager
def jit_scope(
    compile_ops: bool | Callable[[NodeView], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[Scope]:
    """Say which of the operations in a `with` block are compiled.

    Parameters
    ----------
    compile_ops : bool or callable
        False: they run in NumPy, uncompiled. A callable gets a `NodeView` of each operation and returns a bool.
    separate_compiled_gradients : bool
        Gradients of these operations become clusters of their own, apart from the forward computation.

    Raises
    ------
    ScopeError
        A RuntimeError: there is no trace to mark.
    """
    trace = current_trace()
    if trace is None and unmarked.get():
        yield Scope("numpy", False)
        return
    if trace is None:
        raise ScopeError(
            "WB150  jit_scope marks operations while they are traced, and nothing is being traced here.\n"
            "   Use it inside compiled code:\n"
            "       @wb.jit\n"
            "       def f(x):\n"
            "           with wb.jit_scope(compile_ops=False):\n"
            "               y = np.exp(x)\n"
            "   or in a cell that starts with %%jit.\n"
            "   ScopeError WB150: jit_scope outside a trace"
        )
    if not isinstance(compile_ops, bool) and not callable(compile_ops):
        raise TypeError(f"compile_ops must be a bool or a callable, not {type(compile_ops).__name__}")
    scope = Scope(f"scope_{next(_numbers)}", compile_ops, bool(separate_compiled_gradients))
    saved = trace.scopes
    trace.scopes = (*saved, scope)
    try:
        yield scope
    finally:
        trace.scopes = saved
