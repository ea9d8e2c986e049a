/** The passes in order, with what each added and removed. */
import { JSX } from 'preact';
import * as format from '../format';
import { ReportState } from '../state';
import { Button } from './parts';

export function Stepper({ state }: { state: ReportState }): JSX.Element {
  const { stages } = state.model.report;
  const shown = state.stagesShown();
  const nHidden = state.unchanged.filter(Boolean).length;
  const at = shown.indexOf(state.stage.value);
  return (
    <div class="wb-pane-bar wb-stepper">
      <Button
        state={state}
        class="wb-quiet"
        icon="left"
        label="Pass before"
        hint="Pass before (k)"
        disabled={at <= 0}
        onClick={() => state.stepStage(-1)}
      />
      <Button
        state={state}
        class="wb-quiet"
        icon="right"
        label="Next pass"
        hint="Next pass (j)"
        disabled={at < 0 || at >= shown.length - 1}
        onClick={() => state.stepStage(1)}
      />
      <ol class="wb-stages">
        {shown.map(index => {
          const stage = stages[index];
          return (
            stage !== undefined && (
              <li key={index}>
                <Button
                  state={state}
                  class="wb-chip"
                  pressed={index === state.stage.value}
                  hint={
                    `${format.count(stage.equations.length, 'equation')} after it, ` +
                    `${stage.added} added, ${stage.removed} removed, ${format.time(stage.time_ms)}\n` +
                    `In code: report.stages[${index}].text`
                  }
                  onClick={() => (state.stage.value = index)}
                >
                  {stage.name}
                  {index === 0 ? (
                    <span class="wb-count">{stage.equations.length}</span>
                  ) : (
                    <>
                      {stage.added > 0 && <span class="wb-count wb-count-added">+{stage.added}</span>}
                      {stage.removed > 0 && <span class="wb-count wb-count-removed">−{stage.removed}</span>}
                    </>
                  )}
                </Button>
              </li>
            )
          );
        })}
      </ol>
      {nHidden > 0 && (
        <Button
          state={state}
          class="wb-toggle"
          pressed={!state.hideUnchanged.value}
          hint="Passes that changed nothing"
          onClick={() => (state.hideUnchanged.value = !state.hideUnchanged.value)}
        >
          {state.hideUnchanged.value ? `${nHidden} unchanged` : 'hide unchanged'}
        </Button>
      )}
      <Button
        state={state}
        class="wb-toggle"
        pressed={state.diff.value}
        disabled={state.stage.value === 0}
        hint="Difference to the pass before (d)"
        onClick={() => (state.diff.value = !state.diff.value)}
      >
        diff
      </Button>
    </div>
  );
}
