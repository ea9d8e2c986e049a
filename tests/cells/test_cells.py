"""Cells as people write them leave what Python leaves, and print what it prints."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest

from workbench.notebook.cells import run_cell

from .programs import compare, programs

PROGRAMS = programs()
# What a cell may be once its kernels are there; others have a loop that stays Python's.
COMPILED = frozenset((
    "adam", "bandit", "boids_by_matrices", "convolution_2d_loops", "fixed_point_exhausted", "floyd_steinberg", "gray_scott", "hopfield",
    "lorenz", "ray_march", "relaxation_of_what_is_there", "relaxation_until_still", "relaxation_with_a_break",
    "relaxation_with_history", "em_gmm", "gd_print", "heat_2d_plot_data", "history_dict", "ising_energy_trace", "mlp_two_layer",
    "monte_carlo_py", "q_learning", "random_walks_plot", "search_else", "sir_euler", "wave_list_states",
))  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_cell_does_what_python_does(name):
    program = PROGRAMS[name]
    expected = program.names()
    printed = program.run(expected)
    for _ in range(2):
        mine, out = program.names(), io.StringIO()
        with contextlib.redirect_stdout(out), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = run_cell(program.cell, mine, filename=program.filename).report
        assert out.getvalue() == printed
        compare(mine, expected)
        assert report.status != "failed", report.reason
    assert name not in COMPILED or report.summary.n_loops, report.reason
