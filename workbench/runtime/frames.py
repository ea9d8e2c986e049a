"""The names that statements of a function see where they run on their own: its variables, then its globals as they are
now."""

from __future__ import annotations

from typing import Any


class Frame(dict):
    """A function's variables. What is no variable of the function is looked up in `globals_`, and never kept.

    locals_: all names of variables, also of those that hold nothing yet: no global hides behind them.
    """

    def __init__(self, globals_: dict[str, Any], locals_: frozenset[str]):
        super().__init__()
        self.globals_ = globals_
        self.locals_ = locals_

    def __missing__(self, name: str) -> Any:
        if name in self.locals_:
            raise KeyError(name)
        return self.globals_[name]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name not in self.locals_ and name in self.globals_

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default
