"""Functions of installed packages: traced through where they are given arrays, called as they are on plain numbers."""

import importlib
import sys
import textwrap

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

X = np.linspace(0.5, 3.0, 40)
PACKAGE = {
    "__init__.py": "from .formulas import *\n",
    "formulas.py": """
        import os, random, time, warnings
        import numpy as np

        SCALE = 2.0
        CALLS = []
        STATE = {"n": 0}

        def scaled(x):
            return helper(x) * SCALE + 1

        def helper(x):
            return np.exp(-x) if x.ndim == 1 else x

        def window(n):
            CALLS.append(n)
            return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)

        def quietly_counted(x):
            STATE["n"] += 1
            return x * STATE["n"]

        def noisy(n):
            return np.random.rand(n)

        def noise_of_python(n):
            return random.random() * n

        def freshly_seeded(n):
            return np.random.default_rng().random(n)

        def seeded(n):
            return np.random.default_rng(7).random(n)

        def now(n):
            return time.time() + n

        def size_of_file(name):
            with open(name) as file:
                return len(file.read())

        def tries_to_read(name):
            try:
                with open(name) as file:
                    return len(file.read())
            except Exception:
                return 0

        def imports_late(n):
            from . import late
            return late.FACTOR * n

        def hypotenuse(a, *, b):
            return np.hypot(a, b)

        class Line:
            def __init__(self, slope, offset=0.0):
                self.slope, self.offset = slope, offset
            def __call__(self, x):
                return self.slope * x + self.offset
            def shifted(self, by):
                return Line(self.slope, self.offset + by)

        def line(slope):
            return Line(slope)

        def mean_or_nothing(x):
            if np.isnan(x).any():
                return "no number"
            return x.mean() * 2

        def without_outliers(x, most):
            if x.max() > most:
                x = x[x <= most]
            return np.exp(x).sum()

        def named_result(x):
            if x.min() < 0:
                return {"value": x.sum(), "is_negative": True}
            return {"value": x.sum()}

        def zeros_to_fill(n):
            return np.zeros(n)

        def decorated(function):
            import functools
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs) + 1
            return wrapper

        @decorated
        def squared(x):
            return x * x
    """,
    "late.py": "import time\nMADE = time.time()\nFACTOR = 3\n",
}


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    site = tmp_path_factory.mktemp("lib") / "site-packages"
    (site / "made_up_package").mkdir(parents=True)
    for name, text in PACKAGE.items():
        (site / "made_up_package" / name).write_text(textwrap.dedent(text), encoding="utf-8")
    sys.path.insert(0, str(site))
    yield importlib.import_module("made_up_package")
    sys.path.remove(str(site))
    for name in [name for name in sys.modules if name.startswith("made_up_package")]:
        del sys.modules[name]


def agrees(function, *args, times=3):
    """The compiled function, which gave what NumPy gives, without falling back."""
    compiled = wb.jit(function)
    for _ in range(times):
        assert_same(compiled(*args), function(*args), max_ulp=4, reduction_scale=100.0)
    assert not compiled.fallbacks, compiled.fallbacks
    return compiled


def test_functions_are_traced_through(lib):
    compiled = agrees(lambda x: lib.scaled(x) + x, X)
    (eqn,) = [e for e in compiled.compilations[0].traced.jaxpr.eqns if e.primitive.name == "exp"]
    assert {span.filename for span in eqn.origin.spans} == {__file__}  # the user's line, not the library's


def test_what_a_decorator_wraps_is_traced_through(lib):
    agrees(lambda x: lib.squared(x) - lib.hypotenuse(x, b=2 * x), X)


def test_a_call_on_plain_numbers_runs_while_tracing_and_is_a_constant(lib):
    del lib.formulas.CALLS[:]
    compiled = wb.jit(lambda x: lib.window(x.size) * x)
    for _ in range(3):
        assert_same(compiled(X), (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(40) / 40)) * X, max_ulp=4)
    assert compiled.n_traces == 1 or lib.formulas.CALLS == [40]


