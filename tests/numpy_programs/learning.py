"""Neural networks and statistics as they are written without a framework."""

from __future__ import annotations

import numpy as np

from .registry import program


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


@program(lambda rng, n: (rng.random((2, 4, n, n), dtype=np.float32),), 8, 256, rtol=1e-5)
def attention_softmax(x):
    return softmax(x)


def _layers(rng, n):
    f4 = lambda *s: rng.random(s, dtype=np.float32) - np.float32(0.5)  # noqa: E731
    return f4(n, 50), f4(50, 80), f4(80), f4(80, 60), f4(60), f4(60, 10), f4(10)


@program(_layers, 6, 2000, rtol=1e-4)
def perceptron(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax(x @ w3 + b3)


def conv2d(input, weights):
    K = weights.shape[0]
    N, H_in, W_in, _ = input.shape
    H_out, W_out, C_out = H_in - K + 1, W_in - K + 1, weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=np.float32)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output


@program(lambda rng, n: (rng.random((2, n, n, 3), dtype=np.float32), rng.random((3, 3, 3, 8), dtype=np.float32),
                         rng.random(8, dtype=np.float32)), 7, 32, rtol=1e-4)  # fmt: skip
def convolution_by_position(input, weights, bias):
    return conv2d(input, weights) + bias


def conv_windows(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,fcij->nfhw", windows, w)


def max_pool(x):
    n, c, h, w = x.shape
    return x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


@program(lambda rng, n: (rng.standard_normal((2, 3, n, n)), rng.standard_normal((4, 3, 3, 3)) / 5,
                         rng.standard_normal((6, 4, 3, 3)) / 6), 14, 60)  # fmt: skip
def small_conv_net(x, w1, w2):
    x = max_pool(relu(conv_windows(x, w1)))
    x = relu(conv_windows(x, w2))
    return x.mean(axis=(2, 3))


def batchnorm2d(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


@program(lambda rng, n: (rng.random((4, n, n, 8), dtype=np.float32), rng.random((1, 1, 8, 4), dtype=np.float32),
                         rng.random((3, 3, 4, 4), dtype=np.float32), rng.random((1, 1, 4, 8), dtype=np.float32)),
         8, 28, rtol=1e-3)  # fmt: skip
def residual_block(input, w1, w2, w3):
    padded = np.zeros((input.shape[0], input.shape[1] + 2, input.shape[2] + 2, w1.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = conv2d(input, w1)
    x = relu(batchnorm2d(padded))
    x = relu(batchnorm2d(conv2d(x, w2)))
    x = batchnorm2d(conv2d(x, w3))
    return relu(x + input)


@program(lambda rng, n: (rng.standard_normal((n, 6)), (rng.random(n) < 0.5).astype(float), 0.1, 50), 30, 20_000)
def logistic_regression(X, y, rate, epochs):
    n, d = X.shape
    w = np.zeros(d)
    b = 0.0
    losses = []
    for _ in range(epochs):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        losses.append(-np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12)))
        error = p - y
        w -= rate * X.T @ error / n
        b -= rate * error.mean()
    return w, b, np.array(losses)


@program(lambda rng, n: (rng.standard_normal((12, n, 16)), rng.standard_normal((16, 32)) / 4,
                         rng.standard_normal((32, 32)) / 6, np.zeros(32)), 4, 500)  # fmt: skip
def recurrent_cell(inputs, Wx, Wh, b):
    h = np.zeros((inputs.shape[1], Wh.shape[0]))
    states = []
    for x in inputs:
        h = np.tanh(x @ Wx + h @ Wh + b)
        states.append(h)
    return np.stack(states), h


@program(lambda rng, n: (rng.standard_normal((n, 5)), rng.standard_normal(n)), 20, 100_000, rtol=1e-8)
def linear_fit_with_errors(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    XtX = A.T @ A
    beta = np.linalg.solve(XtX, A.T @ y)
    residuals = y - A @ beta
    dof = A.shape[0] - A.shape[1]
    s2 = residuals @ residuals / dof
    se = np.sqrt(s2 * np.diag(np.linalg.inv(XtX)))
    r2 = 1 - np.sum(residuals**2) / np.sum((y - y.mean()) ** 2)
    return beta, se, beta / se, r2


@program(lambda rng, n: (rng.standard_normal(n) * 3,), 60, 500_000)
def robust_statistics(x):
    centre = np.median(x)
    mad = np.median(np.abs(x - centre))
    z = 0.6745 * (x - centre) / mad
    kept = np.abs(z) < 3.5
    return x[kept].mean(), x[kept].std(), kept.sum(), np.percentile(x, [5, 50, 95])


@program(lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n)), 60, 500_000)
def moments_and_ranks(x, y):
    m, s = x.mean(), x.std(ddof=1)
    skew = np.mean(((x - m) / s) ** 3)
    kurtosis = np.mean(((x - m) / s) ** 4) - 3
    order = x.argsort()
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(x))
    other = y.argsort().argsort()
    rho = 1 - 6 * np.sum((ranks - other).astype(float) ** 2) / (len(x) * (len(x) ** 2 - 1.0))
    return skew, kurtosis, rho, np.corrcoef(x, y)[0, 1]
