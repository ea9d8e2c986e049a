"""Random numbers from explicit keys, with JAX's functions and JAX's bits: `wb.random`.

    key = wb.random.key(0)
    x = wb.random.normal(key, (500, 500))

A key is an array of two uint32; one key gives the same numbers in every call, and `split` makes new keys of it. The
generator is Threefry-2x32 (Salmon et al., 2011), counters are element numbers, as in JAX with its default
`jax_threefry_partitionable`. Outside compiled code the functions take and return ndarrays; inside, they become
equations that are fused, so that the numbers are made in the kernel that uses them and need no memory.

`key`, `split`, `fold_in`, `bits`, `randint`, `uniform`, `bernoulli` and `permutation` equal JAX's (with
`jax_enable_x64`) bit for bit; what takes logarithms and the like agrees to rounding. The default dtypes are NumPy's:
float64 and int64 (`dtype=np.float32` gives JAX's numbers without x64), uint64 for `bits`. A result of shape () is a
NumPy scalar.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from .frontend.recording import current_trace
from .frontend.tracer import Tracer, emit, lift, method
from .ir import Primitive
from .primitives import (
    add_p,
    bitcast_convert_type_p,
    convert_element_type_p,
    erf_inv_p,
    erf_p,
    fma_p,
    iota_p,
    mul_p,
    or_p,
    rem_p,
    shift_left_p,
    shift_right_logical_p,
    sort_p,
    threefry2x32_p,
    xor_p,
)

Shape = int | Sequence[int]
Array = Any  # an ndarray, a number, or what makes one; a tracer of one inside compiled code
Words = tuple[Array, Array]
Function = TypeVar("Function", bound=Callable[..., Any])

UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
MODES = ("low", "high")
FEW_KEYS = 8  # up to here, compiled code makes the keys of a split as single numbers, in the kernel that uses them


def _sampler(function: Function) -> Function:
    """`function` as one operation: its equations share the position of the user's call."""

    @functools.wraps(function)
    def sample(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is not None:
            return trace.operation(f"random.{function.__name__.lstrip('_')}", function, args, kwargs)
        result = function(*args, **kwargs)
        return result[()] if isinstance(result, np.ndarray) and not result.shape else result

    return sample  # type: ignore[return-value]


def _bind(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """Apply `primitive`: record it, if an operand is traced (or it has none, inside a trace), or compute it."""
    if _traced(*operands) or (not operands and current_trace() is not None):
        return emit(primitive, *operands, **params)
    with np.errstate(all="ignore"):
        result = primitive.impl(*map(np.asarray, operands), **params)
    return tuple(result) if primitive.multiple_results else result


def _traced(*operands: Any) -> bool:
    return any(type(x) is Tracer for x in operands)


def _array(x: Any) -> Array:
    """`x` as an ndarray, or as a tracer inside a trace, unless it is a plain number."""
    if type(x) is Tracer:
        return x
    if current_trace() is not None and (isinstance(x, list | tuple) or isinstance(x, np.ndarray) and x.ndim):
        return lift(x)
    return np.asarray(x)


# ---- keys ----


def key(seed: Array, *, impl: str | None = None) -> Array:
    """A key from an integer: its upper and lower 32 bits.

    impl: None or "threefry2x32", the only generator.

    >>> key(7)
    array([0, 7], dtype=uint32)
    """
    return _key(seed, impl, "key")


def PRNGKey(seed: Array, *, impl: str | None = None) -> Array:  # noqa: N802 (JAX's name)
    """`key` under its older name."""
    return _key(seed, impl, "PRNGKey")


@_sampler
def split(key: Array, num: Shape = 2) -> Array:
    """New keys from `key`, an array of shape (num, 2), or (\\*num, 2) if `num` is a shape.

    >>> a, b = split(key(0))
    """
    words, sizes = _key_words("split", key), _shape(num)
    if not _traced(*words):
        return np.stack(_blocks(words, sizes), axis=-1)
    if 0 < math.prod(sizes) <= FEW_KEYS:
        rows = [np.stack(block) for block in _split(words, math.prod(sizes))]
        return np.stack(rows).reshape(*sizes, 2)
    first, second = (word[..., None] for word in _blocks(words, sizes))
    return np.where(_bind(iota_p, dtype=UINT32, shape=(*sizes, 2), dimension=len(sizes)) == 0, first, second)


@_sampler
def fold_in(key: Array, data: Array) -> Array:
    """A new key from `key` and an integer, of which the lower 32 bits count."""
    words = _key_words("fold_in", key)
    if np.ndim(data):
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != ()")
    if isinstance(data, int) and not 0 <= data < 2**32:
        raise OverflowError(f"fold_in: {data} is not a number of 32 bits")
    return np.stack(_block(words, _seed_words(data, "fold_in")[1]))


@_sampler
def _key(seed: Any, impl: str | None, name: str) -> Array:
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"{name}: the only generator is 'threefry2x32', not {impl!r}")
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (); "
            "use `split` for many keys"
        )
    words = _seed_words(seed, name)
    if _traced(*words):
        return np.stack([lift(word) for word in words])
    return _array(np.array(words))


