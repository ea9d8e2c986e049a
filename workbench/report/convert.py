"""Reports to plain data and back, and the JSON Schema of that data. The dataclasses of `schema` are the only source."""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ..errors import WorkbenchError
from . import schema
from .compact import expand, is_compact
from .schema import CompileReport, Text

SCHEMA_FORM = re.compile(r"workbench\.report/(\d+)")
VERSION = 1


class ReportFormatError(WorkbenchError, ValueError):
    """Data that is no report, or a report that this version cannot read."""


def to_plain(value: Any, *, loaded_only: bool = False) -> Any:
    """Records as dicts, whatever JSON cannot say (infinities, NaN) as None, NumPy's scalars as Python's. loaded_only:
    texts that were not written yet are None."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(kind):
        if loaded_only and kind is Text and not value.is_loaded:
            return None
        return {name: to_plain(getattr(value, name), loaded_only=loaded_only) for name in _names(kind)}
    if isinstance(value, list | tuple):
        return [to_plain(item, loaded_only=loaded_only) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item, loaded_only=loaded_only) for key, item in value.items()}
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, bool | int | float | str):  # their subclasses
        return to_plain(next(base for base in (bool, int, float, str) if isinstance(value, base))(value))
    raise TypeError(f"a report holds plain data, not {kind.__name__}")


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def report_from_plain(data: Mapping[str, Any]) -> CompileReport:
    """Read a report; fields that this version does not know are ignored."""
    if not isinstance(data, Mapping):
        raise ReportFormatError(f"a report is a record, not {type(data).__name__}")
    found = data.get("schema", schema.SCHEMA)
    match = SCHEMA_FORM.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        raise ReportFormatError(f"this is no report of the workbench: its schema is {found!r}")
    if int(match[1]) > VERSION:
        raise ReportFormatError(
            f"this report was written by a newer version of the workbench ({found}; this version reads "
            f"{schema.SCHEMA}): pip install --upgrade jit-workbench"
        )
    return _record(CompileReport, expand(data) if is_compact(data) else data, "report")


def _record(cls: type, data: Any, path: str) -> Any:
    if not isinstance(data, Mapping):
        raise ReportFormatError(f"{path} should be a record and is {_kind(data)}")
    values = {}
    for field in dataclasses.fields(cls):
        if field.name in data:
            values[field.name] = _value(_hints(cls)[field.name], data[field.name], f"{path}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ReportFormatError(f"{path} has no {field.name}")
    return cls(**values)


def _value(hint: Any, data: Any, path: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return data
    if origin in (types.UnionType, typing.Union):
        if data is None:
            return None
        return _value(next(a for a in args if a is not types.NoneType), data, path)
    if origin is list:
        if not isinstance(data, list | tuple):
            raise ReportFormatError(f"{path} should be a list and is {_kind(data)}")
        return [_value(args[0], item, f"{path}[{i}]") for i, item in enumerate(data)]
    if origin is dict:
        if not isinstance(data, Mapping):
            raise ReportFormatError(f"{path} should be a record and is {_kind(data)}")
        return {str(key): _value(args[1], item, f"{path}.{key}") for key, item in data.items()}
    if dataclasses.is_dataclass(hint):
        return _record(hint, data, path)  # type: ignore[arg-type]
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, hint) or (isinstance(data, bool) and hint is not bool):
        raise ReportFormatError(f"{path} should be {hint.__name__} and is {_kind(data)}")
    return data


def _kind(data: Any) -> str:
    return "null" if data is None else type(data).__name__


# ---- JSON Schema ----


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `CompileReport.to_dict()`."""
    definitions: dict[str, Any] = {}
    body = _record_schema(CompileReport, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{schema.SCHEMA.replace('/', ':')}",
        "title": "CompileReport",
        **body,
        "$defs": dict(sorted(definitions.items())),
    }


def _record_schema(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    required = [
        f.name
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    properties = {f.name: _type_schema(_hints(cls)[f.name], definitions) for f in dataclasses.fields(cls)}
    if cls is CompileReport:
        properties["status"] = {"enum": list(schema.STATUSES)}
        properties["schema"] = {"const": schema.SCHEMA}
    return {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split()),
        "properties": properties,
        "required": required,
    }


_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _type_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if origin in (types.UnionType, typing.Union):
        parts = [{"type": "null"} if a is types.NoneType else _type_schema(a, definitions) for a in args]
        return {"anyOf": parts}
    if origin is list:
        return {"type": "array", "items": _type_schema(args[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(args[1], definitions)}
    if dataclasses.is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _record_schema(hint, definitions)  # type: ignore[arg-type]
        return {"$ref": f"#/$defs/{name}"}
    return {"type": _SIMPLE[hint]}
