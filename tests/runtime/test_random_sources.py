"""Random numbers in loops: the numbers that NumPy draws, of the same types, and the sources as NumPy leaves them."""

from __future__ import annotations

import copy
import random
import threading

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import cells
from workbench.runtime.parts import whole_loops
from workbench.runtime.parts.functions import FunctionParts
from workbench.runtime.parts.random_sources import can_draw
from workbench.runtime.parts.whole_functions import WholeFunction

from .test_whole_loops import as_it_is

pytestmark = pytest.mark.skipif(not can_draw(), reason="NumPy's functions of random numbers cannot be told here")


@pytest.fixture
def loops(monkeypatch):
    """The loops that ran to their end without Python."""
    ended: list[str] = []
    run = whole_loops._Version.run

    def noted(self, *args):
        result = run(self, *args)
        if result:
            ended.append(self.loop.source)
        return result

    monkeypatch.setattr(whole_loops._Version, "run", noted)
    # In parts from the first call on, however short it is.
    monkeypatch.setattr(FunctionParts, "pays", True)
    monkeypatch.setattr(FunctionParts, "wants_numpy", False)
    return ended


def state_of(source):
    state = source.get_state(legacy=False) if isinstance(source, np.random.RandomState) else source.bit_generator.state
    return copy.deepcopy(state)


def assert_same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b or a != a and b != b


def check(function, make, *args, n=3, loops=None):
    """The compiled function, call after call, against the plain one, with sources of their own."""
    mine, theirs = make(), make()
    with wb.config(numpy_trials=False):
        compiled = wb.jit(function)
        for _ in range(n):
            assert_same(compiled(mine, *args), function(theirs, *args))
            assert_same(state_of(mine), state_of(theirs))
    assert loops is None or len(loops) >= n - 1
    return compiled


def loop_of(text):
    """A function that draws in a loop, and adds what it draws to a list, or to arrays."""
    scope = {"np": np, "WEIGHTS": np.array([0.1, 0.2, 0.3, 0.4]), "ITEMS": np.array([2.5, -1.0, 4.0, 8.0])}
    source = f"""
def f(rng, n):
    weights, items = WEIGHTS, ITEMS
    found = []
    for i in range(n):
        x = {text}
        found.append(x)
    return found, x
"""
    return scope, source


def compiled_text(text, tmp_path):
    scope, source = loop_of(text)
    path = tmp_path / "drawn.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), scope)
    return scope["f"]


