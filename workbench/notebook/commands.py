"""The commands of `%workbench`, each a function from its argument to text."""

from __future__ import annotations

from ..config import config as settings
from ..report import CompileReport
from ..runtime import cache as kernel_cache
from .explanations import explain

__all__ = ["HELP", "VIEWS", "cache", "config", "explain", "view"]

HELP = """%workbench explain CODE        what a code such as WB101 means, and what to do about it
%workbench report [N]          the report of the last compiled cell, or of cell N
%workbench cache [clear]       the kernels kept on disk
%workbench config [NAME=VALUE] the settings
%%jit?                         the options of a compiled cell"""
