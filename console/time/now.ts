import { useSyncExternalStore } from 'react';

const tick_ms = 10_000;

/** Returns the browser's time in milliseconds, the console's only clock. */
export function now(): number {
  return Date.now();
}

let shown_now = now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(changed: () => void): () => void {
  watchers.add(changed);
  if (timer === undefined) {
    shown_now = now();
    timer = setInterval(() => {
      shown_now = now();
      for (const tell of watchers) tell();
    }, tick_ms);
  }
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the current instant for relative times; updated every ten seconds. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => shown_now);
}

const day_ms = 86_400_000;

/** Returns the instant so many days from now, in the API's form. */
export function inDays(days: string | string[] | undefined): string {
  return new Date(now() + Number(days) * day_ms).toISOString();
}
