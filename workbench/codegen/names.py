"""Names of a kernel's arguments and values: the user's own where there is one, unique, never a keyword or a helper."""

from __future__ import annotations

import builtins
import keyword
import re

from ..ir import Var

RESERVED = {*keyword.kwlist, *dir(builtins), "np", "njit", "start", "stop", "flat", "uintp"}


class Namer:
    def __init__(self, reserved: frozenset[str] = frozenset()):
        self.taken = RESERVED | reserved
        self.counts: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """`wish` made an identifier, with a number where it is taken."""
        base = re.sub(r"\W", "_", wish, flags=re.ASCII).strip("_") or "value"
        if base[0].isdigit() or re.fullmatch(r"i\d*|j\d*|j_stop|first|last|part|row", base):
            base = f"v_{base}"
        name = base
        while name in self.taken:
            self.counts[base] = self.counts.get(base, 1) + 1
            name = f"{base}_{self.counts[base]}"
        self.taken = self.taken | {name}
        return name

    def for_var(self, var: Var, fallback: str) -> str:
        return self.fresh(var.hint or fallback)
