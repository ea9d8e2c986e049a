"""Errors of tracing in the user's words: what in the line cannot be done, where its value came from, what to do.

Each function builds one family of UX errors, or gives the value where it is known while tracing after all. Where plain
NumPy would fail too, NumPy's own error is raised unchanged.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    SideEffectError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerHashError,
    TracerIntegerConversionError,
    TracingError,
    UnexpectedTracerError,
    UnsupportedOperationError,
)
from ..ir import Equation, Literal, Span, Var, short_dtype_name
from .positions import current_spans, is_users_own, raised_at
from .recording import Trace, current_trace
from .tracer import Tracer, known_value, type_name

_MAX_PROVENANCE = 4  # steps shown before the inputs
_MAX_WIDTH = 100  # characters of a source line that are shown

PLACED_APART = "WB608"
_labels: dict[str, str] = {}


def set_label(filename: str, label: str) -> None:
    """Call the source `filename` by `label` in messages: `In[7]` for a cell."""
    _labels[filename] = label


def label(span: Span) -> str:
    """`In[7]:5`, `solver.py:12`."""
    return f"{source_label(span.filename)}:{span.line}"


def source_label(filename: str) -> str:
    """`In[7]`, `solver.py`."""
    return _labels.get(filename) or os.path.basename(filename)


def source_text(span: Span | None) -> str:
    """The source of `span` on one line, or ""."""
    if span is None:
        return ""
    lines = linecache.getlines(span.filename)[span.line - 1 : span.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col] if span.line != span.end_line else lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    return " ".join(line.strip() for line in lines)


# ---- the frame of a message ----


def build(
    cls: type[TracingError], title: str, essence: str, *, code: str = "", value: Any = None, note: str = "",
    fixes: Sequence[str] = (), span: Span | None = None,
) -> TracingError:  # fmt: skip
    """An error in the form of every message: title, line with caret and provenance, fixes, essence.

    title: what cannot be done, `{line}` and `{name}` are filled in; value: the traced value in question; note: what
    stands beside the caret, by default the value's provenance; fixes: `{expr}`, `{name}` are the user's text.
    """
    trace = current_trace()
    if span is None:
        spans = current_spans(2, trace.entry if trace else None)
        span = spans[0] if spans else None
    expr = source_text(span)
    name = name_of(value) or _short(_made_by(value)) or _short(expr) or "this value"
    origin = provenance(value)
    code = code or cls.code
    words = {"line": f"Line {span.line}" if span else "This code", "name": f"`{name}`", "expr": expr or name}
    text = [f"{code}  {_fill(title, words)}"]
    where = label(span) if span else ""
    if span is not None and expr:
        text += ["", *_caret(span, note or _describe(value, origin))]
    elif note or origin:
        text += ["", f"   {note or origin}"]
    words["name"] = name
    filled = tuple(_fill(fix, words) for fix in fixes)
    for i, fix in enumerate(filled):
        text.append(f"   {'Fix ' if i == 0 else '    '} {f'{i + 1}. ' if len(filled) > 1 else ''}{fix}")
    text.append(f"   {cls.__name__} {code}{f' at {where}' if where else ''}: {essence}")
    error = cls(
        "\n".join(text), code=code, span=span, value=name_of(value) or expr, provenance=origin, fixes=filled
    )  # fmt: skip
    if type(value) is Tracer and value.parent is None and trace is not None and not trace.strict:
        error.of_numbers = value.buffer.trace.rests_on_floats(value.buffer.value)
    if trace is not None and not trace.op and trace.failure is None:  # inside an operation, a rule may handle it
        trace.failure = error
    return error


def _fill(text: str, words: dict[str, str]) -> str:
    for key, word in words.items():
        text = text.replace("{" + key + "}", word)
    return text


def _caret(span: Span, note: str) -> list[str]:
    line = linecache.getline(span.filename, span.line).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    head = f"   {label(span)}      "
    end = span.end_col if span.end_line == span.line else len(line)
    shown = line[indent:]
    start, length = max(span.col - indent, 0), max(end - span.col, 1)
    if start + length > _MAX_WIDTH:  # keep the sub-expression in sight
        cut = min(start, max(0, start + length - _MAX_WIDTH))
        shown, start = "…" + shown[cut:], start - cut + 1
    shown = shown[: _MAX_WIDTH + 20]
    length = min(length, max(len(shown) - start, 1))
    return [f"{head}{shown}", f"{' ' * (len(head) + start)}{'~' * length}   {note}".rstrip()]


def _describe(value: Any, origin: str) -> str:
    if type(value) is not Tracer:
        return origin
    dtype = value.dtype.name if not value.shape else f"{short_dtype_name(value.dtype)}{list(value.shape)}"
    return f"{dtype}, {origin}" if origin else dtype


def _made_by(value: Any) -> str:
    """The user's expression that computed a traced value, or ""."""
    if type(value) is not Tracer or not isinstance(value.current, Var):
        return ""
    var = value.current
    eqn = next((e for e in reversed(value.buffer.trace.eqns) if var in e.outvars), None)
    return source_text(eqn.origin.span) if eqn is not None else ""


