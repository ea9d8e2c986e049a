"""Matrix products on tapes: by the routines of BLAS that NumPy calls.

Small ones are one instruction, with NumPy's bits. Large ones, for which BLAS wakes threads, are there twice: as this
instruction, and as a kernel over blocks of the result, on our threads, with BLAS held to one. A word of the tape says
which of them is followed (see `runtime.products`). Products of many pairs (a batch) are such kernels, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from ...codegen import llvm_product
from ...ir import Equation
from ...primitives import numpy_libraries
from ...primitives.contractions import matrix_form
from ..native import blas
from ..native.kernels import NotNativeError, machine_address
from ..native.threads import may_share, share
from ..products import BLOCK_FLOPS, BLOCK_ROWS, SMALL, can_hold_threads
from .tape import Place, Tape

# Multiply-adds beyond which what Python costs is nothing beside the product: it then finds out which threads do better.
MOST_WORK = 1 << 24
# Blocks a thread of products of matrices, each of which orders the other operand anew.
BLOCKS_PER_THREAD = 3


def write_product(
    tape: Tape, eqn: Equation, operands: tuple[Place, Place], new: Callable[[], Place], n_threads: int
) -> None:
    """The instructions of a `dot_general`. new: makes the place of its result, in C order. NotNativeError where NumPy
    calls no routine of BLAS that can be told, or where Python costs nothing beside it."""
    x, y = operands
    form = matrix_form(x.array.shape, y.array.shape, eqn.params["dimension_numbers"])
    left = _joined(x.array.transpose(form.left_axes), form.left_shape)
    right = _joined(y.array.transpose(form.right_axes), form.right_shape)
    if eqn.outvars[0].aval.dtype != left.dtype:
        raise NotNativeError("a product of numbers that become wider")
    is_batch = left.ndim > 2
    if is_batch and (left.ndim != 3 or right.ndim != 3 or not left.shape[0]):
        raise NotNativeError("products of many pairs of vectors")
    one_left, one_right = (left[0], right[0]) if is_batch else (left, right)
    call = blas.call_of(one_left, one_right)
    if call is not None and _is_transposed(x, y, one_left, one_right):
        call = blas.of_one_matrix(call)
    address = numpy_libraries.blas(call[0]) if call is not None else None
    if call is None or address is None:
        raise NotNativeError("a product for which NumPy calls no routine of BLAS that can be told")
    work = one_left.shape[-1] * (math.prod(form.product_shape) // (left.shape[0] if is_batch else 1))
    if work > MOST_WORK:
        raise NotNativeError("a product that takes long")
    if work > SMALL and call[0].endswith("syrk"):
        raise NotNativeError("a large product of a matrix with itself")
    if work > SMALL and not can_hold_threads():
        raise NotNativeError("a product that is large enough for several threads")
    routine, arguments = call
    is_dot = routine.endswith("dot")
    if is_batch and is_dot:
        raise NotNativeError("products of many pairs of vectors")
    out = new()
    if is_batch:
        _write_blocks(tape, operands, (left, right), out, (routine, address, arguments), n_threads)
        tape.holds_blas |= work > SMALL
        return
    skip = None
    if work > SMALL and not is_dot:
        if tape.blas_threads is None:
            tape.blas_threads = tape.word()
        at_once = tape.emit("jump_if", tape.blas_threads, 1, 0)
        _write_blocks(tape, operands, (left, right), out, (routine, address, arguments), n_threads)
        skip = tape.emit("jump", 0)
        tape.land(at_once)
    addresses = {"left": tape.moved(x), "right": tape.moved(y), "out": out.block.slot}
    numbers = [addresses[a] if isinstance(a, str) else a for a in arguments]
    tape.emit(routine, tape.word(address), *numbers)
    if skip is not None:
        tape.land(skip)


def _joined(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same elements with some axes joined."""
    if a.shape == shape:
        return a
    try:
        return np.reshape(a, shape, copy=False)
    except ValueError:
        raise NotNativeError("a product of joined axes that do not lie in one piece") from None


def _is_transposed(x: Place, y: Place, left: np.ndarray, right: np.ndarray) -> bool:
    """Whether a matrix is multiplied by what may be its own transpose."""
    is_same = x.block.slot == y.block.slot and x.offset == y.offset
    return (
        is_same
        and left.ndim == right.ndim == 2
        and left.shape == right.shape[::-1]
        and (left.strides == right.strides[::-1])
    )


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A product as a kernel over blocks of its result, or over the pairs of a batch. names: of the operands in the
    order of the kernel's table; numbers: its words; extent, grain: of the kernel."""

    names: tuple[str, str]
    numbers: dict[str, int]
    extent: int
    grain: int


