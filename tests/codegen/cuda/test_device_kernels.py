"""Kernels for a device: how they read, and what they compute under numba's simulator."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.codegen.random_jaxprs import RandomProgram
from tests.fusion import programs
from workbench.codegen.blocks import Block
from workbench.codegen.cuda.lower import MOST_IN_32_BITS, index_type
from workbench.codegen.cuda.tuning import GPU
from workbench.codegen.cuda.vectors import RowLoop, write_turns
from workbench.codegen.names import Namer
from workbench.fusion import form_plan
from workbench.ir.builder import JaxprBuilder

from .device_programs import FAMILIES, SHAPES, assert_simulates, inputs_of, kernels_of, reduced, simulate, threefry


@pytest.mark.parametrize("name", ["row chain", "column maximum", "full reduction", "stencil"])
def test_device_kernel_reads_like_this(name, golden):
    shape = "f32[3000,4000]" if name == "full reduction" else "f32[300,700]"
    assert "\n".join(k.source for k in kernels_of(FAMILIES[name](shape), "cuda")) == golden


def has_points_enough(name, shape):
    """A stencil needs three points along each axis."""
    return name != "stencil" or min(map(int, shape[4:-1].split(","))) >= 3


@pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for name in FAMILIES for shape in SHAPES if has_points_enough(name, shape)]
)
def test_every_family_computes_what_numpy_does(name, shape):
    jaxpr = FAMILIES[name](shape)
    assert_simulates(jaxpr, inputs_of(jaxpr))


@pytest.mark.parametrize("seed", range(120))
def test_random_programs_compute_what_numpy_does(seed):
    program = RandomProgram(seed, 1 + seed % 12)
    assert_simulates(program.jaxpr, program.inputs)


def test_threefry_gives_the_same_bits():
    jaxpr = threefry("u32[11]")
    rng = np.random.default_rng(3)
    inputs = [rng.integers(0, 2**32, v.aval.shape, dtype=np.uint32) for v in jaxpr.invars]
    assert_simulates(jaxpr, [np.asarray(x) for x in inputs])


@pytest.mark.parametrize("device", ["cuda", "cuda-sim"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_float32_program_has_no_float64_arithmetic(name, device):
    for kernel in kernels_of(FAMILIES[name]("f32[300,700]"), device):
        assert "float64" not in kernel.source and "f64" not in kernel.source


@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_shape_has_the_same_source(name):
    first, second = (kernels_of(FAMILIES[name](shape), "cuda") for shape in ("f32[300,700]", "f32[411,803]"))
    if name != "column chain":  # the number of rows is a literal in that program
        assert [k.source for k in first] == [k.source for k in second]


def test_vectors_cover_every_element_whatever_the_length_and_the_address():
    """Lengths around a vector and around two streams of them, with the argument that says how many there are at 0."""
    for n in (1, 3, 4, 7, 8, 9, 31, 64, 65):
        jaxpr = programs.sum_squared_error(f"f32[1,{n}]")
        assert_simulates(jaxpr, inputs_of(jaxpr), atol=1e-5)
        b = JaxprBuilder()
        x, y = b.input(f"f32[{n}]", hint="x"), b.input(f"f64[{n}]", hint="y")
        wide = b.emit("convert_element_type", x, new_dtype=np.dtype(np.float64))
        jaxpr = b.build(b.emit("mul", x, 2.0), b.emit("sub", wide, y), b.emit("gt", x, 0.0))
        assert_simulates(jaxpr, inputs_of(jaxpr))
        (kernel,) = kernels_of(jaxpr, "cuda-sim")
        assert n == 1 or ("load2_f64" in kernel.source and "store2_bool" in kernel.source)


def test_what_is_read_under_a_condition_is_not_loaded_without_it():
    b = JaxprBuilder()
    x, y = b.input("f32[40]", hint="x"), b.input("f32[24]", hint="y")
    jaxpr = b.build(b.emit("neg", b.emit("concatenate", x, y, dimension=0)))
    (kernel,) = kernels_of(jaxpr, "cuda-sim")
    assert "load" not in kernel.source
    assert_simulates(jaxpr, inputs_of(jaxpr))


@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "i8", "bool"])
@pytest.mark.parametrize("shape", [(20, 37), (3, 17, 22), (2, 3, 40, 5)])
def test_transposes_go_through_shared_memory(dtype, shape):
    """Axes that are no multiples of a tile, other axes around them, a result that also reads in its own order."""
    n = len(shape)
    b = JaxprBuilder()
    x = b.input(f"{dtype}[{','.join(map(str, shape))}]", hint="x")
    order = (*range(n - 2), n - 1, n - 2)
    turned = tuple(shape[axis] for axis in order)
    y = b.input(f"{dtype}[{','.join(map(str, turned))}]", hint="y")
    jaxpr = b.build(b.emit("eq", b.emit("transpose", x, permutation=order), y))
    kernels = kernels_of(jaxpr, "cuda-sim")
    if min(shape[-2:]) >= 17:
        assert all("x_tile" in k.source and "cuda.syncthreads()" in k.source for k in kernels)
    first, second = inputs_of(jaxpr)
    second[...] = np.where(second > 1, first.transpose(order), second)
    assert_simulates(jaxpr, [first, second])


@pytest.mark.parametrize("shape", [(20, 37), (17, 3, 22)])
def test_results_that_cross_the_loops_go_through_shared_memory(shape):
    """The loops run over the transposed array, and its own order is the results'."""

    def doubled(a, b):
        a.T[...] = a.T[...] + a.T[...]
        a %= b
        return a

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=shape), rng.normal(size=shape) + 3.0
    f = wb.jit(doubled, device="cuda-sim", strict=True)
    np.testing.assert_array_equal(f(a.copy(), b), doubled(a.copy(), b))
    (kernel,) = f.compilations[0].kernels.values()
    assert "_out_tile[" in kernel.source


