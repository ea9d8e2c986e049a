"""Values: writes the scalar computation of a cluster's variables at given indices, each once per place.

A value is asked for by variable and index. Pointwise equations ask for their operands at the same index, index maps at
the index that their rule gives, inputs are loads. Lines land in the outermost block that has the loop indices they
need.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..fusion.access import IndexMapContext, fold_free_index, is_fold, is_reduction, is_scan
from ..fusion.cost import flops_per_element
from ..fusion.plan import Cluster
from ..ir import Atom, Equation, Literal, Var
from ..primitives.index import Expr, axes_of, const, size, where, wrap
from ..primitives.lowering import Choose, Compute, Element, IndexMap, Pointwise, Read
from .blocks import Block
from .conditions import chosen, settled
from .hazards import affine
from .names import Namer
from .scalars import PointwiseContext, call, literal, settle
from .segments import Segments
from .tables import DEAR_FLOPS, RowCost, RowTables

IndexTuple = tuple[Expr, ...]


class NotStrungError(Exception):
    """A value that a loop in strips cannot compute: it depends on more than the column and the element."""


class StripArrays(Protocol):
    """What a kernel in strips (`strips.Strips`) adds: axes are the columns' loop axes."""

    axes: frozenset[int]

    def value(self, var: Var, index: IndexTuple, inverse: Callable[[str], str] | None = None) -> str:
        """`var`, which varies along the columns only, or its inverse, as the inner loop reads it."""
        ...

    def element(self, array: str, var: Var, index: IndexTuple) -> str:
        """An element of an array with all axes of the loops. NotStrungError if it is not read in memory order."""
        ...


# Index maps that load no index: where they read is known from where they are read.
MOVES = frozenset(("slice", "concatenate", "transpose", "squeeze", "rev", "broadcast_in_dim"))
# Where a kernel repeats its loops: the axis, beside theirs, of what changes from one repetition to the next.
REPETITION = -1
# Places in a program (starts, strides) that are run-time arguments, so that others find the kernel compiled. A text
# with more of them, such as a march over levels, is only ever that of one shape: its places are constants.
MOST_PLACES = 12
# Binary exponents of divisors whose inverses serve (`scalar_math.quotients`).
MOST_INVERTED = 400
# Numbers that are divided by the same one, from which on its inverse pays: it takes a division itself.
LEAST_DIVIDED = 2


