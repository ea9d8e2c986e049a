"""The machine that runs loops of a plan without Python: a function that follows a tape of instructions.

A loop's body is some kernels, products and copies over memory that was planned beforehand; what is left to do in each
iteration is to say which kernel runs next, on which addresses. That is a tape of 64-bit words, `opcode, operands...`,
over an array of words: the addresses of arrays, the kernels' tables of arguments, counters. One machine, compiled once,
follows all tapes, in a few nanoseconds an instruction; `runtime.tapes.writer` writes them. It is called as a kernel is,
with the words, the tape and any further arrays; it gives other threads the interpreter's lock meanwhile, and comes back
after so many jumps backwards as the words allow, so that its caller can look for interrupts and go on.

Operands are indices of words, unless they are called values.
"""

from __future__ import annotations

import re
from functools import cache

from .llvm_product import COMPLEX_FACTORS, FACTORS

# What the first words mean. Status: see below; the place to go on from; the jumps backwards that are left; the clock's
# function and its number, and when it was last read.
STATUS, PLACE, JUMPS, CLOCK, CLOCK_ID, MARKED = range(6)
N_RESERVED = 8
# How it ended; `LEFT`: something happens that Python must do, such as an error of the program's.
DONE, PAUSED, NO_MEMORY, LEFT, BROKEN = range(5)

SYMBOL = "workbench_tape"

