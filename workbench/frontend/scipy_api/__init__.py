"""SciPy's functions that are no Python code to trace through, and those whose own code would hide what they compute.

By name, since SciPy need not be installed: `ufuncs` has the formulas of `scipy.special` and takes ufuncs of any other
package between kernels; `functions` has those of the Fourier transforms and of the distributions.
"""

from .functions import stand_in
from .ufuncs import rule_of

__all__ = ["rule_of", "stand_in"]
