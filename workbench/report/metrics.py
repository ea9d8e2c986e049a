"""How wide text is, estimated without a font: an upper bound for the sans and monospaced faces that are likely.

Boxes are sized by it before anyone knows which font draws them, so it errs on the wide side.
"""

from __future__ import annotations

import unicodedata

MONO_EM = 0.612  # DejaVu Sans Mono, the widest of the usual ones, is 0.602
BOLD = 1.09
_NARROW = frozenset("ijlI|.,:;'`![]()ft ")
_WIDE = frozenset("mwMW@%&—…→×←")


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """The width of one line of text in pixels at a font size in pixels."""
    if mono:
        ems = sum(2 * MONO_EM if _is_full_width(char) else MONO_EM for char in text)
    else:
        ems = sum(map(_sans_em, text)) * (BOLD if bold else 1.0)
    return ems * size


def fit(text: str, width: float, size: float, *, bold: bool = False, mono: bool = False) -> str:
    """`text`, or what fits of its head and its tail, joined by an ellipsis. The tail matters: names end in numbers."""
    if text_width(text, size, bold=bold, mono=mono) <= width:
        return text
    for kept in range(len(text) - 1, 1, -1):
        tail = kept // 3
        short = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if text_width(short, size, bold=bold, mono=mono) <= width:
            return short
    return "…"


def wrap(text: str, width: float, size: float, *, bold: bool = False, breaks: str = " _·") -> list[str]:
    """`text` in lines that fit `width`, broken after one of `breaks` where there is one, anywhere else where not."""
    lines: list[str] = []
    line = ""
    for word in _words(text, breaks):
        if line and text_width(line + word.rstrip(), size, bold=bold) > width:
            lines.append(line.rstrip())
            line = ""
        while text_width(word.rstrip(), size, bold=bold) > width and len(word) > 1:
            cut = max(1, next(i for i in range(1, len(word) + 1) if text_width(word[:i], size, bold=bold) > width) - 1)
            lines.append(line + word[:cut])
            line, word = "", word[cut:]
        line += word
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _words(text: str, breaks: str) -> list[str]:
    words = [""]
    for char in text:
        words[-1] += char
        if char in breaks:
            words.append("")
    return [word for word in words if word]


def _sans_em(char: str) -> float:
    if char in _NARROW:
        return 0.40
    if char in _WIDE:
        return 1.0
    if _is_full_width(char):
        return 1.05
    if char.isupper():
        return 0.74
    return 0.635


def _is_full_width(char: str) -> bool:
    return ord(char) > 0x2E80 and unicodedata.east_asian_width(char) in "WF"
