"""Steps of learning: matrix products of a library with elementwise work and reductions around them; the quickstart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .harness import Case
from .peers import contestants

RATE = 0.1


def probabilities(xp: Any, scores: Any) -> Any:
    e = xp.exp(scores - xp.amax(scores, 1)[:, None])
    return e / xp.sum(e, 1)[:, None]


def softmax_step(xp: Any, weights: Any, bias: Any, x: Any, target: Any) -> Any:
    error = (probabilities(xp, x @ weights + bias) - target) / len(x)
    return weights - RATE * (x.T @ error), bias - RATE * xp.sum(error, 0)


def mlp_step(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, target: Any) -> Any:
    hidden = xp.tanh(x @ w1 + b1)
    error = (probabilities(xp, hidden @ w2 + b2) - target) / len(x)
    back = (error @ w2.T) * (1 - hidden * hidden)
    return (
        w1 - RATE * (x.T @ back), b1 - RATE * xp.sum(back, 0),
        w2 - RATE * (hidden.T @ error), b2 - RATE * xp.sum(error, 0),
    )  # fmt: skip


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    return probabilities_of_last(xp, (q @ xp.swapaxes(k, -1, -2)) / q.shape[-1] ** 0.5) @ v


def probabilities_of_last(xp: Any, scores: Any) -> Any:
    e = xp.exp(scores - xp.amax(scores, -1)[..., None])
    return e / xp.sum(e, -1)[..., None]


def kernel_regression(xp: Any, x: Any, points: Any, values: Any) -> Any:
    """Nadaraya and Watson's estimate with Gaussian weights (Theory of Probability and its Applications 9, 1964)."""
    squares = xp.sum(x * x, 1)[:, None] + xp.sum(points * points, 1)[None, :] - 2 * (x @ xp.swapaxes(points, 0, 1))
    weights = xp.exp(-0.05 * squares)
    return (weights @ values) / xp.sum(weights, 1)[:, None]


def logistic_gradient(xp: Any, x: Any, weights: Any, target: Any) -> Any:
    return (1 / (1 + xp.exp(-(x @ weights))) - target) @ x / len(x)


def thin_layer(xp: Any, x: Any, weights: Any, bias: Any) -> Any:
    return xp.tanh(x @ weights + bias)


def photo_filter(xp: Any, photo: Any, luminance: Any) -> Any:
    gray = photo @ luminance
    blur = (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]) / 8
    edges = xp.sqrt((blur[1:, :-1] - blur[:-1, :-1]) ** 2 + (blur[:-1, 1:] - blur[:-1, :-1]) ** 2)
    return gray, blur, edges, 1 / (1 + xp.exp(-8 * (edges / xp.amax(edges) - 0.3)))


def photo_colours(xp: Any, photo: Any) -> Any:
    level = xp.mean(photo, (0, 1))
    spread = xp.sqrt(xp.mean((photo - level) ** 2, (0, 1)))
    balanced = xp.clip(0.5 + (photo - level) / (5 * spread), 0, 1)
    vivid = balanced**1.5 * (3 - 2 * xp.sqrt(balanced))
    return balanced, vivid, xp.mean(vivid, (0, 1))


def cases() -> Iterator[Case]:
    from sklearn.datasets import load_digits, load_sample_image

    photo = load_sample_image("china.jpg") / 255
    luminance = np.array([0.2126, 0.7152, 0.0722])
    yield Case("photo filter", "427x640x3 float64", contestants(photo_filter, photo, luminance))
    yield Case("photo colours", "427x640x3 float64", contestants(photo_colours, photo))
    digits = load_digits()
    x = (digits.data - digits.data.mean(axis=0)) / (digits.data.std(axis=0) + 1e-3)
    target = (digits.target[:, None] == np.arange(10)).astype(float)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(64, 10))
    yield Case("digits step", "1797x64x10 float64", contestants(softmax_step, weights, np.zeros(10), x, target))

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    x, target = normal(256, 784), np.eye(10, dtype=np.float32)[rng.integers(0, 10, 256)]
    calls = contestants(softmax_step, normal(784, 10) * 0.01, normal(10), x, target)
    yield Case("softmax-regression step", "784x10, 256 float32", calls, 1e-4)
    parameters = normal(784, 256) * 0.03, normal(256), normal(256, 10) * 0.1, normal(10)
    yield Case("MLP step", "784-256-10, 256 float32", contestants(mlp_step, *parameters, x, target), 1e-4)
    for shape, dtype in (((2048, 64), np.float64), ((8, 1024, 64), np.float32)):
        heads = [rng.normal(size=shape).astype(dtype) for _ in range(3)]
        yield Case("attention", f"{'x'.join(map(str, shape))} {dtype.__name__}", contestants(attention, *heads), 1e-4)
    given = rng.normal(size=(4096, 20)), rng.normal(size=(2048, 20)), rng.normal(size=(2048, 4))
    samples = rng.normal(size=(200_000, 64)), rng.normal(size=64) * 0.1, (rng.random(200_000) < 0.5).astype(float)
    yield Case("logistic gradient", "200000x64 float64", contestants(logistic_gradient, *samples))
    yield Case("kernel regression", "4096 of 2048x20 float64", contestants(kernel_regression, *given))
    yield Case(
        "thin layer",
        "20000x32x256 float32",
        contestants(thin_layer, normal(20000, 32), normal(32, 256), normal(256)),
        1e-4,
    )
