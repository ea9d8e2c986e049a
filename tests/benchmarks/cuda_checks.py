"""What must hold on a device: every kernel family's values, and what a real device may do otherwise than the simulator
(streams, alignment, libraries, errors). Run by tests/benchmarks/cuda.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import workbench as wb


@dataclass
class Result:
    family: str
    dtype: str
    shape: str
    error: float = 0.0
    path: str = ""
    times_us: dict[str, list[float]] = field(default_factory=dict)
    failed: str = ""
    gb_per_s: float = 0.0
    notes: list[str] = field(default_factory=list)


# ---- checking ----


def check(family: Any, device: str, dtype: type, n: int, rng: Any) -> tuple[Result, Any, tuple]:
    """Run a family on the device and compare with NumPy's float64."""
    inputs = tuple(np.asarray(a, dtype) for a in family.inputs(n, rng))
    with np.errstate(all="ignore"):
        expected = np.asarray(family.function(np, *(a.astype(np.float64) for a in inputs)))
    compiled = wb.jit(lambda *arrays: family.function(np, *arrays), device=device, strict=True)
    found = compiled(*inputs)
    result = Result(family.name, np.dtype(dtype).name, "x".join(map(str, inputs[0].shape)))
    result.path = ", ".join(
        dict.fromkeys(k.geometry.meets or "no meeting" for k in compiled.compilations[0].kernels.values())
    )
    compare(result, np, found, expected, family, dtype)
    return result, compiled, inputs


def compare(result: Result, xp: Any, found: Any, expected: Any, family: Any, dtype: type) -> None:
    rtol = family.rtol if dtype is np.float32 else min(family.rtol, 1e-9)
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind in "iu":
        # Where two numbers of a row round to the same float32, either place is right.
        result.error = float((found != expected).mean())
        assert result.error < 1e-3, f"{result.error:.1%} of the places differ"
        return
    if not expected.size:
        return
    errors = xp.abs(found - expected) / (float(xp.abs(expected).max()) or 1.0)
    result.error = float(errors.max())
    share = float((~(errors <= rtol)).mean())
    assert share <= family.share, f"error {result.error:.2g} of the largest magnitude, allowed {rtol:.2g} ({share:.2%})"


def there(compiled: Any, device: str) -> Any:
    """`compiled`, a call of which must have run on the device: NumPy takes over where the workbench fails."""

    def call(*arrays: Any) -> Any:
        found = compiled(*arrays)
        ran = [c.device for c in compiled.compilations]
        assert ran and set(ran) == {wb.device(device).name}, f"it ran on {ran or 'NumPy'}, not on {device}"
        return found

    call.compiled = compiled  # type: ignore[attr-defined]
    return call


def check_random(device: str) -> None:
    """Threefry's bits are the same on every device."""

    def draw() -> Any:
        return wb.random.bits(wb.random.key(7), (1000,)), wb.random.normal(wb.random.key(7), (1000,))

    bits, normal = there(wb.jit(draw, device=device), device)()
    expected_bits, expected_normal = wb.jit(draw, device="cpu")()
    np.testing.assert_array_equal(bits, expected_bits)
    np.testing.assert_allclose(normal, expected_normal, rtol=1e-5)


