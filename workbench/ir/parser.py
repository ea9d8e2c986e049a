"""Text to programs: reads what `printer` writes, and JAX's own text where it uses primitives that we have.

`parse_jaxpr(print_jaxpr(p))` equals `p` in the sense of `equality.jaxprs_equal`. The text does not tell weak types,
origins, or the values of constvars: types come back strong, origins empty, and constvars uninstantiated
(`constvars` without `consts`). Primitives are looked up in the registry, so `workbench.primitives` must be imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ParseError
from .avals import DTYPES_BY_SHORT_NAME, Aval
from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var
from .primitive import REGISTRY, Primitive
from .shown_params import DTYPE_NAMES, NAME_KEY, restored_params

_REAL = r"(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf|nan)"
_TOKENS = re.compile(
    rf"""(?P<space>[ \t\r]+|\#[^\n]*) | (?P<newline>\n)
    | (?P<type>:[A-Za-z]+\d*\[[\d,\ ]*\])
    | (?P<number>-?\d[\d.]*(?:e[-+]?\d+)?j?(?!\w) | -(?:inf|nan)j?\b | \(-?{_REAL}[-+]{_REAL}j\))
    | (?P<string>'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>[\]\[{{}}(),;=.:<>] | \S)""",
    re.VERBOSE,
)
_NAME_VALUE = re.compile(r"[^\s\[\](){}'\",=;]+")
_SHARED_NAME = re.compile(r"\S+")
_WORD_VALUES: dict[str, Any] = {
    "True": True, "False": False, "None": None, "nan": float("nan"), "inf": float("inf"), "Ellipsis": Ellipsis,
    "nanj": complex(0, float("nan")), "infj": complex(0, float("inf")),
}  # fmt: skip
_LITERAL_WORDS = frozenset({"True", "False", "nan", "inf", "nanj", "infj"})
_ALIASES = {"jit": "pjit"}  # JAX's name since 0.7


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    first_on_line: bool


class _Scope:
    """The variables of one program by name; those called `_` in the order in which they are bound."""

    def __init__(self) -> None:
        self.by_name: dict[str, Var] = {}
        self.dropped: list[Var] = []
        self.returned: list[Var] = []  # of the dropped, those that were read after all

    def bind(self, name: str, var: Var) -> None:
        if name == "_":
            self.dropped.append(var)
        else:
            self.by_name[name] = var


def parse_jaxpr(text: str, *, hints: bool = False) -> Jaxpr:
    """The program that `text` shows. With `hints`, variables remember their printed names.

    Raises ParseError with the line, the column and what was expected there.
    """
    return _Parser(text, hints).program()


class _Parser:
    """Recursive descent over tokens. New lines matter in one place only: where the operands of an equation end."""

    def __init__(self, text: str, hints: bool):
        self.text = text
        self.hints = hints
        self.tokens = list(self.scan(0))
        self.at = 0
        self.definitions: dict[str, int] = {}  # shared programs: the position of their text
        self.shared: dict[str, Jaxpr | None] = {}  # None while it is being read

    # ---- tokens ----

    def scan(self, start: int) -> Any:
        first = True
        for match in _TOKENS.finditer(self.text, start):
            kind = match.lastgroup or ""
            if kind == "newline":
                first = True
            elif kind != "space":
                yield _Token(kind, match.group(), match.start(), first)
                first = False
        yield _Token("end", "the end of the text", len(self.text), True)

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def ahead(self, n: int = 1) -> _Token:
        return self.tokens[min(self.at + n, len(self.tokens) - 1)]

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        position = self.token.start if position is None else position
        line_start = self.text.rfind("\n", 0, position) + 1
        line_end = self.text.find("\n", position)
        line = self.text[line_start : len(self.text) if line_end < 0 else line_end]
        where = f"line {self.text.count(chr(10), 0, position) + 1}, column {position - line_start + 1}"
        raise ParseError(f"{where}: {message}\n  {line}\n  {' ' * (position - line_start)}^")

    def expect(self, text: str, what: str = "") -> _Token:
        token = self.token
        if token.text != text or token.kind in ("string", "end"):
            self.fail(f"expected {text!r}{f' {what}' if what else ''}, found {self.described(token)}")
        self.at += 1
        return token

    def described(self, token: _Token) -> str:
        return token.text if token.kind == "end" else repr(token.text)

    def next_if(self, text: str) -> bool:
        if self.token.text == text and self.token.kind not in ("string", "end"):
            self.at += 1
            return True
        return False

    def take(self, kind: str, what: str) -> _Token:
        token = self.token
        if token.kind != kind:
            self.fail(f"expected {what}, found {self.described(token)}")
        self.at += 1
        return token

    def take_raw(self, pattern: re.Pattern[str], what: str) -> str:
        """Text that is not made of our tokens, such as `<lambda>`."""
        match = pattern.match(self.text, self.token.start)
        if match is None:
            self.fail(f"expected {what}, found {self.described(self.token)}")
        while self.token.start < match.end() and self.token.kind != "end":
            self.at += 1
        return match.group()

    # ---- programs ----

    def program(self) -> Jaxpr:
        # A definition may use a later one, as in JAX's text, so definitions are read when they are first used.
        while self.token.text == "let":
            self.at += 1
            name_at = self.token.start
            name = self.take_raw(_SHARED_NAME, "a name after 'let'")
            if name in self.definitions:
                self.fail(f"{name!r} is defined twice", name_at)
            self.expect("=", "after the name of a shared program")
            self.definitions[name] = self.at
            self.skip_braces()
            self.expect("in", "after a shared program")
        jaxpr = self.jaxpr()
        if self.token.kind != "end":
            self.fail(f"expected the end of the text, found {self.described(self.token)}")
        return jaxpr

    def skip_braces(self) -> None:
        depth, opened = 0, self.token
        while True:
            if self.token.kind == "end":
                self.fail("this '{' is never closed", opened.start)
            depth += {"{": 1, "}": -1}.get(self.token.text, 0)
            self.at += 1
            if depth == 0:
                return

    def shared_jaxpr(self, name: str) -> Jaxpr:
        if name not in self.shared:
            self.shared[name] = None
            here, self.at = self.at, self.definitions[name]
            self.shared[name] = self.jaxpr()
            self.at = here
        jaxpr = self.shared[name]
        if jaxpr is None:
            self.fail(f"the definition of {name!r} uses itself")
        return jaxpr

    def jaxpr(self) -> Jaxpr:
        self.expect("{", "to open a program")
        self.expect("lambda")
        scope = _Scope()
        constvars = self.binders(scope, until=(";",))
        self.expect(";", "after the constvars")
        invars = self.binders(scope, until=(".",))
        self.expect(".", "after the inputs")
        self.expect("let")
        eqns = []
        while not self.at_in():
            eqns.append(self.equation(scope))
            self.next_if(";")
        self.expect("in")
        self.expect("(", "before the outputs")
        outvars: list[Atom] = []
        while self.token.text != ")":
            outvars.append(self.dropped_output(scope) if self.token.text == "_" else self.atom(scope))
            if self.token.text != ")":
                self.expect(",", "between outputs")
        self.expect(")")
        self.expect("}", "to close the program")
        unread = {var: DropVar(var.aval) for var in scope.dropped if var not in scope.returned}
        if unread:
            eqns = [replace(eqn, outvars=tuple(unread.get(v, v) for v in eqn.outvars)) for eqn in eqns]
        return Jaxpr(tuple(invars), tuple(eqns), tuple(outvars), tuple(constvars))

    def dropped_output(self, scope: _Scope) -> Var:
        """A result that the caller drops is called `_` inside too: the n-th `_` bound is the n-th one returned."""
        if len(scope.returned) >= len(scope.dropped):
            self.fail("this '_' was not bound")
        scope.returned.append(scope.dropped[len(scope.returned)])
        self.at += 1
        return scope.returned[-1]

    def at_in(self) -> bool:
        # A variable may be called `in` too (the 222nd is): it has a type or stands between operands.
        if self.token.kind == "end":
            self.fail("the program ends before its 'in'")
        return self.token.text == "in" and self.ahead().text == "("

    def binders(self, scope: _Scope, until: tuple[str, ...]) -> list[Var]:
        named = self.named_binders(until)
        for name, var in named:
            self.bind(scope, name, var)
        return [var for _, var in named]

    def named_binders(self, until: tuple[str, ...]) -> list[tuple[_Token, Var]]:
        out: list[tuple[_Token, Var]] = []
        while self.token.text not in until:
            if out and self.token.text == "in" and self.ahead().text == "(":
                break
            name = self.take("word", f"a variable or {until[0]!r}")
            aval = self.aval(f"after the variable {name.text!r}")
            out.append((name, Var(aval, name.text if self.hints and name.text != "_" else "")))
        return out

    def bind(self, scope: _Scope, name: _Token, var: Var) -> None:
        if name.text in scope.by_name:
            self.fail(f"variable {name.text!r} is bound twice", name.start)
        scope.bind(name.text, var)

    def aval(self, where: str) -> Aval:
        token = self.token
        if token.kind != "type":
            self.fail(f"expected a type such as ':f32[3,4]' {where}, found {self.described(token)}")
        short, _, dims = token.text[1:-1].partition("[")
        if short not in DTYPES_BY_SHORT_NAME:
            known = ", ".join(DTYPES_BY_SHORT_NAME)
            self.fail(f"no dtype is written {short!r}; the dtypes are {known}", token.start + 1)
        self.at += 1
        return Aval(tuple(int(d) for d in dims.split(",") if d.strip()), DTYPES_BY_SHORT_NAME[short])

    # ---- equations ----

    def equation(self, scope: _Scope) -> Equation:
        start = self.token
        column = start.start - (self.text.rfind("\n", 0, start.start) + 1)
        results: list[tuple[_Token, Var]] = []
        if self.ahead().kind == "type":
            results = self.named_binders(until=("=",))
            self.expect("=", "after the results")
        name = self.take("word", "the name of a primitive")
        params = self.params() if self.token.text == "[" and self.token.start == name.start + len(name.text) else {}
        operands: list[Atom] = []
        while not self.operands_end(column):
            operands.append(self.atom(scope))
        for result, var in results:  # only now: an equation does not read its own results
            self.bind(scope, result, var)
        primitive = self.primitive(name)
        params = restored_params(primitive.name, params, [var.aval for _, var in results])
        return Equation(primitive, tuple(operands), tuple(var for _, var in results), params)

    def primitive(self, name: _Token) -> Primitive:
        primitive = REGISTRY.get(name.text) or REGISTRY.get(_ALIASES.get(name.text, ""))
        if primitive is None:
            close = _close_matches(name.text, REGISTRY, 3)
            hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
            self.fail(f"no primitive is called {name.text!r}{hint}", name.start)
        return primitive

    def operands_end(self, column: int) -> bool:
        token = self.token
        if token.text == ";" or token.kind == "end" or self.at_in():
            return True
        if token.first_on_line and token.start - (self.text.rfind("\n", 0, token.start) + 1) <= column:
            return True  # operands that wrap are indented deeper than their equation
        return token.kind == "word" and self.ahead().kind == "type" and token.text not in _LITERAL_WORDS

    def atom(self, scope: _Scope) -> Atom:
        token = self.token
        if token.kind == "number" or (token.text in _LITERAL_WORDS and self.ahead().kind == "type"):
            self.at += 1
            return self.literal(token)
        name = self.take("word", "a variable or a literal")
        if name.text == "_" and len(scope.dropped) == 1:
            scope.returned[:] = scope.dropped
            return scope.dropped[0]
        if name.text not in scope.by_name:
            close = _close_matches(name.text, scope.by_name, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            self.fail(f"variable {name.text!r} is not bound{hint}", name.start)
        return scope.by_name[name.text]

    def literal(self, token: _Token) -> Literal:
        aval = self.aval(f"after the literal {token.text}")
        if aval.shape:
            self.fail(f"a literal is a scalar, found the type {aval}", token.start)
        value = _WORD_VALUES[token.text] if token.text in _LITERAL_WORDS else self.number(token)
        try:
            with np.errstate(over="ignore"):  # 1e300 as f32 is inf, as it was when it was printed
                return Literal(np.array(value, aval.dtype)[()], aval)
        except (OverflowError, TypeError, ValueError) as error:
            self.fail(f"{token.text} is no {aval}: {error}", token.start)

    def number(self, token: _Token) -> int | float | complex:
        for kind in (int, float, complex):
            try:
                return kind(token.text)
            except ValueError:
                pass
        self.fail(f"{token.text!r} is not a number", token.start)

    # ---- params ----

    def params(self) -> dict[str, Any]:
        self.expect("[")
        params: dict[str, Any] = {}
        while self.token.text != "]":
            key = self.take("word", "the name of a param or ']'")
            if key.text in params:
                self.fail(f"param {key.text!r} is given twice", key.start)
            self.expect("=", f"after the param {key.text!r}")
            params[key.text] = self.param_value(key.text)
        self.expect("]")
        return params

    def param_value(self, key: str) -> Any:
        if self.token.kind == "string":
            return self.value()
        if key == NAME_KEY:
            name = self.take_raw(_NAME_VALUE, "a name")
            return None if name == "None" else name
        if self.token.text == "{" and self.ahead().text == "lambda":
            return self.jaxpr()
        if self.token.text == "(" and self.is_program(1):
            self.at += 1
            programs = []
            while self.token.text != ")":
                if not self.is_program(0):
                    self.fail(f"expected a program or ')', found {self.described(self.token)}")
                programs.append(self.param_value(""))
            self.expect(")")
            return tuple(programs)
        if self.is_program(0):
            return self.shared_jaxpr(self.take_raw(_NAME_VALUE, "the name of a program"))
        word = self.token
        if word.kind == "word" and word.text not in _WORD_VALUES and self.ahead().text != "(":
            self.at += 1
            return np.dtype(word.text) if word.text in DTYPE_NAMES else word.text
        return self.value()

    def is_program(self, n: int) -> bool:
        token = self.ahead(n)
        if token.text == "{":
            return self.ahead(n + 1).text == "lambda"
        match = _NAME_VALUE.match(self.text, token.start)
        return match is not None and token.kind != "end" and match.group() in self.definitions

    def value(self) -> Any:
        """A value as Python's `repr` writes it."""
        token = self.token
        if token.kind == "string":
            self.at += 1
            # The token's pattern leaves nothing but the escapes to undo.
            return token.text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
        if token.kind == "number":
            self.at += 1
            return self.number(token)
        if token.text in ("(", "[", "{"):
            return self.collection()
        if token.kind == "word" and self.ahead().text == "(":
            return self.call()
        if token.kind == "word" and token.text == "np":  # np.int64(1): NumPy 2's repr of a scalar, in JAX's text
            self.at += 1
            self.expect(".")
            return self.call()
        if token.text in _WORD_VALUES:
            self.at += 1
            return _WORD_VALUES[token.text]
        self.fail(f"expected a value, found {self.described(token)}")

    def collection(self) -> Any:
        opened = self.token
        close = {"(": ")", "[": "]", "{": "}"}[opened.text]
        self.at += 1
        items: list[Any] = []
        keys: list[Any] = []
        while self.token.text != close:
            items.append(self.value())
            if opened.text == "{":
                self.expect(":", "after a key")
                keys.append(items.pop())
                items.append(self.value())
            if self.token.text != close:
                self.expect(",", f"or {close!r} after an item")
        self.expect(close)
        if opened.text == "{":
            return dict(zip(keys, items, strict=True))
        return tuple(items) if opened.text == "(" else items

    def call(self) -> Any:
        """The few records that values are made of: dtype('f4'), frozenset({...}), slice(a, b, c), np.int64(1)."""
        name = self.take("word", "a name")
        self.expect("(")
        if name.text == "frozenset":
            self.expect("{")
            items = []
            while not self.next_if("}"):
                items.append(self.value())
                self.next_if(",")
            self.expect(")")
            return frozenset(items)
        args = []
        while not self.next_if(")"):
            args.append(self.value())
            if self.token.text != ")":
                self.expect(",", "or ')' after an argument")
        try:
            match name.text:
                case "dtype":
                    return np.dtype(*args)
                case "slice":
                    return slice(*args)
                case _ if name.text.rstrip("_") in DTYPE_NAMES and len(args) == 1:
                    return np.dtype(name.text.rstrip("_")).type(args[0]).item()
        except (TypeError, ValueError) as error:
            self.fail(str(error), name.start)
        self.fail(f"{name.text!r} cannot be read as a value", name.start)


def _close_matches(name: str, known: Iterable[str], n: int) -> list[str]:
    import difflib  # only errors need it

    return difflib.get_close_matches(name, known, n=n)
