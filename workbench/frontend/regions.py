"""Regions: the bodies of branches and loops, traced on their own but over the buffers of the trace around them.

A region that touches an array from outside captures its whole buffer, and takes the same view of its own copy: aliases
stay aliases. What it writes comes out as one more result, which is written to the buffer outside. `emit_cond`,
`emit_while` and `emit_scan` turn regions into one equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY, Atom, Aval, Jaxpr, Literal, Var
from .checks import test_conditions
from .recording import CapturedArray, Trace, recording, resumed
from .tracer import Tracer, emit, from_atom, input_tracer, lift, require_trace
from .views import write


class Region:
    """A body that has been traced. inputs: its own inputs; result: what its code gave back."""

    def __init__(self, run: Callable[..., Any], prototypes: Sequence[Any], forget: frozenset[int] = frozenset()):
        """Trace `run(*inputs)`. prototypes: a tracer outside, or an aval, for each input.

        forget: ids of outer buffers whose values must not be taken for known, since the region is run again after it
        has written to them.
        """
        parent = require_trace()
        parent.count_region()
        self.record = record = Trace(
            parent.name, strict=parent.strict, effects_happen=parent.effects_happen,
            keep_python_scalars=parent.keep_python_scalars, converts=parent.converts, on_gpu=parent.on_gpu,
        )  # fmt: skip
        record.region, record.lifter, record.scopes = True, parent.lifter, parent.scopes
        record.entry, record.references = parent.entry, parent.references
        self.forget = record.forget = forget
        with recording(record):
            self.inputs = tuple(_input(record, prototype) for prototype in prototypes)
            try:
                with nullcontext() if record.lifter is None else record.lifter.globals_stay():
                    self.result = run(*self.inputs)
                test_conditions(record)
            finally:
                parent.failure = parent.failure or record.failure
                if record.signal is not None:
                    raise record.signal

    def add_input(self, aval: Aval) -> Tracer:
        """One more input, a number."""
        added = _input(self.record, aval)
        self.inputs = (*self.inputs, added)
        return added

    def leaf(self, value: Any) -> Tracer:
        """A value of the region's, or from outside, as a tracer of the region."""
        return self.run(lambda: lift(value))

    def atom(self, value: Any) -> Atom:
        """The same as an atom of its program."""
        return self.run(lambda: lift(value).current)

    def run(self, code: Callable[[], Any]) -> Any:
        """Record some more on the region."""
        with _open(self.record):
            return code()

    @property
    def written_ids(self) -> frozenset[int]:
        return frozenset(id(x.buffer) for x in self.written)

    @property
    def captured(self) -> list[CapturedArray]:
        return list(self.record.adopted.values())

    def captured_buffer(self, outer: Tracer) -> CapturedArray | None:
        return self.record.adopted.get(id(outer.buffer))

    @property
    def written(self) -> list[Tracer]:
        """The arrays outside that the region writes to."""
        return [entry.value for entry in self.captured if _is_written(entry)]

    @property
    def relies_on_written(self) -> frozenset[int]:
        """Buffers that it writes to after it has taken their contents for known."""
        return frozenset(
            id(entry.value.buffer)
            for entry in self.captured
            if _is_written(entry) and entry.var is not None and self.record.was_asked(entry.var)
        )

    def content(self, outer: Tracer) -> tuple[Var, Atom]:
        """The variable that is an outer buffer's content at first, and the atom that it is in the end."""
        entry = self.captured_buffer(outer)
        if entry is None or entry.var is None or entry.tracer is None:
            var = Var(outer.buffer.aval)
            return var, var
        return entry.var, entry.tracer.buffer.value

    def pass_on_ambiguity(self) -> None:
        """What a branch or loop inside makes ambiguous is so outside, too."""
        for entry in self.captured:
            if entry.tracer is not None and entry.tracer.buffer.ambiguous:
                entry.value.buffer.ambiguous = True

    def close(self, invars: Sequence[Var], outvars: Sequence[Atom]) -> Jaxpr:
        record = self.record
        read = {a for eqn in record.eqns for a in eqn.invars} | set(outvars)
        constants = {var: value for var, value in record.constants.items() if var in read}
        return Jaxpr(tuple(invars), tuple(record.eqns), tuple(outvars), tuple(constants), tuple(constants.values()))

    @property
    def invars(self) -> list[Var]:
        return [x.buffer.var_in for x in self.inputs if x.buffer.var_in is not None]


