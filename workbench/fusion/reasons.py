"""Why two equations share a kernel or do not: one stable code a reason, in words for the report."""

from __future__ import annotations

REASONS = {
    "WB300": "fused: the value stays in registers",
    "WB301": "fused: recomputed at each place that reads it, cheaper than a trip through memory",
    "WB302": "fused: both read the same array",
    "WB310": "they loop over different shapes",
    "WB311": "the reader needs it at a shifted or permuted position, and it must be in memory anyway",
    "WB312": "the reader needs other rows of a result that is reduced row by row",
    "WB313": "the reader needs the finished total before it can start",
    "WB314": "recomputing it at each place that reads it would cost more than the traffic it saves",
    "WB315": "they reduce over different axes",
    "WB316": "fusing them would make a cycle: another step needs one and feeds the other",
    "WB317": "the kernel would grow past the size that compiles fast",
    "WB318": "the reader needs a part of the rows only",
    "WB319": "the reader needs finished totals of the columns: a pass of its own reads as much and runs faster",
    "WB320": "a library routine runs between kernels",
    "WB321": "jit_scope keeps them apart",
    "WB322": "it runs in NumPy, uncompiled",
    "WB323": "one of them is a branch or a loop, which is a step of its own",
    "WB324": "the array is updated in place, between what is computed before and after it",
    "WB325": "the reader needs the whole stack, whose parts the kernel writes one after another",
    "WB326": "a check stands between: where it fails, the call ends there and NumPy runs it",
    "WB327": "a running sum goes from element to element: what takes longer is computed apart, several at once",
    "WB330": "jit_scope(compile_ops=False) asked for it",
    "WB331": "no kernel can be generated for this operation or dtype",
    "WB332": "the device is 'numpy', which runs every operation by itself",
}