NUMBERS = [
    "rng.random()", "rng.standard_normal()", "rng.standard_exponential()", "rng.standard_cauchy()", "rng.normal()",
    "rng.normal(2.0, 0.5)", "rng.normal(loc=i, scale=3)", "rng.normal(scale=0.0)", "rng.uniform()", "rng.uniform(2, 5)",
    "rng.uniform(-1.0, high=1.0)", "rng.exponential()", "rng.exponential(i + 0.5)", "rng.standard_gamma(0.7)",
    "rng.gamma(3.0, 2.0)", "rng.gamma(shape=0.0)", "rng.beta(0.5, 2.0)", "rng.chisquare(3)", "rng.f(3, 4.5)",
    "rng.pareto(2.0)", "rng.weibull(1.5)", "rng.power(2.5)", "rng.laplace(1.0, 2.0)", "rng.gumbel()", "rng.logistic(0, 2)",
    "rng.lognormal(0.1, 0.2)", "rng.rayleigh(2.0)", "rng.standard_t(4)", "rng.wald(1.0, 2.0)", "rng.vonmises(0.3, 4.0)",
    "rng.triangular(0, 1, 3)", "rng.poisson(3.5)", "rng.poisson(50)", "rng.poisson()", "rng.geometric(0.3)",
    "rng.binomial(10, 0.4)", "rng.binomial(n=500, p=0.7)", "rng.binomial(i, 0.0)", "rng.integers(7)",
    "rng.integers(-3, 9)", "rng.integers(0, 2**40)", "rng.integers(0, 2**32)", "rng.integers(5, dtype=int)",
    "rng.integers(1, 6, endpoint=True)", "rng.integers(i, i + 1)", "rng.integers(low=2, high=4, dtype=np.int64)",
    "rng.choice(9)", "rng.choice(items)", "rng.choice(4, p=weights)", "rng.choice(items, p=weights)",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_of_a_generator(text, tmp_path, loops):
    check(compiled_text(text, tmp_path), lambda: np.random.default_rng(7), 60, loops=loops)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
@pytest.mark.parametrize("text", ["rng.random() + rng.normal()", "rng.integers(10) + rng.integers(2**35)"])
def test_every_kind_of_bits(bits, text, tmp_path, loops):
    check(compiled_text(text, tmp_path), lambda: np.random.Generator(bits(5)), 70, loops=loops)


OLD = [
    "rng.random()", "rng.rand()", "rng.random_sample()", "rng.uniform(1, 3)", "rng.uniform(3, 1)", "rng.randn()",
    "rng.standard_normal()", "rng.normal(1.0, 2.0)", "rng.exponential(2.0)", "rng.standard_exponential()",
    "rng.randint(10)", "rng.randint(-5, 5)", "rng.randint(0, 2**33)", "rng.randint(3, dtype=np.int64)", "rng.choice(6)",
    "rng.choice(items)", "rng.choice(4, p=weights)", "rng.normal() * rng.rand()",
]  # fmt: skip


@pytest.mark.parametrize("text", OLD)
def test_numbers_of_a_random_state(text, tmp_path, loops):
    """Those of an odd number of normal numbers leave one for the next call."""
    check(compiled_text(text, tmp_path), lambda: np.random.RandomState(3), 61, loops=loops)


ARRAYS = [
    "rng.random(3)", "rng.random((2, 3))", "rng.random(size=None)", "rng.standard_normal(4)", "rng.normal(1, 2, 3)",
    "rng.normal(size=(2, 2))", "rng.uniform(-1, 1, size=2)", "rng.exponential(2.0, 3)", "rng.poisson(2.0, size=3)",
    "rng.integers(0, 5, 3)", "rng.integers(9, size=(2, 2))", "rng.integers(9, size=2, dtype=int)", "rng.choice(5, 3)",
    "rng.choice(5, size=(2, 2))", "rng.permutation(7)", "rng.permutation(items)", "rng.binomial(5, 0.5, 2)",
    "rng.gamma(2.0, size=i % 3)", "rng.random((i % 3, 2))", "rng.normal(0, 1, (i % 2 + 1, 2, 2))",
    "rng.standard_normal(items.shape)", "rng.choice(items, 5, p=weights)", "rng.choice(4, (2, 2), p=weights)",
    "rng.choice(4, 5, p=[0.1, 0.2, 0.3, 0.4])", "rng.permutation(items.reshape(2, 2))",
    "rng.permutation([3, 1, 2])", "rng.choice([1.5, 2.5], 4)",
    # What NumPy is asked for.
    "rng.binomial(10, weights)", "rng.binomial(np.arange(4), weights)", "rng.binomial(6, weights, (3, 4))",
    "rng.poisson(weights * 30)", "rng.poisson(np.arange(3), (2, 3))", "rng.normal(items, 1.0)",
    "rng.normal(items, weights)", "rng.normal(0.0, weights, (3, 4))", "rng.exponential(weights)",
    "rng.gamma(weights, items + 3.0)", "rng.uniform(items, items + 2)", "rng.uniform(-1, weights, size=(2, 4))",
    "rng.integers(0, np.arange(1, 5))", "rng.integers(0, 2, 5, dtype=np.int8)", "rng.integers(0, 9, dtype=np.int32)",
    "rng.integers(1, 6, i % 3, dtype=np.uint8, endpoint=True)", "rng.integers(1, 6, size=(2, i % 3), endpoint=True)",
    "rng.choice(10, 4, replace=False)", "rng.choice(i + 3, size=3, replace=False)", "rng.choice(7, replace=False)",
    "rng.choice(items, 3, replace=False)", "rng.choice(items, 2, False, weights)", "rng.choice(items.reshape(2, 2), 3)",
    "rng.choice(items, size=(2, 2), replace=False)", "rng.multinomial(20, weights)", "rng.multinomial(i, weights, size=3)",
    "rng.dirichlet(weights)", "rng.dirichlet(items + 3, 2)", "rng.multivariate_normal(items[:2], np.eye(2))",
    "rng.multivariate_normal([0.0, 1.0], np.eye(2), size=1 + i % 4)", "rng.hypergeometric(5, 6, 7)",
    "rng.negative_binomial(3, 0.4, 4)", "rng.zipf(2.5)", "rng.random(3, dtype=np.float32)", "rng.permutation(items, axis=0)",
    "rng.permuted(items.reshape(2, 2), axis=1)", "rng.standard_normal(dtype=np.float32)", "rng.logseries(0.5, i % 3)",
    "rng.standard_t(weights + 1)", "rng.beta(weights, 2.0)", "rng.vonmises(items, 3.0)", "rng.triangular(0, weights, 1)",
]  # fmt: skip
OLD_ARRAYS = ["rng.rand(3)", "rng.rand(2, 2)", "rng.randn(3)", "rng.randint(0, 4, 3)", "rng.normal(0, 1, (2, 2))",
              "rng.permutation(6)", "rng.uniform(size=2)", "rng.choice(5, 3)"]  # fmt: skip


@pytest.mark.parametrize(("is_old", "text"), [*((False, t) for t in ARRAYS), *((True, t) for t in OLD_ARRAYS)])
def test_arrays(is_old, text, tmp_path, loops):
    scope, _ = loop_of(text)
    source = f"""
def f(rng, n):
    weights, items = WEIGHTS, ITEMS
    total = 0.0
    last = 0.0
    for i in range(n):
        x = {text}
        total += np.sum(x * 1.5)
        last = float(np.max(x))
    return total, last
"""
    if "% 3" in text:
        source = source.replace("        last = float(np.max(x))\n", "")  # fmt: skip
    path = tmp_path / "drawn.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), scope)
    make = (lambda: np.random.RandomState(4)) if is_old else lambda: np.random.default_rng(4)
    mine, theirs = make(), make()
    with wb.config(numpy_trials=False):
        compiled = wb.jit(scope["f"])
        for _ in range(2):
            np.testing.assert_allclose(compiled(mine, 20), scope["f"](theirs, 20), rtol=1e-12)
            assert_same(state_of(mine), state_of(theirs))
    assert loops or text == "rng.random(size=None)"


# ---- where they are drawn ----


def on_conditions(rng, n):
    x, hits = 0.0, 0
    for i in range(n):
        if i % 3 and rng.random() < 0.5 or rng.random() < 0.1:
            hits += 1
        if i > 5:
            x += rng.normal()
        elif rng.integers(2):
            x -= rng.exponential()
    return x, hits


def until_it_is_small(rng, n):
    steps, total = 0, 0.0
    while rng.random() > 1.0 / n:
        steps += 1
        total += steps * rng.random() - rng.random()
        if steps > 500:
            break
    return steps, total


def through_functions(rng, n):
    def kick(scale):
        return scale * rng.normal() + rng.random()

    def accepts(source, p):
        return source.random() < p

    x, k = 0.0, 0
    for _ in range(n):
        y = x + kick(0.1) - kick(1.0) * rng.random()
        if accepts(rng, 0.5):
            x = y
            k += 1
    return x, k


def shuffled(rng, n):
    cards = np.arange(n)
    other = np.linspace(0.0, 1.0, n)
    total = 0.0
    for i in range(n):
        rng.shuffle(cards)
        rng.shuffle(other)
        total += cards[0] * other[i]
    return total, cards, other


def two_at_a_time(rng, n):
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        inside += x * x + y * y < 1
    return 4 * inside / n


def in_a_comprehension(rng, n):
    total = 0.0
    for _ in range(n):
        steps = [rng.normal() for _ in range(4)]
        total += steps[0] * steps[3] - steps[1]
    return total


def spins(rng, n):
    s = np.ones((n, n), dtype=np.int64)
    for _ in range(20 * n):
        i, j = rng.integers(0, n), rng.integers(0, n)
        e = 2 * s[i, j] * (s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % n] + s[i, j - 1])
        if e <= 0 or rng.random() < np.exp(-0.4 * e):
            s[i, j] *= -1
    return s


