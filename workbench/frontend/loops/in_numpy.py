"""NumPy's functions in terms of others, and Python's, as loops take them.

Each gives what NumPy's gives for arguments of the forms that its decorator names; for other ones it raises, and NumPy
computes. (Whatever the text raises ends the loop, which NumPy then runs again.)
"""

from __future__ import annotations

import math

import numpy as np

from .written_functions import NUMBER, WRITTEN, stands_for, written_call

LARGEST = float(np.finfo(np.float64).max)

# ---- differences and integrals ----


@stands_for(np.gradient, f=1, spacing=NUMBER)
def gradient(f, spacing=1.0):
    n = len(f)
    if n < 2:
        raise ValueError
    y = f * 1.0
    out = np.empty_like(y)
    out[0] = (y[1] - y[0]) / spacing
    for i in range(1, n - 1):
        out[i] = (y[i + 1] - y[i - 1]) / (2.0 * spacing)
    out[n - 1] = (y[n - 1] - y[n - 2]) / spacing
    return out


@stands_for(np.gradient, f=2)
def gradients(f):
    n, m = f.shape
    if n < 2 or m < 2:
        raise ValueError
    y = f * 1.0
    down, across = np.empty_like(y), np.empty_like(y)
    for i in range(n):
        above, below = max(i - 1, 0), min(i + 1, n - 1)
        rows = below - above
        for j in range(m):
            down[i, j] = (y[below, j] - y[above, j]) / rows
        across[i, 0] = y[i, 1] - y[i, 0]
        for j in range(1, m - 1):
            across[i, j] = (y[i, j + 1] - y[i, j - 1]) / 2.0
        across[i, m - 1] = y[i, m - 1] - y[i, m - 2]
    return down, across


@stands_for(np.trapezoid, y=1, dx=NUMBER)
def trapezoid(y, dx=1.0):
    return (dx * (y[1:] + y[:-1]) / 2.0).sum()


