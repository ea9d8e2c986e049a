"""The strip says what happened in every state, in one line or two, and never a number that was not measured."""

from __future__ import annotations

import pytest

from tests.report.sample_reports import cached, edge_detection, empty, failed, fallback, partly, softmax
from workbench.report import STATUSES, words
from workbench.report.strip import FACES, WIDTH, strip_of


def text_of(report):
    return strip_of(report).text


def test_compiled():
    report = edge_detection()
    report.summary.n_library_calls = 0
    assert text_of(report) == (
        " ✔ compiled  3 kernels ← 28 ops   1.93 ms   6.4× NumPy   52.4 MB less traffic   ✓ same result (2 ulp)\n"
        "   cpu · 2 threads   compiled in 412 ms → pays off after 40 runs   3 boundaries"
    ).replace("   ✓ same", "\n   ✓ same")  # 101 columns


def test_the_numbers_of_the_picture():
    report = edge_detection()
    summary = report.summary
    summary.n_kernels, summary.n_library_calls, summary.n_ops, summary.n_boundaries = 2, 0, 9, 1
    summary.time_ms, summary.speedup, summary.bytes_saved = 1.9, 6.4, 152_000_000
    summary.compile_ms, summary.pays_off_after = 120.0, 12
    assert text_of(report) == (
        " ✔ compiled  2 kernels ← 9 ops   1.9 ms   6.4× NumPy   152 MB less traffic   ✓ same result (2 ulp)\n"
        "   cpu · 2 threads   compiled in 120 ms → pays off after 12 runs   1 boundary"
    )


def test_cached_costs_nothing():
    assert "compiled in" not in text_of(cached()) and " ✔ cached  3 kernels" in text_of(cached())


def test_cached_on_the_disk_was_loaded():
    report = cached()
    report.summary.compile_ms = 11.0
    assert "loaded in 11 ms" in text_of(report)


def test_recompiled_says_what_changed():
    assert text_of(softmax()) == (
        " ↻ recompiled  1 kernel ← 9 ops   3.42 ms   3.0× NumPy   50.3 MB less traffic\n"
        "   cpu · 2 threads   changed: x f64[4096,512] → f32[4096,512]   compiled in 9.8 ms → pays off after 2 runs"
    ).replace("   compiled in", "\n   compiled in")


def test_partly_gives_the_share_and_admits_that_it_never_pays():
    text = text_of(partly())
    assert text.startswith(" ◐ partly compiled  2 kernels + 1 NumPy step ← 5 ops   132 µs   1.1× slower than NumPy")
    assert "75 % of the time in kernels and libraries" in text
    assert "never pays off at this size" in text


def test_numpy_gives_the_code_and_the_reason():
    assert text_of(fallback()) == (
        " ○ ran in NumPy  WB101   4.8 ms\n"
        "   numpy · 2 threads\n"
        "   Line 4 must choose a branch, but `err` is only known when the kernel runs."
    )


def test_failed_is_ours():
    assert text_of(failed()).startswith(" ✘ failed  WB901   7.3 ms\n")
    assert "a bug of ours, not of your code" in text_of(failed())


def test_empty():
    assert text_of(empty()) == " ∅ no array operation\n   cpu · 2 threads"


def test_what_was_not_measured_is_not_said():
    report = edge_detection()
    summary = report.summary
    summary.time_ms = summary.numpy_ms = summary.speedup = summary.pays_off_after = None
    summary.bytes_saved = 0
    report.verification = None
    text = text_of(report)
    assert (
        text
        == " ✔ compiled  3 kernels + 1 library call ← 28 ops\n   cpu · 2 threads   compiled in 412 ms   3 boundaries"
    )


def test_a_difference_is_not_hidden():
    report = edge_detection()
    report.verification.ok, report.verification.max_ulp = False, None
    assert "⚠ differs from NumPy (ulp unknown)" in text_of(report)


def test_every_status_has_its_face():
    assert set(FACES) == set(STATUSES)
    assert len({words for _, words in FACES.values()}) == len(FACES)


@pytest.mark.parametrize("report", [edge_detection(), softmax(), partly(), fallback()], ids=lambda r: r.status)
def test_lines_are_broken_between_facts(report):
    assert all(words.columns(line) <= WIDTH for line in text_of(report).splitlines())


def test_steps_of_every_kind_are_counted():
    report = edge_detection()
    summary = report.summary
    summary.n_kernels, summary.n_loops, summary.n_branches, summary.n_library_calls = 1, 1, 2, 0
    assert " 1 kernel + 1 loop + 2 branches ← 28 ops " in text_of(report)
