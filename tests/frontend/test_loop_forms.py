"""A loop that is translated many times: what its text alone tells is found out once, all else each time."""

import builtins
import inspect

import numpy as np
import pytest

import workbench as wb
from workbench.frontend.loops import forms, ranges, steps
from workbench.frontend.loops.statements import Translator

scale = 2.0


def relax(u, h):
    for i in range(1, len(u) - 1):
        u[i] = scale * (u[i - 1] + u[i + 1]) / 4 + weight(h)


def weight(h):
    return h * h


def relaxed(u, v):
    relax(u, 0.5)
    relax(v, 0.25)
    relax(u, 0.125)
    return u.sum() + v.sum()


def folded(x, out):
    for i in range(len(x)):
        out[i] = sum(x[j] * x[i] for j in range(i + 1))
    return out


def converted(x, out):
    for i, v in enumerate(x):
        v = int(v)
        out[i] = v // 2
    return out


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def made(monkeypatch):
    """The sources of which a form was made, and the texts whose checks were looked at."""
    found = ([], [])
    make, walker = forms._made, ranges._Walker

    def making(source, *args):
        found[0].append(source)
        return make(source, *args)

    def walking(function, *args):
        found[1].append(function)
        return walker(function, *args)

    monkeypatch.setattr(forms, "_made", making)
    monkeypatch.setattr(ranges, "_Walker", walking)
    forms._forms.cache_clear()
    ranges._without_checks.cache_clear()
    return found


def agrees(compiled, function, *args):
    mine, numpys = [a.copy() for a in args], [a.copy() for a in args]
    np.testing.assert_allclose(compiled(*mine), function(*numpys), rtol=1e-12)
    for a, b in zip(mine, numpys, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert a.dtype == b.dtype
    assert not compiled.fallbacks


def test_a_loop_that_is_met_again_has_one_form(rng, made):
    compiled = wb.jit(relaxed)
    agrees(compiled, relaxed, rng.random(30), rng.random(30))
    agrees(compiled, relaxed, rng.random(30), rng.random(30))
    assert len(made[0]) == len(made[1]) == 1  # of three translations


def test_other_types_and_lengths_are_translated_anew(rng, made):
    compiled = wb.jit(relaxed)
    agrees(compiled, relaxed, rng.random(30), rng.random(40))
    assert len(made[1]) == 2
    agrees(compiled, relaxed, rng.random(30), rng.random(30).astype(np.complex128))
    assert len(made[1]) == 3
    agrees(compiled, relaxed, rng.random(2), rng.random(3))


def test_globals_and_functions_that_change_are_seen(rng, monkeypatch):
    compiled = wb.jit(relaxed)
    args = rng.random(30), rng.random(30)
    agrees(compiled, relaxed, *args)
    monkeypatch.setitem(globals(), "scale", 3.0)
    agrees(compiled, relaxed, *args)
    monkeypatch.setitem(globals(), "scale", np.float32(1.5))
    agrees(compiled, relaxed, *args)
    monkeypatch.setitem(globals(), "weight", lambda h: h - 1)
    agrees(compiled, relaxed, *args)


def test_a_fold_whose_name_is_the_users_later_has_another_form(rng, made, monkeypatch):
    x = rng.random(20)
    compiled = wb.jit(folded)
    agrees(compiled, folded, x, np.zeros(20))
    first = len(made[0])
    monkeypatch.setitem(globals(), "sum", lambda items: 7.0 + builtins.sum(items))
    mine, numpys = np.zeros(20), np.zeros(20)
    np.testing.assert_allclose(compiled(x, mine), folded(x, numpys))
    np.testing.assert_allclose(mine, numpys)
    assert len(made[0]) > first
    monkeypatch.undo()
    assert "sum" not in globals()
    mine[:] = numpys[:] = 0
    np.testing.assert_allclose(compiled(x, mine), folded(x, numpys))


def test_a_conversion_whose_name_is_the_users_later_has_another_form(rng, monkeypatch):
    x = rng.integers(-9, 9, 20)
    compiled = wb.jit(converted)
    agrees(compiled, converted, x, np.zeros(20))
    monkeypatch.setitem(globals(), "int", lambda v: v + 3)
    np.testing.assert_allclose(compiled(x, np.zeros(20)), converted(x, np.zeros(20)))


def test_answers_tell_forms_apart():
    source = next(s for s in _sources_of(folded))
    asked = []

    def is_unset(name, answer):
        asked.append(name)
        return answer

    builtin = forms.form_of(source, (), lambda name: is_unset(name, True))
    again = forms.form_of(source, (), lambda name: is_unset(name, True))
    users = forms.form_of(source, (), lambda name: is_unset(name, False))
    assert again is builtin
    assert users is not builtin
    assert "sum(" in users.text
    assert "sum(" not in builtin.text
    assert forms.form_of(source, ("x",), lambda name: True) is not builtin
    assert asked.count("sum") >= 3  # each time anew: the program depends on it


def _sources_of(function):
    """The loops of a function, as they are translated."""
    found = []
    translated = steps.form_of

    def noted(source, *args):
        found.append(source)
        return translated(source, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "form_of", noted)
        wb.jit(function)(np.ones(3), np.ones(3))
    return found


def test_the_same_text_is_looked_at_for_arrays_that_are_written_and_those_that_are_not():
    from workbench.frontend.loops.types import I64, Array

    text = "def loop(a, x):\n    for i in range(a.shape[0]):\n        x[a[i]] = a[i]\n    return None\n"
    known = {name: Array(I64, (None,), frozenset((name,))) for name in ("a", "x")}
    stays = ranges.without_checks(text, known, lambda kind: "x" in kind.origins)
    changes = ranges.without_checks(text, known, lambda kind: True)
    assert stays.text != changes.text
    assert ranges.without_checks(text, known, lambda kind: "x" in kind.origins) == stays


def test_methods_of_the_translator_extend_what_they_replace() -> None:
    """It is put together from many files: two methods of one name, of which one does not know of the other, are an accident."""
    defined: dict[str, list[type]] = {}
    for cls in Translator.__mro__[:-1]:
        for name, value in vars(cls).items():
            if not name.startswith("__") and (inspect.isfunction(value) or isinstance(value, staticmethod)):
                defined.setdefault(name, []).append(cls)
    knows = {"_name", "_list"}  # which call what they replace by another name, or are data
    for name, classes in defined.items():
        for cls in classes[:-1] if name not in knows else ():
            assert f"super().{name}(" in inspect.getsource(vars(cls)[name]), f"{name} of {cls.__name__}"
