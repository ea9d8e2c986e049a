"""The two ways to compile a function give the same bits: straight to LLVM, and through numba as an exported module."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from workbench.codegen.scalar_math import all_names, by_name, definitions
from workbench.codegen.scalar_math.direct import UnsupportedSourceError, _signature, as_intrinsic
from workbench.codegen.scalar_math.registry import _through_numba
from workbench.ir.avals import DTYPES_BY_SHORT_NAME

from .test_exact import complexes, integers
from .ulps import loops, spread

# Not of one dtype throughout, or only numba's to compile.
OTHER = {"ldexp", "select_parts", "flat", "uintp"}


def functions_of(short: str) -> dict[int, list[str]]:
    """The functions for one dtype that are not intrinsics, by how many arguments they take."""
    found: dict[int, list[str]] = {}
    for name in all_names():
        stem, _, suffix = name.rpartition("_")
        if suffix == short and stem not in OTHER and by_name(name).source.startswith("@njit"):
            found.setdefault(len(ast.parse(by_name(name).source).body[0].args.args), []).append(name)
    return found


def values_of(short: str) -> np.ndarray:
    dtype = np.dtype(DTYPES_BY_SHORT_NAME[short])
    if dtype.kind == "b":
        return np.array([False, True, True, False, False])
    return {"f": spread, "c": lambda d, n: complexes(d, n)[0]}.get(dtype.kind, integers)(dtype, 60)


SLOW = [pytest.param(short, marks=pytest.mark.slow) for short in ("f32", "c64", "u8")]


@pytest.mark.parametrize("short", ["f64", "i32", "bool", *SLOW])
def test_both_ways_give_the_same_bits(short):
    x = values_of(short)
    for n_arguments, names in functions_of(short).items():
        arguments = [np.random.default_rng(seed).permutation(x) for seed in range(n_arguments)]
        dtypes = [DTYPES_BY_SHORT_NAME[_signature(by_name(name), _through_numba).result] for name in names]
        results = []
        for direct in (True, False):
            outs = [np.zeros(x.size, dtype) for dtype in dtypes]
            loops(names, n_arguments, direct=direct)(*arguments, *outs)
            results.append(outs)
        for name, mine, numbas in zip(names, *results, strict=True):
            same = (mine == numbas) | ((mine != mine) & (numbas != numbas))
            if mine.dtype.kind == "f":
                same &= (np.signbit(mine) == np.signbit(numbas)) | np.isnan(mine)
            wrong = np.flatnonzero(~same)[:3]
            assert same.all(), (name, [a[wrong] for a in arguments], mine[wrong], numbas[wrong])


def test_every_function_can_skip_numbas_front_end():
    beyond = []
    for name in all_names():
        if by_name(name).source.startswith("@njit"):
            try:
                as_intrinsic(by_name(name), _through_numba)
            except UnsupportedSourceError:
                beyond.append(name)
    assert beyond == ["uintp"]  # it has no dtype of its own


def test_definitions_are_a_module_of_their_own():
    names = ["exp_f32", "pow_c128", "gcd_i16", "sin_f64", "mod_f32"]
    scope: dict = {}
    exec(definitions(names), scope)
    assert set(names) <= set(scope)
    exec("@njit\ndef run(x): return sin_f64(x) + exp_f32(np.float32(x))", scope)
    assert scope["run"](1.0) == pytest.approx(np.sin(1.0) + np.exp(np.float32(1.0)))


def test_definitions_stand_before_their_use():
    text = definitions(["erfc_f64", "tanh_c64"], imports=False)
    defined: set[str] = set()
    for node in ast.parse(text).body:
        assert isinstance(node, ast.FunctionDef)
        called = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & set(all_names())
        assert called <= defined, (node.name, called - defined)
        defined.add(node.name)


def test_an_unknown_function_says_where_to_add_it():
    with pytest.raises(KeyError, match="no scalar function 'gamma_f64'"):
        by_name("gamma_f64")
