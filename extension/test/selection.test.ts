import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effect } from '@preact/signals';
import { Selection } from '../src/selection';

test('hovering marks, leaving unmarks', () => {
  const selection = new Selection();
  selection.hover(['e0', 'e1']);
  assert.equal(selection.mark(['e1']), 'linked');
  assert.equal(selection.mark(['e2']), '');
  selection.leave();
  assert.equal(selection.mark(['e1']), '');
  selection.dispose();
});

test('what is pinned stays, and the pointer shows before it', () => {
  const selection = new Selection();
  selection.pin(['e0'], 'source');
  selection.hover(['e1']);
  assert.equal(selection.mark(['e0']), 'pinned');
  assert.equal(selection.mark(['e0', 'e1']), 'linked');
  assert.deepEqual(selection.active.value, ['e1']);
  selection.leave();
  assert.deepEqual(selection.active.value, ['e0']);
  selection.dispose();
});

test('pinning the same again releases it', () => {
  const selection = new Selection();
  selection.toggle(['e0'], 'source');
  assert.deepEqual(selection.pinned.value, ['e0']);
  assert.equal(selection.revealFrom.value, 'source');
  selection.toggle(['e0'], 'listing');
  assert.deepEqual(selection.pinned.value, []);
  selection.dispose();
});

test('only the rows that change are drawn again', () => {
  const selection = new Selection();
  let drawn = 0;
  const stop = effect(() => {
    selection.mark(['e0']);
    drawn++;
  });
  selection.hover(['e1']);
  selection.hover(['e2']);
  assert.equal(drawn, 1);
  selection.hover(['e0']);
  assert.equal(drawn, 2);
  stop();
  selection.dispose();
});