class Values:
    """The scalar values of one kernel.

    arrays: the kernel's array arguments by variable; canonical: the loop indices of the whole space; totals: results of
    reductions, by variable, as source text at their row; reads: the indices at which inputs are read; stored: values of
    an earlier pass, as the text that reads them back and the index where it holds; sizes: the run-time sizes asked for,
    by argument name; running: totals that the innermost loop carries on, by name, with what
    they begin with; counts: numbers that are likely numbers of elements; changing: values that are others in each
    repetition of the kernel.
    """

    in_vectors = True  # whether what reads elements one beside the other computes several at once
    selects = False  # whether a choice between two values is a call
    n_elements = 1  # of a row, if they are computed one by one in the text

    def __init__(
        self,
        cluster: Cluster,
        namer: Namer,
        arrays: Mapping[Var, str],
        canonical: IndexTuple,
        counts: frozenset[Literal],
        flat: bool,
    ):
        self.cluster = cluster
        self.counts = counts
        self.namer = namer
        self.arrays = arrays
        self.canonical = canonical
        self.flat = flat
        self.called: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.size_of_axis: dict[int, str] = {}
        self.totals: dict[Var, str] = {}
        self.running: dict[str, str] = {}
        self.stored: dict[Var, tuple[str, IndexTuple]] = {}
        self.irregular = False
        self.innermost = max((axis for axis, n in enumerate(cluster.space.shape) if n != 1), default=-1)
        self.strips: StripArrays | None = None
        self.tables: RowTables | None = None
        self.changing: frozenset[Var] = frozenset()
        self.segments: Segments | None = None
        self.loads: list[tuple[Var, IndexTuple]] = []
        self.reads: dict[Var, set[IndexTuple]] = {}
        self.producer = {out: eqn for eqn in cluster.eqns for out in eqn.outvars}
        self.number = {eqn: i for i, eqn in enumerate(cluster.eqns)}
        self.n_divided = Counter(eqn.invars[1] for eqn in cluster.eqns if eqn.primitive.name == "div")
        self.asked: dict[tuple, Expr] = {}
        self._contexts: dict[Equation, KernelIndexContext] = {}
        self._row_costs: dict[tuple, RowCost | None] = {}
        self.has_fixed_places = sum(eqn.primitive.name == "slice" for eqn in cluster.eqns) > MOST_PLACES

    def value(self, atom: Atom, index: IndexTuple, block: Block) -> str:
        """Source text of `atom`'s element at `index`, usable in `block`: a name, a literal or a load."""
        if isinstance(atom, Literal):
            return self._literal(atom, block)
        key = (atom, tuple(map(str, index)))
        known = block.known(key)
        if known is not None:
            return known
        axes = axes_of(index)
        if atom in self.changing:
            axes |= {REPETITION}
        strips = self.strips
        if strips is not None and axes and axes <= strips.axes and not block.axes <= strips.axes:
            return strips.value(atom, index)
        tables = self.tables
        cost = self._dear_row(atom, index) if tables is not None and tables.shares(axes, block) else None
        if tables is not None and cost is not None:
            return tables.element(key, atom.hint or "row", cost, lambda body: self.value(atom, index, body))
        home = self.home(atom, index, axes, block)
        text = self._compute(atom, index, home, block)
        home.memo[key] = text
        return text

    def home(self, var: Var, index: IndexTuple, axes: frozenset[int], block: Block) -> Block:
        """Where `var` at `index`, which depends on the loop indices `axes`, is computed for its use in `block`."""
        return block.home(axes, past_branches=axes < block.axes and self._is_valid_everywhere(var, index))

    def _is_valid_everywhere(self, var: Var, index: IndexTuple) -> bool:
        """Whether `index` is inside of an input, whatever condition it is read under. LLVM moves the arithmetic of such
        values out of a loop, but not their loads; and it takes exponential time for long chains that it finds constant
        only after it has vectorised the loop (the rounds of `threefry2x32`)."""
        if var in self.producer or var in self.totals or var in self.stored:
            return False
        space = self.cluster.space.shape
        return all(
            (e.is_axis and space[e.axis or 0] == n) or (e.op == "const" and 0 <= e.args[0] < n)
            for e, n in zip(index, var.aval.shape, strict=True)
        )

    def _literal(self, atom: Literal, block: Block) -> str:
        """A constant; one that counts elements (the divisor of a mean) is a run-time argument, as sizes are."""
        dtype, value = atom.aval.dtype, atom.val
        if atom not in self.counts:
            return literal(value, dtype)
        root = block
        while root.parent is not None:
            root = root.parent
        key = (atom.aval, int(value))
        if key not in root.memo:
            name = self.namer.fresh("count")
            self.sizes[name] = int(value)
            root.memo[key] = f"np.{dtype.name}({name})"
        return root.memo[key]

    def _compute(self, var: Var, index: IndexTuple, home: Block, block: Block) -> str:
        if var in self.totals:
            return self.totals[var]
        if var in self.stored and index == self.stored[var][1]:
            return self.stored[var][0]
        eqn = self.producer.get(var)
        if eqn is None:
            text = self.load(self.arrays[var], var, index)
            if home is block:
                return text
            name = self.namer.fresh(f"{self.arrays[var]}_value")
            home.value_line(f"{name} = {text}")
            return name
        lowering = eqn.primitive.lowering
        if isinstance(lowering, IndexMap):
            context = self._contexts.get(eqn)
            if context is None:
                context = self._contexts[eqn] = KernelIndexContext(eqn, self)
            context.block = home
            element = lowering.element(context, index)
            if self.strips is not None and not home.axes <= self.strips.axes and not isinstance(element, Read):
                raise NotStrungError
            text = self._element(eqn, element, home)
            if home is block or "[" not in text:
                return text
            # A load outside of the loop that asked for it: LLVM may not know that the loop's stores don't change it.
            name = self.namer.for_var(var, eqn.origin.name or eqn.primitive.name)
            home.value_line(f"{name} = {text}", (self.number[eqn],))
            return name
        if is_reduction(eqn) and not is_fold(eqn):
            return self._fold_of_one(eqn, index, home)
        if is_scan(eqn):
            return self._running(eqn, index, home)
        assert isinstance(lowering, Pointwise), f"{eqn.primitive} is read before it is reduced"
        operands = [self.value(a, index if a.aval.shape else (), home) for a in eqn.invars]
        out = var.aval.dtype
        constants = {
            text: atom.val
            for text, atom in zip(operands, eqn.invars, strict=True)
            if isinstance(atom, Literal) and atom not in self.counts
        }
        dtypes = tuple(a.aval.dtype for a in eqn.invars)
        atoms = zip(operands, eqn.invars, strict=True)
        shared = {text for text, atom in atoms if not atom.aval.shape} if var.aval.shape else ()
        context = PointwiseContext(out, dtypes, eqn.params, self.called, constants, shared, selects=self.selects)
        text = self.quotient(eqn, operands, index, home) if eqn.primitive.name == "div" else None
        if text is None:
            text = settle(lowering.expr(context, *operands), out)
        if re.fullmatch(r"[\w.]+", text):
            return text
        name = self.namer.for_var(var, eqn.origin.name or eqn.primitive.name)
        home.value_line(f"{name} = {text}", (self.number[eqn],))
        return name

    def quotient(self, eqn: Equation, operands: Sequence[str], index: IndexTuple, home: Block) -> str | None:
        """A quotient that takes no division; None where it takes one."""
        inverse = self._inverse(eqn, index, home)
        return None if inverse is None else call(self.called, "quotient", eqn.outvars[0].aval.dtype, *operands, inverse)

    def _inverse(self, eqn: Equation, index: IndexTuple, home: Block) -> str | None:
        """The inverse of a divisor that the innermost loop does not change, that all rows share, or that divides
        several numbers; None where a division costs no more, or less."""
        divisor = eqn.invars[1]
        dtype = divisor.aval.dtype
        innermost = self.innermost
        if dtype != np.float64 or innermost not in home.axes:
            return None
        if isinstance(divisor, Literal):
            return None if divisor in self.counts else _literal_inverse(float(divisor.val))
        found = self._origin(divisor, index if divisor.aval.shape else ())
        if found is None or found[0] in self.changing:
            return None
        var, at = found
        axes = axes_of(at)

        def inverse(text: str) -> str:
            return call(self.called, "inverse", dtype, text)

        if self.strips is not None and axes and axes <= self.strips.axes:
            return None if home.axes <= self.strips.axes else self.strips.value(var, at, inverse)
        key = ("inverse", var, tuple(map(str, at)))
        if self.tables is not None and self.tables.shares(axes, home):
            cost = self._row_cost(var, at)
            if cost is None:
                return None
            return self.tables.element(key, "inverse", cost, lambda body: inverse(self.value(var, at, body)))
        outer = self.home(var, at, axes, home)
        is_elements = any(e.op == "const" and n != 1 for e, n in zip(at, var.aval.shape, strict=True))
        n_divided = self.n_divided[divisor] * (1 if is_elements else self.n_elements)
        if innermost in outer.axes and n_divided < LEAST_DIVIDED:
            return None
        name = outer.known(key)
        if name is None:
            text = self.value(var, at, outer)
            name = outer.memo[key] = self.namer.fresh(f"inverse_{var.hint}" if var.hint else "inverse")
            outer.value_line(f"{name} = {inverse(text)}", (self.number[eqn],))
        return name

    def _dear_row(self, var: Var, index: IndexTuple) -> RowCost | None:
        """What a float64 along the innermost loop takes, if that is more than to read it in each row."""
        if var.aval.dtype != np.float64 or var not in self.producer:
            return None
        cost = self._row_cost(var, index)
        return cost if cost is not None and cost.flops >= DEAR_FLOPS else None

    def _row_cost(self, atom: Atom, index: IndexTuple) -> RowCost | None:
        """What it takes to compute `atom` at `index` from arguments of the kernel, for a row; None where it depends on
        more."""
        if isinstance(atom, Literal):
            return RowCost()
        key = (atom, tuple(map(str, index)))
        if key not in self._row_costs:
            self._row_costs[key] = self._find_row_cost(atom, index)
        return self._row_costs[key]

    def _find_row_cost(self, var: Var, index: IndexTuple) -> RowCost | None:
        eqn = self.producer.get(var)
        if var in self.totals or var in self.stored or var in self.changing:
            return None
        if eqn is None:
            return self._row_of(var, index)
        if isinstance(eqn.primitive.lowering, Pointwise):
            cost = RowCost(flops_per_element(eqn))
            for atom in eqn.invars:
                operand = self._row_cost(atom, index if atom.aval.shape else ())
                if operand is None:
                    return None
                cost = cost.with_operand(operand)
            return cost
        origin = self._origin(var, index) if eqn.primitive.name in MOVES else None
        return None if origin is None or origin[0] is var else self._row_cost(*origin)

    def _row_of(self, var: Var, index: IndexTuple) -> RowCost | None:
        """For which iterations of the innermost loop `var` has an element at `index`."""
        n, low, high = self.cluster.space.shape[self.innermost], 0, self.cluster.space.shape[self.innermost]
        sizes = self.known_sizes()
        for expr, length in zip(index, var.aval.shape, strict=True):
            place = affine(expr, sizes)
            if place is None or place.terms not in ({}, {self.innermost: 1}):
                return None
            if place.terms:
                low, high = max(low, -place.constant), min(high, length - place.constant)
            elif not 0 <= place.constant < length:
                return None
        return RowCost(0.0, low, n - high) if low < high else None

    def _fold_of_one(self, eqn: Equation, index: IndexTuple, home: Block) -> str:
        """The fold of a single element, which is the element, but that sums begin with 0.0: that of -0.0 is 0.0."""
        (var,), lowering = eqn.outvars, eqn.primitive.lowering
        dtype = var.aval.dtype
        if lowering.kind.startswith("arg"):
            return literal(0, dtype)
        value = self.value(eqn.invars[0], fold_free_index(eqn, index), home)
        if lowering.kind != "sum" or dtype.kind not in "fc":
            return value
        context = PointwiseContext(dtype, (dtype, dtype), eqn.params, self.called)
        name = self.namer.for_var(var, eqn.origin.name or eqn.primitive.name)
        text = settle(lowering.combine(context, literal(lowering.identity(dtype), dtype), value), dtype)
        home.value_line(f"{name} = {text}", (self.number[eqn],))
        return name

    def _running(self, eqn: Equation, index: IndexTuple, home: Block) -> str:
        """The total up to the element at hand, which the innermost loop carries on from `running`. A sum begins with
        -0.0, to which any element adds as it is."""
        (var,), lowering = eqn.outvars, eqn.primitive.lowering
        dtype = var.aval.dtype
        value = self.value(eqn.invars[0], index, home)
        start = -0.0 if lowering.kind == "cumsum" and dtype.kind == "f" else lowering.identity(dtype)
        name = self.namer.for_var(var, eqn.origin.name or eqn.primitive.name)
        self.running[name] = literal(start, dtype)
        context = PointwiseContext(dtype, (dtype, dtype), eqn.params, self.called)
        home.value_line(f"{name} = {settle(lowering.combine(context, name, value), dtype)}", (self.number[eqn],))
        return name

    def _element(self, eqn: Equation, element: Element, block: Block) -> str:
        match element:
            case Read(operand, index):
                return self.value(eqn.invars[operand], expressions(index), block)
            case Compute(expr):
                return expr
            case Choose():
                moved = self._moved(eqn, element)
                if moved is not None:
                    self.irregular = True
                    return self.value(*moved, block)
                name = self.namer.for_var(eqn.outvars[0], eqn.origin.name or eqn.primitive.name)
                self._choose(eqn, element, name, block)
                return name
        raise AssertionError(element)

    def _choose(self, eqn: Equation, element: Element, name: str, block: Block) -> None:
        """`name = element`, as an if-else whose branches read only what their condition allows."""
        if not isinstance(element, Choose):
            block.value_line(f"{name} = {self._element(eqn, element, block)}", (self.number[eqn],))
            return
        self.irregular = True
        condition = self._settled(element.condition)
        if isinstance(condition, bool):
            self._choose(eqn, element.then if condition else element.otherwise, name, block)
            return
        asked: bool | str = str(condition)
        if self.segments is not None and isinstance(condition, Expr) and self.segments.axis in block.axes:
            asked = self.segments.resolve(condition, self.known_sizes())
            if isinstance(asked, bool):
                self._choose(eqn, element.then if asked else element.otherwise, name, block)
                return
        then, otherwise = block.choice(asked)
        self._choose(eqn, element.then, name, then)
        self._choose(eqn, element.otherwise, name, otherwise)
        block.close_choice()

    def _settled(self, condition: Any) -> Any:
        """`condition`, or whether it holds, where that is the same everywhere."""
        if not isinstance(condition, Expr):
            return condition
        return settled(condition, self.cluster.space.shape, self.known_sizes())

    def known_sizes(self) -> dict[str, int]:
        """The values of the names that index expressions hold."""
        sizes = dict(self.sizes)
        for var, name in self.arrays.items():
            sizes.update({f"{name}.shape[{axis}]": length for axis, length in enumerate(var.aval.shape)})
        return sizes

    def _moved(self, eqn: Equation, element: Element) -> tuple[Var, IndexTuple] | None:
        """The variable and the index of a choice that is one between places of the same array."""
        if not isinstance(element, Choose):
            if isinstance(element, Read):
                return self._origin(eqn.invars[element.operand], expressions(element.index))
            return None
        condition = self._settled(element.condition)
        if isinstance(condition, bool):
            return self._moved(eqn, element.then if condition else element.otherwise)
        if not isinstance(condition, Expr) or condition.loads():
            return None
        then, otherwise = self._moved(eqn, element.then), self._moved(eqn, element.otherwise)
        if then is None or otherwise is None or then[0] is not otherwise[0]:
            return None
        differing = [d for d, (a, b) in enumerate(zip(then[1], otherwise[1], strict=True)) if a != b]
        if len(differing) != 1:
            return None
        (d,) = differing
        index = self._chosen(condition, then[1][d], otherwise[1][d])
        return None if index is None else (then[0], (*then[1][:d], index, *then[1][d + 1 :]))

    def _chosen(self, condition: Expr, then: Expr, otherwise: Expr) -> Expr | None:
        """An index that is chosen; None where reads of neighbours would become single ones, which don't vectorise."""
        if self.innermost not in condition.axes() or not self.in_vectors:
            return where(condition, then, otherwise)
        flag = self.segments.name(condition) if self.segments is not None else None
        return None if flag is None else chosen(flag, self.innermost, then, otherwise)

    def _origin(self, atom: Atom, index: IndexTuple) -> tuple[Var, IndexTuple] | None:
        """What `atom` at `index` is an element of, seen through equations that only move elements."""
        if isinstance(atom, Literal):
            return None
        eqn = self.producer.get(atom)
        if eqn is None or atom in self.totals or atom in self.stored or eqn.primitive.name not in MOVES:
            return atom, index
        context = self._contexts.get(eqn)
        if context is None:
            context = self._contexts[eqn] = KernelIndexContext(eqn, self)
        return self._moved(eqn, eqn.primitive.lowering.element(context, index))

    def has_shape(self, var: Var) -> bool:
        """Whether the kernel's text can ask an array argument for the shape of `var`."""
        return var in self.arrays and not self.flat

    def place(self, eqn: Equation, index: IndexTuple, block: Block) -> IndexTuple:
        """Where the element `index` of an update goes in the array that it is written into."""
        context = self._contexts.get(eqn)
        if context is None:
            context = self._contexts[eqn] = KernelIndexContext(eqn, self)
        context.block = block
        self.irregular = True
        return expressions(eqn.primitive.lowering.place(context, index))

    def load(self, array: str, var: Var, index: IndexTuple) -> str:
        """An element of an array argument. An index that is not plainly non-negative is cast to unsigned, which spares
        numba's test for negative indices and lets the loop vectorise."""
        self.reads.setdefault(var, set()).add(index)
        if not index:
            return f"{array}[()]"
        self.loads.append((var, index))
        strips = self.strips
        if strips is not None and not axes_of(index) <= strips.axes:
            return strips.element(array, var, index)
        for d, expr in enumerate(index):
            if expr.is_axis and var.aval.shape[d] == self.cluster.space.shape[expr.axis or 0]:
                self.size_of_axis.setdefault(expr.axis or 0, f"{array}.shape[{d}]")
        if index != self.canonical:
            self.irregular = True
        elif self.flat:
            return f"{array}[i]"
        return f"{array}[{', '.join(map(index_text, index))}]"