# ---- provenance, by the user's names ----


def name_of(value: Any) -> str:
    """The user's name for a traced value, or ""."""
    return _hint(value.current) if type(value) is Tracer else ""


def _hint(atom: Any) -> str:
    return atom.hint if isinstance(atom, Var) else ""


def provenance(value: Any) -> str:
    """`from err = |r|.max() (line 4) ← r ← A, x, b`: back to the inputs by the user's names."""
    if type(value) is not Tracer:
        return ""
    trace: Trace = value.buffer.trace
    makers = {var: eqn for eqn in trace.eqns for var in eqn.outvars}
    order = {var: i for i, var in enumerate((*trace.invars, *makers))}
    atom = value.current
    if isinstance(atom, Literal):
        return ""
    steps: list[str] = []
    if atom not in makers:
        return f"the input {_hint(atom)}" if _hint(atom) else ""
    frontier = [atom] if _hint(atom) else _named_ancestors([atom], makers)
    while frontier and len(steps) < _MAX_PROVENANCE and any(v in makers for v in frontier):
        names = ", ".join(dict.fromkeys(_hint(v) for v in frontier if _hint(v)))
        eqn = makers.get(frontier[0])
        if not steps and len(frontier) == 1 and eqn is not None and eqn.origin.span is not None:
            names += _made_where(eqn, eqn.origin.span)
        if names:
            steps.append(names)
        frontier = _named_ancestors(frontier, makers)
    inputs = sorted((v for v in frontier if v not in makers), key=lambda v: order.get(v, len(order)))
    if inputs:
        steps.append(", ".join(dict.fromkeys(_hint(v) or "an input" for v in inputs)))
    return f"from {' ← '.join(steps)}" if steps else ""


def _made_where(eqn: Equation, span: Span) -> str:
    what = {"while": "loop", "scan": "loop", "loop": "loop", "cond": "branch"}.get(eqn.primitive.name)
    if what is not None:  # whose text is its iterable or test
        return f" of the {what} in line {span.line}"
    return f" = {_short(source_text(span))} (line {span.line})"


def _named_ancestors(start: list[Var], makers: dict[Var, Equation]) -> list[Var]:
    """The nearest variables above `start` that the user has named, or that are inputs."""
    found: dict[Var, None] = {}
    seen: set[Var] = set(start)
    pending = list(start)
    while pending:
        eqn = makers.get(pending.pop())
        for atom in eqn.invars if eqn is not None else ():
            if isinstance(atom, Var) and atom not in seen:
                seen.add(atom)
                if atom.hint or atom not in makers:
                    found[atom] = None
                else:
                    pending.append(atom)
    return list(found)


def _short(text: str, width: int = 40) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


# ---- Python asks for a value ----


def _like(x: Tracer) -> np.ndarray:
    """An array of the same shape and dtype, without memory, to ask NumPy for its own error."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def bool_value(x: Tracer) -> bool:
    """`bool(x)`: the value if it is known while tracing, NumPy's error if NumPy has one, else WB101."""
    if x.size != 1:
        return bool(_like(x))
    value = known_value(x)
    if value is not None:
        return bool(value.reshape(()))
    raise build(
        TracerBoolConversionError,
        "{line} must choose a branch, but {name} is only known when the kernel runs.",
        "branch on a value that is computed in this program",
        value=x,
        fixes=(
            "both sides are array formulas:   np.where({expr}, a, b)",
            "keep it a branch:                wb.lax.cond({expr}, lambda: a, lambda: b)",
        ),
    )


