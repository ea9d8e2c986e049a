"""Folds: the running state of a reduction in a kernel, its update, the merge of two states and the result.

A floating sum keeps two levels. Up to BLOCK elements are added in a plain accumulator, which the vectoriser may split
into lanes; block sums go into a wider total (f32) or a compensated one (f64, by Knuth's TwoSum), so that the error does
not grow with the length: at least as accurate as pairwise summation (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, ch. 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir import Equation
from ..primitives.lowering import Reduction
from ..primitives.reductions import larger, smaller
from .scalars import PointwiseContext, call, literal, settle

# Elements added in one plain accumulator, 16 lanes of 16: the error of NumPy's own inner blocks (128 in 8 lanes).
BLOCK = 256


@dataclass(frozen=True, slots=True)
class State:
    """One variable of a fold's state, and where it starts."""

    name: str
    dtype: np.dtype
    start: str


class Fold:
    """A reduction with state variables that belong to `name`.

    compensated sums: with `blocked`, `update` adds to `block` and `close_block` moves it into the total.
    products: `in_parts` in any order, else in NumPy's, in which they reach infinity or zero where NumPy's do.
    positions of extremes: with `searches`, `update` keeps the extreme of a block, which vectorises, and `close_block`
    keeps the best block; where in it the element is, `search` finds out in the end.
    """

    any_zero = True  # whether it does not matter which of two zeros an extreme is

    def __init__(
        self, eqn: Equation, name: str, called: dict, *, blocked: bool, searches: bool = False, in_parts: bool = True
    ):
        lowering = eqn.primitive.lowering
        assert isinstance(lowering, Reduction)
        self.eqn = eqn
        self.kind = lowering.kind
        self.lowering = lowering
        self.dtype = eqn.outvars[0].aval.dtype
        self.operand_dtype = eqn.invars[0].aval.dtype
        self.called = called
        self.in_parts = in_parts
        self.blocked = blocked and self.kind == "sum" and self.dtype.kind in "fc"
        self.searches = searches and self.kind in ("argmax", "argmin")
        self.states = self._states(name)
        start = literal(0, self.dtype)
        self.block = State(f"{name}_block", self.dtype, start)
        if self.searches:
            self.block = State(f"{name}_block", self.operand_dtype, self.states[0].start)

    def _states(self, name: str) -> tuple[State, ...]:
        if self.kind in ("argmax", "argmin"):
            worst = self.lowering.identity(self.operand_dtype)
            return (
                State(f"{name}_best", self.operand_dtype, literal(worst, self.operand_dtype)),
                State(f"{name}_at", np.dtype(np.int64), "0"),
            )
        start = self.lowering.identity(self.dtype)
        if not self.blocked:
            return (State(name, self.dtype, literal(start, self.dtype)),)
        total = np.dtype(np.complex128 if self.dtype.kind == "c" else np.float64)
        states = (State(f"{name}_total", total, literal(0, total)),)
        if total == self.dtype:
            states += (State(f"{name}_low", total, literal(0, total)),)
        return states

    def update(self, value: str, position: str, names: tuple[str, ...]) -> list[str]:
        """Fold one element in. names: the state variables as they are spelled here."""
        if self.searches:
            return [f"{self.block.name} = {self._extreme(self.block.name, value)}"]
        if self.kind in ("argmax", "argmin"):
            return self._update_arg(value, position, names)
        if self.blocked:
            return [f"{self.block.name} = {call(self.called, 'add_reassoc', self.dtype, self.block.name, value)}"]
        return [f"{names[0]} = {self._combine(names[0], value)}"]

    def close_block(self, begin: str = "0") -> list[str]:
        """Move a finished block, whose elements begin at `begin`, into the total."""
        if self.searches:
            return self._update_arg(self.block.name, begin, tuple(s.name for s in self.states))
        return self._add_to_total(self.block.name) if self.blocked else []

    def search(self, value: str, position: str, none: str) -> str:
        """While elements of the best block pass: the least position of one that is the extreme; `none` is larger."""
        best, at = (state.name for state in self.states)
        found = f"{value} == {best}"
        if self.operand_dtype.kind == "f":
            found = f"{found} or {value} != {value}"  # a block with a NaN is searched for the first
        return f"{at} = min({at}, {position} if {found} else {none})"

    @property
    def lane(self) -> State:
        """One of many plain accumulators that are merged in the end, with `add_lane`."""
        return self.block if self.blocked else self.states[0]

    def update_lane(self, value: str, lane: str) -> list[str]:
        """Fold one element into a lane."""
        return [f"{lane} = {lane} + {value}"] if self.blocked else self.update(value, "0", (lane,))

    def add_lane(self, lane: str) -> list[str]:
        """Fold a lane into the state."""
        return self._add_to_total(lane) if self.blocked else self.merge(tuple(s.name for s in self.states), (lane,))

    def merge(self, names: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
        """Fold another state, of later elements, into this one."""
        if self.kind in ("argmax", "argmin"):
            return self._update_arg(other[0], other[1], names)
        if self.blocked:
            lines = self._add_to_total(other[0])
            return [*lines, f"{names[1]} = {names[1]} + {other[1]}"] if len(names) > 1 else lines
        return [f"{names[0]} = {self._combine(names[0], other[0])}"]

    def result(self, names: tuple[str, ...]) -> str:
        """The reduction's value."""
        if self.kind in ("argmax", "argmin"):
            return settle(names[1], self.dtype)
        if not self.blocked:
            return names[0]
        if len(names) == 1:
            return f"np.{self.dtype.name}({names[0]})"
        return call(self.called, "sum_result", self.dtype, names[0], names[1])

    def _add_to_total(self, value: str) -> list[str]:
        total = self.states[0]
        if len(self.states) == 1:
            return [f"{total.name} = {total.name} + {value}"]
        low = self.states[1].name
        error = call(self.called, "sum_error", self.dtype, total.name, value)
        return [f"{low} = {low} + {error}", f"{total.name} = {total.name} + {value}"]

    def _combine(self, acc: str, value: str) -> str:
        if self.kind == "prod" and self.dtype.kind == "f" and self.in_parts:
            return call(self.called, "mul_reassoc", self.dtype, acc, value)
        if self.kind in ("max", "min") and self.dtype.kind == "f" and self.any_zero:
            return call(self.called, f"{self.kind}imum_reassoc", self.dtype, acc, value)
        context = PointwiseContext(self.dtype, (self.dtype, self.dtype), self.eqn.params, self.called)
        return settle(self.lowering.combine(context, acc, value), self.dtype)

    def _extreme(self, acc: str, value: str) -> str:
        """The better one of two operands of a fold that asks where the best one is."""
        dtype = self.operand_dtype
        if dtype.kind == "f":
            return call(self.called, f"{self.kind.removeprefix('arg')}imum_reassoc", dtype, acc, value)
        context = PointwiseContext(dtype, (dtype, dtype), self.eqn.params, self.called)
        return settle((larger if self.kind == "argmax" else smaller)(context, acc, value), dtype)

    def _update_arg(self, value: str, position: str, names: tuple[str, ...]) -> list[str]:
        best, at = names
        sign = ">" if self.kind == "argmax" else "<"
        if self.operand_dtype.kind == "f":
            better = f"({value} {sign} {best} or {value} != {value}) and {best} == {best}"
        elif self.operand_dtype.kind == "b":
            better = f"{value} and not {best}" if sign == ">" else f"{best} and not {value}"
        else:
            better = f"{value} {sign} {best}"
        return [f"if {better}:", f"    {best} = {value}", f"    {at} = {position}"]
