"""Which kernels are worth the machine's widest vectors, judged by their LLVM assembly.

Intel's processors with AVX-512 have compilers prefer vectors of half that width: wide ones lower the clock of the older
of them, divide no faster, and leave more of a short row over. Where arithmetic is what takes the time, the newer ones
are up to twice as fast with wide vectors. Rows are then summed in other lanes, so that their last bits may differ from
those of another processor; elementwise results do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

# What a function says that asks for vectors of 64 bytes.
WIDE_VECTORS = '"prefer-vector-width"="512"'
# From so many steps of arithmetic on, and so many for each element that is read, a loop is taken to compute rather than
# to wait for memory. So many that take half the time in wide vectors outweigh a division, which does not.
LEAST_STEPS = 12
STEPS_PER_ELEMENT = 1.5
STEPS_PER_DIVISION = 22

_STEP = re.compile(
    r"= (?:fadd|fsub|fmul|fcmp)\b"
    r'|= (?:tail )?call [^@]*@"?llvm\.(?:fma|fmuladd|minnum|maxnum|floor|ceil|trunc|rint|copysign|fabs)\.'
)
_STEP_OF_LIBRARY = re.compile(rf"{_STEP.pattern}|= (?:select|add|sub|mul|and|or|xor|shl|lshr|ashr)\b")
_DIVISION = re.compile(r'= (?:fdiv|frem)\b|@"?llvm\.sqrt\.')
_CALL = re.compile(r'call [^@]*@"?([-\w.$]+)"?\(')
_ADDRESS = re.compile(r"= (getelementptr .*)")


def computes(loop: Sequence[str], library: Mapping[str, str]) -> bool:
    """Whether the time of a loop goes into arithmetic that wide vectors make faster. loop: the lines of its body;
    library: the definitions of what they call, by symbol. In the loop itself integers only tell where elements are."""
    n_steps, n_divisions = arithmetic(loop, library)
    n_elements = len({found[1] for line in loop if (found := _ADDRESS.search(line))})
    least = max(LEAST_STEPS, STEPS_PER_ELEMENT * n_elements, STEPS_PER_DIVISION * n_divisions)
    return n_steps >= least


def arithmetic(loop: Sequence[str], library: Mapping[str, str]) -> tuple[int, int]:
    """The steps of arithmetic of a loop that are no divisions, and those that are."""
    known: dict[str, tuple[int, int]] = {}

    def count(lines: Sequence[str], step: re.Pattern[str]) -> tuple[int, int]:
        n_steps = n_divisions = 0
        for line in lines:
            if _DIVISION.search(line):
                n_divisions += 1
            elif step.search(line):
                n_steps += 1
            elif (call := _CALL.search(line)) and (name := call[1]) in library:
                if name not in known:
                    known[name] = count(library[name].splitlines(), _STEP_OF_LIBRARY)
                n_steps, n_divisions = n_steps + known[name][0], n_divisions + known[name][1]
        return n_steps, n_divisions

    return count(loop, _STEP)
