"""Simplification: removes work that does not change a bit of the result.

What may go is narrow, since NumPy's answers are kept bit for bit, with NaN, infinities and the sign of zero:
`x + 0.0` stays (it turns -0.0 into 0.0) and `x - 0.0` goes; `x * 0.0` stays. Rules that move data are in
`simplify_movement` and `merge_updates`, rules on dtypes in `simplify_casts`, those on the values of integers in
`simplify_ranges`, and branches in `simplify_branches`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import Atom, Equation, Jaxpr, Literal, Var
from ..ir.checker import same_type
from .fold_constants import fold, is_pointwise
from .merge_updates import merge_updates
from .rewrite import Rewriter, in_inner_programs, rewrite
from .simplify_branches import chosen_scalars
from .simplify_casts import CAST_RULES
from .simplify_movement import MOVEMENT_RULES, as_scalar
from .simplify_ranges import RANGE_RULES

SimpleRule = Callable[[Rewriter, Equation], Atom | None]


def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """Apply every rule to every equation, once, in order.

    b: f64[3] = broadcast_in_dim[shape=(3,)] 8.0:f64[]
    c: f64[3] = div a b
    d: f64[3] = mul c 1.0:f64[]
      ->
    c: f64[3] = mul a 0.125:f64[]
    """
    return merge_updates(rewrite(in_inner_programs(jaxpr, simplify), _simplify_equation))


def _simplify_equation(rw: Rewriter, eqn: Equation) -> tuple[Atom, ...] | None:
    if eqn.primitive.name == "cond":
        return chosen_scalars(rw, eqn)
    if eqn.primitive.multiple_results:
        return None
    (var,) = eqn.outvars
    if is_pointwise(eqn):
        folded = fold(rw, eqn)
        if folded is not None:
            return tuple(folded)
        if (atom := _take_scalars(rw, eqn)) is not None:
            return (atom,)
    rule = RULES.get(eqn.primitive.name)
    atom = rule(rw, eqn) if rule is not None else None
    if atom is None:
        return None
    if not same_type(atom.aval, var.aval):
        if atom.aval.shape or atom.aval.dtype != var.aval.dtype:
            return None
        atom = rw.emit(eqn, "broadcast_in_dim", atom, shape=var.aval.shape, broadcast_dimensions=())
    return (atom,)


def _take_scalars(rw: Rewriter, eqn: Equation) -> Atom | None:
    """Read a scalar instead of its broadcast: pointwise primitives take scalars beside arrays. If all operands are
    broadcast scalars, compute with the scalars and broadcast the result."""
    if not eqn.outvars[0].aval.shape or eqn.primitive.name == "copy":
        return None
    scalars = [as_scalar(rw, atom, eqn) for atom in eqn.invars]
    if all(scalar is None for scalar in scalars):
        return None
    operands = [atom if scalar is None else scalar for atom, scalar in zip(eqn.invars, scalars, strict=True)]
    result = rw.emit(eqn, eqn.primitive, *operands, **eqn.params)
    if result.aval.shape:
        return result
    return rw.emit(eqn, "broadcast_in_dim", result, shape=eqn.outvars[0].aval.shape, broadcast_dimensions=())


def value_of(atom: Atom) -> np.ndarray | None:
    """A literal's value as a rank-0 array of its dtype."""
    return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else None


def _is(atom: Atom, number: float) -> bool:
    """Whether `atom` is the literal `number`, with the same sign of zero; for complex literals, in both parts."""
    value = value_of(atom)
    if value is None:
        return False
    if value.dtype.kind == "c":
        parts = (value.item().real, value.item().imag)
        return number == 0 and all(part == 0 and np.signbit(part) == np.signbit(number) for part in parts)
    if value.dtype.kind == "f":
        return bool(value == number and np.signbit(value) == np.signbit(number))
    return value.item() == number


def _kind(eqn: Equation) -> str:
    return eqn.invars[0].aval.dtype.kind


def _other(eqn: Equation, number: float) -> Atom | None:
    """The operand beside the literal `number`, on either side."""
    left, right = eqn.invars
    return left if _is(right, number) else right if _is(left, number) else None


# ---- neutral elements ----


def _add(rw: Rewriter, eqn: Equation) -> Atom | None:
    # x + 0.0 turns -0.0 into 0.0; only -0.0 is neutral for floats.
    return _other(eqn, -0.0 if _kind(eqn) in "fc" else 0)


def _sub(rw: Rewriter, eqn: Equation) -> Atom | None:
    return eqn.invars[0] if _is(eqn.invars[1], 0.0) else None


def _mul(rw: Rewriter, eqn: Equation) -> Atom | None:
    # A complex 1 is not neutral: inf * 0 in the cross terms is NaN.
    return None if _kind(eqn) == "c" else _other(eqn, 1)


