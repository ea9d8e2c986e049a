"""Arrays of few elements, of which loops have expressions instead of loops of their own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from .writing import FEW


def is_few(shape: tuple[int | None, ...]) -> bool:
    return bool(shape) and None not in shape and 0 < math.prod(shape) <= FEW  # type: ignore[arg-type]  # no None


def places(shape: tuple[int | None, ...]) -> Iterator[list[str]]:
    """The indices of all elements, of which there are few."""
    return ([*map(str, place)] for place in itertools.product(*(range(n or 0) for n in shape)))


def added(terms: Sequence[str]) -> str:
    """The terms, added in the order in which NumPy adds as many in a row: eights are added to one another first."""
    n_eights = len(terms) // 8 * 8
    if not n_eights:
        return " + ".join(terms)
    a, b, c, d, e, f, g, h = (f"({' + '.join(terms[k:n_eights:8])})" for k in range(8))
    eight = f"((({a} + {b}) + ({c} + {d})) + (({e} + {f}) + ({g} + {h})))"
    return " + ".join([eight, *terms[n_eights:]])


def added_products(pairs: Sequence[tuple[str, str]], *, in_rows: bool = False) -> str:
    """The sum of products of floats, of which the machine fuses the steps that OpenBLAS fuses on x86-64: as a rule it
    has the bits that NumPy gives there. in_rows: as a matrix of several rows is multiplied with a vector."""
    products = [f"({a}) * ({b})" for a, b in pairs]
    if in_rows and len(pairs) == 4:
        return f"(({products[0]} + {products[2]}) + ({products[1]} + {products[3]}))"
    if in_rows and len(pairs) in (2, 3):
        (pair, _, *rest), total = pairs, products[1]
        rest.insert(0, pair)
    else:
        rest, total = list(pairs[1:]), products[0]
    for a, b in rest:
        total = f"fused({a}, {b}, {total})"
    return total
