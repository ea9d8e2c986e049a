"""Complex arithmetic part by part: products, quotients, order, signs, sums in any order."""

from __future__ import annotations

from .registry import COMPLEXES, library

library(
    '''
def add_T(a, b):
    """a + b."""
    return complex(a.real + b.real, a.imag + b.imag)


def sub_T(a, b):
    """a - b."""
    return complex(a.real - b.real, a.imag - b.imag)


def mul_T(a, b):
    """a * b, with the fused steps of NumPy's vector loops."""
    real = fma_R(a.real, b.real, negative_R(a.imag * b.imag))
    return complex(real, fma_R(a.real, b.imag, a.imag * b.real))


def square_T(a):
    """a * a."""
    return mul_T(a, a)


def reciprocal_T(a):
    """1 / a, scaled by the larger part, as NumPy does it."""
    wide = fabs_R(a.imag) <= fabs_R(a.real)
    larger = select_R(wide, a.real, a.imag)
    smaller = select_R(wide, a.imag, a.real)
    ratio = smaller / larger
    scale = larger + smaller * ratio
    real = select_R(wide, R_type(1.0), ratio) / scale
    imag = negative_R(select_R(wide, ratio, R_type(1.0))) / scale
    return complex(real, imag)


def sign_T(a):
    """a / |a|; 0 for 0, NaN for NaN, the axis of an infinite part."""
    modulus = abs_T(a)
    real = a.real / modulus
    imag = a.imag / modulus
    # An infinite part wins over a finite one; two of them have no direction.
    infinite = modulus == R_type(math.inf)
    real_end = fabs_R(a.real) == R_type(math.inf)
    imag_end = fabs_R(a.imag) == R_type(math.inf)
    real_axis = select_R(real_end, copysign_R(R_type(1.0), a.real), R_type(0.0))
    imag_axis = select_R(imag_end, copysign_R(R_type(1.0), a.imag), R_type(0.0))
    undefined = real_end & imag_end
    real = select_R(infinite, real_axis, real)
    imag = select_R(infinite, imag_axis, imag)
    real = select_R(undefined, R_type(math.nan), real)
    imag = select_R(undefined, R_type(math.nan), imag)
    zero = modulus == R_type(0.0)
    return complex(select_R(zero, R_type(0.0), real), select_R(zero, R_type(0.0), imag))


def div_T(a, b):
    """a / b, scaled by the larger part of b (Smith's algorithm), with NumPy's result for b = 0."""
    wide = fabs_R(b.real) >= fabs_R(b.imag)
    larger = select_R(wide, b.real, b.imag)
    smaller = select_R(wide, b.imag, b.real)
    ratio = smaller / larger
    scale = R_type(1.0) / (larger + smaller * ratio)
    real = select_R(wide, a.real + a.imag * ratio, a.real * ratio + a.imag) * scale
    imag = select_R(wide, a.imag - a.real * ratio, a.imag * ratio - a.real) * scale
    zero = logical_not_T(b)
    real = select_R(zero, a.real / fabs_R(larger), real)
    imag = select_R(zero, a.imag / fabs_R(larger), imag)
    return complex(real, imag)


def neg_T(a):
    """-a."""
    return complex(negative_R(a.real), negative_R(a.imag))


def conj_T(a):
    """The conjugate."""
    return complex(a.real, negative_R(a.imag))


def abs_T(a):
    """The modulus, without overflow on the way."""
    return hypot_R(a.real, a.imag)


def select_parts_T(c: np.bool_, a, b):
    """a where c, else b, part by part."""
    return complex(select_R(c, a.real, b.real), select_R(c, a.imag, b.imag))


def isnan_T(a):
    """Whether either part is NaN."""
    return (a.real != a.real) | (a.imag != a.imag)


def isinf_T(a):
    """Whether either part is infinite."""
    return (fabs_R(a.real) == R_type(math.inf)) | (fabs_R(a.imag) == R_type(math.inf))


def is_finite_T(a):
    """Whether both parts are finite."""
    return (fabs_R(a.real) < R_type(math.inf)) & (fabs_R(a.imag) < R_type(math.inf))


def logical_not_T(a):
    """Whether a is zero."""
    return (a.real == R_type(0.0)) & (a.imag == R_type(0.0))


def eq_T(a, b):
    """a == b."""
    return (a.real == b.real) & (a.imag == b.imag)


def ne_T(a, b):
    """a != b."""
    return (a.real != b.real) | (a.imag != b.imag)


def lt_T(a, b):
    """a < b in NumPy's order: by real parts, then by imaginary parts; NaN in either part is unordered."""
    ordered = (a.imag == a.imag) & (b.imag == b.imag)
    return ((a.real < b.real) & ordered) | ((a.real == b.real) & (a.imag < b.imag))


def le_T(a, b):
    """a <= b in NumPy's order."""
    ordered = (a.imag == a.imag) & (b.imag == b.imag)
    return ((a.real < b.real) & ordered) | ((a.real == b.real) & (a.imag <= b.imag))


def gt_T(a, b):
    """a > b in NumPy's order."""
    return lt_T(b, a)


def ge_T(a, b):
    """a >= b in NumPy's order."""
    return le_T(b, a)


def maximum_T(a, b):
    """The larger one in NumPy's order; the first with a NaN if there is one."""
    return select_parts_T(isnan_T(a) | ge_T(a, b), a, b)


def minimum_T(a, b):
    """The smaller one in NumPy's order; the first with a NaN if there is one."""
    return select_parts_T(isnan_T(a) | le_T(a, b), a, b)


def fmax_T(a, b):
    """The larger one in NumPy's order, or the one without a NaN."""
    return select_parts_T(isnan_T(b) | ge_T(a, b), a, b)


def fmin_T(a, b):
    """The smaller one in NumPy's order, or the one without a NaN."""
    return select_parts_T(isnan_T(b) | le_T(a, b), a, b)


def before_T(a, b):
    """a < b by real parts, then by imaginary parts, whatever NaN the other parts hold."""
    return (a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag))


def clamp_T(low, x, high):
    """x limited to [low, high], the bound where x equals it; the first with a NaN if there is one."""
    raised = select_parts_T(isnan_T(x) | before_T(low, x), x, low)
    return select_parts_T(isnan_T(raised) | before_T(raised, high), raised, high)


def rint_T(a):
    """Both parts rounded to whole numbers, ties to even."""
    return complex(rint_R(a.real), rint_R(a.imag))


def add_reassoc_T(acc, a):
    """acc + a, in any order."""
    return complex(add_reassoc_R(acc.real, a.real), add_reassoc_R(acc.imag, a.imag))


def mul_reassoc_T(acc, a):
    """acc * a."""
    return mul_T(acc, a)
''',
    COMPLEXES,
)
