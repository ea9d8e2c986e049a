"""Updates in place: random programs of slice assignments against NumPy, and what they cost."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import lax

N_ROWS, N_COLUMNS = 9, 11  # above the size up to which updates are computed anew
N_EXAMPLES = int(os.environ.get("UPDATE_EXAMPLES", "12"))


@st.composite
def regions(draw, shape):
    """The text of a slice for each axis, and the shape that it selects."""
    texts, sizes = [], []
    for length in shape:
        step = draw(st.sampled_from((1, 1, 1, 2, 3)))
        size = draw(st.integers(1, (length - 1) // step + 1))
        start = draw(st.integers(0, length - 1 - (size - 1) * step))
        stop = start + (size - 1) * step + 1
        texts.append(f"{start}:{stop}" + (f":{step}" if step > 1 else ""))
        sizes.append(size)
    return f"[{', '.join(texts)}]", tuple(sizes)


@st.composite
def places(draw, shape, size):
    """The text of a slice of `size` with steps that fit."""
    texts = []
    for length, n in zip(shape, size, strict=True):
        step = draw(st.sampled_from([s for s in (1, 2, 3) if (n - 1) * s < length]))
        start = draw(st.integers(0, length - 1 - (n - 1) * step))
        stop = start + (n - 1) * step + 1
        texts.append(f"{start}:{stop}:{step}")
    return f"[{', '.join(texts)}]"


NAMES = ("a", "b", "t")


@st.composite
def statements(draw):
    target = draw(st.sampled_from(NAMES))
    kind = draw(st.sampled_from(("stencil", "stencil", "fill", "row", "reduce", "whole", "copy", "swap", "scatter")))
    if kind == "whole":
        return draw(st.sampled_from((
            f"{target} *= 0.5", f"{target}[:] = {draw(st.sampled_from(NAMES))}[::-1] - 1",
            f"{target} += {draw(st.sampled_from(NAMES))}", f"{target}[...] = {draw(st.sampled_from(NAMES))} * 0.5",
        )))  # fmt: skip
    if kind == "copy":
        return f"t = {draw(st.sampled_from(NAMES))}.copy()"
    if kind == "swap":
        return "t, s = a * 0.5, t; t[0, :] = s[1, :]"
    if kind == "scatter":
        index = draw(st.lists(st.integers(-N_ROWS, N_ROWS - 1), min_size=1, max_size=4))
        return f"{target}[{index}] = {draw(st.sampled_from(NAMES))}[{index[::-1]}] + 1"
    region, size = draw(regions((N_ROWS, N_COLUMNS)))
    if kind == "fill":
        return f"{target}{region} = {draw(st.integers(-2, 2))}"
    if kind == "row":
        source = draw(st.sampled_from(NAMES))
        i, j = draw(st.integers(0, N_ROWS - 1)), draw(st.integers(0, N_ROWS - 1))
        if draw(st.booleans()):
            return f"{target}[{i}] = {source}[{j}]{draw(st.sampled_from(('', '[::-1]')))}"
        i, j = draw(st.integers(0, N_COLUMNS - 1)), draw(st.integers(0, N_COLUMNS - 1))
        return f"{target}[:, {i}] = {source}[:, {j}] * 0.5"
    if kind == "reduce":
        source, axis = draw(st.sampled_from(NAMES)), draw(st.sampled_from((0, 1)))
        where = draw(st.integers(0, N_ROWS - 1))
        column = f"{target}[:, {where}] = {source}.sum(axis=1) * 0.1"
        return f"{target}[{where}] = {source}.sum(axis=0) * 0.1" if axis == 0 else column
    reads = [draw(st.sampled_from(NAMES)) + draw(places((N_ROWS, N_COLUMNS), size)) for _ in range(draw(st.sampled_from((1, 2, 3))))]  # fmt: skip
    operator = draw(st.sampled_from(("=", "=", "+=", "-=")))
    return f"{target}{region} {operator} ({' - '.join(reads)}) * 0.5"


@st.composite
def programs(draw):
    lines = ["def f(a, b):", "    t = a * 1.0"]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(("plain", "plain", "plain", "loop")))
        if kind == "plain":
            lines.append("    " + draw(statements()))
        else:
            n = draw(st.integers(0, 3))
            names = draw(st.permutations(NAMES))
            lines += ["    def body(i, s):", f"        {', '.join(names)} = s"]
            lines += ["        " + draw(statements()) for _ in range(draw(st.integers(1, 3)))]
            lines.append(f"        return {', '.join(draw(st.permutations(names)) if draw(st.booleans()) else names)}")
            lines.append(f"    {', '.join(draw(st.permutations(('x', 'y', 'z'))))} = fori_loop(0, {n}, body, ({', '.join(names)}))")  # fmt: skip
            lines.append("    t = x + y * 2 - z")
    lines.append(f"    return {draw(st.sampled_from(('t', 'a, t', 't[1:], b', 'a.copy(), b.copy(), t', 'a.T, t.T')))}")
    return "\n".join(lines)


def eager_loop(lower, upper, body, state):
    """As `fori_loop`: the body's arguments are its own."""
    for i in range(lower, upper):
        state = body(i, tuple(x.copy() for x in state))
    return state


