"""Numbers as people read them: three digits and a unit. Mirrors extension/src/format.ts, so that every form of a report
says the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_TIMES = ((60_000.0, "min"), (1_000.0, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_FLOPS = ((1e12, "Tflop"), (1e9, "Gflop"), (1e6, "Mflop"), (1e3, "kflop"), (1.0, "flop"))


def three_digits(x: float) -> str:
    if x == 0:
        return "0"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    written = f"{x:.{digits}f}"
    return written.rstrip("0").rstrip(".") if digits else written


def _scaled(x: float, units: Sequence[tuple[float, str]]) -> str:
    # The margin keeps 999.6 from being written "1000 kB".
    size, unit = next(((s, u) for s, u in units if abs(x) >= s * 0.9995), units[-1])
    return f"{three_digits(x / size)} {unit}"


def time(ms: float) -> str:
    return _scaled(ms, _TIMES)


def size(n_bytes: float) -> str:
    return _scaled(n_bytes, _SIZES)


def flops(n: float) -> str:
    return _scaled(n, _FLOPS)


def integer(n: float) -> str:
    return f"{n:,.0f}"


def percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.01 else f"{share * 100:.0f} %"


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{integer(n)} {noun if n == 1 else plural or noun + 's'}"


def ago(runs: int) -> str:
    """` 2 runs ago`; "" for the run itself."""
    return f" {count(runs, 'run')} ago" if runs else ""


def ulp(most: float | None) -> str:
    if most is None:
        return "ulp unknown"
    if most == 0:
        return "bit for bit"
    written = three_digits(most) if most < 10_000 else f"{most:.0e}".replace("e+0", "e+")
    return f"{written} ulp"


def speedup(ratio: float) -> tuple[str, str]:
    """A sign that is not a colour, and words: how much faster than NumPy."""
    if ratio >= 1.05:
        return "▲", f"{_two_digits(ratio)}× NumPy"
    if 0 < ratio <= 0.95:
        return "▼", f"{_two_digits(1 / ratio)}× slower than NumPy"
    return "=", "level with NumPy"


def _two_digits(x: float) -> str:
    return f"{x:.1f}" if x < 10 else f"{x:.0f}"


# ---- text from outside ----

# What moves the cursor, changes colours or reorders a line: shown, never sent.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def visible(text: str) -> str:
    """`text` with the characters that would act on a terminal or turn a line around written as escapes."""
    return _ACTING.sub(lambda match: _escaped(ord(match[0])), text)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code > 255 else f"\\x{code:02x}"


def columns(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
