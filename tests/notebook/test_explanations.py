"""Every code that a user can meet has an explanation."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import workbench
from tests.sources import define
from workbench.fusion.reasons import REASONS
from workbench.notebook.explanations import EXPLANATIONS, explain

PACKAGE = Path(workbench.__file__).parent
NAMED = {
    code
    for file in PACKAGE.rglob("*.py")
    if "explanations" not in file.name
    for code in re.findall(r"\bWB[1-9]\d\d\b", file.read_text(encoding="utf-8"))
}


def test_every_code_that_the_package_names_is_explained():
    assert NAMED | set(REASONS) <= set(EXPLANATIONS)


def test_nothing_else_is_explained():
    assert set(EXPLANATIONS) <= NAMED | {"WB000"}


def test_a_code_may_be_given_as_a_number():
    assert explain("101") == explain("wb101")


def test_lines_fit_a_terminal():
    assert max(len(line) for text in EXPLANATIONS.values() for line in text.splitlines()) <= 120


# ---- the examples on the pages ----

A, B = np.linspace(-1.0, 2.0, 6), np.linspace(2.0, -1.0, 6)
EXAMPLES = [  # code, what fails in strict mode, its cure, a name to compare, the inputs
    (
        "WB101",
        "if err > tol: x = x_new",
        "x = np.where(err > tol, x_new, x)",
        "x",
        {"x": A, "x_new": B, "err": A.max()},
    ),
    ("WB101", "ok = (a > 0) and (b > 0)", "ok = (a > 0) & (b > 0)", "ok", {"a": np.float64(2), "b": np.float64(-1)}),
    (
        "WB102",
        "y = x.reshape(np.array(x.shape).prod())",
        "y = x.reshape(np.prod(x.shape))",
        "y",
        {"x": A.reshape(2, 3)},
    ),
    ("WB103", "total = float(x.sum())", "total = x.sum()", "total", {"x": A}),
    ("WB110", "y = np.sort(x[x > 0])", "y = np.sort(np.where(x > 0, x, np.inf))", "y", {"x": A}),
    ("WB110", "kept = x[x > 0]", "kept = np.where(x > 0, x, 0)", "kept", {"x": A}),
    ("WB110", None, "s = x[x > 0].sum()", "s", {"x": A}),
    ("WB110", None, "x[x < 0] *= 2", "x", {"x": A}),
    ("WB121", "h = h.astype(np.float16)", "h = h.astype(np.float32)", "h", {"h": A}),
]


def _function(statement: str, name: str, inputs: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {"np": np, "tol": 0.5, "__name__": "page"}
    source = f"def page({', '.join(inputs)}):\n    {statement}\n    return {name}\n"
    exec(compile(source, "<page>", "exec"), scope)
    return scope["page"]


@pytest.mark.parametrize(("code", "fails", "cure", "name", "inputs"), EXAMPLES)
def test_examples_do_what_the_page_says(code, fails, cure, name, inputs):
    page = EXPLANATIONS[code]
    if fails is not None:
        assert fails in page
        function = _function(fails, name, inputs)
        if "np.array(x.shape)" not in fails:  # NumPy's own arithmetic on a known shape stays known
            with pytest.raises(workbench.errors.TracingError) as caught:
                workbench.jit(function, strict=True)(*[np.copy(v)[()] for v in inputs.values()])
            assert caught.value.code == code
    if cure.split(" = ")[-1] in page or cure in page:
        function = _function(cure, name, inputs)
        mine = workbench.jit(function, strict=True)(*[np.copy(v)[()] for v in inputs.values()])
        np.testing.assert_allclose(mine, function(*[np.copy(v)[()] for v in inputs.values()]), rtol=1e-14)
    else:
        pytest.fail(f"{code} does not show {cure}")


PAGES = [  # code, the page's words for what is refused, a program that does it, for its cure, another one, arguments
    ("WB100", "if x.max() > 1: x = x / x.max()", "def page(x):\n    if x.max() > 1: x = x / x.max()\n    return x",
     "x = np.where(x.max() > 1, x / x.max(), x)",
     "def page(x):\n    x = np.where(x.max() > 1, x / x.max(), x)\n    return x", (A,)),
    ("WB103", 'label = f"{x.mean():.2f}"', 'def page(x):\n    label = f"{x.mean():.2f}"\n    return label', "", "", (A,)),
    ("WB121", "a = np.array([1, 2.5], dtype=object)",
     "def page(x):\n    a = np.array([1, 2.5], dtype=object)\n    return a[1] * x", "a = np.array([1, 2.5])",
     "def page(x):\n    a = np.array([1, 2.5])\n    return a[1] * x", (A,)),
    ("WB122", "pairs = zip(y, z)", "def page(x):\n    y, z = x, x + 1\n    pairs = zip(y, z)\n    return pairs",
     "pairs = list(zip(y, z))", "def page(x):\n    y, z = x * 2, x + 1\n    pairs = list(zip(y, z))\n    return pairs", (A,)),
    ("WB131", "def f(t): return t * scale", "def page(x):\n    scale = x.sum()\n    def f(t): return t * scale\n    return f",
     "def f(t, scale): return t * scale", "def page(x):\n    def f(t, scale): return t * scale\n    return f(x, 2.0)", (A,)),
    ("WB160", "history.pop()", "def page(x):\n    history.pop()\n    return x", "", "", (A,)),
    ("WB160", "print(loss)", "def page(loss):\n    print(loss)\n    return loss", "", "", (A,)),
    ("WB160", "noise = rng.normal(size=n)", "def page(x):\n    n = x.size\n    noise = rng.normal(size=n)\n    return x * n", "", "", (A,)),
    ("WB181", "if c: y = x[1:]", "def page(x):\n    c, y = x.sum() > 0, x\n    if c: y = x[1:]\n    return y", "", "", (A,)),
    ("WB181", "while x.sum() < 9: x = np.append(x, 1)",
     "def page(x):\n    while x.sum() < 9: x = np.append(x, 1)\n    return x", "", "", (A,)),
    ("WB181", "s = 0.5 if x[0] > 1 else x[0]", "def page(x, y):\n    s = 0.5 if x[0] > 1 else x[0]\n    return s * y",
     "s = np.float64(0.5) if x[0] > 1 else x[0]",
     "def page(x, y):\n    s = np.float64(0.5) if x[0] > 1 else x[0]\n    return s * y", (A, A.astype(np.float32))),
    ("WB182", 'while err > tol: seen.add("small"); err /= 2',
     'def page(err, tol):\n    seen = set()\n    while err > tol: seen.add("small"); err /= 2\n    return len(seen)',
     "n_seen = 1; err /= 2",
     "def page(err, tol):\n    n_seen = 0\n    while err > tol:\n        n_seen = 1; err /= 2\n"
     "    return n_seen", (np.float64(3), 0.1)),
    ("WB184", "x[0] = 1; x = np.unwrap(x + y)",
     "def page(x, y):\n    while x.sum() < 50:\n        x[0] = 1; x = np.unwrap(x + y)\n    return x",
     "x[0] = 1; x[...] = np.unwrap(x + y)",
     "def page(x, y):\n    while x.sum() < 50:\n        x[0] = 1; x[...] = np.unwrap(x + y)\n    return x", (A + 3, A + 3)),
    ("WB350", "s = 1; s = s * k",
     "def page(x):\n    s = 1\n    for k in range(3, 60):\n        s = s * k\n        x[k % 6] += s % 7\n    return s",
     "s = np.int64(1)", "def page(x):\n    s = np.int64(1)\n    for k in range(3, 60):\n        s = s * k\n"
     "        x[k % 6] += s % 7\n    return s", (A,)),
    ("WB351", "if x.min() < 0: raise ValueError(...)",
     "def page(x):\n    if x.min() < 0: raise ValueError('negative')\n    return np.sqrt(x)", "", "", (A,)),
    ("WB340", "for i in range(1, n): y[i] = a * y[i - 1] + x[i]",
     "def page(x, y, a):\n    n = len(x)\n    for i in range(1, n): y[i] = a * y[i - 1] + x[i]\n    return y",
     "y = a * x + b", "def page(x, y, a):\n    b = 1.0\n    y = a * x + b\n    return y", (A, B, 0.5)),
    ("WB170", "x[1:] += y  # y is a view of x", "def page(x):\n    y = x[:-1]\n    x[1:] += y\n    return x",
     "x[1:] += y.copy()", "def page(x):\n    y = x[:-1]\n    x[1:] += y.copy()\n    return x", (A,)),
    ("WB180", "cond(p, lambda: 0, lambda: x)", "def page(x, p):\n    return wb.lax.cond(p, lambda: 0, lambda: x)",
     "cond(p, lambda: np.zeros_like(x), lambda: x)",
     "def page(x, p):\n    return wb.lax.cond(p, lambda: np.zeros_like(x), lambda: x)", (A, np.bool_(True))),
]  # fmt: skip
RUNS_COMPILED = ("WB340", "WB350", "WB351", "WB170")  # the program itself is compiled


def _program(source: str) -> Any:
    names = {"wb": workbench, "rng": np.random.default_rng(0), "history": [1.0] * 9}
    return define(source, "page", f"<page {abs(hash(source)):x}>", **names)


def _outcome(function: Any, args: tuple) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
        except Exception as error:
            return error


@pytest.mark.parametrize(("code", "words", "before", "cure", "after", "args"), PAGES)
def test_what_a_page_shows_is_refused_and_its_cure_compiles(code, words, before, cure, after, args):
    page = EXPLANATIONS[code]
    assert words in page and cure in page
    plain = _program(before)
    if code == "WB100":
        error = _outcome(workbench.jit(plain, strict=True), args)
        assert error.code.startswith("WB10")
    elif code in RUNS_COMPILED:
        compiled = workbench.jit(plain)
        expected, found = _outcome(plain, args), _outcome(compiled, args)
        assert not compiled.fallbacks
        assert type(found) is type(expected)
        if not isinstance(expected, Exception):
            np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-12)
    elif code == "WB180":
        assert _outcome(workbench.jit(plain), args).code == code
    else:
        compiled = workbench.jit(plain)
        _outcome(compiled, args)
        assert [reason.code for reason in compiled.fallbacks] == [code]
    if after:
        compiled = workbench.jit(_program(after))
        expected, found = _outcome(_program(after), args), _outcome(compiled, args)
        assert not compiled.fallbacks
        for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_view_given_as_an_argument_is_left_to_numpy():
    def page(x, y):
        x[1:] += y

    compiled = workbench.jit(page)
    x, expected = A.copy(), A.copy()
    compiled(x, x[:-1])
    page(expected, expected[:-1])
    np.testing.assert_array_equal(x, expected)
    assert [reason.code for reason in compiled.fallbacks] == ["WB170"]


def test_a_static_argument_is_hashable():
    f = workbench.jit(lambda x, n: x.reshape(tuple(n)), static_argnums=1)
    with pytest.raises(workbench.errors.NonHashableStaticArgumentError) as caught:
        f(A, [2, 3])
    assert caught.value.code == "WB140"
    assert f(A, (2, 3)).shape == (2, 3)


def test_a_scope_means_something_in_traced_code():
    with pytest.raises(RuntimeError, match="WB150"), workbench.jit_scope():
        pass

    def g(x):
        with workbench.jit_scope():
            return x + 1

    np.testing.assert_array_equal(workbench.jit(g)(A), A + 1)


def test_a_line_without_compiled_form_compiles_apart():
    """WB120"""
    compiled = workbench.jit(lambda x: (x * 2).view(np.int64))
    np.testing.assert_array_equal(compiled(A), (A * 2).view(np.int64))
    assert [reason.code for reason in compiled.fallbacks] == ["WB120"]
    doubled = workbench.jit(lambda x: x * 2)
    np.testing.assert_array_equal(doubled(A).view(np.int64), (A * 2).view(np.int64))
    assert not doubled.fallbacks


def test_a_leaked_array_is_named_and_its_cure_compiles():
    before, after = "def step(x): keeper.value = x; return x", "def step(x): return x, x"
    assert before in EXPLANATIONS["WB130"] and after in EXPLANATIONS["WB130"]
    log: list[Any] = []
    appended = define("def step(x): log.append(x); return x", "step", "<page appended>", log=log)
    appends = workbench.jit(appended, strict=True)
    appends(A)  # each run appends to lists that the trace knows
    assert len(log) == 1 and log[0] is A
    keeper = types.ModuleType("keeper")
    kept = define(before, "step", "<page kept>", keeper=keeper)
    workbench.make_jaxpr(kept)(A)  # where side effects happen
    with pytest.raises(workbench.errors.UnexpectedTracerError) as caught:
        keeper.value + 1
    assert caught.value.code == "WB130"
    compiled = workbench.jit(define(after, "step", "<page returned>"))
    for found in compiled(A):
        np.testing.assert_array_equal(found, A)
    assert not compiled.fallbacks


def test_a_body_that_raises_runs_in_numpy():
    line = "while err > tol: step(x, y)"
    assert line in EXPLANATIONS["WB183"]
    source = f"def page(x, y, err, tol):\n    {line}\n    return x\n"
    plain = define(source, "page", "<page body raises>", step=lambda x: x)
    compiled = workbench.jit(plain)
    expected, found = (_outcome(f, (A, B, np.float64(1.0), 0.5)) for f in (plain, compiled))
    assert type(found) is type(expected) is TypeError and str(found) == str(expected)
    assert [reason.code for reason in compiled.fallbacks] == ["WB183"]
    np.testing.assert_array_equal(compiled(A, B, np.float64(0.1), 0.5), A)  # the loop does not run