def define(text, loop):
    scope = {"np": np, "fori_loop": loop}
    exec(text, scope)
    return scope["f"]


def arrays(seed, order):
    rng = np.random.default_rng(seed)
    made = rng.integers(-8, 8, (2, N_ROWS, N_COLUMNS)).astype(float)
    if order == "F":
        return [np.asfortranarray(x) for x in made]
    if order == "strided":
        return [np.repeat(x, 2, axis=1)[:, ::2] for x in made]
    return list(made)


@settings(max_examples=N_EXAMPLES)
@given(programs(), st.sampled_from(("C", "C", "F", "strided")))
def test_random_updates_are_numpys(text, order):
    expected_args, args, again = arrays(0, order), arrays(0, order), arrays(0, order)
    compiled, plain = wb.jit(define(text, lax.fori_loop)), define(text, eager_loop)
    expected = plain(*expected_args)
    for given_args in (args, again):
        found = compiled(*given_args)
        both = zip(
            (*(found if isinstance(found, tuple) else (found,)), *given_args),
            (*(expected if isinstance(expected, tuple) else (expected,)), *expected_args),
            strict=True,
        )
        for mine, reference in both:
            np.testing.assert_allclose(mine, reference, rtol=1e-12, atol=1e-12, err_msg=text)
    assert not compiled.fallbacks


def kernels_of(f, *args):
    compiled = wb.jit(f)
    compiled(*args)
    (compilation,) = compiled.compilations
    return compilation


def test_boundary_conditions_move_only_what_they_touch():
    def boundary(p):
        p[0, :] = p[1, :]
        p[:, -1] = 0.0

    p = np.random.default_rng(0).random((200, 300))
    expected = p.copy()
    boundary(expected)
    compilation = kernels_of(boundary, p)
    np.testing.assert_array_equal(p, expected)
    assert sum(k.bytes_moved for k in compilation.kernels.values()) == 8 * (2 * 300 + 200)
    assert "allocate" not in compilation.executable.source and "empty" not in compilation.executable.source
    assert not any("copy" in line for line in compilation.executable.source.splitlines())


def test_a_stencil_reads_what_was_there_before():
    def sweep(u):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])

    u = np.arange(100.0) ** 2
    expected = u.copy()
    expected[1:-1] = 0.5 * (expected[:-2] + expected[2:])
    kernels_of(sweep, u)
    np.testing.assert_array_equal(u, expected)


def test_red_and_black_points_are_updated_in_place():
    def sweep(u):
        u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2])

    u = np.random.default_rng(0).random(101)
    expected = u.copy()
    expected[1:-1:2] = 0.5 * (expected[:-2:2] + expected[2::2])
    compilation = kernels_of(sweep, u)
    np.testing.assert_array_equal(u, expected)
    assert "empty" not in compilation.executable.source


def test_an_argument_that_is_computed_anew_is_written_without_a_copy():
    def scale(a, b):
        a += b * 2

    a, b = np.ones((20, 30)), np.ones((20, 30))
    compilation = kernels_of(scale, a, b)
    np.testing.assert_array_equal(a, np.full((20, 30), 3.0))
    assert "empty" not in compilation.executable.source


def test_an_argument_takes_no_result_of_another_shape():
    def fill(x, y):
        y[:] = np.reshape(x[:2] @ np.ones((2, 8)), (16,))

    x, y = np.arange(6.0).reshape(3, 2), np.zeros(16)
    kernels_of(fill, x, y)
    np.testing.assert_array_equal(y, np.reshape(x[:2] @ np.ones((2, 8)), (16,)))


def test_a_read_only_argument_is_refused_before_anything_is_written():
    def scale(a, b):
        b *= 2
        a *= 2

    compiled = wb.jit(scale)
    compiled(np.ones(100), np.ones(100))
    a, b = np.ones(100), np.ones(100)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(a, b)
    assert a.sum() == 100


