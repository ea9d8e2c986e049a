"""Whether a loop is better compiled by itself than traced, and why."""

from __future__ import annotations

from .writing import Facts

FEW_ELEMENTS = 2048  # up to here calling a kernel takes longer than what it does
MANY_IN_ROWS = 32_768  # elements of rows that a loop takes: kernels share from here on what they do between threads
FEW_PRODUCTS = 32_768  # multiplications of a matrix product: up to here calling BLAS does
SMALL_MATRIX = 131_072  # elements, which a cache holds, so that a product with a vector is as fast here as in BLAS


def is_better_whole(facts: Facts) -> bool:
    """Whether a loop is better compiled by itself than traced."""
    scalar_only = not facts.arrays and not facts.elements
    # Rows are read and written where they lie. What else is small runs natively in the plan (`runtime`), at once: numba
    # takes a second to compile a loop; it is for routines, which the plan would have Python call.
    small = facts.rows and facts.largest <= MANY_IN_ROWS and not facts.product and not facts.matrix
    few = facts.largest <= FEW_ELEMENTS and facts.product <= FEW_PRODUCTS and facts.matrix <= SMALL_MATRIX
    small = small or (facts.routines or facts.masked) and few
    by_elements = (facts.elements or scalar_only) and not facts.many and facts.product <= FEW_PRODUCTS
    return facts.partial or facts.draws or small or by_elements


def reason_of(facts: Facts) -> str:
    """Why a loop is compiled by itself."""
    if facts.elements:
        return "it computes one element at a time"
    if facts.partial:
        return "its slices change their length from one iteration to the next"
    if facts.arrays and facts.largest <= FEW_ELEMENTS:
        return "its arrays are so small that calling kernels would take most of the time"
    if facts.arrays:
        return "tracing cannot express it"
    return "it computes with single numbers"