def check_control(device: str, sizes: tuple[int, ...] = ()) -> None:
    def halve(x: Any) -> Any:
        return wb.lax.while_loop(lambda v: v.max() > 1.0, lambda v: v * 0.5, x)

    def steps(x: Any) -> Any:
        return wb.lax.fori_loop(0, 6, lambda i, v: v - v.sum() * 1e-3, x)

    def settle(x: Any) -> Any:
        def body(state: Any) -> Any:
            k, v = state
            v = wb.lax.fori_loop(0, 3, lambda i, u: u * 0.9 + u.mean(), v)
            return k + 1, wb.lax.cond(v.max() > 50.0, lambda u: u * 0.25, lambda u: u + 1.0, v)

        return wb.lax.while_loop(lambda state: state[0] < 7, body, (0, x))[1]

    def roots(x: Any) -> Any:
        return wb.lax.while_loop(
            lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] - (s[1] * s[1] - x - 1.0) / (2.0 * s[1])), (0, x + 1.0)
        )[1]

    # Small enough for one block, and so large that the host decides.
    for n in sizes or ((99,) if device == "cuda-sim" else (4099, 100_003)):
        for function in (halve, steps, settle, roots):
            f, x = there(wb.jit(function, device=device), device), np.linspace(0.0, 100.0, n)
            for _ in range(4):  # from the third run on a graph is replayed
                np.testing.assert_allclose(f(x), wb.jit(function, device="cpu")(x), rtol=1e-12)


def check_pieces(device: str, n: int = 0) -> None:
    """What lies between library calls, and the bodies of loops that the host decides, are replayed as graphs."""
    n = n or (6 if device == "cuda-sim" else 300)
    x = np.random.default_rng(8).normal(size=(n, n))

    def settled(x: Any) -> Any:
        for _ in (0,) * 3:
            x = (x - x.mean()) / x.std()
        return x

    def between(x: Any) -> Any:
        return np.sort(settled(settled(x) @ x.T), axis=1)

    def repeated(x: Any) -> Any:
        return wb.lax.while_loop(
            lambda s: (s[0] < 24) & (abs(s[1]).max() < 1e9),
            lambda s: (s[0] + 1, settled(s[1]) * 0.5 + s[1] * 0.5),
            (0, x),
        )[1]

    for function in (between, repeated):
        f = there(wb.jit(function, device=device), device)
        found = [np.asarray(f(x)) for _ in range(5)]
        assert len({each.tobytes() for each in found}) == 1, "results differ from run to run"
        np.testing.assert_allclose(found[0], wb.jit(function, device="cpu")(x), rtol=1e-7, atol=1e-7)
        recordings = f.compiled.compilations[0].executable.recordings
        if device != "cuda-sim":
            assert any(each.replay is not None for each in recordings), "nothing was recorded"


def check_lazy(device: str) -> None:
    """Results that stay until they are looked at, on their way through several programs."""
    x = np.linspace(0.0, 1.0, 257)
    with wb.config(lazy_results=True):
        first, second = (wb.jit(lambda v: np.sqrt(v * v + 1.0), device=device) for _ in range(2))
        y = first(x)
        z, total = second(y), wb.jit(lambda v: v.sum(), device=device)(y)
        assert y.is_there and z.is_there and second.compilations[0].crossings == ()
    np.testing.assert_allclose(np.asarray(z), np.sqrt(x * x + 2.0), rtol=1e-14)
    np.testing.assert_allclose(total, np.sqrt(x * x + 1.0).sum(), rtol=1e-13)


def check_order(device: str) -> None:
    """Sums of colliding updates have the same bits in every run, whole sums and those of columns, too."""
    rng = np.random.default_rng(6)
    n = 200 if device == "cuda-sim" else 200_000
    x, i = rng.normal(size=n).astype(np.float32), rng.integers(0, 50, n)

    def sums(x: Any, i: Any) -> Any:
        total = np.zeros(50, np.float32)
        np.add.at(total, i, x)
        return total, x.sum(), x.reshape(-1, 4).std(axis=0)

    f = there(wb.jit(sums, device=device), device)
    seen = {b"".join(np.asarray(part).tobytes() for part in f(x, i)) for _ in range(5)}
    assert len(seen) == 1, f"{len(seen)} different results in 5 runs"
    for mine, theirs in zip(f(x, i), sums(x.astype(np.float64), i), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)


