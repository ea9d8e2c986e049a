/** To the clipboard. */
import { ReportState } from './state';
import { shownText } from './texts';

export async function copyShown(state: ReportState): Promise<void> {
  const { text, what } = shownText(state);
  await copyText(state, text, what);
}

export async function copyText(state: ReportState, text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    state.say(`Copied ${what}.`);
  } catch {
    // Refused, or no clipboard at all on a page that came over plain http.
    state.say(`The browser did not allow copying ${what}.`);
  }
}
