"""Every code that a user can meet has an explanation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
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
