"""Arrays of a few elements in loops: variables, with the results and the names that they have in NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

from .short_array_programs import Program
from .test_loops import loops_of

INEXACT = ("dot", "@", "sum", "cross")  # whose zeros may have another sign


def check(function: Callable[..., Any], *arguments: Any, rtol: float = 0) -> Any:
    """The compiled function, whose results and arguments are NumPy's after the call."""
    compiled = wb.jit(function)
    given, expected_given = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        expected = function(*expected_given)
        found = compiled(*given)
    for x, y in zip((*found, *given), (*expected, *expected_given), strict=True):
        assert type(x) is type(y)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    assert not compiled.fallbacks
    return compiled


def outcome(function: Callable[..., Any], arguments: tuple) -> Any:
    try:
        return function(*arguments)
    except (IndexError, ValueError, UnboundLocalError) as error:
        return type(error).__name__


def text_of(compiled: Any) -> str:
    (loop,) = loops_of(compiled)
    return loop.params["program"].source


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    function = define(program.source, "f", f"<short arrays {seed}>")
    compiled = wb.jit(function)
    for k in range(3):
        given, expected_given = (program.arguments(3 * seed + k) for _ in range(2))  # some are views of others
        with np.errstate(all="ignore"):
            expected, found = outcome(function, expected_given), outcome(compiled, given)
        if isinstance(expected, str):
            assert found == expected
            continue
        results = [(*expected, *expected_given[:4]), (*found, *given[:4])]
        if any(word in program.source for word in INEXACT):
            results = [tuple(part + 0 for part in parts) for parts in results]
        assert_same(results[1], results[0])


# ---- what takes no memory ----


def lorenz(s, sigma, rho, beta):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def runge_kutta(s, n, dt):
    out = np.empty((n, 3))
    for i in range(n):
        k1 = lorenz(s, 10.0, 28.0, 8 / 3)
        k2 = lorenz(s + dt / 2 * k1, 10.0, 28.0, 8 / 3)
        k3 = lorenz(s + dt / 2 * k2, 10.0, 28.0, 8 / 3)
        k4 = lorenz(s + dt * k3, 10.0, 28.0, 8 / 3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i] = s
    return out, s


def planets(position, velocity, mass, dt):
    n = len(mass)
    for i in range(n):
        force = np.zeros(3)
        for j in range(n):
            if i != j:
                d = position[j] - position[i]
                force += mass[j] * d / np.linalg.norm(d) ** 3
        velocity[i] += dt * force
    return position, velocity


def areas(corners, faces):
    total = 0.0
    for k in range(len(faces)):
        a, b, c = corners[faces[k, 0]], corners[faces[k, 1]], corners[faces[k, 2]]
        total += 0.5 * np.linalg.norm(np.cross(b - a, c - a))
    return total, corners


def retarders(angles, v):
    out = np.zeros((len(angles), 2), complex)
    for i in range(len(angles)):
        c, s = np.cos(angles[i]), np.sin(angles[i])
        matrix = np.array([[c, -s], [s, c]]) @ np.array([[1, 0], [0, 1j]]) @ np.array([[c, s], [-s, c]])
        v = matrix @ v
        out[i] = v
    return out, v


def link(angle, offset, length, twist):
    c, s, cc, ss = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * cc, s * ss, length * c], [s, c * cc, -c * ss, length * s], [0, ss, cc, offset], [0, 0, 0, 1]]
    )


def arm(angles, offsets, lengths, twists):
    out = np.zeros((len(angles), 3))
    for i in range(len(angles)):
        pose = np.eye(4)
        for j in range(3):
            pose = pose @ link(angles[i, j], offsets[j], lengths[j], twists[j])
        out[i] = pose[:3, 3]
    return out, angles


def nearest_hit(origin, direction, centre, radius):
    between = origin - centre
    b = np.dot(between, direction)
    root = b * b - (np.dot(between, between) - radius * radius)
    if root < 0:
        return np.inf
    return -b - np.sqrt(root)


def rays(origins, directions, centres, radii):
    out = np.full(len(directions), np.inf)
    for i in range(len(directions)):
        for k in range(len(centres)):
            t = nearest_hit(origins[i], directions[i], centres[k], radii[k])
            if 1e-6 < t < out[i]:
                out[i] = t
    return out, origins


def spread(x):
    out = np.zeros((len(x), 4))
    for i in range(len(x)):
        row = x[i] * 2.0
        out[i, 0], out[i, 1] = row.mean(), row.std()
        out[i, 2], out[i, 3] = row.max(), np.min(row) - np.sum(row > 1)
    return out, x


