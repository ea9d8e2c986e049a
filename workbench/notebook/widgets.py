"""Reports as ipywidgets, for live work and for front ends without our extension: Report, IRView, ClusterGraph, Timings.

Each is traits in Python and a bundled module in the browser (extension/src/anywidget). `report` is the compile report,
`selected` the ids of the marked equations, in both directions, so that views can be linked:

    code, graph = IRView(report), ClusterGraph(report)
    traitlets.link((code, "selected"), (graph, "selected"))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ..report.schema import CompileReport
from .protocol import ErrorReply, ProtocolError, TextKind, TextReply, parse_request, to_message

STATIC = Path(__file__).parent / "static"

NOT_BUILT = """\
// The front end is not built.
export default {
  render({ el }) {
    el.textContent = "The front end of the workbench is not built: run `npm ci && npm run build` in extension/.";
  }
};
"""

TextSource = Callable[[str, TextKind], str]


def asset(name: str) -> Path | str:
    """A built file, or what stands in for it in a checkout that was not built."""
    path = STATIC / name
    if path.exists():
        return path
    return NOT_BUILT if path.suffix == ".js" else ""


def _texts_of(report: object) -> TextSource | None:
    """The texts that a report of this session still knows in whole."""
    if not isinstance(report, CompileReport):
        return None

    def text_of(kernel: str, kind: TextKind) -> str:
        text = getattr(report.kernels[kernel], kind)  # pyright: ignore[reportArgumentType, reportCallIssue]  # found by id or position
        whole = None if text is None else text.whole()
        if whole is None:
            raise KeyError(kernel)
        return whole

    return text_of


class ReportTrait(traitlets.Dict):
    """The dict form of a report; a CompileReport is converted."""

    def validate(self, obj: Any, value: Any) -> Any:
        return super().validate(obj, value.to_dict() if isinstance(value, CompileReport) else value)


class _ReportWidget(anywidget.AnyWidget):
    """What the four views share.

    report: a CompileReport, or its dict form. texts: `texts(kernel_id, "llvm" | "asm")` gives the whole of a text of
    which the report holds the head, by default what a CompileReport of this session knows; it may be called beside a
    running cell and must not compile.
    """

    _css = asset("report.css")

    report = ReportTrait(help="The compile report.").tag(sync=True)
    selected = traitlets.List(traitlets.Unicode(), help="Ids of the marked equations.").tag(sync=True)

    def __init__(
        self, report: CompileReport | Mapping[str, Any] | None = None, *, texts: TextSource | None = None, **kwargs: Any
    ):
        super().__init__(report={} if report is None else report, **kwargs)
        self._texts = texts if texts is not None else _texts_of(report)
        self._lock = threading.Lock()
        self.on_msg(self._on_request)

    def _on_request(self, _widget: object, content: object, _buffers: object) -> None:
        try:
            request = parse_request(content)
        except ProtocolError as error:
            self.log.warning("a message from the browser was dropped: %s", error)
            return
        self.send(to_message(self._answer(request.request, request.kernel, request.kind)))

    def _answer(self, request: int, kernel: str, kind: TextKind) -> TextReply | ErrorReply:
        if self._texts is None:
            return ErrorReply(request, "this widget was made from a stored report; run the cell again")
        try:
            with self._lock:
                text = self._texts(kernel, kind)
        except KeyError:
            return ErrorReply(request, f"there is no {kind} text of {kernel}")
        except Exception as error:  # a handler has no caller to raise to: the reader of the report is told
            return ErrorReply(request, f"{type(error).__name__}: {error}")
        return TextReply(request, kernel, kind, text)


class Report(_ReportWidget):
    """The strip, and on demand all views: code, graph, kernels, timings, reasons."""

    _esm = asset("report.js")


class IRView(_ReportWidget):
    """The user's code beside its IR, its kernels and their assembly."""

    _esm = asset("irview.js")


class ClusterGraph(_ReportWidget):
    """The clusters, library calls and what flows between them."""

    _esm = asset("clustergraph.js")


class Timings(_ReportWidget):
    """Runs against NumPy, the phases of compilation, one run step by step."""

    _esm = asset("timings.js")
