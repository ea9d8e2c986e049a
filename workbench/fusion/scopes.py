"""What the entered `jit_scope`s say about an equation: whether to compile it, and with whom it may share a kernel."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Equation

NodeViewFactory = Callable[[Equation], object]


def compiles(eqn: Equation) -> bool:
    """Whether the innermost scope lets `eqn` be compiled (no scope: yes). A predicate gets a view of the equation."""
    if not eqn.origin.scopes:
        return True
    choice = eqn.origin.scopes[-1].compile_ops
    if callable(choice):
        from ..frontend.scopes import NodeView

        return bool(choice(NodeView(eqn)))
    return bool(choice)


def separation(eqn: Equation) -> str:
    """Equations with different separation keys never share a kernel (`separate_compiled_gradients`)."""
    for scope in reversed(eqn.origin.scopes):
        if scope.separate_compiled_gradients:
            return scope.name
    return ""
