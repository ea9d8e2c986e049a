"""The machine that shares one kernel among threads, without Python: who is free takes the next range of it.

`workbench_share` is called as a kernel is, with a range and a table. The table's first array is a program of 64-bit
words (`share_program`), which says what to call; the arguments of that kernel follow. `workbench_worker` is the life of
a worker, and returns never. What they know of each other is in the words of a pool, below.

Who publishes a kernel writes what it is, then how many tickets there are for it, then the next number of launches. A
ticket above zero is a range that nobody else gets, and what the kernel is stays as it is until all ranges are finished.
Workers watch the number of launches for as long as it may cost to wake one, and then sleep on a lock of their own;
whoever waits for the last range does the same. That is the rule of the ski rental: at most twice what it costs to know
the future (Karlin, Li, Manasse, Owicki: "Empirical studies of competitive spinning", SOSP 1991). They watch by the
clock: a look with the pause after it takes between 10 and 50 nanoseconds, depending on the processor.

Ranges become shorter: the first are long, so that there are few of them, and the last so short that all threads end at
the same time, whenever they began (Tzen, Ni: "Trapezoid self-scheduling", IEEE Transactions on Parallel and Distributed
Systems 4, 1993).

A launch that took longer than its caller alone would have, judged by the ranges that the caller did itself, is a loss;
after losses the workers are left asleep, for twice as many launches each time. Work of which it is not certain that it
is large enough is timed first. Where it is small it is shared only if one launch follows the other, while workers may
still be awake.
"""

from __future__ import annotations

from functools import cache

SHARE, WORKER, RECORD = "workbench_share", "workbench_worker", "workbench_record"

# Words of a pool. What several threads write again and again has a line of the cache of its own.
TICKETS, UNFINISHED, LAUNCHES = 0, 8, 16
SEATS, KERNEL, TABLE, START, EXTENT, N_CHUNKS, STATUS = range(24, 31)
# Whether a launch is under way; whether its caller sleeps, and on which lock; how many workers there are; what to call
# before a launch on another core than the last one or with too few workers, `prepare(n)`; what tells the core and the
# time; the core of the last launch.
BUSY, WAITING, DONE, N_WORKERS, PREPARE, CORE_OF, CLOCK, CLOCK_ID, CORE = range(32, 41)
# Launches to come that go without workers; how many go without after the next loss; the moving mean of what launches
# gained, in parts of the time that the caller alone would have taken.
ALONE, LOST, GAIN = 41, 42, 43
# When the last launch ended, in nanoseconds.
ENDED = 44
# Of each worker: whether it sleeps, and on which lock.
WORKERS, EACH = 48, 8

# After so many launches alone, at most, the workers are tried again.
MOST_ALONE = 256
# Launches over which gains and losses are weighed, and a mean loss that may be noise.
REMEMBERED = 8
TOLERATED_LOSS = 0.02
# How long a thread watches before it sleeps. To wake another one takes 20 microseconds on a machine of one's own, and
# 35 to 85 on virtual ones, whose idle cores are given back to the host.
WATCH_NS = 100_000
# How often it looks between two looks at the clock, which takes longer; and how often where there is no clock.
LOOKS_PER_GLANCE = 32
LOOKS = 2_500
# A small launch has workers only if the last one ended so many nanoseconds ago at most: they are still awake then.
SOON_NS = 70_000
# Where ranges meet, if these are long: their elements then begin lines of the cache as the arrays do.
ALIGNED = 64

# Words of the table that the program takes: its address and its length.
N_OWN = 2


def n_words(n_workers: int) -> int:
    """The words of a pool with so many workers."""
    return WORKERS + EACH * n_workers


# Words of a program: the pool's address, the kernel's; how many threads may take part, and how many ranges there are;
# how large the work is; how often it was timed, and the least nanoseconds that it took.
POOL, CALLED, N_THREADS, N_RANGES, SIZE, N_TIMED, LEAST_NS = range(7)
# Worth waking a worker; worth sharing with one that is awake; not known yet; not worth sharing.
LARGE, SMALL, UNTIMED, TINY = range(4)
# Work that may be small is timed so often, without workers.
TIMED_RUNS = 4
# How long work is that is small, or large; and the least parts of it that are worth a thread, or a ticket.
SMALL_NS, LARGE_NS = 13_000, 60_000
THREAD_NS, RANGE_NS = 6_500, 2_000


