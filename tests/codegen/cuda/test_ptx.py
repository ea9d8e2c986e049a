"""Kernels as PTX: every family for three generations of GPUs, assembled where `ptxas` is there.

No GPU and no driver is needed. Skipped where numba-cuda or NVIDIA's compiler library (libnvvm) is not installed.
"""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from tests.codegen.random_jaxprs import RandomProgram
from tests.fusion import programs
from workbench.codegen.cuda import toolkit
from workbench.codegen.cuda.functions import device_functions
from workbench.codegen.kernel import Kernel
from workbench.ir.builder import JaxprBuilder
from workbench.runtime.cuda.kernels import Packer, assemble, assembler, kernel_ptx

from .device_programs import FAMILIES, kernels_of, reduced, threefry

CAPABILITIES = [(8, 0), (9, 0), (10, 0)]
ELEMENTARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh logistic erf erfc pow "
    "cbrt hypot atan2 lgamma fmod mod floor_divide maximum minimum rint nextafter erf_inv logaddexp"
).split()


@cache
def why_no_ptx() -> str:
    """Why no PTX can be made here, "" if it can."""
    try:
        toolkit.compile_to_ptx(lambda: None, (), (8, 0))
    except Exception as error:  # noqa: BLE001  # whatever is missing says so itself
        return f"PTX cannot be made here: {str(error.__cause__ or error).strip().splitlines()[0][:150]}"
    return ""


@pytest.fixture(autouse=True)
def needs_numba_cuda():
    if why_no_ptx():
        pytest.skip(why_no_ptx())


@pytest.fixture
def ptxas():
    if assembler() is None:
        pytest.skip("ptxas is not installed (package nvidia-cuda-nvcc, or the CUDA toolkit)")
    return assemble


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_fast_quotients_of_float32_are_one_instruction(dtype, ptxas):
    b = JaxprBuilder()
    x, y = (b.input(f"{dtype}[4000]", hint=name) for name in "xy")
    (kernel,) = kernels_of(b.build(b.emit("div", x, y)), "cuda")
    exact, fast = (kernel_ptx(each, (9, 0))[0] for each in (kernel, kernel.as_fast()))
    assert "rcp.approx.ftz" in exact and "div.full" not in exact
    assert ("div.full.f32" in fast) == (dtype == "f32") != ("rcp.approx.ftz" in fast)
    assert all(ptxas(text, (9, 0))[0].startswith(b"\x7fELF") for text in (exact, fast))


SUMMED, ORDERED = ("f32", "f64", "i64", "u8", "c64"), ("f32", "f64", "i64", "u8", "bool")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*(("reduce_sum", d) for d in SUMMED), *(("argmax", d) for d in ORDERED), *(("reduce_max", d) for d in ORDERED)],
)
def test_rows_of_a_warp_each_meet_without_shared_memory(name, dtype, ptxas):
    (kernel,) = kernels_of(reduced(name, f"{dtype}[50000,2048]", (1,)), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    assert kernel.geometry.block == (32, 8) and "shfl.sync.idx" in ptx and "bar.sync" not in ptx
    assert ptxas(ptx, (9, 0))[0].startswith(b"\x7fELF")


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda c: f"sm_{c[0]}{c[1]}")
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_assembled(name, capability, ptxas):
    for kernel in kernels_of(FAMILIES[name]("f32[300,700]"), "cuda"):
        ptx, _, _ = kernel_ptx(kernel, capability)
        cubin, told = ptxas(ptx, capability)
        assert cubin.startswith(b"\x7fELF") and "Used" in told
        assert f".target sm_{capability[0]}{capability[1]}" in ptx


def test_only_fast_kernels_are_contracted():
    build = JaxprBuilder()
    x, y = build.input("f64[1000]"), build.input("f64[1000]")
    (kernel,) = kernels_of(build.build(build.emit("add", build.emit("mul", x, y), y)), "cuda")
    assert "fma.rn.f64" not in kernel_ptx(kernel, (9, 0))[0]
    assert "fma.rn.f64" in kernel_ptx(kernel.as_fast(), (9, 0))[0]


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_assembled(seed, ptxas):
    program = RandomProgram(seed, 1 + seed % 12)
    for kernel in kernels_of(program.jaxpr, "cuda"):
        ptxas(kernel_ptx(kernel, (9, 0))[0], (9, 0))


@pytest.mark.parametrize("name", ["elementwise", "row chain", "full reduction"])
@pytest.mark.parametrize("shape", ["f64[300,700]", "f64[3000,4000]"])
def test_float64_kernels_are_assembled(name, shape, ptxas):
    for kernel in kernels_of(FAMILIES[name](shape), "cuda"):
        ptxas(kernel_ptx(kernel, (8, 0))[0], (8, 0))


