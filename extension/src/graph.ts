/**
 * Geometry of the cluster graph. Python laid the graph out; here a box may grow to show its equations, and what stands
 * beyond its lower or right edge moves by as much, so that nothing overlaps and no layout is computed twice. No DOM.
 */
import { Graph, GraphEdge, StepNode } from './report';

export type Point = readonly [number, number];

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedNode {
  readonly node: StepNode;
  readonly box: Box;
}

export interface PlacedEdge {
  readonly edge: GraphEdge;
  readonly points: readonly Point[];
  /** The middle of the room that the layout kept for its label, if it kept any. */
  readonly label: Point | undefined;
}

export interface Placement {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

/** How large each opened node has to be. */
export type Sizes = ReadonlyMap<string, { readonly width: number; readonly height: number }>;

interface Growth {
  readonly right: number;
  readonly bottom: number;
  readonly dx: number;
  readonly dy: number;
}

// Coordinates are pixels; half of one decides on which side of an edge a point is.
const SLACK = 0.5;

export function place(graph: Graph, opened: Sizes): Placement {
  const growths = new Map<string, Growth>();
  for (const node of graph.nodes) {
    const size = opened.get(node.id);
    if (size !== undefined) {
      growths.set(node.id, {
        right: node.x + node.w / 2,
        bottom: node.y + node.h / 2,
        dx: Math.max(0, size.width - node.w),
        dy: Math.max(0, size.height - node.h)
      });
    }
  }
  const all = [...growths.values()];
  const shiftX = (x: number): number =>
    all.reduce((sum, growth) => (x >= growth.right - SLACK ? sum + growth.dx : sum), 0);
  const shiftY = (y: number): number =>
    all.reduce((sum, growth) => (y >= growth.bottom - SLACK ? sum + growth.dy : sum), 0);

  const nodes = graph.nodes.map(node => {
    const left = node.x - node.w / 2;
    const top = node.y - node.h / 2;
    const growth = growths.get(node.id);
    return {
      node,
      box: {
        left: left + shiftX(left),
        top: top + shiftY(top),
        width: node.w + (growth?.dx ?? 0),
        height: node.h + (growth?.dy ?? 0)
      }
    };
  });
  const byId = new Map(graph.nodes.map(node => [node.id, node]));
  // An end stays on its node: it moves with the node's upper left corner, and with the edge that the growth moved.
  const movedEnd = ([x, y]: Point, id: string): Point => {
    const node = byId.get(id);
    if (node === undefined) {
      return [x + shiftX(x), y + shiftY(y)];
    }
    const growth = growths.get(id);
    const onRight = growth !== undefined && x >= growth.right - SLACK ? growth.dx : 0;
    const onBottom = growth !== undefined && y >= growth.bottom - SLACK ? growth.dy : 0;
    return [x + shiftX(node.x - node.w / 2) + onRight, y + shiftY(node.y - node.h / 2) + onBottom];
  };
  const edges = graph.edges.map(edge => {
    const points = endToEnd(edge, byId);
    const [x, y] = edge.label;
    return {
      edge,
      label: x === undefined || y === undefined ? undefined : ([x + shiftX(x), y + shiftY(y)] as const),
      points: points.map((point, index): Point => {
        if (index === 0) {
          return movedEnd(point, edge.source);
        }
        if (index === points.length - 1) {
          return movedEnd(point, edge.target);
        }
        return [point[0] + shiftX(point[0]), point[1] + shiftY(point[1])];
      })
    };
  });
  return {
    nodes,
    edges,
    width: graph.width + all.reduce((sum, growth) => sum + growth.dx, 0),
    height: graph.height + all.reduce((sum, growth) => sum + growth.dy, 0)
  };
}

/** The points of an edge; without a layout, from the middle of one node to the middle of the other. */
function endToEnd(edge: GraphEdge, byId: ReadonlyMap<string, StepNode>): Point[] {
  const points = edge.points.map(([x = 0, y = 0]): Point => [x, y]);
  if (points.length >= 2) {
    return points;
  }
  const ends = [byId.get(edge.source), byId.get(edge.target)];
  return ends.flatMap((node): Point[] => (node === undefined ? [] : [[node.x, node.y]]));
}

/** An SVG path through the points, its corners rounded. */
export function roundedPath(points: readonly Point[], radius = 10): string {
  const [first, ...rest] = points;
  if (first === undefined) {
    return '';
  }
  const write = ([x, y]: Point): string => `${round(x)} ${round(y)}`;
  let path = `M${write(first)}`;
  for (const [index, corner] of rest.entries()) {
    const before = points[index] ?? first;
    const after = rest[index + 1];
    if (after === undefined) {
      path += `L${write(corner)}`;
    } else {
      const near = Math.min(radius, distance(before, corner) / 2, distance(corner, after) / 2);
      path += `L${write(towards(corner, before, near))}Q${write(corner)} ${write(towards(corner, after, near))}`;
    }
  }
  return path;
}

/** The middle of a polyline, by length, and whether it runs up or down there. */
export function middle(points: readonly Point[]): { x: number; y: number; steep: boolean } {
  const lengths = points.slice(1).map((point, index) => distance(points[index] ?? point, point));
  let left = lengths.reduce((sum, length) => sum + length, 0) / 2;
  for (const [index, length] of lengths.entries()) {
    const from = points[index];
    const to = points[index + 1];
    if (left <= length && from !== undefined && to !== undefined) {
      const [x, y] = towards(from, to, left);
      return { x, y, steep: Math.abs(to[1] - from[1]) > 2 * Math.abs(to[0] - from[0]) };
    }
    left -= length;
  }
  const [x, y] = points[0] ?? [0, 0];
  return { x, y, steep: false };
}

/** The three corners of an arrow's head at the end of the points. */
export function arrowHead(points: readonly Point[], length = 8, width = 7): string {
  const tip = points.at(-1) ?? [0, 0];
  const from = points.at(-2) ?? tip;
  const base = towards(tip, from, length);
  const size = distance(from, tip) || 1;
  const across: Point = [
    ((tip[1] - from[1]) / size) * (width / 2),
    ((from[0] - tip[0]) / size) * (width / 2)
  ];
  const corners: Point[] = [
    tip,
    [base[0] + across[0], base[1] + across[1]],
    [base[0] - across[0], base[1] - across[1]]
  ];
  return corners.map(([x, y]) => `${round(x)},${round(y)}`).join(' ');
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function towards(from: Point, to: Point, length: number): Point {
  const part = length / (distance(from, to) || 1);
  return [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
}

function round(x: number): number {
  return Math.round(x * 10) / 10;
}

/** The node that an arrow key leads to: along an edge (up, down), or beside it in the same row (left, right). */
export function neighbour(graph: Graph, id: string, key: string): string | undefined {
  const node = graph.nodes.find(n => n.id === id);
  if (node === undefined) {
    return graph.nodes[0]?.id;
  }
  if (key === 'ArrowDown') {
    return graph.edges.find(edge => edge.source === id)?.target;
  }
  if (key === 'ArrowUp') {
    return graph.edges.find(edge => edge.target === id)?.source;
  }
  const side = key === 'ArrowRight' ? 1 : -1;
  const row = graph.nodes
    .filter(other => (other.x - node.x) * side > 0)
    .filter(other => Math.abs(other.y - node.y) < (other.h + node.h) / 2)
    .sort((a, b) => (a.x - b.x) * side);
  return row[0]?.id;
}
