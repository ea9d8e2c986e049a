"""The fast path of a call: one generated function that tests whether the arguments are those of a specialisation.

For two arrays, of which the first is written, and a dict of an array and a static value it reads like this (`fits`: see
`codegen.llvm_fits`):

    def call(a0=MISS, a1=MISS, a2=MISS, /, *rest, **named):
        if (
            type(a2) is dict and [*a2] == keys2 and type(a2["n"]) is int and a2["n"] == value2
            and not rest and len(named) == 0 and not open.traces
            and fits((x0 := a0), (x1 := a1), (x2 := a2["w"]))
        ):
            r = run(x0, x1, x2)
            if r[1] is not x0:
                copyto(x0, r[1])
            return r[0]
        return MISS

Where it reads more than its arguments, `Lookups` writes what comes between.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from ..frontend.captures import Capture, Guard
from ..frontend.constants import is_constant, same_constant
from ..frontend.device_arrays import device_aval
from ..frontend.held import hold
from ..frontend.outputs import HeldOutput, OutLeaf, Outputs
from ..frontend.reads import Read, absence_of, place_of
from ..frontend.recording import open_traces
from ..frontend.trace import ArgumentRead
from ..frontend.views import Transpose
from ..ir import Atom, supported_dtype
from .arguments import ALIGNED, C_CONTIGUOUS, STATIC_TYPES, WRITEABLE
from .given import Given, is_known_by_value, kind_of
from .keys import is_traced_int
from .looking import Lookups
from .native.calls import ABSENT, Form, Look, native_call
from .native.kernels import fits_function
from .native.machine_code import is_possible
from .native.plans import NativePlan

MISS = object()


def missed(*_: Any, **__: Any) -> Any:
    """The fast path of a function that has none."""
    return MISS


def outside_traces(*_: Any, **__: Any) -> Any:
    """Not MISS for any call that no trace makes."""
    return MISS if open_traces().traces else None


# Writing down what to do without Python costs as much as many calls gain by it.
SETTLES_AT = 3


@dataclass(frozen=True, eq=False, slots=True)
class Native:
    """plan: what the program does for inputs like these, if that takes no Python; replace: puts a function in the place
    of `call`."""

    plan: Callable[[Sequence[Any]], NativePlan | None]
    replace: Callable[[Callable[..., Any], Callable[..., Any]], None]


@dataclass(frozen=True, eq=False, slots=True)
class ResultText:
    """What a call returns, as an expression of `r`, the results of the program, of its inputs, `x0`, `x1` ..., of its
    arguments and of the names in `scope`. held: for what objects are to hold, the expression of the object, what sets
    it there, and the expression of the value; in_call: whether it reads arguments, or `held` is not empty; apart: a
    test of the arguments."""

    text: str
    scope: dict[str, Any]
    reads_inputs: bool = False
    held: tuple[tuple[str, str, str], ...] = ()
    in_call: bool = False
    apart: str = ""
    form: Form | None = None  # where it is all results of the program, in order, as arrays and NumPy scalars

    def function(self) -> Callable[[Sequence[np.ndarray]], Any] | None:
        """The same as a function of `r`, if that is all it takes."""
        return None if self.reads_inputs or self.in_call else eval(f"lambda r: {self.text}", dict(self.scope))


def result_text(
    outputs: Outputs, outvars: Sequence[Atom], foreign: Collection[Atom], n_inputs: int
) -> ResultText | None:  # fmt: skip
    """The expression for what a call returns. Where it is more than numbers, static values, new arrays and inputs (a
    view, or the memory of an argument, a constant or another result) that is a call of `outputs.rebuild`; None where it
    also writes arguments or objects, or returns arguments that are no inputs. foreign: variables whose memory others
    know; n_inputs: of the program."""
    scope: dict[str, Any] = {}
    apart = []
    for k, read in enumerate(outputs.apart):
        scope[f"container{k}"] = read
        apart.append(f"id({_argument_text(read) if isinstance(read, ArgumentRead) else f'container{k}()'})")
    test = f"len({{{', '.join(apart)}}}) == {len(apart)}" if apart else ""
    if _takes_care(outputs, outvars, foreign):
        if outputs.writes or outputs.held or any(map(_reads_argument, outputs.leaves)):
            return None
        scope["rebuild"] = outputs.rebuild
        listed = "".join(f"x{i}, " for i in range(n_inputs))
        return ResultText(f"rebuild(r, ({listed}))", scope, reads_inputs=True, apart=test)
    again = _given_again(outputs)
    texts = [f"v{leaf.same_as}" if i in again else _leaf_text(i, leaf, scope) for i, leaf in enumerate(outputs.leaves)]
    reads_inputs = any(leaf.base_input is not None for leaf in outputs.leaves)
    in_call = bool(outputs.held) or any(isinstance(leaf.value, ArgumentRead) for leaf in outputs.leaves)
    tree, held = outputs.tree, ()
    if outputs.held:
        values, tree = tree.children()
        if not all(child.is_leaf() for child in values.children()):
            return None
        held = tuple(_held_text(i, *each, scope) for i, each in enumerate(zip(outputs.held, texts, strict=False)))
        texts = texts[len(held) :]
        tree = None if tree.is_leaf() else tree
    scalars = tuple(leaf.kind == "scalar" for leaf in outputs.leaves)
    in_order = [leaf.outvar for leaf in outputs.leaves] == list(range(len(outvars)))
    is_plain = in_order and all(leaf.kind in ("array", "scalar") and not leaf.views for leaf in outputs.leaves)
    is_plain = is_plain and not reads_inputs and not in_call
    if tree is None:
        form = Form(scalars, in_tuple=False) if is_plain else None
        return ResultText(texts[0], scope, reads_inputs, held, in_call, test, form)
    listed = "".join(f"{text}, " for text in texts)
    if tree.type in (tuple, list) and all(child.is_leaf() for child in tree.children()):
        if tree.type is list:
            return ResultText(f"[{listed}]", scope, reads_inputs, held, in_call, test)
        form = Form(scalars, in_tuple=True) if is_plain else None
        return ResultText(f"({listed})", scope, reads_inputs, held, in_call, test, form)
    scope |= {"unflatten": optree.tree_unflatten, "tree": tree}
    return ResultText(f"unflatten(tree, [{listed}])", scope, reads_inputs, held, in_call, test)


def _given_again(outputs: Outputs) -> set[int]:
    """The leaves that are values which objects are to hold, too."""
    n_held = len(outputs.held)
    return {i for i, leaf in enumerate(outputs.leaves) if leaf.same_as is not None and leaf.same_as < n_held}


def _takes_care(outputs: Outputs, outvars: Sequence[Atom], foreign: Collection[Atom]) -> bool:
    """Whether results may be memory that something else knows."""
    again = _given_again(outputs)
    leaves = [leaf for i, leaf in enumerate(outputs.leaves) if i not in again]
    new = [leaf for leaf in leaves if leaf.kind == "array" and leaf.base_input is None]
    held = [leaf.base_outvar if _turns(leaf) else leaf.outvar for leaf in new]
    arrays = [*(k for k in held if k is not None), *(k for _, k in outputs.writes)]
    if len({outvars[k] for k in arrays}) < len(arrays) or any(outvars[k] in foreign for k in arrays):
        return True
    return any(map(_needs_care, leaves))


def _reads_argument(leaf: OutLeaf) -> bool:
    return isinstance(leaf.value, ArgumentRead) or any(map(_reads_argument, leaf.options))


def _held_text(i: int, place: HeldOutput, value: str, scope: dict[str, Any]) -> tuple[str, str, str]:
    """The expressions of an object and of a value, and the statement that lets it, `o`, hold it, `v`."""
    scope["hold"], scope[f"held_key{i}"] = hold, place.key
    if isinstance(place.read, ArgumentRead):
        return _argument_text(place.read), f"{{o}}[held_key{i}] = {{v}}", value
    holder = next((name for name, known in scope.items() if known is place.read), f"holder{i}")
    scope[holder] = place.read
    return f"{holder}()", f"hold({{o}}, held_key{i}, {{v}})", value


def _argument_text(read: ArgumentRead) -> str:
    """The expression for a list or dict among the arguments of a call, of which none is static."""
    kind, first, *rest = read.path
    outer = f"named[{first!r}]" if kind else f"a{first}"
    return outer + "".join(f"[{key!r}]" for key in rest)


def _needs_care(leaf: OutLeaf) -> bool:
    if _turns(leaf):
        return leaf.same_as is not None or leaf.code is not None
    known = (leaf.same_as, leaf.base_outvar, leaf.code if leaf.kind != "scalar" else None)
    return leaf.kind in ("repeat", "made") or bool(leaf.views) or any(x is not None for x in known)


def _turns(leaf: OutLeaf) -> bool:
    """Whether it is a new array with its axes in another order than the result of the program."""
    return leaf.base_outvar is not None and len(leaf.views) == 1 and isinstance(leaf.views[0], Transpose)


def _leaf_text(i: int, leaf: OutLeaf, scope: dict[str, Any]) -> str:
    if leaf.base_input is not None:
        return f"x{leaf.base_input}"
    if _turns(leaf):
        (view,) = leaf.views
        assert isinstance(view, Transpose)
        return f"r[{leaf.base_outvar}].transpose({view.permutation})"
    if leaf.outvar is None:
        scope[f"static{i}"] = leaf.value
        if isinstance(leaf.value, ArgumentRead):
            return _argument_text(leaf.value)
        return f"static{i}()" if leaf.kind == "outside" else f"static{i}"
    if leaf.code is not None:
        number = f"r[{leaf.outvar}].item()"
        pythons = f"int({number})" if leaf.value == (int,) else number
        return f"({pythons} if r[{leaf.code}] else r[{leaf.outvar}][()])"
    return f"r[{leaf.outvar}]" + {"array": "", "scalar": "[()]", "python": ".item()"}[leaf.kind]


class _OtherKindError(Exception):
    """An argument that the fast path does not take."""


class _Reader:
    """Writes the tests of the arguments. inputs: of the program, in order, with the expressions that read them; hold:
    tells the guards which objects are given; by_kind: the leaves that these are; traced_ints: those that are ints and
    inputs."""

    def __init__(
        self, scope: dict[str, Any], hold: Callable[[int, Any], bool], by_kind: Collection[int], *,
        floats_are_traced: bool, traced_ints: Collection[int] = (),
    ):  # fmt: skip
        self.scope = scope
        self.hold = hold
        self.by_kind = by_kind
        self.n_held = 0
        self.floats_are_traced = floats_are_traced
        self.traced_ints = traced_ints
        self.tests: list[str] = []
        self.inputs: list[tuple[Any, str]] = []
        self.leaves: list[Any] = []

    def read(self, value: Any, text: str) -> None:
        kind = type(value)
        if kind is dict:
            keys = self._bind("keys", list(value))
            self.tests.append(f"type({text}) is dict and [*{text}] == {keys}")
            for key in sorted(value):
                self.read(value[key], f"{text}[{self._bind('key', key)}]")
        elif kind in (tuple, list):
            self.tests.append(f"type({text}) is {kind.__name__} and len({text}) == {len(value)}")
            for i, item in enumerate(value):
                self.read(item, f"{text}[{i}]")
        else:
            self.leaf(value, kind, text)

    def leaf(self, value: Any, kind: type, text: str) -> None:
        self.leaves.append(value)
        if kind is np.ndarray and value.flags.num & ALIGNED or kind is float and self.floats_are_traced:
            self.inputs.append((value, text))
        elif kind is int and len(self.leaves) - 1 in self.traced_ints:
            if not is_traced_int(value):
                raise _OtherKindError
            self.inputs.append((value, text))
        elif kind in STATIC_TYPES:
            types, value = self._bind("kind", kind), self._bind("value", value)
            self.tests.append(f"type({text}) is {types} and {text} == {value}")
        elif (
            kind is complex and self.floats_are_traced or isinstance(value, np.generic) and supported_dtype(value.dtype)
        ):
            self.inputs.append((value, text))
        elif kind in (float, complex):  # a constant: shapes depend on it, or all are
            self._known(value, text)
        elif isinstance(value, np.ndarray | np.generic | float | complex) or device_aval(value) is not None:
            raise _OtherKindError
        elif len(self.leaves) - 1 in self.by_kind and kind_of(value) is not None:
            test = f"type({text}) is {self._bind('kind', kind)} and {self._bind('hold', self.hold)}"
            self.tests.append(f"{test}({self.n_held}, {text})")
            self.n_held += 1
        else:  # an object, whose attributes are guarded
            self._known(value, text)

    def _known(self, value: Any, text: str) -> None:
        then = self._bind("object", value)
        self.scope["same_constant"] = same_constant
        alike = ""
        if is_constant(value):
            alike = f" or same_constant({text}, {then})"
        elif is_known_by_value(value):
            alike = f" or type({text}) is {self._bind('kind', type(value))} and {text} == {then}"
        self.tests.append(f"({text} is {then}{alike})")

    def _bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.scope)}"
        self.scope[name] = value
        return name


def is_input(value: Any) -> bool:
    """Whether it may be an input of a program: an array, or a number other than a truth value."""
    kind = type(value)
    return kind in (np.ndarray, float, int) or issubclass(kind, np.generic) and value.dtype.kind in "iufc"


def fast_call(
    args: tuple,
    kwargs: Mapping[str, Any],
    run: Callable[..., tuple] | None,
    result: ResultText,
    guards: Sequence[Guard] = (),
    captures: Sequence[Capture] = (),
    writes: Sequence[tuple[int, int]] = (),
    *,
    floats_are_traced: bool,
    traced_ints: Collection[int] = (),
    given: Given | None = None,
    by_kind: Collection[int] = (),
    elsewhere: Collection[str] = (),
    native: Native | None = None,
) -> Callable[..., Any] | None:
    """`call(*args, **kwargs)`: the result of `run` for arguments like these, or MISS for others and inside a trace.

    run: None where `result` tells all; traced_ints: the leaves of the arguments that are ints and inputs; guards: what
    else must hold; captures: arrays that the program reads from outside; writes: pairs of an input and the result that
    is written there; given, by_kind: objects that may be others of their kind; elsewhere: what must be empty; native:
    how to do without Python after some calls. None where the arguments are of other kinds than arrays, floats, ints and
    static values, and tuples, lists and dicts of them, or where arrays in another order than C's are about and some are
    written.
    """
    if not is_possible():
        return None
    scope: dict[str, Any] = {"asarray": np.asarray, "copyto": np.copyto, "run": run, "MISS": MISS, **result.scope}
    scope["open"], scope["elsewhere"] = open_traces(), elsewhere
    given = given or Given()
    reader = _Reader(scope, given.hold, by_kind, floats_are_traced=floats_are_traced, traced_ints=traced_ints)
    lookups = Lookups(scope)
    try:
        for i, arg in enumerate(args):
            reader.read(arg, f"a{i}")
        for name in sorted(kwargs):
            reader.read(kwargs[name], f"named.get({name!r}, MISS)")
    except (_OtherKindError, TypeError):  # keys that cannot be sorted, too
        return None
    try:
        lookups.guards(guards)
        for capture in captures:
            value = _value(capture.read)
            if type(value) is np.ndarray and not value.flags.num & ALIGNED or not is_input(value):
                return None
            reader.inputs.append((value, lookups.text(capture.read)))
    except Exception:  # what is read outside is gone already, or is of the user's and raises
        return None
    if not _same(reader.leaves, optree.tree_leaves((args, dict(kwargs)), none_is_leaf=True)):  # type: ignore[arg-type]
        return None
    written = {i for i, _ in writes}
    inputs, tests = [value for value, _ in reader.inputs], []
    if not all(type(inputs[i]) is np.ndarray and inputs[i].flags.writeable for i in written):
        return None
    in_order = [type(value) is np.ndarray and value.flags.num & C_CONTIGUOUS for value in inputs]
    if written and not all(in_order[i] for i, value in enumerate(inputs) if type(value) is np.ndarray):
        return None  # which of them lie apart is known of arrays in C order
    flags = [ALIGNED | order | (WRITEABLE if i in written else 0) for i, order in enumerate(in_order)]
    if inputs:
        arrays = [i for i, value in enumerate(inputs) if type(value) is np.ndarray]
        apart = [(i, j) for i in written for j in arrays if j > i or j < i and j not in written]
        of_fits = [i for i, value in enumerate(inputs) if type(value) in (np.ndarray, float)]
        for i in set(range(len(inputs))) - set(of_fits):
            scope[f"number{i}"] = type(inputs[i])
            tests.append(f"type(x{i} := {reader.inputs[i][1]}) is number{i}")
            if type(inputs[i]) is int:
                tests.append(f"-{2**62} <= x{i} < {2**62}")
        place = {i: k for k, i in enumerate(of_fits)}
        apart = [(place[i], place[j]) for i, j in apart]
        scope["fits"] = fits_function([inputs[i] for i in of_fits], [flags[i] for i in of_fits], apart)
        if of_fits:
            tests.append(f"fits({', '.join(f'(x{i} := {reader.inputs[i][1]})' for i in of_fits)})")
    first = [*reader.tests, f"not rest and len(named) == {len(kwargs)} and not open.traces"]
    if not isinstance(elsewhere, tuple):
        first.append("not elsewhere")
    if result.apart:
        tests.append(result.apart)
    looks = []
    if lookups.lines:
        lines = [*lookups.lines, *([f"if not ({' and '.join(tests)}): return MISS"] if tests else [])]
        looks = ["        try:", *("            " + line for line in lines), "        except Exception: return MISS"]
    else:
        first += tests
    parameters = [*(f"a{i}=MISS" for i in range(len(args))), *(["/"] if args else []), "*rest", "**named"]
    passed = (f"x{i}" if type(value) is np.ndarray else f"asarray(x{i})" for i, value in enumerate(inputs))
    look = None
    if not kwargs and not writes and len(args) + len(captures) == len(inputs):
        are_plain = all(text == f"a{i}" for i, (_, text) in enumerate(reader.inputs[: len(args)]))
        look = _looked_up(guards, captures) if are_plain else None
    settle = []
    takes_ints = any(type(value) not in (np.ndarray, float) for value in inputs)
    if native is not None and result.form is not None and look is not None and not takes_ints:
        places = None if isinstance(elsewhere, tuple) else elsewhere
        about = (result.form, flags, len(args), look, places)
        scope["calls"], scope["settle"] = itertools.count(1), _settler(native, about, scope)
        listed = "".join(f"x{i}, " for i in range(len(inputs)))
        settle = [f"        if next(calls) == {SETTLES_AT}:", f"            settle(({listed}))"]
    lines = [
        f"def call({', '.join(parameters)}):",
        f"    if {' and '.join(first)}:",
        *looks,
        *settle,
        *([f"        r = run({', '.join(passed)})"] if run is not None else []),
        *(f"        if r[{k}] is not x{i}:\n            copyto(x{i}, r[{k}])" for i, k in writes),
        *_returned(result),
        "    return MISS",
    ]
    exec(compile("\n".join(lines), "<workbench call>", "exec"), scope)
    return scope["call"]


def fits_call(args: tuple, kwargs: Mapping[str, Any], **known: Any) -> Callable[..., Any]:
    """`fits(*args, **kwargs)`: MISS for arguments of other kinds than these, and in a trace. known: of `fast_call`."""
    return fast_call(args, kwargs, None, ResultText("True", {}), **known) or missed


def _returned(result: ResultText) -> list[str]:
    """The statements that let objects hold their values, all of which are read before, and return the result."""
    if not result.held:
        return [f"        return {result.text}"]
    lines: list[str] = []
    holders: dict[str, str] = {}
    for k, (holder, _, value) in enumerate(result.held):
        lines.append(f"        v{k} = {value}")
        if holder not in holders:
            lines.append(f"        o{k} = {holder}")
            holders[holder] = f"o{k}"
    lines.append(f"        result = {result.text}")
    for k, (holder, statement, _) in enumerate(result.held):
        lines.append("        " + statement.format(o=holders[holder], v=f"v{k}"))
    return [*lines, "        return result"]


def _settler(native: Native, about: tuple[Form, list[int], int, Look, Any], scope: Mapping[str, Any]) -> Callable:
    """What replaces the `call` of `scope`, when it is called for the present inputs, by a function without Python."""
    form, flags, n_args, look, elsewhere = about

    def settle(inputs: Sequence[Any]) -> None:
        plan, call = native.plan(inputs), scope["call"]
        if plan is None:
            return
        found = native_call(plan, form, inputs, flags, n_args, look, open_traces(), elsewhere, call)
        if found is not None:
            native.replace(call, found)

    return settle


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _looked_up(guards: Sequence[Guard], captures: Sequence[Capture]) -> Look | None:
    """What a call without Python looks up; None where that is more than names in namespaces."""
    its_guards = []
    for guard in guards:
        place, absent = place_of(guard.read), absence_of(guard.read)
        if absent is not None and guard.value is False:
            its_guards.append((*absent, ABSENT))
        elif place is not None and guard.same in (operator.is_, same_constant):
            its_guards.append((*place, guard.value))
        else:
            return None
    its_captures = [place for capture in captures if (place := place_of(capture.read)) is not None]
    return Look(its_captures, its_guards) if len(its_captures) == len(captures) else None


def _value(read: Read) -> Any:
    try:
        return read()
    except Exception:  # the name, key or attribute is gone
        return MISS


def fast_device_call(
    args: Sequence[Any], memory: Any, call: Callable[[list[Any]], Any], is_current: Callable[[], bool] | None,
    elsewhere: Collection[str],
) -> Callable[..., Any] | None:  # fmt: skip
    """The fast path of a version on a GPU, for arrays that are there already. None where `args` has anything else.

    memory: the device's (`cuda.memory.Memory`); call: runs the version; elsewhere: devices that were chosen meanwhile.
    """
    if not args or not all(map(memory.owns, args)):
        return None
    kinds = tuple((x.dtype, x.shape) for x in args)
    owns, n, opened = memory.owns, len(args), open_traces()

    def fast(*given: Any, **others: Any) -> Any:
        if others or len(given) != n or opened.traces or elsewhere:
            return MISS
        for x, (dtype, shape) in zip(given, kinds, strict=True):
            if not owns(x) or x.dtype != dtype or x.shape != shape:
                return MISS
        return call(list(given)) if is_current is None or is_current() else MISS

    return fast