def share_program(pool: int, kernel: int, n_threads: int, n_ranges: int, size: int) -> list[int]:
    """What `workbench_share` is told. It changes the program of work that is `UNTIMED`: n_threads and n_ranges are the
    most there may be."""
    return [pool, kernel, n_threads, n_ranges, size, 0, 1 << 62]


def _word(name: str, k: int, pool: str = "pool") -> str:
    return f"  %{name} = getelementptr i64, ptr %{pool}, i64 {k}"


@cache
def machine(architecture: str) -> str:
    """LLVM assembly of the machine. architecture: as `platform.machine` gives it."""
    name, args = _PAUSES.get(architecture, ("", ""))
    breathe = f"call void @{name}({args})" if name else "fence seq_cst"
    declared = f"declare void @{name}({args.partition(' ')[0]})\n" if name else ""
    return "\n".join((_HEAD, declared, _now(), _take(), _watch(breathe), _record(), _share(), _worker()))


# What lets the other thread of a core work while this one only looks.
_PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", ""), "AMD64": ("llvm.x86.sse2.pause", ""),
    "aarch64": ("llvm.aarch64.hint", "i32 1"), "arm64": ("llvm.aarch64.hint", "i32 1"),
    "ARM64": ("llvm.aarch64.hint", "i32 1"),
}  # fmt: skip

_HEAD = """\
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @PyThread_release_lock(ptr)
"""


def _now() -> str:
    return f"""\
define internal i64 @now(ptr %pool) nounwind {{
  %time = alloca [2 x i64]
{_word("at_clock", CLOCK)}
  %clock = load ptr, ptr %at_clock
  %none = icmp eq ptr %clock, null
  br i1 %none, label %unknown, label %ask
unknown:
  ret i64 0
ask:
{_word("at_id", CLOCK_ID)}
  %id64 = load i64, ptr %at_id
  %id = trunc i64 %id64 to i32
  %told = call i32 %clock(i32 %id, ptr %time)
  %s = load i64, ptr %time
  %at_ns = getelementptr i64, ptr %time, i64 1
  %ns = load i64, ptr %at_ns
  %s_ns = mul i64 %s, 1000000000
  %all = add i64 %s_ns, %ns
  ret i64 %all
}}
"""


