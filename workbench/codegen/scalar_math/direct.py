"""Scalar functions as LLVM IR straight from their source text, without numba's front end.

numba takes 20 to 60 ms to analyse and type each function; the same text, walked once, is IR in about one. A function
becomes a numba intrinsic that adds its IR to the module of the kernel that calls it, to be inlined there. It covers
what the texts are written in: assignments, arithmetic of one type, comparisons, `while`, conversions, calls of other
functions and of intrinsics. The operations are numba's own, without its `nsw`: integers wrap. Both forms give the same
bits (tests/codegen/scalar_math/test_direct.py).
"""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
# (llvmlite's values and types are not declared)

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from ...ir.avals import DTYPES_BY_SHORT_NAME, short_dtype_name
from .registry import ScalarFunction

_LLVM_TYPES: dict[str, ir.Type] = {
    "bool": ir.IntType(1),
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    "c64": ir.LiteralStructType([ir.FloatType()] * 2),
    "c128": ir.LiteralStructType([ir.DoubleType()] * 2),
} | {f"{sign}{bits}": ir.IntType(bits) for sign in "iu" for bits in (8, 16, 32, 64)}
_SHORT_NAMES = {dtype.name: short for short, dtype in DTYPES_BY_SHORT_NAME.items() if short in _LLVM_TYPES}
_PARTS = {"c64": "f32", "c128": "f64"}
_COMPLEX = {"f32": "c64", "f64": "c128"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class UnsupportedSourceError(Exception):
    """The text uses something that only numba compiles (a call of `math` or `cmath`)."""


class _Value(NamedTuple):
    short: str
    llvm: ir.Value
    constant: float | int | None = None  # of a literal, so that a cast of it is rounded once


class _Signature(NamedTuple):
    parameters: tuple[tuple[str, str], ...]  # (name, short dtype name)
    result: str
    tree: ast.FunctionDef


def as_intrinsic(
    function: ScalarFunction, resolve: Callable[[str], Any], declare: Callable[[Any], Any] | None = None
) -> Any:
    """`function` as a numba intrinsic, made by `declare` (by default, the CPU's). `resolve(name)` gives numba's form of
    an `@intrinsic` that the text calls (or of any function, where a device has its own).

    Raises UnsupportedSourceError if any text that it needs is beyond this compiler.
    """
    from numba.extending import intrinsic

    signature = _signature(function, resolve)
    result, *operands = map(_numba_type, (signature.result, *(short for _, short in signature.parameters)))

    def definition(typingctx, *args):
        def codegen(context, builder, sig, args):
            return builder.call(define(builder.module, function, resolve), args)

        return result(*operands), codegen

    names = ["typingctx", *(name for name, _ in signature.parameters)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    definition.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore
    definition.__name__ = definition.__qualname__ = function.name
    definition.__doc__ = ast.get_docstring(signature.tree)
    return (declare or intrinsic)(definition)


def _numba_type(short: str) -> Any:
    from numba import types

    return types.boolean if short == "bool" else getattr(types, DTYPES_BY_SHORT_NAME[short].name)


def signature_of(function: ScalarFunction, resolve: Callable[[str], Any]) -> tuple[tuple[str, ...], str]:
    """The short dtype names of parameters and result. UnsupportedSourceError as `as_intrinsic`."""
    if function.source.startswith("@intrinsic"):
        tree = ast.parse(function.source).body[0]
        assert isinstance(tree, ast.FunctionDef)
        signature, _ = resolve(function.name)._defn(None, *tree.args.args[1:])
        return tuple(_SHORT_NAMES[str(t)] for t in signature.args), _SHORT_NAMES[str(signature.return_type)]
    signature = _signature(function, resolve)
    return tuple(short for _, short in signature.parameters), signature.result


@functools.cache
def _signature(function: ScalarFunction, resolve: Callable[[str], Any]) -> _Signature:
    """Parameters and result. A parameter has the function's own dtype unless its annotation names another."""
    tree = ast.parse(function.source).body[0]
    assert isinstance(tree, ast.FunctionDef)
    own = function.name.rpartition("_")[2]
    parameters = tuple((arg.arg, _annotated(arg.annotation) if arg.annotation else own) for arg in tree.args.args)
    if any(short not in _LLVM_TYPES for _, short in parameters):
        raise UnsupportedSourceError(f"{function.name}: no dtype for its parameters")
    # The result's type is known once the body has been walked: into a module that is thrown away.
    result = _Body(ir.Module(), function, parameters, resolve).emit(tree, None)
    return _Signature(parameters, result, tree)


def _annotated(annotation: ast.expr) -> str:
    return short_dtype_name(np.dtype(ast.unparse(annotation).removeprefix("np.")))


def define(module: ir.Module, function: ScalarFunction, resolve: Callable[[str], Any]) -> ir.Function:
    """The IR of `function` in `module`, added at the first call."""
    symbol = f"workbench_{function.name}"  # NVVM takes no dots in the names that it keeps
    if symbol in module.globals:
        return module.globals[symbol]
    shorts, result = signature_of(function, resolve)
    kind = ir.FunctionType(_LLVM_TYPES[result], [_LLVM_TYPES[short] for short in shorts])
    defined = ir.Function(module, kind, symbol)
    defined.linkage = "internal"
    defined.attributes.add("alwaysinline")
    defined.attributes.add("nounwind")
    if function.source.startswith("@intrinsic"):
        builder = ir.IRBuilder(defined.append_basic_block("entry"))
        signature, codegen = resolve(function.name)._defn(None, *defined.args)
        builder.ret(codegen(None, builder, signature, defined.args))
        return defined
    signature = _signature(function, resolve)
    _Body(module, function, signature.parameters, resolve).emit(signature.tree, defined)
    return defined


class _Body:
    """Walks one function's text. Types follow numba's rules for the operations that the texts use."""

    def __init__(self, module: ir.Module, function: ScalarFunction, parameters, resolve: Callable[[str], Any]):
        self.module = module
        self.function = function
        self.parameters = parameters
        self.resolve = resolve
        self.requires = {other.name: other for other in function.requires}
        self.variables: dict[str, _Value] = {}
        self.slots: dict[str, ir.Value] = {}  # of variables that a loop changes
        self.builder: ir.IRBuilder

    def emit(self, tree: ast.FunctionDef, defined: ir.Function | None) -> str:
        """Write the body into `defined` (a scratch function by default); return the result's short dtype name."""
        if defined is None:
            kinds = [_LLVM_TYPES[short] for _, short in self.parameters]
            defined = ir.Function(self.module, ir.FunctionType(ir.VoidType(), kinds), "scratch")
        self.builder = ir.IRBuilder(defined.append_basic_block("entry"))
        self.entry = self.builder.block
        for (name, short), argument in zip(self.parameters, defined.args, strict=True):
            self.variables[name] = _Value(short, argument)
        for statement in tree.body:
            if isinstance(statement, ast.Return):
                value = self.expression(statement.value)
                if not isinstance(defined.return_value.type, ir.VoidType):
                    self.builder.ret(value.llvm)
                return value.short
            self.statement(statement)
        raise UnsupportedSourceError(f"{self.function.name} returns nothing")

    def unsupported(self, node: ast.AST) -> UnsupportedSourceError:
        return UnsupportedSourceError(f"{self.function.name}: {ast.unparse(node)}")

    # ---- statements ----

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):
                pass  # the docstring
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.assign(name, self.expression(node.value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, [self.expression(v) for v in values], strict=True):
                    self.assign(target.id, value)  # type: ignore[attr-defined]
            case ast.While(test=test, body=body, orelse=[]):
                self.loop(test, body)
            case _:
                raise self.unsupported(node)

    def assign(self, name: str, value: _Value) -> None:
        if name in self.slots:
            self.builder.store(self.cast(value, self.variables[name].short).llvm, self.slots[name])
        else:
            self.variables[name] = value

    def loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        changed = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(changed & set(self.variables)):
            value = self.variables[name]
            with self.builder.goto_block(self.entry):
                self.slots[name] = self.builder.alloca(value.llvm.type, name=name)
            self.builder.store(value.llvm, self.slots[name])
        blocks = [self.builder.append_basic_block(name) for name in ("test", "body", "after")]
        self.builder.branch(blocks[0])
        self.builder.position_at_end(blocks[0])
        self.builder.cbranch(self.expression(test).llvm, blocks[1], blocks[2])
        self.builder.position_at_end(blocks[1])
        for statement in body:
            self.statement(statement)
        self.builder.branch(blocks[0])
        self.builder.position_at_end(blocks[2])

    # ---- expressions ----

    def constant(self, short: str, value: float | int) -> _Value:
        if short in ("f32", "f64"):
            value = float(np.dtype(DTYPES_BY_SHORT_NAME[short]).type(value))
        return _Value(short, ir.Constant(_LLVM_TYPES[short], value), value)

    def expression(self, node: ast.expr | None) -> _Value:
        match node:
            case ast.Constant(value=bool() as value):
                return _Value("bool", ir.Constant(ir.IntType(1), value))
            case ast.Constant(value=int() as value):
                return self.constant("i64", value if value < 2**63 else value - 2**64)
            case ast.Constant(value=float() as value):
                return self.constant("f64", value)
            case ast.Name(id=name):
                value = self.variables[name]
                return _Value(value.short, self.builder.load(self.slots[name])) if name in self.slots else value
            case ast.Attribute(value=ast.Name(id="math"), attr="inf" | "nan" as name):
                return self.constant("f64", getattr(math, name))
            case ast.Attribute(attr="real" | "imag" as part):
                value = self.expression(node.value)
                return _Value(_PARTS[value.short], self.builder.extract_value(value.llvm, int(part == "imag")))
            case ast.UnaryOp(op=ast.USub()):
                value = self.expression(node.operand)
                if value.constant is not None:
                    return self.constant(value.short, -value.constant)
                if value.short[0] == "f":
                    return _Value(value.short, self.negated(value.llvm))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.expression(left), self.expression(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.compare(node, _COMPARISONS[type(op)], self.expression(left), self.expression(right))
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                chosen, other = self.expression(then), self.expression(otherwise)
                condition = self.expression(test)
                if chosen.short == other.short and condition.short == "bool":
                    return _Value(chosen.short, self.builder.select(condition.llvm, chosen.llvm, other.llvm))
            case ast.Call(func=callee, args=args, keywords=[]):
                return self.call(node, ast.unparse(callee), [self.expression(arg) for arg in args])
        raise self.unsupported(node)  # type: ignore[arg-type]

    def negated(self, value: ir.Value) -> ir.Value:
        """-value. A target whose LLVM has no such instruction brings its own `negative`."""
        own = getattr(self.resolve, "negative", None)
        return self.builder.fneg(value) if own is None else own(self.builder, value)

    def binary(self, node: ast.expr, op: ast.operator, a: _Value, b: _Value) -> _Value:
        if a.short != b.short or a.short in _PARTS:
            raise self.unsupported(node)
        builder = self.builder
        match op, a.short[0]:
            case (ast.BitAnd(), "b" | "i" | "u"):
                return _Value(a.short, builder.and_(a.llvm, b.llvm))
            case (ast.BitOr(), "b" | "i" | "u"):
                return _Value(a.short, builder.or_(a.llvm, b.llvm))
            case (ast.Add(), "f"):
                return _Value(a.short, builder.fadd(a.llvm, b.llvm))
            case (ast.Sub(), "f"):
                return _Value(a.short, builder.fsub(a.llvm, b.llvm))
            case (ast.Mult(), "f"):
                return _Value(a.short, builder.fmul(a.llvm, b.llvm))
            case (ast.Div(), "f"):
                return _Value(a.short, builder.fdiv(a.llvm, b.llvm))
        if a.short == "i64":  # numba widens narrower integers; the texts use the wrapping intrinsics for those
            match op:
                case ast.Add():
                    return _Value(a.short, builder.add(a.llvm, b.llvm))
                case ast.Sub():
                    return _Value(a.short, builder.sub(a.llvm, b.llvm))
                case ast.Mult():
                    return _Value(a.short, builder.mul(a.llvm, b.llvm))
        raise self.unsupported(node)

    def compare(self, node: ast.expr, op: str, a: _Value, b: _Value) -> _Value:
        if a.short != b.short or a.short in _PARTS:
            raise self.unsupported(node)
        builder = self.builder
        if a.short[0] == "f":
            compare = builder.fcmp_unordered if op == "!=" else builder.fcmp_ordered
        else:
            compare = builder.icmp_signed if a.short[0] == "i" else builder.icmp_unsigned
        return _Value("bool", compare(op, a.llvm, b.llvm))

    def call(self, node: ast.expr, name: str, args: list[_Value]) -> _Value:
        if name == "complex":
            short = _COMPLEX[args[0].short]
            pair = ir.Constant(_LLVM_TYPES[short], ir.Undefined)
            for index, part in enumerate(args):
                pair = self.builder.insert_value(pair, self.cast(part, _PARTS[short]).llvm, index)
            return _Value(short, pair)
        if name.startswith("np.") and len(args) == 1:
            short = next((s for s, d in DTYPES_BY_SHORT_NAME.items() if d.name == name[3:]), None)
            if name in ("np.uintp", "np.bool_"):
                short = {"np.uintp": "u64", "np.bool_": "bool"}[name]
            if short in _LLVM_TYPES:
                return self.cast(args[0], short)
        if name not in self.requires:
            raise self.unsupported(node)
        function = self.requires[name]
        if function.source.startswith("@intrinsic") or getattr(self.resolve, "has_own", lambda name: False)(name):
            signature, codegen = self.resolve(name)._defn(None, *args)
            shorts = [_SHORT_NAMES[str(t)] for t in signature.args]
            values = [self.cast(arg, short).llvm for arg, short in zip(args, shorts, strict=True)]
            return _Value(_SHORT_NAMES[str(signature.return_type)], codegen(None, self.builder, signature, values))
        signature = _signature(function, self.resolve)
        values = [self.cast(arg, short).llvm for arg, (_, short) in zip(args, signature.parameters, strict=True)]
        return _Value(signature.result, self.builder.call(define(self.module, function, self.resolve), values))

    def cast(self, value: _Value, target: str) -> _Value:
        """A conversion as numba's: of floats to integers without a check of the range."""
        source = value.short
        if source == target:
            return value
        if value.constant is not None and target != "bool" and target not in _PARTS:
            if target[0] == "f":
                return self.constant(target, value.constant)
            if isinstance(value.constant, int):
                return self.constant(target, value.constant)
        builder, llvm, kind = self.builder, value.llvm, _LLVM_TYPES[target]
        from_unsigned = source[0] in "bu"
        match source[0], target[0]:
            case ("f", "f"):
                return _Value(target, (builder.fpext if target == "f64" else builder.fptrunc)(llvm, kind))
            case ("f", "i"):
                return _Value(target, builder.fptosi(llvm, kind))
            case ("f", "u"):
                return _Value(target, builder.fptoui(llvm, kind))
            case ("b" | "i" | "u", "f"):
                return _Value(target, (builder.uitofp if from_unsigned else builder.sitofp)(llvm, kind))
            case ("b" | "i" | "u", "i" | "u"):
                if llvm.type.width == kind.width:
                    return _Value(target, llvm)
                if llvm.type.width > kind.width:
                    return _Value(target, builder.trunc(llvm, kind))
                return _Value(target, (builder.zext if from_unsigned else builder.sext)(llvm, kind))
            case ("f", "c") if target == _COMPLEX[source]:
                pair = builder.insert_value(ir.Constant(kind, ir.Undefined), llvm, 0)
                return _Value(target, builder.insert_value(pair, ir.Constant(llvm.type, 0.0), 1))
            case ("c", "c"):
                pair = ir.Constant(kind, ir.Undefined)
                for index in (0, 1):
                    part = _Value(_PARTS[source], builder.extract_value(llvm, index))
                    pair = builder.insert_value(pair, self.cast(part, _PARTS[target]).llvm, index)
                return _Value(target, pair)
        raise UnsupportedSourceError(f"{self.function.name}: {source} to {target}")
