"""A typical call of every function and method, as source: what the coverage table traces, and an example for readers.

The names in a sample: x (3,4), y (3,4), v (5,), m (4,4) positive definite, z (3,4) complex, i (3,4) integers, k (5,)
indices, b (3,4) bool, u (8,) bytes. `out`, where it appears, is a fresh array.
"""

from __future__ import annotations

import numpy as np


def inputs() -> dict[str, np.ndarray]:
    """The arrays that the samples are about."""
    x = (np.arange(12.0).reshape(3, 4) - 5) / 4
    square = np.arange(16.0).reshape(4, 4) % 7
    return {
        "x": x, "y": x[::-1] * 0.5 + 1.25, "v": np.array([0.5, -1.5, 2.0, 3.5, -0.25]),
        "m": square @ square.T + 4 * np.eye(4), "z": x + 1j * x[:, ::-1], "i": np.arange(12).reshape(3, 4) % 5 + 1,
        "k": np.array([0, 2, 1, 1, 0]), "b": x > 0, "u": np.arange(8, dtype=np.uint8) * 31,
    }  # fmt: skip


FUNCTIONS: dict[str, str] = {
    # movement
    "reshape": "np.reshape(x, (4, 3))", "ravel": "np.ravel(x)", "transpose": "np.transpose(x)",
    "permute_dims": "np.permute_dims(x, (1, 0))", "matrix_transpose": "np.matrix_transpose(x)",
    "moveaxis": "np.moveaxis(x, 0, 1)", "rollaxis": "np.rollaxis(x, 1)", "swapaxes": "np.swapaxes(x, 0, 1)",
    "squeeze": "np.squeeze(x[:1])", "expand_dims": "np.expand_dims(x, 0)", "atleast_1d": "np.atleast_1d(x)",
    "atleast_2d": "np.atleast_2d(v)", "atleast_3d": "np.atleast_3d(x)",
    "broadcast_to": "np.broadcast_to(x, (2, 3, 4))", "broadcast_arrays": "np.broadcast_arrays(x, x[0])",
    "flip": "np.flip(x)", "flipud": "np.flipud(x)", "fliplr": "np.fliplr(x)", "rot90": "np.rot90(x)",
    "roll": "np.roll(x, 1, axis=0)", "diagonal": "np.diagonal(x)", "diag": "np.diag(v)",
    "diagflat": "np.diagflat(v)", "fill_diagonal": "np.fill_diagonal(m, 0)", "tril": "np.tril(x)",
    "triu": "np.triu(x)", "concatenate": "np.concatenate([x, y])", "concat": "np.concat([x, y])",
    "stack": "np.stack([x, y])", "vstack": "np.vstack([x, y])", "hstack": "np.hstack([x, y])",
    "dstack": "np.dstack([x, y])", "column_stack": "np.column_stack([v, v])", "row_stack": "np.row_stack([x, y])",
    "block": "np.block([[x, y], [y, x]])", "append": "np.append(v, 1.0)", "split": "np.split(x, 2, axis=1)",
    "array_split": "np.array_split(v, 2)", "hsplit": "np.hsplit(x, 2)", "vsplit": "np.vsplit(x, [1])",
    "dsplit": "np.dsplit(x[None], 2)", "unstack": "np.unstack(x)", "tile": "np.tile(x, (2, 1))",
    "repeat": "np.repeat(x, 2, axis=0)", "resize": "np.resize(x, (2, 5))", "delete": "np.delete(v, 1)",
    "insert": "np.insert(v, 1, 9.0)", "pad": "np.pad(x, 1)",
    # reductions and statistics
    **{name: f"np.{name}(x, axis=0)" for name in (
        "sum", "prod", "max", "amax", "min", "amin", "any", "all", "ptp", "count_nonzero", "argmax", "argmin",
        "cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "diff", "trapezoid", "mean", "var", "std", "average",
        "median", "nanmedian", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanargmax",
        "nanargmin", "nancumsum", "nancumprod",
    )},
    **{name: f"np.{name}(x, {q}, axis=0)" for name, q in (
        ("quantile", 0.25), ("percentile", 25), ("nanquantile", 0.25), ("nanpercentile", 25),
    )},
    "ediff1d": "np.ediff1d(v)", "cov": "np.cov(x)", "corrcoef": "np.corrcoef(x)",
    # products
    "dot": "np.dot(m, m)", "vdot": "np.vdot(v, v)", "inner": "np.inner(x, y)", "outer": "np.outer(v, v)",
    "tensordot": "np.tensordot(m, m, axes=1)", "kron": "np.kron(x, y)", "cross": "np.cross(x[:, :3], y[:, :3])",
    "trace": "np.trace(m)", "einsum": "np.einsum('ij,kj->ik', x, y)",
    "einsum_path": "np.einsum_path('ij,kj->ik', x, y)",
    # selection and elementwise functions
    "where": "np.where(x > 0, x, 0)", "select": "np.select([x > 1, x > 0], [x, y])",
    "piecewise": "np.piecewise(x, [x < 0], [lambda t: -t, lambda t: t])", "choose": "np.choose(k % 2, [v, -v])",
    "clip": "np.clip(x, 0, 1)", "isclose": "np.isclose(x, y)", "allclose": "np.allclose(x, y)",
    "array_equal": "np.array_equal(x, y)", "array_equiv": "np.array_equiv(x, y)", "round": "np.round(x, 1)",
    "around": "np.around(x)", "fix": "np.fix(x)", "real": "np.real(z)", "imag": "np.imag(z)",
    "real_if_close": "np.real_if_close(z)", "angle": "np.angle(z)", "iscomplex": "np.iscomplex(z)",
    "isreal": "np.isreal(z)", "isposinf": "np.isposinf(x)", "isneginf": "np.isneginf(x)",
    "nan_to_num": "np.nan_to_num(x)", "sinc": "np.sinc(x)", "i0": "np.i0(x)", "unwrap": "np.unwrap(v)",
    "compress": "np.compress([True, False, True], x, axis=0)", "extract": "np.extract([True] * 5, v)",
    "interp": "np.interp(x, [0.0, 1.0], [2.0, 3.0])", "gradient": "np.gradient(x)", "convolve": "np.convolve(v, v)",
    "correlate": "np.correlate(v, v, 'full')", "apply_along_axis": "np.apply_along_axis(np.sum, 0, x)",
    "apply_over_axes": "np.apply_over_axes(np.sum, x, [0])",
    # picking and placing
    "take": "np.take(x, [0, 2], axis=0)", "take_along_axis": "np.take_along_axis(x, np.argsort(x, 1), 1)",
    "put": "np.put(v, [0, 1], 9.0)", "put_along_axis": "np.put_along_axis(x, i[:, :1] % 4, 9.0, 1)",
    "putmask": "np.putmask(x, x > 0, 0)", "place": "np.place(x, x > 0, [1.0, 2.0])",
    "copyto": "np.copyto(x, y, where=x > 0)", "nonzero": "np.nonzero(x)", "flatnonzero": "np.flatnonzero(x)",
    "argwhere": "np.argwhere(x > 0)",
    # sorting and counting
    "sort": "np.sort(x)", "argsort": "np.argsort(x)", "sort_complex": "np.sort_complex(v)",
    "partition": "np.partition(v, 2)", "argpartition": "np.argpartition(v, 2)", "lexsort": "np.lexsort((v, v))",
    "searchsorted": "np.searchsorted([0.0, 1.0, 2.0], v)", "digitize": "np.digitize(v, [0.0, 1.0])",
    "isin": "np.isin(i, [1, 2])", "bincount": "np.bincount(k)", "histogram": "np.histogram(v, bins=4)",
    "histogram_bin_edges": "np.histogram_bin_edges(v, bins=4)", "histogram2d": "np.histogram2d(v, v)",
    "histogramdd": "np.histogramdd(x)", "packbits": "np.packbits(b)", "unpackbits": "np.unpackbits(u)",
    "ravel_multi_index": "np.ravel_multi_index((k, k), (3, 3), mode='clip')",
    "unravel_index": "np.unravel_index(np.argmax(x), x.shape)", "unique": "np.unique(v)",
    **{f"unique_{what}": f"np.unique_{what}(v)" for what in ("all", "counts", "inverse", "values")},
    **{name: f"np.{name}(v, k)" for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")},
    "trim_zeros": "np.trim_zeros(v)",
    # polynomials
    "polyval": "np.polyval(v, x)", "polyadd": "np.polyadd(v, v[:2])", "polysub": "np.polysub(v, v[:2])",
    "polymul": "np.polymul(v, v)", "polydiv": "np.polydiv(v, v[:2])", "polyder": "np.polyder(v)",
    "polyint": "np.polyint(v)", "poly": "np.poly(v)", "polyfit": "np.polyfit(v, v * v, 2)", "roots": "np.roots(v)",
    # creation
    "zeros": "np.zeros((3, 4)) + x", "ones": "np.ones((3, 4)) + x", "empty": "np.empty((3, 4))[...]",
    "full": "np.full((3, 4), x[0, 0])", "zeros_like": "np.zeros_like(x)", "ones_like": "np.ones_like(x)",
    "empty_like": "np.empty_like(x)", "full_like": "np.full_like(x, 2)", "array": "np.array([x[0, 0], x[1, 1]])",
    "asarray": "np.asarray(x)", "asanyarray": "np.asanyarray(x)", "ascontiguousarray": "np.ascontiguousarray(x.T)",
    "asfortranarray": "np.asfortranarray(x)", "require": "np.require(x, requirements='C')",
    "frombuffer": "np.frombuffer(b'01234567')",
    "asarray_chkfinite": "np.asarray_chkfinite(x)", "copy": "np.copy(x)", "astype": "np.astype(x, np.float32)",
    "arange": "np.arange(4) * x", "linspace": "np.linspace(0, x[0, 0], 5)",
    "logspace": "np.logspace(0, x[0, 0], 5)", "geomspace": "np.geomspace(1, 100, 3) * x[0, 0]",
    "eye": "np.eye(4) @ m", "identity": "np.identity(4) @ m", "tri": "np.tri(4) * m", "vander": "np.vander(v, 3)",
    "fromfunction": "np.fromfunction(lambda p, q: p + q, (3, 4)) * x", "indices": "np.indices((3, 4)) * x",
    "meshgrid": "np.meshgrid(v, v)", "ix_": "x[np.ix_([0, 2], [1, 3])]",
    **{name: f"np.{name}(5) * v" for name in ("hanning", "hamming", "blackman", "bartlett")},
    "kaiser": "np.kaiser(5, 2.0) * v", "tril_indices": "m[np.tril_indices(4)]",
    "triu_indices": "m[np.triu_indices(4)]", "diag_indices": "m[np.diag_indices(4)]",
    "mask_indices": "m[np.mask_indices(4, np.triu)]", "tril_indices_from": "m[np.tril_indices_from(m)]",
    "triu_indices_from": "m[np.triu_indices_from(m)]", "diag_indices_from": "m[np.diag_indices_from(m)]",
    # what is known without the numbers
    "shape": "np.shape(x)", "ndim": "np.ndim(x)", "size": "np.size(x)", "iscomplexobj": "np.iscomplexobj(x)",
    "isrealobj": "np.isrealobj(x)", "result_type": "np.result_type(x, 1)",
    "can_cast": "np.can_cast(x.dtype, np.float32)", "common_type": "np.common_type(x, v)",
    "min_scalar_type": "np.min_scalar_type(x)", "may_share_memory": "np.may_share_memory(x, x.T)",
    "shares_memory": "np.shares_memory(x, x[1:])", "isfortran": "np.isfortran(x)", "promote_types":
        "np.promote_types(x.dtype, i.dtype)", "broadcast_shapes": "np.broadcast_shapes(x.shape, (4,))",
    "issubdtype": "np.issubdtype(x.dtype, np.floating)", "isdtype": "np.isdtype(x.dtype, 'real floating')",
    "isscalar": "np.isscalar(x)", "iterable": "np.iterable(x)", "mintypecode": "np.mintypecode('fd')",
    "typename": "np.typename('d')", "base_repr": "np.base_repr(5, 2)", "binary_repr": "np.binary_repr(5)",
    "geterr": "np.geterr()",
}  # fmt: skip

LINALG: dict[str, str] = {
    **{name: f"np.linalg.{name}(m)" for name in (
        "inv", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv",
        "matrix_rank", "norm", "vector_norm", "matrix_norm", "cond", "trace", "diagonal", "matrix_transpose",
    )},
    "solve": "np.linalg.solve(m, m[0])", "lstsq": "np.linalg.lstsq(x, x[:, 0])",
    "tensorsolve": "np.linalg.tensorsolve(m.reshape(2, 2, 4), m[0].reshape(2, 2))",
    "tensorinv": "np.linalg.tensorinv(m, ind=1)", "matrix_power": "np.linalg.matrix_power(m, 3)",
    "multi_dot": "np.linalg.multi_dot([m, m, m[0]])", "cross": "np.linalg.cross(x[:, :3], y[:, :3])",
    "outer": "np.linalg.outer(v, v)", "tensordot": "np.linalg.tensordot(m, m, axes=1)",
    "matmul": "np.linalg.matmul(m, m)", "vecdot": "np.linalg.vecdot(x, y)",
}  # fmt: skip

FFT: dict[str, str] = {
    **{name: f"np.fft.{name}(x)" for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
        "irfftn", "fftshift", "ifftshift",
    )},
    "fftfreq": "np.fft.fftfreq(5) * v", "rfftfreq": "np.fft.rfftfreq(8) * v",
}  # fmt: skip