def _literal_inverse(divisor: float) -> str | None:
    """The inverse of a constant; None where the compiler multiplies anyway, or where it should divide."""
    mantissa, exponent = math.frexp(divisor)
    if abs(mantissa) == 0.5 or not abs(exponent) < MOST_INVERTED:
        return None
    return literal(1.0 / divisor, np.dtype(np.float64)) if divisor and math.isfinite(divisor) else None


def expressions(index: tuple[Any, ...]) -> IndexTuple:
    """What an index map's rule returns, as expressions: a rule may write plain integers."""
    return tuple(wrap(each) for each in index)


def index_text(expr: Expr) -> str:
    """An index as source text."""
    plain = expr.op in ("sym", "const") or (expr.op == "+" and expr.args[0].is_axis and expr.args[1].op == "const")
    return str(expr) if plain else f"uintp({expr})"


class KernelIndexContext(IndexMapContext):
    """The index context whose sizes are kernel arguments or shapes of array arguments."""

    block: Block

    def __init__(self, eqn: Equation, values: Values):
        super().__init__(eqn)
        self.values = values

    def operand_size(self, operand: int, axis: int) -> Expr:
        atom = self.eqn.invars[operand]
        if isinstance(atom, Var) and self.values.has_shape(atom):
            return size(f"{self.values.arrays[atom]}.shape[{axis}]")
        return self._argument(("axis", axis, atom.aval.shape[axis]), atom.aval.shape[axis])

    def result_size(self, axis: int) -> Expr:
        return self._argument(("axis", axis, self.out_aval.shape[axis]), self.out_aval.shape[axis])

    def runtime(self, value: int) -> Expr:
        value = int(value)
        fixed = 0 <= value <= 2 or (value > 0 and self.values.has_fixed_places)
        return const(value) if fixed else self._argument(("value", value), value)

    def _argument(self, key: tuple, value: int) -> Expr:
        """Equal lengths of the same axis are one argument, so that equal conditions are one condition."""
        found = self.values.asked.get(key)
        if found is None:
            name = self.values.namer.fresh("size")
            self.values.sizes[name] = value
            found = self.values.asked[key] = size(name)
        self.values.irregular = True
        return found

    def load(self, operand: int, index: IndexTuple) -> Expr:
        self.values.irregular = True
        text = self.values.value(self.eqn.invars[operand], tuple(map(wrap, index)), self.block)
        number = f"np.int64({text})"
        return Expr("loaded", (self._named(number) if text.count("[") > 1 else number, *index))

    def _named(self, number: str) -> str:
        """A variable for an index that is read at an index that was read. Whoever uses it writes it several times, and
        so would the next one with that: in a chain of gathers the text would grow without bound."""
        key = ("loaded", number)
        name = self.block.known(key)
        if name is None:
            name = self.block.memo[key] = self.values.namer.fresh("index")
            self.block.value_line(f"{name} = {number}", (self.values.number[self.eqn],))
        return name

    def value(self, index: Expr) -> str:
        self.values.irregular = True
        return f"np.{self.out_dtype.name}({wrap(index)})" if self.out_dtype != np.int64 else str(wrap(index))

    def const(self, value: Any, dtype: np.dtype | None = None) -> str:
        return literal(value, self.out_dtype if dtype is None else np.dtype(dtype))