def _take() -> str:
    """Take ranges until none is left; how much of the extent these were. An error keeps ranges that nobody began from
    running. What is left of the extent decreases with the square of the number of ranges that are left."""
    return f"""\
define internal i64 @boundary(i64 %extent, i64 %chunks, i64 %left) nounwind {{
  %part = mul i64 %extent, %left
  %of_all = sdiv i64 %part, %chunks
  %part_of_part = mul i64 %of_all, %left
  %rest = sdiv i64 %part_of_part, %chunks
  %place = sub i64 %extent, %rest
  %square = mul i64 %chunks, %chunks
  %least = mul i64 %square, {ALIGNED}
  %is_long = icmp sge i64 %extent, %least
  %mask = select i1 %is_long, i64 -{ALIGNED}, i64 -1
  %aligned = and i64 %place, %mask
  %is_end = icmp eq i64 %left, 0
  %boundary = select i1 %is_end, i64 %extent, i64 %aligned
  ret i64 %boundary
}}

define internal i64 @take(ptr %pool) nounwind {{
entry:
{_word("at_tickets", TICKETS)}
{_word("at_unfinished", UNFINISHED)}
{_word("at_kernel", KERNEL)}
{_word("at_table", TABLE)}
{_word("at_start", START)}
{_word("at_extent", EXTENT)}
{_word("at_chunks", N_CHUNKS)}
{_word("at_status", STATUS)}
{_word("at_waiting", WAITING)}
{_word("at_done", DONE)}
  br label %next

next:
  %taken = phi i64 [ 0, %entry ], [ %taken_next, %finished ]
  %ticket = atomicrmw sub ptr %at_tickets, i64 1 seq_cst
  %some = icmp sgt i64 %ticket, 0
  br i1 %some, label %chunk, label %end

chunk:
  %extent = load volatile i64, ptr %at_extent
  %chunks = load volatile i64, ptr %at_chunks
  %left_after = sub i64 %ticket, 1
  %first = call i64 @boundary(i64 %extent, i64 %chunks, i64 %ticket)
  %last = call i64 @boundary(i64 %extent, i64 %chunks, i64 %left_after)
  %size = sub i64 %last, %first
  %taken_next = add i64 %taken, %size
  %before = load atomic i64, ptr %at_status monotonic, align 8
  %fine = icmp eq i64 %before, 0
  %some_of_it = icmp sgt i64 %size, 0
  %runs = and i1 %fine, %some_of_it
  br i1 %runs, label %run, label %finish

run:
  %kernel = load volatile ptr, ptr %at_kernel
  %table = load volatile ptr, ptr %at_table
  %start = load volatile i64, ptr %at_start
  %from = add i64 %start, %first
  %to = add i64 %start, %last
  %status = call i32 %kernel(i64 %from, i64 %to, ptr %table)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %finish, label %failed

failed:
  %wide = sext i32 %status to i64
  store atomic i64 %wide, ptr %at_status monotonic, align 8
  br label %finish

finish:
  %left = atomicrmw sub ptr %at_unfinished, i64 1 seq_cst
  %was_last = icmp eq i64 %left, 1
  br i1 %was_last, label %tell, label %finished

tell:
  %swapped = cmpxchg ptr %at_waiting, i64 1, i64 0 seq_cst seq_cst
  %sleeps = extractvalue {{ i64, i1 }} %swapped, 1
  br i1 %sleeps, label %wake, label %finished

wake:
  %lock = load ptr, ptr %at_done
  call void @PyThread_release_lock(ptr %lock)
  br label %finished

finished:
  br label %next

end:
  ret i64 %taken
}}
"""


def _watch(breathe: str) -> str:
    """Look at a word until it is what it should become, or is no longer what it was; after `WATCH_NS`, sleep on a lock
    that whoever changes the word releases if the sleeper's word says so."""
    return f"""\
define internal void @watch(ptr %pool, ptr %at, i64 %value, i1 %becomes, ptr %at_asleep, ptr %at_lock) nounwind {{
entry:
  br label %look

look:
  %k = phi i64 [ 0, %entry ], [ %k_next, %again ]
  %until = phi i64 [ 0, %entry ], [ %until_now, %again ]
  %seen = load atomic i64, ptr %at seq_cst, align 8
  %is_value = icmp eq i64 %seen, %value
  %over = icmp eq i1 %is_value, %becomes
  br i1 %over, label %end, label %breathe

breathe:
  %k_next = add i64 %k, 1
  %k_of_glance = urem i64 %k_next, {LOOKS_PER_GLANCE}
  %glances = icmp eq i64 %k_of_glance, 0
  br i1 %glances, label %glance, label %again

glance:
  %time = call i64 @now(ptr %pool)
  %has_clock = icmp ne i64 %time, 0
  %is_first = icmp eq i64 %until, 0
  %fresh = add i64 %time, {WATCH_NS}
  %until_then = select i1 %is_first, i64 %fresh, i64 %until
  %is_late = icmp sge i64 %time, %until_then
  %is_often = icmp sge i64 %k_next, {LOOKS}
  %tired = select i1 %has_clock, i1 %is_late, i1 %is_often
  br i1 %tired, label %sleep, label %again

again:
  %until_now = phi i64 [ %until, %breathe ], [ %until_then, %glance ]
  {breathe}
  br label %look

sleep:
  %was = atomicrmw xchg ptr %at_asleep, i64 1 seq_cst
  %still = load atomic i64, ptr %at seq_cst, align 8
  %still_value = icmp eq i64 %still, %value
  %late = icmp eq i1 %still_value, %becomes
  br i1 %late, label %take_back, label %acquire

take_back:
  %swapped = cmpxchg ptr %at_asleep, i64 1, i64 0 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %swapped, 1
  br i1 %mine, label %end, label %acquire

acquire:
  %lock = load ptr, ptr %at_lock
  %held = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  ; Whoever released it may have meant an earlier sleep.
  %now = load atomic i64, ptr %at seq_cst, align 8
  %now_value = icmp eq i64 %now, %value
  %now_over = icmp eq i1 %now_value, %becomes
  br i1 %now_over, label %end, label %sleep

end:
  ret void
}}
"""


