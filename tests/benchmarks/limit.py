"""The least time that this machine's measured limits allow a program: every input is read once, every result written
once, and all arithmetic is done at the peak. Whatever lies in between is free.

Bytes are exact; flops are estimates, in which a division or an elementary function counts for several. Programs that fit
in the caches are held to the bandwidth of a core's own cache, which the last level does not reach.
"""

from __future__ import annotations

from typing import Any

from workbench.fusion.cost import flops
from workbench.ir import Equation, Jaxpr, Var
from workbench.runtime.dispatch import CompiledFunction
from workbench.runtime.limits import Limits

HALF_AS_WIDE = 2.0  # numbers of 32 bits are computed twice as many at a time


def limit_us(call: Any, limits: Limits) -> float | None:
    """Of `functools.partial(compiled function, *arrays)`, once it was called. None of other calls, and of programs whose
    number of operations only the run knows."""
    function = getattr(call, "func", None)
    if not isinstance(function, CompiledFunction) or not function.compilations:
        return None
    jaxpr = function.compilations[-1].stages[-1][1]
    n_flops = _flops(jaxpr)
    if n_flops is None:
        return None
    arrays = {*jaxpr.invars, *jaxpr.constvars, *(v for v in jaxpr.outvars if isinstance(v, Var))}
    n_bytes = sum(v.aval.nbytes for v in arrays)
    in_caches = limits.cache_gb_per_s > 0 and n_bytes <= limits.cache_bytes
    bandwidth = limits.cache_gb_per_s if in_caches else limits.copy_gb_per_s
    is_narrow = all(v.aval.dtype.itemsize <= 4 for v in arrays if v.aval.dtype.kind == "f")
    peak = limits.peak_gflops * (HALF_AS_WIDE if is_narrow else 1.0)
    return max(n_bytes / bandwidth, n_flops / peak) * 1e-3


def _flops(jaxpr: Jaxpr) -> float | None:
    each = [_flops_of(eqn) for eqn in jaxpr.eqns]
    return None if None in each else sum(each)  # type: ignore[arg-type]  # no None is left


def _flops_of(eqn: Equation) -> float | None:
    match eqn.primitive.name:
        case "scan":
            once = _flops(eqn.params["jaxpr"])
            return None if once is None else once * eqn.params["length"]
        case "while" | "cond" | "loop":
            return None
    return flops(eqn)
