import { useLayoutEffect, useSyncExternalStore } from 'react';

/** Number of rendered dates. */
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

/** Counts a rendered date, so that the page's head names the time zone. */
export function useDrawnDate(is_date: boolean): void {
  useLayoutEffect(() => {
    if (!is_date) return;
    add(1);
    return () => add(-1);
  }, [is_date]);
}

/** Returns true while a date is rendered. */
export function useHasDates(): boolean {
  return useSyncExternalStore(watch, () => drawn > 0);
}
