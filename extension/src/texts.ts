/** The text that a pane shows, line by line, each line with the equations that it belongs to. No DOM. */
import { diffStages } from './diff';
import { Language } from './highlight';
import { EquationRow, KernelRow, Stage, Text } from './report';
import { Ids } from './selection';
import { Pane, ReportState } from './state';

export interface Row {
  readonly text: string;
  readonly ids: Ids;
  /** A line number, for texts that have them. */
  readonly number?: number;
  /** Set on the first line of an equation. */
  readonly equation?: EquationRow;
  /** The equation of the program itself that holds the line. */
  readonly outermost?: string;
  readonly change?: 'added' | 'removed';
}

const NO_IDS: Ids = [];

/** Whether a line belongs to the equation above: it is indented further, or closes its brackets. */
function goesOn(text: string, indent: number, equationIndent: number): boolean {
  return indent > equationIndent || (indent === equationIndent && /^\s*[\])}]/.test(text));
}

/** The lines of a stage, each with its equation: the innermost, where one holds a program of others. */
export function stageRows(stage: Stage): Row[] {
  const starts = new Map(stage.equations.map(e => [e.text_line, e]));
  const around: { ids: Ids; indent: number }[] = [];
  return stage.text
    .replace(/\n$/, '')
    .split('\n')
    .map((text, index) => {
      const indent = text.length - text.trimStart().length;
      const equation = starts.get(index + 1);
      let inner = around.at(-1);
      while (
        inner !== undefined &&
        (equation === undefined ? !goesOn(text, indent, inner.indent) : indent <= inner.indent)
      ) {
        around.pop();
        inner = around.at(-1);
      }
      if (equation !== undefined) {
        around.push({ ids: [equation.id], indent });
      }
      const ids = around.at(-1)?.ids ?? NO_IDS;
      return { text, ids, equation, outermost: around[0]?.ids[0] };
    });
}

export function diffRows(before: Stage, after: Stage): Row[] {
  const rows = stageRows(after);
  const first = rows.findIndex(row => row.equation !== undefined);
  const last = rows.findLastIndex(row => row.ids.length > 0);
  const outline = (row: Row): Row => ({ text: row.text, ids: NO_IDS });
  const head = (first < 0 ? rows : rows.slice(0, first)).map(outline);
  const tail = (first < 0 ? [] : rows.slice(last + 1)).map(outline);
  const linesBefore = linesById(stageRows(before));
  const linesAfter = linesById(rows);
  const lines = (by: Map<string, Row[]>, id: string, change?: Row['change']): Row[] =>
    (by.get(id) ?? []).map(row => ({ ...row, change }));
  const body = diffStages(before, after).flatMap(({ change, equation: { id } }): Row[] => {
    switch (change) {
      case 'kept':
        return lines(linesAfter, id);
      case 'added':
        return lines(linesAfter, id, 'added');
      case 'removed':
        return lines(linesBefore, id, 'removed');
      case 'changed':
        return [...lines(linesBefore, id, 'removed'), ...lines(linesAfter, id, 'added')];
    }
  });
  return [...head, ...body, ...tail];
}

function linesById(rows: readonly Row[]): Map<string, Row[]> {
  const lines = new Map<string, Row[]>();
  for (const row of rows) {
    const id = row.ids[0];
    if (id !== undefined) {
      lines.set(id, [...(lines.get(id) ?? []), row]);
    }
  }
  return lines;
}

export function kernelRows(kernel: KernelRow): Row[] {
  return kernel.source
    .replace(/\n$/, '')
    .split('\n')
    .map((text, index) => ({ text, ids: kernel.line_equations[index] ?? NO_IDS, number: index + 1 }));
}

export function plainRows(text: string): Row[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line, index) => ({ text: line, ids: NO_IDS, number: index + 1 }));
}

export interface Shown {
  readonly rows: readonly Row[];
  readonly language: Language;
  /** What a copy of it is called in a message. */
  readonly what: string;
  /** How to get the same in Python. */
  readonly twin: string;
  /** For a text of which only the head is here. */
  readonly partial?: Text;
  readonly missing?: string;
}

export function longText(kernel: KernelRow, pane: Pane): Text | null {
  return pane === 'llvm' ? kernel.llvm : pane === 'asm' ? kernel.asm : null;
}

/** What the right-hand pane of the Code view shows. Subscribes to the choices that it depends on. */
export function shown(state: ReportState): Shown {
  const { report } = state.model;
  if (state.pane.value === 'ir') {
    const index = state.stage.value;
    const stage = report.stages[index];
    const before = report.stages[index - 1];
    if (stage === undefined) {
      return { rows: [], language: 'jaxpr', what: 'the IR', twin: '', missing: 'No program was traced.' };
    }
    return {
      rows: state.diff.value && before !== undefined ? diffRows(before, stage) : stageRows(stage),
      language: 'jaxpr',
      what: `the IR after “${stage.name}”`,
      twin: `report.stages[${index}].text`
    };
  }
  const kernel = state.model.kernels.get(state.kernel.value);
  if (kernel === undefined) {
    return { rows: [], language: 'python', what: 'the kernel', twin: '', missing: 'No kernel was compiled.' };
  }
  if (state.pane.value === 'source') {
    return {
      rows: kernelRows(kernel),
      language: 'python',
      what: `the source of ${kernel.id}`,
      twin: `report.kernels["${kernel.id}"].source`
    };
  }
  const kind = state.pane.value;
  const name = `the ${kind === 'llvm' ? 'LLVM' : 'assembly'} of ${kernel.id}`;
  const twin = `report.kernels["${kernel.id}"].${kind}`;
  const text = longText(kernel, kind);
  if (text === null) {
    return { rows: [], language: kind, what: name, twin, missing: `This report does not hold ${name}.` };
  }
  const fetched = state.fetched.value.get(`${kernel.id}.${kind}`);
  return {
    rows: plainRows(fetched ?? text.head),
    language: kind,
    what: name,
    twin,
    partial: text.complete || fetched !== undefined ? undefined : text
  };
}

export function shownText(state: ReportState): { text: string; what: string } {
  const { rows, what } = shown(state);
  return { text: rows.map(row => row.text).join('\n'), what };
}