_CONVERSIONS: dict[str, tuple[Callable, type[TracingError], str]] = {
    "int": (int, TracerIntegerConversionError, "int() of"),
    "index": (int, TracerIntegerConversionError, "an integer from"),
    "round": (round, TracerIntegerConversionError, "round() of"),
    "float": (float, TracerArrayConversionError, "float() of"),
    "complex": (complex, TracerArrayConversionError, "complex() of"),
    "item": (lambda v: v, TracerArrayConversionError, "item() of"),
}
# Operations that take sizes: an integer asked for inside them is a shape (PARITY J9).
_SHAPED = frozenset((
    "reshape", "zeros", "ones", "empty", "full", "arange", "eye", "identity", "broadcast_to", "tile", "repeat",
    "resize", "linspace", "tri", "indices",
))  # fmt: skip


def scalar_value(x: Tracer, kind: str) -> Any:
    """The NumPy scalar behind `x` where it is known while tracing; NumPy's error, or the error of `kind`, else."""
    convert, cls, what = _CONVERSIONS[kind]
    if kind == "index" and x.scalar and x.aval.weak_type and x.dtype == bool:  # Python's True is an index, 1
        known = known_value(x)
        if known is not None:
            return int(known)
    elif kind == "index":
        if x.scalar and x.dtype.kind not in "iu":
            check_index_is_one(x)
            raise TypeError(f"'{type_name(x)}' object cannot be interpreted as an integer")
        if x.ndim or x.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
    elif x.size != 1:
        convert(_like(x))
    value = known_value(x)
    if value is not None:
        return value.reshape(())[()]
    trace = current_trace()
    if kind == "index" and trace is not None and trace.op in _SHAPED:
        raise traced_shape(x)
    fixes = {
        TracerIntegerConversionError: (
            "a size or a shape:       compute it from x.shape, which is known (np.prod(x.shape), len(x))",
            "an argument of yours:    pass it as a Python int, or name it in static_argnames",
            "an element's position:   index with the array itself:  a[{name}]",
        ),
        TracerArrayConversionError: (
            "stay in NumPy:           np.sqrt, np.exp ... instead of math.sqrt, math.exp; leave out float()",
            "an argument of yours:    wb.djit keeps Python numbers as they are",
        ),
    }[cls]
    raise build(
        cls, f"{{line}} needs {what} {{name}} while tracing, but it is only known when the kernel runs.",
        f"{what} a traced value", value=x, fixes=fixes,
    )  # fmt: skip


def traced_shape(x: Tracer) -> TracingError:
    """A shape or size that is computed from traced values: a TypeError that shows the cure (PARITY J9)."""
    return build(
        TracerIntegerConversionError,
        "{line} asks for a shape that is computed from {name}, a traced value; shapes must be known while tracing.",
        "Shapes must be 1D sequences of concrete values of integer type, got a traced value",
        value=x,
        fixes=(
            "x.reshape(np.prod(x.shape)): x.shape holds plain ints, and np.prod of plain ints is one",
            "an argument of yours: pass it as a Python int, or name it in static_argnames",
        ),
    )


def printed_value(x: Tracer) -> Any:
    """What `str(x)` prints, where it is known while tracing: a Python number, a NumPy scalar or an array."""
    value = known_value(x)
    if value is None:
        error = build(
            TracerArrayConversionError,
            "{line} needs the text of {name} while tracing, but it is only known when the kernel runs.",
            "the text of a traced value",
            value=x,
            fixes=("make the text from what the compiled code returns",),
        )
        error.says = "text"
        raise error
    if not x.scalar:
        return value
    return value.item() if x.__class__ in (bool, int, float, complex) else value.reshape(())[()]


def array_value(x: Tracer) -> np.ndarray:
    """`np.asarray(x)`: the numbers, where they are known while tracing."""
    value = known_value(x)
    if value is not None:
        return value
    raise build(
        TracerArrayConversionError,
        "{line} hands {name} to code that needs its numbers, but they are only known when the kernel runs.",
        "the numbers of a traced array",
        value=x,
        fixes=("keep to NumPy's functions and array methods here, or move this line out of the compiled code",),
    )


