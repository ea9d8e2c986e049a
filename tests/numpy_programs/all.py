"""All fields, imported, so that the register is complete."""

from __future__ import annotations

from . import (
    chance,
    climate,
    dense,
    dynamic,
    fluids,
    grids,
    habits,
    learning,
    linear_algebra,
    mixed,
    networks,
    objects,
    optimisation,
    particles,
    sequences,
    signals,
    solvers,
    stencils,
    tallies,
    worklists,
)
from .registry import PROGRAMS

FIELDS = (
    stencils, grids, fluids, climate, solvers, dense, linear_algebra, learning, networks, objects, signals, particles, dynamic,
    sequences, habits, worklists, chance, mixed, optimisation, tallies,
)  # fmt: skip

__all__ = ["FIELDS", "PROGRAMS"]