def _record() -> str:
    """A launch took so many nanoseconds; the caller alone would have taken so many."""
    return f"""\
define void @{RECORD}(ptr %pool, i64 %elapsed, i64 %alone_ns) nounwind {{
entry:
  %known = icmp sgt i64 %alone_ns, 0
  br i1 %known, label %weigh, label %end

weigh:
{_word("at_alone", ALONE)}
{_word("at_lost", LOST)}
{_word("at_gain", GAIN)}
  %took = sitofp i64 %elapsed to double
  %would = sitofp i64 %alone_ns to double
  %part = fdiv double %took, %would
  %gained = fsub double 1.0, %part
  %gain = load double, ptr %at_gain
  %off = fsub double %gained, %gain
  %step = fdiv double %off, {float(REMEMBERED)}
  %mean = fadd double %gain, %step
  store double %mean, ptr %at_gain
  %lost = load i64, ptr %at_lost
  %loses = fcmp olt double %mean, {-TOLERATED_LOSS:.6e}
  br i1 %loses, label %without, label %look

without:
  %twice = shl i64 %lost, 1
  %more = icmp slt i64 %twice, {MOST_ALONE}
  %next = select i1 %more, i64 %twice, i64 {MOST_ALONE}
  store i64 %next, ptr %at_lost
  store i64 %next, ptr %at_alone
  store double 0.0, ptr %at_gain
  ret void

look:
  %gains = fcmp ogt double %mean, {TOLERATED_LOSS:.6e}
  br i1 %gains, label %with, label %end

with:
  %half = lshr i64 %lost, 1
  %enough = icmp sgt i64 %half, 1
  %fewer = select i1 %enough, i64 %half, i64 1
  store i64 %fewer, ptr %at_lost
  ret void

end:
  ret void
}}
"""


