// Sends events as SDKs do, in its own thread, so that its cost is not counted as the server's. Used
// by capture.ts.
import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { eventOf, stream_events } from './events.ts';

/** The address to send to, and its keys. */
export type Target = { address: string; project: number; key: string; write_key: string };
/** A request to the thread: send in one way for a time. */
export type Asked = { way: string; ms: number };
/** The number of events answered with 200, the total time, and the time of each request. */
export type Told = { events: number; ms: number; latencies_ms: number[] };

const { address, project, key, write_key } = workerData as Target;
const connections = 512;
const pool = new Pool(address, { connections, pipelining: 1 });

let last = 0;
const many = (count: number) => Array.from({ length: count }, () => eventOf((last += 1)));

async function post(path: string, body: string | Readable, headers: object = {}): Promise<void> {
  const answer = await pool.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
}

const batch = (count: number) => async () => {
  await post('/batch/', JSON.stringify({ api_key: write_key, batch: many(count) }));
  return count;
};
const lines = async (count: number) => {
  function* text() {
    for (let sent = 0; sent < count; sent += 1_000)
      yield many(1_000)
        .map((one) => `${JSON.stringify(one)}\n`)
        .join('');
  }
  await post(`/api/projects/${project}/events/`, Readable.from(text()), {
    authorization: `Bearer ${key}`,
    'content-type': 'application/x-ndjson',
  });
  return count;
};
/** The ways: the number of concurrent requests, and the content of each. */
const ways: Record<string, { parallel: number; send: () => Promise<number> }> = {
  'single events, 512 kept connections': { parallel: connections, send: batch(1) },
  'batches of 50, 64 connections': { parallel: 64, send: batch(50) },
  'one NDJSON stream': { parallel: 1, send: () => lines(stream_events) },
};

parentPort?.on('message', async ({ way, ms }: Asked) => {
  const { parallel, send } = ways[way]!;
  const latencies_ms: number[] = [];
  let events = 0;
  const began = performance.now();
  const one = async () => {
    while (performance.now() - began < ms) {
      const sent_at = performance.now();
      const sent = await send();
      events += sent;
      latencies_ms.push(performance.now() - sent_at);
    }
  };
  await Promise.all(Array.from({ length: parallel }, one));
  const told: Told = { events, ms: performance.now() - began, latencies_ms };
  parentPort?.postMessage(told, []);
});
parentPort?.postMessage(Object.keys(ways), []);
