"""What variables are called in the text of a loop, and the flags beside them."""

from __future__ import annotations

# What the text may call, and what that calls; `_NUMBERED`, and what ends in a dtype, aside.
_RESERVED = frozenset((
    "abs", "all_inside", "all_of_length", "all_unlike", "apart", "around", "array_all", "array_any", "array_argmax",
    "array_argmin", "array_max", "array_mean", "array_min", "array_norm", "array_prod", "array_std", "array_sum",
    "array_var", "as_float", "as_math", "as_whole", "at", "below_poisson", "bin_edges", "checked_abs", "checked_add",
    "checked_mul", "checked_power", "checked_shift", "checked_sub", "chosen", "clear_index", "close", "compact",
    "compact_keys", "complex", "convolved", "count_among", "count_between", "counts", "counts_in_bins", "densities",
    "determinant", "distinct", "dot", "draw_below", "draw_binomial", "draw_bounded", "draw_weighted", "emptied",
    "ends_of", "enter", "finite", "first_above", "first_at_least", "first_of", "first_places", "fitted",
    "forget_number", "forget_tuple", "fused", "hash_of_both", "hash_of_float", "heappop", "heappush", "how_many",
    "in_room", "interpolated", "inverse", "is_among", "is_found", "is_same_list", "item_or", "itself", "joined_lists",
    "known", "larger", "least_of", "least_of_list", "least_of_tuples", "len", "length", "loose", "lost", "max", "min",
    "more_than_zero", "most_of", "most_of_list", "most_of_tuples", "no_index", "no_items", "nonnegative", "nonzero",
    "note_float", "note_whole", "np", "old_exponential", "old_normal", "place_among", "place_in", "place_in_queue",
    "place_of", "place_of_number", "place_of_tuple", "place_to_insert", "places", "places_of_distinct", "polynomial",
    "positive_zero_or_more", "power_of_python", "probability", "put", "put_in_random_order",
    "put_items_in_random_order", "pythons_below", "pythons_exponential", "pythons_gauss", "pythons_normal",
    "pythons_random", "quantile", "quarter_turns", "range", "reached_shares", "rolled", "root_of_python",
    "round_of_python", "same_length", "shorten", "smaller", "sort_items", "sorted_by", "sorted_copy",
    "sorted_items", "stable_order", "sum_of_list", "sum_of_wholes", "taken_out", "times", "times_itself", "told_float",
    "told_whole", "turned", "unit", "unless_both", "unless_infinite", "unlike", "was_int", "weighted_counts", "whole",
    "with_lost", "within", "without_first", "words_for", "wrapped",
))  # fmt: skip
_NUMBERED = frozenset(("ask", "at", "below_2", "dot", "draw", "draw_integer", "in_order", "places_by_rows", "put",
                       "solve", "unit"))  # fmt: skip


def local(name: str) -> str:
    """A variable's name in the text: the user's, unless something of ours is called so."""
    head, _, end = name.rpartition("_")
    is_numbered = head in _NUMBERED and end.isdigit()
    is_taken = name in _RESERVED or is_numbered or head and end in _SHORT or name.startswith(("word_", "libm_"))
    return f"{name}_" if is_taken else name


def is_set(name: str) -> str:
    """The flag in the text that tells whether a variable has been set: no name that a user would take."""
    return f"{local(name)}__set"


def room_of(name: str) -> str:
    """The length in the text that an array had before the loop, which may leave a shorter one."""
    return f"{local(name)}__room"


def is_none(name: str) -> str:
    """The flag in the text that tells whether a variable is None."""
    return f"{local(name)}__none"


def is_whole(name: str) -> str:
    """The flag in the text that tells whether a float is an int of Python's."""
    return f"{local(name)}__whole"


_SHORT = frozenset(("f32", "f64", "c64", "c128", "bool", *(f"{k}{8 * n}" for k in "iu" for n in (1, 2, 4, 8))))
