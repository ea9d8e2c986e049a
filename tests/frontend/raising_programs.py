"""Programs that raise, or do not, as their numbers are. (Not in a test file, whose asserts pytest rewrites.)"""

from __future__ import annotations

import numpy as np


def raises_in_a_branch(x):
    x += 1
    if x.max() > 100:
        raise ValueError(f"too big: {x.max():.1f} in {float(x[0])}")
    elif x.min() < -100:
        raise OverflowError("too small")
    return np.sqrt(np.abs(x))


def asserts(x):
    assert x.shape == (7,), "known when it is traced"
    assert x.sum() < 500 and x[0] > -500, f"the sum is {x.sum()}"
    x *= 2
    return x


def asserts_in_a_branch(x):
    if x[0] > 0:
        assert x[1] > 5, "in a branch"
        x[2] = 3
    return x - 1


def does_not_converge(x):
    x = x * 1.0
    for _ in range(40):
        assert np.isfinite(x).all()
        x = np.sqrt(np.abs(x)) + x * 0.5
        if np.abs(x).max() > 50:
            break
    else:
        raise RuntimeError("no convergence")
    return x


def catches(x):
    try:
        if x[0] > 50:
            raise KeyError("caught")
        y = x + 1
    except KeyError as error:
        y = x - len(str(error))
    finally:
        x[1] = 9
    return y


def raises_after_a_write(x):
    x[...] = np.sin(x) + 2
    r = x[0]
    while r > 0.01:
        r = r * 0.5
        assert r > 1, "too small"
    return r


def raises_in_a_branch_that_gives_nothing(x):
    if x.max() > 0:
        if x.min() > 0:
            if x[0] > 500:
                raise ValueError("far too big")
        else:
            assert x.sum() > -5, "too small"
    return x * 2


def reads_no_such_name_on_one_path(x):
    if x.max() > 100:
        return x
    if x.max() > 0:
        if x[0] < 0:
            return x + 1
    else:
        return x + 2
    return no_such_name  # noqa: F821


def looks_up_what_may_not_be_there(x):
    rows = np.arange(7)
    try:
        y = rows[int(x[0])] + x
    except IndexError:
        y = x * 1
    return y


RAISING = [raises_in_a_branch, asserts, asserts_in_a_branch, does_not_converge, catches, raises_after_a_write,
           raises_in_a_branch_that_gives_nothing, reads_no_such_name_on_one_path, looks_up_what_may_not_be_there]  # fmt: skip
