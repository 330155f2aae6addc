import sql from 'sql-template-tag';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { countDownloads } from '../../server/api/file_downloads/read.ts';
import { retryLater } from '../../server/engine/exports/runs/progress.ts';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import {
  insertEvents,
  scheduleFrom,
  until,
} from '../factories/batch_exports/delivering_harness.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { newLakeTable } from '../factories/lake_tables.ts';
import { failed, endedRun } from '../factories/batch_exports/ended_runs.ts';
import type { StoryWorld } from './world.ts';

const export_body = {
  name: 'Events to the lake',
  model: 'events',
  interval: 'hour',
  destination: {
    type: 'File',
    config: { prefix: 'events/{year}/{month}/{day}/', file_format: 'Parquet' },
  },
};
const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z' };
/** The hours that `insertEvents` fills. */
const window = `after=${range.start_at}&before=${range.end_at}`;

/** Exports, their deliveries and their views, in both places of the API. */
export async function tellExports(world: StoryWorld): Promise<void> {
  const { ask, harness, home, organization, project } = world;
  await ask('GET', '/api/destinations/');
  await ask('GET', '/api/destinations/File/');
  await ask('GET', `${project}query/language/`);
  const query = 'SELECT event, count() AS times FROM events GROUP BY event';
  await ask('POST', `${project}query/validate/`, { query });
  await connections(world);
  await insertEvents(harness, home);
  await downloads(world);
  await lakeTables(world);
  await deltaTable(world);
  for (const place of [project, organization]) {
    const id = await anExport(world, place);
    await runsOf(world, `${place}batch_exports/${id}/`);
    await proofOf(world, `${place}batch_exports/${id}/`);
    await bulkActions(world, place, id);
    await lookAround(world, place, id);
    await ask('DELETE', `${place}batch_exports/${id}/`);
  }
}

async function anExport({ ask }: StoryWorld, place: string): Promise<string> {
  const base = `${place}batch_exports/`;
  await ask('POST', `${base}test/`, export_body);
  await ask('POST', `${base}preview/`, { ...export_body, destination: csv });
  const { id } = await ask('POST', base, export_body);
  const one = `${base}${id}/`;
  await ask('POST', `${one}effect/`, { interval: 'day' });
  await ask('PATCH', one, { name: 'Events to the data lake' });
  await ask('PUT', one, { ...export_body, paused: false });
  await ask('POST', `${one}test/`, {});
  await ask('POST', `${one}preview/`, { destination: csv });
  await ask('GET', `${one}secret_keys/`);
  await ask('POST', `${one}pause/`);
  await ask('POST', `${one}unpause/`, { backfill: true });
  await ask('POST', `${one}run_now/`);
  await ask('POST', `${one}run/`);
  await ask('GET', `${one}earlier_deliveries/`);
  return id as string;
}

async function downloads({ ask, harness, project }: StoryWorld): Promise<void> {
  const base = `${project}file_downloads/`;
  const { id } = await ask('POST', base, { ...range, file_format: 'CSV', compression: 'gzip' });
  const at_once = { ...harness.deps.engine, settle_seconds: 0 };
  await countDownloads(at_once, new AbortController().signal);
  await ask('GET', base);
  await ask('GET', `${base}${id}/`);
  await ask('GET', `${base}${id}/download/1/`);
  await ask('DELETE', `${base}${id}/`);
}

async function lakeTables({ ask, harness, home, project }: StoryWorld): Promise<void> {
  await newLakeTable(home, 'sales');
  const base = `${project}lake_tables/`;
  const { results } = await ask('GET', base);
  const one = `${base}${results[0].id}/`;
  await ask('GET', one);
  await ask('GET', `${one}snapshots/`);
  await ask('GET', `${one}files/`);
  const { id } = await newExport(home, { name: 'Sales' });
  await harness.deps.db.run(sql`UPDATE lake_tables SET batch_export_id = ${id}`);
  await ask('POST', `${one}maintain/`);
}

async function deltaTable({ ask, home, organization, project }: StoryWorld): Promise<void> {
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const { id } = await newExport(home, { name: 'Delta', destination });
  for (const place of [project, organization]) {
    const one = `${place}batch_exports/${id}/`;
    await ask('GET', `${one}maintenance/`);
    await ask('POST', `${one}maintain/`);
  }
}

async function connections({ ask, organization, receiver }: StoryWorld): Promise<void> {
  const base = `${organization}connections/`;
  const config = { url: `${receiver.url}/guarded`, token: 'token-of-the-warehouse' };
  await ask('POST', `${base}test/`, { type: 'HTTP', connection: config });
  const { id } = await ask('POST', base, { name: 'Warehouse', type: 'HTTP', config });
  const one = `${base}${id}/`;
  await ask('GET', base);
  await ask('GET', one);
  await ask('PATCH', one, { name: 'The warehouse' });
  await ask('PUT', one, { name: 'Warehouse', config });
  await ask('POST', `${one}test/`, {});
  await ask('DELETE', one);
  await ask('GET', `${organization}aws_role/`);
}

