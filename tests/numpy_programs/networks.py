"""Forward and backward passes written out, with loops over windows, time steps and heads."""

from __future__ import annotations

import numpy as np

from .registry import program

EPSILON = 1e-5


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _lstm(rng, n):
    h = 32
    f4 = lambda *s: (rng.random(s) - 0.5).astype(np.float32)  # noqa: E731
    return f4(20, n, 16), f4(16, 4 * h), f4(h, 4 * h), f4(4 * h)


@program(_lstm, 3, 64, rtol=1e-4)
def lstm_forward(x, Wx, Wh, b):
    T, N, _ = x.shape
    H = Wh.shape[0]
    h = np.zeros((N, H), dtype=x.dtype)
    c = np.zeros((N, H), dtype=x.dtype)
    hs = np.empty((T, N, H), dtype=x.dtype)
    for t in range(T):
        gates = x[t] @ Wx + h @ Wh + b
        i = sigmoid(gates[:, :H])
        f = sigmoid(gates[:, H : 2 * H])
        o = sigmoid(gates[:, 2 * H : 3 * H])
        g = np.tanh(gates[:, 3 * H :])
        c = f * c + i * g
        h = o * np.tanh(c)
        hs[t] = h
    return hs, c


def conv2d(input, weights):
    K = weights.shape[0]
    N, H, W, _ = input.shape
    H_out = H - K + 1
    W_out = W - K + 1
    output = np.empty((N, H_out, W_out, weights.shape[3]), dtype=np.float32)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output


def maxpool2d(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def relu(x):
    return np.maximum(x, 0)


def _digits(rng, n):
    f4 = lambda *s: (rng.random(s) - 0.5).astype(np.float32)  # noqa: E731
    return (f4(n, 28, 28, 1), f4(5, 5, 1, 6), f4(6), f4(5, 5, 6, 16), f4(16), f4(256, 120), f4(120), f4(120, 10),
            f4(10), n)  # fmt: skip


@program(_digits, 1, 8, rtol=1e-3)
def digit_classifier(input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, N):
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = np.reshape(x, (N, 256))
    x = relu(x @ fc1w + fc1b)
    return x @ fc2w + fc2b


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + EPSILON) + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _transformer(rng, n):
    d = 32
    w = lambda *s: rng.standard_normal(s) / np.sqrt(s[0])  # noqa: E731
    return w(n, d) * 3, w(d, 3 * d), w(d, d), w(d, 4 * d), w(4 * d, d), np.ones(d), np.zeros(d), 4


@program(_transformer, 5, 256)
def transformer_block(x, w_qkv, w_out, w_up, w_down, gain, bias, heads):
    n, d = x.shape
    q, k, v = np.split(layer_norm(x, gain, bias) @ w_qkv, 3, axis=-1)
    mask = (1 - np.tri(n)) * -1e10
    out = []
    for head in range(heads):
        part = slice(head * d // heads, (head + 1) * d // heads)
        scores = q[:, part] @ k[:, part].T / np.sqrt(d // heads) + mask
        out.append(softmax(scores) @ v[:, part])
    x = x + np.hstack(out) @ w_out
    return x + gelu(layer_norm(x, gain, bias) @ w_up) @ w_down


@program(lambda rng, n: (rng.standard_normal((n, 8)), rng.integers(0, 3, n), rng.standard_normal((8, 16)) / 3,
                         rng.standard_normal((16, 3)) / 4, 0.1, 30), 12, 4000, rtol=1e-7)  # fmt: skip
def train_two_layers(X, labels, W1, W2, rate, epochs):
    """Gradients by hand, weights updated in place, losses in a list."""
    n = X.shape[0]
    targets = np.eye(3)[labels]
    losses = []
    for epoch in range(epochs):
        hidden = np.tanh(X @ W1)
        p = softmax(hidden @ W2)
        losses.append(-np.sum(targets * np.log(p + 1e-12)) / n)
        delta = (p - targets) / n
        dW2 = hidden.T @ delta
        dhidden = delta @ W2.T * (1 - hidden**2)
        dW1 = X.T @ dhidden
        W1 -= rate * dW1
        W2 -= rate * dW2
    return losses[-1], np.array(losses)


@program(lambda rng, n: (rng.random((n, n)), rng.random((7, 7))), 12, 200)
def correlate_by_taps(image, kernel):
    kh, kw = kernel.shape
    padded = np.pad(image, ((kh // 2, kh // 2), (kw // 2, kw // 2)), mode="constant")
    output = np.zeros_like(image)
    for i in range(kh):
        for j in range(kw):
            output += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return output


@program(lambda rng, n: (rng.random((n, 4)), rng.random((40, 4)), rng.integers(0, 5, 40), 3), 10, 4000)
def nearest_neighbours(queries, points, labels, k):
    votes = np.empty(len(queries), dtype=np.int64)
    for i in range(len(queries)):
        distances = np.sqrt(np.sum((points - queries[i]) ** 2, axis=1))
        nearest = np.argsort(distances, kind="stable")[:k]
        votes[i] = np.argmax(np.bincount(labels[nearest], minlength=5))
    return votes


@program(
    lambda rng, n: (
        rng.standard_normal((n, 16)) * 0.1,
        rng.standard_normal((n, 16)) * 0.1,
        rng.integers(0, n, 8 * n),
        0.05,
    ),
    8,
    80,
)
def skip_grams(words, contexts, corpus, rate):
    loss = 0.0
    negatives = np.random.default_rng(7).integers(0, len(words), (len(corpus), 4, 3))
    for t in range(2, len(corpus) - 2):
        c = corpus[t]
        for k, offset in enumerate([-2, -1, 1, 2]):
            o = corpus[t + offset]
            v = words[c]
            s = 1 / (1 + np.exp(-v @ contexts[o]))
            loss -= np.log(s)
            gradient = (s - 1) * contexts[o]
            contexts[o] -= rate * (s - 1) * v
            for other in negatives[t, k]:
                s = 1 / (1 + np.exp(-v @ contexts[other]))
                loss -= np.log(1 - s + 1e-12)
                gradient += s * contexts[other]
                contexts[other] -= rate * s * v
            words[c] -= rate * gradient
    return loss
