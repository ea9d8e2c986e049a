"""Export: a kernel as a module that needs numba and NumPy alone."""

from __future__ import annotations

from .kernel import FAST, Kernel, KernelArg
from .scalar_math import IMPORTS, definitions, names_in

OPTIONS = 'nogil=True, error_model="numpy"'
DECORATOR = f"@njit({OPTIONS})"


def standalone(kernel: Kernel) -> str:
    """The complete source of `kernel`: imports, the scalar functions that it calls, itself, and how to call it.

    The module's `run(*arrays)` allocates the results, runs all of the outer loop, and returns them; sizes are those of
    the arrays that the kernel was written for, and are named so that other shapes can be given.
    """
    kernels = [kernel] if kernel.finish is None else [kernel, kernel.finish]
    names = dict.fromkeys(name for k in kernels for name in names_in(k.source))
    parts = [f'"""{kernel.name}: a kernel written by workbench. It needs numba and NumPy."""\n\n{IMPORTS.strip()}']
    parts += [text for text in [definitions(names, imports=False).strip()] if text]
    decorator = f"@njit({OPTIONS}, fastmath={{{str(FAST)[1:-1]}}})" if kernel.fast else DECORATOR
    parts += [f"{decorator}\n{k.source.strip()}" for k in kernels]
    parts.append(_run(kernel))
    return "\n\n\n".join(parts) + "\n"


def _run(kernel: Kernel) -> str:
    every = list(kernel.args) + (list(kernel.finish.args) if kernel.finish else [])
    inputs = list(dict.fromkeys(a.name for a in every if a.kind == "in" or a.holds))
    made: dict[str, KernelArg] = {a.name: a for a in every if a.kind in ("out", "update", "scratch") and not a.holds}
    sizes = {a.name: a.value for a in every if a.kind == "size"}
    outputs = list(dict.fromkeys(a.name for a in every if a.kind in ("out", "update")))
    parameters = [*inputs, *(f"{name}={value}" for name, value in sizes.items())]
    lines = [f"def run({', '.join(parameters)}):"]
    lines += [f"    {name} = np.empty({a.shape}, np.{_numpy_name(a.dtype)})" for name, a in made.items()]
    if kernel.extent:
        lines.append(f"    {kernel.name}(0, {kernel.extent}, {', '.join(a.name for a in kernel.args)})")
    if kernel.finish is not None:
        lines.append(
            f"    {kernel.finish.name}(0, {kernel.finish.extent}, {', '.join(a.name for a in kernel.finish.args)})"
        )
    lines.append(f"    return {', '.join(outputs)}")
    return "\n".join(lines)


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype
