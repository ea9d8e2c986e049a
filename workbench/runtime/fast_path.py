"""The fast path of a call: one generated function that tests whether the arguments are those of a specialisation.

For two arrays, a float and a static value it reads like this (`fits`: see `codegen.llvm_fits`):

    def call(a0=MISS, a1=MISS, a2=MISS, a3=MISS, *rest):
        if fits(a0, a1, a2) and type(a3) is kind3 and a3 == value3 and not rest and not open.traces and not elsewhere:
            r = run(a0, a1, asarray(a2))
            return r[0], r[1].item()
        return MISS
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import optree

from ..frontend.captures import Capture, Guard, Read, place_of, same_constant
from ..frontend.outputs import OutLeaf, Outputs
from ..frontend.recording import open_traces
from ..ir import Atom
from .arguments import ALIGNED, C_CONTIGUOUS, STATIC_TYPES
from .kernels import fits_function
from .machine_code import is_possible

MISS = object()


def missed(*_: Any) -> Any:
    """The fast path of a function that has none."""
    return MISS


@dataclass(frozen=True, eq=False, slots=True)
class ResultText:
    """What a call returns, as an expression of `r`, the results of the program, and of the names in `scope`."""

    text: str
    scope: dict[str, Any]

    def function(self) -> Callable[[Sequence[np.ndarray]], Any]:
        return eval(f"lambda r: {self.text}", dict(self.scope))


def result_text(outputs: Outputs, outvars: Sequence[Atom], foreign: Collection[Atom]) -> ResultText | None:
    """The expression for results that are numbers, static values and new arrays. None where one is a view, or the
    memory of an argument, a constant or another result: these need care. foreign: variables whose memory others know.
    """
    scope: dict[str, Any] = {}
    arrays = [leaf.outvar for leaf in outputs.leaves if leaf.kind == "array" and leaf.outvar is not None]
    if len({outvars[k] for k in arrays}) < len(arrays) or any(outvars[k] in foreign for k in arrays):
        return None
    if any(_needs_care(leaf) for leaf in outputs.leaves):
        return None
    texts = [_leaf_text(i, leaf, scope) for i, leaf in enumerate(outputs.leaves)]
    tree = outputs.tree
    if tree is None:
        return ResultText(texts[0], scope)
    listed = "".join(f"{text}, " for text in texts)
    if tree.type in (tuple, list) and all(child.is_leaf() for child in tree.children()):
        return ResultText(f"({listed})" if tree.type is tuple else f"[{listed}]", scope)
    scope |= {"unflatten": optree.tree_unflatten, "tree": tree}
    return ResultText(f"unflatten(tree, [{listed}])", scope)


def _needs_care(leaf: OutLeaf) -> bool:
    return any(x is not None for x in (leaf.same_as, leaf.base_input, leaf.base_outvar, leaf.code))


def _leaf_text(i: int, leaf: OutLeaf, scope: dict[str, Any]) -> str:
    if leaf.outvar is None:
        scope[f"static{i}"] = leaf.value
        return f"static{i}()" if leaf.kind == "outside" else f"static{i}"
    return f"r[{leaf.outvar}]" + {"array": "", "scalar": "[()]", "python": ".item()"}[leaf.kind]


def fast_call(
    args: tuple,
    run: Callable[..., tuple],
    result: ResultText,
    guards: Sequence[Guard],
    captures: Sequence[Capture] = (),
    *,
    floats_are_traced: bool,
    elsewhere: Collection[str] = (),
) -> Callable[..., Any] | None:
    """`call(*args)`: the result of `run` for arguments like `args`, or MISS for others and inside a trace. guards:
    what else must hold; captures: arrays that the program reads from outside; elsewhere: what must be empty. None where
    the arguments are of other kinds than C-contiguous arrays, floats and static values."""
    if not is_possible():
        return None
    scope: dict[str, Any] = {"asarray": np.asarray, "run": run, "MISS": MISS, **result.scope}
    scope["open"], scope["elsewhere"] = open_traces(), elsewhere
    tests: list[str] = []
    passed: list[str] = []
    checked: list[Any] = []
    seen: list[str] = []  # as texts
    good = C_CONTIGUOUS | ALIGNED
    for i, arg in enumerate(args):
        kind = type(arg)
        if kind is np.ndarray and arg.flags.num & good == good:
            checked.append(arg)
            seen.append(f"a{i}")
            passed.append(f"a{i}")
        elif kind is float and floats_are_traced:
            checked.append(arg)
            seen.append(f"a{i}")
            passed.append(f"asarray(a{i})")
        elif kind in STATIC_TYPES:
            scope[f"kind{i}"], scope[f"value{i}"] = kind, arg
            tests.append(f"type(a{i}) is kind{i} and a{i} == value{i}")
        else:
            return None
    for i, capture in enumerate(captures):
        array = _value(capture.read)
        if type(array) is not np.ndarray or array.flags.num & good != good:
            return None
        checked.append(array)
        seen.append(f"(c{i} := {_read_text(f'c{i}', capture.read, scope)})")
        passed.append(f"c{i}")
    if checked:
        scope["fits"] = fits_function(checked, good)
        tests.insert(0, f"fits({', '.join(seen)})")
    tests.append("not rest and not open.traces")
    if not isinstance(elsewhere, tuple):
        tests.append("not elsewhere")
    tests += _guard_texts(guards, scope)
    parameters = ", ".join([*(f"a{i}=MISS" for i in range(len(args))), "*rest"])
    body = f"        r = run({', '.join(passed)})\n        return {result.text}\n"
    source = f"def call({parameters}):\n    if {' and '.join(tests)}:\n{body}    return MISS\n"
    exec(compile(source, "<workbench call>", "exec"), scope)
    return scope["call"]


def _guard_texts(guards: Sequence[Guard], scope: dict[str, Any]) -> list[str]:
    """Tests that hold while the guards do: of globals, which most guard, as look-ups."""
    texts, others = [], []
    for k, guard in enumerate(guards):
        if place_of(guard.read) is None or guard.same not in (operator.is_, same_constant):
            others.append(guard)
            continue
        then, read = f"then{k}", _read_text(f"guard{k}", guard.read, scope)
        scope[then], scope["same_constant"] = guard.value, same_constant
        if guard.same is operator.is_:
            texts.append(f"{read} is {then}")
        else:
            texts.append(f"((now := {read}) is {then} or same_constant(now, {then}))")
    if others:
        scope["is_current"] = lambda: all(guard.holds() for guard in others)
        texts.append("is_current()")
    return texts


def _read_text(name: str, read: Read, scope: dict[str, Any]) -> str:
    """The expression for what `read` gives, MISS where it raises."""
    place = place_of(read)
    if place is None:
        scope[f"{name}_read"] = partial(_value, read)
        return f"{name}_read()"
    scope[f"{name}_names"] = place[0]
    return f"{name}_names.get({place[1]!r}, MISS)"


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

    def fast(*given: Any) -> Any:
        if len(given) != n or opened.traces or elsewhere:
            return MISS
        for x, (dtype, shape) in zip(given, kinds, strict=True):
            if not owns(x) or x.dtype != dtype or x.shape != shape:
                return MISS
        return call(list(given)) if is_current is None or is_current() else MISS

    return fast
