"""The first table: the workbench beside NumPy, numba by hand, JAX and torch, on what the first version promises.

    python -m tests.benchmarks.first_version [--json FILE] [--only WORD] [--rounds N]

The promises: never slower than NumPy from 100,000 elements on, at least level with numba code by hand on elementwise
chains, and a call on 8 elements under 10 us.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np

import workbench as wb

from .harness import BASELINE, ROUNDS, Case, Row, machine, run_case, table, write_json

OURS, BY_HAND, JAX, TORCH = "workbench", "numba by hand", "JAX", "torch"
SIZES = (100_000, 1_000_000, 10_000_000)


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


jax = optional("jax")
torch = optional("torch")
if jax is not None:
    jax.config.update("jax_enable_x64", True)


def in_jax(function: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
    """`function(xp, *arrays)` compiled by JAX, its arrays on the device beforehand."""
    compiled = jax.jit(lambda *xs: function(jax.numpy, *xs))
    on_device = [jax.numpy.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(compiled(*on_device))


def in_torch(function: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
    """`function(torch, *arrays)`, eager: torch.compile needs a C++ compiler on the machine."""
    tensors = [torch.from_numpy(a) for a in arrays]
    return lambda: function(torch, *tensors)


def contestants(function: Callable[..., Any], by_hand: Callable[..., Any] | None, *arrays: np.ndarray, with_torch=True):
    """The usual set for `function(xp, *arrays)`."""
    ours = wb.jit(lambda *xs: function(np, *xs))
    calls: dict[str, Callable[[], Any]] = {BASELINE: lambda: function(np, *arrays), OURS: lambda: ours(*arrays)}
    if by_hand is not None:
        calls[BY_HAND] = lambda: by_hand(*arrays)
    if jax is not None:
        calls[JAX] = in_jax(function, *arrays)
    if torch is not None and with_torch:
        calls[TORCH] = in_torch(function, *arrays)
    return calls


# ---- sum((a - b)**2), 500 x 500 ----


def squared_error(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a - b) ** 2)


@numba.njit
def squared_error_by_hand(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d = a[i, j] - b[i, j]
            total += d * d
    return total


def sums() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for dtype, rtol in ((np.float64, 1e-9), (np.float32, 1e-3)):
        a, b = (rng.normal(size=(500, 500)).astype(dtype) for _ in range(2))
        calls = contestants(squared_error, squared_error_by_hand, a, b)
        yield Case("sum((a-b)**2)", f"500x500 {np.dtype(dtype).name}", calls, rtol)


# ---- elementwise chains ----


def polynomial(xp: Any, x: Any, y: Any) -> Any:
    return ((x * 2.0 - y) * x + 3.0) * y - x / (y * y + 1.0)


@numba.njit
def polynomial_by_hand(x, y):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = ((x[i] * 2.0 - y[i]) * x[i] + 3.0) * y[i] - x[i] / (y[i] * y[i] + 1.0)
    return out


def gaussian(xp: Any, x: Any, y: Any) -> Any:
    return xp.exp(-(x * x)) * y + xp.sqrt(xp.abs(y))


@numba.njit
def gaussian_by_hand(x, y):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = np.exp(-(x[i] * x[i])) * y[i] + np.sqrt(np.abs(y[i]))
    return out


def chains() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for name, function, by_hand in (
        ("polynomial chain", polynomial, polynomial_by_hand),
        ("exp chain", gaussian, gaussian_by_hand),
    ):
        for n in SIZES:
            x, y = rng.normal(size=(2, n))
            yield Case(name, f"{n:,} float64", contestants(function, by_hand, x, y))


# ---- the quickstart's cells ----


def photo_filter(xp: Any, photo: Any, luminance: Any) -> Any:
    gray = photo @ luminance
    blur = (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:] + 4 * gray[1:-1, 1:-1]) / 8
    edges = xp.sqrt((blur[1:, :-1] - blur[:-1, :-1]) ** 2 + (blur[:-1, 1:] - blur[:-1, :-1]) ** 2)
    return gray, blur, edges, 1 / (1 + xp.exp(-8 * (edges / edges.max() - 0.3)))


@numba.njit
def photo_filter_by_hand(photo, luminance):
    h, w, _ = photo.shape
    gray, blur = np.empty((h, w)), np.empty((h - 2, w - 2))
    edges, tone = np.empty((h - 3, w - 3)), np.empty((h - 3, w - 3))
    for i in range(h):
        for j in range(w):
            p = photo[i, j]
            gray[i, j] = p[0] * luminance[0] + p[1] * luminance[1] + p[2] * luminance[2]
    for i in range(h - 2):
        for j in range(w - 2):
            around = gray[i, j + 1] + gray[i + 2, j + 1] + gray[i + 1, j] + gray[i + 1, j + 2]
            blur[i, j] = (around + 4 * gray[i + 1, j + 1]) / 8
    largest = 0.0
    for i in range(h - 3):
        for j in range(w - 3):
            down, right = blur[i + 1, j] - blur[i, j], blur[i, j + 1] - blur[i, j]
            edges[i, j] = np.sqrt(down * down + right * right)
            largest = max(largest, edges[i, j])
    for i in range(h - 3):
        for j in range(w - 3):
            tone[i, j] = 1 / (1 + np.exp(-8 * (edges[i, j] / largest - 0.3)))
    return gray, blur, edges, tone


def descend(xp: Any, weights: Any, bias: Any, x: Any, target: Any) -> Any:
    scores = x @ weights + bias
    exp = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    error = (exp / xp.sum(exp, axis=1, keepdims=True) - target) / len(x)
    return weights - 0.5 * (x.T @ error), bias - 0.5 * xp.sum(error, axis=0)


def quickstart() -> Iterator[Case]:
    from sklearn.datasets import load_digits, load_sample_image

    photo = load_sample_image("china.jpg") / 255
    luminance = np.array([0.2126, 0.7152, 0.0722])
    calls = contestants(photo_filter, photo_filter_by_hand, photo, luminance)
    yield Case("quickstart: photo filter", "427x640x3", calls)

    digits = load_digits()
    x = (digits.data - digits.data.mean(axis=0)) / (digits.data.std(axis=0) + 1e-3)
    target = (digits.target[:, None] == np.arange(10)).astype(float)
    rng = np.random.default_rng(0)
    calls = contestants(descend, None, rng.normal(size=(64, 10)), np.zeros(10), x, target, with_torch=False)
    yield Case("quickstart: softmax step", "1797x64", calls)


# ---- the price of a call ----


def small_calls() -> Iterator[Case]:
    x, y = np.random.default_rng(0).normal(size=(2, 8))
    yield Case("call overhead", "8 float64", contestants(polynomial, polynomial_by_hand, x, y))


GROUPS = (sums, chains, quickstart, small_calls)


def verdicts(rows: list[Row]) -> list[str]:
    """The promises, and whether this machine keeps them."""
    large = [row for row in rows if row.case != "call overhead"]
    lines = []
    slower = [f"{r.case} {r.detail} ({r.ratio(OURS):.2f}x)" for r in large if (r.ratio(OURS) or 0) < 1]
    lines.append("never slower than NumPy on large arrays: " + ("yes" if not slower else "NO: " + ", ".join(slower)))
    behind = []
    for row in large:
        ours, by_hand = row.median_us(OURS), row.median_us(BY_HAND)
        if "chain" in row.case and ours and by_hand and ours > 1.05 * by_hand:
            behind.append(f"{row.case} {row.detail} ({by_hand / ours:.2f}x)")
    lines.append("level with numba by hand on chains:      " + ("yes" if not behind else "NO: " + ", ".join(behind)))
    for row in rows:
        if row.case == "call overhead":
            us = row.median_us(OURS) or float("inf")
            lines.append(f"a call on 8 elements under 10 us:        {'yes' if us < 10 else 'NO'} ({us:.1f} us)")
    return lines


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks/first_version.json"))
    parser.add_argument("--only", default="", help="only cases whose name holds this word")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args(arguments)
    about = machine()
    print(
        f"{about['processor']}, {about['cores']} cores; " + ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    )
    print(f"medians of {args.rounds} rounds in one process; N.NNx: times faster than NumPy\n", flush=True)
    rows = []
    for group in GROUPS:
        for case in group():
            if args.only in case.name:
                rows.append(run_case(case, args.rounds))
                print(f"  measured {case.name}, {case.detail}", flush=True)
    print("\n" + table(rows) + "\n")
    print("\n".join(verdicts(rows)))
    write_json(rows, args.json)
    print(f"\nall single times: {args.json}")
    return rows


if __name__ == "__main__":
    main()
