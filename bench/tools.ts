// Length: five measurements on one server, its receiver and its tools.
// Measures tools of the catalogue on a server of its own: events at a rate to ten tools, what an
// idle tool costs, how much an outage of one tool slows the others, and how well a limit of 750
// requests a minute is used. Requests end at a receiver of the bench. A second of the outage stands
// for an hour of it: each second the next attempt at the tool comes an hour earlier.
//   npm run bench tools [-- --events 20000 --rate 1000 --tools 10 --batch 100 --idle 30
//     --minutes 5 --rounds 2 --only load,kinds,idle,outage,limit]
// `kinds` loads ten different tools into one process, and sends by all of their mappings.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { mappingsOf, openToolTrials } from '../test/factories/plugins/tool_trials.ts';
import { until } from '../test/processes/server_process.ts';
import { openBenchServer } from './measure/bench_server.ts';
import type { BenchServer } from './measure/bench_server.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { processorTime } from './measure/processor_time.ts';
import { hourEachSecond } from './tools/hours.ts';
import { childMemory, timesByKind } from './tools/processes.ts';
import { openBenchReceiver } from './tools/receiver.ts';
import type { BenchReceiver } from './tools/receiver.ts';

const options = readBenchOptions({
  events: '20000',
  rate: '1000',
  tools: '10',
  batch: '100',
  idle: '30',
  minutes: '5',
  rounds: '2',
  only: 'load,kinds,idle,outage,limit',
});
const [events, rate, tools] = [options.events, options.rate, options.tools].map(Number);
const batch_size = Number(options.batch);
const persons = 500;
const wait_ms_max = 1_800_000;
const limit_per_minute = 750;
const hours_of_a_day = 24;
const rounds_of_kinds = 20;
const only = options.only.split(',');

let runs = 0;
let numbered = 0;
const server = await openBenchServer(['start']);
const receiver = await openBenchReceiver();
try {
  const plugin = await installWebhook(server);
  if (only.includes('load')) await measureLoad(plugin);
  if (only.includes('kinds')) await measureKinds();
  if (only.includes('idle')) await measureIdle(plugin);
  if (only.includes('outage')) await measureOutage(plugin);
  if (only.includes('limit')) await measureLimit(plugin);
} finally {
  await server.close();
  await receiver.close();
}

async function installWebhook({ api }: BenchServer): Promise<number> {
  const path = '/api/organizations/@current/pipeline_destinations/';
  const body = { plugin_type: 'repository', name: 'Webhook' };
  return Number((await api('POST', path, body))['id']);
}

type Load = { project: number; paths: string[]; ids: number[] };

/** Creates a project with this many enabled tools, each with a path at the receiver. */
async function openLoad(plugin: number, count: number, size: number): Promise<Load> {
  runs += 1;
  const { api } = server;
  const project = Number((await api('POST', '/api/projects/', { name: `Run ${runs}` }))['id']);
  const paths = Array.from({ length: count }, (_, at) => `${runs}-${at}`);
  const ids: number[] = [];
  for (const path of paths) {
    const { id } = await api('POST', `/api/projects/${project}/plugin_configs/`, {
      plugin,
      enabled: true,
      allowed_hosts: ['127.0.0.1'],
      config: { mappings: JSON.stringify([mappingTo(receiver, path, size)]) },
    });
    ids.push(Number(id));
  }
  return { project, paths, ids };
}

function mappingTo({ url }: BenchReceiver, path: string, size: number) {
  return {
    name: 'Send',
    partnerAction: 'send',
    subscribe: 'type = "track"',
    mapping: {
      url: `${url}/${path}`,
      method: 'POST',
      data: { '@path': '$.' },
      batch_size: size,
    },
  };
}