def _seed_words(seed: Any, name: str) -> Words:
    """The upper and the lower 32 bits of an integer."""
    if type(seed) is not Tracer:
        if isinstance(seed, int):
            seed = np.int64(seed)  # OverflowError beyond 64 bits
        seed = np.asarray(seed)
    if seed.dtype.kind not in "iu":
        raise TypeError(f"{name}: a seed must be an integer, not {seed.dtype}")
    if type(seed) is not Tracer:
        bits = int(seed)
        return np.uint32(bits >> 32 & 0xFFFFFFFF if seed.dtype.itemsize == 8 else 0), np.uint32(bits & 0xFFFFFFFF)
    lower = _converted(seed, UINT32)
    if seed.dtype.itemsize < 8:
        return np.uint32(0), lower
    return _converted(_bind(shift_right_logical_p, seed, seed.dtype.type(32)), UINT32), lower


def _key_words(name: str, key: Any) -> Words:
    """The two words of a key."""
    if not isinstance(key, np.ndarray):  # a tracer poses as one
        raise TypeError(f"{name}: a key is an array of two uint32, made by `key`; not a {type(key).__name__}")
    key = _array(key)
    if key.dtype != UINT32:
        raise TypeError(f"{name}: a key is an array of uint32, made by `key`; not of {key.dtype}")
    if key.shape != (2,):
        many = " (one key at a time: `a, b = split(key)`)" if key.ndim > 1 and key.shape[-1] == 2 else ""
        raise ValueError(f"{name} accepts a single key, of shape (2,), not one of shape {key.shape}{many}")
    return key[0], key[1]


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    sizes = tuple(operator.index(size) for size in sizes)
    if any(size < 0 for size in sizes):
        raise ValueError(f"shape {sizes}: sizes can't be negative")
    return sizes


def _float_dtype(name: str, dtype: DTypeLike | None) -> np.dtype:
    dtype = np.dtype(float if dtype is None else dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"{name}: dtype must be float32 or float64, not {dtype}")
    return dtype


def _check_shape(name: str, shape: tuple[int, ...], *shapes: tuple[int, ...]) -> None:
    if np.broadcast_shapes(shape, *shapes) != shape:
        given = ", ".join(map(str, shapes))
        raise ValueError(f"{name}: parameters of shape {given} don't broadcast to the shape {shape}")


# ---- bits ----


def _converted(x: Any, dtype: np.dtype) -> Array:
    return x if x.dtype == dtype else _bind(convert_element_type_p, x, new_dtype=dtype, weak_type=False)


def _cast(x: Any, dtype: np.dtype) -> Any:
    """`x.astype(dtype)`, also of a traced number of Python's."""
    return method(x, "astype", dtype) if type(x) is Tracer else x.astype(dtype)


