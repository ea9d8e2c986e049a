"""Vectors: the loops over memory-ordered elements, several elements an iteration.

A loop over elements is written one element at a time, then once more in front of itself with a whole vector of each
array loaded before anything is computed and stored after everything is:

    for i in range(start, n_elements, step):        for i_vector in range(start, n_vectors, step):
        y = f(x[i])                           ->        x_0, x_1, x_2, x_3 = load4_f32(x, i_vector * 4)
        out[i] = y                                      y = f(x_0); out_0 = y; ...
                                                        store4_f32(out, i_vector * 4, out_0, out_1, out_2, out_3)
                                                    for i in range(n_vectors * 4 + start, n_elements, step): ...

`n_vectors` is an argument: 0 where a row does not begin at a multiple of a vector's bytes, or an array's address is
none.
Where one vector an iteration keeps too few bytes under way, there are two streams, each over a half of the elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..blocks import Block
from ..names import Namer
from .vector_memory import name_of

VECTOR_BYTES = 16
MOST_WIDTH = 8
LEAST_BYTES = 32  # under way for each thread: with 1,000 threads an SM, what a GPU's memory takes to be busy
# Copies of the body make the text longer: what is dear to compute does not wait for memory anyway.
MOST_WEIGHT = 128
MOST_WEIGHT_IN_STREAMS = 64
MOST_STREAMS = 4
MOST_LOADS = 32  # that wait in registers for each other
CALL_WEIGHT = 6  # of an elementary function or a condition, in lines
_DEAR = re.compile(
    r"\b(?:if|while|for) |\b(?!load|store|select|maximum|minimum|sum_|fabs|abs|sqrt|negative)[a-z]\w*_f(?:32|64)\("
)

_TARGETS = re.compile(r"\s*(?:[A-Za-z_]\w*(?:, )?)+(?= = )")  # the names that a line assigns
_CONDITION = re.compile(r"\b(?:if|and|or)\b")
# A compensated sum takes an element (`folds.DeviceFold`).
_TAKES = re.compile(r"(?P<low>\w+) = (?P=low) \+ (?P<error>sum_error_\w+)\((?P<total>\w+), (?P<value>\w+)\)")

Line = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an array in C order, as it is spelled: array[prefix + last index]. axis: the loop axis that is the
    last index (-1: the one index of flat loops); row: the length of the last axis, 0 where nothing comes before it."""

    array: str
    prefix: str
    axis: int
    row: int
    dtype: np.dtype


@dataclass(eq=False, slots=True)
class RowLoop:
    """A loop over elements in memory order: its body in `block`, after its header. name: of its index; start, step and
    bound: its range as text."""

    block: Block
    body: Block
    axis: int
    name: str
    start: str
    step: str
    bound: str

    @property
    def header(self) -> str:
        return f"for {self.name} in range({self.start}, {self.bound}, {self.step}):"


@dataclass(frozen=True, slots=True)
class Form:
    """width: elements of a vector; streams: vectors an iteration; aligned: the arrays that are read or written by
    vectors, with the bytes that their addresses must be multiples of."""

    width: int
    streams: int
    aligned: tuple[tuple[str, int], ...]


