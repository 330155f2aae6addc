import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Delivery, DestinationDefinition, DestinationDeps, Slice } from '../server/engine/destination.ts';

/** Where a delivery is killed: in the middle of the second slice, before commit, somewhere in it, or after it and before anybody knows. */
export type KillPlace = 'writing' | 'written' | 'committing' | 'committed';

/** What the process of test/delivery_process.ts is told. `slices` are bytes in the destination's encoding. */
export type DeliveryOrders = {
  type: string;
  config: Record<string, unknown>;
  delivery: Delivery;
  slices: { base64: string; records: number }[];
  place: KillPlace;
};

/** Delivers in a process of its own and ends it by SIGKILL at the place; `after_milliseconds` later where the place is `committing`. */
export async function killDelivery(orders: DeliveryOrders, options: { after_milliseconds: number }): Promise<void> {
  const program = fileURLToPath(new URL('./delivery_process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const reached = await Promise.race([once(child.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!reached) throw new Error('The delivery ended before the place where it was to be killed.');
  if (orders.place === 'committing') await pause(options.after_milliseconds);
  child.kill('SIGKILL');
  await ended;
}

/** Does what the engine's next attempt does: goes on unless the delivery is there, and commits. Gives whether it was there. */
export async function deliverAgain(definition: DestinationDefinition, orders: DeliveryOrders, deps: DestinationDeps): Promise<boolean> {
  const sink = await definition.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
  try {
    if (await sink.isCommitted()) return true;
    const survivors = await sink.recover([]);
    const outcomes = [];
    for (const [number, { base64, records }] of orders.slices.entries()) {
      const bytes = Buffer.from(base64, 'base64');
      const slice: Slice = { number, records, ...(number === orders.slices.length - 1 ? { is_last: true } : {}) };
      const written = survivors.find((outcome) => outcome.number === number) ?? (await sink.write(slice, Readable.from([bytes])));
      outcomes.push({ ...written, number, records, bytes: bytes.length, sha256: '' });
    }
    await sink.commit(outcomes, { name: 'manifest', text: '{"by":"the next one"}' });
    return false;
  } finally {
    await sink.close();
  }
}
