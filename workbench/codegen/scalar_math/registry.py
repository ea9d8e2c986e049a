"""The library of scalar functions: source text in, `ScalarFunction` records and compiled functions out.

The other files of this folder call `library` with the text of their functions. A text is written once for a family of
dtypes: in `def maximum_T(a, b)` the `_T` becomes `_f64` or `_f32`. Everything else is derived from the text: what a
function requires, whether it vectorises, how many operations it takes; its docstring states its bound in ULP. The
text is what numba compiles and what an exported module contains.
"""

from __future__ import annotations

import functools
import linecache
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.avals import DTYPES_BY_SHORT_NAME, short_dtype_name

IMPORTS = """\
import cmath
import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np import arrayobj
"""

INLINED = '@njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)'
CALLED = '@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)'


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """One scalar function for one dtype.

    name: `exp_f64`; source: its definition, which needs the modules in `IMPORTS` and the functions in `requires`;
    max_ulp: the stated bound (0: exactly NumPy's bits); vectorises: whether a loop that calls it does; flops: an
    estimate per call, `requires` included.
    """

    name: str
    source: str
    requires: tuple[ScalarFunction, ...]
    max_ulp: float
    vectorises: bool
    flops: float


@dataclass(frozen=True, slots=True)
class _Template:
    """The text of one function for one dtype, before its placeholders are filled in."""

    text: str
    short: str
    values: Mapping[str, str]
    polynomials: Mapping[str, Sequence[float]]


# Filled when the package is imported; texts are rendered and parsed only when asked for.
_TEMPLATES: dict[str, _Template] = {}
_DEFINITION = re.compile(r"(?:^@.*\n)?^def (\w+)\(.*\n(?:(?:[ )].*)?\n)*", re.MULTILINE)
_POLYNOMIAL = re.compile(r"^( *)(\w+) = polynomial(_f64)?\((\w+), (\w+)\)$", re.MULTILINE)
_CALLS = re.compile(r"(?<![.\w])(?<!def )([a-z]\w*)(?=\()")
_NUMPY_TYPES = {short: f"np.{dtype.name}" for short, dtype in DTYPES_BY_SHORT_NAME.items()} | {"bool": "np.bool_"}

# What a placeholder stands for beside the dtype itself: I the integer of a float's width, R and C the parts and the
# complex type, and the constants of the format.
_FORMATS: dict[str, dict[str, str]] = {
    "f64": dict(
        I="i64", C="c128", LLVM="f64", WIDTH="64", MANTISSA_BITS="52", BIAS="1023", SIGN="-0x8000000000000000",
        INFINITY="0x7FF0000000000000", MANTISSA="0x000FFFFFFFFFFFFF", ONE="0x3FF0000000000000",
        MAGNITUDE="0x7FFFFFFFFFFFFFFF", SMALLEST_NORMAL="2.2250738585072014e-308",
    ),
    "f32": dict(
        I="i32", C="c64", LLVM="f32", WIDTH="32", MANTISSA_BITS="23", BIAS="127", SIGN="-0x80000000",
        INFINITY="0x7F800000", MANTISSA="0x007FFFFF", ONE="0x3F800000",
        MAGNITUDE="0x7FFFFFFF", SMALLEST_NORMAL="1.1754943508222875e-38",
    ),
    "c128": dict(R="f64", I="i64"),
    "c64": dict(R="f32", I="i32"),
}  # fmt: skip
for _bits in (8, 16, 32, 64):
    for _sign in "iu":
        _FORMATS[f"{_sign}{_bits}"] = dict(
            WIDTH=str(_bits), LAST_BIT=str(_bits - 1), U=f"u{_bits}", S=f"i{_bits}",
            LEAST=str(-(2 ** (_bits - 1)) if _sign == "i" else 0),
            MOST=str(2 ** (_bits - (_sign == "i")) - 1),
        )  # fmt: skip
