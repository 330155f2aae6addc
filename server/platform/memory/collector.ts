import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major' }) => void;
/** The loops of a server have all gone round by then. */
const first_rounds_ms = 3_000;

let collect: Collect | undefined;

/** V8's own function that collects garbage, which it hides unless it is asked for. */
export function collector(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}

/**
 * Collects everything that nobody uses any more and gives its memory back. It holds this thread up
 * for 50 ms where a server has just started.
 */
export function collectAll(): void {
  collector()({ type: 'major' });
}

/**
 * Collects what a start has left behind, once everything has run for the first time: a sixth of
 * the server's memory, which else stays for as long as little is asked.
 */
export function collectAfterStart(): void {
  setTimeout(collectAll, first_rounds_ms).unref();
}
