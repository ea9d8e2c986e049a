/** The keys, in a table. */
import { JSX } from 'preact';
import { ReportState } from '../state';
import { Button } from './parts';

const KEYS: readonly (readonly [string, string])[] = [
  ['Enter, Esc', 'go into the report, and out of it'],
  ['1 … 5', 'Code, Graph, Kernels, Timings, Why'],
  ['↑ ↓ ← →', 'walk lines, sub-expressions and the edges of the graph; what belongs together lights up'],
  ['j, k', 'next and previous pass'],
  ['d', 'difference to the pass before'],
  ['/', 'search the text that is shown'],
  ['y', 'copy the text that is shown'],
  ['?', 'this help']
];

export function Help({ state }: { state: ReportState }): JSX.Element {
  return (
    <div class="wb-help" role="dialog" aria-label="Keyboard help">
      <table>
        <tbody>
          {KEYS.map(([keys, words]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{words}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Button state={state} onClick={() => (state.help.value = false)}>
        close
      </Button>
    </div>
  );
}