def test_a_tile_is_read_without_bank_conflicts():
    (kernel,) = kernels_of(FAMILIES["transpose"]("f32[3000,4096]"), "cuda")
    assert kernel.geometry.block == (32, 8) and "cuda.shared.array(1056, types.float32)" in kernel.source  # 32 x 33
    assert kernel.geometry.meets == "shared memory"


def test_neighbours_are_read_by_lanes_side_by_side():
    (kernel,) = kernels_of(FAMILIES["stencil"]("f32[300,702]"), "cuda")
    assert "load" not in kernel.source and kernel.geometry.block == (64, 4)
    assert kernel.source.count("//") == 1 and "// np.uint32(n_segments)" in kernel.source  # once a thread
    # Four elements of a row for each thread, a known number: all are read before the first is used.
    (row_of_four,) = re.findall(r"if i1_first \+ 3 \* 64 < n1:\n(.*?)else:", kernel.source, re.DOTALL)
    reads = [k for k, line in enumerate(row_of_four.splitlines()) if " = u[" in line]
    writes = [k for k, line in enumerate(row_of_four.splitlines()) if " v_out[" in line]
    assert len(reads) == 16 and len(writes) == 4 and max(reads) < min(writes)


def test_what_is_read_where_the_body_says_waits_for_it():
    outer = Block()
    body = outer.loop("for i1 in range(first, n, 64):")
    for line in (
        "k = y[np.uint32(i1)]",
        "a, b = x[np.uint32(k * n + i1)], w[np.uint32(i1 + 1)]",
        "out[np.uint32(i1)] = a + b",
    ):
        body.line(line)
    write_turns(RowLoop(outer, body, 1, "i1", "first", "64", "n"), 4, "int32", Namer())
    text = "\n".join(line for line, _ in outer.render()).partition("else:")[0]
    assert text.count("x[np.uint32(k * n + i1)]") == 4 and "x_0" not in text
    assert text.index("w_3 = w[") < text.index("k = ") and "y_3 = y[" in text


@pytest.mark.parametrize("shape", ["f64[3,20]", "f64[4,17]", "f64[7,9]", "f64[9,40]", "f64[3,3]", "f64[40,5]"])
@pytest.mark.parametrize("padded", [False, True])
def test_neighbours_at_the_ends_of_rows(shape, padded):
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    n, m = x.aval.shape
    left = b.emit("slice", x, start_indices=(0, 0), limit_indices=(n, m - 1), strides=(1, 1))
    right = b.emit("slice", x, start_indices=(0, 1), limit_indices=(n, m), strides=(1, 1))
    y = b.emit("div", left, b.emit("add", b.emit("abs", right), 1.0))
    if padded:
        y = b.emit("add", b.emit("pad", y, np.float64(0.5), padding_config=((0, 0, 0), (1, 0, 0))), x)
    jaxpr = b.build(y)
    assert_simulates(jaxpr, inputs_of(jaxpr))


