"""Signals and images: transforms by hand, filters, checksums, fractals, histograms, masks."""

from __future__ import annotations

import numpy as np

from .registry import program


@program(lambda rng, n: (2, n, rng.random(2**n) + 1j * rng.random(2**n), np.empty(2**n, complex)), 4, 12)
def stockham_transform(R, K, x, y):
    N = R**K
    i_coord, j_coord = np.mgrid[0:R, 0:R]
    dft_mat = np.empty((R, R), dtype=np.complex128)
    dft_mat = np.exp(-2.0j * np.pi * i_coord * j_coord / R)
    y[:] = x[:]
    ii_coord, jj_coord = np.mgrid[0:R, 0 : R**K]
    for i in range(K):
        yv = np.reshape(y, (R**i, R, R ** (K - i - 1)))
        tmp_perm = np.transpose(yv, axes=(1, 0, 2))
        D = np.empty((R, R**i, R ** (K - i - 1)), dtype=np.complex128)
        tmp = np.exp(-2.0j * np.pi * ii_coord[:, : R**i] * jj_coord[:, : R**i] / R ** (i + 1))
        D[:] = np.repeat(np.reshape(tmp, (R, R**i, 1)), R ** (K - i - 1), axis=2)
        tmp_twid = np.reshape(tmp_perm, (N,)) * np.reshape(D, (N,))
        y[:] = np.reshape(dft_mat @ np.reshape(tmp_twid, (R, R ** (K - 1))), (N,))


def fft_recursive(x):
    n = x.shape[0]
    if n <= 8:
        k = np.arange(n)
        return np.exp(-2j * np.pi * k[:, None] * k / n) @ x
    even = fft_recursive(x[::2])
    odd = fft_recursive(x[1::2])
    factor = np.exp(-2j * np.pi * np.arange(n) / n)
    return np.concatenate([even + factor[: n // 2] * odd, even + factor[n // 2 :] * odd])


@program(lambda rng, n: (rng.random(2**n),), 5, 13)
def recursive_transform(x):
    return fft_recursive(x)


@program(lambda rng, n: (rng.integers(0, 256, n, dtype=np.uint8),), 20, 5000)
def crc16(data):
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@program(lambda rng, n: (rng.integers(0, 256, n, dtype=np.uint8),), 30, 20_000)
def adler32(data):
    a, b = 1, 0
    for byte in data:
        a = (a + int(byte)) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


@program(lambda rng, n: (-2.25, 0.75, -1.25, 1.25, n, n, 30, 2.0), 20, 400)
def mandelbrot_masks(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon):
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(np.abs(Z), horizon)
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N


@program(lambda rng, n: (n, n, 30), 20, 300)
def mandelbrot_shrinking(xn, yn, itermax):
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(-2.25, 0.75, xn)[Xi]
    Y = np.linspace(-1.25, 1.25, yn)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn
    Z = np.zeros(C.shape, np.complex128)
    for i in range(itermax):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        I = abs(Z) > 2.0
        N_[Xi[I], Yi[I]] = i + 1
        Z_[Xi[I], Yi[I]] = Z[I]
        np.logical_not(I, I)
        Z = Z[I]
        Xi, Yi = Xi[I], Yi[I]
        C = C[I]
    return Z_.T, N_.T


@program(lambda rng, n: (rng.random((n, n)),), 8, 700)
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@program(lambda rng, n: (rng.integers(0, 1000, (n, n)), rng.integers(0, 1000, (n, n)), 4, 3, 9), 10, 1000)
def clipped_sums(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


@program(lambda rng, n: (rng.random(n) * 40, rng.random(n) * 100), 200, 400_000)
def azimuthal_mean(data, radius):
    npt = 50
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask_r12 = np.logical_and((r1 <= radius), (radius < r2))
        values_r12 = data[mask_r12]
        res[i] = values_r12.mean()
    return res


@program(lambda rng, n: (rng.random(n) * 40, rng.random(n) * 100), 200, 400_000)
def azimuthal_histogram(data, radius):
    histu = np.histogram(radius, 50)[0]
    histw = np.histogram(radius, 50, weights=data)[0]
    return histw / histu


@program(lambda rng, n: (0.25, rng.random((n, n))), 10, 400)
def recursive_edge_filter(alpha, imgIn):
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, imgIn.shape[1]):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a5 * imgIn[:, -1]
    for j in range(imgIn.shape[1] - 3, -1, -1):
        y2[:, j] = a5 * imgIn[:, j + 1] + a6 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    return y1 + y2


@program(lambda rng, n: (rng.random((n, n)) * 255,), 12, 900)
def sobel_edges(image):
    gx = np.zeros_like(image)
    gy = np.zeros_like(image)
    gx[1:-1, 1:-1] = (
        image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:] - image[:-2, :-2] - 2 * image[1:-1, :-2] - image[2:, :-2]
    )
    gy[1:-1, 1:-1] = (
        image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:] - image[:-2, :-2] - 2 * image[:-2, 1:-1] - image[:-2, 2:]
    )
    magnitude = np.hypot(gx, gy)
    magnitude *= 255.0 / magnitude.max()
    edges = np.zeros(image.shape, dtype=bool)
    edges[magnitude > 100] = True
    return magnitude, np.degrees(np.arctan2(gy, gx)), edges.sum()


@program(lambda rng, n: (rng.integers(0, 256, (n, n, 3), dtype=np.uint8),), 12, 700)
def equalise_and_threshold(image):
    grey = ((image.astype(np.int64) @ np.array([77, 150, 29])) >> 8).astype(np.uint8)
    histogram = np.bincount(grey.ravel(), minlength=256)
    cdf = histogram.cumsum()
    low = cdf[np.argmax(cdf > 0)]
    table = np.round((cdf - low) / (grey.size - low) * 255).astype(np.uint8)
    equalised = table[grey]
    levels = np.arange(256)
    weight = histogram.cumsum()
    rest = weight[-1] - weight
    mean_low = np.cumsum(histogram * levels) / np.maximum(weight, 1)
    mean_high = (np.sum(histogram * levels) - np.cumsum(histogram * levels)) / np.maximum(rest, 1)
    between = weight * rest * (mean_low - mean_high) ** 2
    return equalised, np.argmax(between), (equalised > 128).mean()


@program(lambda rng, n: (rng.standard_normal(n), 64), 256, 200_000)
def spectrogram(x, size):
    hop = size // 2
    starts = np.arange(0, len(x) - size + 1, hop)
    frames = x[starts[:, None] + np.arange(size)] * np.hanning(size)
    spectrum = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    level = 10 * np.log10(spectrum + 1e-12)
    level -= level.max()
    return np.where(level < -80, -80.0, level), spectrum.sum(axis=1)


@program(lambda rng, n: (rng.random(n) * np.pi, rng.random(n) * 3, rng.random(n) * np.pi, rng.random(n) * 3),
         30, 400_000)  # fmt: skip
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))