# name: (number of operands, what it does). In the text $k is operand k itself, @k the address of the word that it
# names, *k that word, &k that word as an address. A text that sets %.to jumps there.
_INSTRUCTIONS: dict[str, tuple[int, str]] = {
    # kernel, table, value: extent of its outer loop
    "call": (3, """\
%.status = call i32 &1(i64 0, i64 $3, ptr @2)
%.fine = icmp eq i32 %.status, 0
br i1 %.fine, label %.on, label %no_memory
.on:"""),
    # target, argument number as value: the address of an array among the machine's arguments
    "argument": (2, """\
%.at = getelementptr i64, ptr %table, i64 $2
%.address = load i64, ptr %.at
store i64 %.address, ptr @1"""),
    # target, source, value: distance in bytes
    "move": (3, "%.sum = add i64 *2, $3\nstore i64 %.sum, ptr @1"),
    # target, base, counter, value: bytes of a row
    "row": (4, "%.by = mul i64 *3, $4\n%.sum = add i64 *2, %.by\nstore i64 %.sum, ptr @1"),
    # word: to the next multiple of 64
    "align": (1, "%.up = add i64 *1, 63\n%.v = and i64 %.up, -64\nstore i64 %.v, ptr @1"),
    # blocks of one size, the first one's address, values: size in bytes and number
    "pool": (4, """\
br label %.head
.head:
%.k = phi i64 [ $4, %.begin ], [ %.next, %.body ]
%.next = sub i64 %.k, 1
%.more = icmp sgt i64 %.k, 0
br i1 %.more, label %.body, label %.after
.body:
%.by = mul i64 %.next, $3
%.at = add i64 *2, %.by
%.block = inttoptr i64 %.at to ptr
%.first = load i64, ptr @1
store i64 %.first, ptr %.block
store i64 %.at, ptr @1
br label %.head
.after:"""),
    # target, blocks: take one of them
    "take": (2, """\
%.none = icmp eq i64 *2, 0
br i1 %.none, label %broken, label %.on
.on:
%.block = inttoptr i64 *2 to ptr
%.following = load i64, ptr %.block
store i64 %.following, ptr @2
store i64 *2, ptr @1"""),
    # block, blocks: give it back
    "give": (2, "store i64 *2, ptr &1\nstore i64 *1, ptr @2"),
    # to, from, value: bytes
    "copy": (3, "call void @llvm.memcpy.p0.p0.i64(ptr &1, ptr &2, i64 $3, i1 false)"),
    # to, from, values: how many, bytes of each, steps in both
    "copy_each": (6, """\
br label %.head
.head:
%.k = phi i64 [ 0, %.begin ], [ %.next, %.body ]
%.more = icmp slt i64 %.k, $3
br i1 %.more, label %.body, label %.after
.body:
%.next = add i64 %.k, 1
%.to_by = mul i64 %.k, $5
%.from_by = mul i64 %.k, $6
%.target = getelementptr i8, ptr &1, i64 %.to_by
%.source = getelementptr i8, ptr &2, i64 %.from_by
call void @llvm.memcpy.p0.p0.i64(ptr %.target, ptr %.source, i64 $4, i1 false)
br label %.head
.after:"""),
    # to, from, indices, values: how many, bytes of a row, step from row to row, and how many rows there are
    "take_rows": (7, """\
br label %.head
.head:
%.k = phi i64 [ 0, %.begin ], [ %.next, %.body ]
%.more = icmp slt i64 %.k, $4
br i1 %.more, label %.index, label %.after
.index:
%.at_index = getelementptr i64, ptr &3, i64 %.k
%.given = load i64, ptr %.at_index, align 8
%.negative = icmp slt i64 %.given, 0
%.moved = add i64 %.given, $7
%.row = select i1 %.negative, i64 %.moved, i64 %.given
%.inside = icmp ult i64 %.row, $7
br i1 %.inside, label %.body, label %left
.body:
%.next = add i64 %.k, 1
%.to_by = mul i64 %.k, $5
%.from_by = mul i64 %.row, $6
%.target = getelementptr i8, ptr &1, i64 %.to_by
%.source = getelementptr i8, ptr &2, i64 %.from_by
call void @llvm.memcpy.p0.p0.i64(ptr %.target, ptr %.source, i64 $5, i1 false)
br label %.head
.after:"""),
    # index, value: length; as in Python, negative ones count from the end
    "within": (2, """\
%.negative = icmp slt i64 *1, 0
%.moved = add i64 *1, $2
%.at = select i1 %.negative, i64 %.moved, i64 *1
store i64 %.at, ptr @1
%.inside = icmp ult i64 %.at, $2
br i1 %.inside, label %.on, label %left
.on:"""),
    # index, value: the most that it may be; it becomes one from zero on
    "clamped": (2, """\
%.negative = icmp slt i64 *1, 0
%.low = select i1 %.negative, i64 0, i64 *1
%.beyond = icmp sgt i64 %.low, $2
%.at = select i1 %.beyond, i64 $2, i64 %.low
store i64 %.at, ptr @1"""),
    # word: what must be true for the program to go on
    "holds": (1, "%.fine = icmp ne i64 *1, 0\nbr i1 %.fine, label %.on, label %left\n.on:"),
    # word, number: the same; where it is not, the place to go on from is -number
    "checks": (2, f"""\
%.fine = icmp ne i64 *1, 0
%.minus = sub i64 0, $2
%.note = select i1 %.fine, i64 0, i64 %.minus
store i64 %.note, ptr %words.{PLACE}
br i1 %.fine, label %.on, label %left
.on:"""),
    # target, address of one byte, or of an integer of four or eight
    "read1": (2, "%.v = load i8, ptr &2\n%.w = zext i8 %.v to i64\nstore i64 %.w, ptr @1"),
    "read4": (2, "%.v = load i32, ptr &2\n%.w = sext i32 %.v to i64\nstore i64 %.w, ptr @1"),
    "read8": (2, "%.v = load i64, ptr &2\nstore i64 %.v, ptr @1"),
    # target, value
    "set": (2, "store i64 $2, ptr @1"),
    "add": (2, "%.v = add i64 *1, $2\nstore i64 %.v, ptr @1"),
    # value: where to go on
    "jump": (1, "%.to = add i64 $1, 0"),
    # word, value, value: where to go on if they are equal
    "jump_if": (3, "%.is = icmp eq i64 *1, $2\n%.to = select i1 %.is, i64 $3, i64 %.after_it"),
    # value: where to go on; here the machine may pause
    "again": (1, f"""\
%.left = load i64, ptr %words.{JUMPS}
%.less = sub i64 %.left, 1
store i64 %.less, ptr %words.{JUMPS}
%.to = add i64 $1, 0
store i64 %.to, ptr %words.{PLACE}
%.tired = icmp slt i64 %.less, 0
br i1 %.tired, label %paused, label %.on
.on:"""),
    # totals: adds the nanoseconds since the last mark to this word, and one to the next
    "mark": (1, f"""\
%.clock = load ptr, ptr %words.{CLOCK}
%.id64 = load i64, ptr %words.{CLOCK_ID}
%.id = trunc i64 %.id64 to i32
%.told = call i32 %.clock(i32 %.id, ptr %time)
%.s = load i64, ptr %time
%.at_ns = getelementptr i64, ptr %time, i64 1
%.ns = load i64, ptr %.at_ns
%.s_ns = mul i64 %.s, 1000000000
%.now = add i64 %.s_ns, %.ns
%.before = load i64, ptr %words.{MARKED}
store i64 %.now, ptr %words.{MARKED}
%.passed = sub i64 %.now, %.before
%.total = add i64 *1, %.passed
store i64 %.total, ptr @1
%.at_count = getelementptr i64, ptr @1, i64 1
%.count = load i64, ptr %.at_count
%.more = add i64 %.count, 1
store i64 %.more, ptr %.at_count"""),
    "stop": (0, "br label %done\n.never:"),
}  # fmt: skip

