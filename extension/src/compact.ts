/**
 * The compact form of a report, in which nothing is said twice. Mirrors workbench/report/compact.py, which describes it.
 * That a record may be a list of its fields is the business of `record` in shape.ts; here are the stages.
 */
import { EquationRow, Stage } from './report';
import { anything, list, maybe, num, record, text, withDefault } from './shape';

export const FORM = 1;

const PackedStage = record({
  name: text,
  text: maybe(text),
  equations: maybe(list(anything)),
  added: withDefault(num, 0),
  removed: withDefault(num, 0),
  time_ms: withDefault(num, 0)
});

export function unpackStages(value: unknown, path: string): Stage[] {
  const packed = list(PackedStage)(value, path);
  // null: as in the stage before.
  let stageText = '';
  let rows: readonly unknown[] = [];
  const filled = packed.map(stage => {
    stageText = stage.text ?? stageText;
    rows = stage.equations ?? rows;
    return { ...stage, text: stageText, rows };
  });
  // An equation may refer to the next stage that shows it, so the last comes first.
  const later = new Map<string, EquationRow>();
  const done = new Map<readonly unknown[], readonly EquationRow[]>();
  return filled
    .reverse()
    .map(({ rows, ...stage }, fromLast): Stage => {
      let equations = done.get(rows);
      if (equations === undefined) {
        const lines = stage.text.split('\n');
        const place = `${path}[${filled.length - 1 - fromLast}].equations`;
        equations = rows.map((row, index) => unpackRow(row, lines, later, `${place}[${index}]`));
        done.set(rows, equations);
        for (const equation of equations) {
          later.set(equation.id, equation);
        }
      }
      return { ...stage, equations };
    })
    .reverse();
}

function unpackRow(
  row: unknown,
  lines: readonly string[],
  later: ReadonlyMap<string, EquationRow>,
  path: string
): EquationRow {
  if (!Array.isArray(row) || typeof row[1] !== 'number') {
    return EquationRow(row, path);
  }
  const [id, nLines, textLine] = [text(row[0], path), row[1], num(row[2], path)];
  const equationText = lines
    .slice(textLine - 1, textLine - 1 + nLines)
    .join('\n')
    .trim();
  const same = row.length > 3 ? undefined : later.get(id);
  return same === undefined
    ? EquationRow([id, equationText, ...(row.slice(2) as unknown[])], path)
    : { ...same, text: equationText, text_line: textLine, step: '', in_memory: true };
}
