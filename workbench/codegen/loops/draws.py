"""Random numbers that translated loops draw, from NumPy's own functions (see `random_words`).

What NumPy refuses raises here, whatever the class: the caller puts the source back and runs the code again in Python.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from . import random_words
from .elements import at_1, put_1
from .linked import linked, linked_in

_BINOMIAL, _BOUNDED, _INTERVAL = (random_words.WORD[name] for name in ("binomial", "bounded_uint64", "interval"))
_UNIFORM = random_words.WORD["standard_uniform"]
_NEXT, _BITS_OF, _N_BITS = random_words.NEXT_BITS, random_words.PYTHONS_BITS, random_words.N_PYTHONS_BITS
_NORMAL_FACTOR = 4 * math.exp(-0.5) / math.sqrt(2.0)
_HAS_NORMAL, _NORMAL, _STATE = random_words.HAS_NORMAL, random_words.NORMAL, random_words.BINOMIAL


def _call(result: types.Type, *kinds: types.Type) -> Any:
    """`function(words, k, *arguments)`: NumPy's function whose address is in word k."""

    def typed(typing_context: Any, words: Any, k: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, values[0]).data
            int64 = ir.IntType(64)
            at = builder.gep(data, [values[1]])
            given = [context.get_value_type(kind) for kind in kinds]
            function = ir.FunctionType(context.get_value_type(result), [int64, *given])
            address = builder.inttoptr(builder.load(at), function.as_pointer())
            return builder.call(address, [builder.load(data), *values[2:]])

        return result(words, types.int64, *kinds), generate

    names = [f"a{i}" for i in range(len(kinds))]
    scope: dict[str, Any] = {"typed": typed}
    text = f"def called(typing_context, {', '.join(['words', 'k', *names])}):\n"
    exec(f"{text}    return typed({', '.join(['typing_context', 'words', 'k', *names])})\n", scope)
    return intrinsic(scope["called"])


_float_0, _float_1, _float_2, _float_3 = (_call(types.float64, *[types.float64] * n) for n in range(4))
_integer_1 = _call(types.int64, types.float64)
_bounded = _call(types.uint64, types.uint64, types.uint64, types.uint64, types.boolean)
_interval = _call(types.uint64, types.uint64)
_binomial = _call(types.int64, types.float64, types.int64, types.uint64)


@linked(error_model="numpy", forceinline=True)
def draw_0(words, k):
    return _float_0(words, k)


@linked(error_model="numpy", forceinline=True)
def draw_1(words, k, a):
    return _float_1(words, k, a)


@linked(error_model="numpy", forceinline=True)
def draw_2(words, k, a, b):
    return _float_2(words, k, a, b)


@linked(error_model="numpy", forceinline=True)
def draw_3(words, k, a, b, c):
    return _float_3(words, k, a, b, c)


@linked(error_model="numpy", forceinline=True)
def draw_integer_1(words, k, a):
    return _integer_1(words, k, a)


@linked(error_model="numpy")
def draw_binomial(words, n, p):
    if not 0.0 <= p <= 1.0 or math.copysign(1.0, p) < 0 or n < 0:
        raise ValueError
    return _binomial(words, _BINOMIAL, p, n, np.uint64(words.ctypes.data + 8 * _STATE))


@linked(error_model="numpy", forceinline=True)
def draw_bounded(words, low, high, masked):
    """An integer from `low` to `high`, which is not among them. masked: as `RandomState` draws them."""
    if low >= high or low < -(2**62) or high > 2**62:
        raise ValueError
    span = np.uint64(high - low - 1)
    mask = span
    if masked:
        mask |= mask >> np.uint64(1)
        mask |= mask >> np.uint64(2)
        mask |= mask >> np.uint64(4)
        mask |= mask >> np.uint64(8)
        mask |= mask >> np.uint64(16)
        mask |= mask >> np.uint64(32)
    return np.int64(np.uint64(low) + _bounded(words, _BOUNDED, np.uint64(0), span, mask, masked))


@linked(error_model="numpy", forceinline=True)
def positive_zero_or_more(x):
    if not x >= 0.0 or math.copysign(1.0, x) < 0:
        raise ValueError
    return x


@linked(error_model="numpy", forceinline=True)
def more_than_zero(x):
    if not x > 0.0:
        raise ValueError
    return x


@linked(error_model="numpy", forceinline=True)
def probability(x):
    if not 0.0 < x <= 1.0:
        raise ValueError
    return x


@linked(error_model="numpy", forceinline=True)
def below_poisson(x):
    if not x <= 9.2e18:
        raise ValueError
    return positive_zero_or_more(x)


@linked(error_model="numpy", forceinline=True)
def finite(x):
    if not math.isfinite(x):
        raise OverflowError
    return x


@linked(error_model="numpy", forceinline=True)
def in_order_3(a, b, c):
    """The ends and the peak of a triangle."""
    if not a <= b <= c or a == c:
        raise ValueError


# ---- those of `RandomState` that are not functions of the bits alone (`numpy/random/src/legacy`) ----


@linked(error_model="numpy")
def _kept_normal(words):
    """The normal number that was kept, which is not kept any more."""
    found = words[_NORMAL : _NORMAL + 1].view(np.float64)[0]
    words[_HAS_NORMAL] = words[_NORMAL] = 0
    return found


@linked(error_model="numpy")
def _keep_normal(words, x):
    words[_NORMAL : _NORMAL + 1].view(np.float64)[0] = x
    words[_HAS_NORMAL] = 1


