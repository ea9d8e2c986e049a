/** The cluster graph as a list: the same nodes, values and refusals, for screen readers and for reading in order. */
import { JSX } from 'preact';
import * as format from '../format';
import { StepNode } from '../report';
import { ReportState } from '../state';
import { StepTag, Values } from './parts';

export function GraphTree({ state }: { state: ReportState }): JSX.Element {
  const { graph } = state.model.report;
  return (
    <ul class="wb-tree" role="tree" aria-label="Steps of the program">
      {graph.nodes.map(node => (
        <li key={node.id} role="treeitem" aria-expanded={node.equations.length > 0 ? true : undefined}>
          <div class="wb-tree-head">
            <StepTag state={state} step={node.equations.length > 0 ? node.id : ''} />
            <b>{node.title}</b>
            <span class="wb-dim">{node.kind}</span>
            {node.kind !== 'input' && node.inputs.length > 0 && (
              <span>
                reads <Values values={node.inputs} />
              </span>
            )}
            {node.kind !== 'output' && node.outputs.length > 0 && (
              <span>
                gives <Values values={node.outputs} />
              </span>
            )}
          </div>
          <Details state={state} node={node} />
        </li>
      ))}
    </ul>
  );
}

function Details({ state, node }: { state: ReportState; node: StepNode }): JSX.Element | null {
  const refused = state.model.refused.filter(edge => edge.source === node.id);
  if (node.equations.length === 0 && refused.length === 0 && node.reason === '') {
    return null;
  }
  return (
    <ul role="group">
      {node.reason !== '' && <li role="treeitem">{node.reason}</li>}
      {node.equations.map(id => {
        const equation = state.model.equation(id);
        const output = equation?.outputs[0];
        return (
          <li
            key={id}
            role="treeitem"
            onPointerEnter={() => state.selection.hover([id])}
            onPointerLeave={() => state.selection.leave()}
          >
            <code>
              {equation?.primitive ?? id} {output?.aval ?? ''}
            </code>
            {equation?.step !== '' && equation?.in_memory === false && (
              <span class="wb-dim"> ⌀ never reaches memory</span>
            )}
          </li>
        );
      })}
      {refused.map((edge, index) => (
        <li key={index} role="treeitem">
          ✂ not fused with {state.model.describe(edge.target)}: {edge.refused} <code>{edge.code}</code>{' '}
          <span class="wb-dim">{format.bytes(edge.value.bytes)}</span>
        </li>
      ))}
    </ul>
  );
}
