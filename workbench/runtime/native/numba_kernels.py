"""Kernels that numba compiles: those whose text `codegen.llvm_kernels` does not cover."""

from __future__ import annotations

import linecache
import pickle
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from ...codegen.kernel import FAST, Kernel
from ...codegen.scalar_math import names_in, namespace

__all__ = ["NumbaError", "compile_with_numba", "numba_types", "packed", "unpacked"]

Compiled = tuple[Callable[..., None], CompileResult, str]


def numba_types(kernel: Kernel) -> tuple[types.Type, ...]:
    signature: list[types.Type] = [types.intp, types.intp]
    for arg in kernel.args:
        if arg.kind == "size":
            signature.append(types.intp)
        else:
            signature.append(types.Array(numba.from_dtype(np.dtype(arg.dtype)), arg.ndim, arg.layout))
    return tuple(signature)


def compile_with_numba(kernel: Kernel) -> Compiled:
    """What runs the kernel, what keeps it alive, and its LLVM IR. NumbaError if numba does not take it."""
    filename = f"<workbench kernel {kernel.name}>"
    linecache.cache[filename] = (len(kernel.source), None, kernel.source.splitlines(True), filename)
    # numba writes the module's name into what it caches, and imports it when reading back.
    scope: dict[str, Any] = {"np": np, "__name__": __name__, **namespace(names_in(kernel.source))}
    exec(compile(kernel.source, filename, "exec"), scope)
    signature = types.none(*numba_types(kernel))
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": set(FAST) if kernel.fast else False}
    dispatcher = numba.njit([signature], nogil=True, boundscheck=False, **options)(scope[kernel.name])
    assert isinstance(dispatcher, Dispatcher)
    result = dispatcher.overloads[signature.args]
    return result.entry_point, result, result.library.get_llvm_str()


def packed(result: CompileResult, packed_llvm: bytes) -> bytes:
    """For the disk cache; b"" where that cannot be."""
    try:
        return serialize.dumps((numba.__version__, result._reduce(), packed_llvm))
    except (pickle.PicklingError, TypeError, AttributeError):
        return b""


def unpacked(payload: bytes) -> tuple[Callable[..., None], CompileResult, bytes]:
    """What `packed` packed with the same numba: what runs, what keeps it alive, and its packed LLVM IR."""
    context = cpu_target.target_context
    # Not `context.refresh()`, which takes longer than compiling: machine code needs numba's runtime, but none of the
    # implementations that numba would register.
    rtsys.initialize(context)
    version, reduced, packed_llvm = pickle.loads(payload)
    if version != numba.__version__:
        raise ValueError(f"compiled by numba {version}")
    result = CompileResult._rebuild(context, *reduced)
    return result.entry_point, result, packed_llvm
