"""Tasks in processes of their own: one that crashes, hangs, or breaks its CUDA context does not stop the others.

A worker takes the numbers of its tasks as arguments and writes JSON lines to a file: {"begin": 3}, {"end": 3, ...}. It
may end after a task that left the device unusable; the next worker goes on with the next task.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

POLL_S = 0.05


def supervise(
    tasks: Sequence[int],
    command: Callable[[list[int], Path], list[str]],
    folder: Path,
    *,
    deadline: float,
    task_s: float,
    start_s: float = 120.0,
    on_end: Callable[[int, dict[str, Any]], None] = lambda number, record: None,
) -> dict[int, dict[str, Any]]:
    """What each task left, by its number: its own record, or {"failed": why} where its process died or took too long.

    command: starts a worker for these tasks that writes to this file; deadline: by `time.monotonic`; task_s: for one
    task; start_s: from a worker's start to its first task.
    """
    found: dict[int, dict[str, Any]] = {}
    left, attempt, idle_starts = list(tasks), 0, 0

    def keep(number: int, record: dict[str, Any]) -> None:
        found[number] = record
        left.remove(number)
        on_end(number, record)

    while left and time.monotonic() < deadline:
        attempt += 1
        path = folder / f"worker{attempt}.jsonl"
        path.touch()
        worker = subprocess.Popen(command(left, path))
        running: int | None = None
        begun_any, since, n_read = False, time.monotonic(), 0
        failure = ""
        while True:
            ended = worker.poll() is not None  # asked before reading, so that nothing written is missed
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            for line in (text for text in lines[n_read:] if text.endswith("\n")):
                n_read += 1
                record = json.loads(line)
                since = time.monotonic()
                if "begin" in record:
                    running, begun_any = record["begin"], True
                else:
                    keep(record.pop("end"), record)
                    running = None
            now = time.monotonic()
            if ended:
                failure = f"the process ended with code {worker.returncode}" if running is not None else ""
                break
            if now > deadline or now - since > (task_s if begun_any else start_s):
                failure = "the time was up" if now > deadline else f"took longer than {now - since:.0f} s"
                worker.kill()
                worker.wait()
                break
            time.sleep(POLL_S)
        if running is not None:
            keep(running, {"failed": failure})
        elif not begun_any:
            idle_starts += 1
            if idle_starts == 2 and left:  # it does not even start: no task will run
                reason = failure or f"the worker does not start (code {worker.returncode})"
                for number in list(left):
                    keep(number, {"failed": reason})
    for number in list(left):
        keep(number, {"skipped": "no time was left"})
    return found