@pytest.mark.parametrize("dtype", ["bool", "i8", "u16", "i64", "u64", "c64", "c128"])
def test_lanes_of_every_dtype_meet(dtype, ptxas):
    name = {"bool": "reduce_or", "c": "reduce_sum"}.get(dtype if dtype == "bool" else dtype[0], "reduce_max")
    for kernel in kernels_of(reduced(name, f"{dtype}[300,700]", (1,)), "cuda"):
        assert kernel.geometry.meets == "warp shuffles"
        ptx, _, _ = kernel_ptx(kernel, (9, 0))
        assert "shfl.sync.down" in ptx
        ptxas(ptx, (9, 0))


# libdevice's float32 sine takes arguments beyond 1e5 through float64: that is its own slow path.
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "elementwise"])
def test_a_float32_program_has_no_float64_instruction(name):
    for kernel in kernels_of(FAMILIES[name]("f32[300,700]"), "cuda"):
        assert ".f64" not in kernel_ptx(kernel, (9, 0))[0], kernel.name


def test_products_and_sums_are_rounded_one_by_one():
    b = JaxprBuilder()
    x, y, z = (b.input("f32[1000]", hint=name) for name in "xyz")
    (kernel,) = kernels_of(b.build(b.emit("add", b.emit("mul", x, y), z)), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    assert "fma" not in ptx and "mul.rn.f32" in ptx and "add.rn.f32" in ptx
    b = JaxprBuilder()
    x = b.input("f32[1000]", hint="x")
    (kernel,) = kernels_of(b.build(b.emit("div", b.emit("sqrt", x), x)), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    assert "div.rn.f32" in ptx and "sqrt.rn.f32" in ptx


def test_indices_of_small_arrays_divide_in_32_bits():
    (kernel,) = kernels_of(FAMILIES["stencil"]("f32[300,700]"), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    assert "u32" in ptx and not re.search(r"(div|rem)\.[us]64", ptx)


@pytest.mark.parametrize("name", ["elementwise", "row chain", "full reduction", "scaled by a total", "row argmax"])
@pytest.mark.parametrize(("shape", "wide"), [("f32[300,4096]", "v4.f32"), ("f64[300,4096]", "v2.f64")])
def test_memory_is_read_sixteen_bytes_at_a_time(name, shape, wide, ptxas):
    (kernel, *_) = kernels_of(FAMILIES[name](shape), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    if name == "elementwise" and wide == "v4.f32":  # six elementary functions: two elements are enough to compute
        wide = "v2.f32"
    assert f"ld.global.{wide}" in ptx
    assert "0 bytes spill stores, 0 bytes spill loads" in ptxas(ptx, (9, 0))[1]


@pytest.mark.parametrize("dtype", ["bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"])
def test_vectors_of_every_dtype_are_assembled(dtype, ptxas):
    b = JaxprBuilder()
    x, y = (b.input(f"{dtype}[5000]", hint=name) for name in "xy")
    (kernel,) = kernels_of(b.build(b.emit("or" if dtype == "bool" else "max", x, y)), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    width = min(8, 16 // np.dtype(x.aval.dtype).itemsize)
    assert f"load{width}_{dtype}" in kernel.source and re.search(r"ld\.global\.v\d|ld\.global\.[ub]64", ptx)
    ptxas(ptx, (9, 0))


@pytest.mark.parametrize(("capability", "is_one"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_extremes_of_float32_are_one_instruction_where_there_is_one(capability, is_one, ptxas):
    for name in ("max", "min"):
        b = JaxprBuilder()
        (kernel,) = kernels_of(b.build(b.emit(name, b.input("f32[1000]"), b.input("f32[1000]"))), "cuda")
        ptx, _, _ = kernel_ptx(kernel, capability)
        assert (f"{name}.NaN.f32" in ptx) is is_one and ("setp" in ptx.partition(f"{name}.NaN")[2]) is is_one
        ptxas(ptx, capability)


def test_rows_know_how_many_lanes_they_have(ptxas):
    """A loop over a row divides by that to know how often it runs."""
    for name in ("row chain", "row argmax"):
        (kernel,) = kernels_of(FAMILIES[name]("f32[3000,4096]"), "cuda")
        ptx, _, _ = kernel_ptx(kernel, (9, 0))
        assert len(re.findall(r"div\.s32", ptx)) <= 1  # of the rows themselves
        assert "0 bytes spill stores, 0 bytes spill loads" in ptxas(ptx, (9, 0))[1]


def test_threefry_is_assembled(ptxas):
    for kernel in kernels_of(threefry("u32[1000]"), "cuda"):
        ptxas(kernel_ptx(kernel, (9, 0))[0], (9, 0))


@pytest.mark.parametrize("short", ["f32", "f64"])
def test_elementary_functions_compile(short):
    names = [f"{stem}_{short}" for stem in ELEMENTARY]
    functions = device_functions(names, (8, 0))
    two = {"pow", "hypot", "atan2", "fmod", "mod", "floor_divide", "maximum", "minimum", "nextafter", "logaddexp"}
    calls = "\n".join(
        f"    out[{i}] = {name}(x[{i}]{', x[0]' if name.rpartition('_')[0] in two else ''})"
        for i, name in enumerate(names)
    )
    scope = dict(functions)
    exec(f"def every(x, out):\n{calls}\n", scope)
    from numba import types

    array = types.Array({"f32": types.float32, "f64": types.float64}[short], 1, "C")
    assert ".entry" in toolkit.compile_to_ptx(scope["every"], (array, array), (8, 0))


class FakeArray:
    """What a launch reads of an array of CuPy."""

    def __init__(self, shape, dtype):
        x = np.zeros(shape, dtype)
        self.size, self.dtype, self.shape, self.strides = x.size, x.dtype, x.shape, x.strides
        self.data = SimpleNamespace(ptr=256)


def parameters(ptx: str) -> list[int]:
    """The sizes in bytes of a kernel's parameters."""
    head = ptx.partition(".entry")[2].partition("{")[0]
    return [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", head)]


def _arrays(kernel: Kernel):
    for arg in kernel.args:
        if arg.kind == "size":
            yield arg.value
        else:
            yield FakeArray(arg.shape if arg.layout != "C" else (int(np.prod(arg.shape)),), np.dtype(arg.dtype))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_launch_passes_what_the_kernel_declares(name):
    for kernel in kernels_of(FAMILIES[name]("f32[300,700]"), "cuda"):
        packed = Packer(kernel)(list(_arrays(kernel)))
        assert [value.itemsize for value in packed] == parameters(kernel_ptx(kernel, (9, 0))[0])


def test_arrays_that_are_not_aligned_are_passed_without_vectors():
    (kernel,) = kernels_of(FAMILIES["elementwise"]("f32[300,700]"), "cuda")
    arrays, pack = list(_arrays(kernel)), Packer(kernel)
    (place,) = (i for i, arg in enumerate(kernel.args) if arg.aligned)
    before = [int(v) for v in pack(arrays)]
    arrays[0].data.ptr += 4
    after = [int(v) for v in pack(arrays)]
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert kernel.args[place].value > 0 and changed == [(256, 260), (kernel.args[place].value, 0)]


def test_arrays_with_strides_are_passed_axis_by_axis():
    jaxpr = programs.softmax("f32[300,700]")
    from workbench.codegen.cuda.lower import lower_cluster_to_device
    from workbench.fusion import form_plan

    (cluster,) = form_plan(jaxpr).clusters
    kernel = lower_cluster_to_device(cluster, dict.fromkeys(cluster.invars, "A"))
    assert kernel.args[0].ndim == 2 and kernel.args[0].layout == "A"
    packed = Packer(kernel)(list(_arrays(kernel)))
    assert [value.itemsize for value in packed] == parameters(kernel_ptx(kernel, (9, 0))[0])


def test_ptx_is_kept_on_disk(tmp_path):
    import workbench as wb
    from workbench.runtime.cuda import kernels

    (kernel,) = kernels_of(FAMILIES["stencil"]("f32[300,700]"), "cuda")
    with wb.config(cache_dir=str(tmp_path)):
        kernels._ptx.clear()
        text, _, from_disk = kernel_ptx(kernel, (9, 0))
        assert not from_disk
        kernels._ptx.clear()
        again, _, from_disk = kernel_ptx(kernel, (9, 0))
        assert from_disk and again == text


def test_choices_are_instructions_and_no_branches(ptxas):
    """A few hundred branches would take numba minutes, and a warp's lanes would go through both sides one by one."""
    for dtype in ("f32", "f64", "i64", "i8", "bool", "c64", "c128"):
        b = JaxprBuilder()
        which, x, y = b.input("bool[5000]"), b.input(f"{dtype}[5000]"), b.input(f"{dtype}[5000]")
        third = b.emit("select_n", b.input("i32[5000]"), x, y, x)
        (kernel,) = kernels_of(b.build(b.emit("select_n", which, x, y), third), "cuda")
        ptx, _, _ = kernel_ptx(kernel, (9, 0))
        assert " if " not in kernel.source and re.search(r"selp|and\.|xor\.", ptx)
        ptxas(ptx, (9, 0))


def test_a_kernel_has_a_name_to_read():
    (kernel,) = kernels_of(FAMILIES["stencil"]("f32[300,700]"), "cuda")
    ptx, _, _ = kernel_ptx(kernel, (9, 0))
    assert toolkit.entry_name(ptx) == kernel.name and len(ptx) < 40_000
