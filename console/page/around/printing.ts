import { useSyncExternalStore } from 'react';

/** Number of printed rows on either side of the visible ones. */
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
 * Returns the number of drawn rows on either side of the visible ones: the given number, and on
 * paper the larger one.
 */
export function useRowsAround(usual: number): number {
  return useSyncExternalStore(watch, () => is_printing) ? printed_rows_max : usual;
}
