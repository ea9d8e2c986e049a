"""The statements of random programs that are more than one expression: views, masks, loops, branches, helper functions.

`{v}` is an array that is written into, `{r}` a basic index of it, `{m}` a mask of its shape, `{e}` an expression that
fits it, `{w}` another array of its shape, `{s}` a number, `{c}` a condition that is one bool, `{t}` a new name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """steps: a rounding of an operand may change all; rounds: the result may differ from NumPy's by rounding (of real
    numbers, too); makes: whether it makes `{t}`; min_ndim: of `{v}`."""

    text: str
    steps: bool = False
    rounds: bool = False
    min_ndim: int = 0

    @property
    def makes(self) -> bool:
        return "{t}" in self.text


def _statements(*texts: str, **options: bool | int) -> tuple[Statement, ...]:
    return tuple(Statement(text, **options) for text in texts)  # type: ignore[arg-type]  # flags and one int


IN_PLACE = (
    *_statements(
        "{v}[{r}] = {e}", "{v}[{r}] += {e}", "{v} += {e}", "{v} *= {s}", "{v} -= {e}", "{v}[{m}] = {s}",
        "np.add({v}, {e}, out={v})", "np.copyto({v}, {e}, where={m})", "{v}.fill({s})", "{v}[{m}] += {s}",
        "np.putmask({v}, {m}, {s})", "np.multiply({v}, {e}, out={v}, where={m})", "{t} = {v}\n{t} += {s}",
        "{t} = {v}[...]\n{t}[...] = {t} + {e}", "{t} = {v}.T\n{t}[{m}.T] = {s}",
    ),
    *_statements(
        "{v}.T[{r}] = {s}", "{v}.reshape(-1)[1:3] = {s}", "np.add.at({v}, [0, 0, -1], {s})", "{v}.flat[1] = {s}",
        "{v}[::2], {v}[1::2] = {s}, {e}", "{v}[1:] = {v}[:-1]", "{v}[1:] += {v}[:-1]", "{v}[::-1] = {v}",
        "{v}[[0, -1]] += {s}", "{v}[0], {v}[-1] = {v}[-1], {v}[0]", "{v}[0], {v}[-1] = {v}[-1].copy(), {v}[0].copy()",
        "{t} = {v}[1:]\n{t} -= {s}", "{t} = {v}[::2]\n{v}[:1] = {s}\n{t} = {t} + 1", "np.put({v}, [0, -1], {s})",
        "{t} = {v}.ravel()\n{t}[:2] = {s}", "np.fill_diagonal({v}, {s})", "{v}[-1:].fill({s})",
        min_ndim=1,
    ),
    *_statements("{v}.sort(axis=0)", "{v} //= {s}", "{v} %= 3", "{v}[::-1].sort(axis=0)", steps=True, min_ndim=1),
)  # fmt: skip

MASKED = _statements(
    "{v}[{m}] *= {s}", "{v}[{m}] = {v}[{m}] * {s} + 1", "{v}[{m}] = {w}[{m}]", "{v}[{m}] -= {w}[{m}]",
    "{v}[np.where({m})] = {s}", "{v}[{m}] = np.maximum({v}[{m}], {s})", "{t} = {v}[{m}].max(initial=0)",
    "{t} = {v}[{m}]\n{v}[{m}] = {t}", "{t} = np.count_nonzero({m})", "{t} = {v}[{m}].any()",
    "{t} = np.flatnonzero({m})", "{t} = {w}[{m}].size", "{v}[~{m}] = {w}[~{m}]", "{t} = np.argwhere({m})",
) + _statements("{t} = {v}[{m}].sum()", "{t} = {v}[{m}] * {w}[{m}]", "{t} = {v}[{m}].mean()", rounds=True)  # fmt: skip

LOOPS = (
    *_statements(
        "for i in range({n}):\n    {v}[{r}] += {e}",
        "for i in range({n}):\n    {v}[{m}] += {s}",
        "for i in range({n}):\n    if i % 2:\n        continue\n    {v} += {s}\n    if i > 3:\n        break",
        "i = 0\nwhile i < 4 and {c}:\n    {v} += {s}\n    i += 1",
        "for i in range({n}):\n    if {c}:\n        {v} += {s}\n        break\nelse:\n    {v} -= {s}",
        "{t} = {w}\nfor i in range({n}):\n    {t} = {t} + {v}\n    {v} -= {s}",
        "{t} = {w}.copy()\nfor i in range({n}):\n    {v}, {t} = {t}, {v}\n    {v} += 1",
        "{t} = np.stack([{v} + i for i in range(3)])",
        "{t} = 0\nfor i in range({n}):\n    {t} += i * {n}\n{t} = {v} + {t}",
        "q = []\nfor i in range(3):\n    q.append({v} + i)\n{t} = q[-1] - q[0]",
        "q = {{'a': {v}, 'b': {w}}}\nfor name in q:\n    q[name] = q[name] + {s}\n{t} = q['a']",
    ),
    *_statements(
        "for i in range({v}.shape[0]):\n    {v}[i] = {v}[i] + i",
        "for i in range({v}.shape[0]):\n    {v}[i] += {v}[i - 1]",
        "for i in range(1, {v}.shape[0]):\n    {v}[:i] += {v}[i]",
        "for i in range({v}.shape[0]):\n    if {c}:\n        {v}[i] = {s}\n    else:\n        {v}[i] += 1",
        "for i in range({v}.shape[0]):\n    for k in range(2):\n        {v}[i] = {v}[i] + k",
        "for i in range({v}.shape[0] - 1, -1, -1):\n    {v}[i] = {v}[-1 - i]",
        "for row in {v}:\n    {w}[0] = row",
        "{t} = {v}[0]\nfor i, row in enumerate({v}):\n    {t} = np.maximum({t}, row)",
        "for i in range({v}.size):\n    {v}.flat[i] = {v}.flat[i - 1]",
        "for a0, b0 in zip({v}, {w}[::-1]):\n    a0 += b0",
        min_ndim=1,
    ),
    *_statements(
        "k = 0\nfor i in range({v}.shape[0]):\n    if {v}[i].max(initial=0) > {s}:\n        k += 1\n{t} = np.array(k)",
        "{t} = 0\nfor x in {v}.ravel():\n    if x > {s}:\n        {t} = {t} + 1\n{t} = {v} * 0 + {t}",
        "k = 0\nwhile k < {v}.size and not {v}.flat[k] > {s}:\n    k += 1\n{t} = np.array(k)",
        steps=True, min_ndim=1,
    ),
    *_statements(
        "{t} = 0.0\nfor x in {v}.ravel():\n    {t} = {t} + x * 0.5\n{t} = np.asarray({t})",
        "{t} = {v} * 0\nfor i in range({n}):\n    {t} = {t} * 0.5 + {v}",
        rounds=True,
    ),
)  # fmt: skip

BRANCHES = (
    *_statements(
        "if {c}:\n    {v} += {e}\nelse:\n    {v}[{r}] = {s}",
        "if {c}:\n    {v}[{r}] = {e}",
        "{v} += {s} if {c} else 1",
        "if {c}:\n    {v} *= {s}\nelif {c2}:\n    {v} -= {s}\nelse:\n    {v}[{m}] = {s}",
        "if not ({c}) or {c2}:\n    {v} -= {e}",
        "{t} = {v} if {c} else {w}",
        "if {c}:\n    {t} = {v}\nelse:\n    {t} = {w}\n{t} = {t} + 1",
        "if {c}:\n    {t} = {v}\nelse:\n    {t} = {w}\n{t} += {s}",
        "{t} = np.asarray(max({s}, 2) if {c} else min({s}, 1))",
        "assert not ({c}) or {c2}, 'as it happens'",
        "if {c} and not ({c2}):\n    raise ValueError(f'{{{v}.sum()}}')",
        "try:\n    if {c}:\n        raise KeyError('k')\n    {v} += {s}\nexcept KeyError:\n    {v} -= {s}\nfinally:\n    {v}[...] += 1",
        "{v} += int({c})",
    ),
    *_statements("{t} = np.asarray(max({v}.flat[0], {s}))", "{t} = np.asarray(min(0.5, {v}.flat[-1]))", min_ndim=1),
)  # fmt: skip

FUNCTIONS = _statements(
    "def helper(q, k=1):\n    q[...] = q + k\n    return q * 2\n{t} = helper({v})",
    "def helper(q):\n    if {c}:\n        return q\n    return q + 1\n{t} = helper({v})\n{t} = {t} + helper({w})",
    "{t} = (lambda q, *r: q + len(r))({v}, 1, 2)",
    "def helper(q, n):\n    return q if n == 0 else helper(q + n, n - 1)\n{t} = helper({v}, 3)",
    "{t}, _ = {v} + 1, {w}",
    "{t} = sum(x for x in [{v}, {w}])",
    "({t} := {v} + 1)",
    "with np.errstate(all='ignore'):\n    {t} = {v} + {w}",
    "match {v}.ndim:\n    case 0:\n        {t} = {v} + 1\n    case 1 | 2:\n        {t} = {v} - 1\n    case _:\n        {t} = {v}",
    "def outer():\n    total = {v}\n    def inner(k):\n        nonlocal total\n        total = total + k\n    inner(2)\n    return total\n{t} = outer()",
    "{t} = [*{v}[None]][0]",
)  # fmt: skip

CONDITIONS = (
    "{x}.max(initial=0) > {s}", "({x} > {s}).any()", "{x}.size > 3", "0 < np.count_nonzero({x}) <= 3",
    "({x} == {x}).all()", "{x}.flat[0] > {s}", "np.any({x} < 0)",
)  # fmt: skip
