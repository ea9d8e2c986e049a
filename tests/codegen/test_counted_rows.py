"""Loops over the rows of several axes as one: the bits of loops inside of each other, and steps that threads share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.compare import with_arguments
from tests.runtime.test_chains import assert_bits
from workbench.codegen import nests
from workbench.runtime.native import threads


def broadcast(x, y, z):
    return np.where(x > y, x * y - z, np.abs(z) + x), x + z


def rows(x, y, z):
    w = x * 0.5 - y
    return (w - w.max(axis=-1, keepdims=True)) * z, w.min(axis=-1)


def in_place(x, y, z):
    x *= y
    x += z
    return x.argmax(axis=-1)


def shifted(x, y, z):
    return (x * y)[..., 1:] - z[..., :-1], x[..., ::-1] + y


PROGRAMS = [broadcast, rows, in_place, shifted]


def operands(shape, ones_y, ones_z):
    rng = np.random.default_rng(0)
    lengths = [tuple(1 if one else n for n, one in zip(shape, ones, strict=True)) for ones in (ones_y, ones_z)]
    return tuple(rng.normal(size=s) for s in (shape, *(((*s[:-1], shape[-1])) for s in lengths)))


@settings(max_examples=150)
@given(data=st.data())
def test_bits_are_those_of_nested_loops(data):
    n_axes = data.draw(st.integers(2, 4))
    shape = (*data.draw(st.lists(st.integers(1, 5), min_size=n_axes, max_size=n_axes)), data.draw(st.integers(2, 40)))
    ones_y, ones_z = (data.draw(st.lists(st.booleans(), min_size=n_axes + 1, max_size=n_axes + 1)) for _ in range(2))
    program, x_y_z = data.draw(st.sampled_from(PROGRAMS)), operands(shape, ones_y, ones_z)
    found = []
    for is_counted in (True, False):
        with pytest.MonkeyPatch.context() as patch, wb.config(threads=data.draw(st.integers(1, 2))):
            patch.setattr(threads, "DOUBT", 1 << 40)  # ranges for several threads, however small
            if not is_counted:
                patch.setattr(nests.Nest, "n_counted", 1)
            found.append(with_arguments(wb.jit(program), [a.copy() for a in x_y_z]))
    assert_bits(*found)
    assert_bits(found[0], with_arguments(program, [a.copy() for a in x_y_z]))


@pytest.mark.parametrize(
    ("program", "shape", "n_steps"),
    [
        (broadcast, (3, 50, 200), 150),
        (broadcast, (40, 50, 300), 2000),
        (rows, (3, 5, 7, 30), 105),
        (shifted, (40, 50, 300), 40),
    ],
)
def test_steps_that_threads_share(program, shape, n_steps):
    compiled = wb.jit(program)
    compiled(*operands(shape, [True] + [False] * (len(shape) - 1), [False] * len(shape)))
    extents = {kernel.extent for kernel in compiled.compilations[0].executable.kernels.values()}
    assert n_steps in extents, extents


@pytest.mark.parametrize("bounds", [(0, 105), (0, 1), (3, 4), (6, 36), (33, 35), (34, 105), (20, 20)])
def test_a_range_may_begin_and_end_anywhere(bounds):
    """In the middle of an axis, and of those before it."""
    arrays = operands((3, 5, 7, 200), [False] * 4, [True, False, False, True])
    compiled = wb.jit(broadcast)
    expected = compiled(*arrays)
    (kernel,) = compiled.compilations[0].executable.compiled.values()
    results = [np.full((3, 5, 7, 200), 7.0) for _ in range(2)]
    given = dict(zip("xyz", arrays, strict=True))
    outs = iter(results)
    kernel.entry(*bounds, *(given[a.name] if a.kind == "in" else next(outs) for a in kernel.kernel.args))
    for result, whole in zip(results, expected, strict=True):
        found, wanted = result.reshape(105, 200), whole.reshape(105, 200)
        np.testing.assert_array_equal(found[slice(*bounds)], wanted[slice(*bounds)])
        assert (np.delete(found, np.s_[slice(*bounds)], axis=0) == 7.0).all()
