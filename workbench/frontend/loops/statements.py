"""Statements of a loop, or of a function that it calls, as numba source.

The types of variables are found by translating again and again until they settle; the text of the last time counts.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from ..jumps import jumps
from ..syntax import walk
from .arrays import broadcast, tuple_of
from .blanks import blank_of
from .expressions import is_set, is_whole, local
from .names import is_none
from .operators import SYMBOLS, index, stored, whole_text
from .optional import blank_lines, check_kind, is_get, may_be_none, may_give_none
from .own_lists import OwnLists
from .picking import Pick
from .statement_parts import expressions_of, looked_at
from .table_texts import holds_table
from .types import (
    F64,
    I64,
    SMALL,
    Array,
    Box,
    Growing,
    Items,
    Number,
    Static,
    Table,
    Type,
    UnknownItemError,
    UntranslatableError,
    Value,
    join,
    weak_int,
    widen,
)
from .writing import INDENT

MAX_ROUNDS = 12


class Translator(OwnLists):
    """Statements, line by line, into `lines`."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.results: list[Type] | None = None  # of a function's return statements
        self.result: Type | None = None
        self.flagged: frozenset[str] = frozenset()  # variables that note whether they were set
        self.changing: frozenset[str] = frozenset()  # those of them that note whether their last type is this one
        self.assigned: dict[str, set[np.dtype]] = {}  # the dtypes that a variable is given
        self.pythons: dict[str, set[np.dtype]] = {}  # the dtypes of those of them that may be Python's numbers
        self.doubtful: dict[str, set[bool]] = {}  # whether it is told of each of them that may have another dtype
        self.tagged: frozenset[str] = frozenset()  # variables that note whether they hold a number of Python's
        self.handed_back: tuple[str, ...] = ()  # variables of the loop around, which a function sets
        self.own_name, self.calls_itself, self.of_numba = "", False, False  # of a function
        self.own_function: FunctionType | None = None

    def settle(self, body: Callable[[], None]) -> None:
        """Run `body`, which writes the lines, until the types of the variables stay."""
        for attempt in range(MAX_ROUNDS):
            before, result, n_uncertain = dict(self.types), self.result, len(self.never_certain)
            self.lines, self.n_temporaries, self.results = [], 0, []
            self.fresh = set()
            self.boxes = {}
            self.numpys = self.certain_at_first()
            self.skipped = False
            body()
            for other in self.results:
                self.result = other if self.result is None else join(self.result, other)
            if before == self.types and result == self.result and n_uncertain == len(self.never_certain):
                if self.take_for_numbers():
                    continue
                if self.skipped:
                    raise UntranslatableError("a list, or a variable that is None, of which nothing else is known")
                return
            if attempt > 1:
                for name, kind in before.items():
                    self.types[name] = widen(kind, self.types[name])
                if result is not None and self.result is not None:
                    self.result = widen(result, self.result)
        raise UntranslatableError("variables whose types do not settle")

    def block(self, stmts: list[ast.stmt]) -> None:
        self.indent += 1
        before = len(self.lines)
        for stmt in stmts:
            self.statement(stmt)
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def statement(self, stmt: ast.stmt) -> None:
        method = getattr(self, f"_on_{type(stmt).__name__.lower()}", None)
        if method is None:
            raise UntranslatableError(f"the statement `{ast.unparse(stmt).splitlines()[0][:60]}`")
        if self.growing:
            self.check_order(expressions_of(stmt))
        indent = self.indent
        try:
            self._statement(method, stmt)
        except UntranslatableError as error:
            if not self.skipped and not isinstance(error, UnknownItemError):
                raise
            self.skipped, self.indent = True, indent  # the next round will know more

    def _statement(self, method: Callable[[Any], None], stmt: ast.stmt) -> None:
        outside = self.made_early, self.calls_writer, self.set_by_call, self.writer_calls, self.draws_early
        self.made_early, self.calls_writer, self.equal, self.places = False, False, set(), {}
        self.set_by_call, self.writer_calls, self.draws_early, self.now = set(), [], False, stmt
        before, self.changed_by = self.changed_by, Counter()
        method(stmt)
        self.check_changes(stmt)
        self.changed_by = before
        if self.made_early and self.calls_writer and not self._calls_writer_alone(stmt):
            raise UntranslatableError("a function that writes into arrays, among other operations")
        if self.set_by_call & looked_at(stmt):
            raise UntranslatableError("a function that sets what the same statement reads")
        self.made_early, self.calls_writer, self.set_by_call, self.writer_calls, self.draws_early = outside
        self.equal, self.places = set(), {}

    # ---- assignments ----

    def bind(self, name: str, value: Value) -> None:
        """`name = value`."""
        if isinstance(value.type, Static):
            if value.type.value is None and name in self.optional:
                self._bind_none(name)
                return
            raise UntranslatableError(f"`{name}`, which is no number or array")
        if name in self.optional:
            check_kind(name, value.type)
        if isinstance(value.type, Table):
            self.bind_table(name, value)
            if name in self.flagged:
                self.line(f"{is_set(name)} = True")
            return
        if name in self.growing and not isinstance(value.type, Array) or isinstance(value.type, Growing):
            self.bind_list(name, value)
            if name in self.flagged:
                self.line(f"{is_set(name)} = True")
            return
        value = self.lasting(value)
        if name not in self.bound or holds_table(value.type):
            raise UntranslatableError(f"the global `{name}`, or a dictionary in a tuple")
        box = self.kept_box(name, value)
        if isinstance(value.type, Number):
            self.assigned.setdefault(name, set()).add(value.type.dtype)
            if value.type.mixed:
                self.assigned[name] |= {I64, F64}
            if value.type.python:
                self.pythons.setdefault(name, set()).add(value.type.dtype)
            if value.type.ints or value.type.mixed:
                self.doubtful.setdefault(name, set()).add(bool(value.whole))
        known = self.types.get(name)
        kind = value.type if known is None else join(known, value.type)
        self.types[name] = kind
        self.note_kind(name, value)
        flags: list[str] = []
        if isinstance(kind, Number) and isinstance(value.type, Number):
            whole = whole_text(value) or "False"
            if " " in whole and (kind.ints or name in self.changing):
                whole = self.early_flag(whole)
            if kind.ints:
                flags.append(f"{is_whole(name)} = {whole}")
            if name in self.flagged:
                has_type = "True"
                if name in self.changing and value.type.dtype != kind.dtype:
                    has_type = "False"
                elif name in self.changing and whole != "False" and kind.kind == "f":
                    has_type = f"not {whole}"
                flags.append(f"{is_set(name)} = {has_type}")
        elif name in self.flagged:
            flags.append(f"{is_set(name)} = True")
        self.line(f"{local(name)} = {self.convert(value, kind).text}")
        if box is not None:
            self.boxes[name] = box
        for flag in flags:
            self.line(flag)
        if name in self.tagged:
            self.line(f"{name}__python = {self._tag(value)}")
        if name in self.optional:
            self.line(f"{is_none(name)} = False")

    def _bind_none(self, name: str) -> None:
        for line in blank_lines(name, self.types.get(name)):
            self.line(line)
        if name in self.flagged:
            self.line(f"{is_set(name)} = True")
        self.numpys.pop(name, None)

    def kept_box(self, name: str, value: Value) -> Box | None:
        """Where the elements of a part of an array lie in it, if that is known for as long as a name has the part. To
        numba a part of several rows is an array whose elements may lie anywhere, and that is not read in vectors."""
        box = value.box
        if box is None or name not in self.bound_once or name in self.given:
            return None
        slices = [part for part in box.parts if part is not None and len(part) == 2]
        if all(part == ("", "") for part in slices[1:]) or box.base in map(local, self.rebound):
            return None

        def kept(text: str) -> str:
            return text if not text or text.isdigit() else self.early(text)

        return Box(box.base, tuple(None if part is None else tuple(map(kept, part)) for part in box.parts))

    def early_flag(self, text: str) -> str:
        """What tells of a value, computed before the value itself, which it may be about."""
        name = self.temporary()
        self.line(f"{name} = {text}")
        return name

    def flags_at_first(self, given: Mapping[str, Type]) -> list[str]:
        """What sets the flags of variables that may be ints, for what they are given."""
        names = sorted(n for n, kind in self.types.items() if isinstance(kind, Number) and kind.ints)
        kinds = {n: given.get(n) for n in names}
        return [f"{is_whole(n)} = {isinstance(k, Number) and k.weak and k.kind == 'i'}" for n, k in kinds.items()]

    def _tag(self, value: Value) -> str:
        """Whether a number is one of Python's."""
        kind = value.type
        assert isinstance(kind, Number)
        if not kind.unsure:
            return str(kind.weak)
        if value.text in map(local, self.tagged):
            return f"{value.text}__python"
        if kind.mixed or kind.kind not in "fc":
            raise UntranslatableError("a number that may be Python's or NumPy's")
        return "False"  # as of traced programs: NumPy's is one of Python's, too

    def _on_assign(self, stmt: ast.Assign) -> None:
        if self.optional and len(stmt.targets) == 1 and self._assigned_as_optional(stmt.targets[0], stmt.value):
            return
        value = self.value(stmt.value)
        is_list = isinstance(value.type, Items) and value.type.is_list
        if is_list and any(isinstance(n, ast.Name) for n in (stmt.value, *stmt.targets[1:])):
            raise UntranslatableError("one list under two names")
        if len(stmt.targets) > 1 and not isinstance(value.type, Static):
            if is_list or isinstance(value.type, Growing | Table):
                raise UntranslatableError("one list for several targets")
            value = self.kept(value)
        for target in stmt.targets:
            self.assign(target, value)

    def _assigned_as_optional(self, target: ast.expr, value: ast.expr) -> bool:
        """`a = b` and `a = b if test else None`, where `b` may be None, too."""
        if not isinstance(target, ast.Name) or target.id not in self.optional:
            return False
        if flag := self.none_flag(value):
            kept = self.early(flag)  # which it is before `a` is anything else
            self.bind(target.id, self.number_under(value))  # type: ignore[arg-type]  # a name
            self.line(f"{is_none(target.id)} = {kept}")
            return True
        if is_get(value) and (got := self.got_or_none(value)) is not None:  # type: ignore[arg-type]  # a call
            self.bind(target.id, got)
            self.line(f"{is_none(target.id)} = {got.none}")
            return True
        if isinstance(value, ast.Call):
            before, self.takes_none = self.takes_none, value
            found = self.value(value)
            self.takes_none = before
            if found.none and not may_give_none(value, self.optional):  # a function that is called as one of Python's
                raise UntranslatableError(f"`{target.id}`, which a function makes None")
            self.bind(target.id, found)
            if found.none:
                self.line(f"{is_none(target.id)} = {found.none}")
            return True
        if not isinstance(value, ast.IfExp):
            return False
        if not any(
            self.none_flag(side) or isinstance(side, ast.Constant | ast.IfExp) for side in (value.body, value.orelse)
        ):
            return False
        self._on_if(_branches_of(value, lambda side: ast.Assign([target], side)))
        return True

    def _on_annassign(self, stmt: ast.AnnAssign) -> None:
        if stmt.value is not None:
            self.assign(stmt.target, self.value(stmt.value))

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self.assign_each(targets, value)
            case ast.Subscript():
                flat = self.flat_base(target.value)
                if flat is not None:
                    self.store(flat, self.flat_index(flat, target.slice), None, value)
                    return
                base = self.value(target.value)
                if base.lazy is not None:
                    raise UntranslatableError("what is computed, written to")
                if isinstance(base.type, Growing):
                    if isinstance(target.slice, ast.Slice):
                        raise UntranslatableError("a slice of a list that is written to")
                    self.store_item(base, self.value(target.slice), value)
                    return
                if isinstance(base.type, Table):
                    self.store_entry(base, self.value(target.slice), value)
                    return
                if not isinstance(base.type, Array):
                    raise UntranslatableError(f"`{ast.unparse(target)[:60]} = ...`")
                place = self.spread(target.slice)
                if isinstance(value.type, Number) and self.is_mask(base, place):
                    self.store_masked(base, place, lambda old: value)
                    return
                pick = self.pick(base, place, written=True)
                if pick is not None:
                    self.store_picked(pick, value)
                    return
                text, shape, parts = self.index(base, place)
                self.store(base, text, shape, value, parts)
            case _:
                raise UntranslatableError(f"`{ast.unparse(target)[:60]} = ...`")

    def store(
        self, base: Value, text: str, shape: tuple[int | None, ...] | None, value: Value,
        parts: tuple[tuple[str, ...] | None, ...] | None = None,
    ) -> None:  # fmt: skip
        """`base[text] = value`; without text, into the whole array. parts: of the index, if it has these alone."""
        kind = base.type
        assert isinstance(kind, Array)
        self.module.written |= kind.origins
        if isinstance(value.type, Items):
            if shape is None or len(shape) != 1 or not isinstance(value.literal, tuple):
                raise UntranslatableError("a tuple written into an array")
            row = self.kept(Value(f"{base.text}[{text}]", Array(kind.dtype, shape, kind.origins)))
            self.line(f"same_length({row.text}.shape[0], {len(value.literal)})")
            for k, item in enumerate(value.literal):
                self.store(row, str(k), None, item)
            return
        if isinstance(value.type, Growing) and shape is not None:
            value = self.array_of_list(value, kind.dtype)
        if isinstance(value.type, Array):
            if shape is None:
                raise UntranslatableError("an array written into an element")
            if not text:
                self.store_array(base, value)
            else:  # element by element: numba's own assignment of arrays takes seconds to compile
                self.store_array(self.element(base, text, shape, parts), value)
            return
        if not isinstance(value.type, Number):
            raise UntranslatableError("an object written into an array")
        if shape is None:
            self.facts.elements = True
            self.line(f"{base.text}[{text}] = {stored(value, kind.dtype)}")
            return
        self.fill(stored(value, kind.dtype), self.element(base, text, shape, parts) if text else base)

    def _on_augassign(self, stmt: ast.AugAssign) -> None:
        target = stmt.target
        if isinstance(target, ast.Name):
            old = self.value(target)
            if isinstance(old.type, Growing) and isinstance(stmt.op, ast.Add):
                self.extend(old, self.value(stmt.value))
                return
            if not isinstance(old.type, Array):
                self.bind(target.id, self.operate(stmt.op, old, self.value(stmt.value)))
                return
            self.update(old, "", old.type.shape, stmt.op, self.value(stmt.value), None)
            return
        if not isinstance(target, ast.Subscript):
            raise UntranslatableError(f"`{ast.unparse(stmt)[:60]}`")
        flat = self.flat_base(target.value)
        if flat is not None:
            self.update(flat, self.flat_index(flat, target.slice), None, stmt.op, self.value(stmt.value), None)
            return
        base = self.value(target.value)
        if isinstance(base.type, Table):
            self.update_entry(base, self.value(target.slice), stmt.op, stmt.value)
            return
        if base.lazy is not None:
            raise UntranslatableError("what is computed, written to")
        if isinstance(base.type, Growing) and not isinstance(target.slice, ast.Slice):
            place = self.kept(self.value(target.slice))
            old = self.element_of(base, index(place))
            if isinstance(old.type, Number):
                self.store_item(base, place, self.operate(stmt.op, old, self.value(stmt.value)))
                return
        if not isinstance(base.type, Array):
            raise UntranslatableError(f"`{ast.unparse(stmt)[:60]}`")
        target_slice = self.spread(target.slice)
        if self._is_masked_update(base, target_slice, stmt):
            self.store_masked(base, target_slice, lambda old: self._updated(old, stmt.op, self.value(stmt.value)))
            return
        pick = self.pick(base, target_slice, written=True)
        if pick is not None:
            self._update_picked(pick, stmt.op, self.value(stmt.value))
            return
        text, shape, parts = self.index(base, target_slice)
        if shape is None:
            nodes = target_slice.elts if isinstance(target_slice, ast.Tuple) else [target_slice]
            if not all(_is_simple(n) for n in nodes):  # computed once
                name = self.temporary()
                self.line(f"{name} = ({text},)")
                text = name
        self.update(base, text, shape, stmt.op, self.value(stmt.value), parts)

    def _is_masked_update(self, base: Value, node: ast.expr, stmt: ast.AugAssign) -> bool:
        """`base[mask] op= number` of floats, by operations that elements which the mask does not pick bear."""
        kind = base.type
        if (
            not isinstance(kind, Array)
            or kind.dtype.kind != "f"
            or not isinstance(stmt.op, ast.Add | ast.Sub | ast.Mult)
        ):
            return False
        return self.is_mask(base, node) and isinstance(self._type_of(stmt.value), Number)

    def _update_picked(self, pick: Pick, op: ast.operator, value: Value) -> None:
        """`base[indices] op= value`: elements that are picked twice are updated once, as NumPy does."""
        self.store_picked(pick, self._updated(self.picked(pick), op, value))

    def _updated(self, old: Value, op: ast.operator, value: Value) -> Value:
        kind = old.type
        assert isinstance(kind, Array)
        if SYMBOLS[type(op)] == "@":
            raise UntranslatableError("@=")
        new = self.operate(op, old, value)
        assert isinstance(new.type, Array)
        if new.type.dtype != kind.dtype and not np.can_cast(new.type.dtype, kind.dtype, "same_kind"):
            raise UntranslatableError(f"an update of {kind.dtype.name} by {new.type.dtype.name}")
        if isinstance(value.type, Array) and len(broadcast(kind.shape, value.type.shape)) != kind.ndim:
            raise UntranslatableError("an update by an array of more axes")
        return new

    def update(
        self, base: Value, text: str, shape: tuple[int | None, ...] | None, op: ast.operator, value: Value,
        parts: tuple[tuple[str, ...] | None, ...] | None,
    ) -> None:  # fmt: skip
        """`base[text] op= value`."""
        kind = base.type
        assert isinstance(kind, Array)
        old = self.element(base, text, shape, parts) if text else base
        if SYMBOLS[type(op)] == "@":
            raise UntranslatableError("@=")
        new = self.operate(op, old, value)
        if shape is not None:
            dtype = new.type.dtype  # type: ignore[union-attr]  # an array
            if dtype != kind.dtype and not np.can_cast(dtype, kind.dtype, "same_kind"):
                raise UntranslatableError(f"an update of {kind.dtype.name} by {dtype.name}")
            if isinstance(value.type, Array) and len(broadcast(shape, value.type.shape)) != len(shape):
                raise UntranslatableError("an update by an array of more axes")
        self.store(base, text, shape, new, parts)

    # ---- control flow ----

    def _on_if(self, stmt: ast.If) -> None:
        test = self._test_above(stmt.test, [*stmt.body, *stmt.orelse])
        if test in ("True", "False"):
            for each in stmt.body if test == "True" else stmt.orelse:
                self.statement(each)
            return
        self.line(f"if {test}:")

        def otherwise() -> None:
            if stmt.orelse:
                self.line("else:")
                self.block(stmt.orelse)

        self.after_branches([lambda: self.block(stmt.body), otherwise])

    def _test_above(self, test: ast.expr, stmts: list[ast.stmt]) -> str:
        """The test of a branch or loop. What it asks may only become known by the statements below."""
        try:
            return self.test(test)
        except UntranslatableError as error:
            if not self.skipped and not isinstance(error, UnknownItemError):
                raise
            self.skipped = True
            for each in stmts:
                self.statement(each)
            raise

    def _on_while(self, stmt: ast.While) -> None:
        if stmt.orelse:
            raise UntranslatableError("`else` of a loop")
        self.after_turns(stmt, lambda: self._while(stmt))

    def _while(self, stmt: ast.While) -> None:
        before = len(self.lines)
        test = self._test_above(stmt.test, stmt.body)
        if len(self.lines) == before:
            self.line(f"while {test}:")
            self.block(stmt.body)
            return
        made = self.lines[before:]  # which each iteration computes again
        self.lines[before:] = [INDENT * self.indent + "while True:", *(INDENT + line for line in made)]
        self.indent += 1
        self.line(f"if not {test}:")
        self.line(f"{INDENT}break")
        self.indent -= 1
        self.block(stmt.body)

    def _on_for(self, stmt: ast.For) -> None:
        if stmt.orelse:
            raise UntranslatableError("`else` of a loop")
        self.loop_body = stmt.body
        self.after_turns(stmt, lambda: self._for(stmt))

    def _for(self, stmt: ast.For) -> None:
        if not self._over_indices(stmt):
            self.iterate(stmt.target, stmt.iter, lambda: [self.statement(s) for s in stmt.body])

    def _over_indices(self, stmt: ast.For) -> bool:
        """`for i, j in np.ndindex(a.shape)`, `for (i, j), x in np.ndenumerate(a)`: a nest of loops, if it is one."""
        node = stmt.iter
        if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Name | ast.Attribute):
            return False
        if getattr(node.func, "id", getattr(node.func, "attr", "")) not in ("ndindex", "ndenumerate"):
            return False
        function = self.value(node.func).type
        if not isinstance(function, Static) or function.value not in (np.ndindex, np.ndenumerate):
            return False
        leaving = any(isinstance(n, ast.Break | ast.Return) for each in stmt.body for n in walk(each))
        if leaving and jumps(stmt.body, True):
            raise UntranslatableError("`break` out of a loop over the indices of an array")
        args = [self.value(a) for a in self.one_by_one(node.args)]
        if function.value is np.ndenumerate:
            kind = args[0].type if len(args) == 1 else None
            if not isinstance(kind, Array) or not kind.ndim:
                raise UntranslatableError("np.ndenumerate() of this")
            base = self.kept(self.named(args[0]))
            sizes = [f"{base.text}.shape[{k}]" for k in range(kind.ndim)]
        else:
            base = None
            lengths = args
            if len(args) == 1 and isinstance(args[0].type, Items):
                if not isinstance(args[0].literal, tuple):
                    raise UntranslatableError("a shape that is not written out")
                lengths = list(args[0].literal)
            sizes = [self.early(f"length({index(n)})") for n in lengths]

        def body(names: list[str]) -> None:
            place = tuple_of([Value(name, weak_int(0, SMALL)) for name in names])
            item = None if base is None else self.element(base, ", ".join(names), None)
            self.assign(stmt.target, place if item is None else tuple_of([place, item]))
            for each in stmt.body:
                self.statement(each)

        self.nest(sizes, body)
        return True

    def _on_delete(self, stmt: ast.Delete) -> None:
        for target in stmt.targets:
            self.delete_item(target)

    def _on_break(self, stmt: ast.Break | ast.Continue | ast.Pass) -> None:
        self.line(ast.unparse(stmt))

    _on_continue = _on_pass = _on_break

    def _on_assert(self, stmt: ast.Assert) -> None:
        self.line(f"if not {self.test(stmt.test)}:")
        self.line(f"{INDENT}raise AssertionError()")

    def _on_raise(self, stmt: ast.Raise) -> None:
        self.line("raise RuntimeError()")

    def _on_expr(self, stmt: ast.Expr) -> None:
        node = stmt.value
        if isinstance(node, ast.Constant):
            return
        if isinstance(node, ast.Call) and self._writes(node):
            return
        if isinstance(node, ast.Call):
            value = self.value(node)
            if not isinstance(value.type, Static):
                self.line(f"{self.temporary()} = {value.text}")
                return
            if value.text:  # a function without a result
                self.line(value.text)
                return
        raise UntranslatableError(f"the statement `{ast.unparse(stmt)[:60]}`")

    def _on_return(self, stmt: ast.Return) -> None:
        if self.results is None or self.parameter is not None:
            raise UntranslatableError("`return` in a loop")
        if stmt.value is None or isinstance(stmt.value, ast.Constant) and stmt.value.value is None:
            if self.gives_none:
                self.line("pass" if self.result is None else f"return ({blank_of(self.result, True)}, True)")
                return
            self.results.append(Static(None))
            self.line(f"return {self._with_handed_back()}".rstrip())
            return
        if self.gives_none and isinstance(stmt.value, ast.IfExp) and may_be_none(stmt.value, self.optional):
            self._on_if(_branches_of(stmt.value, ast.Return))
            return
        flag = self.none_flag(stmt.value) if self.gives_none else ""
        value = self.lasting(self.number_under(stmt.value) if flag else self.value(stmt.value))  # type: ignore[arg-type]  # a name
        if isinstance(value.type, Static) or holds_table(value.type):
            raise UntranslatableError("a function that returns an object")
        kind = value.type
        self.note_given(value)
        self.results.append(kind)
        if self.result is not None:
            kind = join(self.result, kind)
        if self.gives_none:
            check_kind("the result", kind)
            self.line(f"return ({self.convert(value, kind).text}, {flag or False})")
            return
        self.line(f"return {self._with_handed_back(self.convert(value, kind).text)}")

    def _with_handed_back(self, *texts: str) -> str:
        """What a function gives, with the variables of the loop that it sets."""
        if not self.handed_back:
            return "".join(texts)
        return f"({''.join(f'{each}, ' for each in (*texts, *map(local, self.handed_back)))})"

    def _on_nonlocal(self, stmt: ast.Nonlocal) -> None:
        if not self.handed_back:
            raise UntranslatableError("`nonlocal` in a loop")


def _branches_of(value: ast.IfExp, made: Callable[[ast.expr], ast.stmt]) -> ast.If:
    """The statements that are `made` of either side, as branches."""
    then, other = (ast.copy_location(made(side), side) for side in (value.body, value.orelse))
    return ast.copy_location(ast.If(value.test, [then], [other]), value)


def _is_simple(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Name | ast.Constant)
        or isinstance(node, ast.UnaryOp)
        and _is_simple(node.operand)
        or (isinstance(node, ast.BinOp) and _is_simple(node.left) and _is_simple(node.right))
    )
