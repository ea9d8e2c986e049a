"""The compact form of a report's data, for large reports in notebooks: nothing is left out, nothing is said twice.

    a record in a list          a list of its fields in order, defaults at the end left out
    like the stage before      a stage's text, its equations, or both, are null
    the text of an equation     a number: so many lines of its stage's text, from its first line on
    [id, n_lines, text_line]    the equation's other fields are those that it has in the next stage that shows it

`{"compact": 1}` marks it. extension/src/compact.ts reads it too.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from . import schema

FORM = 1
_MISSING = dataclasses.MISSING
Row = dict[str, Any]
_OTHERS = ("primitive", "op", "outputs", "spans", "step", "in_memory")  # than id, text and text_line


def is_compact(data: Mapping[str, Any]) -> bool:
    return data.get("compact") is not None


def compact(data: Mapping[str, Any]) -> dict[str, Any]:
    """The compact form of the dict form."""
    small = {name: _packed(hint, data[name]) for name, hint in _hints(schema.CompileReport).items() if name in data}
    small["stages"] = _packed_stages(data["stages"])
    return {"compact": FORM, **small}


def expand(data: Mapping[str, Any]) -> dict[str, Any]:
    """The dict form of the compact form."""
    hints = _hints(schema.CompileReport)
    plain = {n: _unpacked(hints[n], v) if n in hints else v for n, v in data.items() if n not in ("compact", "stages")}
    plain["stages"] = _unpacked_stages(data.get("stages", []))
    return plain


# ---- records as lists ----


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


@cache
def _defaults(cls: type) -> dict[str, Any]:
    return {
        f.name: f.default_factory() if f.default_factory is not _MISSING else f.default for f in dataclasses.fields(cls)
    }


@cache
def _item_class(hint: Any) -> type | None:
    """The record class of the items where `hint` is a list of records."""
    args = typing.get_args(hint)
    return args[0] if typing.get_origin(hint) is list and dataclasses.is_dataclass(args[0]) else None  # type: ignore[return-value]


@cache
def _class(hint: Any) -> type | None:
    """The record class where `hint` is one, or one or None."""
    if typing.get_origin(hint) is list:
        return None
    return next((a for a in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(a)), None)  # type: ignore[return-value]


def _packed(hint: Any, value: Any) -> Any:
    item = _item_class(hint)
    if item is not None:
        return [_as_list(item, row) for row in value]
    cls = _class(hint)
    if cls is not None and isinstance(value, Mapping):
        return {name: _packed(_hints(cls)[name], item) for name, item in value.items()}
    return value


def _as_list(cls: type, row: Mapping[str, Any]) -> list[Any]:
    values = [_in_row(hint, row[name]) for name, hint in _hints(cls).items()]
    for name, default in reversed(_defaults(cls).items()):
        if default is _MISSING or row[name] != default or type(row[name]) is not type(default):
            break
        values.pop()
    return values


def _in_row(hint: Any, value: Any) -> Any:
    """A field of a record that is written as a list: records in it are lists too."""
    cls = _class(hint)
    return _as_list(cls, value) if cls is not None and value is not None else _packed(hint, value)


def _unpacked(hint: Any, value: Any) -> Any:
    item = _item_class(hint)
    if item is not None:
        return [_as_record(item, row) for row in value]
    cls = _class(hint)
    if cls is None or value is None:
        return value
    return _as_record(cls, value)


def _as_record(cls: type, row: Any) -> Row:
    hints = _hints(cls)
    if isinstance(row, Mapping):
        return {name: _unpacked(hints[name], value) if name in hints else value for name, value in row.items()}
    record = {name: _unpacked(hint, value) for (name, hint), value in zip(hints.items(), row, strict=False)}
    for name, default in list(_defaults(cls).items())[len(record) :]:
        if default is not _MISSING:
            record[name] = list(default) if isinstance(default, list) else default
    return record


# ---- stages ----


def equation_text(lines: Sequence[str], text_line: int, n_lines: int) -> str:
    """The text of an equation, as its stage's text has it."""
    return "\n".join(lines[text_line - 1 : text_line - 1 + n_lines]).strip()


def _packed_stages(stages: Sequence[Row]) -> list[list[Any]]:
    packed: list[list[Any]] = []
    later: dict[str, Row] = {}
    for index in range(len(stages) - 1, -1, -1):
        stage, before = stages[index], stages[index - 1] if index else None
        rest = [stage[name] for name in ("added", "removed", "time_ms")]
        text = None if before is not None and stage["text"] == before["text"] else stage["text"]
        if before is not None and stage["equations"] == before["equations"]:
            packed.append([stage["name"], text, None, *rest])
            continue
        lines = stage["text"].split("\n")
        rows = [_packed_row(row, lines, later.get(row["id"])) for row in stage["equations"]]
        packed.append([stage["name"], text, rows, *rest])
        later.update((row["id"], row) for row in stage["equations"])
    return packed[::-1]


def _packed_row(row: Row, lines: Sequence[str], later: Row | None) -> list[Any]:
    n_lines = row["text"].count("\n") + 1
    if equation_text(lines, row["text_line"], n_lines) != row["text"]:
        return _as_list(schema.EquationRow, row)
    # Only the last stage knows the step and the memory; what an earlier one says is the default.
    expected = None if later is None else {**later, **_EARLIER}
    if expected is not None and all(row[name] == expected[name] for name in _OTHERS):
        return [row["id"], n_lines, row["text_line"]]
    packed = _as_list(schema.EquationRow, row)
    packed[1] = n_lines
    return packed


_EARLIER: Row = {"step": "", "in_memory": True}


def _unpacked_stages(stages: Sequence[Any]) -> list[Row]:
    unpacked: list[Row] = []
    for stage in stages:
        record = _as_record(schema.Stage, stage) if isinstance(stage, Mapping) else None
        if record is None:
            names = _hints(schema.Stage)
            record = {**{"added": 0, "removed": 0, "time_ms": 0.0}, **dict(zip(names, stage, strict=False))}
        for name in ("text", "equations"):
            if record[name] is None:
                record[name] = unpacked[-1][name]
        unpacked.append(record)
    later: dict[str, Row] = {}
    done: dict[int, list[Row]] = {}
    for record in reversed(unpacked):
        packed = record["equations"]
        if id(packed) not in done:
            lines = record["text"].split("\n")
            done[id(packed)] = [_unpacked_row(row, lines, later) for row in packed]
            later.update((row["id"], row) for row in done[id(packed)])
        record["equations"] = done[id(packed)]
    return unpacked


def _unpacked_row(row: Any, lines: Sequence[str], later: Mapping[str, Row]) -> Row:
    if isinstance(row, Mapping) or not isinstance(row[1], int):
        return _as_record(schema.EquationRow, row)
    text = equation_text(lines, row[2], row[1])
    if len(row) > 3:
        return {**_as_record(schema.EquationRow, row), "text": text}
    return {**later[row[0]], **_EARLIER, "text": text, "text_line": row[2]}
