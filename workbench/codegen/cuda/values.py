"""Values on a device: arrays in memory order are one axis, and where an element lies is computed here.

numba would compute it in 64 bits from each array's own shape. Here equal sizes are the same argument, so that arrays of
one shape share the arithmetic, and it is done in 32 bits where all arrays are small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...fusion.plan import Cluster
from ...ir import Equation, Literal, Var
from ...primitives.index import Expr, is_const, size
from ..blocks import Block
from ..names import Namer
from ..scalars import call
from ..values import IndexTuple, Values
from .vectors import Access


class DeviceValues(Values):
    """layouts: "A" for arrays with any strides, which keep their axes; index: "int32" or "int64"; bound: names the
    length of a loop axis."""

    in_vectors = False
    selects = True  # numba's passes take each variable to each branch: hundreds of branches would take minutes

    def __init__(
        self, cluster: Cluster, namer: Namer, arrays: Mapping[Var, str], canonical: IndexTuple,
        counts: frozenset[Literal], flat: bool, layouts: Mapping[Var, str], index: str,
    ):  # fmt: skip
        super().__init__(cluster, namer, arrays, canonical, counts, flat)
        self.layouts = layouts
        self.index = index
        self.bound: Callable[[int], str]
        self.accesses: dict[str, Access] = {}  # elements of arrays in C order, as they are spelled
        self._lengths: dict[tuple[str, int], str] = {}

    def has_shape(self, var: Var) -> bool:
        return False

    def home(self, var: Var, index: IndexTuple, axes: frozenset[int], block: Block) -> Block:
        """One loop binds several axes here, so that a branch may stand in the very block that it would be left for."""
        found = super().home(var, index, axes, block)
        return found if found.open_loop is not None else block.home(axes)

    def quotient(self, eqn: Equation, operands: Sequence[str], index: IndexTuple, home: Block) -> str | None:
        """The compiler's own takes five times as long for a dividend of zero, and shares no reciprocal. Left to it are
        reciprocals and what is a product."""
        dtype, (dividend, divisor) = eqn.outvars[0].aval.dtype, eqn.invars
        is_product = isinstance(divisor, Literal) and abs(math.frexp(float(np.real(divisor.val)))[0]) == 0.5
        is_reciprocal = isinstance(dividend, Literal) and dividend.val == 1
        if dtype.kind != "f" or is_product or is_reciprocal:
            return None
        return call(self.called, "divide", dtype, *operands)

    def at(self, text: object) -> str:
        """An index that is known not to be negative, so that numba does not test its sign."""
        return str(text) if str(text).isdigit() else f"np.u{self.index}({text})"

    def load(self, array: str, var: Var, index: IndexTuple) -> str:
        if index and index != self.canonical:
            self.irregular = True
        return self.element(array, var, index, self.layouts.get(var, "C"))

    def element(self, array: str, var: Var, index: IndexTuple, layout: str = "C") -> str:
        """The element of `array`, which holds `var`, at `index`: to be read or assigned."""
        if not index:
            return f"{array}[0]"
        dtype = var.aval.dtype
        if self.flat and index == self.canonical:
            text = f"{array}[{self.at('i')}]"
            self.accesses[text] = Access(array, "", -1, 0, dtype)
            return text
        if layout != "C":
            return f"{array}[{', '.join(map(self.at, index))}]"
        place = last = before = None
        for d, expr in enumerate(index):
            if var.aval.shape[d] == 1 and is_const(expr, 0):
                continue
            before = None if place is None else place * size(self._length(array, var, d, expr))
            place, last = expr if before is None else before + expr, d
        text = f"{array}[{self.at(0 if place is None else place)}]"
        if last is not None and index[last].is_axis:
            row = 0 if before is None else var.aval.shape[last]
            prefix = "" if before is None else str(before)
            self.accesses[text] = Access(array, prefix, index[last].axis or 0, row, dtype)
        return text

    def _length(self, array: str, var: Var, d: int, expr: Expr) -> str:
        """The name of the length of axis `d`: that of the loop where the loop runs over all of it."""
        length = var.aval.shape[d]
        if expr.is_axis and length == self.cluster.space.shape[expr.axis or 0]:
            return self.bound(expr.axis or 0)
        if (array, d) not in self._lengths:
            name = self.namer.fresh(f"{array}_n{d}")
            self.sizes[name] = length
            self._lengths[array, d] = name
        return self._lengths[array, d]
