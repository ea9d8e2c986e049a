"""Messages: the user's words first, the line with a caret, provenance by the user's names, fixes, the essence last."""

import linecache

import numpy as np
import pytest

import workbench as wb
from workbench.errors import (
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerHashError,
    TracerIntegerConversionError,
    UnsupportedOperationError,
)
from workbench.frontend.cells import trace_cell
from workbench.frontend.diagnostics import EXPLANATIONS, explain, set_label
from workbench.frontend.trace import trace

X = np.ones(3)


def solve(A, x, b):
    r = A @ x - b
    err = np.abs(r).max()
    if err > 1e-3:
        return x
    return b


def test_a_branch_names_the_line_the_value_and_its_history():
    with pytest.raises(TracerBoolConversionError) as caught:
        trace(solve, (np.eye(3), X, X), {}, strict=True)
    error = caught.value
    line = solve.__code__.co_firstlineno + 3
    assert str(error) == (
        f"WB101  Line {line} must choose a branch, but `err > 1e-3` is only known when the kernel runs.\n"
        "\n"
        f"   test_diagnostics.py:{line}      if err > 1e-3:\n"
        f"   {' ' * (len(f'test_diagnostics.py:{line}') + 9)}~~~~~~~~~~   "
        f"bool, from err = np.abs(r).max() (line {line - 1}) ← r ← A, x, b\n"
        "   Fix  1. both sides are array formulas:   np.where(err > 1e-3, a, b)\n"
        "        2. keep it a branch:                wb.lax.cond(err > 1e-3, lambda: a, lambda: b)\n"
        f"   TracerBoolConversionError WB101 at test_diagnostics.py:{line}: "
        "branch on a value that is computed in this program"
    )
    assert error.code == "WB101"
    assert error.line == line
    assert error.provenance.startswith("from err = np.abs(r).max()")
    assert len(error.fixes) == 2
    assert len(str(error).splitlines()) <= 12


def test_cells_are_called_by_their_label():
    source = "y = x.sum()\nif y > 0: z = 1"
    linecache.cache["<input 7>"] = (len(source), None, source.splitlines(True), "<input 7>")
    set_label("<input 7>", "In[7]")
    with pytest.raises(TracerBoolConversionError, match=r"from y = x.sum\(\) \(line 1\) ← x") as caught:
        trace_cell(source, {"np": np, "x": X}, filename="<input 7>", strict=True)
    assert "   In[7]:2      if y > 0: z = 1" in str(caught.value)
    assert str(caught.value).splitlines()[-1].startswith("   TracerBoolConversionError WB101 at In[7]:2")


@pytest.mark.parametrize(
    ("use", "error", "code"),
    [
        (lambda x: list(range(x.sum().astype(int))), TracerIntegerConversionError, "WB102"),
        (lambda x: [1, 2][x.argmax()], TracerIntegerConversionError, "WB102"),
        (lambda x: f"{x.sum():.3f}", TracerArrayConversionError, "WB103"),
        (lambda x: f"{x}", TracerArrayConversionError, "WB103"),
        (lambda x: [str(v) for v in x], TracerArrayConversionError, "WB103"),
        (lambda x: repr({"total": [x.sum()]}), TracerArrayConversionError, "WB103"),
        (lambda x: "{}".format(x.sum()), TracerArrayConversionError, "WB103"),  # noqa: UP032
        (lambda x: memoryview(np.asarray(np.frompyfunc(lambda v: v, 1, 1)(x))), UnsupportedOperationError, "WB120"),
        (lambda x: {x.sum(): 1}, TracerHashError, "WB100"),
        (lambda x: x.sum() > 0 or 1, TracerBoolConversionError, "WB101"),
        (lambda x: not x.sum(), TracerBoolConversionError, "WB101"),
        (lambda x: 0 < x.sum() < 3, TracerBoolConversionError, "WB101"),
    ],
)
def test_python_asking_for_a_value(use, error, code):
    with pytest.raises(error) as caught:
        trace(use, (X,), {}, strict=code == "WB101")  # branches are converted otherwise
    assert caught.value.code == code
    assert caught.value.fixes
    assert f"{error.__name__} {code} at test_diagnostics.py:" in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize(
    ("use", "error", "code"),
    [
        (lambda x: int(x.sum()), TracerIntegerConversionError, "WB102"),
        (lambda x: round(x.sum()), TracerIntegerConversionError, "WB102"),
        (lambda x: float(x.sum()), TracerArrayConversionError, "WB103"),
        (lambda x: complex(x.sum()), TracerArrayConversionError, "WB103"),
    ],
)
def test_strict_mode_makes_no_numbers_of_python(use, error, code):
    with pytest.raises(error) as caught:
        trace(use, (X,), {}, strict=True)
    assert caught.value.code == code and caught.value.fixes


