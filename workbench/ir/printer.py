"""Programs as text: a jaxpr, character for character as JAX 0.10 prints it.

What differs from JAX: no params about sharding, which we do not have, and `pjit` for the primitive that JAX calls
`jit` since 0.7. Names are given in the order in which the text mentions variables: a, b ... z, ba, bb. Programs that
occur twice by identity, or that are longer than `LONG_SUBJAXPR`, are printed once, in front, as `let f = {...} in`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var, subjaxprs
from .layout import Break, Doc, Group, Mark, Nest, Noted, joined, lay_out
from .origins import Span
from .shown_params import NAME_KEY, shown_params, value_text

WIDTH = 80  # columns, JAX's
LONG_SUBJAXPR = 10  # equations, JAX's: a longer program inside another one is printed in front
_SPACE = Group(Break())


@dataclass(frozen=True, slots=True)
class PrintedJaxpr:
    """text; equations: each with its first line (from 1) and its number of lines, in the order of the text, with
    those of inner programs; names: what each variable is called in the text."""

    text: str
    equations: list[tuple[Equation, int, int]]
    names: Mapping[Var, str]


def print_jaxpr(jaxpr: Jaxpr, *, width: int = WIDTH, hints: bool = False, source_info: bool = False) -> str:
    """`jaxpr` as JAX would print it.

    hints: name variables after the user's own, where they are known.
    source_info: a comment at each equation says which line of the user's code it came from.
    """
    return printed(jaxpr, width=width, hints=hints, source_info=source_info).text


def equation_lines(
    jaxpr: Jaxpr, *, width: int = WIDTH, hints: bool = False
) -> tuple[str, list[tuple[Equation, int, int]]]:
    """The printed text, and for each equation in it the first line (from 1) and the number of lines it takes."""
    result = printed(jaxpr, width=width, hints=hints)
    return result.text, result.equations


def printed(jaxpr: Jaxpr, *, width: int = WIDTH, hints: bool = False, source_info: bool = False) -> PrintedJaxpr:
    """The text of `jaxpr` with what a view needs to link it: where equations are and how variables are called."""
    shared = _shared_jaxprs(jaxpr)
    writer = _Writer(_Names(set(shared.values()), hints), shared, source_info=source_info)
    # As in JAX, only the outer program's unread results are known to be unread; elsewhere a DropVar says so.
    for var in _unread_results(jaxpr):
        writer.names.by_var[var] = "_"
    docs: list[Doc] = [[f"let {name} = ", writer.skeleton(inner), " in", Break()] for inner, name in shared.items()]
    layout = lay_out([*docs, writer.jaxpr(jaxpr)], width)
    equations = [(eqn, first, n) for eqn, first, n in layout.marks if isinstance(eqn, Equation)]
    return PrintedJaxpr(layout.text, equations, writer.names.by_var)


def print_eqn(eqn: Equation, names: Mapping[Var, str] | None = None, *, width: int = WIDTH) -> str:
    """One equation alone. Variables that are not in `names` get the first free letters."""
    names = names or {}
    writer = _Writer(_Names(set(names.values()) - {"_"}, False), {}, source_info=False)
    writer.names.by_var.update(names)
    return lay_out(writer.equation(eqn), width).text.rstrip()


def print_atom(atom: Atom, names: Mapping[Var, str]) -> str:
    """A variable by its name in `names`, a literal with its type: `2.0:f64[]`."""
    if isinstance(atom, Literal):
        return f"{literal_text(atom.val)}:{atom.aval}"
    return "_" if isinstance(atom, DropVar) else names[atom]


def literal_text(val: Any) -> str:
    """A rank-0 value as Python prints it."""
    return str(np.asarray(val).item())


def alphabetic_name(n: int) -> str:
    """0, 1 ... 25, 26, 27 -> a, b ... z, ba, bb: `n` in base 26 with letters for digits."""
    name = ""
    while True:
        n, digit = divmod(n, 26)
        name = chr(ord("a") + digit) + name
        if not n:
            return name


class _Names:
    """Gives each variable a name when the text first mentions it."""

    def __init__(self, reserved: set[str], hints: bool):
        self.by_var: dict[Var, str] = {}
        self.hints = hints
        self.taken = reserved
        self.letters: Iterator[str] = (name for n in count() if (name := alphabetic_name(n)) not in self.taken)
        self.hint_counts: Counter[str] = Counter()

    def __getitem__(self, var: Var) -> str:
        if isinstance(var, DropVar):
            return "_"
        name = self.by_var.get(var)
        if name is None:
            name = self.by_var[var] = self._from_hint(var.hint) if self.hints and var.hint else next(self.letters)
            if self.hints:
                self.taken.add(name)
        return name

    def _from_hint(self, hint: str) -> str:
        hint = re.sub(r"\W", "_", hint)
        hint = hint if not hint[0].isdigit() and hint.strip("_") else f"v{hint}"
        name = hint
        while name in self.taken:
            self.hint_counts[hint] += 1
            name = f"{hint}_{self.hint_counts[hint]}"
        return name

    def suggest(self, for_vars: Sequence[Atom], like_vars: Sequence[Atom]) -> None:
        """Call the variables of an inner program as the equation that holds it calls what they stand for."""
        used: set[Var] = set()
        for for_var, like_var in zip(for_vars, like_vars, strict=False):
            if (
                isinstance(like_var, Var)
                and like_var not in used
                and isinstance(for_var, Var)
                and for_var not in self.by_var
            ):
                used.add(like_var)
                self.by_var[for_var] = self[like_var]


@dataclass(slots=True)
class _Writer:
    names: _Names
    shared: Mapping[Jaxpr, str]
    source_info: bool
    reserved: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.reserved = frozenset(self.shared.values())

    def atom(self, atom: Atom) -> str:
        return f"{literal_text(atom.val)}:{atom.aval}" if isinstance(atom, Literal) else self.names[atom]

    def atoms(self, atoms: Sequence[Atom], separator: str = "") -> Doc:
        return Nest(2, Group(joined([separator, _SPACE], [self.atom(atom) for atom in atoms])))

    def binders(self, variables: Sequence[Var]) -> Doc:
        return Nest(2, Group(joined(_SPACE, [f"{self.names[v]}:{v.aval}" for v in variables])))

    def jaxpr(self, jaxpr: Jaxpr) -> Doc:
        return self.shared.get(jaxpr) or self.skeleton(jaxpr)

    def skeleton(self, jaxpr: Jaxpr) -> Doc:
        # Parts are written in the order of the text: writing a part names its variables.
        constvars, invars = self.binders(jaxpr.constvars), self.binders(jaxpr.invars)
        eqns = joined(Break("; "), [self.equation(eqn) for eqn in jaxpr.eqns])
        outvars: list[Doc] = ["(", self.atoms(jaxpr.outvars, ","), ",)" if len(jaxpr.outvars) == 1 else ")"]
        body: list[Doc] = ["{ lambda ", constvars, "; ", invars, ". let", Nest(2, [Break(), *eqns]), Break(), "in "]
        return Group([Nest(2, [*body, *outvars]), " }"])

    def equation(self, eqn: Equation) -> Doc:
        inner = eqn.params.get("jaxpr")
        if eqn.primitive.name == "pjit" and isinstance(inner, Jaxpr) and inner not in self.shared:
            self.names.suggest(inner.invars, eqn.invars)
            self.suggest_results(inner, eqn)
        parts: list[Doc] = []
        if eqn.outvars:
            note = self.note(eqn)
            parts = [self.binders(eqn.outvars), Noted(" = ", note) if note else " = "]
        parts += [eqn.primitive.name, self.params(eqn), " ", self.atoms(eqn.invars)]
        return Mark(eqn, parts)

    def suggest_results(self, inner: Jaxpr, eqn: Equation) -> None:
        # A result that the caller drops is called `_` inside too, as in JAX, but only where this can be read back:
        # the n-th `_` bound must be the n-th one returned.
        results, like = inner.outvars, eqn.outvars
        dropped = {f for f, v in zip(results, like, strict=False) if isinstance(f, Var) and self.names[v] == "_"}
        if dropped and not _dropped_in_order(inner, dropped):
            kept = [(f, v) for f, v in zip(results, like, strict=False) if f not in dropped]
            results, like = [f for f, _ in kept], [v for _, v in kept]
        self.names.suggest(results, like)

    def note(self, eqn: Equation) -> str:
        return span_text(eqn.origin.span) if self.source_info and eqn.origin.span else ""

    def params(self, eqn: Equation) -> Doc:
        pairs = shown_params(eqn)
        if not pairs:
            return ""
        docs = [[f"{key}=", self.value(key, value)] for key, value in pairs]
        return Group([Nest(2, ["[", Break(""), *joined(Break(), docs)]), Break(""), "]"])

    def value(self, key: str, value: Any) -> Doc:
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple and value and all(isinstance(item, Jaxpr) for item in value):
            docs = [self.jaxpr(item) for item in value]
            return Group([Nest(2, ["(", Break(""), *joined(Break(), docs)]), Break(""), ")"])
        return value_text(key, value, self.reserved)


def span_text(span: Span) -> str:
    """`file:line:column (function)`, as JAX writes a source position."""
    return f"{span.filename}:{span.line}:{span.col} ({span.function})"


def _dropped_in_order(inner: Jaxpr, dropped: set[Var]) -> bool:
    bound = [v for eqn in inner.eqns for v in eqn.outvars if v in dropped or isinstance(v, DropVar)]
    returned = [v for v in inner.outvars if v in dropped]
    is_read = any(v in dropped for eqn in inner.eqns for v in eqn.invars)
    return bound == returned and not is_read


def _unread_results(jaxpr: Jaxpr) -> Iterator[Var]:
    """Results that neither a later equation nor the program's outputs read."""
    read = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    for eqn in reversed(jaxpr.eqns):
        yield from (var for var in eqn.outvars if var not in read)
        read.update(atom for atom in eqn.invars if isinstance(atom, Var))


def _shared_jaxprs(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """The inner programs to print in front, with a name each, in JAX's order (breadth first)."""
    visits: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    pending = deque([jaxpr])
    while pending:
        program = pending.popleft()
        visits[program] += 1
        if visits[program] > 2:  # a third visit adds nothing: what is inside has been seen twice already
            continue
        for eqn in program.eqns:
            name = eqn.params.get(NAME_KEY)
            for _, inner in subjaxprs(eqn):
                pending.append(inner)
                if isinstance(name, str):
                    names.setdefault(inner, name.strip("<>"))
    shared: dict[Jaxpr, str] = {}
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    for program, n in visits.items():
        if n > 1 or (program is not jaxpr and len(program.eqns) > LONG_SUBJAXPR):
            base = name = names.get(program) or "jaxpr"
            while name in taken:
                numbers[base] += 1
                name = f"{base}{numbers[base]}"
            taken.add(name)
            shared[program] = name
    return shared
