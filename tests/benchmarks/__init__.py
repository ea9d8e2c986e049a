"""Side-by-side benchmarks: `make bench`."""