def test_text_of_what_is_known_is_numpys():
    def f(x):
        a = np.arange(3) * 2.0
        return f"{a} {a[1]} {a[1]:.2f} {a.sum()!r} {a!r} {np.float32(1) + np.ones(2, 'f')}", x + 1

    assert wb.jit(f, strict=True)(X)[0] == f(X)[0]
    compiled = wb.jit(f)
    assert compiled(X)[0] == f(X)[0] and not compiled.fallbacks


def test_text_of_a_traced_array_is_never_that_of_the_tracer():
    def f(x):
        return [str(v) for v in x], repr(x.mean()), {str(x.max()): x}, x + 1

    assert repr(wb.jit(f)(X)) == repr(f(X))


@pytest.mark.parity("J9")
def test_a_traced_shape_says_what_a_shape_is_and_shows_the_cure():
    def f(x, n):
        return x.reshape(n.prod())

    with pytest.raises(TypeError, match=r"x.reshape\(np.prod\(x.shape\)\)") as caught:
        trace(f, (X, np.array([3])), {})
    assert caught.value.code == "WB102"
    assert trace(lambda x: x.reshape(np.prod(x.shape)), (np.ones((2, 3)),), {}).jaxpr.outvars[0].aval.shape == (6,)


def test_a_function_that_cannot_be_compiled_is_named():
    with pytest.raises(UnsupportedOperationError, match=r"Line \d+ uses np\.array2string") as caught:
        trace(lambda x: np.array2string(x), (X,), {})
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "use",
    [
        lambda x: bool(x), lambda x: {x: 1}, lambda x: len(x[0]), lambda x: x.nothing, lambda x: [1, 2][x],
        lambda x: list(x[0]), lambda x: float(x),
    ],
)  # fmt: skip
def test_what_numpy_refuses_too_is_numpys_own_error(use):
    with pytest.raises(Exception) as theirs:  # noqa: B017
        use(X)
    with pytest.raises(theirs.type) as ours:
        trace(use, (X,), {})
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value) == str(theirs.value)


def test_long_lines_are_cut_around_the_caret():
    def f(x):
        total_of_everything_that_is_in_the_array_and_more = x.sum()
        other = 1 if total_of_everything_that_is_in_the_array_and_more > 0 else 2  # noqa: E501, E702
        return other

    with pytest.raises(TracerBoolConversionError) as caught:
        trace(f, (X,), {}, strict=True)
    lines = str(caught.value).splitlines()
    start = lines[3].index("~")
    assert lines[2][start:].startswith("total_of_everything")
    assert max(map(len, lines[2:4])) < 240


def test_every_code_has_an_explanation():
    import workbench.errors as errors

    codes = {c.code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.TracingError)}
    assert codes <= set(EXPLANATIONS)
    assert "np.where" in explain("wb101")
    with pytest.raises(KeyError):
        explain("WB999")


def test_what_a_loop_made_is_not_said_to_be_its_iterable():
    def total(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                s += np.nan_to_num(x[i])  # which has the loop traced
        return s

    compiled = wb.jit(total)
    compiled(np.linspace(0, 1, 30, dtype=np.float32))
    (reason,) = compiled.fallbacks
    assert "from s of the loop in line" in str(reason) and "range" not in str(reason)
