"""Rows T1-T4, T6, T8, T10, T12 and T13: `jit_scope`, zero copies, fallbacks, dumps and logs, as in TensorFlow's XLA."""

from __future__ import annotations

import inspect
import logging
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.fusion import step_eqns

X = np.linspace(0.1, 2.0, 12).reshape(3, 4)


def steps_of(compiled):
    """The plan of the latest version: (kind of step, names of its operations), in order."""
    plan = compiled.compilations[-1].plan
    return [(type(s).__name__, [e.origin.op or e.primitive.name for e in step_eqns(s)]) for s in plan.steps]


def uncompiled(compiled):
    return [op for kind, ops in steps_of(compiled) if kind == "NumpyStep" for op in ops]


# ---- T1: the scope itself ----


@pytest.mark.parity("T1")
def test_jit_scope_has_tensorflows_signature():
    parameters = inspect.signature(wb.jit_scope).parameters
    assert [(p.name, p.default) for p in parameters.values()] == [
        ("compile_ops", True), ("separate_compiled_gradients", False)
    ]  # fmt: skip


@pytest.mark.parity("T1")
def test_a_scope_decides_what_is_compiled_and_the_result_is_the_same():
    @wb.jit
    def f(x):
        with wb.jit_scope(compile_ops=False) as scope:
            assert scope is not None
            y = np.exp(x)
        return np.sqrt(y + 1)

    np.testing.assert_allclose(f(X), np.sqrt(np.exp(X) + 1), rtol=1e-14)
    assert uncompiled(f) == ["exp"]
    assert [kind for kind, _ in steps_of(f)] == ["NumpyStep", "Cluster"]


# ---- T2: a predicate ----


@pytest.mark.parity("T2")
def test_tensorflows_own_lambda_selects_operations():
    @wb.jit
    def f(x):
        with wb.jit_scope(compile_ops=lambda node_def: "matmul" in node_def.op.lower()):
            y = x @ x.T
            return np.tanh(y) + 1

    np.testing.assert_allclose(f(X), np.tanh(X @ X.T) + 1, rtol=1e-13)
    assert set(uncompiled(f)) == {"transpose", "tanh", "add"}


@pytest.mark.parity("T2")
def test_a_predicate_sees_name_primitive_avals_and_source():
    def is_expected(node):
        return (
            (node.op, node.name, node.primitive, node.source) == ("multiply", "total", "mul", "x * 2.0")
            and [str(a) for a in node.inputs] == ["f64[3,4]", "f64[]"]
            and [str(a) for a in node.outputs] == ["f64[3,4]"]
        )

    @wb.jit
    def f(x):
        with wb.jit_scope(compile_ops=is_expected):
            total = x * 2.0
            rest = total + 1
        return rest

    f(X)
    assert uncompiled(f) == ["add"]


# ---- T3: inside and outside may share a kernel, unless they are not compiled ----


@pytest.mark.parity("T3")
def test_operations_outside_a_compiling_scope_may_join_those_inside():
    @wb.jit
    def f(x):
        y = x + 1
        with wb.jit_scope(compile_ops=True):
            z = np.exp(y)
        return z * 2

    f(X)
    assert [kind for kind, _ in steps_of(f)] == ["Cluster"]


@pytest.mark.parity("T3")
def test_uncompiled_operations_stand_alone_and_the_report_shows_them():
    @wb.jit
    def f(x):
        y = x + 1
        with wb.jit_scope(compile_ops=False):
            z = np.exp(y)
        return z * 2

    f(X)
    assert [kind for kind, _ in steps_of(f)] == ["Cluster", "NumpyStep", "Cluster"]
    report = wb.explain(f)(X)
    assert any(row.code == "WB330" or "compile_ops" in str(row) for row in (*report.fallbacks, *report.graph.nodes))


# ---- T4: nesting ----


@pytest.mark.parity("T4")
def test_an_outer_false_compiles_only_the_inner_operations():
    @wb.jit
    def f(x):
        with wb.jit_scope(compile_ops=False):
            y = np.sin(x)
            with wb.jit_scope(compile_ops=True):
                z = np.exp(y)
            return np.cos(z)

    np.testing.assert_allclose(f(X), np.cos(np.exp(np.sin(X))), rtol=1e-13)
    assert uncompiled(f) == ["sin", "cos"]


@pytest.mark.parity("T4")
def test_an_inner_false_leaves_only_the_inner_operations():
    @wb.jit
    def f(x):
        with wb.jit_scope():
            y = np.sin(x)
            with wb.jit_scope(compile_ops=False):
                y = np.exp(y)
            return np.cos(y)

    f(X)
    assert uncompiled(f) == ["exp"]


