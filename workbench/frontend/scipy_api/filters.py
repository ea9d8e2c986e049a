"""The compiled filters below `scipy.ndimage` as NumPy: a sum of shifted slices of the padded array, which becomes one
kernel. `gaussian_filter`, `convolve`, `sobel`, `laplace` and others are Python above them, and are traced through.

The sums are in the order of SciPy's own C (scipy/ndimage/src/ni_filters.c): in double precision, equal weights on both
sides of the middle taken together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_api.operands import known, unsupported

# What `_ni_support._extend_mode_to_code` gives for the modes, as np.pad has them.
_PAD_MODES = {0: "edge", 1: "wrap", 2: "symmetric", 3: "reflect", 4: "constant", 5: "wrap", 6: "constant"}
_MOST_WEIGHTS = 256  # each is an operation of the kernel


def correlate1d(x: Any, weights: Any, axis: int, output: Any, mode: int, cval: float, origin: int) -> None:
    """`output[i] = sum(weights[j] * x[i + j - len(weights) // 2 - origin])` along `axis`."""
    n = len(weights)
    before = n // 2 + origin
    padded = _padded(x, [(before, n - 1 - before) if d == axis else (0, 0) for d in range(x.ndim)], mode, cval)

    def shifted(j: int) -> Any:
        return padded[tuple([slice(j, j + x.shape[axis]) if d == axis else slice(None) for d in range(x.ndim)])]

    output[...] = _sum(weights, shifted)


def _sum(weights: Any, shifted: Any) -> Any:
    n, middle = len(weights), len(weights) // 2
    if n > _MOST_WEIGHTS:
        raise unsupported(f"a filter of {n} weights is not compiled")
    numbers = known(weights)
    if numbers is None:
        w, sign = weights, 0
    else:
        w, sign = [float(value) for value in numbers], _symmetry(numbers)
    first = n - 1 if not sign else middle
    total = shifted(first) * w[first]
    if sign:
        for j in range(middle):
            total = total + (shifted(j) + sign * shifted(n - 1 - j)) * w[j]
    else:
        for j in range(n - 1):
            total = total + shifted(j) * w[j]
    return total


def _symmetry(weights: np.ndarray) -> int:
    """1 for weights that are equal on both sides of the middle, -1 for opposite ones, else 0."""
    left, right = weights[: len(weights) // 2], weights[: len(weights) // 2 : -1]
    if len(weights) % 2 == 0 or len(weights) == 1:
        return 0
    epsilon = np.finfo(np.float64).eps
    return 1 if (abs(left - right) <= epsilon).all() else -1 if (abs(left + right) <= epsilon).all() else 0


def correlate(x: Any, weights: Any, output: Any, mode: int, cval: float, origins: Any) -> None:
    """The same over all axes; weights of 0 are left out, as in SciPy."""
    numbers = known(weights)
    if numbers is None:
        raise unsupported("a filter whose weights are computed is not compiled")
    before = [n // 2 + origin for n, origin in zip(numbers.shape, origins, strict=True)]
    padded = _padded(x, [(b, n - 1 - b) for b, n in zip(before, numbers.shape, strict=True)], mode, cval)
    places = np.argwhere(abs(numbers) > np.finfo(np.float64).eps)
    if len(places) > _MOST_WEIGHTS:
        raise unsupported(f"a filter of {len(places)} weights is not compiled")
    total: Any = np.zeros(x.shape)
    for place in places.tolist():
        part = padded[tuple([slice(j, j + size) for j, size in zip(place, x.shape, strict=True)])]
        total = total + part * float(numbers[tuple(place)])
    output[...] = total


def _padded(x: Any, widths: list[tuple[int, int]], mode: int, cval: float) -> Any:
    x = x.astype(np.float64)
    if not x.size:
        raise unsupported("a filter of an empty array is not compiled")
    fill = {"constant_values": cval} if _PAD_MODES[mode] == "constant" else {}
    return np.pad(x, widths, mode=_PAD_MODES[mode], **fill)  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy's stubs name each mode


STAND_INS = {("scipy.ndimage._nd_image", f.__name__): f for f in (correlate1d, correlate)}