for _letter, (_kind, _one, _zero) in FACTORS.items():
    # function, values: order, transposition, rows, columns; matrix, its leading length as value, vector, value, result,
    # value
    _INSTRUCTIONS[f"{_letter}gemv"] = (11, f"""\
%.order = trunc i64 $2 to i32
%.trans = trunc i64 $3 to i32
call void &1(i32 %.order, i32 %.trans, i64 $4, i64 $5, {_one}, ptr &6, i64 $7, ptr &8, i64 $9, {_zero}, ptr &10, \
i64 $11)""")  # fmt: skip
    # function, values: order, transpositions, rows, columns, contracted length; matrices, each with a leading length
    _INSTRUCTIONS[f"{_letter}gemm"] = (13, f"""\
%.order = trunc i64 $2 to i32
%.left = trunc i64 $3 to i32
%.right = trunc i64 $4 to i32
call void &1(i32 %.order, i32 %.left, i32 %.right, i64 $5, i64 $6, i64 $7, {_one}, ptr &8, i64 $9, ptr &10, i64 $11, \
{_zero}, ptr &12, i64 $13)""")  # fmt: skip
# function, values: transposition, rows, contracted length; matrix, its leading length as value; result. Of a matrix
# times its transpose BLAS computes the upper half, and NumPy copies it into the lower one.
for _letter, (_kind, _one, _zero) in FACTORS.items():
    _bits = 8 * {"s": 4, "d": 8, "c": 8, "z": 16}[_letter]
    _INSTRUCTIONS[f"{_letter}syrk"] = (7, f"""\
%.trans = trunc i64 $2 to i32
call void &1(i32 101, i32 121, i32 %.trans, i64 $3, i64 $4, {_one}, ptr &5, i64 $6, {_zero}, ptr &7, i64 $3)
br label %.rows
.rows:
%.r = phi i64 [ 0, %.begin ], [ %.next_row, %.done ]
%.more_rows = icmp slt i64 %.r, $3
br i1 %.more_rows, label %.row, label %.after
.row:
%.next_row = add i64 %.r, 1
%.before = mul i64 %.r, $3
br label %.columns
.columns:
%.c = phi i64 [ %.next_row, %.row ], [ %.next_column, %.column ]
%.more = icmp slt i64 %.c, $3
br i1 %.more, label %.column, label %.done
.column:
%.next_column = add i64 %.c, 1
%.above = add i64 %.before, %.c
%.source = getelementptr i{_bits}, ptr &7, i64 %.above
%.rows_before = mul i64 %.c, $3
%.below = add i64 %.rows_before, %.r
%.target = getelementptr i{_bits}, ptr &7, i64 %.below
%.value = load i{_bits}, ptr %.source, align 1
store i{_bits} %.value, ptr %.target, align 1
br label %.columns
.done:
br label %.rows
.after:""")  # fmt: skip
# function, value: length; vectors, each with its step as value; result. NumPy adds what BLAS gives to a zero of its
# own, which shows where that is -0.
for _letter, _kind in (("s", "float"), ("d", "double")):
    _INSTRUCTIONS[f"{_letter}dot"] = (7, f"""\
%.dot = call {_kind} &1(i64 $2, ptr &3, i64 $4, ptr &5, i64 $6)
%.sum = fadd {_kind} %.dot, 0.0
store {_kind} %.sum, ptr &7""")  # fmt: skip
for _letter, _kind in (("c", "float"), ("z", "double")):
    _INSTRUCTIONS[f"{_letter}dot"] = (7, f"""\
call void &1(i64 $2, ptr &3, i64 $4, ptr &5, i64 $6, ptr &7)
%.at_imag = getelementptr {_kind}, ptr &7, i64 1
%.real = load {_kind}, ptr &7
%.imag = load {_kind}, ptr %.at_imag
%.real_sum = fadd {_kind} %.real, 0.0
%.imag_sum = fadd {_kind} %.imag, 0.0
store {_kind} %.real_sum, ptr &7
store {_kind} %.imag_sum, ptr %.at_imag""")  # fmt: skip