# ---- T6: outside a trace ----


@pytest.mark.parity("T6")
def test_jit_scope_outside_a_trace_raises_and_shows_how():
    with pytest.raises(RuntimeError, match=r"(?s)@wb\.jit.*jit_scope"), wb.jit_scope():
        pass


# ---- T8: no copies ----


@pytest.mark.parity("T8")
def test_arrays_flow_between_kernels_library_calls_and_numpy_without_copies(monkeypatch):
    seen: dict[str, int] = {}

    def recording(name, function):
        def call(*operands):
            result = function(*operands)
            array = result[0] if isinstance(result, tuple) else result
            seen[name] = array.__array_interface__["data"][0]
            seen[f"{name} operands"] = [x.__array_interface__["data"][0] for x in operands]
            return result

        return call

    @wb.jit
    def f(x, w):
        y = np.sort(x + 1, axis=1)
        return np.exp(y) * w

    x, w = np.random.default_rng(0).random((2, 40, 50))
    f(x, w)
    executable = f.compilations[-1].executable
    # The library step's own function, wrapped, so that the addresses it reads and writes are seen.
    scope = dict(executable.run.__globals__)
    (name,) = [key for key in scope if re.fullmatch(r"L0_call\d*", key)]
    monkeypatch.setitem(executable.run.__globals__, name, recording("sort", scope[name]))
    read = []
    for key in [k for k in scope if re.fullmatch(r"K\d+_run", k)]:

        def run(start, stop, *args, entry=scope[key]):
            read.append([a.__array_interface__["data"][0] for a in args if isinstance(a, np.ndarray)])
            return entry(start, stop, *args)

        monkeypatch.setitem(executable.run.__globals__, key, run)
    np.testing.assert_allclose(f(x, w), np.exp(np.sort(x + 1, axis=1)) * w, rtol=1e-14)
    first, second = read
    assert x.__array_interface__["data"][0] in first, "a kernel reads the caller's own array"
    assert first[-1] == seen["sort operands"][0], "the library call reads what the kernel wrote"
    assert seen["sort"] in second, "the next kernel reads what the library call wrote"
    assert w.__array_interface__["data"][0] in second


@pytest.mark.parity("T8")
def test_results_and_views_of_arguments_are_not_copied():
    @wb.jit
    def f(x):
        return x, x[1:], x.T, x + 1

    same, part, turned, new = f(X)
    assert same is X
    assert np.shares_memory(part, X) and np.shares_memory(turned, X) and not np.shares_memory(new, X)


@pytest.mark.parity("T8")
def test_a_strided_argument_is_read_in_place():
    wide = np.random.default_rng(0).random((64, 64))
    f = wb.jit(lambda x: x * 2 + 1)
    for view in (wide[::2, 1:-1], wide.T, wide[::-1]):
        np.testing.assert_array_equal(f(view), view * 2 + 1)
    assert all(len(c.plan.steps) == 1 for c in f.compilations)


# ---- T10: what cannot be compiled ----


@pytest.mark.parity("T10")
def test_a_fallback_says_which_line_why_and_what_to_do(caplog):
    def f(x):
        kept = x[x > 1]
        return np.union1d(kept, kept)

    compiled = wb.jit(f)
    with caplog.at_level(logging.WARNING, "workbench"):
        np.testing.assert_array_equal(compiled(X), f(X))
    (reason,) = compiled.fallbacks
    assert reason.code == "WB110" and reason.fixes and reason.line == f.__code__.co_firstlineno + 1
    assert "x[x > 1]" in str(reason) and "runs in NumPy" in caplog.text
    report = wb.explain(compiled)(X)
    assert report.status in ("numpy", "partly") and report.fallbacks[0].code == "WB110" and report.fallbacks[0].fix


@pytest.mark.parity("T10")
def test_a_function_that_fell_back_falls_back_again_without_tracing():
    compiled = wb.jit(lambda x: np.median(x[x > 1]))
    for _ in range(3):
        compiled(X)
    assert compiled.n_traces == 1


@pytest.mark.parity("T10")
def test_object_and_string_arrays_run_in_numpy():
    f = wb.jit(lambda x: x + x)
    assert f(np.array(["a", "b"], object)).tolist() == ["aa", "bb"]
    assert f(np.array([1, "b"], object)[:1]).tolist() == [2]
    g = wb.jit(lambda x: np.char.upper(x))
    assert g(np.array(["a"])).tolist() == ["A"]


# ---- T12: dumps ----


