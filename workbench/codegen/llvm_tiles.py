"""The machine that runs several iterations of a loop together: some rows of all of them, then the next rows.

An iteration is some kernels, one after another, that read and write rows of arrays and a few rows around. While the
rows at hand are in the cache, each kernel of each iteration does its part of them; every one of them lags behind those
before by as many rows as it reads around (time skewing: Wolf, Lam, "A loop transformation theory and an algorithm to
maximize parallelism", IEEE TPDS 1991).

Threads take chunks of the rows. `workbench_tiles` is called as a kernel is, for a range of chunks: where two chunks
meet both stay away from what the other writes, further with every kernel. What is left then, a wedge between each two
chunks, is done by `workbench_wedges`. The only argument of both is a program of 64-bit words (`tiles_program`).
"""

from __future__ import annotations

from collections.abc import Sequence

TILES, WEDGES = "workbench_tiles", "workbench_wedges"
# Words of a program: how many of its runs there are to do; rows at a time; chunks; where runs begin; what tells the
# time, or 0; then the first row of each chunk, and the end of the last.
N_RUNS, BLOCK, N_CHUNKS, RUNS, CLOCK, CLOCK_ID, BOUNDS = range(7)
# Of a run: the kernel's address, by how many rows it lags behind the first, the first row that it writes, how many
# rows, its steps a row, and the word where its table begins; then the nanoseconds that it took, all threads together.
RUN_WORDS, TAKEN = 7, 6


def tiles_program(
    block: int,
    bounds: Sequence[int],
    runs: Sequence[tuple[int, int, int, int, int, int]],
    tables: Sequence[Sequence[int]],
) -> tuple[list[int], list[int]]:
    """The program, and where in it each table begins. runs: see above, with the number of the table at the end."""
    first = BOUNDS + len(bounds)
    at = first + RUN_WORDS * len(runs)
    begins = []
    for table in tables:
        begins.append(at)
        at += len(table)
    each = [word for *run, table in runs for word in (*run, begins[table], 0)]
    head = [len(runs), block, len(bounds) - 1, first, 0, 0, *bounds]
    words = [*head, *each, *(word for table in tables for word in table)]
    return words, begins


def _head(symbol: str) -> str:
    return f"""\
define i32 @{symbol}(i64 %start, i64 %stop, ptr %given) nounwind {{
entry:
  %program = load ptr, ptr %given
  %n_runs = load i64, ptr %program
  %at_block = getelementptr i64, ptr %program, i64 {BLOCK}
  %block = load i64, ptr %at_block
  %at_chunks = getelementptr i64, ptr %program, i64 {N_CHUNKS}
  %n_chunks = load i64, ptr %at_chunks
  %last = sub i64 %n_chunks, 1
  %at_runs = getelementptr i64, ptr %program, i64 {RUNS}
  %first_run = load i64, ptr %at_runs
  %runs = getelementptr i64, ptr %program, i64 %first_run
  %bounds = getelementptr i64, ptr %program, i64 {BOUNDS}
  %final = sub i64 %n_runs, 1
  %to_final = mul i64 %final, {RUN_WORDS}
  %at_final = getelementptr i64, ptr %runs, i64 %to_final
  %at_most = getelementptr i64, ptr %at_final, i64 1
  %most = load i64, ptr %at_most
"""


