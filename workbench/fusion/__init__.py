"""From a program to a plan: which equations share a kernel, what is called, and why."""

from .clustering import form_plan
from .plan import (
    BranchStep,
    Cluster,
    Decision,
    LibraryStep,
    LoopStep,
    NumpyStep,
    Plan,
    Space,
    Step,
    ViewStep,
    step_eqns,
    step_inputs,
    step_outputs,
    sub_plans,
)
from .reasons import REASONS

__all__ = [
    "REASONS", "BranchStep", "Cluster", "Decision", "LibraryStep", "LoopStep", "NumpyStep", "Plan", "Space", "Step",
    "ViewStep", "form_plan", "step_eqns", "step_inputs", "step_outputs", "sub_plans",
]  # fmt: skip
