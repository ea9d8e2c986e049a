"""Compile the NumPy code of a Jupyter cell, and see what the compiler did."""

__version__ = "0.1.0"
