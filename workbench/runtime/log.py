"""Logging: one line a compilation and one a kernel, on the logger `workbench`.

`WORKBENCH_LOG=info` (or debug, warning ...) prints them without any set-up in the program.
"""

from __future__ import annotations

import logging
import os

logger = logging.getLogger("workbench")


def configure_from_environment() -> None:
    """Print what `WORKBENCH_LOG` asks for to standard error."""
    level = os.environ.get("WORKBENCH_LOG", "").upper()
    if not level or any(isinstance(h, _Handler) for h in logger.handlers):
        return
    handler = _Handler()
    handler.setFormatter(logging.Formatter("workbench: %(message)s"))
    logger.addHandler(handler)
    # `WORKBENCH_LOG=1` is a way to say yes.
    logger.setLevel(level if level in logging.getLevelNamesMapping() else "INFO")


class _Handler(logging.StreamHandler):
    pass


configure_from_environment()