PLACES = [on_conditions, until_it_is_small, through_functions, shuffled, two_at_a_time, in_a_comprehension, spins]


@pytest.mark.parametrize("function", PLACES, ids=lambda f: f.__name__)
def test_places(function, loops):
    check(function, lambda: np.random.default_rng(12), 40, loops=loops)


def drawn_from_the_module(n):
    total, k = 0.0, 0
    for _ in range(n):
        total += np.random.rand() + np.random.randn() * np.random.uniform(1, 2)
        k += np.random.randint(5)
    return total, k


def test_functions_of_the_module(loops):
    compiled = wb.jit(drawn_from_the_module)
    with wb.config(numpy_trials=False):
        for seed in range(3):
            found = []
            for function in (compiled, drawn_from_the_module):
                np.random.seed(seed)
                found.append((function(31), np.random.randn(3), np.random.rand()))
            assert_same(*found)
    assert loops


def sources_of_its_own(n, seed):
    rng = np.random.default_rng(seed)
    other = rng
    x = 0.0
    for _ in range(n):
        x = 0.5 * x + rng.normal() * other.random()
    return x, rng.random()


def test_a_source_that_a_call_makes_anew_and_that_has_two_names(loops):
    compiled = wb.jit(sources_of_its_own)
    with wb.config(numpy_trials=False):
        for seed in range(8):
            assert_same(compiled(25, seed), sources_of_its_own(25, seed))
    assert len(loops) >= 7  # one version for all sources