@linked(error_model="numpy")
def old_normal(words):
    """G. Marsaglia's polar method, which gives two numbers."""
    if words[_HAS_NORMAL]:
        return _kept_normal(words)
    while True:
        x = 2.0 * _float_0(words, _UNIFORM) - 1.0
        y = 2.0 * _float_0(words, _UNIFORM) - 1.0
        r = x * x + y * y
        if r < 1.0 and r != 0.0:
            break
    f = math.sqrt(-2.0 * math.log(r) / r)
    _keep_normal(words, f * x)
    return f * y


@linked(error_model="numpy", forceinline=True)
def old_exponential(words):
    return -math.log(1.0 - _float_0(words, _UNIFORM))


# ---- those of Python's `random` (`Modules/_randommodule.c`, `Lib/random.py`) ----


@linked(error_model="numpy")
def _twist(words):
    """The next 624 words of the Mersenne twister (Matsumoto, Nishimura, ACM TOMACS 8, 1998)."""
    for k in range(_N_BITS):
        after = k + 1 if k + 1 < _N_BITS else 0
        other = k + 397 if k + 397 < _N_BITS else k + 397 - _N_BITS
        y = (at_1(words, _BITS_OF + k) & 0x80000000) | (at_1(words, _BITS_OF + after) & 0x7FFFFFFF)
        put_1(words, _BITS_OF + k, at_1(words, _BITS_OF + other) ^ (y >> 1) ^ (-(y & 1) & 0x9908B0DF))


@linked(error_model="numpy", forceinline=True)
def _next_32(words):
    k = at_1(words, _NEXT)
    if k >= _N_BITS:
        _twist(words)
        k = 0
    put_1(words, _NEXT, k + 1)
    y = np.uint32(at_1(words, _BITS_OF + k))
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    return np.int64(y ^ (y >> np.uint32(18)))


@linked(error_model="numpy", forceinline=True)
def pythons_random(words):
    a, b = _next_32(words) >> 5, _next_32(words) >> 6
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0)


@linked(error_model="numpy")
def pythons_below(words, n):
    """An integer from 0 to n, which is not among them."""
    if n <= 0 or n > 2**62:
        raise ValueError
    k = 0
    while n >> k:
        k += 1
    while True:
        if k <= 32:
            r = _next_32(words) >> (32 - k)
        else:
            low = _next_32(words)
            r = low | (_next_32(words) >> (64 - k)) << 32
        if r < n:
            return r


@linked(error_model="numpy")
def pythons_gauss(words):
    if words[_HAS_NORMAL]:
        return _kept_normal(words)
    turn = pythons_random(words) * (2.0 * math.pi)
    radius = math.sqrt(-2.0 * math.log(1.0 - pythons_random(words)))
    _keep_normal(words, math.sin(turn) * radius)
    return math.cos(turn) * radius


@linked(error_model="numpy")
def pythons_normal(words):
    """Kinderman and Monahan's method."""
    while True:
        u1 = pythons_random(words)
        u2 = 1.0 - pythons_random(words)
        z = _NORMAL_FACTOR * (u1 - 0.5) / u2
        if z * z / 4.0 <= -math.log(u2):
            return z


@linked(error_model="numpy")
def pythons_exponential(words):
    return -math.log(1.0 - pythons_random(words))


# ---- orders and choices ----


@linked(error_model="numpy")
def put_in_random_order(words, a):
    """`shuffle` of an array along its first axis (R. Durstenfeld's algorithm)."""
    for i in range(a.shape[0] - 1, 0, -1):
        j = np.int64(_interval(words, _INTERVAL, np.uint64(i)))
        if a.ndim == 1:
            x, y = at_1(a, i), at_1(a, j)
            put_1(a, i, y)
            put_1(a, j, x)
        elif i != j:
            row = a[i].copy()
            a[i] = a[j]
            a[j] = row


@linked(error_model="numpy")
def put_items_in_random_order(words, items):
    """`shuffle` of a list."""
    for i in range(len(items) - 1, 0, -1):
        j = np.int64(_interval(words, _INTERVAL, np.uint64(i)))
        x = items[i]
        items[i] = items[j]
        items[j] = x


@linked(error_model="numpy")
def _total(n, weights):
    """The sum of weights that NumPy takes."""
    if weights.size != n or n == 0:
        raise ValueError
    total, exact, lost = 0.0, 0.0, 0.0
    for i in range(n):
        p = at_1(weights, i)
        if not p >= 0.0:
            raise ValueError
        total += p
        y = p - lost
        t = exact + y
        lost = (t - exact) - y
        exact = t
    if not abs(exact - 1.0) <= 1e-9:  # NumPy refuses from somewhat more on
        raise ValueError
    return total


@linked(error_model="numpy")
def reached_shares(n, weights):
    """The sums of NumPy's `choice(n, p=weights)`."""
    total = _total(n, weights)
    reached = np.cumsum(weights)
    for i in range(n):
        reached[i] /= total
    return reached


@linked(error_model="numpy")
def draw_below(words, reached):
    """The first of them above what is drawn."""
    drawn = _float_0(words, _UNIFORM)
    first, last = 0, reached.size
    while first < last:
        middle = (first + last) >> 1
        if reached[middle] > drawn:
            last = middle
        else:
            first = middle + 1
    if first == reached.size:
        raise ValueError
    return first


@linked(error_model="numpy")
def draw_weighted(words, n, weights):
    """`choice(n, p=weights)`: the sums of NumPy's, and its search among them."""
    total = _total(n, weights)
    drawn = _float_0(words, _UNIFORM)
    reached = 0.0
    for i in range(n):
        reached += at_1(weights, i)
        if reached / total > drawn:
            return i
    raise ValueError


PYTHONS = tuple(name for name in list(globals()) if name.startswith("pythons_"))
# By these names loops call NumPy's functions.
WORDS = {f"word_{name}": k for name, k in random_words.WORD.items()}
FUNCTIONS = linked_in(globals())
