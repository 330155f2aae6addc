// Events per second into the endpoint over real HTTP: NDJSON in batches of 1,000 and 10,000, with
// and without uuids, and 64 parallel single events. node bench/ingestion.ts
import { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { generateWebShop } from '../server/cli/demo/web_shop.ts';
import { openHarness } from '../test/harness.ts';

const seconds = 6;
const harness = await openHarness();
const { key, project } = await harness.newOrganization();
const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
const agent = new Agent({ connections: 64 });
const shop = [
  ...generateWebShop({
    seed: 1,
    from: Date.parse('2026-01-01T00:00:00Z'),
    to: Date.parse('2026-01-02T00:00:00Z'),
    events: 12_000,
  }),
];
const url = `${address}/api/projects/${project.id}/events/`;

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

async function measure(
  label: string,
  parallel: number,
  next: () => Promise<number>,
): Promise<void> {
  await next();
  const started = performance.now();
  const latencies: number[] = [];
  let taken = 0;
  const one = async () => {
    while (performance.now() - started < seconds * 1000) {
      const begun = performance.now();
      const count = await next();
      taken += count;
      latencies.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: parallel }, one));
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)]?.toFixed(1);
  console.log(
    `${label}: ${Math.round(taken / ((performance.now() - started) / 1000))} events/s, ` +
      `latency p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  );
}

const lines = (count: number, uuid: () => object) =>
  shop
    .slice(0, count)
    .map(({ uuid: _own, ...event }) => JSON.stringify({ ...event, ...uuid() }))
    .join('\n');
const given = () => ({ uuid: randomUUID() });
for (const size of [1_000, 10_000]) {
  const body = lines(size, () => ({}));
  await measure(`NDJSON of ${size}, uuids by the server, 1 sender`, 1, () => post(body));
  await measure(`NDJSON of ${size}, uuids by the server, 4 senders`, 4, () => post(body));
  await measure(`NDJSON of ${size}, random uuids, 1 sender`, 1, () => post(lines(size, given)));
}
await measure('single events, 64 parallel requests', 64, () =>
  post(
    JSON.stringify({ event: 'a', distinct_id: 'd', properties: { plan: 'free' } }),
    'application/json',
  ),
);
await measure('single events, 1 sender', 1, () =>
  post(
    JSON.stringify({ event: 'a', distinct_id: 'd', properties: { plan: 'free' } }),
    'application/json',
  ),
);

function* stream(count: number): Generator<string> {
  for (let from = 0; from < count; from += 1_000) yield `${lines(1_000, () => ({}))}\n`;
}
const begun = performance.now();
let highest = 0;
const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 50);
const before = process.memoryUsage.rss();
const total = await post(Readable.from(stream(1_000_000)));
clearInterval(watch);
console.log(
  `one stream of ${total} lines: ${Math.round(total / ((performance.now() - begun) / 1000))} ` +
    `events/s; memory of the process (sender included) ${Math.round(before / 1e6)} MB before, ` +
    `at most ${Math.round(highest / 1e6)} MB`,
);
await agent.close();
await harness.close();
