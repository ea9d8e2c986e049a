"""Functions that are called with other ints and objects each time: few versions, NumPy's results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.runtime.keys import StaticArguments, call_key, without_sizes
from workbench.runtime.varying import MOST_SIZES, MOST_VALUES, VaryingSizes

X = np.linspace(0.0, 1.0, 40)


def shifted(x, k):
    return x * k + np.roll(x, 1), k * 3


def repeated(x, k):
    for _ in range(k):
        x = x * 0.5 + 1
    return x


def sometimes(x, k):
    if k % 10 == 0:
        x = x * 2
    return x[k % 7] + k


def named(x, k=0):
    return {"k": k, "y": x[:, None] - k}


@pytest.mark.parametrize("program", [shifted, repeated, sometimes, named], ids=lambda f: f.__name__)
def test_ints_become_inputs(program):
    compiled = wb.jit(program)
    for k in range(3 * MOST_VALUES):
        how: Any = {"k": k} if program is named else {}
        given = (X,) if how else (X, k)
        assert_same(compiled(*given, **how), program(*given, **how))
    assert compiled.n_traces <= MOST_VALUES + 1
    for k in (-3, 2**40, 2**63 - 1, -(2**63), True, False):
        assert_same(compiled(X, k % 50), program(X, k % 50))
    assert_same(compiled(X[:9], 5), program(X[:9], 5))


def test_ints_that_do_not_fit_stay_pythons():
    compiled = wb.jit(lambda k: k * 2 + 1)
    for k in (*range(20), 2**62, 2**63, -(2**70), 7):
        result = compiled(k)
        assert result == k * 2 + 1 and type(result) is int


def test_bools_and_ints_are_told_apart():
    compiled = wb.jit(lambda x, k: (x + k, k))
    for k in range(12):
        compiled(X, k)
    result = compiled(X, True)
    assert result[1] is True
    assert type(compiled(X, 1)[1]) is int


def sized(x, k):
    return np.zeros(k) + x[0], x[:k].sum()


def test_sizes_are_known_and_run_in_numpy_in_the_end():
    compiled = wb.jit(sized)
    for k in range(1, 5 * MOST_VALUES):
        assert_same(compiled(X, k), sized(X, k), reduction_scale=X.sum())
    assert compiled.n_traces < 4 * MOST_VALUES


def test_sizes_that_come_back_often_are_compiled(monkeypatch):
    monkeypatch.setattr("workbench.runtime.varying.statistics.median", lambda made_s: 1e-3)
    compiled = wb.jit(sized)
    for k in range(1, 2 * MOST_VALUES):
        compiled(X, k)
    n = compiled.n_traces
    for _ in range(2000):
        compiled(X, 31)
        if compiled.n_traces > n:
            break
    assert compiled.n_traces == n + 1
    assert_same(compiled(X, 31), sized(X, 31), reduction_scale=X.sum())


class Wave:
    def __init__(self, n):
        self.u = np.arange(n) * 1.0
        self.n_steps = 0

    def step(self):
        self.u[1:-1] += 0.1 * (self.u[2:] - self.u[:-2])
        self.n_steps += 1


def advance(wave, n):
    for _ in range(n):
        wave.step()
    return wave.u.sum()


def test_new_objects_do_not_each_make_a_version():
    compiled = wb.jit(advance)
    for _ in range(4 * MOST_VALUES):
        mine, theirs = Wave(30), Wave(30)
        assert_same(compiled(mine, 3), advance(theirs, 3), reduction_scale=500.0)
        assert_same(mine.u, theirs.u, max_ulp=8)
        assert mine.n_steps == theirs.n_steps
    assert compiled.n_traces < 3 * MOST_VALUES
    assert len(compiled._state.specialisations) < 3 * MOST_VALUES


@dataclass(frozen=True)
class Settings:
    rate: float
    power: int


def test_equal_objects_share_a_version():
    compiled = wb.jit(lambda x, s: x**s.power * s.rate)
    for _ in range(4 * MOST_VALUES):
        assert_same(compiled(X, Settings(0.5, 2)), X**2 * 0.5)
    assert compiled.n_traces == 1


def test_strict_functions_keep_one_version_for_each():
    compiled = wb.jit(lambda x, k: x * k, strict=True)
    for k in range(3 * MOST_VALUES):
        assert_same(compiled(X, k), X * k)
    assert compiled.n_traces == 3 * MOST_VALUES


def scaled(x, y, k):
    return x * k + y


def test_three_arguments():
    compiled = wb.jit(scaled)
    for k in range(3 * MOST_VALUES):
        assert_same(compiled(X, X + 1, k), scaled(X, X + 1, k))
        assert_same(compiled(X, 2.0, k), scaled(X, 2.0, k))
        assert_same(compiled({"a": X}["a"], y=X, k=k), scaled(X, X, k))
    assert compiled.n_traces <= 3 * (MOST_VALUES + 1)


def test_lengths_that_never_come_back_are_numpys_unless_it_takes_longer():
    sizes = VaryingSizes()
    for _ in range(MOST_SIZES):
        assert not sizes.are_better_in_numpy(((5,),))
        sizes.made_s.append(0.004)
    assert sizes.are_better_in_numpy(((6,),))  # NumPy has not run yet
    sizes.numpy_s.append(0.001)
    assert sizes.are_better_in_numpy(((7,),))
    assert [sizes.are_better_in_numpy(((6,),)) for _ in range(3)] == [
        True,
        True,
        False,
    ]  # four calls: a version is worth it
    sizes.numpy_s.append(0.1)
    assert not sizes.are_better_in_numpy(((8,),))


def test_a_key_without_lengths():
    def key(*args):
        return call_key(StaticArguments(), args, {}, keep_python_scalars=False, function="f")[0]

    x = np.ones((3, 4))
    assert without_sizes(key(x, 2, 1.5))[0] == without_sizes(key(np.ones((7, 5))[:, ::2], 2, 1.5))[0]
    assert without_sizes(key([x, x.T]))[0] == without_sizes(key([x[1:], x]))[0]
    for other in (key(x[0], 2, 1.5), key(x, 3, 1.5), key(x.astype(int), 2, 1.5)):
        assert without_sizes(key(x, 2, 1.5))[0] != without_sizes(other)[0]
    assert without_sizes(key(x))[1] != without_sizes(key(x[1:]))[1]


def test_functions_of_many_lengths_give_what_numpy_gives():
    def spread(x):
        x[0] += 1
        return (x - x.mean()).std(), len(x)

    compiled = wb.jit(spread)
    for n in [*range(2, 70), *[40] * 30]:
        mine, its = np.arange(float(n)), np.arange(float(n))
        assert compiled(mine) == (pytest.approx(spread(its)[0], rel=1e-12), n)
        assert (mine == its).all()
    assert not compiled.fallbacks


def test_ints_that_are_inputs_have_the_fast_path(monkeypatch):
    def step(u, k):
        return u * k + 1

    compiled, u = wb.jit(step), np.ones(4)
    for k in range(30):
        np.testing.assert_array_equal(compiled(u, k), step(u, k))
    monkeypatch.setattr(compiled, "_call_slowly", lambda *call: pytest.fail("not the fast path"))
    for k in (31, -7, 2**61, 0):
        assert compiled(u, k).tobytes() == step(u, k).tobytes()
    monkeypatch.undo()
    for k in (2**70, True, np.int8(3), 2.5):
        np.testing.assert_array_equal(compiled(u, k), step(u, k))
        assert compiled(u, k).dtype == step(u, k).dtype


def draws(n, rng):
    x = 0.0
    for _ in range(n):
        x = x + rng.normal()
    return x


def draws_not(x, rng):
    return x * 2 if len(x) > 2 else rng.normal()


def test_a_generator_of_another_state_is_refused_at_once():
    compiled = wb.jit(draws)
    for seed in range(6):
        assert compiled(20, np.random.default_rng(seed)) == draws(20, np.random.default_rng(seed))
    assert compiled.n_traces == 1 and len(compiled.fallbacks) == 1


def test_generators_that_nobody_asks_do_not_matter():
    compiled, x = wb.jit(draws_not), np.ones(3)
    for seed in range(4):
        assert (compiled(x, np.random.default_rng(seed)) == 2).all()
    assert not compiled.fallbacks
