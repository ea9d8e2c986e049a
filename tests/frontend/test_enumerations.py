"""Members of enumerations: those that are numbers compute as Python's or NumPy's do, and stay members."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import workbench as wb
from workbench.ir import subjaxprs


class State(enum.IntEnum):
    IDLE = 0
    RUN = 1
    STOP = 2


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"

    @property
    def is_warm(self):
        return self is Colour.RED


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


EXPRESSIONS = """n + s; len(x) + s * 2 - 1; s + 1.5; s / 2; -s; +s; abs(s); s < 2; s >= State.RUN; int(s); float(s); round(s)
s == 1; s != State.STOP; s in (State.RUN, State.STOP); bool(s); s + t; s == t; s < t; s ** 2; divmod(s, 2); s << 1; s | 2
np.add(s, t); np.float32(3) * s; x[0] + s; np.full(3, s); np.array([s, t]); x.sum().item() + s; complex(s); np.int8(s)
x * s; s * x; x[s]; x[s:]; np.zeros(t); np.where(x > 0, s, t); 1 if s else 2; s and t; not s; [10, 20, 30][s]; range(3)[s]
(x, x + 1, x + 2)[s].sum(); np.sqrt(s); np.maximum(x, s); s is t; s is State.RUN; s.value + 1; s.name; sum([s, t]); f"{s}"
np.arange(3) == s; {State.RUN: 1, State.IDLE: 2}[s]; (x > 0).sum() + s; (x > 0).sum().item() + s; n + State.RUN; max(s, t)
n == State.RUN; State.STOP > n; x[0] * State.STOP; c; c.value; c.is_warm; c is Colour.RED; max(s, 1); isinstance(s, State)
n & Access.WRITE; (x > 0).sum() & Access.WRITE; a; a | Access.WRITE; a & 1; [State.IDLE, State.RUN, State.STOP][n % 3]"""


PROGRAM = """def compute(x):
    n = (x > 0).sum().item()
    s = State.RUN if x.sum() > 0 else State.IDLE
    t = State.STOP if x[0] > 0 else State.RUN
    c = Colour.RED if x.sum() > 0 else Colour.BLUE
    a = Access.READ if x.sum() > 0 else Access.WRITE
    return """


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """By expression, the program that returns it."""
    texts = [each.strip() for line in EXPRESSIONS.splitlines() for each in line.split(";")]
    found = {}
    for k, text in enumerate(texts):
        path = tmp_path_factory.mktemp("enumerations") / f"program_{k}.py"
        path.write_text(f"{PROGRAM}{text}\n")
        scope = {"np": np, "State": State, "Colour": Colour, "Access": Access}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        found[text] = scope["compute"]
    return found


def outcome(function, *args):
    try:
        return repr(function(*args))
    except Exception as error:
        return repr(error)


def test_a_member_that_the_run_decides_is_what_it_is_in_python(functions) -> None:
    wrong = []
    for text, function in functions.items():
        for x in (np.ones(3), -np.ones(3), np.arange(-3, 7, dtype=np.float32)):
            compiled = wb.jit(function)
            found, expected = outcome(compiled, x.copy()), outcome(function, x.copy())
            bugs = [str(reason) for reason in compiled.fallbacks if reason.code == "WB903"]
            if found != expected or bugs:
                wrong.append((text, found, expected, bugs))
    assert not wrong


def state_machine(x):
    s = State.IDLE
    starts = np.zeros(3, int)
    for v in x:
        if s == State.IDLE and v > 0.5:
            s = State.RUN
            starts[s] += 1
        elif s == State.RUN and v < -0.5:
            s = State.STOP
        elif s == State.STOP:
            s = State.IDLE
    return s, starts


def states_of_cells(x):
    cells = np.full(len(x), State.IDLE)
    for i in range(1, len(x)):
        if x[i] > 0 and cells[i - 1] != State.STOP:
            cells[i] = State.RUN
        elif x[i] < -1:
            cells[i] = State.STOP
    return cells, (cells == State.RUN).sum()


def scaled_by_a_state(x):
    y = x.astype(np.float32)
    s = State.IDLE
    for i in range(len(x)):
        if x[i] > 1:
            s = State.STOP
        y[i] = y[i] * s + s
        if x[i] < -2.5:
            break
    return y, s, y[0] * s


def a_member_or_a_number(x):
    s, total = State.IDLE, 0
    for v in x:
        if v > 0:
            s = State.RUN
        total += s
    return total, s, max(total, State.STOP)


def members_in_a_list(x):
    return [State.RUN if v > 0 else State.IDLE for v in x[:5]]


def flags(x):
    a = Access(0)
    for v in x:
        if v > 2:
            a |= Access.WRITE
    return a


@pytest.mark.parametrize(
    "program",
    [state_machine, states_of_cells, scaled_by_a_state, a_member_or_a_number, members_in_a_list, flags],
)
@pytest.mark.parametrize("n", [1, 30, 2000])
def test_loops_leave_members_under_their_names(program, n) -> None:
    x = np.random.default_rng(n).normal(size=n)
    compiled = wb.jit(program)
    for _ in range(2):
        assert repr(compiled(x.copy())) == repr(program(x.copy()))
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]


def test_a_state_machine_is_one_loop() -> None:
    jaxpr = wb.make_jaxpr(state_machine)(np.random.default_rng(0).normal(size=2000))
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert "loop" in names and not any(list(subjaxprs(eqn)) for eqn in jaxpr.eqns)
