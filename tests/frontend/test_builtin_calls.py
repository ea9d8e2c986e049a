"""Python's functions of numbers, and NumPy's types called with one, give what they give without the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb


def outcome(function: Any, *args: Any) -> tuple[str, Any]:
    try:
        return "value", function(*args)
    except Exception as error:
        return type(error).__name__, str(error)


def assert_same(function: Any, *args: Any, compiles: bool = True) -> None:
    compiled = wb.jit(function)
    for _ in range(2):
        expected, actual = outcome(function, *args), outcome(compiled, *args)
        assert repr(actual) == repr(expected)  # types, too
    assert not compiles or not compiled.fallbacks


KINDS: dict[str, Any] = {
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "bool": lambda x: bool(x[0]),
    "complex": lambda x: complex(x[0]),
    "round": lambda x: round(x[0]),
    "np.bool_": lambda x: np.bool_(x[0]),
    "np.int8": lambda x: np.int8(x[0]),
    "np.uint8": lambda x: np.uint8(x[0]),
    "np.int16": lambda x: np.int16(x[0]),
    "np.uint16": lambda x: np.uint16(x[0]),
    "np.int32": lambda x: np.int32(x[0]),
    "np.uint32": lambda x: np.uint32(x[0]),
    "np.int64": lambda x: np.int64(x[0]),
    "np.uint64": lambda x: np.uint64(x[0]),
    "np.float32": lambda x: np.float32(x[0]),
    "np.float64": lambda x: np.float64(x[0]),
    "np.complex64": lambda x: np.complex64(x[0]),
    "np.complex128": lambda x: np.complex128(x[0]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # invalid casts
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 1, -3.7, 2.5, 3.5, 1e30, np.nan, np.inf, 300, -1, True, np.float32(1.25),
                                   np.uint64(2**64 - 1), np.int8(-128), np.uint8(200)])  # fmt: skip
def test_one_number_becomes_another(kind: str, value: Any) -> None:
    assert_same(KINDS[kind], np.array([value]), compiles=kind != "round")


def test_numbers_of_python_keep_their_bounds() -> None:
    assert_same(lambda x: np.uint8(int(x[0])), np.array([255.0]))
    assert_same(lambda x: np.uint8(int(x[0])), np.array([256.0]))
    assert_same(lambda x: np.uint8(float(x[0])), np.array([7.9]))
    assert_same(lambda x: np.int16(float(x[0])), np.array([-40000.0]))


@pytest.mark.parametrize("factor", [1, 2**20, 2**40])
def test_ints_of_python_have_no_end(factor: int) -> None:
    def arithmetic(x: Any) -> Any:
        a, b = int(x[0]), int(x[1])
        return a * b, a + b, a - b * b, a << 3, (a * 31 + b) * 31

    assert_same(arithmetic, np.array([3.0, 5.0]) * factor)


@pytest.mark.parametrize("n", [4, 25])
def test_a_hash_of_python_ints_grows_beyond_int64(n: int) -> None:
    def hashed(values: Any) -> Any:
        h = 7
        for v in values:
            h = h * 31 + int(v)
        return h

    assert_same(hashed, np.arange(n))


def test_results_may_be_numbers_of_python() -> None:
    def summary(x: Any) -> Any:
        return {"n": len(x), "total": float(x.sum()), "top": int(np.argmax(x)), "any": bool((x > 2).any())}

    assert_same(summary, np.arange(5, dtype=np.float32))
    assert_same(lambda x: [float(v) * 2 for v in x], np.arange(5.0))
    assert_same(lambda x: x[int(x[0]) : int(x[0]) + 2].sum(), np.array([1.0, 2, 3, 4]), compiles=False)


def test_python_floats_round_as_python_does() -> None:
    assert_same(lambda x: round(float(x[0]), 2), np.array([2.675]), compiles=False)
    assert_same(lambda x: round(x[0], 2), np.array([2.675]))


def test_elements_behind_a_mask_are_counted() -> None:
    def centre(points: Any, mine: Any) -> Any:
        members = points[mine]
        if len(members) > 0:
            return members.mean(axis=0), len(members), members.shape[0] == len(members)
        return points[0] * 0.0, 0, True

    points = np.arange(12.0).reshape(6, 2)
    assert_same(centre, points, np.arange(6) % 2 == 0)
    assert_same(centre, points, np.zeros(6, bool))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow
@pytest.mark.parametrize("x", [
    np.array([3.0, 1, 2]), np.array([0.0, -0.0] * 20), np.array([-0.0, 0.0] * 20), np.array([1.0, np.nan] * 20),
    np.arange(40, dtype=np.uint8) * 9, np.arange(40), np.arange(40.0).reshape(20, 2).copy()[:, 0], np.zeros(0),
], ids=str)  # fmt: skip
def test_folds_over_arrays_are_pythons(x: Any) -> None:
    assert_same(lambda x: sum(x), x)
    assert_same(lambda x: max(x), x, compiles=len(x) > 0)
    assert_same(lambda x: min(x), x, compiles=len(x) > 0)
    assert_same(lambda x: max(v * v for v in x[:5]), x, compiles=len(x) > 0)


def test_rows_are_added_by_sum() -> None:
    assert_same(lambda x: sum(x), np.arange(60).reshape(20, 3))
    assert_same(lambda xs: sum(x @ x for x in xs), [np.arange(3.0), np.ones(3)])


def test_names_may_mean_something_else() -> None:
    def shadowed(x: Any) -> Any:
        float = abs  # noqa: A001
        len = np.sum  # noqa: A001
        return float(x[0]), len(x)

    assert_same(shadowed, np.array([-1.5, 2.0]))


def test_grids_can_be_written_to() -> None:
    def grids(x: Any) -> Any:
        row, column = np.mgrid[0:3, 0:4]
        column[1] = x[0]
        fine = np.mgrid[0:1:3j, 0:4:0.5]
        fine[0] += x[1]
        y, z = np.ogrid[-1:1:5j, 1:9:2]
        return row, column, fine, y * z, np.mgrid[0:5:2], np.mgrid[0:2:5j], np.mgrid[0:2, 0:3, 1:4]

    assert_same(grids, np.array([7.0, 8.0]))


@pytest.mark.parametrize("value", [np.arange(3.0), np.ones(1), np.array(2.5), np.array([3])])
def test_arrays_have_no_round(value: Any) -> None:
    def written(x):
        x += round(x)

    def rounded(x):
        return round(x, 1)

    for function in (written, rounded):
        for f in (function, wb.jit(function)):
            with pytest.raises(TypeError, match="doesn't define __round__"):
                f(value.copy())


def test_bytes_are_read_as_numbers() -> None:
    def checksum(message: Any, x: Any) -> Any:
        data = np.frombuffer(message, dtype=np.uint8)
        return data.sum() + x, data.flags.writeable, np.frombuffer(message, np.uint16, 2, 1)

    assert_same(checksum, b"numbers!", np.arange(3))
    assert_same(checksum, b"", np.arange(3), compiles=False)


def test_a_loop_may_return_known_numbers_from_inside() -> None:
    def first_above(x: Any, limit: Any) -> Any:
        table = np.arange(4)
        for k in range(len(x)):
            if x[k] > limit:
                return table
        return table + 1

    assert_same(first_above, np.arange(6.0), 2.5, compiles=False)
    assert_same(first_above, np.arange(6.0), 9.5, compiles=False)


def test_a_loop_over_what_cannot_be_translated_is_compiled_whole():
    def fnv(message, seed):
        h = seed
        for byte in np.frombuffer(message, dtype=np.uint8):
            h = (h ^ np.uint32(byte)) * np.uint32(16777619)
        return h

    message = bytes(range(200))
    with np.errstate(over="ignore"):
        compiled = wb.jit(fnv)
        for seed in (np.uint32(1), np.uint32(2166136261)):
            assert compiled(message, seed) == fnv(message, seed)
    assert not compiled.fallbacks
    assert str(wb.make_jaxpr(fnv)(message, np.uint32(1))).count("scan") == 0


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_what_no_iteration_changes_stays_pythons(n):
    def carried(x, y):
        first = second = 0.0
        for k, v in enumerate(x[1:]):
            first = v + first * k
        for v, w in zip(x, y, strict=False):
            second = v * w + second
        return first, second

    x, y = np.arange(2.0, n + 2), np.arange(float(n))
    found, expected = wb.jit(carried)(x, y), carried(x, y)
    assert found == expected and [*map(type, found)] == [*map(type, expected)]


def pairs(x, i):
    low, high = sorted((x[i], x[i + 1]))
    return low, high, sorted([i, 5]), sorted([high, 0.0 * low])


def pairs_in_a_loop(x, i):
    gaps, least = np.zeros(len(x) - 1), 0
    for k in range(len(x) - 1):
        low, high = sorted([x[k], x[k + 1]])
        gaps[k] = high - low + i
        first, _ = sorted((k, 5))
        least += first
    return gaps, least


@pytest.mark.parametrize("program", [pairs, pairs_in_a_loop])
@pytest.mark.parametrize("i", range(10))
def test_two_numbers_are_sorted_as_python_does(program: Callable, i: Any) -> None:
    x = np.array([1.0, np.nan, -0.0, 0.0, 3, 2, np.inf, -np.inf, 0.0, -0.0, np.nan])
    compiled = wb.jit(program)
    with np.errstate(all="ignore"):
        assert repr(compiled(x, i)) == repr(program(x, i))
    assert all(reason.code == "WB500" for reason in compiled.fallbacks)


class Rounded:
    dtype = np.float32

    def of(self, x):
        return self.dtype(x) + self.dtype(1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128, float, bool])
def test_types_that_variables_hold_are_called_as_types(dtype, call):
    def f(x, its_type=dtype):
        return (
            its_type(x.sum()),
            (its_type(x) if issubclass(its_type, np.generic) else x),
            x.dtype.type(3) * x,
            Rounded().of(x),
        )

    for x in (np.arange(4.0), np.arange(4, dtype=np.float32), np.arange(4), np.arange(6).reshape(2, 3)):
        for ours, numpys in zip(call(f, x), f(x), strict=True):
            assert type(ours) is type(numpys)
            np.testing.assert_array_equal(ours, numpys)
            assert getattr(ours, "dtype", None) == getattr(numpys, "dtype", None)
