"""Every scalar function that a lowering calls is in the library of the code generator."""

from __future__ import annotations

import pytest

from workbench.codegen.scalar_math import has_function
from workbench.ir.avals import DTYPES_BY_SHORT_NAME

from .scalar_calls import scalar_calls


@pytest.mark.parametrize(("name", "dtypes"), scalar_calls().items())
def test_function_exists_for_every_dtype(name: str, dtypes: list[str]) -> None:
    assert [d for d in dtypes if not has_function(name, DTYPES_BY_SHORT_NAME[d])] == []


def test_a_text_names_each_function_once_per_dtype() -> None:
    assert all(len(set(dtypes)) == len(dtypes) for dtypes in scalar_calls().values())
