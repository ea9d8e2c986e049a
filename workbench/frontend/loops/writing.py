"""What is being written: the functions of a loop's text, their lines, and what was come across on the way."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from .letters import LETTERS, codes_of
from .types import LAZY, Type, UntranslatableError

MANY_ELEMENTS = 65_536  # an array operation, or product, from here on is better off in kernels and BLAS
SHORT = 4  # elements along an axis, of coordinates and the like: loops over them are written out
FEW = 16  # elements of an array that variables hold, one for each: a 4x4 matrix
INDENT = "    "


@dataclass(eq=False)
class Facts:
    """What the translation came across: it decides whether the loop is better off traced."""

    elements: bool = False  # reads or writes single elements
    partial: bool = False  # takes slices whose length is known at run time alone
    arrays: bool = False  # computes with arrays
    rows: bool = False  # takes rows, columns and the like of arrays, by indices that the loop knows
    largest: float = 0  # elements of the largest array operation, infinity where a length is not known
    largest_known: float = 0  # of those whose lengths are known
    routines: bool = False  # sorts, solves, picks by indices, which no native loop of a plan (`runtime`) takes
    masked: bool = False  # picks elements by masks, so that lengths are not known, but bounded by those that are
    product: float = 0  # multiplications of the largest matrix product
    draws: bool = False  # draws random numbers
    matrix: float = 0  # elements of the largest matrix that a vector is multiplied with
    asks: bool = False  # has Python call functions of NumPy's, which kernels between these calls do as well

    @property
    def many(self) -> bool:
        """Whether kernels and BLAS, with threads, are worth what it costs to call them."""
        return (self.masked or self.largest < math.inf) and self.largest_known >= MANY_ELEMENTS

    def count(self, *sizes: int | None) -> None:
        """An array operation over axes of these lengths."""
        known = [n for n in sizes if n is not None]
        self.arrays = True
        if len(known) == len(sizes):
            self.largest_known = max(self.largest_known, math.prod(known))
        self.largest = max(self.largest, math.prod(known) if len(known) == len(sizes) else math.inf)


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A translated function. parameters: by their names in the text; extras: what it reads outside, by parameter;
    handed_back: variables of the loop that it sets, which it takes, too, and gives in a tuple with its result, if it
    has one; gives_none: its result may be None, and it gives a pair, with whether it is; calls_itself: it takes how
    deep it is in itself, too; own: the lists that it gives have no other name."""

    name: str
    text: str
    parameters: Mapping[str, Type]
    result: Type
    extras: dict[str, Any]
    handed_back: dict[str, Type] = field(default_factory=dict)
    gives_none: bool = False
    calls_itself: bool = False
    own: bool = False


@dataclass(eq=False)
class Module:
    """The text that is being written: one function for the loop, one for each function that it calls. changes: whether
    what a function sees under a name is a variable that the loop binds."""

    changes: Callable[[FunctionType, str], bool]
    functions: dict[Any, Function] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)  # arrays outside that functions read, by parameter
    listed: set[Any] = field(default_factory=set)  # functions whose comprehensions are loops in the text
    pending: dict[Any, Any] = field(default_factory=dict)  # functions that are being translated -> their translators
    written: set[str] = field(default_factory=set)  # arrays from outside that are written to
    copied: set[str] = field(default_factory=set)  # arrays from outside of which variables may be views in NumPy
    unwritten: set[str] = field(default_factory=set)  # arrays from outside that must not be written to
    buffers: dict[str, int] = field(default_factory=dict)  # arrays from outside -> what tells their memory
    paths: dict[str, tuple] = field(default_factory=dict)  # arrays that functions read -> where these find them
    note: Callable[[tuple, Any], None] = lambda path, value: None  # is told of what functions read outside
    # The Python function, if any, that a compiled function is made of.
    python_function: Callable[[Any], Any] = lambda value: None
    # The loop's variable with a list that a function reads; "" of a list that is none of the loop's.
    list_name: Callable[[str, Any, tuple], str] | None = None
    given_lists: set[int] = field(default_factory=set)  # ids of the lists that go into the loop
    takes_random: bool = False  # whether random numbers may be drawn: from sources that are at hand
    lists: dict[str, Type] = field(default_factory=dict)  # the loop's variables, of which some are lists
    given_items: dict[str, frozenset[type]] = field(default_factory=dict)  # types of what lists hold that is no float
    facts: Facts = field(default_factory=Facts)
    texts: dict[tuple, Any] = field(default_factory=dict)  # the letters of strings outside, by where these are found
    setters: dict[str, FunctionType] = field(default_factory=dict)  # functions that set variables of the loop
    spelled: set[str] = field(default_factory=set)  # the variables that hold them

    def codes(self, text: str, path: tuple) -> tuple[str, Any]:
        """A parameter's name for the letters of the string at `path`, and these."""
        found = self.texts.setdefault(path, codes_of(text))
        key = self.name_of_global(f"{path[-1]}_letters", found)
        self.paths[key] = (*path, LETTERS)
        return key, found

    def name_of_global(self, name: str, found: Any) -> str:
        """A parameter's name for an array outside."""
        k = 0
        while self.globals.setdefault(key := f"{name}_given{k or ''}", found) is not found:
            k += 1
        return key

    def may_share(self, a: frozenset[str], b: frozenset[str]) -> bool:
        """Whether arrays of these origins may share memory. Those without any were made by the loop."""
        if not a or not b:
            return not a and not b
        return not {self.buffers.get(n, n) for n in a}.isdisjoint({self.buffers.get(n, n) for n in b})


class Writer:
    """The lines of one function."""

    def __init__(self, module: Module):
        self.module = module
        self.lines: list[str] = []
        self.indent = 1
        self.n_temporaries = 0
        self.equal: set[tuple[str, str]] = set()  # lengths that this statement has compared
        self.places: dict[str, list[str]] = {}  # masks of this statement -> where they are true
        self.fresh: set[str] = set()  # temporaries whose memory nothing else shares
        self.made_early: bool = False  # this statement computed a part of an expression in front of it
        self.calls_writer: bool = False  # this statement calls a function that writes into arrays
        self.writer_calls: list[ast.Call] = []  # these calls
        self.draws_early: bool = False  # this statement draws random numbers, in front of itself
        self.set_by_call: set[str] = set()  # variables that functions which this statement calls set

    def noted(self) -> tuple[Any, ...]:
        """What this statement has written so far, for `back_to`."""
        kept = set(self.equal), dict(self.places), set(self.fresh), set(self.set_by_call), list(self.writer_calls)
        return len(self.lines), self.indent, self.made_early, self.calls_writer, self.draws_early, *kept

    def back_to(self, before: tuple[Any, ...]) -> None:
        """Forget what has been written since."""
        n_lines, self.indent, self.made_early, self.calls_writer, self.draws_early, *kept = before
        self.equal, self.places, self.fresh, self.set_by_call, self.writer_calls = kept
        del self.lines[n_lines:]

    @property
    def facts(self) -> Facts:
        return self.module.facts

    def temporary(self) -> str:
        self.n_temporaries += 1
        return f"t{self.n_temporaries}_"

    def line(self, text: str) -> None:
        if LAZY in text:
            raise UntranslatableError("an array that has no memory")
        self.lines.append(INDENT * self.indent + text)

    def early(self, text: str) -> str:
        """A temporary with the value of an expression, computed in front of the statement."""
        name = self.temporary()
        self.made_early = True
        self.line(f"{name} = {text}")
        return name
