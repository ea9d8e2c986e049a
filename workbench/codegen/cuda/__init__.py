"""From clusters to CUDA kernels: the CPU's scalar text under other loops, read by numba.cuda or its simulator."""
