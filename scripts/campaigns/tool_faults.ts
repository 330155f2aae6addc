// Sends events by twenty tools to receivers of ours, while API, workers, the processes of tools,
// PostgreSQL and ClickHouse get kill -9, answers are lost, tools are out of order for seconds, and
// one takes 750 requests a minute. Ten are Webhook, seven are of vendors that know repeats by a
// key, and three of vendors that do not: they answer as their vendors document (needs openssl).
// Then compares what each tool took with the store: each event at least once, twice only where an
// answer was lost or a process was killed in between, each person's in order, and once by its key.
// Prints what it found, the memory of the tools' processes, and the seed. npm run tool_faults [--
// --kills 100 --seed 7 --tools 20 --rate 20 --backlog 100 --minutes 30]. A kill follows as soon as
// tools receive again. New events wait while the mappings have more than the backlog to send, so
// that each tool is met while it receives, to the last kill. Then persons are erased, and both
// workers are killed while a tool is told (--deletions 5). --naive moves cursors as a queue does
// that acknowledges before it sends; it must lose events.
import '../require_node.mjs';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { openDeployment } from '../../test/chaos/deployment.ts';
import { openRandom } from '../../test/chaos/random.ts';
import { descendantsOf } from '../../test/processes/process_group.ts';
import type { ToolDefinition } from '../../server/engine/plugins/tools/tool.ts';
import { eventFor } from '../../test/factories/plugins/tool_trials.ts';
import { until } from '../../test/processes/server_process.ts';
import { vendorMapping, vendorTool } from '../../test/vendors/engine_story.ts';
import { anySeed, readOptions } from '../options.ts';
import { killWhileTelling } from './tool_faults/deletions.ts';
import { checkDoubles, checkKeys, checkOrder, toldRepeats } from './tool_faults/compare.ts';
import { openFates, openReceiver } from './tool_faults/receiver.ts';
import { openVendorFront } from './tool_faults/vendors.ts';

type Stored = { uuid: string; distinct_id: string };
type Tool = { id: number; paths: string[]; has_keys: boolean };

const options = readOptions({
  kills: 100,
  seed: anySeed(),
  tools: 20,
  rate: 20,
  backlog: 100,
  minutes: 30,
  deletions: 5,
  naive: false,
});
const victims = ['worker 1', 'worker 2', 'tool', 'api', 'PostgreSQL', 'ClickHouse'] as const;
const persons = 40;
const folder = mkdtempSync(join(tmpdir(), 'sluice-tool-faults-'));
const random = openRandom(options.seed, 0);
const fates = openFates(openRandom(options.seed, 1), '0');
const receiver = await openReceiver(fates);
/** The numbers of events by uuid, for receivers that get no number. */
const numbers = new Map<string, number>();
const front = await openVendorFront(folder, fates, receiver, numbers);
const kills: { victim: string; at: number }[] = [];
const faults: string[] = [];
const accepted = new Set<string>();
let largest_bytes = 0;
console.log(`${options.kills} kills, seed ${options.seed}; in ${folder}`);
const deployment = await openDeployment(folder);
try {
  await deployment.up();
  const tools = await installTools();
  const sending = new AbortController();
  const sent = keepSending(tools, sending.signal);
  while (kills.length < options.kills) {
    await someRequests();
    strike();
    if (options.naive) await acknowledgeFirst();
  }
  sending.abort();
  await deployment.up();
  await sent;
  console.log(`${accepted.size} events sent, all struck; ${owedTo(tools)} deliveries to come`);
  fates.heal();
  await compare(tools);
  faults.push(...(await killWhileTelling(deployment, receiver, options.deletions)));
} finally {
  await deployment.close();
  await receiver.close();
  await front.close();
}
for (const fault of faults) console.log(`WRONG ${fault}`);
console.log(`seed ${options.seed}: ${faults.length === 0 ? 'nothing wrong' : 'FAULTS, see above'}`);
if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
process.exitCode = faults.length === 0 ? 0 : 1;

/**
 * Installs the tools of vendors, and Webhook: one event for each request, batches of ten, or both
 * by two mappings.
 */
