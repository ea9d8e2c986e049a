"""Origins: where in the user's code an equation came from.

Every equation has one, also after every pass: what replaces equations takes over their origins with `merge`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source: lines count from 1, columns from 0 in characters, the end is exclusive."""

    filename: str
    line: int
    col: int
    end_line: int
    end_col: int
    function: str = "<module>"


@dataclass(frozen=True, slots=True)
class Scope:
    """One entered `jit_scope`. `compile_ops` is a bool or a predicate on a node view (see `frontend.scopes`)."""

    name: str
    compile_ops: object = True
    separate_compiled_gradients: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an equation came from.

    spans: the user's frames, innermost first; op: the operation as NumPy spells it (`matmul`);
    scopes: the scopes entered when it was traced, outermost first; name: the user's variable that holds the
    result, or ""; also: spans of other equations that were merged into this one.
    """

    spans: tuple[Span, ...] = ()
    op: str = ""
    scopes: tuple[Scope, ...] = ()
    name: str = ""
    also: tuple[Span, ...] = ()

    @property
    def span(self) -> Span | None:
        """The user's innermost sub-expression."""
        return self.spans[0] if self.spans else None

    def merge(self, *others: Origin) -> Origin:
        """This origin, which also answers for `others`."""
        also = dict.fromkeys(self.also)
        for other in others:
            also.update(dict.fromkeys((*other.spans[:1], *other.also)))
        if self.span is not None:
            also.pop(self.span, None)
        name = self.name or next((o.name for o in others if o.name), "")
        return replace(self, also=tuple(also), name=name)


NO_ORIGIN = Origin()
