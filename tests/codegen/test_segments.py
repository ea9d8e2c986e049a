"""Loops in pieces: what is chosen by an element's place gives NumPy's bits wherever the places are."""

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.segments import LEAST_LENGTH, MOST_PLACES

LENGTHS = (LEAST_LENGTH - 1, LEAST_LENGTH, 200, 3001)


def text_of(function, *arrays):
    compiled = wb.jit(function)
    compiled(*arrays)
    return "\n".join(k.source for k in compiled.compilations[0].kernels.values())


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.complex128, np.bool_])
def test_rolls_pads_and_joins(n, dtype):
    rng = np.random.default_rng(n)
    x, y = ((rng.integers(0, 2 if dtype == np.bool_ else 100, (5, n))).astype(dtype) for _ in range(2))

    def f(x, y):
        rolled = [np.roll(x, shift, axis=1) for shift in (1, -1, 7, n - 2, 0)]
        both = np.roll(x, 2, axis=1) | y if dtype == np.bool_ else np.roll(x, 2, axis=1) + np.roll(y, -3, axis=1)
        return (*rolled, both, np.roll(x, 3), np.concatenate([x, y, x], axis=1), np.concatenate([x[0], y[0][:3], x[1]]),
                np.pad(x, ((0, 0), (3, 5))), np.pad(x, ((1, 1), (0, 2)), mode="edge"))  # fmt: skip

    for found, expected in zip(wb.jit(f)(x, y), f(x, y), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_conditions_are_computed_once_a_piece():
    text = text_of(lambda x: np.roll(x, 3) * 2 + np.roll(x, -5), np.arange(500.0))
    inner = text[text.rindex("for ") :]
    assert "while" in text and "if inside" in inner and " < " not in inner


def test_short_loops_stay_whole():
    assert "while" not in text_of(lambda x: np.roll(x, 3, axis=1) * 2, np.ones((500, LEAST_LENGTH - 1)))


def test_many_places():
    parts = [np.full(k + 1, float(k)) for k in range(2 * MOST_PLACES)]
    np.testing.assert_array_equal(wb.jit(lambda *p: np.concatenate(p) * 2)(*parts), np.concatenate(parts) * 2)


def test_assignments_to_slices_beside_what_was_there():
    def f(x, y):
        z = x * 2
        z[:, 10:-10] = y[:, :-20] + 1
        return z + x

    x, y = np.random.default_rng(0).normal(size=(2, 7, 300))
    np.testing.assert_array_equal(wb.jit(f)(x, y), f(x, y))


def test_the_same_on_any_number_of_threads():
    x = np.random.default_rng(0).normal(size=300_000)
    expected = np.roll(x, 1) - 2 * x + np.roll(x, -1)
    for threads in (1, 2, 3):
        with wb.config(threads=threads):
            np.testing.assert_array_equal(wb.jit(lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1))(x), expected)


@pytest.mark.parametrize("n_parts", [2, 3, 4, 5])
@pytest.mark.parametrize("shape", [(1,), (70,), (9, 70), (3, 1, 5)])
def test_stacks_along_the_last_axis(n_parts, shape):
    parts = np.random.default_rng(n_parts).normal(size=(n_parts, *shape))

    def f(*parts):
        stacked = np.stack(parts, axis=-1)
        joined = np.concatenate([parts[0][..., None], stacked[..., : n_parts - 1]], axis=-1)
        return stacked, stacked * 2 - parts[0][..., None], joined + 1, stacked.sum(axis=-1)

    for found, expected in zip(wb.jit(f)(*parts), f(*parts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


def test_few_elements_are_written_out():
    text = text_of(lambda x, y: np.stack([x, y * 2], axis=-1), np.ones((5, 90)), np.ones((5, 90)))
    assert text.count("for ") == 2 and "_out[i0, i1, 1] = " in text
