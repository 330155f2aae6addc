// The longest time for which one request holds the event loop: bodies of each hostile shape at the
// limit of each route. npm run hostile [-- events]
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openRandom } from '../test/chaos/random.ts';
import { openEra } from '../test/fuzz/era.ts';
import { listOperations } from '../test/fuzz/operations.ts';
import type { FuzzedDocument, Operation } from '../test/fuzz/operations.ts';
import { openHarness } from '../test/harness.ts';
import { openLog } from '../server/platform/log.ts';
import { eventBodies, fieldBodies, plainBodies } from './hostile_bodies.ts';
import type { HostileBody } from './hostile_bodies.ts';
import type { Sent } from './hostile_sender.ts';

const hold_ms_max = 50;
const [wanted = ''] = process.argv.slice(2);
const limits = new Map<string, number>();
const house = await openHarness({ deps: { log: openLog('error') } });
const document = house.app.swagger() as unknown as FuzzedDocument;
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, { responses }] of Object.entries(methods)) {
    const { description = '' } =
      (responses as Record<string, { description?: string }>)['413'] ?? {};
    const limit = /(\d+) bytes/.exec(description)?.[1];
    if (limit !== undefined) limits.set(`${method.toUpperCase()} ${path}`, Number(limit));
  }
const address = await house.app.listen({ host: '127.0.0.1', port: 0 });
const era = await openEra(house);
const sender = new Worker(new URL('./hostile_sender.ts', import.meta.url));

type Held = { wall_ms: number; processor_ms: number };
let held: Held = { wall_ms: 0, processor_ms: 0 };
let isOver = false;

/**
 * Goes round with the loop and keeps its longest turn: by the clock, and by what this thread had of
 * the processor, which a busy machine does not lengthen.
 */
function watch(at: number, before: NodeJS.CpuUsage): void {
  const now = performance.now();
  const used = process.threadCpuUsage(before);
  held.wall_ms = Math.max(held.wall_ms, now - at);
  held.processor_ms = Math.max(held.processor_ms, (used.user + used.system) / 1_000);
  if (!isOver) setImmediate(watch, performance.now(), process.threadCpuUsage());
}

async function send(operation: Operation, body: HostileBody): Promise<Held & { status: number }> {
  const path = operation.path.replaceAll(
    /([^/]+)\/\{\w+\}/g,
    (_whole, segment: string) => `${segment}/${era.idOf(segment, openRandom(1, 1)) ?? 'x'}`,
  );
  held = { wall_ms: 0, processor_ms: 0 };
  sender.postMessage(
    {
      // Events are stored, which is work too; nothing else is changed.
      url: `${address}${path}${path.endsWith('/events/') ? '' : '?validate_only=true'}`,
      method: operation.method,
      headers: { ...era.credentials[2], ...body.headers },
      bytes: body.bytes,
    } satisfies Sent,
    [],
  );
  const [status] = (await once(sender, 'message')) as [number];
  return { ...held, status };
}

function bodiesOf(operation: Operation, limit: number): HostileBody[] {
  const resolve = (ref: string) => document.components.schemas[ref.split('/').at(-1)!]!;
  return operation.path.endsWith('/events/')
    ? [...plainBodies(limit), ...eventBodies(limit)]
    : [...plainBodies(limit), ...fieldBodies(operation, resolve, limit)];
}

const show = ({ wall_ms, processor_ms }: Held) =>
  `${wall_ms.toFixed(1).padStart(7)} ms by the clock, ${processor_ms.toFixed(1).padStart(6)} ` +
  'ms of processor';
let isLong = false;
setImmediate(watch, performance.now(), process.threadCpuUsage());
for (const operation of listOperations(document)) {
  const name = `${operation.method} ${operation.path}`;
  const limit = limits.get(name);
  if (limit === undefined || operation.body === undefined || !name.includes(wanted)) continue;
  let longest: (Held & { status: number; shape: string }) | undefined;
  const bodies = bodiesOf(operation, limit);
  // The first request of a route compiles what it needs, which no body can bring about again.
  await send(operation, bodies[0]!);
  for (const body of bodies) {
    const found = await send(operation, body);
    if (name.endsWith('/events/')) console.log(`${show(found)}  ${found.status} ${body.shape}`);
    if (longest === undefined || found.processor_ms > longest.processor_ms)
      longest = { ...found, shape: body.shape };
  }
  isLong ||= longest!.processor_ms > hold_ms_max;
  console.log(
    `${show(longest!)}  ${name} (${limit} bytes, ${bodies.length} shapes): ${longest!.status} ` +
      longest!.shape,
  );
}
console.log(
  isLong
    ? `Some requests hold the event loop for more than ${hold_ms_max} ms of processor.`
    : `No request holds the event loop for more than ${hold_ms_max} ms of processor.`,
);
isOver = true;
await sender.terminate();
await house.close();