def _gemv_blocks(left: np.ndarray, right: np.ndarray, arguments: tuple[int | str, ...]) -> _Blocks:
    """A matrix, which comes first, whichever operand it is, times a vector."""
    order, _, _, total, matrix, leading, vector, increment, *_ = arguments
    assert isinstance(total, int) and isinstance(matrix, str) and isinstance(vector, str)
    step = left.strides[-2] if matrix == "left" else right.strides[-1]
    k, size = left.shape[-1], left.itemsize
    numbers = {
        "total": total, "block": BLOCK_ROWS, "left_step": BLOCK_ROWS * step, "right_step": 0,
        "out_step": BLOCK_ROWS * size, "order": _number(order), "k": k, "leading": _number(leading),
        "increment": _number(increment),
    }  # fmt: skip
    # A byte takes about as long as an operation does.
    grain = math.ceil(BLOCK_FLOPS / (BLOCK_ROWS * k * max(size, _flops(left))))
    return _Blocks((matrix, vector), numbers, -(-total // BLOCK_ROWS), grain)


def _gemm_blocks(left: np.ndarray, right: np.ndarray, arguments: tuple[int | str, ...], n_threads: int) -> _Blocks:
    """Two matrices: rows of the result, or columns, whichever are more."""
    _, how_left, how_right, rows, columns, k, _, leading_left, _, leading_right, _, leading_out = map(
        _number, arguments
    )
    by_rows, size = rows >= columns, left.itemsize
    total, other = (rows, columns) if by_rows else (columns, rows)
    block = max(BLOCK_ROWS, -(-total // (BLOCKS_PER_THREAD * n_threads) // BLOCK_ROWS) * BLOCK_ROWS)
    numbers = {
        "total": total, "block": block, "left_step": block * left.strides[-2] * by_rows,
        "right_step": 0 if by_rows else block * right.strides[-1],
        "out_step": block * size * (columns if by_rows else 1),
        "by_rows": int(by_rows), "other": other, "k": k, "how_left": how_left, "how_right": how_right,
        "leading_left": leading_left, "leading_right": leading_right, "leading_out": leading_out,
    }  # fmt: skip
    grain = math.ceil(BLOCK_FLOPS / (block * k * max(other * _flops(left), size)))
    return _Blocks(("left", "right"), numbers, -(-total // block), grain)


def _of_batch(blocks: _Blocks, left: np.ndarray, right: np.ndarray) -> _Blocks:
    """The same, but each pair of a batch at once."""
    n, rows, columns = left.shape[0], left.shape[1], right.shape[2]
    steps = {"left": left.strides[0], "right": right.strides[0]}
    first, second = blocks.names
    numbers = {
        **blocks.numbers, "block": blocks.numbers["total"], "left_step": steps[first], "right_step": steps[second],
        "out_step": rows * columns * left.itemsize,
    }  # fmt: skip
    grain = math.ceil(BLOCK_FLOPS / (rows * columns * left.shape[2] * _flops(left)))
    return _Blocks(blocks.names, numbers, n, grain)


def _number(argument: int | str) -> int:
    return argument if isinstance(argument, int) else 0  # an array's place


def _flops(array: np.ndarray) -> int:
    """Of a multiplication and an addition."""
    return 8 if array.dtype.kind == "c" else 2


def _write_blocks(
    tape: Tape, operands: tuple[Place, Place], matrices: tuple[np.ndarray, np.ndarray], out: Place,
    call: tuple[str, int, tuple[int | str, ...]], n_threads: int,
) -> None:  # fmt: skip
    """A call of a kernel over blocks of the result, or over the pairs of a batch."""
    (name, address, arguments), (left, right) = call, matrices
    letter, routine = name[0], cast("llvm_product.Routine", name[1:])
    is_batch = left.ndim > 2
    if routine == "gemv":
        blocks = _gemv_blocks(left, right, arguments)
    else:
        blocks = _gemm_blocks(left, right, arguments, n_threads)
    if is_batch:
        blocks = _of_batch(blocks, left, right)
    function = machine_address(llvm_product.blocks(routine, letter), llvm_product.blocks_symbol(routine, letter))
    table = len(tape.words)
    if may_share(blocks.extent, blocks.grain, n_threads):
        function, program = share(function, blocks.extent, blocks.grain, n_threads)
        tape.kept.append(program)
        tape.word(program.__array_interface__["data"][0])
        tape.word(len(program))
    numbers = {"routine": address, "together": int(not is_batch), **blocks.numbers}
    words = {
        name: tape.word(numbers.get(name, 0))
        for name in (*llvm_product.BLOCK_WORDS, *llvm_product.BLOCK_ARGUMENTS[routine])
    }
    places = {"left": operands[0], "right": operands[1]}
    first, second = blocks.names
    for target, place in (("left", places[first]), ("right", places[second]), ("out", out)):
        tape.emit("move", words[target], place.block.slot, place.offset)
    tape.emit("call", tape.word(function), table, blocks.extent)
