/** Pieces that several views share. */
import { ComponentChildren, JSX } from 'preact';
import * as format from '../format';
import { Value } from '../report';
import { ReportState } from '../state';
import { Icon, IconName } from './icons';

/** One tab stop for the whole report: what is inside can be tabbed to only after Enter (see Report). */
export function tabIndex(state: ReportState): 0 | -1 {
  return state.inside.value ? 0 : -1;
}

interface ButtonProps {
  state: ReportState;
  onClick: () => void;
  label?: string;
  /** Shown on hover: what it does, or what to write in Python to get the same. */
  hint?: string;
  icon?: IconName;
  pressed?: boolean;
  disabled?: boolean;
  class?: string;
  children?: ComponentChildren;
}

export function Button(props: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`wb-button ${props.class ?? ''}`}
      tabIndex={tabIndex(props.state)}
      aria-label={props.label}
      aria-pressed={props.pressed}
      aria-disabled={props.disabled}
      title={props.hint ?? props.label}
      onClick={() => {
        if (!props.disabled) {
          props.onClick();
        }
      }}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </button>
  );
}

/** A row of buttons of which one is chosen. */
export function Choice<T extends string>(props: {
  state: ReportState;
  label: string;
  options: readonly { id: T; title: string; hint?: string; disabled?: boolean }[];
  chosen: T;
  onChoose: (id: T) => void;
}): JSX.Element {
  return (
    <div class="wb-choice" role="group" aria-label={props.label}>
      {props.options.map(option => (
        <Button
          key={option.id}
          state={props.state}
          pressed={option.id === props.chosen}
          disabled={option.disabled}
          hint={option.hint}
          onClick={() => props.onChoose(option.id)}
        >
          {option.title}
        </Button>
      ))}
    </div>
  );
}

/** The tag of a step (`K0`) in its hue and border pattern; hovering it marks its equations everywhere. */
export function StepTag({ state, step }: { state: ReportState; step: string }): JSX.Element | null {
  if (step === '') {
    return null;
  }
  const ids = state.model.equationsOf(step);
  return (
    <span
      class={`wb-tag ${state.model.stepClass(step)}`}
      title={stepHint(state, step)}
      onPointerEnter={() => state.selection.hover(ids)}
      onPointerLeave={() => state.selection.leave()}
      onClick={event => {
        event.stopPropagation();
        state.selection.toggle(ids, 'tag');
      }}
    >
      {step}
    </span>
  );
}

function stepHint(state: ReportState, step: string): string {
  const node = state.model.nodes.get(step);
  const kinds: Record<string, string> = {
    kernel: 'a compiled kernel',
    library: 'a library call',
    check: 'a check: where it fails, NumPy runs the call again, and raises',
    numpy: 'runs in NumPy',
    branch: 'a branch: one of its programs runs',
    loop: 'a loop: its program runs again and again'
  };
  const kind = kinds[node?.kind ?? ''] ?? '';
  const share = state.model.stepShares.get(step);
  return [
    `${step} ${node?.title ?? ''}`.trim(),
    kind,
    share === undefined ? '' : `${format.percent(share)} of the measured time`,
    `In code: report.kernels["${step}"]`
  ]
    .filter((line, index) => line !== '' && (index < 3 || node?.kind === 'kernel'))
    .join('\n');
}

/** `y f64[512,512] 2.1 MB` */
export function ValueChip({ value }: { value: Value }): JSX.Element {
  return (
    <span class="wb-value">
      {value.name !== '' && <b>{value.name}</b>} <code>{value.aval}</code>{' '}
      <span class="wb-dim">{format.bytes(value.bytes)}</span>
    </span>
  );
}

export function Values({ values }: { values: readonly Value[] }): JSX.Element {
  return (
    <span class="wb-values">
      {values.length === 0 ? (
        <span class="wb-dim">none</span>
      ) : (
        values.map(v => <ValueChip key={v.name} value={v} />)
      )}
    </span>
  );
}

/** A share of something as a bar with its number beside it. */
export function Meter({ share, label }: { share: number; label: string }): JSX.Element {
  return (
    <span class="wb-meter" role="img" aria-label={`${label}: ${format.percent(share)}`}>
      <span class="wb-meter-track">
        <span class="wb-meter-fill" style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
      </span>
      <span class="wb-meter-number">{format.percent(share)}</span>
    </span>
  );
}

/** Words in which `names` stand between backticks. */
export function Prose({ text }: { text: string }): JSX.Element {
  return (
    <span class="wb-prose">
      {text
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </span>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="wb-empty">{children}</p>;
}