def test_what_follows_an_error_is_not_written():
    def update(a, b, i):
        a[2:5] = 1.0
        picked = b[i]
        a[5:9] = 2.0
        return picked

    compiled = wb.jit(update)
    b = np.arange(100.0)
    compiled(np.zeros(100), b, np.array([3, 4]))
    a = np.zeros(100)
    with pytest.raises(IndexError):
        compiled(a, b, np.array([3, 400]))
    np.testing.assert_array_equal(a[:10], [0, 0, 1, 1, 1, 0, 0, 0, 0, 0])
    compiled(a, b, np.array([3, 4]))
    np.testing.assert_array_equal(a[:10], [0, 0, 1, 1, 1, 2, 2, 2, 2, 0])


def test_a_failure_after_a_write_does_not_run_the_code_again(monkeypatch):
    def update(a, b):
        a += 1.0
        return np.sort(a) + b

    compiled = wb.jit(update)
    b = np.zeros(100)
    compiled(np.zeros(100), b)
    (compilation,) = compiled.compilations
    steps = [name for name in compilation.executable.run.__globals__ if name.endswith("_call0")]
    failing = {name: compilation.executable.run.__globals__[name] for name in steps}

    def fail(*_):
        raise MemoryError("none left")

    assert failing
    for name in failing:
        monkeypatch.setitem(compilation.executable.run.__globals__, name, fail)
    a = np.zeros(100)
    with pytest.raises(MemoryError):
        compiled(a, b)
    np.testing.assert_array_equal(a, np.ones(100))


def test_a_loop_does_not_change_what_it_is_given():
    def run(u):
        def step(_, v):
            v[1:-1] = v[1:-1] * 0.5
            return v

        return lax.fori_loop(0, 3, step, u * 1.0), lax.fori_loop(0, 0, step, u * 2.0)

    u = np.ones(200)
    first, second = wb.jit(run)(u)
    assert u.sum() == 200
    np.testing.assert_array_equal(first[[0, 1, -1]], [1, 0.125, 1])
    np.testing.assert_array_equal(second, np.full(200, 2.0))


def test_exchanged_arrays_stay_apart():
    def run(a, b):
        def step(_, s):
            x, y = s
            y = y.copy()
            y[1:] = x[:-1]
            return y, x

        return lax.fori_loop(0, 5, step, (a, b))

    a, b = np.random.default_rng(0).random((2, 100))
    x, y = a.copy(), b.copy()
    expected = (x, y)
    for _ in range(5):
        x, y = expected
        y = y.copy()
        y[1:] = x[:-1]
        expected = (y, x)
    kept = a.copy(), b.copy()
    for mine, reference in zip(wb.jit(run)(a, b), expected, strict=True):
        np.testing.assert_array_equal(mine, reference)
    np.testing.assert_array_equal((a, b), kept)


# ---- loops inside of kernels ----


def is_one_kernel(compilation):
    return any(p.repeated is not None for placements in compilation.kernels.inner.values() for p in placements)


def escape(c):
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(37):
        inside = z.real * z.real + z.imag * z.imag < 4
        z = np.where(inside, z * z + c, z)
        n += inside
    return z, n


def newton(a):
    x = a * 0.5 + 0.5
    for _ in range(30):
        x = 0.5 * (x + a / x)
    return x


def spring(x, v):
    for _ in range(21):
        x, v = x + 0.125 * v, v - 0.125 * x
    return x, v


def signs(x):
    for _ in range(19):
        x = np.where(x == 0, -x, x - 0.25)
    return x


def settle(c):
    z = c * 1
    for _ in range(60):
        z = z * np.float32(0.5) + c
    return z


def rounded(x):
    for _ in range(40):
        x = x * x % 1000
    return x


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (escape, lambda rng: (rng.normal(size=(13, 29)) + 1j * rng.normal(size=(13, 29)),)),
        (settle, lambda rng: ((rng.normal(size=300) + 1j * rng.normal(size=300)).astype(np.complex64),)),
        (newton, lambda rng: (rng.random(500),)),
        (newton, lambda rng: (rng.random((17, 40)).astype(np.float32),)),
        (newton, lambda rng: (np.asfortranarray(rng.random((17, 40))),)),
        (newton, lambda rng: (np.array([0.0, -1.0, np.inf, np.nan, 1e-320] * 40),)),
        (spring, lambda rng: (rng.random(1000), rng.random(1000))),
        (signs, lambda rng: (rng.integers(0, 8, 300) * 0.25,)),
        (rounded, lambda rng: (rng.integers(0, 1000, 300),)),
    ],
)
def test_a_loop_over_elements_is_one_kernel(f, make, rng):
    with np.errstate(all="ignore"):
        args = make(rng)
        expected = f(*[x.copy() for x in args])
        compilation = kernels_of(f, *args)
        found = wb.jit(f)(*args)
    assert is_one_kernel(compilation)
    results = [x if isinstance(x, tuple) else (x,) for x in (found, expected)]
    for mine, reference in zip(*results, strict=True):
        assert mine.dtype == reference.dtype
        np.testing.assert_allclose(mine, reference, rtol=1e-5 if mine.dtype.itemsize < 8 else 1e-12)
        if mine.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(mine), np.signbit(reference))