METHODS: dict[str, str] = {
    **{name: f"x.{name}(axis=0)" for name in (
        "all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var",
        "argsort",
    )},
    **{name: f"x.{name}()" for name in (
        "byteswap", "conj", "conjugate", "copy", "flatten", "ravel", "round", "squeeze", "tolist", "transpose",
        "nonzero", "view", "tobytes", "dumps", "sort",
    )},
    **{name: f"x.{name}" for name in (
        "T", "mT", "real", "imag", "shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "base", "device",
        "data", "ctypes",
    )},
    "flat": "x.flat[2]", "flags": "x.flags.c_contiguous",
    "argpartition": "v.argpartition(2)", "astype": "x.astype(np.float32)", "choose": "(k % 2).choose([v, -v])",
    "clip": "x.clip(0, 1)", "compress": "x.compress([True, False, True], axis=0)", "diagonal": "x.diagonal()",
    "dot": "m.dot(m)", "fill": "x.fill(1.0)", "item": "x[0, :1].item()", "partition": "v.partition(2)",
    "put": "v.put([0], 1.0)", "repeat": "x.repeat(2)", "reshape": "x.reshape(4, 3)", "resize": "x.resize((2, 6))",
    "searchsorted": "v.searchsorted([0.0])", "setfield": "v.setfield(1.0, np.float64)",
    "getfield": "v.getfield(np.float32)", "setflags": "x.setflags(write=False)", "swapaxes": "x.swapaxes(0, 1)",
    "take": "x.take([0, 1])", "trace": "m.trace()", "to_device": "x.to_device('cpu')", "tofile": "x.tofile('name')",
    "dump": "x.dump('name')",
}  # fmt: skip

# Functions that no trace can see, or that are about something other than numbers in arrays.
NOT_COMPILED: dict[str, str] = {
    **dict.fromkeys(
        ("save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex"),
        "reads or writes files, which must happen at every run",
    ),
    **dict.fromkeys(
        ("fromiter", "fromstring", "from_dlpack"), "reads memory or an iterator outside NumPy"
    ),
    **dict.fromkeys(
        ("array2string", "array_repr", "array_str", "format_float_positional", "format_float_scientific"),
        "makes text of the numbers",
    ),
    **dict.fromkeys(
        ("seterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "set_printoptions", "get_printoptions",
         "printoptions", "show_config", "show_runtime", "get_include", "info", "test"),
        "is about NumPy itself",
    ),
    **dict.fromkeys(
        ("busday_count", "busday_offset", "is_busday", "datetime_as_string", "datetime_data", "isnat"),
        "is about dates",
    ),
    **dict.fromkeys(("asmatrix", "bmat"), "makes np.matrix objects"),
    "frompyfunc": "makes a ufunc of a Python function, on object arrays",
    "nested_iters": "iterates over memory",
}  # fmt: skip
