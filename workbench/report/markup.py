"""Markup with everything escaped: the one place where text becomes HTML or SVG."""

from __future__ import annotations

import html
import re

from .words import visible

# What XML cannot hold at all: an image with one of these would not be drawn.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def text_of(text: str) -> str:
    """`text` between tags."""
    return html.escape(_NOT_XML.sub("\ufffd", visible(text)), quote=False)


def attribute(text: str) -> str:
    """`text` as the value of a quoted attribute."""
    return html.escape(_NOT_XML.sub("\ufffd", visible(text)), quote=True)


def tag(name: str, content: str | None = None, **attributes: str | float) -> str:
    """An element. content: markup, already escaped. Numbers are rounded to a tenth of a pixel."""
    written = "".join(f' {key}="{attribute(_number(value))}"' for key, value in attributes.items())
    return f"<{name}{written}/>" if content is None else f"<{name}{written}>{content}</{name}>"


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 1):g}"


def path_of(points: list[tuple[float, float]]) -> str:
    """A closed path through the points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