def _div(rw: Rewriter, eqn: Equation) -> Atom | None:
    return eqn.invars[0] if _kind(eqn) == "f" and _is(eqn.invars[1], 1) else None


def _floor_divide(rw: Rewriter, eqn: Equation) -> Atom | None:
    return eqn.invars[0] if _kind(eqn) in "iu" and _is(eqn.invars[1], 1) else None


def _integer_pow(rw: Rewriter, eqn: Equation) -> Atom | None:
    # NumPy's complex power turns -0.0 into 0.0, also for exponent 1.
    return eqn.invars[0] if eqn.params["y"] == 1 and _kind(eqn) != "c" else None


def _or(rw: Rewriter, eqn: Equation) -> Atom | None:
    return _same(rw, eqn) or _other(eqn, 0)


def _and(rw: Rewriter, eqn: Equation) -> Atom | None:
    all_ones = np.array(1, bool) if _kind(eqn) == "b" else ~np.zeros((), eqn.invars[0].aval.dtype)
    return _same(rw, eqn) or _other(eqn, all_ones.item())


def _xor(rw: Rewriter, eqn: Equation) -> Atom | None:
    return _other(eqn, 0)


def _shift(rw: Rewriter, eqn: Equation) -> Atom | None:
    return eqn.invars[0] if _is(eqn.invars[1], 0) else None


# ---- the same thing twice ----


def _same(rw: Rewriter, eqn: Equation) -> Atom | None:
    """max(x, x), x & x."""
    left, right = eqn.invars
    return left if left is right and isinstance(left, Var) else None


def _undone(rw: Rewriter, eqn: Equation) -> Atom | None:
    """-(-x), ~~x, conj(conj(x))."""
    inner = rw.producer(eqn.invars[0], eqn)
    return inner.invars[0] if inner is not None and inner.primitive is eqn.primitive else None


def _idempotent(rw: Rewriter, eqn: Equation) -> Atom | None:
    """floor(floor(x))."""
    inner = rw.producer(eqn.invars[0], eqn)
    return eqn.invars[0] if inner is not None and inner.primitive is eqn.primitive else None


def _abs(rw: Rewriter, eqn: Equation) -> Atom | None:
    x = eqn.invars[0]
    if x.aval.dtype.kind in "bu":
        return x
    inner = rw.producer(x, eqn)
    if inner is None:
        return None
    if inner.primitive.name == "abs" and x.aval.dtype.kind == "f":  # of int8, abs(-128) is -128
        return x
    if inner.primitive.name == "neg":
        return rw.emit(eqn, eqn.primitive, inner.invars[0], merging=inner)
    return None


def _copy(rw: Rewriter, eqn: Equation) -> Atom | None:
    # Programs are functional; where the caller is owed an array of his own, the rewriter puts a copy back.
    return eqn.invars[0]


# ---- selection, parts of complex numbers ----


def _select_n(rw: Rewriter, eqn: Equation) -> Atom | None:
    which, *cases = eqn.invars
    if all(case is cases[0] for case in cases) and isinstance(cases[0], Var):
        return cases[0]
    value = value_of(which)
    if value is not None:
        return cases[min(max(int(value), 0), len(cases) - 1)]
    inner = rw.producer(which, eqn)
    if inner is not None and inner.primitive.name == "not" and which.aval.dtype == bool:
        return rw.emit(eqn, eqn.primitive, inner.invars[0], cases[1], cases[0], merging=inner)
    return None


def _part_of_complex(part: int) -> SimpleRule:
    def rule(rw: Rewriter, eqn: Equation) -> Atom | None:
        inner = rw.producer(eqn.invars[0], eqn)
        if inner is not None and inner.primitive.name == "complex":
            return inner.invars[part]
        return eqn.invars[0] if part == 0 and _kind(eqn) != "c" else None

    return rule


RULES: dict[str, SimpleRule] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "floor_divide": _floor_divide, "integer_pow": _integer_pow,
    "or": _or, "and": _and, "xor": _xor,
    "shift_left": _shift, "shift_right_arithmetic": _shift, "shift_right_logical": _shift,
    "max": _same, "min": _same, "fmax": _same, "fmin": _same,
    "neg": _undone, "not": _undone, "conj": _undone,
    "floor": _idempotent, "ceil": _idempotent, "trunc": _idempotent, "rint": _idempotent, "abs": _abs,
    "copy": _copy, "select_n": _select_n, "real": _part_of_complex(0), "imag": _part_of_complex(1),
    **CAST_RULES, **MOVEMENT_RULES, **RANGE_RULES,
}  # fmt: skip