# Elements of these many bytes are copied without a call for each.
_ELEMENTS = (1, 4, 8, 16)
for _size in _ELEMENTS:
    _moved = f"%.value = load i{8 * _size}, ptr %.source, align 1\nstore i{8 * _size} %.value, ptr %.target, align 1"
    for _name, _n_bytes in (("copy_each", "$4"), ("take_rows", "$5")):
        _count, _copy = _INSTRUCTIONS[_name]
        _called = f"call void @llvm.memcpy.p0.p0.i64(ptr %.target, ptr %.source, i64 {_n_bytes}, i1 false)"
        _INSTRUCTIONS[f"{_name}{_size}"] = (_count, _copy.replace(_called, _moved))


# Elements of these many bytes are numbers of LAPACK, whose matrices lie by columns.
for _size in (8, 16):
    # to, from, values: rows, columns, steps from row to row and from column to column
    _INSTRUCTIONS[f"by_columns{_size}"] = (
        6,
        f"""\
%.height = mul i64 $3, {_size}
br label %.rows
.rows:
%.r = phi i64 [ 0, %.begin ], [ %.next_row, %.done ]
%.more_rows = icmp slt i64 %.r, $3
br i1 %.more_rows, label %.row, label %.after
.row:
%.next_row = add i64 %.r, 1
%.source_by = mul i64 %.r, $5
%.source_row = getelementptr i8, ptr &2, i64 %.source_by
%.target_by = mul i64 %.r, {_size}
%.target_row = getelementptr i8, ptr &1, i64 %.target_by
br label %.columns
.columns:
%.c = phi i64 [ 0, %.row ], [ %.next_column, %.column ]
%.more = icmp slt i64 %.c, $4
br i1 %.more, label %.column, label %.done
.column:
%.next_column = add i64 %.c, 1
%.from_by = mul i64 %.c, $6
%.source = getelementptr i8, ptr %.source_row, i64 %.from_by
%.to_by = mul i64 %.c, %.height
%.target = getelementptr i8, ptr %.target_row, i64 %.to_by
%.value = load i{8 * _size}, ptr %.source, align 1
store i{8 * _size} %.value, ptr %.target, align 1
br label %.columns
.done:
br label %.rows
.after:""",
    )
# function, words: order of the matrix, number of right-hand sides; matrix, pivots, right-hand sides; word: whether it
# is singular, which is left to Python
_INSTRUCTIONS["gesv"] = (
    7,
    """\
call void &1(ptr @2, ptr @3, ptr &4, ptr @2, ptr &5, ptr &6, ptr @2, ptr @7)
%.info = load i64, ptr @7
%.fine = icmp eq i64 %.info, 0
br i1 %.fine, label %.on, label %left
.on:""",
)
# function, word: order of the matrix; matrix, pivots; word: whether it is singular
_INSTRUCTIONS["getrf"] = (5, "call void &1(ptr @2, ptr @2, ptr &3, ptr @2, ptr &4, ptr @5)")
# result, factors, pivots, word: whether the matrix is singular, value: its order, functions: exp and log. The product
# of the diagonal goes through logarithms, as in NumPy (`numpy/linalg/umath_linalg.cpp`).
_INSTRUCTIONS["ddet"] = (
    7,
    """\
%.info = load i64, ptr @4
%.regular = icmp eq i64 %.info, 0
%.step = add i64 $5, 1
br i1 %.regular, label %.head, label %.singular
.head:
%.k = phi i64 [ 0, %.begin ], [ %.next, %.body ]
%.sign = phi double [ 1.0, %.begin ], [ %.signed, %.body ]
%.total = phi double [ 0.0, %.begin ], [ %.sum, %.body ]
%.more = icmp slt i64 %.k, $5
br i1 %.more, label %.body, label %.end
.body:
%.next = add i64 %.k, 1
%.at_pivot = getelementptr i64, ptr &3, i64 %.k
%.pivot = load i64, ptr %.at_pivot
%.stays = icmp eq i64 %.pivot, %.next
%.other = fneg double %.sign
%.exchanged = select i1 %.stays, double %.sign, double %.other
%.by = mul i64 %.k, %.step
%.at = getelementptr double, ptr &2, i64 %.by
%.element = load double, ptr %.at
%.is_minus = fcmp olt double %.element, 0.0
%.opposite = fneg double %.element
%.size = select i1 %.is_minus, double %.opposite, double %.element
%.turned = fneg double %.exchanged
%.signed = select i1 %.is_minus, double %.turned, double %.exchanged
%.log = call double &7(double %.size)
%.sum = fadd double %.total, %.log
br label %.head
.end:
%.exp = call double &6(double %.total)
%.det = fmul double %.sign, %.exp
store double %.det, ptr &1
br label %.after
.singular:
store double 0.0, ptr &1
br label %.after
.after:""",
)


