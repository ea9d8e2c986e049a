"""Operators on the numbers and arrays of a loop, as text: casts, arithmetic, comparisons, with NumPy's result types.

Numbers of NumPy's wrap and divide as NumPy's do, by the scalar functions of kernels (`add_i64`). Python's numbers raise
where Python raises, by checked functions (`checked_add`); what raises runs again in NumPy, for the message and for the
state that NumPy leaves.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir.avals import short_dtype_name
from ...primitives.arithmetic import POWERS_BY_ROOT, WHOLE_POWERS
from ..constants import computes_as_int
from .types import (
    BOOL,
    C128,
    EXACT,
    F64,
    I64,
    KINDS,
    LEAST,
    MOST,
    Number,
    UntranslatableError,
    Value,
    fits,
    literal,
    promote,
    weak_int,
)

SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "mod", "**": "pow", "&": "and",
          "|": "or", "^": "xor"}  # fmt: skip


_METHODS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "&": "and",
            "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
            "==": "eq", "!=": "ne"}  # fmt: skip


def call(name: str, dtype: np.dtype, *texts: str) -> str:
    """A scalar function of kernels for `dtype`."""
    return f"{name}_{short_dtype_name(dtype)}({', '.join(texts)})"


# ---- conversions ----


def strong(value: Value) -> Value:
    """A Python number as NumPy's functions take it."""
    kind = value.type
    assert isinstance(kind, Number)
    return Value(value.text, Number(kind.dtype), value.literal) if kind.weak else value


def cast(value: Value, dtype: np.dtype) -> str:
    """A number as `dtype`, as NumPy's `astype` converts."""
    assert isinstance(value.type, Number)
    source = value.type.dtype
    if source == dtype:
        return value.text
    if value.literal is not None and value.type.weak and dtype == F64 and value.type.kind in "bi":
        return repr(float(value.literal))
    text = value.text
    if source.kind == "c" and dtype.kind != "c":
        raise UntranslatableError("a complex number where a real one is needed")
    if dtype == BOOL:
        return f"({text} != 0)"
    if source.kind == "f" and dtype.kind in "iu" and dtype != I64:
        if dtype == np.uint64:
            return call("to_u64", source, text)
        text = f"np.int64({text})" if dtype.itemsize == 4 else f"np.int32({text})"
    return f"np.{dtype.name}({text})"


def operand(value: Value, dtype: np.dtype) -> str:
    """A number as an operand of an operation in `dtype`: Python's integers must fit, as NumPy asks."""
    kind = value.type
    assert isinstance(kind, Number)
    if kind.weak and kind.kind == "i" and dtype.kind in "iu" and not fits(kind, dtype):
        if dtype == np.uint64:
            if kind.interval[0] < 0:
                raise UntranslatableError("a Python integer that may be negative, with an unsigned one")
        elif value.literal is not None:
            raise UntranslatableError(f"the integer {value.literal}, which is no {dtype.name}")
        else:
            info = np.iinfo(dtype)
            return f"np.{dtype.name}(within({value.text}, {info.min}, {info.max}))"
    return cast(value, dtype)


def stored(value: Value, dtype: np.dtype) -> str:
    """A number as it is written into an array: what fits is cut to the array's dtype, as NumPy does. What does not fit
    raises, be it Python's number, for which NumPy raises, or one of NumPy's, which it wraps."""
    kind = value.type
    assert isinstance(kind, Number)
    if kind.weak and kind.kind == "i" and dtype.kind in "iu":
        return operand(value, dtype)
    if kind.kind == "f" and dtype.kind in "iu":
        return f"np.{dtype.name}(within(whole({value.text}), {np.iinfo(dtype).min}, {min(np.iinfo(dtype).max, MOST)}))"
    if kind.kind in "iu" and dtype.kind in "iu" and not kind.weak and not np.can_cast(kind.dtype, dtype):
        text = f"below_2_63({value.text})" if kind.dtype == np.uint64 else value.text
        held = np.iinfo(np.int64 if kind.dtype == np.uint64 else kind.dtype)
        info = np.iinfo(dtype)
        return f"np.{dtype.name}(within({text}, {max(info.min, held.min)}, {min(info.max, held.max)}))"
    return cast(value, dtype)


