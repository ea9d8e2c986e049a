"""Matrix products as kernels: some rows of them by a call of BLAS, so that what follows reads them in the cache.

Called as kernels are, with a range of rows and a table. Either the rows are the result's, and those of several products
of one shape (a batch) are counted on, `rows` of each, by its own right operand. Or they are summed over, `part` of them
for each partial result. On tapes, where operands may lie in any way that BLAS takes, blocks of the result are computed
(`blocks`).
"""

from __future__ import annotations

from typing import Literal

# CBLAS's names of how matrices lie in memory.
ROW_MAJOR, AS_IT_IS, TRANSPOSED = 101, 111, 112
# A product begins with these arguments. k: the terms of an element, or the rows of a partial result; out: the word of
# the table that holds the result's address. The right operand follows, with its strides, as (batch, k, columns), and
# then the left one; of sums the left one, whose transpose it is, and then the right one.
SIZES = ("routine", "rows", "columns", "k", "part", "out")
_FIRST = len(SIZES)
RIGHT_WORDS, SUMMED_WORDS = 7, 3
# By dtype: LLVM's type and bytes.
_TYPES = {"float32": ("float", 4), "float64": ("double", 8)}

Routine = Literal["gemm", "gemv"]

# The factors of a product and of what was there before, by BLAS's letter: LLVM's type, one and zero. Complex ones are
# given by address, of these constants.
FACTORS = {
    "s": ("float", "float 1.0", "float 0.0"), "d": ("double", "double 1.0", "double 0.0"),
    "c": ("ptr", "ptr @one_c", "ptr @zero_c"), "z": ("ptr", "ptr @one_z", "ptr @zero_z"),
}  # fmt: skip
COMPLEX_FACTORS = """\
@one_c = internal constant [2 x float] [float 1.0, float 0.0]
@zero_c = internal constant [2 x float] zeroinitializer
@one_z = internal constant [2 x double] [double 1.0, double 0.0]
@zero_z = internal constant [2 x double] zeroinitializer
"""


def out_word(left_ndim: int, right_ndim: int, *, is_sum: bool) -> int:
    """Where the result's address is in the table, for operands of so many axes."""
    return _FIRST + (SUMMED_WORDS + 1 + right_ndim if is_sum else RIGHT_WORDS + 1 + left_ndim)


def symbol(routine: Routine, dtype: str, *, is_sum: bool) -> str:
    return f"workbench_{routine}_{'sums' if is_sum else 'rows'}_{dtype}"


def machine(routine: Routine, dtype: str, *, is_sum: bool) -> str:
    """The function of this symbol, as LLVM assembly."""
    head = f"declare i64 @llvm.smin.i64(i64, i64)\n\ndefine i32 @{symbol(routine, dtype, is_sum=is_sum)}"
    body = _sums(routine, dtype) if is_sum else _rows(routine, dtype)
    return f"{head}(i64 %start, i64 %stop, ptr %table) nounwind {{\nentry:\n{body}}}\n"


def _loads(**words: int) -> str:
    every = {name: k for k, name in enumerate(SIZES)} | words
    lines = "\n".join(
        f"  %at_{name} = getelementptr i64, ptr %table, i64 {k}\n"
        f"  %{name} = load {'ptr' if name in ('routine', 'left', 'right') else 'i64'}, ptr %at_{name}"
        for name, k in every.items()
    )
    return f"{lines}\n  %at_result = getelementptr i64, ptr %table, i64 %out\n  %result = load ptr, ptr %at_result\n"


def _rows(routine: Routine, dtype: str) -> str:
    kind, size = _TYPES[dtype]
    loads = _loads(
        right=_FIRST,
        batch_stride=_FIRST + 4,
        row_stride=_FIRST + 5,
        column_stride=_FIRST + 6,
        left=_FIRST + RIGHT_WORDS,
    )
    left, out = f"{kind} 1.0, ptr %its_left, i64 %k", f"{kind} 0.0, ptr %its_out, i64"
    right = "ptr %its_right, i64 %leading"
    given = f"i32 {AS_IT_IS}, i64 %n, i64 %k, {left}, {right}, {out} 1"
    if routine == "gemm":
        given = f"i32 {AS_IT_IS}, i32 %how, i64 %n, i64 %columns, i64 %k, {left}, {right}, {out} %columns"
    before = f"""\
  %lies_in_rows = icmp eq i64 %column_stride, {size}
  %how = select i1 %lies_in_rows, i32 {AS_IT_IS}, i32 {TRANSPOSED}
  %stride = select i1 %lies_in_rows, i64 %row_stride, i64 %column_stride
  %leading = sdiv exact i64 %stride, {size}
"""
    each = """\
  %batch = sdiv i64 %row, %rows
  %first = mul i64 %batch, %rows
  %after = add i64 %first, %rows
  %right_byte = mul i64 %batch, %batch_stride
  %its_right = getelementptr i8, ptr %right, i64 %right_byte
  %out_item = mul i64 %row, %columns
"""
    return _calls(kind, loads + before, each, given)