def test_long_sums_are_split_and_merged_in_a_fixed_order():
    jaxpr = programs.sum_squared_error("f32[40000,1000]")
    first, second = kernels_of(jaxpr, "cuda")
    assert first.geometry.grid[1] > 100 and second.geometry.grid == (1, 1)
    assert first.geometry.meets == second.geometry.meets == "warp shuffles"
    assert {k.geometry.meets for k in kernels_of(jaxpr, "cuda-sim")} == {"shared memory"}


def test_a_row_stays_on_chip_where_it_fits():
    (kernel,) = kernels_of(programs.softmax("f32[64,8192]"), "cuda")
    last_pass = kernel.source.rpartition("cuda.syncthreads()")[2]
    assert kernel.geometry.shared_bytes == 8192 * 4 and "exp_f32" in kernel.source and "exp_f32" not in last_pass
    (longer,) = kernels_of(programs.softmax("f32[64,65536]"), "cuda")
    assert longer.geometry.shared_bytes == 0
    assert GPU.row_bytes <= 48 << 10  # what every GPU grants without asking


@pytest.mark.parametrize("shape", ["f32[3,700]", "f32[2000]", "f32[700,3]"])
def test_sums_are_at_least_as_accurate_as_numpys(shape):
    rng = np.random.default_rng(5)
    jaxpr = reduced("reduce_sum", shape, (0,) if shape.endswith("700,3]") or "," not in shape else (1,))
    (var,) = jaxpr.invars
    axis = jaxpr.eqns[0].params["axes"][0]
    x = (rng.normal(size=var.aval.shape) * 10.0 ** rng.integers(-6, 6, var.aval.shape)).astype(np.float32)
    exact = x.astype(np.longdouble).sum(axis=axis)
    (found,) = simulate(jaxpr, x)
    ours, numpys = (np.abs(result - exact) for result in (found, x.sum(axis=axis)))
    assert np.all(ours <= numpys + np.spacing(np.abs(exact).astype(np.float32)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", ["f32[4,1024]", "f64[2048]", "c64[3,512]", "f32[999]"])
def test_sums_round_no_more_than_a_tree_of_eight(seed, shape):
    """Three roundings of what comes in, and the one of the result."""
    jaxpr = reduced("reduce_sum", shape, (0,) if "," not in shape else (1,))
    (var,) = jaxpr.invars
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=var.aval.shape) * 10.0 ** rng.integers(-6, 6, var.aval.shape)).astype(var.aval.dtype)
    wide = x.astype(np.clongdouble if var.aval.dtype.kind == "c" else np.longdouble)
    axis = jaxpr.eqns[0].params["axes"][0]
    (found,) = simulate(jaxpr, x)
    bound = 3.1 * abs(wide).sum(axis=axis) + abs(wide.sum(axis=axis))
    assert np.all(abs(found - wide.sum(axis=axis)) <= bound * np.finfo(var.aval.dtype).eps / 2)


@pytest.mark.parametrize("special", [[np.inf], [-np.inf, np.inf], [np.nan], [1e38, 3e38, -3e38], []])
def test_sums_of_special_values_are_numpys(special):
    x = np.ones((2, 96), np.float32)
    x[1, 4 : 4 + len(special)] = special
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(simulate(reduced("reduce_sum", "f32[2,96]", (1,)), x)[0], x.sum(axis=1))


