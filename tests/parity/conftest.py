"""What the parity tests share."""

from tests.own_kernels import n_compiled, own_cache, rng

__all__ = ["n_compiled", "own_cache", "rng"]
