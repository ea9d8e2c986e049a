"""Running plans on a device: a GPU through CuPy, or numba's CUDA simulator on the host."""
