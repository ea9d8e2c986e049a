"""Whole random programs (`tests.fuzz`): traced and run in the reference evaluator, and compiled, they are NumPy's."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest

from tests.fuzz.differential import Case, reduce
from tests.fuzz.inputs import Input
from tests.fuzz.programs import Program, random_program
from workbench.errors import TracingError

from .differential import run_traced


def traces_as_numpy(program: Program) -> bool:
    """False where the program is refused (a statement that runs in NumPy)."""
    case = Case(program, lambda function: partial(run_traced, function), redoes=False)
    try:
        for which in range(len(program.sizes)):
            case.check(which)
    except TracingError:
        return False
    except Exception as error:
        raise AssertionError(f"seed {program.seed}: {error!r}\n{program.inputs}\n{program.source}") from error
    return True


@pytest.mark.parametrize("part", range(8))
def test_programs_trace_as_numpy_and_few_are_refused(part):
    traced = [traces_as_numpy(random_program(seed)) for seed in range(75 * part, 75 * (part + 1))]
    assert sum(traced) > 0.7 * len(traced)


@pytest.mark.parametrize("part", range(6))
def test_programs_compile_as_numpy(part):
    for seed in range(1000 + 5 * part, 1005 + 5 * part):
        program = random_program(seed)
        case = Case(program)
        for which in range(len(program.sizes)):
            case.check(which)


def a_program(text: str, results: str = "a", *, dtype: str = "float64", second: str = "float64") -> Program:
    """Statements over `a`, a matrix, and `b`, a vector."""
    inputs = (
        Input("a", "array", np.dtype(dtype), ("n", "m"), "C", 0.1),
        Input("b", "array", np.dtype(second), ("m",), "C", 0.0),
    )
    sizes = ({"n": 4, "m": 3}, {"n": 1, "m": 5})
    return Program(0, inputs, sizes, tuple(text.split("; ")), tuple(results.split(", ")), frozenset())


FOUND = (  # by longer searches, cut down
    a_program("t = np.asarray(max(np.float64(2.5), 2) if (a == a).all() else min(np.float64(2.5), 1))", "t"),
    a_program("t = a.T; t += np.int64(3) if (b > 0).any() else 1", "t, a", dtype="uint8"),
    a_program("t = np.asarray(max(b.flat[0], 2))", "t", second="complex128"),
    a_program("t = np.asarray(min(0.5, b.flat[-1]))", "t", second="float32"),
    a_program("t = np.multiply.outer(b, 2.0)", "t", second="float32"),
    a_program("np.copyto(a, np.nan, casting='unsafe')", dtype="int32"),
)  # fmt: skip


@pytest.mark.parametrize("program", FOUND, ids=lambda program: program.statements[-1])
def test_programs_that_went_wrong_once(program):
    case = Case(program)
    for which in range(len(program.sizes)):
        case.check(which)


def test_a_program_is_its_seed():
    assert random_program(7) == random_program(7)


def test_the_function_has_a_source_that_can_be_found():
    assert inspect.getsource(random_program(3).function()).startswith("def program(")


def test_a_wrong_value_a_wrong_write_and_a_wrong_error_are_found():
    def wrongly(function):
        def run(a, b):
            result = function(a, b)
            a[0, 0] += 1
            return result

        return run

    with pytest.raises(AssertionError, match="a at"):
        Case(a_program("t = a * 2", "t"), wrongly).check(0)
    with pytest.raises(AssertionError, match="t at"):
        Case(a_program("t = a * 2", "t"), lambda function: lambda a, b: a * 3).check(0)
    with pytest.raises(AssertionError, match="NumPy raises"):
        Case(a_program("t = a @ a[:, 0]", "t"), lambda function: lambda a, b: a).check(1)


def test_a_failing_program_is_cut_down():
    program = a_program("c = a * 2; for i in range(3):\n    if i > 1:\n        c = c + 1\n    a += 1; b -= 1", "c, b")

    small = reduce(program, lambda candidate: "a += 1" in candidate.source)
    assert small.statements == ("a += 1",)
