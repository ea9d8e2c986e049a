"""Matrix products as kernels: some rows of the result by a call of BLAS, so that what follows reads them in the cache.

Called as kernels are, with a range of rows and a table. Rows of several products of one shape (a batch) are counted on:
`rows` of each, by its own right operand.
"""

from __future__ import annotations

from typing import Any

# CBLAS's names of how matrices lie in memory.
ROW_MAJOR, AS_IT_IS, TRANSPOSED = 101, 111, 112
# The arguments of a product: these sizes, then the right operand with its strides, as (batch, k, columns), the left one
# and the result. out: the word of the table that holds the result's address.
SIZES = ("routine", "rows", "columns", "k", "out")
RIGHT = len(SIZES)
LEFT = RIGHT + 7
# By dtype: LLVM's type, bytes, and 1.0.
_TYPES = {"float32": ("float", 4), "float64": ("double", 8)}


def symbol(dtype: str) -> str:
    return f"workbench_product_{dtype}"


def machine(dtype: str) -> str:
    """The function `symbol(dtype)` as LLVM assembly."""
    kind, size = _TYPES[dtype]
    words: dict[str, Any] = {name: k for k, name in enumerate(SIZES)}
    strides = ("batch_stride", "row_stride", "column_stride")
    words |= {"right": RIGHT, "left": LEFT} | {name: RIGHT + 4 + axis for axis, name in enumerate(strides)}
    loads = "\n".join(
        f"  %at_{name} = getelementptr i64, ptr %table, i64 {k}\n"
        f"  %{name} = load {'ptr' if name in ('routine', 'left', 'right') else 'i64'}, ptr %at_{name}"
        for name, k in words.items()
    )
    sizes = f"i32 {ROW_MAJOR}, i32 {AS_IT_IS}, i32 %how, i64 %n, i64 %columns, i64 %k"
    factors = f"{kind} 1.0, ptr %its_left, i64 %k, ptr %its_right, i64 %leading"
    return f"""\
declare i64 @llvm.smin.i64(i64, i64)

define i32 @{symbol(dtype)}(i64 %start, i64 %stop, ptr %table) nounwind {{
entry:
{loads}
  %at_result = getelementptr i64, ptr %table, i64 %out
  %result = load ptr, ptr %at_result
  %lies_in_rows = icmp eq i64 %column_stride, {size}
  %how = select i1 %lies_in_rows, i32 {AS_IT_IS}, i32 {TRANSPOSED}
  %stride = select i1 %lies_in_rows, i64 %row_stride, i64 %column_stride
  %leading = sdiv exact i64 %stride, {size}
  br label %next

next:
  %row = phi i64 [ %start, %entry ], [ %end, %some ]
  %more = icmp slt i64 %row, %stop
  br i1 %more, label %some, label %done

some:
  %batch = sdiv i64 %row, %rows
  %first = mul i64 %batch, %rows
  %after = add i64 %first, %rows
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %stop)
  %n = sub i64 %end, %row
  %left_item = mul i64 %row, %k
  %its_left = getelementptr {kind}, ptr %left, i64 %left_item
  %right_byte = mul i64 %batch, %batch_stride
  %its_right = getelementptr i8, ptr %right, i64 %right_byte
  %out_item = mul i64 %row, %columns
  %its_out = getelementptr {kind}, ptr %result, i64 %out_item
  call void %routine({sizes}, {factors}, {kind} 0.0, ptr %its_out, i64 %columns)
  br label %next

done:
  ret i32 0
}}
"""