def made_of(value: Value, dtype: np.dtype) -> str:
    """A number of a list as an element of an array that is made of it, as it would be written into one."""
    kind = value.type
    assert isinstance(kind, Number)
    if kind.kind == "i" and dtype in (np.float32, np.complex64) and not kind.within(-EXACT, EXACT):
        number = f"below_2_63({value.text})" if kind.dtype == np.uint64 else value.text
        value = Value(f"within({number}, {-EXACT}, {EXACT})", Number(I64))  # others NumPy rounds twice
    return stored(value, dtype)


def as_type(value: Value, target: Number) -> str:
    """The value of a variable as the type that the variable has everywhere."""
    return cast(value, target.dtype)


def whole_text(value: Value) -> str:
    """What tells whether a number is one of Python's ints; empty where that is not known."""
    kind = value.type
    assert isinstance(kind, Number)
    if kind.python and kind.kind in "bi":
        return "True" if kind.weak else ""
    return value.whole if kind.ints else "False"


def whole_of(texts: Sequence[str], form: str) -> str:
    """What tells it of one of several numbers, as `form` picks it."""
    if not all(texts) or set(texts) == {"False"}:
        return ""
    return form.format(*texts)


def truth(value: Value) -> str:
    """The truth of a number."""
    if not isinstance(value.type, Number):
        raise UntranslatableError(f"the truth of {value.type}")
    return value.text if value.type.dtype == BOOL else f"({value.text} != 0)"


def index(value: Value) -> str:
    """A number as an index or length."""
    if not isinstance(value.type, Number) or value.type.dtype.kind not in "iu":
        raise UntranslatableError(f"{value.type} where an integer is needed")
    return f"np.int64({value.text})" if value.type.dtype == np.uint64 else value.text


# ---- arithmetic on numbers ----


_CHECKED = {"+": "checked_add", "-": "checked_sub", "*": "checked_mul"}


