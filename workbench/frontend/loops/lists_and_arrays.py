"""Lists that arrays are made into, and arrays that are made of lists."""

from __future__ import annotations

import numpy as np

from .arrays_in_lists import held_arrays
from .blanks import blank
from .lists import Lists
from .operators import made_of
from .types import (
    Array,
    Growing,
    Items,
    Number,
    UnknownItemError,
    UntranslatableError,
    Value,
    check_dtype_of,
)


class ListsAndArrays(Lists):
    """`a.tolist()`, `np.array(items)`."""

    def list_of_array(self, value: Value, *, python: bool) -> Value:
        """`list(a)`, of NumPy's numbers, or `a.tolist()`, of Python's."""
        item = self._item_of(value, python=python)
        self.made_early = True
        name = self.temporary()
        self.types[name] = Growing(item)
        self.line(f"{name} = no_items({blank(item)})")
        self._append_all(name, value, item)
        return Value(name, self.types[name], source=(name, 0))

    def array_of_list(self, base: Value, dtype: np.dtype | None) -> Value:
        """`np.array(list)`, of numbers, of tuples of as many numbers, or of arrays of one shape."""
        base = self.listed(base)
        if held_arrays(base) is not None:
            return self.stacked_list(base, dtype)
        kind = base.type
        assert isinstance(kind, Growing)
        item = kind.item
        if item is None:
            raise UnknownItemError("an array of an empty list")
        if kind.is_queue or base.fresh is not None:
            raise UntranslatableError("np.array() of a queue")
        sizes = [f"len({base.text})"]
        is_nested = isinstance(item, Growing)
        item = item.item if isinstance(item, Growing) else item
        if item is None:
            raise UnknownItemError("an array of empty lists")
        parts = item.items if isinstance(item, Items) else (item,)
        if not parts or any(not isinstance(t, Number) for t in parts):
            raise UntranslatableError(f"np.array() of {kind}")
        if dtype is None:
            check_dtype_of(parts)  # type: ignore[arg-type]  # numbers
        found = np.result_type(*(t.dtype for t in parts))  # type: ignore[union-attr]  # numbers
        if dtype is None or is_nested or isinstance(item, Items):
            self.line(f"nonzero({sizes[0]})")  # NumPy's array of nothing is of floats, and has one axis
        if is_nested:
            sizes.append(self.early(f"len({base.text}[0])"))
            self.line(f"all_of_length({base.text}, {sizes[1]})")
            if dtype is None or isinstance(item, Items):
                self.line(f"nonzero({sizes[1]})")
        dtype = found if dtype is None else dtype
        if dtype.kind not in "biufc":
            raise UntranslatableError(f"np.array() of {found} as {dtype}")
        n_axes = len(sizes)
        name = self.empty([*sizes, *([str(len(parts))] if isinstance(item, Items) else [])], dtype)

        def body(i: list[str]) -> None:
            each = f"{base.text}[{']['.join(i)}]"
            if isinstance(item, Items):
                for k, t in enumerate(parts):
                    self.put(name, [*i, str(k)], made_of(Value(f"{each}[{k}]", t), dtype))
            else:
                self.put(name, i, made_of(Value(each, item), dtype))  # type: ignore[arg-type]  # a number

        self.nest(sizes, body)
        return Value(name, Array(dtype, (None,) * n_axes + ((len(parts),) if isinstance(item, Items) else ())))
