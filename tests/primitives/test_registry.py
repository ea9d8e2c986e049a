"""A walk over all primitives: each has its rules and a row in the table of samples."""

from __future__ import annotations

import pytest

import workbench.primitives as primitives
from workbench.ir.primitive import REGISTRY, Primitive
from workbench.primitives.lowering import Control, IndexMap, Inline, LibraryCall, Pointwise, Reduction

from .samples import CASES, POINTWISE

OURS = {name: p for name, p in REGISTRY.items() if "primitives" in p.file}


@pytest.mark.parametrize("primitive", OURS.values(), ids=str)
def test_primitive_has_its_rules(primitive: Primitive) -> None:
    assert primitive.has_rule("abstract_eval")
    assert primitive.has_rule("impl")
    assert isinstance(primitive.lowering, Pointwise | IndexMap | Reduction | LibraryCall | Inline | Control)


@pytest.mark.parametrize("primitive", OURS.values(), ids=str)
def test_primitive_has_a_row_of_samples(primitive: Primitive) -> None:
    table = POINTWISE if isinstance(primitive.lowering, Pointwise) else CASES
    assert primitive.name in table


@pytest.mark.parametrize("primitive", OURS.values(), ids=str)
def test_primitive_is_exported(primitive: Primitive) -> None:
    assert getattr(primitives, f"{primitive.name}_p") is primitive
    assert f"{primitive.name}_p" in dir(primitives)


def test_only_the_known_ones_are_nested_programs() -> None:
    assert {p.name for p in OURS.values() if isinstance(p.lowering, Inline)} == {"pjit"}
    assert {p.name for p in OURS.values() if isinstance(p.lowering, Control)} == {"cond", "while", "scan"}
