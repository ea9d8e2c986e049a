"""Small linear systems on tapes: `solve`, `inv` and `det` by the routines that NumPy calls, with its bits.

Matrices are copied by columns, as `numpy.linalg` does; the result is copied back. A singular system is left to Python,
which raises NumPy's error, as is single precision, which NumPy computes in double.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir import Equation, Primitive
from ...primitives import numpy_libraries
from ...primitives.linalg import det_p, inv_p, solve_p
from ..native.kernels import NotNativeError
from .tape import Place, Tape

# The order of a system from which on what LAPACK takes, maybe on several threads, hides what Python costs.
MOST_ROWS = 256
_LETTERS = {"f8": "d", "c16": "z"}


def write_lapack(tape: Tape, eqn: Equation, operands: list[Place], out: Place) -> None:
    """The instructions of one of `ROUTINES`, whose result goes to `out`. NotNativeError where there is no such routine
    or the matrix is none of the plain ones."""
    a = operands[0].array
    letter = _LETTERS.get(a.dtype.str[1:])
    if letter is None or a.ndim != 2 or not 0 < a.shape[0] <= MOST_ROWS or out.array.dtype != a.dtype:
        raise NotNativeError(f"{eqn.primitive.name} of {a.dtype.name}{list(a.shape)}")
    ROUTINES[eqn.primitive](tape, letter, operands, out)


def _routine(name: str, find: Callable[[str], int | None]) -> int:
    address = find(name)
    if address is None:
        raise NotNativeError(f"{name}, which cannot be told")
    return address


def _by_columns(tape: Tape, place: Place) -> int:
    """A word with the address of a copy of a matrix (or of a vector, as one column) that lies by columns."""
    a = place.array if place.array.ndim == 2 else place.array[:, None]
    slot = tape.own(a.nbytes)
    tape.emit(f"by_columns{a.itemsize}", slot, tape.moved(place), *a.shape, *a.strides)
    return slot


def _solve(tape: Tape, letter: str, operands: list[Place], out: Place) -> None:
    a, b = operands[0].array, operands[1].array
    if b.ndim > 2 or not b.size or b.dtype != a.dtype:
        raise NotNativeError(f"solve for {b.dtype.name}{list(b.shape)}")
    _solved(tape, letter, operands[0], _by_columns(tape, operands[1]), out)


def _inv(tape: Tape, letter: str, operands: list[Place], out: Place) -> None:
    a = operands[0].array
    right = tape.own(a.nbytes)
    tape.copy(right, tape.constant(np.eye(a.shape[0], dtype=a.dtype)))
    _solved(tape, letter, operands[0], right, out)


def _solved(tape: Tape, letter: str, matrix: Place, right: int, out: Place) -> None:
    """right: the word with the address of the right-hand sides, by columns."""
    n, size = matrix.array.shape[0], matrix.array.itemsize
    columns = out.array.size // n
    function = tape.word(_routine(f"{letter}gesv", numpy_libraries.lapack))
    n_word, columns_word, info = tape.word(n), tape.word(columns), tape.word()
    left, pivots = _by_columns(tape, matrix), tape.own(8 * n)
    tape.emit("gesv", function, n_word, columns_word, left, pivots, right, info)
    tape.emit(f"by_columns{size}", tape.moved(out), right, columns, n, n * size, size)


def _det(tape: Tape, letter: str, operands: list[Place], out: Place) -> None:
    if letter != "d":
        raise NotNativeError("det of complex numbers")
    n = operands[0].array.shape[0]
    function = tape.word(_routine("dgetrf", numpy_libraries.lapack))
    exp, log = (tape.word(_routine(name, numpy_libraries.libm)) for name in ("exp", "log"))
    n_word, info = tape.word(n), tape.word()
    factors, pivots = _by_columns(tape, operands[0]), tape.own(8 * n)
    tape.emit("getrf", function, n_word, factors, pivots, info)
    tape.emit("ddet", tape.moved(out), factors, pivots, info, n, exp, log)


ROUTINES: dict[Primitive, Callable[[Tape, str, list[Place], Place], None]] = {
    solve_p: _solve,
    inv_p: _inv,
    det_p: _det,
}
