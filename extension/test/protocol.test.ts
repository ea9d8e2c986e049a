import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Channel, textsOver } from '../src/protocol';

class Loop implements Channel {
  readonly sent: { request: number; [name: string]: unknown }[] = [];
  private callback: ((content: unknown) => void) | null = null;

  send(content: unknown): void {
    this.sent.push(content as { request: number });
  }
  on(_event: string, callback: (content: unknown) => void): void {
    this.callback = callback;
  }
  off(): void {
    this.callback = null;
  }
  receive(content: unknown): void {
    this.callback?.(content);
  }
}

test('a text comes back to whoever asked for it', async () => {
  const channel = new Loop();
  const { texts, dispose } = textsOver(channel);
  const first = texts('K0', 'llvm');
  const second = texts('K1', 'asm');
  assert.deepEqual(channel.sent, [
    { type: 'text', request: 1, kernel: 'K0', kind: 'llvm' },
    { type: 'text', request: 2, kernel: 'K1', kind: 'asm' }
  ]);
  channel.receive({ type: 'text', request: 2, kernel: 'K1', kind: 'asm', text: 'second' });
  channel.receive({ type: 'text', request: 1, kernel: 'K0', kind: 'llvm', text: 'first' });
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  dispose();
});

test('an error of the kernel is an error here, and so is closing', async () => {
  const channel = new Loop();
  const { texts, dispose } = textsOver(channel);
  const refused = texts('K9', 'llvm');
  channel.receive({ type: 'error', request: 1, message: 'there is no K9' });
  await assert.rejects(refused, /there is no K9/);
  const open = texts('K0', 'llvm');
  dispose();
  await assert.rejects(open, /closed/);
});

test('a message of another kind is dropped', t => {
  const warn = t.mock.method(console, 'warn', () => undefined);
  const channel = new Loop();
  textsOver(channel);
  channel.receive({ type: 'text', request: 'one' });
  channel.receive(null);
  channel.receive({ type: 'other' });
  assert.equal(warn.mock.callCount(), 2);
});
