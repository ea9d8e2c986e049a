/** Single views of a report in a frame of their own, for widgets that are composed freely. */
import { JSX } from 'preact';
import { ReportState } from '../state';
import { CodeView } from './CodeView';
import { GraphView } from './GraphView';
import { Frame } from './Report';
import { TimingsView } from './TimingsView';

export function CodePanel({ state }: { state: ReportState }): JSX.Element {
  return (
    <Frame state={state}>
      <CodeView state={state} />
    </Frame>
  );
}

export function GraphPanel({ state }: { state: ReportState }): JSX.Element {
  return (
    <Frame state={state}>
      <GraphView state={state} />
    </Frame>
  );
}

export function TimingsPanel({ state }: { state: ReportState }): JSX.Element {
  return (
    <Frame state={state}>
      <TimingsView state={state} />
    </Frame>
  );
}
