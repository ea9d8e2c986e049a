"""Library calls: results match the abstract ones and NumPy, and errors are NumPy's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from workbench.errors import LoopAbortedError
from workbench.ir import Aval, aval_of
from workbench.ir.primitive import REGISTRY
from workbench.primitives.fft import TRANSFORMS, fft_impl
from workbench.primitives.lowering import Control, Inline, LibraryCall
from workbench.primitives.numpy_call import numpy_result_avals

from .samples import CASES, numbered

CALLS = sorted(name for name, p in REGISTRY.items() if isinstance(p.lowering, LibraryCall | Inline | Control))


@pytest.mark.parametrize("name", CALLS)
def test_results_are_as_announced(name: str) -> None:
    primitive = REGISTRY[name]
    for case in CASES[name](np.random.default_rng(4)):
        if case.name != name:
            continue
        before = [x.copy() for x in case.operands]
        with np.errstate(all="ignore"):
            found = primitive.impl(*case.operands, **case.params)
        avals = primitive.abstract_eval(*map(aval_of, case.operands), **case.params)
        assert primitive.multiple_results == isinstance(found, tuple)
        results = found if isinstance(found, tuple) else (found,)
        assert len(results) == len(avals)
        for result, aval in zip(results, avals, strict=True):
            assert isinstance(result, np.ndarray), repr(case)
            assert (result.shape, result.dtype) == (aval.shape, aval.dtype), repr(case)
        for x, was in zip(case.operands, before, strict=True):
            np.testing.assert_array_equal(x, was)


COMPUTING = [n for n in CALLS if isinstance(REGISTRY[n].lowering, LibraryCall) and n != "empty"]  # which holds anything


@pytest.mark.parametrize("name", COMPUTING)
def test_calls_compute_the_impl_also_into_an_array(name: str) -> None:
    lowering = REGISTRY[name].lowering
    for case in CASES[name](np.random.default_rng(5)):
        if case.name != name:
            continue
        with np.errstate(all="ignore"):
            expected = case.primitive.impl(*case.operands, **case.params)
            found = lowering.call(*case.operands, **case.params)
            np.testing.assert_equal(found, expected)
            if lowering.accepts_out:
                out = np.empty_like(expected)
                assert lowering.call(*case.operands, **case.params, out=out) is out
                np.testing.assert_equal(out, expected)
        if lowering.flops is not None:
            assert lowering.flops(*map(aval_of, case.operands), **case.params) >= 0


def test_dot_general_is_the_sum_over_contracted_axes() -> None:
    for case in CASES["dot_general"](np.random.default_rng(6)):
        (x, y), numbers = case.operands, case.params["dimension_numbers"]
        (x_contracted, y_contracted), (x_batch, y_batch) = numbers
        letters = iter("abcdefghijklmnop")
        x_names = [next(letters) for _ in range(x.ndim)]
        y_names = [next(letters) for _ in range(y.ndim)]
        for ours, theirs in ((x_contracted, y_contracted), (x_batch, y_batch)):
            for i, j in zip(ours, theirs, strict=True):
                y_names[j] = x_names[i]
        batch = [x_names[axis] for axis in x_batch]
        out = batch + [n for n in x_names if n not in y_names] + [n for n in y_names if n not in x_names]
        dtype = case.params["preferred_element_type"] or x.dtype
        spec = f"{''.join(x_names)},{''.join(y_names)}->{''.join(out)}"
        expected = np.einsum(spec, x.astype(dtype), y.astype(dtype))
        np.testing.assert_array_equal(case.primitive.impl(x, y, **case.params), expected, err_msg=repr(case))


def test_dot_general_widens_before_it_multiplies() -> None:
    x = np.full(3, 100, np.int8)
    params = {"dimension_numbers": (((0,), (0,)), ((), ())), "preferred_element_type": np.dtype(np.int32)}
    assert REGISTRY["dot_general"].impl(x, x, **params) == 30000
    assert REGISTRY["dot_general"].impl(x, x, **params | {"preferred_element_type": None}) == np.int8(48)


def test_dot_general_names_the_axes_that_do_not_match() -> None:
    x, y = Aval((2, 3), np.dtype(float)), Aval((4, 2), np.dtype(float))
    with pytest.raises(ValueError, match=r"contracted axes \(1,\) of \(2, 3\) and \(0,\) of \(4, 2\)"):
        REGISTRY["dot_general"].abstract_eval(x, y, dimension_numbers=(((1,), (0,)), ((), ())))


def test_checked_gather_raises_numpys_index_error() -> None:
    x, index = numbered((3,)), np.array([0, 3])
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        REGISTRY["gather_checked"].impl(x, index, axes=(0,), position=0)


def test_scatter_of_repeated_indices_follows_numpy() -> None:
    x, index, update = np.zeros(3), np.array([1, 1, -1]), np.array([5.0, 6.0, 7.0])
    params = {"axes": (0,), "mode": "raise", "position": 0, "unique": False}
    scatter = REGISTRY["scatter"].impl
    np.testing.assert_array_equal(scatter(x, index, update, op="set", **params), [0, 6, 7])
    np.testing.assert_array_equal(scatter(x, index, update, op="add", **params), [0, 11, 7])
    with pytest.raises(IndexError, match="out of bounds"):
        scatter(x, np.array([9]), update[:1], op="set", **params)


def test_sort_carries_the_other_operands_along() -> None:
    keys, ties, carried = np.array([2, 1, 2, 1]), np.array([1, 1, 0, 0]), np.array([10, 20, 30, 40])
    params = {"dimension": 0, "is_stable": True}
    *_, found = REGISTRY["sort"].impl(keys, ties, carried, num_keys=2, **params)
    np.testing.assert_array_equal(found, [40, 20, 30, 10])
    *_, found = REGISTRY["sort"].impl(keys, ties, carried, num_keys=1, **params)
    np.testing.assert_array_equal(found, [20, 40, 10, 30])


def test_least_squares_of_less_than_full_rank_has_nan_residuals() -> None:
    _, residuals, rank, _ = REGISTRY["lstsq"].impl(np.ones((4, 2)), np.arange(4.0))
    assert rank == 1
    np.testing.assert_array_equal(residuals, [np.nan])


def test_singular_matrices_raise_numpys_error() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        REGISTRY["inv"].impl(np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        REGISTRY["inv"].abstract_eval(Aval((2, 3), np.dtype(float)))


def test_numpy_call_finds_its_results_and_checks_them() -> None:
    x = Aval((3, 4), np.dtype(np.float32))
    assert numpy_result_avals("median", (x,), {"axis": 0}) == (Aval((4,), np.dtype(np.float32)),)
    wrong = (Aval((3,), np.dtype(np.float32)),)
    with pytest.raises(LoopAbortedError, match="as was traced"):
        REGISTRY["numpy_call"].impl(np.ones((3, 4), np.float32), name="median", kwargs=(("axis", 0),), avals=wrong)


def test_lgamma_at_poles_and_far_out() -> None:
    found = REGISTRY["lgamma"].impl(np.array([0.0, -1.0, -np.inf, np.inf, np.nan, 1.0, 5.0]))
    np.testing.assert_allclose(found, [np.inf, np.inf, np.inf, np.inf, np.nan, 0.0, np.log(24.0)])


def test_pjit_checks_its_operands() -> None:
    (case,) = CASES["pjit"](np.random.default_rng(0))
    with pytest.raises(TypeError, match="operand 0 is f64"):
        wrong = Aval((4,), np.dtype(float))
        case.primitive.abstract_eval(wrong, wrong, **case.params)
    with pytest.raises(TypeError, match="1 operands for 2"):
        case.primitive.abstract_eval(aval_of(case.operands[0]), **case.params)


@pytest.mark.parametrize("shape", [(8,), (4, 7), (3, 4, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_have_numpys_bits_and_layout(shape: tuple[int, ...], dtype: type, norm: str | None) -> None:
    rng = np.random.default_rng(3)
    x = rng.random(shape).astype(dtype)
    if x.dtype.kind == "c":
        x.imag = rng.random(shape)
    kinds = ("FFT", "IFFT", "IRFFT") if x.dtype.kind == "c" else ("RFFT",)
    for a, kind, k, more in itertools.product((x, x.T, x[..., ::-1]), kinds, range(1, x.ndim + 1), (-1, 0, 1)):
        for axes in itertools.permutations(range(a.ndim), k):
            lengths = tuple(a.shape[axis] + more for axis in axes)
            found = fft_impl(a, fft_type=kind, fft_lengths=lengths, axes=axes, norm=norm)
            expected = TRANSFORMS[kind](a, s=lengths, axes=axes, norm=norm)
            np.testing.assert_array_equal(found, expected, strict=True)
            assert found.strides == expected.strides
