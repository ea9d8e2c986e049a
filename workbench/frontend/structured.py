"""`wb.lax` on traced values: functions of the user's become regions, and these one equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..errors import ControlFlowTypeError
from ..ir import REGISTRY, Aval, aval_of, supported_dtype
from .diagnostics import label
from .positions import current_spans
from .recording import current_trace
from .regions import Region, as_index, emit_cond, emit_scan, emit_while
from .tracer import Tracer, emit, lift


def cond(pred: Any, true_fun: Callable, false_fun: Callable, operands: tuple) -> Any:
    index = as_index(pred) if type(pred) is Tracer else np.int32(bool(pred))
    return _choose("cond", index, (false_fun, true_fun), operands, ("false_fun", "true_fun"))


def switch(index: Any, branches: Sequence[Callable], operands: tuple) -> Any:
    n = len(branches)
    if type(index) is not Tracer:
        index = np.int32(min(max(int(index), 0), n - 1))
    else:
        i32 = np.dtype(np.int32)
        if index.dtype != i32:
            if index.dtype.itemsize > 4 or index.dtype == np.uint32:  # outside i32 it must not wrap round
                index = emit(REGISTRY["clamp"], index.dtype.type(0), index, index.dtype.type(n - 1))
            index = emit(REGISTRY["convert_element_type"], index, new_dtype=i32, weak_type=False)
        index = emit(REGISTRY["clamp"], np.int32(0), index, np.int32(n - 1))
    return _choose("switch", index, branches, operands, [f"branches[{i}]" for i in range(n)])


def _choose(op: str, index: Any, functions: Sequence[Callable], operands: tuple, names: Sequence[str]) -> Any:
    leaves, tree = _flatten(operands, op)
    regions = [Region(_on_leaves(function, tree), leaves) for function in functions]
    flat = [_flatten_result(region, f"lax.{op}: {name}") for region, name in zip(regions, names, strict=True)]
    first, first_tree = flat[0]
    results = [first]
    for (values, found), name in zip(flat[1:], names[1:], strict=True):
        if found != first_tree:
            raise _mismatch(f"lax.{op}: the functions must return the same structure", names[0], str(first_tree), name,
                            str(found))  # fmt: skip
        results.append(values)
    for column in zip(*results, strict=True):
        for value, name in zip(column, names, strict=True):
            if (value.shape, value.dtype) != (column[0].shape, column[0].dtype):
                dtype = _joint_weak_dtype(column)
                if dtype is None:
                    raise _mismatch(f"lax.{op}: the functions must return the same types", names[0],
                                    str(column[0].aval), name, str(value.aval))  # fmt: skip
    results = [
        [_converted(region, value, _joint_weak_dtype(column)) for value, column in zip(values, columns, strict=True)]
        for region, values, columns in zip(regions, results, [list(zip(*results, strict=True))] * len(regions),
                                           strict=True)
    ]  # fmt: skip
    outs = emit_cond(index, regions, results, leaves, op=op)
    return optree.tree_unflatten(first_tree, _like(outs, results[0]))


def _joint_weak_dtype(column: Sequence[Tracer]) -> np.dtype | None:
    """The dtype that Python numbers among the values give way to, None if that does not make them equal."""
    if len({v.shape for v in column}) > 1:
        return None
    strong = {v.dtype for v in column if not v.weak_type}
    dtype = strong.pop() if strong else max((v.dtype for v in column), key=lambda d: "biufc".index(d.kind))
    fits = all("biufc".index(v.dtype.kind) <= "biufc".index(dtype.kind) for v in column)
    return dtype if not strong and fits else None


def _converted(region: Region, value: Tracer, dtype: np.dtype | None) -> Tracer:
    if dtype is None or value.dtype == dtype:
        return value
    return region.run(lambda: _convert(value, dtype))


def _convert(value: Tracer, dtype: np.dtype) -> Tracer:
    return emit(REGISTRY["convert_element_type"], value, new_dtype=dtype, weak_type=False)


def _weak(value: Tracer, dtype: np.dtype) -> Tracer:
    """A traced integer as a Python int."""
    if value.dtype == dtype and value.weak_type:
        return value
    return emit(REGISTRY["convert_element_type"], value, new_dtype=dtype, weak_type=True)


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    init, tree = _flatten(init_val, "while_loop")
    body, results, init = _loop_body("while_loop", lambda *xs: body_fun(optree.tree_unflatten(tree, xs)), init, tree)
    condition = Region(_wrapping(lambda *xs: cond_fun(optree.tree_unflatten(tree, xs))), init, body.written_ids)
    test = _test(condition)
    outs = emit_while(condition, body, test, results, init, op="while_loop")
    return optree.tree_unflatten(tree, _like(outs, init))


def _test(condition: Region) -> Tracer:
    test = condition.result
    if not isinstance(test, bool | int | float | np.generic) and type(test) is not Tracer:
        raise ControlFlowTypeError(f"lax.while_loop: cond_fun must return a scalar, found {type(test).__name__}")
    value = condition.leaf(test)
    if value.shape:
        raise ControlFlowTypeError(f"lax.while_loop: cond_fun must return a scalar, found {value.aval}")
    return value if value.dtype.kind == "b" else condition.run(lambda: value != 0)


def fori_loop(lower: Any, upper: Any, body_fun: Callable, init_val: Any, unroll: int | bool | None) -> Any:
    init, tree = _flatten(init_val, "fori_loop")
    for name, bound in (("lower", lower), ("upper", upper)):
        if np.ndim(bound) or (getattr(bound, "dtype", None) or aval_of(bound).dtype).kind not in "iu":
            raise TypeError(f"lax.fori_loop: {name} must be an integer scalar")
    kind = np.dtype(np.int64)
    steps: list[Tracer] = []

    def step(i: Tracer) -> None:
        steps.append(i + 1)  # type: ignore[operator]

    if type(lower) is not Tracer and type(upper) is not Tracer:
        length = max(int(upper) - int(lower), 0)
        start = lift(int(lower))  # weak, as the Python int that it is in an eager loop
        body, results, carried = _loop_body(
            "fori_loop", lambda i, *xs: (step(i), body_fun(i, optree.tree_unflatten(tree, xs)))[1], init, tree, (start,)
        )
        n_unrolled = 1 if unroll in (None, False) else max(length, 1) if unroll is True else int(unroll)
        outs, _ = emit_scan(body, [steps[-1], *results], [], [start, *carried], [], length=length, unroll=n_unrolled,
                            op="fori_loop")  # fmt: skip
        return optree.tree_unflatten(tree, _like(outs[1:], carried))
    bounds = [_weak(x, kind) if type(x) is Tracer else lift(int(x)) for x in (lower, upper)]
    body, results, carried = _loop_body(
        "fori_loop", lambda i, end, *xs: (step(i), body_fun(i, optree.tree_unflatten(tree, xs)))[1], init, tree, bounds
    )
    state = [*bounds, *carried]
    condition = Region(lambda i, end, *xs: i < end, state)
    outs = emit_while(condition, body, condition.result, [steps[-1], body.inputs[1], *results], state, op="fori_loop")
    return optree.tree_unflatten(tree, _like(outs[2:], carried))


def _wrapping(run: Callable) -> Callable:
    """`run` of ints that wrap, as JAX's do: they are taken for short ones, which nobody checks."""

    def of_short(*inputs: Tracer) -> Any:
        for x in inputs:
            x.buffer.bits = 0
        return run(*inputs)

    return of_short


