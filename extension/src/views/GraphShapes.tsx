/** Nodes and edges of the cluster graph, as SVG. */
import { JSX } from 'preact';
import * as format from '../format';
import { arrowHead, Box, middle, Point, roundedPath } from '../graph';
import { ReportModel } from '../model';
import { GraphEdge, StepNode } from '../report';
import { ReportState } from '../state';

const ROW_HEIGHT = 18;
const PADDING = 10;
const SIGNS: Readonly<Record<string, string>> = { loop: '↻ ', branch: 'if ', numpy: '⚠ ' };
const TOGGLE = 22;
// Widths of the two fonts' characters, as wide as they get among the fonts that are likely.
const TITLE_CHAR = 7.4;
const CODE_CHAR = 6.8;

interface NodeProps {
  state: ReportState;
  node: StepNode;
  box: Box;
  opened: boolean;
  focused: boolean;
  onHover: (on: boolean) => void;
  onToggle: () => void;
  onPin: () => void;
}

export function NodeShape(props: NodeProps): JSX.Element {
  const { state, node, box, opened } = props;
  const { model, selection } = state;
  const ids = model.equationsOf(node.id);
  const mark = selection.mark(ids);
  const terminal = node.kind === 'input' || node.kind === 'output';
  const measure = overlay(state, node);
  const opens = ids.length > 0 && !terminal;
  const middleX = (box.width - (opens ? TOGGLE - 4 : 0)) / 2;
  const lines = titleLines(node, box.width - 2 * PADDING - (opens ? TOGGLE - 8 : 0));
  const detail = terminal ? terminalDetail(node) : (measure?.words ?? stepDetail(model, node));
  const headHeight = node.h;
  const firstBaseline = headHeight / 2 + 4.5 - (lines.length - 1 + (detail === '' ? 0 : 1)) * 8;
  const classes = ['wb-node', model.stepClass(node.id)];
  if (mark !== '') {
    classes.push(`wb-${mark}`);
  }
  if (props.focused) {
    classes.push('wb-focused');
  }
  return (
    <g
      id={`${state.uid}-node-${node.id}`}
      class={classes.join(' ')}
      transform={`translate(${box.left} ${box.top})`}
      role="img"
      aria-label={nodeInWords(state, node)}
      data-node={node.id}
      onPointerEnter={() => {
        selection.hover(ids);
        props.onHover(true);
      }}
      onPointerLeave={() => {
        selection.leave();
        props.onHover(false);
      }}
      onClick={props.onPin}
      onDblClick={props.onToggle}
    >
      <rect class="wb-node-box" width={box.width} height={box.height} rx={terminal ? node.h / 2 : 7} />
      {measure !== undefined && (
        <rect
          class="wb-node-heat"
          width={box.width}
          height={headHeight}
          rx={terminal ? node.h / 2 : 7}
          style={{ opacity: 0.08 + 0.34 * measure.share }}
        />
      )}
      {node.kind === 'library' && (
        <rect class="wb-node-inner" x={3} y={3} width={box.width - 6} height={box.height - 6} rx={5} />
      )}
      <text class="wb-node-title" x={middleX} y={firstBaseline}>
        {lines.map((line, index) => (
          <tspan key={index} x={middleX} dy={index === 0 ? 0 : 16}>
            {line}
          </tspan>
        ))}
      </text>
      {detail !== '' && (
        <text class="wb-node-detail" x={middleX} y={firstBaseline + lines.length * 16}>
          {detail}
        </text>
      )}
      {opens && (
        <g
          class="wb-node-toggle"
          onClick={event => {
            event.stopPropagation();
            props.onToggle();
          }}
        >
          <title>{opened ? 'Close' : `Show ${format.count(ids.length, 'equation')}`}</title>
          <rect x={box.width - TOGGLE - 1} y={1} width={TOGGLE} height={headHeight - 2} rx={5} />
          <path
            transform={`translate(${box.width - TOGGLE + 2} ${headHeight / 2 - 8})`}
            d={opened ? 'M4 10l4-4 4 4' : 'M4 6l4 4 4-4'}
          />
        </g>
      )}
      {opened &&
        ids.map((id, index) => (
          <NodeEquation
            key={id}
            state={state}
            id={id}
            y={headHeight + index * ROW_HEIGHT}
            width={box.width}
          />
        ))}
    </g>
  );
}

function NodeEquation(props: { state: ReportState; id: string; y: number; width: number }): JSX.Element {
  const { state, id } = props;
  const mark = state.selection.mark([id]);
  return (
    <g
      class={`wb-node-equation ${mark === '' ? '' : `wb-${mark}`}`}
      data-equation={id}
      onPointerEnter={() => state.selection.hover([id])}
      onPointerLeave={() => state.selection.leave()}
      onClick={event => {
        event.stopPropagation();
        state.selection.toggle([id], 'graph');
      }}
    >
      <rect x={4} y={props.y} width={props.width - 8} height={ROW_HEIGHT} rx={3} />
      <text x={PADDING} y={props.y + 13}>
        {equationInShort(state.model, id)}
      </text>
    </g>
  );
}

/** The size of a node that shows its equations. */
export function openedSize(model: ReportModel, id: string): { width: number; height: number } {
  const node = model.nodes.get(id);
  const ids = model.equationsOf(id);
  const longest = Math.max(0, ...ids.map(equation => equationInShort(model, equation).length));
  return {
    width: Math.max(node?.w ?? 0, longest * CODE_CHAR + 2 * PADDING),
    height: (node?.h ?? 0) + ids.length * ROW_HEIGHT + 6
  };
}

