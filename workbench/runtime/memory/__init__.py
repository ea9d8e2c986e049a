"""Memory: where the results of a plan lie, the blocks that hold them, and copies of parts of them."""