def hash_value(x: Tracer) -> int:
    if not x.scalar:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    value = known_value(x)
    if value is not None:
        return hash(value[()])
    raise build(
        TracerHashError,
        "{line} uses {name} as a key, but it is only known when the kernel runs.",
        "hash of a traced value",
        value=x,
        fixes=(
            "a loop's own dictionary: let its keys be of one type, and give it no second name",
            "elsewhere:               collect the values in a list, and make the dict or set of it afterwards",
            "an argument of yours:    name it in static_argnames",
        ),
    )


# ---- what cannot be traced ----


def unknown_attribute(x: Tracer, name: str) -> Exception:
    """`x.name` that no table knows."""
    sample = x.__class__
    if name.startswith("__") or not hasattr(sample, name):
        return AttributeError(f"'{type_name(x)}' object has no attribute '{name}'")
    error = unsupported(f"ndarray.{name}", value=x)
    # getattr(x, name, default) and hasattr must see what NumPy would show, so this is no AttributeError.
    return error


def unsupported(
    what: str, *, value: Any = None, why: str = "", fixes: Sequence[str] = (), code: str = "", verb: str = "uses"
) -> UnsupportedOperationError:
    """WB120: an operation that cannot be compiled (yet). verb: what the code does with `what`."""
    error = build(
        UnsupportedOperationError,
        f"{{line}} {verb} {what}, which cannot be compiled{f': {why}' if why else ' (yet)'}.",
        f"{what} is not supported" if verb == "uses" else f"the code {verb} {what}",
        code=code,
        value=value,
        fixes=fixes or ("leave this line outside the compiled code; the rest compiles without it",),
    )
    assert isinstance(error, UnsupportedOperationError)
    return error


def check_index_is_one(x: Tracer) -> None:
    """Before NumPy's error that `x`, which is no integer, is no index: on some path it may be one."""
    if int in x.buffer.mixed:
        raise unsupported("an index that is an integer on one path alone", verb="takes")


def raised_in_a_trace(error: BaseException) -> TracingError | None:
    """What to say of an error of the traced code's own that NumPy does not raise. None if it came out of the workbench
    or of NumPy."""
    span = raised_at(error.__traceback__)
    if span is None or not is_users_own(error):
        return None
    what = f"{type(error).__name__} ({_short(str(error), 80)})"
    return build(
        ConcretizationTypeError,
        f"{{line}} raises {what} while it is traced, but not in NumPy: it depends on what is only known when it runs.",
        f"{type(error).__name__} in the trace alone", span=span,
    )  # fmt: skip


def untraceable_function(func: Callable, args: Any, kwargs: Any) -> Any:
    """A NumPy function that no table knows: its value if every argument is known while tracing, else WB120."""
    arguments = _concrete((tuple(args), dict(kwargs)))
    if arguments is not None and "out" not in kwargs:
        return as_constants(func(*arguments[0], **arguments[1]))
    module = getattr(func, "__module__", "") or "numpy"
    name = getattr(func, "__name__", str(func))
    raise unsupported(f"{'np' + module[5:] if module.startswith('numpy') else module}.{name}")


def _concrete(value: Any) -> Any:
    """`value` with known tracers replaced by their arrays; None if one is not known."""
    if type(value) is Tracer:
        known = known_value(value)
        return None if known is None else (known[()] if value.scalar else known.copy())
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        items = [_concrete(v) for v in value]
        bad = any(item is None and v is not None for item, v in zip(items, value, strict=True))
        return None if bad else type(value)(items)
    if type(value) is dict:
        items = {k: _concrete(v) for k, v in value.items()}
        return None if any(items[k] is None and v is not None for k, v in value.items()) else items
    return value