def _parameter(x: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """`x` in `dtype`, of rank 0 or of `shape`."""
    x = _cast(x, dtype) if type(x) is Tracer else np.asarray(x).astype(dtype)
    if x.shape in ((), shape):
        return x if type(x) is Tracer or x.shape else x[()]
    return np.broadcast_to(x, shape)


def _counter(shape: tuple[int, ...]) -> Words:
    """The number of each element, in two words. Counted along each axis, so that nothing has to be stored."""
    if math.prod(shape) <= 1:
        zero = np.uint32(0)
        return zero, zero if not shape else _bind(iota_p, dtype=UINT32, shape=shape, dimension=0)
    dtype = UINT32 if math.prod(shape) <= 2**32 else UINT64
    total = None
    for axis, size in enumerate(shape):
        stride = math.prod(shape[axis + 1 :])
        if size == 1 and total is not None:
            continue
        number = _bind(iota_p, dtype=dtype, shape=shape, dimension=axis)
        if stride != 1:
            number = _bind(mul_p, number, dtype.type(stride))
        total = number if total is None else _bind(add_p, total, number)
    if dtype == UINT32:
        return np.uint32(0), total
    upper = _bind(shift_right_logical_p, total, UINT64.type(32))
    return _converted(upper, UINT32), _converted(total, UINT32)


def _block(words: Words, lower: Any, upper: Any = UINT32.type(0)) -> Words:  # noqa: B008 (a constant)
    """The two words that the generator makes of a key and a counter."""
    first, second = (_bind(threefry2x32_p, *words, upper, lower, word=word) for word in (0, 1))
    return first, second


def _blocks(words: Words, shape: tuple[int, ...]) -> Words:
    upper, lower = _counter(shape)
    return _block(words, lower, upper)


def _split(words: Words, num: int = 2) -> list[Words]:
    """`split`, without an array of keys."""
    return [_block(words, np.uint32(i)) for i in range(num)]


def _bits(words: Words, shape: tuple[int, ...], width: int) -> Array:
    first, second = _blocks(words, shape)
    if width == 64:
        upper = _bind(shift_left_p, _converted(first, UINT64), UINT64.type(32))
        return _bind(or_p, upper, _converted(second, UINT64))
    return _converted(_bind(xor_p, first, second), np.dtype(f"u{width // 8}"))


@_sampler
def bits(key: Array, shape: Shape = (), dtype: DTypeLike | None = None) -> Array:
    """Random bits as unsigned integers of `dtype` (uint64)."""
    words = _key_words("bits", key)
    dtype = np.dtype(np.uint64 if dtype is None else dtype)
    if dtype.kind != "u":
        raise ValueError(f"bits: dtype must be an unsigned integer, not {dtype}")
    return _bits(words, _shape(shape), dtype.itemsize * 8)


# ---- numbers between limits ----


def _uniform(
    words: Words, shape: tuple[int, ...], dtype: np.dtype, minval: Any = 0.0, maxval: Any = 1.0
) -> Array:  # fmt: skip
    """Uniform in [minval, maxval): random bits as the mantissa of a float in [1, 2)."""
    pattern, kind = np.dtype(f"u{dtype.itemsize}").type, dtype.type
    found = _bits(words, shape, dtype.itemsize * 8)
    found = _bind(shift_right_logical_p, found, pattern(dtype.itemsize * 8 - np.finfo(dtype).nmant))
    found = _bind(or_p, found, kind(1.0).view(pattern))
    floats = _bind(bitcast_convert_type_p, found, new_dtype=dtype) - kind(1.0)
    low, high = _parameter(minval, dtype, shape), _parameter(maxval, dtype, shape)
    if not _traced(low, high) and np.all(low == 0) and np.all(high == 1):
        return floats
    # XLA contracts this product and sum, so that they belong to JAX's bits.
    return np.maximum(low, _bind(fma_p, floats, high - low, low))


@_sampler
def uniform(
    key: Array, shape: Shape = (), dtype: DTypeLike | None = None, minval: Array = 0.0, maxval: Array = 1.0
) -> Array:
    """Uniform floats in [minval, maxval), which broadcast to `shape`.

    >>> float(uniform(key(0)))
    0.41845711171638644
    """
    words, dtype, shape = _key_words("uniform", key), _float_dtype("uniform", dtype), _shape(shape)
    _check_shape("uniform", shape, np.shape(minval), np.shape(maxval))
    return _uniform(words, shape, dtype, minval, maxval)


@_sampler
def randint(key: Array, shape: Shape, minval: Array, maxval: Array, dtype: DTypeLike | None = None) -> Array:
    """Integers in [minval, maxval), of `dtype` (int64); minval where the interval is empty.

    Limits beyond the dtype are clipped to it. As in JAX, twice the bits of a number are reduced modulo the span.
    """
    words, shape = _key_words("randint", key), _shape(shape)
    dtype = np.dtype(np.int64 if dtype is None else dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"randint: dtype must be an integer, not {dtype}")
    _check_shape("randint", shape, np.shape(minval), np.shape(maxval))
    return _randint(words, shape, minval, maxval, dtype)


def _randint(words: Words, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype) -> Array:
    minval, maxval = _integer_limit(minval), _integer_limit(maxval)
    wide = dtype
    if dtype.itemsize < 4:  # fewer bits would favour some numbers
        wide, info = INT32, np.iinfo(dtype)
        minval = np.clip(_cast(minval, INT32), info.min, info.max)
        maxval = np.clip(_cast(maxval, INT32), info.min, info.max + 1)
    beyond = maxval > min(int(np.iinfo(wide).max), int(np.iinfo(maxval.dtype).max))
    low, high = (_parameter(_clipped(limit, wide), wide, shape) for limit in (minval, maxval))
    beyond = _parameter(beyond, np.dtype(bool), shape)
    unsigned = np.dtype(f"u{wide.itemsize}")
    width, one = wide.itemsize * 8, unsigned.type(1)
    upper, lower = (_bits(part, shape, width) for part in _split(words))
    with np.errstate(over="ignore"):  # all of this wraps on purpose
        span = np.where(high <= low, one, _cast(high - low, unsigned))
        span = np.where(beyond & (high > low), span + one, span)  # 0, where it is all the numbers there are
    multiplier = _remainder(unsigned.type(1 << width // 2), span)
    multiplier = _remainder(_bind(mul_p, multiplier, multiplier), span)
    offset = _bind(mul_p, _remainder(upper, span), multiplier)
    offset = _remainder(_bind(add_p, offset, _remainder(lower, span)), span)
    return _converted(_bind(add_p, low, _converted(offset, wide)), dtype)


def _remainder(a: Any, b: Any) -> Array:
    """a % b; a where b is 0, as XLA has it."""
    remainder = _bind(rem_p, a, b)
    if type(b) is not Tracer and np.all(b != 0):
        return remainder
    return np.where(b == 0, a, remainder)


def _integer_limit(limit: Any) -> Array:
    limit = _array(limit)
    return limit if limit.dtype.kind in "iu" else _cast(limit, INT64)


def _clipped(x: Any, dtype: np.dtype) -> Array:
    """Integers brought into the range of `dtype`."""
    ours, theirs = np.iinfo(dtype), np.iinfo(x.dtype)
    kind = x.dtype.type
    return _cast(np.clip(x, kind(max(ours.min, theirs.min)), kind(min(ours.max, theirs.max))), dtype)


@_sampler
def bernoulli(
    key: Array, p: Array = 0.5, shape: Shape | None = None, mode: str = "low"
) -> Array:  # fmt: skip
    """True with probability `p`, of `p`'s shape or of `shape`.

    mode: "high" takes twice the random bits, which is right for a small `p` too.
    """
    words = _key_words("bernoulli", key)
    if mode not in MODES:
        raise ValueError(f"bernoulli: mode must be 'high' or 'low', not {mode!r}")
    likely: Array = _array(p)
    dtype = likely.dtype
    if dtype.name not in ("float32", "float64"):
        raise TypeError(f"bernoulli: the probability must be a float32 or a float64, not {dtype}")
    sizes = likely.shape if shape is None else _shape(shape)
    _check_shape("bernoulli", sizes, likely.shape)
    likely = _parameter(likely, dtype, sizes)
    if mode == "low":
        return _uniform(words, sizes, dtype) < likely
    coarse, fine = _uniform(words, (2, *sizes), dtype)
    return fine * dtype.type(2.0 ** -np.finfo(dtype).nmant) < likely - coarse


# ---- orders and choices ----


@_sampler
def permutation(key: Array, x: Array, axis: int = 0, independent: bool = False) -> Array:
    """`x` in random order along `axis`, or `arange(x)` if `x` is an integer; `x` stays as it is.

    independent: every vector along `axis` in an order of its own.
    """
    return _permutation(_key_words("permutation", key), x, axis, independent)


def _permutation(words: Words, x: Any, axis: int, independent: bool) -> Array:
    x = _array(x)
    axis = normalize_axis_index(axis, x.ndim or 1)
    if not x.ndim:
        if x.dtype.kind not in "iu":
            raise TypeError("permutation: x must be an integer or have at least one axis")
        return _shuffled(words, _numbers(operator.index(x)), axis)
    if independent or x.ndim == 1:
        return _shuffled(words, x, axis)
    return np.take(x, _shuffled(words, _numbers(x.shape[axis]), 0), axis, mode="clip")


def _numbers(n: int) -> Array:
    return _bind(iota_p, dtype=INT64, shape=(n,), dimension=0)


def _shuffled(words: Words, x: Any, axis: int) -> Array:
    """Sorted by random numbers, as often as makes ties unlikely."""
    n_rounds = math.ceil(3 * np.log(max(1, x.size)) / np.log(2**32 - 1))
    if not n_rounds:
        return x.copy()
    for _ in range(n_rounds):
        words, sort_words = _split(words)
        order = _bits(sort_words, x.shape, 32)
        _, x = _bind(sort_p, order, x, dimension=axis, is_stable=True, num_keys=1)
    return x


@_sampler
def choice(
    key: Array, a: Array, shape: Shape = (), replace: bool = True, p: Array | None = None,
    axis: int = 0, mode: str | None = None,
) -> Array:  # fmt: skip
    """Random elements of `a` along `axis` (of `arange(a)` if `a` is an integer), with probabilities `p`.

    mode: as in `gumbel`, which draws without replacement take for their weights.
    """
    words, sizes = _key_words("choice", key), _shape(shape)
    a = _array(a)
    axis = normalize_axis_index(axis, a.ndim) if a.ndim else 0
    n = a.shape[axis] if a.ndim else operator.index(a)
    n_draws = math.prod(sizes)
    full_shape = a.shape[:axis] + sizes + a.shape[axis + 1 :] if a.ndim else sizes
    if n_draws == 0:
        return _array(np.zeros(full_shape, a.dtype))
    if n <= 0:
        raise ValueError("choice: a must be greater than 0 unless no samples are taken")
    if not replace and n_draws > n:
        raise ValueError(f"choice: can't take a sample of {n_draws} out of {n} without replacement")
    if p is None:
        if replace:
            where = _randint(words, sizes, 0, n, INT64)
        else:
            taken = _permutation(words, a if a.ndim else n, axis, False)
            return taken[(slice(None),) * axis + (slice(n_draws),)].reshape(full_shape)
    else:
        weights: Array = _array(p)
        weights = weights if weights.dtype.kind == "f" else weights.astype(np.float64)
        dtype = weights.dtype
        if weights.shape != (n,):
            raise ValueError(f"choice: p must have the shape {(n,)}, one for each element, not {weights.shape}")
        if replace:
            total = np.cumsum(weights)
            where = np.searchsorted(total, total[-1] * (dtype.type(1) - _uniform(words, sizes, dtype)))
        else:  # the n_draws largest of log p with Gumbel noise
            noisy = _gumbel(words, (n,), dtype, mode) + np.log(weights)
            where = np.argsort(-noisy, kind="stable")[:n_draws]
    result = np.take(a, where, axis, mode="clip") if a.ndim else where.astype(np.int64)
    return result.reshape(full_shape)


@_sampler
def categorical(
    key: Array, logits: Array, axis: int = -1, shape: Shape | None = None, replace: bool = True,
    mode: str | None = None,
) -> Array:  # fmt: skip
    """Positions along `axis`, each as likely as exp(logits) says.

    shape: of the result: the shape of `logits` without `axis`, or that with further axes in front.
    replace: False draws, along those further axes, each position at most once. mode: as in `gumbel`.
    """
    words = _key_words("categorical", key)
    logits = _array(logits)
    dtype = _float_dtype("categorical", logits.dtype)
    axis = normalize_axis_index(axis, logits.ndim)
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    sizes = batch if shape is None else _shape(shape)
    _check_shape("categorical", sizes, batch)
    front = sizes[: len(sizes) - len(batch)]
    if replace:
        drawn = list(sizes[len(front) :])
        drawn.insert(axis, logits.shape[axis])
        noisy = _gumbel(words, (*front, *drawn), dtype, mode) + logits
        return np.argmax(noisy, axis=axis - logits.ndim)
    n_draws, n = math.prod(front), logits.shape[axis]
    if n_draws > n:
        raise ValueError(f"categorical: can't draw {n_draws} out of {n} without replacement")
    noisy = np.moveaxis(_gumbel(words, logits.shape, dtype, mode) + logits, axis, -1)
    order = np.argsort(-noisy, axis=-1, kind="stable")[..., :n_draws]
    return np.moveaxis(order, -1, 0).reshape(sizes)


# ---- distributions ----


@_sampler
def normal(key: Array, shape: Shape = (), dtype: DTypeLike | None = None) -> Array:
    """Standard normal floats; of a complex dtype, with mean square 1.

    sqrt(2) * erf_inv(u) for a uniform u in (-1, 1).
    """
    words, shape = _key_words("normal", key), _shape(shape)
    dtype = np.dtype(float if dtype is None else dtype)
    if dtype.kind != "c":
        return _normal(words, shape, _float_dtype("normal", dtype))
    part = np.dtype(f"f{dtype.itemsize // 2}")
    real, imag = (_normal(half, shape, part) for half in _split(words))
    return (real + dtype.type(1j) * imag) / dtype.type(np.sqrt(2))


def _normal(words: Words, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    kind = dtype.type
    u = _uniform(words, shape, dtype, np.nextafter(kind(-1), kind(0)), kind(1))
    return kind(np.sqrt(2)) * _bind(erf_inv_p, u)


@_sampler
def truncated_normal(
    key: Array, lower: Array, upper: Array, shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> Array:  # fmt: skip
    """Standard normal floats between `lower` and `upper`, which broadcast to `shape`."""
    words, dtype = _key_words("truncated_normal", key), _float_dtype("truncated_normal", dtype)
    shape = np.broadcast_shapes(np.shape(lower), np.shape(upper)) if shape is None else _shape(shape)
    _check_shape("truncated_normal", shape, np.shape(lower), np.shape(upper))
    kind = dtype.type
    root = kind(np.sqrt(2))
    lower, upper = _parameter(lower, dtype, shape), _parameter(upper, dtype, shape)
    low, high = (_bind(erf_p, limit / root) for limit in (lower, upper))
    found = root * _bind(erf_inv_p, _uniform(words, shape, dtype, low, high))
    # Rounding must not reach the limits themselves.
    return np.clip(found, np.nextafter(lower, kind(np.inf)), np.nextafter(upper, kind(-np.inf)))


@_sampler
def exponential(key: Array, shape: Shape = (), dtype: DTypeLike | None = None) -> Array:
    """Exponential floats of mean 1: -log(1 - u)."""
    words, dtype = _key_words("exponential", key), _float_dtype("exponential", dtype)
    return -np.log1p(-_uniform(words, _shape(shape), dtype))


@_sampler
def gumbel(key: Array, shape: Shape = (), dtype: DTypeLike | None = None, mode: str | None = None) -> Array:
    """Standard Gumbel floats: -log(-log(u)). mode: "low" (the default), or "high", which takes twice the bits."""
    words, dtype = _key_words("gumbel", key), _float_dtype("gumbel", dtype)
    return _gumbel(words, _shape(shape), dtype, mode)


def _gumbel(words: Words, shape: tuple[int, ...], dtype: np.dtype, mode: str | None) -> Array:
    if mode not in (None, *MODES):
        raise ValueError(f"mode must be 'high' or 'low', not {mode!r}")
    info, kind = np.finfo(dtype), dtype.type
    if mode != "high":
        return -np.log(-np.log(_uniform(words, shape, dtype, info.tiny)))
    high, low = _uniform(words, (2, *shape), dtype)
    u = np.where(high >= kind(0.5), high, high + kind(2.0**-info.nmant) * low + info.tiny)
    return -np.log(-np.log1p(-u))


@_sampler
def laplace(key: Array, shape: Shape = (), dtype: DTypeLike | None = None) -> Array:
    """Standard Laplace floats: sign(u) * log(1 - |u|) for a uniform u in (-1, 1)."""
    words, dtype = _key_words("laplace", key), _float_dtype("laplace", dtype)
    u = _uniform(words, _shape(shape), dtype, -1.0 + np.finfo(dtype).epsneg)
    return np.sign(u) * np.log1p(-np.abs(u))


@_sampler
def logistic(key: Array, shape: Shape = (), dtype: DTypeLike | None = None) -> Array:
    """Standard logistic floats: log(u) - log(1 - u)."""
    words, dtype = _key_words("logistic", key), _float_dtype("logistic", dtype)
    u = _uniform(words, _shape(shape), dtype, np.finfo(dtype).tiny)
    return np.log(u) - np.log1p(-u)
