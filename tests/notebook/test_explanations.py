"""Every code that a user can meet has an explanation."""

from __future__ import annotations

import re
from pathlib import Path

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
