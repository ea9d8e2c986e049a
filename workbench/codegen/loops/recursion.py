"""How a function of a translated loop calls itself: by a direct call, of the types that are known already.

numba's own way goes by a pointer that it sets when the function is ready, and that is not there any more when machine
code is loaded from the disk.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import LoweringError
from numba.extending import intrinsic


def _itself(typing_context: Any, example: Any, arguments: Any) -> Any:
    """`itself(example, (a, b))`: the function that this stands in, of `a` and `b`. example: what its result is like."""
    result = types.unliteral(example)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function, kinds = builder.function, [types.unliteral(kind) for kind in signature.args[1]]
        expected = context.call_conv.get_function_type(result, kinds)
        if function.function_type != expected:
            raise LoweringError("a call of itself with other types")
        values = cgutils.unpack_tuple(builder, args[1], len(kinds))
        status, found = context.call_conv.call_function(builder, function, result, kinds, values)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return result(example, arguments), generate


itself: Any = intrinsic(_itself)

FUNCTIONS = {"itself": itself}
