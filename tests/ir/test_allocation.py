"""The collector rests while programs are built, and is left as it was."""

import gc

import numpy as np
import pytest

import workbench as wb
from workbench.ir.allocation import without_collection


@pytest.fixture(params=[True, False], ids=["collecting", "not collecting"])
def collecting(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_collector_rests_while_a_program_is_built(collecting):
    @without_collection
    def build():
        return without_collection(gc.isenabled)()

    assert build() is False
    assert gc.isenabled() is collecting


def test_an_error_while_tracing_leaves_the_collector_as_it_was(collecting):
    def f(x):
        return x @ np.ones(7)

    with pytest.raises(ValueError):
        wb.make_jaxpr(f)(np.ones(3))
    assert gc.isenabled() is collecting


def test_a_call_leaves_the_collector_as_it_was(collecting):
    f = wb.jit(lambda x: np.sqrt(x) * 2)
    assert np.array_equal(f(np.ones(3)), np.full(3, 2.0))
    assert gc.isenabled() is collecting
