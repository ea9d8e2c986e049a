"""The one module that imports CUDA: numba-cuda for compiling, its simulator for running without a GPU.

Nothing here needs a GPU or a driver: kernels are compiled to PTX for any compute capability. The runtime loads and
launches PTX through CuPy.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import shutil
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from ...errors import BackendError, DeviceError
from ..kernel import Kernel

# A Python thread's turn, in seconds, while the simulator runs: its threads wait for each other all the time.
SIMULATOR_TURN = 1e-4


@cache
def numba_cuda() -> Any:
    """The module `numba.cuda` of the package numba-cuda. DeviceError where it is not installed, or does not go with the
    numba that is."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise DeviceError(
            "WB601  CUDA kernels are compiled by numba-cuda, which is not installed",
            code="WB601",
            fixes=('pip install "jit-workbench[cuda]"',),
        )
    folder = toolkit_folder()
    if folder and not (os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")):
        # numba-cuda finds libnvvm and libdevice in NVIDIA's packages, or else through this variable alone.
        os.environ["CUDA_HOME"] = folder
    try:
        from numba import cuda

        if not hasattr(np, "row_stack"):
            _import_with_row_stack()
    except Exception as error:  # an old one next to a new numba fails in many ways
        raise DeviceError(
            f"WB601  the installed numba-cuda does not start with numba {numba.__version__}: {error}\n"
            "   Check  python -c 'from numba import cuda'\n   Fix    pip install --upgrade numba numba-cuda",
            code="WB601",
            fixes=("pip install --upgrade numba numba-cuda",),
        ) from error
    return cuda


def _import_with_row_stack() -> None:
    """numba-cuda 0.30 asks for a function that NumPy 2.5 has no more, when it compiles its first kernel."""
    np.row_stack = np.vstack  # type: ignore[attr-defined]
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        del np.row_stack  # type: ignore[attr-defined]


def toolkit_folder() -> str:
    """The folder of an installed CUDA toolkit that has libnvvm, "" where there is none, or where NVIDIA's packages
    have libnvvm themselves."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        if any(Path(folder).glob("*/nvvm/lib*/libnvvm*")) or any(Path(folder).glob("*/lib*/libnvvm*")):
            return ""
        if any(Path(folder).glob("*/bin/**/nvvm*.dll")):
            return ""
    compiler = shutil.which("nvcc")
    places = [Path(compiler).resolve().parents[1]] if compiler else []
    for place in (*places, Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"), reverse=True)):
        if any((place / "nvvm").glob("lib*/libnvvm*")):
            return str(place)
    return ""


@cache
def intrinsic() -> Callable[[Any], Any]:
    """The decorator for functions that write LLVM IR for CUDA."""
    numba_cuda()
    from numba.cuda.extending import intrinsic as decorator  # pyright: ignore[reportMissingImports]

    return decorator


@cache
def array_object() -> Any:
    """numba-cuda's module of that name; older versions use numba's."""
    numba_cuda()
    try:
        return importlib.import_module("numba.cuda.np.arrayobj")
    except ImportError:
        return importlib.import_module("numba.np.arrayobj")


# How a function that kernels call is marked in their text.
DEVICE_FUNCTION = "@cuda.jit(device=True)"


def with_functions(source: str, mark: str) -> str:
    """A kernel's text whose functions are marked otherwise: numba compiles those of `cuda.jit` for the current device
    alone, and the simulator needs no mark."""
    return source.replace(f"{DEVICE_FUNCTION}\n", mark)


def device_function(function: Callable[..., None]) -> Any:
    """A function that kernels call, compiled with each of them, for whatever device that is.

    numba-cuda's own (`cuda.jit(device=True)`, `overload`) are compiled for the device that is current, and need one.
    """
    numba_cuda()
    stack: Any = importlib.import_module("numba.cuda.core.targetconfig").ConfigStack

    def definition(typingctx, *args):
        def codegen(context, builder, signature, values):
            # With the kernel's own flags: a division by zero is no error. No cache: it would leave the code out.
            made = context.compile_subroutine(builder, function, signature, flags=stack().top().copy(), caching=False)
            return context.call_internal(builder, made.fndesc, signature, values)

        return types.void(*map(types.unliteral, args)), codegen

    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = ["typingctx", *inspect.signature(function).parameters]
    definition.__signature__ = inspect.Signature([inspect.Parameter(n, position) for n in names])  # type: ignore[attr-defined]
    definition.__name__ = definition.__qualname__ = function.__name__
    return intrinsic()(definition)


def kernel_types(kernel: Kernel) -> tuple[Any, ...]:
    """The numba types of a kernel's arguments."""
    return tuple(
        getattr(types, arg.dtype)
        if arg.kind == "size"
        else types.Array(numba.from_dtype(np.dtype(arg.dtype)), arg.ndim, arg.layout)
        for arg in kernel.args
    )


def compile_to_ptx(
    function: Callable[..., None], signature: tuple[Any, ...], capability: tuple[int, int],
    bounds: tuple[int, int] | None = None, *, fast: bool = False,
) -> str:  # fmt: skip
    """PTX of a kernel for a compute capability, such as (9, 0). bounds: threads of a block, and blocks that an SM is to
    hold at a time.

    Multiplications and additions are not contracted, unless it is `fast`: `x * y + z` rounds twice, as in NumPy.
    """
    numba_cuda()
    # numba-cuda's own, which differ from those that numba once had under these names.
    compiler: Any = importlib.import_module("numba.cuda.compiler")
    nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")

    options = {"fastmath": False, "opt": 3, "fma": fast}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own, of no concern to the user
        try:
            # Older versions know one calling convention only.
            abi = {"abi": "numba"} if "abi" in inspect.signature(compiler.compile_cuda).parameters else {}
            result = compiler.compile_cuda(
                function, None, signature, debug=False, lineinfo=False, fastmath=False, nvvm_options=options,
                cc=capability, **abi,
            )  # fmt: skip
            library = result.library
            entry = library.get_function(result.fndesc.llvm_func_name)
            library._entry_name = result.fndesc.llvm_func_name
            compiler.kernel_fixup(entry, False)
            nvvm.set_launch_bounds(entry, bounds)
            text = library.get_asm_str(cc=capability)
        except Exception as error:
            message = f"kernel {function.__name__} does not compile to PTX: a bug of ours, not of your code\n{error}"
            raise BackendError(message) from error
    text = text if isinstance(text, str) else text.decode()
    # The name of a kernel with many arguments has thousands of letters, and stands wherever one of them is read.
    return text.replace(entry_name(text), function.__name__) if function.__name__.isascii() else text


def entry_name(ptx: str) -> str:
    """The name of the kernel in a PTX text."""
    return ptx.partition(".entry ")[2].partition("(")[0].strip()


# ---- the simulator ----

_simulator_lock = threading.Lock()


@cache
def _simulator() -> tuple[Any, Any]:
    try:
        from numba.cuda.simulator.api import jit
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
    except ImportError as error:
        raise DeviceError(
            "WB601  cuda-sim runs kernels in numba's CUDA simulator, which this numba lacks; numba-cuda has it",
            code="WB601",
            fixes=('pip install "jit-workbench[cuda]"',),
        ) from error
    return jit, FakeCUDAArray


_shared_arrays: weakref.WeakKeyDictionary[Any, dict[int, np.ndarray]] = weakref.WeakKeyDictionary()
_shared_lock = threading.Lock()


def _shared_array(shared: Any, shape: int, dtype: Any) -> np.ndarray:
    """`cuda.shared.array`, which two threads of the simulator might allocate twice. One call a line, as there."""
    if shape == 0:
        return shared.array(shape, dtype)  # dynamic memory is there already
    line = sys._getframe(1).f_lineno
    with _shared_lock:
        arrays = _shared_arrays.setdefault(shared, {})
        if line not in arrays:
            arrays[line] = np.empty(shape, as_dtype(dtype))
        return arrays[line]


def simulated(source: str, name: str, functions: Mapping[str, Any], numpy: Any) -> Callable[..., None]:
    """A kernel under numba's simulator: `run(grid, block, shared_bytes, *args)`, with ndarrays as arrays of the device.

    functions: the scalar functions that `source` calls, in Python; numpy: what `np` means in it.
    """
    from numba import cuda

    jit, array = _simulator()
    scope: dict[str, Any] = {"np": numpy, "types": types, "cuda": cuda, "errstate": np.errstate, **functions}
    scope["shared_array"] = _shared_array
    source = with_functions(source, "").replace("cuda.shared.array(", "shared_array(cuda.shared, ")
    exec(compile(source, f"<workbench kernel {name}>", "exec"), scope)
    # Each thread of the simulator is one of Python's, with a floating-point state of its own.
    quiet = f"def simulated_kernel(*args):\n    with errstate(all='ignore'):\n        {name}(*args)\n"
    exec(compile(quiet, "<workbench simulator>", "exec"), scope)
    kernel = jit(scope["simulated_kernel"])

    def run(grid: tuple[int, int], block: tuple[int, int], shared_bytes: int, *args: Any) -> None:
        devices = [array(a) if isinstance(a, np.ndarray) else a for a in args]
        with _simulator_lock:
            before = sys.getswitchinterval()
            sys.setswitchinterval(SIMULATOR_TURN)
            try:
                kernel[grid, block, 0, shared_bytes](*devices)
            finally:
                sys.setswitchinterval(before)

    return run
