"""Comparisons, `and`, `or`, `not` and choices of a loop, as text with types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..syntax import walk
from .letters import compared
from .operators import SYMBOLS, compare, truth, unary, whole_of, whole_text
from .optional import Optional
from .types import (
    BOOL,
    Array,
    Items,
    Letter,
    Number,
    Static,
    UnknownItemError,
    UntranslatableError,
    Value,
    join,
    literal,
)
from .writing import INDENT

MOST_TEXT = 400  # of what tells whether a number is an int: it holds expressions once more


class Conditions(Optional):
    """Expressions that decide."""

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(f"(not {self.test(node.operand)})", Number(BOOL, True, (0, 1)))
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            if value.literal is not None and not isinstance(value.literal, bool | tuple):
                return literal(-value.literal)
        return self.pointwise(lambda v: unary(node.op, v[0]), value)

    def _compare(self, node: ast.Compare) -> Value:
        if self.optional and (found := self.compared_with_none(node)) is not None:
            return found
        parts: list[Value] = []
        left = self.value(node.left)
        for position, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(right_node) if not position else self.later(right_node)
            if position + 1 < len(node.ops) and not isinstance(right_node, ast.Name | ast.Constant | ast.Attribute):
                # It is computed twice, which only costs time where nothing is called.
                if any(isinstance(n, ast.Call) for n in walk(right_node)):
                    raise UntranslatableError("a chain of comparisons with a call inside")
            if isinstance(op, ast.In | ast.NotIn) and isinstance(right.type, Array):
                return self._in_array(node)
            parts.append(self._one_comparison(op, left, right))
            left = right
        if len(parts) == 1:
            return parts[0]
        weak = all(isinstance(p.type, Number) and p.type.weak for p in parts)
        return Value(f"({' and '.join(truth(p) for p in parts)})", Number(BOOL, weak, (0, 1)))

    def _one_comparison(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Is | ast.IsNot):
            if isinstance(right.type, Static) or isinstance(left.type, Static):
                return literal((left.type == right.type) == isinstance(op, ast.Is))
            raise UntranslatableError("`is` between numbers")
        if isinstance(left.type, Letter) or isinstance(right.type, Letter):
            return compared(op, left, right)
        if isinstance(op, ast.Eq | ast.NotEq) and any(map(is_none, (left, right))):
            if any(isinstance(side.type, Number) for side in (left, right)):
                return literal(isinstance(op, ast.NotEq))
        if isinstance(left.type, Static) and isinstance(right.type, Static):
            if isinstance(op, ast.Eq | ast.NotEq):
                return literal(bool(left.type.value == right.type.value) == isinstance(op, ast.Eq))
            raise UntranslatableError("a comparison of objects")
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right.type, Items) or not isinstance(right.literal, tuple):
                raise UntranslatableError("`in` an array")
            equal = [self._equal(left, item) for item in right.literal] or ["False"]
            text = f"({' or '.join(equal)})"
            return Value(f"(not {text})" if isinstance(op, ast.NotIn) else text, Number(BOOL, True, (0, 1)))
        if isinstance(op, ast.Eq | ast.NotEq) and isinstance(left.type, Items) and isinstance(right.type, Items):
            text = self._equal(left, right)
            return Value(f"(not {text})" if isinstance(op, ast.NotEq) else text, Number(BOOL, True, (0, 1)))
        if isinstance(left.type, Items) and isinstance(right.type, Items):
            return self._in_order(op, left, right)
        return self.pointwise(lambda v: compare(SYMBOLS[type(op)], *v), left, right)

    def _in_order(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        """`a < b` of two tuples or lists: the comparison of the first items that are not equal, or of the lengths."""
        symbol = SYMBOLS[type(op)]
        if left.type.is_list != right.type.is_list:  # type: ignore[union-attr]  # tuples
            raise UntranslatableError(f"{symbol} between {left.type} and {right.type}")
        parts = [self.parts_of(each) for each in (left, right)]
        text = str(compare(symbol, *(literal(len(each)) for each in parts)).text)
        kinds: list[bool] = [True]  # whether Python gives one of its own booleans
        for a, b in reversed([*zip(*parts, strict=False)]):
            found = self._one_comparison(op, a, b)
            assert isinstance(found.type, Number)
            kinds.append(found.type.weak)
            text = f"({text} if {self._equal(a, b, inside=True)} else {found.text})"
        return Value(text, Number(BOOL, True, (0, 1)) if all(kinds) else Number(BOOL, unsure=True))

    def _equal(self, left: Value, right: Value, *, inside: bool = False) -> str:
        """Whether two numbers are equal, or two tuples. inside: of tuples, where Python takes a NaN for itself."""
        if not isinstance(left.type, Items) or not isinstance(right.type, Items):
            text = compare("==", left, right).text
            is_plain = any(isinstance(v.type, Number) and v.type.kind in "bi" for v in (left, right))
            return text if is_plain or not inside else f"unless_both({left.text}, {right.text}, {text})"
        if left.type.is_list != right.type.is_list or len(left.type.items) != len(right.type.items):
            return "False"
        parts = [self.parts_of(each) for each in (left, right)]
        equal = [self._equal(a, b, inside=True) for a, b in zip(*parts, strict=True)]
        return f"({' and '.join(equal or ['True'])})"

    def _in_array(self, node: ast.Compare) -> Value:
        """`x in a`, which is `(a == x).any()`."""
        if len(node.ops) > 1 or any(isinstance(n, ast.Call) for n in walk(node)):
            raise UntranslatableError("`in` an array, of what is computed")
        equal = ast.Compare(node.comparators[0], [ast.Eq()], [node.left])
        found = self.value(ast.copy_location(ast.Call(ast.Attribute(equal, "any", ast.Load()), [], []), node))
        text = f"(not {found.text})" if isinstance(node.ops[0], ast.NotIn) else found.text
        return Value(text, Number(BOOL, True, (0, 1)))

    def later(self, node: ast.expr) -> Value:
        """An expression that is computed on a condition: nothing of it may stand in front of the statement."""
        before = len(self.lines)
        with self._conditionally():
            value = self.value(node)
        self._none_since(before)
        return value

    @contextmanager
    def _conditionally(self) -> Iterator[None]:
        """What is computed here may not be: nobody else knows of it."""
        equal, places = self.equal, self.places
        self.equal, self.places = set(equal), dict(places)
        self.conditions += 1
        try:
            yield
        finally:
            self.conditions -= 1
            self.equal, self.places = equal, places

    def _none_since(self, before: int) -> None:
        if len(self.lines) != before:
            raise UntranslatableError("an array that is computed on a condition")

    def test(self, node: ast.expr) -> str:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            return self._all_or_any(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(not {self.test(node.operand)})"
        if text := self.truth_of_name(node):
            return text
        value = self.value(node)
        if is_none(value):
            return "False"
        return truth(value)

    def _all_or_any(self, node: ast.BoolOp) -> str:
        """The truth of `a and b`. What `b` computes in front of the statement is computed there if `a` is true:

        t = a
        if t:
            ...
            t = b
        """
        word, negated = (" and ", "") if isinstance(node.op, ast.And) else (" or ", "not ")
        first, *rest = node.values
        texts = [self.test(first)]
        decided = "False" if isinstance(node.op, ast.And) else "True"
        if texts[0] == decided:
            return decided
        for value in rest:
            before = len(self.lines)
            with self._conditionally():
                text = self.test(value)
            if len(self.lines) > before:
                if self.conditions:
                    self._none_since(before)
                made, self.lines[before:] = self.lines[before:], []
                name = self.temporary()
                self.line(f"{name} = {word.join(texts)}")
                self.line(f"if {negated}{name}:")
                self.lines += [INDENT + line for line in made]
                self.line(f"{INDENT}{name} = {text}")
                self.made_early, texts = True, []
                text = name
            texts.append(text)
        return f"({word.join(texts)})"

    def _boolop(self, node: ast.BoolOp) -> Value:
        values = [self.later(v) if k else self.value(v) for k, v in enumerate(node.values)]
        if any(not isinstance(v.type, Number) for v in values):
            raise UntranslatableError("`and` or `or` of what are no numbers")
        if any(v.type.dtype != BOOL for v in values):  # type: ignore[union-attr]  # numbers
            last = values.pop()
            for v in reversed(values):
                if "(" in v.text and any(isinstance(n, ast.Call) for n in walk(node)):
                    raise UntranslatableError("`and` or `or` of numbers that are computed")
                both = (v, last) if isinstance(node.op, ast.Or) else (last, v)
                last = self.choose(truth(v), *both)
            return last
        weak = all(v.type.weak for v in values)  # type: ignore[union-attr]  # numbers
        word = " and " if isinstance(node.op, ast.And) else " or "
        return Value(f"({word.join(v.text for v in values)})", Number(BOOL, weak, (0, 1)))

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self.test(node.test)
        if test in ("True", "False"):
            return self.value(node.body if test == "True" else node.orelse)
        before = self.noted()
        try:
            then, made = self._apart(node.body)
        except UnknownItemError:
            self.back_to(before)
            self.skipped = True  # the next round will know more, also by the type of the other
            return self.value(node.orelse)
        try:
            other, other_made = self._apart(node.orelse)
        except UnknownItemError:
            self.back_to(before)
            self.skipped = True
            return then
        if made or other_made:
            return self._chosen_apart(test, (then, made), (other, other_made))
        return self.choose(test, then, other)

    def _apart(self, node: ast.expr) -> tuple[Value, list[str]]:
        """An expression that is computed on a condition, and what it computes in front of the statement."""
        before = len(self.lines)
        with self._conditionally():
            value = self.value(node)
            if value.lazy is not None and len(self.lines) > before:
                value = self.array(value)
        made, self.lines[before:] = self.lines[before:], []
        return value, made

    def _chosen_apart(self, test: str, *branches: tuple[Value, list[str]]) -> Value:
        """`a if test else b`, of which only one computes what it does in front of the statement:

        if test:              else:
            ...                   ...
            t = a                 t = b
        """
        kinds = [value.type for value, _ in branches]
        kind = join(*kinds)
        name, self.made_early = self.temporary(), True
        whole = ""
        if isinstance(kind, Number):
            if kinds[0].dtype != kinds[1].dtype:  # type: ignore[union-attr]  # numbers
                kind = replace(kind, mixed=True)
            if kind.ints and all(whole_text(value) for value, _ in branches):
                whole = f"{name}whole"
        elif not isinstance(kind, Array):
            raise UntranslatableError(f"{kind} that is computed on a condition")
        for head, (value, made) in zip((f"if {test}:", "else:"), branches, strict=True):
            self.line(head)
            self.lines += [INDENT + line for line in made]
            self.indent += 1
            if whole:
                self.line(f"{whole} = {whole_text(value)}")
            self.line(f"{name} = {self.array(self.convert(value, kind)).text}")
            self.indent -= 1
        return Value(name, kind, whole=whole)

    def choose(self, test: str, then: Value, other: Value) -> Value:
        kind = join(then.type, other.type)
        if isinstance(kind, Number) and then.type.dtype != other.type.dtype:  # type: ignore[union-attr]  # numbers
            kind = replace(kind, mixed=True)
        whole = ""
        if isinstance(kind, Number) and kind.ints:
            whole = self.told(whole_of([whole_text(then), whole_text(other)], f"({{0}} if {test} else {{1}})"))
        then, other = self.convert(then, kind), self.convert(other, kind)
        return Value(f"({then.text} if {test} else {other.text})", kind, whole=whole)

    def told(self, text: str) -> str:
        """`text` as what tells of a number whether it is an int, if it may be computed beside the number."""
        calls = any(f"{function.name}(" in text for function in self.module.functions.values())
        return "" if calls or len(text) > MOST_TEXT or text == "False" else text


def is_none(value: Value) -> bool:
    return isinstance(value.type, Static) and value.type.value is None