def test_state_of_a_library_is_kept_as_numpy_keeps_it(lib):
    lib.formulas.STATE["n"] = 0
    compiled = wb.jit(lib.quietly_counted)
    assert [compiled(X)[0] / X[0] for _ in range(4)] == [1, 2, 3, 4]
    assert lib.formulas.STATE["n"] == 4


@pytest.mark.parametrize("name", ["noisy", "noise_of_python", "freshly_seeded", "now"])
def test_what_differs_at_every_call_is_no_constant(lib, name):
    function = getattr(lib, name)
    compiled = wb.jit(lambda x: function(3) + x.sum())
    results = [np.sum(compiled(X)) for _ in range(4)]
    assert len(set(results)) > 1


def test_random_numbers_that_a_trace_draws_are_given_back(lib):
    compiled = wb.jit(lambda x: lib.noisy(3) + x.sum())
    np.random.seed(5)
    found = [compiled(X) for _ in range(3)]
    np.random.seed(5)
    assert_same(found, [np.random.rand(3) + X.sum() for _ in range(3)], max_ulp=4)


def test_what_is_seeded_is_a_constant(lib):
    agrees(lambda x: lib.seeded(3) + x.sum(), X)


@pytest.mark.parametrize("name", ["size_of_file", "tries_to_read"])
def test_files_are_read_at_every_call(lib, name, tmp_path):
    file = tmp_path / "text"
    compiled = wb.jit(lambda x, name_of=str(file): getattr(lib, name)(name_of) * x)
    for text in ("a", "abc"):
        file.write_text(text)
        assert_same(compiled(X), len(text) * X)


def test_a_module_that_is_imported_late_may_do_what_it_likes(lib):
    agrees(lambda x: lib.imports_late(2) * x, X)


def test_a_profiler_that_runs_is_left_alone(lib):
    calls = []
    compiled = wb.jit(lambda x: lib.window(x.size) * x)
    sys.setprofile(profiler := lambda *event: calls.append(event[1]))
    try:
        compiled(X)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert calls


def test_objects_of_its_classes(lib):
    line = lib.Line(2.0, 1.0)
    compiled = agrees(lambda x: line(x) + line.shifted(3.0)(x), X)
    line.slope = 5.0
    assert_same(compiled(X), 2 * (5.0 * X) + 5.0, max_ulp=4)
    agrees(lambda x: lib.line(3.0)(x) + lib.Line(x)(2.0), X)
    agrees(lambda o, x: o(x), lib.Line(4.0), X)


def test_arrays_that_it_makes_may_be_written_to(lib):
    def program(x):
        z = lib.zeros_to_fill(4)
        z[1] = x.sum()
        z[0] += 2
        return z

    agrees(program, X)


def test_a_global_of_a_library_that_changes(lib):
    compiled = agrees(lambda x: lib.scaled(x), X)
    lib.formulas.SCALE = 7.0
    assert_same(compiled(X), np.exp(-X) * 7.0 + 1, max_ulp=4)
    lib.formulas.SCALE = 2.0


@pytest.mark.parametrize(
    ("function", "other"),
    [
        ("mean_or_nothing", np.where(X > 2, np.nan, X)),
        ("named_result", -X),
    ],
)
def test_branches_that_nothing_joins_go_the_way_of_the_first_call(lib, function, other):
    function = getattr(lib, function)
    compiled = agrees(lambda x: function(x), X)
    for values in (other, X, other, other, other, other, other, X):
        assert_same(compiled(values), function(values), max_ulp=4, reduction_scale=100.0)


def test_a_selection_goes_the_way_of_the_first_call(lib):
    compiled = wb.jit(lambda x, most: lib.without_outliers(x, most) * 2)
    for most in (5.0, 2.0, 5.0, 1.0, 1.5, 2.5, 2.0, 9.0):
        assert_same(compiled(X, most), lib.without_outliers(X, most) * 2, max_ulp=8, reduction_scale=400.0)


def test_a_users_own_branch_is_not_foreseen():
    def program(x):
        if x.min() < 0:
            return {"value": x.sum(), "is_negative": True}
        return {"value": x.sum()}

    compiled = wb.jit(program)
    assert_same(compiled(X), program(X), reduction_scale=100.0)
    assert [error.code for error in compiled.fallbacks] == ["WB181"]
