"""Kernels as LLVM assembly, straight from their source text.

numba takes 50 ms and more to analyse and type a kernel; the same text, walked once, is LLVM assembly in one or two.
What a reader is shown, and what an exported module contains, is what is compiled here: both forms give the same bits,
where the text leaves no choice of order (tests/codegen/test_llvm_kernels.py). It covers what kernels are written in,
loops over ranges, choices, elements of arrays and scalar arithmetic; for anything else `UnsupportedSourceError` leaves
the kernel to numba.

A kernel becomes a C function of its range and of a table of addresses, lengths and strides; `llvm_entry` calls it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.avals import DTYPES_BY_SHORT_NAME, short_dtype_name
from .kernel import FAST, LATE, Kernel
from .llvm_entry import is_strided
from .llvm_values import INDEX_LIMIT, LLVM_TYPES, PARTS, Code, Value, constant
from .scalar_math.direct import UnsupportedSourceError
from .scalar_math.texts import definitions_of, late_definitions
from .widths import WIDE_VECTORS, arithmetic, computes

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_SHORT_BY_NAME = {dtype.name: short for short, dtype in DTYPES_BY_SHORT_NAME.items()} | {
    "bool_": "bool", "uintp": "u64", "intp": "i64",
}  # fmt: skip
# Where the memory of scratch arrays begins: at a line of the cache, which no vector crosses.
ALIGNMENT = 64
ALLOCATES = "np.empty"
QUOTIENT = "quotient_f64"
# Iterations of an innermost loop that are rather computed as part of a vector than one by one: two vectors of f64.
SHORT = 16
# In bytes: narrow vectors, and the widest ones.
NARROW, WIDE = 32, 64
# Numbers whose bytes are all the same, as the text of a kernel has them, and those that are two of them.
OF_EQUAL_BYTES = re.compile(r"(?:np\.\w+\()?(?:0|0\.0|-1|False|True)\)?")
TWO_OF_EQUAL_BYTES = re.compile(r"(?:np\.\w+\()?complex\(0\.0, 0\.0\)\)?")
# What a function says whose frame has a register of its own, with which no array is then addressed.
FRAMED = '"frame-pointer"="all"'
# In bytes: no array has one like it.
LEAST_STRIDE = -(1 << 62)


def kernel_module(
    kernel: Kernel, symbol: str, *, masked: Sequence[int] = (), wide: bool = False, framed: bool = False,
    inverts: float = 0.0,
) -> str:  # fmt: skip
    """LLVM assembly of `kernel`, as the function `symbol`. UnsupportedSourceError where only numba compiles it. masked:
    the bytes of vectors, narrow ones first, of which the machine computes a part as fast as all; short loops then end
    with one. wide: whether to ask for the widest vectors where arithmetic takes the time. framed: whether the register
    of the frame is kept for it; inverts: up to how many other steps of arithmetic for each division
    multiplying by an inverse takes less than dividing."""
    (tree,) = ast.parse(kernel.source).body
    assert isinstance(tree, ast.FunctionDef)
    masked = masked if kernel.may_be_short else ()
    may_invert = inverts > 0 and not kernel.fast and QUOTIENT in kernel.source
    try:
        writer = _Writer(kernel, masked, inverts=may_invert and inverts == math.inf)
        body = writer.function(tree)
        library = definitions_of(writer.code.library)
        pays = may_invert and any(_mostly_divides(loop, library, inverts) for loop in writer.dividing)
        if pays and not writer.inverts:
            writer = _Writer(kernel, masked, inverts=True)
            body = writer.function(tree)
            library = definitions_of(writer.code.library)
    except (KeyError, AttributeError, ValueError, TypeError) as error:  # a text that is not of the expected form
        raise UnsupportedSourceError(f"{kernel.name}: {type(error).__name__} {error}") from error
    declared = [line for name, line in writer.code.declared.items() if name not in library]
    attributes = ["nounwind"]
    if wide and any(computes(loop, library) for loop in writer.innermost):
        attributes.append(WIDE_VECTORS)
    if framed:
        attributes.append(FRAMED)
    head = f'define i32 @"{symbol}"(i64 %start, i64 %stop, ptr %table) {" ".join(attributes)} {{\nentry:'
    facts = [f"!{k} = {fact}" for k, fact in enumerate(writer.facts)]
    late = late_definitions(library).values()
    parts = [f"{head}\n{body}\n}}", *library.values(), *declared, *facts, *([LATE, *late] if late else ())]
    return "\n\n".join(parts) + "\n"


def _mostly_divides(loop: Sequence[str], library: Mapping[str, str], most: float) -> bool:
    """Whether a loop has at most `most` other steps of arithmetic for each division."""
    n_steps, n_divisions = arithmetic(loop, library)
    return n_divisions > 0 and n_steps <= most * n_divisions


def _allocates(line: ast.Assign) -> bool:
    return isinstance(line.value, ast.Call) and ast.unparse(line.value.func) == ALLOCATES


def _gives_array(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="flat") | ast.Attribute(attr="reshape")):
            return True
        case ast.Call(func=function):
            return ast.unparse(function) == ALLOCATES
    return False


def _is_innermost(body: list[ast.stmt]) -> bool:
    return not any(isinstance(node, ast.For | ast.While) for line in body for node in ast.walk(line))


def _fills_neighbours(body: list[ast.stmt]) -> bool:
    """Whether elements side by side get the same number, all bytes of which are equal; or might, where branches set
    constants: LLVM makes a loop for each way through those that the loop does not change."""
    nodes = [node for line in body for node in ast.walk(line)]
    branches = [node for node in nodes if isinstance(node, ast.If)]
    sets_constants = any(
        isinstance(node, ast.Assign) and OF_EQUAL_BYTES.fullmatch(ast.unparse(node.value))
        for branch in branches
        for node in ast.walk(branch)
    )
    texts: dict[str, str] = {}
    places: set[tuple[str, int, str]] = set()  # up to the last index, that index, the number
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                texts[name] = ast.unparse(value)
            case ast.Assign(
                targets=[ast.Subscript(value=array, slice=ast.Tuple(elts=[*outer, ast.Constant(value=int(k))]))],
                value=value,
            ):  # fmt: skip
                text = texts.get(ast.unparse(value), ast.unparse(value))
                if TWO_OF_EQUAL_BYTES.fullmatch(text):
                    return True
                if sets_constants or OF_EQUAL_BYTES.fullmatch(text):
                    row = f"{ast.unparse(array)} {[*map(ast.unparse, outer)]}"
                    places.add((row, k, "" if sets_constants else text))
    return any((row, k + 1, text) in places for row, k, text in places)


@dataclass(slots=True)
class _Array:
    """An array in a kernel. strides: in bytes; None if it is in C order. steps: the lengths from the second axis on, to
    find elements with if it is. apart: what accesses say about the memory that they do not touch."""

    short: str
    pointer: str
    shape: list[Value]
    strides: list[str] | None
    steps: list[str]
    apart: str = ""
    row: int = 0


class _Writer:
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, masked: Sequence[int], *, inverts: bool):
        self.kernel = kernel
        self.masked = masked
        self.inverts = inverts
        self.facts: list[str] = []  # LLVM's metadata, by number
        self.n_words = 0
        self.code = Code(FAST if kernel.fast else ())
        self.variables: dict[str, Value] = {name: Value("i64", f"%{name}", None, True) for name in ("start", "stop")}
        self.arrays: dict[str, _Array] = {}
        self.apart: dict[str, str] = {}  # of arrays that the kernel allocates
        self.slots: dict[str, tuple[str, str]] = {}  # of names that are assigned more than once: (dtype, slot)
        self.depth = 0
        self.exits: list[str] = []
        self.allocated: list[str] = []
        self.innermost: list[list[str]] = []  # the bodies of loops without loops in them
        self.dividing: list[list[str]] = []  # those that divide by what has an inverse
        for k, arg in enumerate(kernel.args):
            if arg.kind == "size":
                self._word(f"%a{k}", "i64")
                # What is called a size may also be the step or the offset of a slice.
                natural = not arg.name.startswith("size")
                self.variables[arg.name] = Value("i64", f"%a{k}", None, natural)
                continue
            name = self._word(f"%a{k}", "ptr")
            shape = [Value("i64", self._word(f"{name}.n{axis}"), None, True) for axis in range(arg.ndim)]
            strides = None
            if is_strided(arg):
                strides = [self._word(f"{name}.s{axis}") for axis in range(arg.ndim)]
                if np.dtype(arg.dtype).itemsize > 1:  # a guess of one byte may be right for bytes
                    strides = [self._unknown(stride, LEAST_STRIDE) for stride in strides]
            one = kernel.unit_axes[k]
            steps = ["1" if axis in one else self._unknown(shape[axis].text, 1) for axis in range(1, arg.ndim)]
            short = short_dtype_name(np.dtype(arg.dtype))
            self.arrays[arg.name] = _Array(short, name, shape, strides, steps, row=arg.row)

    def _fact(self, text: str) -> int:
        self.facts.append(text.replace("self", f"!{len(self.facts)}"))
        return len(self.facts) - 1

    def _tell_apart(self, tree: ast.FunctionDef) -> None:
        """The memory that is allocated for a result, for partial ones or by the kernel is nobody else's: otherwise LLVM
        has every row ask whether arrays overlap."""
        new = [arg.name for arg in self.kernel.args if arg.kind in ("out", "update", "scratch")]
        own = [ast.unparse(line.targets[0]) for line in tree.body if isinstance(line, ast.Assign) and _allocates(line)]
        every = dict.fromkeys((*self.arrays, *own))
        if not new + own or len(every) < 2:
            return
        domain = self._fact("distinct !{self}")
        scopes = {name: self._fact(f"distinct !{{self, !{domain}}}") for name in new + own}
        for name in every:
            others = ", ".join(f"!{scope}" for other, scope in scopes.items() if other != name)
            apart = f", !noalias !{self._fact(f'!{{{others}}}')}" if others else ""
            if name in scopes:
                apart += f", !alias.scope !{self._fact(f'!{{!{scopes[name]}}}')}"
            if name in self.arrays:
                self.arrays[name].apart = apart
            else:
                self.apart[name] = apart

    def _unknown(self, step: str, least: int) -> str:
        """The same number, which is at least `least`, as something that LLVM makes no guesses about. Where the step of
        a loop is a plain argument, it expects 1 and leaves the loop as it is for anything else."""
        return self.code.intrinsic("llvm.smax.i64", "i64", ("i64", step), ("i64", str(least)))

    def _word(self, name: str, kind: str = "i64") -> str:
        """The next word of the kernel's table, by this name."""
        address = self.code.op(f"getelementptr i64, ptr %table, i64 {self.n_words}")
        self.code.line(f"{name} = load {kind}, ptr {address}")
        self.n_words += 1
        return name

    def function(self, tree: ast.FunctionDef) -> str:
        """What the function holds."""
        self._tell_apart(tree)
        self._find_slots(tree)
        code = self.code
        self.body(tree.body)
        self._free()
        code.line("ret i32 0")
        return "\n".join([*code.slots, *code.lines])

    def _find_slots(self, tree: ast.FunctionDef) -> None:
        """Names that are assigned at several places, or that loops count with besides, live in memory until LLVM finds
        out which value they have where."""
        n_assigned: dict[str, int] = {}
        counters: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if not _gives_array(value):
                        n_assigned[name] = n_assigned.get(name, 0) + 1
                case ast.AugAssign(target=ast.Name(id=name)):
                    n_assigned[name] = n_assigned.get(name, 0) + 2
                case ast.For(target=ast.Name(id=name)):
                    counters.add(name)
        given = set(self.variables)
        for name, n in n_assigned.items():
            if n > 1 or name in counters or name in given:
                self.slots[name] = ("", "")
        if given & (counters | set(self.slots)):
            raise UnsupportedSourceError("an argument is assigned to")

    def _free(self) -> None:
        for block in self.allocated:
            self.code.intrinsic("PyMem_RawFree", "void", ("ptr", block))

    # ---- statements ----

    def body(self, statements: list[ast.stmt]) -> bool:
        """Write a body; whether its end is reached."""
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.assign(name, value)
                case ast.Assign(targets=[ast.Subscript() as target], value=value):
                    array = self.arrays[target.value.id]  # type: ignore[attr-defined]  # or it is no kernel's text
                    self.store(array, self.index(target.slice), self.expression(value))
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    old = self.variable(name)
                    self.set(name, self.code.binary(_OPERATORS[type(op)], old, self.expression(value)))
                case ast.Expr(value=ast.Call(func=ast.Name(id="assume_index"), args=[ast.Name(id=name)])):
                    self.assume_index(name)
                case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), orelse=[]):
                    self.loop(name, [self.expression(a) for a in args], statement.body)
                case ast.While(test=test, body=inner, orelse=[]):
                    self.while_loop(test, inner)
                case ast.If(test=test, body=then, orelse=otherwise):
                    self.choice(test, then, otherwise)
                case ast.Break():
                    self.code.line(f"br label %{self.exits[-1]}")
                    return False
                case ast.Pass():
                    pass
                case _:
                    raise UnsupportedSourceError(ast.unparse(statement))
        return True

    def assign(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Call(func=ast.Name(id="flat"), args=[ast.Name(id=array)]) if array in self.arrays:
                self.arrays[name] = self.flat(self.arrays[array])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=array), attr="reshape"), args=lengths):
                self.arrays[name] = self.reshaped(self.arrays[array], lengths)
            case ast.Call(func=ast.Attribute(attr="empty"), args=[shape, dtype]):
                self.arrays[name] = self.empty(shape, ast.unparse(dtype))
                self.arrays[name].apart = self.apart.get(name, "")
            case _:
                self.set(name, self.expression(value))

    def set(self, name: str, value: Value) -> None:
        if name not in self.slots:
            self.variables[name] = value
            return
        short, slot = self.slots[name]
        kind = LLVM_TYPES[value.short]
        if not slot:
            short, slot = self.slots[name] = value.short, self.code.slot(kind)
        if short != value.short:
            raise UnsupportedSourceError(f"{name} is {short} and {value.short}")
        self.code.line(f"store {kind} {value.text}, ptr {slot}")

    def variable(self, name: str) -> Value:
        if name not in self.slots:
            return self.variables[name]
        short, slot = self.slots[name]
        return Value(short, self.code.op(f"load {LLVM_TYPES[short]}, ptr {slot}"))

    def assume_index(self, name: str) -> None:
        value = self.variable(name)
        if value.short != "i64" or value.natural:
            return
        fits = self.code.op(f"icmp ult i64 {value.text}, {INDEX_LIMIT}")
        self.code.intrinsic("llvm.assume", "void", ("i1", fits))
        if name not in self.slots:
            self.variables[name] = value._replace(natural=True)

    def loop(self, name: str, bounds: list[Value], body: list[ast.stmt]) -> None:
        """`for name in range(*bounds)`, with a positive step."""
        first, last, step = {1: (constant("i64", 0), *bounds), 2: tuple(bounds), 3: tuple(bounds)}[len(bounds)] + (
            () if len(bounds) == 3 else (constant("i64", 1),)
        )
        if any(b.short != "i64" for b in (first, last, step)) or not step.natural or step.constant == 0:
            raise UnsupportedSourceError(f"a range of {[b.short for b in bounds]}")
        is_innermost = _is_innermost(body)
        columns = self._width_of_columns(body) if is_innermost else 0
        if not self.masked or not is_innermost or columns:  # single reads are not masked for nothing
            self._loop(name, first, last, step, body, width=columns)
            return
        # All forms, since which one is best depends on a length, which no kernel is compiled for.
        code = self.code
        n = code.op(f"sub nsw i64 {last.text}, {first.text}")
        after = code.new_label("after")
        for longest, width in self._short_forms(name, body):
            is_short = code.op(f"icmp sle i64 {n}, {longest}")
            short, longer = map(code.new_label, ("short", "longer"))
            code.line(f"br i1 {is_short}, label %{short}, label %{longer}")
            code.start(short)
            self._loop(name, first, last, step, body, masked=True, width=width)
            code.line(f"br label %{after}")
            code.start(longer)
        self._loop(name, first, last, step, body)
        code.line(f"br label %{after}")
        code.start(after)

    def _width_of_columns(self, body: list[ast.stmt]) -> int:
        """Of a loop over rows that are written out, whose elements follow from one another (the levels of a tridiagonal
        system): one row by itself mostly waits. LLVM counts the single reads, but not the waiting."""
        nodes = [node for line in body for node in ast.walk(line)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        arrays = [self.arrays[name] for name in names if name in self.arrays and self.arrays[name].row]
        n_steps = sum(isinstance(node, ast.BinOp) for node in nodes)
        n_reads = sum(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) for node in nodes)
        # Products of complex numbers branch where they overflow: LLVM would say on stderr that it cannot do as told.
        if not arrays or 2 * n_steps < max(n_reads, 1) or any(name.endswith(("_c64", "_c128")) for name in names):
            return 0
        # So do equal bytes side by side, which LLVM makes a call of `memset`.
        values = [ast.unparse(line.value) for line in body if isinstance(line, ast.Assign)]
        if len({*values}) < len(values) and any(_alignment(array.short) == 1 for array in arrays):
            return 0
        if _fills_neighbours(body):
            return 0
        # What is known of a long row does not fit in the registers.
        n_bytes = WIDE if max(array.row for array in arrays) <= SHORT else NARROW
        return n_bytes // max(_alignment(array.short) for array in arrays)

    def _short_forms(self, name: str, body: list[ast.stmt]) -> list[tuple[int, int]]:
        """Of a loop of few iterations: up to how many each form is for, and the iterations that make a vector, if LLVM
        should not choose. One narrow vector takes less than a part of a wide one."""
        size = self._largest_beside(name, body)
        if not size:
            return [(SHORT, 0)]
        *narrow, widest = (n_bytes // size for n_bytes in self.masked)
        return [*((width, width) for width in narrow), (SHORT, widest)]

    def _largest_beside(self, name: str, body: list[ast.stmt]) -> int:
        """The bytes of the largest element of a loop that reads and writes elements one beside the other; else 0."""
        sizes = []
        for node in (node for line in body for node in ast.walk(line) if isinstance(node, ast.Subscript)):
            match node:
                case ast.Subscript(value=ast.Name(id=array), slice=index) if array in self.arrays:
                    *outer, last = index.elts if isinstance(index, ast.Tuple) else [index]
                    if name in map(ast.unparse, outer) or self.arrays[array].strides is not None:
                        return 0
                    match last:
                        case ast.Name() | ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant()):
                            sizes.append(_alignment(self.arrays[array].short))
                        case _:
                            return 0
        return max(sizes, default=0)

    def _loop(
        self, name: str, first: Value, last: Value, step: Value, body: list[ast.stmt], *, masked: bool = False,
        width: int = 0,
    ) -> None:  # fmt: skip
        """masked: what is left over of a vector is done under a mask, not one by one; width: the iterations that make a
        vector, if LLVM should not choose."""
        code = self.code
        head, inside, latch, after = map(code.new_label, ("head", "body", "next", "after"))
        before, counter, following = code.label, code.fresh(), code.fresh()
        code.line(f"br label %{head}")
        code.start(head)
        code.line(f"{counter} = phi i64 [ {first.text}, %{before} ], [ {following}, %{latch} ]")
        goes_on = code.op(f"icmp slt i64 {counter}, {last.text}")
        code.line(f"br i1 {goes_on}, label %{inside}, label %{after}")
        code.start(inside)
        self.set(name, Value("i64", counter, None, first.natural))
        begin = len(code.lines)
        self._nested(body, latch, after)
        if _is_innermost(body):
            self.innermost.append(code.lines[begin:])
            if any(isinstance(node, ast.Name) and node.id == QUOTIENT for line in body for node in ast.walk(line)):
                self.dividing.append(code.lines[begin:])
        code.start(latch)
        code.line(f"{following} = add nsw i64 {counter}, {step.text}")
        wishes = ['!{!"llvm.loop.vectorize.predicate.enable", i1 true}'] if masked else []
        wishes += [f'!{{!"llvm.loop.vectorize.width", i32 {width}}}'] if width else []
        listed = "".join(f", !{self._fact(wish)}" for wish in wishes)
        text = f", !llvm.loop !{self._fact(f'distinct !{{self{listed}}}')}" if wishes else ""
        code.line(f"br label %{head}{text}")
        code.start(after)

    def while_loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        code = self.code
        head, inside, after = map(code.new_label, ("test", "body", "after"))
        code.line(f"br label %{head}")
        code.start(head)
        condition = code.truth(self.expression(test))
        code.line(f"br i1 {condition.text}, label %{inside}, label %{after}")
        code.start(inside)
        self._nested(body, head, after)
        code.start(after)

    def _nested(self, body: list[ast.stmt], goes_to: str, after: str) -> None:
        self.depth += 1
        self.exits.append(after)
        if self.body(body):
            self.code.line(f"br label %{goes_to}")
        self.exits.pop()
        self.depth -= 1

    def choice(self, test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        code = self.code
        condition = code.truth(self.expression(test))
        yes, no, after = map(code.new_label, ("then", "else", "endif"))
        code.line(f"br i1 {condition.text}, label %{yes}, label %{no if otherwise else after}")
        for label, side in ((yes, then), (no, otherwise)):
            if side:
                code.start(label)
                self.depth += 1
                if self.body(side):
                    code.line(f"br label %{after}")
                self.depth -= 1
        code.start(after)

    # ---- arrays ----

    def flat(self, array: _Array) -> _Array:
        if array.strides is not None:
            raise UnsupportedSourceError("a flat view of an array that is not in C order")
        total = constant("i64", 1)
        for length in array.shape:
            total = length if total.constant == 1 else self.code.binary("*", total, length)
        return _Array(array.short, array.pointer, [total], None, [], array.apart)

    def reshaped(self, array: _Array, shape: Sequence[ast.expr]) -> _Array:
        if array.strides is not None:
            raise UnsupportedSourceError("another shape of an array that is not in C order")
        lengths = [self.expression(length)._replace(natural=True) for length in shape]
        steps = ["1" if n.constant == 1 else self._unknown(n.text, 1) for n in lengths[1:]]
        row = array.row if array.row and lengths[-1].text == array.shape[-1].text else 0
        return _Array(array.short, array.pointer, lengths, None, steps, array.apart, row)

    def empty(self, shape: ast.expr, dtype: str) -> _Array:
        """A scratch array, which is freed when the kernel ends."""
        if self.depth:
            raise UnsupportedSourceError("an array that is made in a loop")
        lengths = [self.expression(e) for e in (shape.elts if isinstance(shape, ast.Tuple) else [shape])]
        if any(n.short != "i64" for n in lengths):
            raise UnsupportedSourceError(f"np.empty({ast.unparse(shape)})")
        lengths = [n._replace(natural=True) for n in lengths]
        code, short = self.code, _SHORT_BY_NAME[dtype.removeprefix("np.")]
        array = _Array(short, "", lengths, None, [length.text for length in lengths[1:]])
        n_bytes = self.flat(array).shape[0]
        n_bytes = code.binary("*", n_bytes, constant("i64", DTYPES_BY_SHORT_NAME[short].itemsize))
        n_bytes = code.binary("+", n_bytes, constant("i64", ALIGNMENT))
        # Python's own, which every platform's loader finds, and which needs no lock of Python's.
        code.declared.setdefault("PyMem_RawMalloc", "declare noalias ptr @PyMem_RawMalloc(i64)")
        block = code.op(f"call noalias ptr @PyMem_RawMalloc(i64 {n_bytes.text})")
        missing, full, there = code.op(f"icmp eq ptr {block}, null"), code.new_label("full"), code.new_label("there")
        code.line(f"br i1 {missing}, label %{full}, label %{there}")
        code.start(full)
        self._free()
        code.line("ret i32 1")
        code.start(there)
        self.allocated.append(block)
        address = code.op(f"ptrtoint ptr {block} to i64")
        short_of = code.op(f"sub i64 0, {address}")
        skipped = code.op(f"and i64 {short_of}, {ALIGNMENT - 1}")
        array.pointer = code.op(f"getelementptr inbounds i8, ptr {block}, i64 {skipped}")
        return array

    def index(self, node: ast.expr) -> list[Value]:
        return [self.expression(e) for e in (node.elts if isinstance(node, ast.Tuple) else [node])]

    def element(self, array: _Array, index: list[Value]) -> str:
        """The address of an element. A negative index counts from the end, as in Python."""
        if len(index) != len(array.shape) or any(i.short not in ("i64", "u64") for i in index):
            raise UnsupportedSourceError(f"an index of {[i.short for i in index]}")
        code = self.code
        at = []
        for i, length in zip(index, array.shape, strict=True):
            if i.short == "i64" and not i.natural:
                below = code.op(f"icmp slt i64 {i.text}, 0")
                moved = code.op(f"add nsw i64 {i.text}, {length.text}")
                i = Value("i64", code.op(f"select i1 {below}, i64 {moved}, i64 {i.text}"))
            at.append(i.text)
        if not at:
            return array.pointer
        if array.strides is not None:
            offset = code.op(f"mul nsw i64 {at[0]}, {array.strides[0]}")
            for i, stride in zip(at[1:], array.strides[1:], strict=True):
                offset = code.op(f"add nsw i64 {offset}, {code.op(f'mul nsw i64 {i}, {stride}')}")
            return code.op(f"getelementptr i8, ptr {array.pointer}, i64 {offset}")
        place = at[0]
        if array.row:
            for i, step in zip(at[1:-1], array.steps[:-1], strict=True):
                place = code.op(f"add nsw i64 {code.op(f'mul nsw i64 {place}, {step}')}, {i}")
            kind = f"[{array.row} x {_memory_type(array.short)}]"
            return code.op(f"getelementptr inbounds {kind}, ptr {array.pointer}, i64 {place}, i64 {at[-1]}")
        for i, step in zip(at[1:], array.steps, strict=True):
            place = code.op(f"add nsw i64 {code.op(f'mul nsw i64 {place}, {step}')}, {i}")
        return code.op(f"getelementptr inbounds {_memory_type(array.short)}, ptr {array.pointer}, i64 {place}")

    def load(self, array: _Array, index: list[Value]) -> Value:
        address = self.element(array, index)
        text = self.code.op(
            f"load {_memory_type(array.short)}, ptr {address}, align {_alignment(array.short)}{array.apart}"
        )
        if array.short == "bool":
            text = self.code.op(f"trunc i8 {text} to i1")
        return Value(array.short, text)

    def store(self, array: _Array, index: list[Value], value: Value) -> None:
        if value.short != array.short and not (value.short[0] in "iu" and array.short[0] in "iu"):
            raise UnsupportedSourceError(f"{value.short} is stored as {array.short}")
        value = self.code.cast(value, array.short)
        text = self.code.op(f"zext i1 {value.text} to i8") if array.short == "bool" else value.text
        address = self.element(array, index)
        self.code.line(
            f"store {_memory_type(array.short)} {text}, ptr {address}, align {_alignment(array.short)}{array.apart}"
        )

    # ---- expressions ----

    def expression(self, node: ast.expr) -> Value:
        code = self.code
        match node:
            case ast.Name(id=name):
                return self.variable(name)
            case ast.BinOp(left=left, op=op, right=right):
                return code.binary(_OPERATORS[type(op)], self.expression(left), self.expression(right))
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self.load(self.arrays[name], self.index(index))
            case ast.Call(func=callee, args=args, keywords=[]):
                return self.call(callee, args)
            case ast.Constant(value=bool() as value):
                return constant("bool", value)
            case ast.Constant(value=int() as value) if -(2**63) <= value < 2**63:
                return constant("i64", value)
            case ast.Constant(value=int() as value) if 2**63 <= value < 2**64:
                return constant("u64", value)
            case ast.Constant(value=float() as value):
                return constant("f64", value)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int() as k)
            ):
                return self.arrays[name].shape[k]
            case ast.Attribute(value=ast.Name(id=name), attr="size") if name in self.arrays:
                return self.flat(self.arrays[name]).shape[0]
            case ast.Attribute(value=ast.Name(id="np"), attr="inf" | "nan" as name):
                return constant("f64", float(name))
            case ast.Attribute(value=value, attr="real" | "imag" as part):
                return code.part(self.expression(value), int(part == "imag"))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return code.inverted(code.truth(self.expression(operand)))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return code.inverted(self.expression(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return code.compare(_COMPARISONS[type(op)], self.expression(left), self.expression(right))
            case ast.BoolOp(op=op, values=values):
                first, *others = (code.truth(self.expression(v)) for v in values)
                for other in others:
                    first = code.binary("&" if isinstance(op, ast.And) else "|", first, other)
                return first
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                # Both sides are values that exist anyway: a choice costs less than a branch, and vectorises.
                condition = code.truth(self.expression(test))
                return code.select(condition, self.expression(then), self.expression(otherwise))
        raise UnsupportedSourceError(ast.unparse(node))

    def negative(self, operand: ast.expr) -> Value:
        if isinstance(operand, ast.Constant) and operand.value == 2**63 and isinstance(operand.value, int):
            return constant("i64", -(2**63))
        return self.code.negative(self.expression(operand))

    def call(self, callee: ast.expr, args: list[ast.expr]) -> Value:
        code = self.code
        match callee, args:
            case ast.Attribute(value=ast.Name(id="np"), attr=name), [operand]:
                return code.cast(self.expression(operand), _SHORT_BY_NAME[name])
            case ast.Name(id="uintp"), [operand]:
                return code.cast(self.expression(operand), "u64")
            case ast.Name(id="bool"), [operand]:
                return code.truth(self.expression(operand))
            case ast.Name(id="min" | "max" as name), [a, b]:
                return code.extreme(name, self.expression(a), self.expression(b))
            case ast.Attribute(value=value, attr="conjugate"), []:
                number = self.expression(value)
                return code.pair(number.short, code.part(number, 0), code.negative(code.part(number, 1)))
            case ast.Name(id="complex"), [real, imag]:
                parts = self.expression(real), self.expression(imag)
                short = "c64" if all(p.short == "f32" for p in parts) else "c128"
                return code.pair(short, *(code.cast(p, PARTS[short]) for p in parts))
            case ast.Name(id=name), [dividend, divisor, _] if name == QUOTIENT and not self.inverts:
                return code.binary("/", self.expression(dividend), self.expression(divisor))
            case ast.Name(id=name), _:
                return code.call(name, [self.expression(a) for a in args])
        raise UnsupportedSourceError(ast.unparse(callee))


def _memory_type(short: str) -> str:
    return "i8" if short == "bool" else LLVM_TYPES[short]


def _alignment(short: str) -> int:
    return DTYPES_BY_SHORT_NAME[PARTS.get(short, short)].itemsize