def check_library(device: str) -> None:
    """The device's routines, singular matrices, colliding indices, indices out of range."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(12, 12)) + 12 * np.eye(12)
    x, b, c = rng.normal(size=(6, 8)), rng.normal(size=12), rng.normal(size=(5, 7)) + 1j * rng.normal(size=(5, 7))

    def near(function: Callable[..., Any], *arrays: Any) -> None:
        for mine, theirs in zip(
            there(wb.jit(function, device=device), device)(*arrays), function(*arrays), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)

    near(lambda a, b: (np.linalg.solve(a * 2, b), np.linalg.inv(a * 2), np.linalg.det(a) * 1.0), a, b)
    near(lambda a: (np.linalg.cholesky(a @ a.T), np.linalg.eigh(a + a.T)[0], np.linalg.svd(a)[1]), a)
    near(lambda x: (abs(np.linalg.qr(x.T)[1]), np.sort(x, axis=0), np.argsort(x, axis=1), np.cumsum(x, axis=0)), x)
    near(lambda c: (np.fft.fft2(c), np.fft.ifft(c), np.fft.irfft2(c), np.fft.irfft(c, 9), np.fft.rfft(c.real)), c)

    def collide(v: Any, i: Any) -> Any:
        out = np.zeros(5)
        out[i] = v  # the last one stays
        total = np.zeros(5)
        np.add.at(total, i, v)
        return out, total

    near(collide, rng.normal(size=100), rng.integers(-5, 5, 100))
    for function, arrays, error in (
        (lambda a: np.linalg.inv(a), (np.zeros((3, 3)),), np.linalg.LinAlgError),
        (lambda x, i: x[i] * 2.0, (b, np.array([99])), IndexError),
    ):
        try:
            wb.jit(function, device=device)(*arrays)
        except error:
            continue
        raise AssertionError(f"{error.__name__} was not raised")


def check_device_arrays(device: str, n: int = 100_003) -> None:
    """Arrays that are on the device already: updates in place, views that are not aligned, several streams."""
    import cupy

    def update(a: Any, b: Any) -> Any:
        a[1:] += b[:-1] * 2.0
        return a.sum()

    host = [np.arange(1001, dtype=np.float32), np.ones(1001, np.float32)]
    arrays = [cupy.asarray(h) for h in host]
    total = there(wb.jit(update, device=device), device)(*arrays)
    np.testing.assert_allclose(float(total), update(*host), rtol=1e-6)
    np.testing.assert_array_equal(cupy.asnumpy(arrays[0]), host[0])

    def chain(x: Any, y: Any) -> Any:
        return np.sqrt(x * x + 1.0) * y, (x * y).sum()

    big = np.random.default_rng(0).normal(size=n).astype(np.float32)
    f, base = there(wb.jit(chain, device=device), device), cupy.asarray(big)
    for start in range(5):  # 4 bytes further each time: only one of four is aligned for vector loads
        x, y = base[start:-8], base[8 - start : n - 2 * start]
        mine, theirs = f(x, y), chain(big[start:-8], big[8 - start : n - 2 * start])
        np.testing.assert_allclose(cupy.asnumpy(mine[0]), theirs[0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(float(mine[1]), float(theirs[1]), rtol=1e-3, atol=1.0)

    def many(x: Any) -> Any:
        for _ in (0,) * 5:
            x = x - x.sum() * 1e-4
        return x

    g, small = there(wb.jit(many, device=device), device), np.linspace(0.0, 1.0, min(n, 1000))
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    for round_number in range(4):
        results = []
        for k, stream in enumerate(streams):
            with stream:
                results.append(g(cupy.asarray(small * (k + round_number))))
        for k, (stream, result) in enumerate(zip(streams, results, strict=True)):
            stream.synchronize()
            np.testing.assert_allclose(cupy.asnumpy(result), many(small * (k + round_number)), rtol=1e-12)


CHECKS = {
    "random numbers": check_random, "control flow": check_control, "lazy results": check_lazy,
    "same bits": check_order, "pieces between library calls": check_pieces, "library calls": check_library,
    "device arrays": check_device_arrays,
}  # fmt: skip
