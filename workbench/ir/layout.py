"""Line breaking for printed programs: documents in, text out, as JAX's pretty-printer lays it out.

A document is a string, a list of documents, or one of the records below. The method is Wadler's "A prettier printer"
(2003) in Lindig's strict form ("Strictly pretty", 2000). As in JAX, a group is laid flat when the group alone fits
into the rest of the line: what follows it up to the next break is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Break:
    """`flat` when the enclosing group is laid flat, else a new line."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class Group:
    """All of its own breaks (not those of inner groups) are laid out alike."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Nest:
    """New lines inside `doc` are indented by `indent` columns more."""

    indent: int
    doc: Doc


@dataclass(frozen=True, slots=True)
class Noted:
    """A text with a comment, which goes to the right of the line that the text lands on."""

    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Mark:
    """`doc`, whose lines are recorded in `Layout.marks` together with `source`."""

    source: object
    doc: Doc


Doc = str | Sequence["Doc"] | Break | Group | Nest | Noted | Mark


@dataclass(slots=True)
class Layout:
    """text: the lines, joined; marks: (source, first line, number of lines) in the order in which marks open."""

    text: str = ""
    marks: list[tuple[object, int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _MarkEnd:
    index: int


def joined(separator: Doc, docs: Sequence[Doc]) -> list[Doc]:
    """`docs` with `separator` between them."""
    out: list[Doc] = []
    for i, doc in enumerate(docs):
        if i:
            out.append(separator)
        out.append(doc)
    return out


def _fits(doc: Doc, room: int) -> bool:
    """Whether `doc` laid flat takes at most `room` columns. Looks at no more than `room` of it."""
    pending: list[Doc] = [doc]
    while pending:
        doc = pending.pop()
        if type(doc) is str:
            room -= len(doc)
            if room < 0:
                return False
        elif type(doc) is list:
            pending.extend(reversed(doc))
        elif type(doc) is Break:
            room -= len(doc.flat)
            if room < 0:
                return False
        elif type(doc) is Noted:
            pending.append(doc.text)
        else:
            pending.append(doc.doc)  # pyright: ignore[reportAttributeAccessIssue]
    return room >= 0


def lay_out(doc: Doc, width: int = 80, *, first_line: int = 1) -> Layout:
    """Lay out `doc` in lines of about `width` columns. Marks count lines from `first_line`."""
    layout = Layout()
    lines: list[list[str]] = [[]]
    notes: list[list[str]] = [[]]
    column = 0
    pending: list[tuple[int, bool, Doc | _MarkEnd]] = [(0, False, doc)]
    while pending:
        indent, flat, item = pending.pop()
        if type(item) is str:
            lines[-1].append(item)
            column += len(item)
        elif type(item) is list:
            pending.extend((indent, flat, part) for part in reversed(item))
        elif type(item) is Break:
            if flat:
                lines[-1].append(item.flat)
                column += len(item.flat)
            else:
                lines.append([" " * indent])
                notes.append([])
                column = indent
        elif type(item) is Group:
            pending.append((indent, flat or _fits(item.doc, width - column), item.doc))
        elif type(item) is Nest:
            pending.append((indent + item.indent, flat, item.doc))
        elif type(item) is Noted:
            lines[-1].append(item.text)
            column += len(item.text)
            notes[-1].append(item.note)
        elif type(item) is Mark:
            layout.marks.append((item.source, first_line + len(lines) - 1, 0))
            pending.append((indent, flat, _MarkEnd(len(layout.marks) - 1)))
            pending.append((indent, flat, item.doc))
        elif type(item) is _MarkEnd:
            source, first, _ = layout.marks[item.index]
            layout.marks[item.index] = (source, first, first_line + len(lines) - first)
        else:
            raise TypeError(f"not a document: {item!r}")
    layout.text = _with_notes(["".join(parts) for parts in lines], notes)
    return layout


def _with_notes(lines: list[str], notes: list[list[str]]) -> str:
    """The lines, their notes in one column to the right; a second note of a line gets a line of its own."""
    if not any(notes):
        return "\n".join(lines)
    margin = max(map(len, lines))
    out = []
    for line, line_notes in zip(lines, notes, strict=True):
        if not line_notes:
            out.append(line)
        for i, note in enumerate(line_notes):
            out.append(f"{line if i == 0 else '':{margin}} # {note}")
    return "\n".join(out)
