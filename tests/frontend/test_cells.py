"""Cells: inputs found in the namespace, every assigned name kept, the namespace untouched until the program ran."""

import math

import numpy as np
import pytest

from workbench.errors import SideEffectError, TracingError


@pytest.fixture
def namespace():
    space = {"np": np, "math": math, "x": np.arange(6.0).reshape(2, 3), "lr": 0.5, "n": 3, "names": ["a"]}
    exec("def scaled(v):\n    return v * scale\n\nscale = 2.0\n", space)
    return space


def test_a_cell_reads_its_inputs_and_keeps_what_it_assigns(cell, namespace):
    c = cell("y = x * lr\n_t = y + 1\nz = _t.sum()\nk = n + 1\n", namespace)
    values, last = c.run()
    assert c.traced.inputs == ("x", "lr")
    assert c.traced.outputs == ("y", "z", "k")
    np.testing.assert_array_equal(values["y"], namespace["x"] * 0.5)
    assert type(values["z"]) is np.float64
    assert values["k"] == 4
    assert last is None and not c.traced.has_last
    assert "y" not in namespace


def test_the_last_expression_is_given_back(cell, namespace):
    c = cell("y = x + 1\ny.sum()", namespace)
    values, last = c.run()
    assert list(values) == ["y"]
    assert last == 21.0
    assert c.traced.last_expression is not None
    assert cell("3 + 4", namespace).run() == ({}, 7)


def test_out_keeps_only_what_it_names(cell, namespace):
    values, _ = cell("a = x + 1\nb = a * 2\n_c = b", namespace, out=("b", "_c")).run()
    assert set(values) == {"b", "_c"}
    with pytest.raises(NameError, match="nothing"):
        cell("a = x", namespace, out=("nothing",))


def test_functions_of_the_notebook_see_what_the_cell_assigns(cell, namespace):
    values, _ = cell("scale = x.max()\ny = scaled(x)", namespace).run()
    np.testing.assert_array_equal(values["y"], namespace["x"] * 5)
    assert namespace["scale"] == 2.0


def test_augmented_assignment_mutates_arrays_and_rebinds_numbers(cell, namespace):
    x, alias = namespace["x"], namespace["x"][0]
    c = cell("x += 1\nlr *= 2", namespace)
    assert len(c.traced.writes) == 1
    values, _ = c.run()
    assert values["x"] is x
    np.testing.assert_array_equal(alias, [1.0, 2.0, 3.0])
    assert values["lr"] == 1.0 and type(values["lr"]) is float


def test_views_that_a_cell_keeps_share_memory(cell, namespace):
    values, _ = cell("y = x * 2\nrow = y[0]\ncol = x[:, 0]", namespace).run()
    values["row"][0] = 50.0
    assert values["y"][0, 0] == 50.0
    assert np.shares_memory(values["col"], namespace["x"])


def test_functions_imports_and_classes_made_in_a_cell_are_ordinary(cell, namespace):
    source = """
import numpy as xp
from math import tau

def double(v):
    return xp.zeros(3) + v * 2

class Box:
    def __init__(self, v):
        self.v = v
    def total(self):
        return np.sum(self.v) + tau

y = double(1.0) + Box(x).total()
parts = [row.sum() for row in x]
"""
    values, _ = cell(source, namespace).run()
    namespace.update(values)
    assert values["xp"] is np
    assert values["double"].__globals__ is namespace
    assert type(values["double"](2.0)) is np.ndarray
    assert values["Box"](np.ones(3)).total() == 3 + math.tau
    np.testing.assert_array_equal(values["y"], 2.0 + 15.0 + math.tau)
    assert values["parts"] == [3.0, 12.0]


def test_a_rerun_sees_new_floats_and_guards_ints(cell, namespace):
    c = cell("y = x * lr + n", namespace)
    namespace["lr"] = 3.0
    np.testing.assert_array_equal(c.run()[0]["y"], namespace["x"] * 3 + 3)
    assert all(g.holds() for g in c.traced.guards)
    namespace["n"] = 4
    assert not all(g.holds() for g in c.traced.guards)


