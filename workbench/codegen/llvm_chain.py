"""The machine that runs kernels together: some rows of all of them, one kernel after another, then the next rows.

What one kernel hands to the next is then still in the cache. It is called as a kernel is, with a range of rows and a
table whose first array is a program of 64-bit words (`chain_program`), followed by the arguments of all kernels.
Arrays that only the kernels see have no memory of their own: what they hold for the rows at hand lies in a block that
each call allocates, and its copy of the table says where the rows' array would begin if it were whole.
"""

from __future__ import annotations

from collections.abc import Sequence

SYMBOL = "workbench_chain"
# Words of the table that the program takes: its address and its length.
N_OWN = 2
# In bytes: where arrays begin in the block.
ALIGNMENT = 64


def chain_program(
    block: int,
    n_bytes: int,
    n_words: int,
    moves: Sequence[tuple[int, int, int]],
    kernels: Sequence[tuple[int, int, int]],
) -> list[int]:
    """block: rows at a time; n_bytes: of the block of memory; n_words: of the table; moves: of each array in it the
    word of the table that holds its address, the bytes of a row and where it begins; kernels: address, steps a row and
    first word of each."""
    each = (word for record in (*moves, *kernels) for word in record)
    return [block, n_bytes, n_words, len(moves), len(kernels), *each]


MACHINE = f"""\
declare noalias ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i32 @{SYMBOL}(i64 %start, i64 %stop, ptr %given) nounwind {{
entry:
  %program = load ptr, ptr %given
  %block = load i64, ptr %program
  %at_bytes = getelementptr i64, ptr %program, i64 1
  %n_bytes = load i64, ptr %at_bytes
  %at_words = getelementptr i64, ptr %program, i64 2
  %n_words = load i64, ptr %at_words
  %at_moves = getelementptr i64, ptr %program, i64 3
  %n_moves = load i64, ptr %at_moves
  %at_kernels = getelementptr i64, ptr %program, i64 4
  %n_kernels = load i64, ptr %at_kernels
  %moves = getelementptr i64, ptr %program, i64 5
  ; What changes with the rows is this call's own: others may run other rows at the same time.
  %table = alloca i64, i64 %n_words
  %table_bytes = shl i64 %n_words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %given, i64 %table_bytes, i1 false)
  %words = mul i64 %n_moves, 3
  %kernels = getelementptr i64, ptr %moves, i64 %words
  %asked = add i64 %n_bytes, {ALIGNMENT}
  %memory = call noalias ptr @PyMem_RawMalloc(i64 %asked)
  %missing = icmp eq ptr %memory, null
  br i1 %missing, label %none, label %there

none:
  ret i32 1

there:
  %address = ptrtoint ptr %memory to i64
  %up = add i64 %address, {ALIGNMENT - 1}
  %base = and i64 %up, -{ALIGNMENT}
  br label %rows

rows:
  %begin = phi i64 [ %start, %there ], [ %end, %called ]
  %more = icmp slt i64 %begin, %stop
  br i1 %more, label %some, label %done

some:
  %next = add i64 %begin, %block
  %is_last = icmp slt i64 %stop, %next
  %end = select i1 %is_last, i64 %stop, i64 %next
  br label %move

move:
  %m = phi i64 [ 0, %some ], [ %m_next, %moved ]
  %more_moves = icmp slt i64 %m, %n_moves
  br i1 %more_moves, label %moved, label %kernel

moved:
  %m_next = add i64 %m, 1
  %m_word = mul i64 %m, 3
  %m_at = getelementptr i64, ptr %moves, i64 %m_word
  %word = load i64, ptr %m_at
  %m_at_row = getelementptr i64, ptr %m_at, i64 1
  %row = load i64, ptr %m_at_row
  %m_at_first = getelementptr i64, ptr %m_at, i64 2
  %first = load i64, ptr %m_at_first
  %before = mul i64 %begin, %row
  %place = add i64 %base, %first
  %moved_to = sub i64 %place, %before
  %to = getelementptr i64, ptr %table, i64 %word
  store i64 %moved_to, ptr %to
  br label %move

kernel:
  %k = phi i64 [ 0, %move ], [ %k_next, %fine ]
  %more_kernels = icmp slt i64 %k, %n_kernels
  br i1 %more_kernels, label %call, label %called

call:
  %k_next = add i64 %k, 1
  %k_word = mul i64 %k, 3
  %k_at = getelementptr i64, ptr %kernels, i64 %k_word
  %function = load ptr, ptr %k_at
  %k_at_steps = getelementptr i64, ptr %k_at, i64 1
  %steps = load i64, ptr %k_at_steps
  %k_at_args = getelementptr i64, ptr %k_at, i64 2
  %args = load i64, ptr %k_at_args
  %its_table = getelementptr i64, ptr %table, i64 %args
  %its_start = mul i64 %begin, %steps
  %its_stop = mul i64 %end, %steps
  %status = call i32 %function(i64 %its_start, i64 %its_stop, ptr %its_table)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %fine, label %failed

fine:
  br label %kernel

called:
  br label %rows

failed:
  call void @PyMem_RawFree(ptr %memory)
  ret i32 %status

done:
  call void @PyMem_RawFree(ptr %memory)
  ret i32 0
}}
"""
