import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { newExport, projectBase } from '../factories/batch_exports/batch_exports.ts';
import { until } from '../factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../factories/batch_exports/delivering_harness.ts';
import { storedEvents } from '../factories/events/stored_events.ts';
import type { TestOrganization } from '../harness.ts';
import { openFaultProxy } from './fault_proxy.ts';
import type { Fault } from './fault_proxy.ts';

const day_ms = 86_400_000;
const wait_ms_max = 60_000;

/** An event as a client's program sent it, as it is stored, and as an export delivers it. */
export type SeenEvent = readonly [event: string, distinct_id: string, sent: unknown];
/** A client with its program, in Node or in a page. */
export type FaultedClient = {
  name: string;
  /** `arrived` waits until this many events are stored, or for a while. */
  send(address: string, key: string, arrived: () => Promise<boolean>): Promise<void>;
  wanted: readonly SeenEvent[];
  gives_up_after?: readonly Fault[];
  /** Its events have no uuid: a repeated event is stored twice. */
  names_no_events?: boolean;
  /** Stands for a distinct id that the client creates. */
  who?(distinct_id: string): string;
};
/** The events of one client at each stage, each list sorted. */
export type Passage = {
  happened: Fault[];
  wanted: string[];
  stored: string[];
  delivered: string[];
};

const sorted = (events: readonly SeenEvent[]) =>
  events.map((event) => JSON.stringify(event)).toSorted();

/**
 * Makes the client send through a proxy with these faults, one for each request, and exports the
 * stored events to a file.
 */
export async function sendThroughFaults(
  { harness, folder, startOnce }: DeliveringHarness,
  address: string,
  client: FaultedClient,
  series: readonly Fault[],
): Promise<Passage> {
  const home = await harness.newOrganization();
  const left = [...series];
  const proxy = await openFaultProxy(address, () => left.shift() ?? 'none');
  const { wanted, who = (distinct_id: string) => distinct_id } = client;
  const named = (events: readonly SeenEvent[]) => {
    const all = sorted(events.map(([event, id, sent]) => [event, who(id), sent]));
    return client.names_no_events === true ? [...new Set(all)] : all;
  };
  const stored = async () =>
    named(
      (await storedEvents(harness.deps, home.project.id)).map((event) =>
        seen(event, JSON.parse(event.properties)),
      ),
    );
  const arrived = async () => {
    const deadline = performance.now() + 60_000;
    // Clients wait for seconds. If each of them queried the store, the store would do little else.
    while ((await stored()).length < wanted.length) {
      if (performance.now() > deadline) return false;
      await pause(200);
    }
    return true;
  };
  await withinTime(client.send(proxy.address, home.project.api_token, arrived));
  // Some programs get the end before their client has ended.
  if (!series.some((fault) => client.gives_up_after?.includes(fault))) await arrived();
  await proxy.close();
  await startOnce();
  const passage = {
    happened: proxy.happened,
    wanted: sorted(wanted),
    stored: await stored(),
    delivered: named(await delivered(harness, folder, home)),
  };
  return passage;
}

/** A client that never returns has sent all that it will. */
async function withinTime(sending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resume) => {
    timer = setTimeout(resume, wait_ms_max);
  });
  await Promise.race([sending.catch(() => undefined), late]);
  clearTimeout(timer);
}

function seen(event: { event: string; distinct_id: string }, properties: unknown): SeenEvent {
  return [event.event, event.distinct_id, (properties as { sent?: unknown }).sent];
}

/**
 * Returns true if each event is stored once and delivered once. A client that gives up after the
 * fault, and reports it, may lose the event.
 */
export function isEachOnce({ wanted, stored, delivered }: Passage, gives_up: boolean): boolean {
  if (!isDeepStrictEqual(stored, delivered)) return false;
  if (!gives_up) return isDeepStrictEqual(stored, wanted);
  return new Set(stored).size === stored.length && stored.every((event) => wanted.includes(event));
}

/** Returns the events of today and yesterday, as an export delivers them. */
async function delivered(
  harness: DeliveringHarness['harness'],
  folder: string,
  home: TestOrganization,
): Promise<SeenEvent[]> {
  const prefix = `project_${home.project.id}`;
  const { id } = await newExport(home, {
    interval: 'day',
    destination: { type: 'File', config: { prefix } },
  });
  const url = `${projectBase(home)}${id}/`;
  const ask = (method: string, path: string, body?: unknown) =>
    home.ask(method, `${url}${path}`, body);
  const end = Math.ceil((harness.deps.clock.now() + 1) / day_ms) * day_ms;
  await ask('POST', 'backfill/', {
    start_at: new Date(end - 2 * day_ms).toISOString(),
    end_at: new Date(end).toISOString(),
  });
  await until(
    () => ask('GET', 'backfills/'),
    ({ results: [backfill] }) => backfill.status === 'Completed',
  );
  const names = await readdir(join(folder, prefix)).catch(() => []);
  const files = names.filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(
    files.map((name) => readFile(join(folder, prefix, name), 'utf8')),
  );
  return texts.flatMap((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map((event) => seen(event, event.properties)),
  );
}
