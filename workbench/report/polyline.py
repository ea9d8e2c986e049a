"""Geometry of routed edges: rounded paths, middles, arrow heads. Mirrors extension/src/graph.ts."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

Point = tuple[float, float]


def rounded_path(points: Sequence[Point], radius: float = 10.0) -> str:
    """An SVG path through the points, its corners rounded."""
    path = f"M{_pair(points[0])}"
    for i, corner in enumerate(points[1:], 1):
        if i == len(points) - 1:
            return path + f"L{_pair(corner)}"
        before, after = points[i - 1], points[i + 1]
        near = min(radius, dist(before, corner) / 2, dist(corner, after) / 2)
        path += f"L{_pair(_towards(corner, before, near))}Q{_pair(corner)} {_pair(_towards(corner, after, near))}"
    return path


def middle(points: Sequence[Point]) -> Point:
    """The middle of a polyline, by length."""
    lengths = [dist(a, b) for a, b in zip(points, points[1:], strict=False)]
    left = sum(lengths) / 2
    for a, b, length in zip(points, points[1:], lengths, strict=False):
        if left <= length:
            return _towards(a, b, left)
        left -= length
    return points[0]


def arrow_head(points: Sequence[Point], length: float = 8.0, width: float = 7.0) -> list[Point]:
    """The three corners of an arrow's head at the end of the points."""
    tip, origin = points[-1], points[-2]
    base = _towards(tip, origin, length)
    size = dist(origin, tip) or 1.0
    dx, dy = (tip[1] - origin[1]) / size * width / 2, (origin[0] - tip[0]) / size * width / 2
    return [tip, (base[0] + dx, base[1] + dy), (base[0] - dx, base[1] - dy)]


def _towards(origin: Point, target: Point, length: float) -> Point:
    part = length / (dist(origin, target) or 1.0)
    return origin[0] + (target[0] - origin[0]) * part, origin[1] + (target[1] - origin[1]) * part


def _pair(point: Point) -> str:
    return f"{round(point[0], 1):g} {round(point[1], 1):g}"