async function installTools(): Promise<Tool[]> {
  const ask = async (path: string, body: object) => {
    const { status, body: answer } = await deployment.call('POST', path, body);
    if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
    return Number(answer['id']);
  };
  const collection = '/api/organizations/@current/pipeline_destinations/';
  const install = (name: string) => ask(collection, { plugin_type: 'repository', name });
  const tools: Tool[] = [];
  for (const vendor of front.vendors.slice(0, options.tools)) {
    const plugin = await install(vendorTool(vendor));
    const { body } = await deployment.call('GET', `${collection}${plugin}/source/`);
    const { 'destination.json': text } = body['source'] as Record<string, string>;
    const mapping = vendorMapping(vendor, JSON.parse(text!) as ToolDefinition);
    const mappings = [{ ...mapping, name: vendor.name, subscribe: 'type = "track"' }];
    const id = await ask('/api/projects/@current/plugin_configs/', {
      plugin,
      enabled: true,
      config: { ...vendor.settings, mappings: JSON.stringify(mappings) },
      allowed_hosts: vendor.hosts,
    });
    tools.push({ id, paths: [vendor.name], has_keys: front.hasKeys(vendor.name) });
  }
  const plugin = await install('Webhook');
  for (let at = 0; tools.length < options.tools; at += 1) {
    const sizes = [[0], [10], [0, 10]][at % 3]!;
    const paths = sizes.map((_, which) => (which === 0 ? `${at}` : `${at}b`));
    const mappings = sizes.map((batch_size, which) => ({
      name: paths[which],
      partnerAction: 'send',
      subscribe: 'type = "track"',
      mapping: {
        url: `${receiver.url}/${paths[which]}`,
        method: 'POST',
        data: { '@path': '$.' },
        batch_size,
      },
    }));
    const id = await ask('/api/projects/@current/plugin_configs/', {
      plugin,
      enabled: true,
      config: { sharedSecret: 'secret', mappings: JSON.stringify(mappings) },
      allowed_hosts: ['127.0.0.1'],
    });
    tools.push({ id, paths, has_keys: true });
  }
  return tools;
}

/**
 * Sends events of some persons repeatedly; each is retried under the same uuid until it is
 * accepted.
 */
async function keepSending(tools: Tool[], signal: AbortSignal): Promise<void> {
  let last = 0;
  const { properties: known } = eventFor('') as { properties: object };
  const path = '/api/projects/@current/events/';
  const backlog = options.backlog * tools.flatMap(({ paths }) => paths).length;
  for (; !signal.aborted; await pause(1_000)) {
    if (owedTo(tools) > backlog) continue;
    const events = Array.from({ length: options.rate }, () => ({
      uuid: randomUUID(),
      event: 'sent',
      distinct_id: `person-${(last += 1) % persons}`,
      properties: { ...known, number: last },
    }));
    for (const { uuid, properties } of events) {
      numbers.set(uuid, properties.number);
      // Slack sends it as its message.
      Object.assign(properties, { source: uuid });
    }
    await until('the events are accepted', 240_000, 200, async () => {
      const answer = await deployment.call('POST', path, { events }).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
    for (const { uuid } of events) accepted.add(uuid);
  }
}

/** Number of accepted events that all mappings have yet to deliver. */
function owedTo(tools: Tool[]): number {
  const paths = tools.flatMap((tool) => tool.paths);
  return paths.reduce((sum, path) => sum + accepted.size - (receiver.kept.get(path)?.size ?? 0), 0);
}

/**
 * Waits until tools receive again, then a moment longer: a kill has no effect while nothing runs.
 */
async function someRequests(): Promise<void> {
  const { requests } = fates.counts;
  const enough = () => fates.counts.requests > requests + options.tools;
  for (const until_ms = Date.now() + 60_000; !enough() && Date.now() < until_ms;) await pause(50);
  await pause(random.next() * 1_000);
}

/** The processes of tools, below all workers. */
function toolProcesses(): number[] {
  return descendantsOf(process.pid).filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return words.includes('--max-semi-space-size') && words.includes('--permission');
    } catch {
      return false;
    }
  });
}

