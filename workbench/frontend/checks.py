"""Conditions that end a call: everything is then run again in NumPy, which raises, and leaves what it leaves."""

from __future__ import annotations

from ..ir import REGISTRY
from .positions import current_spans
from .tracer import Tracer, emit, require_trace


def end_unless(test: Tracer) -> None:
    """Have the call end here unless `test`, one number, is true."""
    trace = require_trace()
    spans = current_spans(2, trace.entry)
    place = (spans[0].filename, spans[0].line) if spans else ("", 0)
    if test.dtype.kind != "b":
        test = test != 0  # type: ignore[assignment]  # a traced bool
    trace.operation("assert", lambda: emit(REGISTRY["check"], test, filename=place[0], line=place[1]), (), {})
