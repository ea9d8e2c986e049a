"""The machine that runs kernels together: some rows of all of them, one kernel after another, then the next rows.

What one kernel hands to the next is then still in the cache. It is called as a kernel is, with a range of rows and a
table whose first array is a program of 64-bit words (`chain_program`), followed by the arguments of all kernels.
Arrays that only the kernels see have no memory of their own: what they hold for the rows at hand lies in a block that
each call allocates, and its copy of the table says where the rows' array would begin if it were whole.

A kernel that reads rows around those that it writes needs them from the kernels before, which are as many rows ahead of
it; they also begin, and end, as many rows outside of the range of the call (a sliding window: Ragan-Kelley et al.,
"Halide", PLDI 2013). What is still needed of the rows before is moved to the begin of the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SYMBOL = "workbench_chain"
# Words of the table that the program takes: its address and its length.
N_OWN = 2
# In bytes: where arrays begin in the block.
ALIGNMENT = 64


class Move(NamedTuple):
    """Of an array in the block: the word of the table that holds its address, the bytes of a row, where it begins, and
    how many rows before those at hand it has."""

    word: int
    row: int
    place: int
    before: int


class Slide(NamedTuple):
    """Of an array in the block: where it begins, the bytes of a row, from which row on rows are needed again, and how
    many."""

    place: int
    row: int
    first: int
    n: int


class Launch(NamedTuple):
    """Of a kernel: its address, its steps a row, the first word of its arguments, the first of the rows that it writes
    and how many, how many rows before and after those at hand it does, and its steps in all, of which the last row may
    have fewer."""

    address: int
    steps: int
    word: int
    first: int
    rows: int
    before: int
    after: int
    extent: int


def chain_program(
    block: int, n_bytes: int, n_words: int, moves: Sequence[Move], slides: Sequence[Slide], launches: Sequence[Launch]
) -> list[int]:
    """block: rows at a time; n_bytes: of the block of memory; n_words: of the table."""
    each = (word for record in (*moves, *slides, *launches) for word in record)
    return [block, n_bytes, n_words, len(moves), len(slides), len(launches), *each]


MACHINE = f"""\
declare noalias ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

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
  %at_slides = getelementptr i64, ptr %program, i64 4
  %n_slides = load i64, ptr %at_slides
  %at_kernels = getelementptr i64, ptr %program, i64 5
  %n_kernels = load i64, ptr %at_kernels
  %moves = getelementptr i64, ptr %program, i64 6
  ; What changes with the rows is this call's own: others may run other rows at the same time.
  %table = alloca i64, i64 %n_words
  %table_bytes = shl i64 %n_words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %given, i64 %table_bytes, i1 false)
  %move_words = mul i64 %n_moves, {len(Move._fields)}
  %slides = getelementptr i64, ptr %moves, i64 %move_words
  %slide_words = mul i64 %n_slides, {len(Slide._fields)}
  %kernels = getelementptr i64, ptr %slides, i64 %slide_words
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
  %last_begin = phi i64 [ %start, %there ], [ %begin, %called ]
  %more = icmp slt i64 %begin, %stop
  br i1 %more, label %some, label %done

some:
  %next = add i64 %begin, %block
  %end = call i64 @llvm.smin.i64(i64 %next, i64 %stop)
  %is_first = icmp eq i64 %begin, %start
  br i1 %is_first, label %move, label %slide

slide:
  %s = phi i64 [ 0, %some ], [ %s_next, %slid ]
  %more_slides = icmp slt i64 %s, %n_slides
  br i1 %more_slides, label %slid, label %move

