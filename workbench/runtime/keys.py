"""Dispatch keys: what of a call's arguments a version depends on, and which arguments are constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from ..errors import NonHashableStaticArgumentError
from ..frontend.device_arrays import device_aval
from ..frontend.proxies import is_impure
from ..ir import supported_dtype
from .arguments import ALIGNED, C_CONTIGUOUS, STATIC_TYPES, array_key
from .given import Contents, Identity, contents_of, kind_of


def signature_of(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class StaticArguments:
    """Positions and names of a function's arguments that are compile-time constants."""

    numbers: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    @classmethod
    def of(
        cls,
        signature: inspect.Signature | None,
        argnums: int | Collection[int] | None,
        argnames: str | Collection[str] | None,
    ) -> StaticArguments:
        """Each given as one also counts as the other, as in JAX. ValueError for arguments that there are not."""
        numbers = {argnums} if isinstance(argnums, int) else set(argnums or ())
        names = {argnames} if isinstance(argnames, str) else set(argnames or ())
        if signature is None:
            return cls(frozenset(numbers), frozenset(names))
        parameters = list(signature.parameters.values())
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        for number in numbers:
            if not -len(positional) <= number < len(positional) and not variadic:
                raise ValueError(f"static_argnums {number} is out of range: there are {len(positional)} arguments")
        numbers = {n % len(positional) if -len(positional) <= n < 0 else n for n in numbers}
        keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
        for name in names:
            if name not in signature.parameters and not keywords:
                raise ValueError(f"static_argnames {name!r} is not an argument of the function")
        if argnames is None:
            names |= {positional[n].name for n in numbers if n < len(positional)}
        if argnums is None:
            numbers |= {i for i, p in enumerate(positional) if p.name in names}
        return cls(frozenset(numbers), frozenset(names))

    def values(self, args: tuple, kwargs: dict[str, Any], function: str) -> tuple:
        """The constants of a call of `function`, with their types. NonHashableStaticArgumentError."""
        found = [(i, args[i]) for i in sorted(self.numbers) if i < len(args)]
        found += [(name, kwargs[name]) for name in sorted(self.names) if name in kwargs]
        for where, value in found:
            try:
                hash(value)
            except TypeError:
                raise NonHashableStaticArgumentError(
                    f"argument {where!r} of {function} is static and must be hashable, but it is a "
                    f"{type(value).__name__}; pass a tuple, or leave it out of static_argnums/static_argnames"
                ) from None
        return tuple((where, type(value), value) for where, value in found)


