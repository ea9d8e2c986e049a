"""What tests/benchmarks/cuda.py needs of two small packages that GPU machines without network often lack.

`optree` takes apart tuples, lists and dictionaries here, and nothing else; `platformdirs` knows a folder. Programs run
as with the packages themselves; calls of nested arguments take some microseconds longer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


class Tree:
    """The structure of a value. type: tuple, list, dict, a named tuple's class, or None where it is a leaf."""

    __slots__ = ("inside", "keys", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, kind: Any, keys: tuple = (), inside: tuple[Tree, ...] = ()):
        self.type, self.keys, self.inside = kind, keys, inside
        self.num_leaves: int = 1 if kind is None else sum(tree.num_leaves for tree in inside)
        self.num_nodes: int = 1 + sum(tree.num_nodes for tree in inside)
        self.num_children = len(inside)

    def children(self) -> list[Tree]:
        return list(self.inside)

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Any) -> Any:
        return tree_unflatten(self, leaves)

    def __eq__(self, other: object) -> bool:
        mine = self.type, self.keys, self.inside
        return isinstance(other, Tree) and mine == (other.type, other.keys, other.inside)

    def __hash__(self) -> int:
        return hash((self.type, self.keys, self.inside))

    def __repr__(self) -> str:
        return "*" if self.type is None else f"{self.type.__name__}{self.inside}"


_registered: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register_pytree_node(
    kind: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any], *, namespace: object
) -> type:
    _registered[kind] = flatten, unflatten
    return kind


def _parts(value: Any, none_is_leaf: bool) -> tuple[Any, tuple, Sequence[Any]] | None:
    """(kind, keys, values inside) of a value, None for a leaf."""
    if value is None and not none_is_leaf:
        return type(None), (), ()
    if type(value) in _registered:
        inside, keys = _registered[type(value)][0](value)
        return type(value), keys, list(inside)
    if type(value) in (tuple, list) or isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value), (), list(value)
    if type(value) is dict:
        try:
            keys = tuple(sorted(value))
        except TypeError:
            keys = tuple(sorted(value, key=lambda key: (type(key).__qualname__, str(key))))
        return dict, keys, [value[key] for key in keys]
    return None


IsLeaf = Callable[[Any], bool]


def tree_flatten(
    value: Any, is_leaf: IsLeaf | None = None, *, none_is_leaf: bool = False
) -> tuple[list[Any], Tree]:  # fmt: skip
    leaves: list[Any] = []

    def walk(value: Any) -> Tree:
        parts = None if is_leaf is not None and is_leaf(value) else _parts(value, none_is_leaf)
        if parts is None:
            leaves.append(value)
            return Tree(None)
        kind, keys, inside = parts
        return Tree(kind, keys, tuple(map(walk, inside)))

    return leaves, walk(value)


def tree_unflatten(tree: Tree, leaves: Any) -> Any:
    values: Iterator[Any] = iter(leaves)

    def build(tree: Tree) -> Any:
        if tree.type is None:
            return next(values)
        inside = [build(child) for child in tree.inside]
        if tree.type is dict:
            return dict(zip(tree.keys, inside, strict=True))
        if tree.type is type(None):
            return None
        if tree.type in _registered:
            return _registered[tree.type][1](tree.keys, inside)
        return tree.type(*inside) if hasattr(tree.type, "_fields") else tree.type(inside)

    made = build(tree)
    if next(values, values) is not values:
        raise ValueError("Too many leaves for the tree")
    return made


def tree_leaves(value: Any, is_leaf: IsLeaf | None = None, *, none_is_leaf: bool = False) -> list[Any]:
    return tree_flatten(value, is_leaf, none_is_leaf=none_is_leaf)[0]


def tree_structure(value: Any, *, none_is_leaf: bool = False) -> Tree:
    return tree_flatten(value, none_is_leaf=none_is_leaf)[1]


def tree_map(
    function: Callable[..., Any], value: Any, *rest: Any, is_leaf: IsLeaf | None = None, none_is_leaf: bool = False
) -> Any:
    leaves, tree = tree_flatten(value, is_leaf, none_is_leaf=none_is_leaf)
    others = [tree_flatten(other, is_leaf, none_is_leaf=none_is_leaf)[0] for other in rest]
    return tree_unflatten(tree, map(function, leaves, *others))


def tree_paths(value: Any, *, none_is_leaf: bool = False) -> list[tuple[Any, ...]]:
    parts = _parts(value, none_is_leaf)
    if parts is None:
        return [()]
    _, keys, inside = parts
    return [
        (key, *path)
        for key, child in zip(keys or range(len(inside)), inside, strict=True)
        for path in tree_paths(child, none_is_leaf=none_is_leaf)
    ]


def user_cache_dir(name: str, *_: Any, **options: Any) -> str:
    return str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name)


NAMES: dict[str, tuple[Callable[..., Any], ...]] = {
    "optree": (
        tree_flatten,
        tree_unflatten,
        tree_leaves,
        tree_map,
        tree_paths,
        tree_structure,
        register_pytree_node,
    ),
    "platformdirs": (user_cache_dir,),
}


def install(names: Sequence[str]) -> list[str]:
    """Put the stand-ins among the modules, for those of `names` that have one; gives their names."""
    installed = [name for name in names if name in NAMES]
    for name in installed:
        module = ModuleType(name, "A stand-in of tests/benchmarks/cuda.py.")
        module.__spec__ = ModuleSpec(name, None)
        for function in NAMES[name]:
            setattr(module, function.__name__, function)
        if name == "optree":
            module.registry = SimpleNamespace(__GLOBAL_NAMESPACE="")  # type: ignore[attr-defined]
        sys.modules[name] = module
    return installed
