// Asks a server of its own what no client would ask, after its OpenAPI document: npm run fuzz [--
// --seed 1 --requests 100000] [--only 4711]
// Prints each fault with its request, how many of all operations were asked, counts, and a line on
// memory. Requests of an era (500) share an organization: --only plays its era up to the request,
// one after the other; a fault that needs requests at the same time comes again with --from <first
// of the era> --requests 500.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { firstStart } from '../../server/cli/first_start.ts';
import { openLog } from '../../server/platform/log.ts';
import { openHarness } from '../../test/harness.ts';
import { era_requests, runCampaign } from '../../test/fuzz/campaign.ts';
import type { Fault, Progress } from '../../test/fuzz/campaign.ts';
import { readOptions } from '../options.ts';

const eras_per_line = 20;
const shown_max = 50;
const { seed, requests, ...options } = readOptions({
  seed: 1,
  requests: 10_000,
  from: 0,
  'at-once': 6,
  only: '',
});
const only = options.only === '' ? undefined : Number(options.only);
const from = only === undefined ? options.from : only - (only % era_requests);
const to = only === undefined ? from + requests : only + 1;
const at_once = only === undefined ? options['at-once'] : 1;

const folder = await mkdtemp(join(tmpdir(), 'sluice-fuzz-'));
const harness = await openHarness({
  config: {
    export_dir: join(folder, 'exports'),
    capture_limit_per_key: 0,
    capture_limit_per_address: 0,
  },
  // The log of tests is kept in memory and searched, which is too slow for a million requests.
  deps: { log: openLog('error') },
  watch: false,
});
// Like a started server: /readyz reports it as ready.
await firstStart(harness.deps);
const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
// Some destinations are tried for a minute before they count as unreachable.
const agent = new Agent({ connections: 16, headersTimeout: 120_000, bodyTimeout: 120_000 });
const began = performance.now();
let eras = 0;
let told = 0;
try {
  console.log(`seed ${seed}, requests ${from} to ${to}, ${at_once} at a time`);
  const progress = await runCampaign(harness, address, agent, {
    seed,
    from,
    to,
    // One after another, so that a repeated request finds the same state.
    at_once,
    warn: (message, error) => console.log(`${message}: ${String(error)}`),
    tell: (so_far) => {
      for (const fault of so_far.faults.slice(told, shown_max)) show(fault);
      told = so_far.faults.length;
      eras += 1;
      if (eras % eras_per_line === 0) console.log(line(so_far));
    },
  });
  console.log(line(progress));
  summarize(progress);
  process.exitCode = progress.faults.length === 0 ? 0 : 1;
} finally {
  await agent.close();
  await harness.close();
  await rm(folder, { recursive: true, force: true });
}

function line({ requests, faults }: Progress): string {
  const { rss, heapUsed, external } = process.memoryUsage();
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  const seconds = (performance.now() - began) / 1000;
  return (
    `${Math.round(seconds)} s: ${requests} requests (${Math.round(requests / seconds)}/s), ` +
    `${faults.length} faults; memory ${megabytes(rss)} MB, heap ${megabytes(heapUsed)} MB, ` +
    `buffers ${megabytes(external)} MB`
  );
}

function show({ number, what, request, answer }: Fault): void {
  const { method, path, headers, body } = request;
  console.log(`request ${number} of seed ${seed}: ${what.join('; ')}`);
  console.log(`  ${method} ${path.slice(0, 300)} ${JSON.stringify(secretless(headers))}`);
  if (body !== undefined) console.log(`  ${String(body).slice(0, 1000)}`);
  if (answer !== '') console.log(`  -> ${answer}`);
}

function secretless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /^(authorization|cookie)$/.test(name) ? '...' : value,
    ]),
  );
}

function summarize({ requests, statuses, operations, hidden, faults }: Progress): void {
  for (const [name, seen] of operations)
    if (![...seen].some((status) => status < 400))
      console.log(`  never with success: ${name} ${[...seen].join(' ')}`);
  for (const [name, seen] of hidden) if (seen.size === 0) console.log(`  never asked: ${name}`);
  const counts = [...statuses].toSorted(([one], [other]) => one - other);
  console.log(counts.map(([status, count]) => `${status}: ${count}`).join(', '));
  const count = (all: Map<string, Set<number>>, isSo: (status: number) => boolean) =>
    `${[...all.values()].filter((seen) => [...seen].some(isSo)).length} of ${all.size}`;
  console.log(
    `asked ${count(operations, () => true)} operations of the document ` +
      `(${count(operations, (status) => status < 400)} with success) and ` +
      `${count(hidden, () => true)} other routes; ${requests} requests, ${faults.length} faults`,
  );
}