MACHINE = f"""\
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define internal i64 @now(ptr %program) nounwind {{
entry:
  %time = alloca [2 x i64]
  %at_clock = getelementptr i64, ptr %program, i64 {CLOCK}
  %clock = load ptr, ptr %at_clock
  %at_id = getelementptr i64, ptr %program, i64 {CLOCK_ID}
  %id64 = load i64, ptr %at_id
  %id = trunc i64 %id64 to i32
  %told = call i32 %clock(i32 %id, ptr %time)
  %seconds = load i64, ptr %time
  %at_rest = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %at_rest
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}}

; A run of a kernel over the rows from %low to %high, as far as there are any.
define internal i32 @run(ptr %program, ptr %run, i64 %low, i64 %high) nounwind {{
entry:
  %at_first = getelementptr i64, ptr %run, i64 2
  %first = load i64, ptr %at_first
  %at_rows = getelementptr i64, ptr %run, i64 3
  %rows = load i64, ptr %at_rows
  %from = sub i64 %low, %first
  %to = sub i64 %high, %first
  %begin = call i64 @llvm.smax.i64(i64 %from, i64 0)
  %end = call i64 @llvm.smin.i64(i64 %to, i64 %rows)
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %some, label %none

some:
  %kernel = load ptr, ptr %run
  %at_steps = getelementptr i64, ptr %run, i64 4
  %steps = load i64, ptr %at_steps
  %at_table = getelementptr i64, ptr %run, i64 5
  %word = load i64, ptr %at_table
  %table = getelementptr i64, ptr %program, i64 %word
  %start = mul i64 %begin, %steps
  %stop = mul i64 %end, %steps
  %at_clock = getelementptr i64, ptr %program, i64 {CLOCK}
  %clock = load ptr, ptr %at_clock
  %untimed = icmp eq ptr %clock, null
  br i1 %untimed, label %quick, label %timed

quick:
  %status = call i32 %kernel(i64 %start, i64 %stop, ptr %table)
  ret i32 %status

timed:
  %before = call i64 @now(ptr %program)
  %result = call i32 %kernel(i64 %start, i64 %stop, ptr %table)
  %after = call i64 @now(ptr %program)
  %taken = sub i64 %after, %before
  %at_taken = getelementptr i64, ptr %run, i64 {TAKEN}
  %others = atomicrmw add ptr %at_taken, i64 %taken monotonic
  ret i32 %result

none:
  ret i32 0
}}

{_head(TILES)}  br label %chunk

chunk:
  %c = phi i64 [ %start, %entry ], [ %c_next, %chunk_done ]
  %more_chunks = icmp slt i64 %c, %stop
  br i1 %more_chunks, label %rows, label %done

rows:
  %at_low = getelementptr i64, ptr %bounds, i64 %c
  %chunk_low = load i64, ptr %at_low
  %c_next = add i64 %c, 1
  %at_high = getelementptr i64, ptr %bounds, i64 %c_next
  %chunk_high = load i64, ptr %at_high
  %is_first = icmp eq i64 %c, 0
  %is_last = icmp eq i64 %c, %last
  %until = add i64 %chunk_high, %most
  br label %block_begin

block_begin:
  %begin = phi i64 [ %chunk_low, %rows ], [ %begin_next, %block_done ]
  %more_blocks = icmp slt i64 %begin, %until
  br i1 %more_blocks, label %next_run, label %chunk_done

next_run:
  %k = phi i64 [ 0, %block_begin ], [ %k_next, %fine ]
  %more_runs = icmp slt i64 %k, %n_runs
  br i1 %more_runs, label %call, label %block_done

call:
  %k_next = add i64 %k, 1
  %to_run = mul i64 %k, {RUN_WORDS}
  %run = getelementptr i64, ptr %runs, i64 %to_run
  %at_lag = getelementptr i64, ptr %run, i64 1
  %lag = load i64, ptr %at_lag
  %its_low = sub i64 %begin, %lag
  %its_high = add i64 %its_low, %block
  %shrunk_low = add i64 %chunk_low, %lag
  %shrunk_high = sub i64 %chunk_high, %lag
  %bound_low = select i1 %is_first, i64 %its_low, i64 %shrunk_low
  %bound_high = select i1 %is_last, i64 %its_high, i64 %shrunk_high
  %low = call i64 @llvm.smax.i64(i64 %its_low, i64 %bound_low)
  %high = call i64 @llvm.smin.i64(i64 %its_high, i64 %bound_high)
  %status = call i32 @run(ptr %program, ptr %run, i64 %low, i64 %high)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %fine, label %failed

fine:
  br label %next_run

block_done:
  %begin_next = add i64 %begin, %block
  br label %block_begin

chunk_done:
  br label %chunk

failed:
  ret i32 %status

done:
  ret i32 0
}}

{_head(WEDGES)}  br label %wedge

wedge:
  %c = phi i64 [ %start, %entry ], [ %c_next, %wedge_done ]
  %more_wedges = icmp slt i64 %c, %stop
  br i1 %more_wedges, label %rows, label %done

rows:
  %c_next = add i64 %c, 1
  %at_middle = getelementptr i64, ptr %bounds, i64 %c_next
  %middle = load i64, ptr %at_middle
  br label %next_run

next_run:
  %k = phi i64 [ 0, %rows ], [ %k_next, %fine ]
  %more_runs = icmp slt i64 %k, %n_runs
  br i1 %more_runs, label %call, label %wedge_done

call:
  %k_next = add i64 %k, 1
  %to_run = mul i64 %k, {RUN_WORDS}
  %run = getelementptr i64, ptr %runs, i64 %to_run
  %at_lag = getelementptr i64, ptr %run, i64 1
  %lag = load i64, ptr %at_lag
  %low = sub i64 %middle, %lag
  %high = add i64 %middle, %lag
  %status = call i32 @run(ptr %program, ptr %run, i64 %low, i64 %high)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %fine, label %failed

fine:
  br label %next_run

wedge_done:
  br label %wedge

failed:
  ret i32 %status

done:
  ret i32 0
}}
"""
