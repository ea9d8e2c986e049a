import assert from 'node:assert/strict';
import { test } from 'node:test';
import { middle, neighbour, place, roundedPath } from '../src/graph';
import { photoReport } from './samples';

const { graph } = photoReport();

function boxes(opened: ReadonlyMap<string, { width: number; height: number }>): Map<string, DOMRectLike> {
  return new Map(
    place(graph, opened).nodes.map(({ node, box }) => [
      node.id,
      { left: box.left, top: box.top, right: box.left + box.width, bottom: box.top + box.height }
    ])
  );
}

interface DOMRectLike {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

test('closed boxes stand where Python put them', () => {
  const placed = place(graph, new Map());
  const node = placed.nodes.find(({ node: { id } }) => id === 'K0');
  assert.deepEqual(node?.box, { left: 110, top: 196, width: 180, height: 48 });
  assert.equal(placed.height, graph.height);
});

test('opened boxes push the others aside: none overlap', () => {
  const opened = new Map([
    ['K0', { width: 260, height: 250 }],
    ['K1', { width: 220, height: 240 }]
  ]);
  const placed = [...boxes(opened).values()];
  for (const [i, a] of placed.entries()) {
    for (const b of placed.slice(i + 1)) {
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      assert.ok(apart, JSON.stringify([a, b]));
    }
  }
});

test('edges end at their boxes, opened or not', () => {
  const opened = new Map([['K0', { width: 300, height: 250 }]]);
  const where = boxes(opened);
  for (const { edge, points } of place(graph, opened).edges) {
    const [first, last] = [points[0], points.at(-1)];
    const [source, target] = [where.get(edge.source), where.get(edge.target)];
    assert.ok(first && last && source && target);
    assert.ok(Math.abs(first[1] - source.bottom) < 2, edge.source);
    assert.ok(Math.abs(last[1] - target.top) < 2, edge.target);
    assert.ok(source.left <= first[0] && first[0] <= source.right);
    assert.ok(target.left <= last[0] && last[0] <= target.right);
  }
});

test('arrow keys walk along edges and rows', () => {
  assert.equal(neighbour(graph, 'L0', 'ArrowDown'), 'K0');
  assert.equal(neighbour(graph, 'K0', 'ArrowUp'), 'L0');
  assert.equal(neighbour(graph, 'K0', 'ArrowRight'), 'out:gray');
  assert.equal(neighbour(graph, 'out:gray', 'ArrowLeft'), 'K0');
  assert.equal(neighbour(graph, '', 'ArrowDown'), 'in:photo');
  assert.equal(neighbour(graph, 'out:tone', 'ArrowDown'), undefined);
});

test('paths and their middles', () => {
  assert.equal(
    roundedPath([
      [0, 0],
      [0, 10]
    ]),
    'M0 0L0 10'
  );
  assert.equal(roundedPath([]), '');
  assert.deepEqual(
    middle([
      [0, 0],
      [0, 10],
      [10, 10]
    ]),
    { x: 0, y: 10, steep: true }
  );
});