/** Sends events at the rate; `each` is called once a second. */
async function send(
  { project }: Load,
  count: number,
  { each = () => undefined, pace = rate! }: { each?: (sent: number) => void; pace?: number } = {},
): Promise<void> {
  const began = performance.now();
  for (let sent = 0; sent < count;) {
    const sent_at = Date.now();
    const list = Array.from({ length: Math.min(pace, count - sent) }, () => ({
      uuid: randomUUID(),
      event: 'Order completed',
      distinct_id: `person-${(numbered += 1) % persons}`,
      properties: { sent_at, number: numbered, price: 19.5, currency: 'EUR', sku: 'lamp-17' },
    }));
    await until('the store', wait_ms_max, 500, () =>
      server
        .api('POST', `/api/projects/${project}/events/`, { events: list })
        // Events with a uuid are not stored twice, so a retry is safe while the store is slow.
        .catch((error: Error) => {
          console.log(error.message.slice(0, 200));
          return undefined;
        }),
    );
    sent += list.length;
    each(sent);
    await pause(Math.max(began + (sent / pace) * 1_000 - performance.now(), 0));
  }
}

async function arrived({ paths }: Load, count: number): Promise<void> {
  await until(`${count} events at ${paths.length} tools`, wait_ms_max, 100, async () =>
    paths.every((path) => receiver.came(path).uuids.size >= count) ? true : undefined,
  );
}

async function measureLoad(plugin: number): Promise<void> {
  for (const [size, count] of [
    [batch_size, events!],
    [0, Math.ceil(events! / 10)],
  ] as const) {
    const load = await openLoad(plugin, tools!, size);
    await send(load, 100);
    await arrived(load, 100);
    const [before, began] = [timesByKind(server.child.pid!), Date.now()];
    let memory = 0;
    await send(load, count, {
      each: () => (memory = Math.max(memory, childMemory(server.child.pid!))),
    });
    await arrived(load, count + 100);
    memory = Math.max(memory, childMemory(server.child.pid!));
    const times = [...timesByKind(server.child.pid!)].map(
      ([kind, time]) => [kind, (time - (before.get(kind) ?? 0)) / count / tools!] as const,
    );
    const how = size > 0 ? `batches of ${size}` : 'one event a request';
    const what = `${count} events to ${tools} tools, ${how}`;
    const seconds = (Date.now() - began) / 1_000;
    tell({ what, unit: 'events/s', better: 'more', ours: [count / seconds] });
    tell({
      what: `processor time for an event at a tool, ${how}, stores and ingestion included`,
      unit: 'microseconds',
      better: 'less',
      ours: [times.reduce((sum, [, time]) => sum + time, 0)],
    });
    console.log(times.map(([kind, time]) => `${kind} ${time.toFixed(0)} us`).join(', '));
    tell({
      what: `memory of the largest process of tools, ${how}`,
      unit: 'MB',
      better: 'less',
      ours: [memory],
      aim: { value: 120 },
    });
  }
}

/** The memory of one process with ten different tools, as an organization may have them. */
async function measureKinds(): Promise<void> {
  const trials = await openToolTrials();
  const directories =
    'amplitude braze customerio google-analytics-4 hubspot intercom klaviyo mixpanel slack webhook';
  let [memory, sent] = [0, 0];
  try {
    const loaded = await Promise.all(directories.split(' ').map((one) => trials.load(one)));
    for (let round = 0; round < rounds_of_kinds; round += 1)
      for (const tool of loaded) {
        const description = await trials.describe(tool);
        for (const mapping of mappingsOf(description)) {
          const { outcome } = await trials.send(tool, description, mapping);
          if (outcome.kind === 'sent') sent += 1;
          memory = Math.max(memory, childMemory(process.pid));
        }
      }
  } finally {
    await trials.close();
  }
  tell({
    what: `memory of a process with ten different tools, ${sent} events sent`,
    unit: 'MB',
    better: 'less',
    ours: [memory],
    aim: { value: 120 },
  });
}

