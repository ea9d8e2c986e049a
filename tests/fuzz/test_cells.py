"""Random programs as cells leave in the namespace what Python leaves there."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from .cells import check, random_cell, shell


@pytest.fixture(scope="module")
def ip(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        yield shell()
        InteractiveShell.clear_instance()


@pytest.mark.parametrize("part", range(4))
def test_random_cells(part, ip):
    for seed in range(5 * part, 5 * (part + 1)):
        program = random_cell(seed)
        try:
            check(program, ip)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n" + "\n".join(program.lines))