def _loop_body(op: str, run: Callable, init: list[Tracer], tree: Any, fixed: Sequence[Tracer] = ()) -> tuple:
    """The region of a loop's body, its results, and `init` with the Python numbers in it converted to the types that
    the body gives. fixed: inputs before the carried ones."""
    forget: frozenset[int] = frozenset()
    for _ in range(len(init) + 3):
        body = Region(_wrapping(run), [*fixed, *init], forget)
        results, found = _flatten_result(body, f"lax.{op}: body_fun")
        if found != tree:
            raise _mismatch(f"lax.{op}: body_fun must return the structure that it takes", "it takes", str(tree),
                            "it returns", str(found))  # fmt: skip
        if body.relies_on_written - forget:
            forget |= body.relies_on_written
            continue
        changed = False
        for k, (before, after) in enumerate(zip(init, results, strict=True)):
            if (before.shape, before.dtype) == (after.shape, after.dtype):
                if before.weak_type and not after.weak_type:
                    init[k], changed = _convert(before, after.dtype), True
                continue
            if not (before.weak_type and before.shape == after.shape and _joint_weak_dtype((before, after))):
                if after.weak_type and before.shape == after.shape and _joint_weak_dtype((before, after)):
                    results[k] = _converted(body, after, before.dtype)
                    continue
                paths = optree.tree_paths(optree.tree_unflatten(tree, list(init)))
                where = "".join(f"[{p!r}]" for p in paths[k])
                raise _mismatch(f"lax.{op}: body_fun must return the types that it takes", f"carry{where} is",
                                str(before.aval), "but becomes", str(after.aval))  # fmt: skip
            init[k], changed = _convert(before, after.dtype), True
        if not changed:
            return body, results, init
    raise ControlFlowTypeError(f"lax.{op}: the types of the carried values do not settle")


