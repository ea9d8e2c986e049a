"""What compiled loops know of a source of random numbers: an array of 64-bit words.

The first one is the address of NumPy's `bitgen_t` (`numpy/random/bitgen.h`), the next ones are those of NumPy's own
functions of it (`numpy/random/distributions.h`), so that a loop draws the numbers that Python would draw. Those of the
old `np.random.RandomState` keep every other normal number for the next call, outside of the `bitgen_t`: here in words.
Python's own sources are all in words.
"""

from __future__ import annotations

BITS = 0
# NumPy's functions of a bitgen_t and of so many floats that give a float, and those that give an integer.
FLOATS: dict[str, int] = {
    "standard_uniform": 0, "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0, "uniform": 2,
    "normal": 2, "exponential": 1, "standard_gamma": 1, "gamma": 2, "beta": 2, "chisquare": 1, "f": 2, "pareto": 1,
    "weibull": 1, "power": 1, "laplace": 2, "gumbel": 2, "logistic": 2, "lognormal": 2, "rayleigh": 1,
    "standard_t": 1, "wald": 2, "vonmises": 2, "triangular": 3,
}  # fmt: skip
INTEGERS: dict[str, int] = {"poisson": 1, "geometric": 1}
OTHERS = ("binomial", "bounded_uint64", "interval")
FUNCTIONS = (*FLOATS, *INTEGERS, *OTHERS)
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
