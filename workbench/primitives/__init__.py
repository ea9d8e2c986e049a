"""What each primitive means: a file per family, a block per primitive. Importing this package declares them all."""

from .arithmetic import (
    abs_p,
    add_p,
    ceil_p,
    copysign_p,
    div_p,
    floor_divide_p,
    floor_p,
    gcd_p,
    heaviside_p,
    integer_pow_p,
    lcm_p,
    ldexp_p,
    mod_p,
    mul_p,
    neg_p,
    nextafter_p,
    pow_p,
    reciprocal_p,
    rem_p,
    rint_p,
    sign_p,
    spacing_p,
    square_p,
    sub_p,
    trunc_p,
)
from .bitwise import (
    and_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from .comparison import (
    eq_p,
    fmax_p,
    fmin_p,
    ge_p,
    gt_p,
    is_finite_p,
    isinf_p,
    isnan_p,
    le_p,
    lt_p,
    max_p,
    min_p,
    ne_p,
    signbit_p,
)
from .complex import complex_p, conj_p, imag_p, real_p
from .contractions import dot_general_p
from .conversion import convert_element_type_p, copy_p
from .fft import fft_p
from .indexing import dynamic_slice_p, gather_checked_p, gather_nd_p
from .linalg import cholesky_p, det_p, eig_p, eigh_p, inv_p, lstsq_p, qr_p, slogdet_p, solve_p, svd_p
from .movement import (
    broadcast_in_dim_p,
    concatenate_p,
    iota_p,
    pad_p,
    reshape_p,
    rev_p,
    slice_p,
    squeeze_p,
    transpose_p,
)
from .numpy_call import numpy_call_p
from .reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from .scans import cummax_p, cummin_p, cumprod_p, cumsum_p
from .selection import clamp_p, select_n_p
from .sorting import argpartition_p, argsort_p, partition_p, searchsorted_p, sort_p
from .structure import pjit_p
from .transcendental import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cbrt_p,
    cos_p,
    cosh_p,
    erf_p,
    erfc_p,
    exp2_p,
    exp_p,
    expm1_p,
    hypot_p,
    lgamma_p,
    log1p_p,
    log2_p,
    log10_p,
    log_p,
    logaddexp2_p,
    logaddexp_p,
    logistic_p,
    sin_p,
    sinh_p,
    sqrt_p,
    tan_p,
    tanh_p,
)
from .updates import dynamic_update_slice_p, scatter_p, update_slice_p

__all__ = [
    "abs_p", "acos_p", "acosh_p", "add_p", "and_p", "argmax_p", "argmin_p", "argpartition_p", "argsort_p", "asin_p",
    "asinh_p", "atan2_p", "atan_p", "atanh_p", "broadcast_in_dim_p", "cbrt_p", "ceil_p", "cholesky_p", "clamp_p",
    "complex_p", "concatenate_p", "conj_p", "convert_element_type_p", "copy_p", "copysign_p", "cos_p", "cosh_p",
    "cummax_p", "cummin_p", "cumprod_p", "cumsum_p", "det_p", "div_p", "dot_general_p", "dynamic_slice_p",
    "dynamic_update_slice_p", "eig_p", "eigh_p", "eq_p", "erf_p", "erfc_p", "exp2_p", "exp_p", "expm1_p", "fft_p",
    "floor_divide_p", "floor_p", "fmax_p", "fmin_p", "gather_checked_p", "gather_nd_p", "gcd_p", "ge_p", "gt_p",
    "heaviside_p", "hypot_p", "imag_p", "integer_pow_p", "inv_p", "iota_p", "is_finite_p", "isinf_p", "isnan_p",
    "lcm_p", "ldexp_p", "le_p", "lgamma_p", "log10_p", "log1p_p", "log2_p", "log_p", "logaddexp2_p", "logaddexp_p",
    "logistic_p", "lstsq_p", "lt_p", "max_p", "min_p", "mod_p", "mul_p", "ne_p", "neg_p", "nextafter_p", "not_p",
    "numpy_call_p", "or_p", "pad_p", "partition_p", "pjit_p", "population_count_p", "pow_p", "qr_p", "real_p",
    "reciprocal_p", "reduce_and_p", "reduce_max_p", "reduce_min_p", "reduce_or_p", "reduce_prod_p", "reduce_sum_p",
    "reduce_xor_p", "rem_p", "reshape_p", "rev_p", "rint_p", "scatter_p", "searchsorted_p", "select_n_p",
    "shift_left_p", "shift_right_arithmetic_p", "shift_right_logical_p", "sign_p", "signbit_p", "sin_p", "sinh_p",
    "slice_p", "slogdet_p", "solve_p", "sort_p", "spacing_p", "sqrt_p", "square_p", "squeeze_p", "sub_p", "svd_p",
    "tan_p", "tanh_p", "transpose_p", "trunc_p", "update_slice_p", "xor_p",
]  # fmt: skip