def binary(symbol: str, a: Value, b: Value, *, alone: bool = False) -> Value:
    """alone: the numbers are no elements of arrays, of which NumPy's products of complex numbers are fused."""
    x, y = a.type, b.type
    if not isinstance(x, Number) or not isinstance(y, Number):
        raise UntranslatableError(f"{symbol} between {x} and {y}")
    if x.enum or y.enum:
        return binary(symbol, *_as_numbers(_METHODS[symbol], a, b), alone=alone)
    if x.ints or y.ints:
        return _binary_of_wholes(symbol, a, b)
    if x.weak and y.weak:
        return _binary_of_pythons(symbol, a, b, alone=alone)
    if x.python and y.python and symbol in _CHECKED and (narrow := _narrow_dtype(x, y)) is not None:
        info = np.iinfo(narrow)
        text = f"{_CHECKED[symbol]}({cast(a, I64)}, {cast(b, I64)})"  # NumPy's would wrap, and Python's would not
        return Value(f"np.{narrow.name}(within({text}, {info.min}, {info.max}))", Number(narrow, unsure=True))
    dtype = promote(x, y)
    if symbol == "/" and dtype.kind in "biu":
        dtype = F64
    if dtype.char not in "?bhilqBHILQfdFD":
        raise UntranslatableError(f"arithmetic in {dtype}")
    left, right = operand(a, dtype), operand(b, dtype)
    unsure = x.python and y.python
    if unsure:  # as Python's numbers, as far as these agree with NumPy's; what they do not share raises
        if dtype.kind in "iu" and symbol in ("+", "-", "*", "<<") and dtype == I64:
            name = "checked_shift" if symbol == "<<" else _CHECKED[symbol]
            return Value(f"{name}({left}, {right})", Number(dtype, unsure=True))
        if symbol in ("/", "//", "%") and not (b.literal is not None and b.literal != 0):
            right = f"nonzero({right})"
        if symbol == "**" and dtype != F64:
            raise UntranslatableError("a power of numbers that may be Python's")
        if symbol == "**" and not (b.literal == 2 and y.kind == "i"):
            return Value(_power_of_pythons(b, left, right), Number(dtype, unsure=True))
    if dtype == BOOL:
        if symbol not in "+*&|^" or unsure and symbol in "+*":
            raise UntranslatableError(f"{symbol} between booleans{', which may be Python' if unsure else ''}")
        symbol = {"+": "|", "*": "&"}.get(symbol, symbol)
        return Value(f"({left} {symbol} {right})", Number(BOOL, unsure=unsure))
    if symbol in ("&", "|", "^", "<<", ">>") and dtype.kind not in "iu" or symbol in ("//", "%") and dtype.kind == "c":
        raise UntranslatableError(f"{symbol} in {dtype}")
    if symbol in ("//", "%") and dtype.kind in "iu" and type(b.literal) is int and b.literal > 0:
        text = f"np.{dtype.name}({left} {symbol} {right})"  # by a constant the machine multiplies
    elif symbol == "<<":
        text = call("shift_left", dtype, left, right)
    elif symbol == ">>":
        text = call("shift_right_arithmetic" if dtype.kind == "i" else "shift_right_logical", dtype, left, right)
    elif symbol == "**" and b.literal == 2 and y.kind == "i" and dtype.kind == "c" and alone:
        text = f"times_itself({left})"
    elif symbol == "**" and b.literal == 2 and y.kind == "i":
        text = call("square", dtype, left)
        text = f"unless_infinite({text}, {left})" if unsure else text
    elif symbol == "**" and dtype.kind == "f" and b.literal in (3, 4):  # as kernels multiply out
        square = call("square", dtype, left)
        text = f"({square} * {left})" if b.literal == 3 else call("square", dtype, square)
    elif symbol == "**" and dtype.kind == "f" and type(b.literal) is float and b.literal in POWERS_BY_ROOT:
        text = call(POWERS_BY_ROOT[b.literal], dtype, left)
    elif symbol == "**" and dtype.kind == "f" and b.literal == -2:
        text = call("pow_minus_two", dtype, left)
    elif symbol == "**" and dtype.kind == "f" and b.literal in WHOLE_POWERS:
        text = call(WHOLE_POWERS[int(b.literal)], dtype, left)
    elif symbol == "**" and dtype.kind in "iu":
        power = right if b.literal is not None and b.literal >= 0 or dtype.kind == "u" else f"nonnegative({right})"
        text = call("pow", dtype, left, power)
    elif symbol == "*" and dtype.kind == "c" and alone:
        text = f"times({left}, {right})"
    elif symbol in ("+", "-", "*", "/") and dtype.kind == "f":
        text = f"({left} {symbol} {right})"
    else:
        text = call(_NAMES[symbol], dtype, left, right)
    return Value(text, Number(dtype, unsure=unsure))


def as_number(value: Value, *, numpys: bool = False) -> Value:
    """A member of an `IntEnum` as the integer that Python's functions take it for, or NumPy's."""
    kind = value.type
    if not isinstance(kind, Number) or kind.enum is None:
        return value
    if numpys:  # which does not see one of Python's in it
        return Value(cast(value, I64), Number(I64), value.literal)
    return replace(value, type=replace(kind, enum=None))


def _as_numbers(method: str, *operands: Value) -> list[Value]:
    """The operands of an operator, of which some are members of an `IntEnum`, as the numbers that they are to it."""
    kinds = [v.type for v in operands if isinstance(v.type, Number)]
    for kind in kinds:
        if kind.enum is not None:
            if not computes_as_int(kind.enum, method):
                raise UntranslatableError(f"__{method}__ of {kind}, which its class defines")
        elif kind.unsure:
            raise UntranslatableError(f"{kind} that may be Python's, and a member of an enumeration")
    numpys = any(not kind.weak for kind in kinds)
    return [as_number(v, numpys=numpys) for v in operands]


