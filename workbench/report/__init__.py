"""What happened, as plain data, and every form in which it can be shown without a front end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .build import build_report, compare_with_numpy, compiling_report, definitions_report, numpy_report, whole_report
from .comparison import compare
from .convert import ReportFormatError, json_schema
from .machine import describe_machine
from .schema import MIME_TYPE, SCHEMA, STATUSES, CompileReport

if TYPE_CHECKING:
    from . import figures

__all__ = [
    "MIME_TYPE", "SCHEMA", "STATUSES", "CompileReport", "ReportFormatError", "build_report", "compare",
    "compare_with_numpy", "compiling_report", "definitions_report", "describe_machine", "figures", "json_schema",
    "numpy_report", "whole_report",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`figures` brings plotly, which takes its time: only for those who ask."""
    if name == "figures":
        from importlib import import_module

        return import_module(f"{__name__}.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