RNG = np.random.default_rng(0)
PROGRAMS = [
    (runge_kutta, (np.array([1.0, 1.0, 1.0]), 50, 0.01)),
    (planets, (RNG.normal(size=(7, 3)), RNG.normal(size=(7, 3)), RNG.random(7), 0.1)),
    (areas, (RNG.normal(size=(9, 3)), RNG.integers(-9, 9, (20, 3)))),
    (retarders, (RNG.random(20), np.array([1.0, 0.5j]))),
    (arm, (RNG.random((9, 3)), RNG.random(3), RNG.random(3), RNG.random(3))),
    (rays, (RNG.normal(size=(9, 3)), RNG.normal(size=(9, 3)) * 3, RNG.normal(size=(5, 3)), RNG.random(5))),
    (spread, (RNG.normal(size=(9, 9)),)),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_arrays_of_a_few_elements_take_no_memory(function, arguments):
    text = text_of(check(function, *arguments, rtol=1e-12))
    body = text.partition("\n    for ")[2].partition("\n    if not ")[0]  # without what the loop hands on
    assert "np.empty" not in body and "np.zeros" not in body and "array_" not in body and "dot(" not in body


@pytest.mark.parametrize("k", [1, 7, 8, 9, 15, 16])
def test_sums_of_a_few_elements_have_the_bits_of_numpy_s(k):
    def f(x):
        out = np.zeros((len(x), 2))
        for i in range(len(x)):
            v = x[i] * 0.1
            out[i, 0], out[i, 1] = v.sum(), np.mean(v)
        return out, x

    text = text_of(check(f, np.random.default_rng(k).normal(size=(30, k))))
    assert "array_sum" not in text


# ---- names for one array ----


def test_a_state_that_is_never_set_is_the_argument_itself():
    def f(v, n):
        s = v
        for i in range(n):
            s = s * 2.0 + v[i]
        s[0] = 9.0
        return s, v

    for n in (0, 2):
        check(f, np.arange(3.0), n)


def test_what_is_written_through_one_name_is_seen_through_the_other():
    def f(v, n):
        out = np.zeros((n, 2))
        for i in range(n):
            a = v * 2.0
            b = a
            b[0] = i + 5.0
            out[i] = a
            c = a.copy()
            c[1] = -1.0
            out[i] += a
        return out, v

    check(f, np.array([1.0, 2.0]), 4)


def test_two_steps_of_the_past_stay_two_arrays():
    def f(old, new, n):
        for _ in range(n):
            old, new = new, 2.0 * new - old
        old += 1.0
        return old, new

    for n in (0, 1, 5):
        check(f, np.array([1.0, 2.0]), np.array([1.5, 2.5]), n)


def test_an_index_that_is_set_after_its_use_is_that_of_the_turn_before():
    def f(v, n):
        for _ in range(n):
            k = 2
            w = v * 0.5
            for j in range(3):
                w[k] = w[k] + j
                k = j
            v = w
        return v, n

    check(f, np.array([1.0, 2.0, 3.0]), 3)


def test_other_lengths_are_other_programs():
    def f(v, n):
        total = 0.0
        for _ in range(n):
            v = v * 0.5 + 1.0
            total += v.sum()
        return v, total

    compiled = wb.jit(f)
    for k in (3, 2, 9, 16, 17, 1, 3):
        for v in (np.arange(k, dtype=float), np.arange(2.0 * k)[::-2]):
            found, expected = compiled(v, 4), f(v, 4)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
    assert not compiled.fallbacks


def test_an_array_that_is_read_before_it_is_set_raises_as_in_numpy():
    def f(v, n):
        for i in range(n):
            if i > 0:
                a = v * 2.0
            v = v + a[0]
        return v

    compiled = wb.jit(f)
    with pytest.raises(UnboundLocalError):
        compiled(np.ones(2), 3)


@pytest.mark.parametrize("special", [-0.0, np.nan, np.inf])
def test_signed_zeros_nan_and_infinities(special):
    def f(v, n):
        out = np.zeros((n, 3))
        for i in range(n):
            v = np.where(v > 0, v, -v[::-1])
            out[i] = -v
            out[i, 1] = v.max()
        return out, v

    v = np.array([special, -0.0, 1.0])
    found, expected = wb.jit(f)(v, 3), f(v, 3)
    assert_same(found, expected)


# ---- numbers of NumPy's that are Python's floats, too ----


@pytest.mark.parametrize("number", [np.float64(0.1), np.complex128(0.1j), np.float32(0.1)])
def test_numbers_of_numpy_keep_their_type(number):
    def f(x, out):
        s = number
        for i in range(len(x)):
            out[i] = x[i] * s
            s = s * 3
        return out, s

    x = np.random.default_rng(0).random(9).astype("float32")
    check(f, x, np.zeros(9, np.result_type(number, np.float64)))
