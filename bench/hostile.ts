// The longest time for which one request holds the event loop: bodies of each hostile shape at the
// limit of each route. npm run hostile [-- --route events/] [-- --shape gzip]
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { readOptions } from '../scripts/options.ts';
import { buildApp } from '../server/app.ts';
import { capture_size_bytes_max } from '../server/api/capture/read/unpack.ts';
import { openLog } from '../server/platform/log.ts';
import { openRandom } from '../test/chaos/random.ts';
import { openEra } from '../test/fuzz/era.ts';
import { listOperations } from '../test/fuzz/operations.ts';
import type { FuzzedDocument, Operation } from '../test/fuzz/operations.ts';
import { openHarness } from '../test/harness.ts';
import type { Asked, Told } from './hostile/sender.ts';
import { turnRow, turn_head, watchTurns } from './measure/turn_watch.ts';
import type { Turn } from './measure/turn_watch.ts';

const hold_ms_max = 50;
/**
 * Most repetitions of a body while the event loop is held longer than the limit. A delay that the
 * body causes comes back each time, and one of other programs does not, so the shortest counts.
 */
const tries_max = 5;
const wanted = readOptions({ route: '', shape: '' });
const harness = await openHarness({
  config: { capture_limit_per_key: 0, capture_limit_per_address: 0 },
  deps: { log: openLog('error') },
});
const document = harness.app.swagger() as unknown as FuzzedDocument;
const era = await openEra(harness);
// The harness's own app would check every answer against its schema.
const app = buildApp(harness.deps);
const address = await app.listen({ host: '127.0.0.1', port: 0 });
const sender = new Worker(new URL('./hostile/sender.ts', import.meta.url));
const turns = watchTurns();

type Found = Turn & { name: string; shape: string; status: number };

async function ask(asked: Asked): Promise<Told> {
  sender.postMessage(asked, []);
  const [told] = (await once(sender, 'message')) as [Told];
  return told;
}

function takesEvents({ path, is_door }: Operation): boolean {
  return is_door || path.endsWith('/events/');
}

/** Returns the longest body that the route accepts, from the description of its 413. */
function limitOf({ method, path, is_door }: Operation): number | undefined {
  if (is_door) return method === 'POST' ? capture_size_bytes_max : undefined;
  const { responses } = document.paths[path]![method.toLowerCase()]!;
  const { description = '' } = (responses as Record<string, { description?: string }>)['413'] ?? {};
  const limit = /(\d+) bytes/.exec(description)?.[1];
  return limit === undefined ? undefined : Number(limit);
}

async function send(operation: Operation, index: number): Promise<Turn & { status: number }> {
  const path = operation.path.replaceAll(
    /([^/]+)\/\{\w+\}/g,
    (_whole, segment: string) => `${segment}/${era.idOf(segment, openRandom(1, 1)) ?? 'x'}`,
  );
  await ask({ kind: 'make', index });
  turns.longest();
  const status = await ask({
    kind: 'send',
    // Only events are stored, which costs time too; no other route changes anything.
    url: `${address}${path}${takesEvents(operation) ? '' : '?validate_only=true'}`,
    method: operation.method,
    headers: operation.is_door
      ? { authorization: `Bearer ${era.home.project.api_token}` }
      : era.credentials[2]!,
  });
  return { ...turns.longest(), status: status as number };
}

async function sendAgain(operation: Operation, index: number): Promise<Turn & { status: number }> {
  let least = await send(operation, index);
  for (let tries = 1; tries < tries_max && least.held_ms > hold_ms_max; tries += 1) {
    const { status, processor_ms, held_ms, wall_ms } = await send(operation, index);
    least = {
      status,
      processor_ms: Math.min(least.processor_ms, processor_ms),
      held_ms: Math.min(least.held_ms, held_ms),
      wall_ms: Math.min(least.wall_ms, wall_ms),
    };
  }
  return least;
}

const row = ({ status, name, shape, ...turn }: Found) =>
  `${turnRow(turn)}  ${String(status).padStart(3)}  ${name}: ${shape}`;

async function measure(operation: Operation, limit: number): Promise<Found> {
  const name = `${operation.method} ${operation.path} (${limit} bytes)`;
  const shapes = (await ask({ kind: 'list', operation, limit, document })) as string[];
  // The first request of a route compiles code, which no later body can trigger.
  await send(operation, 0);
  let longest: Found | undefined;
  for (const [index, shape] of shapes.entries()) {
    if (!shape.includes(wanted.shape)) continue;
    const found = { ...(await sendAgain(operation, index)), name, shape };
    if (takesEvents(operation)) console.log(row(found));
    if (longest === undefined || found.processor_ms > longest.processor_ms) longest = found;
  }
  return longest ?? { processor_ms: 0, held_ms: 0, wall_ms: 0, name, shape: 'none', status: 0 };
}

const table: Found[] = [];
const begun = performance.now();
for (const operation of listOperations(document)) {
  const limit = limitOf(operation);
  if (limit === undefined || (operation.body === undefined && !operation.is_door)) continue;
  if (!`${operation.method} ${operation.path}`.includes(wanted.route)) continue;
  table.push(await measure(operation, limit));
  console.error(`${Math.round((performance.now() - begun) / 1_000)} s: ${table.at(-1)!.name}`);
}
console.log(`\nThe longest turn of each route, and the body of it:\n${turn_head}`);
for (const found of table.toSorted((one, other) => other.processor_ms - one.processor_ms))
  console.log(row(found));
const isLong = table.some(({ processor_ms }) => processor_ms > hold_ms_max);
console.log(
  `${isLong ? 'Some requests hold' : 'No request holds'} the event loop for more than ` +
    `${hold_ms_max} ms of processor.`,
);
const memory_mb = Math.round((process.resourceUsage().maxRSS * 1024) / 1e6);
console.log(`At most ${memory_mb} MB of memory, with the sender and its bodies.`);
turns.end();
await sender.terminate();
await app.close();
await harness.close();
if (isLong) process.exitCode = 1;
