"""The four kinds of lowering: all that fusion and code generation know about a primitive.

Pointwise, IndexMap, Reduction and LibraryCall; and two for equations that hold programs, Inline and Control. Scalar
expressions are strings of numba source; index expressions are `Index` objects, which the code generator supplies and
rules combine with `+ - * // %` and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..ir.avals import Aval


class ScalarContext(Protocol):
    """What a pointwise rule may ask of the code generator."""

    dtype: np.dtype  # of the result
    in_dtypes: tuple[np.dtype, ...]
    params: Mapping[str, Any]

    def const(self, value: Any, dtype: np.dtype | None = None) -> str:
        """A typed literal (`dtype` defaults to the result's), so that f32 programs stay f32."""
        ...

    def call(self, name: str, *args: str, dtype: np.dtype | None = None) -> str:
        """A call of the device's scalar function `name` for `dtype` (defaults to the first operand's dtype):
        `ctx.call("tanh", x)` -> `tanh_f64(x)`. The functions are in `codegen.scalar_math`."""
        ...

    def constant(self, expr: str) -> Any:
        """The value of an operand that is a literal of the program; None of any other."""
        ...

    def shared(self, expr: str) -> bool:
        """Whether an operand is one number for all elements of an array."""
        ...

    def choose(self, condition: str, then: str, otherwise: str) -> str:
        """One of two values of the result's dtype."""
        ...

    def cast(self, expr: str, source: np.dtype, target: np.dtype) -> str:
        """`expr` of dtype `source` converted to `target` as NumPy's astype does it."""
        ...


class Index(Protocol):
    """An integer expression over loop indices and sizes. Comparisons give conditions, to be joined with `&`, `|`."""

    def __add__(self, other: Index | int) -> Index: ...
    def __sub__(self, other: Index | int) -> Index: ...
    def __rsub__(self, other: int) -> Index: ...
    def __mul__(self, other: Index | int) -> Index: ...
    def __floordiv__(self, other: Index | int) -> Index: ...
    def __mod__(self, other: Index | int) -> Index: ...
    def __lt__(self, other: Index | int) -> Condition: ...
    def __ge__(self, other: Index | int) -> Condition: ...


class Condition(Protocol):
    def __and__(self, other: Condition) -> Condition: ...
    def __or__(self, other: Condition) -> Condition: ...


class IndexContext(Protocol):
    """What an index map may ask of the code generator. Sizes are run-time values, so a rule must take them from here
    and must not write a number that depends on a shape into an expression without `runtime`."""

    params: Mapping[str, Any]
    in_avals: tuple[Aval, ...]  # concrete: to decide between forms, never to write a size
    out_aval: Aval
    out_dtype: np.dtype
    in_shapes: tuple[tuple[Index, ...], ...]
    out_shape: tuple[Index, ...]

    def runtime(self, value: int) -> Index:
        """`value` as a size that the kernel takes at run time (`start`, `step`, `padding` ...)."""
        ...

    def load(self, operand: int, index: tuple[Index, ...]) -> Index:
        """An element of an integer operand, used as an index (gather)."""
        ...

    def value(self, index: Index) -> str:
        """An index expression as a scalar of the result's dtype (iota)."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """The element `index` of operand number `operand`."""

    operand: int
    index: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """A scalar of the result's dtype that reads no operand: a fill value or an iota."""

    expr: str


@dataclass(frozen=True, slots=True)
class Choose:
    """`then` where `condition` holds, else `otherwise`; only the chosen one is evaluated (its index may be out of
    range elsewhere)."""

    condition: Condition
    then: Element
    otherwise: Element


Element = Read | Compute | Choose


@dataclass(frozen=True, slots=True)
class Pointwise:
    """`expr(ctx, *operands) -> str`: the scalar result as numba source of the scalar operands.

    Operands are names or parenthesised expressions. The code generator casts the result to the output's dtype, so
    that `int8 + int8` wraps as NumPy's does. flops: per element, an estimate. `expensive` elements are not recomputed.
    """

    expr: Callable[..., str]
    flops: float = 1.0
    expensive: bool = False


@dataclass(frozen=True, slots=True)
class IndexMap:
    """`element(ctx, index) -> Element`: which operand element the output element at `index` is.

    place, for results that are operand 0 with some elements replaced by those of operand 1: `place(ctx, index)` is
    where the update's element `index` goes. Different elements go to different places. in_place: `in_place(*operands,
    **params)` writes the update into operand 0.
    """

    element: Callable[..., Element]
    place: Callable[..., tuple[Index, ...]] | None = None
    in_place: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """A fold over `axes(params)`: `combine(ctx, acc, x) -> str` from `identity(dtype)`.

    kind: the fold's name (`sum`, `prod`, `max`, `min`, `argmax`, `argmin`, `and`, `or`, `xor`, `cumsum`, `cumprod`,
    `cummax`, `cummin`); `arg*` keep the first position of the extreme, a NaN counts as the extreme, and their `combine`
    is a condition: whether x, from a later position, replaces acc; `cum*` keep every prefix. `axes` reads the reduced
    axes from the params.
    """

    kind: str
    combine: Callable[..., str]
    identity: Callable[[np.dtype], Any]
    axes: Callable[[Mapping[str, Any]], tuple[int, ...]]
    flops: float = 1.0


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """`call(*arrays, **params)`: a routine of a library, never fused. `library` names it in the report (`BLAS`).
    With `accepts_out`, it takes `out=` (an ndarray, C-contiguous) for its single result. `in_place`, for results of
    operand 0's type: the same call, which writes into operand 0 and returns it."""

    call: Callable[..., Any]
    library: str
    accepts_out: bool = False
    in_place: Callable[..., Any] | None = None
    flops: Callable[..., float] | None = None  # (*in_avals, **params) -> estimate


@dataclass(frozen=True, slots=True)
class Inline:
    """Not a lowering of its own: the equation holds a program that is inlined before fusion (`pjit`)."""


@dataclass(frozen=True, slots=True)
class Control:
    """A branch or a loop: a step of the plan that holds the plans of the equation's programs."""


Lowering = Pointwise | IndexMap | Reduction | LibraryCall | Inline | Control