def test_deleted_names_are_told(cell, namespace):
    c = cell("y = x + 1\nx = y\ndel y, lr", namespace)
    values, _ = c.run()
    assert list(values) == ["x"]
    assert c.traced.removed == ("lr",)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("y = x +", SyntaxError, "invalid syntax"),
        ("y = x + 1\nz = undefined + 1", NameError, "name 'undefined' is not defined"),
        ("y = x + np.ones(4)", ValueError, r"operands could not be broadcast together with shapes \(2,3\) \(4,\)"),
        ("y = x @ x", ValueError, "mismatch in its core dimension 0"),
        ("y = x[5]", IndexError, "index 5 is out of bounds for axis 0 with size 2"),
        ("y = x.nothing", AttributeError, "'numpy.ndarray' object has no attribute 'nothing'"),
        ("if x: pass", ValueError, "truth value of an array with more than one element is ambiguous"),
        ("y = {x: 1}", TypeError, "unhashable type: 'numpy.ndarray'"),
        ("y = np.exp(x, 3)", TypeError, "."),
        ("y = int(x)", TypeError, "only 0-dimensional arrays can be converted|only length-1 arrays"),
    ],
)
def test_mistakes_raise_numpys_own_error_at_the_users_line(source, error, message, cell, namespace):
    before = dict(namespace)
    with pytest.raises(error, match=message) as caught:
        cell(source, namespace)
    assert not isinstance(caught.value, TracingError)
    assert namespace == before or namespace.keys() == before.keys()
    if error is not SyntaxError:
        frames = [entry for entry in caught.traceback if str(entry.path).startswith("<cell") or "<cell" in str(entry)]
        assert frames, "the user's line is in the traceback"
        assert caught.traceback[-1] == frames[-1], "and ours are not below it"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("print(x)", SideEffectError),
        ("y = x + np.random.rand()", SideEffectError),
        ("names.pop()", SideEffectError),
        ("y = x if x.sum() > 0 else x[1:]", TracingError),
        ("import os\nos.getcwd()", SideEffectError),
        ("exec('y = 1')", SideEffectError),
        ("o = object()", TracingError),
    ],
)
def test_cells_that_cannot_be_traced_say_so_before_anything_happened(source, error, cell, namespace, capsys):
    with pytest.raises(error) as caught:
        cell(source, namespace)
    assert caught.value.code.startswith("WB1")
    assert namespace["names"] == ["a"]
    assert capsys.readouterr().out == ""


def test_names_of_the_cell_are_hints_of_the_program(cell, namespace):
    c = cell("y = x * 2\nz = np.sqrt(y) + 1\nw: object = z", namespace)
    assert [eqn.outvars[0].hint for eqn in c.traced.jaxpr.eqns] == ["y", "", "z"]
    assert [eqn.origin.name for eqn in c.traced.jaxpr.eqns] == ["y", "", "z"]
    assert [eqn.origin.op for eqn in c.traced.jaxpr.eqns] == ["multiply", "sqrt", "add"]
    assert c.traced.output_names == ("y", "z", "z")


def test_global_statements_in_functions_assign_names_of_the_cell(cell, namespace):
    values, _ = cell("def f():\n    global g\n    g = x + 1\nf()", namespace).run()
    np.testing.assert_array_equal(values["g"], namespace["x"] + 1)


def test_comprehensions_generators_and_lambdas(cell, namespace):
    source = "y = sum(v * lr for v in x)\nz = [i * n for i in range(3)]\nf = lambda v: v + n\nw = f(x)"
    values, _ = cell(source, namespace).run()
    np.testing.assert_array_equal(values["y"], [1.5, 2.5, 3.5])
    assert values["z"] == [0, 3, 6]
    np.testing.assert_array_equal(values["w"], namespace["x"] + 3)
