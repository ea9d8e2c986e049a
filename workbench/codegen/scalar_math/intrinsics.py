"""Single LLVM instructions as numba functions: what the elementary functions are built from.

numba's own spellings will not do: `math.floor` returns an integer, a conditional expression is a branch, integer `+` is
undefined on overflow (NumPy's wraps), and there is no fused multiply-add. Each intrinsic here is one instruction of
the vectoriser's.
"""

from __future__ import annotations

from .registry import COMPLEXES, FLOATS, INTEGERS, SIGNED, UNSIGNED, library

_TYPES = {
    "f64": "types.float64", "f32": "types.float32", "c128": "types.complex128", "c64": "types.complex64",
    "bool": "types.boolean", "i8": "types.int8", "i16": "types.int16", "i32": "types.int32", "i64": "types.int64",
    "u8": "types.uint8", "u16": "types.uint16", "u32": "types.uint32", "u64": "types.uint64",
}  # fmt: skip


def _instruction(
    name: str, doc: str, arguments: str, result: str, operands: tuple[str, ...], call: str, dtypes: tuple[str, ...]
) -> None:
    """An intrinsic `name` whose LLVM form is the expression `call` of `builder` and `args`."""
    for short in dtypes:
        bits = short[1:]
        kinds = {"T": _TYPES[short], "bool": "types.boolean", "I": f"types.int{bits}", "u8": "types.uint8"}
        if short in FLOATS:
            kinds["C"] = _TYPES["c128" if short == "f64" else "c64"]
        signature = f"{kinds[result]}({', '.join(kinds[kind] for kind in operands)})"
        library(
            f"@intrinsic\n"
            f"def {name}_{short}(typingctx, {arguments}):\n"
            f'    """{doc}"""\n\n'
            f"    def codegen(context, builder, signature, args):\n"
            f"        return {call}\n\n"
            f"    return {signature}, codegen\n"
        )


def _llvm(name: str, flags: str = "") -> str:
    kind = "ir.FunctionType(args[0].type, [a.type for a in args])"
    declared = f'builder.module.declare_intrinsic("llvm.{name}", [args[0].type], {kind})'
    return f"builder.call({declared}, args{flags and ', ' + flags})"


# ---- floats ----
for _name, _doc, _call in (
    ("floor", "The largest whole number <= x.", _llvm("floor")),
    ("ceil", "The smallest whole number >= x.", _llvm("ceil")),
    ("trunc", "x without its fraction.", _llvm("trunc")),
    ("rint", "The nearest whole number, ties to even.", _llvm("rint")),
    ("fabs", "|x|.", _llvm("fabs")),
    ("sqrt", "The square root, correctly rounded.", _llvm("sqrt")),
    ("negative", "-x, which flips the sign of a zero.", "builder.fneg(*args)"),
):
    _instruction(_name, _doc, "x", "T", ("T",), _call, FLOATS)

# LLVM's own forms, unlike selects, also vectorise as the accumulator of a reduction.
_instruction("maximum", "The larger one; NaN if either is.", "a, b", "T", ("T", "T"), _llvm("maximum"), FLOATS)
_instruction("minimum", "The smaller one; NaN if either is.", "a, b", "T", ("T", "T"), _llvm("minimum"), FLOATS)

_instruction("copysign", "The magnitude of x with the sign of y.", "x, y", "T", ("T", "T"), _llvm("copysign"), FLOATS)
_instruction("fma", "a * b + c, rounded once.", "a, b, c", "T", ("T", "T", "T"), "builder.fma(*args)", FLOATS)
_instruction("bits", "The bit pattern of x.", "x", "I", ("T",), "builder.bitcast(args[0], ir.IntType(64))", ("f64",))
_instruction("bits", "The bit pattern of x.", "x", "I", ("T",), "builder.bitcast(args[0], ir.IntType(32))", ("f32",))
_instruction("from_bits", "The number with this bit pattern.", "bits", "T", ("I",),
             "builder.bitcast(args[0], ir.DoubleType())", ("f64",))  # fmt: skip
_instruction("from_bits", "The number with this bit pattern.", "bits", "T", ("I",),
             "builder.bitcast(args[0], ir.FloatType())", ("f32",))  # fmt: skip

# For accumulators: LLVM may reorder a chain of these, and so keep several partial sums in a vector; nothing else in
# the kernel may be reassociated, since that would fold the rounding steps of the elementary functions away.
_instruction("add_reassoc", "acc + x, in any order.", "acc, x", "T", ("T", "T"),
             'builder.fadd(*args, flags=["reassoc"])', FLOATS)  # fmt: skip
_instruction("mul_reassoc", "acc * x, in any order.", "acc, x", "T", ("T", "T"),
             'builder.fmul(*args, flags=["reassoc"])', FLOATS)  # fmt: skip
# Which of two zeros is the larger one takes half of the instructions, and NumPy's folds do not say it either.
for _name, _doc in (("maximum", "larger"), ("minimum", "smaller")):
    _instruction(f"{_name}_reassoc", f"The {_doc} one, of zeros either; NaN if either is.", "acc, x", "T", ("T", "T"),
                 _llvm(_name, flags='fastmath=("nsz",)'), FLOATS)  # fmt: skip

# ---- choices ----
_instruction("select", "a where c, else b; both are computed.", "c, a, b", "T", ("bool", "T", "T"),
             "builder.select(*args)", FLOATS + INTEGERS + COMPLEXES + ("bool",))  # fmt: skip

# ---- integers: operands and result of one type, wrapping ----
for _name, _doc, _call in (
    ("add", "a + b, wrapping.", "builder.add(*args)"),
    ("sub", "a - b, wrapping.", "builder.sub(*args)"),
    ("mul", "a * b, wrapping.", "builder.mul(*args)"),
    ("and", "a & b.", "builder.and_(*args)"),
    ("or", "a | b.", "builder.or_(*args)"),
    ("xor", "a ^ b.", "builder.xor(*args)"),
    ("raw_shl", "a << b for b below the width.", "builder.shl(*args)"),
    ("raw_lshr", "a >> b, filling with zeros, for b below the width.", "builder.lshr(*args)"),
    ("raw_ashr", "a >> b, filling with the sign, for b below the width.", "builder.ashr(*args)"),
):
    _instruction(_name, _doc, "a, b", "T", ("T", "T"), _call, INTEGERS)
_instruction("neg", "-a, wrapping.", "a", "T", ("T",), "builder.neg(*args)", INTEGERS)
_instruction("not", "~a.", "a", "T", ("T",), "builder.not_(*args)", INTEGERS + ("bool",))
_instruction("raw_div", "a / b, towards zero; b is not 0.", "a, b", "T", ("T", "T"), "builder.sdiv(*args)", SIGNED)
_instruction("raw_rem", "The remainder, a's sign; b is not 0.", "a, b", "T", ("T", "T"), "builder.srem(*args)", SIGNED)
_instruction("raw_div", "a / b; b is not 0.", "a, b", "T", ("T", "T"), "builder.udiv(*args)", UNSIGNED)
_instruction("raw_rem", "The remainder; b is not 0.", "a, b", "T", ("T", "T"), "builder.urem(*args)", UNSIGNED)
_instruction("raw_ctpop", "How many bits are set.", "a", "T", ("T",), "builder.ctpop(args[0])", INTEGERS)
