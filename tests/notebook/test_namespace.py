"""What cells see and leave of the namespace: its names, the types of its objects, functions with what they hold."""

from __future__ import annotations

import argparse
import copy
import threading
import types
import warnings

import numpy as np
import pytest

OBJECTS = """%%jit
kinds = [type(each).__name__ for each in (rng, settings, arguments, lock, x)]
same = type(settings) is Settings, isinstance(settings, type(settings)), type(settings)(q=2).q
"""
MEMO = """%%jit
calls = []
def g(n, log=calls):
    log.append(n)
def memo(f):
    cache = {}
    def h(n):
        if n not in cache:
            cache[n] = f(n)
        return cache[n]
    h.cache = cache
    return h
square = memo(lambda n: n * n)
y = x * 2
"""


@pytest.fixture
def x(shell):
    x = np.arange(4.0)
    shell.ip.push({"x": x, "np": np})
    return x


def test_dir_lists_the_namespace(shell, x):
    shell("%%jit\nhas = 'x' in dir(), 'nothing' in dir()\ny = x + 1")
    assert shell["has"] == (True, False)
    assert "sin" in shell("%%jit\nnames = dir(np)\ny = x + 1")["names"]


def test_a_name_is_deleted_only_once(shell, x):
    cell = "%%jit --no-compare\ndel a\nb = x + 1"
    shell("a = 1")
    assert shell(cell).error is None
    assert isinstance(shell(cell).error, NameError)
    shell("a = 2")
    assert shell(cell).error is None


def test_types_of_objects_are_their_own(shell, x):
    settings = argparse.Namespace(q=1)
    shell.ip.push({"rng": np.random.default_rng(0), "settings": settings, "arguments": types.SimpleNamespace(),
                   "lock": threading.Lock(), "Settings": argparse.Namespace})  # fmt: skip
    shell(OBJECTS)
    assert shell["kinds"] == ["Generator", "Namespace", "SimpleNamespace", "lock", "ndarray"]
    assert shell["same"] == (True, True, 2)


@pytest.mark.parametrize(
    "text",
    [
        "dict(vars(settings))", "str(settings)", "f'{settings}'", "repr(settings)", "str(rng)", "dir(rng)",
        "copy.deepcopy(rng).random()", "copy.copy(settings).q", "'x' in vars()", "vars(own)",
    ],
)  # fmt: skip
def test_objects_are_seen_as_they_are(shell, x, text):
    shell("class Own:\n    def __init__(self): self.v = 1\nown = Own()")
    shell.ip.push({"rng": np.random.default_rng(0), "settings": argparse.Namespace(q=[1]), "copy": copy})
    shell(f"expected = {text}")
    shell(f"%%jit\nfound = {text}\ny = x + 1")
    assert shell.error is None
    assert shell["found"] == shell["expected"]


def test_functions_share_the_containers_that_they_hold(shell, x):
    for _ in range(2):
        assert shell(MEMO).error is None
        shell("g(1)\nsquare(4)")
        assert shell["calls"] is shell["g"].__defaults__[0] == [1]
        assert shell["square"].cache == {4: 16}


def test_functions_belong_to_the_module(shell, x):
    assert shell("%%jit\ndef h(v): return v\ny = x + 1")["h"].__module__ == "__main__"


def test_functions_of_numpy_are_tried_without_a_word(shell, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shell("%%jit\np = np.polyfit(x, x * x, 1)")
    assert shell.error is None
    np.testing.assert_allclose(shell["p"], np.polyfit(x, x * x, 1))


@pytest.mark.parametrize("line", ["v = await f()", "v = [await f() for _ in range(3)]"])
def test_a_cell_that_waits_says_what_to_do(shell, x, line):
    shell("async def f(): return 1")
    shell(f"%%jit\n{line}")
    assert isinstance(shell.error, SyntaxError) and "without %%jit" in shell.error.msg


def test_a_cell_that_shows_the_dict_it_made_compiles(shell, x):
    ran = shell("%%jit\ntable = {}\nfor k in (1, 2, 3):\n    table[k] = np.sum(x ** k)\nagain = table\ntable")
    assert ran.error is None and ran.report.status in ("compiled", "cached")
    assert shell["again"] is shell["table"] is ran.result
    assert shell["table"] == {k: (x**k).sum() for k in (1, 2, 3)}


@pytest.mark.parametrize("body", [
    "v = np.arange(3)", "d = {'k': [np.ones(2) * 2]}", "n = np.arange(3).sum()",
    "@staticmethod\n    def sm(x=np.ones(2) * 2):\n        return x", "class B:\n        v = np.ones(2) * 3",
    "v = np.linspace(0, 1, 5)\n    def f(self):\n        return self.v * 2",
])  # fmt: skip
def test_what_a_class_holds_is_no_traced_array(shell, x, body):
    plain: dict = {"np": np}
    exec(f"class A:\n    {body}\nq = np.ones(3) + 1", plain)
    for _ in range(2):
        shell(f"%%jit --no-compare\nclass A:\n    {body}\nq = np.ones(3) + 1")
        assert shell.error is None
        for held in (*vars(shell["A"]).values(), *vars(getattr(shell["A"], "B", object)).values()):
            assert not type(held).__module__.startswith("workbench"), held
        assert repr(getattr(shell["A"], "v", None)) == repr(getattr(plain["A"], "v", None))
        assert repr(getattr(shell["A"], "d", None)) == repr(getattr(plain["A"], "d", None))
        if hasattr(shell["A"], "sm"):
            np.testing.assert_array_equal(shell["A"].sm(), [2, 2])
    assert "Fix" not in shell.report.reason
