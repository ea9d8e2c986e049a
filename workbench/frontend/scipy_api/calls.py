"""Functions of SciPy that run as they are, between kernels: what they compute is compiled already, and the types of
their results depend on nothing but the types of their arrays and on settings that are known."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..diagnostics import as_constants
from ..numpy_api.library import numpy_call, static_setting
from ..numpy_api.operands import has_tracer, operand, unsupported

# By module: the functions, and which of their parameters are arrays.
CALLS: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {
    "scipy.linalg._basic": {("a", "b"): ("solve", "solve_triangular", "lstsq"), ("a",): ("inv", "det", "pinv")},
    "scipy.linalg._decomp": {("a", "b"): ("eigh", "eigvalsh")},
    "scipy.linalg._decomp_svd": {("a",): ("svd", "svdvals")},
    "scipy.linalg._decomp_cholesky": {("a",): ("cholesky",)},
    "scipy.linalg._decomp_qr": {("a",): ("qr",)},
    "scipy.linalg._decomp_lu": {("a",): ("lu",)},
    "scipy.linalg._matfuncs": {("A",): ("expm",)},
    "scipy.signal._signaltools": {
        ("b", "a", "x", "zi"): ("lfilter",), ("sos", "x", "zi"): ("sosfilt",),
        ("in1", "in2"): ("convolve2d", "correlate2d"),
        ("volume",): ("medfilt",), ("input",): ("medfilt2d",),
    },
    "scipy.spatial.distance": {("XA", "XB"): ("cdist",), ("X",): ("pdist", "squareform")},
    "scipy.ndimage._interpolation": {
        ("input",): ("zoom", "rotate", "shift", "spline_filter"), ("input", "coordinates"): ("map_coordinates",),
        ("input", "matrix"): ("affine_transform",),
    },
    "scipy.ndimage._filters": {
        ("input",): ("median_filter", "uniform_filter", "uniform_filter1d", "maximum_filter", "minimum_filter",
                     "maximum_filter1d", "minimum_filter1d", "percentile_filter", "rank_filter"),
    },
    "scipy.ndimage._morphology": {
        ("input",): ("binary_dilation", "binary_erosion", "binary_opening", "binary_closing", "binary_fill_holes",
                     "grey_dilation", "grey_erosion", "grey_opening", "grey_closing", "distance_transform_edt"),
    },
    "scipy.ndimage._measurements": {("input",): ("label",)},
    "scipy.fft._realtransforms": {("x",): ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")},
}  # fmt: skip
TRACED = {
    (module, name): traced for module, found in CALLS.items() for traced, names in found.items() for name in names
}


def between_kernels(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """What has `function` called by the program; None where it is none of these."""
    module, name = function.__module__, function.__name__
    traced = TRACED.get((module, name))
    if traced is None:
        return None
    signature = inspect.signature(function)
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(has_tracer, (*args, *kwargs.values()))):
            return as_constants(function(*args, **kwargs))
        bound = signature.bind(*args, **kwargs).arguments
        bound.update(bound.pop("kwargs", {}))
        operands = {key: operand(bound.pop(key)) for key in traced if bound.get(key) is not None}
        if isinstance(bound.get("output", bound.get("out")), np.ndarray) or has_tracer(bound.get("output")):
            raise unsupported(f"{name} into an array cannot be compiled")
        settings = {
            key: static_setting(value, f"{name}: {key}=")
            for key, value in bound.items()
            if not key.startswith("overwrite_") and value is not None  # an operand belongs to the program
        }
        return numpy_call(f"{public}:{name}({', '.join(operands)})", *operands.values(), **settings)

    return call
