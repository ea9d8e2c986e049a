"""Every error of the workbench: one tree, each class also a built-in, so that existing `except` clauses still work."""

from __future__ import annotations

from numpy.linalg import LinAlgError


class WorkbenchError(Exception):
    """The root. `code` is stable (`WB101`) and `%workbench explain CODE` tells more about it.

    span: the user's sub-expression; value: the user's name for the value in question; provenance: where that value
    came from, in the user's names; fixes: replacements that can be pasted.
    """

    code = "WB000"

    def __init__(self, message: str, *, code: str = "", span=None, value: str = "", provenance: str = "", fixes=()):
        super().__init__(message)
        self.code = code or type(self).code
        self.span = span
        self.value = value
        self.provenance = provenance
        self.fixes = tuple(fixes)

    @property
    def line(self) -> int | None:
        return self.span.line if self.span else None


class TracingError(WorkbenchError):
    """The code cannot be traced. Outside strict mode it runs in NumPy and the report gives this as the reason.

    of_numbers: the value that had to be known is computed from Python floats alone that the call was given.
    says: "warning" or "text" where all that cannot be done is to warn, to log, or to print or make a text.
    of_listing: a comprehension may be the reason, which can be a loop.
    """

    code = "WB100"
    of_numbers = False
    says = ""
    of_listing = False


class ConcretizationTypeError(TracingError, TypeError):
    """Python asked for the value of an array that is only known when the kernel runs."""

    code = "WB100"


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not` or `bool()` on a traced value."""

    code = "WB101"


class TracerIntegerConversionError(ConcretizationTypeError):
    """`int()`, `range()`, a shape or an index from a traced value."""

    code = "WB102"


class TracerArrayConversionError(ConcretizationTypeError):
    """Code outside the workbench asked for the numbers of a traced array (`np.asarray(x)`, `float(x)`)."""

    code = "WB103"


class TracerHashError(ConcretizationTypeError):
    """A traced value as a key of a dictionary, or in a set."""

    of_listing = True


class NonConcreteBooleanIndexError(TracingError, IndexError):
    """A boolean mask whose result has a shape that depends on data."""

    code = "WB110"


class UnknownLengthError(TracingError):
    """The items of a list, or the entries of a dictionary or set, of which only the run tells how many there are."""

    code = "WB110"
    of_listing = True


class UnsupportedOperationError(TracingError, NotImplementedError):
    """A NumPy operation, keyword or dtype that cannot be compiled (yet)."""

    code = "WB120"


class CheckFailedError(TracingError):
    """A compiled call came to a point where the code raises: NumPy runs it again, and raises what it raises."""

    code = "WB351"


class RoutineRaisedError(CheckFailedError):
    """A routine of NumPy's raised with these numbers, which the user's code may catch: NumPy runs the whole call again.
    Such routines run before anything is written."""

    @staticmethod
    def of(error: Exception) -> Exception:
        """`error` of a compiled call; one of linear algebra as what it is."""
        if not isinstance(error, LinAlgError):
            return error
        return RoutineRaisedError(
            f"WB351  A routine raises LinAlgError ({error}), with these numbers: NumPy runs it all again."
        )


class OutOfBoundsError(RoutineRaisedError, IndexError):
    """An index in an array of indices lies outside of the array."""


class UnexpectedTracerError(TracingError, RuntimeError):
    """A traced array was used after the trace that made it had ended."""

    code = "WB130"


class SideEffectError(TracingError):
    """A cell does something that must happen each time it runs: it prints, changes an object, draws random numbers."""

    code = "WB160"


class LoopAbortedError(TracingError):
    """A loop or a NumPy function came upon something that only NumPy, run on the whole call again, can go on with."""

    code = "WB350"


class ControlFlowTypeError(WorkbenchError, TypeError):
    """The programs of a `wb.lax` branch or loop disagree about the types of their results."""

    code = "WB180"


class NonHashableStaticArgumentError(WorkbenchError, ValueError):
    """A static argument must be hashable."""

    code = "WB140"


class ScopeError(WorkbenchError, RuntimeError):
    """`jit_scope` outside a trace."""

    code = "WB150"


class CheckError(WorkbenchError, AssertionError):
    """A program broke a rule of the IR: a bug of ours."""

    code = "WB900"


class BackendError(WorkbenchError, RuntimeError):
    """A kernel that we generated did not compile or run: a bug of ours, not of the user's code."""

    code = "WB901"


class DeviceError(WorkbenchError, RuntimeError):
    """A device was asked for that is not there."""

    code = "WB600"


class DeviceMemoryError(WorkbenchError, MemoryError):
    """The arrays of a program do not fit into the device's memory."""

    code = "WB606"


class ParseError(WorkbenchError, ValueError):
    """The text of a program cannot be read."""

    code = "WB902"


class InternalError(WorkbenchError, RuntimeError):
    """The workbench itself failed, and NumPy computed the result: a bug of ours."""

    code = "WB903"


def bug_of_ours(name: str, failure: BaseException) -> TracingError:
    """Why the function of this name runs in NumPy, when the workbench raised what NumPy does not."""
    said = f"{type(failure).__name__}: {str(failure).strip()[:500]}"
    reason = TracingError(
        f"WB903  {name} runs in NumPy, because the workbench failed: a bug of ours, not of your code.\n   {said}",
        code="WB903",
    )
    reason.__cause__ = failure
    return reason
