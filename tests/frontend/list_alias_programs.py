"""Programs that append arrays to lists: for `test_row_arrays`, which asks what shares memory with what afterwards.

Each takes an array (n, 4) and returns lists and arrays.
"""

from __future__ import annotations

import numpy as np

# ---- every iteration appends ----


def at_the_end(z):
    out = []
    x = z[0]
    for row in z:
        x = x * 0.5 + row
        out.append(x)
    return out, x


def at_the_beginning(z):
    out = []
    x = z[0]
    for row in z:
        out.append(x)
        x = x * 0.5 + row
    return out, x


def before_and_after(z):
    before, after = [], []
    x = z[0]
    for row in z:
        before.append(x)
        x = x * 0.5 + row
        after.append(x)
    return before, after, x


def in_two_lists(z):
    a, b = [], []
    for row in z:
        y = row * 2
        a.append(y)
        b.append(y)
    return a, b


def in_two_lists_and_written_to(z):
    a, b = [], []
    for row in z:
        y = row * 2
        a.append(y)
        b.append(y)
    a[0][0] = 100
    return a, b


def twice_in_one_list(z):
    out = []
    for row in z:
        y = row * 2
        out.append(y)
        out.append(y)
    return out


def under_the_name_of_the_next_iteration(z):
    out = []
    x, previous = z[0], z[-1]
    for row in z:
        previous = x
        x = x * 0.5 + row
        out.append(x)
    return out, previous, x


def two_iterations_later(z):
    out = []
    x, previous = z[0], z[-1]
    for row in z:
        out.append(previous)
        previous = x
        x = x * 0.5 + row
    return out, previous, x


def views(z):
    positions, speeds = [], []
    x = z[0] * 1
    for row in z:
        x = x * 0.5 + row
        positions.append(x[:2])
        speeds.append(x[2:])
    return positions, speeds, x


def views_and_whole_arrays(z):
    ends, whole = [], []
    x = z[0] * 1
    for row in z:
        x = x * 0.5 + row
        ends.append(x[::-1][1:])
        whole.append(x)
    return ends, whole, x[1:]


def a_view_of_what_comes_next(z):
    out, views = [], []
    x = z[0] * 1
    for _ in z:
        out.append(x)
        x = x.copy()
        views.append(x[1:])
    return out, views, x


def in_tuples(z):
    out = []
    x, v = z[0], z[-1]
    for i in range(len(z)):
        v = v * 0.5 - x
        x = x + 0.1 * v
        out.append((i, x, v))
    return out, x, v


def in_lists_of_a_dict(z):
    history = {"x": [z[0]], "v": []}
    x, v = z[0], z[-1]
    for _ in range(len(z)):
        v = v * 0.5 - x
        x = x + 0.1 * v
        history["x"].append(x)
        history["v"].append(v)
    return history, x, v


def a_view_of_the_last_item(z):
    out = []
    x = z[0]
    for row in z:
        x = x * 0.5 + row
        out.append(x)
    return out[-1][1:], out[-1], x


def by_a_function(z):
    out, x = at_the_end(z)
    return out, x, out[-2:]


def one_from_outside(z):
    x, y = z[0] * 1, np.zeros(4)
    out = []
    for row in z:
        out.append(x)
        x = row * 2
        x = y
    return out, x, y


# ---- branches decide which array is appended ----


def markov_chain(z):
    chain = []
    x = z[0]
    for row in z:
        proposal = x + row - 0.5
        if proposal.sum() < 2.0:
            x = proposal
        chain.append(x)
    return chain, x


def markov_chain_of_known_numbers(z):
    chain = []
    first = np.zeros(4)
    x = first
    for row in z:
        proposal = x + row - 0.5
        if proposal[0] < 0.5:
            x = proposal
        chain.append(x)
    return chain, x, first


