"""Scalar arithmetic as LLVM assembly: operations on typed values by numba's rules, written as text.

Types are short dtype names. Text is written at once: objects for instructions, as `llvmlite.ir` makes them, would take
several times as long for a kernel of a thousand equations.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..ir.avals import DTYPES_BY_SHORT_NAME
from .scalar_math.direct import UnsupportedSourceError
from .scalar_math.texts import function_text, paste

LLVM_TYPES = {"bool": "i1", "f32": "float", "f64": "double", "c64": "{float, float}", "c128": "{double, double}"} | {
    f"{sign}{bits}": f"i{bits}" for sign in "iu" for bits in (8, 16, 32, 64)
}
PARTS = {"c64": "f32", "c128": "f64"}
WIDTHS = {"bool": 1} | {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_FLOAT_OPS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INT_OPS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
# No kernel has arrays of so many elements; so far from overflow, sums and products of indices do not wrap.
INDEX_LIMIT = 1 << 62
# The flag of sums and products of folds.
REASSOC = "reassoc"
# Whole numbers up to here are the same in every type of floats.
EXACT_IN_F32 = 1 << 24


class Value(NamedTuple):
    """A scalar: `text` is how an instruction names it. constant: of a literal, so that a cast of it is rounded once;
    natural: an integer that is known not to be negative, and far from overflow (a length, an index)."""

    short: str
    text: str
    constant: float | int | None = None
    natural: bool = False


def constant(short: str, value: float | int) -> Value:
    """A literal of a dtype."""
    if short == "bool":
        return Value(short, "true" if value else "false", int(value))
    if short[0] == "f":
        value = float(np.dtype(DTYPES_BY_SHORT_NAME[short]).type(value))
        return Value(short, "0x" + struct.pack(">d", value).hex(), value)
    if short[0] == "c":
        raise UnsupportedSourceError("a complex literal")
    return Value(short, str(value), value, short == "i64" and value >= 0)


class Code:
    """The instructions of one function while they are written. declared: the functions that it calls, by symbol;
    library: those among them that the library defines; flags: of the arithmetic of floats, see `kernel.FAST`."""

    def __init__(self, flags: Sequence[str] = ()) -> None:
        self.flags = "".join(f" {flag}" for flag in flags)
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.label = "entry"
        self.declared: dict[str, str] = {}
        self.library: dict[str, None] = {}
        self._n = 0

    def fresh(self) -> str:
        self._n += 1
        return f"%v{self._n}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def op(self, text: str) -> str:
        """The name of an instruction's result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def new_label(self, title: str) -> str:
        self._n += 1
        return f"{title}{self._n}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    def slot(self, kind: str) -> str:
        """A variable in memory, which LLVM makes a register again."""
        name = self.fresh()
        self.slots.append(f"  {name} = alloca {kind}")
        return name

    def intrinsic(self, symbol: str, result: str, *operands: tuple[str, str]) -> str:
        """A call of one of LLVM's functions: operands are (type, text)."""
        kinds = ", ".join(kind for kind, _ in operands)
        self.declared.setdefault(symbol, f'declare {result} @"{symbol}"({kinds})')
        call = f'call {result} @"{symbol}"({", ".join(f"{kind} {text}" for kind, text in operands)})'
        if result != "void":
            return self.op(call)
        self.line(call)
        return ""

    # ---- arithmetic ----

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """`a op b`. UnsupportedSourceError for operands that numba would convert to a third type."""
        if op in ("//", "%"):
            return self._divide(op, a, b)
        if a.short[0] in "iu" and b.short[0] in "iu":
            a, b = self._widened(a, b)
        elif a.short[0] == b.short[0] and a.short[0] in "fc":
            wide = a.short if len(a.short) > len(b.short) else max(a.short, b.short)
            a, b = self.cast(a, wide), self.cast(b, wide)
        if a.short != b.short:
            raise UnsupportedSourceError(f"{a.short} {op} {b.short}")
        kind = LLVM_TYPES[a.short]
        if a.short[0] == "f" and op in _FLOAT_OPS:
            return Value(a.short, self.op(f"{_FLOAT_OPS[op]}{self.flags} {kind} {a.text}, {b.text}"))
        if a.short[0] == "c" and op in ("+", "-"):
            parts = [self.binary(op, self.part(a, i), self.part(b, i)) for i in (0, 1)]
            return self.pair(a.short, *parts)
        if a.short[0] == "c" and op == "*":
            (p, q), (r, s) = ((self.part(x, 0), self.part(x, 1)) for x in (a, b))
            real = self.binary("-", self.binary("*", p, r), self.binary("*", q, s))
            return self.pair(a.short, real, self.binary("+", self.binary("*", p, s), self.binary("*", q, r)))
        if a.short == "bool" and op in ("&", "|", "^"):
            return Value("bool", self.op(f"{_INT_OPS[op]} i1 {a.text}, {b.text}"))
        if a.short[0] in "iu" and op in _INT_OPS:
            natural = a.natural and b.natural
            flags = {"+": " nuw nsw", "*": " nuw nsw", "-": " nsw"}.get(op, "") if natural else ""
            text = self.op(f"{_INT_OPS[op]}{flags} {kind} {a.text}, {b.text}")
            return Value(a.short, text, natural=natural and op in ("+", "*", "&"))
        raise UnsupportedSourceError(f"{a.short} {op} {b.short}")

    def _widened(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Integers as numba computes with them: in 64 bits."""
        if a.short[0] != b.short[0]:
            # A literal takes the other's sign; otherwise numba goes by way of a float or a wider integer.
            if a.constant is None and b.constant is not None and b.constant >= 0:
                b = Value(a.short[0] + b.short[1:], b.text, b.constant)
            else:
                raise UnsupportedSourceError(f"{a.short} with {b.short}")
        wide = a.short[0] + "64"
        return self.cast(a, wide), self.cast(b, wide)

    def _divide(self, op: str, a: Value, b: Value) -> Value:
        """Python's integer division and remainder of indices. Nobody divides by zero but LLVM, in front of a loop that
        does nothing: then as by 1."""
        if a.short != "i64" or b.short != "i64" or b.constant == 0:
            raise UnsupportedSourceError(f"{a.short} {op} {b.short}")
        divisor = b.text
        if b.constant is None:
            divisor = self.op(f"select i1 {self.op(f'icmp eq i64 {b.text}, 0')}, i64 1, i64 {b.text}")
        if a.natural and b.natural:
            return Value("i64", self.op(f"{'udiv' if op == '//' else 'urem'} i64 {a.text}, {divisor}"), natural=True)
        rest = self.op(f"srem i64 {a.text}, {divisor}")
        differs = self.op(f"icmp slt i64 {self.op(f'xor i64 {rest}, {divisor}')}, 0")
        below = self.op(f"and i1 {differs}, {self.op(f'icmp ne i64 {rest}, 0')}")
        if op == "%":
            moved = self.op(f"add nsw i64 {rest}, {divisor}")
            return Value("i64", self.op(f"select i1 {below}, i64 {moved}, i64 {rest}"), natural=b.natural)
        quotient = self.op(f"sdiv i64 {a.text}, {divisor}")
        lower = self.op(f"sub nsw i64 {quotient}, 1")
        return Value("i64", self.op(f"select i1 {below}, i64 {lower}, i64 {quotient}"))

    def negative(self, a: Value) -> Value:
        if a.constant is not None and a.short[0] in "iu":
            return self._cast_constant(-a.constant, a.short[0] + "64")
        if a.constant is not None and a.short[0] == "f":
            return constant(a.short, -a.constant)
        if a.short[0] == "f":
            return Value(a.short, self.op(f"fneg {LLVM_TYPES[a.short]} {a.text}"))
        if a.short[0] == "c":
            return self.pair(a.short, *(self.negative(self.part(a, i)) for i in (0, 1)))
        if a.short[0] in "iu":
            a = self.cast(a, a.short[0] + "64")
            return Value(a.short, self.op(f"sub i64 0, {a.text}"))
        raise UnsupportedSourceError(f"-{a.short}")

    def inverted(self, a: Value) -> Value:
        if a.short == "bool":
            return Value(a.short, self.op(f"xor i1 {a.text}, true"))
        if a.short[0] in "iu":
            a = self.cast(a, a.short[0] + "64")
            return Value(a.short, self.op(f"xor i64 {a.text}, -1"))
        raise UnsupportedSourceError(f"~{a.short}")

    def compare(self, op: str, a: Value, b: Value) -> Value:
        if a.short[0] in "iu" and b.short[0] in "iu":
            a, b = self._widened(a, b)
        elif a.short[0] in "fc" and b.short == "i64" and b.constant is not None and abs(b.constant) <= EXACT_IN_F32:
            b = self.cast(b, a.short)
        if a.short != b.short:
            raise UnsupportedSourceError(f"{a.short} {op} {b.short}")
        kind = LLVM_TYPES[a.short]
        if a.short[0] == "f":
            how = "fcmp " + {"==": "oeq", "!=": "une"}.get(op, f"o{_COMPARISONS.get(op)}")
        elif a.short[0] == "c":
            if op not in ("==", "!="):
                raise UnsupportedSourceError(f"{a.short} {op} {b.short}")
            real, imag = (self.compare(op, self.part(a, i), self.part(b, i)).text for i in (0, 1))
            return Value("bool", self.op(f"{'and' if op == '==' else 'or'} i1 {real}, {imag}"))
        else:
            sign = "s" if a.short[0] == "i" else "u"
            how = "icmp " + {"==": "eq", "!=": "ne"}.get(op, f"{sign}{_COMPARISONS.get(op)}")
        return Value("bool", self.op(f"{how} {kind} {a.text}, {b.text}"))

    def truth(self, a: Value) -> Value:
        """Whether `a` is not zero."""
        if a.short == "bool":
            return a
        if a.short[0] == "c":
            parts = [self.truth(self.part(a, i)).text for i in (0, 1)]
            return Value("bool", self.op(f"or i1 {parts[0]}, {parts[1]}"))
        return self.compare("!=", a, constant(a.short, 0))

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        if a.short != b.short or condition.short != "bool":
            raise UnsupportedSourceError(f"a choice between {a.short} and {b.short}")
        kind = LLVM_TYPES[a.short]
        text = self.op(f"select i1 {condition.text}, {kind} {a.text}, {kind} {b.text}")
        return Value(a.short, text, natural=a.natural and b.natural)

    def extreme(self, name: str, a: Value, b: Value) -> Value:
        """min or max of indices."""
        if a.short != "i64" or b.short != "i64":
            raise UnsupportedSourceError(f"{name} of {a.short} and {b.short}")
        text = self.intrinsic(f"llvm.s{name}.i64", "i64", ("i64", a.text), ("i64", b.text))
        return Value("i64", text, natural=a.natural and b.natural)

    def part(self, a: Value, index: int) -> Value:
        return Value(PARTS[a.short], self.op(f"extractvalue {LLVM_TYPES[a.short]} {a.text}, {index}"))

    def pair(self, short: str, real: Value, imag: Value) -> Value:
        kind, part = LLVM_TYPES[short], LLVM_TYPES[PARTS[short]]
        half = self.op(f"insertvalue {kind} undef, {part} {real.text}, 0")
        return Value(short, self.op(f"insertvalue {kind} {half}, {part} {imag.text}, 1"))

    # ---- conversions and calls ----

    def cast(self, a: Value, target: str) -> Value:
        """A conversion as numba's: of floats to integers without a check of the range."""
        source = a.short
        if source == target:
            return a
        if a.constant is not None and target != "bool" and target not in PARTS:
            if target[0] == "f" or isinstance(a.constant, int):
                return self._cast_constant(a.constant, target)
        if target == "bool":
            return self.truth(a)
        kind, own = LLVM_TYPES[target], LLVM_TYPES[source]
        unsigned = source[0] in "bu"
        match source[0], target[0]:
            case ("f", "f"):
                how = "fpext" if target == "f64" else "fptrunc"
            case ("f", "i" | "u"):
                how = "fptosi" if target[0] == "i" else "fptoui"
            case ("b" | "i" | "u", "f"):
                how = "uitofp" if unsigned else "sitofp"
            case ("b" | "i" | "u", "i" | "u"):
                if WIDTHS[source] == WIDTHS[target]:
                    return Value(target, a.text)
                how = "trunc" if WIDTHS[source] > WIDTHS[target] else "zext" if unsigned else "sext"
            case ("c", "c"):
                return self.pair(target, *(self.cast(self.part(a, i), PARTS[target]) for i in (0, 1)))
            case ("b" | "i" | "u" | "f", "c"):
                part = PARTS[target]
                return self.pair(target, self.cast(a, part), constant(part, 0.0))
            case _:
                raise UnsupportedSourceError(f"{source} to {target}")
        return Value(target, self.op(f"{how} {own} {a.text} to {kind}"))

    @staticmethod
    def _cast_constant(value: float | int, target: str) -> Value:
        if target[0] == "f":
            return constant(target, value)
        bits = WIDTHS[target]
        wrapped = int(value) % (1 << bits)
        return constant(target, wrapped - (1 << bits) if target[0] == "i" and wrapped >> (bits - 1) else wrapped)

    def call(self, name: str, arguments: list[Value]) -> Value:
        """A call of a function of the library."""
        found = function_text(name)
        if len(found.parameters) != len(arguments):
            raise UnsupportedSourceError(f"{name} of {len(arguments)} arguments")
        values = [self.cast(a, short) for a, short in zip(arguments, found.parameters, strict=True)]
        if found.pasted is not None:
            lines, result = paste(found, [v.text for v in values], self.fresh)
            if self.flags:  # of a fold, so that it takes the product before it
                lines = [line.replace(f" {REASSOC} ", f"{self.flags} ") for line in lines]
            self.library.update(dict.fromkeys(found.needed))
            self.lines.extend(f"  {line}" for line in lines)
            return Value(found.result, result)
        self.library[found.symbol] = None
        operands = ", ".join(f"{LLVM_TYPES[v.short]} {v.text}" for v in values)
        return Value(found.result, self.op(f'call {LLVM_TYPES[found.result]} @"{found.symbol}"({operands})'))
