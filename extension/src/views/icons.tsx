/** Small pictures, drawn as SVG so that they follow the text's colour. */
import { JSX } from 'preact';

const PATHS = {
  check: 'M3 8.5 6.5 12 13 4.5',
  cached: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  again: 'M13 8a5 5 0 1 1-1.6-3.7M13 1.8v3h-3',
  partly: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  circle: 'M8 2.5a5.5 5.5 0 1 0 .01 0z',
  clock: 'M8 2.5a5.5 5.5 0 1 0 .01 0zM8 5v3.2l2.2 1.6',
  empty: 'M3.5 8h9',
  cross: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 2 14.5 13.5H1.5zM8 6.5v3.2M8 11.4v.4',
  chevron: 'M4 6l4 4 4-4',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  search: 'M7 2.5a4.5 4.5 0 1 0 .01 0zM10.3 10.3 14 14',
  left: 'M10 3.5 5.5 8 10 12.5',
  right: 'M6 3.5 10.5 8 6 12.5',
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10'
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: what it means is always said in words beside it or in the label of its button. */
export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }): JSX.Element {
  return (
    <svg class={filled ? 'wb-icon wb-icon-filled' : 'wb-icon'} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
