/** A small scanner for Python, jaxpr, LLVM and assembly text: enough to colour words, nothing more. */

export type Language = 'python' | 'jaxpr' | 'llvm' | 'asm';
export type TokenKind = '' | 'comment' | 'string' | 'number' | 'keyword' | 'type' | 'name';

export interface Token {
  readonly start: number;
  readonly end: number;
  readonly kind: TokenKind;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const KEYWORDS: Readonly<Record<Language, ReadonlySet<string>>> = {
  python: words(
    'and as assert async await break class continue def del elif else except False finally for from global if import ' +
      'in is lambda None nonlocal not or pass raise return True try while with yield'
  ),
  jaxpr: words('lambda let in'),
  llvm: words(
    'define declare ret br label phi call tail load store getelementptr inbounds icmp fcmp select add sub mul fadd fsub ' +
      'fmul fdiv fneg nuw nsw to zext sext trunc bitcast sitofp uitofp fptosi fpext fptrunc and or xor shl lshr ashr ' +
      'attributes target align private unnamed_addr constant global internal noalias nocapture readonly writeonly'
  ),
  asm: words('')
};

const SCANNERS: Readonly<Record<Language, RegExp>> = {
  python:
    /(?<comment>#.*)|(?<string>[rbfu]{0,2}(?:"""|'''|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(?<number>\b\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?j?\b|\.\d+)|(?<word>[A-Za-z_]\w*)/gi,
  jaxpr:
    /(?<comment>#.*)|(?<type>(?:bool|[fiuc]\d+)\[[^\]]*\])|(?<number>-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?)|(?<word>[A-Za-z_]\w*)/gi,
  llvm: /(?<comment>;.*)|(?<string>"[^"]*")|(?<type>\b(?:i\d+|float|double|ptr|void|half)\b)|(?<name>[%@][\w.$"-]+)|(?<number>\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?<word>[A-Za-z_]\w*)/gi,
  asm: /(?<comment>(?:^|\s)[#;].*|\/\/.*)|(?<string>"[^"]*")|(?<name>%\w+|\b(?:[re]?[abcd]x|[re]?[sd]i|[re]?[sb]p|r\d+[dwb]?|[xyz]mm\d+)\b)|(?<number>\$?-?\b(?:0x[\da-f]+|\d+)\b)|(?<type>^\s*\.[\w.]+|^[\w.$]+:)|(?<keyword>^\s+[a-z][\w.]*)|(?<word>[A-Za-z_]\w*)/gi
};

/** The coloured stretches of one line. Lines are scanned one by one: a string over several lines is coloured in part. */
export function tokenize(line: string, language: Language): Token[] {
  const tokens: Token[] = [];
  for (const match of line.matchAll(SCANNERS[language])) {
    const groups = match.groups ?? {};
    let kind: TokenKind = '';
    if (groups.word !== undefined) {
      kind = KEYWORDS[language].has(groups.word)
        ? 'keyword'
        : language === 'jaxpr' && /=\s*$/.test(line.slice(0, match.index))
          ? 'name'
          : '';
    } else {
      kind = (Object.keys(groups).find(name => groups[name] !== undefined) ?? '') as TokenKind;
    }
    if (kind !== '') {
      tokens.push({ start: match.index, end: match.index + match[0].length, kind });
    }
  }
  return tokens;
}
