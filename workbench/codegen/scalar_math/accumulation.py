"""What sums and flat loops need beside arithmetic: the error of an addition, a compensated sum's end, flat views."""

from .registry import COMPLEXES, FLOATS, library

library(
    '''
def sum_error_T(total, x):
    """What rounding loses in total + x, exactly (Knuth's TwoSum)."""
    after = total + x
    moved = after - total
    return (total - (after - moved)) + (x - moved)

def sum_result_T(total, low):
    """total + low, unless an infinity or a NaN in the total has spoilt the correction."""
    corrected = total + low
    return corrected if low - low == T_type(0.0) else total
''',
    FLOATS,
)
library(
    '''
def sum_error_T(total, x):
    """What rounding loses in total + x, in both parts."""
    return complex(sum_error_R(total.real, x.real), sum_error_R(total.imag, x.imag))

def sum_result_T(total, low):
    """total + low, part by part."""
    return complex(sum_result_R(total.real, low.real), sum_result_R(total.imag, low.imag))
''',
    COMPLEXES,
)
library(
    '''
@intrinsic
def flat(typingctx, array):
    """A C-contiguous array seen as one axis."""
    result = types.Array(array.dtype, 1, "C")

    def codegen(context, builder, signature, args):
        source = arrayobj.make_array(signature.args[0])(context, builder, args[0])
        view = arrayobj.make_array(signature.return_type)(context, builder)
        arrayobj.populate_array(
            view, data=source.data, shape=[source.nitems], strides=[source.itemsize], itemsize=source.itemsize,
            meminfo=source.meminfo, parent=source.parent,
        )
        if context.enable_nrt:
            context.nrt.incref(builder, signature.return_type, view._getvalue())
        return view._getvalue()

    return result(array), codegen

@intrinsic
def assume_index(typingctx, index):
    """Promise that an index is not negative, and far from overflow: numba's test for negative indices then folds away,
    and the loop vectorises."""

    def codegen(context, builder, signature, args):
        builder.assume(builder.icmp_unsigned("<", args[0], ir.Constant(args[0].type, 1 << 62)))
        return context.get_dummy_value()

    return types.none(index), codegen

def uintp(index):
    """An index that is known not to be negative, as an unsigned integer: numba then does not test its sign."""
    return np.uintp(index)
'''
)
