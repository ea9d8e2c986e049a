"""Loops that tracing cannot express well: recurrences over elements, data-dependent nests, dynamic programming.

Such a loop becomes one equation, `loop`. Its statement is translated from the user's source to typed numba source
(`statements`, `expressions`, `calls`, `operators`), with NumPy's types and Python's errors (`types`); `steps` decides
which loops are taken, and ties the result to the trace.
"""
