"""The names of the package: all there, documented, and what they say they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench as wb
from workbench.config import Config


@pytest.mark.parametrize("name", wb.__all__)
def test_every_public_name_is_there(name):
    assert getattr(wb, name) is not None


def test_config_is_the_settings_whatever_was_imported_before():
    assert isinstance(wb.config, Config)
    code = "import workbench.runtime.dispatch, workbench as wb; wb.config.strict = True; print(wb.config.strict)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_importing_the_package_loads_no_compiler():
    code = "import sys, workbench; print(sorted({'numpy', 'numba', 'IPython', 'plotly'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
