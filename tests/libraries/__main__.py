"""`python -m tests.libraries [--elements N] PACKAGE ...`: functions of installed packages, as their examples call them.

Each is compiled as it is, and compared with what it gives in NumPy: results, types, errors, changed arguments, prints.
With `--elements`, arrays are repeated along their first axis until there are so many. Packages need not be dependencies:
`pip install --target DIR --no-deps seawater` and `PYTHONPATH=DIR`.
"""

from __future__ import annotations

import argparse

import numpy as np

from .calls import calls
from .replay import replay


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.libraries", description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--elements", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="to be spent on the examples of a package")
    parser.add_argument("--all", action="store_true", help="print every call, not only what differs or is slow")
    options = parser.parse_args()
    for package in options.packages:
        counts = {"alike": 0, "different": 0, "random": 0}
        ratios: list[float] = []
        for call in calls(package, seconds=options.seconds):
            result = replay(call, int(options.elements))
            if result is None:
                continue
            if result.difference is None:
                counts["random"] += 1
                continue
            counts["different" if result.difference else "alike"] += 1
            if result.difference:
                print(f"{call.name}  {result.difference[:300]}", flush=True)
                continue
            ratios.append(result.numpy_s / result.ours_s)
            is_slow = result.ours_s > 1.3 * result.numpy_s + 3e-6
            if options.all or is_slow:
                times = f"{result.ours_s * 1e6:.1f} us, {result.numpy_s * 1e6:.1f} in NumPy"
                print(f"{call.name}  {times}  {'; '.join(result.reasons)[:200]}", flush=True)
        listed = ", ".join(f"{n} {what}" for what, n in counts.items())
        mean = f"{np.exp(np.mean(np.log(ratios))):.2f} of NumPy's speed" if ratios else "nothing to time"
        print(f"{package}: {listed}; {mean}, {sum(r < 0.9 for r in ratios)} slower", flush=True)


main()