def copy_each(n_bytes: int) -> str:
    """The name of the instruction that copies pieces of so many bytes."""
    return f"copy_each{n_bytes}" if n_bytes in _ELEMENTS else "copy_each"


def take_rows(n_bytes: int) -> str:
    """The name of the instruction that copies rows of so many bytes, which indices tell."""
    return f"take_rows{n_bytes}" if n_bytes in _ELEMENTS else "take_rows"


OPCODES = {name: code for code, name in enumerate(_INSTRUCTIONS)}
N_OPERANDS = {name: n for name, (n, _) in _INSTRUCTIONS.items()}


@cache
def machine() -> str:
    """LLVM assembly of the machine. Its table has the words' address, their number, the tape's, its length, and then
    its other arguments."""
    head = [
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        COMPLEX_FACTORS,
        f'define i32 @"{SYMBOL}"(i64 %start, i64 %stop, ptr %table) nounwind {{',
        "entry:",
        "%place = alloca i64",
        "%time = alloca [2 x i64]",
        "%words = load ptr, ptr %table",
        "%at_tape = getelementptr i64, ptr %table, i64 2",
        "%tape = load ptr, ptr %at_tape",
        *(f"%words.{k} = getelementptr i64, ptr %words, i64 {k}" for k in range(N_RESERVED)),
        "store i64 %start, ptr %place",
        "br label %next",
        "next:",
        "%pc = load i64, ptr %place",
        "%instruction = getelementptr i64, ptr %tape, i64 %pc",
        "%opcode = load i64, ptr %instruction",
        "switch i64 %opcode, label %broken [",
        *(f"i64 {code}, label %{name}.begin" for name, code in OPCODES.items()),
        "]",
    ]  # fmt: skip
    ends = []
    for label, status in (
        ("done", DONE),
        ("paused", PAUSED),
        ("no_memory", NO_MEMORY),
        ("left", LEFT),
        ("broken", BROKEN),
    ):
        ends += [f"{label}:", f"store i64 {status}, ptr %words.{STATUS}", "ret i32 0"]
    return "\n".join([*head, *(line for name in _INSTRUCTIONS for line in _instruction(name)), *ends, "}"]) + "\n"


def _instruction(name: str) -> list[str]:
    n, text = _INSTRUCTIONS[name]
    lines = [f"{name}.begin:", f"%{name}.after_it = add i64 %pc, {n + 1}"]
    for k in range(1, n + 1):
        lines.append(f"%{name}.at{k} = getelementptr i64, ptr %instruction, i64 {k}")
        lines.append(f"%{name}.o{k} = load i64, ptr %{name}.at{k}")
    used = set(re.findall(r"([@*&])(\d+)\b", text))
    for k in sorted({int(k) for _, k in used}):
        lines.append(f"%{name}.w{k} = getelementptr i64, ptr %words, i64 %{name}.o{k}")
        if ("*", str(k)) in used:
            lines.append(f"%{name}.v{k} = load i64, ptr %{name}.w{k}")
        if ("&", str(k)) in used:
            lines.append(f"%{name}.p{k} = load ptr, ptr %{name}.w{k}")
    letters = {"$": "o", "@": "w", "*": "v", "&": "p"}
    text = re.sub(r"([$@*&])(\d+)\b", lambda m: f"%{name}.{letters[m[1]]}{m[2]}", text)
    text = re.sub(r"%\.(?=[a-z])", f"%{name}.", text)
    text = re.sub(r"^\.(?=[a-z])", f"{name}.", text, flags=re.MULTILINE)
    after = f"%{name}.to" if "%.to =" in _INSTRUCTIONS[name][1] else f"%{name}.after_it"
    return [*lines, *text.splitlines(), f"store i64 {after}, ptr %place", "br label %next"]