@stands_for(np.trapezoid, y=1, x=1)
def trapezoid_at(y, x):
    if len(y) != len(x):
        raise ValueError
    return (np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum()


@stands_for(np.ediff1d, ary=1)
def ediff1d(ary):
    return np.diff(ary)


# ---- polynomials ----


@stands_for(np.polymul, kinds="f", a1=1, a2=1)
def polymul(a1, a2):
    if a1[0] == 0 or a2[0] == 0:  # NumPy leaves out leading zeros
        raise ValueError
    return np.convolve(a1, a2)


@stands_for(np.polyder, kinds="f", double=True, p=1)
def polyder(p):
    n = len(p) - 1
    return p[:-1] * np.arange(n, 0, -1)


@stands_for(np.vander, kinds="f", double=True, x=1, N=NUMBER)
def vander(x, N):  # noqa: N803 (NumPy's name)
    out = np.empty((len(x), N), x.dtype)
    for i in range(len(x)):
        power = 1.0
        for k in range(N - 1, -1, -1):
            out[i, k] = power
            power *= x[i]
    return out


@stands_for(np.logspace, start=NUMBER, stop=NUMBER, num=NUMBER)
def logspace(start, stop, num=50):
    return 10.0 ** np.linspace(start, stop, num)


# ---- rows that grow and shrink ----


@stands_for(np.append, arr=1, values=1)
def append(arr, values):
    return np.concatenate((arr, values))


@stands_for(np.append, arr=1, values=NUMBER)
def append_number(arr, values):
    return np.concatenate((arr, np.array([values])))


@stands_for(np.insert, arr=1, obj=NUMBER, values=NUMBER)
def insert(arr, obj, values):
    n = len(arr)
    k = obj + n if obj < 0 else obj
    if not 0 <= k <= n:
        raise IndexError
    out = np.empty(n + 1, arr.dtype)
    out[:k] = arr[:k]
    out[k] = values
    out[k + 1 :] = arr[k:]
    return out


@stands_for(np.delete, arr=1, obj=NUMBER)
def delete(arr, obj):
    n = len(arr)
    k = obj + n if obj < 0 else obj
    if not 0 <= k < n:
        raise IndexError
    out = np.empty(n - 1, arr.dtype)
    out[:k] = arr[:k]
    out[k:] = arr[k + 1 :]
    return out


# ---- sets ----


@stands_for(np.setdiff1d, ar1=1, ar2=1)
def setdiff1d(ar1, ar2):
    found = np.unique(ar1)
    return found[~np.isin(found, ar2)]


@stands_for(np.intersect1d, ar1=1, ar2=1)
def intersect1d(ar1, ar2):
    found = np.unique(np.concatenate((ar1, ar2[:0])))  # of the dtype that both have together
    return found[np.isin(found, ar2)]


@stands_for(np.digitize, x=(1, NUMBER), bins=1)
def digitize(x, bins):
    for k in range(1, len(bins)):
        if not bins[k - 1] <= bins[k]:
            raise ValueError
    return np.searchsorted(bins, x, side="right")


# ---- statistics ----


@stands_for(np.cov, kinds="f", double=True, m=2)
def cov(m):
    if m.shape[1] < 2:
        raise ValueError
    apart = m - m.mean(axis=1)[:, None]
    return (apart @ apart.T) * (1.0 / (m.shape[1] - 1))


@stands_for(np.cov, kinds="f", double=True, m=1, y=1)
def cov_of_two(m, y):
    n = len(m)
    if len(y) != n or n < 2:
        raise ValueError
    a, b = m - m.mean(), y - y.mean()
    both = (a @ b) * (1.0 / (n - 1))
    return np.array([[(a @ a) * (1.0 / (n - 1)), both], [both, (b @ b) * (1.0 / (n - 1))]])


@stands_for(np.corrcoef, kinds="f", double=True, x=2)
def corrcoef(x):
    if x.shape[1] < 2:
        raise ValueError
    apart = x - x.mean(axis=1)[:, None]
    found = (apart @ apart.T) * (1.0 / (x.shape[1] - 1))
    deviation = np.sqrt(np.diag(found))
    return np.clip(found / deviation[:, None] / deviation, -1.0, 1.0)


@stands_for(np.corrcoef, kinds="f", double=True, x=1, y=1)
def corrcoef_of_two(x, y):
    n = len(x)
    if len(y) != n or n < 2:
        raise ValueError
    a, b = x - x.mean(), y - y.mean()
    factor = 1.0 / (n - 1)
    of_a, of_b = np.sqrt((a @ a) * factor), np.sqrt((b @ b) * factor)
    both = (a @ b) * factor / of_a / of_b
    found = np.array([[(a @ a) * factor / of_a / of_a, both], [both, (b @ b) * factor / of_b / of_b]])
    return np.clip(found, -1.0, 1.0)


@stands_for(np.average, kinds="f", a=1, weights=1)
def average(a, weights):
    if len(a) != len(weights):
        raise ValueError
    total = weights.sum()
    if total == 0.0:
        raise ZeroDivisionError
    return (a * weights).sum() / total


@stands_for(np.nanmax, kinds="f", a=1)
def nanmax(a):
    return a[~np.isnan(a)].max()


@stands_for(np.nanmin, kinds="f", a=1)
def nanmin(a):
    return a[~np.isnan(a)].min()


@stands_for(np.nanmedian, kinds="f", a=1)
def nanmedian(a):
    left = a[~np.isnan(a)]
    if len(left) == 0:
        raise ValueError
    return np.median(left)


@stands_for(np.nanstd, kinds="f", a=1)
def nanstd(a):
    left = a[~np.isnan(a)]
    if len(left) == 0:
        raise ValueError
    return left.std()


@stands_for(np.nanvar, kinds="f", a=1)
def nanvar(a):
    left = a[~np.isnan(a)]
    if len(left) == 0:
        raise ValueError
    return left.var()


@stands_for(np.correlate, kinds="f", a=1, v=1)
def correlate(a, v, mode="valid"):
    if len(a) < len(v) or len(v) == 0:
        raise ValueError
    return np.convolve(a, v[::-1], mode)  # type: ignore[call-overload]  # a word


@stands_for(np.nanargmax, kinds="f", double=True, a=1)
def nanargmax(a):
    if np.isnan(a).all():
        raise ValueError
    return np.argmax(np.where(np.isnan(a), -np.inf, a))


@stands_for(np.nanargmin, kinds="f", double=True, a=1)
def nanargmin(a):
    if np.isnan(a).all():
        raise ValueError
    return np.argmin(np.where(np.isnan(a), np.inf, a))


@stands_for(np.nanpercentile, kinds="f", double=True, a=1, q=NUMBER)
def nanpercentile(a, q):
    return np.percentile(a[~np.isnan(a)], q)


@stands_for(np.nanquantile, kinds="f", double=True, a=1, q=NUMBER)
def nanquantile(a, q):
    return np.quantile(a[~np.isnan(a)], q)


@stands_for(np.nanprod, kinds="f", double=True, a=(1, 2))
def nanprod(a):
    return np.where(np.isnan(a), 1.0, a).prod()


@stands_for(np.nancumsum, kinds="f", double=True, a=1)
def nancumsum(a):
    return np.cumsum(np.where(np.isnan(a), 0.0, a))


@stands_for(np.median, double=True, a=2, axis=NUMBER)
def median_along(a, axis):
    n, m = a.shape
    if axis == 0 or axis == -2:
        out = np.empty(m)
        for j in range(m):
            out[j] = np.median(a[:, j])
    elif axis == 1 or axis == -1:
        out = np.empty(n)
        for i in range(n):
            out[i] = np.median(a[i])
    else:
        raise ValueError
    return out


@stands_for(np.quantile, double=True, a=2, q=NUMBER, axis=NUMBER)
def quantile_along(a, q, axis):
    n, m = a.shape
    if axis == 0 or axis == -2:
        out = np.empty(m)
        for j in range(m):
            out[j] = np.quantile(a[:, j], q)
    elif axis == 1 or axis == -1:
        out = np.empty(n)
        for i in range(n):
            out[i] = np.quantile(a[i], q)
    else:
        raise ValueError
    return out


@stands_for(np.percentile, double=True, a=2, q=NUMBER, axis=NUMBER)
def percentile_along(a, q, axis):
    return np.quantile(a, q / 100, axis)


# ---- edges ----


@stands_for(np.pad, array=1, pad_width=NUMBER)
def pad(array, pad_width, mode="constant"):
    n = len(array)
    if pad_width < 0 or n == 0 or (pad_width >= n and mode != "constant" and mode != "edge"):
        raise ValueError
    out = np.zeros(n + 2 * pad_width, array.dtype)
    out[pad_width : pad_width + n] = array
    if mode == "edge":
        out[:pad_width] = array[0]
        out[pad_width + n :] = array[n - 1]
    elif mode == "reflect":
        for i in range(pad_width):
            out[i] = array[pad_width - i]
            out[pad_width + n + i] = array[n - 2 - i]
    elif mode == "symmetric":
        for i in range(pad_width):
            out[i] = array[pad_width - 1 - i]
            out[pad_width + n + i] = array[n - 1 - i]
    elif mode == "wrap":
        for i in range(pad_width):
            out[i] = array[n - pad_width + i]
            out[pad_width + n + i] = array[i]
    elif mode != "constant":
        raise ValueError
    return out


@stands_for(np.pad, array=2, pad_width=NUMBER)
def pad_matrix(array, pad_width, mode="constant"):
    n, m = array.shape
    if pad_width < 0 or n == 0 or m == 0 or (pad_width >= min(n, m) and mode != "constant" and mode != "edge"):
        raise ValueError
    out = np.zeros((n + 2 * pad_width, m + 2 * pad_width), array.dtype)
    if mode == "constant":
        out[pad_width : pad_width + n, pad_width : pad_width + m] = array
        return out
    shift = 0 if mode == "reflect" else 1
    if mode != "edge" and mode != "reflect" and mode != "symmetric" and mode != "wrap":
        raise ValueError
    for i in range(n + 2 * pad_width):
        k = i - pad_width
        if mode == "edge":
            k = min(max(k, 0), n - 1)
        elif mode == "wrap":
            k = k % n
        elif k < 0:
            k = -k - shift
        elif k >= n:
            k = 2 * n - 2 - k + shift
        for j in range(m + 2 * pad_width):
            h = j - pad_width
            if mode == "edge":
                h = min(max(h, 0), m - 1)
            elif mode == "wrap":
                h = h % m
            elif h < 0:
                h = -h - shift
            elif h >= m:
                h = 2 * m - 2 - h + shift
            out[i, j] = array[k, h]
    return out


# ---- indices ----


@stands_for(np.triu_indices, numbers="i", n=NUMBER, k=NUMBER)
def triu_indices(n, k=0):
    rows, columns = np.empty(n * n, np.int64), np.empty(n * n, np.int64)
    found = 0
    for i in range(n):
        for j in range(max(i + k, 0), n):
            rows[found], columns[found] = i, j
            found += 1
    return rows[:found].copy(), columns[:found].copy()


@stands_for(np.tril_indices, numbers="i", n=NUMBER, k=NUMBER)
def tril_indices(n, k=0):
    rows, columns = np.empty(n * n, np.int64), np.empty(n * n, np.int64)
    found = 0
    for i in range(n):
        for j in range(min(i + k + 1, n)):
            rows[found], columns[found] = i, j
            found += 1
    return rows[:found].copy(), columns[:found].copy()


@stands_for(np.take_along_axis, kinds="biufc", arr=2, indices=2, axis=NUMBER)
def take_along_axis(arr, indices, axis):
    n, m = indices.shape
    out = np.empty((n, m), arr.dtype)
    if axis == 0 or axis == -2:
        if arr.shape[1] != m:
            raise ValueError
        for i in range(n):
            for j in range(m):
                out[i, j] = arr[indices[i, j], j]
    elif axis == 1 or axis == -1:
        if arr.shape[0] != n:
            raise ValueError
        for i in range(n):
            for j in range(m):
                out[i, j] = arr[i, indices[i, j]]
    else:
        raise ValueError
    return out


# ---- elements ----


@stands_for(np.take, kinds="biufc", a=1, indices=(1, NUMBER))
def take(a, indices):
    return a[indices]


@stands_for(np.nan_to_num, kinds="f", double=True, x=(1, 2))
def nan_to_num(x):
    return np.where(np.isnan(x), 0.0, np.clip(x, -LARGEST, LARGEST))


@stands_for(np.fix, kinds="f", x=(1, 2))
def fix(x):
    return np.where(x >= 0, np.floor(x), np.ceil(x))


@stands_for(np.float_power, double=True, x1=(1, 2), x2=(1, 2, NUMBER))
def float_power(x1, x2):
    return (x1 * 1.0) ** x2


@stands_for(np.signbit, kinds="f", x=(1, 2, NUMBER))
def signbit(x):
    return np.copysign(1.0, x) < 0


@stands_for(np.heaviside, kinds="f", double=True, x1=(1, 2), x2=NUMBER)
def heaviside(x1, x2):
    return np.where(np.isnan(x1), x1, np.where(x1 == 0, x2 * 1.0, np.where(x1 > 0, 1.0, 0.0)))


@stands_for(np.sinc, kinds="f", x=(1, 2))
def sinc(x):
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


# ---- linear algebra ----


@stands_for(np.linalg.cholesky, kinds="f", a=2)
def cholesky(a):
    n = a.shape[0]
    if a.shape[1] != n:
        raise ValueError
    out = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - out[i, :j] @ out[j, :j]
            if i == j:
                if not rest > 0.0:
                    raise ValueError
                out[i, i] = np.sqrt(rest)
            else:
                out[i, j] = rest / out[j, j]
    return out


@stands_for(np.linalg.qr, kinds="f", named=True, a=2)
def qr(a):
    """Reflections, with the signs of LAPACK's dgeqr2 and dorg2r (Golub, Van Loan, Matrix Computations, 5.1, 5.2)."""
    m, n = a.shape
    k = min(m, n)
    work, scales = a.copy(), np.zeros(k, a.dtype)
    for j in range(k):
        head = work[j, j]
        below = np.sqrt((work[j + 1 :, j] ** 2).sum())
        if below == 0.0:
            continue
        beta = -np.copysign(np.hypot(head, below), head)
        scales[j] = (beta - head) / beta
        work[j + 1 :, j] /= head - beta
        work[j, j] = beta
        for c in range(j + 1, n):
            product = scales[j] * (work[j, c] + work[j + 1 :, j] @ work[j + 1 :, c])
            work[j, c] -= product
            work[j + 1 :, c] -= product * work[j + 1 :, j]
    right = np.zeros((k, n), a.dtype)
    for i in range(k):
        right[i, i:] = work[i, i:]
    left = np.zeros((m, k), a.dtype)
    for i in range(k):
        left[i, i] = 1.0
    for j in range(k - 1, -1, -1):
        for c in range(j, k):
            product = scales[j] * (left[j, c] + work[j + 1 :, j] @ left[j + 1 :, c])
            left[j, c] -= product
            left[j + 1 :, c] -= product * work[j + 1 :, j]
    return left, right


@stands_for(np.linalg.matrix_power, kinds="f", a=2, n=NUMBER)
def matrix_power(a, n):
    if a.shape[0] != a.shape[1] or n < 2:  # the first power is no copy
        raise ValueError
    out = a.copy()
    for _ in range(n - 1):
        out = out @ a
    return out


@stands_for(np.kron, kinds="f", double=True, a=2, b=2)
def kron(a, b):
    n, m = b.shape
    out = np.empty((a.shape[0] * n, a.shape[1] * m), a.dtype)
    for i in range(a.shape[0] * n):
        for j in range(a.shape[1] * m):
            out[i, j] = a[i // n, j // m] * b[i % n, j % m]
    return out


@stands_for(np.diag, kinds="biufc", numbers="i", v=1, k=NUMBER)
def diag(v, k):
    n = len(v) + abs(k)
    out = np.zeros((n, n), v.dtype)
    for i in range(len(v)):
        out[i - min(k, 0), i + max(k, 0)] = v[i]
    return out


# ---- Python's numbers ----


@stands_for(round, numbers="nfi", number=NUMBER, ndigits=NUMBER)
def round_to(number, ndigits):
    if not -22 <= ndigits <= 22:  # powers of ten that floats hold
        raise ValueError
    if ndigits < 0:
        factor = 10.0**-ndigits
        return np.rint(number / factor) * factor
    factor = 10.0**ndigits
    return np.rint(number * factor) / factor


@stands_for(math.log, x=NUMBER, base=NUMBER)
def logarithm(x, base):
    return math.log(x) / math.log(base)


@stands_for(math.degrees, x=NUMBER)
def degrees(x):
    return float(x) * (180.0 / math.pi)


@stands_for(math.radians, x=NUMBER)
def radians(x):
    return float(x) * (math.pi / 180.0)


@stands_for(math.gcd, numbers="i", a=NUMBER, b=NUMBER)
def gcd(a, b):
    x, y = abs(int(a)), abs(int(b))
    while y > 0:
        x, y = y, x % y
    return x


@stands_for(math.isqrt, numbers="i", n=NUMBER)
def isqrt(n):
    square = int(n)
    if not 0 <= square < 2**62:
        raise ValueError
    root = int(math.sqrt(square))
    while root * root > square:
        root -= 1
    while (root + 1) * (root + 1) <= square:
        root += 1
    return root


@stands_for(math.factorial, numbers="i", n=NUMBER)
def factorial(n):
    if not 0 <= n <= 20:
        raise ValueError
    product = 1
    for k in range(2, int(n) + 1):
        product *= k
    return product


@stands_for(math.comb, numbers="i", n=NUMBER, k=NUMBER)
def comb(n, k):
    most, some = int(n), int(k)
    if most < 0 or some < 0:
        raise ValueError
    found = 0 if some > most else 1
    for i in range(min(some, most - some)):
        if found > 2**62 // (most - i):
            raise OverflowError
        found = found * (most - i) // (i + 1)
    return found


@stands_for(pow, numbers="pi", base=NUMBER, exp=NUMBER, mod=NUMBER)
def power_modulo(base, exp, mod):
    if exp < 0 or not 0 < mod < 2**31:
        raise ValueError
    found, square, left = 1 % mod, base % mod, exp
    while left > 0:
        if left & 1:
            found = found * square % mod
        square = square * square % mod
        left >>= 1
    return found


@stands_for(math.isclose, a=NUMBER, b=NUMBER, rel_tol=NUMBER, abs_tol=NUMBER)
def isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
    x, y = float(a), float(b)
    if x == y:
        return True
    if math.isinf(x) or math.isinf(y):
        return False
    return bool(abs(x - y) <= max(float(rel_tol) * max(abs(x), abs(y)), float(abs_tol)))


__all__ = ["WRITTEN", "written_call"]
