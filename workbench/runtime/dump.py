"""Dumps: every stage of every compilation as text and Graphviz files, in the folder that `WORKBENCH_DUMP` names.

`WORKBENCH_DUMP_FILTER` is a regular expression that selects cells and functions by their labels. `config.dump_dir` and
`config.dump_filter` do the same from within.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import config
from ..fusion import Plan, step_eqns, step_inputs, step_outputs
from ..ir import Jaxpr, Literal

if TYPE_CHECKING:
    from .compilation import Compilation

_counter = itertools.count()
_runs = threading.local()


def _folder(label: str) -> Path | None:
    target = config.dump_dir or os.environ.get("WORKBENCH_DUMP", "")
    if not target or not re.search(config.dump_filter or os.environ.get("WORKBENCH_DUMP_FILTER", ""), label):
        return None
    return Path(target)


def _stem(label: str) -> str:
    return re.sub(r"\W+", "_", label).strip("_") or "program"


def dump_pass(label: str, index: int, name: str, jaxpr: Jaxpr) -> None:
    """Write the program after one pass: text and .dot."""
    folder = _folder(label)
    if folder is None:
        return
    if index == 0:
        _runs.number = next(_counter)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_runs.number:04d}.{_stem(label)}.{index:02d}.{_stem(name)}"
    path.with_name(path.name + ".txt").write_text(f"{jaxpr}\n")
    path.with_name(path.name + ".dot").write_text(jaxpr_dot(jaxpr, f"{label}: {name}"))


def dump_compilation(compilation: Compilation) -> None:
    """Write the plan and, for every kernel, its source, LLVM IR and assembly."""
    folder = _folder(compilation.source.label)
    if folder is None:
        return
    stem = f"{_runs.number:04d}.{_stem(compilation.source.label)}"
    (folder / f"{stem}.plan.dot").write_text(plan_dot(compilation.plan, compilation.source.label))
    for name, kernel in compilation.kernels.items():
        (folder / f"{stem}.{name}.{kernel.name}.py").write_text(kernel.source)
        (folder / f"{stem}.{name}.{kernel.name}.ll").write_text(compilation.get_llvm(name))
        (folder / f"{stem}.{name}.{kernel.name}.s").write_text(compilation.get_asm(name))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def jaxpr_dot(jaxpr: Jaxpr, title: str) -> str:
    """The data flow of a program in Graphviz's language."""
    ids: dict[object, str] = {}
    lines = [f"digraph {_quote(title)} {{", f"  label={_quote(title)}; node [shape=box, fontname=monospace];"]
    for i, var in enumerate((*jaxpr.constvars, *jaxpr.invars)):
        ids[var] = f"in{i}"
        lines.append(f"  in{i} [label={_quote(f'{var.hint} {var.aval}'.strip())}, shape=ellipse];")
    for i, eqn in enumerate(jaxpr.eqns):
        lines.append(f"  e{i} [label={_quote(f'{eqn.primitive.name} {eqn.origin.name}'.strip())}];")
        for atom in eqn.invars:
            if not isinstance(atom, Literal):
                lines.append(f"  {ids[atom]} -> e{i} [label={_quote(str(atom.aval))}];")
        for out in eqn.outvars:
            ids[out] = f"e{i}"
    for i, atom in enumerate(jaxpr.outvars):
        lines.append(f"  out{i} [label={_quote(str(atom.aval))}, shape=ellipse];")
        if not isinstance(atom, Literal):
            lines.append(f"  {ids[atom]} -> out{i};")
    return "\n".join([*lines, "}", ""])


def plan_dot(plan: Plan, title: str) -> str:
    """The cluster graph in Graphviz's language."""
    lines = [f"digraph {_quote(title)} {{", f"  label={_quote(title)}; node [shape=box, fontname=monospace];"]
    source: dict[object, str] = {}
    for i, var in enumerate((*plan.jaxpr.constvars, *plan.jaxpr.invars)):
        source[var] = f"in{i}"
        lines.append(f"  in{i} [label={_quote(f'{var.hint} {var.aval}'.strip())}, shape=ellipse];")
    for step in plan.steps:
        names = ", ".join(dict.fromkeys(e.primitive.name for e in step_eqns(step)))
        lines.append(f"  {step.id} [label={_quote(f'{step.id}: {names}')}];")
        for var in step_inputs(step):
            lines.append(f"  {source[var]} -> {step.id} [label={_quote(str(var.aval))}];")
        for out in step_outputs(step):
            source[out] = step.id
    return "\n".join([*lines, "}", ""])