def call_key(
    static: StaticArguments, args: tuple, kwargs: dict[str, Any], *, keep_python_scalars: bool, function: str,
    traced_ints: Collection[int] = (), by_kind: Collection[int] = (), traced_held_ints: bool = False,
    given: list[Any] | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """The dispatch key of a call of `function`, and its traced leaves in order.

    traced_ints: the leaves that are traced if they are ints; by_kind: those that are known by their kinds, if they are
    objects; traced_held_ints: the ints in these are traced; given: takes them.
    """
    constants = static.values(args, kwargs, function)
    dynamic_args = tuple(a for i, a in enumerate(args) if i not in static.numbers)
    dynamic_kwargs = {k: kwargs[k] for k in sorted(kwargs) if k not in static.names}
    leaves, tree = optree.tree_flatten((dynamic_args, dynamic_kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
    key: list[Any] = []
    traced: list[Any] = []
    for position, leaf in enumerate(leaves):
        kind = type(leaf)
        if position in traced_ints and is_traced_int(leaf):
            key.append(int)
            traced.append(leaf)
        elif isinstance(leaf, np.ndarray):
            key.append(array_key(leaf))
            traced.append(leaf)
        elif isinstance(leaf, np.generic) and supported_dtype(leaf.dtype):
            key.append((kind, leaf.dtype))
            traced.append(leaf)
        elif isinstance(leaf, np.generic):  # a constant, as other objects, but known by its value
            key.append((kind, leaf.dtype, repr(leaf)))
        elif kind in (float, complex) and not keep_python_scalars:
            key.append(kind)
            traced.append(leaf)
        elif (aval := device_aval(leaf)) is not None:
            key.append(("device", aval))
            traced.append(leaf)
        elif kind in STATIC_TYPES or kind in (float, complex):
            # 0.0 == -0.0 and 1 == True, but they compute different things.
            key.append((kind, repr(leaf)) if kind in (float, complex) else (kind, leaf))
        elif position in by_kind and given is not None and (known := kind_of(leaf)) is not None:
            floats = () if keep_python_scalars else (float, complex)
            key.append(contents_of(known, leaf, frozenset((*floats, int) if traced_held_ints else floats)))
            given.append(leaf)
        else:
            key.append((kind, Identity(leaf)))
    simple = not kwargs and not constants and all(leaf is arg for leaf, arg in zip(leaves, args, strict=False))
    if simple and len(leaves) == len(args):
        return tuple(key), traced
    return (tuple(key), tree, constants), traced


def plain_key(
    args: tuple, *, keep_python_scalars: bool, traced_ints: Collection[int]
) -> tuple[tuple, list[Any], bool] | None:  # fmt: skip
    """The same key, its traced leaves and whether these are all arrays, for arrays, numbers and static values
    alone, sooner; None where there is anything else."""
    key: list[Any] = []
    leaves: list[Any] = []
    only_arrays = True
    for arg in args:
        kind = type(arg)
        if kind is np.ndarray:
            flags = arg.flags.num
            if not flags & ALIGNED:
                return None
            key.append((arg.dtype, arg.shape, True if flags & C_CONTIGUOUS else arg.strides))
            leaves.append(arg)
            continue
        if kind is float and not keep_python_scalars:
            key.append(float)
        elif kind is int and len(key) in traced_ints and is_traced_int(arg):
            key.append(int)
        elif kind in STATIC_TYPES:
            key.append((kind, arg))
            continue
        elif issubclass(kind, np.generic) and supported_dtype(arg.dtype):
            key.append((kind, arg.dtype))
        else:
            return None
        leaves.append(arg)
        only_arrays = False
    return tuple(key), leaves, only_arrays


def is_traced_int(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def without_constants(key: Any) -> tuple[Any, tuple[Any, ...]]:
    """A dispatch key without the values of ints and objects, and the constants at all positions: None elsewhere."""

    def split(item: Any) -> tuple[Any, Any]:
        if type(item) is Contents:
            return (Contents, item.kind), item
        varies = type(item) is tuple and len(item) == 2 and (item[0] is int or type(item[1]) is Identity)
        return ((item[0],), item[1]) if varies else (item, None)

    return _split(key, split)


def without_generators(constants: tuple[Any, ...]) -> tuple[Any, ...]:
    """Constants of a dispatch key with the types of random generators in their place: a program that cannot be traced
    with one cannot be with another."""
    return tuple(type(x.value) if type(x) is Identity and is_impure(x.value) else x for x in constants)


def objects_of(key: Any) -> tuple[int, ...]:
    """The positions of what a dispatch key knows by its kind."""
    _, taken = _split(key, lambda item: (item, type(item) is Contents))
    return tuple(k for k, is_object in enumerate(taken) if is_object)


def without_sizes(key: Any) -> tuple[Any, tuple[Any, ...]]:
    """A dispatch key without the lengths of arrays and what depends on them, and these."""

    def split(item: Any) -> tuple[Any, Any]:
        is_array = type(item) is tuple and len(item) == 3 and isinstance(item[0], np.dtype)
        return ((item[0], len(item[1])), item[1:]) if is_array else (item, None)

    return _split(key, split)


def _split(key: Any, split: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, tuple[Any, ...]]:
    """The key with what `split` keeps of each argument's item, and what it takes away from each."""
    is_plain = len(key) != 3 or isinstance(key[1], tuple | type | Contents)  # without a tree of arguments
    items, *rest = (key,) if is_plain else key
    kept, taken = zip(*map(split, items), strict=True) if items else ((), ())
    return (kept, *rest), taken
