/** Every request that crosses to the kernel, and its reply. Mirrors workbench/notebook/protocol.py. */
import { Infer, num, Problem, record, text } from './shape';

export const TEXT_KINDS = ['llvm', 'asm'] as const;
export type TextKind = (typeof TEXT_KINDS)[number];

/** Asks for the whole text of one kernel. `request` comes back in the reply. */
export interface TextRequest {
  readonly type: 'text';
  readonly request: number;
  readonly kernel: string;
  readonly kind: TextKind;
}

export const TextReply = record({ type: text, request: num, kernel: text, kind: text, text: text });
export type TextReply = Infer<typeof TextReply>;

export const ErrorReply = record({ type: text, request: num, message: text });
export type ErrorReply = Infer<typeof ErrorReply>;

export type TextSource = (kernel: string, kind: TextKind) => Promise<string>;

/** What of a widget's model is needed here: custom messages both ways. */
export interface Channel {
  send(content: unknown): void;
  on(event: 'msg:custom', callback: (content: unknown) => void): void;
  off(event: 'msg:custom', callback: (content: unknown) => void): void;
}

/** A `TextSource` over a widget's messages, and what ends it. */
export function textsOver(channel: Channel): { texts: TextSource; dispose: () => void } {
  const waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  let requests = 0;
  const onMessage = (content: unknown): void => {
    try {
      const { type } = record({ type: text })(content, 'message');
      if (type === 'text') {
        const reply = TextReply(content, 'message');
        waiting.get(reply.request)?.resolve(reply.text);
        waiting.delete(reply.request);
      } else if (type === 'error') {
        const reply = ErrorReply(content, 'message');
        waiting.get(reply.request)?.reject(new Error(reply.message));
        waiting.delete(reply.request);
      }
    } catch (error) {
      if (!(error instanceof Problem)) {
        throw error;
      }
      console.warn(`workbench: a message from the kernel was dropped: ${error.message}`);
    }
  };
  channel.on('msg:custom', onMessage);
  return {
    texts: (kernel, kind) =>
      new Promise((resolve, reject) => {
        const request = ++requests;
        waiting.set(request, { resolve, reject });
        channel.send({ type: 'text', request, kernel, kind } satisfies TextRequest);
      }),
    dispose: () => {
      channel.off('msg:custom', onMessage);
      for (const { reject } of waiting.values()) {
        reject(new Error('the view was closed'));
      }
      waiting.clear();
    }
  };
}
