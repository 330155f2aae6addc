import { useSyncExternalStore } from 'react';

const tick_ms = 10_000;

/** The browser's clock: the console's only source of the present instant, in milliseconds. */
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

/** The present instant, for what is said relative to it; moves every ten seconds. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => shown_now);
}

const day_ms = 86_400_000;

/** The instant so many days from now, as the API takes it. */
export function inDays(days: string | string[] | undefined): string {
  return new Date(now() + Number(days) * day_ms).toISOString();
}
