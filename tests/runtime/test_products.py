"""Matrix products in blocks: NumPy's values for every form of operand, and BLAS as it was afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import workbench as wb
from workbench.runtime import products

CASES = [
    ((600, 70), (70, 90)), ((70, 600), (600, 80)), ((3, 500), (500, 900)), ((900, 500), (500, 3)), ((900, 700), (700,)),
    ((700,), (700, 900)), ((70_000,), (70_000,)), ((5, 120, 90), (5, 90, 110)), ((1, 300, 90), (1, 90, 110)),
    ((0, 5), (5, 3)), ((4, 0), (0, 3)), ((2, 3), (3, 4)), ((1, 5000), (5000, 1)), ((2000, 1), (1, 2000)),
]  # fmt: skip


@pytest.fixture(params=[1, 2, 3])
def matmul(request):
    """Computes each product both ways: the first call of a shape is BLAS's, the second ours."""
    matmul = products.matmul_on(request.param)
    products._products.clear()

    def both(x, y, **out):
        first = np.array(matmul(x, y, **out))
        second = matmul(x, y, **out)
        np.testing.assert_array_equal(first, second)
        return second

    return both


@pytest.mark.parametrize(("left", "right"), CASES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_values_are_numpys(matmul, left, right, dtype):
    rng = np.random.default_rng(0)
    x, y = (np.round(rng.normal(size=shape) * 8).astype(dtype) for shape in (left, right))
    product = matmul(x, y)
    np.testing.assert_array_equal(product, np.matmul(x, y))  # of whole numbers: any order of additions
    assert np.asarray(product).dtype == x.dtype


def test_transposed_and_strided_operands(matmul):
    rng = np.random.default_rng(1)
    x, y = (np.round(rng.normal(size=(400, 300)) * 8) for _ in range(2))
    for a, b in ((x.T, y), (x, y.T), (x.T[::2], y[:, ::3]), (x[::-1, :], y.T[:, ::-1]), (np.asfortranarray(x), y.T)):
        np.testing.assert_array_equal(matmul(a, b), np.matmul(a, b))


def test_out_is_written(matmul):
    x, y = np.ones((500, 100)), np.ones((100, 400))
    out = np.zeros((500, 400))
    assert matmul(x, y, out=out) is out and (out == 100).all()


def test_blas_has_its_threads_back_after_errors_and_company():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    matmul = products.matmul_on(2)
    x = np.ones((700, 300))

    def work():
        for _ in range(10):
            matmul(x, x.T)

    callers = [threading.Thread(target=work) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    with pytest.raises(ValueError, match="mismatch|core dimension"):
        matmul(x, x)
    assert [library.get_num_threads() for library in libraries] == before


def test_a_layer_of_a_network():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(256, 784)).astype("f4"), rng.normal(size=(784, 256)).astype("f4")

    def layer(x, w):
        return np.tanh(x @ w / 28), x.T @ (x @ w)

    for mine, expected in zip(wb.jit(layer)(x, w), layer(x, w), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-3 * np.abs(expected).max())


def ways(choice, seconds, n):
    """The ways taken in `n` products that take seconds[way]."""
    taken = []
    for _ in range(n):
        way = choice.take()
        choice.record(way, seconds[way])
        taken.append(way)
    return taken


def test_the_faster_way_is_taken_and_the_other_tried_again():
    choice = products.Choice()
    assert ways(choice, (1.0, 3.0), 2) == [0, 1]
    later = ways(choice, (1.0, 3.0), 4000)
    assert 0 < sum(later) < 20  # tried, less and less often
    crowded = ways(choice, (50.0, 3.0), 200)
    assert sum(crowded) > 150  # a neighbour took a core
    free = ways(choice, (1.0, 3.0), 4000)
    assert sum(free[-2000:]) < 20


def test_one_slow_run_changes_little():
    choice = products.Choice()
    ways(choice, (1.0, 2.0), 50)
    choice.record(0, 30.0)
    assert sum(ways(choice, (1.0, 2.0), 100)) < 30


def test_a_way_that_is_slow_now_and_then_is_soon_taken_again():
    choice = products.Choice()
    ways(choice, (1.0, 3.0), 2 * products.FIRST_RUNS)
    taken = []
    for k in range(400):
        taken += ways(choice, (30.0 if k % 8 == 0 else 1.0, 3.0), 1)
    assert sum(taken) < 100


def test_a_way_that_becomes_slow_is_left_at_once():
    choice = products.Choice()
    ways(choice, (1.0, 3.0), 2 * products.FIRST_RUNS + 5)
    assert ways(choice, (1000.0, 3.0), 100).count(0) < 10


def test_who_leaves_last_sets_the_threads_back_in_whichever_thread():
    """Threadpoolctl lets the first thread of Python alone set them, as long as it lives."""
    if not products.can_hold_threads():
        pytest.skip("the BLAS cannot be held")
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(2)  # now this thread is the one
    inside: list[list[int]] = []
    try:
        ours = products._one_thread._libraries
        with products.one_thread():
            entered, left = threading.Event(), threading.Event()

            def work():
                with products.one_thread():
                    entered.set()
                    left.wait()
                    inside.append([get() for get, _ in ours])

            other = threading.Thread(target=work)
            other.start()
            entered.wait()
        left.set()
        other.join()
        assert inside == [[1] * len(ours)]
        assert [get() for get, _ in ours] == [2] * len(ours)
    finally:
        for library, n_threads in zip(libraries, before, strict=True):
            library.set_num_threads(n_threads)
