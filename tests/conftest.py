"""What all tests share: golden files, and no deadline for random cases, some of which compile.

A test that takes `golden` compares a text with the file of the same name beside it, under `golden/`:
`golden.check(text)`. `pytest --update-golden` rewrites the files; their diff is part of the review.
"""

from __future__ import annotations

import copy
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("workbench", deadline=None)
settings.load_profile("workbench")
# Which call runs where would depend on the clock; tests/runtime/test_trial.py turns it on.
os.environ.setdefault("WORKBENCH_NUMPY_TRIALS", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files of the tests that run")


@dataclass
class Golden:
    """The recorded text of one test. `text == golden` compares too, so that `assert` shows the difference."""

    path: Path
    update: bool

    def __eq__(self, text: object) -> bool:
        if not isinstance(text, str):
            return NotImplemented
        text = text.rstrip("\n") + "\n"
        if self.update:
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(text, encoding="utf-8")
        return self.recorded == text

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    def recorded(self) -> str:
        if not self.path.exists():
            pytest.fail(f"{self.path.name} is not recorded; run with --update-golden and read what it writes")
        return self.path.read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"golden file {self.path}:\n{self.recorded}"

    def check(self, text: str) -> None:
        if self != text:
            assert text.rstrip("\n") + "\n" == self.recorded


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    path = request.path.parent / "golden" / f"{request.path.stem}.{name}.txt"
    return Golden(path, request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def failures_of_the_compiler_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of tests, what the compiler cannot do is done by NumPy."""
    from workbench.frontend.loops.types import UntranslatableError
    from workbench.runtime.dispatch import CompiledFunction
    from workbench.runtime.parts.whole_loops import WholeLoop

    def blame(self: CompiledFunction, failure: Exception, *call: object) -> None:
        raise failure

    def refuse(self: WholeLoop, reason: Exception) -> None:
        if not isinstance(reason, UntranslatableError):
            raise reason
        refuses(self, reason)

    refuses = WholeLoop._refuse
    monkeypatch.setattr(CompiledFunction, "_blame", blame)
    monkeypatch.setattr(WholeLoop, "_refuse", refuse)


_AS_IMPORTED: dict[np.random.Generator, dict[str, object]] = {}


@pytest.fixture(autouse=True)
def random_inputs_do_not_depend_on_the_order(request: pytest.FixtureRequest) -> None:
    """Every test draws from its module's generators what it would draw first: which process runs which
    tests, and after which others, is decided anew in each run."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            state = _AS_IMPORTED.setdefault(value, copy.deepcopy(value.bit_generator.state))  # pyright: ignore[reportArgumentType]
            value.bit_generator.state = copy.deepcopy(state)
