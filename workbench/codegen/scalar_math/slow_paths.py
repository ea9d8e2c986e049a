"""Library calls for the few arguments that a fast path cannot serve, in loops that stay vectorised.

A call of the C library makes a whole loop scalar. These calls come with vector forms of their own (LLVM's
`vector-function-abi-variant`): a vector form tests whether any lane needs the library, returns the fast results if none
does, and otherwise calls it for those lanes one by one. So `sin` of 1e300 is as accurate as the C library's while an
array of ordinary numbers pays one comparison.
"""

from __future__ import annotations

from .registry import library

library(
    '''
def emit_slow_path(builder, name, symbol, n_passed, is_slow, args):
    """Call `symbol` of the C library on the first `n_passed` of `args` where `is_slow`, else give the last of `args`.

    is_slow(builder, args, constant, magnitude) builds the condition, of scalars and of vectors.
    """
    module, scalar = builder.module, args[0].type
    index = ir.IntType(32)
    suffix = "f64" if scalar == ir.DoubleType() else "f32"

    def declare(symbol, result, operands):
        if symbol in module.globals:
            return module.globals[symbol]
        return ir.Function(module, ir.FunctionType(result, operands), symbol)

    def define(symbol, width):
        kind = ir.VectorType(scalar, width) if width else scalar
        function = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), symbol)
        function.linkage = "linkonce_odr"  # several modules of one kernel may have it, and its name must stay
        # llvmlite knows none of the last three by name. What may be computed early leaves the branches of a loop: those
        # that hold several calls keep LLVM's vectoriser busy for minutes.
        for attribute in ("noinline", "nounwind", "willreturn", "speculatable", "memory(none)"):
            set.add(function.attributes, attribute)
        body = ir.IRBuilder(function.append_basic_block("entry"))
        fabs = declare(f"llvm.fabs.v{width}{suffix}" if width else f"llvm.fabs.{suffix}", kind, [kind])

        def constant(value):
            return ir.Constant(kind, [value] * width if width else value)

        slow = is_slow(body, function.args, constant, lambda x: body.call(fabs, [x]))
        if width:
            flags = ir.VectorType(ir.IntType(1), width)
            slow = body.call(declare(f"llvm.vector.reduce.or.v{width}i1", ir.IntType(1), [flags]), [slow])
        fast_block, slow_block = function.append_basic_block("fast"), function.append_basic_block("slow")
        body.cbranch(slow, slow_block, fast_block)
        body.position_at_end(fast_block)
        body.ret(function.args[-1])
        body.position_at_end(slow_block)
        return function, body

    if name not in module.globals:
        one, body = define(name, 0)
        body.ret(body.call(declare(symbol, scalar, [scalar] * n_passed), one.args[:n_passed]))
        variants = []
        for width in (2, 4, 8, 16):
            many, body = define(f"{name}_x{width}", width)
            result = many.args[-1]
            for lane in range(width):
                at = ir.Constant(index, lane)
                value = body.call(one, [body.extract_element(x, at) for x in many.args])
                result = body.insert_element(result, value, at)
            body.ret(result)
            variants.append(many)
        mapping = ",".join(
            f"_ZGV_LLVM_N{many.return_value.type.count}{'v' * len(args)}_{name}({many.name})" for many in variants
        )
        set.add(one.attributes, f'"vector-function-abi-variant"="{mapping}"')
        # Nothing calls the vector forms until the loop is vectorised: keep them until then.
        used = module.globals.get("llvm.compiler.used")
        kept = variants + (list(used.initializer.constant) if used else [])
        table = ir.ArrayType(ir.PointerType(), len(kept))
        if used is None:
            used = ir.GlobalVariable(module, table, "llvm.compiler.used")
            used.linkage, used.section = "appending", "llvm.metadata"
        used.value_type, used.initializer = table, ir.Constant(table, kept)
    return builder.call(module.globals[name], args)
'''
)


def _slow_path(name: str, doc: str, arguments: str, symbol: str, n_passed: int, condition: str, limits: dict) -> None:
    """`{name}_or_slow`: the library's `symbol` of the first `n_passed` arguments where `condition` (of `LIMIT`)."""
    n = arguments.count(",") + 1
    for short, kind, suffix in (("f64", "types.float64", ""), ("f32", "types.float32", "f")):
        library(
            f"@intrinsic\n"
            f"def {name}_or_slow_{short}(typingctx, {arguments}):\n"
            f'    """{doc}"""\n\n'
            f"    def is_slow(builder, args, constant, magnitude):\n"
            f"        return {condition.replace('LIMIT', limits[short])}\n\n"
            f"    def codegen(context, builder, signature, args):\n"
            f'        name = "{name}_or_slow_{short}"\n'
            f'        return emit_slow_path(builder, name, "{symbol}{suffix}", {n_passed}, is_slow, args)\n\n'
            f"    return {kind}({', '.join([kind] * n)}), codegen\n"
        )


_slow_path(
    "fmod", "`fast`, or fmod(a, b) where the quotient is too long for one step.", "a, b, quotient, fast", "fmod", 2,
    'builder.fcmp_ordered(">=", args[2], constant(LIMIT))', {"f64": "2.0**53", "f32": "2.0**24"},
)  # fmt: skip
for _name in ("sin", "cos", "tan"):
    _slow_path(
        _name, f"`fast`, or {_name}(x) where |x| is too large for it.", "x, fast", _name, 1,
        'builder.fcmp_ordered(">", magnitude(args[0]), constant(LIMIT))', {"f64": "2.0**48", "f32": "2.0**18"},
    )  # fmt: skip
_slow_path(
    "lgamma", "lgamma(x), always by the library.", "x", "lgamma", 1,
    'builder.fcmp_unordered("==", args[0], args[0])', {"f64": "", "f32": ""},
)  # fmt: skip
