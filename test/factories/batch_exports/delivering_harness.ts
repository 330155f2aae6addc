import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { startWorker } from '../../../server/engine/exports/workers/worker.ts';
import type { Worker } from '../../../server/engine/exports/workers/worker.ts';
import { eventually, pauseAfter } from '../../eventually.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';
import { insertRows } from '../events/insert_rows.ts';
import { newExport, projectBase } from './batch_exports.ts';

const hour_ms = 3_600_000;
/** The start of the first of the three hours that `withEvents` fills. */
export const first_hour_at = Date.parse('2026-01-01T00:00:00.000000Z');

/** The names of the events of `withEvents`, sorted. */
export const all_events = Array.from({ length: 30 }, (_, number) => `event ${number}`).toSorted();

/** Returns the start of an hour of that day; the first hour is 0. */
export const hour_of = (hour: number) => new Date(first_hour_at + hour * hour_ms).toISOString();

/** An event with its time and its insertion time, in milliseconds. */
export type PlacedEvent = { event: string; happened: number; taken: number };

/** A server with its own stores that delivers files to `folder` once its worker is started. */
export type DeliveringHarness = Awaited<ReturnType<typeof openDeliveringHarness>>;

/** Opens a delivering harness; its worker starts with `startOnce`. */
export async function openDeliveringHarness() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-exports-'));
  const harness = await openHarness({ config: { export_dir: folder, settle_seconds: 1 } });
  let worker: Worker | undefined;
  return {
    harness,
    folder,
    stores: harness.stores,
    startOnce: async () => {
      worker ??= await startWorker(harness.deps.engine, {
        runs_max: 2,
        project_runs_max: 2,
        host_runs_max: 2,
      });
    },
    stopWorker: async () => worker?.stop(),
    close: async () => {
      await worker?.stop();
      await harness.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const clickHouseInstant = (at: number) =>
  new Date(at).toISOString().replace('T', ' ').replace('Z', '');

/**
 * Inserts ten events in each of the first three hours of 1 January 2026, ingested as they happened.
 */
export async function insertEvents(harness: Harness, home: TestOrganization): Promise<void> {
  const instants = Array.from(
    { length: 30 },
    (_, number) => first_hour_at + Math.floor(number / 10) * hour_ms + (number % 10) * 60_000,
  );
  await insertAt(
    harness,
    home,
    instants.map((at, number) => ({ event: `event ${number}`, happened: at, taken: at })),
  );
}

/** Inserts events with this insertion time. */
export async function insertAt(
  harness: Harness,
  home: TestOrganization,
  events: PlacedEvent[],
): Promise<void> {
  const values = events.map(({ event, happened, taken }) => ({
    team_id: home.project.id,
    uuid: crypto.randomUUID(),
    event,
    distinct_id: 'd',
    person_id: crypto.randomUUID(),
    properties: '{}',
    person_properties: '{}',
    elements_chain: '',
    timestamp: clickHouseInstant(happened),
    created_at: clickHouseInstant(taken),
    inserted_at: clickHouseInstant(taken),
  }));
  await insertRows(harness.deps.clickhouse, values);
}

/** Moves the schedule to the first of the three hours and ends it after the last one. */
export const scheduleFrom = (harness: Harness, id: string) =>
  harness.deps.db.run(sql`
  UPDATE batch_exports SET planned_until = '2026-01-01T00:00:00.000000Z',
    next_run_at = '2026-01-01T01:00:00.000000Z', end_at = '2026-01-01T03:00:00.000000Z'
    WHERE id = ${id}`);

/** Repeats the request until the body is as expected, for at most a minute. */
export async function until(
  ask: () => Promise<Answer>,
  isReached: (body: Answer['body']) => boolean,
): Promise<Answer['body']> {
  const began = performance.now();
  for (;;) {
    const { body } = await ask();
    if (isReached(body)) return body;
    const waited_ms = performance.now() - began;
    assert.ok(waited_ms < 60_000, `was not reached: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseAfter(waited_ms, 50)));
  }
}

/**
 * Creates an organization with ten events in each of three hours, and an export of them to a
 * folder.
 */
export async function withEvents(
  harness: Harness,
  prefix: string,
  body: Record<string, unknown> = {},
) {
  const home = await harness.newOrganization();
  await insertEvents(harness, home);
  const created = await newExport(home, {
    destination: { type: 'File', config: { prefix } },
    ...body,
  });
  const url = `${projectBase(home)}${created.id}/`;
  const get = (path: string) => home.ask('GET', `${url}${path}`);
  const send = (method: string, path: string, sent?: unknown) =>
    home.ask(method, `${url}${path}`, sent);
  return { home, created, get, send };
}

/** Moves the schedules to the hours of a range, and waits until they are delivered. */
export async function deliverHours(
  { deps: { db } }: Harness,
  worker: Worker,
  ids: string[],
  [from, to]: [number, number],
): Promise<void> {
  await db.run(sql`UPDATE batch_exports SET created_at = ${hour_of(0)},
    planned_until = ${hour_of(from)}, next_run_at = ${hour_of(from + 1)}, end_at = ${hour_of(to)}
    WHERE id = ANY(${ids}::uuid[])`);
  worker.wake();
  await eventually('The hour is not delivered.', async () => {
    const { count } = (await db.row<{ count: number }>(sql`
      SELECT count(*) AS count FROM batch_export_runs WHERE status = 'Completed'
        AND data_interval_start = ${hour_of(from)} AND batch_export_id = ANY(${ids}::uuid[])`))!;
    return count === ids.length;
  });
}

/** Returns the rows of all files below the prefix, in no order. */
export async function rowsIn(folder: string, prefix: string): Promise<Record<string, unknown>[]> {
  const names = (await readdir(join(folder, prefix))).filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, prefix, name), 'utf8')),
  );
  return texts.flatMap((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
}

/** The names of the events in the lines of all files under the prefix, sorted. */
export async function eventsIn(folder: string, prefix: string): Promise<string[]> {
  return (await rowsIn(folder, prefix)).map(({ event }) => event as string).toSorted();
}
