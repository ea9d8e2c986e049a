"""Programs for the device's tests: each family of kernels, over sizes that take each path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import workbench.primitives  # noqa: F401  (declares the primitives)
from tests.fusion import programs
from workbench.codegen.kernel import Kernel
from workbench.fusion import form_plan
from workbench.ir import Jaxpr
from workbench.ir.builder import JaxprBuilder
from workbench.ir.evaluate import eval_jaxpr
from workbench.runtime.cuda.executable import DeviceExecutable, device_kernels
from workbench.runtime.cuda.memory import SimulatedMemory

RTOL = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-11}


def reduced(name: str, shape: str, axes: tuple[int, ...]) -> Jaxpr:
    b = JaxprBuilder()
    params = {"axes": axes} | ({"index_dtype": np.dtype(np.int64)} if name.startswith("arg") else {})
    return b.build(b.emit(name, b.input(shape, hint="x"), **params))


def elementary(shape: str) -> Jaxpr:
    """A chain of elementary functions, some of libdevice and some of our own."""
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    for name in ("tanh", "exp", "log1p", "sin", "logistic", "cbrt"):
        x = b.emit(name, x)
    return b.build(x)


def gathered(shape: str) -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    rows = b.input("i64[5]", hint="rows")
    return b.build(b.emit("gather", x, rows, axes=(0,), position=0, mode="clip"))


def threefry(shape: str) -> Jaxpr:
    b = JaxprBuilder()
    key = [b.input("u32[]", hint=name) for name in ("k0", "k1")]
    counters = [b.input(f"u32[{shape.partition('[')[2]}", hint=name) for name in ("c0", "c1")]
    return b.build(*(b.emit("threefry2x32", *key, *counters, word=word) for word in (0, 1)))


def transposed(shape: str) -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    return b.build(b.emit("mul", b.emit("transpose", x, permutation=(1, 0)), 2.0 if shape[0] == "f" else 2))


FAMILIES: dict[str, Callable[[str], Jaxpr]] = {
    "elementwise": elementary,
    "stencil": programs.stencil,
    "transpose": transposed,
    "row chain": programs.softmax,
    "column chain": programs.column_standard_deviation,
    "full reduction": programs.sum_squared_error,
    "scaled by a total": programs.scaled_by_its_maximum,
    "row product": lambda shape: reduced("reduce_prod", shape, (1,)),
    "row argmax": lambda shape: reduced("argmax", shape, (1,)),
    "column argmin": lambda shape: reduced("argmin", shape, (0,)),
    "column maximum": lambda shape: reduced("reduce_max", shape, (0,)),
}
# Rows for one thread, a team, and several teams; columns few and many.
SHAPES = ("f64[13,37]", "f32[33,3]", "f64[3,3]", "f32[5,200]", "f32[150,4]", "f64[1,300]")


def inputs_of(jaxpr: Jaxpr, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = []
    for var in jaxpr.invars:
        dtype = var.aval.dtype
        values = rng.normal(size=var.aval.shape) if dtype.kind == "f" else rng.integers(0, 9, var.aval.shape)
        arrays.append(np.asarray(values).astype(dtype))
    return arrays


def kernels_of(jaxpr: Jaxpr, device: str) -> list[Kernel]:
    kernels = device_kernels(form_plan(jaxpr, in_place=False), device).values()
    return [k for kernel in kernels for k in (kernel, kernel.finish) if k is not None]


def simulate(jaxpr: Jaxpr, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    plan = form_plan(jaxpr, in_place=False)
    return DeviceExecutable(plan, device_kernels(plan, "cuda-sim"), SimulatedMemory()).run(*inputs)


def assert_simulates(jaxpr: Jaxpr, inputs: list[np.ndarray], atol: float = 1e-12) -> None:
    found = simulate(jaxpr, *inputs)
    with np.errstate(all="ignore"):
        expected = eval_jaxpr(jaxpr, *inputs)
    for mine, reference in zip(found, expected, strict=True):
        assert (mine.shape, mine.dtype) == (reference.shape, reference.dtype)
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, reference, rtol=RTOL[mine.dtype], atol=atol)
        else:
            np.testing.assert_array_equal(mine, reference)
