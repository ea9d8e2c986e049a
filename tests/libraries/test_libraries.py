"""The calls that a package's examples make are found, and made again."""

import builtins
import sys

import pytest

from .calls import calls
from .replay import replay

SOURCE = '''
import numpy as np

def smoothed(x, n=3):
    """
    >>> smoothed(np.arange(5.0))
    >>> smoothed(np.arange(5.0), n=2)
    >>> smoothed(np.arange(4))
    """
    return _mean(np.stack([np.roll(x, k) for k in range(n)]))

def _mean(rows):
    return rows.sum(axis=0) / len(rows)

def scaled(x, by, into=None):
    """
    >>> scaled(np.ones(3), 2.5, [])
    """
    x *= by
    into.append(by)
    return x.sum()

def noise(x):
    """
    >>> noise(1.5)
    """
    state["n"] += 1
    return x * state["n"]

def refused(x):
    """
    >>> refused(np.array([1.0, -1.0]))
    """
    raise ValueError(f"{x} is refused")

state = {"n": 0}
'''


@pytest.fixture
def found(tmp_path, monkeypatch):
    (tmp_path / "a_library").mkdir()
    (tmp_path / "a_library" / "__init__.py").write_text("")
    (tmp_path / "a_library" / "filters.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield calls("a_library", each=2, seconds=20)
    for name in ("a_library", "a_library.filters"):
        sys.modules.pop(name, None)


def test_calls_of_an_example_are_made_again(found):
    names = [call.name.partition(":")[2] for call in found]
    assert sorted(names) == ["_mean", "_mean", "noise", "refused", "scaled", "smoothed", "smoothed"]
    results = [(call.name.partition(":")[2], replay(call, timed_s=0.01)) for call in found]
    for name, result in results:
        assert result is not None
        assert result.difference == (None if name == "noise" else "")
        assert name in ("noise", "refused", "scaled") or result.ours_s > 0 and not result.reasons


def test_arrays_are_repeated(found):
    by_name = {call.name.partition(":")[2]: call for call in found}
    grown = replay(by_name["smoothed"], n_elements=10_000, timed_s=0.01)
    assert grown is not None and grown.difference == ""
    assert replay(by_name["refused"], n_elements=10_000) is None


def test_a_difference_is_told(found, monkeypatch):
    call = next(call for call in found if call.name.endswith("smoothed"))
    monkeypatch.setattr("tests.libraries.replay.wb.jit", lambda f: lambda *args, **kwargs: f(*args, **kwargs) + 1)
    result = replay(call, timed_s=0)
    assert result is not None and "Mismatched elements" in str(result.difference)


def test_examples_leave_no_underscore_among_the_builtins(found):
    assert "_" not in vars(builtins), "IPython would keep no results"
