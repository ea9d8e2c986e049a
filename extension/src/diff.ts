/**
 * What a pass did, by equation and not by line: variables are renamed from stage to stage, ids are not. Kept equations
 * are compared after their variables were renamed to the ids that define them.
 */
import { EquationRow, Stage } from './report';

export type Change = 'kept' | 'added' | 'removed' | 'changed';

export interface DiffRow {
  readonly change: Change;
  /** The equation after the pass, or before it where it was removed. */
  readonly equation: EquationRow;
  /** For `changed`: the equation before the pass. */
  readonly before?: EquationRow;
}

export function diffStages(before: Stage, after: Stage): DiffRow[] {
  const beforeForms = canonicalForms(before);
  const afterForms = canonicalForms(after);
  const old = new Map(before.equations.map(e => [e.id, e]));
  const kept = new Set(after.equations.map(e => e.id));
  const rows: DiffRow[] = [];
  let next = 0;
  const flushRemoved = (end: number): void => {
    for (; next < end; next++) {
      const equation = before.equations[next];
      if (equation !== undefined && !kept.has(equation.id)) {
        rows.push({ change: 'removed', equation });
      }
    }
  };
  const positions = new Map(before.equations.map((e, index) => [e.id, index]));
  for (const equation of after.equations) {
    const earlier = old.get(equation.id);
    if (earlier === undefined) {
      rows.push({ change: 'added', equation });
      continue;
    }
    flushRemoved(positions.get(equation.id) ?? next);
    const same = beforeForms.get(equation.id) === afterForms.get(equation.id);
    rows.push(same ? { change: 'kept', equation } : { change: 'changed', equation, before: earlier });
  }
  flushRemoved(before.equations.length);
  return rows;
}

/** Whether a pass left the program as it was. */
export function isUnchanged(before: Stage | undefined, after: Stage): boolean {
  return before !== undefined && diffStages(before, after).every(row => row.change === 'kept');
}

const BINDER = /([A-Za-z_]\w*):(?=[A-Za-z]\w*\[)/g;
const WORD = /[A-Za-z_]\w*/g;

function canonicalForms(stage: Stage): Map<string, string> {
  const names = new Map<string, string>();
  const header = stage.text.slice(0, Math.max(0, stage.text.indexOf(' let')));
  for (const [index, match] of [...header.matchAll(BINDER)].entries()) {
    names.set(match[1] ?? '', `in${index}`);
  }
  const forms = new Map<string, string>();
  for (const equation of stage.equations) {
    const [binders, computation] = splitEquation(equation.text);
    let primitive = true; // the first word, which may be spelt like a variable (`or`, `eq`)
    const canonical = computation.replace(WORD, word => {
      const renamed = primitive ? word : (names.get(word) ?? word);
      primitive = false;
      return renamed;
    });
    for (const [index, match] of [...binders.matchAll(BINDER)].entries()) {
      names.set(match[1] ?? '', `${equation.id}.${index}`);
    }
    forms.set(equation.id, canonical.replace(/\s+/g, ' ').trim());
  }
  return forms;
}

/** `c:f64[3] = mul a b` -> [`c:f64[3] `, ` mul a b`]; the first `=` outside brackets divides them. */
function splitEquation(text: string): [string, string] {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '[' || char === '(') {
      depth++;
    } else if (char === ']' || char === ')') {
      depth--;
    } else if (char === '=' && depth === 0) {
      return [text.slice(0, i), text.slice(i + 1)];
    }
  }
  return ['', text];
}
