"""Library calls for the few arguments that a fast path cannot serve, in loops that stay vectorised.

A call of the C library makes a whole loop scalar. These calls come with vector forms of their own (LLVM's
`vector-function-abi-variant`): a vector form tests whether any lane needs the library, returns the fast results if none
does, and otherwise calls it for those lanes one by one. So `sin` of 1e300 is as accurate as the C library's while an
array of ordinary numbers pays one comparison: kernels that go to LLVM directly have the test in their loops
(`texts.late_definitions`), numba's call it.
"""

from __future__ import annotations

from .registry import library

library(
    '''
def emit_slow_path(builder, name, is_slow, slow, args, one_is_slow=False):
    """`slow` of `args` where `is_slow`, else the last of `args`. A loop that calls it stays vectorised.

    is_slow(builder, args, constant, magnitude) builds the condition, slow(builder, args) what is given then, of scalars
    and of vectors. one_is_slow: whether the slow path is the shorter one for scalars.
    """
    module, scalar = builder.module, args[0].type
    suffix = "f64" if scalar == ir.DoubleType() else "f32"

    def declare(symbol, result, operands):
        if symbol in module.globals:
            return module.globals[symbol]
        return ir.Function(module, ir.FunctionType(result, operands), symbol)

    def define(symbol, width, inlining):
        kind = ir.VectorType(scalar, width) if width else scalar
        function = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), symbol)
        function.linkage = "linkonce_odr"  # several modules of one kernel may have it, and its name must stay
        # llvmlite knows none of the last three by name. What may be computed early leaves the branches of a loop: those
        # that hold several calls keep LLVM's vectoriser busy for minutes.
        for attribute in (inlining, "nounwind", "willreturn", "speculatable", "memory(none)"):
            set.add(function.attributes, attribute)
        body = ir.IRBuilder(function.append_basic_block("entry"))
        if not (one_is_slow and not width):
            test(function, body, kind, width)
        body.ret(slow(body, function.args))
        return function

    def test(function, body, kind, width):
        fabs = declare(f"llvm.fabs.v{width}{suffix}" if width else f"llvm.fabs.{suffix}", kind, [kind])

        def constant(value):
            return ir.Constant(kind, [value] * width if width else value)

        flags = is_slow(body, function.args, constant, lambda x: body.call(fabs, [x]))
        if width:
            # Lanes beyond the end of a row may hold anything, of which no branch may depend: llvmlite has no `freeze`.
            frozen = ir.instructions.Instruction(body.block, flags.type, "freeze", [flags])
            body.block.instructions.append(frozen)
            body.position_at_end(body.block)
            reduce = declare(f"llvm.vector.reduce.or.v{width}i1", ir.IntType(1), [flags.type])
            flags = body.call(reduce, [frozen])
        rare, usual = function.append_basic_block("slow"), function.append_basic_block("fast")
        body.cbranch(flags, rare, usual).set_weights([1, 4000])
        body.position_at_end(usual)
        body.ret(function.args[-1])
        body.position_at_end(rare)

    if name not in module.globals:
        one = define(name, 0, "noinline")
        variants = [define(f"{name}_x{width}", width, "alwaysinline") for width in (2, 4, 8, 16)]
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


def emit_library_call(builder, name, symbol, n_passed, is_slow, args):
    """`symbol` of the C library of the first `n_passed` of `args` where `is_slow`, else the last of `args`."""
    module, scalar = builder.module, args[0].type
    index = ir.IntType(32)

    def slow(body, args):
        kind = args[0].type
        if kind == scalar:
            if symbol not in module.globals:
                ir.Function(module, ir.FunctionType(scalar, [scalar] * n_passed), symbol)
            return body.call(module.globals[symbol], args[:n_passed])
        lanes = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), f"{name}_lanes{kind.count}")
        lanes.linkage = "linkonce_odr"
        for attribute in ("noinline", "cold", "nounwind"):
            set.add(lanes.attributes, attribute)
        inside = ir.IRBuilder(lanes.append_basic_block("entry"))
        result = lanes.args[-1]
        for lane in range(kind.count):
            at = ir.Constant(index, lane)
            value = inside.call(module.globals[name], [inside.extract_element(x, at) for x in lanes.args])
            result = inside.insert_element(result, value, at)
        inside.ret(result)
        return body.call(lanes, args)

    return emit_slow_path(builder, name, is_slow, slow, args)
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
            f'        return emit_library_call(builder, name, "{symbol}{suffix}", {n_passed}, is_slow, args)\n\n'
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
