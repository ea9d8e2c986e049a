"""Warnings, logs and prints: what says nothing is compiled, what says something is said at every call, by NumPy."""

import logging
import warnings
from warnings import catch_warnings, simplefilter, warn

import numpy as np
import pytest

import workbench as wb

SMALL, LARGE = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 30.0, 50)
LOGGER = logging.getLogger("tests.messages")


def warns(x):
    y = np.exp(x).sum()
    if y > 1e6:
        warnings.warn("large", stacklevel=2)
    return y * 2


def warns_with_numbers(x):
    y = np.exp(x).sum()
    if y > 1e6:
        warn(f"{y} is large", RuntimeWarning, stacklevel=2)
    return y * 2


def warns_unless_it_converges(x):
    for _ in range(60):
        new = x * 0.5 + 1
        if np.abs(new - x).max() < 1e-6:
            break
        x = new
    else:
        warnings.warn("no convergence", stacklevel=2)
    return x * (2 if x.max() < 2.5 else 1)


def warns_in_a_loop(x):
    total = 0.0
    for value in x:
        if value > 20:
            warnings.warn("large", stacklevel=2)
        total += np.sqrt(value)
    return total


def prints(x):
    y = np.exp(x).sum()
    if y > 1e6:
        print("large:", y)
    return y * 2


def logs(x):
    y = np.exp(x).sum()
    if y > 1e6:
        LOGGER.warning("large: %s", y)
    return y * 2


def _logged(caplog):
    return [record.getMessage() for record in caplog.records if record.name == LOGGER.name]


@pytest.mark.parametrize("f", [warns, warns_with_numbers, warns_in_a_loop, prints, logs])
def test_a_branch_that_says_something_says_it_at_every_call(f, capsys, caplog):
    def said(call, x):
        with catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING, "tests.messages"):
            simplefilter("always")
            caplog.clear()
            result = call(x)
            texts = [str(w.message) for w in caught], _logged(caplog), capsys.readouterr().out
        return result, texts

    ours = wb.jit(f)
    for x in (SMALL, SMALL, LARGE, SMALL, *[LARGE] * 9, SMALL, LARGE):
        (result, texts), (expected, expected_texts) = said(ours, x), said(f, x)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert type(result) is type(expected)
        assert texts == expected_texts


@pytest.mark.parametrize("f", [warns, warns_with_numbers, warns_unless_it_converges, warns_in_a_loop, prints, logs])
def test_a_branch_that_is_not_taken_costs_nothing(f):
    ours = wb.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(ours(SMALL), f(SMALL), rtol=1e-12)
    assert not ours.fallbacks


def test_a_warning_that_is_an_error_is_raised():
    ours = wb.jit(warns)
    ours(SMALL)
    for _ in range(8):
        with catch_warnings(), pytest.raises(UserWarning, match="large"):
            simplefilter("error")
            ours(LARGE)


def test_what_is_written_before_a_warning_is_written_once():
    def f(x):
        x += 1
        if x.max() > 20:
            warnings.warn("large", stacklevel=2)
        x *= 2

    ours, theirs, mine = wb.jit(f), LARGE.copy(), LARGE.copy()
    with catch_warnings():
        simplefilter("ignore")
        for _ in range(8):
            f(theirs)
            ours(mine)
            np.testing.assert_array_equal(mine, theirs)


def test_filters_of_warnings_have_nothing_to_do():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = np.log(x)
            warnings.warn("unheard", stacklevel=2)
        with catch_warnings():
            warnings.filterwarnings("ignore", message="divide")
            simplefilter("ignore", RuntimeWarning)
            return np.where(x > 0, y, 1 / x)

    ours = wb.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(ours(LARGE), f(LARGE), rtol=1e-14)
    assert not ours.fallbacks


def test_a_filter_inside_of_another_takes_its_place():
    def f(x):
        with catch_warnings():
            simplefilter("ignore")
            with catch_warnings():
                warn("unheard", stacklevel=2)
                simplefilter("always")
                warn("heard", stacklevel=2)
        return x * 2

    ours = wb.jit(f)
    for _ in range(3):
        for call in (ours, f):
            with pytest.warns(UserWarning) as caught:
                np.testing.assert_array_equal(call(SMALL), SMALL * 2)
            assert [str(w.message) for w in caught] == ["heard"]


def test_filters_that_change_what_happens_are_numpys():
    def raises(x):
        with catch_warnings():
            simplefilter("error")
            try:
                return np.log(x)
            except RuntimeWarning:
                return x * 0

    def records(x):
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            y = np.log(x)
        return y, len(caught)

    for f in (raises, records):
        ours = wb.jit(f)
        for _ in range(3):
            for mine, numpys in zip(ours(LARGE), f(LARGE), strict=True):
                np.testing.assert_array_equal(mine, numpys)


def test_logs_below_their_level_are_looked_up(caplog):
    def f(x):
        LOGGER.debug("called with %s", x.shape)
        LOGGER.log(5, "more")
        return np.exp(x)

    ours = wb.jit(f)
    for _ in range(4):
        np.testing.assert_allclose(ours(SMALL), f(SMALL), rtol=1e-14)
    assert not ours.fallbacks and not _logged(caplog)
    with caplog.at_level(logging.DEBUG, "tests.messages"):
        for k in range(4):
            ours(SMALL)
            assert _logged(caplog) == ["called with (50,)"] * (k + 1)
    caplog.clear()
    ours(SMALL)
    assert not _logged(caplog)
