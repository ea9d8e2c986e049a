"""Folds on a device: the same reductions as on the CPU, whose partial states thousands of threads make and merge.

Floating sums are compensated in their own dtype (Knuth's TwoSum): the sum of float32 numbers takes no float64
arithmetic, of which many GPUs do little, and the error does not grow with the length. Which thread folds which element
depends on sizes alone, and states are merged in a fixed order, so that results are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..folds import Fold, State
from ..scalars import call, literal


class DeviceFold(Fold):
    """A reduction whose elements come in any order: extremes keep the least position among equals themselves."""

    any_zero = False

    @property
    def is_compensated(self) -> bool:
        return self.kind == "sum" and self.dtype.kind in "fc"

    def _states(self, name: str) -> tuple[State, ...]:
        self.blocked = False
        if self.kind == "sum" and self.dtype.kind in "fc":
            zero = literal(0, self.dtype)
            return State(f"{name}_total", self.dtype, zero), State(f"{name}_low", self.dtype, zero)
        if self.kind in ("argmax", "argmin"):
            best, at = super()._states(name)
            # Where nothing was folded yet, whatever comes is earlier, and as good or better.
            return best, State(at.name, at.dtype, f"np.int64({np.iinfo(np.int64).max})")
        return super()._states(name)

    def update(self, value: str, position: str, names: tuple[str, ...]) -> list[str]:
        if self.is_compensated:
            return self._add(value, names)
        if self.kind in ("argmax", "argmin"):
            return self._choose(value, f"np.int64({position})", names)
        return super().update(value, position, names)

    def close_block(self, begin: str = "0") -> list[str]:
        return []

    def merge(self, names: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
        if self.is_compensated:
            return [*self._add(other[0], names), f"{names[1]} = {names[1]} + {other[1]}"]
        if self.kind in ("argmax", "argmin"):
            return self._choose(other[0], other[1], names)
        return super().merge(names, other)

    def result(self, names: tuple[str, ...]) -> str:
        if self.is_compensated:
            return call(self.called, "sum_result", self.dtype, *names)
        return super().result(names)

    def _add(self, value: str, names: tuple[str, ...]) -> list[str]:
        total, low = names
        lines = []
        if not value.isidentifier():  # it is needed twice
            lines, value = [f"{total}_next = {value}"], f"{total}_next"
        error = call(self.called, "sum_error", self.dtype, total, value)
        return [*lines, f"{low} = {low} + {error}", f"{total} = {total} + {value}"]

    def _choose(self, value: str, position: str, names: tuple[str, ...]) -> list[str]:
        """Take a candidate if it is better, or as good and earlier; the first NaN beats all. Without branches, so that
        several loads are on their way at a time."""
        best, at = names
        sign = ">" if self.kind == "argmax" else "<"
        better, equal = f"({value} {sign} {best})", f"({value} == {best})"
        if self.operand_dtype.kind == "f":
            no_better = f"{value} {'<=' if sign == '>' else '>='} {best}"
            better = f"(not ({no_better})) & ({best} == {best})"
            equal = f"({equal} | ({value} != {value}) & ({best} != {best}))"
        return [
            f"{best}_is_new = {better} | {equal} & ({position} < {at})",
            f"{best} = {value} if {best}_is_new else {best}",
            f"{at} = {position} if {best}_is_new else {at}",
        ]


def shuffled(name: str, dtype: np.dtype) -> str:
    """`name` of the thread `offset` lanes further up in the warp, as source text."""
    return _moved(name, dtype, lambda text: f"cuda.shfl_down_sync(0xFFFFFFFF, {text}, offset)")


def first_lanes(name: str, dtype: np.dtype) -> str:
    """`name` of the warp's first thread."""
    return _moved(name, dtype, lambda text: f"cuda.shfl_sync(0xFFFFFFFF, {text}, 0)")


def _moved(name: str, dtype: np.dtype, move: Callable[[str], str]) -> str:
    """The hardware moves 32 or 64 bits."""
    if dtype.kind == "c":
        parts = f"complex({move(name + '.real')}, {move(name + '.imag')})"
        return parts if dtype == np.complex128 else f"np.complex64({parts})"
    if dtype.kind == "b":
        return f"{move(f'np.int32({name})')} != 0"
    if dtype.kind == "f" or dtype in (np.int32, np.int64):
        return move(name)
    wide = "int64" if dtype.itemsize == 8 else "int32"
    return f"np.{dtype.name}({move(f'np.{wide}({name})')})"
