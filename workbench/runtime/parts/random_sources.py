"""Sources of random numbers that a compiled loop draws from: held meanwhile, and put back where the loop gives up."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...codegen.random_words import BITS, FUNCTIONS, HAS_NORMAL, N_WORDS, NORMAL, WORD


@cache
def _functions() -> np.ndarray | None:
    """The words with the addresses of NumPy's functions; None where they cannot be told."""
    from numpy.random import _generator

    library = ctypes.CDLL(_generator.__file__)
    words = np.zeros(N_WORDS, np.int64)
    for name in FUNCTIONS:
        function = getattr(library, f"random_{name}", None)
        if function is None:
            return None
        words[WORD[name]] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return words


def can_draw() -> bool:
    """Whether compiled loops can draw NumPy's random numbers here."""
    try:
        return _functions() is not None
    except (ImportError, OSError):
        return False


class Drawing:
    """Some sources, and the words for each. Sources are as they were after `put_back`, and as the words say after
    `settle`."""

    def __init__(self, sources: Sequence[Any]):
        self.sources = {id(source): source for source in sources}  # of several names
        self.states = {key: _state(source) for key, source in self.sources.items()}
        self.words = {key: _words(source, self.states[key]) for key, source in self.sources.items()}
        self.before = {key: words.copy() for key, words in self.words.items()}

    def put_back(self) -> None:
        """Let the sources give again what they have given since."""
        for key, source in self.sources.items():
            if isinstance(source, np.random.RandomState):
                source.set_state(self.states[key])
            else:
                source.bit_generator.state = self.states[key]
            self.words[key][:] = self.before[key]

    def settle(self) -> None:
        """Let old sources know the normal number that is kept for the next call."""
        kept = slice(HAS_NORMAL, NORMAL + 1)
        for key, source in self.sources.items():
            words = self.words[key]
            if isinstance(source, np.random.RandomState) and (words[kept] != self.before[key][kept]).any():
                state: Any = source.get_state(legacy=False)
                state["has_gauss"] = int(words[HAS_NORMAL])
                state["gauss"] = float(words[NORMAL : NORMAL + 1].view("f8")[0])
                source.set_state(state)


def _state(source: Any) -> Any:
    is_old = isinstance(source, np.random.RandomState)
    return source.get_state(legacy=False) if is_old else source.bit_generator.state


def _bits(source: Any) -> Any:
    return source._bit_generator if isinstance(source, np.random.RandomState) else source.bit_generator


def _words(source: Any, state: Any) -> np.ndarray:
    functions = _functions()
    assert functions is not None
    words = functions.copy()
    words[BITS] = _bits(source).ctypes.bit_generator.value
    if isinstance(source, np.random.RandomState):
        words[HAS_NORMAL] = state["has_gauss"]
        words[NORMAL : NORMAL + 1].view("f8")[0] = state["gauss"]
    return words


@contextmanager
def drawing(sources: Sequence[Any]) -> Iterator[Drawing]:
    """Nobody else draws from the sources meanwhile."""
    with ExitStack() as held:
        for bits in {id(_bits(source)): _bits(source) for source in sources}.values():
            held.enter_context(bits.lock)
        found = Drawing(sources)
        yield found
        found.settle()