def _narrow_dtype(x: Number, y: Number) -> np.dtype | None:
    """The dtype of integers of less than 64 bits, each of which may be one of Python's instead."""
    dtypes = {kind.dtype for kind in (x, y) if not kind.weak}
    if x.kind != "i" or y.kind != "i" or len(dtypes) != 1:
        return None
    (dtype,) = dtypes
    return dtype if dtype.itemsize < 8 else None


def _binary_of_wholes(symbol: str, a: Value, b: Value) -> Value:
    """Where floats may be ints of Python's: these know no -0.0, and no rounding."""
    texts = [whole_text(v) for v in (a, b)]
    plain = [_as_float_only(v, other.type) for v, other in ((a, b), (b, a))]  # type: ignore[arg-type]  # numbers
    found = binary(symbol, *plain)
    if "False" in texts or symbol == "/":
        return found
    return _of_wholes(found, f"({texts[0]} and {texts[1]})" if all(texts) else "")


def _as_float_only(value: Value, other: Number) -> Value:
    """A number that is no int of Python's, as far as that matters for an operation with another one."""
    kind = value.type
    assert isinstance(kind, Number)
    plain, text = replace(kind, ints=False, mixed=False), value.text
    if kind.ints and value.whole and not other.python and promote(plain, other) != promote(weak_int(0, 0), other):
        text = f"as_float({text}, {value.whole})"
    return replace(value, text=text, type=plain, whole="")


def _of_wholes(found: Value, whole: str) -> Value:
    """A float that is an int where `whole` says so. Where that is not known, it is taken for a float."""
    kind = found.type
    assert isinstance(kind, Number)
    text = f"as_whole({found.text}, {whole})" if whole else found.text
    return Value(text, replace(kind, ints=True, mixed=kind.weak), whole=whole)


def _binary_of_pythons(symbol: str, a: Value, b: Value, *, alone: bool = False) -> Value:
    x, y = a.type, b.type
    assert isinstance(x, Number) and isinstance(y, Number)
    if x.kind == "b" and y.kind == "b" and symbol in "&|^":
        return Value(f"({a.text} {symbol} {b.text})", Number(BOOL, True, (0, 1)))
    kind = max(x.kind, y.kind, "i", key=KINDS.index)
    if kind == "i" and symbol != "/":
        return _binary_of_ints(symbol, *(Value(cast(v, I64), v.type, v.literal, v.known) for v in (a, b)))
    dtype = C128 if kind == "c" else F64
    left, right = (_as_float(v, dtype) for v in (a, b))
    nonzero = b.literal is not None and b.literal != 0 or y.kind == "i" and (y.interval[0] > 0 or y.interval[1] < 0)
    divisor = right if nonzero else f"nonzero({right})"
    match symbol:
        case "*" if kind == "c" and alone:
            text = f"times({left}, {right})"
        case "+" | "-" | "*" if kind != "c":
            text = f"({left} {symbol} {right})"
        case "/" if kind != "c":
            text = f"({left} / {divisor})"
        case "+" | "-" | "*" | "/":
            text = call(_NAMES[symbol], dtype, left, divisor if symbol == "/" else right)
        case "//" | "%" if kind != "c":
            text = call(_NAMES[symbol], dtype, left, divisor)
        case "**" if kind != "c" and b.literal == 2:
            text = f"unless_infinite(square_f64({left}), {left})"
        case "**" if kind != "c":
            text = _power_of_pythons(b, left, right)
        case _:
            raise UntranslatableError(f"{symbol} between {x} and {y}")
    return Value(text, Number(dtype, True))


def _power_of_pythons(exponent: Value, left: str, right: str) -> str:
    return f"root_of_python({left})" if exponent.literal == 0.5 else f"power_of_python({left}, {right})"


def _as_float(value: Value, dtype: np.dtype) -> str:
    kind = value.type
    assert isinstance(kind, Number)
    if kind.kind == "i" and not kind.within(-EXACT, EXACT):
        return cast(Value(f"within({value.text}, {-EXACT}, {EXACT})", kind), dtype)
    return cast(value, dtype)


