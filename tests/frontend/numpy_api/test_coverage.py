"""The coverage table says of every public function what becomes of it, and says it truly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.frontend.numpy_api import coverage, samples

from .differential import check

ROWS = coverage.rows()


def test_every_public_function_has_a_sample_or_a_reason():
    unexplained = [row.name for _, row in ROWS if row.state == coverage.REFUSED and not row.sample and not row.detail]
    unexplained += [row.name for _, row in ROWS if row.detail == "it has no sample call"]
    assert not unexplained


def test_refusals_give_a_reason_of_one_line():
    for _, row in ROWS:
        if row.state == coverage.REFUSED:
            assert row.detail and "\n" not in row.detail, row


def test_states_of_well_known_functions():
    states = {row.name: row.state for _, row in ROWS}
    assert states["numpy.exp"] == states["numpy.mean"] == states["numpy.pad"] == states["ndarray.reshape"] == "fused"
    assert states["numpy.matmul"] == states["numpy.fft.fft"] == states["numpy.linalg.solve"] == "library call"
    assert states["numpy.interp"] == "NumPy between kernels"
    assert states["numpy.unique"] == states["numpy.save"] == "refused"


def test_the_table_is_markdown_with_a_row_for_each():
    text = coverage.table(ROWS)
    assert text.count("\n| `") == len(ROWS)
    assert "## numpy.linalg" in text


@pytest.mark.parametrize("sample", [row.sample for _, row in ROWS if row.sample and row.state != coverage.REFUSED])
def test_samples_give_numpys_values(sample):
    if sample.startswith("np.empty"):
        return  # whatever the memory held
    if "eig" in sample or "svd(" in sample or "qr(" in sample:
        return  # signs of vectors are free; see test_linear_algebra
    function = coverage.sample_function(sample)
    check(lambda *arrays: _comparable(function(*arrays)), *samples.inputs().values(), max_ulp=256, reduction_scale=100)


def _comparable(value: object) -> object:
    if isinstance(value, np.dtype | type):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value)
    return value


def test_the_published_page_is_true():
    page = (Path(__file__).parents[3] / "notebooks" / "numpy-coverage.md").read_text(encoding="utf-8")
    version = ".".join(np.__version__.split(".")[:2])
    if f"NumPy {version}," not in page:
        pytest.skip(f"the page is of another NumPy than {version}")
    assert coverage.page() == page
