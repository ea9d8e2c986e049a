"""Short arrays of a translated loop as variables, one for each element: coordinates, states of a few numbers.

In: the text of the loop's functions, where each array operation makes an array and goes through its elements. Out: the
same with arrays of up to FEW elements, all of whose indices are known once loops over them are written out, in
variables of their own, so that they take no memory and stay in registers (scalar replacement of aggregates). Functions
without branches that end early are written out where they are called, since they take and give such arrays.

An array that has two names is left in memory if something is written through one of them while the other is there.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..syntax import walk
from .arrays import scalar_name
from .elements import (
    MAKERS,
    Block,
    Element,
    Names,
    all_blocks,
    assign,
    blocks,
    bound_name,
    element_of,
    made_dtype,
    maker_of,
    read_element,
)  # fmt: skip
from .few_elements import is_few
from .lengths import Shape, constant_of, shapes_of, with_constants
from .ranges import TEMPORARY
from .syntax import bound
from .types import Array, Type
from .writing import FEW, Module
from .written_out import Calls, with_turns

MOST_STATEMENTS = 1500  # of the loop when all is written out


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter that is an array. shape: its short lengths, None for others; dtype: the text of its elements' type;
    stays: whether the loop writes nothing into its memory."""

    shape: Shape
    dtype: str
    stays: bool

    @classmethod
    def of(cls, kind: Array, stays: bool) -> Given:
        shape = tuple(n if n is not None and n <= FEW else None for n in kind.shape)
        return cls(shape, scalar_name(kind.dtype), stays)


def in_variables(text: str, module: Module, parameters: Mapping[str, Type]) -> str:
    """text: of the functions, of which the last one is the loop's; parameters: of the latter, by their names there."""
    written = frozenset(module.written)
    given = {function.name: _arrays(function.parameters) for function in module.functions.values()}
    given[""] = _arrays(parameters, lambda kind: not module.may_share(kind.origins, written))
    return _in_variables(text, tuple(given.items()))


def _arrays(
    parameters: Mapping[str, Type], stays: Callable[[Array], bool] = lambda kind: False
) -> tuple[tuple[str, Given], ...]:
    kinds = {name: kind for name, kind in parameters.items() if isinstance(kind, Array)}
    return tuple((name, Given.of(kind, stays(kind))) for name, kind in kinds.items())


@functools.lru_cache(256)
def _in_variables(text: str, given: tuple[tuple[str, tuple[tuple[str, Given], ...]], ...]) -> str:
    if not any(f"np.{maker}(" in text for maker in MAKERS):
        return text
    functions = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)]
    names = Names(functions)
    calls = Calls(names)
    for function in functions:
        calls.take(function)
    by_name = {name: dict(arrays) for name, arrays in given}
    by_name[functions[-1].name] = by_name.pop("")
    rewritten = {f.name: _Search(f, by_name[f.name], names).rewritten() for f in functions}
    if not any(rewritten.values()):
        return text
    used = {functions[-1].name}
    parts: list[ast.FunctionDef] = []
    for function in reversed(functions):
        if function.name in used:
            parts.insert(0, rewritten[function.name] or function)
            used |= {n.id for n in walk(parts[0]) if isinstance(n, ast.Name)}
    return "\n\n\n".join(ast.unparse(ast.fix_missing_locations(part)) for part in parts) + "\n"


# ---- arrays ----


@dataclass(eq=False)
class _Uses:
    """How the arrays of a loop are used."""

    wrong: set[str] = field(default_factory=set)  # as no variables can be
    written: set[str] = field(default_factory=set)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)


