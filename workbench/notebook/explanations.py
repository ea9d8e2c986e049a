"""What each code means and what to do about it: the texts of `%workbench explain CODE`.

One entry a code: a line that says what it is, why it is so, and an example with its cure. The codes of errors are in
`errors.py`, those of refused fusions in `fusion/reasons.py`; a test asks every one of them for its entry.
"""

from __future__ import annotations

EXPLANATIONS: dict[str, str] = {
    "WB000": "An error of the workbench that has no code of its own.",
    "WB100": """The code asked for the value of an array while it was being traced.
Tracing runs your Python once with stand-ins that know a shape and a dtype, but no numbers yet. What needs the numbers
(a branch, a loop count, an index, a conversion to a Python number) cannot be decided then.
  if x.max() > 1: x = x / x.max()          ->  x = np.where(x.max() > 1, x / x.max(), x)
  n = int(mask.sum())                      ->  compute n in the cell before: it is then a constant of this cell""",
    "WB101": """A branch depends on a value that is only known when the kernel runs.
`if`, `while`, `and`, `or` and `not` need a Python bool now. Choose between arrays instead of between statements:
  if err > tol: x = x_new                  ->  x = np.where(err > tol, x_new, x)
  ok = (a > 0) and (b > 0)                 ->  ok = (a > 0) & (b > 0)""",
    "WB102": """A Python integer was asked from a traced value: for `range`, a shape or a list index.
Shapes are part of the compiled program. `x.shape` itself is known while tracing, and arithmetic on it stays known:
  y = x.reshape(np.array(x.shape).prod())  ->  y = x.reshape(np.prod(x.shape))
  for i in range(n): ...  # n is traced    ->  n = 10 in the cell before; or a formula over np.arange(10)""",
    "WB103": """Code outside NumPy asked for the numbers of a traced array (`float(x)`, a plot, a print).
  print(x.mean())                          ->  print it in the next cell, where x is an ordinary array
  total = float(x.sum())                   ->  total = x.sum()""",
    "WB110": """A shape depends on the data: a boolean mask as an index, `np.nonzero`, `np.unique`.
How many elements there are is only known when the kernel runs; its arrays must have their sizes before.
  s = x[x > 0].sum()                       ->  s = np.where(x > 0, x, 0).sum()   (or x.sum(where=x > 0))
  x[x < 0] = 0                             ->  x = np.where(x < 0, 0, x)""",
    "WB120": """An operation, a keyword or a dtype has no compiled form yet; the cell runs in NumPy.
The report shows the line. Moving that line to a cell of its own lets the rest compile.""",
    "WB130": """A traced array was used after the trace that made it had ended.
It was stored outside of the function or cell (in a list, an attribute, a global) and then used. Return it instead:
  def step(x): log.append(x); return x     ->  def step(x): return x, x""",
    "WB140": """A static argument must be hashable: compiled programs are looked up by it.
  f(x, [3, 4])                             ->  f(x, (3, 4))""",
    "WB150": """`jit_scope` only means something inside a traced function or a `%%jit` cell.
  with wb.jit_scope(): y = f(x)            ->  @wb.jit
                                               def g(x):
                                                   with wb.jit_scope():
                                                       return f(x)""",
    "WB160": """A line has an effect that must happen each time the cell runs.
Tracing runs Python once; a cached cell does not run Python at all. So a cell that prints, appends to a list from
outside, draws random numbers without a seed, reads a file, or calls code whose effects cannot be seen, runs in NumPy.
  print(loss)                              ->  in the next cell
  noise = rng.normal(size=n)               ->  in the cell before
  history.append(loss)                     ->  in the next cell""",
    "WB600": "A device was asked for that is not there. `wb.devices()` lists what is; `cpu` and `numpy` always are.",
    "WB900": "A program broke a rule of the intermediate representation: a bug of the workbench. Please report it.",
    "WB901": """A kernel that the workbench generated did not compile or run. NumPy computed the result instead.
This is a bug of the workbench, not of your code: please report it with the cell's source.""",
    "WB902": "The text of a program cannot be read: it is not in the form that `wb.xpr` prints.",
    "WB903": """The workbench itself failed. NumPy computed the result instead.
This is a bug of the workbench, not of your code: please report it with the cell's source.""",
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
    "WB320": "A library routine (matrix product, sort, FFT ...) runs between the two, on whole arrays.",
    "WB321": "`jit_scope` keeps the two apart, as you asked.",
    "WB322": "One of the two runs in NumPy, uncompiled; its arrays pass through memory.",
    "WB330": "`jit_scope(compile_ops=False)` asked for this operation to run uncompiled.",
    "WB331": "No kernel can be generated for this operation or dtype; NumPy runs it between the kernels.",
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
