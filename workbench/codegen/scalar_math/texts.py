"""Scalar functions as LLVM assembly: what a kernel's own module holds of the library.

Each function becomes text once a process. A call of a function without branches that is but an instruction or two is
that text with other names; the others are defined in the module, to be inlined by LLVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from llvmlite import ir

from .direct import UnsupportedSourceError, define, signature_of
from .registry import ScalarFunction, by_name

_REFERENCE = re.compile(r'@"([^"]+)"')
_LOCAL = re.compile(r'%"?[-\w.$]+"?')
_DEFINE = re.compile(r"^define(?: linkonce_odr)?")
_LIKELIHOOD = re.compile(r"!prof !\d+")
# Of the slow paths of `slow_paths`.
RARELY = '!{!"branch_weights", i32 1, i32 4000}'
_USED = "llvm.compiler.used"
_VARIANTS = "vector-function-abi-variant"
# Instructions of the longest function whose text is pasted.
LONGEST_PASTED = 2


@dataclass(frozen=True, slots=True)
class FunctionText:
    """parameters, result: short dtype names; symbol: its name in a module; pasted: its instructions and the name of
    their result, if it is short, with `names` of the parameters; needed: the symbols that it refers to."""

    parameters: tuple[str, ...]
    result: str
    symbol: str
    names: tuple[str, ...]
    pasted: tuple[tuple[str, ...], str] | None
    needed: tuple[str, ...]


class _Kind(NamedTuple):
    """A stand-in for a type of numba's, as the texts of intrinsics name and call it."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __call__(self, *args: _Kind) -> Any:
        return SimpleNamespace(args=args, return_type=self)


_TYPES = SimpleNamespace(
    **{f"{kind}{bits}": _Kind(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    boolean=_Kind("bool"),
    **{name: _Kind(name) for name in ("float32", "float64", "complex64", "complex128")},
)
_names: dict[str, Any] = {"ir": ir, "types": _TYPES, "intrinsic": lambda definition: SimpleNamespace(_defn=definition)}
# Definitions and declarations by symbol, and which symbols must outlive the passes that see no use of them.
_texts: dict[str, str] = {}
_kept: set[str] = set()


@cache
def resolve(name: str) -> Any:
    """The intrinsic `name`, made without numba. UnsupportedSourceError for functions that only numba compiles."""
    function = by_name(name)
    if not function.source.startswith("@intrinsic"):
        raise UnsupportedSourceError(f"{name} is no intrinsic")
    for other in (each for emitter in function.requires for each in (*emitter.requires, emitter)):
        if other.source.startswith("def emit_") and other.name not in _names:
            exec(other.source, _names)
    scope = dict(_names)
    try:
        exec(function.source, scope)
    except (NameError, AttributeError) as error:
        raise UnsupportedSourceError(f"{name}: {error}") from error
    return scope[name]


@cache
def function_text(name: str) -> FunctionText:
    """The function `name` of the library as text. UnsupportedSourceError if it needs numba."""
    module = ir.Module()
    function = by_name(name)
    try:
        parameters, result = signature_of(function, resolve)
    except AttributeError as error:  # numba's types of arrays
        raise UnsupportedSourceError(f"{name}: {error}") from error
    defined = define(module, function, resolve)
    for symbol, value in module.globals.items():
        if symbol == _USED:
            _kept.update(constant.name for constant in value.initializer.constant)
        else:
            _texts.setdefault(symbol, str(value).strip())
    names = tuple(f'%"{argument.name}"' for argument in defined.args)
    text = _texts[defined.name]
    needed = tuple(dict.fromkeys(n for n in _REFERENCE.findall(text) if n != defined.name))
    return FunctionText(parameters, result, defined.name, names, _pasted(defined), needed)


def _pasted(defined: ir.Function) -> tuple[tuple[str, ...], str] | None:
    """The instructions of a short function without branches, and the name of what it returns."""
    if len(defined.blocks) != 1:
        return None
    *instructions, end = defined.blocks[0].instructions
    if len(instructions) > LONGEST_PASTED or end.opname != "ret":
        return None
    if any(_texts.get(n, "").startswith("define") for i in instructions for n in _REFERENCE.findall(str(i))):
        return None
    return tuple(str(i).strip() for i in instructions), end.operands[0].get_reference()


def paste(text: FunctionText, arguments: list[str], fresh: Any) -> tuple[list[str], str]:
    """The instructions of a short function for these arguments, and the name of the result."""
    assert text.pasted is not None
    renamed = dict(zip(text.names, arguments, strict=True))

    def name(match: re.Match[str]) -> str:
        found = renamed.get(match[0])
        if found is None:
            found = renamed[match[0]] = fresh()
        return found

    lines, result = text.pasted
    return [_LOCAL.sub(name, line) for line in lines], _LOCAL.sub(name, result)


def definitions_of(symbols: Iterable[str]) -> dict[str, str]:
    """The definitions and declarations of these symbols and of all that they need, by symbol. Of functions with vector
    forms and of these there are declarations only."""
    found: dict[str, str] = {}
    waiting = list(symbols)
    while waiting:
        symbol = waiting.pop()
        if symbol in found or symbol not in _texts:
            continue
        if _is_late(symbol):
            found[symbol] = _DEFINE.sub("declare", _texts[symbol].partition("\n{")[0])
        else:
            found[symbol] = _texts[symbol]
            waiting.extend(_REFERENCE.findall(found[symbol]))
        waiting.extend(kept for kept in _kept if kept.startswith(f"{symbol}_x"))
    used = sorted(_kept & set(found))
    if used:
        table = ", ".join(f'ptr @"{name}"' for name in used)
        found[_USED] = f'@{_USED} = appending global [{len(used)} x ptr] [{table}], section "llvm.metadata"'
    return found


def late_definitions(found: Iterable[str]) -> dict[str, str]:
    """What `definitions_of` only declares, with all that it needs: to be inlined when loops have become loops of
    vectors. Inlined before that, the branches of slow paths would keep them from it."""
    late: dict[str, str] = {}
    waiting = [symbol for symbol in found if _is_late(symbol)]
    while waiting:
        symbol = waiting.pop()
        if symbol not in late and symbol in _texts:
            text = _texts[symbol].replace(" noinline", " alwaysinline") if _is_late(symbol) else _texts[symbol]
            late[symbol] = _LIKELIHOOD.sub("!prof !0", text)
            waiting.extend(_REFERENCE.findall(text))
    return late and {**late, "": f"!0 = {RARELY}"}


def _is_late(symbol: str) -> bool:
    return symbol in _kept or _VARIANTS in _texts.get(symbol, "").partition("\n{")[0]


__all__ = ["FunctionText", "ScalarFunction", "definitions_of", "function_text", "paste", "resolve"]
