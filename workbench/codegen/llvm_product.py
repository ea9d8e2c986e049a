"""Matrix products as kernels: some rows of them by a call of BLAS, so that what follows reads them in the cache.

Called as kernels are, with a range of rows and a table. Either the rows are the result's, and those of several products
of one shape (a batch) are counted on, `rows` of each, by its own right operand. Or they are summed over, `part` of them
for each partial result.
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
