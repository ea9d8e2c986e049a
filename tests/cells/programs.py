"""Cells as people write them in notebooks: each with what its notebook has done before.

A file holds programs, `### name` above each; the lines before `---` are the cells before.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.compare import assert_close

_NOT_COMPARED = (types.FunctionType, types.ModuleType, type, np.random.Generator, types.GeneratorType)
# Of what is iterated until it stands still the last digits are noise, as large as the numbers that cancelled.
RELATIVE, ABSOLUTE = 1e-6, 1e-8


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    before: str
    cell: str

    @property
    def filename(self) -> str:
        """Of the cell, with its source, as a notebook's shell keeps it."""
        name = f"<cell {self.name}>"
        linecache.cache[name] = (len(self.cell), None, self.cell.splitlines(keepends=True), name)
        return name

    def names(self) -> dict[str, Any]:
        """What the cell finds in the namespace."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec("import math\nimport numpy as np\n" + self.before, namespace)
        np.random.seed(0)
        return namespace

    def run(self, namespace: dict[str, Any]) -> str:
        """Run the cell as Python does; what it printed."""
        code = compile(self.cell, self.filename, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, namespace)
        return printed.getvalue()


def programs() -> dict[str, Program]:
    found: dict[str, Program] = {}
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        for text in path.read_text().split("### ")[1:]:
            name, _, rest = text.partition("\n")
            before, divided, cell = f"\n{rest}".partition("\n---\n")
            found[name] = Program(name, before.lstrip("\n"), cell) if divided else Program(name, "", rest)
    return found


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """AssertionError unless all names hold what Python left there."""
    for name, value in expected.items():
        if not name.startswith("_") and not isinstance(value, _NOT_COMPARED):
            assert name in found, f"{name} is missing"
            assert_close(found[name], value, name, rtol=RELATIVE, atol=ABSOLUTE)
