"""Where in the user's source a traced operation stands: frames -> spans, and the name that an expression is given.

An interpreter frame and Python's column positions (PEP 657) give the sub-expression that is being evaluated. Frames of
the workbench, of NumPy, of the standard library and of installed packages are skipped. Everything is cached per code
object and instruction, so that a span costs a dictionary lookup after the first time.

Whose code it is decides, too, what is traced through: the user's, and that of installed packages.
"""

from __future__ import annotations

import ast
import dis
import linecache
import os
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType

import numpy as np

from ..ir import Span

MAX_SPANS = 8  # frames kept of one origin: enough to see the call path, few enough to stay cheap

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_NUMPY = os.path.join(os.path.dirname(os.path.abspath(np.__file__)), "")
_LIBRARIES = tuple(
    os.path.join(os.path.abspath(path), "")
    for key, path in sysconfig.get_paths().items()
    if key in ("stdlib", "platstdlib")
)
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

# Installed packages that are called as they are: compilers, arrays of another kind, and what draws or shows.
_CALLED_AS_THEY_ARE = frozenset((
    "numba", "llvmlite", "jax", "jaxlib", "torch", "tensorflow", "cupy", "pandas", "xarray", "dask", "polars",
    "pyarrow", "IPython", "ipykernel", "ipywidgets", "traitlets", "matplotlib", "mpl_toolkits", "plotly", "pytest",
    "_pytest", "hypothesis",
))  # fmt: skip

_kinds: dict[str, int] = {}
USER, INSTALLED, LIBRARY, INTERNAL = 0, 1, 2, 3


def code_kind(filename: str) -> int:
    """USER, INSTALLED (packages whose functions are traced through), LIBRARY (the standard library, and packages that
    are called as they are) or INTERNAL (the workbench and NumPy)."""
    kind = _kinds.get(filename)
    if kind is None:
        kind = _kinds[filename] = _code_kind(filename)
    return kind


def _code_kind(filename: str) -> int:
    path = os.path.abspath(filename) if not filename.startswith("<") else filename
    if path.startswith((_PACKAGE, _NUMPY)):
        return INTERNAL
    for site in _SITE:
        if site in path:
            package = path.rpartition(site)[2].partition(os.sep)[0]
            return LIBRARY if package in _CALLED_AS_THEY_ARE or not path.endswith(".py") else INSTALLED
    return LIBRARY if path.startswith(("<frozen ", *_LIBRARIES)) else USER


def is_user_code(code: CodeType) -> bool:
    return code_kind(code.co_filename) == USER


def is_traced_code(code: CodeType) -> bool:
    """Whether a trace goes through what the code calls: the user's code, and that of installed packages."""
    return code_kind(code.co_filename) <= INSTALLED