const csv = { type: 'File', config: { prefix: 'events/', file_format: 'CSV' } };

async function runsOf({ ask, harness, home, delivering }: StoryWorld, one: string): Promise<void> {
  const id = one.split('/').at(-2)!;
  await scheduleFrom(harness, id);
  const { backfill } = await ask('POST', `${one}backfill/`, range);
  const get = (path: string) => home.ask('GET', `${one}${path}`);
  await delivering(async () => {
    await until(
      () => get(`backfills/${backfill.id}/`),
      ({ status }) => status === 'Completed',
    );
  });
  const finished = (await ask('GET', `${one}runs/?status=Completed`)).results[0].id as string;
  await ask('GET', `${one}runs/${finished}/`);
  await ask('GET', `${one}runs/${finished}/logs/?limit=3`);
  await ask('GET', `${one}runs/${finished}/receipt/`);
  await ask('GET', `${one}backfills/`);
  await ask('GET', `${one}backfills/${backfill.id}/`);
  await endedRun(harness, id, failed);
  const { results } = await ask('GET', `${one}runs/?status=Failed`);
  const again = await ask('POST', `${one}runs/${results[0].id}/retry/`);
  await waitForAttempt(harness, again.id as string);
  await ask('POST', `${one}runs/${again.id}/try_now/`);
  await ask('POST', `${one}try_now/`);
  await ask('POST', `${one}runs/${again.id}/cancel/`);
  const later = { start_at: '2026-01-01T03:00:00Z', end_at: '2026-01-02T00:00:00Z' };
  const other = await ask('POST', `${one}backfills/`, later);
  await ask('POST', `${one}backfills/${other.backfill?.id ?? other.id}/cancel/`);
}

/** Verifies a delivery from which a person removed files, and repairs it. */
async function proofOf(world: StoryWorld, one: string): Promise<void> {
  const { ask, harness, home, delivering } = world;
  await ask('GET', `${one}proof/?${window}`);
  await ask('GET', `${one}receipts/?${window}`);
  await rm(join(harness.deps.config.export_dir, 'events'), { recursive: true });
  const { id } = await ask('POST', `${one}verifications/`, range);
  const verification = `${one}verifications/${id}/`;
  await delivering(async () => {
    await until(
      () => home.ask('GET', verification),
      ({ status }) => status === 'Completed',
    );
  });
  await ask('GET', `${one}verifications/`);
  await ask('GET', verification);
  const { results } = await ask('GET', `${verification}findings/`);
  await ask('POST', `${verification}repair/`, { delivery: results[0].delivery.id });
  const deviations = (await ask('GET', `${one}deviations/?state=open`)).results;
  const [first, second] = deviations.filter(
    ({ delivery }: { delivery: { id: string } | null }) =>
      delivery !== null && delivery.id !== results[0].delivery.id,
  );
  const reason = 'Files before 2026 moved to the archive, as ticket 4711 says.';
  await ask('POST', `${one}deviations/${first.id}/accept/`, { reason });
  await ask('POST', `${one}deviations/${second.id}/repair/`, {});
  await ask('GET', `${one}statement/?${window}`);
  const other = await ask('POST', `${one}verifications/`, {});
  await ask('POST', `${one}verifications/${other.id}/cancel/`);
}

/** Makes an attempt at the run fail, so that it waits for the next one. */
async function waitForAttempt({ deps }: StoryWorld['harness'], id: string): Promise<void> {
  const run = (await claimRun(deps.db, id, randomUUID()))!;
  await retryLater(deps.engine, run, { code: failed.code, message: failed.message });
}

async function bulkActions({ ask }: StoryWorld, place: string, id: string): Promise<void> {
  const runs = `${place}batch_exports/${id}/runs/`;
  await ask('POST', `${runs}bulk/`, {
    action: 'retry_runs',
    filter: { status: ['Failed', 'Cancelled'] },
  });
  const base = `${place}bulk_actions/`;
  const action = await ask('POST', base, { action: 'pause_exports', ids: [id] });
  await ask('GET', base);
  await ask('GET', `${base}${action.id}/`);
  await ask('GET', `${base}${action.id}/items/`);
  await ask('POST', `${base}${action.id}/abort/`);
}

async function lookAround({ ask, project }: StoryWorld, place: string, id: string): Promise<void> {
  const one = `${place}batch_exports/${id}/`;
  await ask('GET', `${place}batch_exports/?limit=2`);
  await ask('GET', one);
  await ask('GET', `${one}logs/?limit=3`);
  await ask('GET', `${one}metrics/?${window}&interval=hour`);
  await ask('GET', `${one}slots/?${window}`);
  await ask('GET', `${one}timeline/`);
  await ask('GET', `${place}overview/`);
  await ask('GET', `${project}find/?distinct_id=d&day=2026-01-01`);
}
