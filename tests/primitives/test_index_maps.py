"""Index maps: every rule, at every index, reads what the implementation puts there."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.ir import Aval, aval_of
from workbench.ir.primitive import REGISTRY
from workbench.primitives.lowering import IndexMap

from .contexts import IndexTestContext, SymbolicContext
from .samples import CASES, Case, numbered

INDEX_MAPS = sorted(name for name, p in REGISTRY.items() if isinstance(p.lowering, IndexMap))


@pytest.mark.parametrize("context", [IndexTestContext, SymbolicContext])
@pytest.mark.parametrize("name", INDEX_MAPS)
def test_rule_reads_what_the_impl_gives(name: str, context: type[IndexTestContext]) -> None:
    tried = 0
    for case in CASES[name](np.random.default_rng(1)):
        if case.name == name:
            (out,) = case.primitive.abstract_eval(*map(aval_of, case.operands), **case.params)
            expected = case.primitive.impl(*case.operands, **case.params)
            found = context(case.operands, out, case.params).result(case.primitive)
            np.testing.assert_array_equal(found, expected, err_msg=repr(case))
            tried += out.size > 0
    assert tried >= 5


def text(name: str, *shapes: tuple[int, ...], **params: object) -> str:
    operands = tuple(numbered(shape) for shape in shapes)
    (out,) = REGISTRY[name].abstract_eval(*map(aval_of, operands), **params)
    return SymbolicContext(operands, out, params).text(REGISTRY[name])


def _reshape(old: tuple[int, ...], new: tuple[int, ...]) -> str:
    return text("reshape", old, new_sizes=new, dimensions=None)


def test_reshape_keeps_indices_direct_where_axes_stay() -> None:
    assert _reshape((3, 4), (3, 1, 4)) == "x0[i0, i2]"
    assert _reshape((1, 5, 1), (5,)) == "x0[0, i0, 0]"
    assert _reshape((3, 4, 5), (3, 20)) == "x0[i0, i1 // x0_size2, i1 % x0_size2]"
    assert _reshape((12, 5), (3, 4, 5)) == "x0[i0 * out_size1 + i1, i2]"


def _slice(shape: tuple[int, ...], start: int, limit: int, stride: int = 1) -> str:
    params = {"start_indices": (start,), "limit_indices": (limit,), "strides": (stride,)}
    return text("slice", shape, **params)


def test_a_new_shape_gives_the_same_text() -> None:
    assert _reshape((6, 8), (8, 6)) == _reshape((10, 4), (4, 10))
    assert _slice((9,), 1, 8) == _slice((99,), 1, 98) == "x0[i0 + 1]"
    assert _slice((9,), 4, 8, 3) == _slice((99,), 5, 98, 4)
    same = {text("concatenate", (n,), (m,), dimension=0) for n, m in ((3, 4), (10, 20))}
    assert same == {"(x0[i0] if i0 < x0_size0 else x1[i0 - x0_size0])"}
    assert text("rev", (4,), dimensions=(0,)) == "x0[x0_size0 - 1 - i0]"


def test_pad_asks_only_where_it_pads() -> None:
    assert text("pad", (4,), (), padding_config=((-1, -1, 0),)) == "x0[i0 + 1]"
    assert text("pad", (4,), (), padding_config=((0, 1, 0),)) == "(x0[i0] if i0 < x0_size0 else x1[])"
    assert text("pad", (4, 4), (), padding_config=((1, 0, 0), (0, 0, 0))) == "(x0[i0 - 1, i1] if i0 - 1 >= 0 else x1[])"


def test_update_of_whole_rows_asks_about_rows_only() -> None:
    found = text("update_slice", (9, 5), (7, 5), start_indices=(1, 0), strides=(1, 1))
    assert found == "(x1[i0 - 1, i1] if i0 - 1 >= 0 and i0 - 1 < x1_size0 else x0[i0, i1])"
    assert text("update_slice", (9, 5), (9, 5), start_indices=(0, 0), strides=(1, 1)) == "x1[i0, i1]"


F64 = np.dtype(np.float64)
X = Aval((2, 3), F64)


@pytest.mark.parametrize(
    ("name", "avals", "params", "error", "message"),
    [
        ("reshape", (X,), {"new_sizes": (4,)}, ValueError, "cannot reshape array of size 6"),
        ("reshape", (X,), {"new_sizes": (-2, -3)}, ValueError, "cannot reshape"),
        ("transpose", (X,), {"permutation": (0, 0)}, ValueError, "no permutation"),
        ("squeeze", (X,), {"dimensions": (0,)}, ValueError, "size not equal to one"),
        ("broadcast_in_dim", (X,), {"shape": (2, 4), "broadcast_dimensions": (0, 1)}, ValueError, "axis of 3"),
        ("broadcast_in_dim", (X,), {"shape": (3, 2), "broadcast_dimensions": (1, 0)}, ValueError, "must increase"),
        ("slice", (X,), {"start_indices": (0, 0), "limit_indices": (3, 3)}, ValueError, "0:3:1 doesn't lie"),
        ("rev", (X,), {"dimensions": (2,)}, ValueError, "axes"),
        ("rev", (X,), {"dimensions": (1, 1)}, ValueError, "twice"),
        ("pad", (X, X), {"padding_config": ((0, 0, 0),) * 2}, TypeError, "must be a scalar"),
        ("pad", (X, Aval((), F64)), {"padding_config": ((-3, 0, 0),) * 2}, ValueError, "cuts more"),
        ("concatenate", (X, Aval((2, 4), F64)), {"dimension": 0}, ValueError, "differ beyond axis 0"),
        ("concatenate", (), {"dimension": 0}, ValueError, "at least one array"),
        ("iota", (), {"dtype": "bool", "shape": (3,), "dimension": 0}, TypeError, "no counting"),
        ("gather_nd", (X, X), {"axes": (0,), "position": 0, "mode": "clip"}, TypeError, "float64"),
        ("dynamic_slice", (X,), {"slice_sizes": (1, 1)}, ValueError, "0 starts for 2 axes"),
        ("update_slice", (X, X), {"start_indices": (1, 0), "strides": None}, ValueError, "don't fit into axis 0"),
    ],
)
def test_bad_params_are_refused(name: str, avals, params, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        REGISTRY[name].abstract_eval(*avals, **params)


def test_take_from_nothing_is_refused_as_in_numpy() -> None:
    nothing, index = Aval((0,), F64), Aval((2,), np.dtype(int))
    with pytest.raises(IndexError, match="non-empty take"):
        REGISTRY["gather_nd"].abstract_eval(nothing, index, axes=(0,), position=0, mode="clip")


def test_repr_of_a_case_names_it() -> None:
    assert repr(Case("rev", (numbered((3,)),), {"dimensions": (0,)})) == "rev float64[3] {'dimensions': (0,)}"