def _share() -> str:
    return f"""\
define i32 @{SHARE}(i64 %start, i64 %stop, ptr %table) nounwind {{
entry:
  %program = load ptr, ptr %table
{_word("at_pool", POOL, "program")}
  %pool = load ptr, ptr %at_pool
{_word("at_called", CALLED, "program")}
  %kernel = load ptr, ptr %at_called
{_word("at_size", SIZE, "program")}
  %size = load atomic i64, ptr %at_size acquire, align 8
  %its_table = getelementptr i64, ptr %table, i64 {N_OWN}
  switch i64 %size, label %is_known [
    i64 {TINY}, label %by_itself
    i64 {UNTIMED}, label %timed
  ]

timed:
{_word("at_most_threads", N_THREADS, "program")}
  %most_threads = load atomic i64, ptr %at_most_threads monotonic, align 8
{_word("at_most_ranges", N_RANGES, "program")}
  %most_ranges = load atomic i64, ptr %at_most_ranges monotonic, align 8
  %timed_begin = call i64 @now(ptr %pool)
  %timed_status = call i32 %kernel(i64 %start, i64 %stop, ptr %its_table)
  %timed_end = call i64 @now(ptr %pool)
  %took = sub i64 %timed_end, %timed_begin
{_word("at_least", LEAST_NS, "program")}
  %least_before = atomicrmw min ptr %at_least, i64 %took monotonic
  %is_less = icmp slt i64 %took, %least_before
  %least = select i1 %is_less, i64 %took, i64 %least_before
{_word("at_timed", N_TIMED, "program")}
  %runs = atomicrmw add ptr %at_timed, i64 1 monotonic
  ; One caller settles it: several may be here.
  %is_last = icmp eq i64 %runs, {TIMED_RUNS - 1}
  br i1 %is_last, label %settle, label %timed_over

settle:
  %worth_threads = sdiv i64 %least, {THREAD_NS}
  %worth_ranges = sdiv i64 %least, {RANGE_NS}
  %fewer_threads = icmp slt i64 %worth_threads, %most_threads
  %its_threads = select i1 %fewer_threads, i64 %worth_threads, i64 %most_threads
  %fewer_ranges = icmp slt i64 %worth_ranges, %most_ranges
  %its_ranges = select i1 %fewer_ranges, i64 %worth_ranges, i64 %most_ranges
  store atomic i64 %its_threads, ptr %at_most_threads monotonic, align 8
  store atomic i64 %its_ranges, ptr %at_most_ranges monotonic, align 8
  %is_large = icmp sge i64 %least, {LARGE_NS}
  %is_small = icmp sge i64 %least, {SMALL_NS}
  %divides = icmp sgt i64 %its_ranges, 1
  %shareable = and i1 %is_small, %divides
  %not_large = select i1 %shareable, i64 {SMALL}, i64 {TINY}
  %large_too = and i1 %is_large, %divides
  %its_size = select i1 %large_too, i64 {LARGE}, i64 %not_large
  store atomic i64 %its_size, ptr %at_size release, align 8
  br label %timed_over

timed_over:
  ret i32 %timed_status

is_known:
{_word("at_threads", N_THREADS, "program")}
  %threads = load atomic i64, ptr %at_threads monotonic, align 8
{_word("at_ranges", N_RANGES, "program")}
  %chunks = load atomic i64, ptr %at_ranges acquire, align 8
{_word("at_busy", BUSY)}
  %swapped = cmpxchg ptr %at_busy, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %swapped, 1
  br i1 %mine, label %pace, label %by_itself

by_itself:  ; the workers are another caller's, or this is one of them
  %own_status = call i32 %kernel(i64 %start, i64 %stop, ptr %its_table)
  ret i32 %own_status

pace:
{_word("at_alone", ALONE)}
  %alone = load i64, ptr %at_alone
  %without = icmp sgt i64 %alone, 0
  br i1 %without, label %asleep, label %when

asleep:
  %alone_next = sub i64 %alone, 1
  store i64 %alone_next, ptr %at_alone
  store atomic i64 0, ptr %at_busy seq_cst, align 8
  br label %by_itself

when:
  %arrived = call i64 @now(ptr %pool)
{_word("at_ended", ENDED)}
  %ended = load i64, ptr %at_ended
  %soon_until = add i64 %ended, {SOON_NS}
  %is_late = icmp sgt i64 %arrived, %soon_until
  %small = icmp eq i64 %size, {SMALL}
  %apart = and i1 %small, %is_late
  br i1 %apart, label %lone, label %where

lone:
  %lone_status = call i32 %kernel(i64 %start, i64 %stop, ptr %its_table)
  %lone_end = call i64 @now(ptr %pool)
  store i64 %lone_end, ptr %at_ended
  store atomic i64 0, ptr %at_busy seq_cst, align 8
  ret i32 %lone_status

where:
  %others = sub i64 %threads, 1
{_word("at_workers", N_WORKERS)}
  %workers_before = load i64, ptr %at_workers
  %few = icmp slt i64 %workers_before, %others
{_word("at_core_of", CORE_OF)}
  %core_of = load ptr, ptr %at_core_of
  %nowhere = icmp eq ptr %core_of, null
  br i1 %nowhere, label %there, label %ask

ask:
  %core32 = call i32 %core_of()
  %asked = sext i32 %core32 to i64
  br label %there

there:
  %core = phi i64 [ -1, %where ], [ %asked, %ask ]
{_word("at_core", CORE)}
  %core_before = load i64, ptr %at_core
  %elsewhere = icmp ne i64 %core, %core_before
  %unprepared = or i1 %few, %elsewhere
  br i1 %unprepared, label %prepare, label %publish

prepare:
  store i64 %core, ptr %at_core
{_word("at_prepare", PREPARE)}
  %preparation = load ptr, ptr %at_prepare
  %prepared = call i32 %preparation(i64 %others)
  br label %publish

publish:
  %begin = call i64 @now(ptr %pool)
{_word("at_kernel", KERNEL)}
  store volatile ptr %kernel, ptr %at_kernel
{_word("at_table", TABLE)}
  store volatile ptr %its_table, ptr %at_table
{_word("at_start", START)}
  store volatile i64 %start, ptr %at_start
{_word("at_extent", EXTENT)}
  %extent = sub i64 %stop, %start
  store volatile i64 %extent, ptr %at_extent
{_word("at_chunks", N_CHUNKS)}
  store volatile i64 %chunks, ptr %at_chunks
{_word("at_status", STATUS)}
  store atomic i64 0, ptr %at_status monotonic, align 8
{_word("at_unfinished", UNFINISHED)}
  store atomic i64 %chunks, ptr %at_unfinished seq_cst, align 8
{_word("at_seats", SEATS)}
  store atomic i64 %others, ptr %at_seats seq_cst, align 8
{_word("at_tickets", TICKETS)}
  store atomic i64 %chunks, ptr %at_tickets seq_cst, align 8
{_word("at_launches", LAUNCHES)}
  %launch = atomicrmw add ptr %at_launches, i64 1 seq_cst
  %workers = load i64, ptr %at_workers
  %enough = icmp slt i64 %others, %workers
  %wanted = select i1 %enough, i64 %others, i64 %workers
  br label %each

each:
  %w = phi i64 [ 0, %publish ], [ %w_next, %woken ]
  %more = icmp slt i64 %w, %wanted
  br i1 %more, label %worker, label %work

worker:
  %w_next = add i64 %w, 1
  %scaled = mul i64 %w, {EACH}
  %word = add i64 %scaled, {WORKERS}
  %at_state = getelementptr i64, ptr %pool, i64 %word
  %state = cmpxchg ptr %at_state, i64 1, i64 0 seq_cst seq_cst
  %slept = extractvalue {{ i64, i1 }} %state, 1
  br i1 %slept, label %wake, label %woken

wake:
  %at_lock = getelementptr i64, ptr %at_state, i64 1
  %lock = load ptr, ptr %at_lock
  call void @PyThread_release_lock(ptr %lock)
  br label %woken

woken:
  br label %each

work:
  %taken = call i64 @take(ptr %pool)
  %own_end = call i64 @now(ptr %pool)
{_word("at_waiting", WAITING)}
{_word("at_done", DONE)}
  call void @watch(ptr %pool, ptr %at_unfinished, i64 0, i1 true, ptr %at_waiting, ptr %at_done)
  %status64 = load atomic i64, ptr %at_status monotonic, align 8
  %end = call i64 @now(ptr %pool)
  store i64 %end, ptr %at_ended
  %none = icmp eq i64 %taken, 0
  br i1 %none, label %leave, label %judge

judge:
  %elapsed = sub i64 %end, %begin
  %own = sub i64 %own_end, %begin
  %own_ns = sitofp i64 %own to double
  %extent_taken = sitofp i64 %taken to double
  %of_extent = sitofp i64 %extent to double
  %ns_each = fdiv double %own_ns, %extent_taken
  %would_ns = fmul double %ns_each, %of_extent
  %would = fptosi double %would_ns to i64
  call void @{RECORD}(ptr %pool, i64 %elapsed, i64 %would)
  br label %leave

leave:
  store atomic i64 0, ptr %at_busy seq_cst, align 8
  %status = trunc i64 %status64 to i32
  ret i32 %status
}}
"""


def _worker() -> str:
    return f"""\
define void @{WORKER}(ptr %pool, i64 %number) nounwind {{
entry:
{_word("at_launches", LAUNCHES)}
{_word("at_seats", SEATS)}
  %scaled = mul i64 %number, {EACH}
  %word = add i64 %scaled, {WORKERS}
  %at_state = getelementptr i64, ptr %pool, i64 %word
  %at_lock = getelementptr i64, ptr %at_state, i64 1
  br label %idle

idle:
  %last = phi i64 [ 0, %entry ], [ %launch, %full ], [ %launch, %seated ]
  call void @watch(ptr %pool, ptr %at_launches, i64 %last, i1 false, ptr %at_state, ptr %at_lock)
  %launch = load atomic i64, ptr %at_launches seq_cst, align 8
  %seat = atomicrmw sub ptr %at_seats, i64 1 seq_cst
  %free = icmp sgt i64 %seat, 0
  br i1 %free, label %seated, label %full

full:
  br label %idle

seated:
  %taken = call i64 @take(ptr %pool)
  br label %idle
}}
"""
