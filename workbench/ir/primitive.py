"""The record of a primitive: one indivisible operation and every rule the system has for it.

Declarations live in `workbench/primitives`, one block each. A rule that is asked for and missing names itself and
the file to add it to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .avals import Aval

REGISTRY: dict[str, Primitive] = {}


class MissingRuleError(NotImplementedError):
    """A transformation asked a primitive for a rule that it does not have."""


class Primitive:
    """One indivisible operation.

    The rules, each set once by its `def_*` method:

    abstract_eval(*avals, **params) -> Aval (a tuple of them with `multiple_results`)
    impl(*arrays, **params) -> ndarray of exactly that shape and dtype (a tuple with `multiple_results`)
    lowering: one of the four kinds in `primitives.lowering`
    jvp(out, primals, tangents, **params), transpose(ct, *operands, **params), batching(args, axes, **params)
    """

    def __init__(self, name: str, *, multiple_results: bool = False):
        if name in REGISTRY:
            raise ValueError(f"primitive {name!r} is declared twice")
        self.name = name
        self.multiple_results = multiple_results
        self.file = sys._getframe(1).f_code.co_filename
        self._rules: dict[str, Any] = {}
        REGISTRY[name] = self

    def __repr__(self) -> str:
        return self.name

    def _def_rule(self, kind: str, rule: Any) -> Any:
        self._rules[kind] = rule
        return rule

    def _rule(self, kind: str) -> Any:
        try:
            return self._rules[kind]
        except KeyError:
            raise MissingRuleError(f"primitive {self.name!r} has no {kind} rule; add one in {self.file}") from None

    def has_rule(self, kind: str) -> bool:
        return kind in self._rules

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        return self._def_rule("abstract_eval", rule)

    def def_impl(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        return self._def_rule("impl", rule)

    def def_lowering(self, rule: Any) -> Any:
        return self._def_rule("lowering", rule)

    def def_jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        return self._def_rule("jvp", rule)

    def def_transpose(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        return self._def_rule("transpose", rule)

    def def_batching(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        return self._def_rule("batching", rule)

    @property
    def impl(self) -> Callable[..., Any]:
        return self._rule("impl")

    @property
    def lowering(self) -> Any:
        return self._rule("lowering")

    @property
    def jvp(self) -> Callable[..., Any]:
        return self._rule("jvp")

    @property
    def transpose(self) -> Callable[..., Any]:
        return self._rule("transpose")

    @property
    def batching(self) -> Callable[..., Any]:
        return self._rule("batching")

    def abstract_eval(self, *avals: Aval, **params: Any) -> tuple[Aval, ...]:
        """The avals of the results, always as a tuple."""
        out = self._rule("abstract_eval")(*avals, **params)
        return tuple(out) if self.multiple_results else (out,)