_FORMATS["bool"] = {}

FLOATS = ("f32", "f64")
COMPLEXES = ("c64", "c128")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED


def library(
    text: str,
    dtypes: Iterable[str] = ("",),
    values: Mapping[str, Mapping[str, str]] | None = None,
    polynomials: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
) -> None:
    """Add the functions of `text`, once for each of `dtypes` (short names).

    Placeholders: a name that ends in `_T` (`_I`, `_R`, `_C`, `_U`, `_S`), `T_type` for the NumPy type, and the names
    in `values[short]` and of the format (`MANTISSA_BITS`). A line `q = polynomial(r, NAME)` becomes Horner's scheme for
    the coefficients `polynomials[NAME][short]`, constant term first; `polynomial_f64` works in float64 for any dtype.
    """
    formats = {short: _FORMATS.get(short, {}) | dict((values or {}).get(short, {})) for short in dtypes}
    for match in _DEFINITION.finditer(text):
        for short, substitutions in formats.items():
            name = _render_name(match[1], short, substitutions)
            if name in _TEMPLATES:
                raise ValueError(f"scalar function {name} is defined twice")
            table = {key: by_dtype[short] for key, by_dtype in (polynomials or {}).items() if short in by_dtype}
            _TEMPLATES[name] = _Template(match[0], short, substitutions, table)


def _render_name(name: str, short: str, values: Mapping[str, str]) -> str:
    stem, _, kind = name.rpartition("_")
    return f"{stem}_{short}" if kind == "T" else f"{stem}_{values[kind]}" if kind in values and len(kind) == 1 else name


def _render(template: _Template) -> str:
    """The text with its placeholders filled in, decorated."""
    short, values = template.short, template.values
    text = template.text.strip() + "\n"
    if short:
        kinds = {"T": short} | {k: v for k, v in values.items() if len(k) == 1}
        letters = "".join(kinds)
        text = _POLYNOMIAL.sub(lambda m: _horner(m[1], m[2], m[3] or "", m[4], template.polynomials[m[5]]), text)
        named = "|".join(k for k in values if len(k) > 1)
        if named:
            text = re.sub(rf"\b({named})\b", lambda m: values[m[1]], text).replace("--", "")
        text = re.sub(rf"\b([A-Za-z]\w*)_([{letters}])\b", lambda m: f"{m[1]}_{kinds[m[2]]}", text)
        for letter, kind in kinds.items():
            if kind == "f64":  # a plain literal is a float64 already
                text = re.sub(rf"\b{letter}_type\((-?[\d.]+(?:e[-+]?\d+)?)\)", r"\1", text)
            text = re.sub(rf"\b{letter}_type\b", _NUMPY_TYPES[kind], text)
    return text if text.startswith("@") or text.startswith("def emit_") else f"{INLINED}\n{text}"


def _horner(indent: str, result: str, suffix: str, x: str, coefficients: Sequence[float]) -> str:
    *rest, last = (f"{c!r}" if suffix else f"T_type({c!r})" for c in coefficients)
    fma = f"fma{suffix or '_T'}"
    lines = [f"{indent}{result} = {last}"]
    lines += [f"{indent}{result} = {fma}({result}, {x}, {c})" for c in reversed(rest)]
    return "\n".join(lines)


def names_in(source: str) -> tuple[str, ...]:
    """The names of scalar functions that a kernel's source calls, in order of appearance."""
    return tuple(dict.fromkeys(name for name in _CALLS.findall(source) if name in _TEMPLATES))


def has_function(name: str, dtype: np.dtype) -> bool:
    """Whether the library has `name` for `dtype`."""
    return f"{name}_{short_dtype_name(np.dtype(dtype))}" in _TEMPLATES


def scalar_function(name: str, dtype: np.dtype) -> ScalarFunction:
    """The function `name` (`"exp"`) for `dtype`. KeyError where there is none."""
    return by_name(f"{name}_{short_dtype_name(np.dtype(dtype))}")


