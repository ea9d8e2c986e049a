"""Run a notebook from top to bottom without a browser, and print what its compiled cells gained.

    python notebooks/run.py notebooks/01-quickstart.ipynb [--to FOLDER]

The executed copy, with its reports, goes to `demo/` (or FOLDER); the notebook itself stays as it is. Ends with a
non-zero status where a cell fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

REPORT = "application/vnd.workbench.report.v1+json"


def reports(notebook: nbformat.NotebookNode) -> list[dict]:
    """The compile reports among a notebook's outputs, in order."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.data[REPORT] for output in outputs if REPORT in output.get("data", {})]


def table(found: list[dict]) -> str:
    """One line a report: speed-up, kernels, times."""
    rows = [("", "first line", "status", "speed-up", "kernels", "ours", "NumPy", "compiled in")]
    for report in found:
        s = report["summary"]
        lines = report["cell"]["source"].splitlines()
        code = [line for line in lines if line.strip() and not line.startswith(("%%", "#", "@"))]
        rows.append((
            report["cell"]["label"],
            _shortened(code[0] if code else "", 44),
            report["status"],
            f"{s['speedup']:.1f}x" if s["speedup"] else "-",
            str(s["n_kernels"]) + (f" + {s['n_library_calls']} library" if s["n_library_calls"] else ""),
            _ms(s["time_ms"]),
            _ms(s["numpy_ms"]),
            _ms(s["compile_ms"]),
        ))  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e3:.2f} s" if value >= 1e3 else f"{value:.3g} ms"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--to", type=Path, default=Path("demo"), help="folder of the executed copy (default: demo)")
    args = parser.parse_args(arguments)

    notebook = nbformat.read(args.notebook, as_version=4)
    print(f"Running {args.notebook} ...", flush=True)
    begin = time.perf_counter()
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(args.notebook.parent)}}
    )
    args.to.mkdir(parents=True, exist_ok=True)
    try:
        with open(args.to / "kernel.log", "w") as log:
            client.execute(stderr=log)  # the kernel's own messages; what cells print is in the notebook
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    copy = args.to / args.notebook.name
    nbformat.write(notebook, copy)
    print(f"done in {time.perf_counter() - begin:.0f} s\n\n{table(reports(notebook))}\n")
    print(f"The executed notebook, with its reports: {copy}")
    print("Open it yourself in JupyterLab:          make lab")
    return 0


if __name__ == "__main__":
    sys.exit(main())
