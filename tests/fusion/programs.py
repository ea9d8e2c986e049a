"""Programs in the IR that people know, for the tests of fusion and code generation."""

from __future__ import annotations

from workbench.ir import Jaxpr
from workbench.ir.builder import JaxprBuilder


def softmax(shape: str = "f64[8,128]") -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    rows = dict(shape=x.aval.shape, broadcast_dimensions=(0,))
    top = b.emit("reduce_max", x, axes=(1,), hint="top")
    e = b.emit("exp", b.emit("sub", x, b.emit("broadcast_in_dim", top, **rows)), hint="e")
    total = b.emit("reduce_sum", e, axes=(1,), hint="total")
    return b.build(b.emit("div", e, b.emit("broadcast_in_dim", total, **rows), hint="y"))


def sum_squared_error(shape: str = "f64[50,50]") -> Jaxpr:
    b = JaxprBuilder()
    x, y = b.input(shape, hint="a"), b.input(shape, hint="b")
    square = b.emit("integer_pow", b.emit("sub", x, y), y=2)
    return b.build(b.emit("reduce_sum", square, axes=tuple(range(x.aval.ndim)), hint="error"))


def scaled_by_its_maximum(shape: str = "f64[50,50]") -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    edges = b.emit("mul", x, x, hint="edges")
    return b.build(b.emit("div", edges, b.emit("reduce_max", edges, axes=(0, 1)), hint="tone"))


def column_standard_deviation(shape: str = "f64[37,600]") -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    n, _ = x.aval.shape
    mean = b.emit("div", b.emit("reduce_sum", x, axes=(0,)), float(n), hint="mean")
    d = b.emit("sub", x, b.emit("broadcast_in_dim", mean, shape=x.aval.shape, broadcast_dimensions=(1,)), hint="d")
    variance = b.emit("div", b.emit("reduce_sum", b.emit("mul", d, d), axes=(0,)), float(n))
    return b.build(b.emit("sqrt", variance, hint="deviation"))


def stencil(shape: str = "f64[20,30]") -> Jaxpr:
    b = JaxprBuilder()
    u = b.input(shape, hint="u")
    n, m = u.aval.shape

    def part(i: int, j: int):
        return b.emit("slice", u, start_indices=(i, j), limit_indices=(n - 2 + i, m - 2 + j), strides=None)

    around = b.emit("add", b.emit("add", part(0, 1), part(2, 1)), b.emit("add", part(1, 0), part(1, 2)))
    return b.build(b.emit("mul", around, 0.25, hint="v"))


def matmul_between_chains(shape: str = "f64[16,16]") -> Jaxpr:
    b = JaxprBuilder()
    x = b.input(shape, hint="x")
    left = b.emit("mul", x, 2.0)
    product = b.emit(
        "dot_general", left, x, dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type=x.aval.dtype
    )
    return b.build(b.emit("add", product, 1.0, hint="y"))