def markov_chain_of_tuples(z):
    chain = []
    x = z[0] * 1
    energy = x[0]
    for row in z:
        proposal = x + row - 0.5
        if proposal[0] < 0.5:
            x, energy = proposal, proposal[0]
        chain.append((x, energy))
    return chain, x


def markov_chain_in_while(z):
    chain = []
    x = z[0]
    i = 0
    while i < len(z) and x[0] < 50:
        proposal = x + z[i] - 0.5
        if proposal[0] < 0.5:
            x = proposal
        chain.append(x)
        i += 1
    return chain, x


def appended_whether_or_not_it_is_kept(z):
    out = []
    x = z[0] * 1
    for row in z:
        y = x * 0.5 + row
        out.append(y)
        if y[0] > 0.8:
            x = y
    return out, x


def improvements(z):
    best = z[0] * 1
    history = [best]
    for row in z:
        y = row * 2
        if y[0] > best[0]:
            best = y
        history.append(best)
    return history


def improvements_alone(z):
    best = z[0] * 1
    history = []
    for row in z:
        y = row * 2
        if y[0] > best[0]:
            best = y
            history.append(best)
    return history, best


# ---- data decide how often, or how long ----


def every_tenth(z):
    out = []
    x = z[0] * 1
    for i in range(len(z)):
        x = x * 0.5 + z[i]
        if i % 10 == 9:
            out.append(x)
    return out, x


def every_fifth_at_the_beginning(z):
    out = []
    x = z[0]
    for i in range(len(z)):
        if i % 5 == 0:
            out.append(x)
        x = x * 0.9 + z[i]
    return out, x