def as_constants(value: Any) -> Any:
    """What a function has given while tracing, its arrays as constants of the program, which may be written to."""
    if isinstance(value, np.ndarray):
        return _constant_array(value) if value.dtype.kind in "biufc" else value
    make = getattr(value, "_make", None)
    if isinstance(value, tuple) and make is not None:
        return make([as_constants(v) for v in value])
    if isinstance(value, list | tuple):
        items = [as_constants(v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _constant_array(value: np.ndarray) -> Any:
    from .numpy_api.operands import full
    from .tracer import lift

    if value.size > 16 and value.flags.c_contiguous:
        first = value[(0,) * value.ndim]
        if value.tobytes() == first.tobytes() * value.size:  # zeros, say: a program holds one
            return full(value.shape, first)
    return lift(value)


def unsupported_dtype(dtype: np.dtype, what: str = "an array") -> UnsupportedOperationError:
    error = build(
        UnsupportedOperationError,
        f"{{line}} uses {what} of dtype {dtype}, which cannot be compiled.",
        f"dtype {dtype} is not supported",
        code="WB121",
        fixes=("bool, integer, float32/64 and complex64/128 arrays compile; convert with .astype(...) before",),
    )
    assert isinstance(error, UnsupportedOperationError)
    return error


def data_dependent_shape(
    x: Any, what: str, fixes: Sequence[str] = (), span: Span | None = None
) -> NonConcreteBooleanIndexError:
    """WB110: a result whose shape depends on the numbers in `x`."""
    error = build(
        NonConcreteBooleanIndexError,
        f"{{line}} makes {what}, whose size depends on the numbers in {{name}}.",
        f"the shape of {what} depends on data",
        value=x,
        span=span,
        fixes=fixes or (
            "reduce it, or assign it back:       a[mask].sum(), a[mask] = f(a[mask])",
            "keep the shape:                     np.where(mask, a, 0)",
        ),
    )  # fmt: skip
    assert isinstance(error, NonConcreteBooleanIndexError)
    return error


RANDOM = "random numbers must be drawn at every run"
DRAWN = (
    "draw them before the compiled code, or one by one in a loop, which compiles whole",
    "let the program make them:   wb.random.normal(key, shape)",
)


def side_effect(what: str, why: str, fixes: Sequence[str] = (), says: str = "") -> TracingError:
    """WB160: something besides arrays that must happen at every run. "{line} {what}; {why}". says: see the error."""
    error = build(
        SideEffectError, f"{{line}} {what}; {why}.", "a side effect",
        fixes=fixes or (DRAWN if why == RANDOM else ("leave it outside the compiled code",)),
    )  # fmt: skip
    error.says = says
    return error


def placed_apart(device: str) -> TracingError:
    """WB608: a block of the code has a device of its own."""
    return build(
        TracingError, f"{{line}} puts what is in its block on {device}, and the rest stays where it is: each side is "
        "compiled by itself.", f"a block has the device {device}", code=PLACED_APART,
        fixes=(f"device={device!r} for all of it, if nothing has to run elsewhere",),
    )  # fmt: skip


def too_many_items(x: Tracer) -> TracingError:
    """WB185: a list of an array's elements, each of which would be a result of its own."""
    return build(
        TracingError, f"{{line}} makes a list of the {x.size:,} elements of {{name}}, each an operation of its own.",
        "a list of very many elements", value=x, code="WB185",
        fixes=("compute with the array itself", "a loop over it compiles:    for v in {name}: ..."),
    )  # fmt: skip


def leaked(x: Tracer | None) -> UnexpectedTracerError:
    """WB130: a traced array that outlived its trace."""
    made = ""
    if x is not None:
        trace = x.buffer.trace
        atom = x.current if x.parent is None or x._version == x.buffer.version else x.buffer.value
        eqn = next((e for e in reversed(trace.eqns) if atom in e.outvars), None)
        span = eqn.origin.span if eqn is not None else None
        where = f" as `{_short(source_text(span))}` at {label(span)}" if span is not None else " as an argument"
        made = f" It was made{where}" + (f" while `{trace.name}` was traced." if trace.name else ".")
    error = build(
        UnexpectedTracerError,
        f"{{line}} uses a traced array after the trace that made it has ended.{made}",
        "a traced array was kept in a global, an attribute or a closure",
        value=None,
        fixes=("return the array from the compiled function instead of storing it",),
    )
    assert isinstance(error, UnexpectedTracerError)
    return error


EXPLANATIONS: dict[str, str] = {
    "WB100": """The code asked for the value of an array while it was being traced.
Tracing runs your Python once with stand-ins that know a shape and a dtype, but no numbers yet. What needs the numbers
(a branch, a loop count, an index, a conversion to a Python number) cannot be decided then.
  if x.max() > 1: x = x / x.max()          ->  x = np.where(x.max() > 1, x / x.max(), x)
  n = int(mask.sum())                      ->  compute n in the cell before: it is then a constant of this cell""",
    "WB101": """A branch depends on a value that is only known when the kernel runs.
`if`, `while`, `and`, `or` and `not` need a Python bool now. Choose between arrays instead of between statements:
  if err > tol: x = x_new                  ->  x = np.where(err > tol, x_new, x)
  ok = (a > 0) and (b > 0)                 ->  ok = (a > 0) & (b > 0)""",
    "WB102": """A Python integer was asked from a traced value: for `range`, a shape or a list index.
Shapes are part of the compiled program. `x.shape` itself is known while tracing, and arithmetic on it stays known:
  y = x.reshape(np.array(x.shape).prod())  ->  y = x.reshape(np.prod(x.shape))
  for i in range(n): ...  # n is traced    ->  n = 10 in the cell before; or a formula over np.arange(10)""",
    "WB103": """Code outside NumPy asked for the numbers of a traced array (`float(x)`, a plot, a text).
  label = f"{x.mean():.2f}"                ->  make it in the next cell, where x is an ordinary array
  total = float(x.sum())                   ->  total = x.sum()""",
    "WB110": """A shape depends on the data: a boolean mask as an index, `np.nonzero`, `np.unique`.
How many elements there are is only known when the kernel runs; its arrays must have their sizes before. Elements that
are reduced, or assigned back under the same mask, need no array: x[x > 0].sum() and x[x < 0] *= 2 compile.
  y = np.sort(x[x > 0])                    ->  y = np.sort(np.where(x > 0, x, np.inf))
  kept = x[x > 0]                          ->  kept = np.where(x > 0, x, 0)""",
    "WB120": """An operation, a keyword or a dtype has no compiled form yet; the cell runs in NumPy.
The report shows the line. Moving that line to a cell of its own lets the rest compile.""",
    "WB121": """An array of a kind that is not compiled: of objects, strings, dates or half floats, or a subclass.
bool, all integers, float32, float64, complex64 and complex128 in native byte order are.
  a = np.array([1, 2.5], dtype=object)     ->  a = np.array([1, 2.5])
  h = h.astype(np.float16)                 ->  h = h.astype(np.float32)""",
    "WB122": """The code returns, or leaves under a name, an object that cannot be built anew at each run.
Arrays, numbers, strings, functions, objects of your classes, and lists, tuples and dicts of them can.
  pairs = zip(y, z)                        ->  pairs = list(zip(y, z))""",
    "WB130": """A traced array was used after the trace that made it had ended.
It was stored where the trace cannot see it, such as in a module, and then used. Return it instead:
  def step(x): keeper.value = x; return x  ->  def step(x): return x, x""",
    "WB131": """A function or class that is kept holds a traced array in its closure or defaults.
  def f(t): return t * scale  # of the cell ->  def f(t, scale): return t * scale""",
    "WB140": """A static argument must be hashable: compiled programs are looked up by it.
  f(x, [3, 4])                             ->  f(x, (3, 4))""",
    "WB150": """`jit_scope` only means something inside a traced function or a `%%jit` cell.
  with wb.jit_scope(): y = f(x)            ->  @wb.jit
                                               def g(x):
                                                   with wb.jit_scope():
                                                       return f(x)""",
    "WB160": """A line has an effect that must happen each time the cell runs.
Tracing runs Python once; a cached cell does not run Python at all. So a cell that prints, takes items from a list from
outside, draws random numbers without a seed, reads a file, or calls code whose effects cannot be seen, runs in NumPy.
What objects, dicts and lists from outside are given, and what is appended to lists, each run gives them.
  print(loss)                              ->  in the next cell, or in a loop, which prints when it has ended (WB161)
  noise = rng.normal(size=n)               ->  in the cell before
  history.pop()                            ->  in the next cell""",
    "WB161": """A loop prints; it ran compiled, and the text appeared when it had ended.
The values are kept while the loop runs, and `print` is called for them afterwards, in the same order. A loop that
prints what only Python can make (objects, sets, `print(*items)`, text that another function returns), or that prints to
a file, is Python's, and prints as it goes.""",
    "WB180": """The branches or loop bodies of a `wb.lax` operation disagree about the types of their results.
A compiled branch has one type on both sides, and a loop carries the type that it began with.
  cond(p, lambda: 0, lambda: x)            ->  cond(p, lambda: np.zeros_like(x), lambda: x)
  fori_loop(0, 9, body, 0)  # adds floats  ->  fori_loop(0, 9, body, 0.0)""",
    "WB181": """A variable has one type on one path through a branch or loop, and another one elsewhere.
Which path is taken is only known when the kernel runs; types and shapes are fixed before. Such code runs in NumPy.
None, words and members of enums in place of a number or array compile: the numbers decide which it is.
  if c: y = x[1:]                          ->  y = np.where(c, ..., ...), of one shape
  while x.sum() < 9: x = np.append(x, 1)   ->  an array as long as it may get, and a count of what is in it
A number may also be Python's on one path and NumPy's on another, which promote differently beside float32 or int8:
  s = 0.5 if x[0] > 1 else x[0]            ->  s = np.float64(0.5) if x[0] > 1 else x[0]""",
    "WB182": """A set changes inside a branch or loop on traced values, or a list that others know, too.
The body is traced once, while the change must happen as often as the loop runs. Such code runs in NumPy. Values that
objects, dicts and lists hold may change, if their types do not; a list may grow by numbers, arrays of one shape, or
tuples of them, and a dict or set by keys of one type, if it has but one name or place.
  while err > tol: seen.add("small"); err /= 2  ->  n_seen = 1; err /= 2, a number of its own""",
    "WB183": """The body of a loop on traced values raises, whatever the numbers are; or a line, after one that may.
Whether the program comes there at all is only known when the kernel runs. Such code runs in NumPy. A `raise` in a
branch, and an `assert`, compile: they are checked when the call runs (WB351).
  while err > tol: step(x, y)  # no such argument  ->  what Python says of that line is the mistake""",
    "WB184": """A loop writes into an array and also gives its name to another array, or the array another name.
Which array the write changes then differs from one iteration to the next. Such code runs in NumPy.
  x[0] = 1; x = np.unwrap(x + y)           ->  x[0] = 1; x[...] = np.unwrap(x + y)""",
    "WB185": """The program would have very many equations: of a loop that is written out, a long list, or recursion.
Compiling it would take longer than it can save. Such code runs in NumPy.
  items = x.tolist()                       ->  in the next cell; or compute with x, or with a loop over it
  def fft(x): ... fft(x[::2]) ...          ->  a loop over the stages, on whole arrays
  while len(todo): ... todo.pop() ...      ->  for i in range(n): ..., on arrays""",
    "WB186": """A loop over numbers of Python's, without arrays, took long while the code was traced.
It becomes a part of its own: compiled whole, where it can be, and else run by Python, which is faster than a trace.""",
    "WB340": """A loop over single elements is compiled whole, as one step.
Its equations would be one scalar operation each. It runs as fast as a loop in C, on one thread, and joins no kernel.
  for i in range(1, n): y[i] = a * y[i - 1] + x[i]     a recurrence: nothing to change
  for i in range(n): y[i] = a * x[i] + b            ->  y = a * x + b, which fuses and uses all threads""",
    "WB350": """A compiled loop came upon something that only Python can go on with, and the call ran in NumPy.
It raised (an index out of bounds, a division by zero of Python numbers, a failed assert), or a Python integer grew
past 64 bits. Nothing had been changed; NumPy ran everything from the start and raised what it raises.
  s = 1; s = s * k             ->  s = np.int64(1), which wraps as NumPy's integers do""",
    "WB351": """An `assert` failed, or a branch or routine raised (a singular matrix), and the call ran in NumPy.
Or code computed with what may be None, and was. Such lines compile to a check. Nothing has been changed when it fails;
NumPy then runs everything from the start, and raises what the line raises. A check that passes costs a microsecond.
  if x.min() < 0: raise ValueError(...)    compiles; as long as it does not raise, nothing to change""",
    "WB170": """The code writes into an array while another of its inputs is a view of the same memory, or some of its
own elements share theirs. What is read before and after the write is for NumPy to keep in order, and so it runs there.
  x[1:] += y  # y is a view of x           ->  x[1:] += y.copy()""",
}


def explain(code: str) -> str:
    """What an error code means and what to do, with examples. KeyError for an unknown code."""
    return EXPLANATIONS[code.upper()]
