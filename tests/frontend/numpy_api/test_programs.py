"""Whole random programs: traced, and run in the reference evaluator, they are NumPy's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.programs import Program, programs, random_program
from workbench.errors import TracingError

from .differential import quietly, run_traced


def assert_traces_as_numpy(program: Program) -> bool:
    """False where the program is refused (a statement that runs in NumPy)."""
    inputs = program.make_inputs()
    results, error = quietly(run_traced, program.function(), *inputs.values())
    if isinstance(error, TracingError):
        return False
    if error is not None:
        raise AssertionError(f"{error!r}\n\n{program}") from error
    program.check({n: x for n, x in inputs.items() if n not in program.outputs} | results)
    return True


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_drawn_programs(program):
    if not program.aliases:
        assert_traces_as_numpy(program)


@pytest.mark.parametrize("part", range(8))
def test_seeded_programs_and_few_are_refused(part):
    drawn = [random_program(seed) for seed in range(250 * part, 250 * (part + 1))]
    compiled = [assert_traces_as_numpy(program) for program in drawn if not program.aliases]
    assert sum(compiled) > 0.85 * len(compiled)


def test_a_program_is_its_seed():
    first, second = random_program(7), random_program(7)
    assert first.source == second.source
    first.check(second.run())


def test_make_inputs_keeps_layouts_and_shares_nothing():
    for seed in range(30):
        program = random_program(seed)
        for name, x in program.make_inputs().items():
            assert x.strides == program.inputs[name].strides or x.size == 0
            assert not np.shares_memory(x, program.inputs[name])


def test_the_function_has_a_source_that_can_be_found():
    function = random_program(3).function()
    assert inspect.getsource(function).startswith("def program(")


def test_a_wrong_value_is_found():
    program = random_program(0)
    results = program.run()
    name = next(n for n, v in results.items() if np.size(v) and v.dtype.kind != "b")
    results[name] = results[name] + results[name].dtype.type(1)
    with pytest.raises(AssertionError, match=name):
        program.check(results)