slid:
  %s_next = add i64 %s, 1
  %s_word = mul i64 %s, {len(Slide._fields)}
  %s_at = getelementptr i64, ptr %slides, i64 %s_word
  %s_place = load i64, ptr %s_at
  %s_at_row = getelementptr i64, ptr %s_at, i64 1
  %s_row = load i64, ptr %s_at_row
  %s_at_first = getelementptr i64, ptr %s_at, i64 2
  %s_first = load i64, ptr %s_at_first
  %s_at_n = getelementptr i64, ptr %s_at, i64 3
  %s_n = load i64, ptr %s_at_n
  %s_offset = mul i64 %s_first, %s_row
  %s_array = add i64 %base, %s_place
  %s_to = add i64 %s_array, %s_offset
  %passed = sub i64 %begin, %last_begin
  %passed_bytes = mul i64 %passed, %s_row
  %s_from = add i64 %s_to, %passed_bytes
  %s_bytes = mul i64 %s_n, %s_row
  %s_target = inttoptr i64 %s_to to ptr
  %s_source = inttoptr i64 %s_from to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %s_target, ptr %s_source, i64 %s_bytes, i1 false)
  br label %slide

move:
  %m = phi i64 [ 0, %some ], [ 0, %slide ], [ %m_next, %moved ]
  %more_moves = icmp slt i64 %m, %n_moves
  br i1 %more_moves, label %moved, label %kernel

moved:
  %m_next = add i64 %m, 1
  %m_word = mul i64 %m, {len(Move._fields)}
  %m_at = getelementptr i64, ptr %moves, i64 %m_word
  %word = load i64, ptr %m_at
  %m_at_row = getelementptr i64, ptr %m_at, i64 1
  %row = load i64, ptr %m_at_row
  %m_at_place = getelementptr i64, ptr %m_at, i64 2
  %m_place = load i64, ptr %m_at_place
  %m_at_before = getelementptr i64, ptr %m_at, i64 3
  %m_before = load i64, ptr %m_at_before
  %lowest = sub i64 %begin, %m_before
  %distance = mul i64 %lowest, %row
  %place = add i64 %base, %m_place
  %moved_to = sub i64 %place, %distance
  %to = getelementptr i64, ptr %table, i64 %word
  store i64 %moved_to, ptr %to
  br label %move

kernel:
  %k = phi i64 [ 0, %move ], [ %k_next, %fine ], [ %k_next, %call ]
  %more_kernels = icmp slt i64 %k, %n_kernels
  br i1 %more_kernels, label %call, label %called

call:
  %k_next = add i64 %k, 1
  %k_word = mul i64 %k, {len(Launch._fields)}
  %k_at = getelementptr i64, ptr %kernels, i64 %k_word
  %k_at_first = getelementptr i64, ptr %k_at, i64 3
  %k_first = load i64, ptr %k_at_first
  %k_at_rows = getelementptr i64, ptr %k_at, i64 4
  %k_rows = load i64, ptr %k_at_rows
  %k_at_before = getelementptr i64, ptr %k_at, i64 5
  %k_before = load i64, ptr %k_at_before
  %k_at_after = getelementptr i64, ptr %k_at, i64 6
  %k_after = load i64, ptr %k_at_after
  %outside = sub i64 %begin, %k_before
  %ahead = add i64 %begin, %k_after
  %low = select i1 %is_first, i64 %outside, i64 %ahead
  %high = add i64 %end, %k_after
  %from = sub i64 %low, %k_first
  %until = sub i64 %high, %k_first
  %first_row = call i64 @llvm.smax.i64(i64 %from, i64 0)
  %last_row = call i64 @llvm.smin.i64(i64 %until, i64 %k_rows)
  %any = icmp slt i64 %first_row, %last_row
  br i1 %any, label %run, label %kernel

run:
  %function = load ptr, ptr %k_at
  %k_at_steps = getelementptr i64, ptr %k_at, i64 1
  %steps = load i64, ptr %k_at_steps
  %k_at_args = getelementptr i64, ptr %k_at, i64 2
  %args = load i64, ptr %k_at_args
  %its_table = getelementptr i64, ptr %table, i64 %args
  %its_start = mul i64 %first_row, %steps
  %last_step = mul i64 %last_row, %steps
  %k_at_extent = getelementptr i64, ptr %k_at, i64 7
  %k_extent = load i64, ptr %k_at_extent
  %its_stop = call i64 @llvm.smin.i64(i64 %last_step, i64 %k_extent)
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