# ---- what NumPy refuses, and what is Python's ----


def refused(rng, n):
    total = 0.0
    for i in range(n):
        total += rng.normal(0.0, 5.0 - i)
    return total


def low_is_high(rng, n):
    total = 0
    for i in range(n):
        total += rng.integers(i, 5)
    return total


@pytest.mark.parametrize("function", [refused, low_is_high])
def test_what_numpy_raises_leaves_the_source_as_numpy_does(function):
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    compiled = wb.jit(function)
    assert_same(compiled(mine, 4), function(theirs, 4))
    for n in (9, 9, 4):
        outcomes = []
        for call, source in ((compiled, mine), (function, theirs)):
            try:
                outcomes.append(call(source, n))
            except ValueError as error:
                outcomes.append(str(error))
        assert_same(*outcomes)
        assert_same(state_of(mine), state_of(theirs))


def other_forms(rng, n):
    total = 0.0
    for _ in range(n):
        total += len(rng.bytes(n)) + rng.spawn(1)[0].random()
    return total


def test_other_methods_are_pythons():
    check(other_forms, lambda: np.random.default_rng(1), 5)


class Derived(np.random.Generator):
    def random(self):
        return 0.5


def test_a_subclass_is_pythons():
    check(two_at_a_time, lambda: Derived(np.random.PCG64(1)), 20)


# ---- on a condition, and of sources that the function makes ----


def one_of_two_draws(rng, n):
    total = 0.0
    for i in range(n):
        total += (rng.random() if i % 3 else (rng.normal() if i % 2 else rng.gamma(2.0))) + rng.random()
    return total


