"""Matrix products on tapes: by the routines of BLAS that NumPy calls.

Small ones are one instruction, with NumPy's bits. Large ones, for which BLAS wakes threads, are there twice: as this
instruction, and as a kernel over blocks of the result, on our threads, with BLAS held to one. A word of the tape says
which of them is followed (see `runtime.products`). Products of many pairs (a batch) are such kernels, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from ...codegen import llvm_product
from ...ir import Equation
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
    if _is_transposed(x, y, one_left, one_right):
        raise NotNativeError("a product of a matrix with itself")  # NumPy has another routine for these
    call = blas.call_of(one_left, one_right)
    address = blas.routine(call[0]) if call is not None else None
    if call is None or address is None:
        raise NotNativeError("a product for which NumPy calls no routine of BLAS that can be told")
    work = one_left.shape[-1] * (math.prod(form.product_shape) // (left.shape[0] if is_batch else 1))
    if work > MOST_WORK:
        raise NotNativeError("a product that takes long")
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


def _write_blocks(
    tape: Tape, operands: tuple[Place, Place], matrices: tuple[np.ndarray, np.ndarray], out: Place,
    call: tuple[str, int, tuple[int | str, ...]], n_threads: int,
) -> None:  # fmt: skip
    """A call of a kernel over blocks of the result, or over the pairs of a batch."""
    (name, address, arguments), (left, right) = call, matrices
    letter, routine = name[0], cast("llvm_product.Routine", name[1:])
    size, k = left.itemsize, left.shape[-1]
    n_batch = left.shape[0] if left.ndim > 2 else 0
    rows = left.shape[-2] if left.ndim > 1 else 1
    columns = right.shape[-1] if right.ndim > 1 else 1
    places: dict[str, Place] = {"left": operands[0], "right": operands[1]}
    by = {"left": left.strides[0] if n_batch else 0, "right": right.strides[0] if n_batch else 0}
    if routine == "gemv":
        order, _, _, total, matrix, leading, vector, increment, *_ = arguments
        given = {"order": order, "k": k, "leading": leading, "increment": increment}
        step = left.strides[-2] if matrix == "left" else right.strides[-1]
    else:
        _, how_left, how_right, _, _, _, _, leading_left, _, leading_right, _, leading_out = arguments
        by_rows = rows >= columns
        matrix, vector = ("left", "right") if by_rows else ("right", "left")
        total, step = (rows, left.strides[-2]) if by_rows else (columns, right.strides[-1])
        given = {
            "by_rows": int(by_rows), "other": columns if by_rows else rows, "k": k,
            "how_left": how_left, "how_right": how_right,
            "leading_left": leading_left, "leading_right": leading_right, "leading_out": leading_out,
        }  # fmt: skip
    assert isinstance(total, int) and isinstance(matrix, str) and isinstance(vector, str)
    out_step = columns * size if routine == "gemm" and matrix == "left" else size
    if n_batch:
        extent, block, steps = n_batch, total, {**by, "out": rows * columns * size}
    else:
        block = BLOCK_ROWS
        if routine == "gemm":
            block = max(block, -(-total // (BLOCKS_PER_THREAD * n_threads) // block) * block)
        extent, steps = -(-total // block), {matrix: block * step, vector: 0, "out": block * out_step}
    flops = 2 * k * (rows * columns if n_batch else block * rows * columns // total) * (4 if letter in "cz" else 1)
    moved = k * (rows * columns if routine == "gemv" else rows + columns) * size  # bytes: about one takes as long
    grain = math.ceil(BLOCK_FLOPS / max(flops, moved if n_batch else moved * block // total, 1))
    function = machine_address(llvm_product.blocks(routine, letter), llvm_product.blocks_symbol(routine, letter))
    # The matrix of a `gemv` comes first, whichever operand it is.
    first, second = (matrix, vector) if routine == "gemv" else ("left", "right")
    table = len(tape.words)
    if may_share(extent, grain, n_threads):
        function, program = share(function, extent, grain, n_threads)
        tape.kept.append(program)
        tape.word(program.__array_interface__["data"][0])
        tape.word(len(program))
    numbers = {
        "routine": address, "together": int(not n_batch), "block": block, "total": total,
        "left_step": steps[first], "right_step": steps[second], "out_step": steps["out"], **given,
    }  # fmt: skip
    words = {
        name: tape.word(cast(int, numbers.get(name, 0)))
        for name in (*llvm_product.BLOCK_WORDS, *llvm_product.block_arguments(routine))
    }
    for target, place in (("left", places[first]), ("right", places[second]), ("out", out)):
        tape.emit("move", words[target], place.block.slot, place.offset)
    tape.emit("call", tape.word(function), table, extent)
