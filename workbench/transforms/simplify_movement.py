"""Simplification of data movement: moves that go nowhere, and chains of moves that are one move.

Each rule looks at one equation and at what made its operand. Chains shrink link by link, so a chain of any length
becomes one equation in one walk.
"""

from __future__ import annotations

from ..ir import Atom, Equation, Literal
from .rewrite import Rewriter


def as_scalar(rw: Rewriter, atom: Atom, reader: Equation) -> Atom | None:
    """The scalar that `atom` is a broadcast of."""
    eqn = rw.producer(atom)
    if eqn is None or eqn.primitive.name != "broadcast_in_dim" or eqn.invars[0].aval.shape:
        return None
    scalar = eqn.invars[0]
    return scalar if isinstance(scalar, Literal) or rw.producer(atom, reader) is not None else None


def _source(rw: Rewriter, eqn: Equation, *names: str) -> Equation | None:
    """What made the first operand, if it is one of the primitives `names`."""
    inner = rw.producer(eqn.invars[0], eqn)
    return inner if inner is not None and inner.primitive.name in names else None


def _shape(atom: Atom) -> tuple[int, ...]:
    return atom.aval.shape


def _result_shape(eqn: Equation) -> tuple[int, ...]:
    return eqn.outvars[0].aval.shape


# ---- the order of elements stays: reshape, squeeze ----


