"""Fixtures: run a function or a cell through its traced program, in the reference evaluator, and compare with NumPy."""

import copy
import itertools
import linecache

import numpy as np
import optree
import pytest

from workbench.frontend.cells import trace_cell
from workbench.frontend.trace import trace
from workbench.ir.evaluate import eval_jaxpr

_numbers = itertools.count()


def _run(traced, args=(), kwargs=None):
    inputs = [*traced.flatten(args, kwargs or {}), *[c.read() for c in traced.captures]]
    inputs = [x if isinstance(x, np.ndarray) else np.asarray(x) for x in inputs]
    return traced.rebuild(eval_jaxpr(traced.jaxpr, *inputs), inputs)


@pytest.fixture
def run():
    """run(traced, args): what a call of the traced program returns."""
    return _run


@pytest.fixture
def call():
    """call(fn, *args): trace for these arguments, and run."""
    return lambda fn, *args, **kwargs: _run(trace(fn, args, kwargs), args, kwargs)


def _leaves(value):
    return optree.tree_leaves(value, none_is_leaf=True)


def _sharing(values):
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    return [np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2)]


@pytest.fixture
def assert_as_numpy():
    """assert_as_numpy(fn, *args): same values, types, mutations and sharing of memory as plain NumPy."""

    def check(fn, *args):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        expected = fn(*theirs)
        found = _run(trace(fn, ours, {}), ours)
        left, right = [*_leaves(found), *_leaves(ours)], [*_leaves(expected), *_leaves(theirs)]
        assert optree.tree_structure(found) == optree.tree_structure(expected)
        for a, b in zip(left, right, strict=True):
            assert type(a) is type(b)
            if isinstance(b, np.ndarray | np.generic):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b, strict=isinstance(b, np.ndarray))
            else:
                assert a == b
        assert _sharing(left) == _sharing(right)
        return found

    return check


class Cell:
    """A traced cell and how to run it."""

    def __init__(self, source, namespace, **options):
        self.filename = f"<cell {next(_numbers)}>"
        linecache.cache[self.filename] = (len(source), None, source.splitlines(True), self.filename)
        self.namespace = namespace
        self.traced = trace_cell(source, namespace, filename=self.filename, **options)

    def run(self):
        inputs = [np.asarray(c.read()) for c in self.traced.captures]
        return self.traced.rebuild(eval_jaxpr(self.traced.jaxpr, *inputs), inputs)


@pytest.fixture
def cell():
    """cell(source, namespace, **options) -> Cell."""
    return Cell
