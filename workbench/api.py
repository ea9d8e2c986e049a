"""The public face: jit, djit, xpr, make_jaxpr, explain. Thin; the rooms do the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from .frontend.held import Snapshot
from .frontend.scopes import jit_scope, running_in_numpy
from .frontend.trace import present_arguments, trace
from .ir import Jaxpr
from .runtime.compilation import Compilation
from .runtime.devices import device
from .runtime.dispatch import CompiledFunction
from .runtime.hooks import on_show_graph
from .runtime.limits import machine_limits
from .runtime.parts.functions import RESULT
from .runtime.parts.untraced import UntracedFunction
from .runtime.specialisation import Fallback

# Reports are imported when one is made: a program that only computes starts without them.
if TYPE_CHECKING:
    from .report import CompileReport

Function = Callable[..., Any]
# `explain` repeats a run until here, so that medians mean something.
EXPLAIN_RUNS = 9
EXPLAIN_SECONDS = 0.5


def jit(
    func: Function | None = None,
    static: bool = True,
    show_graph: bool = False,
    auto_device: bool = True,
    *,
    static_argnums: int | Collection[int] | None = None,
    static_argnames: str | Collection[str] | None = None,
    strict: bool | None = None,
    device: str | None = None,
    fast: bool = False,
) -> Any:
    """Compile `func`, which is written in plain NumPy, for the types of the arguments that it is called with.

    Works as `jit(f)`, `@jit` and `@jit(static_argnums=...)`. Arrays and floats are traced; ints, bools, strings, None,
    functions and other objects are compile-time constants, and a new value compiles again.

    Parameters
    ----------
    static : False makes it `djit`.
    show_graph : show the cluster graph when a version is compiled.
    auto_device : where no device was chosen, run on the GPU if there is one, and move inputs there.
    static_argnums, static_argnames : arguments to treat as compile-time constants; they must be hashable.
    strict : raise where tracing is impossible (default: `config.strict`); otherwise the function then runs as one loop
        of machine code, in parts or in NumPy, whichever calls find to be the fastest.
    device : where it runs: "cpu", "cuda", "cuda:1", "cuda-sim" or "numpy". By default `with wb.device(...)` decides,
        then `config.device`, then `auto_device`. Results are ndarrays, unless an argument was an array of a GPU.
    fast : kernels may contract `a * b + c` to one rounding, reorder sums and products, and multiply by reciprocals
        instead of dividing, as with numba's `fastmath`: results may differ from NumPy's in the last bits, and zeros in
        sign. NaN and inf stay what they are, elementary functions keep their bounds.

    Raises what `func` raises in NumPy: arguments, captured arrays and attributes then hold what NumPy leaves there.
    A `TracingError` (strict mode) has changed nothing.

    >>> import numpy as np
    >>> @jit
    ... def sum_squared_error(a, b):
    ...     return np.sum((a - b) ** 2)
    >>> float(sum_squared_error(np.arange(3.0), np.ones(3)))
    2.0
    """
    if func is None:
        return lambda f: jit(
            f, static, show_graph, auto_device, static_argnums=static_argnums, static_argnames=static_argnames,
            strict=strict, device=device, fast=fast,
        )  # fmt: skip
    return CompiledFunction(
        func,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        keep_python_scalars=not static,
        show_graph=show_graph,
        strict=strict,
        device=device,
        auto_device=auto_device,
        fast=fast,
    )


def djit(func: Function | None = None, show_graph: bool = False, auto_device: bool = True) -> Any:
    """As `jit`, but Python scalars stay Python scalars, so that `if` on them works; a new value traces again and
    finds its kernels compiled."""
    return jit(func, False, show_graph, auto_device)


def make_jaxpr(fun: Function, static_argnums: int | Collection[int] | None = None) -> Callable[..., Jaxpr]:
    """A function that returns the program of `fun` for given arguments, as traced: `print(make_jaxpr(f)(x, y))`.

    Raises a TracingError where `jit` would run `fun` in NumPy, except for side effects: these happen, as in JAX.
    """

    def traced(*args: Any, **kwargs: Any) -> Jaxpr:
        compiled = fun if isinstance(fun, CompiledFunction) else CompiledFunction(fun, static_argnums=static_argnums)
        return trace(
            compiled.fn, args, kwargs, static_argnums=compiled.static.numbers, static_argnames=compiled.static.names,
            strict=True, effects_happen=True, name=compiled.name, converts=not compiled.is_strict,
        ).jaxpr  # fmt: skip

    return traced


class Xpr(str):
    """A printed program; in a notebook it shows as a preformatted block."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import html

        return f"<pre class='workbench-xpr'>{html.escape(self)}</pre>"


def xpr(fn: Function, *primals: Any) -> str:
    """The program of `fn` for `primals` (any pytrees), printed as JAX prints a jaxpr.

    >>> print(xpr(lambda a, b: ((a - b) ** 2).sum(), np.ones(3, "f4"), np.ones(3, "f4")))
    { lambda ; a:f32[3] b:f32[3]. let
        c:f32[3] = sub a b
        d:f32[3] = integer_pow[y=2] c
        e:f32[] = reduce_sum[axes=(0,)] d
      in (e,) }
    """
    return Xpr(make_jaxpr(fn)(*primals))


