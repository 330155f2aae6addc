// A process that delivers slices and stops forever in one place, where the test kills it. It makes
// several deliveries one after the other, each with its own place to stop. The first line of its
// input is JSON of a list of `DeliveryOrders`. It writes its note of each slice to standard output,
// a line of JSON each, and `reached` once a delivery is there. With `committing`, in the last one,
// it says so and continues at once, so that the kill hits any point of the commit. It ends with its
// parent.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import tls from 'node:tls';
import type {
  DestinationDefinition,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import { destinationDeps } from '../destinations/destination_deps.ts';
import { certificate } from '../servers/certificate.ts';
import type { DeliveryOrders } from './killed_delivery.ts';

const input = createInterface(process.stdin).on('close', () => process.exit());
const [line] = (await once(input, 'line')) as [string];
const all = JSON.parse(line) as DeliveryOrders[];

// Loads only its own module: loading all modules takes half as long again.
const { type } = all[0]!;
const name = type.toLowerCase();
const { [name]: definition } = (await import(
  `../../server/engine/destinations/${name}/${name}.ts`
)) as Record<string, DestinationDefinition>;
if (definition?.type !== type) throw new Error(`There is no destination ${type}.`);
const deps = destinationDeps();
tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);

/** Delivers; `isThere` reports that it has reached its place. */
async function deliver(orders: DeliveryOrders, isThere: () => void): Promise<void> {
  const reached = async (place: DeliveryOrders['place']): Promise<void> => {
    if (place !== orders.place) return;
    writeSync(1, 'reached\n');
    isThere();
    if (place !== 'committing') await new Promise(() => {});
  };
  const sink = await definition!.open(orders.config, orders.delivery, deps);
  await sink.recover([]);
  const outcomes: SliceOutcome[] = [];
  for (const [number, { base64, records }] of orders.slices.entries()) {
    const bytes = Buffer.from(base64, 'base64');
    const pieces = async function* () {
      yield bytes.subarray(0, bytes.length / 2);
      if (number === (orders.writing ?? 1)) await reached('writing');
      yield bytes.subarray(bytes.length / 2);
    };
    const isLast = number === orders.slices.length - 1;
    const written = await sink.write(
      { number, records, ...(isLast ? { is_last: true } : {}) },
      Readable.from(pieces()),
    );
    const outcome = { number, ...written, records, bytes: bytes.length, sha256: '' };
    outcomes.push(outcome);
    writeSync(1, `${JSON.stringify(outcome)}\n`);
  }
  await reached('written');
  await reached('committing');
  const text = orders.manifest ?? '{"by":"the killed one"}';
  await sink.commit(outcomes, { name: 'manifest', text });
  await reached('committed');
}

for (const orders of all) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  deliver(orders, resolve).catch(reject);
  await promise;
}