@pytest.mark.parametrize("shape", [(1,), (1, 1), (5, 1), (1, 5), (2, 1, 3), (1, 4, 1), ()])
def test_what_a_loop_carries_is_read_again_in_each_iteration_also_where_it_is_one_element(shape, rng):
    def turn(x, w):
        for _ in range(19):
            x = (x[::-1] + np.maximum(w, x))[::-1] * 0.5 if shape else x * 0.5 + np.maximum(w, x)
        return x

    x, w = rng.normal(size=shape), rng.normal(size=shape)
    expected, compilation = turn(x, w), kernels_of(turn, x, w)
    np.testing.assert_array_equal(wb.jit(turn)(x, w), expected)
    assert shape not in ((1,), (1, 1)) or is_one_kernel(compilation)


def test_a_value_that_only_changes_its_sign_is_not_settled():
    """0.0 == -0.0, but the next iteration may tell them apart."""

    def flip(x):
        for _ in range(17):
            x = -x
        return x

    found = wb.jit(flip)(np.zeros(300))
    assert np.signbit(found).all()


def test_a_loop_whose_rows_reach_for_others_stays_outside_of_its_kernel(rng):
    def shift(x):
        for _ in range(5):
            y = x.copy()
            y[1:] = x[:-1] + 1
            x = y
        return x

    x = rng.random((40, 6))
    compilation = kernels_of(shift, x)
    assert not is_one_kernel(compilation)
    np.testing.assert_array_equal(wb.jit(shift)(x), shift(x))


def test_a_loop_along_columns_is_one_kernel(rng):
    """Each row keeps to itself: its last column follows from the others."""

    def columns(x):
        def step(_, v):
            v[:, -1] = v[:, -1] * 0.5 + v[:, 0]
            return v

        return lax.fori_loop(0, 9, step, x)

    x = rng.random((40, 6))
    expected = x.copy()
    for _ in range(9):
        expected[:, -1] = expected[:, -1] * 0.5 + expected[:, 0]
    assert is_one_kernel(kernels_of(columns, x))
    np.testing.assert_array_equal(wb.jit(columns)(x), expected)


def test_kernels_in_loops_are_timed(rng):
    def smooth(u):
        def step(_, v):
            v[1:-1] = 0.5 * (v[:-2] + v[2:])
            return v

        return lax.fori_loop(0, 5, step, u)

    u = rng.random(500)
    compilation = kernels_of(smooth, u)
    (expected,) = compilation.executable.run(u)
    (found,) = compilation.run_timed(u)
    np.testing.assert_array_equal(found, expected)
    steps = [step for step, *_ in compilation.timeline]
    assert steps == ["W0_K0", "W0"]
    times = {step: (start, time) for step, _, start, time, _ in compilation.timeline}
    assert times["W0"][0] <= times["W0_K0"][0] and times["W0_K0"][1] <= times["W0"][1]
    (launch_ms,) = compilation.kernel_infos["W0_K0"].runs_ms
    assert launch_ms == pytest.approx(times["W0_K0"][1] / 5)


def test_memory_that_a_loop_was_given_is_not_taken_again():
    """Its result may lie there."""

    def function(x):
        def body(i, c):
            inner = lax.fori_loop(0, i % 3, lambda j, v: v * 0.5 + np.sum(v) + j, c)
            return inner[::-1] * 0.5

        return lax.fori_loop(0, 6, body, x)

    x = np.arange(7.0)
    np.testing.assert_allclose(wb.jit(function)(x), function(x), rtol=1e-13)


def test_an_update_with_a_fold_of_the_same_array_keeps_the_other_elements():
    def with_spread(c):
        t = np.where(c != 0, 2.0, np.expm1(c * 1.0))
        t[128, 1:] = np.max(t[-3:, :1]) + 1
        return t

    compiled = wb.jit(with_spread)
    c = np.arange(514, dtype=np.int32).reshape(257, 2) % 5
    for _ in range(3):
        np.testing.assert_array_equal(compiled(c), with_spread(c))
    assert not compiled.fallbacks
