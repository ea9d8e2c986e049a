"""Dicts of the user's own classes, as settings are often kept: they are read, and changed by NumPy alone."""

import numpy as np
import pytest

import workbench as wb

X = np.linspace(0.0, 1.0, 10)


class ByMethod(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class ByAssignment(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class ByItself(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class WithMore(dict):
    scale = 3.0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "shift", 0.5)

    def __missing__(self, key):
        return 2.0

    @property
    def rate(self):
        return self["rate"]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name] * self.scale + self.shift


def make(kind):
    return kind(rate=0.5, n=3, weights=np.arange(10.0), inner=kind(bias=1.0), mode="add", sizes=[1, 2])


def compute(settings, x):
    y = x * settings.rate + settings["weights"]
    for _ in range(settings["n"]):
        y = y + settings["inner"]["bias"] if settings["mode"] == "add" else y * 2
    total = sum(settings["sizes"]) + len(settings)
    return y * total, list(settings), [k for k, v in settings.items() if isinstance(v, dict)], settings.get("none", 7)


def assert_same(ours, numpys):
    np.testing.assert_allclose(ours[0], numpys[0], rtol=1e-14)
    assert ours[1:] == numpys[1:]


KINDS = [ByMethod, ByAssignment, ByItself, WithMore]


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_read(kind):
    settings = make(kind)
    as_global, as_argument = wb.jit(lambda x: compute(settings, x)), wb.jit(compute)
    for change in (lambda s: s, lambda s: s.update(rate=2), lambda s: s["sizes"].append(4),
                   lambda s: s["weights"].__imul__(2), lambda s: s["inner"].__setitem__("bias", -1.0),
                   lambda s: s.__setitem__("more", 1), lambda s: s.pop("more"), lambda s: s.update(mode="other")):  # fmt: skip
        change(settings)
        for _ in range(3):
            assert_same(as_global(X), compute(settings, X))
            assert_same(as_argument(settings, X), compute(settings, X))
    assert not as_global.fallbacks and not as_argument.fallbacks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change",
    [
        lambda s, x: s.__setitem__("rate", s["rate"] * 2), lambda s, x: s.update(last=x.sum()),
        lambda s, x: setattr(s, "rate", s["rate"] + 1) if type(s) is not WithMore else None,
        lambda s, x: s.setdefault("seen", 5), lambda s, x: s.pop("mode", None),
    ],
)  # fmt: skip
def test_they_are_changed_at_every_call(kind, change):
    def f(settings, x):
        y = np.exp(x) * settings["rate"]
        if x.sum() > 1:
            change(settings, x)
        return y

    ours, mine, theirs = wb.jit(f), make(kind), make(kind)
    for _ in range(4):
        np.testing.assert_allclose(ours(mine, X), f(theirs, X), rtol=1e-14)
        assert list(mine) == list(theirs)
        assert all(np.array_equal(mine[key], theirs[key]) for key in theirs if key != "inner")


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_made_inside(kind):
    def f(x):
        found = kind(a=x * 2, b=3.0)
        found["c"] = found["a"] + found["b"]
        return found["c"], sorted(found)

    ours = wb.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(ours(X)[0], f(X)[0])
        assert ours(X)[1] == f(X)[1]


def test_a_dict_that_reads_in_its_own_way_is_numpys():
    class Doubling(dict):
        def __getitem__(self, key):
            return super().__getitem__(key) * 2

    settings = Doubling(a=1.5)
    f = lambda x: x * settings["a"]  # noqa: E731
    ours = wb.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(ours(X), f(X))
