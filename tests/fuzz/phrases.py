"""The vocabulary of random programs: templates of NumPy expressions.

`{x}`, `{y}`, `{z}` are operands, `{axis}`, `{perm}` and so on are filled in to suit `{x}`.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = "biufc"
REAL = "biuf"
NUMBER = "iufc"
FLOAT = "f"
INEXACT = "fc"
INTEGER = "iu"
BITS = "biu"


@dataclass(frozen=True)
class Phrase:
    """kinds: dtype kinds of the operands; inexact: the result may differ from NumPy's by rounding (inexact_complex:
    for complex numbers only); discontinuous: a rounding of an operand may change all; broadcasts: `{y}` must broadcast
    with `{x}`; grows: the result may be as large as the product of the operands."""

    text: str
    kinds: str = ALL
    inexact: bool = False
    discontinuous: bool = False
    inexact_complex: bool = False
    broadcasts: bool = True
    grows: bool = False
    min_ndim: int = 0


def _phrases(texts: str, kinds: str = ALL, **options: bool | int) -> tuple[Phrase, ...]:
    return tuple(Phrase(text.strip(), kinds, **options) for text in texts.split("\n") if text.strip())  # type: ignore[arg-type]


UNARY = (
    *_phrases("""
        -{x}
        abs({x})
        np.square({x})
        np.positive({x})
    """, NUMBER, inexact_complex=True),
    *_phrases("""
        np.sqrt(np.abs({x}))
        np.fabs({x})
        np.reciprocal({x})
        np.nan_to_num({x})
    """, FLOAT),
    *_phrases("""
        np.exp({x})
        np.exp(-np.abs({x}))
        np.exp2({x})
        np.expm1({x})
        np.log(np.abs({x}))
        np.log2(np.abs({x}) + 1)
        np.log10({x})
        np.log1p(np.abs({x}))
        np.sin({x})
        np.cos({x})
        np.tan({x})
        np.arcsin({x})
        np.arccos({x})
        np.arctan({x})
        np.sinh({x})
        np.cosh({x})
        np.tanh({x})
        np.arcsinh({x})
        np.arccosh({x})
        np.arctanh({x})
        np.cbrt({x})
        np.sinc({x})
        np.deg2rad({x})
        np.degrees({x})
        1 / (1 + np.exp(-{x}))
        {x} ** 3
        {x} ** -2
        {x} ** 0.5
        {x} ** 1.5
    """, "iuf", inexact=True),
    *_phrases("""
        np.exp({x})
        np.sqrt({x})
        np.sin({x})
        np.cos({x})
        np.tanh({x})
        np.log({x})
        np.angle({x})
        {x} ** 2
    """, "c", inexact=True),
    *_phrases("""
        np.floor({x})
        np.ceil({x})
        np.trunc({x})
        np.rint({x})
        np.round({x}, {small})
        np.sign({x})
        np.signbit(np.nan_to_num({x}))
        np.spacing({x})
        np.modf({x})[0]
        np.modf({x})[1]
        np.frexp({x})[0]
        np.frexp({x})[1]
        np.fix({x})
    """, FLOAT, discontinuous=True),
    *_phrases("""
        np.isnan({x})
        np.isinf({x})
        np.isfinite({x})
        np.logical_not({x})
        {x} == 0
        {x} != 0
    """, ALL, discontinuous=True),
    *_phrases("np.sign({x})", ALL, discontinuous=True, inexact_complex=True),
    *_phrases("""
        ~{x}
        np.invert({x})
        {x} & 6
        {x} << 1
        {x} >> 2
        {x} ** 2
        {x} ** 3
        np.bitwise_count({x})
    """, INTEGER),
    *_phrases("""
        {x}.real
        {x}.imag
        {x}.conj()
        np.conj({x})
        np.real({x})
    """, "fc"),
    *_phrases("{x}.astype({dtype})", "biu"),
    *_phrases("""
        {x}.astype(np.float32)
        {x}.astype(np.float64)
        {x}.astype(np.complex128)
        np.asarray({x}, np.complex64)
    """, "biuf"),
    *_phrases("""
        np.nan_to_num({x}).clip(-100, 100).astype({dtype})
        {x}.astype(np.bool_)
    """, FLOAT, discontinuous=True),
)  # fmt: skip

# The sign of a NaN depends on how it was computed.
BINARY = (
    *_phrases("""
        {x} + {y}
        {x} - {y}
        {x} * {y}
        {y} - {x}
        {x} + {y} * {z}
        np.add({x}, {y})
        np.multiply({x}, {y})
        np.subtract({x}, {y})
        {x} / {y}
        np.divide({y}, {x})
        {x} * {scalar}
        {x} + {scalar}
        {scalar} - {x}
        {x} / {scalar}
    """, ALL, inexact_complex=True),
    *_phrases("""
        np.maximum({x}, {y})
        np.minimum({x}, {y})
        np.fmax({x}, {y})
        np.fmin({x}, {y})
        np.clip({x}, {y}, {z}) + 0
        np.clip({x}, -1, 1)
        np.maximum({x}, 0)
    """, REAL),
    *_phrases("""
        {x} // {y}
        {x} % {y}
        np.fmod({x}, {y})
        np.divmod({x}, {y})[1]
        {x} // {scalar}
        {x} % {scalar}
        np.copysign({x}, np.nan_to_num({y}))
        np.heaviside({x}, {y})
        np.nextafter({x}, {y})
        np.floor_divide({x}, {y})
    """, "iuf", discontinuous=True),
    *_phrases("""
        np.hypot({x}, {y})
        np.arctan2({x}, {y})
        np.logaddexp({x}, {y})
        np.logaddexp2({x}, {y})
        np.power(np.abs({x}), {y})
        {x} ** {y}
        np.float_power({x}, {y})
    """, "f", inexact=True),
    *_phrases("""
        {x} < {y}
        {x} <= {y}
        {x} > {y}
        {x} >= {y}
        {x} == {y}
        {x} != {y}
        np.logical_and({x}, {y})
        np.logical_or({x}, {y})
        np.logical_xor({x}, {y})
        np.isclose({x}, {y})
        np.equal({x}, {y})
        ({x} > 0) & ({y} < 1)
        np.where({x} == {x}, {x}, 0)
    """, ALL, discontinuous=True),
    *_phrases("""
        {x} & {y}
        {x} | {y}
        {x} ^ {y}
        {x} & ~{y}
        np.bitwise_xor({x}, {y})
    """, BITS),
    *_phrases("""
        {x} << {y}
        {x} >> {y}
        np.gcd({x}, {y})
        np.lcm({x}, {y})
        np.left_shift({x}, 3)
        np.ldexp(1.5, {x})
    """, INTEGER),
    *_phrases("""
        np.where({cond}, {x}, {y})
        np.where({cond}, {x}, 0)
        np.where({cond}, {scalar}, {x})
        np.select([{cond}], [{x}], {y})
        np.select([{cond}, {cond}], [{x}, {y}], 0)
        np.add({x}, {y}, dtype=np.float64)
        np.multiply({x}, {y}, dtype=np.complex128)
    """, ALL, inexact_complex=True),
    *_phrases("np.copysign({x}, -1)\nnp.ldexp({x}, 2)", FLOAT),
)  # fmt: skip

# Which of two zeros an extreme picks depends on the order of the comparisons: `+ 0` makes them one.
REDUCING = (
    *_phrases("""
        {x}.sum()
        np.sum({x}, axis={axes})
        np.sum({x}, axis={axis}, keepdims={keepdims})
        {x} - {x}.mean(axis={axis}, keepdims=True)
        {x} / {x}.sum(axis={axis}, keepdims=True)
        np.mean({x}, axis={axes})
        {x}.mean()
        np.var({x}, axis={axes})
        np.std({x}, axis={axis}, ddof=1)
        np.cumsum({x}, axis={axis})
        {x}.cumsum()
        np.trapezoid({x}, axis={axis})
        np.average({x}, axis={axis})
        np.linalg.norm({x})
        np.nansum({x}, axis={axes})
        np.nanmean({x}, axis={axes})
        np.add.reduce({x}, axis={axis})
        np.add.accumulate({x}, axis={axis})
        np.sum({x}, axis={axis}, where={cond})
        np.sum({x}, dtype=np.float64)
    """, INEXACT, inexact=True),
    *_phrases("""
        np.exp({x} - {x}.max(axis={axis}, keepdims=True))
        np.log(np.sum(np.exp({x} - {x}.max()), axis={axis}))
        np.median({x}, axis={axis})
        np.quantile({x}, 0.3, axis={axis})
        ({x} - {x}.mean(axis={axis}, keepdims=True)) / np.sqrt({x}.var(axis={axis}, keepdims=True) + 1e-5)
    """, FLOAT, inexact=True),
    *_phrases("""
        {x}.sum()
        np.sum({x}, axis={axes})
        {x}.sum(axis={axis}, keepdims={keepdims})
        np.prod({x}, axis={axis})
        np.cumsum({x}, axis={axis})
        np.cumprod({x}, axis={axis})
        {x}.sum(dtype=np.int32)
    """, BITS),
    *_phrases("np.mean({x}, axis={axes})\n{x}.var()\nnp.std({x}, axis={axis})", BITS, inexact=True),
    *_phrases("np.prod({x}, axis={axes})\nnp.cumprod({x}, axis={axis})\nnp.multiply.reduce({x})", INEXACT, inexact=True),
    *_phrases("""
        {x}.max() + 0
        {x}.min(axis={axis}) + 0
        np.max({x}, axis={axes}, keepdims={keepdims}) + 0
        np.min({x}, axis={axes}) + 0
        {x} - (np.min({x}, axis={axis}, keepdims=True) + 0)
        np.ptp({x}, axis={axis}) + 0
        np.nanmax({x}, axis={axes}) + 0
        np.maximum.reduce({x}, axis={axis}) + 0
        np.minimum.accumulate({x}, axis={axis})
        np.max({x}, initial=1) + 0
        np.fmax.reduce({x}, axis={axis}) + 0
        np.sort({x}, axis={axis})
    """, REAL),
    *_phrases("""
        {x}.argmax()
        np.argmin({x}, axis={axis})
        np.argmax({x}, axis={axis}, keepdims=True)
        np.any({x}, axis={axes})
        np.all({x}, axis={axis})
        {x}.any()
        np.count_nonzero({x}, axis={axis})
        np.argsort({x}, axis={axis}, kind='stable')
        np.logical_and.reduce({x}, axis={axis})
        np.take_along_axis({x}, np.argsort({x}, axis={axis}, kind='stable'), {axis})
    """, REAL, discontinuous=True),
    *_phrases("np.bitwise_or.reduce({x}, axis={axis})\nnp.bitwise_xor.reduce({x})\nnp.bitwise_and.reduce({x})", BITS),
)  # fmt: skip

PHRASES = (
    *_phrases("""
        {x}.T
        {x}.ravel()
        {x}.reshape({shape})
        np.reshape({x}, {shape})
        np.transpose({x}, {perm})
        {x}.copy()
        np.zeros_like({x})
        np.ones({x}.shape)
        np.full_like({x}, 2)
        np.full({x}.shape, {scalar})
        np.arange({x}.size).reshape({x}.shape) + {x}
        np.expand_dims({x}, 0)
        np.atleast_2d({x})
        np.broadcast_to({x}, (2, *{x}.shape))
        np.squeeze({x})
        {x}[...]
        {x}[None]
        {x}[..., None]
        np.stack([{x}, {x}])
        np.tile({x}, 2)
        np.tile({x}, (2, 1))
        np.ascontiguousarray({x})
        {x}.flatten()
        np.zeros(3) + {x}.sum() * 0
    """, ALL),
    *_phrases("""
        np.flip({x}, {axis})
        np.roll({x}, {n}, axis={axis})
        np.roll({x}, {n})
        np.swapaxes({x}, {axis}, {axis2})
        np.moveaxis({x}, {axis}, {axis2})
        np.concatenate([{x}, {x}], axis={axis})
        np.stack([{x}, {x}], axis={axis})
        np.repeat({x}, {small}, axis={axis})
        np.diff({x}, axis={axis})
        np.pad({x}, 1)
        np.pad({x}, 2, mode='edge')
        np.pad({x}, 1, mode='reflect')
        np.pad({x}, ((1, 0),) * {x}.ndim, constant_values=3)
        {x}[::-1] + {x}
        {x}[1:] - {x}[:-1]
        {x}[{indices}]
        np.take({x}, {indices}, axis=0)
        np.take({x}, {indices}, axis={axis}, mode='wrap')
        {x}[np.array({indices}, dtype=np.int64)]
        np.append({x}, {x}, axis={axis})
        np.hstack([{x}, {x}])
        np.vstack([{x}, {x}])
        np.array_split({x}, 2, axis={axis})[1]
        np.delete({x}, 0, axis={axis})
        np.insert({x}, 0, 1, axis={axis})
    """, ALL, min_ndim=1),
    *_phrases("""
        {x}[:, None, 0] + {x}[0]
        np.tril({x})
        np.triu({x}, {n})
        np.rot90({x})
        np.diagonal({x})
        np.fliplr({x})
        {x}[1:, :-1] + {x}[:-1, 1:]
        {x}[::2, ::-1]
        np.eye({x}.shape[-1]) * 2 + 0 * {x}[..., :1]
        {x}[:, {indices}]
        {x}[{indices}, 0]
    """, ALL, min_ndim=2, inexact=False),
    *_phrases("np.diag({x})\nnp.meshgrid({x}, {x})[0]\nnp.outer({x}, {x})\n{x}[:, None] - {x}[None, :]", ALL, grows=True, min_ndim=1, inexact_complex=True),
    *_phrases("np.outer({x}, {y})\nnp.multiply.outer({x}, {y})\nnp.kron({x}, {y})\nnp.add.outer({x}, {y})", ALL, grows=True, broadcasts=False, inexact_complex=True),
    *_phrases("""
        {x} @ {y}
        np.dot({x}, {y})
        np.matmul({x}, {y})
        {x} @ {x}.T
        {x}.T @ {x}
        np.inner({x}, {y})
        np.vdot({x}, {x})
        np.einsum('i,i', {x}, {x})
        np.einsum('ij,ij->i', {x}, {x})
        np.einsum('ij,kj->ik', {x}, {y})
        np.tensordot({x}, {y}, 1)
        np.einsum('ij->ji', {x})
        np.trace({x})
    """, ALL, inexact=True, broadcasts=False, grows=True, min_ndim=1),
    *_phrases("""
        np.interp({x}, [0.0, 1.0, 2.0], [1.0, 3.0, -1.0])
        np.fft.fft({x})
        np.fft.rfft({x}, axis={axis})
        np.gradient({x}, axis={axis})
        np.convolve({x}, [1.0, 2.0, 1.0], mode='same')
        np.polyval([1.0, -2.0, 0.5], {x})
        np.linspace({x}.min(), {x}.max(), {steps})
        np.cross({x}[..., :3], {x}[..., :3])
    """, FLOAT, inexact=True, min_ndim=1),
    *_phrases("np.searchsorted(np.sort({x}.ravel()), {y})\nnp.digitize({x}, [0, 1])\nnp.bincount(np.abs({x}.astype(np.int8)).ravel() % 5, minlength=200)", "iu", discontinuous=True, min_ndim=1),
)  # fmt: skip
