"""How far two results are apart, in units in the last place: what `--verify` and the strip's check mark report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optree

# Beyond both, a difference is a mistake: so many ULP (functions are within a few, chains of sums in
# another order within some hundreds), and eps to this power of the largest magnitude (what cancellation may leave).
MAX_ULP = 4096.0
CANCELLATION = 0.6
# As many ULP of the inputs may explain a result of which roundings are all that there is, such as the sum of residuals:
# roundings inside of a program act as changes of its inputs do (Higham, 2002, ch. 1.5, on backward errors).
MAX_INPUT_ULP = 64.0
# Where one ULP changes more than this, it decides something (a floor, a branch), which explains no other difference.
MAX_UNIT = 1e-6


def compare(
    results: Mapping[str, Any],
    expected: Mapping[str, Any],
    shaken: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
) -> tuple[bool, float, list[dict[str, Any]]]:
    """Whether all results agree, the largest difference in ULP, and one row a result. shaken: the values that NumPy
    finds for inputs that are moved by one ULP; it is asked where nothing else explains a difference, which then counts
    in ULP of the inputs."""
    runs: Sequence[Mapping[str, Any]] | None = None
    rows = []
    for name, value in results.items():
        if name not in expected:
            continue
        ours, theirs = optree.tree_leaves(value), optree.tree_leaves(expected[name])
        if len(ours) != len(theirs):
            rows.append({"name": name, "max_ulp": float("inf"), "ok": False})
            continue
        found = [difference(a, b) for a, b in zip(ours, theirs, strict=True)]
        if any(not ok and np.isfinite(ulp) for ulp, ok in found):
            runs = shaken() if runs is None else runs
            others = [optree.tree_leaves(run[name]) for run in runs if name in run]
            others = [leaves for leaves in others if len(leaves) == len(theirs)]
            for i, (ulp, ok) in enumerate(found):
                if not ok and np.isfinite(ulp):
                    found[i] = _in_input_ulp(ours[i], theirs[i], [leaves[i] for leaves in others]) or (ulp, ok)
        max_ulp = max((ulp for ulp, _ in found), default=0.0)
        rows.append({"name": name, "max_ulp": max_ulp, "ok": all(ok for _, ok in found)})
    return all(row["ok"] for row in rows), max((row["max_ulp"] for row in rows), default=0.0), rows


def difference(a: Any, b: Any) -> tuple[float, bool]:
    """The largest difference of two arrays in ULP, and whether rounding explains it.

    Cancellation makes an element small and its error large in its own ULP, so that the unit is that of the array's
    largest element: the difference is normwise, as error bounds of sums and products are (Higham, 2002, ch. 3).
    """
    if not isinstance(a, np.ndarray | np.generic | int | float | complex | bool):
        return 0.0, True  # functions, modules, strings: not computed by a kernel
    if type(a) is type(b) and not isinstance(a, np.ndarray) and a == b:
        return 0.0, True  # at once: lists may hold many numbers
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf"), False
    if a.dtype.kind not in "fc":
        return (0.0, True) if np.array_equal(a, b) else (float("inf"), False)
    if a.dtype.kind == "c":
        a, b = (np.ascontiguousarray(np.atleast_1d(x)).view(np.real(x).dtype) for x in (a, b))
    if not a.size:
        return 0.0, True
    with np.errstate(all="ignore"):
        special = ~(np.isfinite(a) & np.isfinite(b))
        if not np.array_equal(a[special], b[special], equal_nan=True):
            return float("inf"), False
        apart = np.where(special, 0.0, np.abs(a - b))
        magnitude = np.where(special, 0.0, np.abs(b))
        ulp = float(apart.max() / np.spacing(magnitude.max().astype(a.dtype)))
        explained = apart.max() <= magnitude.max() * np.finfo(a.dtype).eps ** CANCELLATION
    return ulp, bool(ulp <= MAX_ULP or explained)


def _in_input_ulp(a: Any, b: Any, others: Sequence[Any]) -> tuple[float, bool] | None:
    """The difference of two results in units of what one ULP of the inputs changes; None if that does not explain it.
    others: the second one for inputs that were moved."""
    a, b = np.asarray(a), np.asarray(b)
    with np.errstate(all="ignore"):
        apart = np.nanmax(np.abs(a - b), where=np.isfinite(a) & np.isfinite(b), initial=0.0)
        moved = [np.abs(np.asarray(other) - b) for other in others if np.shape(other) == b.shape]
        unit = max((float(np.nanmax(x, where=np.isfinite(x), initial=0.0)) for x in moved), default=0.0)
    return (float(apart / unit), True) if unit <= MAX_UNIT and 0.0 < apart <= MAX_INPUT_ULP * unit else None
