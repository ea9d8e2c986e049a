"""Functions that still call the platform's math library for every element; the loop around them stays vectorised."""

from __future__ import annotations

from .registry import FLOATS, library

library(
    '''
def lgamma_T(x):
    """The logarithm of |gamma(x)|, by the C library, lane by lane. At most 8 ULP."""
    return lgamma_or_slow_T(x)
''',
    FLOATS,
)
