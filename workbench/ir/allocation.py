"""Building programs makes many small objects that stay."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def without_collection(build: F) -> F:
    """`build`, during which Python does not look for cyclic garbage.

    A program of 10,000 equations is a few hundred thousand objects, none of them garbage. The collector would walk over
    them, and over all that numba keeps, again and again: half of the time of tracing.
    """

    @functools.wraps(build)
    def call(*args, **kwargs):
        if not gc.isenabled():
            return build(*args, **kwargs)
        gc.disable()
        try:
            return build(*args, **kwargs)
        finally:
            gc.enable()

    return call  # type: ignore[return-value]  # the same signature
