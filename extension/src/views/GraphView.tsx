/** The cluster graph as Python laid it out: boxes that open to their equations, edges with bytes, refused fusions. */
import { useComputed, useSignal } from '@preact/signals';
import { HTMLAttributes, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import * as format from '../format';
import { neighbour, place, Placement, Sizes } from '../graph';
import { Overlay, ReportState } from '../state';
import { GraphInspector, GraphItem } from './GraphInspector';
import { EdgeShape, NodeShape, openedSize } from './GraphShapes';
import { GraphTree } from './GraphTree';
import { Button, Choice, Empty, tabIndex } from './parts';

const MAX_HEIGHT = 640;
const MARGIN = 12;
const READABLE = 0.75;
const SMALLEST = 0.6;
const ZOOM_STEP = 1.25;

interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

const OVERLAYS: readonly { id: Overlay; title: string; hint: string }[] = [
  { id: 'none', title: 'plain', hint: 'The steps alone' },
  { id: 'time', title: 'time', hint: 'Share of the measured time' },
  { id: 'bytes', title: 'bytes', hint: 'Bytes read and written, counted exactly' },
  { id: 'ops', title: 'ops', hint: 'Equations' }
];

export function GraphView({ state }: { state: ReportState }): JSX.Element {
  const { graph } = state.model.report;
  if (graph.nodes.length === 0) {
    return <Empty>No cluster was formed.</Empty>;
  }
  const nRefused = state.model.refused.length;
  const asList = state.graphAsList.value;
  return (
    <div class="wb-graph">
      <div class="wb-pane-bar">
        <Choice
          state={state}
          label="Overlay"
          options={OVERLAYS}
          chosen={state.overlay.value}
          onChoose={overlay => (state.overlay.value = overlay)}
        />
        {nRefused > 0 && (
          <Button
            state={state}
            class="wb-toggle"
            pressed={state.showRefused.value}
            hint="Edges along which fusion was refused, dashed"
            onClick={() => (state.showRefused.value = !state.showRefused.value)}
          >
            {format.count(nRefused, 'refused fusion')}
          </Button>
        )}
        <span class="wb-grow" />
        <Button
          state={state}
          class="wb-toggle"
          pressed={asList}
          hint="The same as a list"
          onClick={() => (state.graphAsList.value = !asList)}
        >
          list
        </Button>
      </div>
      {asList ? <GraphTree state={state} /> : <Picture state={state} />}
    </div>
  );
}

function Picture({ state }: { state: ReportState }): JSX.Element {
  const { model } = state;
  const { graph } = model.report;
  const frame = useRef<HTMLDivElement>(null);
  const width = useSignal(720);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const camera = useSignal<Camera | null>(null);
  const focus = useSignal('');
  const item = useSignal<GraphItem | null>(null);

  useEffect(() => {
    const element = frame.current;
    if (element === null) {
      return;
    }
    const observer = new ResizeObserver(() => (width.value = element.clientWidth || 720));
    observer.observe(element);
    return () => observer.disconnect();
  }, [width]);

  const placement = useComputed(() => {
    const sizes: Sizes = new Map([...opened.value].map(id => [id, openedSize(model, id)]));
    return place(graph, sizes);
  }).value;
  // The whole graph if it stays readable, otherwise its width, otherwise its beginning.
  const fitWidth = Math.min(1, width.value / (placement.width + 2 * MARGIN));
  const fitBoth = Math.min(fitWidth, MAX_HEIGHT / (placement.height + 2 * MARGIN));
  const fitted = fitBoth >= READABLE ? fitBoth : Math.max(fitWidth, SMALLEST);
  const height = Math.min(MAX_HEIGHT, (placement.height + 2 * MARGIN) * fitted);
  const view = camera.value ?? {
    x: startX(placement, width.value / fitted),
    y: -MARGIN,
    zoom: fitted
  };
  const zoomBy = (factor: number, at: readonly [number, number] = [width.value / 2, height / 2]): void => {
    const zoom = Math.min(4, Math.max(0.1, view.zoom * factor));
    camera.value = {
      x: view.x + at[0] / view.zoom - at[0] / zoom,
      y: view.y + at[1] / view.zoom - at[1] / zoom,
      zoom
    };
  };
  const drag = useDrag(view, moved => (camera.value = moved));
  // A passive listener could not keep the page from zooming with it.
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent): void => {
      if (element !== null && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        const box = element.getBoundingClientRect();
        zoomBy(Math.exp(-event.deltaY / 300), [event.clientX - box.left, event.clientY - box.top]);
      }
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  });

  const toggleOpen = (id: string): void => {
    const next = new Set(opened.value);
    if (!next.delete(id)) {
      next.add(id);
    }
    opened.value = next;
  };
  const goTo = (id: string): void => {
    focus.value = id;
    item.value = { kind: 'node', id };
    state.selection.leave();
    state.selection.pin(model.equationsOf(id), 'graph');
  };

  return (
    <>
      <div
        ref={frame}
        class={`wb-canvas ${drag.dragging ? 'wb-dragging' : ''}`}
        style={{ height: `${Math.max(120, height)}px` }}
        role="application"
        aria-roledescription="graph"
        aria-label={
          `Cluster graph of ${format.count(graph.nodes.length, 'node')}. ` +
          'Arrow keys walk along the edges, Enter opens a node. The button “list” shows it as text.'
        }
        aria-activedescendant={focus.value === '' ? undefined : `${state.uid}-node-${focus.value}`}
        tabIndex={tabIndex(state)}
        {...drag.handlers}
        onKeyDown={event => {
          if (event.key.startsWith('Arrow')) {
            const next = neighbour(graph, focus.value, event.key);
            if (next !== undefined) {
              goTo(next);
            }
          } else if ((event.key === 'Enter' || event.key === ' ') && focus.value !== '') {
            toggleOpen(focus.value);
          } else if (event.key === '+' || event.key === '-') {
            zoomBy(event.key === '+' ? ZOOM_STEP : 1 / ZOOM_STEP);
          } else {
            return;
          }
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <svg
          width="100%"
          height="100%"
          viewBox={`${view.x} ${view.y} ${width.value / view.zoom} ${Math.max(120, height) / view.zoom}`}
        >
          {placement.edges.map(({ edge, points, label }, index) => (
            <EdgeShape
              key={index}
              state={state}
              edge={edge}
              points={points}
              label={label}
              onHover={on => (item.value = on ? { kind: 'edge', index } : null)}
            />
          ))}
          {placement.nodes.map(({ node, box }) => (
            <NodeShape
              key={node.id}
              state={state}
              node={node}
              box={box}
              opened={opened.value.has(node.id)}
              focused={focus.value === node.id}
              onHover={on => (item.value = on ? { kind: 'node', id: node.id } : null)}
              onToggle={() => toggleOpen(node.id)}
              onPin={() => {
                focus.value = node.id;
                state.selection.toggle(model.equationsOf(node.id), 'graph');
              }}
            />
          ))}
        </svg>
        <div class="wb-zoom">
          <Button
            state={state}
            class="wb-quiet"
            icon="plus"
            label="Zoom in"
            hint="Zoom in (+, Ctrl and wheel)"
            onClick={() => zoomBy(ZOOM_STEP)}
          />
          <Button
            state={state}
            class="wb-quiet"
            icon="minus"
            label="Zoom out"
            hint="Zoom out (−)"
            onClick={() => zoomBy(1 / ZOOM_STEP)}
          />
          <Button
            state={state}
            class="wb-quiet"
            icon="fit"
            label="Fit"
            hint="Fit the whole graph"
            onClick={() => (camera.value = null)}
          />
        </div>
      </div>
      <GraphInspector
        state={state}
        item={item.value ?? (focus.value === '' ? null : { kind: 'node', id: focus.value })}
      />
      <div class="wb-sr-only">
        <GraphTree state={state} />
      </div>
    </>
  );
}

/** The left edge of the first view: the graph in the middle, or its first node if the graph is wider. */
function startX(placement: Placement, shown: number): number {
  const first = placement.nodes[0];
  if (first === undefined || placement.width <= shown) {
    return (placement.width - shown) / 2;
  }
  const wanted = first.box.left + first.box.width / 2 - shown / 2;
  return Math.min(placement.width + MARGIN - shown, Math.max(-MARGIN, wanted));
}

/** Panning by dragging the background. */
function useDrag(
  view: Camera,
  onMove: (view: Camera) => void
): {
  dragging: boolean;
  handlers: Pick<
    HTMLAttributes<HTMLDivElement>,
    'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerCancel'
  >;
} {
  const start = useSignal<{ x: number; y: number; view: Camera } | null>(null);
  const stop = (): void => {
    start.value = null;
  };
  return {
    dragging: start.value !== null,
    handlers: {
      onPointerDown: event => {
        const onBackground =
          event.target instanceof Element && event.target.closest('.wb-node, button') === null;
        if (event.button === 0 && onBackground) {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.value = { x: event.clientX, y: event.clientY, view };
        }
      },
      onPointerMove: event => {
        const from = start.value;
        if (from !== null) {
          onMove({
            x: from.view.x - (event.clientX - from.x) / from.view.zoom,
            y: from.view.y - (event.clientY - from.y) / from.view.zoom,
            zoom: from.view.zoom
          });
        }
      },
      onPointerUp: stop,
      onPointerCancel: stop
    }
  };
}