def scan(
    f: Callable, init: Any, xs: Sequence[Any], xs_tree: Any, length: int, reverse: bool, unroll: int
) -> tuple[Any, Any]:
    carry, tree = _flatten(init, "scan")
    stacks = [lift(x) for x in xs]
    n = len(carry)
    rows = [Aval(x.shape[1:], x.dtype) for x in stacks]
    trees: list[Any] = []

    def run(*values: Tracer) -> Any:
        state = optree.tree_unflatten(tree, values[:n])
        new, y = carry_and_row(f(state, optree.tree_unflatten(xs_tree, values[n : n + len(rows)])))
        ys, y_tree = optree.tree_flatten(y)
        trees.append((y_tree, ys))
        return new

    # The carried values come first among the inputs, so that rows are `fixed` at the end.
    body, results, carry = _scan_body(run, carry, tree, rows)
    y_tree, ys = trees[-1]
    values = [body.leaf(y) for y in ys]
    outs, stacked = emit_scan(
        body, results, values, carry, stacks, length=length, reverse=reverse, unroll=unroll, op="scan"
    )
    for y in stacked:
        y.scalar = False
    return optree.tree_unflatten(tree, _like(outs, carry)), optree.tree_unflatten(y_tree, list(stacked))


def _scan_body(run: Callable, carry: list[Tracer], tree: Any, rows: Sequence[Aval]) -> tuple:
    n = len(carry)

    def reordered(*values: Tracer) -> Any:
        return run(*values[len(rows) :], *values[: len(rows)])

    body, results, carry = _loop_body("scan", reordered, carry, tree, rows)  # type: ignore[arg-type]  # avals are prototypes too
    body.inputs = (*body.inputs[len(rows) :], *body.inputs[: len(rows)])
    assert len(body.inputs) == n + len(rows)
    return body, results, carry


def empty_rows(f: Callable, init: Any, xs: Sequence[Any], xs_tree: Any) -> Any:
    """The rows of a scan of length 0, whose types only tracing tells."""
    from .trace import trace

    def first(carry: Any, *rows: Any) -> Any:
        return f(carry, optree.tree_unflatten(xs_tree, rows))[1]

    samples = [np.zeros(x.shape[1:], x.dtype) for x in xs]
    with_rows = trace(first, (init, *samples), {}, strict=True, effects_happen=True)
    empty = [np.empty((0, *a.shape), a.dtype) for a in with_rows.jaxpr.out_avals[: len(with_rows.out_leaves)]]
    return empty[0] if with_rows.out_tree is None else optree.tree_unflatten(with_rows.out_tree, empty)


# ---- pytrees and types ----


def _flatten(value: Any, op: str) -> tuple[list[Tracer], Any]:
    leaves, tree = optree.tree_flatten(value)
    return [_leaf(x, f"lax.{op}") for x in leaves], tree


def _leaf(value: Any, what: str) -> Tracer:
    if type(value) is not Tracer:
        if not isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
            raise ControlFlowTypeError(f"{what}: {type(value).__name__} is not an array or a number")
        if isinstance(value, np.ndarray | np.generic) and not supported_dtype(value.dtype):
            raise ControlFlowTypeError(f"{what}: arrays of dtype {value.dtype} cannot be traced")
    return lift(value)


def _flatten_result(region: Region, what: str) -> tuple[list[Tracer], Any]:
    leaves, tree = optree.tree_flatten(region.result)
    return [region.run(lambda x=x: _leaf(x, what)) for x in leaves], tree


def _on_leaves(function: Callable, tree: Any) -> Callable:
    return lambda *leaves: function(*optree.tree_unflatten(tree, leaves))


def _like(outs: Sequence[Tracer], models: Sequence[Tracer]) -> list[Tracer]:
    """0-d arrays stay arrays, as the models are."""
    for out, model in zip(outs, models, strict=True):
        out.scalar = model.scalar
    return list(outs)


def carry_and_row(result: Any) -> tuple[Any, Any]:
    """What the body of a scan returns, checked."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ControlFlowTypeError(f"lax.scan: f must return a pair (carry, y), found {type(result).__name__}")
    return result


def _mismatch(title: str, left: str, found: str, right: str, other: str) -> ControlFlowTypeError:
    trace = current_trace()
    spans = current_spans(2, trace.entry if trace else None)
    span = spans[0] if spans else None
    where = f"\n   at {label(span)}" if span is not None else ""
    width = max(len(left), len(right))
    text = f"WB180  {title}.\n\n   {left:<{width}}  {found}\n   {right:<{width}}  {other}{where}"
    fixes = ("convert the results to one type with .astype(...), np.float64(...)",)
    return ControlFlowTypeError(f"{text}\n   Fix  {fixes[0]}", span=span, fixes=fixes)


__all__ = ["carry_and_row", "cond", "empty_rows", "fori_loop", "scan", "switch", "while_loop"]