def _reshape(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, sizes = eqn.invars[0], _result_shape(eqn)
    if _shape(x) == sizes:
        return x
    inner = _source(rw, eqn, "reshape", "squeeze", "broadcast_in_dim")
    if inner is None:
        return None
    source = inner.invars[0]
    if inner.primitive.name != "broadcast_in_dim" or _adds_ones_only(inner):
        return rw.emit(eqn, "reshape", source, merging=inner, new_sizes=sizes, dimensions=None)
    if not _shape(source):
        return rw.emit(eqn, "broadcast_in_dim", source, merging=inner, shape=sizes, broadcast_dimensions=())
    return None


def _adds_ones_only(broadcast: Equation) -> bool:
    return broadcast.invars[0].aval.size == broadcast.outvars[0].aval.size != 0


def _squeeze(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, dropped = eqn.invars[0], eqn.params["dimensions"]
    if not dropped:
        return x
    inner = _source(rw, eqn, "reshape", "squeeze", "broadcast_in_dim")
    if inner is None:
        return None
    source = inner.invars[0]
    if inner.primitive.name == "squeeze":
        kept = [axis for axis in range(len(_shape(source))) if axis not in inner.params["dimensions"]]
        both = (*inner.params["dimensions"], *(kept[axis] for axis in dropped))
        return rw.emit(eqn, "squeeze", source, merging=inner, dimensions=tuple(sorted(both)))
    if inner.primitive.name == "reshape":
        return rw.emit(eqn, "reshape", source, merging=inner, new_sizes=_result_shape(eqn), dimensions=None)
    if any(axis in dropped for axis in inner.params["broadcast_dimensions"]):
        return None
    place = {axis: i for i, axis in enumerate(axis for axis in range(len(_shape(x))) if axis not in dropped)}
    dimensions = tuple(place[axis] for axis in inner.params["broadcast_dimensions"])
    shape = _result_shape(eqn)
    return rw.emit(eqn, "broadcast_in_dim", source, merging=inner, shape=shape, broadcast_dimensions=dimensions)


# ---- elements are repeated: broadcast_in_dim ----


def _broadcast_in_dim(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, shape, dimensions = eqn.invars[0], _result_shape(eqn), eqn.params["broadcast_dimensions"]
    if _shape(x) == shape:  # the dimensions increase, so they are all axes in order
        return x
    inner = _source(rw, eqn, "broadcast_in_dim", "reshape", "squeeze")
    if inner is None:
        return None
    source = inner.invars[0]
    if inner.primitive.name == "broadcast_in_dim":
        composed = tuple(dimensions[axis] for axis in inner.params["broadcast_dimensions"])
    else:
        place = _place_among_ones(_shape(source), _shape(x))
        if place is None:
            return None
        composed = tuple(dimensions[axis] for axis in place)
    return rw.emit(eqn, "broadcast_in_dim", source, merging=inner, shape=shape, broadcast_dimensions=composed)


def _place_among_ones(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the axes of `old` are in `new`, if `new` is `old` with axes of length 1 put in: (3, 4) in (3, 1, 4) is
    (0, 2)."""
    place: list[int] = []
    for axis, size in enumerate(new):
        if len(place) < len(old) and size == old[len(place)]:
            place.append(axis)
        elif size != 1:
            return None
    return tuple(place) if len(place) == len(old) else None


# ---- elements change places: transpose, rev ----


def _transpose(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, permutation = eqn.invars[0], eqn.params["permutation"]
    if list(permutation) == list(range(len(permutation))):
        return x
    inner = _source(rw, eqn, "transpose", "broadcast_in_dim")
    if inner is None:
        return None
    source = inner.invars[0]
    if inner.primitive.name == "transpose":
        composed = tuple(inner.params["permutation"][axis] for axis in permutation)
        return rw.emit(eqn, "transpose", source, merging=inner, permutation=composed)
    place = tuple(permutation.index(axis) for axis in inner.params["broadcast_dimensions"])
    if place != tuple(sorted(place)):
        return None
    shape = _result_shape(eqn)
    return rw.emit(eqn, "broadcast_in_dim", source, merging=inner, shape=shape, broadcast_dimensions=place)


def _rev(rw: Rewriter, eqn: Equation) -> Atom | None:
    x = eqn.invars[0]
    moving = tuple(axis for axis in eqn.params["dimensions"] if _shape(x)[axis] > 1)
    if not moving:
        return x
    inner = _source(rw, eqn, "rev")
    if inner is not None:
        once = tuple(sorted(set(moving) ^ set(inner.params["dimensions"])))
        return rw.emit(eqn, "rev", inner.invars[0], merging=inner, dimensions=once)
    return None


# ---- elements are left out, put in, replaced: slice, pad, concatenate, update_slice ----


def _strides(eqn: Equation) -> tuple[int, ...]:
    return eqn.params.get("strides") or (1,) * len(eqn.params["start_indices"])


def _none_if_ones(strides: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if all(step == 1 for step in strides) else strides


def _slice(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, shape = eqn.invars[0], _result_shape(eqn)
    if _shape(x) == shape:  # nothing is left out, so every start is 0 and every stride that matters is 1
        return x
    inner = _source(rw, eqn, "slice", "broadcast_in_dim")
    if inner is None:
        return None
    source, starts, strides = inner.invars[0], eqn.params["start_indices"], _strides(eqn)
    if inner.primitive.name == "slice":
        inner_strides = _strides(inner)
        inner_starts = inner.params["start_indices"]
        first = tuple(a + start * s for a, s, start in zip(inner_starts, inner_strides, starts, strict=True))
        steps = tuple(a * b for a, b in zip(inner_strides, strides, strict=True))
        return _emit_slice(rw, eqn, inner, source, first, shape, steps)
    dimensions = inner.params["broadcast_dimensions"]
    if any(_shape(source)[i] > 1 and shape[axis] != _shape(x)[axis] for i, axis in enumerate(dimensions)):
        return None  # the slice takes part of what the operand really holds
    if any(size == 0 for size in _shape(source)) or any(shape[axis] == 0 for axis in dimensions):
        return None
    return rw.emit(eqn, "broadcast_in_dim", source, merging=inner, shape=shape, broadcast_dimensions=dimensions)


def _emit_slice(
    rw: Rewriter,
    eqn: Equation,
    inner: Equation | None,
    source: Atom,
    starts: tuple[int, ...],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Atom:
    """x[start::stride] of `shape`; where nothing is taken, the start may lie beyond the end and is moved there."""
    starts = tuple(min(start, n) for start, n in zip(starts, _shape(source), strict=True))
    limits = tuple(
        start + (size - 1) * step + 1 if size else start
        for start, size, step in zip(starts, shape, strides, strict=True)
    )
    params = {"start_indices": starts, "limit_indices": limits, "strides": _none_if_ones(strides)}
    return rw.emit(eqn, "slice", source, merging=inner, **params)


def _pad(rw: Rewriter, eqn: Equation) -> Atom | None:
    x = eqn.invars[0]
    unmoved = all(
        low == 0 and high == 0 and (interior == 0 or size < 2)
        for size, (low, high, interior) in zip(_shape(x), eqn.params["padding_config"], strict=True)
    )
    return x if unmoved else None


def _concatenate(rw: Rewriter, eqn: Equation) -> Atom | None:
    axis = eqn.params["dimension"]
    filled = tuple(x for x in eqn.invars if _shape(x)[axis])
    if len(filled) < 2:
        return filled[0] if filled else eqn.invars[0]
    runs = _runs_of_slices(rw, eqn, filled)
    if len(runs) == len(eqn.invars):
        return None
    parts = [run[0] if len(run) == 1 else _joined(rw, eqn, run) for run in runs]
    return parts[0] if len(parts) == 1 else rw.emit(eqn, "concatenate", *parts, dimension=axis)


def _runs_of_slices(rw: Rewriter, eqn: Equation, operands: tuple[Atom, ...]) -> list[list[Atom]]:
    """The operands of a concatenation, those together that are one slice: each goes on where the one before ends."""
    axis = eqn.params["dimension"]
    runs: list[list[Atom]] = []
    previous: Equation | None = None
    for operand in operands:
        found = rw.producer(operand, eqn)
        if found is None or found.primitive.name != "slice":
            found = None
        if previous is not None and found is not None and _goes_on(previous, found, axis):
            runs[-1].append(operand)
        else:
            runs.append([operand])
        previous = found
    return runs


def _goes_on(before: Equation, after: Equation, axis: int) -> bool:
    if before.invars[0] is not after.invars[0] or {*_strides(before), *_strides(after)} != {1}:
        return False
    ends, starts = before.params["limit_indices"], after.params["start_indices"]
    same = all(
        before.params[name][:axis] == after.params[name][:axis]
        and before.params[name][axis + 1 :] == after.params[name][axis + 1 :]
        for name in ("start_indices", "limit_indices")
    )
    return same and ends[axis] == starts[axis]


def _joined(rw: Rewriter, eqn: Equation, run: list[Atom]) -> Atom:
    """One slice for several, one after the other."""
    first, last = rw.producer(run[0], eqn), rw.producer(run[-1], eqn)
    assert first is not None and last is not None
    starts, limits = first.params["start_indices"], last.params["limit_indices"]
    source = first.invars[0]
    shape = tuple(limit - start for start, limit in zip(starts, limits, strict=True))
    if shape == _shape(source):
        return source
    return _emit_slice(rw, eqn, first, source, starts, shape, (1,) * len(shape))


def _update_slice(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, update = eqn.invars
    if update.aval.size == 0:
        return x
    return update if _shape(update) == _shape(x) else None


def _literal_starts(x: Atom, starts: tuple[Atom, ...], sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The starts of a dynamic slice as numbers, moved into range, if all are literals."""
    if not all(isinstance(start, Literal) for start in starts):
        return None
    numbers = (int(start.val) for start in starts if isinstance(start, Literal))
    return tuple(max(0, min(start, n - size)) for start, n, size in zip(numbers, _shape(x), sizes, strict=True))


def _dynamic_slice(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, *starts = eqn.invars
    shape = _result_shape(eqn)
    if shape == _shape(x):
        return x
    found = _literal_starts(x, tuple(starts), shape)
    return None if found is None else _emit_slice(rw, eqn, None, x, found, shape, (1,) * len(shape))


def _dynamic_update_slice(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, update, *starts = eqn.invars
    if _shape(update) == _shape(x):
        return update
    found = _literal_starts(x, tuple(starts), _shape(update))
    return None if found is None else rw.emit(eqn, "update_slice", x, update, start_indices=found, strides=None)


MOVEMENT_RULES = {
    "reshape": _reshape, "squeeze": _squeeze, "broadcast_in_dim": _broadcast_in_dim,
    "transpose": _transpose, "rev": _rev, "slice": _slice, "pad": _pad, "concatenate": _concatenate,
    "update_slice": _update_slice, "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice,
}  # fmt: skip
