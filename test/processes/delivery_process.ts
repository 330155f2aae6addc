// A process that delivers slices and stops for ever in one place, to be killed there. Argument:
// JSON of `DeliveryOrders`. It says on standard output what it has noted of each slice, a line of
// JSON each, and `reached` when it is there. With `committing` it says so and goes on at once, so
// that the kill falls anywhere in the commit. It ends with its parent.
import { writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import type {
  DestinationDefinition,
  SliceOutcome,
} from '../../server/engine/destination/destination.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { DeliveryOrders } from './killed_delivery.ts';

const orders = JSON.parse(process.argv[2] ?? '') as DeliveryOrders;
process.stdin.resume().on('end', () => process.exit());

const reached = async (place: DeliveryOrders['place']): Promise<void> => {
  if (place !== orders.place) return;
  writeSync(1, 'reached\n');
  if (place !== 'committing') await new Promise(() => {});
};

// Its module alone: all of them together take half as long again to load.
const name = orders.type.toLowerCase();
const { [name]: definition } = (await import(
  `../../server/engine/destinations/${name}/${name}.ts`
)) as Record<string, DestinationDefinition>;
if (definition?.type !== orders.type) throw new Error(`There is no destination ${orders.type}.`);
const sink = await definition.open(orders.config, orders.delivery, {
  log: silentLog(),
  outbound: openOutbound({ allow: ['127.0.0.0/8'] }),
  export_dir: '/nowhere',
  signal: new AbortController().signal,
});
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
await sink.commit(outcomes, { name: 'manifest', text: '{"by":"the killed one"}' });
await reached('committed');
