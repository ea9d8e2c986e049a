"""Lists and dicts that the code makes and returns in several places are one object in the result, too."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import workbench as wb

Pair = namedtuple("Pair", "a b")
X = np.arange(3.0)


def nested(x):
    rows = [x + 1]
    table = {"first": rows, "second": rows}
    return rows, (table, [table, rows])


def itself(x):
    rows = [x.sum()]
    rows.append(rows)
    return rows


def in_named_tuples(x):
    rows = [x * 2, {"x": x}]
    return Pair(rows, (rows[1], rows))


def dict_of_itself(x):
    table = {"b": x + 1}
    table["a"] = table
    return table


def places(value, seen=None, path=()):
    """Every path to a list or dict, with the first path to the same one."""
    seen = {} if seen is None else seen
    if not isinstance(value, list | dict | tuple):
        return {}
    found = {}
    if not isinstance(value, tuple):
        found[path] = seen.setdefault(id(value), path)
        if found[path] != path:
            return found
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found |= places(item, seen, (*path, key))
    return found


@pytest.mark.parametrize("function", [nested, itself, in_named_tuples, dict_of_itself])
def test_what_is_one_object_in_numpy_is_one_object(function):
    compiled = wb.jit(function)
    first, second = compiled(X), compiled(X)
    assert not compiled.fallbacks
    assert places(first) == places(second) == places(function(X))
    assert set(map(id, [first])).isdisjoint(map(id, [second]))


def test_in_a_trace_too():
    @wb.jit
    def outer(x):
        rows, (table, _) = inner(x)
        rows.append(x)
        return table

    inner = wb.jit(nested)
    table = outer(X)
    assert table["first"] is table["second"]
    np.testing.assert_array_equal(np.stack(table["first"]), [X + 1, X])


def test_an_ordered_dict_that_holds_one_is_left_to_numpy():
    @wb.jit
    def f(x):
        rows = [x.sum()]
        return rows, OrderedDict(rows=rows)

    rows, table = f(X)
    assert table["rows"] is rows
    assert "known under another name" in str(f.fallbacks[0])