class _CodeSpans:
    """The spans of one code object, by instruction. It keeps the code alive, so that its id stays its own."""

    __slots__ = ("code", "drops", "kind", "names", "positions", "spans")

    def __init__(self, code: CodeType):
        self.code = code
        self.kind = code_kind(code.co_filename)
        self.spans: dict[int, Span] = {}
        self.names: dict[int, str] = {}
        self.drops: dict[int, bool] = {}
        self.positions: list | None = None

    def span(self, lasti: int) -> Span:
        if self.positions is None:
            self.positions = list(self.code.co_positions())
        code = self.code
        line = end_line = col = end_col = None
        if 0 <= lasti // 2 < len(self.positions):
            line, end_line, col, end_col = self.positions[lasti // 2]
        line = line or code.co_firstlineno
        end_line = end_line or line
        if col is None or end_col is None:  # compiled without columns (-X no_debug_ranges): the whole line
            text = linecache.getline(code.co_filename, line).rstrip("\n")
            col, end_col, end_line = len(text) - len(text.lstrip()), len(text), line
        else:
            col = _characters(code.co_filename, line, col)
            end_col = _characters(code.co_filename, end_line, end_col)
        span = Span(code.co_filename, line, col, end_line, end_col, getattr(code, "co_qualname", code.co_name))
        self.spans[lasti] = span
        return span

    def name(self, lasti: int) -> str:
        """The variable that takes the value of the sub-expression at `lasti`, or ""."""
        name = self.names.get(lasti)
        if name is None:
            name = self.names[lasti] = assigned_name(self.spans.get(lasti) or self.span(lasti))
        return name


_codes: dict[int, _CodeSpans] = {}
_MAX_CODES = 20_000  # a session that defines functions for ever must not keep them all


def _code_spans(code: CodeType) -> _CodeSpans:
    if len(_codes) > _MAX_CODES:
        _codes.clear()
    info = _codes[id(code)] = _CodeSpans(code)
    return info


def _characters(filename: str, line: int, n_bytes: int) -> int:
    """A column in characters from Python's column in UTF-8 bytes."""
    text = linecache.getline(filename, line)
    return n_bytes if text.isascii() else len(text.encode()[:n_bytes].decode(errors="ignore"))


def frame_span(frame: FrameType) -> Span:
    """The span of the sub-expression that `frame` is evaluating."""
    info = _codes.get(id(frame.f_code)) or _code_spans(frame.f_code)
    return info.spans.get(frame.f_lasti) or info.span(frame.f_lasti)


def position_of(
    frame: FrameType | None, stop: FrameType | None = None, limit: int = MAX_SPANS
) -> tuple[tuple[Span, ...], str]:
    """The user's frames from `frame` outwards up to, and without, `stop`, innermost first; and the name that the
    innermost sub-expression is assigned to.

    If there is no frame of the user's, the innermost frame of a library is taken.
    """
    spans: list[Span] = []
    name = ""
    library: FrameType | None = None
    codes = _codes
    while frame is not None and frame is not stop:
        code = frame.f_code
        info = codes.get(id(code)) or _code_spans(code)
        if info.kind == USER:
            lasti = frame.f_lasti
            if not spans:
                # Under a library's frame the user's expression is the whole call, which the operation is not.
                name = info.name(lasti) if library is None else ""
            spans.append(info.spans.get(lasti) or info.span(lasti))
            if len(spans) == limit:
                break
        elif info.kind != INTERNAL and library is None:
            library = frame
        frame = frame.f_back
    if not spans and library is not None:
        return (frame_span(library),), ""
    return tuple(spans), name


def current_spans(depth: int = 1, stop: FrameType | None = None) -> tuple[Span, ...]:
    return position_of(sys._getframe(depth), stop)[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line. (`stacklevel` would count the frames between.)"""
    spans = current_spans(2)
    filename, line = (spans[0].filename, spans[0].line) if spans else ("<traced>", 1)
    warnings.warn_explicit(message, category, filename, line)


def caller_drops_result(depth: int) -> bool:
    """Whether the call being made `depth` frames up is a statement of its own: its result goes nowhere."""
    frame = sys._getframe(depth)
    info = _codes.get(id(frame.f_code)) or _code_spans(frame.f_code)
    dropped = info.drops.get(frame.f_lasti)
    if dropped is None:
        following = next((i for i in dis.get_instructions(info.code) if i.offset > frame.f_lasti), None)
        dropped = info.drops[frame.f_lasti] = following is not None and following.opname == "POP_TOP"
    return dropped


def user_traceback(traceback: TracebackType | None, *, with_numpy: bool = False) -> TracebackType | None:
    """`traceback` without the frames of the workbench and of NumPy. with_numpy: keep NumPy's."""

    def is_kept(entry: TracebackType) -> bool:
        filename = entry.tb_frame.f_code.co_filename
        return code_kind(filename) != INTERNAL or with_numpy and not os.path.abspath(filename).startswith(_PACKAGE)

    return kept_frames(traceback, is_kept)


_latest = threading.local()


def note_origin(error: BaseException, traceback: TracebackType | None) -> None:
    """Remember whether `error`, whose traceback is about to be cut, came out of the workbench or of NumPy."""
    last = traceback
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    is_ours = last is None or code_kind(last.tb_frame.f_code.co_filename) == INTERNAL
    _latest.users_own = None if is_ours else id(error)


def is_users_own(error: BaseException) -> bool:
    """Whether the latest error that left a trace in this thread is this one, and the user's code or a library's."""
    return getattr(_latest, "users_own", None) == id(error)


def raised_at(traceback: TracebackType | None) -> Span | None:
    """The innermost expression of the user's that `traceback` goes through."""
    last = user_traceback(traceback)
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return _code_spans(last.tb_frame.f_code).span(last.tb_lasti) if last is not None else None


def kept_frames(traceback: TracebackType | None, is_kept: Callable[[TracebackType], bool]) -> TracebackType | None:
    """`traceback` with those of its frames alone."""
    kept = []
    while traceback is not None:
        if is_kept(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


# ---- names: `name = <expression>` ----

_names: dict[str, tuple[list[str], dict[tuple[int, int, int, int], str]]] = {}
_names_lock = threading.Lock()


def assigned_name(span: Span) -> str:
    """The variable to which the statement around `span` assigns exactly this expression, or ""."""
    lines = linecache.getlines(span.filename)
    if not lines:  # code without source
        return ""
    cached = _names.get(span.filename)
    if cached is None or cached[0] is not lines:
        with _names_lock:
            cached = (lines, _collect_names(python_source(lines)))
            _names[span.filename] = cached
    return cached[1].get((span.line, span.col, span.end_line, span.end_col), "")


def python_source(lines: list[str]) -> str:
    """What Python compiled of a file, or of a cell, whose magic is its first line."""
    first, rest = lines[:1], lines[1:]
    return "".join(["\n", *rest] if first and first[0].startswith("%%") else lines)


def _collect_names(source: str) -> dict[tuple[int, int, int, int], str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    lines = source.splitlines()
    names: dict[tuple[int, int, int, int], str] = {}

    def column(line: int, col: int) -> int:
        text = lines[line - 1] if line <= len(lines) else ""
        return col if text.isascii() else len(text.encode()[:col].decode(errors="ignore"))

    def add(target: ast.expr, value: ast.expr | ast.stmt) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            if len(target.elts) == len(value.elts) and not any(isinstance(t, ast.Starred) for t in target.elts):
                for t, v in zip(target.elts, value.elts, strict=True):
                    add(t, v)
        elif isinstance(target, ast.Name) and value.end_lineno is not None and value.end_col_offset is not None:
            key = (
                value.lineno, column(value.lineno, value.col_offset),
                value.end_lineno, column(value.end_lineno, value.end_col_offset),
            )  # fmt: skip
            names[key] = target.id

    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                add(targets[0], value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                add(target, value)
            case ast.AugAssign(target=ast.Name() as target):
                add(target, node)  # the operation's position is the whole statement
    return names
