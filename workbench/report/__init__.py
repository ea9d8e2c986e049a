"""What happened, as plain data, and every form in which it can be shown without a front end."""

from .build import build_report, compare_with_numpy, numpy_report
from .convert import ReportFormatError, json_schema
from .machine import describe_machine
from .schema import MIME_TYPE, SCHEMA, STATUSES, CompileReport

__all__ = [
    "MIME_TYPE", "SCHEMA", "STATUSES", "CompileReport", "ReportFormatError", "build_report", "compare_with_numpy",
    "describe_machine", "json_schema", "numpy_report",
]  # fmt: skip
