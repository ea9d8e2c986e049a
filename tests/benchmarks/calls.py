"""The price of a call, on arrays so small that nothing else matters, and how it fades: sizes 1e2 to 1e7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .elementwise import (
    polynomial,
    polynomial_by_hand,
    polynomial_parallel,
    ten_operations,
    ten_operations_numexpr,
    ten_operations_parallel,
)
from .harness import Case
from .peers import contestants
from .reductions import squared_error, squared_error_parallel

SIZES = (10**2, 10**3, 10**4, 10**5, 10**6, 10**7)


def cases() -> Iterator[Case]:
    x, y = np.random.default_rng(0).normal(size=(2, 8))
    yield Case("call", "8 float64", contestants(polynomial, x, y, by_hand=polynomial_by_hand))


def sweep() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for n in SIZES:
        x, y = rng.uniform(0.1, 3, (2, n))
        yield Case(
            "10-op chain", f"{n:.0e} float64",
            contestants(ten_operations, x, y, parallel=ten_operations_parallel, expression=ten_operations_numexpr),
        )  # fmt: skip
        yield Case("polynomial", f"{n:.0e} float64", contestants(polynomial, x, y, parallel=polynomial_parallel))
        yield Case(
            "sum((a-b)**2)", f"{n:.0e} float64", contestants(squared_error, x, y, parallel=squared_error_parallel)
        )
