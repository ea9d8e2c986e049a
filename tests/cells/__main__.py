"""`python -m tests.cells [NAMES]`: what cells take in Python, when they are new, and when they run again."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings

import numpy as np

from workbench.notebook.cells import CellOptions, run_cell

from .programs import programs

ROUNDS = 5


def main(names: list[str]) -> None:
    ratios = []
    print(f"{'cell':30} {'Python':>10} {'first':>10} {'again':>10} {'ratio':>7}   (ms, medians of {ROUNDS})")
    for name, program in programs().items():
        if names and name not in names:
            continue
        pythons, ours = [], []
        namespace = {}  # of the notebook: what a run of a cell has shown is kept for it
        for _ in range(ROUNDS):
            plain = program.names()
            begin = time.perf_counter()
            program.run(plain)
            pythons.append(time.perf_counter() - begin)
            namespace.clear()
            namespace.update(program.names())
            begin = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = run_cell(
                    program.cell, namespace, filename=program.filename, options=CellOptions(compare=False)
                ).report
            whole_ms = (time.perf_counter() - begin) * 1e3
            # What has no operation on arrays ran in Python, while it was traced.
            ours.append((whole_ms, whole_ms if report.status == "empty" else report.summary.time_ms))
        first, python_ms = ours[0][0], float(np.median(pythons)) * 1e3
        again = float(np.median([ms for _, ms in ours[1:]]))
        ratios.append(python_ms / again)
        print(
            f"{name:30} {python_ms:10.3f} {first:10.1f} {again:10.3f} {ratios[-1]:6.1f}x   {report.summary_line()}",
            flush=True,
        )
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}x of {len(ratios)} cells; "
          f"slower than Python: {sum(r < 0.95 for r in ratios)}")  # fmt: skip


main(sys.argv[1:])