def dumped(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parity("T12")
def test_every_stage_is_dumped_as_text_and_dot(tmp_path):
    @wb.jit
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return np.sort(e, axis=0) / e.sum(axis=1, keepdims=True)

    with wb.config(dump_dir=str(tmp_path / "dump")):
        softmax(X)
    names = dumped(tmp_path / "dump")
    for stage in ("00.trace", "simplify_algebra", "drop_dead_equations"):
        for ending in ("txt", "dot"):
            assert any(stage in n and n.endswith(ending) for n in names), (stage, ending, names)
    for ending in (".plan.dot", ".py", ".ll", ".s"):
        assert any(n.endswith(ending) for n in names), (ending, names)
    trace = next(p for p in (tmp_path / "dump").iterdir() if p.name.endswith("00.trace.txt"))
    assert trace.read_text() == f"{wb.make_jaxpr(softmax)(X)}\n"


@pytest.mark.parity("T12")
def test_graphviz_accepts_every_dump(tmp_path):
    def graph(x, w):
        y = np.where(x > 0, x @ w, -1.0)
        with wb.jit_scope(compile_ops=False):
            z = np.exp(y) + inner(x)
        return z, x[1:], np.sort(z), z.sum(), 3.0

    inner = wb.jit(lambda x: np.tanh(x) * 2)
    compiled = wb.jit(graph)
    compiled.name = 'quote " backslash \\ <b>{|}'
    with wb.config(dump_dir=str(tmp_path)):
        compiled(X, np.eye(4))
    files = [p for p in tmp_path.iterdir() if p.suffix == ".dot"]
    assert len(files) >= 4
    dot = shutil.which("dot")
    for file in files:
        if dot:
            subprocess.run([dot, "-Tpng", file, "-o", file.with_suffix(".png")], check=True)
            assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        else:
            parse_dot(file.read_text())


NAME = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|-?\d+(?:\.\d+)?)'
ATTRIBUTES = rf"(?:\s*\[\s*(?:{NAME}\s*=\s*{NAME}\s*[,;]?\s*)*\])?"
STATEMENT = re.compile(rf"\s*(?:{NAME}\s*->\s*{NAME}{ATTRIBUTES}|(?:node|edge|graph){ATTRIBUTES}|{NAME}\s*=\s*{NAME}|"
                       rf"{NAME}{ATTRIBUTES})\s*;?")  # fmt: skip


def parse_dot(text):
    """The part of Graphviz's grammar that dumps use: a digraph of statements, in any nesting of subgraphs."""
    head = re.match(rf"\s*digraph\s+{NAME}\s*\{{", text)
    assert head, text[:80]
    position, depth = head.end(), 1
    while depth:
        opened = re.compile(rf"\s*subgraph\s+{NAME}\s*\{{").match(text, position)
        closed = re.compile(r"\s*\}").match(text, position)
        found = opened or closed or STATEMENT.match(text, position)
        assert found and found.end() > position, text[position : position + 80]
        depth += bool(opened) - bool(closed)
        position = found.end()
    assert not text[position:].strip()


@pytest.mark.parity("T12")
def test_the_environment_asks_for_dumps(tmp_path):
    code = (
        "import numpy as np, workbench as wb\n"
        "def chosen(x): return np.exp(x) + 1\n"
        "def other(x): return np.exp(x) + 2\n"
        "wb.jit(chosen)(np.ones(3)); wb.jit(other)(np.ones(3))\n"
    )
    environment = {"WORKBENCH_DUMP": str(tmp_path / "dump"), "WORKBENCH_DUMP_FILTER": "^chos"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
    names = dumped(tmp_path / "dump")
    assert names and all("chosen" in n for n in names)


# ---- T13: logs ----


@pytest.mark.parity("T13")
def test_one_line_a_compilation_and_a_cluster(caplog):
    @wb.jit
    def named(x):
        return np.sort(np.exp(x) + 1) * 2

    with caplog.at_level(logging.INFO, "workbench"):
        named(X)
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("named: ")]
    assert re.fullmatch(r"named: \d+ equations, 2 kernels, compiled in \d+ ms", lines[0])
    clusters = [re.fullmatch(r"named: cluster (K\d) is (\w+), (\d+) equations, \d+ ms", line) for line in lines[1:]]
    assert [m[1] for m in clusters] == ["K0", "K1"] and "exp" in clusters[0][2]


@pytest.mark.parity("T13")
@pytest.mark.parametrize(("level", "expected"), [("info", True), ("1", True), ("error", False), ("", False)])
def test_the_environment_asks_for_logs(level, expected):
    code = "import numpy as np, workbench as wb; wb.jit(lambda x: x + 1)(np.ones(3))"
    environment = {**os.environ, "WORKBENCH_LOG": level, "WORKBENCH_CACHE_DIR": "off"}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    assert ("1 kernels" in done.stderr) is expected and not done.stdout
