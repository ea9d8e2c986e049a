"""Native code: compiled kernels, the functions that Python calls from object code, and the threads that run them."""
