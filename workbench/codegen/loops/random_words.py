"""What compiled loops know of a source of random numbers: an array of 64-bit words.

The first one is the address of NumPy's `bitgen_t` (`numpy/random/bitgen.h`), the next ones are those of NumPy's own
functions of it (`numpy/random/distributions.h`), so that a loop draws the numbers that Python would draw. Those of the
old `np.random.RandomState` keep every other normal number for the next call, outside of the `bitgen_t`: here in words.
Python's own sources are all in words.
"""

from __future__ import annotations

BITS = 0
# NumPy's functions of a bitgen_t: of floats, which give a float; which give an integer; others.
FUNCTIONS = (
    "standard_uniform", "standard_normal", "standard_exponential", "standard_cauchy", "uniform", "normal",
    "exponential", "standard_gamma", "gamma", "beta", "chisquare", "f", "pareto", "weibull", "power", "laplace",
    "gumbel", "logistic",
    "lognormal", "rayleigh", "standard_t", "wald", "vonmises", "triangular",
    "poisson", "geometric",
    "binomial", "bounded_uint64", "interval",
)  # fmt: skip
WORD = {name: k for k, name in enumerate(FUNCTIONS, start=1)}
# Whether there is a normal number for the next call, and its bits; what `random_binomial` remembers, a `binomial_t`.
HAS_NORMAL = len(FUNCTIONS) + 1
NORMAL = HAS_NORMAL + 1
BINOMIAL = NORMAL + 1
N_WORDS = BINOMIAL + 32
# Of Python's own `random.Random`, whose numbers a loop makes itself: the next of the words that follow, each of which
# holds 32 bits of its state.
NEXT_BITS = N_WORDS
PYTHONS_BITS = NEXT_BITS + 1
N_PYTHONS_BITS = 624