class _open:  # noqa: N801 (reads as the `with` statement that it is)
    """Record on a region that was closed: its results are read after its code has run."""

    def __init__(self, record: Trace):
        self.record = record
        self.resumed = resumed(record)

    def __enter__(self) -> None:
        self.live, self.record.live = self.record.live, True
        self.resumed.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.resumed.__exit__(*error)
        self.record.live = self.live


def _input(record: Trace, prototype: Any) -> Tracer:
    is_tracer = type(prototype) is Tracer
    var = Var(prototype.aval if is_tracer else prototype, getattr(prototype.current, "hint", "") if is_tracer else "")
    record.invars.append(var)
    tracer = input_tracer(record, var, prototype)
    tracer.buffer.ambiguous = is_tracer and prototype.buffer.ambiguous
    tracer.buffer.python = None  # that of the prototype says what it is before a loop
    if not is_tracer:
        tracer.scalar = not var.aval.shape  # a row of a vector is a scalar
    if tracer.scalar is False and is_tracer:
        tracer.buffer.writeable = True if prototype.parent is None else prototype.writeable
    return tracer


def _is_written(entry: CapturedArray) -> bool:
    if entry.tracer is None or entry.tracer.scalar:
        return False
    buffer = entry.tracer.buffer
    return bool(buffer.version) and buffer.value is not entry.var


def adopt_buffer(trace: Trace, x: Tracer) -> Tracer:
    """An array of a trace around the region `trace`: the same view of the region's copy of its buffer."""
    parent = trace.parent
    assert parent is not None
    if x.buffer.trace is not parent:
        from .tracer import adopt

        x = adopt(parent, x)
    chain: list[Tracer] = []
    root = x
    while root.parent is not None:
        chain.append(root)
        root = root.parent
    buffer = root.buffer
    if root.scalar and isinstance(buffer.value, Literal):
        return from_atom(trace, buffer.value)
    entry = trace.adopted.get(id(buffer))
    if entry is None:
        entry = trace.adopted[id(buffer)] = CapturedArray(root, getattr(buffer.value, "hint", ""), lambda: root)
        entry.var = Var(buffer.aval, entry.name if entry.name.isidentifier() else "")
        entry.tracer = input_tracer(trace, entry.var, root)
        entry.tracer.buffer.writeable = buffer.writeable
        entry.tracer.buffer.ambiguous = buffer.ambiguous
        if id(buffer) not in trace.forget:
            trace.borrow(entry.var, parent, buffer.value)
    node = entry.tracer
    assert node is not None
    for view in reversed(chain):
        inner = Tracer(
            node.buffer, view.aval, node, view.op, scalar=view.scalar, strides=view._strides, writeable=view.writeable
        )
        inner.origin = view.origin
        node = inner
    return node


# ---- equations ----


def _union(arrays: Sequence[Tracer]) -> list[Tracer]:
    """Each buffer once."""
    return list({id(x.buffer): x for x in arrays}.values())


def _write_back(targets: Sequence[Tracer], results: Sequence[Tracer]) -> None:
    for target, result in zip(targets, results, strict=True):
        write(target, result)


def _emit(name: str, op: str, *operands: Any, **params: Any) -> tuple[Tracer, ...]:
    def run() -> tuple[Tracer, ...]:
        return emit(REGISTRY[name], *operands, **params)

    return require_trace().operation(op, run, (), {})