/** Processor time of the server in a quiet time, with and without idle tools. */
async function measureIdle(plugin: number): Promise<void> {
  const quiet = async () => {
    const before = processorTime(server.child.pid!, 'with children');
    await pause(Number(options.idle) * 1_000);
    return (processorTime(server.child.pid!, 'with children') - before) / Number(options.idle);
  };
  // Loaded tools are unloaded after a minute without events.
  await pause(70_000);
  const without = await quiet();
  await openLoad(plugin, 100, batch_size);
  await pause(75_000);
  const processes = childMemory(server.child.pid!) === 0 ? 'none' : 'some';
  tell({
    what: `processor time a second with 100 idle tools more, processes of tools: ${processes}`,
    unit: 'microseconds',
    better: 'less',
    ours: [await quiet()],
    beside: { name: 'before', rounds: [without] },
  });
}

/** The delay of the other tools during an outage of one, beside the same load without an outage. */
async function measureOutage(plugin: number): Promise<void> {
  const count = Math.max(events!, hours_of_a_day * rate!);
  const before: number[] = [];
  const during: number[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1)
    // Each is first equally often, so that other load on the machine favours neither.
    for (const isDown of round % 2 === 0 ? [false, true] : [true, false])
      (isDown ? during : before).push(await delayOfOthers(plugin, count, isDown));
  tell({
    what: 'p99 from accepted to delivered at nine tools, one being out of order',
    unit: 's',
    better: 'less',
    ours: during,
    beside: { name: 'none out of order', rounds: before },
    aim: { ratio: 0.95 },
  });
}

/** The p99 of all tools except the first, in seconds; `isDown`: the first one is down. */
async function delayOfOthers(plugin: number, count: number, isDown: boolean): Promise<number> {
  const load = await openLoad(plugin, tools!, batch_size);
  await send(load, 100);
  await arrived(load, 100);
  const [first, ...others] = load.paths;
  for (const path of load.paths) receiver.came(path).delays_ms.length = 0;
  receiver.setDown(first!, isDown);
  const clock = isDown ? hourEachSecond(server.database_url, load.ids[0]!) : undefined;
  await send(load, count);
  await arrived({ ...load, paths: others }, count + 100);
  const delays = others.flatMap((path) => receiver.came(path).delays_ms).toSorted(byNumber);
  const back = Date.now();
  receiver.setDown(first!, false);
  await arrived(load, count + 100);
  const hours = await clock?.stop();
  const { failed } = receiver.came(first!);
  const disordered = load.paths.reduce((sum, path) => sum + receiver.came(path).disordered, 0);
  const came = `${count} events came to ${load.paths.length} tools, 0 lost`;
  console.log(`${came}, ${disordered} out of order.`);
  if (isDown)
    console.log(
      `Out of order for ${hours} simulated hours, ${failed} attempts; the last event ` +
        `${((Date.now() - back) / 1_000).toFixed(1)} s after the end.`,
    );
  return delays[Math.floor(delays.length * 0.99)]! / 1_000;
}

function byNumber(one: number, other: number): number {
  return one - other;
}

/** The use of a limit by the minute, from the third minute. */
async function measureLimit(plugin: number): Promise<void> {
  const load = await openLoad(plugin, 1, 0);
  const [path] = load.paths;
  receiver.setLimit(path!, limit_per_minute);
  const minutes = Number(options.minutes);
  const wanted = limit_per_minute * (minutes + 3);
  await send(load, wanted, { pace: 1_000 });
  const counts = () => ({ ...receiver.came(path!), size: receiver.came(path!).uuids.size });
  // To the start of a minute, and two more minutes in which the server learns the limit.
  await pause(60_000 - (Date.now() % 60_000) + 2 * 60_000);
  const before = counts();
  await pause(minutes * 60_000);
  const after = counts();
  const used = (after.size - before.size) / (limit_per_minute * minutes);
  const refused = (after.limited - before.limited) / (after.answers - before.answers);
  const of = `of ${limit_per_minute} requests a minute, over ${minutes} minutes`;
  tell({
    what: `share ${of}, that was used`,
    unit: '%',
    better: 'more',
    ours: [used * 100],
    aim: { value: 95 },
  });
  tell({
    what: `share of answers of 429 at a limit ${of}`,
    unit: '%',
    better: 'less',
    ours: [refused * 100],
    aim: { value: 1 },
  });
}