function equationInShort(model: ReportModel, id: string): string {
  const equation = model.equation(id);
  if (equation === undefined) {
    return id;
  }
  const output = equation.outputs[0];
  const memory = equation.step !== '' && !equation.in_memory ? ' ⌀' : '';
  return `${equation.primitive}  ${output?.aval ?? ''}${memory}`;
}

/** A title on one or two lines; what still does not fit is in the node's inspector and label. */
function titleLines(node: StepNode, width: number): string[] {
  const named = node.kind !== 'input' && node.kind !== 'output';
  const sign = SIGNS[node.kind] ?? '';
  const title = named && !node.title.startsWith(node.id) ? `${sign}${node.id} ${node.title}` : node.title;
  const fits = Math.max(4, Math.floor(width / TITLE_CHAR));
  if (title.length <= fits) {
    return [title];
  }
  if (node.h < 44) {
    return [shorten(title, fits)];
  }
  const words = title.split(/(?<=[ _·])/);
  let first = '';
  while (words[0] !== undefined && first.length + words[0].length <= fits) {
    first += words.shift() ?? '';
  }
  return first === '' ? [shorten(title, fits)] : [first.trim(), shorten(words.join(''), fits)];
}

function shorten(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  const tail = Math.floor((length - 1) / 3);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

function terminalDetail(node: StepNode): string {
  const value = node.outputs[0] ?? node.inputs[0];
  return node.h < 34 || value === undefined || node.title.includes(value.aval) ? '' : value.aval;
}

function stepDetail(model: ReportModel, node: StepNode): string {
  if (node.h < 34) {
    return '';
  }
  const time = model.timeOf(node.id);
  const runsAsItIs = node.equations.length === 0 && node.spans.length > 0;
  const what = runsAsItIs ? 'Python and NumPy' : format.count(node.equations.length, 'op');
  return time === undefined ? what : `${what} · ${format.time(time)}`;
}

/** What the overlay measures of a node, and how large that is beside the largest. */
function overlay(state: ReportState, node: StepNode): { words: string; share: number } | undefined {
  const { model } = state;
  const measureOf = (n: StepNode): number | undefined => {
    switch (state.overlay.value) {
      case 'none':
        return undefined;
      case 'time':
        return model.stepShares.get(n.id);
      case 'bytes':
        return bytesOf(n);
      case 'ops':
        return n.equations.length;
    }
  };
  const measure = measureOf(node);
  if (measure === undefined || node.equations.length === 0) {
    return undefined;
  }
  const largest = Math.max(...model.report.graph.nodes.map(n => measureOf(n) ?? 0)) || 1;
  const words =
    state.overlay.value === 'time'
      ? `${format.percent(measure)} of the time`
      : state.overlay.value === 'bytes'
        ? format.bytes(measure)
        : format.count(measure, 'op');
  return { words, share: measure / largest };
}

function bytesOf(node: StepNode): number {
  return [...node.inputs, ...node.outputs].reduce((sum, value) => sum + value.bytes, 0);
}

function nodeInWords(state: ReportState, node: StepNode): string {
  const values = (list: StepNode['inputs']): string => list.map(v => `${v.name} ${v.aval}`).join(', ');
  return [
    `${node.kind} ${state.model.describe(node.id)}`,
    node.equations.length > 0 ? format.count(node.equations.length, 'equation') : '',
    node.inputs.length > 0 ? `reads ${values(node.inputs)}` : '',
    node.outputs.length > 0 ? `gives ${values(node.outputs)}` : '',
    node.reason
  ]
    .filter(part => part !== '')
    .join('; ');
}

interface EdgeProps {
  state: ReportState;
  edge: GraphEdge;
  points: readonly Point[];
  label: Point | undefined;
  onHover: (on: boolean) => void;
}

export function EdgeShape({ state, edge, points, label, onHover }: EdgeProps): JSX.Element {
  const { model, selection } = state;
  const refused = edge.refused !== '' && state.showRefused.value;
  const mark = selection.mark([edge.source, edge.target].flatMap(id => model.equationsOf(id)));
  const words = format.bytes(edge.value.bytes);
  const width = words.length * 6.2 + (refused ? 20 : 8);
  // Without room of its own: beside a line that runs down, so that short ones can still be seen; on any other.
  const at = middle(points);
  const [x, y] = label ?? [at.steep ? at.x + width / 2 + 3 : at.x, at.y];
  return (
    <g
      class={`wb-edge ${refused ? 'wb-refused' : ''} ${mark === '' ? '' : `wb-${mark}`}`}
      onPointerEnter={() => onHover(true)}
      onPointerLeave={() => onHover(false)}
    >
      <title>
        {refused ? `${edge.code}: not fused: ${edge.refused}` : `${edge.value.name} ${edge.value.aval}`}
      </title>
      <path class="wb-edge-grip" d={roundedPath(points)} />
      <path class="wb-edge-line" d={roundedPath(points)} />
      <polygon class="wb-edge-head" points={arrowHead(points)} />
      <rect class="wb-edge-label-back" x={x - width / 2} y={y - 9} width={width} height={18} rx={4} />
      <text class="wb-edge-label" x={x} y={y + 4}>
        {refused ? `✂ ${words}` : words}
      </text>
    </g>
  );
}
