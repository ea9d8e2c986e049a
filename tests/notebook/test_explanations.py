"""Every code that a user can meet has an explanation."""

from __future__ import annotations

from workbench import errors
from workbench.fusion.reasons import REASONS
from workbench.notebook.explanations import EXPLANATIONS, explain


def codes_of_errors() -> set[str]:
    return {c.code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.WorkbenchError)}


def test_every_code_is_explained():
    assert codes_of_errors() | set(REASONS) <= set(EXPLANATIONS)


def test_nothing_else_is_explained():
    assert set(EXPLANATIONS) <= codes_of_errors() | set(REASONS)


def test_a_code_may_be_given_as_a_number():
    assert explain("101") == explain("wb101")


def test_lines_fit_a_terminal():
    assert max(len(line) for text in EXPLANATIONS.values() for line in text.splitlines()) <= 120
