"""Statements that change arrays (row B1): results, arguments and errors are NumPy's, by the compiled function."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(0)
X, INTS = RNG.normal(size=(4, 5)), RNG.integers(-9, 9, (4, 5))
ARGUMENTS = (X, INTS, X + 1j * X[::-1], RNG.normal(size=6), np.arange(6, dtype=np.uint8), RNG.random(6) > 0.5)
STATEMENTS = """
np.put(x,[0,5,-1],[7.,8.])
np.put(x,[0,50],1.,mode='clip')
np.put(x,[0,50],1.)
x.put([1,2],3)
np.add.at(v,[0,0,1],1.5)
np.add.at(i,(i>0).nonzero()[0][:2],1)
np.subtract.at(v,np.array([1,1,2]),v[:3])
np.maximum.at(v,[0,1,1],5.)
np.multiply.at(x,(np.array([0,0]),np.array([1,1])),2.)
np.negative.at(v,[0,0])
np.divide.at(v,[0,0],2.)
np.power.at(v,[0,0],2.)
np.logical_or.at(bo,[0,1],True)
np.add.at(u,[0,0],300)
np.copyto(x,v[:5],where=x>0)
np.copyto(i,x)
np.copyto(i,x,casting='unsafe')
np.copyto(x,3)
x.fill(2)
i.fill(2.7)
u.fill(300)
x.sort()
x.sort(axis=0)
x[:,::2].sort(axis=0)
x.T.sort()
v.partition(2)
v[::-1].sort()
np.place(x,x>0,[1.,2.,3.])
np.place(v,v>0,[])
np.putmask(x,x>0,[1.,2.,3.])
np.putmask(i,i>0,x)
np.fill_diagonal(x,9)
np.fill_diagonal(x,[1,2])
np.fill_diagonal(x[:, :4].T,0,wrap=True)
c.real[...] = 1
c.imag[1:] += 2
c.real[c.real>0] = 0
c.imag = x
c.real = x
x.flat[3] = 1
x.flat[::2] = 7
x.T.flat[[1,2]] = [5,6]
x.flat = v
x[...] = v[:5]
x[1] += 1
x[1,2] += 1
x[[0,0,1]] += 1
x[:, [0,2]] *= 2
x[np.ix_([0,2],[1,3])] = 0
x[[0,1],[1,2]] = [4,5]
x[x>0] = -1
x[x>0] += v[0]
x[0], x[1] = x[1], x[0]
x[0], x[1] = x[1].copy(), x[0].copy()
x[1:] = x[:-1]
x[1:] += x[:-1]
x[::-1] = x
i += 1.5
i *= 2.0
i //= 2
u += 300
u -= 1
u += i[0,0]
x **= 2
x %= 1.5
x @= np.eye(5)
i <<= 1
bo |= v>0
bo &= False
bo += True
bo -= True
v += x[0]
v += c[0,0]
x += v[:5]
x += np.ones((2,4,5))
v[2:5] = v[0:3]
np.add(v[:-1],v[1:],out=v[1:])
np.cumsum(v,out=v)
np.sqrt(np.abs(x),out=x,where=x<0)
np.multiply(x,2,out=(x,))
np.dot(x,x.T,out=np.zeros((4,4)))
np.clip(x,0,1,out=x)
x.clip(0,1,out=x)
np.round(x,1,out=x)
np.maximum(x,0,out=x)
np.add(i,1,out=u[:4])
np.add.reduce(x,axis=0,out=v[:5])
np.sum(x,axis=0,out=v[:5])
np.mean(x,axis=1,out=v[:4])
np.take(v,[0,1],out=v[2:4])
np.diagonal(x)[0] = 1
np.broadcast_to(v,(2,6))[0,0] = 1
x.diagonal()[...] = 0
x.setflags(write=False); x[0]=1
x.T[0, ::2] = 5
x.reshape(-1)[7] = 5
x.ravel()[7] = 5
x.T.ravel()[7] = 5
x.flatten()[7] = 5
x[1:3].reshape(2,5)[0,0] = 9
x.swapaxes(0,1)[2] = 3
x[None][0,0,0] = 4
np.squeeze(x[:1])[1] = 3
np.expand_dims(v,0)[0,1] = 3
np.moveaxis(x,0,1)[1] = 8
np.rot90(x)[0] = 1
np.flip(x)[0] = 1
np.split(v,2)[1][0] = 1
np.array_split(x,3,axis=1)[0][...] = 2
np.atleast_2d(v)[0,3] = 2
x.view()[0] = 3
x[..., 0] = v[:4]
x[-1, ...] = 3
x[0][1] = 5
x[1:][0][2:][0] = 5
x[7] = 1
x[0,9] = 1
x[:, :3] = v
x[1.5] = 2
del x[0]
np.put_along_axis(x,np.argmax(x,axis=1,keepdims=True),0,axis=1)
x[np.arange(4),np.argmax(x,axis=1)] = 0
x[i[:, :5]>0] = x[i>0]*2+1
x[i>0], x[i<=0] = 1, 2
v[np.argsort(v)] = np.arange(6.)
v[np.where(v>0)] *= 3
v[v>0][0] = 100
v[~bo] = 0
v[bo] = v[bo][::-1]
v[bo] = np.arange(bo.sum())
u[u>3] -= 10
np.insert(v,1,3)[0] = 2
x.resize((2,10))
x.shape = (5,4); x[0] = 1
x.shape = -1; x[3] = 4
x.T.shape = (20,)
y = x; y += 1
y = x[0]; y += 1; y = y + 1; y[0] = 3
y = x[1:]; x[2] = 5; y[0] = y[1]
a = b = x; a[0] = 1; b[1] = a[0]
y = x.T; y[0] = 1; y = y * 2; y[1] = 3
l = [x, v]; l[0][0] = 1; l[1] += 1
d = dict(a=x); d['a'] += 1
for r in x: r += 1
for r in x: r[:] = r.sum()
for k, r in enumerate(x): r[k] = 0
for r, s in zip(x, x[::-1]): r[0] = s[1]
x[:] = [v[:5]]*4
x[0] = 1j
i[0] = 1.9
i[0] = x[0]
i[0] = c[0]
x[0] = c[0]
x[0] = 'a'
u[0] = 300
u[0] = -1
u[:] = -1.5
bo[:] = v
bo[0] = 2
v[0] = np.float32(3)
v[[True,False,True,False,False,True]] = 9
v[np.array([True,False,True,False,False,True])] += 9
v[None, 2] = 4
x[(0,1),] = 5
x[0:0] = 7
x[[]] = 7
x[:, None, 1] = 3
""".strip().splitlines()


def outcome(function: Any) -> tuple[Any, tuple]:
    arguments = copy.deepcopy(ARGUMENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments), arguments
        except Exception as error:
            return f"{type(error).__name__}: {error}", arguments


@pytest.mark.parity("B1")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statement_changes_what_numpy_changes(statement):
    scope: dict[str, Any] = {"np": np, "__name__": "statements"}
    body = statement.replace("; ", "\n    ")
    exec(compile(f"def work(x, i, c, v, u, bo):\n    {body}\n    return v * 2\n", "<statements>", "exec"), scope)
    expected, changed = outcome(scope["work"])
    compiled = wb.jit(scope["work"])
    for _ in range(2):
        result, arguments = outcome(compiled)
        if isinstance(expected, str):
            assert result == expected
        else:
            np.testing.assert_allclose(result, expected, rtol=1e-13)
        for mine, theirs in zip(arguments, changed, strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=1e-13)


def put_where_positive(a):
    known = np.reshape(0.0, ())
    np.putmask(known, a[0] > 0, a)
    return known


def added_in_place(a):
    known = np.tile([0.0], 3)
    same = known
    known += a[:3]
    return same


@pytest.mark.parametrize("program", [put_where_positive, added_in_place], ids=lambda f: f.__name__)
def test_arrays_that_numpy_makes_of_known_numbers_are_written_at_every_call(program):
    compiled = wb.jit(program)
    for a in (np.array([3.0, 4.0, 5.0]), np.array([6.0, 7.0, 8.0]), np.array([-1.0, 0.0, 2.0])):
        np.testing.assert_array_equal(compiled(a), program(a))


@pytest.mark.parametrize("shape, strides", [((4, 3), (8, 8)), ((3, 4), (0, 8)), ((4, 3), (16, 8)), ((3,), (0,))])
def test_writes_into_an_array_whose_elements_share_memory(shape, strides):
    def adds(x):
        x[...] = x + 1
        return x.sum()

    def windows():
        return np.lib.stride_tricks.as_strided(np.arange(20.0), shape, strides)

    compiled = wb.jit(adds)
    for _ in range(2):
        ours, numpys = windows(), windows()
        assert_same(compiled(ours), adds(numpys))
        assert_same(ours, numpys)


def test_flags_and_dtypes_of_what_was_given_are_numpys_to_set():
    def read_only(x):
        x.flags.writeable = False
        return x.sum()

    def as_integers(x):
        x.dtype = np.int64
        return x

    for function in (read_only, as_integers):
        ours, numpys = np.arange(4.0), np.arange(4.0)
        compiled = wb.jit(function)
        assert_same(compiled(ours), function(numpys))
        assert_same(ours, numpys)
        assert ours.flags.writeable == numpys.flags.writeable
        assert [reason.code for reason in compiled.fallbacks] == ["WB120"]


def test_whose_memory_an_argument_is_each_call_decides():
    def owners(x):
        made = x + 1
        return x.base is None, x.flags.owndata, x[1:].flags.owndata, made.base is None, made[1:].base is made

    compiled = wb.jit(owners)
    for x in (np.arange(4.0), np.arange(8.0)[4:], np.arange(4.0)):
        assert compiled(x) == owners(x)


@pytest.mark.parametrize("number", [np.float16(3), np.longdouble(2), np.datetime64("2020-01-01"), np.str_("a")])
def test_numpys_scalars_that_do_not_compile_are_constants(number):
    compiled = wb.jit(lambda x, number: (x + 1, number))
    x = np.arange(3.0)
    for _ in range(2):
        found = compiled(x, number)
        assert_same(found[0], x + 1)
        assert found[1] == number and type(found[1]) is type(number)
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]


def test_an_index_of_no_axes_in_a_loop():
    def total(x):
        n = 0.0
        for row in x:
            y = row[()]
            for k in range(3):
                n = n + y[k] * x[()][k, 0]
        return n, y

    x = np.arange(12.0).reshape(4, 3)
    compiled = wb.jit(total)
    assert_same(compiled(x), total(x))
    assert not compiled.fallbacks


def test_records_are_written_at_every_call():
    """They are scalars of NumPy that may be written to, and part of an array."""

    def count(record, times):
        for _ in range(times):
            record["n"] += 1
        return record["n"] * 2

    compiled = wb.jit(count)
    for _ in range(3):
        mine, theirs = (np.array([(0.5, 1), (1.5, 2)], [("x", "f8"), ("n", "i8")]) for _ in range(2))
        assert compiled(mine[1], 3) == count(theirs[1], 3) == 10
        np.testing.assert_array_equal(mine, theirs)


READ_ONLY = {
    "a number": lambda x: np.broadcast_to(x.sum(), (4, 3)),
    "a diagonal": lambda x: np.diagonal(x + 1),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x + 1, 2, axis=1),
    "a part": lambda x: np.broadcast_to(x * 2, (4, *x.shape))[1:, ::2],
    "no imaginary part": lambda x: x.imag,
    "an argument": lambda x: np.broadcast_to(x, (4, *x.shape)),
    "turned": lambda x: np.broadcast_to(x.sum(axis=0), (4, x.shape[1])).T,
    "set": lambda x: x if x.flags.writeable else x + 1,
}


@pytest.mark.parametrize("program", READ_ONLY.values(), ids=READ_ONLY)
def test_what_numpy_gives_read_only_is_read_only(program):
    compiled, inner = wb.jit(program), wb.jit(program)
    around = wb.jit(lambda x: inner(x))
    x = np.arange(6.0).reshape(2, 3)
    expected = program(x)
    for function in (compiled, compiled, around):
        found = function(x)
        np.testing.assert_array_equal(found, expected)
        assert found.flags.writeable == expected.flags.writeable


def test_a_range_is_stored() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        x[[1, 3, 0]] = range(3)
        x[4:7] = range(7, 10)
        return x

    compiled = wb.jit(program)
    assert_same(compiled(np.ones(9)), program(np.ones(9)))
    assert not compiled.fallbacks


def test_a_read_only_output_is_refused_before_its_type() -> None:
    def program(x: np.ndarray) -> str:
        try:
            x += 1j
        except ValueError as error:
            return str(error)
        return "none"

    for x in (np.broadcast_to(np.ones(2), (3, 2)), np.broadcast_to(1j, (3,))):
        assert wb.jit(program)(x) == program(x) == "output array is read-only"


def test_a_shape_that_only_one_path_sets_is_left_to_numpy() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        flags = x > 1
        if x.sum() > 2:
            y = x
        else:
            flags.shape = (-1,)
            y = x * 2
        return flags, y

    compiled = wb.jit(program)
    for scale in (0.0, 1.0):
        assert_same(compiled(np.full((2, 3), scale)), program(np.full((2, 3), scale)))


@pytest.mark.parametrize("key", [-1, slice(0, 3), [0, 1]])
@pytest.mark.parametrize(
    "value", [np.ones(2), np.ones(1), [3.0], [3.0, 4.0], np.ones((1, 1)), np.ones(0), 2.5, np.array(3.0)]
)
def test_what_flat_takes(key, value):
    def program(x, y):
        x.flat[key] = value
        y.flat[key] = y[0]
        return x, y

    def outcome(function):
        x, y = np.zeros((3, 2)), np.arange(6.0).reshape(3, 2)[::-1]
        try:
            function(x, y)
        except ValueError as error:
            return str(error), x.tolist(), y.tolist()
        return x.tolist(), y.tolist()

    compiled = wb.jit(program)
    assert outcome(compiled) == outcome(compiled) == outcome(program)
