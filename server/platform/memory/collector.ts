import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major' }) => void;
/** By then, every loop of a server has run once. */
const first_rounds_ms = 3_000;

let collect: Collect | undefined;

/** Returns V8's own garbage collection function, which is hidden by default. */
export function collector(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}

/**
 * Collects all garbage and returns its memory. It blocks this thread for 50 ms in a server that has
 * just started.
 */
export function collectAll(): void {
  collector()({ type: 'major' });
}

/**
 * Collects the garbage of a start after everything has run once: a sixth of the server's memory,
 * which otherwise stays while the load is low.
 */
export function collectAfterStart(): void {
  setTimeout(collectAll, first_rounds_ms).unref();
}
