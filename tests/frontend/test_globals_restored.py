"""Globals that functions set while they run: those that are what they were in the end have not changed."""

from contextlib import contextmanager

import numpy as np
import pytest

import workbench as wb

MODE = "plain"
FACTOR = 2.0
X = np.linspace(0.5, 2.0, 20)


@contextmanager
def mode(name):
    global MODE
    before, MODE = MODE, name
    try:
        yield
    finally:
        MODE = before


class Mode:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        global MODE
        self.before = MODE
        MODE = self.name

    def __exit__(self, *_):
        global MODE
        MODE = self.before


def inverse(x):
    return np.where(x == 0, 0, 1 / x) if MODE == "safe" else 1 / x if MODE == "plain" else x


def by_class(x):
    with Mode("safe"):
        y = inverse(x - 1)
    return y + inverse(x)


def by_generator(x):
    with mode("safe"):
        with mode("other"):
            y = inverse(x)
        return y * inverse(x - 0.5)


def in_a_branch(x):
    if x.sum() > 10:
        with Mode("safe"):
            y = inverse(x - 0.5)
    else:
        with Mode("other"):
            y = inverse(x)
    return y + inverse(x)


def in_a_loop(x):
    for _ in range(5):
        with Mode("other"):
            x = inverse(x) + 1
        if x.max() > 5:
            break
    return inverse(x)


@pytest.mark.parametrize("f", [by_class, by_generator, in_a_branch, in_a_loop])
@pytest.mark.parametrize("x", [X, X / 10])
def test_globals_that_are_restored_compile(f, x, monkeypatch):
    ours = wb.jit(f)
    for outside in ("plain", "plain", "safe", "other", "plain"):
        monkeypatch.setitem(globals(), "MODE", outside)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(ours(x), f(x), rtol=1e-14)
        assert outside == MODE
    assert not ours.fallbacks


def left_in_a_branch(x):
    global MODE
    if x.sum() > 10:
        MODE = "other"
    y = inverse(x)
    MODE = "plain"
    return y


def left_changed(x):
    global FACTOR
    FACTOR = FACTOR * 2
    return x * FACTOR


def set_without_looking(x):
    global MODE
    MODE = "plain"
    return inverse(x)


@pytest.mark.parametrize("f", [left_in_a_branch, left_changed, set_without_looking])
def test_others_are_set_at_every_call(f, monkeypatch):
    def run(call):
        found = []
        monkeypatch.setitem(globals(), "FACTOR", 2.0)
        for x, outside in ((X, "plain"), (X / 10, "plain"), (X, "safe"), (X, "plain")):
            monkeypatch.setitem(globals(), "MODE", outside)
            found.append((call(x), MODE, FACTOR))
        return found

    for ours, numpys in zip(run(wb.jit(f)), run(f), strict=True):
        np.testing.assert_allclose(ours[0], numpys[0], rtol=1e-14)
        assert ours[1:] == numpys[1:]
