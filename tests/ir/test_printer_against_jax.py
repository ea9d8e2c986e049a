"""The printed form against the installed JAX: JAX's own programs, copied into our records, must print as JAX prints
them (with `pjit` for `jit`, and without params about sharding)."""

import numpy as np
import pytest

import workbench.primitives  # noqa: F401
from workbench.ir import REGISTRY, Aval, DropVar, Equation, Jaxpr, Literal, Primitive, Var
from workbench.ir.parser import parse_jaxpr
from workbench.ir.printer import print_jaxpr
from workbench.ir.shown_params import plain_value

jax = pytest.importorskip("jax", minversion="0.10.2")
core = pytest.importorskip("jax._src.core")
jnp, lax = jax.numpy, jax.lax

HIDDEN_PJIT_PARAMS = {"name", "jaxpr"}


def primitive_named(name):
    return REGISTRY.get(name) or Primitive(name, multiple_results=True)


class Copier:
    """Copies a JAX jaxpr into our records, and into a JAX jaxpr that has no params about sharding."""

    def __init__(self):
        self.ours = {}
        self.bare = {}

    def jaxpr(self, jaxpr):
        if jaxpr in self.ours:
            return self.ours[jaxpr]
        variables = {}

        def aval(a):
            return Aval(tuple(a.shape), np.dtype(a.dtype), bool(a.weak_type))

        def atom(v):
            if isinstance(v, core.Literal):
                return Literal(np.asarray(v.val)[()], aval(v.aval))
            if v not in variables:
                variables[v] = (DropVar if isinstance(v, core.DropVar) else Var)(aval(v.aval))
            return variables[v]

        eqns, bare_eqns = [], []
        for eqn in jaxpr.eqns:
            params = {key: value for key, value in eqn.params.items() if not key.endswith("sharding")}
            bare_params = {key: self.bare_value(value) for key, value in params.items()}
            if eqn.primitive.name in ("jit", "pjit"):
                bare_params = dict(eqn.params) | bare_params
                params = {key: params[key] for key in HIDDEN_PJIT_PARAMS}
            if eqn.primitive.name == "dot_general":
                params.pop("precision")
            name = "pjit" if eqn.primitive.name == "jit" else eqn.primitive.name
            params = {key: self.our_value(value) for key, value in params.items()}
            # accuracy=None and out_dtype=None are hidden by JAX and not among our params
            params = {key: v for key, v in params.items() if v is not None or key not in ("accuracy", "out_dtype")}
            eqns.append(
                Equation(primitive_named(name), tuple(map(atom, eqn.invars)), tuple(map(atom, eqn.outvars)), params)
            )
            bare_eqns.append(eqn.replace(params=bare_params))
        self.ours[jaxpr] = Jaxpr(
            tuple(map(atom, jaxpr.invars)),
            tuple(eqns),
            tuple(map(atom, jaxpr.outvars)),
            tuple(map(atom, jaxpr.constvars)),
        )
        self.bare[jaxpr] = jaxpr.replace(eqns=bare_eqns)
        return self.ours[jaxpr]

    def bare_value(self, value):
        if isinstance(value, core.ClosedJaxpr):
            self.jaxpr(value.jaxpr)
            return value.replace(jaxpr=self.bare[value.jaxpr])
        if isinstance(value, tuple) and value and all(isinstance(v, core.ClosedJaxpr) for v in value):
            return tuple(map(self.bare_value, value))
        return plain_value(value)  # JAX keeps np.int64(1) in some params, and shows it

    def our_value(self, value):
        if isinstance(value, core.ClosedJaxpr):
            return self.jaxpr(value.jaxpr)
        if isinstance(value, tuple):
            return tuple(map(self.our_value, value))
        return value


@pytest.fixture(autouse=True)
def float64_and_old_name():
    from jax._src import pjit

    declared = dict(REGISTRY)  # primitives that only JAX has are declared for one test

    pjit_p = pjit.jit_p
    name, x64 = pjit_p.name, jax.config.jax_enable_x64
    try:
        pjit_p.name = "pjit"
        jax.config.update("jax_enable_x64", True)
        yield
    finally:
        pjit_p.name = name
        jax.config.update("jax_enable_x64", x64)
        REGISTRY.clear()
        REGISTRY.update(declared)


