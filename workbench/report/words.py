"""Numbers as people read them: three digits and a unit. Mirrors extension/src/format.ts, so that every form of a report
says the same."""

from __future__ import annotations

from collections.abc import Sequence

_TIMES = ((60_000.0, "min"), (1_000.0, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_FLOPS = ((1e12, "Tflop"), (1e9, "Gflop"), (1e6, "Mflop"), (1e3, "kflop"), (1.0, "flop"))


def three_digits(x: float) -> str:
    if x == 0:
        return "0"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    written = f"{x:.{digits}f}"
    return written.rstrip("0").rstrip(".") if digits else written


def _scaled(x: float, units: Sequence[tuple[float, str]]) -> str:
    # The margin keeps 999.6 from being written "1000 kB".
    size, unit = next(((s, u) for s, u in units if abs(x) >= s * 0.9995), units[-1])
    return f"{three_digits(x / size)} {unit}"


def time(ms: float) -> str:
    return _scaled(ms, _TIMES)


def size(n_bytes: float) -> str:
    return _scaled(n_bytes, _SIZES)


def flops(n: float) -> str:
    return _scaled(n, _FLOPS)


def integer(n: float) -> str:
    return f"{n:,.0f}"


def percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.01 else f"{share * 100:.0f} %"


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{integer(n)} {noun if n == 1 else plural or noun + 's'}"


def ulp(most: float | None) -> str:
    if most is None:
        return "ulp unknown"
    return "bit for bit" if most == 0 else f"{three_digits(most)} ulp"


def speedup(ratio: float) -> tuple[str, str]:
    """A sign that is not a colour, and words: how much faster than NumPy."""
    if ratio >= 1.05:
        return "▲", f"{three_digits(ratio)}× NumPy"
    if 0 < ratio <= 0.95:
        return "▼", f"{three_digits(1 / ratio)}× slower than NumPy"
    return "＝", "level with NumPy"
