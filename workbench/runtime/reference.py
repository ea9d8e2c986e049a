"""The device `numpy`: a program equation by equation, each by its primitive's reference implementation.

Nothing is compiled, every operation is a step of its own: what a program costs without the compiler, and what it should
give.
"""

from __future__ import annotations

from ..fusion import BranchStep, LoopStep, NumpyStep, Plan, Step, ViewStep
from ..fusion.classify import VIEWS
from ..ir import Equation, Jaxpr, Var

CODE = "WB332"
REASON = "the device is 'numpy', which runs every operation by itself"


def reference_plan(jaxpr: Jaxpr, prefix: str = "") -> Plan:
    """A plan that runs each equation of `jaxpr` in NumPy. Its steps' ids begin with `prefix`."""
    return Plan(jaxpr, tuple(_step(eqn, f"{prefix}{i}") for i, eqn in enumerate(jaxpr.eqns)), ())


def _step(eqn: Equation, number: str) -> Step:
    params = eqn.params
    match eqn.primitive.name:
        case "cond":
            plans = (reference_plan(branch, f"B{number}b{i}_") for i, branch in enumerate(params["branches"]))
            return BranchStep(f"B{number}", eqn, tuple(plans))
        case "scan":
            return LoopStep(f"W{number}", eqn, reference_plan(params["jaxpr"], f"W{number}_"))
        case "while":
            condition = reference_plan(params["cond_jaxpr"], f"W{number}c_")
            return LoopStep(f"W{number}", eqn, reference_plan(params["body_jaxpr"], f"W{number}_"), condition)
        case name if name in VIEWS and isinstance(eqn.invars[0], Var):
            return ViewStep(f"V{number}", eqn)
    return NumpyStep(f"N{number}", eqn, CODE, REASON)
