/** One card a kernel: what it computes, how fast, how near to the machine's limit, and its source. */
import { useSignal } from '@preact/signals';
import { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { copyText } from '../copy';
import * as format from '../format';
import { KernelRow, StepNode } from '../report';
import { ReportState } from '../state';
import { kernelRows } from '../texts';
import { Listing } from './Listing';
import { Button, Empty, Meter, StepTag, Values } from './parts';

const HEAD_LINES = 12;
const OTHER_STEPS: Readonly<Record<string, string>> = {
  library: 'library call, never fused',
  check: 'check, never fused',
  numpy: 'runs in NumPy',
  branch: 'branch: one of its programs runs',
  loop: 'loop: its program runs again and again'
};

export function KernelsView({ state }: { state: ReportState }): JSX.Element {
  const { kernels, graph } = state.model.report;
  const others = graph.nodes.filter(node => node.kind in OTHER_STEPS);
  if (kernels.length === 0 && others.length === 0) {
    return <Empty>No kernel was compiled.</Empty>;
  }
  return (
    <div class="wb-cards">
      {kernels.map(kernel => (
        <KernelCard key={kernel.id} state={state} kernel={kernel} />
      ))}
      {others.map(node => (
        <StepCard key={node.id} state={state} node={node} />
      ))}
    </div>
  );
}

function KernelCard({ state, kernel }: { state: ReportState; kernel: KernelRow }): JSX.Element {
  const rows = useMemo(() => kernelRows(kernel), [kernel]);
  const whole = useSignal(rows.length <= HEAD_LINES + 3);
  const shown = useMemo(() => (whole.value ? rows : rows.slice(0, HEAD_LINES)), [rows, whole.value]);
  const twin = `report.kernels["${kernel.id}"]`;
  return (
    <article
      class={`wb-card ${state.model.stepClass(kernel.id)}`}
      aria-label={`Kernel ${kernel.id} ${kernel.name}`}
    >
      <header class="wb-card-head">
        <StepTag state={state} step={kernel.id} />
        <code class="wb-card-title" title={`In code: ${twin}`}>
          {kernel.name}
        </code>
        <span class="wb-dim">
          {kernel.target} · {format.count(kernel.threads, 'thread')}
        </span>
        <span class="wb-grow" />
        {kernel.median_ms !== null && (
          <span class="wb-card-time">
            {format.time(kernel.median_ms)}
            {kernel.iqr_ms !== null && (
              <span class="wb-dim" title="Median and interquartile range of the measured runs">
                {' '}
                ± {format.time(kernel.iqr_ms / 2)}
                {kernel.runs_ms.length > 0 && `, n = ${kernel.runs_ms.length}`}
              </span>
            )}
          </span>
        )}
      </header>
      <dl class="wb-facts">
        {kernel.share !== null && (
          <Fact name="share of the time">
            <Meter share={kernel.share} label="share of the time" />
          </Fact>
        )}
        {kernel.roof_share !== null && (
          <Fact name={kernel.bound === '' ? 'of the machine’s limit' : `of the ${kernel.bound} limit`}>
            <Meter share={kernel.roof_share} label="share of the machine’s measured limit" />
            {kernel.roof_share > 1 && (
              <span
                class="wb-warn"
                title="The data may have come from a cache, or the measured limit is too low"
              >
                ⚠ above the measured limit
              </span>
            )}
          </Fact>
        )}
        <Fact name="elements">{format.integer(kernel.n_elements)}</Fact>
        <Fact name="memory">
          {format.bytes(kernel.bytes_moved)}
          {kernel.median_ms !== null && kernel.median_ms > 0 && (
            <span class="wb-dim"> {format.bytes((kernel.bytes_moved / kernel.median_ms) * 1000)}/s</span>
          )}
        </Fact>
        <Fact name="arithmetic">
          <span title="Estimated from the equations">≈ {format.flops(kernel.flops)}</span>
        </Fact>
        <Fact name="compiled in">{kernel.cached ? 'from the cache' : format.time(kernel.compile_ms)}</Fact>
        <Fact name="reads" wide>
          <Values values={kernel.inputs} />
        </Fact>
        <Fact name="writes" wide>
          <Values values={kernel.outputs} />
        </Fact>
        {kernel.launch !== '' && (
          <Fact name="launch" wide>
            {kernel.launch}
          </Fact>
        )}
      </dl>
      <div class="wb-card-source">
        <Listing state={state} label={`Source of ${kernel.id}`} rows={shown} language="python" />
      </div>
      <footer class="wb-card-foot">
        {!whole.value && (
          <Button state={state} class="wb-link" onClick={() => (whole.value = true)}>
            all {rows.length} lines
          </Button>
        )}
        <span class="wb-grow" />
        <Button state={state} class="wb-link" onClick={() => state.showKernel(kernel.id)}>
          beside the code
        </Button>
        <Button
          state={state}
          class="wb-link"
          icon="copy"
          hint={`Runs with numba alone\nIn code: ${twin}.source`}
          onClick={() => void copyText(state, kernel.source, `the source of ${kernel.id}`)}
        >
          copy
        </Button>
      </footer>
    </article>
  );
}

/** A step that is no kernel of ours, and a part of the time all the same. */
function StepCard({ state, node }: { state: ReportState; node: StepNode }): JSX.Element {
  const share = state.model.stepShares.get(node.id);
  return (
    <article
      class={`wb-card ${state.model.stepClass(node.id)}`}
      aria-label={`${node.kind} ${node.id} ${node.title}`}
    >
      <header class="wb-card-head">
        <StepTag state={state} step={node.id} />
        <code class="wb-card-title">{node.title}</code>
        <span class="wb-dim">{OTHER_STEPS[node.kind]}</span>
      </header>
      <dl class="wb-facts">
        {share !== undefined && (
          <Fact name="share of the time">
            <Meter share={share} label="share of the time" />
          </Fact>
        )}
        <Fact name="reads" wide>
          <Values values={node.inputs} />
        </Fact>
        <Fact name="writes" wide>
          <Values values={node.outputs} />
        </Fact>
        {node.reason !== '' && (
          <Fact name="why" wide>
            {node.reason}
          </Fact>
        )}
      </dl>
    </article>
  );
}

function Fact(props: { name: string; wide?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <div class={props.wide ? 'wb-fact-cell wb-fact-wide' : 'wb-fact-cell'}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
