"""What the runtime tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.own_kernels import n_compiled, own_cache, rng
from workbench.config import device_choices

__all__ = ["n_compiled", "no_device_was_chosen", "own_cache", "rng"]


@pytest.fixture
def no_device_was_chosen() -> Iterator[None]:
    """Once one was, in another test of the process, each call asks for it first."""
    chosen = {*device_choices}
    device_choices.clear()
    yield
    device_choices.update(chosen)