function measure(pids: number[]): void {
  for (const pid of pids)
    try {
      const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
      largest_bytes = Math.max(largest_bytes, pages * 4_096);
    } catch {
      // It has ended meanwhile.
    }
}

function strike(): void {
  const victim = random.one(victims);
  const children = toolProcesses();
  measure(children);
  if (victim === 'tool') {
    const [pid] = children;
    if (pid === undefined) return;
    process.kill(pid, 'SIGKILL');
  } else if (!deployment.kill(victim)) return;
  kills.push({ victim, at: Date.now() });
  if (random.next() < 0.2) {
    const path = random.one([...receiver.arrivals.keys()]);
    fates.outage(path, random.between(5_000, 20_000));
  }
  if (kills.length % 10 === 0)
    console.log(`${kills.length} kills, ${accepted.size} events, ${JSON.stringify(fates.counts)}`);
}

async function acknowledgeFirst(): Promise<void> {
  await deployment.db
    .run(sql`UPDATE plugin_cursors SET inserted_at = begun_inserted_at,
      event_uuid = begun_event_uuid WHERE begun_inserted_at IS NOT NULL`)
    .catch(() => undefined);
}

async function compare(tools: Tool[]): Promise<void> {
  const stored = await until('the store', 120_000, 500, () =>
    deployment.clickhouse
      .rows<Stored>({
        query:
          `SELECT uuid, distinct_id FROM events WHERE event = 'sent' ` +
          'ORDER BY inserted_at, timestamp, uuid',
      })
      .catch(() => undefined),
  );
  const uuids = new Set(stored.map(({ uuid }) => uuid));
  if (uuids.size !== stored.length || [...accepted].some((uuid) => !uuids.has(uuid)))
    faults.push(`${accepted.size} events accepted, ${stored.length} stored, ${uuids.size} uuids`);
  const began = Date.now();
  const paths = tools.flatMap((tool) => tool.paths);
  const missing = () => paths.reduce((sum, path) => sum + stored.length - seenAt(path).size, 0);
  for (; missing() > 0 && Date.now() - began < options.minutes * 60_000; await pause(1_000))
    measure(toolProcesses());
  const keyed = new Set(tools.flatMap((tool) => (tool.has_keys ? tool.paths : [])));
  faults.push(...front.faults);
  const told = await toldRepeats(deployment.db);
  let [doubled, untold, repeats] = [0, 0, 0];
  const order = new Map(stored.map(({ uuid }, at) => [uuid, at]));
  const personOf = new Map(stored.map(({ uuid, distinct_id }) => [uuid, distinct_id]));
  for (const path of paths) {
    const arrivals = receiver.arrivals.get(path) ?? [];
    const lost = stored.length - seenAt(path).size;
    if (lost > 0) faults.push(`${path}: ${lost} of ${stored.length} events did not come`);
    const doubles = checkDoubles(path, arrivals, told, kills, faults);
    doubled += doubles.doubled;
    untold += doubles.untold;
    const kept = receiver.kept.get(path) ?? new Map<string, number>();
    if (keyed.has(path)) repeats += checkKeys(path, stored.length - lost, arrivals, kept, faults);
    checkOrder(path, arrivals, order, personOf, faults);
  }
  const by = Object.groupBy(kills, ({ victim }) => victim);
  const counts = Object.fromEntries(Object.entries(by).map(([name, all]) => [name, all!.length]));
  const caught_up_seconds = Math.round((Date.now() - began) / 1_000);
  console.log(
    `${stored.length} events at ${paths.length} mappings of ${tools.length} tools; kills ` +
      `${JSON.stringify(counts)}; receiver ${JSON.stringify(fates.counts)}; ` +
      `${doubled} came again, ${told.size} events told in logs, ${untold} not told; ` +
      `${repeats} with the same key; ` +
      `${missing()} missing; caught up ${caught_up_seconds} s after the last kill; ` +
      `largest process of tools ${Math.round(largest_bytes / 1_048_576)} MB`,
  );
}

function seenAt(path: string): Set<string> {
  return new Set((receiver.arrivals.get(path) ?? []).map(({ uuid }) => uuid));
}
