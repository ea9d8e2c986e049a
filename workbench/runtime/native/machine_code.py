"""Machine code: LLVM assembly in, object code out, and functions that Python calls from object code.

LLVM is imported when something is compiled: a process that finds its kernels on disk does without, where it can load
object code itself (`object_code`). Loaded code stays for the life of the process.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import sys
import threading
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.kernel import LATE
from ...codegen.llvm_entry import (
    CONTENT,
    DATA,
    DTYPE,
    FLAGS,
    HEAD,
    ITEMS,
    ITEMSIZE,
    KIND,
    LENGTHS,
    N_DIM,
    STRIDES,
    TYPE,
)
from .object_code import UnsupportedObjectError, load
from .object_code import is_possible as loads_itself

if TYPE_CHECKING:
    from llvmlite import binding

METH_FASTCALL, METH_KEYWORDS = 0x0080, 0x0002
# LLVM's highest level, as numba uses; vectorising straight lines makes loops that are vectorised anyway no faster.
SPEED_LEVEL = 3

# Processors on which the instructions that read or write elements of a vector at places of their own take longer than
# single reads and writes: AMD's. LLVM takes them for fast where they come with AVX-512.
SLOW_GATHERS = "znver"
# Processors that divide 64 bytes of numbers in the time of 8; others take two or four times as long as for 32.
WIDE_DIVISIONS = ("znver5",)
# Other steps for each division beside which AMD's processors divide as fast as they multiply.
MOST_STEPS_BESIDE = 2.0
# Instructions that came with processors of Intel's whose wide vectors do not lower the clock and compute twice as much,
# though LLVM prefers narrow ones (Sapphire Rapids). Virtual machines often give a processor another name.
WIDE_ARITHMETIC = "+avx512fp16"
# Processors of x86 that are not Intel's, by the beginnings of LLVM's names for them.
NOT_INTEL = ("znver", "bdver", "btver", "amdfam", "barcelona", "opteron", "athlon", "k8")

_lock = threading.RLock()  # LLVM's objects are not for several threads at once
_addresses: dict[str, int] = {}


class _Method(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    )  # fmt: skip


_methods: dict[int, _Method] = {}  # functions point to theirs for as long as they live


@cache
def is_possible() -> bool:
    """Whether arrays, tuples, cells and dtypes look in memory as `codegen.llvm_entry` reads them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not hasattr(ctypes, "pythonapi"):
        return False
    array = np.zeros((3, 5), np.float32)[:, ::2]
    pair, content, cell = (np.ndarray, array), b"contents", types.CellType(array)
    try:
        lengths, strides = (_word(id(array) + offset) for offset in (LENGTHS, STRIDES))
        dtype = _word(id(array) + DTYPE)
        found = (
            _word(id(array) + TYPE), _word(id(pair) + ITEMS), _word(id(content) + CONTENT), _word(id(array) + DATA),
            _word(id(array) + N_DIM) & 0xFFFFFFFF, (_word(lengths), _word(lengths + 8)),
            (_word(strides), _word(strides + 8)), dtype, _word(dtype + KIND) & 0xFF, _word(dtype + ITEMSIZE),
            _word(id(array) + FLAGS) & 0xFFFFFFFF, _word(id(cell) + HEAD),
            _word(id(pair) + HEAD),
        )  # fmt: skip
    except (TypeError, ValueError):
        return False
    expected = (
        id(np.ndarray), id(np.ndarray), int.from_bytes(content, sys.byteorder), array.__array_interface__["data"][0], 2,
        array.shape, array.strides, id(array.dtype), ord("f"), 4, array.flags.num, id(array), len(pair),
    )  # fmt: skip
    return found == expected


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@cache
def identity() -> str:
    """What object code depends on: LLVM's version, the platform, the processor and its features."""
    known = _known_without_llvm() if loads_itself() else None
    if known is None:
        import llvmlite

        known = (llvmlite.__version__, *processor())
    return "|".join(known)


def _known_without_llvm() -> tuple[str, str] | None:
    """The file that has llvmlite's version, and what the system says about the first processor; None if either is not
    to be had."""
    spec = importlib.util.find_spec("llvmlite")
    try:
        version = Path(str(spec and spec.origin)).with_name("_version.py").read_text(encoding="utf-8")
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            head = file.read(16384).partition("\n\n")[0]
    except OSError:
        return None
    about = dict(line.split("\t: ", 1) for line in head.replace("\t\t", "\t").splitlines() if "\t: " in line)
    names = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    if not all(about.get(name) for name in names):
        return None
    return version, "|".join((*(about[name] for name in names), os.uname().machine))


def _binding() -> Any:
    """LLVM: 20 ms of imports, most of them."""
    from llvmlite import binding

    return binding


@cache
def processor() -> tuple[str, str, str]:
    """What LLVM is told to compile for: the platform, the processor and its features."""
    binding = _binding()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    cpu = binding.get_host_cpu_name()
    if cpu.startswith(SLOW_GATHERS):
        features += ",+prefer-no-gather,+prefer-no-scatter"
    return binding.get_process_triple(), cpu, features


