"""What a call that raises leaves: arguments, captured arrays and attributes hold what NumPy would have left there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.trace import trace
from workbench.primitives.raising import may_not_end

CAPTURED = np.zeros(4)
BASE = np.zeros(6)
WINDOW = BASE[1:5]


def checks_half_way(a):
    a[0] = 5
    assert a[1] > 0
    a[2] = 7
    return a


def branches_to_an_error(a):
    b = a[::2]
    b += 1
    a[:2] = b[0] * 3
    if a.sum() > 0:
        raise ValueError("positive")
    a[2] = 7
    return a


def raises_in_a_loop(a):
    for i in range(a.size):
        a[i] *= 2
        if a[i] < 0:
            raise ValueError(i)
    return a


def finds_a_singular_matrix(a):
    a += 1
    inverse = np.linalg.inv(np.outer(a, a) * 0)
    a += 2
    return inverse


def leaves_the_array(a):
    a *= 3
    k = int(a[0])
    a[k + 100] = 1
    a *= 3


def writes_into_captured_arrays(a):
    CAPTURED[:] = a + 1
    WINDOW[1:3] += 2
    assert CAPTURED[1] > 10
    CAPTURED[0] = 9


def catches_and_raises_another(a):
    a[1] = 4
    try:
        a[2] = 5
        np.linalg.cholesky(-np.eye(3) * a[1])
        a[3] = 6
    except np.linalg.LinAlgError as error:
        a[0] = 7
        raise RuntimeError("not positive") from error


def runs_in_parts(a):
    a += 1
    kept = [str(a.dtype)]
    a[0] = len(kept) + np.union1d(a, []).size
    a[1:] -= 1
    raise KeyError(kept[0])


PROGRAMS = [
    checks_half_way,
    branches_to_an_error,
    raises_in_a_loop,
    finds_a_singular_matrix,
    leaves_the_array,
    writes_into_captured_arrays,
    catches_and_raises_another,
    runs_in_parts,
]


def outcome(fn: Callable, a: np.ndarray) -> tuple:
    CAPTURED[:], BASE[:] = 0, 0
    with pytest.raises(Exception) as caught:
        fn(a)
    return caught.type, str(caught.value), a.tobytes(), CAPTURED.tobytes(), BASE.tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_left_is_numpys(program):
    compiled = wb.jit(program)
    for values in ([1.0, -1.0, 2.0, 3.0], [0.5, 1.0, 2.0, -3.0]):
        for a in (np.array(values), np.array(values)[::-1], np.repeat(values, 2)[::2]):
            copy = np.array(a)
            try:
                expected = outcome(program, copy)
            except pytest.fail.Exception:  # this one does not raise
                continue
            assert outcome(compiled, a) == expected


def test_attributes_and_containers_that_were_written_stay():
    def step(state, log):
        state.a += 1
        state.b = state.a * 2
        log["mean"][...] = state.b.mean()
        np.linalg.inv(np.outer(state.a, state.a) * 0)
        state.c = 3

    compiled = wb.jit(step)
    for fn in (step, compiled, compiled):
        state, log = SimpleNamespace(a=np.arange(2.0)), {"mean": np.zeros(())}
        with pytest.raises(np.linalg.LinAlgError):
            fn(state, log)
        assert list(vars(state)) == ["a", "b"]
        assert state.a.tolist() == [1, 2] and state.b.tolist() == [2, 4] and log["mean"] == 3


def test_a_refusal_changes_nothing():
    def step(a):
        a += 1
        CAPTURED[:] = a
        if a.sum() > 0:
            a += 1

    a = np.arange(4.0)
    CAPTURED[:] = 0
    with pytest.raises(wb.errors.TracingError):
        wb.jit(step, strict=True)(a)
    assert a.tolist() == [0, 1, 2, 3] and not CAPTURED.any()


def halves_a_quotient(a, x):
    s = 1.0 / a
    while s >= 1:
        s = s / 2
    return s * x


def halves_a_quotient_on_a_path(a, x):
    s = 1.0 / a
    if x[0] > 0:
        while True:
            s = s / 2
            if s < 1:
                break
    return s * x


def halves_arrays_by_a_quotient(a, x):
    s = math.sqrt(a)
    while not (x < s).all():
        x = x / 2
    return x


@pytest.mark.parametrize(
    ("function", "wrong"),
    [(halves_a_quotient, 0.0), (halves_a_quotient_on_a_path, 0.0), (halves_arrays_by_a_quotient, -1.0)],
)
def test_what_raises_before_a_loop_raises_before_it(function, wrong):
    """The loop may not end without what raised."""
    x = np.array([3.0, 1.0])
    compiled = wb.jit(function)
    np.testing.assert_array_equal(compiled(0.25, x), function(0.25, x))
    with pytest.raises(ArithmeticError if not wrong else ValueError) as expected:
        function(wrong, x)
    for _ in range(2):
        with pytest.raises(expected.type, match=str(expected.value)):
            compiled(wrong, x)
    traced = trace(function, (0.25, x), {}).jaxpr
    names = [eqn.primitive.name for eqn in traced.eqns]
    loop = next(k for k, eqn in enumerate(traced.eqns) if may_not_end(eqn))
    assert "check" in names[:loop]


def test_what_does_not_fit_into_memory_is_named_as_numpy_does():
    def huge(a, n):
        a = a + 1
        return np.zeros((n, n)), a

    compiled = wb.jit(huge)
    a = np.ones(3)
    with pytest.raises(MemoryError) as expected:
        huge(a, 10**7)
    for _ in range(2):
        with pytest.raises(MemoryError, match=re.escape(str(expected.value))) as caught:
            compiled(a, 10**7)
        assert caught.value.__context__ is None and caught.traceback[-1].name == "huge"
    np.testing.assert_array_equal(compiled(a, 2)[0], np.zeros((2, 2)))
