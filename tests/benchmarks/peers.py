"""The contestants: NumPy, the workbench, JAX, torch.compile, numexpr, numba by hand; whichever are installed.

A program is a function of an array namespace and arrays, `f(xp, *arrays)`, written once for all who take NumPy's names.
Peers get their arrays beforehand, on their device, and every call waits for its result.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import workbench as wb

from .harness import BASELINE

OURS, JAX, TORCH, NUMBA, PARALLEL, NUMEXPR = "workbench", "JAX", "torch.compile", "numba", "numba parallel", "numexpr"
OURS_FAST = "workbench fast"  # beside numba code, whose `fastmath` is as exact


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


jax = optional("jax")
torch = optional("torch")
numexpr = optional("numexpr")
if jax is not None:
    jax.config.update("jax_enable_x64", True)
if torch is not None:
    torch.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
has_compiler = any(shutil.which(name) for name in ("g++", "clang++", "c++"))


def in_jax(function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    """`function(jax.numpy, *arrays)`, compiled."""
    compiled = jax.jit(lambda *xs: function(jax.numpy, *xs))
    on_device = [jax.numpy.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(compiled(*on_device))


def in_torch(function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    """`function(torch, *arrays)`, compiled by Inductor."""
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays]
    compiled = torch.compile(lambda *xs: function(torch, *xs), dynamic=False)

    def call() -> Any:
        with torch.no_grad():
            return compiled(*tensors)

    return call


def contestants(
    function: Callable[..., Any],
    *arrays: Any,
    by_hand: Callable[..., Any] | None = None,
    parallel: Callable[..., Any] | None = None,
    expression: Callable[..., Any] | None = None,
    jax_too: bool = True,
    torch_too: bool = True,
) -> Mapping[str, Callable[[], Any]]:
    """Everybody who can run `function(xp, *arrays)`. by_hand, parallel: numba code that takes the arrays; expression:
    the same for numexpr."""
    ours = wb.jit(lambda *xs: function(np, *xs))
    calls: dict[str, Callable[[], Any]] = {BASELINE: lambda: function(np, *arrays), OURS: partial(ours, *arrays)}
    if by_hand is not None or parallel is not None:
        fast = wb.jit(lambda *xs: function(np, *xs), fast=True)
        calls[OURS_FAST] = partial(fast, *arrays)
    if by_hand is not None:
        calls[NUMBA] = lambda: by_hand(*arrays)
    if parallel is not None:
        calls[PARALLEL] = lambda: parallel(*arrays)
    if expression is not None and numexpr is not None:
        calls[NUMEXPR] = lambda: expression(*arrays)
    if jax is not None and jax_too:
        calls[JAX] = in_jax(function, *arrays)
    if torch is not None and has_compiler and torch_too:
        calls[TORCH] = in_torch(function, *arrays)
    return calls
