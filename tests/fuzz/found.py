"""Programs that random search has found wrong results of, cut down. (Not in a test file, whose asserts pytest rewrites.)

Each takes a vector and a matrix, and may write into both.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def one_array_under_two_names_after_a_loop(a, b):
    n = 0
    while n < 5 and a is not None:
        n += 1
        a /= a[0]
        t = u = b.astype(float)
    u -= np.count_nonzero(a)
    return t


def a_view_of_what_a_loop_made(a, b):
    for _ in range(6):
        a[0] += 1
        t = b * a[0]
        u = t[::-1]
    u -= 1
    return t


def a_helper_that_returns_its_argument(a, b):
    def same(x):
        return x

    for _ in range(6):
        a[0] += 1
        t = b + a[0]
        u = same(t)
    u[1] = 77
    return t


def an_array_taken_out_of_a_list(a, b):
    for i in range(6):
        a[0] += 1
        q = [b + i]
        t, u = q[0], q[0]
    u[1] = 77
    return t


def accumulates_into_an_argument(a, b):
    t = np.add(a, a)
    a = t
    for _ in range(6):
        a[0], a[-1] = a[-1], a[0]
        np.add.accumulate(t, out=t)
    return t


def accumulates_as_another_type(a, b):
    for _ in range(6):
        b[0] += 1
        t = np.add.accumulate(a, dtype=np.float32)
        u = np.subtract.outer(a, a, dtype=np.float32)
    return t, u


def a_copy_by_ravel(a, b):
    for _ in range(8):
        t = a.ravel()
        for k in range(3):
            t[k] += 1
    return t


def the_square_of_a_mask(a, b):
    return (b > 2) ** 2, (a > 2) ** 3, np.power(a > 2, 2), (a[0] > 2) ** 2


def squares_masks_in_a_loop(a, b):
    for i in range(len(a)):
        t = (a > i) ** 2
    return t


def chooses_a_number(a, b):
    for _ in range(len(a)):
        t = np.where(b.sum() > 1, a[-1], 3)
    return t


def catches_what_tracing_raises(a, b):
    try:
        t = [a.sum(), float(a.max())]
    except (TypeError, ZeroDivisionError):
        pass
    return t


def catches_it_with_another_result(a, b):
    try:
        t = int(a.max())
    except TypeError:
        t = -1
    return t


def reads_what_is_set_where_a_line_fails(a, b):
    try:
        t = b[int(a[3])]
    except IndexError:
        t, u = b, a.sum()
    return t, u


def compares_what_a_loop_that_does_not_run_would_set(a, b):
    t, k = -0.0, 0
    while k < 2 and np.float32(0.5) <= -0.0:
        k += 1
        for x in b[1:]:
            t = b[len(x) - 2]
    return a.sum() if t == t else t


def a_loop_that_does_not_run_would_make_it_an_integer(a, b):
    t, k = a[0], 0
    while k < 5 and np.all(a < 4):
        k += 1
        t = -3 // 2
    return t


def a_loop_that_runs_makes_it_an_integer(a, b):
    t, k = a[0], 0
    while k < 5 and np.any(a < 4):
        k += 1
        t = -3 // 2
    return np.array([t, 1])


def an_array_of_a_number_that_may_be_an_integer(a, b):
    return np.array([min(a.item(0), -5) for _ in range(3)]), np.array([max(a.item(0), -5) for _ in range(3)])


def a_mask_that_is_known_before_a_loop_changes_it(a, b):
    live = np.ones(b.shape, bool)
    for _ in range(40):
        b[live] = b[live] * 2
        live &= b < 10
    return live


def indices_that_are_known_before_a_loop_changes_them(a, b):
    places = np.arange(len(a))
    for k in range(40):
        a[places] -= 1
        places[0] = k % len(a)
    return places


def a_flag_that_is_known_before_a_loop_changes_it(a, b):
    grows = np.array(True)
    for _ in range(40):
        if grows:
            b += 1
        grows[...] = b[0, 0] < 7
    return b


def a_view_under_two_names_after_a_loop(a, b):
    for _ in b.ravel():
        t = u = np.expand_dims(a, -1)
    u = np.argsort(b)
    t[0] = 77
    return t, u


def a_view_that_only_the_loop_knows(a, b):
    for x in a:
        t, u = b[:, ::2], x
    t[0] += u
    return t


def exchanges_the_array_that_it_goes_over(a, b):
    t = b + 10
    for x in t.ravel():
        t, b, last = b, t, x
    for y in t.flat:
        t, b, last = b, t, y + last
    for place, z in np.ndenumerate(t):
        t, b, last = b, t, z + last + place[0]
    return last


def writes_into_what_it_has_written_many_times(a, b):
    for _ in np.ndindex(9, 5):
        done = 0
        while done < 3 and (a is not None):
            done += 1
            b.reshape(-1)[:2] = 1
    return b * 1


def a_function_that_returns_is_made_in_loops(a, b):
    n = 0
    while n < 3 and 1 % 2 == 1:
        n += 1
        m = 0
        while m < 5 and 0 < 1.5 <= 3:
            m += 1

            def last(q):
                return q, 2

    return a.sum(), last(b)[1]


def fills_what_a_loop_may_have_bound(a, b):
    n = 0
    while n < 3 and b.sum() > 2:
        n += 1
        t = a * 1
    np.copyto(t, b[-1, 0] > 0)
    return t


def a_number_that_is_an_integer_on_one_path_ends_a_slice(a, b):
    end = max(a[0], 3)
    a[:end] += end
    return end, b.sum()


def a_number_that_is_an_integer_on_one_path_is_an_index(a, b):
    if (b > 1).any():
        at = 1
    else:
        for x in a:
            at = x.sum()
    return a[at], b


def a_large_int_among_what_is_compared(a, b):
    return max(-2 * 2**70, b.max()), min(a[0], 2**64), a.sum()


def a_large_int_beside_a_number_of_pythons(a, b):
    n = int((b > 0).sum())
    return n == 2**70, 2**64 > n, n // -(2**63 + 1), bool(n) != 2**70, a


def asks_an_item_that_is_not_taken(a, b):
    b -= np.squeeze(b)
    return all(x < b[-1] for x in b.ravel() if x), a


def copies_a_float_in_a_loop_that_returns(a, b):
    for x in b:
        for _ in range(len(b)):
            x[0], x[-1] = x[-1], x[0]
            np.copyto(b, 0.5)
            return b
    return a


def squares_booleans_in_a_loop(a, b):
    for _ in range(3):
        above = np.zeros(b.shape, bool)
        for _ in range(40):
            above[0] = b[0] > a[0]
        squares = above**2
    return squares, above


def catches_what_asks_for_another_attempt(a, b):
    held, counts, x = SimpleNamespace(items=[]), [0, 1], a[0] + 0.0
    try:
        for _ in range(80):
            if x > 50:
                break
            x = x * 1.5 + 1
            counts.append(len(counts))
            held.items.append(x)
    except Exception:  # noqa: BLE001
        x = -int(held.items)
    return x, held.items, counts, b


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]
