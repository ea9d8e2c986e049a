"""NumPy programs as people write them, unmodified, by field: each is compiled and compared with NumPy.

`python -m tests.numpy_programs` prints what compiled, what was left to NumPy and why, and the times.
"""
