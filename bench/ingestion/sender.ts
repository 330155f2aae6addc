// Sends events in its own thread, so that its cost is not counted as the server's. Used by
// ingestion.ts.
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { generateWebShop } from '../../server/cli/demo/web_shop.ts';
import type { Opened } from './server.ts';

/** A way of sending: the number of concurrent requests, and the content of each. */
type Way = { parallel: number; send: () => Promise<number> };
/** A request to the thread: send in one way for a time. */
export type Asked = { way: string; ms: number };
/** The number of stored events, the total time, and the time of each request. */
export type Sent = { taken: number; ms: number; latencies_ms: number[] };

const { url, key } = workerData as Opened;
const agent = new Agent({ connections: 64 });
const shop = [
  ...generateWebShop({
    seed: 1,
    from: Date.parse('2026-01-01T00:00:00Z'),
    to: Date.parse('2026-01-02T00:00:00Z'),
    events: 12_000,
  }),
].map(({ uuid: _own, ...event }) => event);

async function post(body: string | Readable, type = 'application/x-ndjson'): Promise<number> {
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body,
  });
  const result = (await answer.body.json()) as { taken: number };
  if (answer.statusCode !== 200) throw new Error(JSON.stringify(result));
  return result.taken;
}

const lines = (count: number, uuid: () => object = () => ({})) =>
  shop
    .slice(0, count)
    .map((event) => JSON.stringify({ ...event, ...uuid() }))
    .join('\n');
const [thousand, ten_thousand] = [lines(1_000), lines(10_000)];
const given = () => ({ uuid: randomUUID() });
const single = JSON.stringify({ event: 'a', distinct_id: 'd', properties: { plan: 'free' } });
function* stream(count: number): Generator<string> {
  for (let from = 0; from < count; from += 1_000) yield `${thousand}\n`;
}

/** The ways, by name. */
const ways: Record<string, Way> = {
  'NDJSON of 1,000, 1 sender': { parallel: 1, send: () => post(thousand) },
  'NDJSON of 1,000, 4 senders': { parallel: 4, send: () => post(thousand) },
  'NDJSON of 1,000, uuids given': { parallel: 1, send: () => post(lines(1_000, given)) },
  'NDJSON of 10,000, 1 sender': { parallel: 1, send: () => post(ten_thousand) },
  'NDJSON of 10,000, 4 senders': { parallel: 4, send: () => post(ten_thousand) },
  'NDJSON of 10,000, uuids given': { parallel: 1, send: () => post(lines(10_000, given)) },
  'single events, 64 requests': { parallel: 64, send: () => post(single, 'application/json') },
  'single events, 1 sender': { parallel: 1, send: () => post(single, 'application/json') },
  'one stream of 100,000 lines': { parallel: 1, send: () => post(Readable.from(stream(100_000))) },
};

async function send({ way, ms }: Asked): Promise<Sent> {
  const { parallel, send: next } = ways[way]!;
  const started = performance.now();
  const latencies_ms: number[] = [];
  let taken = 0;
  const one = async () => {
    while (performance.now() - started < ms) {
      const begun = performance.now();
      const count = await next();
      taken += count;
      latencies_ms.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: parallel }, one));
  return { taken, ms: performance.now() - started, latencies_ms };
}

parentPort?.on('message', (asked: Asked) => {
  void send(asked).then((sent) => parentPort?.postMessage(sent, []));
});
parentPort?.postMessage(Object.keys(ways), []);
