"""Calls of elementwise ufuncs: promotion, broadcasting, the rule, then `where=` and `out=`.

What a ufunc computes per element is in `elementwise`, ufuncs with core dimensions are in `contractions`, and the
methods of ufuncs are found by `dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Aval, Var
from ..choices import Choice
from ..tracer import Tracer
from ..views import write
from .broadcasting import broadcast_scalars, broadcast_shapes, spell
from .elementwise import RULES, truth
from .operands import (
    bind,
    broadcast_operand,
    cast,
    dtype_of,
    full,
    is_tracer,
    lifted_target,
    ndim_of,
    operand,
    shape_of,
    unsupported,
)
from .promotion import (
    COMPARISONS,
    FLOAT64,
    check_cast,
    dtype_key,
    is_python_scalar,
    out_of_bounds,
    resolve_ufunc,
    typed_scalar,
)

IGNORED_KEYWORDS = ("order", "subok")  # about memory layout and subclasses: neither exists here


def call_ufunc(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    signature: Any = None,
    sig: Any = None,
    **keywords: Any,
) -> Any:
    """One ufunc call with NumPy's keywords: a tracer, a tuple of them, or `out`."""
    if out is None and where is True and dtype is None and signature is None and sig is None and not keywords:
        result = call_plainly(ufunc, inputs)
        if result is not None:
            return result
    if len(inputs) > ufunc.nin:  # positional outputs
        inputs, extra = inputs[: ufunc.nin], inputs[ufunc.nin :]
        out = extra if out is None else out
    if len(inputs) < ufunc.nin:
        raise TypeError(f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nargs} positional arguments but "
                        f"{len(inputs)} were given")  # fmt: skip
    outs = normalize_out(out, ufunc.nout)
    if any(is_tracer(target) and not target.writeable for target in outs or ()):
        raise ValueError("output array is read-only")
    for name in keywords:
        if name not in IGNORED_KEYWORDS:
            raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument '{name}'")
    rule = rule_of(ufunc)
    if rule is None:
        raise unsupported(f"the ufunc {ufunc.__name__!r} is not one that can be compiled")
    operands = [operand(x) for x in inputs]
    if ufunc is np.signbit and dtype_of(operands[0]).kind in "biu":  # NumPy converts, for int8 to float16
        operands = [cast(operands[0], FLOAT64)]
    if dtype is None and signature is None and sig is None and ufunc in COMPARISONS:
        if len([x for x in operands if is_python_scalar(x)]) == 1:
            operands = in_bounds(ufunc, operands)
    in_dtypes, out_dtypes = resolve_ufunc(
        ufunc, operands, out=outs, dtype=dtype, signature=signature if sig is None else sig, casting=casting
    )
    weak = all(not isinstance(dtype_key(x), np.dtype) for x in operands)
    power = static_power(ufunc, operands, out_dtypes[0])
    operands = [cast(x, d) for x, d in zip(operands, in_dtypes, strict=True)]
    shape = broadcast_shapes(*operands, ufunc=ufunc)
    if power is not None:
        results = (bind(power[0], operands[0], **power[1]),)
    else:
        results = rule(*broadcast_scalars(operands, shape), out=out_dtypes)
        results = results if isinstance(results, tuple) else (results,)
    if weak:
        results = tuple(strong(r) for r in results)
    if where is not True or any(o is not None for o in outs):
        results = tuple(store(r, o, where, casting, ufunc.__name__, shape) for r, o in zip(results, outs, strict=True))
    return results if ufunc.nout > 1 else results[0]


