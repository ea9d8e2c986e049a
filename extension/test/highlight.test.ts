import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Language, tokenize } from '../src/highlight';

function words(line: string, language: Language): string[] {
  return tokenize(line, language).map(token => `${token.kind}:${line.slice(token.start, token.end)}`);
}

test('python', () => {
  assert.deepEqual(words('for i in range(3):  # "three"', 'python'), [
    'keyword:for',
    'keyword:in',
    'number:3',
    'comment:# "three"'
  ]);
  assert.deepEqual(words("x = f'a\\'b' + 1e-3", 'python'), ["string:f'a\\'b'", 'number:1e-3']);
});

test('jaxpr', () => {
  assert.deepEqual(words('c:f64[3,4] = mul a 2.0:f64[]', 'jaxpr'), [
    'type:f64[3,4]',
    'name:mul',
    'number:2.0',
    'type:f64[]'
  ]);
});

test('the tokens of a line are in order and apart', () => {
  const lines: [string, Language][] = [
    ['  %y = fmul double %x, 1.0 ; square', 'llvm'],
    ['\tvmulpd\t8(%rax,%rcx,8), %ymm1, %ymm1 # four', 'asm'],
    ['"unterminated', 'python'],
    ['', 'asm']
  ];
  for (const [line, language] of lines) {
    let end = 0;
    for (const token of tokenize(line, language)) {
      assert.ok(token.start >= end && token.end > token.start && token.end <= line.length);
      end = token.end;
    }
  }
});
