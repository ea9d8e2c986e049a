"""The messages between a widget in the browser and its twin in the kernel. Mirrors extension/src/protocol.ts.

What arrives is a record of a known type with checked fields; nothing in it is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

TextKind = Literal["llvm", "asm"]
TEXT_KINDS: tuple[TextKind, ...] = ("llvm", "asm")

MAX_TEXT = 200  # characters of any text in a request: they are ids and names


class ProtocolError(ValueError):
    """A message that is no known request. The text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Asks for the whole text of one kernel. `request` comes back in the reply."""

    request: int
    kernel: str
    kind: TextKind
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class TextReply:
    request: int
    kernel: str
    kind: TextKind
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The request could not be answered; `message` is for the reader of the report."""

    request: int
    message: str
    type: Literal["error"] = "error"


def parse_request(content: object) -> TextRequest:
    """The request in a message from the browser; ProtocolError where it is none."""
    if not isinstance(content, Mapping):
        raise ProtocolError(f"a request is a record, not {type(content).__name__}")
    if content.get("type") != "text":
        raise ProtocolError("a request has the type 'text'")
    unknown = set(map(str, content)) - {f.name for f in fields(TextRequest)}
    if unknown:
        raise ProtocolError(f"a request for a text has no {', '.join(sorted(unknown))}")
    request, kernel, kind = content.get("request"), content.get("kernel"), content.get("kind")
    if not isinstance(request, int) or isinstance(request, bool) or request < 0:
        raise ProtocolError("`request` is a number that counts from 0")
    if not isinstance(kernel, str) or not 0 < len(kernel) <= MAX_TEXT:
        raise ProtocolError("`kernel` is the id of a kernel")
    for known in TEXT_KINDS:
        if kind == known:
            return TextRequest(request, kernel, known)
    raise ProtocolError(f"`kind` is one of {', '.join(TEXT_KINDS)}")


def to_message(reply: TextReply | ErrorReply) -> dict[str, Any]:
    """A reply as what is sent."""
    return asdict(reply)
