"""Numbers in words, as extension/src/format.ts writes them."""

from __future__ import annotations

import pytest

from workbench.report import words
from workbench.report.metrics import fit, text_width, wrap


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ns"), (1.9, "1.9 ms"), (1.934, "1.93 ms"), (0.52, "520 µs"), (0.9996, "1 ms"), (12.44, "12.4 ms"),
     (412.3, "412 ms"), (4100, "4.1 s"), (125_000, "2.08 min"), (0.0000012, "1.2 ns")],
)  # fmt: skip
def test_times(ms, text):
    assert words.time(ms) == text


def test_sizes_shares_and_counts():
    assert words.size(152_000_000) == "152 MB" and words.size(999_600) == "1 MB" and words.size(8) == "8 B"
    assert words.size(0) == "0 B"
    assert words.flops(1.63e6) == "1.63 Mflop"
    assert words.percent(0.004) == "< 1 %" and words.percent(0.126) == "13 %" and words.percent(0) == "0 %"
    assert words.count(1, "boundary", "boundaries") == "1 boundary"
    assert words.count(2000, "node") == "2,000 nodes"


def test_speedups_and_ulps():
    assert words.speedup(6.42) == ("▲", "6.4× NumPy") and words.speedup(42.2) == ("▲", "42× NumPy")
    assert words.speedup(0.5) == ("▼", "2.0× slower than NumPy")
    assert words.speedup(1.01) == ("=", "level with NumPy")
    assert words.ulp(0) == "bit for bit" and words.ulp(2) == "2 ulp" and words.ulp(3e9) == "3e+9 ulp"
    assert words.ulp(None) == "ulp unknown"


def test_what_acts_on_a_terminal_is_shown():
    assert words.visible("a\x1b[31m\u202eb\tc\nd") == "a\\x1b[31m\\u202eb\tc\nd"


def test_columns_count_wide_characters_twice():
    assert words.columns("abc") == 3 and words.columns("日本") == 4 and words.columns("e\u0301") == 1


def test_texts_are_fitted_and_wrapped():
    assert fit("short", 200, 12) == "short"
    fitted = fit("a_long_name_with_a_number_17", 100, 12)
    assert text_width(fitted, 12) <= 100 and "…" in fitted and fitted.endswith("7")
    lines = wrap("add_mul_sub_square_sum_div", 90, 12)
    assert len(lines) > 1 and "".join(lines) == "add_mul_sub_square_sum_div"
    assert all(text_width(line, 12) <= 90 for line in lines)
    assert "".join(wrap("x" * 80, 60, 12)) == "x" * 80
    assert wrap("", 60, 12) == [""]
