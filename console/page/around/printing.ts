import { useSyncExternalStore } from 'react';

/** Printed rows on either side of the visible ones. */
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
 * Returns the number of rendered rows on either side of the visible ones: the given number, and
 * more for printing.
 */
export function useRowsAround(usual: number): number {
  return useSyncExternalStore(watch, () => is_printing) ? printed_rows_max : usual;
}
