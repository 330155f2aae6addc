import { setImmediate } from 'node:timers/promises';

/** Time for which one piece of work may block the event loop, in milliseconds. */
const turn_ms = 8;

/**
 * For long work in pieces: call it between two pieces. Returns a promise to await once the work has
 * blocked the event loop long enough, and undefined before, so that it costs nothing while nobody
 * waits.
 */
export function openTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  const giveTurn = async () => {
    await setImmediate();
    began = performance.now();
  };
  return () => (performance.now() - began < turn_ms ? undefined : giveTurn());
}

/** Maps items in order with `make`, and yields to the event loop in between. */
export async function mapInTurns<Item, Made>(
  items: Iterable<Item>,
  make: (item: Item) => Made,
): Promise<Made[]> {
  const turn = openTurns();
  const made: Made[] = [];
  for (const item of items) {
    made.push(make(item));
    const pause = turn();
    if (pause !== undefined) await pause;
  }
  return made;
}
