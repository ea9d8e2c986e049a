"""Functions from source text, whose lines `inspect` and tracebacks find."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np


def define(source: str, name: str, filename: str, **names: Any) -> Callable[..., Any]:
    """The function `name` of `source`, which sees NumPy as `np`, and `names`."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"np": np, "__name__": "program", **names}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]
