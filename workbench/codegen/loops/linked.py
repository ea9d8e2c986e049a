"""Functions that numba compiles only to link them into others: the functions that a translated loop calls.

numba generates machine code, and a wrapper that Python calls, for every function that it compiles, also for those that
run as a part of another one. Here they stay as they were lowered; whatever they are linked into optimises them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from numba import _dynfunc, njit  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.types import ExternalFunction
from numba.extending import is_jitted


class _LinkedLibrary(JITCodeLibrary):
    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        done = super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.rpartition(".")[2]
        # What numba knows the function by. As for every function without a wrapper, there is nothing to call.
        key = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return done


class LinkedCompiler(CompilerBase):
    """numba's compiler, of whose passes only the last one is another."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("linked")
        for each, about in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            passes.add_pass(_LinkedLowering if each is NativeLowering else each, about)
        passes.finalize()
        return [passes]


def linked(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` for functions that only compiled functions call."""
    return njit(pipeline_class=LinkedCompiler, **options)


def external(name: str, address: int, signature: Any) -> Any:
    """A function of C, of NumPy's libraries. Code that was compiled earlier finds it by its symbol."""
    symbol = f"workbench_numpy_{name}"
    llvmlite.binding.add_symbol(symbol, address)
    return ExternalFunction(symbol, signature)


def linked_in(module: dict[str, Any]) -> dict[str, Any]:
    """The functions of a module that the text of a loop may call."""
    return {name: value for name, value in module.items() if is_jitted(value) and not name.startswith("_")}
