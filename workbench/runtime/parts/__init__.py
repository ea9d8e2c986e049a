"""Parts: what cannot be compiled whole. Python runs it around compiled statements, in cells, loops and functions."""