class _Search:
    def __init__(self, loop: ast.FunctionDef, given: Mapping[str, Given], names: Names):
        self.given, self.names = given, names
        shapes = {name: each.shape for name, each in given.items()}
        self.loop = with_constants(copy.deepcopy(loop), shapes)
        self.shapes = shapes_of(self.loop, shapes)
        self.dtypes: dict[str, str] = {}
        self.rebound = given.keys() & bound(loop.body)

    def rewritten(self) -> ast.FunctionDef | None:
        """The loop with variables; None if nothing becomes one."""
        arrays = self._possible()
        while arrays:
            body = with_turns(copy.deepcopy(self.loop.body), arrays, self.shapes)
            if sum(isinstance(n, ast.stmt) for stmt in body for n in walk(stmt)) > MOST_STATEMENTS:
                return None
            wrong = self._wrong(body, arrays)
            if not wrong:
                return self._rewrite(body, arrays)
            arrays -= wrong
        return None

    def _possible(self) -> set[str]:
        """The short arrays that are made by the loop, or hold what was."""
        found = {name for name, shape in self.shapes.items() if is_few(shape)}
        found -= {n for n, each in self.given.items() if not each.stays or n not in self.rebound}
        sources: dict[str, list[ast.expr]] = {name: [] for name in found}
        for stmt in (n for each in self.loop.body for n in walk(each)):
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in found:
                    sources[name].append(value)
        self.dtypes = self._dtypes_of(sources)
        while wrong := {name for name in found if not all(self._can_be(v, name, found) for v in sources[name])}:
            found -= wrong
        return found

    def _dtypes_of(self, sources: Mapping[str, Sequence[ast.expr]]) -> dict[str, str]:
        """The texts of types: another name of an array has that of the array."""
        found = {name: each.dtype for name, each in self.given.items()}
        n_found = -1
        while len(found) > n_found:
            n_found = len(found)
            for name, values in sources.items():
                for value in values:
                    dtype = found.get(value.id) if isinstance(value, ast.Name) else made_dtype(value)
                    if dtype:
                        found.setdefault(name, dtype)
        return found

    def _can_be(self, value: ast.expr, name: str, arrays: set[str]) -> bool:
        if isinstance(value, ast.Name):
            return self._can_give(value.id, name, arrays)
        return bool(maker_of(value)) and made_dtype(value) == self.dtypes.get(name)

    def _can_give(self, source: str, name: str, arrays: set[str]) -> bool:
        stays = source in self.given and self.given[source].stays and source not in self.rebound
        same = self.dtypes.get(source) == self.dtypes.get(name) and self.shapes.get(source) == self.shapes[name]
        return same and (source in arrays or stays)

    # ---- what can be variables ----

    def _wrong(self, body: Block, arrays: set[str]) -> set[str]:
        uses = _Uses()
        for stmt in body:
            self._look(stmt, arrays, uses, is_last=stmt is body[-1])
        return uses.wrong or self._shared(body, arrays, uses)

    def _look(self, node: ast.AST, arrays: set[str], uses: _Uses, *, is_last: bool = False) -> None:
        match node:
            case ast.Name(id=name):
                if name in arrays and isinstance(node.ctx, ast.Load):
                    uses.wrong.add(name)
                return
            case ast.Return(value=ast.Tuple(elts=elts)) if is_last:
                uses.returned += [e.id for e in elts if isinstance(e, ast.Name) and e.id in arrays]
                elts = [e for e in elts if not isinstance(e, ast.Name)]
                for each in elts:
                    self._look(each, arrays, uses)
                return
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=source)) if name in arrays:
                if self._can_give(source, name, arrays):
                    uses.aliases.append((name, source))
                else:
                    uses.wrong.add(name)
                return
            case _ if (found := self.element(node, arrays)) is not None:
                if found.value is not None:
                    uses.written.add(found.name)
                    self._look(found.value, arrays, uses)
                return
            case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant()):
                return
        for child in ast.iter_child_nodes(node):
            self._look(child, arrays, uses)

    def element(self, node: ast.AST, arrays: set[str]) -> Element | None:
        """The element that is read or written by a node."""
        found = element_of(node)
        if found is None or found.name not in arrays or self.place_of(found) is None:
            return None
        return found

    def place_of(self, element: Element) -> tuple[int, ...] | None:
        shape = self.shapes[element.name]
        if len(element.indices) != len(shape):
            return None
        found = []
        for node, n in zip(element.indices, shape, strict=True):
            k = constant_of(node, self.shapes)
            if type(k) is not int or n is None or not -n <= k < n:
                return None
            found.append(k % n)
        return tuple(found)

    def _shared(self, body: Block, arrays: set[str], uses: _Uses) -> set[str]:
        """Arrays of two names of which one is written through, or of which the loop hands on both."""
        groups: dict[str, set[str]] = {}
        moved = Counter(source for _, source in uses.aliases)
        for name, source in uses.aliases:
            if moved[source] == 1 and TEMPORARY.fullmatch(source) and _is_moved(body, source):
                continue
            group = groups.setdefault(name, {name}) | groups.setdefault(source, {source})
            for each in group:
                groups[each] = group
        wrong: set[str] = set()
        for group in groups.values():
            handed_on = sum(n in self.given or n in uses.returned for n in group)
            if group & uses.written or handed_on > 1:
                wrong |= group & arrays
        return wrong

    # ---- the text ----

    def _rewrite(self, body: Block, arrays: set[str]) -> ast.FunctionDef:
        variables: dict[str, dict[tuple[int, ...], str]] = {}
        for name in sorted(arrays):
            places = itertools.product(*(range(n or 0) for n in self.shapes[name]))
            variables[name] = {place: self.names.element(name, place) for place in places}
        parameters = [n for n in arrays if n in self.given]
        flags = {n: self.names.like(f"{n}_is_given") for n in sorted(parameters)}
        head: Block = []
        sources = {
            s.value.id for each in body for s in walk(each)
            if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and bound_name(s) in arrays
        }  # fmt: skip
        for name in sorted((sources | arrays) & self.given.keys()):
            for axis, n in enumerate(self.shapes[name]):
                test = f"if {name}.shape[{axis}] != {n}:\n    raise LookupError()"
                head += ast.parse(test).body
        for name, flag in flags.items():
            head.append(assign(flag, ast.Constant(True)))
            head += [assign(v, read_element(name, place)) for place, v in variables[name].items()]
        writer = _Writer(self, arrays, variables, flags)
        made = [*head, *writer.block(body)]
        loop = copy.copy(self.loop)
        loop.body = made
        return loop