def rule_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What computes a ufunc, NumPy's or another package's; None if nothing does."""
    rule = RULES.get(ufunc)
    if rule is None:
        from ..scipy_api import rule_of

        rule = rule_of(ufunc)
    return rule


# (ufunc, what is known of each operand) -> its loop: (in_dtypes, out_dtypes, rule)
_loops: dict[tuple[Any, ...], tuple[Any, ...]] = {}


def call_plainly(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """The common call, quickly: arrays of one shape, rank-0 arrays and Python floats, no keywords. None for others."""
    key: list[Any] = [ufunc]
    shape: tuple[int, ...] = ()
    for x in inputs:
        if type(x) is Tracer:
            aval = x.aval
            if aval.weak_type or x.buffer.mixed:
                return None
            key.append(aval.dtype)
            if aval.shape:
                if shape and shape != aval.shape:
                    return None
                shape = aval.shape
        elif type(x) is float or (type(x) is int and 0 <= x < 128):  # ints that every integer dtype holds
            if ufunc is np.power:
                return None
            key.append(type(x))
        else:
            return None
    loop = _loops.get(tuple(key))
    if loop is None:
        rule = rule_of(ufunc)
        if rule is None or len(inputs) != ufunc.nin or ufunc is np.signbit:
            return None
        loop = _loops[tuple(key)] = (*resolve_ufunc(ufunc, inputs), rule)
    in_dtypes, out_dtypes, rule = loop
    operands = []
    for x, dtype in zip(inputs, in_dtypes, strict=True):
        if type(x) is Tracer:
            operands.append(x if x.aval.dtype == dtype else cast(x, dtype))
        else:
            operands.append(dtype.type(x) if dtype.itemsize == 8 else typed_scalar(x, dtype))
    return rule(*operands, out=out_dtypes)


def normalize_out(out: Any, nout: int) -> tuple[Any, ...]:
    """`out=` as a tuple of `nout` tracers or Nones."""
    if out is None:
        return (None,) * nout
    if not isinstance(out, tuple):
        if nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    out = tuple(o.settled() if type(o) is Choice else o for o in out)
    for o in out:
        if o is not None and (o.scalar if is_tracer(o) else not isinstance(o, np.ndarray)):
            raise TypeError("return arrays must be of ArrayType")
    if len(out) < nout:
        out = (*out, *(None,) * (nout - len(out)))
    elif len(out) > nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    return tuple(o if o is None or is_tracer(o) else lifted_target(o) for o in out)


def strong(x: Any) -> Any:
    """The result of a NumPy function of Python scalars is a NumPy scalar, which promotes with its full dtype."""
    if x.aval.weak_type:
        x.aval = x.buffer.aval = aval = Aval(x.shape, x.dtype)
        if isinstance(x.buffer.value, Var):  # just made, and known to nobody else yet
            x.buffer.value.aval = aval
    return x


def in_bounds(ufunc: np.ufunc, operands: list[Any]) -> list[Any]:
    """A comparison with a Python int that the other side's dtype cannot hold has one answer; keep it that way.

    `u8_array < 300` becomes a comparison of 0 with 1: NumPy answers by value and never raises here.
    """
    first_is_scalar = is_python_scalar(operands[0])
    scalar, other = operands if first_is_scalar else operands[::-1]
    side = out_of_bounds(scalar, dtype_of(other))
    if not side:
        return operands
    zero, beyond = full(shape_of(other), np.int64(0)), np.int64(side)
    return [beyond, zero] if first_is_scalar else [zero, beyond]


def static_power(ufunc: np.ufunc, operands: list[Any], out_dtype: np.dtype) -> tuple[str, dict[str, int]] | None:
    """The primitive for a power whose exponent is a number known when traced, where one is better than `pow`.

    NumPy takes the same shortcuts, which shows at -0.0 and -inf: `x ** 0.5` of an array is its square root. Of complex
    numbers only its operators do (see `operators.power_shortcut`), and the square of a function is not `np.square`'s.
    """
    exponent = operands[1] if ufunc is np.power else None
    if exponent is None or is_tracer(exponent) or isinstance(exponent, bool | np.bool_):
        return None
    if out_dtype.kind in "iu":
        if exponent < 0 and out_dtype.kind == "u":
            return None  # the cast raises, as NumPy's does
        if exponent < 0 and is_tracer(operands[0]) and operands[0].size == 0:
            return "integer_pow", {"y": 1}  # of no element
        if exponent < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return ("integer_pow", {"y": exponent}) if isinstance(exponent, int) and exponent < 2**31 else None
    if out_dtype.kind == "c" and exponent in (-1, 0.5, 2):
        return None
    if exponent == 0.5 and ndim_of(operands[0]):
        return "sqrt", {}
    if (isinstance(exponent, int) and abs(exponent) < 2**31) or exponent in (-1.0, 1.0, 2.0):
        return "integer_pow", {"y": int(exponent.real)}
    return None


def store(result: Any, out: Any, where: Any, casting: str, name: str, shape: tuple[int, ...]) -> Any:
    """The result after `where=` and `out=`: written into `out` where there is one."""
    if out is None:
        mask = truth(operand(where))
        full_shape = broadcast_shapes(result, mask)
        # Where the mask is False NumPy leaves whatever the memory held; zero is as good.
        return bind(
            "select_n",
            broadcast_operand(mask, full_shape),
            result.dtype.type(0),
            broadcast_operand(result, full_shape),
        )
    check_cast(result.dtype, out.dtype, casting, f"ufunc '{name}' output")
    target = out.shape
    if np.broadcast_shapes(shape, target) != target:
        raise ValueError(
            f"non-broadcastable output operand with shape {spell(target)} doesn't match the broadcast shape "
            f"{spell(np.broadcast_shapes(shape, target))}"
        )
    value = broadcast_operand(cast(result, out.dtype), target)
    if where is not True:
        mask = broadcast_operand(truth(operand(where)), target)
        value = bind("select_n", mask, out, value)
    write(out, value)
    return out
