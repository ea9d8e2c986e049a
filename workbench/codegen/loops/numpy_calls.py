"""What loops call NumPy's functions with (`primitives.numpy_in_loops`): words in, words and arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from ...ir.avals import SHORT_NAMES
from ...primitives.numpy_in_loops import ASK, FETCH, MOST_ARRAYS, MOST_AXES
from .linked import external, linked, linked_in

_ask = external("ask", ASK, types.int32(types.int64, types.intp))
_fetch = external("fetch", FETCH, types.int32(types.int64, types.intp))


@linked(error_model="numpy")
def words_for(n):
    return np.empty(n, np.int64)


@linked(error_model="numpy")
def note_whole(words, k, x):
    words[k] = x


@linked(error_model="numpy")
def note_float(words, k, x):
    words.view(np.float64)[k] = x


@linked(error_model="numpy")
def _note_array(words, k, a):
    """Where an array lies that is in order, and its lengths. The words that are taken then."""
    words[k] = a.ctypes.data
    for axis in range(a.ndim):
        words[k + 1 + axis] = a.shape[axis]


def _asking(n: int) -> Callable[..., Any]:
    """`ask_n(key, words, arrays...)`. The arrays are alive until the call is over."""
    arrays = [f"a{k}" for k in range(n)]
    lines = [f"def asking({', '.join(['key', 'words', *arrays])}):", "    at = 0"]
    for a in arrays:
        lines += [f"    {a} = np.ascontiguousarray({a})", f"    note_array(words, at, {a})", f"    at += 1 + {a}.ndim"]
    lines += ["    if ask(key, words.ctypes.data) != 1:", "        raise ValueError"]
    lines += [f"    return {' + '.join(f'{a}.size' for a in ['words', *arrays])}"]
    scope: dict[str, Any] = {"np": np, "note_array": _note_array, "ask": _ask}
    exec("\n".join(lines), scope)
    return linked(error_model="numpy")(scope["asking"])


def _fetching(dtype: np.dtype, ndim: int) -> Callable[..., Any]:
    """`fetch_n(words, at, k)`: the array that is result `k`, whose lengths are the words from `at` on."""
    sizes = "".join(f"words[at + {k}], " for k in range(ndim))
    lines = ["def fetching(words, at, k):", f"    out = np.empty(({sizes}), dtype)", "    fetch(k, out.ctypes.data)"]
    scope: dict[str, Any] = {"np": np, "dtype": dtype, "fetch": _fetch}
    exec("\n".join([*lines, "    return out"]), scope)
    return linked(error_model="numpy")(scope["fetching"])


@linked(error_model="numpy")
def told_whole(words, k):
    return words[k]


@linked(error_model="numpy")
def told_float(words, k):
    return words.view(np.float64)[k]


FUNCTIONS: dict[str, Any] = linked_in(globals()) | {
    **{f"ask_{n}": _asking(n) for n in range(MOST_ARRAYS + 1)},
    **{
        f"fetch_{n}_{SHORT_NAMES[dtype]}": _fetching(dtype, n)
        for dtype in map(np.dtype, "?bhilBHILfdFD")
        for n in range(1, MOST_AXES + 1)
    },
}
