"""Sources of random numbers that a compiled loop draws from: held meanwhile, and put back where the loop gives up."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...codegen.loops.random_words import (
    BITS,
    FUNCTIONS,
    HAS_NORMAL,
    N_PYTHONS_BITS,
    N_WORDS,
    NEXT_BITS,
    NORMAL,
    PYTHONS_BITS,
    WORD,
)
from ...primitives.numpy_in_loops import in_use


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


class _Generator:
    """A `np.random.Generator`, as a loop draws from it: its words, and how it is put back."""

    def __init__(self, source: Any):
        functions = _functions()
        assert functions is not None
        self.source = source
        self.bits = self._bits()
        self.state = self._state()
        self.words = functions.copy()
        self.words[BITS] = self.bits.ctypes.bit_generator.value

    def _bits(self) -> Any:
        return self.source.bit_generator

    def _state(self) -> Any:
        return self.bits.state

    def put_back(self) -> None:
        self.bits.state = self.state

    def settle(self) -> None:
        """Let the source know what only the words say."""


class _RandomState(_Generator):
    """The old source, which keeps a normal number for the next call."""

    def __init__(self, source: Any):
        super().__init__(source)
        _keep_normal(self.words, self.state["gauss"] if self.state["has_gauss"] else None)
        self.kept = self.words[HAS_NORMAL : NORMAL + 1].copy()

    def _bits(self) -> Any:
        return self.source._bit_generator

    def _state(self) -> Any:
        return self.source.get_state(legacy=False)

    def put_back(self) -> None:
        self.source.set_state(self.state)
        self.words[HAS_NORMAL : NORMAL + 1] = self.kept

    def settle(self) -> None:
        if (self.words[HAS_NORMAL : NORMAL + 1] != self.kept).any():
            state, normal = self._state(), _kept_normal(self.words)
            state["has_gauss"], state["gauss"] = int(normal is not None), normal or 0.0
            self.source.set_state(state)


class _PythonsRandom:
    """A `random.Random`, all of whose state is in the words meanwhile."""

    def __init__(self, source: random.Random):
        self.source = source
        self.words = np.zeros(PYTHONS_BITS + N_PYTHONS_BITS, np.int64)
        self.version, bits, normal = source.getstate()
        self.words[PYTHONS_BITS:] = bits[:-1]
        self.words[NEXT_BITS] = bits[-1]
        _keep_normal(self.words, normal)
        self.before = self.words.copy()

    def put_back(self) -> None:
        self.words[:] = self.before

    def settle(self) -> None:
        if (self.words != self.before).any():
            bits = (*self.words[PYTHONS_BITS:].tolist(), int(self.words[NEXT_BITS]))
            self.source.setstate((self.version, bits, _kept_normal(self.words)))


def _keep_normal(words: np.ndarray, normal: float | None) -> None:
    words[HAS_NORMAL] = normal is not None
    words[NORMAL : NORMAL + 1].view("f8")[0] = normal or 0.0


def _kept_normal(words: np.ndarray) -> float | None:
    return float(words[NORMAL : NORMAL + 1].view("f8")[0]) if words[HAS_NORMAL] else None


def _held(source: Any) -> _Generator | _PythonsRandom:
    if type(source) is random.Random:
        return _PythonsRandom(source)
    return _RandomState(source) if isinstance(source, np.random.RandomState) else _Generator(source)


class Drawing:
    """Some sources, and the words for each by its id. After `put_back` they are as they were, after `settle` as the
    words say."""

    def __init__(self, sources: Sequence[Any]):
        self.held = {id(source): _held(source) for source in sources}  # one of several names once
        self.words = {key: held.words for key, held in self.held.items()}
        of = [source for source in sources if isinstance(source, np.random.Generator)] if sources else []
        self.generators = {source.bit_generator.ctypes.bit_generator.value: source for source in of}

    def put_back(self) -> None:
        for held in self.held.values():
            held.put_back()

    def settle(self) -> None:
        for held in self.held.values():
            held.settle()


_pythons = threading.RLock()


def _lock(source: Any) -> Any:
    if type(source) is random.Random:  # its methods have the interpreter's lock, and so have loops that draw from it
        return _pythons
    return (source._bit_generator if isinstance(source, np.random.RandomState) else source.bit_generator).lock


@contextmanager
def drawing(sources: Sequence[Any]) -> Iterator[Drawing]:
    """Nobody else draws from the sources meanwhile."""
    with ExitStack() as held:
        for _, lock in sorted({id(lock): lock for lock in map(_lock, sources)}.items()):  # one order for all threads
            held.enter_context(lock)
        found = Drawing(sources)
        held.enter_context(in_use(found.generators))
        try:
            yield found
        finally:
            found.settle()
