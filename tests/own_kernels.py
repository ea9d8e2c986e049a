"""Fixtures of the tests that count kernels: these are compiled here, not read from a cache that an earlier run left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with wb.config(cache_dir=str(tmp_path_factory.getbasetemp() / "kernel-cache")):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def n_compiled() -> Any:
    """n_compiled(): how many kernels numba has compiled in this process."""
    from workbench.runtime.native import kernels

    return lambda: kernels.N_COMPILED
