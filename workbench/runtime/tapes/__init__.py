"""Tapes: loops of a plan that run without Python, as instructions for the machine of `codegen.llvm_tape`."""