def explain(fun: Function) -> Callable[..., CompileReport]:
    """A function that compiles `fun` for given arguments, times it against NumPy, and returns the report.

    Arguments that the function writes into are copied first, and objects get back what they held: explaining changes
    nothing.
    """
    compiled = fun if isinstance(fun, CompiledFunction) else CompiledFunction(fun)

    def explained(*args: Any, **kwargs: Any) -> CompileReport:
        args, kwargs = optree.tree_map(_copied, (args, kwargs), none_is_leaf=True)  # type: ignore[assignment]
        as_given = _Restored(compiled.fn, args, kwargs)
        try:
            with present_arguments(args, kwargs):
                return report_on(args, kwargs, as_given)
        finally:
            as_given.snapshot.restore()

    def report_on(args: tuple, kwargs: dict[str, Any], as_given: _Restored) -> CompileReport:
        from .report import build_report, numpy_report, whole_report

        def in_numpy() -> Any:
            return _in_numpy(compiled.fn, args, kwargs)

        entry, leaves = compiled.where().specialise(args, kwargs)
        if isinstance(entry, Fallback):
            numpy_ms = _time(in_numpy, as_given)
            if not isinstance(entry.parts, UntracedFunction):
                return numpy_report(compiled.source(), entry.reason, numpy_ms)
            return _explained_in_parts(entry.parts, args, kwargs, numpy_ms, as_given)
        if entry.whole is not None and not kwargs:
            as_given()
        if entry.whole is not None and not kwargs and (done := entry.whole.run(args, kwargs)) is not None:
            times = _time(lambda: entry.fast and entry.fast(*args), as_given)
            why = "Runs whole: one loop of the machine's is faster than the steps of what was traced."
            return whole_report(done[1].compilation, why, times, _time(in_numpy, as_given))
        compilation = entry.compilation
        compilation.limits = machine_limits(compilation.device)
        _time(lambda: entry.call(leaves, compilation.run_timed), as_given)
        if not compilation.numpy_ms:
            compilation.numpy_ms = _time(in_numpy, as_given)
        return build_report(compilation)

    return explained


class _Restored:
    """Undoes, when it is called before each run, what the one before wrote into its arguments: functions that solve or
    sort in place may raise, or not end, on their own results."""

    def __init__(self, fn: Function, args: tuple, kwargs: dict[str, Any]):
        self.snapshot = Snapshot([fn, *args, *kwargs.values()])
        self.n_runs = 0

    def __call__(self) -> None:
        self.n_runs += 1
        if self.n_runs == 2:  # by now it is known which those are
            self.snapshot.forget_unchanged_arrays()
        if self.n_runs > 1:
            self.snapshot.restore()


def _explained_in_parts(
    parts: UntracedFunction, args: tuple, kwargs: dict[str, Any], numpy_ms: list[float], as_given: Callable[[], None]
) -> CompileReport:
    from .report import compare_with_numpy, numpy_report, whole_report
    from .report.merge import parts_report

    ran: list[Any] = []

    def run() -> None:
        ran[:] = parts.run(args, kwargs, timed=True)[1]

    as_given()
    run()
    if parts.ran_whole(ran):
        times = _time(lambda: parts.run_whole(args, kwargs), as_given)
        why = f"Compiled whole, since it cannot be traced: {numpy_report(parts.source, parts.reason).reason}"
        return whole_report(ran[0].compilation, why, times, numpy_ms)
    times = _time(run, as_given)
    if not ran:  # Python ran all of it: no piece was worth compiling
        return numpy_report(parts.source, parts.reason, numpy_ms)
    report = parts_report(ran, parts.source, lambda name: name == RESULT)
    if report.status == "partly":
        report.timings.runs_ms, report.timings.numpy_ms = times, numpy_ms
        report.summary.time_ms = float(np.median(times))
        compare_with_numpy(report.summary, float(np.median(numpy_ms)))
        if not report.fallbacks:  # Python runs the rest in the function's own frame
            report.reason = report.reason or numpy_report(parts.source, parts.reason).reason
    return report


def _print_graph(compilation: Compilation) -> None:
    """What `show_graph=True` does in a script; in a notebook the extension shows the report instead."""
    from .report import build_report

    print(build_report(compilation).to_text(only=["strip", "graph"]))


on_show_graph(_print_graph, default=True)


def _in_numpy(fn: Function, args: tuple, kwargs: dict[str, Any]) -> Any:
    with running_in_numpy():
        return fn(*args, **kwargs)


def _copied(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _time(run: Callable[[], Any], before: Callable[[], None]) -> list[float]:
    """Times of repeated runs in ms; the first one warms up and is not counted, if there is time for more. before: what
    comes before each of them."""
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) <= EXPLAIN_RUNS and (len(times) < 2 or time.perf_counter() - begin < EXPLAIN_SECONDS):
        before()
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times[1:]


__all__ = ["device", "djit", "explain", "jit", "jit_scope", "make_jaxpr", "xpr"]
