"""Blocks: kernel source while it is written, as nested bodies that know their loop axes and what they have computed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Block:
    """A body of source lines. axes: the loop indices bound here or further out; a branch may not lend its values to
    the code around it, because its reads are only valid under its condition."""

    parent: Block | None = None
    axes: frozenset[int] = frozenset()
    is_branch: bool = False
    is_section: bool = False  # lines of its parent's own level, kept together to be filled in later
    items: list[tuple[str, tuple[int, ...]] | Block] = field(default_factory=list)
    memo: dict[tuple, str] = field(default_factory=dict)
    open_loop: int | None = None  # where in `items` the loop that is being written begins
    open_choice: int | None = None  # and the if-else

    def line(self, text: str, eqns: tuple[int, ...] = ()) -> None:
        """Append a line, after any loop in this block."""
        self.open_loop = None
        self.items.append((text, eqns))

    def loop(self, header: str, *axes: int) -> Block:
        """Append a loop. Until something else is appended, values that its body needs are computed in front of it."""
        self.line(header)
        self.open_loop = len(self.items) - 1
        body = Block(self, self.axes | frozenset(axes))
        self.items.append(body)
        return body

    def section(self) -> Block:
        """Reserve a place for lines that are only known when what follows has been written."""
        self.line("")
        body = Block(self, self.axes, is_section=True)
        self.items[-1] = body
        return body

    def close_loop(self) -> None:
        """Values that are asked for from now on come after the loop, whose results they may need."""
        self.open_loop = None

    def value_line(self, text: str, eqns: tuple[int, ...] = ()) -> None:
        """Add a line that computes a value, in front of the loop or the if-else that is being written."""
        at = self.open_loop if self.open_choice is None else self.open_choice
        self._insert(at, (text, eqns))
        if self.open_choice is not None:
            self.open_choice += 1

    def choice(self, condition: str) -> tuple[Block, Block]:
        """Add an if-else that computes a value: its two sides, to be written before `close_choice`."""
        assert self.open_choice is None, "the sides of an if-else are blocks of their own"
        then, otherwise = (Block(self, self.axes, is_branch=True) for _ in range(2))
        at = len(self.items) if self.open_loop is None else self.open_loop
        self._insert(self.open_loop, (f"if {condition}:", ()), then, ("else:", ()), otherwise)
        self.open_choice = at
        return then, otherwise

    def close_choice(self) -> None:
        """Values that are asked for from now on come after the if-else."""
        self.open_choice = None

    def _insert(self, at: int | None, *items: tuple[str, tuple[int, ...]] | Block) -> None:
        if at is None:
            self.items.extend(items)
            return
        self.items[at:at] = items
        if self.open_loop is not None:
            self.open_loop += len(items)

    def home(self, axes: frozenset[int], *, past_branches: bool = False) -> Block:
        """The outermost block in which a value that depends on `axes` can be computed, seen from here."""
        block = self
        while block.parent is not None and axes <= block.parent.axes and (past_branches or not block.is_branch):
            block = block.parent
        return block

    def known(self, key: tuple) -> str | None:
        block: Block | None = self
        while block is not None:
            if key in block.memo:
                return block.memo[key]
            block = block.parent
        return None

    @property
    def is_empty(self) -> bool:
        return all(isinstance(item, Block) and item.is_empty for item in self.items)

    def render(self, indent: int = 0) -> list[tuple[str, tuple[int, ...]]]:
        """The lines with their indentation. An empty body is `pass`."""
        pad = "    " * indent
        lines: list[tuple[str, tuple[int, ...]]] = []
        for item in self.items:
            if isinstance(item, Block) and item.is_section:
                lines.extend(item.render(indent))
            elif isinstance(item, Block):
                lines.extend(item.render(indent + 1) or [(pad + "    pass", ())])
            else:
                lines.append((pad + item[0], item[1]))
        return lines
