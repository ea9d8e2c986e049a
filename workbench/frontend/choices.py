"""Values of which the numbers decide what kind they are: None until a branch sets an array, one word or another.

    best = None                               best, code = zeros, 0
    for x in candidates:                      for x in candidates:
        if error(x) < least:                      if error(x) < least:
            best = x                                  best, code = x, 1
    return best                               return (None, best)[code]

Where branches meet, such a value becomes a `Choice`. `is None`, comparisons with words and its truth are questions to
`code`. Code that computes with it needs the number or array that it may be: the call ends where it is another one, and
runs in NumPy, which raises. A variable that only some paths bind is a choice, too: any use of it needs the value.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import optree

from ..errors import TracingError
from ..ir import REGISTRY, Equation
from .blanks import is_number, zeros_like
from .checks import end_unless
from .constants import CONSTANT_TYPES, computes_as_int
from .diagnostics import unsupported
from .held import UNDEFINED
from .operators import weaken
from .recording import Deferred, Trace
from .tracer import Tracer, as_scalar, emit, in_region, lift, require_trace

KINDS = (type(None), str, bytes)  # of constants that are no numbers, besides members of enumerations
MOST_KINDS = 16


class _Value:
    """Among the kinds of a choice: the number or array, or a tuple of them."""

    def __repr__(self) -> str:
        return "an array"


VALUE = _Value()


class Choice(Deferred):
    """kinds: what it may be, constants and `VALUE`; which: a traced int, the position of what it is among them; given:
    what VALUE stands for; stays_unbound: what the program leaves under a name, if anything, where another result would
    have to be bound."""

    __slots__ = ("_settled_in", "given", "kinds", "stays_unbound", "which")

    def __init__(self, kinds: tuple[Any, ...], which: Any, given: Any = None):
        self.kinds = kinds
        self.which = which
        self.given = given
        self.stays_unbound = False
        self._settled_in: list[tuple[Trace, Equation]] = []  # with the check, which a trace may have forgotten again

    # ---- questions that its code answers ----

    def _is_one_of(self, test: Callable[[Any], bool]) -> Any:
        """Whether it is of the kinds for which `test` holds: a bool, or a traced one."""
        holds = [bool(test(kind)) for kind in self.kinds]
        if len(set(holds)) == 1:
            return holds[0]
        found = None
        for k, wanted in enumerate(holds):
            if wanted is (sum(holds) * 2 <= len(holds)):  # the fewer ones
                one = emit(REGISTRY["eq"], lift(self.which), lift(k))
                found = one if found is None else emit(REGISTRY["or"], found, one)
        if sum(holds) * 2 > len(holds):
            found = emit(REGISTRY["not"], found)
        return weaken(found)

    def is_same(self, other: Any) -> Any:
        """`self is other`."""
        if UNDEFINED in self.kinds:
            return self.settled() is other
        if not is_kind(other):
            raise self.error()
        return self._is_one_of(lambda kind: kind is other)

    def is_instance(self, classes: Any) -> Any:
        """`isinstance(self, classes)`."""
        if UNDEFINED in self.kinds:
            return issubclass(self.settled().__class__, classes)
        return self._is_one_of(lambda kind: issubclass((self.given if kind is VALUE else kind).__class__, classes))

    def truth(self) -> Any:
        """`bool(self)`, or a traced one."""
        if UNDEFINED in self.kinds:
            return self.settled()
        if VALUE not in self.kinds:
            return self._is_one_of(bool)
        if type(self.given) is tuple:
            return self._is_one_of(lambda kind: bool(self.given if kind is VALUE else kind))
        value = lift(self.given)
        if value.size != 1:
            return bool(self.settled())  # NumPy's error
        holds = (value.reshape(()) if value.shape else value) != 0
        holds = emit(REGISTRY["and"], holds, lift(self._is_one_of(lambda kind: kind is VALUE)))
        others = self._is_one_of(lambda kind: kind is not VALUE and bool(kind))
        return weaken(holds if others is False else emit(REGISTRY["or"], holds, lift(others)))

    def _equals(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        if not is_kind(other) or UNDEFINED in self.kinds:
            return compare(self.operand(compare.__name__, other), other)
        if VALUE in self.kinds and _has_elements_in(self.given):
            return compare(self.settled(), other)  # element by element
        # No number equals one of these.
        return self._is_one_of(lambda kind: compare(kind, other) is True)

    def __eq__(self, other: object) -> Any:
        return self._equals(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._equals(other, operator.ne)

    def __hash__(self) -> int:
        raise self.error()

    def is_in(self, items: Any) -> Any:
        """`self in items`."""
        if UNDEFINED in self.kinds:
            return self.settled() in items
        if type(items) not in (tuple, list, set, frozenset) or not all(map(is_kind, items)):
            raise self.error()
        if VALUE in self.kinds and _has_elements_in(self.given):
            raise self.error()
        return self._is_one_of(lambda kind: kind in items)

    # ---- the number or array that code computes with ----

    def settled(self) -> Any:
        """The number or array; the call ends here where it is something else."""
        if VALUE not in self.kinds:
            raise self.error()
        trace = require_trace()
        if not self._is_settled(trace):
            is_value = self._is_one_of(lambda kind: kind is VALUE)
            if type(is_value) is Tracer:
                end_unless(is_value)
                self._settled_in.append((trace, trace.eqns[-1]))
        return self.given

    def operand(self, operation: str, *others: Any) -> Any:
        """What an operator computes with, beside `others`: the number or array, or that of a member of an `IntEnum`."""
        if VALUE in self.kinds or not all(isinstance(kind, int) for kind in self.kinds):
            return self.settled()
        if not all(computes_as_int(type(kind), operation) for kind in self.kinds):
            raise self.error()
        if any(type(x) is Tracer and x.buffer.mixed for x in others):
            raise self.error()
        return self._number(numpys=not all(is_pythons(x) for x in others))

    def numpys(self) -> Any:
        """What a function of NumPy's computes with."""
        if VALUE in self.kinds or not all(isinstance(kind, int) for kind in self.kinds):
            return self.settled()
        return self._number(numpys=True)

    def _number(self, *, numpys: bool) -> Tracer:
        """Of a choice between members of an `IntEnum`. numpys: as NumPy sees them, which are no numbers of Python's."""
        numbers = [lift(np.int64(kind)) for kind in self.kinds]
        found, code = numbers[0], lift(self.which)
        for k, number in list(enumerate(numbers))[1:]:
            found = emit(REGISTRY["select_n"], emit(REGISTRY["eq"], code, lift(k)), found, number)
        return as_scalar(found) if numpys else weaken(found)

    def _is_settled(self, trace: Trace | None) -> bool:
        """Whether this trace, or one around it, has the check."""
        while trace is not None:
            checks = [check for known, check in self._settled_in if known is trace]
            if checks and any(eqn is check for eqn in reversed(trace.eqns) for check in checks):
                return True
            trace = trace.parent
        return False

    def error(self) -> TracingError:
        return unsupported(
            f"a value that is {self.description()}, as the numbers decide",
            why="what it is must be known where it is used so",
            fixes=("compare it with `is None` or `==`, or give it one type on every path",),
        )

    def description(self) -> str:
        texts = {VALUE: lambda: _described(self.given), UNDEFINED: lambda: "unbound"}
        return " or ".join(texts[kind]() if kind in (VALUE, UNDEFINED) else repr(kind) for kind in self.kinds)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if all(isinstance(kind, enum.Enum) for kind in self.kinds):
            from .items import chosen

            found = chosen([getattr(kind, name) for kind in self.kinds], lift(self.which))
            if found is None:
                raise self.error()
            return found
        return getattr(self.settled(), name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs, kwargs = optree.tree_map(as_numpys, (inputs, kwargs), is_leaf=is_choice, none_is_leaf=True)  # type: ignore[arg-type]
        return getattr(ufunc, method)(*inputs, **kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        args, kwargs = optree.tree_map(as_numpys, (args, kwargs), is_leaf=is_choice, none_is_leaf=True)  # type: ignore[arg-type]
        return func(*args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.settled(), dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.settled()[key] = value

    def __repr__(self) -> str:
        raise self.error()

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        raise self.error()

    def __bool__(self) -> bool:
        return bool(self.truth())


def _forwarded(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(self.settled(), *map(settled, args))


def _operator_of(name: str, *, is_reflected: bool = False, in_place: bool = False) -> Callable[..., Any]:
    function = getattr(operator, f"__{'i' if in_place else ''}{name}__")

    def compute(self: Choice, *args: Any) -> Any:
        mine = self.operand(name, *args)
        others = [x.operand(name, mine) if type(x) is Choice else x for x in args]
        return function(*others, mine) if is_reflected else function(mine, *others)

    return compute


def is_pythons(x: Any) -> bool:
    """Whether it is a number of Python's."""
    if type(x) is Tracer:
        return x.scalar and x.weak_type
    if type(x) is Choice:
        return VALUE not in x.kinds
    return isinstance(x, int | float | complex) and not isinstance(x, np.generic)


_NAMES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _name in _NAMES:
    setattr(Choice, f"__{_name}__", _operator_of(_name))
    setattr(Choice, f"__r{_name}__", _operator_of(_name, is_reflected=True))
    setattr(Choice, f"__i{_name}__", _operator_of(_name, in_place=True))
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "index"):
    setattr(Choice, f"__{_name}__", _operator_of(_name))
for _name in ("getitem", "contains"):
    setattr(Choice, f"__{_name}__", _forwarded(getattr(operator, f"__{_name}__")))
for _function in (len, iter, int, float, complex, divmod, round):
    setattr(Choice, f"__{_function.__name__}__", _forwarded(_function))


def is_choice(value: Any) -> bool:
    return type(value) is Choice


def settled(value: Any) -> Any:
    return value.settled() if type(value) is Choice else value


def as_numpys(value: Any) -> Any:
    """What a function of NumPy's computes with."""
    return value.numpys() if type(value) is Choice else value


def unknown(value: Any) -> bool:
    """Whether the truth of `value` is only known when the kernel runs. Arrays of other sizes have none, as in NumPy."""
    if type(value) is not Tracer or value.size != 1:
        return False
    value = in_region(value)
    return value.buffer.trace.known_soon(value.current) is None


def truth(value: Any) -> Any:
    """What to ask of a test: of a choice, or of an object whose class says it, whether it is true."""
    if type(value) is Choice:
        return value.truth()
    says = getattr(type(value), "__bool__", None)
    return says(value) if type(says) is FunctionType and type(value) is not Tracer else value


def _has_elements_in(value: Any) -> bool:
    """Whether NumPy compares `value` element by element."""
    leaves = optree.tree_leaves(value, none_is_leaf=True)
    return any(type(x) is Tracer and not x.scalar or isinstance(x, np.ndarray) for x in leaves)


def _described(value: Any) -> str:
    if type(value) is tuple:
        return "a tuple"
    x = lift(value)
    return str(x.aval) if x.shape else x.dtype.name


def left_under_a_name(value: Any) -> Any:
    """`value`, which a program leaves under a name or attribute: it may leave none."""
    if type(value) is not Choice or UNDEFINED not in value.kinds:
        return value
    left = Choice(value.kinds, value.which, value.given)
    left.stays_unbound = True
    return left


# ---- in trees: the code and the value are leaves ----


def _flatten(choice: Choice) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (choice.which, choice.given) if VALUE in choice.kinds else (choice.which,), choice.kinds


def _unflatten(kinds: tuple[Any, ...], parts: Any) -> Choice:
    return Choice(kinds, *parts)


optree.register_pytree_node(Choice, _flatten, _unflatten, namespace=optree.registry.__GLOBAL_NAMESPACE)  # type: ignore[arg-type]


# ---- where branches meet ----


def agreed(
    values: Sequence[Any], run: Callable[[int, Callable[[], Any]], Any], stays: Callable[[Any], bool] = is_choice
) -> list[Any]:
    """`values`, one of each path, as choices where they are of several kinds. run: what path `k` computes; stays:
    whether a container is none to look into.

    They are left as they are where no choice can be made of them.
    """
    if all(type(v) is Tracer for v in values):
        return list(values)
    is_leaf = lambda x: is_choice(x) or stays(x)  # noqa: E731
    flat = [optree.tree_flatten(v, is_leaf=is_leaf, none_is_leaf=True) for v in values]  # type: ignore[arg-type]
    if any(tree != flat[0][1] for _, tree in flat):
        return _choices(values, run) or list(values)
    columns = [list(column) for column in zip(*[leaves for leaves, _ in flat], strict=True)]
    found = [_choices(column, run) for column in columns]
    if not any(found):
        return list(values)
    filled = zip(*[choices or column for choices, column in zip(found, columns, strict=True)], strict=True)
    return [optree.tree_unflatten(tree, leaves) for (_, tree), leaves in zip(flat, filled, strict=True)]


def _choices(column: Sequence[Any], run: Callable[[int, Callable[[], Any]], Any]) -> list[Any] | None:
    """The same values as choices between the same kinds; None if they are all of one kind, or too different."""
    kinds: list[Any] = []
    given: list[Any] = []
    for x in column:
        if x is UNDEFINED:
            mine = (x,)
        elif type(x) is Choice:
            mine = x.kinds
            given += [x.given] if VALUE in mine else []
        elif is_kind(x):
            mine = (x,)
        elif _is_value(x):
            mine = (VALUE,)
            given.append(x)
        else:
            return None
        kinds += [kind for kind in mine if not any(_is_same_kind(kind, known) for known in kinds)]
    if len(kinds) < 2 or len(kinds) > MOST_KINDS:
        return None
    if UNDEFINED in kinds and (len(kinds) > 2 or VALUE not in kinds or _first_iteration_may_bind()):
        return None
    if all(type(x) is Choice and x.kinds == tuple(kinds) for x in column):
        return None
    return [as_choice(x, tuple(kinds), given, lambda code, k=k: run(k, code)) for k, x in enumerate(column)]


def as_choice(x: Any, kinds: tuple[Any, ...], given: Sequence[Any], run: Callable[[Callable[[], Any]], Any]) -> Choice:
    """`x` as a choice between `kinds`, of which it is one. given: something like the number or array, if it is none."""
    place = lambda kind: next(k for k, other in enumerate(kinds) if _is_same_kind(kind, other))  # noqa: E731
    blank = lambda: run(lambda: zeros_like(given[0])) if given else None  # noqa: E731
    if type(x) is not Choice:
        kind = x if x is UNDEFINED or is_kind(x) else VALUE
        return Choice(kinds, place(kind), x if kind is VALUE else blank())
    moves = [place(kind) for kind in x.kinds]

    def moved() -> Any:
        code = lift(x.which)
        new = lift(moves[0])
        for k, to in list(enumerate(moves))[1:]:
            new = emit(REGISTRY["select_n"], emit(REGISTRY["eq"], code, lift(k)), new, lift(to))
        return new

    code = x.which if moves == list(range(len(moves))) else run(moved)
    return Choice(kinds, code, x.given if VALUE in x.kinds else blank())


def _is_same_kind(a: Any, b: Any) -> bool:
    return a is b or type(a) is type(b) and isinstance(a, str | bytes) and a == b


def is_kind(x: Any) -> bool:
    """Whether it may be one of the kinds of a choice, besides a number or array."""
    if type(x) in (Choice, Tracer):
        return False
    return isinstance(x, enum.Enum) or isinstance(x, KINDS) and not is_number(x)


def has_few_members(cls: type[enum.Enum]) -> bool:
    """Whether a value of the class is one of few, and not several of them at once."""
    return len(cls) <= MOST_KINDS and not issubclass(cls, enum.Flag)


def member_of(cls: type[enum.Enum], number: Tracer) -> Choice:
    """The member of an `IntEnum` that `number` is."""
    members = tuple(cls)
    code = lift(0)
    for k, member in enumerate(members):
        code = emit(REGISTRY["select_n"], emit(REGISTRY["eq"], number, lift(int(member.value))), code, lift(k))
    return Choice(members, code)


def _is_value(x: Any) -> bool:
    """Whether it is a number, an array or a tuple of them."""
    if type(x) is tuple:
        return all(_is_value(item) or isinstance(item, CONSTANT_TYPES) for item in x)
    return type(x) is Tracer or type(x) is not Choice and is_number(x)


def _first_iteration_may_bind() -> bool:
    """Whether a loop is tried that may write out its first iteration: what only some paths of its body bind, that may
    have bound."""
    trace: Trace | None = require_trace()
    while trace is not None and not trace.may_write_out:
        trace = trace.parent
    return trace is not None


# ---- as a result ----


@dataclass(frozen=True)
class ChoiceForm:
    """How the value of a choice that a program returns is made. tree, places: of its number or array, the latter among
    the leaves of the result."""

    kinds: tuple[Any, ...]
    tree: Any
    places: tuple[int, ...]
    results: tuple[int, ...] = ()

    def value(self, results: Sequence[Any], code: Any, leaves: Sequence[Any]) -> Any:
        """code: which of the kinds it is; leaves: of the result."""
        given = None
        if self.tree is not None:
            given = optree.tree_unflatten(self.tree, [leaves[k] for k in self.places])
        if type(code) is Tracer:
            return Choice(self.kinds, code, given)
        kind = self.kinds[int(code)]
        return given if kind is VALUE else kind


def holds_choices(value: Any) -> bool:
    return any(map(is_choice, optree.tree_leaves(value, is_leaf=is_choice, none_is_leaf=True)))


def maker(places: Any) -> Callable[[Sequence[Any]], Any]:
    """Makes of leaves, which a program computed, what is built as `places` is, which says where among them each is to
    be; with what the choices are in their place."""

    def build(part: Any) -> Callable[[Sequence[Any]], Any]:
        if type(part) is Choice:
            kinds, code = part.kinds, part.which
            value = build(part.given) if VALUE in kinds else None
            return lambda row: value(row) if kinds[row[code]] is VALUE else kinds[row[code]]  # type: ignore[misc]  # it is
        if isinstance(part, dict):
            items = [(key, build(x)) for key, x in part.items()]
            return lambda row: {key: make(row) for key, make in items}
        if type(part) in (list, tuple):
            kind, makers = type(part), [build(x) for x in part]
            return lambda row: kind([make(row) for make in makers])
        return operator.itemgetter(part)

    return build(places)


__all__ = [
    "VALUE", "Choice", "ChoiceForm", "agreed", "as_numpys", "has_few_members", "holds_choices", "is_choice", "is_kind",
    "left_under_a_name", "maker", "member_of", "settled", "truth",
]  # fmt: skip
