"""The commands of `%workbench` and of `%%jit --show`, each a function from its argument to text."""

from __future__ import annotations

import ast

from IPython.core.error import UsageError

from ..config import config as settings
from ..report import CompileReport
from ..report.text import SECTIONS
from ..runtime.native.kernels import cache_folder, forget_kernels
from .explanations import explain

__all__ = ["HELP", "cache", "config", "explain", "view"]

HELP = """%workbench explain CODE         what a code such as WB101 means, and what to do about it
%workbench report [N]           the report of the last compiled cell, or of cell N
%workbench cache [clear]        the kernels that are kept on disk
%workbench config [NAME=VALUE]  the settings
%%jit?                          the options of a compiled cell"""


def view(report: CompileReport, name: str) -> str:
    """A part of a report as text: a section, the program after a pass (`ir` is the last), or a kernel's source."""
    sources = {kernel.id: kernel.source for kernel in report.kernels}
    programs = {stage.name: stage.text for stage in report.stages}
    if report.stages:
        programs["ir"] = report.stages[-1].text
    if name in sources | programs:
        return (sources | programs)[name]
    if name in SECTIONS:
        return report.to_text(only=[name])
    raise UsageError(f"--show {name}: there is no such view; there are {', '.join([*programs, *SECTIONS, *sources])}")


def cache(argument: str) -> str:
    """Where compiled kernels are kept, and how many; `clear` removes them."""
    folder = cache_folder()
    if folder is None:
        return "compiled kernels are kept in this session only (config.cache_dir is off)"
    files = [path for path in folder.glob("*") if path.is_file()] if folder.is_dir() else []
    if argument == "clear":
        for path in files:
            path.unlink(missing_ok=True)
        forget_kernels()
        return f"removed {len(files)} compiled kernels from {folder}"
    if argument:
        raise UsageError(f"%workbench cache {argument}: only `clear` is known")
    size = sum(path.stat().st_size for path in files)
    return f"{len(files)} compiled kernels, {size / 1e6:.1f} MB, in {folder}"


def config(argument: str) -> str:
    """All settings, or one after it was set: `threads=2`."""
    if not argument:
        return "\n".join(f"{name} = {getattr(settings, name)!r}" for name in dir(settings))
    name, equals, text = (part.strip() for part in argument.partition("="))
    try:
        if equals:
            setattr(settings, name, _value(text))
        return f"{name} = {getattr(settings, name)!r}"
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a string without its quotes