def best_action(rng, n):
    chosen = []
    for _ in range(n):
        best = np.flatnonzero(rng.random(3) > 0.5)
        a = int(best[0]) if len(best) == 1 else int(rng.choice(best)) if len(best) else -1
        chosen.append(a)
    return chosen


def noise_now_and_then(rng, n, x):
    last = x
    total = 0.0
    for i in range(n):
        last = x + rng.normal(0.0, 1.0, 3) if i % 3 else x
        total += last.sum()
    last[0] = 7.0
    return total, last, x


def an_int_or_a_draw(rng, n):
    found = []
    for i in range(n):
        found.append(2.5 * (1 if i % 3 == 0 else rng.random()))
    return found


def lists_in_random_order(rng, n):
    items, pairs = [0] * n, [(1, 0.5), (2, 1.5), (3, 2.5)]
    for i in range(n):
        items[i] = i
    rng.shuffle(items)
    rng.shuffle(pairs)
    return items, pairs


def rows_in_random_order(rng, x):
    rng.shuffle(x)
    order = rng.permutation(x)
    return x, order, np.dot(order[0], x[1])


def resampled(rng, x, shape):
    z = rng.normal(size=shape)
    picked = x[rng.choice(len(x), size=len(x), replace=True)]
    return z + rng.random(z.shape), picked, rng.choice(x, shape)


def whole_way(function, *args):
    """What the function gives whole, and plainly, each from its own arguments."""
    whole = WholeFunction.of(function, wb.jit(function).source())
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    for _ in range(3):
        done = whole.run(mine, {})
        assert done is not None, "the function does not run whole"
        assert_same(done[0], function(*theirs))
        for a, b in zip(mine, theirs, strict=True):
            both = (state_of(a), state_of(b)) if isinstance(a, np.random.Generator) else (a, b)
            assert_same(*both)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (one_of_two_draws, (40,)),
        (best_action, (60,)),
        (noise_now_and_then, (20, np.arange(3.0))),
        (noise_now_and_then, (19, np.arange(3.0))),
        (an_int_or_a_draw, (20,)),
        (lists_in_random_order, (30,)),
        (rows_in_random_order, (np.arange(24.0).reshape(8, 3),)),
        (resampled, (np.arange(9.0), (2, 3))),
    ],
)
def test_whole_functions_that_draw(function, args):
    whole_way(function, np.random.default_rng(3), *args)


def source_made_between(x, n, seed):
    m = len(x)
    total = np.zeros(m)
    rng = np.random.default_rng(seed)
    for _ in range(n):
        total += rng.binomial(10, x) / 10
    return total


def source_made_of_a_name_that_is_bound_before(x, n, seed):
    total = np.zeros(len(x))
    if n > 3:
        seed = 5
    rng = np.random.default_rng(seed)
    for _ in range(n):
        total += rng.random(len(x))
    return total


def test_a_source_is_made_before_the_statements_above_it():
    x = np.array([0.2, 0.9, 0.5])
    whole_way(source_made_between, x, 8, 3)
    assert WholeFunction.of(source_made_between, wb.jit(source_made_between).source()).forms[0].head is not None
    other = source_made_of_a_name_that_is_bound_before
    assert WholeFunction.of(other, wb.jit(other).source()).forms[0].head is None
    compiled = wb.jit(other)
    for n in (2, 5, 5, 2):
        assert_same(compiled(x, n, 3), other(x, n, 3))


# ---- Python's own ----

PYTHONS = [
    "rng.random()", "rng.uniform(2, 5)", "rng.uniform(-1.5, 1.5)", "rng.gauss(0.0, 2.0)", "rng.gauss(1, 2)", "rng.gauss()",
    "rng.normalvariate(1.0, 0.5)", "rng.normalvariate()", "rng.expovariate(2.0)", "rng.randint(1, 6)", "rng.randint(i, i)",
    "rng.randint(-10, 2**40)", "rng.randrange(7)", "rng.randrange(2, i + 3)", "rng.randrange(2**32)", "rng.choice(items)",
    "rng.random() * rng.gauss(0, 1) + rng.randint(0, 1)",
]  # fmt: skip


