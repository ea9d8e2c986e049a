"""Functions that NumPy runs on what a mask or a slice of unknown length selects."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(3)
CALLS = {
    "median": lambda x, y, k: np.median(x[x > 0]),
    "deviation from the median": lambda x, y, k: np.median(np.abs(x[x > 0] - np.median(x[x > 0]))) * 1.4826,
    "percentiles": lambda x, y, k: np.percentile(x[x > 0], [25, 50, 75]),
    "quantile": lambda x, y, k: np.quantile(x[x > 0], 0.3),
    "traced quantiles": lambda x, y, k: np.quantile(x[x > 0], y[:3] ** 2 / 9),
    "line": lambda x, y, k: np.polyfit(x[x > 0], y[x > 0], 1),
    "correlation": lambda x, y, k: np.corrcoef(x[y > 0.2], y[y > 0.2]),
    "interpolation": lambda x, y, k: np.interp(np.linspace(0, 1, 5), np.cumsum(np.abs(x))[x > -9], y[x > -9]),
    "histogram": lambda x, y, k: np.histogram(x[x > 0], bins=5, range=(0, 2)),
    "search": lambda x, y, k: np.searchsorted(np.sort(x)[:k], y),
    "integral": lambda x, y, k: np.trapezoid(y[:k], x[:k]),
    "of rows": lambda x, y, k: np.median(np.outer(x, y)[x > 0], axis=0),
    "of columns": lambda x, y, k: np.median(np.outer(x, y)[:, x > 0], axis=1),
    "weighted": lambda x, y, k: np.average(x[x > 0], weights=np.abs(y[x > 0])),
    "without NaN": lambda x, y, k: np.nanmedian(x[x > 0]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_they_give_what_numpy_gives(call):
    compiled = wb.jit(call)
    for _ in range(3):
        x, y, k = RNG.standard_normal(150), RNG.random(150), np.int64(RNG.integers(2, 150))
        assert_same(compiled(x, y, k), call(x, y, k), max_ulp=64, reduction_scale=100.0)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda x, y, k: np.median(np.outer(x, y)[:, x > 0], axis=0),  # as many as are selected
        lambda x, y, k: np.median(x[x > 99]),
        lambda x, y, k: np.median(x[x > 0], out=np.zeros(())),
        lambda x, y, k: np.interp(0.5, x[x > 99], y[x > 99]),
    ],
    ids=["as many results as elements", "of nothing", "out", "error"],
)
def test_what_has_no_one_shape_runs_in_numpy(call):
    x, y, k = RNG.standard_normal(40), RNG.random(40), np.int64(7)
    outcomes = []
    for function in (call, wb.jit(call)):
        try:
            outcomes.append(function(x, y, k))
        except ValueError as error:
            outcomes.append(str(error))
    if isinstance(outcomes[0], str):
        assert outcomes[1] == outcomes[0]
    else:
        assert_same(outcomes[1], outcomes[0])
