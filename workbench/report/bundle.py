"""What a notebook stores of a report: data for our renderer, HTML for every other front end, text for a terminal."""

from __future__ import annotations

import time
from typing import Any

from .compact import compact
from .convert import to_plain
from .html import to_fragment
from .schema import MIME_TYPE, CompileReport
from .strip import strip_of

# The strip is to appear at once; assembly that takes longer to write is fetched when it is looked at.
TEXTS_S = 0.03


def to_bundle(report: CompileReport) -> dict[str, Any]:
    load_texts(report, TEXTS_S)
    return {
        MIME_TYPE: compact(to_plain(report, loaded_only=True)),
        "text/html": to_fragment(report),
        "text/plain": strip_of(report).text,
    }


def load_texts(report: CompileReport, budget_s: float) -> None:
    """Write the LLVM and assembly of kernels, those that take most of the time first, until the budget is spent."""
    begin = time.perf_counter()
    for kernel in sorted(report.kernels, key=lambda k: -(k.share or 0.0)):
        for text in (kernel.llvm, kernel.asm):
            if text is not None and not text.is_loaded:
                if time.perf_counter() - begin > budget_s:
                    return
                try:
                    text.head  # noqa: B018  # reading it writes it
                except Exception:  # noqa: BLE001  # a report without assembly is better than none
                    continue
