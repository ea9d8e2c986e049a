/** One line of code, or a stretch of it, with its words coloured. */
import { JSX } from 'preact';
import { Language, Token, tokenize } from '../highlight';

interface Piece {
  readonly text: string;
  readonly kind: string;
}

/** `text` from `start` to `end`, cut at the tokens' edges. */
function pieces(text: string, tokens: readonly Token[], start: number, end: number): Piece[] {
  const found: Piece[] = [];
  let at = start;
  for (const token of tokens) {
    if (token.end <= at || token.start >= end) {
      continue;
    }
    if (token.start > at) {
      found.push({ text: text.slice(at, token.start), kind: '' });
      at = token.start;
    }
    const stop = Math.min(token.end, end);
    found.push({ text: text.slice(at, stop), kind: token.kind });
    at = stop;
  }
  if (at < end) {
    found.push({ text: text.slice(at, end), kind: '' });
  }
  return found;
}

const TAB = '    '; // as `tab-size` in the styles has it

/** How far a line is indented, in characters. */
export function indentOf(line: string): number {
  return line.slice(0, line.length - line.trimStart().length).replaceAll('\t', TAB).length;
}

export function Coloured(props: {
  text: string;
  language: Language;
  start?: number;
  end?: number;
}): JSX.Element {
  const { text, language, start = 0, end = text.length } = props;
  return (
    <>
      {pieces(text, tokenize(text, language), start, end).map((piece, index) =>
        piece.kind === '' ? (
          piece.text
        ) : (
          <span key={index} class={`wb-tok-${piece.kind}`}>
            {piece.text}
          </span>
        )
      )}
    </>
  );
}
