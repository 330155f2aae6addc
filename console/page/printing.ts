import { useSyncExternalStore } from 'react';

/** So many rows on either side of those in the window are on paper. */
const printed_rows_max = 1_000;

let is_printing = false;

function watch(changed: () => void): () => void {
  const set = ({ type }: Event) => {
    is_printing = type === 'beforeprint';
    changed();
  };
  addEventListener('beforeprint', set);
  addEventListener('afterprint', set);
  return () => {
    removeEventListener('beforeprint', set);
    removeEventListener('afterprint', set);
  };
}

/**
 * How many rows of a long list are drawn on either side of those in the window: the given number,
 * and while the page is printed as many as paper should have.
 */
export function useRowsAround(usual: number): number {
  return useSyncExternalStore(watch, () => is_printing) ? printed_rows_max : usual;
}
