"""All fields, imported, so that the register is complete."""

from __future__ import annotations

from . import climate, dynamic, fluids, learning, linear_algebra, particles, signals, solvers, stencils
from .registry import PROGRAMS

FIELDS = (stencils, fluids, climate, solvers, linear_algebra, learning, signals, particles, dynamic)

__all__ = ["FIELDS", "PROGRAMS"]