def assert_prints_as_jax(fn, *args):
    closed = jax.make_jaxpr(fn)(*args)
    copier = Copier()
    ours = copier.jaxpr(closed.jaxpr)
    expected = str(copier.bare[closed.jaxpr])
    assert print_jaxpr(ours) == expected
    assert print_jaxpr(parse_jaxpr(expected)) == expected


M = np.ones((3, 4))
V = np.ones(3, np.float32)


@jax.jit
def sin_cos(x):
    return jnp.sin(x), jnp.cos(x)


@jax.jit
def long(x):
    for _ in range(7):
        x = jnp.sin(x) * x
    return x


@jax.jit
def nested(x):
    return long(x) + long(long(x)), x


def drops_one(x):
    return sin_cos(x)[0]


def drops_both(x):
    sin_cos(x)
    return x


def sharing(x):
    a = nested(x)
    b = nested(a[1])
    return a, b, jax.jit(lambda t: t * 2)(x), jax.jit(lambda t: t * 3)(x)


def loops(x):
    y = lax.cond(x > 0, lambda q: q + 1, lambda q: q * 2, x)
    z = lax.fori_loop(0, 10, lambda i, c: c + i, y)
    return lax.scan(lambda c, t: (c + t, c), z, jnp.arange(3.0))


def literals(x):
    return x * np.nan, x + np.inf, x - np.float64(-np.inf), x * 1e300, x + 1.0, x * -0.0, x * (1 + 2j), x > 0, x + True


def movement(x):
    return (
        x.T, x.reshape(-1), lax.broadcast_in_dim(x, (3, 5, 4), (0, 2)), jnp.zeros((2, 3)), x[1:, ::2], x[:, 0], x[::-1],
        jnp.concatenate([x, x]), jnp.stack([x, x]), lax.pad(x, 0.0, ((1, 1, 0), (0, 2, 1))), x.astype(np.int32),
        lax.iota(np.int32, 5), jnp.arange(5), jnp.eye(3), jnp.tril(x), jnp.roll(x, 1),
        lax.dynamic_slice(x, (0, 1), (2, 2)),
    )  # fmt: skip


def reductions(x):
    return x.sum(), x.sum(0), x.max(axis=(0, 1)), x.argmin(1), jnp.cumsum(x, 0), x.mean(), x.std(), x.any(), x.prod()


def contractions(x):
    return x @ x.T, jnp.einsum("ij,kj->ik", x, x), lax.dot_general(x, x, (((0,), (0,)), ((), ())))


def many_variables(*xs):
    out = xs[0]
    for x in xs:
        out = out * x
    return out, *xs


def long_equation_lists(x):
    return lax.concatenate([x] * 60, 0), lax.sort([x] * 20)


@pytest.mark.parametrize(
    "fn, args",
    [
        (lambda a, b: ((a - b) ** 2).sum(), (V, V)),
        (lambda: (), ()),
        (lambda: 3, ()),
        (lambda x: (x, x), (2.0,)),
        (lambda x: x + np.arange(20.0), (np.arange(20.0),)),
        (drops_one, (1.0,)),
        (drops_both, (M,)),
        (sharing, (M,)),
        (loops, (1.0,)),
        (literals, (M,)),
        (movement, (M,)),
        (reductions, (M,)),
        (contractions, (M,)),
        (many_variables, [M] * 250),
        (many_variables, [np.float32(1)] * 800),
        (long_equation_lists, (M,)),
        (lambda x: jnp.where(x > 0, x, np.inf), (M,)),
        (lambda x: jnp.clip(x, 0, 1) + jnp.pad(x, 1)[1:-1, 1:-1], (M,)),
        (lambda x: jnp.sort(x) + jnp.linalg.norm(x), (M,)),
        (jax.grad(lambda x: jnp.tanh(x * 2).sum()), (M,)),
        (jax.vmap(lambda x: x / jnp.linalg.norm(x)), (M,)),
        (lambda x: jax.nn.softmax(x), (M,)),
    ],
)
def test_programs_print_as_jax_prints_them(fn, args):
    assert_prints_as_jax(fn, *args)
