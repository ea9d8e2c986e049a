"""`np.vectorize`: a function of numbers, called for every element. Each call is a loop over the elements, which becomes
what such a loop of the user's would become."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tracer as core
from .operands import array, broadcast_operand, cast, has_tracer, is_tracer, reshape_to, unsupported
from .promotion import check_not_mixed

_NO_VALUE = np._NoValue
_PYTHONS = {"b": np.dtype(bool), "i": np.dtype(np.int64), "u": np.dtype(np.int64), "f": np.dtype(np.float64),
          "c": np.dtype(np.complex128)}  # fmt: skip


def vectorize(
    pyfunc: Any = _NO_VALUE, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: bool = False,
    signature: Any = None,
) -> Any:  # fmt: skip
    if pyfunc is _NO_VALUE:
        options = {"otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature}
        return functools.partial(vectorize, **options)
    numpys = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
    return Vectorized(pyfunc, numpys)


class Vectorized:
    """What `np.vectorize` gives in traced code. numpys: what NumPy has made of the function."""

    def __init__(self, function: Callable[..., Any], numpys: np.vectorize):
        self.pyfunc = function
        self.numpys = numpys
        self.__name__ = getattr(function, "__name__", "vectorize")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..functions import rebuild_function
        from .creation import zeros

        numpys = self.numpys
        if not any(map(has_tracer, (*args, *kwargs.values()))):
            known = numpys(*args, **kwargs)
            return array(known) if isinstance(known, np.ndarray) else known
        if kwargs or numpys.excluded or numpys.signature is not None or len(args) > len(_LOOPS):
            raise unsupported("np.vectorize with keywords, `excluded` or a signature")
        if numpys.otypes is not None and len(numpys.otypes) > 1:
            raise unsupported("np.vectorize of a function with several results")
        xs = [array(a) for a in args]
        shape = np.broadcast_shapes(*(x.shape for x in xs))
        n = int(np.prod(shape))
        xs = [reshape_to(broadcast_operand(x, shape), (n,)) for x in xs]
        out = zeros(n, self._dtype(xs, n))
        loop = _LOOPS[len(xs) - 1]
        converted = rebuild_function(core.require_trace().lifter, loop, loop.__name__, lambda: loop)
        converted(self.pyfunc, out, *map(_as_pythons, xs))
        return core.as_array(reshape_to(out, shape))

    def _dtype(self, xs: list[Any], n: int) -> np.dtype:
        """NumPy asks what the function gives for the first element, a number of NumPy's still, unless it is told."""
        if self.numpys.otypes is not None:
            return np.dtype(self.numpys.otypes[0])
        if not n:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = self.pyfunc(*(x[0] for x in xs))
        check_not_mixed(first)
        if (
            isinstance(first, tuple)
            or not is_tracer(first)
            and not isinstance(first, (bool, int, float, complex, np.generic))
        ):
            raise unsupported("np.vectorize of a function whose result is no number")
        if core.lift(first).shape:
            raise unsupported("np.vectorize of a function whose result is an array")
        return core.lift(first).dtype


def _as_pythons(x: Any) -> Any:
    """The array in the dtype of Python's numbers: the function gets these."""
    if x.dtype == np.uint64:
        raise unsupported("np.vectorize over uint64")
    return cast(x, _PYTHONS[x.dtype.kind])


def _each_1(function: Any, out: Any, a: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k].item())


def _each_2(function: Any, out: Any, a: Any, b: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k].item(), b[k].item())


def _each_3(function: Any, out: Any, a: Any, b: Any, c: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k].item(), b[k].item(), c[k].item())


def _each_4(function: Any, out: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k].item(), b[k].item(), c[k].item(), d[k].item())


_LOOPS = (_each_1, _each_2, _each_3, _each_4)