def until_a_limit(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 30 and k < 40 and k < len(z):
        x = x * 1.01 + z[k]
        out.append(x)
        k += 1
    return out, x[1:], x[:2]


def until_a_limit_at_the_beginning(z):
    first = np.zeros(4)
    out, times = [], []
    x = first
    k = 0
    while x[0] < 30 and k < len(z):
        out.append(x)
        times.append(0.1 * k)
        x = x * 0.9 + z[k]
        k += 1
    return out, times, x, first


def from_an_input(z):
    out = []
    x = z[0]
    k = 0
    while x[0] < 30 and k < len(z):
        out.append(x)
        x = x * 0.9 + z[k]
        k += 1
    return out, x


def from_a_list_that_holds_it(z):
    x = z[0].copy()
    out = [x]
    k = 0
    while x[0] < 30 and k < len(z):
        y = x * 1.01 + z[k]
        if y[0] > 0.2:
            x = y
            out.append(x)
        k += 1
    return out, x


def parts_of_a_state(z):
    positions, speeds = [], []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        k += 1
        positions.append(x[:2])
        speeds.append(x[2:])
    return positions, speeds, x


def pairs_until_a_limit(z):
    out = []
    x, v = z[0] * 1, z[-1] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        v = v * 0.5 - x
        x = x + 0.1 * v + z[k]
        k += 1
        out.append((x, v))
    return out, x, v


def two_lists_of_different_arrays(z):
    xs, vs = [], []
    x = z[0] * 1
    v = x * 2
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        v = v - x
        k += 1
        xs.append(x)
        if x[0] > 1:
            vs.append(v)
    return xs, vs, x, v


def in_a_loop_in_a_loop(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        for _ in range(3):
            x = x * 0.9 + z[k]
            if x[1] > 1:
                out.append(x)
        k += 1
    return out, x


def in_two_loops(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z) // 2:
        x = x * 0.9 + z[k]
        k += 1
        out.append(x)
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        k += 1
        if x[0] > 1:
            out.append(x)
    return out, x


def until_a_break(z):
    out = []
    x = z[0]
    for i in range(len(z)):
        new = x * 0.5 + z[i]
        out.append(new)
        if np.abs(new - x).max() < 1e-2:
            break
        x = new
    return out, x, new


def in_one_of_two_lists(z):
    a, b = [], []
    x = z[0] * 1
    for row in z:
        x = x * 0.9 + row
        if x[0] > 2:
            a.append(x)
        else:
            b.append(x)
    return a, b, x


def twice_in_a_row(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        k += 1
        out.append(x)
        out.append(x)
    return out, x


def the_last_one_is_read(z):
    out = [z[0]]
    for i in range(1, len(z)):
        out.append(out[-1] * 0.5 + z[i])
    return out, out[-1]


def one_array_again_and_again(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        for j in range(40):
            if x[1] + j * 0.1 > 1:
                out.append(x)
        k += 1
    return out, x


def read_and_appended_again(z):
    x = z[0] * 1
    out = [x]
    k = 0
    while x[0] < 50 and k < len(z):
        if z[k, 0] > 0.5:
            x = out[-1]
        else:
            x = x * 0.9 + z[k]
        out.append(x)
        k += 1
    return out, x


def read_where_it_may_be_the_first_one(z):
    out = [z[0]]
    k = 0
    while k < len(z) and z[k, 0] > 0.9:
        out.append(out[-1] * 0.5 + z[k])
        k += 1
    return out[-1], out


EXACT = [
    at_the_end, at_the_beginning, before_and_after, in_two_lists, in_two_lists_and_written_to, twice_in_one_list,
    under_the_name_of_the_next_iteration, two_iterations_later, views, views_and_whole_arrays,
    a_view_of_what_comes_next, in_tuples, in_lists_of_a_dict, a_view_of_the_last_item, by_a_function, one_from_outside,
    markov_chain, markov_chain_of_known_numbers, markov_chain_of_tuples, markov_chain_in_while,
    appended_whether_or_not_it_is_kept, improvements, improvements_alone, every_tenth, every_fifth_at_the_beginning,
    until_a_limit, until_a_limit_at_the_beginning, from_an_input, from_a_list_that_holds_it, parts_of_a_state,
    pairs_until_a_limit, two_lists_of_different_arrays, in_a_loop_in_a_loop, in_two_loops, until_a_break,
    twice_in_a_row, the_last_one_is_read, one_array_again_and_again,
    read_and_appended_again, read_where_it_may_be_the_first_one,
]  # fmt: skip


# Whose results may be one view of an argument, as NumPy's are, or several of the same part of it.
ANOTHER_VIEW = {markov_chain, markov_chain_in_while}


# ---- what nobody can tell, which runs in NumPy ----


def views_that_overlap(z):
    out = []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        k += 1
        out.append((k, x[:2], x[1:]))
    return out


def one_array_in_two_lists(z):
    a, b = [], []
    x = z[0] * 1
    k = 0
    while x[0] < 50 and k < len(z):
        x = x * 0.9 + z[k]
        k += 1
        a.append(x)
        if x[0] > 1:
            b.append(x)
    return a, b


def what_is_kept_and_what_was_tried(z):
    tried, kept = [], []
    x = z[0] * 1
    for row in z:
        y = x * 0.5 + row
        tried.append(y)
        if y[0] > 0.8:
            x = y
        kept.append(x)
    return tried, kept, x


def a_part_of_a_markov_chain(z):
    chain = markov_chain(z)[0]
    return chain[len(z) // 2 :]


def perhaps_the_default(z):
    out = []
    default = z[0] * 2
    for row in z:
        y = default
        if row[2] > 0.2:
            y = row * 0.5
        if row[0] > 0.5:
            out.append(y)
    return default, out


def from_one_array_on_one_side(z):
    x, y = z[0] * 1, z[-1] * 1
    out = []
    for row in z:
        if row[0] > 0.5:
            y = x.copy()
            x = y
        else:
            x = x - y + 1
        out.append(x)
        if row[1] > 0.5:
            out.append(y)
    return out, y


UNTOLD = [
    views_that_overlap, one_array_in_two_lists, what_is_kept_and_what_was_tried, a_part_of_a_markov_chain,
    perhaps_the_default, from_one_array_on_one_side,
]  # fmt: skip