def _binary_of_ints(symbol: str, a: Value, b: Value) -> Value:
    x, y = a.type, b.type
    assert isinstance(x, Number) and isinstance(y, Number)
    (low, high), (start, end) = x.interval, y.interval
    known = None
    match symbol:
        case "+":
            interval = (low + start, high + end)
            known = a.known + b.known if a.known is not None and b.known is not None else None
        case "-":
            interval = (low - end, high - start)
            known = a.known - b.known if a.known is not None and b.known is not None else None
        case "*":
            corners = [low * start, low * end, high * start, high * end]
            interval = (min(corners), max(corners))
        case "//" | "%":
            divisor = b.text if start > 0 or end < 0 else f"nonzero({b.text})"
            safe = start > 0
            if symbol == "//":
                result = weak_int(-max(abs(low), abs(high)), max(abs(low), abs(high)))
                result = weak_int(low // start, high // start) if start == end and start > 0 else result
                result = weak_int(0, high) if low >= 0 and start > 0 else result
                if a.known is not None and b.known:
                    known = a.known // b.known
            else:
                result = (
                    weak_int(0, end - 1)
                    if start > 0
                    else weak_int(-max(abs(start), abs(end)), max(abs(start), abs(end)))
                )
            text = f"({a.text} {symbol} {divisor})" if safe else call(_NAMES[symbol], I64, a.text, divisor)
            return Value(text, result, None, known)
        case "&" | "|" | "^":
            if symbol == "&" and (start >= 0 or low >= 0):
                ceilings = [top for bottom, top in ((low, high), (start, end)) if bottom >= 0]
                return Value(f"({a.text} & {b.text})", weak_int(0, min(ceilings)))
            bits = max(abs(low), abs(high), abs(start), abs(end)).bit_length()
            bottom = 0 if low >= 0 and start >= 0 else -(2**bits)
            return Value(f"({a.text} {symbol} {b.text})", weak_int(bottom, 2**bits - 1))
        case "<<":
            if b.literal is not None and 0 <= b.literal < 63:
                return _binary_of_ints("*", a, Value(str(2**b.literal), weak_int(2**b.literal, 2**b.literal)))
            return Value(f"checked_shift({a.text}, {b.text})", weak_int(LEAST, MOST))
        case ">>":
            count = b.text if start >= 0 else f"nonnegative({b.text})"
            shifted = f"({a.text} >> {count})" if end < 64 else f"({a.text} >> min({count}, 63))"
            return Value(shifted, weak_int(min(low, -1 if low < 0 else 0), max(high, 0)))
        case "**":
            if type(a.literal) is int and type(b.literal) is int and 0 <= b.literal < 64:
                return literal(a.literal**b.literal)
            if end < 0:
                return _binary_of_pythons("**", *(Value(_as_float(v, F64), Number(F64, True)) for v in (a, b)))
            count = b.text if start >= 0 else f"nonnegative({b.text})"
            if b.literal is None and a.literal == 2:
                return Value(f"checked_shift(1, {count})", weak_int(1, MOST))
            if b.literal is None and a.literal == -1:
                return Value(f"(1 - 2 * ({count} & 1))", weak_int(-1, 1))
            if b.literal is None or b.literal > 8:
                return Value(f"checked_power({a.text}, {count})", weak_int(0 if low >= 0 else LEAST, MOST))
            result = Value("1", weak_int(1, 1))
            for _ in range(b.literal):
                result = _binary_of_ints("*", result, a) if result.text != "1" else a
            return result
        case _:
            raise UntranslatableError(f"{symbol} between integers")
    name = {"+": "checked_add", "-": "checked_sub", "*": "checked_mul"}[symbol]
    fine = interval[0] >= LEAST and interval[1] <= MOST
    text = f"({a.text} {symbol} {b.text})" if fine else f"{name}({a.text}, {b.text})"
    return Value(text, weak_int(*interval), None, known)


def unary(op: ast.unaryop, value: Value) -> Value:
    if isinstance(value.type, Number) and value.type.enum:
        (value,) = _as_numbers({ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(op)], value)
    if isinstance(op, ast.USub):
        return negative(value)
    if isinstance(op, ast.Invert):
        return invert(value)
    if isinstance(value.type, Number) and value.type.dtype == BOOL:
        raise UntranslatableError(f"+ of {value.type}")
    return value


def negative(value: Value) -> Value:
    kind = value.type
    if not isinstance(kind, Number) or kind.dtype == BOOL:
        raise UntranslatableError(f"- of {kind}")
    if kind.weak and kind.kind == "i":
        return _binary_of_ints("-", Value("0", weak_int(0, 0), 0, 0), value)
    text = f"(-{value.text})" if kind.kind == "f" else call("neg", kind.dtype, value.text)
    if kind.ints:
        return _of_wholes(Value(text, Number(kind.dtype, kind.weak, unsure=kind.unsure)), value.whole)
    return Value(text, Number(kind.dtype, kind.weak, single=kind.single, unsure=kind.unsure))


def turned_angle(value: Value, over: float, under: float) -> Value:
    """`value * (over / under)`, as NumPy turns degrees to radians, and back."""
    kind = value.type
    if not isinstance(kind, Number) or kind.dtype.char not in "bhilqBHILQfd" or kind.dtype.itemsize < 4:
        raise UntranslatableError(f"an angle that is {kind}")
    dtype = kind.dtype if kind.kind == "f" else F64
    return Value(
        f"({cast(value, dtype)} * np.{dtype.name}({float(dtype.type(over) / dtype.type(under))!r}))", Number(dtype)
    )


def invert(value: Value) -> Value:
    kind = value.type
    if not isinstance(kind, Number) or kind.dtype.kind not in "biu" or kind.python and kind.dtype == BOOL:
        raise UntranslatableError(f"~ of {kind}")
    if kind.dtype == BOOL:
        return Value(f"(not {value.text})", Number(BOOL))
    if kind.weak:
        return Value(f"(~{value.text})", weak_int(-kind.interval[1] - 1, -kind.interval[0] - 1))
    return Value(call("not", kind.dtype, value.text), Number(kind.dtype))


# ---- comparisons ----


def _common_dtype(x: Number, y: Number) -> np.dtype | None:
    """A dtype that holds both numbers, so that it decides nothing."""
    if x.dtype == y.dtype:
        return x.dtype
    weak, other = (x, y) if x.weak else (y, x)
    return other.dtype if weak.weak and fits(weak, other.dtype) else None


def compare(symbol: str, a: Value, b: Value) -> Value:
    x, y = a.type, b.type
    if not isinstance(x, Number) or not isinstance(y, Number):
        raise UntranslatableError(f"{symbol} between {x} and {y}")
    if x.enum or y.enum:
        return compare(symbol, *_as_numbers(_METHODS[symbol], a, b))
    result = Number(BOOL, x.weak and y.weak, (0, 1))
    if x.kind in "bi" and y.kind in "bi":
        if np.dtype(np.uint64) in (x.dtype, y.dtype):
            dtype = np.dtype(np.uint64)
            signed = x if x.dtype != dtype else y
            if (
                signed.dtype != dtype
                and (signed.kind == "i" and signed.dtype.kind != "u")
                and (not signed.weak or signed.interval[0] < 0)
            ):
                raise UntranslatableError("a comparison of uint64 and a signed integer")
        else:
            dtype = I64
        left, right = cast(a, dtype), cast(b, dtype)
    elif x.weak and y.weak:
        dtype = C128 if "c" in (x.kind, y.kind) else F64
        left, right = _as_float(a, dtype), _as_float(b, dtype)
    elif x.python and y.python and (common := _common_dtype(x, y)) is not None:
        dtype = common
        left, right = cast(a, dtype), cast(b, dtype)
    else:
        dtype = promote(x, y)
        left, right = operand(a, dtype), operand(b, dtype)
    if dtype.kind == "c":
        if symbol not in ("==", "!="):
            raise UntranslatableError("an order of complex numbers")
        return Value(call("eq" if symbol == "==" else "ne", dtype, left, right), result)
    return Value(f"({left} {symbol} {right})", result)
