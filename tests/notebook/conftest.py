"""A fresh IPython shell with the extension loaded, without a terminal and without a history file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from traitlets.config import Config

from workbench.runtime.native.kernels import forget_kernels


@dataclass
class Shell:
    """`run` runs a cell as the front end does and keeps what it displayed."""

    ip: InteractiveShell
    io: CapturedIO | None = None
    error: BaseException | None = None
    result: Any = None

    def __call__(self, cell: str) -> Shell:
        with capture_output() as self.io:
            done = self.ip.run_cell(cell, store_history=True)
        self.error = done.error_before_exec or done.error_in_exec
        self.result = done.result
        return self

    def __getitem__(self, name: str) -> Any:
        return self.ip.user_ns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.ip.user_ns

    @property
    def text(self) -> str:
        assert self.io is not None
        return self.io.stdout + self.io.stderr

    @property
    def report(self) -> Any:
        """The report of the last compiled cell."""
        return self.ip.magics_manager.registry["WorkbenchMagics"].reports[-1]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Shell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    forget_kernels()
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance(config=config)
    shell = Shell(ip)
    shell("import numpy as np\n%load_ext workbench")
    assert shell.error is None
    yield shell
    ip.history_manager.end_session()
    ip.restore_sys_module_state()
    InteractiveShell.clear_instance()