class _Writer(ast.NodeTransformer):
    """Writes variables for elements."""

    def __init__(
        self, search: _Search, arrays: set[str], variables: Mapping[str, Mapping[tuple[int, ...], str]],
        flags: Mapping[str, str],
    ):  # fmt: skip
        self.search, self.arrays, self.variables, self.flags = search, arrays, variables, flags

    def block(self, stmts: Block) -> Block:
        made: Block = []
        for stmt in stmts:
            made += self._statement(stmt)
        return made or [ast.Pass()]

    def _statement(self, stmt: ast.stmt) -> Iterable[ast.stmt]:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.arrays:
                return self._bind(name, value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                found = self.search.element(target, self.arrays)
                if found is not None:
                    return [self._store(found, value)]
            case ast.Expr(value=ast.Call(func=ast.Name(id="same_length"), args=[a, b])):
                lengths = [constant_of(n, self.search.shapes) for n in (a, b)]
                if lengths[0] is not None and lengths[0] == lengths[1]:
                    return []
            case ast.Expr(value=ast.Call() as node):
                found = self.search.element(node, self.arrays)
                if found is not None and found.value is not None:
                    return [self._store(found, found.value)]
            case ast.Return(value=ast.Tuple(elts=elts)):
                return self._returned(elts)
            case ast.If() | ast.For() | ast.While():
                for part in blocks(stmt):
                    part[:] = self.block(part)
                for name in ("test", "iter"):
                    if hasattr(stmt, name):
                        setattr(stmt, name, self.visit(getattr(stmt, name)))
                return [stmt]
        return [self.generic_visit(stmt)]  # type: ignore[list-item]  # a statement stays one

    def _cast(self, name: str, value: ast.expr) -> ast.expr:
        function = ast.parse(self.search.dtypes[name], mode="eval").body
        return ast.Call(function, [value], [])

    def _store(self, element: Element, value: ast.expr) -> ast.stmt:
        place = self.search.place_of(element)
        assert place is not None
        return assign(self.variables[element.name][place], self._cast(element.name, self.visit(value)))

    def _bind(self, name: str, value: ast.expr) -> Iterator[ast.stmt]:
        maker = maker_of(value)
        for place, variable in self.variables[name].items():
            if not maker:
                assert isinstance(value, ast.Name)
                source = self.variables.get(value.id)
                yield assign(
                    variable, read_element(value.id, place) if source is None else ast.Name(source[place], ast.Load())
                )
            elif maker != "empty" or not TEMPORARY.fullmatch(name):
                yield assign(variable, self._cast(name, ast.Constant(int(maker == "ones"))))
        if name in self.flags:
            yield assign(self.flags[name], ast.Constant(False))

    def _returned(self, elts: Sequence[ast.expr]) -> Iterator[ast.stmt]:
        made: list[ast.expr] = []
        for node in elts:
            if not isinstance(node, ast.Name) or node.id not in self.arrays:
                made.append(self.visit(node))
                continue
            name = node.id
            array = name if name in self.flags else self.search.names.temporary()
            sizes = ", ".join(map(str, self.search.shapes[name]))
            text = [f"{array} = np.empty(({sizes},), {self.search.dtypes[name]})"]
            for place, variable in self.variables[name].items():
                text.append(f"put_{len(place)}({array}, {', '.join(map(str, place))}, {variable})")
            if name in self.flags:
                text = [f"if not {self.flags[name]}:", *("    " + line for line in text)]
            yield from ast.parse("\n".join(text)).body
            made.append(ast.Name(array, ast.Load()))
        yield ast.Return(ast.Tuple(made, ast.Load()))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self._variable(node) or self.generic_visit(node)  # type: ignore[return-value]  # an expression

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")) if name in self.arrays:
                return ast.Constant(constant_of(node, self.search.shapes))
        return self._variable(node) or self.generic_visit(node)  # type: ignore[return-value]  # an expression

    def _variable(self, node: ast.expr) -> ast.expr | None:
        found = self.search.element(node, self.arrays)
        place = None if found is None else self.search.place_of(found)
        if found is None or place is None:
            return None
        return ast.Name(self.variables[found.name][place], ast.Load())


def _is_moved(body: Block, name: str) -> bool:
    """Whether an array is made, filled and given another name in one block, and used nowhere else."""
    n_uses = sum(isinstance(n, ast.Name) and n.id == name for stmt in body for n in walk(stmt))
    for block in all_blocks(body):
        first = next((k for k, s in enumerate(block) if isinstance(s, ast.Assign) and bound_name(s) == name), None)
        if first is None:
            continue
        for k in range(first + 1, len(block)):
            stmt = block[k]
            if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Name) and stmt.value.id == name:
                inside = (n for s in block[first : k + 1] for n in walk(s))
                return sum(isinstance(n, ast.Name) and n.id == name for n in inside) == n_uses
        return False
    return False