@pytest.mark.parametrize("text", PYTHONS)
def test_numbers_of_pythons_random(text, tmp_path, loops):
    """More of them than the twister has in a row; an odd number of Gauss's, of which one is left."""
    function = compiled_text(text, tmp_path)
    mine, theirs = random.Random(3), random.Random(3)
    with wb.config(numpy_trials=False):
        compiled = wb.jit(function)
        for n in (701, 3, 1):
            assert_same(compiled(mine, n), function(theirs, n))
            assert mine.getstate() == theirs.getstate()
    assert len(loops) >= 2


def monte_carlo_pi(n):
    inside = 0
    for _ in range(n):
        x = random.random()
        y = random.random()
        if x**2 + y**2 < 1.0:
            inside += 1
    return 4.0 * inside / n


def from_a_list(rng, n):
    steps = [1, -1, 2]
    x = 0
    for _ in range(n):
        steps.append(rng.choice(steps))
        x += steps[-1] * rng.randint(1, 3)
    return x, steps


def of_numpys_numbers(rng, n):
    x = np.float64(0.0)
    for _ in range(n):
        x = x + rng.uniform(x, 2.0)
    return x


def test_functions_of_pythons_module(loops):
    with wb.config(numpy_trials=False):
        compiled = wb.jit(monte_carlo_pi)
        found = []
        for function in (compiled, monte_carlo_pi):
            random.seed(5)
            found.append(([function(1000) for _ in range(3)], random.random(), random.gauss(0, 1)))
    assert_same(*found)
    assert loops


@pytest.mark.parametrize("function", [from_a_list, of_numpys_numbers])
def test_other_uses_of_pythons_random(function, loops):
    mine, theirs = random.Random(9), random.Random(9)
    compiled = wb.jit(function)
    for _ in range(3):
        assert_same(compiled(mine, 30), function(theirs, 30))
        assert mine.getstate() == theirs.getstate()


def wrong_range(rng, n):
    total = 0
    for i in range(n):
        total += rng.randrange(5 - i)
    return total


def test_what_python_refuses_leaves_its_source_as_python_does(loops):
    mine, theirs = random.Random(2), random.Random(2)
    compiled = wb.jit(wrong_range)
    for n in (4, 9, 4):
        outcomes = []
        for call, source in ((compiled, mine), (wrong_range, theirs)):
            try:
                outcomes.append(call(source, n))
            except ValueError as error:
                outcomes.append(str(error))
        assert_same(*outcomes)
        assert mine.getstate() == theirs.getstate()


# ---- what follows a loop ----


def a_share(rng, n):
    inside, last = 0, 0
    for _ in range(n):
        inside += rng.random() < 0.5
        last = int(rng.integers(100))
    return 4.0 * inside / n + last


def as_many_as_found(rng, n):
    found = 0
    for _ in range(n):
        if rng.random() < 0.5:
            found += 1
    return np.zeros(found) + n, found


@pytest.mark.parametrize("function", [a_share, as_many_as_found])
def test_statements_after_a_loop_are_not_compiled_for_every_count(function, loops, monkeypatch):
    """Its integers become inputs of them, unless they are lengths."""
    traces: list[str] = []
    trace = cells._trace
    monkeypatch.setattr(cells, "_trace", lambda key, *args, **how: traces.append(key[1]) or trace(key, *args, **how))
    check(function, lambda: np.random.default_rng(3), 50, n=12, loops=loops)
    if function is a_share:
        assert len(traces) < 8


# ---- functions that draw and write ----


def writes(rng, a):
    a[0] = 5 * rng.random() - 1
    return a[0] + rng.random()


def appends(rng, found):
    found.append(rng.random())
    return rng.random()


