/**
 * Draws sample reports on a plain page, to be looked at: harness/index.html?theme=dark&tab=graph&sample=photo. Reports
 * from Python (`python -m tests.report.sample_reports extension/harness/samples`) are shown by their file's name.
 */
import { mount } from '../src/mount';
import { Tab } from '../src/state';
import { Report } from '../src/views/Report';
import { fallbackReport, photoReport, withStatus } from '../test/samples';

const query = new URLSearchParams(location.search);
const SAMPLES: Readonly<Record<string, () => unknown>> = {
  photo: photoReport,
  fallback: fallbackReport,
  newer: () => ({ schema: 'workbench.report/9' }),
  broken: () => ({ ...photoReport(), kernels: [{ id: 1 }] })
};

document.body.dataset.theme = query.get('theme') ?? 'light';
const sample = query.get('sample') ?? 'photo';

async function data(): Promise<unknown> {
  const make = SAMPLES[sample];
  return make !== undefined ? make() : (await fetch(`samples/${sample}.json`)).json();
}

function show(report: unknown, tab: Tab | null): void {
  const element = document.createElement('div');
  document.body.append(element);
  const { state } = mount(element, report, Report);
  if (state !== null && tab !== null) {
    state.open.value = true;
    state.tab.value = tab;
  }
  Object.assign(window, { state });
}

if (sample === 'statuses') {
  for (const status of ['compiled', 'cached', 'recompiled', 'partly', 'compiling', 'empty', 'failed']) {
    show(withStatus(status), null);
  }
  show(fallbackReport(), null);
} else {
  show(await data(), (query.get('tab') as Tab | null) ?? 'code');
}
