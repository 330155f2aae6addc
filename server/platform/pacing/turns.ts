import { setImmediate } from 'node:timers/promises';

/** Time for which one piece of work may hold the event loop, in milliseconds. */
const turn_ms = 8;

/**
 * For work that goes through something long piece by piece: to be called between two pieces. Gives
 * a promise to wait for when the work has held the event loop long enough, and undefined while it
 * has not, so that waiting costs nothing where nobody waits.
 */
export function openTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  const giveTurn = async () => {
    await setImmediate();
    began = performance.now();
  };
  return () => (performance.now() - began < turn_ms ? undefined : giveTurn());
}

/** Maps items in their order with `make`, and gives others turns in between. */
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