def _sums(routine: Routine, dtype: str) -> str:
    kind, _ = _TYPES[dtype]
    loads = _loads(left=_FIRST, right=_FIRST + SUMMED_WORDS)
    left, out = f"{kind} 1.0, ptr %its_left, i64 %k", f"{kind} 0.0, ptr %its_out, i64"
    given = f"i32 {TRANSPOSED}, i64 %n, i64 %k, {left}, ptr %its_right, i64 1, {out} 1"
    if routine == "gemm":
        sizes = f"i32 {TRANSPOSED}, i32 {AS_IT_IS}, i64 %k, i64 %columns, i64 %n"
        given = f"{sizes}, {left}, ptr %its_right, i64 %columns, {out} %columns"
    before = "  %size = mul i64 %k, %columns\n"
    each = f"""\
  %after = add i64 %row, %part
  %right_item = mul i64 %row, %columns
  %its_right = getelementptr {kind}, ptr %right, i64 %right_item
  %number = sdiv i64 %row, %part
  %out_item = mul i64 %number, %size
"""
    return _calls(kind, loads + before, each, given)


def _calls(kind: str, before: str, each: str, given: str) -> str:
    """A call of BLAS with the arguments `given` for the rows up to %after, and so on. each: defines that for %row, and
    %its_right and %out_item."""
    return f"""\
{before}  br label %next

next:
  %row = phi i64 [ %start, %entry ], [ %end, %some ]
  %more = icmp slt i64 %row, %stop
  br i1 %more, label %some, label %done

some:
{each}  %end = call i64 @llvm.smin.i64(i64 %after, i64 %stop)
  %n = sub i64 %end, %row
  %left_item = mul i64 %row, %k
  %its_left = getelementptr {kind}, ptr %left, i64 %left_item
  %its_out = getelementptr {kind}, ptr %result, i64 %out_item
  call void %routine(i32 {ROW_MAJOR}, {given})
  br label %next

done:
  ret i32 0
"""


# ---- blocks of a result ----

# What the table of `blocks` holds before the arguments of the routine. together: whether a range of indices is one call
# for `block` rows (or columns) of each, `total` of them in all, or a call each for products of `total` rows; steps: in
# bytes, from index to index.
BLOCK_WORDS = ("routine", "together", "block", "total", "left_step", "right_step", "out_step", "left", "right", "out")
# The arguments of the routines that follow: numbers as CBLAS takes them, but for what is counted. by_rows: whether that
# are rows of the result; columns: of it, or rows where those are not counted.
BLOCK_ARGUMENTS: dict[Routine, tuple[str, ...]] = {
    "gemv": ("order", "k", "leading", "increment"),
    "gemm": ("by_rows", "how_left", "how_right", "other", "k", "leading_left", "leading_right", "leading_out"),
}


def blocks_symbol(routine: Routine, letter: str) -> str:
    return f"workbench_{letter}{routine}_blocks"


def blocks(routine: Routine, letter: str) -> str:
    """The function of this symbol, as LLVM assembly: products whose operands lie in any way that BLAS takes. letter:
    BLAS's of the dtype."""
    names = (*BLOCK_WORDS, *BLOCK_ARGUMENTS[routine])
    addresses = ("routine", "left", "right", "out")
    loads = "\n".join(
        f"  %at_{name} = getelementptr i64, ptr %table, i64 {k}\n"
        f"  %{name} = load {'ptr' if name in addresses else 'i64'}, ptr %at_{name}"
        for k, name in enumerate(names)
    )
    _, one, zero = FACTORS[letter]
    if routine == "gemv":
        before = "  %order_word = trunc i64 %order to i32\n"
        given = (
            f"i32 %order_word, i32 {TRANSPOSED}, i64 %k, i64 %n, {one}, ptr %its_left, i64 %leading, "
            f"ptr %its_right, i64 %increment, {zero}, ptr %its_out, i64 1"
        )
        sizes = ""
    else:
        before = (
            "  %left_word = trunc i64 %how_left to i32\n  %right_word = trunc i64 %how_right to i32\n"
            "  %counts_rows = icmp ne i64 %by_rows, 0\n"
        )
        given = (
            f"i32 {ROW_MAJOR}, i32 %left_word, i32 %right_word, i64 %rows, i64 %columns, i64 %k, {one}, "
            f"ptr %its_left, i64 %leading_left, ptr %its_right, i64 %leading_right, {zero}, "
            "ptr %its_out, i64 %leading_out"
        )
        sizes = (
            "  %rows = select i1 %counts_rows, i64 %n, i64 %other\n"
            "  %columns = select i1 %counts_rows, i64 %other, i64 %n\n"
        )
    constants = COMPLEX_FACTORS if letter in "cz" else ""
    places = "".join(
        f"  %{name}_by = mul i64 %index, %{name}_step\n  %its_{name} = getelementptr i8, ptr %{name}, i64 %{name}_by\n"
        for name in ("left", "right", "out")
    )
    return f"""\
declare i64 @llvm.smin.i64(i64, i64)
{constants}
define i32 @{blocks_symbol(routine, letter)}(i64 %start, i64 %stop, ptr %table) nounwind {{
entry:
{loads}
  %is_one_call = icmp ne i64 %together, 0
{before}  br label %next

next:
  %index = phi i64 [ %start, %entry ], [ %after, %some ]
  %more = icmp slt i64 %index, %stop
  br i1 %more, label %some, label %done

some:
  %following = add i64 %index, 1
  %after = select i1 %is_one_call, i64 %stop, i64 %following
  %first = mul i64 %index, %block
  %behind = mul i64 %after, %block
  %end = call i64 @llvm.smin.i64(i64 %behind, i64 %total)
  %part = sub i64 %end, %first
  %n = select i1 %is_one_call, i64 %part, i64 %total
{sizes}{places}  call void %routine({given})
  br label %next

done:
  ret i32 0
}}
"""