def masked_vectors() -> tuple[int, ...]:
    """In bytes, the vectors of which the machine computes a part as fast as all of it, for every dtype: narrow ones,
    and wider ones if these divide as fast."""
    _, cpu, features = processor()
    known = features.split(",")
    if "+sve" in known or {"+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"} <= set(known):
        return (32, 64) if cpu.startswith(WIDE_DIVISIONS) else (32,)
    return ()


def computes_wide() -> bool:
    """Whether arithmetic should use vectors of 64 bytes where LLVM would not."""
    return WIDE_ARITHMETIC in processor()[2].split(",")


def steps_to_invert() -> float:
    """Up to how many other steps of arithmetic for each division a multiplication and two fused multiply-adds take less
    than dividing. Intel's processors divide one number in two cycles, with any vectors. AMD's (Zen 4) take 1.25, beside
    other work: alone, eight divisions take 15 % longer than inverses do, after an `exp` 13 % less."""
    triple, cpu, features = processor()
    if not triple.startswith("x86_64") or "+fma" not in features.split(","):
        return 0.0
    return MOST_STEPS_BESIDE if cpu.startswith(NOT_INTEL) else math.inf


def prefetches_no_frames() -> bool:
    """Whether what is addressed with the register of the frame (RBP) is taken for a part of the stack and not fetched
    ahead. Measured on Sapphire Rapids: an array is read from memory at 12 GB/s with it, and 18 with any other."""
    triple, cpu, _ = processor()
    return triple.startswith("x86_64") and not cpu.startswith(NOT_INTEL)


def _target_machine() -> binding.TargetMachine:
    triple, cpu, features = processor()
    target = _binding().Target.from_triple(triple)
    static = target.name.startswith("x86")  # as numba chooses
    return target.create_target_machine(
        cpu=cpu, features=features, opt=SPEED_LEVEL, reloc="static" if static else "default", codemodel="jitdefault",
        jit=True,
    )  # fmt: skip


@cache
def _machine() -> binding.TargetMachine:
    return _target_machine()


def _parse(text: str) -> binding.ModuleRef:
    module = _binding().parse_assembly(text)
    module.triple = processor()[0]
    module.data_layout = str(_machine().target_data)
    return module


def compile_assembly(text: str, *, optimise: bool = True) -> tuple[bytes, str]:
    """The object code of a module, and its LLVM assembly, optimised unless it is not worth the time. RuntimeError if
    LLVM does not take it."""
    binding = _binding()
    text, _, late = text.partition(LATE)
    with _lock:
        module = _parse(text)
        module.verify()
        if optimise:
            options = binding.create_pipeline_tuning_options(SPEED_LEVEL)
            options.loop_vectorization = True
            options.slp_vectorization = False
            builder = binding.create_pass_builder(_machine(), options)
            builder.getModulePassManager().run(module, builder)
            if late:
                module.link_in(_parse(late))
                passes = binding.create_new_module_pass_manager()
                passes.add_always_inliner_pass()
                passes.add_simplify_cfg_pass()
                passes.add_instruction_combine_pass()
                passes.add_global_dead_code_eliminate_pass()
                passes.run(module, builder)
        return _machine().emit_object(module), str(module)


def emit_assembly(text: str) -> str:
    """The machine's assembly of an optimised module."""
    with _lock:
        return _machine().emit_assembly(_parse(text))


@cache
def _engine() -> binding.ExecutionEngine:
    binding = _binding()
    return binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine())


def address(code: bytes, symbol: str) -> int:
    """Where the function `symbol` of an object code is, once it is loaded: a name that no other code has. RuntimeError
    if it has none."""
    with _lock:
        if symbol not in _addresses:
            try:
                for name, at in load(code).items():
                    _addresses.setdefault(name, at)
            except UnsupportedObjectError:
                pass
            if symbol not in _addresses:
                _addresses[symbol] = _loaded_by_llvm(code, symbol)
        return _addresses[symbol]


def _loaded_by_llvm(code: bytes, symbol: str) -> int:
    engine = _engine()
    found = engine.get_function_address(symbol)  # of code that was loaded for another function of it
    if not found:
        engine.add_object_file(_binding().ObjectFileRef.from_data(code))
        engine.finalize_object()
        found = engine.get_function_address(symbol)
    if not found:
        raise RuntimeError(f"no function {symbol} in the object code")
    return found


def builtin_function(address: int, *held: Any, keywords: bool = False) -> Callable[..., Any]:
    """The machine code at an address as a built-in function (METH_FASTCALL) whose `self` is the tuple `held`. keywords:
    whether it takes them, too."""
    make: Any = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    if address not in _methods:
        name, flags = (b"call", METH_FASTCALL | METH_KEYWORDS) if keywords else (b"kernel", METH_FASTCALL)
        _methods[address] = _Method(name, address, flags, None)
    return make(ctypes.byref(_methods[address]), held, None)