def all_names() -> tuple[str, ...]:
    """The name of every function in the library."""
    return tuple(_TEMPLATES)


@functools.cache
def by_name(name: str) -> ScalarFunction:
    """The function called `name` (`"exp_f64"`)."""
    try:
        template = _TEMPLATES[name]
    except KeyError:
        raise KeyError(f"no scalar function {name!r}; add one in workbench/codegen/scalar_math") from None
    source = _render(template)
    requires = tuple(by_name(other) for other in names_in(source) if other != name)
    if source.startswith("@intrinsic"):
        return ScalarFunction(name, source, requires, 0.0, "Scalar:" not in source, 1.0)
    docstring = source.partition('"""')[2].partition('"""')[0]
    body = source.rpartition('"""')[2]
    bound = re.search(rf"([\d.]+) ULP \({template.short}\)", docstring) or re.search(r"([\d.]+) ULP(?! \()", docstring)
    scalar = re.search(r"^ *while |^ *for |(?<!\w)c?math\.(?!inf|nan)", body, re.MULTILINE) is not None
    operations = len(re.findall(r" (?:[-+*&|^<>]|<<|>>|[<>=!]=) |[ (]-(?=[a-z])", body)) + 4 * body.count(" / ")
    operations += 10 * len(re.findall(r"(?<!\w)c?math\.(?!inf|nan)", body)) + sum(
        other.flops * len(re.findall(rf"\b{other.name}\(", body)) for other in requires
    )
    return ScalarFunction(
        name=name,
        source=source,
        requires=requires,
        max_ulp=float(bound[1]) if bound else 0.0,
        vectorises=not scalar and all(other.vectorises for other in requires),
        flops=float(operations),
    )


def _in_dependency_order(names: Iterable[str]) -> list[ScalarFunction]:
    ordered: dict[str, ScalarFunction] = {}

    def visit(function: ScalarFunction) -> None:
        if function.name not in ordered:
            for other in function.requires:
                visit(other)
            ordered[function.name] = function

    for name in names:
        visit(by_name(name))
    return list(ordered.values())


def definitions(names: Iterable[str], *, imports: bool = True) -> str:
    """The source of the functions `names` and of all that they require, ready to paste into a module."""
    parts = [IMPORTS] if imports else []
    return "\n\n".join(parts + [function.source for function in _in_dependency_order(names)])


_NUMBA: dict[str, Any] = {}  # numba's form of each function, by name, beside the modules their texts import
_DIRECT: dict[str, Any] = {}


def namespace(names: Iterable[str], *, direct: bool = True) -> dict[str, Callable[..., Any]]:
    """The functions `names` as numba functions, to be used as the globals of a kernel.

    direct: lower their text straight to LLVM where that is possible (`scalar_math.direct`), which spares most of the
    compile time; otherwise as an exported module does it, through numba.
    """
    return {name: (_direct(name) if direct else _through_numba(name)) for name in names}


def _through_numba(name: str) -> Any:
    if not _NUMBA:
        exec(IMPORTS, _NUMBA)
    for function in _in_dependency_order((name,)):
        if function.name not in _NUMBA:
            filename = f"<scalar_math {function.name}>"
            linecache.cache[filename] = (len(function.source), None, function.source.splitlines(True), filename)
            exec(compile(function.source, filename, "exec"), _NUMBA)
    return _NUMBA[name]


def _direct(name: str) -> Any:
    from .direct import UnsupportedSourceError, as_intrinsic

    if name not in _DIRECT:
        function = by_name(name)
        if function.source.startswith("@njit"):
            try:
                _DIRECT[name] = as_intrinsic(function, _through_numba)
            except UnsupportedSourceError:
                _DIRECT[name] = _through_numba(name)
        else:
            _DIRECT[name] = _through_numba(name)
    return _DIRECT[name]