def emit_cond(
    index: Any, regions: Sequence[Region], results: Sequence[Sequence[Any]], operands: Sequence[Any] = (),
    op: str = "cond",
) -> tuple[Tracer, ...]:  # fmt: skip
    """One `cond` of the regions, which all take `operands`; `results` of each region have the same types."""
    outvars = [[region.atom(value) for value in values] for region, values in zip(regions, results, strict=True)]
    captured = _union([entry.value for region in regions for entry in region.captured])
    written = _union([x for region in regions for x in region.written])
    branches = []
    for region, atoms in zip(regions, outvars, strict=True):
        contents = {id(x.buffer): region.content(x) for x in captured}
        invars = [contents[id(x.buffer)][0] for x in captured]
        after = [contents[id(x.buffer)][1] for x in written]
        branches.append(region.close([*invars, *region.invars], [*atoms, *after]))
    # Without results, too: what a branch does may be to raise.
    does = any(branch.outvars or branch.eqns for branch in branches)
    outs = _emit("cond", op, index, *captured, *operands, branches=tuple(branches)) if does else ()
    n = len(outs) - len(written)
    _write_back(written, outs[n:])
    return outs[:n]


def _loop_state(regions: Sequence[Region]) -> list[Tracer]:
    return _union([x for region in regions for x in region.written])


def emit_while(condition: Region, body: Region, test: Any, results: Sequence[Any], init: Sequence[Any],
               op: str = "while") -> tuple[Tracer, ...]:  # fmt: skip
    """One `while`. test, results: of the condition and the body; init: the values carried at first."""
    if condition.written:
        raise TracingError("the condition of a loop writes to an array")
    test_atom = condition.atom(test)
    atoms = [body.atom(value) for value in results]
    written = _loop_state([body])
    ids = {id(x.buffer) for x in written}
    programs, consts = [], []
    for region, outs in ((condition, [test_atom]), (body, atoms)):
        constant = [x for x in _union([e.value for e in region.captured]) if id(x.buffer) not in ids]
        contents = [region.content(x) for x in written]
        invars = [*(region.content(x)[0] for x in constant), *region.invars, *(var for var, _ in contents)]
        programs.append(region.close(invars, outs if region is condition else [*outs, *(a for _, a in contents)]))
        consts.append(constant)
    outs = _emit(
        "while", op, *consts[0], *consts[1], *init, *written,
        cond_jaxpr=programs[0], cond_nconsts=len(consts[0]), body_jaxpr=programs[1], body_nconsts=len(consts[1]),
    )  # fmt: skip
    n = len(init)
    _write_back(written, outs[n:])
    return outs[:n]


def emit_scan(
    body: Region, carried: Sequence[Any], rows: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], *, length: int,
    reverse: bool = False, unroll: int = 1, op: str = "scan",
) -> tuple[tuple[Tracer, ...], tuple[Tracer, ...]]:  # fmt: skip
    """One `scan`; its carry and its stacked rows. carried, rows: results of the body, whose inputs are the carried
    values and a row of each of `xs`."""
    new_carry = [body.atom(value) for value in carried]
    new_rows = [body.atom(value) for value in rows]
    written = _loop_state([body])
    ids = {id(x.buffer) for x in written}
    constant = [x for x in _union([e.value for e in body.captured]) if id(x.buffer) not in ids]
    contents = [body.content(x) for x in written]
    inputs = body.invars
    n = len(init)
    invars = [*(body.content(x)[0] for x in constant), *inputs[:n], *(var for var, _ in contents), *inputs[n:]]
    program = body.close(invars, [*new_carry, *(a for _, a in contents), *new_rows])
    outs = _emit(
        "scan", op, *constant, *init, *written, *xs, jaxpr=program, length=length, reverse=reverse,
        num_consts=len(constant), num_carry=n + len(written), unroll=unroll,
    ) if program.outvars else ()  # fmt: skip
    n_carry = n + len(written)
    _write_back(written, outs[n:n_carry])
    return outs[:n], outs[n_carry:]


def as_index(pred: Tracer) -> Tracer:
    """A traced truth value as the index of a branch: 1 where it holds."""
    if pred.dtype.kind != "b":
        pred = pred != 0  # pyright: ignore[reportAssignmentType]  # a bool or a traced one
    return emit(REGISTRY["convert_element_type"], pred, new_dtype=np.dtype(np.int32), weak_type=False)


def aval_text(x: Tracer) -> str:
    return str(Aval(x.shape, x.dtype))
