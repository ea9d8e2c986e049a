"""Tiles of time: loops over large arrays, several iterations of some rows at a time.

An iteration that goes once through arrays larger than the cache waits for memory. Where its kernels read only rows
around those that they write, as stencils do, the next iterations can follow a few rows behind while these are in the
cache: see `codegen.llvm_tiles`. Each kernel computes what it does alone, so that results have the same bits.

`stages` says which rows each kernel reads and writes, `rotation` which arrays they are in from one iteration to the
next, and `loop` puts both together.
"""
