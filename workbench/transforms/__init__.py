"""Program to program: each pass takes a jaxpr and returns a new one; `pipeline` lists them in order."""

from .cse import eliminate_common_subexpressions
from .dce import eliminate_dead_code
from .fold_constants import fold_constants
from .hoist_invariants import hoist_invariants
from .inline import inline_calls
from .pipeline import PIPELINE, run_pipeline
from .rewrite import Pass, Rewriter, rewrite
from .simplify import simplify

__all__ = [
    "PIPELINE", "Pass", "Rewriter", "eliminate_common_subexpressions", "eliminate_dead_code", "fold_constants",
    "hoist_invariants", "inline_calls", "rewrite", "run_pipeline", "simplify",
]  # fmt: skip
