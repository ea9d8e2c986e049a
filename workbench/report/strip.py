"""The strip: what happened, in the words that stand under a cell. The front end says the same from the same data.

Numbers that were not measured are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import words
from .schema import CompileReport, Summary

WIDTH = 100
# status -> icon, words. The icons differ in shape, so that nothing depends on colour.
FACES = {
    "compiled": ("✔", "compiled"),
    "cached": ("✔", "cached"),
    "recompiled": ("↻", "recompiled"),
    "partly": ("◐", "partly compiled"),
    "numpy": ("○", "ran in NumPy"),
    "compiling": ("◔", "first result from NumPy while kernels compile"),
    "empty": ("∅", "no array operation"),
    "failed": ("✘", "failed"),
}


@dataclass(frozen=True, slots=True)
class Strip:
    """facts: of the first line, after the status; more: of the second; reason: why it was not compiled, or ""."""

    icon: str
    status: str
    facts: tuple[str, ...]
    more: tuple[str, ...]
    reason: str = ""

    @property
    def text(self) -> str:
        lines = _lines(f" {self.icon} {self.status}", self.facts) + _lines("", self.more)
        return "\n".join([*lines, *(f"   {line}" for line in self.reason.splitlines())])


def _lines(line: str, facts: Sequence[str]) -> list[str]:
    """Facts behind each other, as many as fit in a line."""
    lines, gap = [], "  "
    for fact in facts:
        if line.strip() and words.columns(line + gap + fact) > WIDTH:
            lines.append(line)
            line, gap = "", "   "
        line += (gap if line.strip() else "   ") + fact
        gap = "   "
    return [*lines, line] if line.strip() else lines


def strip_of(report: CompileReport) -> Strip:
    icon, status = FACES.get(report.status, ("○", report.status))
    return Strip(icon, status, tuple(_facts(report)), tuple(_more(report)), _reason(report))


def _facts(report: CompileReport) -> list[str]:
    summary = report.summary
    facts: list[str] = []
    if report.status == "empty":
        return facts
    if report.status in ("numpy", "failed"):
        facts += list(dict.fromkeys(fallback.code for fallback in report.fallbacks if fallback.code))[:3]
    if summary.n_ops:
        facts.append(operations(report))
    if summary.time_ms is not None:
        facts.append(words.time(summary.time_ms))
    if summary.speedup is not None and report.status not in ("numpy", "failed"):
        facts.append(words.speedup(summary.speedup)[1])
    if summary.bytes_saved > 0:
        facts.append(f"{words.size(summary.bytes_saved)} less traffic")
    if report.verification is not None:
        found = report.verification
        verdict = f"✓ same result{words.ago(found.runs_ago)}" if found.ok else "⚠ differs from NumPy"
        facts.append(f"{verdict} ({words.ulp(found.max_ulp)})")
    return facts


def operations(report: CompileReport) -> str:
    """`2 kernels + 1 library call ← 9 ops`."""
    summary = report.summary
    ops, parts = words.count(summary.n_ops, "op"), steps(summary)
    return f"{' + '.join(parts)} ← {ops}" if parts else ops


def steps(summary: Summary) -> list[str]:
    """How many steps of each kind there are."""
    counts = (
        (summary.n_kernels, "kernel", "kernels"),
        (summary.n_loops, "loop", "loops"),
        (summary.n_branches, "branch", "branches"),
        (summary.n_library_calls, "library call", "library calls"),
        (summary.n_numpy_steps, "NumPy step", "NumPy steps"),
    )
    return [words.count(n, one, many) for n, one, many in counts if n]


def _more(report: CompileReport) -> list[str]:
    summary, more = report.summary, []
    if report.machine.device:
        more.append(f"{report.machine.device} · {words.count(report.machine.threads, 'thread')}")
    if report.changed:
        more.append(f"changed: {report.changed}")
    share = compiled_share(report)
    if share is not None:
        more.append(f"{words.percent(share)} of the time in kernels and libraries")
    if summary.compile_ms > 0 and report.status != "empty":
        verb = "loaded" if report.status == "cached" else "compiled"
        more.append(f"{verb} in {words.time(summary.compile_ms)}{pays_off(report)}")
    if summary.n_boundaries:
        more.append(words.count(summary.n_boundaries, "boundary", "boundaries"))
    return more


def pays_off(report: CompileReport) -> str:
    """` → pays off after 12 runs`, also where that is never; "" where NumPy was not timed."""
    summary = report.summary
    if summary.pays_off_after is not None:
        return f" → pays off after {words.count(summary.pays_off_after, 'run')}"
    if summary.numpy_ms is not None and summary.time_ms is not None:
        return " → never pays off at this size"
    return ""


def compiled_share(report: CompileReport) -> float | None:
    """Of a partly compiled cell: the share of the profiled run that was not spent in NumPy."""
    if report.status != "partly":
        return None
    total = math.fsum(bar.time_ms for bar in report.timings.timeline)
    slow = {node.id for node in report.graph.nodes if node.kind == "numpy"}
    if total <= 0 or not slow:
        return None
    return 1 - math.fsum(bar.time_ms for bar in report.timings.timeline if bar.step in slow) / total


def _reason(report: CompileReport) -> str:
    """In the user's words, the first line of it: the rest is in the report."""
    if report.status not in ("numpy", "failed"):
        return ""
    return next((line for line in report.reason.splitlines() if line.strip()), "").strip()