@program(lambda rng, n: (rng.standard_normal(n), np.hanning(31)), 100, 100_000)
def smooth_and_find_peaks(signal, window):
    window = window / window.sum()
    smooth = np.convolve(signal, window, mode="same")
    rising = np.diff(smooth) > 0
    peaks = np.zeros(len(signal), bool)
    peaks[1:-1] = rising[:-1] & ~rising[1:]
    smooth[~peaks] = 0.0
    return np.count_nonzero(peaks), smooth


@program(lambda rng, n: (rng.integers(0, 20, (n, n)),), 10, 300)
def summed_area_blur(image):
    r = 2
    total = np.zeros((image.shape[0] + 1, image.shape[1] + 1), dtype=np.int64)
    total[1:, 1:] = image.cumsum(0).cumsum(1)
    k = 2 * r + 1
    out = np.zeros_like(image)
    out[r:-r, r:-r] = (total[k:, k:] - total[:-k, k:] - total[k:, :-k] + total[:-k, :-k]) // (k * k)
    return out


@program(lambda rng, n: (n, 40), 12, 120)
def escape_times_by_points(n, maxiter):
    times = np.zeros((n, n), dtype=np.uint16)
    for i, y in enumerate(np.linspace(-1.25, 1.25, n)):
        for j, x in enumerate(np.linspace(-2.0, 0.5, n)):
            c = complex(x, y)
            z = 0j
            k = 0
            while k < maxiter and z.real * z.real + z.imag * z.imag <= 4.0:
                z = z * z + c
                k += 1
            times[i, j] = k
    return times


@program(lambda rng, n: (rng.random((n, n)),), 12, 160)
def edges_kept_by_two_weights(image, width=5, sigma_range=0.1, sigma_space=2.0):
    half = width // 2
    rows, columns = image.shape
    padded = np.pad(image, half, mode="reflect")
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for dy in range(-half, half + 1):
        for dx in range(-half, half + 1):
            shifted = padded[half + dy : half + dy + rows, half + dx : half + dx + columns]
            near = np.exp(-(dx * dx + dy * dy) / (2 * sigma_space**2))
            weight = near * np.exp(-((shifted - image) ** 2) / (2 * sigma_range**2))
            total += weight * shifted
            weights += weight
    return total / weights


@program(lambda rng, n: (n, 0.01, 12), 32, 128, rtol=1e-8)
def solitons_by_transforms(n, dt, steps):
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    k = np.fft.fftfreq(n, 1.0 / n)
    half_step = np.exp(0.5j * 0.022**2 * k**3 * dt / 10)
    g = -0.5j * k * dt / 10
    v = np.fft.fft(np.cos(x))
    history = np.zeros((steps, n))
    for s in range(steps):
        for _ in range(5):
            v *= half_step
            a = g * np.fft.fft(np.real(np.fft.ifft(v)) ** 2)
            v = (v + g * np.fft.fft(np.real(np.fft.ifft(v + a / 2)) ** 2)) * half_step
        history[s] = np.real(np.fft.ifft(v))
    return history


@program(lambda rng, n: (rng.random(2**n) + 1j * rng.random(2**n),), 4, 14)
def butterflies_over_blocks(x):
    n = x.shape[0]
    index = np.arange(n)
    reversed_bits = np.zeros(n, dtype=np.int64)
    for _ in range(int(np.log2(n))):
        reversed_bits = (reversed_bits << 1) | (index & 1)
        index >>= 1
    a = x[reversed_bits]
    size = 2
    while size <= n:
        half = size // 2
        twiddles = np.exp(-2j * np.pi * np.arange(half) / size)
        blocks = a.reshape(-1, size)
        even = blocks[:, :half].copy()
        odd = blocks[:, half:] * twiddles
        blocks[:, :half] = even + odd
        blocks[:, half:] = even - odd
        size *= 2
    return a
