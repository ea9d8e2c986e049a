"""What each code means and what to do about it: the texts of `%workbench explain CODE`.

One entry a code: a line that says what it is, why it is so, and an example with its cure. The codes of tracing are
explained where they are raised, in `frontend.diagnostics`; here are those of the other errors, and those of refused
fusions (`fusion.reasons`). A test asks every code that the package names for its entry.
"""

from __future__ import annotations

from ..frontend.diagnostics import EXPLANATIONS as TRACING

EXPLANATIONS: dict[str, str] = {
    **TRACING,
    "WB000": "An error of the workbench that has no code of its own.",
    "WB500": """NumPy is faster than the compiled program for arguments of these types and sizes: a loop of many small
steps, say. Some first calls were timed both ways; calls of this kind now run in NumPy, others still compiled. Larger
arrays, or the loop's body written over whole arrays, change that. `config.numpy_trials = False` keeps such programs
compiled.""",
    "WB501": """NumPy ran these statements, because `config.tiers` is set and their kernels are still being compiled.
Run the cell again to use them, or wait for them with `%%jit --wait`.""",
    "WB502": """A function is called with other ints, strings or objects each time. Each of a few gets a version of its
own; ints that differ then become inputs of the program, where it does not need to know them (sizes, say). Objects and
functions that are new at each call share a version with others of their kind, which reads their arrays and floats from
the one that is given; it is for their ints, strings and shapes. What differs besides runs in NumPy, where that takes
less time than making another version. Pass what changes as np.int64(...) or in an array. Arrays of a new length at each
call are traced anew, though no kernel is compiled; after many lengths NumPy runs those that do not come back, if it is
done sooner.""",
    "WB600": "There is no device of that name: there are numpy, cpu, cuda, cuda:1 ... and cuda-sim.",
    "WB601": """CUDA needs two more packages: numba-cuda, which compiles, and CuPy, which has the arrays.
  pip install "jit-workbench[cuda]"
Check with:  python -m pip list | grep -i -E 'cupy|numba'""",
    "WB602": """No NVIDIA driver is installed, or its library (libcuda) is not where the system looks.
In a container, start it with the GPU (`docker run --gpus all`); on a cluster, ask for a node that has one.
Check with:  nvidia-smi""",
    "WB603": """The NVIDIA driver is older than the CUDA version that the packages were built for.
Update the driver; no CUDA toolkit is needed. Check with:  nvidia-smi --query-gpu=driver_version --format=csv""",
    "WB604": """The driver works but sees no GPU of that number. CUDA_VISIBLE_DEVICES may hide it (an empty value hides
all). Check with:  nvidia-smi -L""",
    "WB605": """The NVIDIA driver is installed and does not start.
Often it was updated, and the machine was not restarted since. Check with:  nvidia-smi""",
    "WB606": """The device ran out of memory. Everything is as it was before the call; other arrays are untouched.
Free arrays that you hold there (`del`), use a smaller batch, float32 instead of float64, or `device="cpu"`.""",
    "WB607": """An argument that the program writes into lies on another GPU than the one the program runs on.
  with wb.device("cuda:1"): f(x)   # where x is
or pass a copy on the program's device.""",
    "WB608": """A `with wb.device(...)` stands inside of the code that is compiled. What is in its block is compiled for
that device, what stands around it for the other; arrays are copied at each crossing, which the report counts.
Give the whole function or cell one device where nothing has to run elsewhere: %%jit --device cuda:0""",
    "WB900": "A program broke a rule of the intermediate representation: a bug of the workbench. Please report it.",
    "WB901": """A kernel that the workbench generated did not compile or run. NumPy computed the result instead.
This is a bug of the workbench, not of your code: please report it with the cell's source.""",
    "WB902": "The text of a program cannot be read: it is not in the form that `wb.xpr` prints.",
    "WB903": """The workbench itself failed. NumPy computed the result instead.
This is a bug of the workbench, not of your code: please report it with the cell's source.""",
    "WB123": """The cell writes into an array that shares memory with another of its inputs: NumPy keeps the order of
reads and writes.
  x[1:] += y  # y is a view of x           ->  x[1:] += y.copy()""",
    "WB300": "Two steps became one loop: the value between them stays in a register and never reaches memory.",
    "WB301": """A value that several readers need is computed again at each of them.
It is so cheap to compute that this takes less time than writing it to memory and reading it back.""",
    "WB302": "Two results are computed by one kernel because both read the same array: it is read once.",
    "WB310": """Two steps loop over different shapes, so that no single loop computes both.
Nothing is wrong with that. Where the shapes could be equal (a slice taken before instead of after a formula, an axis
added only to be removed), writing them so gives one kernel.""",
    "WB311": """The reader needs neighbours or a permutation of the value (a shifted slice, a transpose, a reversal).
A loop has one position at a time. Where the value is cheap it is recomputed for each neighbour; here it is in memory
anyway, because a name keeps it or a library routine needs it. Prefix the name with `_` if you do not need it later.""",
    "WB312": "The value is reduced row by row, and the reader needs another row than the one that is being computed.",
    "WB313": """The reader needs the finished total before it can start: `x - x.mean()` must read x twice.
One pass can become enough where the formula allows: var = (x*x).mean() - x.mean()**2, at the price of cancellation.""",
    "WB314": "Recomputing the value at each place that reads it would cost more than the memory traffic that it saves.",
    "WB315": "Two reductions sum over different axes, and so run in different loops.",
    "WB316": "Fusing the two would make a cycle: another step needs the one and feeds the other.",
    "WB317": "The kernel would grow past the size that compiles fast; a second kernel takes the rest.",
    "WB318": "The reader needs a part of the rows only: computing all of them in its loop would waste work.",
    "WB319": "The reader needs the columns' finished totals. A kernel of its own reads as much, in long strips.",
    "WB320": "A library routine (matrix product, sort, FFT ...) runs between the two, on whole arrays.",
    "WB321": "`jit_scope` keeps the two apart, as you asked.",
    "WB322": "One of the two runs in NumPy, uncompiled; its arrays pass through memory.",
    "WB323": """A branch or a loop is a step of its own: it reads its operands from memory and leaves its results there.
What stands inside its body is fused.""",
    "WB324": """An assignment to a part of an array writes into the array's own memory, between what is computed before
and what is computed after it. It costs the bytes of that part.""",
    "WB325": """`np.stack` of levels that the kernel computes: it writes each to its place in the stack. What reads the
stack as a whole comes after it, in a kernel of its own.""",
    "WB326": """A check decides whether the call goes on: whether all indices of `x[i]` are in range, or a condition of
Python's numbers. Kernels test the elements; where a test fails, NumPy runs the call again and raises its own error.""",
    "WB327": """`cumsum` and `cumprod` go from element to element: each waits for the one before. A few cheap operations
are computed meanwhile, and cost nothing; more take less time in a kernel of their own, several elements at once.""",
    "WB330": "`jit_scope(compile_ops=False)` asked for this operation to run uncompiled.",
    "WB331": "No kernel can be generated for this operation or dtype; NumPy runs it between the kernels.",
    "WB332": "The device is `numpy`, which runs every operation by itself: the reference for values and times.",
}


def explain(code: str) -> str:
    """The explanation of a code, or how to find one."""
    wanted = code.strip().upper()
    if wanted.isdigit():
        wanted = "WB" + wanted
    if wanted in EXPLANATIONS:
        return f"{wanted}  {EXPLANATIONS[wanted]}"
    listed = "\n".join(f"  {key}  {text.splitlines()[0]}" for key, text in sorted(EXPLANATIONS.items()))
    return (f"{wanted}: no such code. " if wanted else "") + "The codes are:\n" + listed
