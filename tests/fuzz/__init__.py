"""Whole random NumPy programs: workbench.jit against NumPy."""
