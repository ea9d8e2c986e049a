"""All that the text of a translated loop may call, the functions of `scalar_math` aside."""

from __future__ import annotations

from typing import Any

from . import (
    draws,
    elements,
    folds,
    lists,
    numbers,
    numpy_calls,
    products,
    random_words,
    recursion,
    routines,
    single_numbers,
    tables,
)

MODULES = (
    numbers,
    elements,
    folds,
    products,
    routines,
    lists,
    tables,
    draws,
    random_words,
    recursion,
    single_numbers,
    numpy_calls,
)
FUNCTIONS: dict[str, Any] = {
    **numbers.FUNCTIONS, **elements.FUNCTIONS, **folds.FUNCTIONS, **products.FUNCTIONS, **routines.FUNCTIONS,
    **lists.FUNCTIONS, **tables.FUNCTIONS, **draws.FUNCTIONS, **draws.WORDS, **recursion.FUNCTIONS,
    **single_numbers.FUNCTIONS, **numpy_calls.FUNCTIONS,
}  # fmt: skip
