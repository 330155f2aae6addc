import { whySilent } from '../http/ask.ts';
import type { Problem } from '../http/problem.ts';

/** Pause between two checks of the server, and the longest wait for its answer. */
const pause_ms = 2_000;
/** Pause before a failed check is repeated, because a single failure may be a network glitch. */
const again_ms = 400;

let away: Problem | undefined;
let failures = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
const watchers = new Set<() => void>();

/** Checks whether the server answers, while there is a watcher and the page is visible. */
export function watchServer(changed: () => void): () => void {
  watchers.add(changed);
  if (watchers.size === 1) {
    addEventListener('online', lookNow);
    addEventListener('offline', lookNow);
    document.addEventListener('visibilitychange', lookNow);
    timer = setTimeout(lookNow, pause_ms);
  }
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    removeEventListener('online', lookNow);
    removeEventListener('offline', lookNow);
    document.removeEventListener('visibilitychange', lookNow);
    clearTimeout(timer);
  };
}

/** Returns why the server does not answer; the same object during one outage. */
export function serverAway(): Problem | undefined {
  return away;
}

function lookNow(): void {
  clearTimeout(timer);
  if (document.visibilityState === 'visible') void look();
}

async function look(): Promise<void> {
  const problem = await whySilent(pause_ms);
  clearTimeout(timer);
  if (watchers.size === 0) return;
  failures = problem === undefined ? 0 : failures + 1;
  timer = setTimeout(lookNow, failures === 1 ? again_ms : pause_ms);
  if (problem === undefined) away = undefined;
  else if (failures > 1) away ??= problem;
  for (const tell of watchers) tell();
}
