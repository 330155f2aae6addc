import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type {
  Delivery,
  DestinationDefinition,
  DestinationDeps,
  Sink,
  Slice,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';

/**
 * The place where a delivery is killed. It is in the middle of the second slice or another one,
 * before the commit, somewhere in it, or after it while its result is unknown.
 */
export type KillPlace = 'writing' | 'written' | 'committing' | 'committed';

/**
 * The orders for the process of test/processes/delivery_process.ts. `slices` are bytes in the
 * destination's encoding.
 */
export type DeliveryOrders = {
  type: string;
  config: Record<string, unknown>;
  delivery: Delivery;
  slices: { base64: string; records: number }[];
  place: KillPlace;
  /** The slice in which the place `writing` is; default 1. */
  writing?: number;
  /** The text of the receipt; default: one that names the killed attempt. */
  manifest?: string;
};

/**
 * Delivers in a separate process and ends it by SIGKILL at the place; for `committing`,
 * `after_milliseconds` later. Returns the finished slices, as the engine records them.
 */
export async function killDelivery(
  orders: DeliveryOrders,
  options: { after_milliseconds: number },
): Promise<SliceOutcome[]> {
  return (await killDeliveries([orders], options))[0]!;
}

/**
 * Delivers all in one process, which is ended by SIGKILL when each has reached its place. All have
 * the same type; only the last one's place may be `committing`.
 */
export async function killDeliveries(
  all: DeliveryOrders[],
  options: { after_milliseconds: number },
): Promise<SliceOutcome[][]> {
  const program = fileURLToPath(new URL('./delivery_process.ts', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  // One that ends too early is reported below.
  child.stdin.on('error', () => undefined).write(`${JSON.stringify(all)}\n`);
  const outcomes: SliceOutcome[][] = all.map(() => []);
  let reached = 0;
  for await (const line of createInterface(child.stdout)) {
    if (line !== 'reached') outcomes[reached]!.push(JSON.parse(line) as SliceOutcome);
    else if ((reached += 1) === all.length) break;
  }
  if (reached < all.length)
    throw new Error('The delivery ended before the place where it was to be killed.');
  if (all.at(-1)!.place === 'committing') await pause(options.after_milliseconds);
  child.kill('SIGKILL');
  await ended;
  return outcomes;
}

/**
 * Writes lines of tab-separated text as one of several slices, and returns the engine's record
 * about it.
 */
export async function writeSlice(sink: Sink, number: number, text: string): Promise<SliceOutcome> {
  const records = text.split('\n').length - 1;
  const written = await sink.write({ number, records }, Readable.from([Buffer.from(text)]));
  return { number, ...written, records, bytes: Buffer.byteLength(text), sha256: '' };
}

/**
 * Works like the engine's next attempt: continues unless the delivery is there, and commits.
 * Returns whether it was there, and the numbers of the slices that it wrote.
 */
async function goOn(
  definition: DestinationDefinition,
  orders: DeliveryOrders,
  deps: DestinationDeps,
  known: SliceOutcome[],
): Promise<{ is_there: boolean; written: number[] }> {
  const sink = await definition.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
  const written: number[] = [];
  try {
    if (await sink.isCommitted()) return { is_there: true, written };
    const outcomes = new Map(
      (await sink.recover(known)).map((outcome) => [outcome.number, outcome]),
    );
    for (const [number, { base64, records }] of orders.slices.entries()) {
      if (outcomes.has(number)) continue;
      const bytes = Buffer.from(base64, 'base64');
      const slice: Slice = {
        number,
        records,
        ...(number === orders.slices.length - 1 ? { is_last: true } : {}),
      };
      outcomes.set(number, {
        number,
        ...(await sink.write(slice, Readable.from([bytes]))),
        records,
        bytes: bytes.length,
        sha256: '',
      });
      written.push(number);
    }
    const inOrder = [...outcomes.values()].toSorted((one, other) => one.number - other.number);
    await sink.commit(inOrder, { name: 'manifest', text: '{"by":"the next one"}' });
    return { is_there: false, written };
  } finally {
    await sink.close();
  }
}

/** Continues without knowledge of any slice. Returns whether the delivery was there. */
export async function deliverAgain(
  definition: DestinationDefinition,
  orders: DeliveryOrders,
  deps: DestinationDeps,
): Promise<boolean> {
  return (await goOn(definition, orders, deps, [])).is_there;
}

/**
 * Continues after a kill in the middle of the third slice. Returns the numbers of the slices that
 * both attempts have written or begun.
 */
export async function writtenAgain(
  definition: DestinationDefinition,
  orders: DeliveryOrders,
  deps: DestinationDeps,
  known: SliceOutcome[],
): Promise<number[]> {
  const { written } = await goOn(definition, orders, deps, known);
  return written.filter((number) => number <= 2);
}

/**
 * Delivers these slices, is killed in the middle of the third one, and continues. Returns the
 * numbers of the slices that both attempts have written or begun.
 */
export async function repeatedSlices(
  definition: DestinationDefinition,
  orders: DeliveryOrders,
  deps: DestinationDeps,
): Promise<number[]> {
  const known = await killDelivery(
    { ...orders, place: 'writing', writing: 2 },
    { after_milliseconds: 0 },
  );
  return writtenAgain(definition, orders, deps, known);
}