def only_writes(a):
    a[0] += 1.0
    return a[0]


STATEMENTS = [
    "v = abs(a[0] - writes(rng, a))", "v = np.exp(a[0] + writes(rng, a))", "v = min(a[0], writes(rng, a))",
    "a[0] += writes(rng, a)", "v = abs(len(found) + appends(rng, found))", "v = abs(found[-1] - appends(rng, found))",
    "v = writes(rng, a)", "a[1] = writes(rng, a)", "v = a[0] + writes(rng, a)", "v = only_writes(a) + rng.random()",
    "v = abs(only_writes(a) - writes(rng, a))", "v = max(rng.random(), only_writes(a))", "writes(rng, a)",
    "v = rng.normal(a[0]) + only_writes(a)", "v = abs(rng.normal(only_writes(a)))",
]  # fmt: skip


@pytest.mark.parametrize("text", STATEMENTS)
def test_functions_that_draw_write_when_python_does(text):
    outcomes = []
    for how in (exec, as_it_is):
        names = {"np": np, "rng": np.random.default_rng(7), "a": np.array([1.0, 2.0]), "v": 0.0, "found": [0.5],
                 "writes": writes, "appends": appends, "only_writes": only_writes}  # fmt: skip
        loop = f"for _ in range(3):\n    {text}\n    v = v + a[0]"
        if how(loop, names) is None and how is as_it_is:
            exec(loop, names)
        outcomes.append((names["a"].tolist(), float(names["v"]), names["found"], state_of(names["rng"])))
    assert_same(*outcomes)


# ---- loops that give up, and threads ----


def of_two_types(rng, n):
    found = []
    for _ in range(n):
        x = rng.random()
        found.append(x if x < 0.5 else np.sqrt(x))
    return found


@pytest.mark.parametrize("make", [random.Random, np.random.RandomState, np.random.default_rng])
def test_a_loop_that_gives_up_at_its_end_has_drawn_nothing(make):
    text = "for _ in range(n):\n    x = rng.random()\n    v = x\n    a[0] += x\n    found.append(x if x < 0.5 else np.sqrt(x))"
    outcomes = []
    for how in (exec, as_it_is):
        names = {"np": np, "rng": make(5), "n": 9, "found": [], "a": np.zeros(2)}
        if how(text, names) is None and how is as_it_is:
            exec(text, names)
        state = names["rng"].getstate() if make is random.Random else state_of(names["rng"])
        outcomes.append((names["found"], names["a"].tolist(), state))
    assert_same(*outcomes)


def test_two_loops_draw_from_pythons_module_one_after_the_other():
    def total(n):
        t = 0.0
        for _ in range(n):
            t += random.random()
        return t

    text = "for _ in range(n):\n    t += random.random()"

    def run(totals):
        names = {"random": random, "n": 300_000, "t": 0.0}
        assert as_it_is(text, names) is not None
        totals.append(names["t"])

    random.seed(3)
    expected = [total(300_000) for _ in range(4)]
    last = random.random()
    random.seed(3)
    totals: list[float] = []
    threads = [threading.Thread(target=run, args=(totals,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(totals) == sorted(expected) and random.random() == last


def test_an_interrupt_leaves_the_source_as_the_loop_left_it(monkeypatch):
    source = np.random.RandomState(1)
    source.normal()
    twin = np.random.RandomState(1)
    twin.normal()
    entry_of = whole_loops.compiled_entry

    def interrupted(program):
        entry = entry_of(program)

        def run(*arguments):
            entry(*arguments)
            raise KeyboardInterrupt

        return run

    monkeypatch.setattr(whole_loops, "compiled_entry", interrupted)
    with pytest.raises(KeyboardInterrupt):
        as_it_is("for _ in range(n):\n    t += rng.normal()", {"rng": source, "n": 4, "t": 0.0})
    for _ in range(4):
        twin.normal()
    assert_same(state_of(source), state_of(twin))
