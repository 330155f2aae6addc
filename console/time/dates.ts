import { useLayoutEffect, useSyncExternalStore } from 'react';

/** Number of dates that are drawn now. */
let drawn = 0;
const watchers = new Set<() => void>();

function add(count: number): void {
  drawn += count;
  for (const tell of watchers) tell();
}

function watch(changed: () => void): () => void {
  watchers.add(changed);
  return () => void watchers.delete(changed);
}

/** Counts what is drawn as a date in the zone, which the head of the page names. */
export function useDrawnDate(is_date: boolean): void {
  useLayoutEffect(() => {
    if (!is_date) return;
    add(1);
    return () => add(-1);
  }, [is_date]);
}

/** Returns true while a date is drawn. */
export function useHasDates(): boolean {
  return useSyncExternalStore(watch, () => drawn > 0);
}
