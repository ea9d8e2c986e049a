"""Functions whose results are dictionaries, lists of these, and words run whole: what they give is Python's."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_close
from tests.runtime.test_numpy_in_loops import is_whole, of_text
from workbench.frontend.syntax import syntax_of
from workbench.runtime.parts.aggregates import taken_apart

HEAD = "def f(x, n):\n    y = x[x > -100]\n"
WHOLE = {
    "a record": """
    found = {'low': [], 'high': [], 'n': 0}
    for v in y:
        if v < 0:
            found['low'].append(v)
        else:
            found['high'].append(v * 2)
        found['n'] += 1
    return found""",
    "a record that gets more keys": """
    found = {}
    found['first'] = y[0]
    total = 0.0
    for v in y:
        total += v * found['first']
    found['total'] = total
    return found, y""",
    "a call of dict": """
    found = dict(low=0, high=0)
    for v in y:
        found['low'] = found['low'] + 1
        found['high'] += int(v > 0)
    return found['low'], found['high']""",
    "arrays of its lists": """
    out = {'a': [], 'b': []}
    for i in range(n):
        out['a'].append(y[i % len(y)])
        out['b'].append(i)
    return {k: np.array(v) for k, v in out.items()}, y""",
    "a loop over a record": """
    out = dict(a=[], b=[])
    for i in range(n):
        out['a'].append(y[i % len(y)])
        out['b'].append(y[0] + i)
    for k in out:
        out[k] = np.array(out[k])
    out['mean'] = y.mean()
    return out""",
    "rows": """
    found = []
    inside = False
    for t in range(len(y)):
        if y[t] > 1 and not inside:
            inside = True
            found.append({'open': t, 'side': 'long' if y[t] > 1.5 else 'short', 'z': float(y[t])})
        elif inside and y[t] < 0:
            inside = False
            found.append({'open': t, 'side': 'close', 'z': float(y[t])})
    total = 0.0
    for row in found:
        total += row['z'] * row['open']
    last = found[-1]['z'] if found else 0.0
    return {'trades': found, 'n': len(found), 'total': total, 'last': last}""",
    "loops over words": """
    low, high = 0.0, y.max()
    out = {'low': [], 'high': []}
    for v in y:
        low = min(low, v)
        for key, value in (('low', low), ('high', high)):
            out[key].append(value * v)
        for key in ('low', 'low'):
            out[key].append(v)
    found = {key: np.array(v) for key, v in out.items()}
    found['last'] = v
    return found, y""",
    "a record that becomes a row": """
    found = []
    for t in range(n):
        row = {'t': t, 'y': float(y[t % len(y)])}
        if row['y'] > 0:
            row['y'] *= 2
        found.append(row)
    return found, y""",
    "words": """
    state, seen = 'none', 0
    state = 'none'
    for v in y:
        if state == 'none' and v > 0:
            state = 'up'
        elif state in ('up', 'none') and v < -1:
            state = 'down' if v < -1.5 else 'below'
        elif state != 'up':
            seen += 1
    before = state
    return {'state': state, 'before': before, 'seen': seen}, y""",
    "a list of words": """
    kinds, last, n_up = [], 'none', 0
    for v in y:
        if v > 0.5:
            kinds.append('up')
            last = 'up'
        elif v < -0.5:
            kinds.append('down' if v > -1 else 'far down')
            last = 'down'
        kinds.append(last)
        n_up += int(last == 'up')
    return {'kinds': kinds, 'n': len(kinds), 'last': last}, n_up, y""",
    "words that are returned": """
    total = 0.0
    for v in y:
        total += v
        if total > 9:
            return 'above', None, total
        if total < -9:
            return 'below', None, total
    return 'between', None, total""",
    "tuples from several returns": """
    for k in range(len(y)):
        if y[k] > 1.5:
            return k, y[:k]
    return -1, y""",
    "lists from several returns": """
    found = []
    if n == 0:
        return found, 0.0
    total = 0.0
    for v in y:
        if v > 0:
            found.append(v)
            total += v
    return found, total""",
    "nested results": """
    low = y.min()
    return (low, [y.max(), n]), {'y': y, 'both': (y, {'n': n})}""",
}
NOT_APART = {
    "an item that is not there": "    d = {'a': 1}\n    return d['b'], y",
    "an item that may not be there": "    d = {'a': 1}\n    if n > 2:\n        d['b'] = 2\n    return d, y",
    "an item that is read too early": "    d = {}\n    d['b'] = d['b'] + 1\n    return d, y",
    "a second name": "    d = {'a': 1}\n    e = d\n    e['a'] = 2\n    return d, e",
    "returned twice": "    d = {'a': n}\n    return d, d",
    "a key that is computed": "    d = {'a': 1, 'b': 2}\n    return d['ab'[n % 2]], y",
    "handed to a function": "    d = {'a': 1, 'b': n}\n    return len(str(d)), y",
    "an item that goes": "    d = {'a': 1, 'b': n}\n    del d['a']\n    return d, y",
    "changed after it is a row": "    r = []\n    d = {'a': 1}\n    r.append(d)\n    d['a'] = 2\n    return r, y",
    "one row twice": "    r = []\n    d = {'a': n}\n    for i in range(3):\n        r.append(d)\n    return r, y",
    "rows that are changed": "    r = []\n    r.append({'a': n})\n    r[0]['a'] = 3\n    return r, y",
    "rows with other keys": "    r = []\n    r.append({'a': n})\n    r.append({'b': n})\n    return r, y",
    "rows returned twice": "    r = []\n    r.append({'a': n})\n    return r, r",
    "a word in a list of other things": "    s = 'a'\n    if n > 2:\n        s = 'b'\n    r = [1]\n    r.append(s)\n    return r, y",
    "a word in a list that is returned twice": "    s = 'a'\n    if n > 2:\n        s = 'b'\n    r = []\n    r.append(s)\n"
    "    return r, r",
    "words in results of unlike forms": "    s = 'a'\n    if n > 2:\n        s = 'b'\n    if n > 40:\n        return [s, n]\n    return s, y",
    "rows in results of unlike forms": "    r = []\n    r.append({'a': n})\n    if n > 40:\n        return [r, n]\n    return r, y",
    "words that are read": "    r = []\n    r.append('a')\n    r.append('b')\n    return r, r[n % 2], y",
    "words that are gone over": "    r = []\n    r.append('a')\n    t = 0\n    for w in r:\n        t += len(w)\n    return r, t, y",
    "a row of its own": "    r = []\n    r.append({'a': n})\n    return r, r[0]",
    "bound twice": "    d = {'a': 1}\n    if n > 3:\n        d = {'a': 2, 'b': 3}\n    return d, y",
    "a word that is added to": "    s = 'a'\n    for i in range(n):\n        s = s + 'b'\n    return s, y",
    "a word that is measured": "    s = 'a'\n    if n > 2:\n        s = 'bb'\n    return len(s), y",
    "a jump out of its loop": "    d = {'a': 1, 'b': 2}\n    t = 0\n    for k in d:\n        t += d[k]\n        break\n    return t, y",
    "a word of a loop that is read after it": "    d = {'a': 1, 'b': 2}\n    for k in ('a', 'b'):\n        d[k] += 1\n"
    "    return k, d['a'], y",
    "rows that are computed before": "    t = 1\n    d = {'a': 0, 'b': 0}\n    for k, v in (('a', t), ('b', t)):\n"
    "        d[k] = v\n        t = 7\n    return d['a'], d['b'], y",
    "a word or a number": "    s = 'a'\n    if n > 2:\n        s = 3\n    return s, y",
    "a parameter": "    n = {'a': 1}\n    return n, y",
}


def inputs():
    rng = np.random.default_rng(3)
    for scale in (1.0, 0.1, 5.0):
        for n in (40, 41, 0):
            yield rng.normal(size=60) * scale, n
    yield rng.normal(size=1), 3


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, str) or expected is None:
        assert found == expected
    else:
        assert_close(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", WHOLE)
def test_results_are_pythons(name, tmp_path):
    f = of_text(HEAD + WHOLE[name] + "\n", tmp_path / "f.py")
    compiled = wb.jit(f)
    for _ in range(2):
        for x, n in inputs():
            try:
                expected = f(x, n)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(x, n)
            else:
                assert_same(compiled(x, n), expected)
    assert is_whole(compiled) or not compiled.fallbacks


@pytest.mark.parametrize("name", NOT_APART)
def test_what_is_more_than_its_items_stays(name, tmp_path):
    f = of_text(HEAD + NOT_APART[name] + "\n", tmp_path / "f.py")
    apart, template = taken_apart(f)
    assert template is None or not any(isinstance(n, ast.Dict) for n in ast.walk(template))
    compiled = wb.jit(f)
    for x, n in inputs():
        results = []
        for function in (f, apart, compiled):
            try:
                results.append(function(x, n))
            except Exception as error:
                results.append(type(error))
        if apart is f:
            assert_same(results[1], results[0])
        assert_same(results[2], results[0])
        if isinstance(results[0], tuple) and len(results[0]) == 2:
            assert (results[2][0] is results[2][1]) == (results[0][0] is results[0][1])


def test_what_is_one_object_stays_one(tmp_path):
    """In each result, and never the one of another call."""
    f = of_text(
        HEAD + "    d = {'a': y, 'b': (y, n)}\n    t = 0.0\n    for v in y:\n        t += v\n    return d, y, t\n",
        tmp_path / "f.py",
    )
    compiled = wb.jit(f)
    x = np.arange(5.0)
    first = compiled(x, 3)
    for _ in range(30):
        found = compiled(x, 3)
        assert found[0]["a"] is found[0]["b"][0] is found[1]
        assert found[0] is not first[0] and found[1] is not first[1]


def test_a_list_that_a_function_hands_on_is_one_list():
    def with_one(kept):
        kept.append(1.0)
        return kept, len(kept)

    def f(x):
        y = x[x > 0]
        kept = []
        again, n = with_one(kept)
        again.append(y[0])
        return kept, again, n

    compiled = wb.jit(f)
    for _ in range(3):
        kept, again, n = compiled(np.arange(4.0))
        assert kept is again and kept == [1.0, 1.0] and n == 1


def test_nothing_is_changed_where_nothing_is_taken_apart():
    def f(x, n):
        total = 0.0
        for v in x:
            total += v
        return total, n

    assert taken_apart(f) == (f, None)
    assert syntax_of(f.__code__) is not None
