"""From clusters to kernels: index expressions, loop nests, scalar math, numba source."""

from .kernel import Kernel, KernelArg

__all__ = ["Kernel", "KernelArg"]