def choose_form(
    loops: Sequence[RowLoop], accesses: Mapping[str, Access], cached: Mapping[str, tuple[str, str]]
) -> Form | None:
    """How many elements an iteration takes, for all loops of a kernel; None if one is best. A loop that also reads
    neighbours, or along other axes, has none: its lanes are to read side by side."""
    found: dict[str, Access] = {}
    weight, reads = 1, []
    for loop in loops:
        lines = [text for text, _ in loop.body.render()]
        text = "\n".join(lines)
        here = _vectors(loop, accesses, lines)
        rest = text
        for t in (*here, *cached):
            rest = spelled(t).sub("", rest)
        if re.search(rf"\[[^\]]*\b{loop.name}\b", rest):
            return None
        found.update(here)
        weight = max(weight, _weight(loop))
        reads.append(sum(1 for t in here if spelled(t).search(_reads(lines, t))))
    if not found:
        return None
    itemsize = max(a.dtype.itemsize for a in found.values())
    width = min(VECTOR_BYTES // itemsize, MOST_WIDTH)
    while width > 1 and weight * width > MOST_WEIGHT:
        width //= 2
    if width < 2:
        return None
    n_reads = min((n for n in reads if n), default=LEAST_BYTES)
    streams = 2 if n_reads * width * itemsize < LEAST_BYTES and 2 * weight * width <= MOST_WEIGHT_IN_STREAMS else 1
    aligned = {a.array: width * a.dtype.itemsize for a in found.values()}
    return Form(width, streams, tuple(sorted(aligned.items())))


def fits(form: Form, loops: Sequence[RowLoop], accesses: Mapping[str, Access]) -> bool:
    """Whether each row begins at a multiple of a vector, given that its array does."""
    return all(
        a.row % form.width == 0
        for loop in loops
        for a in _vectors(loop, accesses, [text for text, _ in loop.body.render()]).values()
    )


def write_vectors(
    loop: RowLoop, form: Form, accesses: Mapping[str, Access], cached: Mapping[str, tuple[str, str]], n_vectors: str,
    index: str, namer: Namer,
) -> None:  # fmt: skip
    """Put the vector form of `loop` in front of it, and let the loop begin where that ends.

    cached: elements of shared memory that a lane keeps for itself, as they are spelled: (array, what comes before the
    loop's index). n_vectors: the argument's name; index: "int32" or "int64".
    """
    lines = loop.body.render()
    width, streams = form.width, form.streams
    vector = namer.fresh(f"{loop.name}_vector")
    vectors = _vectors(loop, accesses, [line for line, _ in lines])
    names = {t: [namer.fresh(f"{a.array}_{k}") for k in range(width * streams)] for t, a in vectors.items()}
    stored = {t for t in vectors if any(_is_store(line, t) for line, _ in lines)}
    # Above the loop's header there may be lines that belong to it: values that it needs.
    at = next(k for k, item in enumerate(loop.block.items) if item is loop.body) - 1
    body = Block(loop.block, loop.body.axes)
    where = [f"{vector} * {width}", *(f"({vector} + {n_vectors}) * {width}" for _ in range(streams - 1))]
    for t, access in vectors.items():
        if spelled(t).search(_reads([line for line, _ in lines], t)):
            for s in range(streams):
                targets = ", ".join(names[t][s * width : (s + 1) * width])
                call = f"{name_of('load', width, access.dtype)}({access.array}, {_place(access, where[s], index)})"
                body.items.append((f"{targets} = {call}", ()))
    for s in range(streams):
        for k in range(width):
            copy = [(_with_names(line, names, s * width + k), eqns) for line, eqns in lines]
            for t, (array, before) in cached.items():
                # Neighbouring lanes keep neighbouring elements, so that no two meet in one bank.
                place = f"{before}{s * width + k} * {n_vectors} + {vector}"
                copy = [(spelled(t).sub(f"{array}[np.u{index}({place})]", line), eqns) for line, eqns in copy]
            if any(re.search(rf"\b{loop.name}\b", line) for line, _ in copy):
                offset = f" + {k}" if k else ""
                body.items.append((f"{loop.name} = np.{index}({where[s]}{offset})", ()))
            body.items.extend(copy)
    for t, access in vectors.items():
        if t in stored:
            for s in range(streams):
                values = ", ".join(names[t][s * width : (s + 1) * width])
                call = f"{name_of('store', width, access.dtype)}({access.array}, {_place(access, where[s], index)}"
                body.items.append((f"{call}, {values})", ()))
    body.items = [*_added_first(body.render(), width * streams, namer)]
    header = f"for {vector} in range({loop.start}, {n_vectors}, {loop.step}):"
    loop.start = f"np.{index}({n_vectors} * {width * streams} + {loop.start})"
    loop.block.items[at : at + 1] = [(header, ()), body, (loop.header, ())]


def _added_first(items: Sequence[Line], n: int, namer: Namer) -> list[Line]:
    """The lines of `n` elements, which compensated sums get as one: the elements' own sum, added up in a tree. Its
    rounding is at most that of NumPy's, whose sums begin with trees of eight, and it takes a third of the instructions.
    """
    found: dict[str, list[tuple[int, re.Match[str]]]] = {}  # the lines where a sum takes an element, by its total
    for k, (line, _) in enumerate(items[:-1]):
        match = _TAKES.fullmatch(line)
        if match is not None and items[k + 1][0] == f"{match['total']} = {match['total']} + {match['value']}":
            found.setdefault(match["total"], []).append((k, match))
    kept: list[list[Line]] = [[item] for item in items]
    for total, places in found.items():
        if len(places) != n:
            continue
        names, (last, match) = [namer.fresh(f"{total}_{j}") for j in range(n)], places[-1]
        eqns, low, error = items[last][1], match["low"], match["error"]
        for name, (k, each) in zip(names, places, strict=True):
            kept[k], kept[k + 1] = [(f"{name} = {each['value']}", eqns)], []
        while len(names) > 1:
            kept[last] += [(f"{a} = {a} + {b}", eqns) for a, b in zip(names[::2], names[1::2], strict=True)]
            names = names[::2]
        kept[last].append((f"{low} = {low} + {error}({total}, {names[0]})", eqns))
        kept[last].append((f"{total} = {total} + {names[0]}", eqns))
    return [item for items_here in kept for item in items_here]


def streams_of(loops: Sequence[RowLoop], most_weight: int = MOST_WEIGHT_IN_STREAMS) -> int:
    """How many elements an iteration takes that are read one by one, far from each other: as along a column."""
    weight = max(map(_weight, loops), default=MOST_WEIGHT)
    return next((n for n in (MOST_STREAMS, MOST_STREAMS // 2) if weight * n <= most_weight), 1)


def _weight(loop: RowLoop) -> int:
    """What an element takes to compute, in lines."""
    lines = [text for text, _ in loop.body.render()]
    return len(lines) + CALL_WEIGHT * len(_DEAR.findall("\n".join(lines)))


def write_streams(
    loop: RowLoop, streams: int, accesses: Mapping[str, Access], n_rounds: str, index: str, namer: Namer
) -> None:
    """Put a form of `loop` in front of it that takes an element of each of several equal parts of its range at a time,
    all read before the first is used. n_rounds: the name of the length of such a part."""
    lines = loop.body.render()
    certain = [line for line, _ in lines if not line.startswith(" ")]
    loads = [
        t for t in accesses
        if re.search(rf"\b{loop.name}\b", t) and not any(_is_store(line, t) for line, _ in lines)
        and spelled(t).search("\n".join(certain))
    ]  # fmt: skip
    part = namer.fresh(f"{loop.name}_part")
    at = next(k for k, item in enumerate(loop.block.items) if item is loop.body) - 1
    places = [f"{part}{f' + {s} * {n_rounds}' if s else ''}" for s in range(streams)]
    body = _read_first(loop, lines, loads, places, index, namer)
    header = f"for {part} in range({loop.start}, {n_rounds}, {loop.step}):"
    loop.start = f"np.{index}({n_rounds} * {streams} + {loop.start})"
    loop.block.items[at : at + 1] = [(header, ()), body, (loop.header, ())]


def write_turns(loop: RowLoop, turns: int, index: str, namer: Namer) -> None:
    """Put a form of `loop`, which runs at most `turns` times, in front of it for where it runs that often: all elements
    that it reads whatever conditions hold are read before the first is used."""
    if _weight(loop) * turns > MOST_WEIGHT:
        return
    lines = loop.body.render()
    certain = "\n".join(line for line, _ in lines if not line.startswith(" ") and not _CONDITION.search(line))
    reads = re.compile(rf"(?<![\w.])\w+\[[^\[\]\n]*\b{loop.name}\b[^\[\]\n]*\](?! = )")
    loads = list(dict.fromkeys(m.group(0) for m in reads.finditer(certain)))
    stored = {
        t.partition("[")[0] for t in re.findall(r"^\s*(\w+\[.*?\]) = ", "\n".join(t for t, _ in lines), re.MULTILINE)
    }
    loads = [t for t in loads if t.partition("[")[0] not in stored][: MOST_LOADS // turns]
    at = next(k for k, item in enumerate(loop.block.items) if item is loop.body) - 1
    places = [f"{loop.start}{f' + {s} * {loop.step}' if s else ''}" for s in range(turns)]
    body = _read_first(loop, lines, loads, places, index, namer)
    rest = Block(loop.block, loop.body.axes)
    rest.items = [(loop.header, ()), loop.body]
    condition = f"if {places[-1]} < {loop.bound}:"
    loop.block.items[at : at + 2] = [(condition, ()), body, ("else:", ()), rest]


def _read_first(
    loop: RowLoop, lines: Sequence[Line], loads: Sequence[str], places: Sequence[str], index: str, namer: Namer
) -> Block:
    """The body of `loop` for several of its indices at a time, their `loads` before all else, but for those whose place
    the body computes."""
    targets = (_TARGETS.match(line) for line, _ in lines)
    made = {word for found in targets if found for word in re.findall(r"\w+", found[0])}
    loads = [t for t in loads if made.isdisjoint(re.findall(r"\w+", t.partition("[")[2]))]
    names = {t: [namer.fresh(f"{t.partition('[')[0]}_{k}") for k in range(len(places))] for t in loads}
    body = Block(loop.block, loop.body.axes)
    for s, place in enumerate(places):
        body.items.append((f"{loop.name} = np.{index}({place})", ()))
        body.items.extend((f"{each[s]} = {t}", ()) for t, each in names.items())
    for s, place in enumerate(places):
        copy = [(_with_names(line, names, s), eqns) for line, eqns in lines]
        if any(re.search(rf"\b{loop.name}\b", line) for line, _ in copy):
            body.items.append((f"{loop.name} = np.{index}({place})", ()))
        body.items.extend(copy)
    body.items = [*_added_first(body.render(), len(places), namer)]
    return body


def _vectors(loop: RowLoop, accesses: Mapping[str, Access], lines: Sequence[str]) -> dict[str, Access]:
    """The elements in a loop's body that are loaded or stored whatever conditions hold, one behind the other."""
    certain = "\n".join(line for line in lines if not line.startswith(" "))
    return {
        text: access
        for text, access in accesses.items()
        if access.axis == loop.axis
        and access.dtype.kind in "fiub"
        and not re.search(rf"\b{loop.name}\b", access.prefix)
        and spelled(text).search(certain)
    }


def spelled(text: str) -> re.Pattern[str]:
    """An element where it is spelled like this, and not as the end of a longer name."""
    return re.compile(rf"(?<!\w){re.escape(text)}")


def _is_store(line: str, element: str) -> bool:
    return line.lstrip().startswith(f"{element} = ")


def _reads(lines: Sequence[str], element: str) -> str:
    """The lines without what they assign to `element`."""
    return "\n".join(line.lstrip().removeprefix(f"{element} = ") for line in lines)


def _with_names(line: str, names: Mapping[str, Sequence[str]], k: int) -> str:
    for text, parts in names.items():
        line = spelled(text).sub(parts[k], line)
    return line


def _place(access: Access, where: str, index: str) -> str:
    return f"np.u{index}({f'{access.prefix} + ' if access.prefix else ''}{where})"
