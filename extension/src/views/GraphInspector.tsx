/** What is under the pointer or the keyboard in the cluster graph, in words, at one fixed place. */
import { JSX } from 'preact';
import * as format from '../format';
import { ReportState } from '../state';
import { Button, Prose, StepTag, Values, ValueChip } from './parts';

export type GraphItem = { kind: 'node'; id: string } | { kind: 'edge'; index: number };

export function GraphInspector({ state, item }: { state: ReportState; item: GraphItem | null }): JSX.Element {
  return (
    <div class="wb-info wb-inspector">
      {item === null ? (
        <span class="wb-dim">
          Point at a box or an edge. Double-click opens a box; drag moves, Ctrl and wheel zoom.
        </span>
      ) : item.kind === 'node' ? (
        <NodeWords state={state} id={item.id} />
      ) : (
        <EdgeWords state={state} index={item.index} />
      )}
    </div>
  );
}

function NodeWords({ state, id }: { state: ReportState; id: string }): JSX.Element | null {
  const node = state.model.nodes.get(id);
  if (node === undefined) {
    return null;
  }
  const kernel = state.model.kernels.get(id);
  const share = state.model.stepShares.get(id);
  return (
    <>
      <b>
        <StepTag state={state} step={node.equations.length > 0 ? id : ''} /> {node.title}
      </b>
      {node.inputs.length > 0 && (
        <span>
          reads <Values values={node.inputs} />
        </span>
      )}
      {node.outputs.length > 0 && (
        <span>
          gives <Values values={node.outputs} />
        </span>
      )}
      {kernel?.median_ms !== null && kernel?.median_ms !== undefined && (
        <span>{format.time(kernel.median_ms)}</span>
      )}
      {share !== undefined && <span>{format.percent(share)} of the measured time</span>}
      {node.scope !== '' && <span>scope {node.scope}</span>}
      {node.reason !== '' && <Prose text={node.reason} />}
      {kernel !== undefined && (
        <Button state={state} class="wb-link" onClick={() => state.showKernel(id)}>
          source
        </Button>
      )}
    </>
  );
}

function EdgeWords({ state, index }: { state: ReportState; index: number }): JSX.Element | null {
  const edge = state.model.report.graph.edges[index];
  if (edge === undefined) {
    return null;
  }
  return (
    <>
      <b>
        {state.model.describe(edge.source)} → {state.model.describe(edge.target)}
      </b>
      <ValueChip value={edge.value} />
      {edge.refused !== '' && (
        <span>
          not fused: <Prose text={edge.refused} /> <code>{edge.code}</code>
        </span>
      )}
    </>
  );
}
