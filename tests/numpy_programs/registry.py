"""The register of programs: a plain function, and a maker of its arguments for a given size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class NumpyProgram:
    """One program. arguments(rng, n): its arguments at size `n`; small, large: the sizes to test and to time.

    rtol: of floats, relative to the largest magnitude of each result.
    """

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple]
    small: int
    large: int
    rtol: float

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def field(self) -> str:
        return self.function.__module__.rpartition(".")[2]

    def make(self, n: int, seed: int = 0) -> tuple:
        return self.arguments(np.random.default_rng(seed), n)


PROGRAMS: dict[str, NumpyProgram] = {}


def program(
    arguments: Callable[[np.random.Generator, int], tuple], small: int, large: int, rtol: float = 1e-10
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as it is."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert function.__name__ not in PROGRAMS
        PROGRAMS[function.__name__] = NumpyProgram(function, arguments, small, large, rtol)
        return function

    return register
