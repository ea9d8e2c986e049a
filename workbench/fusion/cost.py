"""The cost model: bytes that a merge keeps out of memory against arithmetic that it repeats."""

from __future__ import annotations

from ..ir import Equation
from ..primitives.lowering import IndexMap, Pointwise, Reduction

# Flops that take about as long as moving one byte to memory and back, per core: 10 GB/s against 10 Gflop/s.
FLOPS_PER_BYTE = 1.0
# A kernel costs LLVM 10 ms before its first equation, so that a few long ones are compiled sooner than many short ones,
# and write less to memory. Beyond this, with an elementary function in every equation, LLVM's time grows faster than
# linearly, and values no longer fit in registers.
MAX_KERNEL_EQNS = 500
# NVVM's time does not grow so, and what two kernels hand over goes through all of a GPU's memory.
MAX_DEVICE_KERNEL_EQNS = 1000
MAX_KERNEL_ARRAYS = 40
# Of elementary functions along a row that every row would compute again, on the CPU: some microseconds, against the
# tenth of one that a kernel of their own takes.
MAX_REPEATED_FLOPS = 100_000
# The same of a kernel that computes some values at several places: it pays less, and takes as long to compile.
MAX_REPEATED_TEXT = 100
# Operations an element beside running sums and products: each waits some three cycles for the one before, and what is
# computed meanwhile, element by element, costs nothing. Any more would rather be done for several elements at once.
MOST_SCANNED_FLOPS = 6.0
# A choice between operands is an if-else, and counts as so many equations.
LINES_OF_A_CHOICE = 4
# Each may lie in the else of the one before it, and Python reads 100 levels of indentation.
MOST_CHOICES = 64
# Elements of a row from which on its loop is cut where a condition changes, instead of asking for each element.
LEAST_PIECES = 64
# Rows (the three coordinates of many points) that a kernel goes down twice, then in the cache. A higher bound would
# change the plan, and so compile anew, for shapes that people do vary.
MOST_ROWS_TWICE = 4


def flops(eqn: Equation) -> float:
    """Estimated floating-point operations of one application."""
    lowering = eqn.primitive.lowering
    match lowering:
        case Pointwise():
            return lowering.flops * eqn.outvars[0].aval.size
        case Reduction():
            return lowering.flops * eqn.invars[0].aval.size
        case IndexMap():
            return 0.0
    if lowering.flops is not None:
        return lowering.flops(*(v.aval for v in eqn.invars), **eqn.params)
    return 0.0


def flops_per_element(eqn: Equation) -> float:
    lowering = eqn.primitive.lowering
    return lowering.flops if isinstance(lowering, Pointwise) else 0.0


def is_expensive(eqn: Equation) -> bool:
    lowering = eqn.primitive.lowering
    return isinstance(lowering, Pointwise) and lowering.expensive