def test_many_rows_have_few_lanes_each():
    """Meetings take a part of each lane's time; few rows have to fill the device."""
    blocks = {n: kernels_of(programs.softmax(f"f32[{n},4096]"), "cuda")[0].geometry.block for n in (100, 100_000)}
    assert blocks == {100: (256, 1), 100_000: (128, 1)}  # rows that are read again keep their blocks for themselves
    sums = {n: kernels_of(reduced("reduce_sum", f"f32[{n},4096]", (1,)), "cuda")[0] for n in (10_000, 100_000)}
    assert {n: kernel.geometry.block for n, kernel in sums.items()} == {10_000: (128, 2), 100_000: (32, 8)}
    assert "syncthreads" in sums[10_000].source and "syncthreads" not in sums[100_000].source  # a warp needs none
    (kernel,) = kernels_of(programs.softmax("f64[100000,4096]"), "cuda")
    assert kernel.geometry.block == (256, 1) and kernel.geometry.shared_bytes == 4096 * 8 <= GPU.row_bytes


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "values", [[1, 3, 3, 0, 0], [np.nan, 1, np.nan, 2, 0], [5, 5, 5, 5, 5], [np.inf, -np.inf, 0, 1, 2]]
)
def test_the_first_of_equals_is_found_in_any_lane(name, values):
    x = np.array(values * 9, np.float64)[None]
    jaxpr = reduced(name, f"f64[1,{x.size}]", (1,))
    assert simulate(jaxpr, x)[0] == getattr(np, name)(x, axis=1)


def test_large_arrays_are_indexed_with_64_bits():
    small, large = "f32[1000,1000]", f"f32[{MOST_IN_32_BITS // 1000 + 1},1000]"
    for shape, expected in ((small, "int32"), (large, "int64")):
        (cluster,) = form_plan(programs.softmax(shape)).clusters
        assert index_type(cluster) == expected
        assert all(k.geometry.index == expected for k in kernels_of(programs.softmax(shape), "cuda"))


def test_results_do_not_depend_on_the_run():
    jaxpr = programs.sum_squared_error("f32[40,50]")
    inputs = inputs_of(jaxpr)
    assert len({simulate(jaxpr, *inputs)[0].tobytes() for _ in range(3)}) == 1


def test_empty_arrays_launch_nothing_or_give_the_identity():
    for shape, axes in (("f64[0,5]", (0,)), ("f64[0,5]", (1,)), ("f64[5,0]", (1,)), ("f64[0]", (0,))):
        jaxpr = reduced("reduce_sum", shape, axes)
        assert_simulates(jaxpr, inputs_of(jaxpr))


@pytest.mark.parametrize("device", ["cuda", "cuda-sim"])
@pytest.mark.parametrize("short", ["f32", "f64"])
def test_programs_that_differ_in_numbers_share_their_kernels(short, device):
    def program(scale, shift):
        b = JaxprBuilder()
        x = b.input(f"{short}[300,700]", hint="x")
        y = b.emit("add", b.emit("mul", x, scale), shift)
        return b.build(b.emit("reduce_sum", b.emit("div", b.emit("mul", y, 0.5), scale), axes=(1,)))

    (first,), (second,) = (kernels_of(program(*numbers), device) for numbers in ((0.3, 1e-5), (-1.7, 1e22)))
    assert first.source == second.source and first.name == second.name and "* 0.5" in first.source.replace(
        "np.float32(0.5)", "0.5"
    )  # fmt: skip
    constants = [[a.value for a in k.args if a.dtype.startswith("float") and a.kind == "size"] for k in (first, second)]
    rounded = np.float32 if short == "f32" else float
    assert constants == [[float(rounded(v)) for v in numbers] for numbers in ((0.3, 1e-5), (-1.7, 1e22))]


@pytest.mark.parametrize("shape", ["f32[7,40]", "f64[7,40]"])
def test_constants_are_the_numbers_of_the_program(shape):
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    y = b.emit("mul", b.emit("add", b.emit("mul", x, 3.7), -1e-3), 2.0)
    y = b.emit("sub", b.emit("div", y, 0.1), b.emit("max", x, -0.3))
    jaxpr = b.build(y, b.emit("reduce_sum", b.emit("exp", b.emit("mul", y, -0.07)), axes=(1,)))
    assert_simulates(jaxpr, inputs_of(jaxpr))


def test_each_line_knows_its_equations():
    (kernel,) = kernels_of(programs.softmax("f32[300,700]"), "cuda")
    lines = kernel.source.splitlines()
    assert len(kernel.line_eqns) == len(lines)
    assert kernel.line_eqns[next(i for i, line in enumerate(lines) if "exp_f32" in line)]
