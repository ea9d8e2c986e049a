"""Updates of the same part, one after another: which are left out, which must stay, and that no bit changes."""

import numpy as np
import pytest

import workbench as wb
from workbench.ir import check_jaxpr, eval_jaxpr, same_bits
from workbench.transforms import eliminate_dead_code, simplify

X = np.linspace(-3, 4, 48).reshape(6, 8)


def n_updates(function, *arrays):
    before = wb.make_jaxpr(function)(*arrays)
    after = eliminate_dead_code(simplify(before))
    check_jaxpr(after)
    for a, b in zip(eval_jaxpr(before, *arrays), eval_jaxpr(after, *arrays), strict=True):
        assert same_bits(a, b)
    return sum(eqn.primitive.name == "update_slice" for eqn in after.eqns)


def added_thrice(x):
    out = np.zeros_like(x)
    out[1:-1, 2:] += x[1:-1, 2:]
    out[1:-1, 2:] *= x[:-2, 2:]
    out[1:-1, 2:] -= 1
    return out


def with_strides(x):
    out = x.copy()
    out[::2] += 1
    out[::2] *= out[::2]
    return out


def argument_in_place(x):
    x[1:, 1:] += 1
    x[1:, 1:] /= 2
    return x.max()


def two_arrays(x):
    a, b = np.zeros_like(x), np.ones_like(x)
    for k in range(3):
        a[1:-1] += x[1:-1] * k
        b[:, 1:] += x[:, :-1] * k
    return a, b


def overwritten(x):
    x = x + 1
    x[2:4] = x[2:4] * 2
    x[2:4] = 7
    return x


@pytest.mark.parametrize(
    ("function", "n"), [(added_thrice, 1), (with_strides, 1), (argument_in_place, 1), (two_arrays, 2), (overwritten, 1)]
)
def test_updates_of_one_part_become_one(function, n):
    assert n_updates(function, X.copy()) == n
    check_values(function)


def check_values(function):
    theirs, mine = X.copy(), X.copy()
    expected, found = function(theirs), wb.jit(function)(mine)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(mine, theirs)


def read_elsewhere(x):
    out = np.zeros_like(x)
    out[1:-1] += x[1:-1]
    total = out.max()
    out[1:-1] += x[:-2]
    return out, out * 0 + total


def neighbours_read(x):
    out = x + 0.5
    out[1:-1] = out[1:-1] * 2
    out[1:-1] = out[:-2] + out[2:]
    return out


def other_parts(x):
    out = np.zeros_like(x)
    out[1:-1] += x[1:-1]
    out[1:] += x[:-1]
    out[1:-1] += x[1:-1]
    return out


def other_steps(x):
    out = x + 0.5
    out[:6:2] += 1
    out[:3] += 1
    return out


def results_in_between(x):
    out = np.zeros_like(x)
    out[1:] = x[1:] + 1
    first = out.copy()
    out[1:] = x[1:] * 2
    return first, out


@pytest.mark.parametrize(
    ("function", "n"),
    [(read_elsewhere, 2), (neighbours_read, 2), (other_parts, 3), (other_steps, 2), (results_in_between, 2)],
)
def test_what_others_look_at_stays(function, n):
    assert n_updates(function, X.copy()) == n
    check_values(function)


def test_updates_in_loops_and_branches_merge_too():
    def stepped(x):
        def step(_, x):
            x = x.copy()
            x[1:-1] += x[:-2]
            x[1:-1] *= 0.5
            return x

        return wb.lax.fori_loop(0, 5, step, x)

    expected = X.copy()
    for _ in range(5):
        expected[1:-1] += expected[:-2].copy()
        expected[1:-1] *= 0.5
    np.testing.assert_array_equal(wb.jit(stepped)(X), expected)
